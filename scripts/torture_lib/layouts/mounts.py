"""Devices that are mounted, or whose relatives are: in this namespace, in another, under another name, as a second device."""

import os
import sys

from ..target import FREE, HOLDS_DATA, IN_USE, device, layout
from ..world import LeftOut, command

MOUNTED = "mounted|in use|busy|holds|held"


def filled(world, disk, kind="ext4"):
    """A filesystem with something in it."""
    world.mkfs(kind, disk)
    point = world.mount(disk)
    with open(os.path.join(point, "diary"), "w") as file:
        file.write("what has no copy\n" * 200)
    world.calm(point)
    return point


@layout("mounted")
def _(world):
    disk = world.disk()
    filled(world, disk)
    return device(disk, IN_USE, MOUNTED)


@layout("mounted read-only")
def _(world):
    disk = world.disk(mib=330)
    world.mkfs("xfs", disk)
    world.mount(disk, "-o", "ro,norecovery")
    return device(disk, IN_USE, MOUNTED)


@layout("mounted, only a bind mount of a folder is left")
def _(world):
    disk = world.disk()
    point = filled(world, disk)
    os.mkdir(os.path.join(point, "inner"))
    world.calm(point)
    world.mount(os.path.join(point, "inner"), "--bind")
    world.unmount(point)
    return device(disk, IN_USE, MOUNTED)


@layout("mounted, hidden under another mount")
def _(world):
    disk = world.disk()
    point = filled(world, disk)
    world.mount("tmpfs", "-t", "tmpfs", point=point)
    return device(disk, IN_USE, MOUNTED)


@layout("mounted, unmounted lazily, a file still open")
def _(world):
    disk = world.disk()
    point = filled(world, disk)
    world.holds(os.path.join(point, "diary"), "os.O_RDWR")
    world.mounted.remove(point)
    command("umount", "--lazy", point)
    return device(disk, IN_USE, MOUNTED)


@layout("mounted in another mount namespace")
def _(world):
    disk = world.disk()
    world.mkfs("ext4", disk)
    point = world.make_folder("elsewhere")
    world.python("import subprocess\nsubprocess.run(['mount', sys.argv[1], sys.argv[2]], check=True)", disk.node, point,
                 enter=["unshare", "--mount", "--propagation", "private"])
    return device(disk, IN_USE, MOUNTED)


@layout("mounted in a chroot of another namespace, over another node")
def _(world):
    disk = world.disk()
    world.mkfs("ext4", disk)
    jail = world.make_folder("jail")
    os.mkdir(os.path.join(jail, "point"))
    world.node_of(disk.node, os.path.join(jail, "node"))
    code = ("import ctypes\nos.chroot(sys.argv[1]); os.chdir('/')\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "assert libc.mount(b'/node', b'/point', b'ext4', 0, None) == 0")
    world.python(code, jail, enter=["unshare", "--mount", "--propagation", "private"])
    return device(disk, IN_USE, MOUNTED)


@layout("a partition, mounted")
def _(world):
    part, = world.partitions(world.disk(), (1, 64))
    filled(world, part)
    return device(part, IN_USE, MOUNTED)


@layout("a whole disk with a mounted partition")
def _(world):
    disk = world.disk()
    part, = world.partitions(disk, (1, 64))
    filled(world, part)
    return device(disk, IN_USE, MOUNTED)


@layout("an empty partition beside a mounted one")
def _(world):
    first, second = world.partitions(world.disk(), (1, 40), (44, 48))
    filled(world, first)
    world.protect_range(first.file, 0, 42 << 20)
    return device(second, HOLDS_DATA, "mounted|sibling|beside")


@layout("a partition of data beside an empty, unused one")
def _(world):
    first, second = world.partitions(world.disk(), (1, 40), (44, 48))
    world.mkfs("ext4", first)
    world.protect_range(first.file, 0, 42 << 20)
    return device(second, FREE)


def of_swap(world, target, file, header=0):
    """The kernel writes to swap by itself; all that stays is its header, and what lies before it."""
    target.backing = None
    world.protect_range(file, 0, header + 4096)
    return target


@layout("an empty partition beside one that is swap")
def _(world):
    first, second = world.partitions(world.disk(), (1, 40), (44, 48))
    world.swap(first.node)
    return of_swap(world, device(second, HOLDS_DATA, "swap|sibling|beside"), first.file, 1 << 20)


@layout("a whole disk with a partition that is swap")
def _(world):
    disk = world.disk()
    part, = world.partitions(disk, (1, 64))
    world.swap(part.node)
    return of_swap(world, device(disk, IN_USE, "swap|busy|in use"), disk.file, 1 << 20)


@layout("swap on the device")
def _(world):
    disk = world.disk()
    world.swap(disk.node)
    return of_swap(world, device(disk, IN_USE, "swap|busy|in use"), disk.file)


@layout("the external journal of a mounted ext4")
def _(world):
    journal, disk = world.disk(), world.disk()
    world.mkfs("ext4", journal, "-O", "journal_dev")
    world.mkfs("ext4", disk, "-J", f"device={journal}")
    world.protect(disk)
    world.calm(world.mount(disk))
    return device(journal, IN_USE, "journal|exclusively|holds|in use|mounted|busy")


@layout("the external log of a mounted XFS")
def _(world):
    log, disk = world.disk(), world.disk(mib=330)
    world.mkfs("xfs", disk, "-l", f"logdev={log}")
    world.mount(disk, "-o", f"logdev={log}")
    target = device(log, IN_USE, "log|exclusively|holds|in use|mounted|busy")
    # XFS itself goes on writing its log; the first record of mkfs stays until the log has gone round.
    target.backing = None
    world.protect_range(log.file, 0, 1024)
    return target


def btrfs_pair(world):
    first, second = world.disk(mib=200), world.disk(mib=200)
    command("mkfs.btrfs", "-q", "-f", first, second)
    command("btrfs", "device", "scan", first, second)
    world.ends.append(lambda: command("btrfs", "device", "scan", "--forget", check=False))
    return first, second


@layout("the second device of a mounted btrfs")
def _(world):
    first, second = btrfs_pair(world)
    world.protect(first)
    world.calm(world.mount(first))
    return device(second, IN_USE, "btrfs|mounted|in use|busy")


@layout("the first device of a mounted btrfs, mounted by the second's name")
def _(world):
    first, second = btrfs_pair(world)
    world.protect(second)
    world.calm(world.mount(second))
    return device(first, IN_USE, "btrfs|mounted|in use|busy")


@layout("the seed of a mounted btrfs")
def _(world):
    seed, sprout = world.disk(mib=200), world.disk(mib=200)
    world.mkfs("btrfs", seed)
    command("btrfstune", "-S", "1", seed)
    point = world.mount(seed)
    command("btrfs", "device", "add", "-f", sprout, point)
    world.calm(point)
    world.ends.append(lambda: command("btrfs", "device", "scan", "--forget", check=False))
    return device(seed, IN_USE, "btrfs|mounted|in use|busy")


@layout("a device of an unmounted btrfs of two")
def _(world):
    first, second = btrfs_pair(world)
    world.protect(first)
    return device(second, HOLDS_DATA, "btrfs")


@layout("mounted by a user's namespace")
def _(world):
    # A user namespace may not mount a device; a bind of what is mounted outlives the outer mount.
    disk = world.disk()
    point = filled(world, disk)
    holder = world.process(sys.executable, "-c", "import sys; print('ready', flush=True); sys.stdin.read()",
                           enter=["unshare", "--mount", "--propagation", "private", "--map-root-user"])
    if holder.poll() is not None:
        raise LeftOut("user namespaces are switched off")
    world.unmount(point)
    return device(disk, IN_USE, MOUNTED)


@layout("frozen")
def _(world):
    disk = world.disk()
    point = filled(world, disk)
    command("sync", "--file-system", point)
    command("fsfreeze", "--freeze", point)
    # Nothing that is compared waits for the thaw: the victims are read from the file below. Unmounted while frozen, nothing
    # could thaw it any more.
    world.mounted.remove(point)
    world.ends.append(lambda: command("umount", point))
    world.ends.append(lambda: command("fsfreeze", "--unfreeze", point))
    return device(disk, IN_USE, MOUNTED)


@layout("an empty disk")
def _(world):
    return device(world.disk(), FREE)


@layout("an empty disk beside a mounted one")
def _(world):
    other = world.disk()
    filled(world, other)
    world.protect(other)
    return device(world.disk(), FREE)
