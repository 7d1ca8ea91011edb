"""What must hold in every table of the paired long format, checked at once: all failures, not only the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairstats.arguments import checked
from pairstats.errors import SchemaError, counted, listed
from pairstats.schema import IDS, KEY, MISSING, NAMES, STATUSES, conform, is_score, outside, within
from pairstats.spelling import told, twins
from pairstats.threads import MANY, side_by_side

_MUST_BE_WRITTEN = ("family", "item", "model", "status")
_UNIT_RANGE = (0.0, 1.0)


def faults(
    table: pa.Table, *, score_range: tuple[float, float] = (0.0, 1.0), lacking: Sequence[str] = (),
    keys_differ: bool = False,
) -> list[str]:  # fmt: skip
    """Find every way in which a table breaks the format.

    Parameters
    ----------
    table : pyarrow.Table
        A table as `conform` returns it.
    score_range : tuple of float, default (0, 1)
        Declared range of the scores.
    lacking : sequence of str
        Columns without a default that the table did not have before `conform` made them blank.
    keys_differ : bool, default False
        Whether it is known that no key occurs twice.

    Returns
    -------
    list of str
        One sentence a failure, with the first rows (counted from 0, and by their `source` where they have
        one) and the number of them.
    """
    names = tuple(dict.fromkeys((*_MUST_BE_WRITTEN, *IDS)))
    values = dict(zip(names, side_by_side(partial(_values, table), names, table.num_rows), strict=True))
    return [
        *(f"column {name!r} is missing" + _WHAT_FOR.get(name, "") for name in lacking),
        *_missing_columns(table),
        *_blank_ids(table, lacking, values),
        *_spelling_twins(table, values),
        *_bad_words(table, values["status"]),
        *_out_of_range(table, score_range),
        *_scored_without_answer(table, values["status"]),
        *([] if keys_differ else _duplicate_keys(table)),
    ]


_WHAT_FOR = {
    "family": ": it names the unit that is resampled (the item itself, where each is its own unit)",
    "status": f": it is one of {', '.join(STATUSES)}",
}


@checked
def validate(
    table: pa.Table, *, score_range: tuple[float, float] = (0.0, 1.0), keys_differ: bool = False
) -> pa.Table:
    """Conform a table to the paired long format and check every invariant at once.

    Parameters
    ----------
    table : pyarrow.Table
    score_range : tuple of float, default (0, 1)
        Declared range of the scores.
    keys_differ : bool, default False
        Whether the caller has made sure that no key occurs twice.

    Returns
    -------
    pyarrow.Table
        The table with the format's columns, types and defaults.

    Raises
    ------
    SchemaError
        With all failures, not only the first; ``error.findings`` lists them.

    Examples
    --------
    >>> rows = {"family": ["f", "f"], "item": ["q", "q"], "model": ["m", "m"], "status": ["answered"] * 2}
    >>> validate(pa.table(rows))
    Traceback (most recent call last):
        ...
    pairstats.errors.SchemaError: The records break the paired long format in 1 way...
    """
    lacking = [name for name in _MUST_BE_WRITTEN if name not in table.column_names]
    conformed = _clipped(conform(table), score_range)
    found = faults(conformed, score_range=score_range, lacking=lacking, keys_differ=keys_differ)
    if found:
        ways = "1 way" if len(found) == 1 else f"{len(found)} ways"
        raise SchemaError(
            f"The records break the paired long format in {ways}:\n- " + "\n- ".join(found), found
        )
    return conformed


def _missing_columns(table: pa.Table) -> Iterator[str]:
    absent = [name for name in NAMES if name not in table.column_names]
    if absent:
        yield f"columns are missing: {listed(absent, 30)}"


def _ranges(table: pa.Table, score_range: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """Range of every column that has one."""
    ranges = {name: score_range for name in table.column_names if is_score(name)}
    return ranges | ({"confidence": _UNIT_RANGE} if "confidence" in table.column_names else {})


def _clipped(table: pa.Table, score_range: tuple[float, float]) -> pa.Table:
    """Set to its limit what only rounding put outside its range."""
    for name, limits in _ranges(table, score_range).items():
        values = table.column(name)
        found = pc.min_max(values).as_py()
        if found["min"] is None or (found["min"] >= limits[0] and found["max"] <= limits[1]):
            continue
        clipped = [None if v is None else v if (near := within(v, limits)) is None else near
                   for v in values.to_pylist()]  # fmt: skip
        place = table.column_names.index(name)
        table = table.set_column(place, table.schema.field(name), pa.chunked_array([clipped], pa.float64()))
    return table


def _rows(mask: Any) -> list[int]:
    """Rows where the mask holds. NumPy finds them: some releases of Arrow crash on an empty chunked mask."""
    rows: list[int] = np.flatnonzero(np.asarray(pc.fill_null(mask, False), dtype=bool)).tolist()
    return rows


def _at(rows: Sequence[int], table: pa.Table) -> str:
    """Name the first rows, by their source too, which is how they are called in the raw files."""
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    sources = _plain(table, "source") if "source" in table.column_names else None
    shown = []
    for row in rows[:3]:
        source = None if sources is None else sources[row].as_py()
        shown.append(f"{row} ({source})" if source else str(row))
    return ("row " if len(rows) == 1 else "rows ") + ", ".join(shown) + more


def _plain(table: pa.Table, name: str) -> pa.ChunkedArray:
    values = table.column(name)
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _values(table: pa.Table, name: str) -> pa.Array:
    """Different values of a column, and perhaps some that no row has any more: enough to see that all is well."""
    column = table.column(name) if name in table.column_names else pa.chunked_array([], pa.string())
    if not pa.types.is_dictionary(column.type):
        return pc.unique(column)
    words = [chunk.dictionary for chunk in column.chunks]
    return pc.unique(pa.chunked_array(words, column.type.value_type))


def _blank_ids(table: pa.Table, lacking: Sequence[str], values: Mapping[str, pa.Array]) -> Iterator[str]:
    for name in _MUST_BE_WRITTEN:
        blank = pc.any(pc.equal(pc.utf8_trim_whitespace(values[name]), "")).as_py()
        if blank and name in table.column_names and name not in lacking:
            rows = _rows(pc.equal(pc.utf8_trim_whitespace(_plain(table, name)), ""))
            if rows:
                yield f"'{name}' is blank in {_at(rows, table)}"
    if "repeat" in table.column_names:
        rows = _rows(pc.less(table.column("repeat"), 0))
        if rows:
            yield f"'repeat' counts from 0, but is negative in {_at(rows, table)}"


def _spelling_twins(table: pa.Table, values: Mapping[str, pa.Array]) -> Iterator[str]:
    """Find names that look alike and would still be two: they would not pair, without a word."""
    for name in _odd_names(values, table.num_rows):
        column = _plain(table, name)
        found = twins(pc.unique(column).to_pylist())
        if found:
            rows = [row for each in found[0] for row in _rows(pc.equal(column, each))[:1]]
            yield f"'{name}' must spell a name in one way, but {told(name, found, _at(rows, table))}"


def _odd_names(values: Mapping[str, pa.Array], rows: int) -> list[str]:
    """Columns of names of which not all are plain."""
    parts = [(name, first) for name in IDS for first in range(0, len(values[name]), MANY)]

    def is_odd(part: tuple[str, int]) -> bool:
        names = values[part[0]].slice(part[1], MANY)
        return pc.all(pc.match_substring_regex(names, PLAIN_NAME)).as_py() is False

    odd = {name for (name, _), yes in zip(parts, side_by_side(is_odd, parts, rows), strict=True) if yes}
    return [name for name in IDS if name in odd]


def _bad_words(table: pa.Table, values: pa.Array) -> Iterator[str]:
    if "status" not in table.column_names:
        return
    allowed = pa.array([*STATUSES, ""])
    if pc.all(pc.is_in(values, value_set=allowed)).as_py() is not False:
        return
    status = _plain(table, "status")
    known = pc.is_in(status, value_set=allowed)
    rows = _rows(pc.invert(known))
    if rows:
        found = sorted(set(status.take(pa.array(rows)).to_pylist()))
        yield f"'status' must be one of {', '.join(STATUSES)}, but is {listed(found)} in {_at(rows, table)}"


def _out_of_range(table: pa.Table, score_range: tuple[float, float]) -> Iterator[str]:
    for name, limits in _ranges(table, score_range).items():
        low, high = limits
        values = table.column(name)
        finite = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
        rows = _rows(pc.and_(pc.is_valid(values), pc.invert(pc.fill_null(finite, False))))
        if rows:
            ends = pc.min_max(values.take(pa.array(rows)).drop_null()).as_py()
            yield outside(name, limits, _at(rows, table), ends["min"], ends["max"])


def _scored_without_answer(table: pa.Table, values: pa.Array) -> Iterator[str]:
    if not {"status", "score"} <= set(table.column_names):
        return
    lost = pa.array(MISSING)
    if not pc.any(pc.is_in(values, value_set=lost)).as_py():
        return
    missing = pc.is_in(_plain(table, "status"), value_set=lost)
    rows = _rows(pc.and_(missing, pc.is_valid(table.column("score"))))
    if rows:
        yield f"a row with status 'error' or 'absent' must have no score, but has one in {_at(rows, table)}"


PLAIN_NAME = r"^[0-9A-Za-z]([ -~]*[0-9A-Za-z])?$"
"""What `spelling.plain_name` leaves as it is."""


def key_codes(keys: pa.Table) -> np.ndarray:
    """Give every row a number that equals that of another row where their keys are equal.

    Parameters
    ----------
    keys : pyarrow.Table
        The columns of `KEY`.

    Returns
    -------
    numpy.ndarray
        Whole numbers; exact, not hashed.

    Examples
    --------
    >>> rows = {**dict.fromkeys(KEY, ["", "", ""]), "item": ["q1", "q2", "q1"]}
    >>> codes = key_codes(pa.table(rows))
    >>> bool(codes[0] == codes[2]), bool(codes[0] == codes[1])
    (True, False)
    """
    codes, size = np.zeros(keys.num_rows, dtype=np.int64), 1
    columns = [keys.column(name) for name in KEY]
    for name, (values, indices) in zip(KEY, side_by_side(encoded, columns, keys.num_rows), strict=True):
        kinds = len(values) + 1
        if kinds == 1 or (kinds == 2 and not keys.column(name).null_count):
            continue
        if size * kinds >= 2**62:
            unique, codes = np.unique(codes, return_inverse=True)
            size = len(unique)
        codes = codes * kinds + np.concatenate([pc.fill_null(part, kinds - 1) for part in indices])
        size *= kinds
    return codes


def encoded(column: pa.ChunkedArray) -> tuple[pa.Array, list[pa.Array]]:
    """Give the different values of a column, and in chunks the place of each row's value among them.

    Examples
    --------
    >>> values, places = encoded(pa.chunked_array([["a", "b"], ["a", None]]))
    >>> values.to_pylist(), [place.to_pylist() for place in places]
    (['a', 'b'], [[0, 1], [0, None]])
    """
    chunks = column.dictionary_encode().chunks
    values = max((chunk.dictionary for chunk in chunks), key=len, default=pa.array([], column.type))
    return values, [chunk.indices for chunk in chunks]


def _some_equal(codes: np.ndarray) -> bool:
    ordered = np.sort(codes)
    return bool((ordered[1:] == ordered[:-1]).any())


def _duplicate_keys(table: pa.Table) -> Iterator[str]:
    if not set(KEY) <= set(table.column_names):
        return
    keys = pa.table({name: _plain(table, name) for name in KEY})
    if not _some_equal(key_codes(keys)):
        return
    ones = keys.append_column("n", pa.array([1] * keys.num_rows, pa.int64()))
    groups = ones.group_by(list(KEY)).aggregate([("n", "sum")])
    twice = groups.filter(pc.greater(groups.column("n_sum"), 1))
    if not twice.num_rows:
        return
    first = {name: twice.column(name)[0].as_py() for name in KEY}
    mask = None
    for name, value in first.items():
        same = pc.equal(keys.column(name), pa.scalar(value, keys.column(name).type))
        mask = same if mask is None else pc.and_(mask, same)
    shown = ", ".join(f"{name}={value!r}" for name, value in first.items() if value != "")
    occur = f"{counted(twice.num_rows, 'key')} {'occurs' if twice.num_rows == 1 else 'occur'}"
    yield f"{occur} more than once; the first, {shown}, in {_at(_rows(mask), table)}"
