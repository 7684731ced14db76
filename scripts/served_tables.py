"""What scripts/power-cuts and scripts/faults share: measuring what was not measured yet, and tables between two marks of a document."""

import argparse
import datetime
import json
import os
import subprocess
import sys


def arguments(program, about, results, document, more=()):
    """The words of the command line; `more`: further options, each with what it is otherwise."""
    parser = argparse.ArgumentParser(prog=program, description=about.splitlines()[0])
    parser.add_argument("bakeoff", nargs="?", default="target/release/bakeoff", help="the program (%(default)s)")
    for option, default, meaning in more:
        parser.add_argument(option, type=type(default), default=default, help=f"{meaning} (%(default)s)")
    parser.add_argument("--contenders", default="", help="measures these alone, by the names of their results, and leaves the rows of the others as they are; all where none is named")
    parser.add_argument("--results", default=results, help="folder for results (%(default)s)")
    parser.add_argument("--document", default=document, help="whose tables are made anew (%(default)s)")
    asked = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit(f"{program}: it makes disks and filesystems: run it as root")
    asked.bakeoff = os.path.realpath(asked.bakeoff)
    os.makedirs(asked.results, exist_ok=True)
    return asked


def measured(asked, name, words, environment=None):
    """What bakeoff answers to these words, now or before; prints which contenders were refused."""
    path = os.path.join(asked.results, f"{name}.json")
    if not os.path.exists(path):
        command = [asked.bakeoff, *words]
        print(f"{name}: {' '.join(command)}", flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **(environment or {})}, check=False)
        # The exit status also tells that a contender broke what its description promises; that is a result.
        contenders = contenders_of(done.stdout)
        if contenders is None:
            sys.exit(f"{name} ended with {done.returncode}; its output is above")
        if not contenders:
            # As where its tools are missing: it has printed why, and there is no result to keep.
            print(f"{name} is left out", file=sys.stderr)
            return []
        with open(path, "wb") as file:
            file.write(done.stdout)
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    for one in found["contenders"]:
        one["day"] = datetime.date.fromtimestamp(os.path.getmtime(path)).isoformat()
    for refused in found["refused"]:
        print(f"{name}: {refused['contender']} is left out: {refused['why']}", file=sys.stderr)
    return found["contenders"]


def shown(called, one):
    """A contender's name in a table: with the driver, where another filesystem's mounted it."""
    return f"{called} ({one['driver']} driver)" if one.get("driver") else called


def contenders_of(answer):
    """The contenders of an answer; None where it is no answer."""
    try:
        return json.loads(answer)["contenders"]
    except ValueError:
        return None


def chosen(asked, all_of_them):
    """Those calls, the first word of each its name, that are to be measured now."""
    names = [name for name in asked.contenders.split(",") if name]
    return [call for call in all_of_them if not names or call[0] in names]


def known(program, asked, *lists):
    """Ends where an unknown contender is named."""
    names = [call[0] for calls in lists for call in calls]
    for name in filter(None, asked.contenders.split(",")):
        if name not in names:
            sys.exit(f"{program}: --contenders {name}: there are {', '.join(names)}")


def write_table(program, path, mark, head, rows, before):
    """Puts a table between two marks of a document, after a sentence. `head`: each column's name and how it is set. Rows of other contenders stay as they are."""
    anew = {}
    for row in rows:
        anew.setdefault(str(row[0]), []).append("| " + " | ".join(map(str, row)) + " |")
    names, rules = "| " + " | ".join(name for name, _ in head) + " |", "|" + "|".join(rule for _, rule in head) + "|"
    present = [line for line in between(program, path, mark) if line.startswith("| ")]
    lines, placed = [], set()
    for old in present[1:]:
        contender = old.split(" | ")[0].removeprefix("| ")
        if contender not in anew:
            lines.append(old)
        elif contender not in placed:
            placed.add(contender)
            lines += anew[contender]
    if present and present[0] != names and any(line in lines for line in present[1:]):
        sys.exit(f"{program}: rows in {path} have other columns than those that were measured now: measure all contenders")
    lines += [line for contender, of_it in anew.items() if contender not in placed for line in of_it]
    write(program, path, mark, [*before, names, rules, *lines])


def between(program, path, mark):
    """The lines between two marks of a document."""
    begin, end = marks(program, mark)
    with open(path, encoding="utf-8") as file:
        return file.read().split(begin, 1)[1].split(end, 1)[0].splitlines()


def write(program, path, mark, lines):
    """Puts lines between two marks of a document."""
    begin, end = marks(program, mark)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after)


def marks(program, mark):
    return f"<!-- {mark}: made by {program} -->", f"<!-- end of {mark} -->"
