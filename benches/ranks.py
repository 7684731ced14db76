#!/usr/bin/env python3
"""What a rank of MPI costs the work, beside a plain agent: the same workload by `bakeoff run` and by `mpirun -np 1 bakeoff ranks`, in turn.

In: the program, beside which bakeoff-ranks lies; --rounds N, --folder DIR (where to work). Out: for each operation the ratio of the two rates, by the clock
and by the processor time of the work, median over rounds with its 95 % interval, and beside it the same of a plain agent against another plain one, which
shows what is noise. A ratio below 1 is what the rank costs. The order changes with each round, so that drifts hit all.
"""

import argparse
import json
import math
import os
import sqlite3
import statistics
import subprocess
import tempfile

WORKS = [("mdtest-hard", ["--set", "files=100000"]), ("ior-easy", ["--set", "size=256 MiB"])]


def rates(ledger):
    """Items a second until the last call returned, and items in a second of the workers' processor time, by operation; of the last trial."""
    found = {}
    with sqlite3.connect(ledger) as connection:
        for operation, outcome in connection.execute("select operation, outcome from phases where preparation = 0 order by rowid"):
            outcome = json.loads(outcome)
            found[operation] = outcome["items"] / outcome["returned_ns"]
            found[operation + ", by CPU"] = outcome["items"] / (outcome["cpu"]["user_ns"] + outcome["cpu"]["system_ns"])
    return found


def one(program, work, settings, folder, ranks, scratch):
    ledger = os.path.join(scratch, "ledger.db")
    for old in (ledger, ledger + "-wal", ledger + "-shm"):
        if os.path.exists(old):
            os.unlink(old)
    words = [work, *settings, "--dir", folder, "--samples", "1", "--seed", "7", "--no-report", "--plain"]
    if ranks:
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root", "-np", "1", program, "--ledger", ledger, "ranks", *words]
    else:
        command = [program, "--ledger", ledger, "run", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return rates(ledger)


def interval(each):
    """The 95 % interval of a median, from order statistics alone: how many of so many fall below it is binomial."""
    each, n = sorted(each), len(each)
    below, rank = 0.0, 0
    while rank < n and below + math.comb(n, rank) / 2**n <= 0.025:
        below += math.comb(n, rank) / 2**n
        rank += 1
    return (each[rank - 1], each[n - rank]) if rank else (each[0], each[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--folder", default="/dev/shm")
    asked = parser.parse_args()
    program = os.path.abspath(asked.program)
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for work, settings in WORKS:
            ratios = {"rank/agent": {}, "agent/agent": {}}
            for number in range(asked.rounds):
                arms = ["agent", "rank", "again"]
                order = arms[number % 3 :] + arms[: number % 3]
                found = {arm: one(program, work, settings, folder, arm == "rank", scratch) for arm in order}
                for operation, plain in found["agent"].items():
                    ratios["rank/agent"].setdefault(operation, []).append(found["rank"][operation] / plain)
                    ratios["agent/agent"].setdefault(operation, []).append(found["again"][operation] / plain)
            for by_operation in ratios.values():
                for clock, kept in (("", lambda name: "by CPU" not in name), (", by CPU", lambda name: "by CPU" in name)):
                    each = [values for name, values in by_operation.items() if kept(name)]
                    by_operation["all of it" + clock] = [statistics.geometric_mean(values) for values in zip(*each)]
            for operation in ratios["rank/agent"]:
                for kind, by_operation in ratios.items():
                    each = by_operation[operation]
                    low, high = interval(each)
                    middle = statistics.median(each)
                    print(f"{operation:24} {kind:12} {middle:.3f} ({low:.3f} to {high:.3f}, {len(each)} rounds)", flush=True)


if __name__ == "__main__":
    main()
