"""Keys of rows as 128-bit digests on disk, to find those that occur twice without holding them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import invariants, schema

BUCKETS = 64
_SEEDS = ("pairstats key 01", "pairstats key 02")
_ROW = np.dtype([("one", np.uint64), ("two", np.uint64), ("row", np.uint64)])
_MIX = np.uint64(0x9E3779B97F4A7C15)


def digests(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Two independent 64-bit digests of every row's key.

    Examples
    --------
    >>> rows = {**dict.fromkeys(schema.KEY, ["", "", ""]), "item": ["q1", "q2", "q1"], "repeat": [0, 0, 0]}
    >>> one, two = digests(pa.table(rows))
    >>> bool(one[0] == one[2] and two[0] == two[2]), bool(one[0] == one[1])
    (True, False)
    """
    found = [np.zeros(table.num_rows, dtype=np.uint64) for _ in _SEEDS]
    for name in schema.KEY:
        values, places = invariants.encoded(table.column(name).cast(pa.string()))
        words = np.array(pc.fill_null(values, "").to_pylist() or [""], dtype=object)
        codes = (
            np.concatenate([np.asarray(place) for place in places]) if places else np.zeros(0, dtype=np.int32)
        )
        for digest, seed in zip(found, _SEEDS, strict=True):
            hashed = pd.util.hash_array(words, hash_key=seed, categorize=False)
            digest *= _MIX
            digest ^= hashed[codes]
            digest ^= digest >> np.uint64(29)
    return found[0], found[1]


class KeysOnDisk:
    """Digests of all keys, laid in files by their first bits, so that one file is looked through at a time."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / f"keys-{number:02}" for number in range(BUCKETS)]
        self._rows = 0

    def add(self, table: pa.Table) -> None:
        """Add the rows of a table, which are counted on."""
        one, two = digests(table)
        rows = np.empty(one.size, dtype=_ROW)
        rows["one"], rows["two"] = one, two
        rows["row"] = np.arange(self._rows, self._rows + one.size, dtype=np.uint64)
        bucket = (one >> np.uint64(58)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(BUCKETS + 1))
        for path, first, end in zip(self._paths, ends[:-1], ends[1:], strict=True):
            if end > first:
                with path.open("ab") as stream:
                    stream.write(rows[order[first:end]].tobytes())
        self._rows += one.size

    def twice(self) -> Iterator[tuple[int, int]]:
        """Yield, for each row whose digest an earlier one has, the first such row and itself."""
        for path in self._paths:
            if not path.exists():
                continue
            rows = np.fromfile(path, dtype=_ROW)
            rows = rows[np.lexsort((rows["row"], rows["two"], rows["one"]))]
            new = np.ones(rows.size, dtype=bool)
            new[1:] = (rows["one"][1:] != rows["one"][:-1]) | (rows["two"][1:] != rows["two"][:-1])
            first = np.maximum.accumulate(np.where(new, np.arange(rows.size), 0))
            again = np.flatnonzero(~new)
            yield from zip(rows["row"][first[again]].tolist(), rows["row"][again].tolist(), strict=True)
