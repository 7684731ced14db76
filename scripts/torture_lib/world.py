"""A small world of files, loop devices, mounts and processes, and its end.

In: calls that build one thing each. Out: what can be named to the tool, what must not change, and a take-down that touches
only what was built here. Loop devices have numbers of their own, so that no other `losetup --find` meets them.
"""

import contextlib
import errno
import fcntl
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from . import fingerprint

MIB = 1 << 20
BY_ID = "/dev/disk/by-id"
LOOP_ADD, LOOP_REMOVE = 0x4C80, 0x4C81
COMMAND_LIMIT = 60
# Seconds that a detached device is waited for.
PATIENCE = 5


class LeftOut(Exception):
    """A layout that cannot be built here; the text says why."""


def command(*words, check=True, feed=None):
    """Runs a command; what it printed."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, input=feed, capture_output=True, text=True, timeout=COMMAND_LIMIT)
    except FileNotFoundError:
        raise LeftOut(f"{words[0]} is not installed") from None
    if check and done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise LeftOut(f"`{' '.join(words)}` answered {done.returncode}: {lines[-1] if lines else 'nothing'}")
    return done.stdout


def loop_control(request, number):
    with open("/dev/loop-control", "rb", buffering=0) as control:
        return fcntl.ioctl(control, request, number)


def remove_loop(number):
    """Removes a loop device; one that a process still reads is detached when that is done."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return loop_control(LOOP_REMOVE, number)
        except OSError as problem:
            if problem.errno != errno.EBUSY or time.monotonic() > end:
                raise
        time.sleep(0.02)


@contextlib.contextmanager
def undisturbed():
    """What is asked to end meanwhile ends after this."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Disk:
    """A loop device in place of a disk, or one of its partitions."""

    def __init__(self, node, file=None, by_id=None):
        self.node, self.file, self.by_id = node, file, by_id

    def __fspath__(self):
        return self.node

    __str__ = __fspath__


class World:
    """Everything that one layout builds."""

    def __init__(self, base, name):
        self.folder = tempfile.mkdtemp(prefix=f"{name}-", dir=base)
        self.ends = []
        self.victims = {}
        self.loops = []
        self.counted = 0
        self.mounted = []
        self.before = {}
        # Words in the names of what comes and goes here and is another run's.
        self.of_others = set()

    # What must not change -------------------------------------------------------------------------------------------------

    def protect(self, *paths):
        """These stay as they are: content, identity, owner, mode, links, time of writing."""
        for path in paths:
            path = os.fspath(path.file if isinstance(path, Disk) else path)
            self.victims[path] = lambda path=path: fingerprint.of_path(path)
        return paths[0] if paths else None

    def protect_range(self, path, start, length):
        """This part of a file keeps its content."""
        key = f"bytes {start} to {start + length} of {path}"
        self.victims[key] = lambda: fingerprint.of_range(path, start, length)

    def absent(self, path):
        """Never called."""
        self.victims[os.fspath(path)] = lambda: "absent" if not os.path.lexists(path) else "it was made"

    def settle(self):
        """Has all that is written reach the files that are looked at."""
        for point in self.mounted:
            command("sync", "--file-system", point, check=False)
        for disk in self.loops:
            try:
                handle = os.open(disk.node, os.O_RDONLY)
            except OSError:
                continue
            try:
                os.fsync(handle)
            except OSError:
                pass  # A read-only or empty device has nothing to flush.
            finally:
                os.close(handle)

    def look(self):
        """The fingerprint of each victim."""
        self.settle()
        return {name: look() for name, look in self.victims.items()}

    def remember(self):
        """From here on nothing may change."""
        self.before = self.look()

    def changed(self):
        """What is no longer as it was remembered."""
        now = self.look()
        return [name for name, was in self.before.items() if now.get(name) != was]

    # Files ----------------------------------------------------------------------------------------------------------------

    def unique(self, stem):
        self.counted += 1
        return f"{stem}-{self.counted}"

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, data="precious words\n", mode=0o644, owner=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        os.chmod(path, mode)
        if owner is not None:
            os.chown(path, owner, owner)
        return path

    def make_folder(self, name, mode=0o755, owner=None):
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        if owner is not None:
            os.chown(path, owner, owner)
        return path

    def link(self, name, target):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(os.fspath(target), path)
        return path

    def sparse(self, name=None, mib=96):
        path = self.path(name or self.unique("file"))
        with open(path, "wb") as file:
            file.truncate(mib * MIB)
        return path

    def put(self, file, place, data):
        """Writes into a file or device; a negative place counts from the end."""
        with open(file, "r+b", buffering=0) as opened:
            end = opened.seek(0, os.SEEK_END)
            opened.seek(place if place >= 0 else end + place)
            opened.write(data)
            os.fsync(opened.fileno())

    def noise(self, length, seed=1):
        return random.Random(seed).randbytes(length)

    def finished(self, tool):
        """A ledger with a run that is done, measured in a folder."""
        kept = os.path.join(os.path.dirname(tool.folder), "done.db")
        if not os.path.exists(kept):
            done = tool.run("--dir", self.make_folder("measured"), ledger=kept, cwd=self.folder)
            if done.status != 0:
                raise LeftOut(f"a folder could not be measured: {done.sentence()}")
        ledger = self.path("done.db")
        if not os.path.exists(ledger):
            shutil.copy(kept, ledger)
        return ledger

    # Devices --------------------------------------------------------------------------------------------------------------

    def number(self):
        """A loop device that no other process finds, removed in the end."""
        for _ in range(100):
            number = random.randrange(2000, 200000)
            node = f"/dev/loop{number}"
            with undisturbed():
                try:
                    loop_control(LOOP_ADD, number)
                except FileExistsError:
                    continue
                if not os.path.exists(node):
                    os.mknod(node, 0o660 | stat.S_IFBLK, os.makedev(7, number))
                    self.ends.append(lambda: os.path.lexists(node) and os.unlink(node))
                self.ends.append(lambda: remove_loop(number))
            return node
        raise LeftOut("no loop device number is free")

    def attach(self, node, file, *options):
        command("losetup", *options, node, file)

    def loop(self, file, *options, node=None):
        """A loop device over a file; options as losetup takes them."""
        node = node or self.number()
        with undisturbed():
            self.attach(node, file, *options)
            self.ends.append(lambda: command("losetup", "--detach", node))
        disk = Disk(node, os.fspath(file))
        self.loops.append(disk)
        return disk

    def named(self, disk, name=None):
        """Gives a device a name that cannot move."""
        disk.by_id = name or f"torture-{os.path.basename(self.folder)}-{self.unique('disk')}"
        link = os.path.join(BY_ID, disk.by_id)
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(disk.node, link)
        self.ends.append(lambda: os.path.lexists(link) and os.unlink(link))
        return disk

    def disk(self, mib=96, name=True):
        """An empty disk."""
        disk = self.loop(self.sparse(mib=mib), "--partscan")
        return self.named(disk) if name else disk

    def partitions(self, disk, *parts, signature=None):
        """A partition table of the oldest kind; parts are (first MiB, MiBs)."""
        sector = bytearray(512)
        sector[440:444] = signature or random.randbytes(4)
        for index, (first, size) in enumerate(parts):
            entry = 446 + 16 * index
            sector[entry + 4] = 0x83
            sector[entry + 8 : entry + 12] = (first * 2048).to_bytes(4, "little")
            sector[entry + 12 : entry + 16] = (size * 2048).to_bytes(4, "little")
        sector[510:] = b"\x55\xaa"
        self.put(disk.node, 0, bytes(sector))
        return self.partition_nodes(disk, len(parts))

    def partition_nodes(self, disk, count):
        command("partx", "--update", disk.node)
        self.ends.append(lambda: command("partx", "--delete", disk.node, check=False))
        nodes = []
        for index in range(1, count + 1):
            node = f"{disk.node}p{index}"
            if not os.path.exists(node):
                raise LeftOut("the kernel shows no partitions of loop devices")
            part = self.named(Disk(node, disk.file), f"{disk.by_id or self.unique('nameless')}-part{index}")
            self.loops.append(part)
            nodes.append(part)
        return nodes

    def node_of(self, path, where):
        """Another node with the same number."""
        os.mknod(where, 0o600 | stat.S_IFBLK, os.stat(path).st_rdev)
        return where

    def mkfs(self, kind, disk, *options):
        flags = {"ext4": ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"], "ext2": ["-q", "-F"],
                 "btrfs": ["-q", "-f"], "xfs": ["-q", "-f"]}
        command(f"mkfs.{kind}", *flags.get(kind, []), *options, disk)

    def mount(self, disk, *options, point=None):
        point = point or self.make_folder(self.unique("mnt"))
        command("mount", *options, disk, point)
        self.mounted.append(point)
        self.ends.append(lambda: self.unmount(point))
        return point

    def calm(self, point):
        """Has everything that was written there reach the device, and the journal be empty, so that nothing is written later."""
        for step in ("--freeze", "--unfreeze"):
            command("fsfreeze", step, point, check=False)
        command("sync", "--file-system", point)

    def unmount(self, point):
        if point in self.mounted:
            self.mounted.remove(point)
            command("umount", point)

    # Processes ------------------------------------------------------------------------------------------------------------

    def process(self, *words, enter=(), cwd=None):
        """A process that prints a line when it has what it wants, and ends when its input does."""
        started = subprocess.Popen([*map(str, enter), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, cwd=cwd, stderr=subprocess.DEVNULL)
        self.ends.append(lambda: end(started))
        if not started.stdout.readline():
            raise LeftOut(f"`{words[0]}` ended at once")
        return started

    def python(self, code, *arguments, enter=()):
        """A process that runs some Python, then waits."""
        script = f"import os, sys, mmap\n{code}\nprint('ready', flush=True)\nsys.stdin.read()\n"
        return self.process(sys.executable, "-c", script, *arguments, enter=enter)

    def holds(self, path, flags="os.O_RDONLY", enter=()):
        """A process that has something open."""
        return self.python(f"held = os.open(sys.argv[1], {flags})", path, enter=enter)

    def swap(self, path):
        command("mkswap", path)
        command("swapon", path)
        self.ends.append(lambda: command("swapoff", path))

    # The end --------------------------------------------------------------------------------------------------------------

    def close(self):
        """Takes everything down; what could not be."""
        problems = []
        with undisturbed():
            for one in reversed(self.ends):
                try:
                    one()
                except (LeftOut, OSError, subprocess.SubprocessError) as problem:
                    problems.append(str(problem))
            self.ends = []
            shutil.rmtree(self.folder, ignore_errors=True)
        if os.path.exists(self.folder):
            problems.append(f"{self.folder} could not be removed")
        return problems


def end(process):
    """Ends a process of ours."""
    process.stdin.close()
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=10)
    process.stdout.close()
