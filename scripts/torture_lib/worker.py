"""A worker: a corner of the machine of its own, in which it tries one layout after the other.

In: jobs as JSON lines. Out: results as JSON lines.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys

from . import leftovers
from .kills import try_kills
from .target import LAYOUTS
from .trying import try_layout


def settle_in(folder):
    """The tool's state, its scratch and the names of disks are our own from here on; no others can be met."""

    def mount(*words):
        subprocess.run(["mount", *words], check=True)

    for place in ("/var/lib/bakeoff", "/run/bakeoff", "/dev/disk"):
        os.makedirs(place, exist_ok=True)
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", place)
    for name in ("by-id", "by-partuuid"):
        os.mkdir(f"/dev/disk/{name}")
    mount("--bind", folder, "/var/tmp")
    os.chmod("/var/tmp", 0o755)
    # Its name is in every path and environment of ours, so that one worker never takes another's for its own.
    base = os.path.join("/var/tmp", os.path.basename(folder))
    os.mkdir(base)
    os.chdir(base)
    return base


def work(asked, only):
    """Tries what comes in, until nothing does."""
    base = settle_in(asked.worker)
    signal.signal(signal.SIGTERM, leave)

    def tell(thing):
        print(json.dumps(thing), flush=True)

    try:
        for number, text in enumerate(sys.stdin):
            job = json.loads(text)
            if "layout" in job:
                results = try_layout(base, asked.binary, LAYOUTS[job["layout"]], number, only, asked.every)
            else:
                results = try_kills(base, asked.binary, asked.kernel, job["kills"], job["seed"], number)
            # Closed also where this is ended meanwhile: that takes its world down.
            with contextlib.closing(results):
                for result in results:
                    tell(vars(result))
            tell({"done": True})
    finally:
        leftovers.end_all(base)
    return 0


def leave(*_):
    """Asked to end, it takes down what it built, as at any other end; being asked again does not disturb that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)
