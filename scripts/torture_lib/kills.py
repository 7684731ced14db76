"""Runs whose processes are killed at random moments: the run itself, its agent, the commands that it started, servers.

In: how many kills, and a seed. Out: for each stretch of runs whether a trial was lost or doubled, whether anything that is not
the tool's changed, and whether anything stayed behind.
"""

import collections
import glob
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import traceback

from . import leftovers
from .layouts.folders import LOOKS
from .tool import QUIET, Tool, trials
from .trying import Result
from .world import LeftOut, World, command, undisturbed

ROLES = {"run": 4, "agent": 2, "command": 3, "server": 2, "machine": 2}
SIGNALS = [signal.SIGKILL] * 6 + [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
CONTENDERS = ["ext4,xfs,zfs", "ext2,btrfs,zfs", "xfs,zfs", "ext4,btrfs"]
BLOCKS, ATTEMPTS = 2, 3
# Contenders of runs in virtual machines: with layers below the filesystem.
STACKS = ["none", "luks", "raid1+lvm-thin", "integrity+luks", "raid5:state=rebuilding"]
# The disk that runs divide among their contenders, the share of runs that do, and of those in virtual machines, where a kernel for them is named.
DISK_MIB, ON_DISK, IN_GUEST = 1200, 0.4, 0.5
UNFINISHED = ("open", "interrupted")
# How long a process of a role is waited for, and how long a run may take to end in order.
PATIENCE, END_LIMIT, RUN_LIMIT = 8, 90, 600


class Stretch:
    """Some kills in a row, over as many runs as it takes, in one folder."""

    def __init__(self, base, binary, kernel, seed, number):
        self.random, self.kernel = random.Random(seed), kernel
        self.tool = Tool(binary, os.path.join(base, f"kill-tool-{number}"))
        self.world = World(base, f"k{number}")
        self.scratch = self.world.make_folder("scratch")
        self.log = self.world.path("output.txt")
        self.faults, self.lost, self.landed, self.runs = [], 0, collections.Counter(), 0
        self.child = self.ledger = None
        self.seen = {}

    # What must not change -------------------------------------------------------------------------------------------------

    def furnish(self):
        """A user's files among the tool's, and a user's own mounted image beside them."""
        self.world.protect(self.world.write("scratch/letter.txt"), self.world.write(f"scratch/{LOOKS}"),
                           self.world.write("documents/diary.txt"))
        disk = self.world.loop(self.world.sparse(mib=64))
        self.world.mkfs("ext4", disk)
        self.world.calm(self.world.mount(disk))
        self.world.protect(disk)
        self.disk = self.world.disk(mib=DISK_MIB)
        if self.kernel:
            self.lay_in(self.kernel.replace(":", "-"))
        self.census = leftovers.Census(self.world.folder, self.tool.home)
        self.world.remember()

    def lay_in(self, name):
        """The tool has a cache of its own: it gets a copy of the kernel."""
        kernel = os.path.join("bakeoff", "kernels", name)
        here = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), kernel)
        if not os.path.isdir(here):
            raise LeftOut(f"there is no {here}: `bakeoff systems --fetch {self.kernel}`")
        shutil.copytree(here, os.path.join(self.tool.environment()["XDG_CACHE_HOME"], kernel), symlinks=True)

    # Runs -----------------------------------------------------------------------------------------------------------------

    def go_on(self):
        """Resumes what was killed, or begins another run."""
        if self.ledger and self.status() in UNFINISHED:
            self.start("resume", *QUIET)
            return
        self.runs += 1
        self.ledger, self.seen = self.world.path(f"run-{self.runs}.db"), {}
        self.contenders = CONTENDERS[self.random.randrange(len(CONTENDERS))]
        on_disk = self.random.random() < ON_DISK
        images = ["--image", "330MiB", "--scratch", self.scratch]
        place = ["--fs", self.contenders, *(["--on", self.disk.node, "--split"] if on_disk else images)]
        if self.kernel and self.random.random() < IN_GUEST:
            self.contenders = ",".join(self.random.sample(STACKS, 2))
            place = ["--kernel", self.kernel, "--fs", "ext4", "--axis", f"stack={self.contenders}", *images]
        self.start("run", "small-files", "--set", "files=60", "--set", "some=10", "--samples", str(BLOCKS), "--no-twin", *QUIET,
                   "--seed", str(self.random.randrange(1 << 20)), *place)

    def start(self, *words):
        with open(self.log, "ab") as log:
            self.child = self.tool.start(*words, "--ledger", self.ledger, err=log)

    def status(self):
        """What the ledger says of its run; None where there is none yet."""
        try:
            with sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True, timeout=30) as store:
                row = store.execute("SELECT status FROM runs").fetchone()
            store.close()
            return row and row[0]
        except sqlite3.OperationalError:
            return None

    def running(self):
        return self.child is not None and self.child.poll() is None

    # Kills ----------------------------------------------------------------------------------------------------------------

    def role_of(self, pid, name):
        if pid == self.child.pid:
            return "run"
        if name == "zfs-fuse":
            return "server"
        if name.startswith("qemu"):
            return "machine"
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            return None
        return "agent" if words[1:2] == [b"agent"] else "command"

    def of_role(self, role):
        """A process of the run's own in this role; commands last milliseconds, so it is looked for all the time."""
        end = time.monotonic() + PATIENCE
        while self.running() and time.monotonic() < end:
            found = [pid for pid, name in leftovers.processes(self.tool.home).items() if self.role_of(pid, name) == role]
            if found:
                return self.random.choice(found)
            time.sleep(0.002)
        return None

    def kill(self):
        """One kill that meets a process, after a random moment."""
        roles = {role: often for role, often in ROLES.items() if self.kernel or role != "machine"}
        role = self.random.choices(list(roles), list(roles.values()))[0]
        time.sleep(self.random.uniform(0.02, 2.5))
        pid = self.of_role(role) or (self.child.pid if self.running() else None)
        if pid is None:
            self.after_end()
            return False
        role = "run" if pid == self.child.pid else role
        number = self.random.choice(SIGNALS) if role == "run" else signal.SIGKILL
        time.sleep(self.random.choice([0, 0, 0.01, 0.1]))
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        self.landed[f"{role} {number.name}"] += 1
        if role == "run":
            self.await_end(number)
            self.after_end()
        return True

    def await_end(self, number):
        try:
            self.child.wait(timeout=END_LIMIT)
        except subprocess.TimeoutExpired:
            self.faults.append(f"the run did not end within {END_LIMIT} s of {number.name}")
            self.child.kill()
            self.child.wait()

    def after_end(self):
        """What holds whenever a run is over, killed or not."""
        if self.child is not None:
            self.child.wait()
        self.child = None
        self.check_trials()
        if self.random.random() < 0.3:
            self.clean()

    def clean(self):
        answer = self.tool.ask("clean", "--scratch", self.scratch, "--json")
        if answer.fault() or answer.status not in (0, 1):
            self.faults.append(f"clean answered {answer.status}: {answer.fault() or answer.sentence()}")
            return
        outcome = json.loads(answer.out)
        if outcome["remains"]:
            problems = [problem for run in outcome["runs"] for problem in run["problems"]]
            self.faults.append(f"clean left something: {problems}")

    def check_trials(self):
        """What the ledger once held it holds still, and once."""
        now = trials(self.ledger)
        for key, trial in self.seen.items():
            if now.get(key) != trial:
                self.lost += 1
                self.faults.append(f"trial {key} of {os.path.basename(self.ledger)} is {'other' if key in now else 'lost'}")
        done = collections.Counter((trial["block"], trial["contender"], trial["workload"]) for trial, _ in now.values()
                                   if trial["status"] == "done")
        for key, count in done.items():
            if count > 1:
                self.lost += 1
                self.faults.append(f"{key} counts {count} times")
        self.seen = now

    # The end --------------------------------------------------------------------------------------------------------------

    def finish(self):
        """The last run comes to its end, whole."""
        for _ in range(5):
            if self.running():
                self.child.wait(timeout=RUN_LIMIT)
            self.child = None
            self.check_trials()
            if self.status() not in UNFINISHED:
                break
            self.go_on()
        self.whole()
        self.acknowledged()
        self.clean()
        self.faults += [f"CHANGED: {os.path.relpath(name, self.world.folder)}" for name in self.world.changed()]
        name = os.path.basename(self.disk.node)
        self.faults += [f"left behind: the part {part}" for part in glob.glob(f"/sys/block/{name}/{name}p*")]
        self.faults += [f"left on the disk: {found}" for found in command("wipefs", "--noheadings", self.disk.node).splitlines()]
        time.sleep(0.5)
        self.faults += [f"left behind: {left}" for left in self.census.since()]

    def whole(self):
        """Every contender has a trial that counts in every block; a place of the plan is tried three times at most, and kills may
        meet all of them."""
        if self.status() != "finished":
            self.faults.append(f"the run is not finished but {self.status()}: {self.last_words()}")
            return
        good = {(trial["block"], trial["contender"]) for trial, _ in self.seen.values() if trial["status"] != "failed"}
        failed = collections.Counter((trial["block"], trial["contender"]) for trial, _ in self.seen.values()
                                     if trial["status"] == "failed")
        good |= {place for place, count in failed.items() if count >= ATTEMPTS}
        wanted = {(block, number) for block in range(BLOCKS) for number in range(len(self.contenders.split(",")))}
        if wanted - good:
            self.lost += len(wanted - good)
            why = sorted({trial["reason"] or "" for trial, _ in self.seen.values() if trial["status"] == "failed"})
            self.faults.append(f"of {self.contenders} never measured (block, contender): {sorted(wanted - good)}; {why}")

    def acknowledged(self):
        """What was reported as measured is in the ledgers. A run reports it in lines for people alone."""
        with open(self.log) as file:
            reported = len(re.findall(r"^\[\d+/\d+\] round \d+ .* (?:done|disturbed) in ", file.read(), re.MULTILINE))
        kept = 0
        for number in range(1, self.runs + 1):
            kept += sum(trial["status"] != "failed" for trial, _ in trials(self.world.path(f"run-{number}.db")).values())
        if reported > kept:
            self.lost += reported - kept
            self.faults.append(f"{reported} trials were reported as measured, {kept} are kept")

    def last_words(self):
        with open(self.log) as file:
            return (file.read().strip().splitlines() or ["nothing"])[-1]

    def close(self):
        with undisturbed():
            leftovers.sweep(self.world.folder, self.tool.home, {disk.node for disk in self.world.loops})
            if self.child is not None:
                self.child.wait()
            return self.world.close()


def try_kills(base, binary, kernel, count, seed, number):
    """One stretch; in virtual machines, too, where a kernel is named."""
    began = time.monotonic()
    stretch = Stretch(base, binary, kernel, seed, number)
    try:
        stretch.furnish()
        for _ in range(count * 4):
            if sum(stretch.landed.values()) >= count:
                break
            if not stretch.running():
                stretch.go_on()
            stretch.kill()
        stretch.finish()
    except LeftOut as problem:
        stretch.faults.append(f"the layout of the kills: {problem}")
    except Exception:
        stretch.faults.append("the script: " + traceback.format_exc(limit=-3).replace("\n", " | "))
    finally:
        stretch.faults += [f"could not be taken down: {problem}" for problem in stretch.close()]
    landed = ", ".join(f"{count} {what}" for what, count in sorted(stretch.landed.items()))
    reason = "; ".join(stretch.faults)
    result = Result(f"kills from seed {seed}", landed or "none", "FAILED" if reason else "ok", reason, time.monotonic() - began)
    result.kills, result.lost = sum(stretch.landed.values()), stretch.lost
    yield result
