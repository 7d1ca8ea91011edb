"""JSON Lines as Arrow columns: what Arrow's parser may be given, and what it would misread."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from pairstats.errors import ReadError
from pairstats.readers.columns import EXACT, Block, UnusualError, plain_types
from pairstats.readers.dotted import lookup
from pairstats.readers.jsonlines import parse_object

DEEPEST = 200
"""Levels of nesting that Arrow is trusted with."""
_PART = 1 << 18
_NEWLINE, _RETURN, _OPEN, _CLOSE, _LIST = b"\n\r{}["
_NO_JSON = re.compile(rb"[:,\[]\s*(?:-NaN|-?Inf)\s*[,}\]]")
"""Numbers that Arrow takes and JSON, even as most write it, does not know."""
_STRINGS_END = re.compile(rb'(?:[^"]++|"(?:[^"\\\n\r]++|\\[^\n\r])*+")*+')


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a file, and what they hold where Arrow may be trusted with them.

    Attributes
    ----------
    text : bytes
    newlines : int
    table : pyarrow.Table or None
        None where the lines must be parsed one by one.
    as_text : frozenset of str
        Columns whose text looks like an instant, so far.
    """

    text: bytes
    newlines: int
    table: pa.Table | None
    as_text: frozenset[str]


def read_lines(text: bytes, as_text: frozenset[str]) -> Lines:
    """Let Arrow parse lines that each hold one object.

    Parameters
    ----------
    text : bytes
        Whole lines.
    as_text : frozenset of str
        Columns that are read as text, whatever they look like.
    """
    codes = np.frombuffer(text, dtype=np.uint8)
    newlines = _places(codes, _NEWLINE)
    end = _end(text)
    between = newlines[: np.searchsorted(newlines, end)]
    table = None
    if _are_objects(codes, between, end):
        table, as_text = _table(text, end, as_text)
    if table is not None and table.num_rows != between.size + 1:
        table = None
    return Lines(text, newlines.size, table, as_text)


def on_one_line(text: bytes) -> bytes:
    r"""Write a JSON value, which may be spread over lines, on one.

    Raises
    ------
    UnusualError
        When a line ends within a string, which JSON forbids: the strict parser then says so.

    Examples
    --------
    >>> on_one_line(b'{"a":\n 1}')
    b'{"a":  1}'
    """
    if b"\n" not in text and b"\r" not in text:
        return text
    if not _STRINGS_END.fullmatch(text):
        raise UnusualError("a string that does not end on its line")
    return text.replace(b"\n", b" ").replace(b"\r", b" ")


def _places(codes: np.ndarray, mark: int) -> np.ndarray:
    """Places of a mark; a part at a time, so that what is compared stays near the processor."""
    parts = range(0, codes.size, _PART)
    return np.concatenate([first + np.flatnonzero(codes[first : first + _PART] == mark) for first in parts])


def _end(text: bytes) -> int:
    """Where the text ends, white space at its end left out."""
    tail = text[-64:]
    return len(text) - (len(tail) - len(tail.rstrip(b" \t\r\n")))


def _are_objects(codes: np.ndarray, newlines: np.ndarray, end: int) -> bool:
    """Whether each line begins and ends as an object does, and is not nested too deeply for Arrow."""
    starts, ends = np.concatenate([[0], newlines + 1]), np.concatenate([newlines, [end]])
    ends[:-1] -= codes[newlines - 1] == _RETURN
    if (ends - starts).min() < 2 or (codes[starts] != _OPEN).any() or (codes[ends - 1] != _CLOSE).any():
        return False
    return not _may_be_deep(codes, starts, ends)


def _may_be_deep(codes: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> bool:
    """Whether a line may be nested so deeply that Arrow, which recurs without a bound, would crash the process."""
    long = np.flatnonzero(ends - starts > 2 * DEEPEST)  # each level takes a bracket at either end
    if not long.size:
        return False
    opening = (codes == _OPEN) | (codes == _LIST)
    total = np.add.reduceat(opening, starts, dtype=np.int64)[long]
    # Brackets that are closed again, or stand in a text, count too, so that a deep line is never missed.
    lines = long[total > DEEPEST].tolist()
    return any(not _can_be_parsed(codes[starts[n] : ends[n]].tobytes()) for n in lines)


def _can_be_parsed(line: bytes) -> bool:
    """Whether Python's own parser, which stops at about a thousand levels, takes a line."""
    try:
        parse_object(line, "")
    except ReadError:
        return False
    return True


def _table(text: bytes, end: int, as_text: frozenset[str]) -> tuple[pa.Table | None, frozenset[str]]:
    """Parse lines of objects; None where Arrow read something else than is written."""
    try:
        if not text.isascii():
            text.decode()
        table = _parsed(text, end, as_text)
        dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
        if dates:  # Arrow takes text for an instant, and would give it back in another spelling
            names, as_text = table.column_names, as_text.union(dates)
            table = _parsed(text, end, as_text).select(names)
    except (pa.ArrowException, UnicodeDecodeError):
        return None, as_text
    if _may_hold_no_number(table) and _NO_JSON.search(text):
        return None, as_text
    return plain_types(table), as_text


def _may_hold_no_number(table: pa.Table) -> bool:
    """Whether NaN or Infinity, in whatever spelling, may have been read."""
    for column in table.columns:
        if pa.types.is_nested(column.type):
            return True
        if pa.types.is_floating(column.type) and pc.any(pc.invert(pc.is_finite(column))).as_py():
            return True
    return False


def _parsed(text: bytes, end: int, as_text: frozenset[str]) -> pa.Table:
    known = pa.schema([pa.field(name, pa.string()) for name in sorted(as_text)])
    options = pa_json.ParseOptions(explicit_schema=known) if as_text else None
    reading = pa_json.ReadOptions(block_size=end + 1, use_threads=False)  # several texts are read at once
    body = pa.BufferReader(pa.py_buffer(text).slice(0, end))
    table = pa_json.read_json(body, read_options=reading, parse_options=options)
    unseen = [name for name in as_text if table.column(name).null_count == table.num_rows]
    return table.drop_columns(unseen) if unseen else table


def rows_of(shown: str, text: bytes, first: int) -> Block:
    """Parse lines one by one, where Arrow would not read them as they are meant."""
    numbers, rows = [], []
    for number, line in enumerate(text.split(b"\n"), start=first):
        if line.strip():
            numbers.append(number)
            rows.append(parse_object(line, f"{shown}:{number}"))
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    columns = {name: array_of([lookup(row, name) if name in row else None for row in rows]) for name in names}
    return Block(names, pa.table(columns), np.array(numbers, dtype=np.int64), len(text))


def array_of(values: list[Any]) -> pa.Array:
    """Column of Python values of one kind, or nothing but objects and lists.

    Raises
    ------
    UnusualError
        When they are of several kinds, or numbers that no Arrow type holds.
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        if any(type(value) is int and abs(value) >= EXACT for value in values):
            raise UnusualError("large whole numbers among fractions")
        kinds = {float}
    if len(kinds) > 1:
        raise UnusualError("values of several kinds in a column")
    if kinds & {dict, list}:
        raise UnusualError("objects or lists among lines that Arrow cannot read")
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError) as error:
        raise UnusualError(str(error)) from error
