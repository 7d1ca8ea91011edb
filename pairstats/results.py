"""The folder that `pairstats run` writes, read back as one value."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa

from pairstats.completeness import Completeness
from pairstats.errors import PairstatsError, counted, listed
from pairstats.result import Estimates
from pairstats.shown import cells_of, contrasts_of
from pairstats.study import FOLDER as STUDY
from pairstats.study import Table, read_tables

T = TypeVar("T")
ESTIMATES = "estimates.parquet"
CALIBRATION = "calibration.parquet"
SENSITIVITY = "sensitivity.parquet"
EXPLORATORY = "exploratory/estimates.parquet"
COMPLETENESS = "completeness"
LEDGER = "ledger.csv"
LEFT_OUT = "left_out.csv"
PROVENANCE = "provenance.json"


@dataclass(frozen=True, eq=False, slots=True)
class Results:
    """What a run left: estimates, completeness, and where they come from.

    Attributes
    ----------
    folder : pathlib.Path
    estimates : Estimates
        Rows about cells, and rows of comparisons, which name their ``contrast``.
    calibration : Estimates or None
        One row a cell and bin of stated confidence.
    sensitivity : Estimates or None
        Every comparison under every other way to analyse it, by ``question`` and ``analysis``.
    exploratory : Estimates or None
        What was computed beside the protocol; never registered.
    completeness : pandas.DataFrame
        One row a cell: ``planned``, one column a status, ``completeness`` in [0, 1], ``reasons``.
    blocks : pandas.DataFrame or None
        The same for every cell in every block, where the design has blocks.
    ledger, left_out : pandas.DataFrame or None
        Which reader read which file; which records were left out, and why.
    provenance : mapping
        What made the numbers.
    tables : mapping of str to Estimates or pandas.DataFrame
        What the protocol's own script added.
    """

    folder: Path
    estimates: Estimates
    completeness: pd.DataFrame
    calibration: Estimates | None = None
    sensitivity: Estimates | None = None
    exploratory: Estimates | None = None
    blocks: pd.DataFrame | None = None
    ledger: pd.DataFrame | None = None
    left_out: pd.DataFrame | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Read a results folder.

        Parameters
        ----------
        folder : str or pathlib.Path
            What ``pairstats run`` wrote.

        Raises
        ------
        PairstatsError
            When the folder does not exist or lacks the estimates or the completeness, or one of its files is
            damaged; the message names the file.
        """
        folder = Path(folder)
        absent = [] if (folder / ESTIMATES).is_file() else [ESTIMATES]
        completeness = _table(folder, COMPLETENESS, needs=("planned", "answered"))
        if completeness is None:
            absent.append(f"{COMPLETENESS}.parquet or {COMPLETENESS}.csv")
        if absent:
            found = "does not exist" if not folder.is_dir() else f"lacks {listed(absent)}"
            raise PairstatsError(
                f"A results folder holds {ESTIMATES} and the completeness, but {str(folder)!r} {found}. "
                "`pairstats run protocol.toml -o results/` writes one."
            )
        assert completeness is not None, "looked for above"
        estimates = _undamaged(folder / ESTIMATES, Estimates.load)
        return cls(
            folder=folder,
            estimates=estimates,
            completeness=Completeness(completeness),
            calibration=_estimates(folder / CALIBRATION),
            sensitivity=_estimates(folder / SENSITIVITY),
            exploratory=_estimates(folder / EXPLORATORY),
            blocks=_table(folder, "completeness_by_block"),
            ledger=_table(folder, "ledger"),
            left_out=_table(folder, "left_out"),
            provenance=_provenance(folder, estimates),
            tables=_undamaged(folder / STUDY, read_tables),
        )

    @property
    def cells(self) -> Estimates:
        """Estimates of single cells."""
        return cells_of(self.estimates)

    @property
    def contrasts(self) -> Estimates:
        """Estimates of comparisons."""
        return contrasts_of(self.estimates)

    @property
    def name(self) -> str:
        """Name of the protocol, or of the folder where there was none."""
        protocol = self.estimates.provenance.get("protocol") or self.provenance.get("protocol")
        named = protocol.get("name") if isinstance(protocol, Mapping) else None
        return str(named or self.folder.resolve().name)

    def __repr__(self) -> str:
        planned, answered = (int(self.completeness[name].sum()) for name in ("planned", "answered"))
        return (
            f"Results of {self.name}: {counted(len(self.cells), 'estimate')}, "
            f"{counted(len(self.contrasts), 'comparison')}; {answered} of {counted(planned, 'planned reply')} "
            "answered"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.estimates._repr_html_()}"


def _undamaged(path: Path, read: Callable[[Path], T]) -> T:
    """Read a file of the folder, or say which one is damaged."""
    try:
        return read(path)
    except PairstatsError:
        raise
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise PairstatsError(
            f"{path} must be as `pairstats run` wrote it, but cannot be read: {' '.join(str(error).split())}. "
            "Run the protocol again."
        ) from error


def _estimates(path: Path) -> Estimates | None:
    return _undamaged(path, Estimates.load) if path.is_file() else None


def _table(folder: Path, stem: str, needs: Sequence[str] = ()) -> pd.DataFrame | None:
    """Table of a folder, from Parquet where there is one, else from CSV; None when there is neither."""
    path = next((p for end in (".parquet", ".csv") if (p := folder / f"{stem}{end}").is_file()), None)
    if path is None:
        return None
    frame = _undamaged(path, pd.read_parquet if path.suffix == ".parquet" else _read_csv)
    absent = [name for name in needs if name not in frame.columns]
    if absent:
        raise PairstatsError(
            f"{path} must be as `pairstats run` wrote it, but has no column {listed(absent)}."
        )
    return frame


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path, keep_default_na=False, dtype=str)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    return frame.assign(**{name: _number(frame[name]) for name in _NUMBERS if name in frame.columns})


_NUMBERS = (
    "planned", "answered", "unparsed", "truncated", "refused", "empty", "error", "absent", "completeness",
)  # fmt: skip


def _number(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column)


def _provenance(folder: Path, estimates: Estimates) -> dict[str, Any]:
    path = folder / PROVENANCE
    written = _undamaged(path, _read_object) if path.is_file() else {}
    return {**dict(estimates.provenance), **written}


def _read_object(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))
