"""What must not change, and the proof that it did not.

In: files, folders, ranges of files. Out: a fingerprint that is equal only where content and identity are.
Holes and written zeros are the same content; times of reading do not count.
"""

import errno
import hashlib
import os
import stat

CHUNK = 1 << 16
ZEROS = bytes(CHUNK)


def content(path, start=0, length=None):
    """SHA-256 over what is not zero between two offsets, each piece with its place."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        end = end if length is None else min(end, start + length)
        place = start
        while place < end:
            try:
                data = os.lseek(file.fileno(), place, os.SEEK_DATA)
            except OSError as answer:
                if answer.errno == errno.ENXIO:
                    break  # Only a hole is left.
                data = place  # A device knows no holes.
            # Whole chunks, so that a hole that became zeros makes no difference.
            place = max(place, data - data % CHUNK)
            if place >= end:
                break
            os.lseek(file.fileno(), place, os.SEEK_SET)
            piece = file.read(min(CHUNK - place % CHUNK, end - place))
            if not piece:
                break
            if piece != ZEROS[: len(piece)]:
                digest.update(place.to_bytes(8, "little") + piece.rstrip(b"\0"))
            place += len(piece)
    return digest.hexdigest()


def identity(path):
    """What a file is, beside its content."""
    facts = os.lstat(path)
    is_folder = stat.S_ISDIR(facts.st_mode)
    # A folder in which something is made and removed again has another time, and another size on some filesystems.
    size = None if is_folder else facts.st_size
    written = None if is_folder else facts.st_mtime_ns
    links = None if is_folder else facts.st_nlink
    return (facts.st_dev, facts.st_ino, facts.st_mode, facts.st_uid, facts.st_gid, facts.st_rdev, size, written, links)


def of_path(path):
    """A file, a link, a node, or a folder with all that is in it."""
    path = os.fspath(path)
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return "absent"
    if stat.S_ISLNK(facts.st_mode):
        return (identity(path), os.readlink(path))
    if stat.S_ISREG(facts.st_mode) or stat.S_ISBLK(facts.st_mode):
        return (identity(path), content(path))
    if stat.S_ISDIR(facts.st_mode):
        inside = [(name, of_path(os.path.join(path, name))) for name in sorted(os.listdir(path))]
        return (identity(path), tuple(inside))
    return (identity(path),)


def of_range(path, start, length):
    """A part of a file whose other parts may change."""
    return content(path, start, length)
