"""What the tool left of itself in this corner of the machine, and the broom for it.

In: the home that its processes have in their environment. Out: mounts, loop devices, marks and processes of its own.
"""

import os
import signal
import subprocess

MARKS, MOUNTPOINTS = "/var/lib/bakeoff", "/run/bakeoff"


def mounts():
    with open("/proc/self/mountinfo") as table:
        return {line.split()[4] for line in table}


def loops(base):
    """Loop devices over files below a folder: name and file."""
    found = {}
    for name in os.listdir("/sys/block"):
        try:
            with open(f"/sys/block/{name}/loop/backing_file") as file:
                backing = file.read().strip()
        except OSError:
            continue
        if backing.startswith(base + "/"):
            found[f"/dev/{name}"] = backing
    return found


def processes(home):
    """Processes that have this home: the tool and all that it started."""
    wanted = f"HOME={home}".encode()
    return processes_with(lambda environment: wanted in environment)


def processes_below(base):
    """Processes that have a home below this folder: every tool of a worker."""
    beginning = f"HOME={base}/".encode()
    return processes_with(lambda environment: any(word.startswith(beginning) for word in environment))


def processes_with(wanted):
    """Processes with such an environment: id and name."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if not wanted(file.read().split(b"\0")):
                    continue
            with open(f"/proc/{name}/stat") as file:
                rest = file.read().rsplit(")", 1)[1].split()
            with open(f"/proc/{name}/comm") as file:
                comm = file.read().strip()
        except OSError:
            continue
        if rest[0] not in "ZX":
            found[int(name)] = comm
    return found


def files(folder):
    """Files below a folder; empty folders and locks are no leftovers."""
    return {os.path.join(above, name) for above, _, names in os.walk(folder) for name in names if not name.endswith(".lock")}


def images(base):
    return {path for path in files(base) if path.endswith(".img") and "/bakeoff-aged/" not in path}


class Census:
    """What there is now; a later one tells what came since."""

    def __init__(self, base, home):
        self.base, self.home = base, home
        self.counted = self.count()

    def count(self):
        return {"mount": mounts(), "loop device": {f"{node} over {file}" for node, file in loops(self.base).items()},
                "mark": {path for path in files(MARKS) if path.endswith(".json") and "/aged/" not in path}, "image": images(self.base),
                "process": {f"{pid} ({comm})" for pid, comm in processes(self.home).items()}}

    def expect(self, change):
        """Makes a change of our own, which is no leftover."""
        before = self.count()
        change()
        for kind, now in self.count().items():
            self.counted[kind] |= now - before[kind]

    def since(self):
        """What is here now and was not then, in words."""
        now = self.count()
        return [f"{kind} {one}" for kind, was in self.counted.items() for one in sorted(now[kind] - was)]


def sweep(base, home, own=()):
    """Ends and removes what a failed try left, so that the next one begins clean. Only what is ours can be met here: the
    mount namespace is our own, the home is our own, the folder is our own; `own` are nodes of the layout itself."""
    for pid in processes(home):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for point in sorted((point for point in mounts() if point.startswith(MOUNTPOINTS + "/")), reverse=True):
        subprocess.run(["umount", "--lazy", point], capture_output=True)
    for node, file in loops(base).items():
        if node not in own and os.path.basename(file.split(" ")[0]).startswith("bakeoff-"):
            subprocess.run(["losetup", "--detach", node], capture_output=True)
    for folder in (MARKS, MOUNTPOINTS):
        for path in files(folder):
            os.unlink(path)
    for path in images(base):
        if os.path.basename(path).startswith("bakeoff-"):
            try:
                os.unlink(path)
            except OSError:
                pass


def end_all(base):
    """The last broom, before a worker ends: processes, mounts and loop devices whose home or file is below its folder. Whatever is
    taken down in order is gone by now; this is for what was being built when the worker was asked to end."""
    for pid in processes_below(base):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for point in sorted((point for point in mounts() if point.startswith((base + "/", MOUNTPOINTS + "/"))), reverse=True):
        subprocess.run(["umount", "--lazy", point], capture_output=True)
    for node in loops(base):
        subprocess.run(["losetup", "--detach", node], capture_output=True)
