"""One number a cell of two factors as a grid of tiles, with cells that have none shown as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairstats.errors import PairstatsError, listed
from pairstats.figures.columns import own_words
from pairstats.figures.style import drawable, middle_cut, remember
from pairstats.figures.tiles import MANY, Grid, Tile, draw_grid, shade
from pairstats.result import Estimates, none_if_null
from pairstats.shown import Labels, Row, Scale, as_rows, called, meaning, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONGEST_REASON = 70
Place = tuple[object, object]


def heat_map(
    data: Estimates | pd.DataFrame,
    *,
    rows: str,
    columns: str,
    value: str = "estimate",
    n: str = "n_units",
    events: str | None = None,
    reason: str = "note",
    percent: bool | None = None,
    row_order: Sequence[object] | None = None,
    column_order: Sequence[object] | None = None,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one number for each combination of two factors, with its count.

    Parameters
    ----------
    data : Estimates or pandas.DataFrame
        One row a cell; comparisons are coloured by their sign.
    rows, columns : str
        The two factors.
    value, n, events, reason : str
        Columns with the number, its denominator, its numerator, and why there is no number. With `events`,
        tiles show ``events / n``. The default columns need not be there.
    percent : bool, optional
        Whether to show shares as percent; by default what the labels say.
    row_order, column_order : sequence, optional
        Levels in the order to show; by default that of the data. A level without rows is shown as missing.
    labels : mapping, optional
        What levels and the estimand are called.
    caption, title : str, optional
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When there is no row, a column is missing, or a cell has two rows.

    Examples
    --------
    >>> cells = pd.DataFrame({"category": ["dates", "dates", "totals"], "model": ["a", "b", "a"],
    ...                       "estimate": [0.9, 0.4, None], "n_units": [20, 20, 0], "note": [None, None, "outage"]})
    >>> ax = heat_map(cells, rows="category", columns="model", percent=True)
    >>> [text.get_text() for text in ax.texts[:4]]
    ['90 %', 'n 20', '40 %', 'n 20']
    """
    frame = _checked(data, rows, columns, value, events)
    cells = _by_place(frame, rows, columns)
    down = _levels(frame, rows, row_order)
    across = _levels(frame, columns, column_order)
    shown = _scale(data, frame, value, percent, labels)
    reasons: dict[str, str] = {}
    tiles = []
    ends = _ends(frame[value], shown)
    close = len(across) > MANY
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            cell = cells.get((row, column))
            found = None if cell is None else cell[value]
            if cell is None or found is None:
                tiles.append(Tile(i, j, "white", (_mark(cell, reason, reasons),), hatched=True))
                continue
            lines = (_number(found, shown, close), *_counts(cell, n, events, close))
            tiles.append(Tile(i, j, shade(found, *ends, diverging=shown.difference), lines))
    grid = Grid(tiles, [called(level, labels) for level in down], [called(level, labels) for level in across])
    about = f"Rows: {drawable(called(rows, labels))}; columns: {drawable(called(columns, labels))}."
    words = [*_caption(data, labels, shown, close), about, *_missing(tiles, reasons), *own_words(caption)]
    ax = draw_grid(grid, words, title=title, ax=ax)
    remember(ax.get_figure(root=True), frame)
    return ax


def _checked(
    data: Estimates | pd.DataFrame, rows: str, columns: str, value: str, events: str | None
) -> pd.DataFrame:
    frame = data.frame if isinstance(data, Estimates) else data
    needed = [name for name in (rows, columns, value, events) if name is not None]
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise PairstatsError(
            f"A heat map needs the columns {listed(absent, 5)}; there are {listed(frame.columns, 50)}."
        )
    if frame.empty:
        raise PairstatsError("A heat map needs at least one cell, but there is none.")
    return frame


def _by_place(frame: pd.DataFrame, rows: str, columns: str) -> dict[Place, Row]:
    cells: dict[Place, Row] = {}
    for row in as_rows(frame):
        place = (row[rows], row[columns])
        if place in cells:
            raise PairstatsError(
                f"A heat map needs one row a cell, but {rows} {place[0]!r} and {columns} {place[1]!r} have two. "
                "Choose one estimand (or comparison) with `.where(...)`."
            )
        cells[place] = row
    return cells


def _levels(frame: pd.DataFrame, name: str, order: Sequence[object] | None) -> list[object]:
    """Levels in the wanted order; none that has rows may be left away."""
    there = [none_if_null(level) for level in frame[name].drop_duplicates()]
    if order is None:
        return there
    left = [level for level in there if level not in order]
    if left:
        raise PairstatsError(
            f"An order of {name!r} must name all of its levels, but {listed(left)} is not in it. Leave rows out "
            "with `.where(...)` beforehand."
        )
    return list(dict.fromkeys(order))


def _scale(
    data: Estimates | pd.DataFrame,
    frame: pd.DataFrame,
    value: str,
    percent: bool | None,
    labels: Labels | None,
) -> Scale:
    names = [str(name) for name in frame["estimand"].dropna().unique()] if "estimand" in frame else []
    if percent is None:
        percent = (
            isinstance(data, Estimates)
            and bool(names)
            and all(meaning(data, name, labels).percent for name in names)
        )
    difference = "contrast" in frame and bool(frame["contrast"].notna().any())
    limits = {name: frame.get(name, float("nan")) for name in ("conf_low", "conf_high")}
    return scale(frame.assign(estimate=frame[value], **limits), percent, difference=difference)


def _ends(values: pd.Series, shown: Scale) -> tuple[float, float]:
    """Values of the palest and the darkest colour: 0 and 1 for shares."""
    known = values.dropna().astype(float)
    if known.empty or (not shown.difference and known.between(0, 1).all()):
        return 0.0, 1.0
    return float(known.min()), float(known.max())


def _number(value: float, shown: Scale, close: bool) -> str:
    unit = " %" if shown.percent and not shown.difference and not close else ""
    return f"{shown.number(value)}{unit}".replace("-", "\N{MINUS SIGN}")


def _counts(cell: Row, n: str, events: str | None, close: bool) -> tuple[str, ...]:
    whole = cell.get(n)
    if whole is None:
        return ()
    part = None if events is None else cell[events]
    if part is None:
        return (f"{whole:g}" if close else f"n {whole:g}",)
    return (f"{part:g}/{whole:g}" if close else f"{part:g} / {whole:g}",)


def _mark(cell: Row | None, reason: str, reasons: dict[str, str]) -> str:
    """Text of a cell without a number: a letter for its reason."""
    if cell is None:
        return "\N{EN DASH}"
    why = drawable(str(cell.get(reason) or "no results")).partition("; ")[0].removeprefix("no results: ")
    if why not in reasons:
        at = len(reasons)
        reasons[why] = LETTERS[at % 26] * (1 + at // 26)
    return reasons[why]


def _missing(tiles: Sequence[Tile], reasons: Mapping[str, str]) -> list[str]:
    hatched = [tile for tile in tiles if tile.hatched]
    if not hatched:
        return []
    parts = [f"{letter}: {middle_cut(why, LONGEST_REASON)}" for why, letter in reasons.items()]
    if any(tile.lines == ("\N{EN DASH}",) for tile in hatched):
        parts.append("\N{EN DASH}: no row in the data")
    return [f"Hatched: no number ({'; '.join(parts)})."]


def _caption(data: Estimates | pd.DataFrame, labels: Labels | None, shown: Scale, close: bool) -> list[str]:
    sentences: list[Any] = []
    if isinstance(data, Estimates):
        names = [str(name) for name in data.frame["estimand"].dropna().unique()]
        unit = " (percentage points)" if shown.percent and shown.difference else ""
        sentences += [f"{drawable(meaning(data, name, labels).label)}{unit}." for name in names]
    if close:
        sentences.append(f"{'Percent, with n' if shown.percent else 'Value, with n'} below.")
    sentences.append("Blue: above 0; orange: below." if shown.difference else "Darker: higher.")
    return sentences
