"""Disks that only another mount namespace still has mounted, and runs beside programs that copy all mounts.

In: nothing. Out: registered layouts. A run has mounts of its own, so what others mount must be found elsewhere than in its own list.
"""

import os

from .layouts.mounts import MOUNTED, filled
from .target import FOLDER, IN_USE, Target, device, layout
from .world import command

APART = ["unshare", "--mount", "--propagation", "private"]
MOUNT = "import subprocess\nsubprocess.run(['mount', sys.argv[1], sys.argv[2]], check=True)"


@layout("unmounted by its user, and copied by a service before")
def _(world):
    disk = world.disk()
    point = filled(world, disk)
    world.python("", enter=APART)
    world.unmount(point)
    return device(disk, IN_USE, MOUNTED)


@layout("its mountpoint was removed, and a service works in a copy of the mount")
def _(world):
    disk = world.disk()
    point = filled(world, disk)
    world.python("os.chdir(sys.argv[1])", point, enter=APART)
    world.unmount(point)
    os.rmdir(point)
    return device(disk, IN_USE, MOUNTED)


@layout("mounted in a namespace that has no process")
def _(world):
    disk = world.disk()
    world.mkfs("ext4", disk)
    point, keeper = world.make_folder("elsewhere"), world.make_folder("keeper")
    command("mount", "--bind", keeper, keeper)
    world.ends.append(lambda: command("umount", "--lazy", keeper))
    command("mount", "--make-private", keeper)
    name = os.path.join(keeper, "namespace")
    with open(name, "w"):
        pass
    command("unshare", f"--mount={name}", "--propagation", "private", "mount", disk.node, point)
    world.ends.append(lambda: command("umount", name))
    return device(disk, IN_USE, MOUNTED)


@layout("mounted in another namespace, where a run would have its mountpoints")
def _(world):
    disk = world.disk()
    world.mkfs("ext4", disk)
    point = world.make_folder("run/bakeoff/0a0b0c0d/mnt")
    world.python(MOUNT, disk.node, point, enter=APART)
    return device(disk, IN_USE, MOUNTED)


@layout("a scratch folder, while services start that copy all mounts")
def _(world):
    folder = world.make_folder("images")
    world.protect(world.write("images/precious", "precious" * 1000))
    code = ("import subprocess, threading, time\ndef copies():\n    while True:\n"
            "        subprocess.Popen(['unshare', '--mount', 'sleep', '6'])\n        time.sleep(0.3)\n"
            "threading.Thread(target=copies, daemon=True).start()")
    world.python(code)
    return Target("folder", folder, dict(FOLDER))
