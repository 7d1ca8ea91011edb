"""From run files of any size to a file of records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pairstats.errors import PairingError, ReadError, SchemaError
from pairstats.readers.base import RunFile
from pairstats.readers.collect import asked, read_runs
from pairstats.readers.columns import UnusualError
from pairstats.readers.files import Given, Paths
from pairstats.readers.stream import stream_runs
from pairstats.readers.workers import number_of_workers
from pairstats.records import file as records_file
from pairstats.records.table import Records

STREAM_BYTES = 50 << 20
"""Input from which records are written a part at a time: as objects, records take many times their text."""
_PACKED = ((b"\x1f\x8b", 1000), (b"\x28\xb5\x2f\xfd", 1000), (b"PK\x03\x04", 250), (b"PAR1", 10))
"""First bytes of packed files, and how many times their size they may hold: text ten times, blanks far more."""
_OUTLINE = ("study", "family", "item", "model", "status", "score")
"""Columns that a summary is made of."""


def write_runs(
    paths: Paths, output: str | Path, *, overwrite: bool = False, progress: bool | None = None,
    workers: int | None = None, **words: Any,
) -> Path:  # fmt: skip
    r"""Read run files of any known platform and write their records, however many they are.

    The rows and the account are those of ``read_runs(paths, ...).save(output)``. Large input is written to
    Parquet a part at a time, so that memory does not grow with it. What only all records together tell (an item
    table, requests whose answers are in other files) is read into memory as a whole.

    Parameters
    ----------
    paths : path, pattern, folder, list of these, or dict
        As in `read_runs`.
    output : str or pathlib.Path
        ``.parquet`` or ``.csv``.
    overwrite : bool, default False
        As in `Records.save`.
    progress, workers
        As in `read_runs`.
    **words
        Further words of `read_runs`.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ReadError, PairingError, SchemaError
        As `read_runs` and `Records.save` raise them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     raw = Path(folder, "a.csv")
    ...     _ = raw.write_text("item,model,score\nq1,m,1\nq2,m,0\n")
    ...     len(Records.load(write_runs(raw, Path(folder, "records.parquet"), family="item")))
    2
    """
    path = Path(output)
    files, reading = asked(paths, words)
    if path.suffix == ".parquet" and _unpacked_size(files) > STREAM_BYTES:
        if not overwrite:
            records_file.check_overwrite(path)
        records_file.check_folder(path)
        try:
            stream_runs(files, reading, path, progress, number_of_workers(files, reading, workers))
            return path
        except UnusualError:
            pass  # only all records together tell
        except (PairingError, SchemaError):
            if not reading.options.keep_going:
                raise
            # Whether records are few enough to be left out, only all of them together tell.
    return read_runs(paths, progress=progress, workers=workers, **words).save(path, overwrite=overwrite)


def _unpacked_size(files: Iterable[Given]) -> int:
    """Bytes that the files may have at most when they are unpacked."""
    there = [given.file for given in files if not (given.unread or given.broken)]
    return sum(file.path.stat().st_size * _times(file) for file in there)


def _times(file: RunFile) -> int:
    with file.path.open("rb") as stream:
        magic = stream.read(4)
    return next((times for start, times in _PACKED if magic.startswith(start)), 1)


def outline(path: Path) -> Records:
    """Read of records on disk what their summary needs: the account, and a few columns."""
    names = pq.read_schema(path).names
    columns = [name for name in names if name in _OUTLINE or name.startswith("score_")]
    loaded = records_file.load(path, columns)
    if loaded.ledger is None or loaded.left_out is None:
        raise ReadError(f"{path.name} must hold records that pairstats wrote, but has no account of them.")
    return Records(loaded.table, loaded.ledger, loaded.left_out, loaded.score_range)
