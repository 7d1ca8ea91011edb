"""What a protocol's own script adds: further tables and figures of the panel, written beside the results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairstats.errors import PairstatsError
from pairstats.result import Estimates, guarded
from pairstats.scripts import has_function, load_function, told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairstats.panel import Panel
    from pairstats.protocol.values import Protocol

Table = Estimates | pd.DataFrame
Tables = Mapping[str, Table]
DRAWS = "figures"
"""Name of the function that draws, unless the protocol names another."""

FOLDER = "study"
"""Folder of the results that holds the tables of the script."""

TAKEN = ("estimates", "completeness", "calibration")
"""Names of tables that the run itself gives to the script's figures."""

_NAME = re.compile(r"[A-Za-z]\w*")


def study_tables(protocol: Protocol, panel: Panel) -> dict[str, Table]:
    """Tables that the script of a protocol makes of the panel, by name; none without a script.

    Raises
    ------
    PairstatsError
        When the script fails, or returns something else than named tables; names the script and its line.
    """
    if protocol.script is None:
        return {}
    path = protocol.path.parent / protocol.script.file
    function = protocol.script.tables
    found = _called(path, function, panel)
    return {name: _as_table(name, value, path) for name, value in _named(found, path, function).items()}


def study_figures(protocol: Protocol, tables: Tables) -> dict[str, Figure]:
    """Figures that the script draws of its tables (and of those of the run), by name.

    Raises
    ------
    PairstatsError
        When the script fails, or returns something else than named figures or axes.
    """
    if protocol.script is None:
        return {}
    path, function = protocol.path.parent / protocol.script.file, protocol.script.figures
    if function == DRAWS and not has_function(path, function):
        return {}  # a script need not draw; a function that the protocol names must be there
    found = _named(_called(path, function, tables), path, function)
    return {name: _as_figure(name, value, path) for name, value in found.items()}


def write_tables(tables: Tables, folder: Path) -> None:
    """Write tables into a folder that is made, each as Parquet and CSV."""
    if tables:
        folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        if isinstance(table, Estimates):
            table.to_parquet(folder / f"{name}.parquet")
            table.to_csv(folder / f"{name}.csv")
            continue
        try:
            table.to_parquet(folder / f"{name}.parquet", index=False)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise PairstatsError(
                f"Table {name!r} of the script must have columns of one type each: {error}"
            ) from error
        guarded(table).to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


def read_tables(folder: Path) -> dict[str, Table]:
    """Read the tables that `write_tables` wrote, in the order of their names."""
    return {path.stem: _read(path) for path in sorted(folder.glob("*.parquet"))}


def _read(path: Path) -> Table:
    is_estimates = b"pairstats_estimates" in (pq.read_schema(path).metadata or {})
    return Estimates.load(path) if is_estimates else pd.read_parquet(path)


def _called(path: Path, name: str, argument: object) -> Any:
    function: Callable[..., Any] = load_function(path, name)
    try:
        return function(argument)
    except (Exception, SystemExit) as error:
        why = told(error, path)
        raise PairstatsError(f"{path.name}: `{name}` must run on this study, but it {why}") from error


def _named(found: object, path: Path, function: str) -> dict[str, Any]:
    if not isinstance(found, Mapping):
        raise PairstatsError(
            f"{path.name}: `{function}` must return a dict of name to result, but returns {type(found).__name__}."
        )
    odd = [name for name in found if not (isinstance(name, str) and _NAME.fullmatch(name))]
    if odd:
        raise PairstatsError(
            f"{path.name}: names of `{function}` become file names (letters, digits, _), but one is {odd[0]!r}."
        )
    taken = [name for name in found if name in TAKEN]
    if taken:
        raise PairstatsError(f"{path.name}: {taken[0]!r} is a table of the run itself; choose another name.")
    return dict(found)


def _as_table(name: str, value: object, path: Path) -> Table:
    if isinstance(value, Estimates):
        return value
    if isinstance(value, pd.DataFrame):
        return _with_index(name, value, path)
    frame = getattr(value, "frame", None)
    if isinstance(frame, pd.DataFrame):
        return frame
    raise PairstatsError(
        f"{path.name}: table {name!r} must be Estimates or a frame, but is {type(value).__name__}."
    )


def _with_index(name: str, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Keep what a named index says as columns; one of plain row numbers says nothing."""
    if all(each is not None for each in frame.index.names):
        return frame.reset_index()
    if isinstance(frame.index, pd.MultiIndex) or not pd.api.types.is_integer_dtype(frame.index):
        raise PairstatsError(
            f"{path.name}: the index of table {name!r} would be lost. Name it (rename_axis), or drop it "
            "(reset_index(drop=True))."
        )
    return frame


def _as_figure(name: str, value: Any, path: Path) -> Figure:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    found = value.get_figure(root=True) if isinstance(value, Axes) else value
    if not isinstance(found, Figure):
        raise PairstatsError(
            f"{path.name}: figure {name!r} must be axes or a figure, but is {type(value).__name__}."
        )
    return found
