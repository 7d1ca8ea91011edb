"""What replies did, class by class: stacked shares with their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.errors import counted
from pairstats.figures.columns import (
    GAP,
    POINTS_PER_INCH,
    columns_width,
    names_width,
    own_words,
    row_height,
    under_headings,
    wrapped,
    write_caption,
    write_columns,
    write_heading,
    write_names,
)  # fmt: skip
from pairstats.figures.outcome_counts import WITHOUT_CLASS, Bar, bars_of, of_estimates, of_frame
from pairstats.figures.style import (
    FAINT,
    MUTED,
    SMALL,
    TWO_COLUMNS,
    drawable,
    new_axes,
    paper,
    remember,
    short_names,
    text_width,
)  # fmt: skip
from pairstats.figures.tiles import ink_on
from pairstats.result import Estimates
from pairstats.shown import Labels, called

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOT_WIDTH = 3.0
COLOURS = (
    "#0072b2", "#e69f00", "#882255", "#56b4e9", "#d55e00", "#f0e442", "#332288", "#cc79a7", "#117733", "#bbbbbb",
)  # fmt: skip
"""Dark and light by turns, so that neighbours differ in grey too."""

NO_ANSWER_HATCHES = dict(zip(WITHOUT_CLASS, ("....", "////", "xxxx", "----", None), strict=True))
"""White and hatched: replies that have no class."""


def outcome_bars(
    data: Estimates | pd.DataFrame,
    *,
    outcome: str = "outcome",
    rows: str = "model",
    split: str | None = None,
    count: str | None = None,
    order: Sequence[str] | None = None,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the shares of the outcomes of each model, stacked, with their counts.

    Parameters
    ----------
    data : Estimates or pandas.DataFrame
        Replies, one a row; or counts, with `count`; or `Estimates` whose estimands are the shares of the
        outcomes and add up to 1. Of replies, error and absent ones (by ``status``, if it is there) are counted
        apart; a reply without an outcome shows its status.
    outcome, rows : str
        Columns with the class, and with what makes a bar.
    split : str, optional
        Column whose levels become headings.
    count : str, optional
        Column with the number of replies of a row.
    order : sequence of str, optional
        Outcomes from left to right; must name all that occur.
    labels : mapping, optional
        What levels and outcomes are called.
    caption, title : str, optional
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When there is no row, a column is missing, an outcome is not in `order`, or shares do not add up.

    Examples
    --------
    >>> replies = pd.DataFrame({"model": ["a"] * 4, "outcome": ["followed", "followed", "followed", "silent"]})
    >>> ax = outcome_bars(replies)
    >>> [float(bar.get_width()) for bar in ax.patches]
    [75.0, 25.0]
    """
    if isinstance(data, Estimates):
        table, classes = of_estimates(data, rows, split, order)
    else:
        table, classes = of_frame(data, outcome, rows, split, count, order)
    bars = bars_of(table, classes, rows, split)
    groups = [None if split is None else drawable(called(bar.group, labels)) for bar in bars]
    heights, headings, total = under_headings(groups)
    names = wrapped([called(bar.row, labels) for bar in bars])
    columns = _columns(bars)
    beside = (names_width(names) + columns_width(columns)) / POINTS_PER_INCH + 0.3
    shown = short_names([called(name, labels) for name in classes], 40)
    coloured = [name for name in classes if name not in NO_ANSWER_HATCHES]
    looks = {name: _look(coloured.index(name) if name in coloured else 0, name) for name in classes}
    with paper():
        width = min(max(beside + PLOT_WIDTH, 4.5), max(TWO_COLUMNS, beside + 2.0))
        lines = _legend_lines(shown, bars, width)
        ax = ax or new_axes(width, total * row_height(names) * 1.3 + 0.85 + 0.15 * len(lines))
        for y, bar in zip(heights, bars, strict=True):
            _draw(ax, y, bar, [looks[name] for name in classes])
        _set_up(ax, total)
        write_names(ax, heights, names)
        for y, heading in headings.items():
            write_heading(ax, y, heading, names)
        write_columns(ax, heights, columns)
        ax.set_xlabel("replies (%)" if not isinstance(data, Estimates) else "share (%)")
        left = -names_width(names) - GAP
        _legend(ax, lines, [looks[name] for name in classes], left)
        words = [*_caption(bars, isinstance(data, Estimates)), *own_words(caption)]
        write_caption(ax, words, left, POINTS_PER_INCH * (width - 0.2))
        if title:
            ax.set_title(drawable(title), parse_math=False, pad=16 + 11 * len(lines), loc="left")
    remember(ax.get_figure(root=True), table)
    return ax


def _columns(bars: Sequence[Bar]) -> dict[str, list[str]]:
    columns = {"n": ["" if bar.n is None else f"{bar.n}" for bar in bars]}
    if any(bar.missing for bar in bars):
        columns["missing"] = [f"{bar.missing}" for bar in bars]
    return columns


@dataclass(frozen=True, slots=True)
class _Look:
    fill: str
    hatch: str | None


def _look(number: int, name: str) -> _Look:
    if name in NO_ANSWER_HATCHES:
        return _Look("#ffffff", NO_ANSWER_HATCHES[name])
    turn = number // len(COLOURS)
    return _Look(COLOURS[number % len(COLOURS)], (None, "////", "xxxx")[turn % 3])


def _draw(ax: Axes, y: float, bar: Bar, looks: Sequence[_Look]) -> None:
    if not bar.n and not any(bar.shares):
        ax.text(1, y, "no results", color=MUTED, fontsize=SMALL, va="center", style="italic")
        return
    left = 0.0
    for share, count, look in zip(bar.shares, bar.counts, looks, strict=True):
        if share:
            ax.barh(
                [y], [share], left=left, height=0.72, facecolor=look.fill, hatch=look.hatch,
                edgecolor=MUTED if look.fill == "#ffffff" or look.hatch else "white", linewidth=0.6,
            )  # fmt: skip
            text = f"{share:.0f}" if count is None else f"{count}"
            if share * PLOT_WIDTH * POINTS_PER_INCH / 100 * 0.8 > text_width(text, SMALL) + 3:
                ax.text(
                    left + share / 2, y, text, ha="center", va="center", color=ink_on(look.fill), fontsize=SMALL,
                    bbox={"facecolor": look.fill, "edgecolor": "none", "pad": 0.8} if look.hatch else None,
                )  # fmt: skip
        left += share


def _set_up(ax: Axes, total: float) -> None:
    ax.set_xlim(0, 100)
    ax.set_ylim(total - 0.45, -0.55)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="x", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _legend_lines(shown: Sequence[str], bars: Sequence[Bar], width: float) -> list[list[tuple[int, str]]]:
    """Lines of the legend: the number of each outcome and its text, no line wider than the figure."""
    totals = [[bar.counts[k] for bar in bars] for k in range(len(shown))]
    texts = [
        name if None in found else f"{name} ({sum(n or 0 for n in found)})"
        for name, found in zip(shown, totals, strict=True)
    ]
    lines: list[list[tuple[int, str]]] = [[]]
    used = 0.0
    for k, text in enumerate(texts):
        needed = text_width(text, SMALL) + 26
        if lines[-1] and used + needed > (width - 0.4) * POINTS_PER_INCH:
            lines.append([])
            used = 0.0
        lines[-1].append((k, text))
        used += needed
    return lines


def _legend(
    ax: Axes, lines: Sequence[Sequence[tuple[int, str]]], looks: Sequence[_Look], left: float
) -> None:
    """Write the legend above the axes in the order of the bars, from the left edge of the names."""
    for i, line in enumerate(lines):
        x, y = left, 18 + 11 * (len(lines) - 1 - i)
        for k, text in line:
            ax.annotate(
                "", (0, 1), xycoords="axes fraction", xytext=(x, y), textcoords="offset points",
                annotation_clip=False,
            )  # fmt: skip
            _swatch(ax, x, y, looks[k])
            ax.annotate(
                text, (0, 1), xycoords="axes fraction", xytext=(x + 13, y), textcoords="offset points",
                ha="left", va="center", fontsize=SMALL, annotation_clip=False, parse_math=False,
            )  # fmt: skip
            x += text_width(text, SMALL) + 26


def _swatch(ax: Axes, x: float, y: float, look: _Look) -> None:
    ax.annotate(
        "   ", (0, 1), xycoords="axes fraction", xytext=(x + 2, y), textcoords="offset points", ha="left",
        va="center", fontsize=SMALL - 2, annotation_clip=False,
        bbox={"facecolor": look.fill, "edgecolor": MUTED, "linewidth": 0.4, "pad": 1.6, "hatch": look.hatch},
    )  # fmt: skip


def _caption(bars: Sequence[Bar], estimated: bool) -> list[str]:
    missing = sum(bar.missing for bar in bars)
    sentences = [
        "Numbers in bars: percent." if estimated else "Numbers in bars: replies. n: replies in the bar."
    ]
    if missing and estimated:
        sentences.append(f"Missing: {counted(missing, 'unit')}, in no bar.")
    elif missing:
        sentences.append(
            f"Missing: {counted(missing, 'reply')} (errors, absent), in no bar and never scored as wrong."
        )
    return sentences
