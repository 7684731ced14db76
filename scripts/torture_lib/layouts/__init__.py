"""The layouts, by what is at stake."""

from . import folders, foreign, holders, loops, mounts, names, signatures  # noqa: F401 (each registers its layouts)
from .. import job_files  # noqa: E402,F401
from .. import databases  # noqa: E402,F401
from .. import confinement  # noqa: E402,F401
from .. import namespaces  # noqa: E402,F401
