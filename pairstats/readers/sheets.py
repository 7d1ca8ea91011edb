"""Tables as they lie in files (CSV, TSV, JSON, JSON Lines, Parquet, Arrow, Excel): names and numbered rows."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO

import pyarrow as pa
import zstandard

from pairstats.errors import ReadError, listed
from pairstats.readers import arrow_files
from pairstats.readers.arrays import rows_of
from pairstats.readers.base import LONGEST_LINE, LeftOut, RunFile
from pairstats.readers.columns import plain_types
from pairstats.readers.documents import open_document
from pairstats.readers.excel import is_workbook, open_workbook
from pairstats.readers.jsonlines import Broken, as_written, first_objects, objects

DELIMITERS = {",": "csv", "\t": "tsv", ";": "csv with semicolons", "|": "csv with bars"}
SNIFFED_ROWS = 50
BATCH_ROWS = 1000
"""Rows of a Parquet file that are held at a time: each may be a whole conversation."""
MOST_BAD = 0.05
"""Share of characters that may be no text where a file still is a table with some broken rows."""
_NO_TEXT = re.compile("[\0\udc80-\udcff]")
"""A NUL, and what stands for a byte that is not UTF-8."""

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row | LeftOut]]
MOST_COLUMNS = 10_000
"""Columns of a table; more are a table laid on its side, or hostile."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table in a file.

    Attributes
    ----------
    form : str
        How it is written: ``"csv"``, ``"parquet"`` ...
    names : tuple of str
        Columns in order.
    rows : callable
        Gives, each time it is called, line or row number (from 1) and values of every row.
    """

    form: str
    names: tuple[str, ...]
    rows: Callable[[], Rows]


def form_of(file: RunFile) -> str:
    """Say how a table is written, from its first bytes; empty if it is none."""
    head = file.head
    for magic, form in arrow_files.FORMS.items():
        if head.startswith(magic):
            return form
    if is_workbook(head):
        return "excel"
    if re.match(rb"(\xef\xbb\xbf)?\s*\[\s*(null\s*,\s*)*\{", head):
        return "json array"
    if re.match(rb"(\xef\xbb\xbf)?\s*\{", head):
        lines = first_objects(file)
        return "json columns" if not lines or (len(lines) == 1 and _is_columns(lines[0])) else "jsonl"
    delimiter = delimiter_of(head)
    return DELIMITERS[delimiter] if delimiter else ""


def open_sheet(file: RunFile, *, keep_going: bool = False) -> Sheet:
    """Open a table.

    Parameters
    ----------
    file : RunFile
    keep_going : bool, default False
        Give a `LeftOut` for a broken row instead of raising.

    Returns
    -------
    Sheet

    Raises
    ------
    ReadError
        When the file is no table, has a column name twice, or can't be decoded.
    """
    form = form_of(file)
    if form in arrow_files.FORMS.values():
        names, rows = _arrow(file, form)
    elif form == "excel":
        names, rows = open_workbook(file)
    elif form == "jsonl":
        names, rows = _json_lines(file, keep_going)
    elif form.startswith("json"):
        names, rows = _json_document(file, keep_going)
    elif form:
        names, rows = _delimited(file, keep_going)
    else:
        raise ReadError(
            f"{file.shown} must be a table in UTF-8 text, but {why_no_table(file)}. Save it as CSV in UTF-8, or "
            "as Parquet."
        )
    if len(names) > MOST_COLUMNS:
        raise ReadError(
            f"{file.shown} must be a table of at most {MOST_COLUMNS} columns, but has {len(names)}. Write one row "
            "a reply instead."
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ReadError(
            f"Column names of {file.shown} must differ, but {listed(twice, 8)} occur more than once. "
            "Rename them."
        )
    return Sheet(form, tuple(names), rows)


def _text_of(head: bytes) -> str | None:
    """Decode the beginning of a text file; a few bytes that are none are left to the rows that hold them."""
    text = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode(head)
    bad = len(_NO_TEXT.findall(text))
    if bad and (bad > MOST_BAD * len(text) or _NO_TEXT.search(text.partition("\n")[0])):
        return None
    return text[: text.rfind("\n") + 1] or text


def delimiter_of(head: bytes) -> str | None:
    """Find the delimiter that gives the first lines the header's number of fields, two at least."""
    text = _text_of(head)
    best: tuple[float, int, str] | None = None
    for delimiter in DELIMITERS if text else ():
        try:
            rows = list(itertools.islice(_records(text or "", delimiter), SNIFFED_ROWS))
        except csv.Error:
            continue
        if not rows or len(rows[0]) < 2:
            continue
        alike = sum(len(row) == len(rows[0]) for row in rows[1:]) / max(1, len(rows) - 1)
        if (alike >= 0.5 or len(rows) == 1) and (best is None or (alike, len(rows[0])) > best[:2]):
            best = (alike, len(rows[0]), delimiter)
    return best[2] if best else None


def why_no_table(file: RunFile) -> str:
    """Say in a clause, with line and cause, why `form_of` finds no table in a file."""
    head = file.head
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "it is UTF-16, not UTF-8"
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        return f"line {line} has byte 0x{head[error.start]:02x} at offset {error.start}, which is not UTF-8"
    if "\0" in text:
        return f"line {text.count(chr(10), 0, text.index(chr(0))) + 1} holds a NUL, as binary files do"
    lines = text.splitlines()
    delimiter = max(DELIMITERS, key=lambda each: lines[0].count(each) if lines else 0)
    width = 0
    for number, cells in _numbered(io.StringIO(text, newline=""), delimiter, file.shown):
        if isinstance(cells, LeftOut):
            return f"line {number} is {cells.reason}"
        if not width and len(cells) < 2:
            return "its first line has no delimiter, or one column only"
        if width and len(cells) != width:
            return f"line {number} has {len(cells)} fields where the first has {width}, and most lines do so"
        width = len(cells)
    return "its lines do not have the same columns"


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)


def _delimited(file: RunFile, keep_going: bool) -> tuple[list[str], Callable[[], Rows]]:
    delimiter = delimiter_of(file.head) or ","
    header = csv_header(file, delimiter)
    return header, partial(_named_rows, file, delimiter, header, keep_going)


def csv_header(file: RunFile, delimiter: str) -> list[str]:
    """Give the names in the first record of a table of delimited text."""
    _, header = next(csv_rows(file, delimiter), (1, []))
    if isinstance(header, LeftOut):
        raise ReadError(f"{header.source} must be the table's header, but {header.reason}.")
    return header


def _named_rows(file: RunFile, delimiter: str, header: list[str], keep_going: bool) -> Rows:
    for number, cells in itertools.islice(csv_rows(file, delimiter), 1, None):
        if isinstance(cells, LeftOut):
            if not keep_going:
                raise ReadError(f"{cells.source}: {cells.reason}. {_REPAIR}")
            yield number, cells
        elif len(cells) != len(header):
            where = f"{file.shown}:{number}"
            if not keep_going:
                raise ReadError(f"{where} must have {len(header)} fields, but has {len(cells)}. {_REPAIR}")
            yield number, LeftOut(where, f"{len(cells)} fields instead of {len(header)}")
        else:
            yield number, {name: cell or None for name, cell in zip(header, cells, strict=True)}


_REPAIR = "Repair the row, or pass keep_going=True to leave broken rows out and count them."


def csv_rows(file: RunFile, delimiter: str) -> Iterator[tuple[int, list[str] | LeftOut]]:
    """Yield first line and fields of every record that isn't blank; no word stands for a missing value."""
    with io.TextIOWrapper(file.open(), "utf-8-sig", errors="surrogateescape", newline="") as text:
        yield from _numbered(text, delimiter, file.shown)


def _numbered(text: TextIO, delimiter: str, shown: str) -> Iterator[tuple[int, list[str] | LeftOut]]:
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        where = f"{shown}:{line}"
        try:
            cells = _next_record(reader)
        except csv.Error as error:
            yield line, LeftOut(where, _bad_row(error, line, reader.line_num))
            continue
        except (EOFError, OSError, zlib.error, zstandard.ZstdError):
            yield line, LeftOut(where, "file damaged from here on")
            return
        if cells is None:
            return
        bad = next((place for place, cell in enumerate(cells) if _NO_TEXT.search(cell)), None)
        if bad is not None:
            yield line, LeftOut(where, f"{_bad_text(cells[bad])} in field {bad + 1}")
        elif cells:
            yield line, cells


def _bad_row(error: csv.Error, first: int, last: int) -> str:
    if "unexpected end" in str(error):
        return f"not a table row (a quote is opened and never closed, which takes lines {first} to {last})"
    lines = f", which takes lines {first} to {last}" if last > first else ""
    return f"not a table row ({error}{lines})"


def _bad_text(cell: str) -> str:
    found = _NO_TEXT.findall(cell)[0]
    return "a NUL" if found == "\0" else f"byte 0x{ord(found) - 0xDC00:02x}, which is not UTF-8 text,"


def _next_record(reader: Any) -> list[str] | None:
    """Read a record; the csv module's limit on fields, which is shared by all, is raised only meanwhile."""
    limit = csv.field_size_limit(LONGEST_LINE)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)


def _json_lines(file: RunFile, keep_going: bool) -> tuple[list[str], Callable[[], Rows]]:
    names: dict[str, None] = {}
    for _, row in objects(file, keep_going=keep_going):
        if isinstance(row, dict):
            names.update(dict.fromkeys(row))
    return list(names), partial(objects, file, keep_going=keep_going)


def _json_document(file: RunFile, keep_going: bool) -> tuple[list[str], Callable[[], Rows]]:
    opened = open_document(file, ())
    if isinstance(opened.head, list):
        names, rows = rows_of(opened)
    else:
        table = _rows_of_columns(opened.head, file.shown)
        names = dict.fromkeys(name for row in table if isinstance(row, dict) for name in row)
        rows = partial(iter, table)
    return list(names), partial(_array_rows, file.shown, rows, keep_going)


def _array_rows(shown: str, rows: Callable[[], Iterable[Any]], keep_going: bool) -> Rows:
    for number, row in enumerate(rows(), start=1):
        if isinstance(row, dict):
            yield number, row
            continue
        why = row.why if isinstance(row, Broken) else f"is {as_written(row)}"
        if not keep_going:
            raise ReadError(f"{shown}:{number} must be an object, but {why}. {_REPAIR}")
        yield number, LeftOut(f"{shown}:{number}", row.why if isinstance(row, Broken) else "not an object")


def _is_columns(value: Any) -> bool:
    """Whether an object is a table by columns: lists, row numbers to values, or ``columns`` and ``data``."""
    if not isinstance(value, dict) or not value:
        return False
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        return True
    parts = list(value.values())
    if all(isinstance(part, list) for part in parts):
        return len({len(part) for part in parts}) == 1
    return all(isinstance(part, dict) for part in parts) and len({tuple(part) for part in parts}) == 1


def _rows_of_columns(document: Any, shown: str) -> list[Any]:
    if not _is_columns(document):
        raise ReadError(f"{shown} must be a list of rows, or columns of equal length, to be read as a table.")
    if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
        names = [str(name) for name in document["columns"]]
        fits = (isinstance(row, list) and len(row) == len(names) for row in document["data"])
        pairs = zip(document["data"], fits, strict=True)
        return [dict(zip(names, row, strict=True)) if fit else row for row, fit in pairs]
    columns = [list(part.values()) if isinstance(part, dict) else part for part in document.values()]
    return [dict(zip(document, values, strict=True)) for values in zip(*columns, strict=True)]


def _arrow(file: RunFile, form: str) -> tuple[list[str], Callable[[], Rows]]:
    path = str(file.path)
    source = partial(pa.BufferReader, file.read_bytes()) if file.packed else partial(pa.OSFile, path)
    try:
        names, batches = arrow_files.opened(source, form, BATCH_ROWS)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{file.shown} is a damaged {form} file: {error}. Is it whole?") from error
    return names, partial(_arrow_rows, file, batches)


def _arrow_rows(file: RunFile, batches: Callable[[], Iterator[pa.RecordBatch]]) -> Rows:
    try:
        tables = (plain_types(pa.Table.from_batches([batch])) for batch in batches())
        yield from enumerate((row for table in tables for row in table.to_pylist()), start=1)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{file.shown} has a damaged block: {error}. Is it whole?") from error
