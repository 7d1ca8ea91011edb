"""Members of a zip archive, whatever its compression, and of one whose end is missing.

The standard library's `zipfile` reads the directory of every zip, but before Python 3.14 it cannot unpack
zstandard members (method 93), which Inspect has written since 2026. Here the directory comes from
`zipfile`, the bytes from `zlib` or `zstandard`, and each member is checked against its CRC.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import zstandard

from pairstats.errors import ReadError
from pairstats.readers.base import CHUNK, LARGEST_WHOLE

MOST_REGULAR, SMALL = 250, 1 << 25
"""A member that unpacks to more than this many times its size is refused, unless it is small: no log is so."""

_LOCAL = struct.Struct("<4s5H3I2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_END = struct.Struct("<4s4H2IH")
_END_MAGIC = b"PK\x05\x06"
_MOST_COUNTED = 0xFFFF
"""Members that the end of an archive can count; where there are more, another record does."""
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
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                if lists_all(archive, stream):
                    return Directory(tuple(_from_info(info) for info in archive.infolist()), whole=True)
        except (zipfile.BadZipFile, struct.error, NotImplementedError, ValueError):  # of a version, or a name
            pass
        return _scan(stream, path.stat().st_size)


def lists_all(archive: zipfile.ZipFile, stream: IO[bytes]) -> bool:
    """Whether as many members were found as the archive's end says: a damaged entry may hide what follows it."""
    stream.seek(-_END.size - len(archive.comment), 2)
    magic, *_, number, _, _, _ = _END.unpack(stream.read(_END.size))
    return (
        magic != _END_MAGIC
        or number == _MOST_COUNTED
        or number == len(archive.infolist()) % (_MOST_COUNTED + 1)
    )


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
        try:
            for member in self.directory.members:
                self._check_name(member)
        except ReadError:
            self._stream.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def _check_name(self, member: Member) -> None:
        """Refuse a member that has another name in the directory: it would pass for another one, or for none."""
        self._stream.seek(max(0, member.offset))  # a damaged directory may point anywhere
        head = self._stream.read(_LOCAL.size)
        if len(head) < _LOCAL.size or head[:4] != _LOCAL_MAGIC:
            return  # which is told where it is read
        written = self._stream.read(_LOCAL.unpack(head)[-2])
        names = written.decode("utf-8", "replace"), written.decode("cp437")
        if member.name not in names:
            where = f"{self.shown}:{member.name}"
            raise ReadError(f"{where} is damaged: its own name is {names[0]!r}. Fetch the file again.")

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
            When the member is packed in an unknown way, is damaged, or is larger than `LARGEST_WHOLE`.
        """
        if isinstance(member, str):
            member = self._by_name[member]
        if member.unpacked > LARGEST_WHOLE:
            where = f"{self.shown}:{member.name}"
            raise ReadError(f"{where} would unpack to more than {LARGEST_WHOLE >> 20} MiB. Split the log.")
        return b"".join(self.chunks(member))

    def chunks(self, member: Member) -> Iterator[bytes]:
        """Unpack one member piece by piece; what is wrong with it may show only at its end.

        Raises
        ------
        ReadError
            When the member is packed in an unknown way, or is damaged.
        """
        where = f"{self.shown}:{member.name}"
        check_ratio(where, member)
        self._stream.seek(max(0, member.offset))  # a damaged directory may point anywhere
        head = self._stream.read(_LOCAL.size)
        if len(head) < _LOCAL.size or head[:4] != _LOCAL_MAGIC:
            raise ReadError(f"{where} has no header where the directory says. Fetch the file again.")
        n_name, n_extra = _LOCAL.unpack(head)[-2:]
        if _LOCAL.unpack(head)[2] & _ENCRYPTED:
            raise ReadError(
                f"{where} is encrypted. Unpack the archive with its password, and read the folder."
            )
        if member.method not in _UNPACKED_BY:
            raise ReadError(
                f"{where} is packed by zip method {member.method}, which is not known. Write the archive again "
                "with deflate or zstandard."
            )
        self._stream.seek(n_name + n_extra, 1)
        crc, size = 0, 0
        try:
            for chunk in _UNPACKED_BY[member.method](_packed(self._stream, member.packed)):
                crc, size = zlib.crc32(chunk, crc), size + len(chunk)
                if size > member.unpacked:
                    break
                yield chunk
        except (zlib.error, zstandard.ZstdError) as error:
            raise ReadError(f"{where} is damaged: {error}. Fetch the file again.") from error
        if size != member.unpacked or crc != member.crc:
            raise ReadError(f"{where} is damaged: its checksum does not fit. Fetch the file again.")


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


def _packed(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Bytes of a member as they lie in the archive."""
    place = stream.tell()
    while size and (chunk := stream.read(min(size, CHUNK))):
        place, size = place + len(chunk), size - len(chunk)
        yield chunk
        stream.seek(place)  # another member may have been read meanwhile


def _inflated(packed: Iterator[bytes]) -> Iterator[bytes]:
    engine = zlib.decompressobj(-15)
    for chunk in packed:
        while chunk and not engine.eof:
            yield engine.decompress(chunk, CHUNK)
            chunk = engine.unconsumed_tail
    while not engine.eof and (rest := engine.decompress(b"", CHUNK)):
        yield rest


def _of_zstandard(packed: Iterator[bytes]) -> Iterator[bytes]:
    # Frames need not state their size, so that what is unpacked is counted by the caller.
    source: Any = _Source(packed)
    with zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True) as reader:
        while chunk := reader.read(CHUNK):
            yield chunk


class _Source:
    """Pieces as something that can be read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, size: int = -1) -> bytes:
        """Give the next piece, whatever its size."""
        return next(self._pieces, b"")


_UNPACKED_BY: dict[int, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    _STORED: iter, _DEFLATE: _inflated, _ZSTD: _of_zstandard,
}  # fmt: skip
