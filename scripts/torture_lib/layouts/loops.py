"""Loop devices that share their bytes with something: another loop device, a link, a partition, swap, a pool, a process."""

import os

from ..target import FREE, IN_USE, OPEN, device, layout
from ..world import MIB, LeftOut, command
from .mounts import filled, of_swap

SHARED = "mounted|same file|same bytes|in use|attached|beneath|backing|shares"


def two_on_one(world, *second, mib=96, first=(), file=None):
    """A mounted loop device, and another over the same file."""
    file = file or world.sparse(mib=mib)
    mounted = world.loop(file, *first)
    filled(world, mounted)
    return world.named(world.loop(file, *second))


@layout("a second loop device over a mounted file")
def _(world):
    return device(two_on_one(world), IN_USE, SHARED)


@layout("a second loop device over a mounted file, from another place in it")
def _(world):
    return device(two_on_one(world, "--offset", str(MIB)), IN_USE, SHARED)


@layout("a second loop device over the end of a mounted file")
def _(world):
    return device(two_on_one(world, "--offset", str(48 * MIB)), IN_USE, SHARED)


@layout("a loop device over another part of a file whose first part is mounted")
def _(world):
    target = two_on_one(world, "--offset", str(48 * MIB), first=["--sizelimit", str(48 * MIB)])
    world.protect_range(target.file, 0, 48 * MIB)
    return device(target, OPEN, SHARED)


def by_another_name(name, make):
    @layout(f"a second loop device over {name} of a mounted file")
    def _(world):
        file = world.sparse()
        filled(world, world.loop(file))
        second = world.named(world.loop(make(world, file)))
        second.file = file
        return device(second, IN_USE, SHARED)


def hard_link(world, file):
    os.link(file, world.path("hard"))
    return world.path("hard")


def bound(world, file):
    point = world.write("bound", "")
    command("mount", "--bind", file, point)
    world.ends.append(lambda: command("umount", point))
    return point


by_another_name("a hard link", hard_link)
by_another_name("a symbolic link", lambda world, file: world.link("soft", file))
by_another_name("a bind mount", bound)
by_another_name("an open file in /proc", lambda world, file: f"/proc/{world.holds(file).pid}/fd/3")


@layout("a second loop device over a mounted file that was deleted")
def _(world):
    file = world.sparse()
    filled(world, world.loop(file))
    second = world.named(world.loop(file))
    os.unlink(file)
    second.file = second.node
    return device(second, IN_USE, SHARED)


@layout("a second loop device over a mounted file that was renamed")
def _(world):
    second = two_on_one(world)
    os.rename(second.file, world.path("renamed"))
    # A new file by the old name is not what the device is on.
    world.write(os.path.basename(second.file), "another file")
    world.protect(second)
    second.file = world.path("renamed")
    return device(second, IN_USE, SHARED)


@layout("a second loop device over an idle one's file")
def _(world):
    file = world.sparse()
    world.loop(file)
    return device(world.named(world.loop(file)), OPEN)


@layout("a second loop device over a file whose first is swap")
def _(world):
    file = world.sparse()
    world.swap(world.loop(file).node)
    return of_swap(world, device(world.named(world.loop(file)), IN_USE, "swap|" + SHARED), file)


@layout("a second loop device over a file whose first is read by a process")
def _(world):
    file = world.sparse()
    world.holds(world.loop(file).node)
    return device(world.named(world.loop(file)), IN_USE, "open|" + SHARED)


@layout("a loop device under a mounted loop device")
def _(world):
    lower = world.disk()
    filled(world, world.loop(lower.node))
    return device(lower, IN_USE, SHARED)


@layout("a loop device under an idle loop device")
def _(world):
    lower = world.disk()
    world.loop(lower.node)
    return device(lower, IN_USE, SHARED)


@layout("a loop device over a mounted loop device")
def _(world):
    lower = world.disk()
    filled(world, lower)
    upper = world.named(world.loop(lower.node))
    upper.file = lower.file
    return device(upper, IN_USE, SHARED)


@layout("a loop device over another whose second user is mounted")
def _(world):
    lower = world.disk()
    filled(world, world.loop(lower.node))
    upper = world.named(world.loop(lower.node))
    upper.file = lower.file
    return device(upper, IN_USE, SHARED)


@layout("a loop device three deep over a mounted file")
def _(world):
    file = world.sparse()
    filled(world, world.loop(file))
    middle = world.loop(file)
    upper = world.named(world.loop(world.loop(middle.node).node))
    upper.file = file
    return device(upper, IN_USE, SHARED)


@layout("a loop device over a mounted partition's node")
def _(world):
    part, = world.partitions(world.disk(), (1, 64))
    filled(world, part)
    upper = world.named(world.loop(part.node))
    upper.file = part.file
    return device(upper, IN_USE, SHARED)


@layout("a loop device over a disk with a mounted partition")
def _(world):
    disk = world.disk()
    part, = world.partitions(disk, (1, 64))
    filled(world, part)
    upper = world.named(world.loop(disk.node))
    upper.file = disk.file
    return device(upper, IN_USE, SHARED)


@layout("a loop device over the bytes of a mounted partition")
def _(world):
    disk = world.disk()
    part, = world.partitions(disk, (1, 64))
    filled(world, part)
    return device(world.named(world.loop(disk.file, "--offset", str(MIB), "--sizelimit", str(64 * MIB))), IN_USE, SHARED)


@layout("a partition of a second loop device over a file with a mounted partition")
def _(world):
    disk = world.disk()
    part, = world.partitions(disk, (1, 64))
    filled(world, part)
    twin = world.named(world.loop(disk.file, "--partscan"))
    again, = world.partition_nodes(twin, 1)
    return device(again, IN_USE, SHARED)


@layout("a loop device over an active swap file")
def _(world):
    file = world.path("swap-file")
    with open(file, "wb") as opened:
        os.posix_fallocate(opened.fileno(), 0, 64 * MIB)
        for _ in range(64):
            opened.write(bytes(MIB))
        os.fsync(opened.fileno())
    os.chmod(file, 0o600)
    disk = world.named(world.loop(file))
    world.swap(file)
    return of_swap(world, device(disk, IN_USE, "swap"), file)


@layout("a loop device over a file that a process has open for writing")
def _(world):
    disk = world.disk()
    world.holds(disk.file, "os.O_RDWR")
    return device(disk, IN_USE, "open|process|writ")


@layout("a loop device over a file that a process has mapped for writing")
def _(world):
    disk = world.disk()
    world.python("held = os.open(sys.argv[1], os.O_RDWR)\nmapped = mmap.mmap(held, 4096)\nos.close(held)", disk.file)
    return device(disk, IN_USE, "open|map|process|writ")


@layout("a loop device over a file that a process has open for reading")
def _(world):
    disk = world.disk()
    world.holds(disk.file, "os.O_RDONLY")
    return device(disk, OPEN)


@layout("a loop device over a hard link of a file that a process has open for writing")
def _(world):
    file = world.sparse()
    world.holds(hard_link(world, file), "os.O_RDWR")
    return device(world.named(world.loop(file)), IN_USE, "open|process|writ")


def zfs(world):
    """A zfs-fuse of our own, in a namespace of its own, as the tool itself starts it."""
    script = ("for folder in /run/zfs /var/lib/zfs /var/lock/zfs; do mkdir -p $folder && mount -t tmpfs tmpfs $folder; done; "
              "echo ready; exec zfs-fuse -n --no-kstat-mount >/dev/null 2>&1")
    if not command("sh", "-c", "command -v zfs-fuse || true"):
        raise LeftOut("zfs-fuse is not installed")
    server = world.process("sh", "-c", script, enter=["unshare", "--mount", "--propagation", "private"])
    enter = ["nsenter", "--mount", "--target", str(server.pid)]
    for _ in range(100):
        if "no pools" in command(*enter, "zpool", "status", check=False):
            return enter
        command("sleep", "0.1")
    raise LeftOut("zfs-fuse does not answer")


def pool(world, place, *extra):
    enter = zfs(world)
    name = f"torture{os.getpid()}"
    command(*enter, "zpool", "create", "-f", "-o", "cachefile=none", "-m", world.make_folder("pool"), name, place, *extra)
    world.ends.append(lambda: command(*enter, "zpool", "export", name, check=False))
    return enter, name


def of_pool(world, disk, enter, name):
    """A pool writes by itself every few seconds; its labels' configuration and its state stand still."""
    target = device(disk, IN_USE, "pool|zfs|open|process")
    target.backing = None
    world.protect_range(disk.file, 16 << 10, 96 << 10)
    world.victims[f"the pool {name}"] = lambda: command(*enter, "zpool", "list", "-H", "-o", "name,health", name, check=False)
    return target


@layout("a loop device over the file of an imported pool")
def _(world):
    file = world.sparse(mib=128)
    served = pool(world, file)
    return of_pool(world, world.named(world.loop(file)), *served)


@layout("a device of an imported pool")
def _(world):
    disk = world.disk(mib=128)
    return of_pool(world, disk, *pool(world, disk.node))


@layout("the cache device of an imported pool")
def _(world):
    disk, cache = world.disk(mib=128), world.disk(mib=128)
    return of_pool(world, cache, *pool(world, disk.node, "cache", cache.node))


@layout("an image within an image")
def _(world):
    outer = world.disk(mib=200)
    point = filled(world, outer)
    file = os.path.join(point, "inner.img")
    with open(file, "wb") as opened:
        opened.truncate(64 * MIB)
    world.calm(point)
    inner = world.named(world.loop(file))
    world.protect(os.path.join(point, "diary"))
    return device(inner, FREE)


@layout("a loop device over a file that was deleted")
def _(world):
    disk = world.disk()
    os.unlink(disk.file)
    disk.file = disk.node
    return device(disk, OPEN)
