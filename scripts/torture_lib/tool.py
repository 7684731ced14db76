"""The tool under test, run as a person would, with a home and a state of its own.

In: words of a command line. Out: status, what it printed, and whether that is an answer that a person can use.
"""

import os
import re
import signal
import sqlite3
import subprocess
import time

# The smallest work that is still work.
WORK = ["small-files", "--set", "files=20", "--set", "some=4", "--samples", "1", "--seed", "7", "--no-twin"]
QUIET = ["--plain", "--no-report"]
LIMIT = 240
SIGNALS = {-number.value: number.name for number in signal.Signals}


class Answer:
    """What one command answered."""

    def __init__(self, words, status, out, err):
        self.words, self.status, self.out, self.err = words, status, out, err

    @property
    def text(self):
        return self.err + self.out

    def fault(self):
        """Why no answer of this kind is right, whatever was asked; None where there is no reason."""
        if self.status is None:
            return f"it did not end within {LIMIT} s"
        if self.status < 0:
            return f"it was ended by {SIGNALS.get(self.status, self.status)}"
        if "panicked at" in self.text:
            return "it panicked: " + next(line for line in self.text.splitlines() if "panicked at" in line)
        return None

    def refusal(self, says=None):
        """Why this is no refusal in one clear sentence with its reason; None where it is."""
        if self.status == 0:
            return "it was accepted"
        sentence = self.sentence()
        if not sentence:
            return "it was refused without a word"
        if len(sentence) > 1500:
            return f"the reason has {len(sentence)} letters"
        if says and not re.search(says, self.text, re.IGNORECASE):
            return f"it was refused for another reason: {sentence}"
        return None

    def sentence(self):
        lines = [line.strip() for line in self.err.strip().splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith(("error", "bakeoff:"))]
        return (errors or lines or [""])[0] if self.status else ""


class Tool:
    """The binary, with a home, a configuration and a working folder below `folder`."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.home = os.path.join(folder, "home")
        os.makedirs(self.home, exist_ok=True)
        self.runs = 0

    def environment(self):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": self.home, "NO_COLOR": "1", "XDG_CONFIG_HOME": os.path.join(self.home, "config"),
                "XDG_CACHE_HOME": os.path.join(self.home, "cache"), "XDG_STATE_HOME": os.path.join(self.home, "state")}

    def fresh_ledger(self):
        self.runs += 1
        return os.path.join(self.folder, f"ledger-{self.runs}.db")

    def start(self, *words, cwd=None, out=subprocess.DEVNULL, err=subprocess.DEVNULL, enter=()):
        """Starts it and goes on."""
        words = [str(word) for word in words]
        return subprocess.Popen([*enter, self.binary, *words], cwd=cwd or self.folder, stdin=subprocess.DEVNULL, stdout=out,
                                stderr=err, env=self.environment())

    def ask(self, *words, cwd=None, enter=()):
        """Runs it to its end."""
        child = self.start(*words, cwd=cwd, out=subprocess.PIPE, err=subprocess.PIPE, enter=enter)
        try:
            out, err = child.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            return Answer(words, None, out.decode(errors="replace"), err.decode(errors="replace"))
        return Answer(words, child.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def run(self, *words, ledger=None, cwd=None, work=None):
        """`bakeoff run` with the smallest work."""
        return self.ask("run", *(WORK if work is None else work), *QUIET, "--ledger", ledger or self.fresh_ledger(), *words,
                        cwd=cwd)


def trials(ledger):
    """Every trial of a ledger: its place in the plan, its status, and all that was kept of it."""
    if not os.path.exists(ledger):
        return {}
    with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=30) as store:
        try:
            rows = store.execute("SELECT * FROM trials ORDER BY id").fetchall()
            names = [column[1] for column in store.execute("PRAGMA table_info(trials)")]
            kept = {}
            for row in rows:
                trial = dict(zip(names, row))
                phases = store.execute("SELECT * FROM phases WHERE trial = ? ORDER BY place", (trial["id"],)).fetchall()
                kept[trial["id"]] = (trial, phases)
            return kept
        except sqlite3.OperationalError as problem:
            if "no such table" in str(problem):
                return {}
            raise
        finally:
            store.commit()


def wait_for_trial(ledger, child, count=1, limit=90):
    """Waits until the ledger holds so many trials, or the run is over."""
    end = time.monotonic() + limit
    while time.monotonic() < end and child.poll() is None:
        try:
            if len(trials(ledger)) >= count:
                return True
        except sqlite3.Error:
            pass
        time.sleep(0.05)
    return False
