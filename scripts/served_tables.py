"""What scripts/power-cuts and scripts/faults share: measuring what was not measured yet, and tables that stand between two marks of a document."""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys


def arguments(program, about, results, document, more=()):
    """The words of the command line; `more`: further options, each with what it is otherwise."""
    parser = argparse.ArgumentParser(prog=program, description=about.splitlines()[0])
    parser.add_argument("bakeoff", nargs="?", default="target/release/bakeoff", help="the program (%(default)s)")
    for option, default, meaning in more:
        parser.add_argument(option, type=type(default), default=default, help=f"{meaning} (%(default)s)")
    parser.add_argument("--results", default=results, help="folder for results (%(default)s)")
    parser.add_argument("--document", default=document, help="whose tables are made anew (%(default)s)")
    asked = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit(f"{program}: it makes disks and filesystems: run it as root")
    asked.bakeoff = os.path.realpath(asked.bakeoff)
    os.makedirs(asked.results, exist_ok=True)
    return asked


def measured(asked, name, words, environment=None):
    """What bakeoff answers to these words, now or before; who was refused is told."""
    path = os.path.join(asked.results, f"{name}.json")
    if not os.path.exists(path):
        command = [asked.bakeoff, *words]
        print(f"{name}: {' '.join(command)}", flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **(environment or {})}, check=False)
        if done.returncode != 0:
            sys.exit(f"{name} answered {done.returncode}")
        with open(path, "wb") as file:
            file.write(done.stdout)
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    for refused in found["refused"]:
        print(f"{name}: {refused['contender']} is left out: {refused['why']}", file=sys.stderr)
    return found["contenders"]


def when(seed, kernel=platform.release()):
    """Day, kernel and seed, for a sentence."""
    return f"{datetime.date.today().isoformat()}, Linux {kernel}, seed {seed}"


def write(program, path, mark, lines):
    """Puts lines between two marks of a document."""
    begin, end = f"<!-- {mark}: made by {program} -->", f"<!-- end of {mark} -->"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after)
