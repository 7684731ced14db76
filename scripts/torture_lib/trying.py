"""One layout, tried with every way that fits it.

In: a layout. Out: for each way whether the answer was right, and whether what must not change is as it was.
"""

import os
import time
import traceback
import zlib

from . import leftovers
from .target import ALLOWED, REFUSED
from .tool import Tool
from .ways import WAYS, Place
from .world import LeftOut, World

ALLOWED_TRIED = 2


class Result:
    """What came of one way on one layout."""

    def __init__(self, layout, way, verdict, reason="", seconds=0.0, answer=None):
        self.layout, self.way, self.verdict, self.reason, self.seconds = layout, way, verdict, reason, seconds
        self.command = " ".join(answer.words) if answer else ""
        self.sentence = answer.sentence() if answer else ""


class Stand:
    """A layout that is built, and taken down and built again once it is spent."""

    def __init__(self, base, binary, layout, number):
        self.base, self.layout, self.number = base, layout, number
        self.tool = Tool(binary, os.path.join(base, f"tool-{number}"))
        self.world = self.target = None

    def ready(self):
        if self.world is None:
            self.world = World(self.base, f"w{self.number}")
            self.world.tool = self.tool
            self.target = self.layout.build(self.world)
        return self.target

    def take_down(self):
        """Ends the world; what of it could not be ended."""
        if self.world is None:
            return []
        leftovers.sweep(self.world.folder, self.tool.home, {disk.node for disk in self.world.loops})
        problems = self.world.close()
        self.world = None
        return problems

    def try_way(self, way):
        """The faults of one try, and the answer."""
        target = self.ready()
        world = self.world
        place = Place(world, target, self.tool)
        if target.backing and not target.may_change(way.group):
            world.protect(target.backing)
        elif target.backing:
            world.victims.pop(target.backing, None)
        census = place.census = leftovers.Census(world.folder, self.tool.home)
        world.remember()
        answer = way.ask(place)
        faults = [fault for fault in (answer.fault(), self.expected(way, answer)) if fault]
        changed = world.changed()
        faults += [f"CHANGED: {os.path.relpath(name, world.folder) if name.startswith('/') else name}" for name in changed]
        faults += [f"left behind: {left}" for left in self.left(census)]
        return faults, answer

    def left(self, census):
        """Leftovers; what is just ending gets a moment."""
        end = time.monotonic() + 5
        while True:
            left = [one for one in census.since() if not any(word in one for word in self.world.of_others)]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.1)

    def expected(self, way, answer):
        """Why the answer is not the one that this layout asks for."""
        wanted = self.target.expect[way.group]
        if wanted == REFUSED:
            return answer.refusal(self.reasons(way))
        if wanted == ALLOWED and answer.status != 0:
            return f"it was refused, which it should not be: {answer.sentence()}"
        return None

    def reasons(self, way):
        """What the sentence may speak of. Of what is on it, too, where the owner's word was not given yet."""
        if self.target.says is None or way.group not in ("on", "erase", "resume", "split", "split erase"):
            return None
        divided = "|cannot be split|too small for" if way.group.startswith("split") else ""
        return self.target.says + ("|carries|data" if way.group in ("on", "split") else "") + divided

    def spent(self, way, faults):
        """Whether the layout is no longer as it was built."""
        return bool(faults) or self.target.kind == "steps" or self.target.may_change(way.group)


def ways_of(stand, every=False):
    """The ways that fit. Being allowed costs a whole run, so of those that should be each layout tries two, by turns."""
    target = stand.ready()
    if target.kind == "steps":
        return target.steps
    fitting = [way for way in WAYS if target.kind in way.kinds and stand.layout.ways(way)]
    allowed = [way for way in fitting if target.expect[way.group] == ALLOWED]
    if every or len(allowed) <= ALLOWED_TRIED:
        return fitting
    turn = zlib.crc32(stand.layout.name.encode())
    tried = [allowed[(turn + index * (len(allowed) // ALLOWED_TRIED)) % len(allowed)] for index in range(ALLOWED_TRIED)]
    return [way for way in fitting if way not in allowed or way in tried]


def try_layout(base, binary, layout, number, only=None, every=False):
    """Yields a result for each way."""
    stand = Stand(base, binary, layout, number)
    try:
        try:
            names = [way.name for way in ways_of(stand, every) if only is None or only(way)]
        except LeftOut as problem:
            yield Result(layout.name, "*", "left out", str(problem))
            return
        for at, name in enumerate(names):
            began = time.monotonic()
            try:
                yield one_way(stand, name, began)
            except LeftOut as problem:
                yield Result(layout.name, name, "left out", str(problem), time.monotonic() - began)
                stand.take_down()
            except Exception:
                yield Result(layout.name, name, "FAILED", "the script: " + traceback.format_exc(limit=-3).replace("\n", " | "),
                             time.monotonic() - began)
                stand.take_down()
    finally:
        problems = stand.take_down()
        if problems:
            yield Result(layout.name, "the end", "FAILED", "could not be taken down: " + "; ".join(problems))


def one_way(stand, name, began):
    # A layout that is built anew has ways of its own.
    way = next(way for way in ways_of(stand, every=True) if way.name == name)
    faults, answer = stand.try_way(way)
    if stand.spent(way, faults):
        problems = stand.take_down()
        faults += [f"could not be taken down: {problem}" for problem in problems]
    verdict = "FAILED" if faults else "ok"
    return Result(stand.layout.name, way.name, verdict, "; ".join(faults), time.monotonic() - began, answer)
