"""Names: words that allow erasing, and a name that leads to something else when a run is resumed."""

import os
import signal

from .. import tool as tools
from ..target import ALLOWED, HARMLESS, HOLDS_DATA, IN_USE, REFUSED, Target, device, layout
from ..ways import Way
from ..world import BY_ID, MIB, LeftOut, command
from .mounts import filled

NOT_IT = "does not name|names are|no name|not the name|another|cannot be named|name"


def precious(world, name=True):
    disk = world.disk(name=name)
    world.mkfs("ext4", disk, "-L", "precious")
    return disk


@layout("the word: the file behind a loop device without another name")
def _(world):
    disk = precious(world, name=False)
    return device(disk, HOLDS_DATA, erase=disk.file)


def wrong_word(name, word):
    @layout(f"the word: {name}")
    def _(world):
        disk = precious(world)
        return device(disk, IN_USE, NOT_IT, erase=word(world, disk))


def of_another(world, disk):
    other = precious(world)
    world.protect(other)
    return other.by_id


def file_of_another(world, disk):
    other = precious(world)
    world.protect(other)
    return other.file


wrong_word("another disk's by-id name", of_another)
wrong_word("the file behind another loop device", file_of_another)
wrong_word("the beginning of its by-id name", lambda world, disk: disk.by_id[:-1])
wrong_word("its kernel name", lambda world, disk: os.path.basename(disk.node))
wrong_word("a space", lambda world, disk: " ")
wrong_word("a pattern", lambda world, disk: "*")
wrong_word("a copy of the file behind it", lambda world, disk: world.sparse())


@layout("the word: its by-id name in capitals")
def _(world):
    # No other name of any device could be meant.
    disk = precious(world)
    return device(disk, {**IN_USE, "erase": HARMLESS}, erase=disk.by_id.upper())


def uuid_of(node):
    return command("blkid", "--probe", "--output", "value", "--match-tag", "PART_ENTRY_UUID", node).strip()


@layout("the word: a partition's UUID")
def _(world):
    part, = world.partitions(world.disk(name=False), (1, 64))
    world.mkfs("ext4", part)
    return device(part, HOLDS_DATA, erase=uuid_of(part.node))


@layout("the word: the UUID of the partition beside it")
def _(world):
    first, second = world.partitions(world.disk(name=False), (1, 40), (44, 48))
    world.mkfs("ext4", first)
    world.mkfs("ext4", second)
    return device(second, IN_USE, NOT_IT, erase=uuid_of(first.node))


# Resuming -------------------------------------------------------------------------------------------------------------------


class Resumed:
    """A run on an empty disk that is stopped after its first trial, and what happens to the disk then."""

    def __init__(self, name, swap, expect=REFUSED, by=("node", "link", "by-id"), before=None):
        self.swap, self.expect, self.by, self.prepare = swap, expect, by, before
        layout(f"resume: {name}")(self.build)

    def build(self, world):
        disk = self.prepare(world) if self.prepare else world.disk()
        target = Target("steps", disk.node, {"resume": self.expect}, "no longer|another|differ|now|changed|mounted|read-only|open|carries",
                        disk)
        target.steps = [Way(f"by {by}, ended by {ending.name}", "resume", self.way(disk, by, ending), ["steps"])
                        for by in self.by for ending in self.endings(by)]
        target.backing = None
        target.disk = disk
        return target

    def endings(self, by):
        return (signal.SIGINT, signal.SIGKILL) if by == self.by[0] else (signal.SIGINT,)

    def way(self, disk, by, ending):
        def ask(place):
            return self.resumed(place, by, ending)
        return ask

    def resumed(self, place, by, ending):
        disk = place.target.disk
        path = {"node": disk.node, "link": place.link("link"), "by-id": place.target.by_id_path}[by]
        ledger = place.path("stopped.db")
        words = ["run", *tools.WORK, *tools.QUIET, "--samples", "3", "--ledger", ledger, "--fs", "ext2", "--on", path]
        words = [word for at, word in enumerate(words) if not (word in ("--samples", "1") and at < len(tools.WORK))]
        child = place.tool.start(*words, cwd=place.own)
        place.world.ends.append(lambda: child.poll() is None and (child.kill(), child.wait()))
        if not tools.wait_for_trial(ledger, child):
            raise LeftOut("no trial came about within 90 s")
        child.send_signal(ending)
        child.wait(timeout=60)
        if ending == signal.SIGKILL:
            place.tool.ask("clean", cwd=place.own) if self.expect == ALLOWED else None
        try:
            place.census.expect(lambda: self.swap(place.world, disk, place.path("link")))
        except LeftOut as problem:
            raise LeftOut(f"the swap: {problem}") from None
        place.world.remember()
        answer = place.tool.ask("resume", *tools.QUIET, "--ledger", ledger, cwd=place.own)
        place.tool.ask("clean", cwd=place.own)
        return answer


def other_file(world, mib=96):
    """A user's filesystem in a file."""
    file = world.sparse(mib=mib)
    world.mkfs("ext4", file, "-L", "precious")
    return world.protect(file)


def behind(world, disk, file, *options):
    """The loop device leads to another file now."""
    command("losetup", "--detach", disk.node)
    for _ in range(100):
        if not os.path.exists(f"/sys/block/{os.path.basename(disk.node)}/loop"):
            break
        command("sleep", "0.02")
    world.attach(disk.node, file, *options)


def other_behind(mib=96):
    return lambda world, disk, link: behind(world, disk, other_file(world, mib))


def same_path(world, disk, link):
    os.rename(disk.file, world.path("moved-away"))
    file = other_file(world)
    os.rename(file, disk.file)
    del world.victims[file]
    world.protect(disk.file)
    behind(world, disk, disk.file)


def other_place(world, disk, link):
    behind(world, disk, disk.file, "--offset", str(8 * MIB))
    world.mkfs("ext4", disk, "-L", "precious")
    world.protect(disk.file)


def a_copy(world, disk, link):
    """A copy with everything that the run wrote on it, its label too."""
    copy = world.sparse()
    command("cp", "--sparse=always", disk.file, copy)
    world.put(copy, 20 * MIB, b"and something that is only here")
    world.protect(copy)
    behind(world, disk, copy)


def link_elsewhere(world, disk, link):
    other = precious(world)
    world.protect(other)
    os.unlink(link)
    os.symlink(other.node, link)


def by_id_elsewhere(world, disk, link):
    other = precious(world)
    world.protect(other)
    path = os.path.join(BY_ID, disk.by_id)
    os.unlink(path)
    os.symlink(other.node, path)


def empty_elsewhere(world, disk, link):
    other = world.disk()
    world.protect(other)
    os.unlink(link)
    os.symlink(other.node, link)


def mounted_now(world, disk, link):
    filled(world, disk)
    world.protect(disk)


def filled_now(world, disk, link):
    world.mkfs("ext4", disk, "-L", "precious")
    world.settle()
    world.protect(disk)


def open_now(world, disk, link):
    world.put(disk.node, 0, bytes(MIB))
    world.holds(disk.node)
    world.settle()
    world.protect(disk)


def read_only_now(world, disk, link):
    command("blockdev", "--setro", disk.node)
    world.ends.append(lambda: command("blockdev", "--setrw", disk.node))
    world.protect(disk)


def larger_now(world, disk, link):
    with open(disk.file, "r+b") as file:
        file.truncate(128 * MIB)
    command("losetup", "--set-capacity", disk.node)


def table_rewritten(world, part, link):
    """The same partition number, begun elsewhere, over a user's data."""
    whole = part.node[:-2]
    command("partx", "--delete", whole)
    world.put(part.file, 0, bytes(512))
    disk = next(loop for loop in world.loops if loop.node == whole)
    again, = world.partitions(disk, (17, 64))
    world.mkfs("ext4", again, "-L", "precious")
    world.settle()
    world.protect(part.file)


Resumed("another file behind the same loop device", other_behind())
Resumed("another, larger file behind the same loop device", other_behind(mib=128))
Resumed("a new file by the name of the old one", same_path)
Resumed("another part of the same file", other_place)
Resumed("a copy of the disk, labels and all", a_copy)
Resumed("the link leads to another disk", link_elsewhere, by=("link",))
Resumed("the link leads to another, empty disk", empty_elsewhere, by=("link",))
Resumed("the by-id name leads to another disk", by_id_elsewhere, by=("by-id",))
Resumed("mounted meanwhile", mounted_now, by=("node", "by-id"))
Resumed("a user's filesystem was put on it", filled_now, by=("node", "by-id"))
Resumed("open by a process meanwhile", open_now, by=("node",))
Resumed("read-only meanwhile", read_only_now, by=("node",))
Resumed("grown meanwhile", larger_now, by=("node",))
Resumed("the partition begins elsewhere", table_rewritten, by=("node",),
        before=lambda world: world.partitions(world.disk(), (1, 64))[0])
Resumed("the same disk", lambda world, disk, link: None, ALLOWED)
Resumed("the same disk, detached and attached again", lambda world, disk, link: behind(world, disk, disk.file), HARMLESS,
        by=("node",))
