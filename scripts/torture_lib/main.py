"""The command line: which layouts, which ways, how many kills; workers that try them; lines and a summary.

In: words of a command line. Out: a line for each try, a summary, and status 1 where anything went wrong.
"""

import argparse
import fnmatch
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from . import layouts  # noqa: F401 (registers them)
from . import files_and_fifos  # noqa: F401 (registers its layouts)
from .target import LAYOUTS
from .ways import WAYS

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "torture")
KILLS_AT_ONCE = 10
# What is tried on every change: one of each kind, and the ways that destroyed data once.
QUICK_LAYOUTS = ["mounted", "a second loop device over a mounted file", "unused, with data alone, on all of it",
                 "a scratch folder with a link by an image's name", "a user's folder",
                 "a filesystem's file of a stranger", "a job file that adds a file to a disk of the section before",
                 "a job file whose comment is longer than fio reads"]
QUICK_WAYS = ["--on", "--on another node --erase", "--mkfs btrfs=T", "--mkfs xfs=-l logdev", "--mount ext4=X-mount.subdir",
              "a plan's mkfs", "clean --scratch", "report -o", "--ledger of run", "plan", "run JOBFILE"]


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__.splitlines()[0])
    parser.add_argument("binary", nargs="?", default="target/debug/bakeoff", help="the bakeoff to try (%(default)s)")
    parser.add_argument("--layouts", metavar="PATTERN", default="*", help="only layouts of such names, such as 'resume*'")
    parser.add_argument("--ways", metavar="PATTERN", default="*", help="only ways of such names, such as --ways='--mkfs*'")
    parser.add_argument("--kills", metavar="N", type=int, help="random kills (200; none where layouts are chosen)")
    parser.add_argument("--kernel", metavar="NAME", help="half of the killed runs are in virtual machines of it, with layers below the filesystem (debian:6.12)")
    parser.add_argument("--seed", metavar="N", type=int, default=int(time.time()), help="of the moments of the kills")
    parser.add_argument("--jobs", metavar="N", type=int, default=max(2, os.cpu_count() or 2), help="layouts at once (%(default)s)")
    parser.add_argument("--every", action="store_true", help="also every way that should be allowed, which takes longer")
    parser.add_argument("--quick", action="store_true", help="ten seconds of it")
    parser.add_argument("--list", action="store_true", help="print the layouts and the ways")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--worker", metavar="FOLDER", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.kills is None:
        asked.kills = 200 if asked.layouts == asked.ways == "*" and not asked.quick else 0
    return asked


def chosen(asked):
    """Names of the layouts."""
    names = QUICK_LAYOUTS if asked.quick else LAYOUTS
    return [name for name in names if fnmatch.fnmatch(name, asked.layouts)]


def chosen_way(asked):
    """A test for ways."""
    return lambda way: fnmatch.fnmatch(way.name, asked.ways) and (not asked.quick or way.name in QUICK_WAYS)


def main():
    asked = arguments()
    if asked.list:
        print(f"{len(LAYOUTS)} layouts:", *LAYOUTS, sep="\n  ")
        print(f"{len(WAYS)} ways to name them:", *(f"{way.name}  ({', '.join(way.kinds)})" for way in WAYS), sep="\n  ")
        return 0
    if os.geteuid() != 0:
        print("scripts/torture: needs root, for loop devices and mounts", file=sys.stderr)
        return 2
    if asked.worker:
        from .worker import work
        return work(asked, chosen_way(asked))
    asked.binary = os.path.realpath(asked.binary)
    if not os.access(asked.binary, os.X_OK):
        print(f"scripts/torture: there is no program {asked.binary}: build it with `cargo build -p bakeoff`", file=sys.stderr)
        return 2
    return conduct(asked)


def conduct(asked):
    """Hands the layouts and kills to workers, each in a mount namespace of its own."""
    began = time.monotonic()
    jobs = queue.Queue()
    for first in range(0, asked.kills, KILLS_AT_ONCE):
        jobs.put({"kills": min(KILLS_AT_ONCE, asked.kills - first), "seed": asked.seed + first})
    names = chosen(asked)
    for name in names:
        jobs.put({"layout": name})
    results, lock = [], threading.Lock()

    def take(result):
        with lock:
            results.append(result)
            if not asked.json:
                print(line(result), flush=True)

    workers = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: [jobs.queue.clear(), *(worker.terminate() for worker in workers)])
    threads = [threading.Thread(target=serve, args=(asked, jobs, take, workers)) for _ in range(min(asked.jobs, jobs.qsize()) or 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    summary = summed(asked, names, results, time.monotonic() - began)
    if asked.json:
        print(json.dumps({**summary, "results": results}, indent=1))
    else:
        print(in_words(summary))
    return 1 if summary["failed"] or not results else 0


def serve(asked, jobs, take, workers):
    """One worker and its folder."""
    folder = tempfile.mkdtemp(prefix="bakeoff-torture-", dir="/var/tmp")
    binary = asked.binary
    if binary.startswith("/var/tmp/"):  # This folder will stand in the place of that one.
        shutil.copy2(binary, os.path.join(folder, "program"))
        binary = "/var/tmp/program"
    words = [sys.executable, SCRIPT, binary, "--worker", folder, f"--ways={asked.ways}", *(["--quick"] if asked.quick else []),
             *(["--every"] if asked.every else []), *([f"--kernel={asked.kernel}"] if asked.kernel else [])]
    # In a session of its own, so that Ctrl-C reaches it once, through this process.
    worker = subprocess.Popen(["unshare", "--mount", "--propagation", "private", *words], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, start_new_session=True)
    workers.append(worker)
    try:
        while True:
            try:
                job = jobs.get_nowait()
            except queue.Empty:
                break
            worker.stdin.write(json.dumps(job) + "\n")
            worker.stdin.flush()
            for text in worker.stdout:
                result = json.loads(text)
                if "done" in result:
                    break
                take(result)
            else:
                name = job.get("layout", "kills")
                take({"layout": name, "way": "*", "verdict": "FAILED", "reason": "the script was ended", "seconds": 0})
                return
    except BrokenPipeError:
        pass  # It was ended between two jobs.
    finally:
        try:
            worker.stdin.close()
        except BrokenPipeError:
            pass
        worker.wait()
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.exists(folder):
            take({"layout": "the end", "way": "*", "verdict": "FAILED", "reason": f"{folder} could not be removed", "seconds": 0})


def line(result):
    text = f"{result['verdict']:<9} {result['layout']} · {result['way']}"
    return text + (f": {result['reason']}" if result["reason"] else "")


def summed(asked, names, results, seconds):
    count = lambda verdict: sum(1 for result in results if result["verdict"] == verdict)  # noqa: E731
    changed = [result for result in results if "CHANGED" in result["reason"]]
    tried = {result["layout"] for result in results if result["verdict"] != "left out"} & set(names)
    return {"layouts": len(tried), "tries": len(results), "ok": count("ok"), "failed": count("FAILED"), "changed": len(changed),
            "left_out": count("left out"), "kills": sum(result.get("kills", 0) for result in results),
            "lost": sum(result.get("lost", 0) for result in results), "seed": asked.seed, "seconds": round(seconds)}


def in_words(summary):
    return ("{layouts} layouts, {tries} tries in {seconds} s: {ok} as they should be, {failed} FAILED ({changed} changed what "
            "must not change), {left_out} left out; {kills} kills, {lost} trials lost or doubled (seed {seed}).").format(**summary)
