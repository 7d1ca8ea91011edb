"""Strict reading of JSON and JSON Lines that names file and line; shared by the readers."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from pairstats.errors import ReadError
from pairstats.readers.base import DAMAGED, LONGEST_LINE, LeftOut, RunFile
from pairstats.readers.weight import check_weight

LONGEST_PROBED, LONGEST_ALONE = 1 << 26, 1 << 24
"""Bytes of a line that is looked at to recognize a file, and of one that is all there is: a longer one is no
record, but a document on one line."""
_SHOWN = 60
"""Characters of a value in a message."""
PROBED_LINES = 20
"""Lines that are looked at to recognize a file: a run may begin with a series of failures."""


def objects(
    file: RunFile, *, keep_going: bool = False, longest: int = LONGEST_LINE
) -> Iterator[tuple[int, dict[str, Any] | LeftOut]]:
    """Yield every line of a JSON Lines file as line number (from 1) and object.

    ``NaN`` and ``Infinity`` are accepted, as most writers emit them. Half a surrogate pair, which no file can
    hold as text, becomes U+FFFD.

    Parameters
    ----------
    file : RunFile
    keep_going : bool, default False
        Yield a `LeftOut` for a broken line, or for the lost rest of a damaged file, instead of raising.
    longest : int
        Bytes that a line may have.

    Raises
    ------
    ReadError
        Naming file and line, when a line is not one JSON object, or the file is damaged.
    """
    number = 0
    try:
        for number, line in file.lines(longest):
            try:
                yield number, parse_object(line, f"{file.shown}:{number}")
            except ReadError as error:
                if not keep_going:
                    raise ReadError(f"{error} {LEAVE_OUT}") from error
                yield number, LeftOut(f"{file.shown}:{number}", f"broken line: {_cause(error)}")
    except zlib.error as error:
        if not keep_going:
            raise damaged(file, error) from error
        yield number, _lost_rest(file, number)
    except ReadError:
        if not keep_going:
            raise
        yield number, _lost_rest(file, number)


def parse_object(line: bytes, where: str) -> dict[str, Any]:
    """Parse one JSON object.

    Examples
    --------
    >>> parse_object(b'{"score": NaN}', "run.jsonl:1")
    {'score': nan}
    >>> parse_object(b'{"score": 1', "run.jsonl:2")
    Traceback (most recent call last):
        ...
    pairstats.errors.ReadError: run.jsonl:2 must be one JSON object, but Expecting ',' delimiter at column 12.
    """
    value = parse(line, where)
    if not isinstance(value, dict):
        raise _not_an_object(where, f"it is {as_written(value)}")
    return value


def parse(text: bytes, where: str) -> Any:
    """Parse one JSON value; every way in which that can fail is a `ReadError` that names `where`."""
    check_weight(text, where)
    value = _quickly(text)
    if value is not None:
        return value
    try:
        value = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_no_key_twice)
        return _whole_text(value) if b"\\ud" in text.lower() else value
    except json.JSONDecodeError as error:
        why = "more text follows it" if error.msg == "Extra data" else error.msg
        raise _not_an_object(where, f"{why.removesuffix(' at')} at column {error.colno}") from error
    except RecursionError as error:
        raise _not_an_object(where, "it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise _not_an_object(where, f"byte {error.start} is not UTF-8") from error
    except ValueError as error:  # an integer of more than 4300 digits, or a key that occurs twice
        raise _not_an_object(where, _in_our_words(error)) from error


def _quickly(text: bytes) -> Any:
    """Parse what leaves no doubt three times as fast; None for what the strict parser must judge.

    The fast parser keeps the last of two equal keys without a word. That shows where the text holds the mark
    ``":`` more often than the value does when it is written again, as long as neither a quote nor a colon is
    written as its number: that mark shows only in what is written again, and would make up for a lost key.
    """
    if _SPACED_COLON.search(text) or _NUMBERED_MARK.search(text):
        return None
    try:
        value = _DECODER.decode(text)
        again = _ENCODER.encode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return value if again.count(b'":') == text.count(b'":') else None


_DECODER, _ENCODER = msgspec.json.Decoder(), msgspec.json.Encoder()
_SPACED_COLON = re.compile(rb'"[ \t\r\n]+:')
_NUMBERED_MARK = re.compile(rb"\\u00(?:22|3[aA])")


def parse_rows(text: bytes) -> list[Any] | None:
    """Parse an array of which some records break a rule that `parse` keeps; each of these is its reason.

    Returns
    -------
    list or None
        Records, and a `Broken` where one holds a key twice or an endless integer; None where the text is no
        array, or its syntax is broken so that nobody knows where a record ends.

    Examples
    --------
    >>> parse_rows(b'[{"a": 1, "a": 2}, {"a": 3}]')
    [Broken(why="the key 'a' occurs twice in one object"), {'a': 3}]
    """
    faults: list[str] = []

    def integer(digits: str) -> int:
        try:
            return int(digits)
        except ValueError as error:
            faults.append(_in_our_words(error))
            return 0

    def pairs_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        try:
            return _no_key_twice(pairs)
        except ValueError as error:
            faults.append(str(error))
            return dict(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=pairs_of, parse_int=integer)
    try:
        content = text.decode("utf-8-sig").strip()
        if not content.startswith("["):
            return None
        rows: list[Any] = []
        place = _next(content, 1)
        while content[place] != "]":
            faults.clear()
            row, place = decoder.raw_decode(content, place)
            rows.append(Broken(faults[0]) if faults else _whole_text(row))
            place = _next(content, place)
            if content[place] == ",":
                place = _next(content, place + 1)
            elif content[place] != "]":
                return None
    except (ValueError, IndexError, RecursionError):
        return None
    return rows if place == len(content) - 1 else None


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that cannot be taken, and why."""

    why: str


def _next(content: str, place: int) -> int:
    """Place of the next character that is no white space."""
    while content[place] in " \t\r\n":
        place += 1
    return place


def _in_our_words(error: ValueError) -> str:
    digits = re.search(r"value has (\d+) digits", str(error))
    return f"it has an integer of {digits[1]} digits" if digits else str(error)


def _cause(error: ReadError) -> str:
    return str(error).split(", but ", 1)[-1].rstrip(".")


def first_objects(file: RunFile, limit: int = PROBED_LINES) -> list[dict[str, Any]]:
    """First objects of a JSON Lines file, for recognition: broken lines are passed over, prose gives none."""
    found: list[dict[str, Any]] = []
    try:
        if not file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return found
        if _is_long_and_alone(file):
            return found
        for count, (_, value) in enumerate(objects(file, keep_going=True, longest=LONGEST_PROBED), start=1):
            if isinstance(value, dict):
                found.append(value)
            if count >= limit:
                break
    except zlib.error as error:
        raise damaged(file, error) from error
    return found


def says_texts(rows: Iterable[Any]) -> bool:
    """Whether the first ``response`` that there is in rows is a text, and no object of a platform.

    Examples
    --------
    >>> says_texts([{"response": None}, {"response": "A"}]), says_texts([{"response": {"id": "c"}}])
    (True, False)
    """
    told = (row["response"] for row in rows if isinstance(row, dict) and row.get("response") is not None)
    return isinstance(next(told, None), str)


def _is_long_and_alone(file: RunFile) -> bool:
    try:
        with file.open() as stream:
            first = stream.readline(LONGEST_ALONE)
            return len(first) == LONGEST_ALONE and not stream.readline(LONGEST_PROBED).endswith(b"\n")
    except DAMAGED:
        return False  # which is told where the lines are read


def damaged(file: RunFile, error: Exception) -> ReadError:
    """Error for a file whose compression cannot be undone."""
    return ReadError(f"{file.shown} is damaged: {error}. Fetch it again, or unpack what can be saved.")


def dig(value: Any, *path: str) -> Any:
    """Follow keys into nested objects; None where the path ends.

    Examples
    --------
    >>> dig({"response": {"body": None}}, "response", "body", "model") is None
    True
    """
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def whole(value: Any) -> int | None:
    """Give a count as an integer that a 64-bit column can hold, else None.

    Examples
    --------
    >>> whole(12.0), whole(True), whole("12"), whole(10**30)
    (12, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(value) if abs(value) < 2**63 and int(value) == value else None


def real(value: Any) -> float | None:
    """Give a finite number or truth value as a float, else None (NaN in a log is null).

    Examples
    --------
    >>> real(True), real(float("nan")), real("0.5")
    (1.0, None, None)
    """
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) < float("inf") else None


def real_of(cell: Any) -> float | None:
    """Number in a cell, written as one or as text."""
    if not isinstance(cell, str | int | float):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return read


def _whole_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_text(each) for each in value]
    if isinstance(value, dict):
        return {_whole_text(key): _whole_text(each) for key, each in value.items()}
    return value


def as_written(value: Any) -> str:
    """Give the begin of a value as JSON writes it, for a message.

    Examples
    --------
    >>> as_written(None), as_written([1, "a"])
    ('null', '[1, "a"]')
    """
    return json.dumps(value, ensure_ascii=False, default=str)[:_SHOWN]


def _lost_rest(file: RunFile, number: int) -> LeftOut:
    return LeftOut(f"{file.shown}:{number + 1}", "file damaged from here to its end")


def _not_an_object(where: str, why: str) -> ReadError:
    return ReadError(f"{where} must be one JSON object, but {why}.")


LEAVE_OUT = (
    "Repair or remove that record, or pass keep_going=True to leave broken records out and count them."
)
