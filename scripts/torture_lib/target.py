"""What a layout offers: something to name, and what must come of naming it.

In: a device, file or folder. Out: for each group of ways one of `refused`, `allowed`, `harmless` (any answer, nothing changed).
"""

import os

from .ways import by_id_path

REFUSED, ALLOWED, HARMLESS = "refused", "allowed", "harmless"
LAYOUTS = {}

# What every device in use must get: no way of naming it may lead to it.
IN_USE = {"on": REFUSED, "erase": REFUSED, "other word": REFUSED, "option": REFUSED, "declared": REFUSED, "scratch": REFUSED,
          "output": REFUSED, "output by a link": REFUSED, "ledger": REFUSED, "ledger read": REFUSED, "export": REFUSED, "directory": REFUSED,
          "read": HARMLESS}
# A device with something on it: its owner's word opens it, as the device of the run only.
HOLDS_DATA = {**IN_USE, "erase": ALLOWED}
# An empty device; as an external journal it may be taken, too.
FREE = {**IN_USE, "on": ALLOWED, "erase": ALLOWED, "declared": HARMLESS}
# Both answers are right as long as nothing else changes.
OPEN = {**IN_USE, "on": HARMLESS, "erase": HARMLESS, "declared": HARMLESS}
FILE = dict(IN_USE)
FOLDER = {**IN_USE, "scratch": ALLOWED, "directory": ALLOWED}


class Target:
    """Something to name."""

    def __init__(self, kind, path, expect, says=None, disk=None, erase=None, fs="ext2"):
        self.kind, self.path, self.says, self.fs = kind, os.fspath(path), says, fs
        # Not every device that may be formatted can be divided: a partition cannot, and a small one has no room.
        divided = {group: HARMLESS if answer == ALLOWED else answer for group, answer in expect.items()}
        self.expect = {"split": divided.get("on"), "split erase": divided.get("erase"), **expect}
        self.erase = erase if erase is not None else (disk.by_id if disk else None)
        self.by_id_path = by_id_path(disk) if disk else None
        # A device that may be formatted is changed by that, and by nothing else.
        self.backing = disk.file if disk else None

    def may_change(self, group):
        groups = ("on", "erase", "declared", "split", "split erase")
        return self.kind == "device" and group in groups and self.expect[group] != REFUSED


def device(disk, expect, says=None, **more):
    """A device to name."""
    return Target("device", disk.node, expect, says, disk, **more)


def file(path, says=None, **expect):
    """A user's file to name."""
    return Target("file", path, {**FILE, **words(expect)}, says)


def folder(path, says=None, **expect):
    """A user's folder to name."""
    return Target("folder", path, {**FOLDER, **words(expect)}, says)


def words(expect):
    return {group.replace("_", " "): answer for group, answer in expect.items()}


class Layout:
    """A name, what builds it in a world, and which of the ways fit it."""

    def __init__(self, name, build, ways):
        self.name, self.build, self.ways = name, build, ways


def layout(name, ways=None):
    """Registers a layout; `ways` is a test that its ways must pass."""

    def keep(build):
        assert name not in LAYOUTS, name
        LAYOUTS[name] = Layout(name, build, ways or (lambda way: True))
        return build

    return keep
