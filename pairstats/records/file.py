"""Records on disk: Parquet with its ledger, and CSV that a spreadsheet may open."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from pairstats import schema
from pairstats.errors import ReadError, SchemaError, listed
from pairstats.spelling import of_number

_LEDGER, _LEFT_OUT, _RANGE = b"pairstats_ledger", b"pairstats_left_out", b"pairstats_score_range"
_VERSION = b"pairstats_schema"
_FORMULA = re.compile(r"^'*[=+\-@\t\r]")
SUFFIXES = (".parquet", ".csv")
_TEXTS = frozenset({*schema.IDS, "answer", "gold"})
_OF_ESTIMATES = frozenset({"contrast", "estimand", "estimate"})
"""Columns by which a table is one of results."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file holds, not yet checked."""

    table: pa.Table
    sha256: str
    score_range: tuple[float, float] = (0.0, 1.0)
    ledger: pd.DataFrame | None = None
    left_out: pd.DataFrame | None = None


def to_arrow(frame: Any) -> pa.Table:
    """Convert any frame to Arrow; ids that are a mixture of numbers and text become text.

    Raises
    ------
    SchemaError
        When the frame cannot be read as a table.
    """
    if isinstance(frame, pd.DataFrame):
        texts = {name: _text_cells(frame[name]) for name in _TEXTS & set(frame.columns)}
        return pa.Table.from_pandas(frame.assign(**texts), preserve_index=False).replace_schema_metadata(None)
    try:
        return pa.table(dict(frame) if isinstance(frame, Mapping) else frame)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise SchemaError(f"Records must be a frame, but got {type(frame).__name__}: {error}.") from error


def _text_cells(column: pd.Series) -> pd.Series:
    if column.dtype != object:
        return column
    return column.map(lambda cell: cell if isinstance(cell, str) or pd.isna(cell) else of_number(cell))


def check_overwrite(path: Path) -> None:
    """Refuse to write over a file that holds anything but records that pairstats wrote.

    Raises
    ------
    ReadError
        Naming the file.
    """
    if path.exists() and not path.is_file():
        what = "a folder. Name a file in it" if path.is_dir() else "no regular file. Choose another name"
        raise ReadError(f"Records are saved to a file, but {str(path)!r} is {what}.")
    if path.exists() and path.stat().st_size and not _is_ours(path):
        raise ReadError(
            f"{str(path)!r} exists and was not written by pairstats as records, so it is not written over. "
            "Choose another name, or say overwrite=True (--force)."
        )


def check_folder(path: Path) -> None:
    """Refuse a file in a folder that is not there.

    Raises
    ------
    ReadError
        Naming the folder.
    """
    if not path.absolute().parent.is_dir():
        raise ReadError(
            f"Records are saved to a folder that is there, but {str(path.parent)!r} is none. Make it first, or "
            "choose another."
        )


def _is_ours(path: Path) -> bool:
    """Whether a file holds records that `save` wrote: by its metadata, or by the columns it begins with."""
    try:
        with path.open("rb") as stream:
            if stream.read(4) == b"PAR1":
                return _LEDGER in (pq.read_schema(path).metadata or {})
        with path.open(encoding="utf-8", newline="") as text:
            header = next(csv.reader(text), [])
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error):
        return False
    return tuple(header[: len(schema.NAMES)]) == schema.NAMES


def save(
    table: pa.Table,
    ledger: pd.DataFrame,
    left_out: pd.DataFrame,
    score_range: tuple[float, float],
    path: Path,
    overwrite: bool = False,
) -> Path:
    """Write a table by its suffix; see `Records.save`.

    Raises
    ------
    ReadError
        When the suffix is neither ``.parquet`` nor ``.csv``, or the file is another's.
    """
    if path.suffix not in SUFFIXES:
        raise ReadError(f"Records are saved as '.parquet' or '.csv', but got {path.name!r}.")
    check_folder(path)
    if not overwrite:
        check_overwrite(path)
    if path.suffix == ".parquet":
        kept = {**(table.schema.metadata or {}), **account_of(ledger, left_out, score_range)}
        pq.write_table(table.replace_schema_metadata(kept), path, compression="zstd")
    else:
        # A null is a bare nothing between commas and an empty text is quoted, so that both come back.
        pa_csv.write_csv(_without_formulas(table), path, pa_csv.WriteOptions(quoting_style="all_valid"))
    return path


def account_of(
    ledger: pd.DataFrame, left_out: pd.DataFrame, score_range: tuple[float, float]
) -> dict[bytes, bytes]:
    """Write what is known of records besides their rows, as it lies in the metadata of a file."""
    return {
        _LEDGER: ledger.to_json(orient="records").encode(),
        _LEFT_OUT: left_out.to_json(orient="records").encode(),
        _RANGE: json.dumps(score_range).encode(),
    }


def _without_formulas(table: pa.Table) -> pa.Table:
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type):
            column = pa.array([_escaped(cell) for cell in column.to_pylist()], pa.string())
        columns[_escaped(name)] = column
    return pa.table(columns)


def _escaped(cell: str | None) -> str | None:
    return f"'{cell}" if cell is not None and _FORMULA.match(cell) else cell


def _unescaped(cell: str | None) -> str | None:
    return cell[1:] if cell is not None and cell.startswith("'") and _FORMULA.match(cell) else cell


def load(path: Path, columns: list[str] | None = None) -> Loaded:
    """Read a file by its content; see `Records.load`. Of Parquet, some columns may be enough."""
    if not path.is_file():
        raise ReadError(f"{str(path)!r} must be a file of records, but there is none.")
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        stream.seek(0)
        is_parquet = stream.read(4) == b"PAR1"
    try:
        loaded = _from_parquet(path, sha256, columns) if is_parquet else Loaded(_from_csv(path), sha256)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReadError(
            f"{path.name} must be Parquet or CSV with records, but cannot be read: {error}."
        ) from error
    _check_kind(path.name, set(loaded.table.column_names))
    return loaded


def _check_kind(name: str, columns: set[str]) -> None:
    """Say what a table is that holds something else than records."""
    if columns >= _OF_ESTIMATES:
        raise ReadError(
            f"{name} must hold records, one row a decision, but is a table of results (column 'estimate'). "
            "Read it with ps.Estimates.load, or its folder with ps.Results.load."
        )
    if not columns & {"family", "item", "model", "status"}:
        raise ReadError(
            f"{name} must hold records in the paired long format, but has none of the columns 'family', "
            f"'item', 'model', 'status'; it has {listed(sorted(columns), 8)}. Raw files are read with ps.read_runs "
            "(pairstats normalize)."
        )


def _from_parquet(path: Path, sha256: str, columns: list[str] | None = None) -> Loaded:
    table = pq.read_table(path, columns=columns)
    metadata = table.schema.metadata or {}
    version = metadata.get(_VERSION, schema.VERSION.encode()).decode()
    if version != schema.VERSION:
        raise SchemaError(
            f"{path.name} must be of version {schema.VERSION} of the format, but is of version {version}. "
            "Read the raw files again, or use the pairstats that wrote it."
        )
    if _LEDGER not in metadata:
        return Loaded(table.replace_schema_metadata(None), sha256)
    low, high = json.loads(metadata[_RANGE])
    ledger, left_out = (pd.DataFrame(json.loads(metadata[key])) for key in (_LEDGER, _LEFT_OUT))
    if left_out.empty:
        left_out = pd.DataFrame({"source": pd.Series(dtype=str), "reason": pd.Series(dtype=str)})
    return Loaded(table, sha256, (low, high), ledger, left_out)


def _from_csv(path: Path) -> pa.Table:
    with path.open("rb") as stream:
        header = pa_csv.open_csv(
            stream, parse_options=pa_csv.ParseOptions(newlines_in_values=True)
        ).schema.names
    table = pa_csv.read_csv(
        path,
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=True,
            quoted_strings_can_be_null=False, null_values=[""],
        ),
    )  # fmt: skip
    columns = {}
    for name in header:
        cells = pa.chunked_array(
            [pa.array([_unescaped(c) for c in table.column(name).to_pylist()], pa.string())]
        )
        columns[_unescaped(name)] = cells if name in schema.NAMES else _guessed(cells)
    return pa.table(columns)


def _guessed(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers of a further column, unless a cell would not be written back as it was (``007``)."""
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(cells, kind)
        except pa.ArrowInvalid:
            continue
        if kind == pa.float64() or numbers.cast(pa.string()).equals(cells):
            return numbers
    return cells
