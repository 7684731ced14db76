#!/usr/bin/env python3
"""What a rank of MPI costs the work, beside a plain agent: the same workload by `bakeoff run` and by `mpirun -np 1 bakeoff ranks`, in turn.

In: the program, beside which bakeoff-ranks lies; --rounds N, --folder DIR (where to work). Out: for each operation the ratio of the two rates,
median over rounds with its range. A ratio below 1 is what the rank costs. The order changes with each round, so that drifts hit both.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import tempfile

WORKS = [("mdtest-hard", ["--set", "files=20000"]), ("ior-easy", ["--set", "size=256 MiB"])]


def rates(ledger):
    """Items a second until the last call returned, by operation; of the last trial."""
    found = {}
    with sqlite3.connect(ledger) as connection:
        for operation, outcome in connection.execute("select operation, outcome from phases where preparation = 0 order by rowid"):
            outcome = json.loads(outcome)
            found[operation] = outcome["items"] / outcome["returned_ns"] * 1e9
    return found


def one(program, work, settings, folder, ranks, scratch):
    ledger = os.path.join(scratch, "ledger.db")
    for old in (ledger, ledger + "-wal", ledger + "-shm"):
        if os.path.exists(old):
            os.unlink(old)
    words = [work, *settings, "--dir", folder, "--samples", "1", "--seed", "7", "--no-report", "--plain"]
    if ranks:
        command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", "1", program, "--ledger", ledger, "ranks", *words]
    else:
        command = [program, "--ledger", ledger, "run", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return rates(ledger)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", default="/dev/shm")
    asked = parser.parse_args()
    program = os.path.abspath(asked.program)
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for work, settings in WORKS:
            ratios = {}
            for number in range(asked.rounds):
                order = [False, True] if number % 2 else [True, False]
                found = {ranks: one(program, work, settings, folder, ranks, scratch) for ranks in order}
                for operation, plain in found[False].items():
                    ratios.setdefault(operation, []).append(found[True][operation] / plain)
            for operation, each in ratios.items():
                middle = statistics.median(each)
                print(f"{operation:20} rank/agent {middle:.3f} ({min(each):.3f} to {max(each):.3f}, {len(each)} rounds)", flush=True)


if __name__ == "__main__":
    main()
