"""Documents that are one JSON value whose bulk is a list: the rest as a whole, the list's elements one by one.

A document of any size is read in bounded memory. Only where an element ends is found here, from brackets and
quotes; each element, and the rest with the list left empty, is judged by the strict parser. So a document is
refused if and only if it would be as a whole: elements that are JSON, with commas between them, in a rest that
is JSON, are JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any, NamedTuple

from pairstats.errors import ReadError
from pairstats.readers.base import CHUNK, DAMAGED, LARGEST_WHOLE, RunFile, state_of
from pairstats.readers.jsonlines import dig, parse
from pairstats.readers.splitting import Splitter

LARGEST_RECORD = LARGEST_WHOLE
"""Bytes of one element, and of all that is outside the list; parsed, they take several times as much memory."""
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_BLANK = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_PLAIN = re.compile(rb'[^ \t\r\n,:\[\]{}"]++')

Path = tuple[str, ...]


class Element(NamedTuple):
    """One element of a long list, as it is written.

    Attributes
    ----------
    path : tuple of str
        Keys that lead to its list.
    number : int
        Its place in the list, from 0.
    start : int
        Its first byte in the unpacked document.
    text : bytes
    """

    path: Path
    number: int
    start: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose long lists are on disk.

    Attributes
    ----------
    file : RunFile
    head : object
        The document with its long lists left empty.
    counts : dict of tuple to int
        Number of elements of each long list by its path.
    """

    file: RunFile
    head: Any
    counts: dict[Path, int]

    def elements(self, path: Path) -> Iterator[Element]:
        """Yield what is in one of the long lists."""
        walk = _walk(self.file, frozenset(self.counts), bytearray())
        return (element for element in walk if element.path == path)

    def values(self, path: Path) -> Iterator[tuple[int, Any]]:
        """Yield number and value of every element of one of the long lists.

        Raises
        ------
        ReadError
            Naming file and element, when one is broken.
        """
        for element in self.elements(path):
            yield element.number, parse(element.text, name_of(self.file, path, element.number))

    def listed(self, path: Path) -> Iterator[tuple[int, Any]]:
        """Yield what `values` does, when all of it is known to be whole; nothing where there is no list.

        Raises
        ------
        ReadError
            When there is something else, or an element is broken.
        """
        found = dig(self.head, *path)
        if found and not isinstance(found, list):
            raise ReadError(
                f"{self.file.shown} must hold a list {'.'.join(path)!r}, but holds {type(found).__name__}."
            )
        self.check(path)
        return self.values(path)

    def check(self, path: Path) -> None:
        """Parse every element, so that a broken one is told before any becomes a record."""
        for _ in self.values(path):
            pass


def open_document(file: RunFile, *paths: Path) -> Document:
    r"""Look through a document once, and take apart what is in its long lists and what is not.

    Parameters
    ----------
    file : RunFile
    *paths : tuple of str
        Where a long list may lie; ``()`` for a document that is a list.

    Raises
    ------
    ReadError
        When the document is no JSON outside its long lists, holds too much there, or is cut short.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.json")
    ...     _ = path.write_text('{"version": 3, "results": [{"a": 1}, {"a": 2}]}')
    ...     opened = open_document(RunFile(path, "a.json"), ("results",))
    ...     (opened.head, list(opened.values(("results",))))
    ({'version': 3, 'results': []}, [(0, {'a': 1}), (1, {'a': 2})])
    """
    return _opened(file, frozenset(paths), state_of(file.path))


def open_object(file: RunFile, *paths: Path) -> Document:
    """Open a document that must be one JSON object.

    Raises
    ------
    ReadError
        As `open_document`, and when it is anything else.
    """
    opened = open_document(file, *paths)
    if not isinstance(opened.head, dict):
        raise ReadError(f"{file.shown} must be one JSON object, but holds a {type(opened.head).__name__}.")
    return opened


@lru_cache(maxsize=2)
def _opened(file: RunFile, paths: frozenset[Path], state: tuple[int, ...]) -> Document:
    """Document as it is since it was changed."""
    head = bytearray()
    counts = Counter(element.path for element in _walk(file, paths, head))
    text = bytes(head)
    del head
    return Document(file, parse(text, file.shown), dict.fromkeys(paths, 0) | counts)


def name_of(file: RunFile, path: Path, number: int) -> str:
    """Name an element for a person."""
    return f"{file.shown}:{'.'.join(path)}[{number}]"


class _Text:
    """Unpacked text of a document, a window at a time; what is taken goes to the head."""

    def __init__(self, file: RunFile, stream: IO[bytes], head: bytearray) -> None:
        self.file, self.stream, self.head = file, stream, head
        self.window, self.at, self.passed = bytearray(), 0, 0

    def more(self) -> bool:
        """Read on; return whether there was anything."""
        if len(self.window) - self.at > LARGEST_RECORD:
            raise _too_long(f"{self.file.shown}, outside its list of records,")
        try:
            # Growing by half keeps what is looked at again for one long string in proportion to it.
            chunk = self.stream.read(max(CHUNK, (len(self.window) - self.at) // 2))
        except DAMAGED as error:
            raise ReadError(f"{self.file.shown} ends too early or is damaged: {error}.") from error
        del self.window[: self.at]
        self.passed, self.at = self.passed + self.at, 0
        self.window += chunk
        return bool(chunk)

    def take(self, end: int) -> None:
        """Copy to the head up to a place in the window."""
        self.head += self.window[self.at : end]
        self.at = end
        if len(self.head) > LARGEST_RECORD:
            raise _too_long(f"{self.file.shown}, outside its list of records,")

    def next(self) -> int:
        """Pass over blanks and give the next byte; -1 at the end."""
        while True:
            found = _BLANK.match(self.window, self.at)
            self.take(found.end() if found else self.at)
            if self.at < len(self.window):
                return self.window[self.at]
            if not self.more():
                return -1

    def token(self, pattern: re.Pattern[bytes]) -> bytes:
        """Take what a pattern finds here; empty where the document ends first."""
        while True:
            found = pattern.match(self.window, self.at)
            if found and found.end() < len(self.window):
                break
            if not self.more():
                found = pattern.match(self.window, self.at)
                break
        end, text = (found.end(), found[0]) if found else (self.at, b"")
        del found  # it would keep the window from growing
        self.take(end)
        return text

    def value(self) -> None:
        """Take one value, as far as brackets and quotes tell its end."""
        mark = self.next()
        if mark < 0 or mark not in b"[{":
            self.token(_STRING if mark == ord('"') else _PLAIN)
            return
        self.take(self.at + 1)
        splitter = Splitter()
        while self.at < len(self.window) or self.more():
            ends, closed = splitter.feed(bytes(self.window[self.at :]))
            self.take(self.at + ends[-1] + 1 if closed else len(self.window))
            if closed:
                return

    def rest(self) -> None:
        """Take all that is left."""
        self.take(len(self.window))
        while self.more():
            self.take(len(self.window))


def _walk(file: RunFile, paths: frozenset[Path], head: bytearray) -> Iterator[Element]:
    """Yield the elements of the lists at some paths, and write everything else to `head`."""
    with file.open() as stream:
        text = _Text(file, stream, head)
        text.more()
        if text.window.startswith(_BOM):
            text.take(len(_BOM))
        open_paths = set(paths)
        mark = text.next()
        if mark == ord("["):
            yield from _list_or_value(text, (), open_paths)
        elif mark == ord("{"):
            yield from _object(text, (), open_paths)
        text.rest()  # where anything else was met, the parser says what is wrong with it


def _object(text: _Text, prefix: Path, paths: set[Path]) -> Iterator[Element]:
    """Walk through an object; return where it ends, or where it is none."""
    text.take(text.at + 1)
    while text.next() == ord('"'):
        path = (*prefix, _key(text.token(_STRING)))
        if text.next() != ord(":"):
            return
        text.take(text.at + 1)
        mark = text.next()
        if mark == ord("["):
            yield from _list_or_value(text, path, paths)
        elif mark == ord("{") and any(each[: len(path)] == path for each in paths):
            yield from _object(text, path, paths)
        else:
            text.value()
        if text.next() != ord(","):
            break
        text.take(text.at + 1)
    if text.next() == ord("}"):
        text.take(text.at + 1)


def _key(text: bytes) -> str:
    try:
        return str(parse(text, ""))
    except ReadError:  # which the parser of the head will say
        return ""


def _list_or_value(text: _Text, path: Path, paths: set[Path]) -> Iterator[Element]:
    if path not in paths:
        text.value()
        return
    paths.discard(path)  # a key that comes twice is refused with the head
    text.take(text.at + 1)
    yield from _list(text, path)
    text.head += b"]"


def _list(text: _Text, path: Path) -> Iterator[Element]:
    """Yield the elements of a list whose bracket was taken."""
    splitter, pending, number = Splitter(), bytearray(), 0
    start = text.passed + text.at
    while text.at < len(text.window) or text.more():
        chunk, origin = bytes(text.window[text.at :]), text.passed + text.at
        ends, closed = splitter.feed(chunk)
        first = 0
        for end in ends:
            found = bytes(pending) + chunk[first:end] if pending else chunk[first:end]
            pending.clear()
            first = end + 1
            element = _element(text.file, Element(path, number, start, found))
            start = origin + first
            if element.text:
                yield element
            elif number or not closed or end != ends[-1]:
                raise ReadError(
                    f"{name_of(text.file, path, number)} must be a JSON value, but there is none between the "
                    "commas. Is the file whole?"
                )
            number += 1
        text.at += first if closed else len(chunk)
        if closed and chunk[ends[-1] : first] == b"]":
            return
        if closed:
            raise ReadError(
                f"{text.file.shown} must close its list with ']' behind {number} elements, but does not."
            )
        pending += chunk[first:]
        if len(pending) > LARGEST_RECORD:
            raise _too_long(name_of(text.file, path, number))
    raise ReadError(f"{text.file.shown} ends too early, in {'.'.join(path)}[{number}]. Is the file whole?")


def _element(file: RunFile, element: Element) -> Element:
    """Cut blanks off, and check the size."""
    path, number, start, text = element
    if len(text) > LARGEST_RECORD:
        raise _too_long(name_of(file, path, number))
    if text.startswith(_BOM):
        where = name_of(file, path, number)
        raise ReadError(f"{where} must be a JSON value, but begins with a byte order mark.")
    bare = text.lstrip(_BLANKS)
    return Element(path, number, start + len(text) - len(bare), bare.rstrip(_BLANKS))


def _too_long(where: str) -> ReadError:
    return ReadError(
        f"{where} must have at most {LARGEST_RECORD >> 20} MiB, but is longer. Split it, or export the run as the "
        "platform streams it (JSON Lines, `.eval`)."
    )
