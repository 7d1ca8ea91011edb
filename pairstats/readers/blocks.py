"""Flat tables as Arrow columns, a block of a file at a time, exactly as `sheets` would read their rows.

Arrow's own parsers take what the strict row readers refuse (two objects on a line, text after a closing quote),
so every block is checked for its shape first. What is not certain to read alike is `UnusualError`: the row readers
then take over, and say what is wrong with file and record.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.ipc
import pyarrow.json as pa_json
import pyarrow.parquet as pq
from zstandard import ZstdError

from pairstats import schema
from pairstats.errors import ReadError
from pairstats.readers.base import LONGEST_LINE, RunFile
from pairstats.readers.jsonlines import parse_object
from pairstats.readers.mapping import lookup
from pairstats.readers.sheets import DELIMITERS, csv_header

DEEPEST = 200
"""Levels of nesting that Arrow is trusted with."""
BLOCK_BYTES = 1 << 25
BLOCK_ROWS = 1 << 16
AT_ONCE = 2
"""Blocks that are parsed at once: Arrow's own threads wait for each other at the end of each."""
EXACT = float(2**53)
"""Size from which a float may stand for another whole number than the one that is written."""

_NEWLINE, _QUOTE, _RETURN = b'\n"\r'
_MARK = b"\xef\xbb\xbf"
_NO_JSON = re.compile(rb"[:,\[]\s*(?:-NaN|-?Inf)\s*[,}\]]")
"""Numbers that Arrow takes and JSON, even as most write it, does not know."""


class UnusualError(Exception):
    """The columns of a file cannot be vouched for; its rows must be read one by one."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a table.

    Attributes
    ----------
    names : tuple of str
        Columns in order of appearance.
    table : pyarrow.Table
        Their values: text, whole numbers, floats, truth values; other types as they came.
    numbers : numpy.ndarray
        Line or row number of every row, from 1.
    """

    names: tuple[str, ...]
    table: pa.Table
    numbers: np.ndarray

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def find(self, path: str) -> pa.ChunkedArray | None:
        """Values at a dotted path, None where no row has it."""
        if path in self.names:
            return self.table.column(path)
        head, dot, rest = path.partition(".")
        if not dot or head not in self.names:
            return None
        if any(path.startswith(f"{name}.") for name in self.names if name != head):
            raise UnusualError(f"{path!r} may be meant in two ways")
        column = self.table.column(head)
        for part in rest.split("."):
            if not pa.types.is_struct(column.type) or column.type.get_field_index(part) < 0:
                return None
            if any("." in field.name for field in column.type):
                raise UnusualError(f"{path!r} leads past a name with a dot")
            column = pc.struct_field(column, part)
        return column


def blocks_of(file: RunFile, form: str) -> Iterator[Block]:
    """Yield the blocks of a flat table.

    Parameters
    ----------
    file : RunFile
    form : str
        How it is written; see `sheets.form_of`.

    Raises
    ------
    UnusualError
        When the rows must be read one by one.
    """
    try:
        for block in _ahead(_KINDS[form](file, form)):
            if len(set(block.names)) < len(block.names):
                raise UnusualError("a name of two columns")
            yield block
    except (ReadError, pa.ArrowException, OSError, EOFError, ValueError, zlib.error, ZstdError) as error:
        raise UnusualError(str(error)) from error


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks while another thread reads the next one: Arrow needs no interpreter for it."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


def _chunks(file: RunFile, whole_records: bool = False) -> Iterator[bytes]:
    """Yield bytes that end where a line ends; where quotes are counted, not within an open one."""
    with file.open() as stream:
        while chunk := stream.read(BLOCK_BYTES):
            chunk += _rest_of_line(stream)
            while whole_records and chunk.count(b'"') % 2:
                rest = stream.read(1 << 16)
                if not rest or len(chunk) > 2 * BLOCK_BYTES:
                    raise UnusualError("a quote is not closed")
                chunk += rest + _rest_of_line(stream)
            yield chunk


def _rest_of_line(stream: Any) -> bytes:
    rest: bytes = stream.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE:
        raise UnusualError("a line is too long")
    return rest


def _json_blocks(file: RunFile, form: str) -> Iterator[Block]:
    first, as_text = 1 + file.lines_before, frozenset[str]()
    waiting: deque[tuple[bytes, int, Future[tuple[pa.Table, frozenset[str]] | None]]] = deque()
    chunks = _chunks(file)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while True:
            chunk = next(chunks, b"")
            if chunk:
                text = chunk.removeprefix(_MARK) if first == 1 else chunk
                waiting.append((text, first, pool.submit(_json_columns, text, as_text)))
                first += chunk.count(b"\n")
            elif not waiting:
                return
            if not chunk or len(waiting) > AT_ONCE:
                text, number, coming = waiting.popleft()
                read = coming.result()
                if read is None:
                    yield _json_rows(file, text, number)
                else:
                    table, as_text = read[0], as_text | read[1]
                    yield Block(tuple(table.column_names), table, np.arange(number, number + table.num_rows))


def _json_columns(text: bytes, as_text: frozenset[str]) -> tuple[pa.Table, frozenset[str]] | None:
    """Let Arrow parse lines that each hold one object; None where they may hold anything else."""
    body = text.rstrip(b" \t\r\n")
    lines = body.count(b"\n") + 1
    ends = body.count(b"}\r\n{") if b"\r" in body else body.count(b"}\n{")
    if ends + 1 != lines or not body.startswith(b"{") or not body.endswith(b"}"):
        return None
    if may_be_deep(body, lines):
        return None
    try:
        if not body.isascii():
            body.decode()
        table = _parsed(body, as_text)
        dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
        if dates:  # Arrow takes text for an instant, and would give it back in another spelling
            names, as_text = table.column_names, as_text.union(dates)
            table = _parsed(body, as_text).select(names)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != lines or (_may_hold_no_number(table) and _NO_JSON.search(body)):
        return None
    return _plain_types(table), as_text


def may_be_deep(text: bytes, lines: int) -> bool:
    """Whether a line may be nested so deeply that Arrow, which recurs without a bound, would crash the process.

    Examples
    --------
    >>> may_be_deep(b'{"a": [1, {"b": 2}]}', 1), may_be_deep(b"[" * 1000 + b"]" * 1000, 1)
    (False, True)
    """
    if text.count(b"{") + text.count(b"[") - lines <= DEEPEST:
        return False
    is_mark = np.zeros(256, dtype=bool)
    is_mark[[ord("{"), ord("["), ord("\n")]] = True
    codes = np.frombuffer(text, dtype=np.uint8)
    places = np.flatnonzero(is_mark[codes])
    ends = np.flatnonzero(codes[places] == ord("\n"))
    many = np.diff(ends, prepend=-1, append=len(places)) > DEEPEST
    starts = [0, *(places[ends] + 1).tolist(), len(text)]
    # Brackets that are closed again, or stand in a text, count too, so that a deep line is never missed.
    return any(not _can_be_parsed(text[starts[n] : starts[n + 1]]) for n in np.flatnonzero(many).tolist())


def _can_be_parsed(line: bytes) -> bool:
    """Whether Python's own parser, which stops at about a thousand levels, takes a line."""
    try:
        parse_object(line, "")
    except ReadError:
        return False
    return True


def _may_hold_no_number(table: pa.Table) -> bool:
    """Whether NaN or Infinity, in whatever spelling, may have been read."""
    for column in table.columns:
        if pa.types.is_nested(column.type):
            return True
        if pa.types.is_floating(column.type) and pc.any(pc.invert(pc.is_finite(column))).as_py():
            return True
    return False


def _parsed(body: bytes, as_text: frozenset[str]) -> pa.Table:
    known = pa.schema([pa.field(name, pa.string()) for name in sorted(as_text)])
    options = pa_json.ParseOptions(explicit_schema=known) if as_text else None
    reading = pa_json.ReadOptions(block_size=max(1 << 20, min(len(body), BLOCK_BYTES) // 8))
    table = pa_json.read_json(pa.BufferReader(body), read_options=reading, parse_options=options)
    unseen = [name for name in as_text if table.column(name).null_count == table.num_rows]
    return table.drop_columns(unseen) if unseen else table


def _json_rows(file: RunFile, text: bytes, first: int) -> Block:
    """Parse lines one by one, where Arrow would not read them as they are meant."""
    numbers, rows = [], []
    for number, line in enumerate(text.split(b"\n"), start=first):
        if line.strip():
            numbers.append(number)
            rows.append(parse_object(line, f"{file.shown}:{number}"))
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    columns = {name: array_of([lookup(row, name) if name in row else None for row in rows]) for name in names}
    return Block(names, pa.table(columns), np.array(numbers, dtype=np.int64))


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


def _plain_types(table: pa.Table) -> pa.Table:
    """Bring columns to text, 64-bit numbers and truth values; leave others as they are."""
    for place, field in enumerate(table.schema):
        kind = _plain_type(field.type)
        if kind is not None and kind != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def _plain_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else None


def _csv_blocks(file: RunFile, form: str) -> Iterator[Block]:
    delimiter = next(mark for mark, name in DELIMITERS.items() if name == form)
    names, line, is_header = csv_header(file, delimiter), 1, True
    for chunk in _chunks(file, whole_records=True):
        text = chunk.removeprefix(_MARK) if line == 1 else chunk
        starts, numbers = _record_starts(text, ord(delimiter), line)
        line += chunk.count(b"\n")
        if is_header and numbers.size:  # the first record of the file
            text, numbers, is_header = text[starts[1] :] if starts.size > 1 else b"", numbers[1:], False
        if numbers.size:
            yield Block(tuple(names), _csv_columns(text, names, delimiter, numbers.size), numbers)


def _csv_columns(text: bytes, names: list[str], delimiter: str, rows: int) -> pa.Table:
    if text.startswith(_MARK):
        raise UnusualError("a byte order mark within the file")
    table = pa_csv.read_csv(
        pa.BufferReader(text),
        read_options=pa_csv.ReadOptions(column_names=names, block_size=len(text) + 1),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in text),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""],
            quoted_strings_can_be_null=True,
        ),
    )  # fmt: skip
    if table.num_rows != rows:
        raise UnusualError("records that do not end where they seem to")
    return table


def _record_starts(text: bytes, delimiter: int, line: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and line numbers where the records begin that are not blank."""
    codes = np.frombuffer(text, np.uint8)
    newlines = np.flatnonzero(codes == _NEWLINE)
    if b"\0" in text or text.count(b"\r") != text.count(b"\r\n"):
        raise UnusualError("a NUL, or a carriage return by itself")
    ends = newlines
    if b'"' in text:
        quotes = np.flatnonzero(codes == _QUOTE)
        _check_quotes(codes, quotes, delimiter)
        ends = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    starts = np.concatenate([[0], ends + 1]) if codes.size else np.array([], dtype=np.int64)
    starts = starts[starts < codes.size]
    blank = codes[starts] == _NEWLINE
    blank |= (codes[starts] == _RETURN) & (codes[np.minimum(starts + 1, codes.size - 1)] == _NEWLINE)
    starts = starts[~blank]
    return starts, line + np.searchsorted(newlines, starts)


def _check_quotes(codes: np.ndarray, quotes: np.ndarray, delimiter: int) -> None:
    """Refuse a quote that neither opens nor closes a field nor stands for itself as one of two."""
    if quotes.size % 2:
        raise UnusualError("a quote is not closed")
    opening, closing = quotes[::2], quotes[1::2]
    before = codes[np.maximum(opening - 1, 0)]
    after = codes[np.minimum(closing + 1, codes.size - 1)]
    opens = np.isin(before, (delimiter, _NEWLINE, _QUOTE)) | (opening == 0)
    closes = np.isin(after, (delimiter, _NEWLINE, _RETURN, _QUOTE)) | (closing == codes.size - 1)
    if not (opens.all() and closes.all()):
        raise UnusualError("a quote within a field")


def _arrow_blocks(file: RunFile, form: str) -> Iterator[Block]:
    with file.open() as stream:
        first = 1
        if form == "parquet":
            batches = pq.ParquetFile(pa.PythonFile(stream)).iter_batches(batch_size=BLOCK_ROWS)
        else:
            arrow = pa.ipc.open_file(pa.PythonFile(stream))
            batches = map(arrow.get_batch, range(arrow.num_record_batches))
        for batch in batches:
            table = _plain_types(pa.Table.from_batches([batch]))
            table.validate(full=True)
            if table.num_rows:
                yield Block(tuple(table.column_names), table, np.arange(first, first + table.num_rows))
            first += table.num_rows


def by_word(column: pa.ChunkedArray, function: Callable[[Any], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Apply a function to each different value of a column; null stays null.

    Examples
    --------
    >>> by_word(pa.chunked_array([["a", None, "a"]]), str.upper, pa.string()).to_pylist()
    ['A', None, 'A']
    """
    values, places = schema.encoded(column)
    words = pa.array([None if value is None else function(value) for value in values.to_pylist()], kind)
    return pa.chunked_array([words.take(place) for place in places], kind)


_KINDS: Mapping[str, Callable[[RunFile, str], Iterator[Block]]] = {
    "jsonl": _json_blocks, "parquet": _arrow_blocks, "arrow": _arrow_blocks,
    **dict.fromkeys(DELIMITERS.values(), _csv_blocks),
}  # fmt: skip
FORMS = frozenset(_KINDS)
"""How flat tables may be written."""
