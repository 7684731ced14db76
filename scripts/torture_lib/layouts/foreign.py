"""Files from which commands would be run, planted by another user: filesystems' files, images that were aged."""

import os

from .. import tool as tools
from ..target import ALLOWED, HARMLESS, Target, layout
from ..ways import Way, plan_text

STRANGER = 12345


def planted(canary):
    """A filesystem's file whose every command leaves a trace."""
    touch = f'["sh", "-c", "echo ran as $(id -u) >> {canary}"'
    ext2 = "ext2"
    return f'''title = "planted"
about = "Made by another user."
kernel = "{ext2}"

[[tools]]
program = "sh"
package = "dash"
version = {touch}]

[make]
command = {touch}, "{{label}}", "{{options}}", "{{device}}"]

[mount]
command = {touch}, "{{list}}", "{{device}}", "{{mountpoint}}"]
unmount = {touch}, "{{mountpoint}}"]

[durability]
flushes = true
data = "none"
journal = "none"
checksums_data = false
checksums_metadata = false
copy_on_write = false

[sync]
syncfs = true
'''


def ways(may_run, expect):
    """The verbs that read such files; `plan` runs nothing in any case."""
    plan = ["{plan}", "--seed", "7", "--no-twin"]
    verbs = {
        "plan": ["plan", *plan, "--image", "64MiB"],
        "plan --commands": ["plan", *plan, "--image", "64MiB", "--commands"],
        "run": ["run", *plan, *tools.QUIET, "--image", "64MiB"],
        "plan --fs planted": ["plan", "small-files", "--fs", "planted", "--image", "64MiB", "--commands"],
        "systems": ["systems"],
        "doctor": ["doctor"],
        "run, from the plan's folder": ["run", "plan.toml", "--seed", "7", "--no-twin", *tools.QUIET, "--image", "64MiB"],
    }

    def asked(words):
        def ask(place):
            folder = place.target.path
            full = [word.format(plan=os.path.join(folder, "plan.toml")) for word in words]
            full += ["--ledger", place.tool.fresh_ledger()]
            if words[0] in ("run", "plan"):
                full += ["--scratch", place.scratch]
            return place.tool.ask(*full, cwd=folder if "from" in str(words) else place.own)
        return ask

    # A trusted file's commands may run, when its contender does.
    return [Way(name, expect, asked(words), ["steps"]) for name, words in verbs.items()
            if not (may_run and name not in ("plan", "plan --commands", "plan --fs planted"))]


def plant(name, make, may_run=False):
    @layout(f"a filesystem's file {name}")
    def _(world):
        canary = world.path("canary")
        world.absent(canary)
        world.write("work/plan.toml", plan_text("", "planted"))
        make(world, planted(canary))
        target = Target("steps", world.path("work"), {"code": HARMLESS})
        target.steps = ways(may_run, "code")
        return target


def beside(owner=None, mode=0o644, folder=None):
    """Beside the plan, with this owner and mode; `folder` changes one above it."""

    def make(world, text):
        world.write("work/filesystems/planted.toml", text, mode=mode, owner=owner)
        if folder:
            path, change = folder
            change(world.path(path))

    return make


def linked(world, text):
    real = world.write("stranger/planted.toml", text, owner=STRANGER)
    world.link("work/filesystems/planted.toml", real)


def linked_folder(world, text):
    world.write("stranger/filesystems/planted.toml", text, owner=STRANGER)
    os.chown(world.path("stranger/filesystems"), STRANGER, STRANGER)
    world.link("work/filesystems", world.path("stranger/filesystems"))


def configured(world, text):
    folder = os.path.join(world.tool.home, "config", "bakeoff", "filesystems")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "planted.toml")
    with open(path, "w") as file:
        file.write(text)
    os.chown(path, STRANGER, STRANGER)
    world.ends.append(lambda: os.unlink(path))


def in_place_of(world, text):
    """By the name of one that is compiled in."""
    for name in ("ext2", "ext4", "xfs", "btrfs"):
        world.write(f"work/filesystems/{name}.toml", text, owner=STRANGER)
    world.write("work/plan.toml", plan_text("", "ext2"))


open_to_all = lambda path: os.chmod(path, 0o777)  # noqa: E731
sticky = lambda path: os.chmod(path, 0o1777)  # noqa: E731
given_away = lambda path: os.chown(path, STRANGER, STRANGER)  # noqa: E731

plant("of a stranger", beside(owner=STRANGER))
plant("that all can write", beside(mode=0o666))
plant("that a group can write", lambda world, text: (beside(mode=0o664)(world, text),
                                                     os.chown(world.path("work/filesystems/planted.toml"), 0, STRANGER)))
plant("in a folder that all can write", beside(folder=("work/filesystems", open_to_all)))
plant("in a folder like /tmp", beside(folder=("work/filesystems", sticky)))
plant("in a stranger's folder", beside(folder=("work/filesystems", given_away)))
plant("below a stranger's folder", beside(folder=("work", given_away)))
plant("below a folder that all can write", beside(folder=("work", open_to_all)))
plant("that is a link to a stranger's", linked)
plant("in a folder that is a link to a stranger's", linked_folder)
plant("of a stranger in the user's configuration", configured)
plant("of a stranger, by the name of a known one", in_place_of)
plant("of the user's own", beside(), may_run=True)


# Aged images ----------------------------------------------------------------------------------------------------------------


def aged_ways():
    words = ["run", *tools.WORK, *tools.QUIET, "--fs", "ext2", "--image", "64MiB", "--fill", "30%"]

    def ask(place):
        return place.tool.ask(*words, "--scratch", place.target.path, "--ledger", place.tool.fresh_ledger(), cwd=place.own)

    return [Way("run --fill", "aged", ask, ["steps"])]


def aged(name, tamper, expect=HARMLESS):
    """A folder of aged images that the tool made, and that a user has changed since."""

    @layout(f"aged images {name}")
    def _(world):
        place = world.make_folder("scratch")
        target = Target("steps", place, {"aged": expect})
        target.steps = aged_ways()
        tamper(world, os.path.join(place, "bakeoff-aged"))
        return target


def of_a_stranger(world, place):
    world.make_folder("scratch/bakeoff-aged", mode=0o755, owner=STRANGER)
    world.protect(world.write("scratch/bakeoff-aged/precious", owner=STRANGER))


def open_folder(world, place):
    world.make_folder("scratch/bakeoff-aged", mode=0o777)
    world.protect(world.write("scratch/bakeoff-aged/precious", owner=STRANGER))


def link_out(world, place):
    world.write("documents/precious.img", "x" * 5000)
    world.protect(world.path("documents"))
    os.symlink(world.path("documents"), place)


def lock_link(world, place):
    world.make_folder("scratch/bakeoff-aged")
    victim = world.protect(world.write("precious.txt"))
    for name in ("lock", ".lock", "bakeoff.lock", "aged.lock", "cache.lock"):
        os.symlink(victim, os.path.join(place, name))


def mounted_there(world, place):
    disk = world.disk()
    world.mkfs("ext2", disk)
    world.mount(disk, point=world.make_folder("scratch/bakeoff-aged"))
    world.protect(world.write("scratch/bakeoff-aged/precious"))


aged("in a stranger's folder", of_a_stranger)
aged("in a folder that all can write", open_folder)
aged("behind a link to a user's folder", link_out)
aged("whose lock is a link to a user's file", lock_link)
aged("on a user's own disk", mounted_there)
aged("in a new folder", lambda world, place: None, ALLOWED)
