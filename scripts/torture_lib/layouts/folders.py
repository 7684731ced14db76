"""Scratch folders with what only looks like the tool's own, folders of reports, and what is in the place of a ledger."""

import os
import shutil
import signal
import sqlite3
import subprocess

from ..target import ALLOWED, HARMLESS, file, folder, layout
from ..tool import Tool, trials, wait_for_trial
from ..world import MIB, LeftOut, command

LOOKS = "bakeoff-0a1b2c3d-1.img"


def scratch(name, fill, **expect):
    """A folder for images in which something like one lies already; it can be used, and that stays."""

    @layout(f"a scratch folder with {name}")
    def _(world):
        fill(world, world.make_folder("scratch"))
        return folder(world.path("scratch"), **expect)


def look_alike(world, place):
    world.protect(world.write(f"scratch/{LOOKS}"))
    world.protect(world.write("scratch/bakeoff-0a1b2c3d-1.img.part"))


def look_alike_link(world, place):
    victim = world.protect(world.write("precious.img"))
    world.protect(world.link(f"scratch/{LOOKS}", victim))


def look_alike_hard_link(world, place):
    victim = world.write("precious.img")
    os.link(victim, os.path.join(place, LOOKS))
    world.protect(victim, os.path.join(place, LOOKS))


def image(world, place, kind="ext4"):
    path = os.path.join(place, LOOKS)
    with open(path, "wb") as opened:
        opened.truncate(96 * MIB)
    world.mkfs(kind, path, "-L", "bo-0a1b2c3d")
    world.protect(path)
    return path


def mounted_image(world, place):
    world.calm(world.mount(world.loop(image(world, place))))


def attached_image(world, place):
    world.loop(image(world, place))


def image_elsewhere(world, place):
    disk = world.loop(image(world, place))
    world.python("import subprocess\nsubprocess.run(['mount', sys.argv[1], sys.argv[2]], check=True)", disk.node,
                 world.make_folder("elsewhere"), enter=["unshare", "--mount", "--propagation", "private"])


def by_special_name(world, place):
    os.mkfifo(os.path.join(place, LOOKS))
    world.protect(os.path.join(place, LOOKS))


def by_folder_name(world, place):
    world.write(f"scratch/{LOOKS}/letters")
    world.protect(os.path.join(place, LOOKS))


def work_folder(world, place):
    world.write("scratch/bakeoff-0a1b2c3d-work/thesis")
    world.protect(os.path.join(place, "bakeoff-0a1b2c3d-work"))


def of_a_stranger(world, place):
    os.chmod(place, 0o1777)
    world.protect(world.write(f"scratch/{LOOKS}", owner=12345))
    world.protect(world.write("scratch/bakeoff-aged/precious", owner=12345))


def aged_link(world, place):
    world.write("documents/letter")
    world.write("documents/old.img", bytes(4096))
    world.write("documents/old.new")
    world.protect(world.path("documents"))
    world.link("scratch/bakeoff-aged", world.path("documents"))


def aged_things(world, place):
    for name in ("notes.txt", "0123.img", "0123.new", LOOKS, "bakeoff-part-0123.img"):
        world.protect(world.write(f"scratch/bakeoff-aged/{name}"))


def forged_mark(world, place):
    """What a user could write who has read how a mark looks."""
    world.protect(world.write(f"scratch/{LOOKS}"))
    for name in (f"{LOOKS}.mark", f"{LOOKS}.json", f".{LOOKS}.mark", "bakeoff-0a1b2c3d.mark", "bakeoff-0a1b2c3d-1.mark"):
        world.write(f"scratch/{name}", '{"version":1,"id":"0a1b2c3d","owner":{"pid":1,"started":1},"boot_id":"","made":[]}')


def other_run(world, place):
    """A run of another container, whose marks and processes' state are not seen here."""
    ledger, other = world.path("other.db"), Tool(world.tool.binary, world.make_folder("other"))
    inner = "mount -t tmpfs tmpfs /var/lib/bakeoff && mount -t tmpfs tmpfs /run/bakeoff && exec \"$@\""
    words = ["run", "small-files", "--set", "files=20", "--set", "some=4", "--samples", "900", "--no-twin", "--plain",
             "--no-report", "--fs", "ext2", "--image", "64MiB", "--scratch", place, "--ledger", ledger]
    child = other.start(*words, enter=["unshare", "--mount", "--propagation", "private", "sh", "-c", inner, "inner"])

    def stop():
        child.send_signal(signal.SIGINT)
        try:
            child.wait(timeout=60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    world.ends.append(stop)
    if not wait_for_trial(ledger, child):
        raise LeftOut("the other run did not begin")
    world.of_others.update(name.split("-")[1] for name in os.listdir(place) if name.startswith("bakeoff-"))

    def state():
        if child.poll() is not None:
            return "it ended"
        return [trial["reason"] for trial, _ in trials(ledger).values() if trial["status"] == "failed"]

    world.victims["the run of another container"] = state


for name, fill in {
    "a file by an image's name": look_alike,
    "a link by an image's name": look_alike_link,
    "a hard link by an image's name": look_alike_hard_link,
    "an image of that name, mounted": mounted_image,
    "an image of that name, attached": attached_image,
    "an image of that name, unused": lambda world, place: image(world, place) and None,
    "an image of that name, mounted in another namespace": image_elsewhere,
    "a FIFO by an image's name": by_special_name,
    "a folder by an image's name": by_folder_name,
    "a folder by the name of work": work_folder,
    "files of a stranger, who may write there": of_a_stranger,
    "a link to a user's folder where aged images go": aged_link,
    "a user's files where aged images go": aged_things,
    "a forged mark": forged_mark,
    "the images of another container's run": other_run,
}.items():
    scratch(name, fill)


@layout("a scratch folder that is read-only")
def _(world):
    place = world.make_folder("scratch")
    world.protect(world.write(f"scratch/{LOOKS}"))
    command("mount", "--bind", place, place)
    world.ends.append(lambda: command("umount", place))
    command("mount", "-o", "remount,bind,ro", place)
    return folder(place, scratch="refused", directory="refused")


# Reports --------------------------------------------------------------------------------------------------------------------


def own_report(world):
    place = world.path("report")
    done = world.tool.ask("report", "--ledger", world.finished(world.tool), "-o", place, cwd=world.folder)
    if done.status != 0:
        raise LeftOut(f"no report could be written: {done.sentence()}")
    return place


def report(name, change, **expect):
    @layout(f"a report of its own {name}", lambda way: way.group.startswith("output"))
    def _(world):
        place = own_report(world)
        change(world, place)
        return folder(place, **{"output": ALLOWED, "output_by_a_link": HARMLESS, **expect})


def added(world, place):
    world.protect(world.write("report/my-notes.txt"))
    world.protect(world.write("report/mine/letter"))


def swapped(kind):
    """Each file of the report becomes a way to something precious."""

    def change(world, place):
        for name in sorted(os.listdir(place)):
            path = os.path.join(place, name)
            if os.path.isfile(path):
                victim = world.write(f"precious-{name}")
                os.unlink(path)
                kind(victim, path)
                world.protect(victim)
            else:
                elsewhere = world.path(f"precious-{name}")
                shutil.move(path, elsewhere)
                os.symlink(elsewhere, path)
                world.protect(elsewhere)

    return change


report("as it was left", lambda world, place: None)
report("to which a user added files", added, output=HARMLESS)
report("whose files are links now", swapped(os.symlink), output=HARMLESS)
report("whose files are hard links now", swapped(os.link), output=HARMLESS)


@layout("a folder of nothing but links named as a report's files", lambda way: way.group.startswith("output"))
def _(world):
    for name in ("index.html", "report.html", "samples.csv", "run.json", "tables.csv", "tables.ods", "bonnie.csv"):
        world.link(f"links/{name}", world.protect(world.write(f"precious-{name}")))
        world.protect(world.path("links", name))
    return folder(world.path("links"))


@layout("a folder with a link to nothing", lambda way: way.group.startswith("output"))
def _(world):
    world.absent(world.path("made-through-a-link"))
    world.link("links/index.html", world.path("made-through-a-link"))
    return folder(world.path("links"))


@layout("a report's folder below a link of a stranger", lambda way: way.group.startswith("output"))
def _(world):
    world.protect(world.write("documents/index.html"))
    shared = world.make_folder("shared", mode=0o1777)
    world.link("shared/reports", world.path("documents"))
    os.lchown(os.path.join(shared, "reports"), 12345, 12345)
    return folder(os.path.join(shared, "reports", "mine"), output=HARMLESS, scratch=HARMLESS)


# Ledgers --------------------------------------------------------------------------------------------------------------------


def ledger(name, make, **expect):
    @layout(f"a ledger {name}", lambda way: way.group.startswith("ledger"))
    def _(world):
        path = world.path("kept.db")
        make(world, path)
        answers = {"ledger": HARMLESS, "ledger read": HARMLESS, **expect}
        return file(path, **{group.replace(" ", "_"): answer for group, answer in answers.items()})


def beside(name, kind=os.symlink, sqlite=False):
    """Something precious where the tool would make a file beside its ledger. SQLite may remove what has the name of its own
    journal, which costs a link and not what it leads to."""

    def make(world, path):
        victim = world.protect(world.write("precious.txt"))
        kind(victim, world.path(name))
        if not sqlite:
            world.protect(world.path(name))

    return make


def nothing_beside(name):
    def make(world, path):
        world.absent(world.path("made-through-a-link"))
        os.symlink(world.path("made-through-a-link"), world.path(name))

    return make


def other_store(world, path):
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE runs (id TEXT)")
        store.execute("PRAGMA user_version = 3")
    store.close()
    world.protect(path)


def link_to_ledger(world, path):
    """Its owner's own link to a ledger; what it leads to is a ledger afterwards, too."""
    shutil.copy(world.finished(world.tool), world.path("real.db"))
    os.symlink(world.path("real.db"), path)


def folder_of_that_name(world, path):
    os.mkdir(path)
    world.protect(world.write("kept.db/letter"))


def empty_file(world, path):
    """A run that was killed while it made its ledger leaves one, so it may become a ledger; nothing of it can be lost."""
    world.write(os.path.basename(path), "")
    world.protect(world.write("letter"))


ledger("that is an empty file", empty_file)
ledger("that is a link to nothing", nothing_beside("kept.db"), ledger="refused", ledger_read="refused")
ledger("whose lock is a link to a user's file", beside("kept.db.lock"))
ledger("whose lock is a hard link of a user's file", beside("kept.db.lock", os.link))
ledger("whose lock is a link to nothing", nothing_beside("kept.db.lock"))
ledger("whose journal is a link to a user's file", beside("kept.db-journal", sqlite=True))
ledger("whose write-ahead log is a link to a user's file", beside("kept.db-wal", sqlite=True))
ledger("whose shared memory is a link to a user's file", beside("kept.db-shm", sqlite=True))
ledger("whose log is a link to a user's file", beside("kept.log"))
ledger("whose log is a link to nothing", nothing_beside("kept.log"))
ledger("that is a link to a user's file", lambda world, path: beside("kept.db")(world, path), ledger="refused",
       ledger_read="refused")
ledger("that is a hard link of a user's file", beside("kept.db", os.link), ledger="refused", ledger_read="refused")
ledger("that is another program's database", other_store, ledger="refused", ledger_read="refused")
ledger("that is a link to a ledger", link_to_ledger)
ledger("that is a folder", folder_of_that_name, ledger="refused", ledger_read="refused")
