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

LONGEST = 100
"""Bytes of a name that every file system takes, with an ending behind it."""

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
    odd = [name for name in found if not _is_file_name(name)]
    if odd:
        shown = repr(odd[0]) if len(repr(odd[0])) <= LONGEST else f"{repr(odd[0])[:60]}…"
        raise PairstatsError(
            f"{path.name}: names of `{function}` become file names (a letter first, then letters, digits and _, at "
            f"most {LONGEST} bytes), but one is {shown}."
        )
    alike = {name.casefold(): name for name in reversed(found)}
    twice = [name for name in found if alike[name.casefold()] != name]
    if twice:
        raise PairstatsError(
            f"{path.name}: names of `{function}` must differ by more than capitals, since some systems take such "
            f"files for one, but {alike[twice[0].casefold()]!r} and {twice[0]!r} do not."
        )
    taken = [name for name in found if name in TAKEN]
    if taken:
        raise PairstatsError(f"{path.name}: {taken[0]!r} is a table of the run itself; choose another name.")
    return dict(found)


def _is_file_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and len(name.encode()) <= LONGEST


def _as_table(name: str, value: object, path: Path) -> Table:
    if isinstance(value, Estimates):
        return value
    if isinstance(value, pd.DataFrame):
        return _with_index(f"table {name!r}", value, path)
    frame = getattr(value, "frame", None)
    if isinstance(frame, pd.DataFrame):
        return _with_index(f"table {name!r}", frame, path)
    raise PairstatsError(
        f"{path.name}: table {name!r} must be Estimates or a frame, but is {type(value).__name__}."
    )


def _with_index(what: str, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Keep what a named index says as columns; one of plain row numbers says nothing."""
    if all(each is not None for each in frame.index.names):
        twice = [each for each in frame.index.names if each in frame.columns]
        if twice:
            raise PairstatsError(
                f"{path.name}: the index of {what} must become columns, but there is one called {twice[0]!r} "
                "already. Rename it (rename_axis), or drop it (reset_index(drop=True))."
            )
        return frame.reset_index()
    if isinstance(frame.index, pd.MultiIndex) or not pd.api.types.is_integer_dtype(frame.index):
        raise PairstatsError(
            f"{path.name}: the index of {what} would be lost. Name it (rename_axis), or drop it "
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
    source = getattr(found, "drawn_from", None)
    if not (source is None or isinstance(source, Estimates | pd.DataFrame)):
        raise PairstatsError(
            f"{path.name}: `drawn_from` of figure {name!r} must be Estimates or a frame, which become its CSV, but "
            f"is {type(source).__name__}."
        )
    if isinstance(source, pd.DataFrame):
        kept = _with_index(f"`drawn_from` of figure {name!r}", source, path)
        setattr(found, "drawn_from", kept)  # noqa: B010 -- it may be a plain figure of the user's
    return found
