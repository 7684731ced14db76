"""Devices that are not in use just now, but that hold something: by a signature, by a backup of one, or by data alone."""

import os
import struct
import zlib

from ..target import FREE, HOLDS_DATA, device, layout
from ..world import MIB, command

KNOWN = "carries|signature|data|holds|erase"


def holding(name, fill, mib=96):
    """An unused disk with this on it."""

    @layout(f"unused, with {name}")
    def _(world):
        disk = world.disk(mib=mib)
        fill(world, disk)
        return device(disk, HOLDS_DATA, KNOWN)


def at(*pieces):
    """Bytes at places; places below 0 count from the end."""

    def fill(world, disk):
        for place, data in pieces:
            world.put(disk.node, place, data() if callable(data) else data)

    return fill


def made(kind, *options):
    return lambda world, disk: world.mkfs(kind, disk, *options)


def lvm():
    """The label of a physical volume: sector 1, LABELONE, its checksum."""
    body = struct.pack("<I8s", 32, b"LVM2 001") + b"torturetorturetorturetorturetort" + bytes(456)
    return b"LABELONE" + struct.pack("<QI", 1, 0) + body[:492]


def raid(version):
    block = bytearray(4096)
    struct.pack_into("<II", block, 0, 0xA92B4EFC, version)
    block[16:32] = bytes(range(16))
    return bytes(block)


def old_raid():
    """Version 0.90: 64 KiB before the end, rounded down to 64 KiB."""
    block = bytearray(4096)
    struct.pack_into("<IIII", block, 0, 0xA92B4EFC, 0, 90, 0)
    return bytes(block)


def luks(version):
    return b"LUKS\xba\xbe" + version.to_bytes(2, "big") + b"aes".ljust(32, b"\0") + bytes(range(200)) * 2


def bcache():
    block = bytearray(4096)
    block[24:40] = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
    struct.pack_into("<Q", block, 8, 8)
    return bytes(block)


def gpt(header_place, entries_place, other, size):
    """A header and one entry of a GUID partition table; both copies have the same form."""
    entry = bytes.fromhex("af3dc60f838472478e793d69d8477de4") + bytes(range(16)) + struct.pack("<QQQ", 2048, 65535, 0)
    entries = entry.ljust(128, b"\0") + bytes(127 * 128)
    head = bytearray(struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, 0, 0, header_place, other, 34,
                                 size - 34, bytes(range(16)), entries_place, 128, 128, zlib.crc32(entries)))
    struct.pack_into("<I", head, 16, zlib.crc32(bytes(head)))
    return bytes(head).ljust(512, b"\0"), entries


def whole_gpt(world, disk, first=True):
    sectors = os.path.getsize(disk.file) // 512
    if first:
        protective = bytearray(512)
        protective[450], protective[510:] = 0xEE, b"\x55\xaa"
        struct.pack_into("<II", protective, 454, 1, sectors - 1)
        head, entries = gpt(1, 2, sectors - 1, sectors)
        world.put(disk.node, 0, bytes(protective) + head + entries)
    head, entries = gpt(sectors - 1, sectors - 33, 1, sectors)
    world.put(disk.node, (sectors - 33) * 512, entries + head)


def backup_of(kind, *options, wiped=MIB):
    """A filesystem whose beginning was overwritten with zeros."""

    def fill(world, disk):
        world.mkfs(kind, disk, *options)
        world.put(disk.node, 0, bytes(wiped))

    return fill


def partition_inside(kind):
    def fill(world, disk):
        part, = world.partitions(disk, (1, 64))
        if kind:
            world.mkfs(kind, part)
        else:
            world.put(part.node, 40 * MIB, world.noise(4 * MIB))

    return fill


def swap_signature(world, disk):
    command("mkswap", disk)


for name, fill in {
    "ext4": made("ext4", "-L", "precious"),
    "ext2": made("ext2"),
    "the signature of swap": swap_signature,
    "the label of an LVM physical volume": at((512, lvm)),
    "a RAID superblock 1.2": at((4096, raid(1))),
    "a RAID superblock 1.1": at((0, raid(1))),
    "a RAID superblock 1.0, at the end": at((96 * MIB - 8192, raid(1))),
    "a RAID superblock 0.90, at the end": at((96 * MIB - 65536, old_raid)),
    "a LUKS header 1": at((0, luks(1))),
    "a LUKS header 2": at((0, luks(2))),
    "only the second LUKS header 2": at((16384, lambda: b"SKUL\xba\xbe" + luks(2)[6:])),
    "a bcache superblock": at((4096, bcache)),
    "DRBD's metadata at the end": at((-4096, b"\0" * 60 + bytes.fromhex("8374026b") + b"\1" * 64)),
    "a volume of VMFS": at((MIB, bytes.fromhex("0dd001c0") + b"\1" * 508)),
    "a disk of Oracle ASM": at((32, b"ORCLDISK" + b"DATA01")),
    "a squashfs": at((0, b"hsqs" + bytes(range(1, 93)))),
    "an ISO 9660 image": at((32768, b"\x01CD001\x01" + b"T" * 40)),
    "a FAT": at((0, b"\xeb\x3c\x90mkfs.fat" + bytes(43) + b"FAT16   "), (510, b"\x55\xaa")),
    "an NTFS": at((0, b"\xeb\x52\x90NTFS    " + b"\1" * 40), (510, b"\x55\xaa")),
    "an old partition table": lambda world, disk: world.partitions(disk, (1, 64)),
    "a GUID partition table": whole_gpt,
    "only the backup of a GUID partition table": lambda world, disk: whole_gpt(world, disk, first=False),
    "ext4 in its partition": partition_inside("ext4"),
    "data without a signature in its partition": partition_inside(None),
    "only the backup superblocks of ext4": backup_of("ext4"),
    "only the mirrors of a btrfs superblock": None,
    "data alone, on all of it": at((0, lambda: os.urandom(96 * MIB))),
    "data alone, in the second half": at((48 * MIB, lambda: os.urandom(40 * MIB))),
    "data alone, 8 MiB in the middle": at((44 * MIB, lambda: os.urandom(8 * MIB))),
    "data alone, in the first 512 bytes": at((0, b"raw database " * 39)),
    "data alone, in the last 512 bytes": at((-512, b"raw database " * 39)),
    "a text of one line": at((0, b"this disk belongs to the archive\n")),
}.items():
    if fill:
        holding(name, fill)

holding("only the mirrors of a btrfs superblock", backup_of("btrfs", "-m", "dup"), mib=200)
holding("XFS", made("xfs"), mib=330)
holding("XFS whose first sectors are gone", backup_of("xfs", wiped=4 * MIB), mib=330)


@layout("unused, overwritten with zeros")
def _(world):
    disk = world.disk()
    world.mkfs("ext4", disk)
    world.put(disk.node, 0, bytes(96 * MIB))
    return device(disk, FREE)


@layout("unused, an external journal of an unmounted ext4")
def _(world):
    journal, disk = world.disk(), world.disk()
    world.mkfs("ext4", journal, "-O", "journal_dev")
    world.mkfs("ext4", disk, "-J", f"device={journal}")
    world.protect(disk)
    return device(journal, HOLDS_DATA, KNOWN)


@layout("unused, an exported pool")
def _(world):
    from .loops import pool
    disk = world.disk(mib=128)
    enter, name = pool(world, disk.node)
    command(*enter, "zpool", "export", name)
    return device(disk, HOLDS_DATA, KNOWN)
