"""Whether lines of JSON make a table that fits in memory: Arrow keeps a cell for every key at every object."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from pairstats.errors import ReadError
from pairstats.readers.columns import UnusualError
from pairstats.readers.json_columns import DEEPEST
from pairstats.readers.jsonlines import parse_object

MOST_CELLS = 1 << 25
"""Cells of a block, of 4 to 8 bytes each. Where all objects have the same keys, no block has so many."""
_SAMPLES = (8, 32, 128, 512, 2048, 8192)
_ENOUGH = 512
"""Lines among which no new key says that there are none."""


def check_width(text: bytes) -> None:
    r"""Refuse lines of which most have keys of their own, as maps by document have.

    A key that one object has is a cell of all others. So the cells a line are counted in larger and larger samples:
    if they are more in each, they will be more again in all lines.

    Parameters
    ----------
    text : bytes
        Lines of JSON.

    Raises
    ------
    UnusualError
        When there would be too many cells.

    Examples
    --------
    >>> check_width(b'{"a": 1}\n' * 1000)
    >>> check_width(b"".join(b'{"a%d": 1}\n' % n for n in range(20_000)))
    Traceback (most recent call last):
        ...
    pairstats.readers.columns.UnusualError: very many keys
    """
    rows = _rows(text)
    seen = [(0, 0.0)]
    for size in (size for size in _SAMPLES if 4 * size <= rows):
        lines = _spread(text, size)
        table = _parsed(lines) if lines else None
        if table is None:
            return
        seen.append((len(lines), sum(map(_cells, table.columns)) / len(lines)))
        if _expected(seen, min(4 * size, rows)) > MOST_CELLS:
            raise UnusualError("very many keys")
        if size >= _ENOUGH and seen[-1][1] <= seen[-2][1]:
            break
    if _expected(seen, rows) > MOST_CELLS:
        raise UnusualError("very many keys")


def _rows(text: bytes) -> int:
    """Estimate the number of lines, which to count would take longer than all the rest."""
    lengths = [len(line) + 1 for line in _spread(text, _SAMPLES[0])] or [len(text) + 1]
    return int(len(text) * sum(1 / length for length in lengths) / len(lengths)) + 1


def _expected(seen: list[tuple[int, float]], rows: int) -> float:
    """Cells of so many lines, by the cells a line of two samples."""
    (few, less), (many, more) = seen[-2:] if len(seen) > 2 else (seen[-1], seen[-1])
    growth = max(0.0, more - less) / (many - few) if many > few else 0.0
    return rows * (more + growth * (rows - many))


def _spread(text: bytes, size: int) -> list[bytes]:
    """Lines at places spread evenly, so that a long one is found the more surely."""
    places = np.linspace(0, len(text) - 1, size).astype(int).tolist()
    starts = dict.fromkeys(text.rfind(b"\n", 0, place) + 1 for place in places)
    ends = (text.find(b"\n", start) for start in starts)
    lines = (text[start : end if end >= 0 else None] for start, end in zip(starts, ends, strict=True))
    return [line for line in lines if line.strip() and _is_shallow(line)]


def _is_shallow(line: bytes) -> bool:
    """Whether Arrow, which recurs without a bound, may be given a line: `json_columns` refuses the others."""
    if line.count(b"{") + line.count(b"[") <= DEEPEST:
        return True
    try:
        parse_object(line, "")
    except ReadError:
        return False
    return True


def _parsed(lines: list[bytes]) -> pa.Table | None:
    text = b"\n".join(lines)
    try:
        options = pa_json.ReadOptions(block_size=len(text) + 1, use_threads=False)
        return pa_json.read_json(pa.BufferReader(text), read_options=options)
    except pa.ArrowException:
        return None


def _cells(values: pa.Array | pa.ChunkedArray) -> int:
    """Cells of a column and of all that is nested in it."""
    if isinstance(values, pa.ChunkedArray):
        return sum(map(_cells, values.chunks))
    kind, inner = values.type, []
    if pa.types.is_struct(kind):
        inner = [values.field(place) for place in range(kind.num_fields)]
    elif pa.types.is_list(kind):
        inner = [values.values]
    return len(values) + sum(map(_cells, inner))
