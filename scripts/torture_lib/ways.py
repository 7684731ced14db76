"""Every way to name a device, a file or a folder to the tool.

In: a built layout. Out: for each way its name, what it asks of the layout, and the command that is run.
A way belongs to a group, and a layout says for each group what must come of it.
"""

import os
import sqlite3

from .tool import WORK
from .world import BY_ID

IMAGE = ["--image", "330MiB"]


class Way:
    """One way to name something."""

    def __init__(self, name, group, ask, kinds):
        self.name, self.group, self.ask, self.kinds = name, group, ask, kinds


WAYS = []


def way(name, group, kinds="device file folder"):
    """Registers a way for targets of these kinds."""

    def keep(ask):
        assert all(known.name != name for known in WAYS), name
        WAYS.append(Way(name, group, ask, kinds.split()))
        return ask

    return keep


class Place:
    """What the ways use of a layout: its target, and a folder of their own."""

    def __init__(self, world, target, tool):
        self.world, self.target, self.tool = world, target, tool
        self.own = world.make_folder("ways")
        self.scratch = world.make_folder("ways/scratch")

    def path(self, name):
        return os.path.join(self.own, name)

    def on(self, path, erase=False, split=False):
        words = ["--fs", "ext2,ext4", "--split", "--on", path] if split else ["--fs", self.target.fs, "--on", path]
        word = self.target.erase if erase else None
        return self.tool.run(*words, *(["--erase", word] if word else []), cwd=self.own)

    def options(self, fs, *words):
        return self.tool.run("--fs", fs, *IMAGE, "--scratch", self.scratch, *words, cwd=self.own)

    def link(self, name):
        path = self.path(name)
        if not os.path.lexists(path):
            os.symlink(self.target.path, path)
        return path

    def file(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def finished(self):
        return self.world.finished(self.tool)


def plan_text(extra, compete):
    """A plan of the smallest work."""
    work = 'workloads = [{ name = "small-files", settings = { files = 20, some = 4 } }]'
    return f'name = "hostile"\ncompete = ["{compete}"]\n{work}\n{extra}\n[sampling]\nsamples = 1\n'


# The device itself ----------------------------------------------------------------------------------------------------------


@way("--on", "on")
def _(place):
    return place.on(place.target.path)


@way("--on --erase", "erase", "device")
def _(place):
    return place.on(place.target.path, erase=True)


@way("--on --split", "split")
def _(place):
    return place.on(place.target.path, split=True)


@way("--on --split --erase", "split erase", "device")
def _(place):
    return place.on(place.target.path, erase=True, split=True)


@way("--on a link", "on")
def _(place):
    return place.on(place.link("a-link"))


@way("--on a link of a link --erase", "erase", "device")
def _(place):
    place.link("first-link")
    if not os.path.lexists(place.path("second-link")):
        os.symlink("first-link", place.path("second-link"))
    return place.on(place.path("second-link"), erase=True)


@way("--on by-id", "on", "device")
def _(place):
    return place.on(place.target.by_id_path or place.target.path)


@way("--on by-id --erase", "erase", "device")
def _(place):
    return place.on(place.target.by_id_path or place.target.path, erase=True)


@way("--on another node", "on", "device")
def _(place):
    node = place.path("node")
    if not os.path.lexists(node):
        place.world.node_of(place.target.path, node)
    return place.on(node)


@way("--on another node --erase", "erase", "device")
def _(place):
    node = place.path("node")
    if not os.path.lexists(node):
        place.world.node_of(place.target.path, node)
    return place.on(node, erase=True)


@way("--on a relative path", "on")
def _(place):
    return place.on(os.path.relpath(place.target.path, place.own))


@way("--erase with another word", "other word", "device")
def _(place):
    return place.tool.run("--fs", place.target.fs, "--on", place.target.path, "--erase", "torture-another-disk")


@way("--erase with the node", "other word", "device")
def _(place):
    return place.tool.run("--fs", place.target.fs, "--on", place.target.path, "--erase", place.target.path)


@way("a plan's where", "on")
def _(place):
    where = f'where = {{ device = "{place.target.path}" }}'
    plan = place.file("where.toml", plan_text("", place.target.fs).replace("workloads", where + "\nworkloads", 1))
    return place.tool.run(work=[plan, "--seed", "7", "--no-twin"], cwd=place.own)


@way("plan --commands", "read", "device")
def _(place):
    return place.tool.ask("plan", *WORK, "--fs", place.target.fs, "--on", place.target.path, "--commands", cwd=place.own)


@way("doctor --on", "read", "device file")
def _(place):
    return place.tool.ask("doctor", "--on", place.target.path, cwd=place.own)


# Options of mkfs and mount --------------------------------------------------------------------------------------------------

MKFS = {
    "mkfs btrfs=T": ("btrfs", "{0}", "option"),
    "mkfs ext4=T": ("ext4", "{0}", "option"),
    "mkfs xfs=T": ("xfs", "{0}", "option"),
    "mkfs zfs=T": ("zfs", "{0}", "option"),
    "mkfs zfs=mirror T": ("zfs", "mirror {0}", "option"),
    "mkfs btrfs=-d raid1 T": ("btrfs", "-d raid1 -m raid1 {0}", "option"),
    "mkfs btrfs=-- T": ("btrfs", "-- {0}", "option"),
    "mkfs btrfs=--rootdir T": ("btrfs", "--rootdir {0}", "option"),
    "mkfs btrfs=-r T": ("btrfs", "-r {0}", "option"),
    "mkfs btrfs=-rT": ("btrfs", "-r{0}", "option"),
    "mkfs xfs=-l logdev": ("xfs", "-l logdev={0}", "declared"),
    "mkfs xfs=-llogdev": ("xfs", "-llogdev={0},size=64m", "declared"),
    "mkfs xfs=-r rtdev": ("xfs", "-r rtdev={0}", "declared"),
    "mkfs xfs=-d name": ("xfs", "-d name={0}", "option"),
    "mkfs xfs=-d file,name": ("xfs", "-d file=1,name={0},size=320m", "option"),
    "mkfs xfs=-p T": ("xfs", "-p {0}", "option"),
    "mkfs xfs=-c T": ("xfs", "-c options={0}", "option"),
    "mkfs ext4=-J device": ("ext4", "-J device={0}", "declared"),
    "mkfs ext4=-Jdevice": ("ext4", "-Jsize=8,device={0}", "declared"),
    "mkfs ext4=-z T": ("ext4", "-z {0}", "option"),
    "mkfs ext4=-qzT": ("ext4", "-vz{0}", "option"),
    "mkfs ext4=-d T": ("ext4", "-d {0}", "option"),
    "mkfs ext4=-l T": ("ext4", "-l {0}", "option"),
    "mkfs ext2=-O journal_dev T": ("ext2", "-O journal_dev {0}", "option"),
}
MOUNT = {
    "mount xfs=logdev": ("xfs", "logdev={0}", "declared"),
    "mount xfs=rtdev": ("xfs", "rtdev={0}", "declared"),
    "mount ext4=journal_path": ("ext4", "journal_path={0}", "declared"),
    "mount ext4=loop": ("ext4", "loop={0}", "option"),
    "mount btrfs=device": ("btrfs", "device={0}", "option"),
    "mount ext4=X-mount.mkdir": ("ext4", "X-mount.mkdir={0}", "option"),
    "mount ext4=X-mount.subdir": ("ext4", "X-mount.subdir={0}", "option"),
    "mount ext4=x-systemd": ("ext4", "x-systemd.requires={0}", "option"),
    "mount zfs=mountpoint": ("zfs", "mountpoint={0}", "option"),
}


def option_ways():
    """The same options on a command line, in a plan and in a file of option sets."""
    for name, (fs, words, group) in MKFS.items():
        way("--" + name, group)(
            lambda place, fs=fs, words=words: place.options(fs, f"--mkfs={fs}=" + words.format(place.target.path)))
    for name, (fs, words, group) in MOUNT.items():
        way("--" + name, group)(
            lambda place, fs=fs, words=words: place.options(fs, f"--mount={fs}=" + words.format(place.target.path)))


option_ways()


def planned(place, extra, compete="hostile-set"):
    plan = place.file("plan.toml", plan_text(extra, compete))
    return place.tool.run(*IMAGE, "--scratch", place.scratch, work=[plan, "--seed", "7", "--no-twin"], cwd=place.own)


@way("a plan's mkfs", "option")
def _(place):
    return planned(place, f'[contenders.hostile-set]\nfs = "btrfs"\nmkfs = ["{place.target.path}"]')


@way("a plan's mkfs with a device of the log", "declared")
def _(place):
    return planned(place, f'[contenders.hostile-set]\nfs = "xfs"\nmkfs = ["-l", "logdev={place.target.path}"]')


@way("a plan's mount", "option")
def _(place):
    return planned(place, f'[contenders.hostile-set]\nfs = "ext4"\nmount = "X-mount.subdir={place.target.path}"')


@way("a plan's axis of mount", "option")
def _(place):
    return planned(place, f'[axes]\nmount."X-mount.subdir" = ["{place.target.path}"]', "ext4")


@way("a plan's axis of mkfs", "option")
def _(place):
    return planned(place, f'[axes]\nmkfs.bigtime = ["1,file=1,name={place.target.path}"]', "xfs")


@way("--axis mount", "option")
def _(place):
    return place.options("btrfs", "--axis", f"mount.device={place.target.path}")


@way("--axis mkfs with a path", "option")
def _(place):
    return place.options("ext4", "--axis", f"mkfs.block_size={place.target.path}")


@way("--axis mkfs with a second key", "option")
def _(place):
    return place.options("btrfs", "--axis", f"mkfs.csum=crc32c {place.target.path}")


@way("an option set in the user's contenders.toml", "option")
def _(place):
    text = f'[torture-set]\nfs = "btrfs"\nmkfs = ["{place.target.path}"]\n'
    folder = os.path.join(place.tool.home, "config", "bakeoff")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "contenders.toml")
    with open(path, "w") as file:
        file.write(text)
    try:
        return place.options("torture-set")
    finally:
        os.unlink(path)


@way("--axis device.PATH", "option")
def _(place):
    return place.options("ext4", "--axis", f"device.{os.path.relpath(place.target.path, '/sys/devices/virtual/block/loop0/queue')}=0")


# Folders and files that the tool writes to ----------------------------------------------------------------------------------


@way("--scratch", "scratch")
def _(place):
    return place.tool.run("--fs", "ext2", "--image", "64MiB", "--scratch", place.target.path, cwd=place.own)


@way("--scratch a link", "scratch")
def _(place):
    return place.tool.run("--fs", "ext2", "--image", "64MiB", "--scratch", place.link("scratch-link"), cwd=place.own)


@way("clean --scratch", "read")
def _(place):
    return place.tool.ask("clean", "--scratch", place.target.path, cwd=place.own)


@way("clean in the folder", "read", "folder")
def _(place):
    return place.tool.ask("clean", "--aged", cwd=place.target.path)


@way("features --scratch", "read")
def _(place):
    return place.tool.ask("features", "ext2", "--image", "64MiB", "--scratch", place.target.path, cwd=place.own)


@way("run --report", "output")
def _(place):
    words = ["--fs", "ext2", "--image", "64MiB", "--scratch", place.scratch, "--ledger", place.path("reported.db")]
    return place.tool.ask("run", *WORK, "--plain", *words, "--report", place.target.path, cwd=place.own)


@way("report -o", "output")
def _(place):
    return place.tool.ask("report", "--ledger", place.finished(), "-o", place.target.path, cwd=place.own)


@way("report -o a link", "output by a link")
def _(place):
    return place.tool.ask("report", "--ledger", place.finished(), "-o", place.link("report-link"), cwd=place.own)


@way("report of one form -o", "output")
def _(place):
    words = ["report", "--ledger", place.finished(), "--format", "csv", "-o", place.target.path]
    return place.tool.ask(*words, cwd=place.own)


@way("resume --report", "output")
def _(place):
    ledger = place.path("resumed.db")
    with sqlite3.connect(place.finished()) as store, sqlite3.connect(ledger) as copy:
        store.backup(copy)
        copy.execute("UPDATE runs SET status = 'open', ended_ms = NULL")
    words = ["resume", "--plain", "--ledger", ledger, "--report", place.target.path]
    return place.tool.ask(*words, cwd=place.own)


@way("--ledger of run", "ledger")
def _(place):
    return place.tool.run("--dir", place.scratch, ledger=place.target.path, cwd=place.own)


@way("--ledger of run, a link", "ledger")
def _(place):
    return place.tool.run("--dir", place.scratch, ledger=place.link("ledger-link"), cwd=place.own)


@way("--ledger of show", "ledger read")
def _(place):
    return place.tool.ask("show", "--ledger", place.target.path, cwd=place.own)


@way("--ledger of resume", "ledger")
def _(place):
    return place.tool.ask("resume", "--ledger", place.target.path, cwd=place.own)


@way("--ledger of import", "ledger")
def _(place):
    return place.tool.ask("import", place.finished(), "--ledger", place.target.path, cwd=place.own)


@way("import", "read")
def _(place):
    return place.tool.ask("import", place.target.path, "--ledger", place.path("imported.db"), cwd=place.own)


@way("export -o", "export")
def _(place):
    return place.tool.ask("export", "--ledger", place.finished(), "-o", place.target.path, cwd=place.own)


@way("export -o a link", "export")
def _(place):
    return place.tool.ask("export", "--ledger", place.finished(), "-o", place.link("export-link"), cwd=place.own)


@way("as a plan", "read")
def _(place):
    return place.tool.ask("plan", os.path.join(place.own, "..", os.path.relpath(place.target.path, place.world.folder)),
                          cwd=place.own)


@way("--dir", "directory")
def _(place):
    return place.tool.run("--dir", place.target.path, cwd=place.own)


@way("features --dir", "read")
def _(place):
    return place.tool.ask("features", "--dir", place.target.path, cwd=place.own)


def by_id_path(disk):
    """The link that udev would have made."""
    return os.path.join(BY_ID, disk.by_id) if disk.by_id else None
