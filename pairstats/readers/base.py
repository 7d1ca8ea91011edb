"""What every reader shares: a run file, a record, a left-out record, and how a reader answers."""

from __future__ import annotations

import gzip
import hashlib
import io
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol

import zstandard

from pairstats.errors import ReadError
from pairstats.readers.place import Place
from pairstats.readers.zstd import Frames

DAMAGED = (EOFError, OSError, zlib.error, zstandard.ZstdError)
"""What a truncated or corrupted compressed file raises."""

HEAD_BYTES = 1 << 16
LARGEST_WHOLE = 1 << 27
"""Bytes of what is parsed as a whole (one record, or a document that is no list of records): it takes several
times as much memory."""
MOST_UNPACKED = 1 << 34
"""Bytes of a packed file or archive after unpacking, where they must lie on disk."""
CHUNK = 1 << 20
"""Bytes that are read or unpacked together."""
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstandard"}
LONGEST_LINE = 1 << 28
"""Bytes; a longer line is refused with its number instead of filling the memory."""


@dataclass(frozen=True, slots=True)
class Record:
    """One reply as its platform logged it, in the words of the schema.

    Attributes
    ----------
    source : str
        File name and record, for audit: ``"run.jsonl:12"``.
    fields : mapping
        Schema columns that the platform itself determines (``model``, ``item``, ``repeat``, ``status``,
        ``reason``, ``response``, ``answer``, ``gold``, ``confidence``, usage ...). Unknown ones are left out.
    scores : mapping of str to float or None
        Every score of the record by name, as the platform gave it; None where it gave none.
    raw : mapping
        What a dotted path of the user looks into.
    identity : str
        Response id, or a digest of the content: equal identities are one reply, logged twice.
    place : Place or None
        Where the item is named by its place: records of one place must be of one question.
    when : float or None
        When the request was sent or answered, in seconds since 1970, where the platform says so: of failures in
        several files the last one counts.
    tried : tuple of str
        Digests of the failures behind the record that the platform keeps with it, its own last if it is one.
    note : str
        What the ledger must say of the file because of this record; it is said once.
    """

    source: str
    fields: Mapping[str, Any]
    scores: Mapping[str, float | None] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)
    identity: str = ""
    place: Place | None = None
    when: float | None = None
    tried: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that was read but does not become a row, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recognized:
    """A reader's yes: which version of the format it saw, and whether the file holds records of its own."""

    version: str
    companion: str = ""
    """Why the file holds no records, when it only serves another (a results file beside its samples)."""
    note: str = ""
    """What the ledger must say of the file as a whole: a run that was cancelled, a log cut short."""
    primary: str = ""
    """Score by which the platform itself judges a record, where a file holds several and none is named."""
    guess: str = ""
    """What the ledger must say of the models of a wide table, unless the user has named their columns."""

    def notes(self, models_named: bool) -> list[str]:
        """What the ledger says of the file."""
        return [note for note in (self.note, self.companion, "" if models_named else self.guess) if note]


@dataclass(frozen=True, slots=True)
class Declined:
    """A reader's no, with its reason in a few words."""

    why: str


class Reader(Protocol):
    """One platform. Modules of `pairstats.readers` provide one `READER` value each."""

    name: str

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Say from the content, not the name, whether the file is of this platform."""
        ...

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield every record of the file, each either kept or left out with a reason."""
        ...


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user may say to a reader about the inside of a file.

    Attributes
    ----------
    score : str or None
        Name of the primary score where a file holds several.
    filter : str or None
        Name of the filter (lm-evaluation-harness) whose lines are wanted.
    rescored : bool
        Whether the replies will be scored again, so that per-file scores need not fit the replies.
    keep_going : bool
        Yield a `LeftOut` for a broken record instead of raising.
    models : tuple of str
        Columns of a wide table that each hold one model, where the table alone doesn't say so for certain.
    apart : tuple of mapping
        What the user maps to columns that tell records apart: two lines that differ in it are no attempts of one
        request.
    """

    score: str | None = None
    filter: str | None = None
    rescored: bool = False
    keep_going: bool = False
    models: tuple[str, ...] = ()
    apart: tuple[Any, ...] = ()


@dataclass(frozen=True)
class RunFile:
    """A file on disk, opened through its compression; cheap to create, read once per question."""

    path: Path
    shown: str
    span: tuple[int, int, int] | None = None
    """First byte, byte behind the last and number of lines before, where only some lines are to be read."""

    @cached_property
    def head(self) -> bytes:
        """First bytes after decompression (at most 64 KiB), for recognition."""
        try:
            with self.open() as stream:
                return stream.read(HEAD_BYTES)
        except DAMAGED as error:
            raise ReadError(f"{self.shown} cannot be opened: {error}. Is the file whole?") from error

    @cached_property
    def packed(self) -> str:
        """How the file is compressed, by content, not by name; empty where it is not."""
        with self.path.open("rb") as stream:
            magic = stream.read(4)
        return next((name for start, name in _PACKED.items() if magic.startswith(start)), "")

    def open(self) -> IO[bytes]:
        """Open for reading bytes; gzip and zstandard are undone by content, not by name."""
        if self.span is not None:  # of a file that is not compressed
            return io.BytesIO(self._spanned())
        if self.packed == "gzip":
            return gzip.GzipFile(self.path)  # type: ignore[return-value]
        stream = self.path.open("rb")
        if self.packed == "zstandard":
            return io.BufferedReader(Frames(stream), CHUNK)
        return stream

    def open_seekable(self) -> IO[bytes]:
        """Open for reading bytes at any place; of a packed file, a copy on disk that is gone when it is closed."""
        stream = self.open()
        if not self.packed:
            return stream
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        with stream:
            try:
                while chunk := stream.read(CHUNK):
                    copy.write(chunk)
                    if copy.tell() > MOST_UNPACKED:
                        raise ReadError(
                            f"{self.shown} would unpack to more than {MOST_UNPACKED >> 30} GiB. Unpack it by hand."
                        )
            except DAMAGED as error:
                raise ReadError(f"{self.shown} ends too early or is damaged: {error}.") from error
        return copy

    @property
    def lines_before(self) -> int:
        """Number of lines before the first that is read."""
        return 0 if self.span is None else self.span[2]

    def _spanned(self) -> bytes:
        first, end, _ = self.span or (0, 0, 0)
        with self.path.open("rb") as stream:
            stream.seek(first)
            return stream.read(end - first)

    def read_bytes(self) -> bytes:
        """Whole content after decompression, where it is no larger than `LARGEST_WHOLE`."""
        try:
            with self.open() as stream:
                content = stream.read(LARGEST_WHOLE + 1)
            if len(content) > LARGEST_WHOLE:
                raise ReadError(
                    f"{self.shown} is read as a whole, which can be done up to {LARGEST_WHOLE >> 20} MiB, but is "
                    "larger when unpacked. Export it as JSON Lines (or as the platform streams it), or split it."
                )
            return content
        except DAMAGED as error:
            raise ReadError(f"{self.shown} ends too early or is damaged: {error}.") from error

    def lines(self, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
        """Yield line number (from 1) and bytes of every line that is not blank."""
        try:
            with self.open() as stream:
                number = self.lines_before
                while line := stream.readline(longest):
                    number += 1
                    if len(line) == longest and not line.endswith(b"\n"):
                        raise ReadError(
                            f"{self.shown}:{number} is longer than {longest >> 20} MiB. "
                            "A run file has one record a line; split or reformat it."
                        )
                    if line.strip():
                        yield number, line
        except DAMAGED as error:
            raise ReadError(
                f"{self.shown} ends too early or is damaged after line {number}: {error}."
            ) from error

    @cached_property
    def sha256(self) -> str:
        """Digest of the file as it lies on disk."""
        try:
            with self.path.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise ReadError(f"{self.shown} cannot be opened: {error.strerror}. May you read it?") from error

    @cached_property
    def content_sha256(self) -> str:
        """Digest of the content after decompression: a log and its packed copy are one log."""
        if not self.packed:
            return self.sha256
        try:
            content = hashlib.sha256()
            with self.open() as stream:
                while chunk := stream.read(CHUNK):
                    content.update(chunk)
        except DAMAGED:
            return self.sha256
        return content.hexdigest()


def state_of(path: Path) -> tuple[int, ...]:
    """What tells a file from another in its place, even one of the same size with an old time stamp."""
    about = path.stat()
    return about.st_ino, about.st_ctime_ns, about.st_mtime_ns, about.st_size


def digest(*parts: object) -> str:
    """Digest of any values, for `Record.identity` where the platform gives no response id."""
    return hashlib.sha256("\x1f".join(map(repr, parts)).encode()).hexdigest()
