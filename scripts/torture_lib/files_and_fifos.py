"""Files to read that are no regular files, scratch folders whose owner exchanges images, and tools and limits of other people.

In: a world. Out: layouts with steps of their own, each of which must end, be refused where it cannot be right, and change nothing.
"""

import os
import socket
import stat

from .target import ALLOWED, HARMLESS, REFUSED, Target, layout
from .tool import WORK
from .ways import Way
from .world import MIB

STRANGER = 12345
SMALL = ["--fs", "ext4", "--image", "64MiB"]


def steps(world, path, group, expect, asks):
    """A target with ways of its own: their names, and what each asks of the tool."""
    target = Target("steps", path, {group: expect})
    target.steps = [Way(name, group, ask, ["steps"]) for name, ask in asks.items()]
    return target


# Files to read ----------------------------------------------------------------------------------------------------------------

READERS = {
    "profile": lambda at: ["profile", f"{at}.trace"],
    "run a trace": lambda at: ["run", f"{at}.trace", *SMALL, "--plain", "--no-report", "--ledger", f"{at}.db"],
    "plan a trace": lambda at: ["plan", f"{at}.trace", *SMALL],
    "plan": lambda at: ["plan", f"{at}.toml"],
    "plan --filesystems": lambda at: ["plan", *WORK, *SMALL, "--filesystems", f"{at}.toml"],
    "plan --disk": lambda at: ["plan", *WORK, "--fs", "ext4", "--disk", f"{at}.toml"],
    "powercut --again": lambda at: ["powercut", "--again", f"{at}.json"],
    "import": lambda at: ["import", f"{at}.json", "--ledger", f"{at}.db"],
    "import --as workload": lambda at: ["import", "--as", "workload", f"{at}.fio", "-o", f"{at}-made.toml"],
}


def unreadable(name, make):
    """Something that is named where a file is to be read: refused in a sentence, and never waited for."""

    @layout(f"a file to read that is {name}")
    def _(world):
        at = world.path("given")
        for ending in ("trace", "toml", "json", "fio"):
            make(world, f"{at}.{ending}")
        ask = lambda words: lambda place: place.tool.ask(*words(at), cwd=place.own)  # noqa: E731
        return steps(world, at, "input", REFUSED, {name: ask(words) for name, words in READERS.items()})


def fifo(world, path):
    os.mkfifo(path)


def fifo_with_a_writer(world, path):
    os.mkfifo(path)
    world.python("held = os.open(sys.argv[1], os.O_RDWR)\nos.write(held, b'{' * 4096)", path)


def listening_socket(world, path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    world.ends.append(listener.close)


def node(kind, major, minor):
    return lambda world, path: os.mknod(path, kind | 0o600, os.makedev(major, minor))


def block_device(world, path):
    disk = world.disk(name=False)
    world.protect(disk)
    world.node_of(disk.node, path)


def linked(target):
    return lambda world, path: os.symlink(target, path)


def link_to_a_fifo(world, path):
    fifo(world, path + "-fifo")
    os.symlink(path + "-fifo", path)


def huge(world, path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    world.victims[path] = lambda: os.stat(path).st_size


def noise(world, path):
    world.protect(world.write(os.path.basename(path), world.noise(70000)))


for name, make in {
    "a FIFO": fifo,
    "a FIFO that never ends": fifo_with_a_writer,
    "a link to a FIFO": link_to_a_fifo,
    "a socket": listening_socket,
    "the device of endless zeros": node(stat.S_IFCHR, 1, 5),
    "a terminal's device": node(stat.S_IFCHR, 5, 2),
    "a disk": block_device,
    "a folder": lambda world, path: os.mkdir(path),
    "a link to itself": lambda world, path: os.symlink(path, path),
    "a link to nothing": linked("nowhere"),
    "a link to the kernel's log": linked("/proc/kmsg"),
    "a link to its own memory": linked("/proc/self/mem"),
    "a link to a page of sysfs": linked("/sys/kernel/profiling"),
    "a TiB of zeros": huge,
    "noise": noise,
}.items():
    unreadable(name, make)


# Scratch folders --------------------------------------------------------------------------------------------------------------

# Exchanges every image as soon as it is there, and takes its own things away again, so that none of them looks like a leftover.
EXCHANGE = """
import threading, time
folder, kind, victim = sys.argv[1:4]
def go():
    done = 0
    while True:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if not name.endswith('.img') or name.startswith('moved'):
                continue
            try:
                os.rename(path, os.path.join(folder, f'moved-{done}'))
                {'fifo': os.mkfifo, 'link': lambda at: os.symlink(victim, at), 'hard link': lambda at: os.link(victim, at),
                 'folder': os.mkdir, 'nothing': lambda at: None}[kind](path)
                time.sleep(0.5)
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            except OSError:
                pass
            done += 1
        time.sleep(0.0005)
threading.Thread(target=go, daemon=True).start()
"""


def run_in(scratch, *more):
    def ask(place):
        return place.tool.run("--fs", "ext4,xfs", "--image", "330MiB", "--scratch", scratch, *more, cwd=place.own)

    return ask


def exchanged(kind, words):
    @layout(f"a scratch folder whose owner exchanges images for {words}")
    def _(world):
        place = world.make_folder("scratch", owner=STRANGER)
        victim = world.write("precious.img", bytes(range(256)) * 4 * 1024)
        if kind != "hard link":  # Which changes the number of links by itself.
            world.protect(victim)
        else:
            world.protect_range(victim, 0, MIB)
        world.python(EXCHANGE, place, kind, victim)
        return steps(world, place, "scratch", HARMLESS, {"run": run_in(place)})


for kind, words in {"fifo": "FIFOs", "link": "links to a user's file", "hard link": "names of a user's file", "folder": "folders",
                    "nothing": "nothing"}.items():
    exchanged(kind, words)


def mode_of_scratch(mode, expect, words):
    @layout(f"a scratch folder {words}")
    def _(world):
        place = world.make_folder("scratch", mode=mode)
        world.protect(world.write("scratch/precious", owner=STRANGER))
        return steps(world, place, "scratch", expect, {"run": run_in(place)})


mode_of_scratch(0o777, REFUSED, "in which everybody can exchange files")
mode_of_scratch(0o733, REFUSED, "in which everybody can exchange files, and which cannot be listed")
mode_of_scratch(0o1777, ALLOWED, "that is open to all, and sticky")

READS = f"""
import threading, time
folder, canary = sys.argv[1:3]
seen = os.open(canary, os.O_RDONLY)  # A folder that root made; what is made in it tells.
os.setgid({STRANGER}); os.setuid({STRANGER})
def go():
    while True:
        for name in os.listdir(folder):
            if name.endswith('.img'):
                try:
                    os.close(os.open(os.path.join(folder, name), os.O_RDONLY))
                    os.close(os.open('opened', os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=seen))
                except OSError:
                    pass
        time.sleep(0.0005)
threading.Thread(target=go, daemon=True).start()
"""


@layout("a scratch folder in which another user opens every image")
def _(world):
    place, canary = world.make_folder("scratch", mode=0o1777), world.make_folder("canary", mode=0o777)
    for folder in (os.path.dirname(world.folder), world.folder):
        os.chmod(folder, os.stat(folder).st_mode | 0o755)
    world.absent(os.path.join(canary, "opened"))
    world.python(READS, place, canary)
    return steps(world, place, "scratch", ALLOWED, {"run": run_in(place)})


# Words, tools and limits ------------------------------------------------------------------------------------------------------


@layout("a loop device whose file has a sibling that differs in capitals")
def _(world):
    files = [world.sparse(name) for name in ("e.img", "E.img")]
    disk = world.loop(files[0])
    world.mkfs("ext4", disk)
    world.put(files[1], 0, world.noise(4096))
    world.protect(*files)
    words = {"--erase with the sibling": files[1], "--erase in capitals": files[0].upper()}
    ask = lambda word: lambda place: place.tool.run("--fs", "ext2", "--on", disk.node, "--erase", word, cwd=place.own)  # noqa: E731
    return steps(world, disk.node, "erase", REFUSED, {name: ask(word) for name, word in words.items()})


@layout("a disk of an odd length with sectors of 4096 bytes")
def _(world):
    file = world.path("odd.img")
    with open(file, "wb") as made:
        made.truncate(629146112)
    disk = world.loop(file, "--sector-size", "4096")
    return steps(world, disk.node, "on", ALLOWED, {"run": lambda place: place.tool.run("--fs", "ext4", "--on", disk.node, cwd=place.own)})


def planted_tools(name, mode, owner):
    @layout(f"tools in {name} on the PATH")
    def _(world):
        canary, tools = world.path("canary"), world.make_folder("tools")
        world.absent(canary)
        for tool in ("mkfs.ext4", "mke2fs", "mount", "umount", "losetup", "blkid", "wipefs", "truncate", "blkdiscard", "e2fsck"):
            world.write(f"tools/{tool}", f"#!/bin/sh\ntouch {canary}\nexit 1\n", mode=0o755, owner=owner)
        os.chown(tools, owner, owner)
        os.chmod(tools, mode)
        enter = ["env", f"PATH={tools}:{os.environ['PATH']}"]

        def ask(place):
            words = ["run", *WORK, *SMALL, "--scratch", place.scratch, "--plain", "--no-report", "--ledger", place.tool.fresh_ledger()]
            return place.tool.ask(*words, cwd=place.own, enter=enter)

        return steps(world, tools, "tools", ALLOWED, {"run": ask})


planted_tools("a stranger's folder", 0o755, STRANGER)
planted_tools("a folder in which everybody can exchange them", 0o777, 0)


@layout("a configuration of mke2fs in the environment")
def _(world):
    world.write("mke2fs.conf", "[fs_types]\n ext4 = {\n features = ^has_journal\n blocksize = 1024\n }\n")
    enter = ["env", f"MKE2FS_CONFIG={world.path('mke2fs.conf')}", "MKE2FS_FIRST_META_BG=1", "LIBMOUNT_FSTAB=/nowhere"]

    def ask(place):
        ledger = place.tool.fresh_ledger()
        words = ["run", *WORK, *SMALL, "--scratch", place.scratch, "--plain", "--no-report", "--ledger", ledger]
        answer = place.tool.ask(*words, cwd=place.own, enter=enter)
        if answer.status == 0 and b"MKE2FS_CONFIG is set" not in open(ledger, "rb").read():
            answer.status, answer.err = 1, "bakeoff: the evidence does not name MKE2FS_CONFIG"
        return answer

    return steps(world, world.path("mke2fs.conf"), "tools", ALLOWED, {"run": ask})


@layout("a limit on the size of files")
def _(world):
    place = world.make_folder("scratch")
    limited = ["prlimit", "--fsize=1000000", "--"]

    def ask(place):
        return place.tool.ask("run", *WORK, *SMALL, "--scratch", place.scratch, "--plain", "--no-report", "--ledger",
                              place.tool.fresh_ledger(), cwd=place.own, enter=limited)

    return steps(world, place, "limit", REFUSED, {"run": ask})
