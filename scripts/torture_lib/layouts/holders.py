"""Devices that a process has open, by whatever name and from wherever, and devices that cannot be taken at all."""

import os
import stat

from ..target import FREE, HOLDS_DATA, IN_USE, OPEN, device, file, folder, layout
from ..world import Disk, command
from .mounts import filled

HELD = "open|process|exclusively|holds|held|busy"


def held(name, hold):
    """An empty disk that a process has open in this manner."""

    @layout(f"open by a process: {name}")
    def _(world):
        disk = world.disk()
        hold(world, disk)
        return device(disk, IN_USE, HELD)


held("for reading, by its node", lambda world, disk: world.holds(disk.node))
held("for writing, by its node", lambda world, disk: world.holds(disk.node, "os.O_RDWR"))
held("exclusively", lambda world, disk: world.holds(disk.node, "os.O_RDWR | os.O_EXCL"))
held("by a node outside /dev", lambda world, disk: world.holds(world.node_of(disk.node, world.path("strange-node"))))
held("in another mount namespace",
     lambda world, disk: world.holds(world.node_of(disk.node, world.path("strange-node")),
                                     enter=["unshare", "--mount", "--propagation", "private"]))
held("in another process namespace",
     lambda world, disk: world.holds(world.node_of(disk.node, world.path("strange-node")),
                                     enter=["unshare", "--pid", "--fork", "--kill-child"]))


def in_chroot(world, disk):
    jail = world.make_folder("jail")
    world.node_of(disk.node, os.path.join(jail, "node"))
    world.python("os.chroot(sys.argv[1]); os.chdir('/')\nheld = os.open('/node', os.O_RDONLY)", jail)


def node_gone(world, disk):
    node = world.node_of(disk.node, world.path("short-lived-node"))
    world.holds(node)
    os.unlink(node)


def stopped(world, disk):
    os.kill(world.holds(disk.node).pid, 19)


def mapped(world, disk):
    world.python("held = os.open(sys.argv[1], os.O_RDWR)\nmapped = mmap.mmap(held, 4096)\nos.close(held)", disk.node)


def of_a_thread(world, disk):
    """A thread may have files of its own, which the process's folder in /proc does not show."""
    code = ("import ctypes, threading\nready = threading.Event()\n"
            "def work():\n    assert ctypes.CDLL(None).unshare(0x400) == 0\n"
            "    held = os.open(sys.argv[1], os.O_RDWR); ready.set(); threading.Event().wait()\n"
            "threading.Thread(target=work, daemon=True).start(); ready.wait()")
    world.python(code, disk.node)


held("in a chroot", in_chroot)
held("by a node that is gone", node_gone)
held("by a process that is stopped", stopped)
held("mapped, its descriptor closed", mapped)
held("by a thread with files of its own", of_a_thread)


@layout("a disk whose partition a process has open")
def _(world):
    disk = world.disk()
    part, = world.partitions(disk, (1, 64))
    world.holds(part.node)
    return device(disk, IN_USE, HELD)


@layout("an empty partition whose whole disk a process has open")
def _(world):
    disk = world.disk()
    part, = world.partitions(disk, (1, 64))
    world.holds(disk.node)
    world.protect_range(disk.file, 0, 1 << 20)
    return device(part, HOLDS_DATA, HELD + "|whole|disk")


@layout("an empty partition beside one that a process has open")
def _(world):
    first, second = world.partitions(world.disk(), (1, 40), (44, 48))
    world.holds(first.node)
    world.protect_range(first.file, 0, 42 << 20)
    return device(second, {**OPEN, "declared": OPEN["on"]})


# What can be no place for a run ---------------------------------------------------------------------------------------------


@layout("a read-only device")
def _(world):
    return device(world.named(world.loop(world.sparse(), "--read-only")), IN_USE, "read-only")


@layout("a loop device over a read-only file of a read-only mount")
def _(world):
    outer = world.disk()
    point = filled(world, outer)
    with open(os.path.join(point, "inner.img"), "wb") as opened:
        opened.truncate(32 << 20)
    world.calm(point)
    command("mount", "-o", "remount,ro", point)
    return device(world.named(world.loop(os.path.join(point, "inner.img"), "--read-only")), IN_USE, "read-only")


@layout("a loop device without a file")
def _(world):
    return device(world.named(Disk(world.number())), IN_USE, "size is 0|no medium|empty|not attached")


@layout("a node whose number has no device")
def _(world):
    node = world.path("stale-node")
    os.mknod(node, 0o600 | stat.S_IFBLK, os.makedev(7, 1048000))
    return file(node, "does not know|gone|stale|number")


@layout("a character device")
def _(world):
    node = world.path("null")
    os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return file(node, directory="refused")


@layout("a FIFO")
def _(world):
    os.mkfifo(world.path("fifo"))
    return file(world.path("fifo"))


@layout("a file that looks like a disk")
def _(world):
    path = world.sparse(mib=32)
    world.mkfs("ext4", path)
    world.protect(path)
    return file(path)


@layout("a user's text")
def _(world):
    return file(world.protect(world.write("notes.txt")))


@layout("a user's empty file", lambda way: way.group != "ledger")
def _(world):
    return file(world.protect(world.write("empty.txt", "")), ledger="harmless")


@layout("a link to a user's file")
def _(world):
    target = world.protect(world.write("notes.txt"))
    return file(world.protect(world.link("notes-link", target)))


@layout("a link to nothing")
def _(world):
    world.absent(world.path("nothing"))
    return file(world.protect(world.link("dangling", world.path("nothing"))))


@layout("a user's folder")
def _(world):
    for name in ("index.html", "run.json", "tables.csv", "inner/letter"):
        world.protect(world.write(f"documents/{name}"))
    return folder(world.path("documents"))


@layout("a link to a user's folder")
def _(world):
    world.protect(world.write("documents/index.html"))
    return folder(world.link("documents-link", world.path("documents")))


@layout("an empty folder")
def _(world):
    return folder(world.make_folder("empty"), output="allowed", output_by_a_link="harmless")


@layout("an empty disk with a strange name")
def _(world):
    disk = world.disk(name=False)
    world.named(disk, "torture-a name, with 'quotes' and $words")
    return device(disk, FREE)
