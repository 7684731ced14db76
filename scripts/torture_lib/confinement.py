"""Commands that try to change what is outside of the contender's folder, by every route that root and a user have.

In: nothing. Out: registered layouts: a line for a shell, what it must not change, and the ways in which it is run. The run itself may
end as it likes.
"""

import os
import signal
import subprocess
import sys

from . import tool as tools
from .target import HARMLESS, Target, layout
from .ways import Way

ONE = ["--samples", "1", "--no-twin", *tools.QUIET]
USER, USER_ID = "nobody", 65534


def ways(line, folder):
    """The ways in which a line is run."""

    def ask(words):
        def asked(place):
            words_here = [word.format(scratch=place.scratch, folder=folder, line=line) for word in words]
            return place.tool.ask("run", *words_here, *ONE, "--ledger", place.tool.fresh_ledger(), cwd=place.own)
        return asked

    image = ["--fs", "ext2", "--image", "64MiB", "--scratch", "{scratch}"]
    own = ["--shell", "--command", "{line}"]
    tried = {
        "--command": [*own, *image],
        "--command --dir": [*own, "--dir", "{folder}"],
        "--command --private": [*own, *image, "--private", "/tmp"],
        "--command --user": [*own, *image, "--user", USER],
        "--command --user --dir": [*own, "--dir", "{folder}", "--user", USER],
        "--prepare": ["--shell", "--command", "true", "--prepare", "{line}", *image],
    }
    return [Way(name, "command", ask(words), ["steps"]) for name, words in tried.items()]


def hostile(name, make):
    """A line of the shell; `make` gives it and protects what it must not change."""

    @layout(f"a command {name}")
    def _(world):
        canary = world.path("canary")
        world.absent(canary)
        outside = world.protect(world.write("outside/precious", "precious" * 1000))
        world.protect(os.path.dirname(outside))
        line = make(world, canary, outside)
        folder = world.make_folder("bench", 0o777, USER_ID)
        target = Target("steps", folder, {"command": HARMLESS})
        target.steps = ways(line, folder)
        return target


def disk(world):
    one = world.disk(mib=16)
    world.mkfs("ext2", one)
    world.protect(one)
    return one.node


def mounted(world):
    one = world.disk(mib=16)
    world.mkfs("ext2", one)
    point = world.mount(one)
    world.protect(world.write(os.path.join(point, "precious"), "precious" * 1000))
    return point


def neighbour(world):
    """A process that must live, and answer with its memory as it was."""
    child = subprocess.Popen([sys.executable, "-c", "import sys; kept = 'precious'; sys.stdin.read(); print(kept)"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end():
        child.stdin.close()
        child.wait()

    world.ends.append(end)
    world.victims["a process of another's"] = lambda: child.poll()
    return child.pid


# Files and folders ----------------------------------------------------------------------------------------------------------

hostile("that writes to a file outside", lambda world, canary, outside: f"echo x >>{outside}; truncate -s 0 {outside}; dd if=/dev/zero of={outside} bs=1")
hostile("that makes files outside", lambda world, canary, outside: f"touch {canary}; mkdir {canary}; mkfifo {canary}; ln -s / {canary}; cp /bin/true {canary}")
hostile("that removes what is outside", lambda world, canary, outside: f"rm -rf {os.path.dirname(outside)}; mv {outside} .; rmdir {os.path.dirname(outside)}")
hostile("that changes modes and times outside",
        lambda world, canary, outside: f"chmod 777 {outside}; chown 1:1 {outside}; touch -d 2001-01-01 {outside}; setfattr -n user.x -v y {outside}; chattr +i {outside}")
hostile("that leaves through links",
        lambda world, canary, outside: f"ln -s {outside} link; echo x >>link; ln -s {os.path.dirname(outside)} away; touch away/new; ln {outside} hard; echo x >>hard; ln -s {canary} new; echo x >new")
hostile("that leaves through the folder above",
        lambda world, canary, outside: f"touch ../canary ../../canary; cd ..; mv bakeoff-* away; ln -s {os.path.dirname(outside)} $(basename $OLDPWD); touch {canary}")
hostile("that renames its folder away",
        lambda world, canary, outside: f'mv "$PWD" "$PWD.moved"; rm -rf "$PWD"; ln -s {os.path.dirname(outside)} "$PWD"; touch {canary}')
hostile("that leaves through /proc",
        lambda world, canary, outside: f"for p in /proc/[0-9]*; do touch $p/root{canary} $p/cwd/../canary; for f in $p/fd/*; do touch $f/../canary; done; done")
hostile("that opens by handles",
        lambda world, canary, outside: f"""python3 -c '
import ctypes, os, struct
c = ctypes.CDLL(None, use_errno=True)
inode = os.stat("{outside}").st_ino
handle = ctypes.create_string_buffer(struct.pack("=IiII", 8, 1, inode, 0) + bytes(64))
here = os.open(".", os.O_RDONLY)
fd = c.open_by_handle_at(here, handle, os.O_WRONLY)
fd >= 0 and os.write(fd, b"x")'""")

# Mounts and namespaces ------------------------------------------------------------------------------------------------------

hostile("that writes to a mounted filesystem",
        lambda world, canary, outside: (lambda point: f"echo x >>{point}/precious; touch {point}/new; fstrim {point}; umount -l {point}; umount {point}")(mounted(world)))
hostile("that mounts all writable again",
        lambda world, canary, outside: f"mount -o remount,rw /; mount -o remount,bind,rw /; mount -o remount,bind,rw {os.path.dirname(outside)}; umount -al; touch {canary}; echo x >>{outside}")
hostile("that mounts in a namespace of its own",
        lambda world, canary, outside: f"unshare --map-root-user --mount sh -c 'mount -o remount,bind,rw /; mount --bind / .; touch {canary} .{canary}'; unshare --mount touch {canary}")
hostile("that enters other namespaces",
        lambda world, canary, outside: f"for p in /proc/[0-9]*; do nsenter --mount=$p/ns/mnt touch {canary}; nsenter --target ${{p#/proc/}} --all touch {canary}; chroot $p/root touch {canary}; done")
hostile("that leaves a root of its own",
        lambda world, canary, outside: f"""python3 -c '
import os
up = os.open(".", os.O_RDONLY)
os.makedirs("jail", exist_ok=True)
os.chroot("jail")
os.fchdir(up)
for _ in range(64): os.chdir("..")
os.chroot(".")
open("{canary}", "w")'""")

# Devices --------------------------------------------------------------------------------------------------------------------

hostile("that writes to a disk", lambda world, canary, outside: (lambda node: f"dd if=/dev/zero of={node} bs=4k count=4; wipefs -af {node}; mkfs.ext2 -F {node}; blkdiscard -f {node}")(disk(world)))
hostile("that makes a node of a disk",
        lambda world, canary, outside: (lambda node: f"mknod node b 7 {os.minor(os.stat(node).st_rdev)}; dd if=/dev/zero of=node bs=4k count=4; unshare --map-root-user mknod other b 7 {os.minor(os.stat(node).st_rdev)}; dd if=/dev/zero of=other bs=4k count=4")(disk(world)))
hostile("that attaches and detaches loop devices",
        lambda world, canary, outside: (lambda node: f"losetup --detach {node}; losetup --find {outside}; losetup --set-capacity {node}; truncate -s 1M f; losetup --find f; touch {canary}")(disk(world)))


def node_outside(world, canary, outside):
    """A node of a disk in a folder that all can write to."""
    node = disk(world)
    world.node_of(node, world.path("node"))
    os.chmod(world.path("node"), 0o666)
    return f"dd if=/dev/zero of={world.path('node')} bs=4k count=4"


hostile("that finds a node of a disk", node_outside)

# Processes and the machine --------------------------------------------------------------------------------------------------

hostile("that ends other processes", lambda world, canary, outside: (lambda pid: f"kill -KILL {pid}; kill -KILL 1; touch {canary}")(neighbour(world)))
hostile("that looks into other processes",
        lambda world, canary, outside: (lambda pid: f"gdb -p {pid} -batch; strace -p {pid} & sleep 0.2; echo x >/proc/{pid}/mem; echo 1000 >/proc/{pid}/oom_score_adj; touch {canary}")(neighbour(world)))
hostile("that becomes root by a program of root's",
        lambda world, canary, outside: f"cp /bin/sh ./sh; chmod 4755 sh; ./sh -p -c 'touch {canary}'; su -c 'touch {canary}'; sudo -n touch {canary}; pkexec touch {canary}")


def setuid(world, canary, outside):
    """A shell that anybody runs as root."""
    shell = world.write("shell", open("/bin/sh", "rb").read(), 0o4755)
    return f"{shell} -p -c 'touch {canary}'"


hostile("that finds a shell of root's", setuid)


def kernel(world, canary, outside):
    """Settings that are not missed, put back at the end."""
    paths = ["/proc/sys/fs/lease-break-time", "/proc/sys/kernel/printk_ratelimit_burst"]
    for path in paths:
        before = open(path).read()
        world.victims[path] = lambda path=path: open(path).read()

        def put_back(path=path, before=before):
            if open(path).read() != before:
                open(path, "w").write(before)

        world.ends.append(put_back)
    return "; ".join([*(f"echo 7 >{path}" for path in paths), "sysctl -w fs.lease-break-time=7", f"touch {canary}"])


hostile("that changes settings of the kernel", kernel)


def service(world, canary, outside):
    """A service that does what its socket is asked for."""
    folder = f"/run/bakeoff-torture-{os.getpid()}-{world.unique('s')}"
    os.mkdir(folder)
    served = subprocess.Popen([sys.executable, "-c", f"""
import socket
one = socket.socket(socket.AF_UNIX)
one.bind("{folder}/socket")
one.listen()
while True:
    one.accept()
    open("{canary}", "w")"""])

    def end():
        served.send_signal(signal.SIGKILL)
        served.wait()
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)

    world.ends.append(end)
    return f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{folder}/socket\")'"


hostile("that has a service do it", service)
hostile("that leaves a process behind",
        lambda world, canary, outside: f"setsid sh -c 'sleep 1; touch {canary}; echo x >>{outside}' & (sleep 1; touch {canary}) & exit 0")
hostile("that writes beside its home",
        lambda world, canary, outside: f"touch $HOME/../x $HOME/../../x $TMPDIR/../y /x-{os.path.basename(world.folder)} /tmp/x-{os.path.basename(world.folder)} /var/tmp/x-{os.path.basename(world.folder)}; touch {canary}")
