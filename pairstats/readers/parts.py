"""Parts of a table of records, read by themselves, and the one table that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import invariants, schema
from pairstats.readers.columns import EXACT, UnusualError, by_word
from pairstats.readers.drafts import Tally, as_text
from pairstats.readers.pairing import CONTENT, note_idle
from pairstats.readers.replies import RESCORED

_TYPES = {
    c.name: pa.string() if pa.types.is_dictionary(c.type) else pa.int64() if c.name == "repeat" else c.type
    for c in schema.COLUMNS
}


@dataclass(frozen=True, slots=True)
class Stored:
    """Rows that lie on disk, and what is asked of them before they are read again.

    Attributes
    ----------
    path : pathlib.Path
    rows : int
    leaving : frozenset of str
        Further scores that leave [0, 1].
    large : frozenset of str
        Columns with whole numbers that are not all exact as floats.
    """

    path: Path
    rows: int
    leaving: frozenset[str]
    large: frozenset[str]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one file with all their columns.

    Attributes
    ----------
    table : pyarrow.Table
    place : int
        Position of the file in the ledger.
    met : dict of str to tuple of int
        Where each column outside the format is first met: row, and rank among those first met in this row.
    fits : frozenset of str
        Patterns of `exclude` that fit an item.
    identity : pyarrow.Array
        What each row is a copy by: its response id or a digest, or the number of its line, which names it in
        files of one checksum only.
    least_repeat : int or None
        Smallest number of a repeat that may be counted from 1.
    primary : str or None
        Score that became ``score``.
    stored : Stored or None
        Where the rows are, if not in memory.
    size : int
        Bytes of the file that hold them, where that is known.
    item_key : str
        Column of the item table in which every item of the rows was found; empty without one.
    """

    table: pa.Table
    place: int
    met: Mapping[str, tuple[int, int, int]]
    fits: frozenset[str]
    identity: pa.Array
    least_repeat: int | None = None
    primary: str | None = None
    stored: Stored | None = None
    size: int = 0
    item_key: str = ""

    def column(self, name: str) -> pa.ChunkedArray:
        """Column of the part; nulls where it has none."""
        place = self.table.schema.get_field_index(name)  # a list of all names would be made for each
        if place >= 0:
            return self.table.column(place)
        return pa.chunked_array([pa.nulls(self.table.num_rows)])


def join(
    parts: Sequence[Part], tallies: list[Tally], score_range: tuple[float, float], exclude: Sequence[str]
) -> tuple[pa.Table, np.ndarray]:
    """Make one valid table of parts.

    Parameters
    ----------
    parts : sequence of Part
    tallies : list of Tally
    score_range : tuple of float
    exclude : sequence of str
        Patterns; idle ones are noted.

    Returns
    -------
    tuple of pyarrow.Table, numpy.ndarray
        The table, and the position in the ledger of every row's file.

    Raises
    ------
    UnusualError
        When the rows contradict each other.
    SchemaError
        When they break the format.
    """
    if not any(part.table.num_rows for part in parts):
        raise UnusualError("no row is left")
    check_scores(parts)
    renamed = renamed_of(map(leaving_unit, parts))
    by = shifts(parts)
    parts = _merged([shifted(part, by) for part in parts], tallies)
    fits = frozenset[str]().union(*(part.fits for part in parts))
    note_idle([pattern for pattern in exclude if pattern not in fits], tallies)
    names = (*schema.NAMES, *order_of(((part, part.table.num_rows) for part in parts), renamed))
    old = {new: name for name, new in renamed.items()}
    columns = {name: _joined(name, [part.column(old.get(name, name)) for part in parts]) for name in names}
    table = invariants.validate(pa.table(columns), score_range=score_range, keys_differ=True)
    return table, np.repeat([part.place for part in parts], [part.table.num_rows for part in parts])


def check_scores(parts: Iterable[Part]) -> None:
    """Make sure that one score is primary throughout."""
    if len({part.primary for part in parts if part.primary is not None}) > 1:
        raise UnusualError("several scores")


def shifts(parts: Iterable[Part]) -> dict[int, int]:
    """By file, what is to be taken from repeats that are counted from 1."""
    least: dict[int, int] = {}
    for part in parts:
        if part.least_repeat is not None:
            least[part.place] = min(part.least_repeat, least.get(part.place, part.least_repeat))
    return {place: 1 for place, repeat in least.items() if repeat == 1}


def shifted(part: Part, by: Mapping[int, int]) -> Part:
    """Count repeats from 0."""
    if part.place not in by:
        return part
    index = part.table.column_names.index("repeat")
    lower = pc.subtract(part.column("repeat"), by[part.place])
    return replace(part, table=part.table.set_column(index, "repeat", lower))


def leaving_unit(part: Part) -> frozenset[str]:
    """Further scores of a part that leave [0, 1]."""
    return frozenset(name for name in part.met if schema.is_score(name) and _leaves_unit(part.column(name)))


def renamed_of(leaving: Iterable[frozenset[str]]) -> dict[str, str]:
    """Further scores that leave [0, 1] in a part, and their names as the measurements that they are."""
    return {name: "value_" + name.removeprefix("score_") for names in leaving for name in sorted(names)}


def _leaves_unit(values: pa.ChunkedArray) -> bool:
    found = pc.min_max(values).as_py()
    return any(v is not None and schema.within(v, (0.0, 1.0)) is None for v in found.values())


def order_of(parts: Iterable[tuple[Part, int]], renamed: Mapping[str, str]) -> list[str]:
    """Columns outside the format in the order in which rows hold them.

    Parameters
    ----------
    parts : iterable of tuple of Part, int
        Parts, and their numbers of rows.
    renamed : mapping of str to str
    """
    found: dict[str, tuple[int, int, int]] = {}
    offset = 0
    for part, rows in parts:
        for name, (row, rank, place) in part.met.items() if rows else ():
            rank = 3 if name == RESCORED else 2 if name in renamed else rank
            key, new = (offset + row, rank, place), renamed.get(name, name)
            found[new] = min(key, found.get(new, key))
        offset += rows
    return sorted(found, key=found.__getitem__)


def _merged(parts: Sequence[Part], tallies: list[Tally]) -> list[Part]:
    """Keep one of every row that was read twice.

    Raises
    ------
    UnusualError
        When rows share a key and are not copies of each other, which takes a message that shows both.
    """
    keys = pa.table({name: _joined(name, [part.column(name) for part in parts]) for name in schema.KEY})
    codes = invariants.key_codes(keys)
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(np.diff(codes[order]) == 0) + 1
    if not again.size:
        return list(parts)
    one, two = order[again - 1], order[again]
    if any(tally.nan_to_null for tally in tallies):
        raise UnusualError("copies of rows that hold NaN")
    sizes = [part.table.num_rows for part in parts]
    ends = np.cumsum(sizes)
    names = [_identities(parts, ends, rows, tallies) for rows in (one, two)]
    if names[0] != names[1]:
        raise UnusualError("rows with one key")
    _check_same(parts, one, two)
    kept = np.ones(codes.size, dtype=bool)
    kept[two] = False
    found = []
    for part, mask in zip(parts, np.split(kept, ends[:-1]), strict=True):
        tallies[part.place].merged += int((~mask).sum())
        if mask.any() and not all(mask[row] for row, _, _ in part.met.values()):
            raise UnusualError("a copy that first holds a column")
        met = {name: (int(mask[:row].sum()), rank, place) for name, (row, rank, place) in part.met.items()}
        found.append(replace(part, table=part.table.filter(pa.array(mask)), met=met))
    return found


def _identities(
    parts: Sequence[Part], ends: np.ndarray, rows: np.ndarray, tallies: list[Tally]
) -> list[tuple[str, object]]:
    """What some rows, counted through all parts, are copies by."""
    found = []
    for row, place in zip(rows, np.searchsorted(ends, rows, side="right"), strict=True):
        part = parts[place]
        identity = part.identity[int(row - ends[place]) + part.table.num_rows].as_py()
        of_file = "" if isinstance(identity, str) else tallies[part.place].content_sha256()
        found.append((of_file, identity))
    return found


def key_table(part: Part) -> pa.Table:
    """Give the columns of the key."""
    return pa.table({name: in_type(part.column(name), _TYPES[name]) for name in schema.KEY})


def _check_same(parts: Sequence[Part], one: np.ndarray, two: np.ndarray) -> None:
    names = dict.fromkeys((*CONTENT, *(n for part in parts for n in part.met if schema.is_score(n))))
    for name in names:
        values = _joined(name, [part.column(name) for part in parts])
        if not values.take(pa.array(one)).equals(values.take(pa.array(two))):
            raise UnusualError("copies that differ")


def _joined(name: str, columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """One column of its parts, in the type that all values of all parts have together."""
    kind = common_type(name, (column.type for column in columns), lambda: any(map(holds_large, columns)))
    return pa.chunked_array([chunk for column in columns for chunk in in_type(column, kind).chunks], kind)


def common_type(name: str, types: Iterable[pa.DataType], some_large: Callable[[], bool]) -> pa.DataType:
    """Find the type of a column from the types of its parts.

    Parameters
    ----------
    name : str
    types : iterable of pyarrow.DataType
    some_large : callable
        Says whether a part holds whole numbers that are not exact as floats.

    Raises
    ------
    UnusualError
        When only all values together tell it.
    """
    kinds = {kind for kind in types if not pa.types.is_null(kind)}
    if name in _TYPES:
        return _TYPES[name]
    if schema.is_score(name):
        return pa.float64()
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {pa.int64(), pa.float64()}:
        if some_large():
            raise UnusualError("large whole numbers among fractions")
        return pa.float64()
    if not kinds <= {pa.int64(), pa.float64(), pa.bool_(), pa.string()}:
        raise UnusualError("numbers of no common type")
    return pa.string()


def in_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Give a column in a type, numbers as the text that `as_text` writes."""
    try:
        if pa.types.is_string(kind) and pa.types.is_floating(column.type):
            return by_word(column, as_text, kind)
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnusualError(str(error)) from error


def holds_large(column: pa.ChunkedArray) -> bool:
    """Whether a column holds whole numbers that are not all exact as floats."""
    if not pa.types.is_int64(column.type):
        return False
    return any(v is not None and abs(v) >= EXACT for v in pc.min_max(column).as_py().values())
