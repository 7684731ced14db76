"""Job files of fio that write to other places, or run commands, by every route that fio has.

In: nothing. Out: registered layouts: a job file, what it must not change, and the verbs that read it. Each try that is refused costs
no run; the last layouts are allowed, and run.
"""

import os
import socket

from . import tool as tools
from .target import ALLOWED, HARMLESS, REFUSED, Target, layout
from .ways import Way

# The piece in which fio reads a line.
PIECE = 8191


def ways(variables):
    """The verbs that read a job file."""
    given = ["env", *(f"{name}={value}" for name, value in variables.items())]

    def ask(words):
        def asked(place):
            words_here = [word.format(job=place.target.path) for word in words]
            if words[0] == "import":
                words_here += ["--output", place.path("made.toml")]
            else:
                words_here += ["--fs", "ext2", "--image", "64MiB", "--scratch", place.scratch]
                words_here += ["--ledger", place.tool.fresh_ledger()] if words[0] == "run" else []
            return place.tool.ask(*words_here, cwd=place.own, enter=given)
        return asked

    verbs = {
        "plan JOBFILE": ["plan", "{job}", "--samples", "1", "--no-twin"],
        "run JOBFILE": ["run", "{job}", "--samples", "1", "--no-twin", *tools.QUIET],
        "import --as workload": ["import", "--as", "workload", "{job}"],
    }
    return [Way(name, "job", ask(words), ["steps"]) for name, words in verbs.items()]


def built(world, text, expect, variables=None):
    """A target that is a job file; `{canary}`, `{outside}` and the like stand for paths of this world."""
    path = text if os.path.lexists(text) else world.write("job.fio", text)
    target = Target("steps", path, {"job": expect})
    target.steps = ways(variables or {})
    return target


def hostile(name, make, expect=REFUSED):
    """A job file; `make` gives its text and its variables, and protects what it must not change."""

    @layout(f"a job file {name}")
    def _(world):
        canary = world.path("canary")
        world.absent(canary)
        outside = world.protect(world.write("outside/precious", "precious" * 1000))
        made = make(world, canary, outside)
        text, variables = made if isinstance(made, tuple) else (made, {})
        return built(world, text, expect, variables)


def disk(world):
    """A disk with a filesystem on it that is not mounted."""
    one = world.disk(mib=16)
    world.mkfs("ext2", one)
    world.protect(one)
    return one.node


def mounted(world):
    """A disk that is mounted, and where."""
    one = world.disk(mib=16)
    world.mkfs("ext2", one)
    point = world.mount(one)
    world.protect(world.write(os.path.join(point, "precious"), "precious" * 1000))
    return one.node, point


def jobs(*lines, job="load"):
    return "\n".join(["[global]", "rw=write", "size=1m", "bs=64k", *lines[:-1], f"[{job}]", *lines[-1:]]) + "\n"


# Files and devices by names -------------------------------------------------------------------------------------------------

hostile("that adds a file to a disk of the section before",
        lambda world, canary, outside: jobs(f"filename={disk(world)}", "filename=inside"))
hostile("whose section before names a mounted disk",
        lambda world, canary, outside: jobs(f"filename={mounted(world)[0]}", "filename=inside"))
hostile("whose section [global-x] names a disk",
        lambda world, canary, outside: f"[global-x]\nfilename={disk(world)}\n[load]\nrw=write\nsize=1m\n")
hostile("whose section is called as a disk", lambda world, canary, outside: jobs("", job=disk(world)))
hostile("whose section is called as a mounted disk, by its format",
        lambda world, canary, outside: jobs("filename_format=$jobname", "", job=mounted(world)[0]))
hostile("whose section leads out", lambda world, canary, outside: jobs("", job="../" * 12 + canary[1:]))
hostile("whose section leads out by its format",
        lambda world, canary, outside: jobs("filename_format=$jobname", "overwrite=1", job="../" * 12 + outside[1:]))
hostile("whose format of names leads out",
        lambda world, canary, outside: jobs(f"filename_format={'../' * 12}{outside[1:]}", "overwrite=1"))
hostile("that names a file of the user's", lambda world, canary, outside: jobs(f"filename={outside}"))
hostile("that hides a file behind an escaped colon",
        lambda world, canary, outside: jobs(f"filename=a\\:b:{outside}"))
hostile("that writes into a mounted filesystem",
        lambda world, canary, outside: jobs(f"directory={mounted(world)[1]}", "filename=precious"))
hostile("that opens all files of a folder",
        lambda world, canary, outside: jobs(f"opendir={os.path.dirname(outside)}"))
hostile("that may write to mounted disks",
        lambda world, canary, outside: jobs("allow_mounted_write=1", f"filename={mounted(world)[0]}"))
hostile("whose variable names a disk",
        lambda world, canary, outside: (jobs("filename=${TARGET}"), {"TARGET": disk(world)}))
hostile("whose variable names a folder",
        lambda world, canary, outside: (jobs("directory=${PLACE}"), {"PLACE": os.path.dirname(outside)}))
hostile("whose variable is a part of a path",
        lambda world, canary, outside: (jobs("filename=.${DOTS}" + outside), {"DOTS": "./../../../../../../.."}))
hostile("whose memory is a file of the user's", lambda world, canary, outside: jobs(f"mem=mmapshared:{outside}"))
hostile("whose log goes to a file of the user's", lambda world, canary, outside: jobs(f"write_bw_log={outside}"))
hostile("that copies a file of the user's", lambda world, canary, outside: jobs(f"buffer_pattern='{outside}'"))


def replayed(world, canary, outside):
    log = world.write("calls.log", f"fio version 2 iolog\n{outside} add\n{outside} open\n{outside} write 0 4096\n{outside} close\n")
    return jobs(f"read_iolog={log}")


hostile("that replays writes to a file of the user's", replayed)

# Commands -------------------------------------------------------------------------------------------------------------------

hostile("that runs a command", lambda world, canary, outside: jobs(f"exec_prerun=touch {canary}"))
hostile("that runs a command in a section like global",
        lambda world, canary, outside: f"[globals]\nexec_postrun=touch {canary}\n[load]\nrw=write\nsize=1m\n")
hostile("whose variable is a part of a key",
        lambda world, canary, outside: (jobs("exec_${WHEN}=touch " + canary), {"WHEN": "prerun"}))
hostile("whose variable is a line", lambda world, canary, outside: (jobs("${LINE}"), {"LINE": f"exec_prerun=touch {canary}"}))
hostile("whose variable is two lines",
        lambda world, canary, outside: (jobs("size=${SIZE}"), {"SIZE": f"1m\nexec_prerun=touch {canary}"}))
hostile("whose comment is longer than fio reads",
        lambda world, canary, outside: jobs(";".ljust(PIECE, "x") + f"exec_prerun=touch {canary}"))
hostile("whose description is longer than fio reads",
        lambda world, canary, outside: jobs("description=".ljust(PIECE, "x") + f"exec_prerun=touch {canary}"))
hostile("whose long comment ends with a section",
        lambda world, canary, outside: jobs("#".ljust(PIECE, "x") + f"[{disk(world)}]"))
hostile("with a command after a carriage return",
        lambda world, canary, outside: jobs(f"; words\rexec_prerun=touch {canary}"))
hostile("that includes another",
        lambda world, canary, outside: jobs("include " + world.write("more.fio", f"exec_prerun=touch {canary}\n")))
hostile("that has fio calculate with a command",
        lambda world, canary, outside: jobs(f"size=$ncpus*1|touch {canary}"))
hostile("whose engine is a program", lambda world, canary, outside: jobs("ioengine=exec", f"program=/bin/touch\narguments={canary}"))


def library(world, canary, outside):
    source = world.write("evil.c", f'__attribute__((constructor)) static void f(void) {{ __builtin_fclose(__builtin_fopen("{canary}", "w")); }}\n')
    return jobs(f"ioengine=external:{source.removesuffix('.c')}.so")


hostile("whose engine is a library", library)
hostile("with options of the command line", lambda world, canary, outside: jobs(f"--trigger=touch {canary}", "--trigger-timeout=1"))

# What is no job file --------------------------------------------------------------------------------------------------------


def fifo(world, canary, outside):
    os.mkfifo(world.path("job.fio"))
    return world.path("job.fio")


def sock(world, canary, outside):
    one = socket.socket(socket.AF_UNIX)
    at = os.getcwd()
    os.chdir(world.folder)  # The path may be longer than a socket's name.
    one.bind("job.fio")
    os.chdir(at)
    world.ends.append(one.close)
    return world.path("job.fio")


hostile("that is a FIFO", fifo)
hostile("that is a socket", sock)
hostile("that is a link to a disk", lambda world, canary, outside: world.link("job.fio", disk(world)))
hostile("that is a link to memory without end", lambda world, canary, outside: world.link("job.fio", "/dev/zero"))
hostile("with the character 0", lambda world, canary, outside: jobs(f"description=x\0\nexec_prerun=touch {canary}"))
hostile("of a megabyte", lambda world, canary, outside: jobs("; words\n" * 150000))

# What is allowed stays inside -----------------------------------------------------------------------------------------------

hostile("with the names of the user's files", lambda world, canary, outside: jobs("filename=precious:outside/precious"), ALLOWED)
hostile("with paths and commands in comments and descriptions",
        lambda world, canary, outside: (f"# filename={outside}\n[global]\nrw=write ; exec_prerun=touch {canary}\nsize=1m\n[load]\n"
                                        f"description=exec_prerun=touch {canary}\nname={outside}\n"), ALLOWED)
hostile("that fills its folder", lambda world, canary, outside: jobs("fill_device=1", "size=100%"), HARMLESS)
