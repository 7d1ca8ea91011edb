"""All pairs of levels in one square: items that only one of the two got right, and the test of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.errors import PairstatsError, counted, listed
from pairstats.figures.columns import own_words
from pairstats.figures.style import remember
from pairstats.figures.tiles import MANY, Grid, Tile, draw_grid, shade
from pairstats.result import Estimates, p_text
from pairstats.shown import Labels, Row, as_rows, called

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDED = ("contrast", "n_first_only", "n_second_only")
ON_ITSELF = "#e6e6e6"
TESTED = "white"
JOIN = " - "
Pair = tuple[str, str]


def discordance(
    data: Estimates | pd.DataFrame,
    *,
    levels: Sequence[str] | None = None,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every pair of levels: above the diagonal what only one got right, below it the p-value.

    Parameters
    ----------
    data : Estimates or pandas.DataFrame
        One row a pair, ``first - second`` in ``contrast``, with ``n_first_only``, ``n_second_only`` and, where
        there are tests, ``p_adjusted`` or ``p_value``: from `contrast` with `Pairwise`, or one method of
        `paired_tests`.
    levels : sequence of str, optional
        Levels in the order to show; needed where their names hold " - ".
    labels : mapping, optional
        What levels are called.
    caption, title : str, optional
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When there is no pair, a pair comes twice, or a contrast is no pair of levels.

    Examples
    --------
    >>> pairs = pd.DataFrame({"contrast": ["a - b", "a - c", "b - c"], "n_first_only": [3, 9, 8],
    ...                       "n_second_only": [2, 0, 1], "p_adjusted": [1.0, 0.012, 0.078]})
    >>> [text.get_text() for text in discordance(pairs).texts if " : " in text.get_text()]
    ['3 : 2', '9 : 0', '8 : 1']
    """
    frame = _checked(data)
    pairs = _pairs(frame, levels)
    there = list(levels) if levels is not None else _in_order(pairs)
    tested = "p_adjusted" if _has(frame, "p_adjusted") else "p_value" if _has(frame, "p_value") else None
    most = max((_excess(row) for row in pairs.values()), key=abs, default=0.0)
    close = len(there) > MANY
    tiles = [Tile(i, i, ON_ITSELF) for i in range(len(there))]
    lost = 0
    for i, first in enumerate(there):
        for j, second in enumerate(there):
            if i >= j:
                continue
            row, sign = _found(pairs, first, second)
            if row is None or row["n_first_only"] is None or row["n_second_only"] is None:
                lost += 1
                tiles += [Tile(i, j, "white", ("\N{EN DASH}",), True), Tile(j, i, "white", (), True)]
                continue
            tiles.append(_counts(i, j, row, sign, abs(most), close))
            tiles.append(Tile(j, i, TESTED, (_tested(row, tested, close),), small=close))
    names = [called(level, labels) for level in there]
    words = _caption(tested, lost, frame)
    ax = draw_grid(Grid(tiles, names, names), [*words, *own_words(caption)], title=title, ax=ax)
    remember(ax.get_figure(root=True), frame)
    return ax


def _checked(data: Estimates | pd.DataFrame) -> pd.DataFrame:
    frame = data.frame if isinstance(data, Estimates) else data
    absent = [name for name in NEEDED if name not in frame.columns]
    if absent:
        raise PairstatsError(
            f"Discordance needs the columns {listed(absent, 5)}; there are {listed(frame.columns, 50)}."
        )
    frame = frame[frame["contrast"].notna()]
    if frame.empty:
        raise PairstatsError("Discordance needs at least one pair, but no row has a contrast.")
    return frame


def _pairs(frame: pd.DataFrame, levels: Sequence[str] | None) -> dict[Pair, Row]:
    pairs: dict[Pair, Row] = {}
    known = set(levels) if levels is not None else _clear_names(frame["contrast"])
    for row in as_rows(frame):
        pair = _split(str(row["contrast"]), known)
        if pair in pairs or pair[::-1] in pairs:
            raise PairstatsError(
                f"Discordance needs one row a pair, but {row['contrast']!r} has two. Choose one estimand, cell and "
                "method with `.where(...)`."
            )
        pairs[pair] = row
    return pairs


def _clear_names(contrasts: Iterable[str]) -> set[str]:
    """Names of the pairs that can be split in one way only."""
    parts = [str(text).split(JOIN) for text in contrasts]
    return {name for pair in parts if len(pair) == 2 for name in pair}


def _split(text: str, known: set[str]) -> Pair:
    """The two sides of a contrast, which may themselves hold the sign."""
    parts = text.split(JOIN)
    ways = [(JOIN.join(parts[:k]), JOIN.join(parts[k:])) for k in range(1, len(parts))]
    fitting = [(a, b) for a, b in ways if {a, b} <= known]
    if len(fitting) != 1:
        raise PairstatsError(
            f"Every contrast must be one level minus another, but {text!r} "
            f"{'can be split in several ways' if len(ways) > 1 else 'is not'}. Give the names with `levels=`."
        )
    return fitting[0]


def _in_order(pairs: Iterable[Pair]) -> list[str]:
    """Levels as they come: the first sides, then what is a second side only."""
    pairs = list(pairs)
    return list(dict.fromkeys([*(a for a, _ in pairs), *(b for _, b in pairs)]))


def _found(pairs: dict[Pair, Row], first: str, second: str) -> tuple[Row | None, int]:
    if (first, second) in pairs:
        return pairs[first, second], 1
    return pairs.get((second, first)), -1


def _has(frame: pd.DataFrame, name: str) -> bool:
    return name in frame and bool(frame[name].notna().any())


def _excess(row: Row) -> float:
    first, second = row["n_first_only"], row["n_second_only"]
    return 0.0 if first is None or second is None else float(first - second)


def _counts(i: int, j: int, row: Row, sign: int, most: float, close: bool) -> Tile:
    first, second = row["n_first_only"], row["n_second_only"]
    here, there = (first, second) if sign > 0 else (second, first)
    lines = (f"{here:g}", f": {there:g}") if close else (f"{here:g} : {there:g}",)
    return Tile(i, j, shade(here - there, -most, most, diverging=True), lines, small=close)


def _tested(row: Row, tested: str | None, close: bool) -> str:
    p = None if tested is None else row[tested]
    if p is None:
        return ""
    return p_text(p) if not close else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _caption(tested: str | None, lost: int, frame: pd.DataFrame) -> list[str]:
    sentences = [
        "Above the diagonal: items that only the row got right, and items that only the column did; blue where "
        "the row has more, orange where the column has."
    ]
    if tested is not None:
        sentences.append(f"Below: {'adjusted ' if tested == 'p_adjusted' else ''}p of the pair.")
    if lost:
        sentences.append(f"Hatched: no counts for {counted(lost, 'pair')}.")
    if "n_missing" in frame and frame["n_missing"].fillna(0).gt(0).any():
        low, high = int(frame["n_missing"].min()), int(frame["n_missing"].max())
        shown = f"{low}" if low == high else f"{low} to {high}"
        sentences.append(f"Left out of a pair, with an answer on one side at most: {shown}.")
    return sentences
