#!/usr/bin/env python3
"""The workload `bonnie` beside the real bonnie++, run alternately on the same mounted image.

In: the bakeoff program, a scratch folder, how many rounds. Out: medians and ratios, one line an operation.
Needs root, bonnie++ 2.00, mkfs.ext4 and mkfs.xfs. Removes its image, loop device and mount.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import subprocess
import tempfile

# Fields of bonnie++ 2.00's CSV (format 1.98) by number, and how they are shown: (phase of the workload, field, unit).
FIELDS = [
    ("per-char-write", 9, "KiB/s"),
    ("block-write", 11, "KiB/s"),
    ("block-rewrite", 13, "KiB/s"),
    ("per-char-read", 15, "KiB/s"),
    ("block-read", 17, "KiB/s"),
    ("random-seeks", 19, "/s"),
    ("sequential-create", 26, "/s"),
    ("sequential-stat", 28, "/s"),
    ("sequential-delete", 30, "/s"),
    ("random-create", 32, "/s"),
    ("random-stat", 34, "/s"),
    ("random-delete", 36, "/s"),
]


def run(*words, **more):
    return subprocess.run(words, check=True, text=True, capture_output=True, **more).stdout


def bonnie(mountpoint, args):
    out = run("bonnie++", "-q", "-u", "root", "-d", mountpoint, "-s", f"{args.size}:8k", "-r", str(args.size // 2),
              "-n", f"{args.number}:0:0:1", "-m", "image")
    fields = [line for line in out.splitlines() if line.split(",")[2:3] == ["image"]][-1].split(",")
    return {phase: float(fields[at]) for phase, at, _ in FIELDS if fields[at].replace(".", "").isdigit()}


def bakeoff(mountpoint, args, folder, turn):
    ledger = os.path.join(folder, f"{turn}.db")
    run(args.bakeoff, "--ledger", ledger, "run", "bonnie", "--dir", mountpoint, "--scale", "full", "--samples", "1",
        "--set", f"size={args.size}MiB", "--set", f"n={args.number}:0:0:1", "--set", "cache=as-found",
        "--set", "data=zeros", "--no-report", "--plain")
    rows = run("sqlite3", "-json", ledger,
               "select name, items, bytes_read, bytes_written, returned_ns, durable_ns from phases where preparation = 0")
    found = {}
    for row in json.loads(rows):
        # bonnie++ 2.00 calls sync(2) within the time of creating and deleting, and nowhere else in its file tests.
        synced = row["name"].endswith(("-create", "-delete"))
        seconds = (row["durable_ns"] if synced and row["durable_ns"] else row["returned_ns"]) / 1e9
        moved = max(row["bytes_read"], row["bytes_written"])
        found[row["name"]] = {"KiB/s": moved / 1024 / seconds, "/s": row["items"] / seconds}
    return {phase: found[phase][unit] for phase, _, unit in FIELDS if phase in found}


def compare(kind, args, folder):
    image, mountpoint = os.path.join(folder, "image"), os.path.join(folder, "mnt")
    os.makedirs(mountpoint, exist_ok=True)
    with open(image, "wb") as file:
        file.truncate((args.size * 3 + 1024) << 20)
    loop = run("losetup", "--find", "--show", "--direct-io=on", image).strip()
    try:
        run(f"mkfs.{kind}", *(["-q", "-F"] if kind == "ext4" else ["-q", "-f"]), loop)
        run("mount", loop, mountpoint)
        # In use, it is detached with its last user, whatever ends this program; the image needs no name.
        run("losetup", "--detach", loop)
        loop = None
        os.remove(image)
        try:
            theirs, ours = [], []
            for turn in range(args.rounds):
                # Whoever comes second may find a warmer or more used filesystem, so they take turns at that too.
                if turn % 2:
                    ours.append(bakeoff(mountpoint, args, folder, f"{kind}-{turn}"))
                theirs.append(bonnie(mountpoint, args))
                if not turn % 2:
                    ours.append(bakeoff(mountpoint, args, folder, f"{kind}-{turn}"))
        finally:
            run("umount", mountpoint)
    finally:
        if loop:
            run("losetup", "--detach", loop)
            os.remove(image)
    print(f"\n{kind}: {args.size} MiB, {args.number * 1024} files, medians of {args.rounds} (smallest to largest)\n")
    print(f"{'operation':<20}{'bonnie++':>44}{'bakeoff':>44}  ratio")
    for phase, _, unit in FIELDS:
        a = [one[phase] for one in theirs if phase in one]
        b = [one[phase] for one in ours if phase in one]
        if not a or not b:
            print(f"{phase:<20}{'too fast for its clock' if not a else shown(a, unit):>44}{shown(b, unit) if b else '-':>44}")
            continue
        print(f"{phase:<20}{shown(a, unit):>44}{shown(b, unit):>44}  {statistics.median(b) / statistics.median(a):.2f}")


def shown(values, unit):
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f}) {unit}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bakeoff", default="target/release/bakeoff")
    parser.add_argument("--scratch", default="/var/tmp")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1024, help="MiB of file work")
    parser.add_argument("--number", type=int, default=128, help="thousands (1024) of small files")
    parser.add_argument("--fs", default="ext4,xfs")
    args = parser.parse_args()
    if os.environ.get("BAKEOFF_APART") != "1":
        # Mounts of its own end with it, SIGKILL included.
        words = ["unshare", "--mount", "--propagation", "slave", sys.executable, *sys.argv]
        os.execvpe(words[0], words, {**os.environ, "BAKEOFF_APART": "1"})
    # An end by a signal unmounts and detaches like any other.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    args.bakeoff = os.path.abspath(args.bakeoff)
    for kind in args.fs.split(","):
        with tempfile.TemporaryDirectory(dir=args.scratch, prefix="beside-bonnie-") as folder:
            compare(kind, args, folder)


if __name__ == "__main__":
    main()
