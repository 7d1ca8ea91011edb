"""Flat tables as Arrow columns, a block of a file at a time, exactly as `sheets` would read their rows.

Arrow's own parsers take what the strict row readers refuse (two objects on a line, text after a closing quote),
so every block is checked for its shape first. What is not certain to read alike is `UnusualError`: the row readers
then take over, and say what is wrong with file and record.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import chain
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from zstandard import ZstdError

from pairstats.errors import ReadError
from pairstats.readers import arrow_files
from pairstats.readers.base import LONGEST_LINE, RunFile
from pairstats.readers.columns import Block, UnusualError, plain_types
from pairstats.readers.documents import open_document
from pairstats.readers.json_columns import Lines, on_one_line, read_lines, rows_of
from pairstats.readers.json_width import check_width
from pairstats.readers.sheets import DELIMITERS, csv_header
from pairstats.threads import ahead, cores

BLOCK_BYTES = 1 << 24
BLOCK_ROWS = 1 << 16
AT_ONCE = min(max(cores(), 2), 4)
"""Blocks that are parsed at once, each by one thread: several of one block would wait for each other at its end."""
_NEWLINE, _QUOTE, _RETURN = b'\n"\r'
_MARK = b"\xef\xbb\xbf"


def blocks_of(file: RunFile, form: str) -> Generator[Block]:
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
        # What is left when records must be read one by one is closed at once, down to the file.
        with closing(ahead(_KINDS[form](file, form))) as found:
            for block in found:
                if len(set(block.names)) < len(block.names):
                    raise UnusualError("a name of two columns")
                yield block
    except (ReadError, pa.ArrowException, OSError, EOFError, ValueError, zlib.error, ZstdError) as error:
        raise UnusualError(str(error)) from error


def _chunks(file: RunFile, whole_records: bool = False) -> Generator[bytes]:
    """Yield bytes that end where a line ends; where quotes are counted, not within an open one."""
    with file.open() as stream:
        while chunk := _up_to_line_end(stream, seekable=not file.packed):
            while whole_records and chunk.count(b'"') % 2:
                rest = stream.read(1 << 16)
                if not rest or len(chunk) > 2 * BLOCK_BYTES:
                    raise UnusualError("a quote is not closed")
                chunk += rest + _rest_of_line(stream)
            yield chunk


def _up_to_line_end(stream: IO[bytes], seekable: bool) -> bytes:
    if not seekable:
        chunk = stream.read(BLOCK_BYTES)
        return chunk + _rest_of_line(stream)
    start = stream.tell()  # where the line ends is found first: to join two texts would copy both
    stream.seek(start + BLOCK_BYTES)
    length = BLOCK_BYTES + len(_rest_of_line(stream))
    stream.seek(start)
    return stream.read(length)


def _rest_of_line(stream: IO[bytes]) -> bytes:
    rest = stream.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE:
        raise UnusualError("a line is too long")
    return rest


def _json_blocks(file: RunFile, form: str) -> Generator[Block]:
    first = 1 + file.lines_before
    with closing(_chunks(file)) as chunks:
        start = next(chunks, b"")
        start = start.removeprefix(_MARK) if first == 1 else start
        yield from _line_blocks(file.shown, chain([start], chunks), first)


def _array_blocks(file: RunFile, form: str) -> Generator[Block]:
    with closing(_lines_of_array(file)) as lines:
        yield from _line_blocks(file.shown, lines, 1)


def _lines_of_array(file: RunFile) -> Generator[bytes]:
    """Yield the elements of an array as lines, about as many bytes of them at a time as of other files."""
    lines: list[bytes] = []
    size = 0
    for element in open_document(file, ()).elements(()):
        lines.append(on_one_line(element.text))
        size += len(element.text)
        if size > BLOCK_BYTES:
            yield b"\n".join([*lines, b""])
            lines, size = [], 0
    if lines:
        yield b"\n".join([*lines, b""])


def _line_blocks(shown: str, chunks: Iterator[bytes], number: int) -> Iterator[Block]:
    as_text = frozenset[str]()
    waiting: deque[Future[Lines]] = deque()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while (text := next(chunks, b"")) or waiting:
            if text:
                waiting.append(pool.submit(_read_lines, text, as_text))
            if not text or len(waiting) > AT_ONCE:
                lines = waiting.popleft().result()
                as_text |= lines.as_text
                yield _json_block(shown, lines, number)
                number += lines.newlines


def _read_lines(text: bytes, as_text: frozenset[str]) -> Lines:
    check_width(text)
    return read_lines(text, as_text)


def _json_block(shown: str, lines: Lines, first: int) -> Block:
    if lines.table is None:
        return rows_of(shown, lines.text, first)
    names = tuple(lines.table.column_names)
    numbers = np.arange(first, first + lines.table.num_rows)
    return Block(names, lines.table, numbers, len(lines.text))


def _csv_blocks(file: RunFile, form: str) -> Generator[Block]:
    delimiter = next(mark for mark, name in DELIMITERS.items() if name == form)
    names, line, is_header = csv_header(file, delimiter), 1, True
    with closing(_chunks(file, whole_records=True)) as chunks:
        for chunk in chunks:
            text = chunk.removeprefix(_MARK) if line == 1 else chunk
            starts, numbers = _record_starts(text, ord(delimiter), line)
            line += chunk.count(b"\n")
            if is_header and numbers.size:  # the first record of the file
                text, numbers, is_header = text[starts[1] :] if starts.size > 1 else b"", numbers[1:], False
            if numbers.size:
                yield Block(
                    tuple(names), _csv_columns(text, names, delimiter, numbers.size), numbers, len(chunk)
                )


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


def _arrow_blocks(file: RunFile, form: str) -> Generator[Block]:
    with file.open() as stream:
        first = 1
        for batch in arrow_files.opened(partial(_from_start, stream), form, BLOCK_ROWS)[1]():
            table = plain_types(pa.Table.from_batches([batch]))
            if table.num_rows:
                yield Block(tuple(table.column_names), table, np.arange(first, first + table.num_rows))
            first += table.num_rows


def _from_start(stream: IO[bytes]) -> pa.PythonFile:
    stream.seek(0)
    return pa.PythonFile(stream, mode="r")  # gzip tells its mode as a number


_KINDS: Mapping[str, Callable[[RunFile, str], Generator[Block]]] = {
    "jsonl": _json_blocks, "json array": _array_blocks, **dict.fromkeys(arrow_files.FORMS.values(), _arrow_blocks),
    **dict.fromkeys(DELIMITERS.values(), _csv_blocks),
}  # fmt: skip
FORMS = frozenset(_KINDS)
"""How flat tables may be written."""
