"""Records straight to a Parquet file, a part at a time, so that memory does not grow with the input.

Parts are laid on disk as they are read. What only all of them together tell (which columns there are, of which
type, whether a key occurs twice) is gathered in two further passes, with 24 bytes a row on disk for the keys.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from pairstats import invariants, schema
from pairstats.errors import SchemaError
from pairstats.readers import attempts, pairing
from pairstats.readers.columns import UnusualError
from pairstats.readers.differing import clash_of
from pairstats.readers.drafts import Draft, Tally, counted, ledger, left_out_frame, no_counts
from pairstats.readers.files import Given
from pairstats.readers.keys import KeysOnDisk
from pairstats.readers.parts import (
    Part,
    Stored,
    check_scores,
    common_type,
    holds_large,
    in_type,
    key_table,
    leaving_unit,
    order_of,
    renamed_of,
    shifted,
    shifts,
)  # fmt: skip
from pairstats.readers.pieces import Piece, gathered, tasks_of
from pairstats.readers.progress import progress_of
from pairstats.readers.reading import Reading
from pairstats.readers.whole import raws
from pairstats.readers.workers import run
from pairstats.records import file as records_file
from pairstats.spelling import plain_name, told, twins
from pairstats.threads import ahead

_IDENTITY = "\0identity"
_TOLD = {"status": pa.string(), "reason": pa.string(), "score": pa.float64()}
"""Columns that the ledger tells of."""


def stream_runs(
    files: Sequence[Given], reading: Reading, path: Path, progress: bool | None, workers: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read files and write their records to Parquet.

    Parameters
    ----------
    files : sequence of Given
    reading : Reading
    path : pathlib.Path
        Parquet file to write; it appears when it is whole.
    progress : bool or None
    workers : int

    Returns
    -------
    tuple of pandas.DataFrame
        Ledger, and records left out.

    Raises
    ------
    UnusualError
        When the records of all files must be known to read them.
    PairingError
        When two records share a key.
    """
    with tempfile.TemporaryDirectory(prefix=".pairstats-", dir=path.absolute().parent) as folder:
        laid = partial(_laid_on_disk, Path(folder))
        pieces: list[Piece] = []
        records = 0
        with progress_of(files, progress) as bar:
            sink = laid if workers > 1 else bar.watching(laid)
            for piece in run(tasks_of(files, reading, True, workers > 1), reading, workers, sink):
                pieces.append(piece)
                records += piece.tally.records
                span = piece.span
                bar.update(piece.place + (span is None), records, 0 if span is None else span[1])
        parts, tallies = gathered(pieces, files, reading)
        if not any(_rows(part) for part in parts):
            raise UnusualError("no row is left")
        written = Path(folder, "records.parquet")
        account = _Writing(files, reading, parts, tallies, Path(folder)).write(written)
        os.replace(written, path)
        return account


def _laid_on_disk(folder: Path, part: Part) -> Part:
    """Write the rows of a part to a file of their own."""
    handle, name = tempfile.mkstemp(dir=folder, suffix=".arrow")
    table = part.table.append_column(_IDENTITY, pa.chunked_array([part.identity]))
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with os.fdopen(handle, "wb") as stream, pa.ipc.new_file(stream, table.schema, options=options) as writer:
        writer.write_table(table)
    large = frozenset(name for name in part.met if holds_large(part.column(name)))
    stored = Stored(Path(name), part.table.num_rows, leaving_unit(part), large)
    return replace(part, table=part.table.schema.empty_table(), identity=part.identity[:0], stored=stored)


def _load(part: Part) -> Part:
    if part.stored is None or not part.stored.rows:
        return part
    with part.stored.path.open("rb") as stream:
        table = pa.ipc.open_file(stream).read_all()
    identity = pa.concat_arrays(table.column(_IDENTITY).chunks)
    return replace(part, table=table.drop_columns([_IDENTITY]), identity=identity)


def _rows(part: Part) -> int:
    return part.table.num_rows if part.stored is None else part.stored.rows


class _Writing:
    """Parts on disk on their way to one file."""

    def __init__(
        self, files: Sequence[Given], reading: Reading, parts: list[Part], tallies: list[Tally], folder: Path
    ) -> None:
        self.files, self.reading, self.parts, self.tallies = files, reading, parts, tallies
        self.shifts = shifts(parts)
        self.keys = KeysOnDisk(folder)
        self.counts = no_counts(len(tallies))
        self.odd: dict[str, set[str]] = {name: set() for name in schema.IDS}

    def loaded(self) -> Generator[Part]:
        """Parts with their rows, one after the other."""
        return ahead(shifted(_load(part), self.shifts) for part in self.parts)

    def write(self, path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Check what needs all rows, then write them."""
        check_scores(self.parts)
        for part in self.loaded():
            self._look(part)
        dropped = self._copies()
        if dropped.size:
            self._count_again(dropped)
        self._check_spelling()
        fits = frozenset[str]().union(*(part.fits for part in self.parts))
        pairing.note_idle([p for p in self.reading.exclude if p not in fits], self.tallies)
        return self._write_rows(path, dropped)

    def _count(self, part: Part, mask: np.ndarray) -> None:
        rows = pa.table({name: in_type(part.column(name), kind) for name, kind in _TOLD.items()})
        places = np.full(int(mask.sum()), part.place)
        self.counts.add(counted(rows.filter(pa.array(mask)), places, len(self.tallies)))

    def _count_again(self, dropped: np.ndarray) -> None:
        """Count without the copies of rows of other files."""
        self.counts, first = no_counts(len(self.tallies)), 0
        for part in self.loaded():
            mask = _kept(part, dropped - first)
            first += mask.size
            self._count(part, mask)

    def _look(self, part: Part) -> None:
        self._count(part, np.ones(part.table.num_rows, dtype=bool))
        self.keys.add(key_table(part))
        for name, odd in self.odd.items():
            values = pc.unique(in_type(part.column(name), pa.string()))
            plain = pc.fill_null(pc.match_substring_regex(values, invariants.PLAIN_NAME), True)
            odd.update(values.filter(pc.invert(plain)).to_pylist())
            odd.discard("")  # which is no name, and written in one way only

    def _copies(self) -> np.ndarray:
        """Rows that were read twice, counted through all parts; refuses different rows of one key."""
        pairs = sorted(self.keys.twice(), key=lambda pair: pair[1])
        if not pairs:
            return np.array([], dtype=np.int64)
        drafts = self._drafts({row for pair in pairs for row in pair})
        twice = [
            (drafts[one], drafts[two], two)
            for one, two in pairs
            if all(drafts[one].fields[name] == drafts[two].fields[name] for name in schema.KEY)
        ]
        clashes = [(one, two) for one, two, _ in twice if one.identity != two.identity]
        if not all(attempts.is_reply(draft) for clash in clashes for draft in clash):
            raise UnusualError("perhaps attempts of one request")
        if clashes:
            again = partial(raws, self.files, self.reading)
            raise clash_of(clashes, again, self.tallies)
        for one, two, _ in twice:
            pairing.check_same(one, two)
            self.tallies[two.file].merged += 1
        if any(tally.nan_to_null for tally in self.tallies):
            raise UnusualError("copies of rows that hold NaN")
        return np.array([row for _, _, row in twice], dtype=np.int64)

    def _drafts(self, rows: set[int]) -> dict[int, Draft]:
        """Give some rows as drafts, as messages about them need them."""
        wanted, first = np.array(sorted(rows)), 0
        found: dict[int, Draft] = {}
        for part in self.loaded():
            here = wanted[(wanted >= first) & (wanted < first + _rows(part))]
            places = pa.array(here - first)
            copies = part.identity.take(places).to_pylist()
            for row, copy, values in zip(
                here.tolist(), copies, part.table.take(places).to_pylist(), strict=True
            ):
                name = (
                    copy if isinstance(copy, str) else f"{self.tallies[part.place].content_sha256()}:{copy}"
                )
                fields = dict.fromkeys(schema.NAMES) | values
                found[row] = Draft(part.place, fields["source"], name, fields, {}, {})
            first += _rows(part)
        return found

    def _check_spelling(self) -> None:
        """Refuse names that look alike, of which one at least has something that does not show."""
        faults = []
        for name, odd in self.odd.items():
            if not odd:
                continue
            suspects = pa.array(sorted(odd | {plain_name(each) for each in odd}), pa.string())
            sources: dict[str, str] = {}
            for part in self.loaded():
                values = in_type(part.column(name), pa.string())
                mask = pc.is_in(values, value_set=suspects)
                found = (values.filter(mask).to_pylist(), part.column("source").filter(mask).to_pylist())
                for each, source in zip(*found, strict=True):
                    sources.setdefault(each, source)
            alike = twins(sources)
            if alike:
                where = ", ".join(sources[each] for each in alike[0][:3])
                faults.append(f"{name!r} must spell a name in one way, but {told(name, alike, where)}")
        if faults:
            ways = "1 way" if len(faults) == 1 else f"{len(faults)} ways"
            shown = "\n- ".join(faults)
            raise SchemaError(f"The records break the paired long format in {ways}:\n- {shown}", faults)

    def _write_rows(self, path: Path, dropped: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
        # A score that `extra` names is called as the user called it, and must keep its range.
        mapped = self.reading.columns.keys()
        renamed = renamed_of(part.stored.leaving - mapped for part in self.parts if part.stored is not None)
        old = {new: name for name, new in renamed.items()}
        further = order_of(((part, _rows(part)) for part in self.parts), renamed)
        names = {name: old.get(name, name) for name in (*schema.NAMES, *further)}
        types = {name: self._type(was) for name, was in names.items()}
        account = ledger(self.counts, self.tallies), left_out_frame(self.tallies)
        told_of_all = records_file.account_of(*account, self.reading.score_range)
        writer: pq.ParquetWriter | None = None
        try:
            for table in ahead(self._tables(dropped, names, types)):
                table = table.replace_schema_metadata({**table.schema.metadata, **told_of_all})
                writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
        return account

    def _tables(
        self, dropped: np.ndarray, names: Mapping[str, str], types: Mapping[str, pa.DataType]
    ) -> Generator[pa.Table]:
        """Give the rows of every part in the format."""
        first = 0
        for part in self.loaded():
            mask = _kept(part, dropped - first)
            first += mask.size
            columns = {name: in_type(part.column(was), types[name]) for name, was in names.items()}
            rows = pa.table(columns).filter(pa.array(mask))
            yield invariants.validate(rows, score_range=self.reading.score_range, keys_differ=True)

    def _type(self, name: str) -> pa.DataType:
        some_large = any(part.stored is not None and name in part.stored.large for part in self.parts)
        return common_type(
            name, [part.column(name).type for part in self.parts if _rows(part)], lambda: some_large
        )


def _kept(part: Part, dropped: np.ndarray) -> np.ndarray:
    """Rows of a part that are no copies."""
    mask = np.ones(part.table.num_rows, dtype=bool)
    mask[dropped[(dropped >= 0) & (dropped < mask.size)]] = False
    if mask.any() and not all(mask[row] for row, _, _ in part.met.values()):
        raise UnusualError("a copy that first holds a column")
    return mask
