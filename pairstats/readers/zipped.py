"""Members of a zip archive, whatever its compression, and of one whose end is missing.

The standard library's `zipfile` reads the directory of every zip, but before Python 3.14 it cannot unpack
zstandard members (method 93), which Inspect has written since 2026. Here the directory comes from
`zipfile`, the bytes from `zlib` or `zstandard`, and each member is checked against its CRC.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import zstandard

from pairstats.errors import ReadError

LARGEST_MEMBER = 1 << 29
"""Bytes; a larger member is refused instead of filling the memory."""
MOST_REGULAR, SMALL = 250, 1 << 25
"""A member that unpacks to more than this many times its size is refused, unless it is small: no log is so."""

_LOCAL = struct.Struct("<4s5H3I2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_SIZES_FOLLOW, _ENCRYPTED = 0x8, 0x1
_STORED, _DEFLATE, _ZSTD = 0, 8, 93
_ZIP64 = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Member:
    """One member: where its local header lies and what the directory says of it."""

    name: str
    offset: int
    method: int
    packed: int
    unpacked: int
    crc: int


@dataclass(frozen=True, slots=True)
class Directory:
    """Members of an archive in the order they were written; `whole` is false where its end is missing."""

    members: tuple[Member, ...]
    whole: bool
    lost_from: int = 0
    """Byte at which the last member that is not whole begins, where one was begun."""
    lost: tuple[str, ...] = ()
    """Names of members that were begun but are not whole."""


def is_zip(head: bytes) -> bool:
    """Whether the first bytes are those of a zip archive with members."""
    return head[:4] == _LOCAL_MAGIC


def directory(path: Path) -> Directory:
    """List the members of an archive; by scanning their own headers where the central directory is missing.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Directory
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return Directory(tuple(_from_info(info) for info in archive.infolist()), whole=True)
    except (zipfile.BadZipFile, struct.error):
        with path.open("rb") as stream:
            return _scan(stream, path.stat().st_size)


def _from_info(info: zipfile.ZipInfo) -> Member:
    return Member(
        info.filename, info.header_offset, info.compress_type, info.compress_size, info.file_size, info.CRC
    )


def _scan(stream: IO[bytes], size: int) -> Directory:
    """Walk from local header to local header until the bytes end."""
    found: list[Member] = []
    offset = 0
    while True:
        stream.seek(offset)
        head = stream.read(_LOCAL.size)
        if len(head) < _LOCAL.size or head[:4] != _LOCAL_MAGIC:
            return Directory(tuple(found), whole=False)
        _, _, flags, method, _, _, crc, packed, unpacked, n_name, n_extra = _LOCAL.unpack(head)
        name = stream.read(n_name).decode("utf-8", "replace")
        extra = stream.read(n_extra)
        if _ZIP64 in (packed, unpacked):
            unpacked, packed = _zip64_sizes(extra, unpacked, packed)
        start = offset + _LOCAL.size + n_name + n_extra
        # A member written to a stream has its sizes behind it, so its end cannot be known from here.
        if (flags & _SIZES_FOLLOW and not packed) or start + packed > size:
            return Directory(tuple(found), whole=False, lost_from=offset, lost=(name,))
        found.append(Member(name, offset, method, packed, unpacked, crc))
        offset = start + packed


def _zip64_sizes(extra: bytes, unpacked: int, packed: int) -> tuple[int, int]:
    while len(extra) >= 4:
        kind, length = struct.unpack("<2H", extra[:4])
        if kind == 1 and length >= 16:
            sizes: tuple[int, int] = struct.unpack("<2Q", extra[4:20])
            return sizes
        extra = extra[4 + length :]
    return unpacked, packed


class Archive:
    """An open archive; a context manager that reads members by name or in order."""

    def __init__(self, path: Path, shown: str) -> None:
        self.shown = shown
        self.directory = directory(path)
        # A name that was written twice counts once, with its last content, as zip programs do.
        self._by_name = {member.name: member for member in self.directory.members}
        self._stream = path.open("rb")

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def members(self, prefix: str) -> Iterator[tuple[Member, bool]]:
        """Yield members whose name starts so, each with whether a later one of the same name replaces it."""
        for member in self.directory.members:
            if member.name.startswith(prefix) and not member.name.endswith("/"):
                yield member, self._by_name[member.name] is not member

    def read(self, member: Member | str) -> bytes:
        """Unpack one member.

        Raises
        ------
        ReadError
            When the member is packed in an unknown way, is damaged, or is larger than `LARGEST_MEMBER`.
        """
        if isinstance(member, str):
            member = self._by_name[member]
        where = f"{self.shown}:{member.name}"
        check_ratio(where, member)
        if member.unpacked > LARGEST_MEMBER:
            raise ReadError(f"{where} would unpack to more than {LARGEST_MEMBER >> 20} MiB. Split the log.")
        self._stream.seek(max(0, member.offset))  # a damaged directory may point anywhere
        head = self._stream.read(_LOCAL.size)
        if len(head) < _LOCAL.size or head[:4] != _LOCAL_MAGIC:
            raise ReadError(f"{where} has no header where the directory says. Fetch the file again.")
        n_name, n_extra = _LOCAL.unpack(head)[-2:]
        if _LOCAL.unpack(head)[2] & _ENCRYPTED:
            raise ReadError(
                f"{where} is encrypted. Unpack the archive with its password, and read the folder."
            )
        self._stream.seek(n_name + n_extra, 1)
        try:
            content = _unpack(self._stream.read(member.packed), member.method, member.unpacked)
        except (zlib.error, zstandard.ZstdError) as error:
            raise ReadError(f"{where} is damaged: {error}. Fetch the file again.") from error
        except NotImplementedError as error:
            raise ReadError(f"{where} {error}. Write the archive again with deflate or zstandard.") from error
        if len(content) != member.unpacked or zlib.crc32(content) != member.crc:
            raise ReadError(f"{where} is damaged: its checksum does not fit. Fetch the file again.")
        return content


def check_ratio(where: str, member: Member) -> None:
    """Refuse what is packed far tighter than any log, before a byte of it is unpacked.

    Raises
    ------
    ReadError
        Naming the member.
    """
    if member.unpacked > SMALL and member.unpacked > MOST_REGULAR * max(member.packed, 1):
        raise ReadError(
            f"{where} must be a log, but would unpack from {member.packed >> 10} KiB to "
            f"{member.unpacked >> 20} MiB, more than {MOST_REGULAR} times as much. It may be hostile: unpack it by "
            "hand, and look."
        )


def _unpack(packed: bytes, method: int, size: int) -> bytes:
    if method == _STORED:
        return packed
    if method == _DEFLATE:
        return zlib.decompressobj(-15).decompress(packed, size + 1)
    if method == _ZSTD:
        # Frames need not state their size, so the directory's own bounds what is unpacked.
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            return reader.read(size + 1)
    raise NotImplementedError(f"is packed by zip method {method}, which is not known")
