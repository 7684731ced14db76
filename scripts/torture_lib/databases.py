"""Database files that another user wrote, or can replace: `resume` must not format the disk that they name.

In: a run on a disk that was ended, and one hostile arrangement of its database file. Out: a layout each; the disk must stay as it is.
"""

import json
import os
import shutil

from . import tool as tools
from .target import ALLOWED, REFUSED, Target, layout
from .ways import Way

STRANGER = 12345
REASON = "acting on the database file|symbolic link owned by user|a link that leads"
# More blocks than the run has, so that there is something to do.
MORE = ["--samples", "2"]


def ledger_of(world):
    """A finished run on an empty disk, its database file in a folder of its own, and the disk."""
    disk = world.disk()
    folder = world.make_folder("own")
    path = os.path.join(folder, "bakeoff.db")
    answer = world.tool.run("--fs", "ext2", "--on", disk.node, "--erase", disk.by_id, ledger=path, cwd=folder)
    assert answer.status == 0, answer.text
    return path, disk


def hostile(name, arrange, expect=REFUSED):
    """`arrange` is handed the database file, and returns the one that is resumed where that is another."""

    @layout(f"a database file {name}")
    def _(world):
        ledger, disk = ledger_of(world)
        named = arrange(world, ledger) or ledger
        if expect == REFUSED:
            world.protect(disk)

        def resumed(place):
            return place.tool.ask("resume", *MORE, *tools.QUIET, "--ledger", named, cwd=place.own)

        def plainly(place):
            return place.tool.ask("resume", *MORE, *tools.QUIET, cwd=os.path.dirname(named))

        target = Target("steps", disk.node, {"resume": expect}, REASON)
        target.steps = [Way("by --ledger", "resume", resumed, ["steps"])]
        if expect == REFUSED and os.path.basename(named) == "bakeoff.db":
            target.steps.append(Way("in its folder", "resume", plainly, ["steps"]))
        return target


def given(path):
    os.lchown(path, STRANGER, STRANGER)


def sticky(world, ledger):
    """The same file in a folder like /tmp."""
    folder = world.make_folder("shared", 0o1777)
    path = os.path.join(folder, "bakeoff.db")
    shutil.copy(ledger, path)
    return path


def of_a_stranger_in_a_sticky_folder(world, ledger):
    path = sticky(world, ledger)
    given(path)
    return path


def link_of_a_stranger(world, ledger):
    path = os.path.join(world.make_folder("shared", 0o1777), "bakeoff.db")
    os.symlink(ledger, path)
    given(path)
    return path


def link_to_a_stranger(world, ledger):
    given(ledger)
    return world.link("work/bakeoff.db", ledger)


def below_a_stranger(world, ledger):
    place = world.make_folder("work/own")
    path = os.path.join(place, "bakeoff.db")
    shutil.copy(ledger, path)
    given(world.path("work"))
    return path


def next_to_it(ending, owner=STRANGER):
    """A log, journal or lock that was put next to one's own file in a folder like /tmp."""

    def arrange(world, ledger):
        path = sticky(world, ledger)
        with open(path + ending, "wb"):
            pass
        os.chown(path + ending, owner, owner)
        os.chmod(path + ending, 0o666)
        return path

    return arrange


def log_of_a_stranger(world, ledger):
    """A write-ahead log with a changed run in it, which SQLite would take in."""
    import sqlite3

    path = sticky(world, ledger)
    copy = world.path("copy.db")
    shutil.copy(ledger, copy)
    store = sqlite3.connect(copy)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA wal_autocheckpoint = 0")
    store.execute("UPDATE runs SET title = 'changed by a stranger'")
    store.commit()
    shutil.copy(copy + "-wal", path + "-wal")
    store.close()
    given(path + "-wal")
    return path


def mode(bits, place="own/bakeoff.db"):
    return lambda world, ledger: os.chmod(world.path(place), bits)


hostile("of a stranger", lambda world, ledger: given(ledger))
hostile("of a stranger in a folder like /tmp", of_a_stranger_in_a_sticky_folder)
hostile("that all can write", mode(0o666))
hostile("that a group can write", lambda world, ledger: (os.chmod(ledger, 0o664), os.chown(ledger, 0, STRANGER))[0])
hostile("in a folder that all can write", mode(0o777, "own"))
hostile("in a stranger's folder", lambda world, ledger: given(world.path("own")))
hostile("below a stranger's folder", below_a_stranger)
hostile("that a stranger's link leads to", link_of_a_stranger)
hostile("of a stranger, that one's own link leads to", link_to_a_stranger)
hostile("next to a stranger's write-ahead log", log_of_a_stranger)
hostile("next to a stranger's empty log", next_to_it("-wal"))
hostile("next to a stranger's index of the log", next_to_it("-shm"))
hostile("next to a stranger's rollback journal", next_to_it("-journal"))
hostile("next to a stranger's lock", next_to_it(".lock"))
hostile("next to a lock that all can write", next_to_it(".lock", owner=0))
# So that a refusal means something: one's own file in the same places is resumed.
hostile("of one's own", lambda world, ledger: None, ALLOWED)
hostile("of one's own in a folder like /tmp", sticky, ALLOWED)


# A state of a power cut that was kept --------------------------------------------------------------------------------------


def kept(name, arrange):
    """A description that names a program as its check; it must not run."""

    @layout(f"a kept state of a power cut {name}")
    def _(world):
        canary = world.path("canary")
        world.absent(canary)
        world.make_folder("kept")
        image = world.sparse("kept/state.img", mib=8)
        contender = {"label": "ext2", "base": "ext2", "filesystem": "ext2", "mkfs": [], "mount": "", "axes": {}}
        program = {"check": ["touch", canary], "lines": 0, "limit_seconds": 1}
        state = {"format": 1, "contender": contender, "kernel": "6", "bytes": 8 << 20, "found": "x", "left": "x",
                 "image": os.path.basename(image), "proof": {"program": program}}
        path = world.write("kept/state.json", json.dumps(state))
        arrange(world, path, image)
        target = Target("steps", path, {"resume": REFUSED}, "only you and root|cannot be inspected")
        target.steps = [Way("powercut --again", "resume",
                            lambda place: place.tool.ask("powercut", "--again", path, cwd=place.own), ["steps"])]
        return target


kept("of a stranger", lambda world, path, image: given(path))
kept("that all can write", lambda world, path, image: os.chmod(path, 0o666))
kept("in a folder like /tmp that a stranger owns", lambda world, path, image: (os.chmod(world.path("kept"), 0o1777),
                                                                             given(world.path("kept"))))
