"""Stated confidence against accuracy: one reliability diagram a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.errors import PairstatsError, listed
from pairstats.figures.columns import (
    POINTS_PER_INCH,
    own_words,
    wrapped,
    write_caption,
    write_figure_caption,
)  # fmt: skip
from pairstats.figures.panels import PANEL, new_panels
from pairstats.figures.style import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    SMALL,
    drawable,
    paper,
    remember,
    spread,
    text_width,
)  # fmt: skip
from pairstats.result import Estimates, none_if_null
from pairstats.shown import Labels, Row, as_rows, cell_names, count_text, levels_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS: tuple[str, ...] = ("conf_bin_low", "conf_bin_high", "conf_mean")
LONGEST_TITLE = 24
LARGEST_POINT = 90.0
"""Area in square points of the bin with the most units."""
STRIP = (0.0, 1.06, 1.0, 0.14)
"""Left, bottom, width and height of the histogram of stated confidence, in parts of its panel."""
THINNEST = 0.012
"""Width of the bar of a bin that holds one stated value."""


def calibration(
    curve: Estimates,
    *,
    labels: Labels | None = None,
    caption: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw how often answers were right, by how sure they said they were, under a histogram of the latter.

    Parameters
    ----------
    curve : Estimates
        One row a cell and bin. The factors hold ``conf_bin_low``, ``conf_bin_high`` and ``conf_mean``, all in
        [0, 1]; the estimate is the accuracy in the bin, ``n_units`` its number of units.
    labels : mapping, optional
        What cells are called.
    caption : str, optional
        Sentences of your own under the figure.
    ax : matplotlib.axes.Axes, optional
        Where to draw the curve of one cell; by default one panel a cell in a figure of their own.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    PairstatsError
        When there is no row, a factor is missing, or `ax` is given for several cells.

    Examples
    --------
    >>> row = {"model": "m", "conf_bin_low": 0.8, "conf_bin_high": 1.0, "conf_mean": 0.9, "estimate": 0.7}
    >>> curve = Estimates.from_rows([row | {"n_units": 40}], factors=("model", *BINS))
    >>> calibration(curve).axes[0].get_title(loc="left")
    'm'
    """
    panels = _panels(curve, labels)
    if ax is not None and len(panels) > 1:
        raise PairstatsError(
            f"`ax` holds the curve of one cell, but there are {len(panels)}: {listed(panels)}. "
            "Choose one with `curve.where(...)`, or leave `ax` out."
        )
    titles = wrapped(list(panels), LONGEST_TITLE)
    with paper():
        all_axes = [ax] if ax is not None else new_panels(titles, high=PANEL * (1 + STRIP[3]))[1]
        largest = max(float(curve.frame["n_units"].fillna(0).max()), 1.0)
        room = 8 + text_width(str(int(largest)), SMALL - 1)  # above the histogram, for the counts
        for panel, title, rows in zip(all_axes, titles, panels.values(), strict=True):
            _draw_panel(panel, title, rows, largest, room)
        figure = all_axes[0].get_figure(root=True)
        assert figure is not None, "axes that are drawn in have a figure"
        sentences = [*_caption(curve.frame), *own_words(caption)]
        if ax is not None:
            write_caption(ax, sentences, -24, POINTS_PER_INCH * PANEL)
        else:
            write_figure_caption(figure, sentences)
    remember(figure, curve.frame)
    return figure


def _panels(curve: Estimates, labels: Labels | None) -> dict[str, list[Row]]:
    absent = [name for name in BINS if name not in curve.frame.columns]
    if absent:
        raise PairstatsError(
            f"A calibration curve needs the factors {listed(absent)}, which these estimates lack."
        )
    if curve.frame.empty:
        raise PairstatsError("A calibration curve needs at least one bin, but there is none.")
    cells = [name for name in curve.factors if name not in BINS]
    names = cell_names(curve.frame, cells, labels) if cells else ["all"] * len(curve)
    grouped: dict[str, list[Row]] = {}
    for name, row in zip(names, as_rows(curve.frame), strict=True):
        grouped.setdefault(name, []).append(row)
    return grouped


def _draw_panel(ax: Axes, name: str, rows: Sequence[Row], largest: float, room: float) -> None:
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for row in rows:
        if row["estimate"] is None:
            continue
        x, y = _place(row), row["estimate"]
        if row["conf_low"] is not None and row["conf_high"] is not None:
            ax.plot([x, x], [row["conf_low"], row["conf_high"]], color=PALETTE[0], linewidth=1, clip_on=False)
        area = max(LARGEST_POINT * (row["n_units"] or 0) / largest, 6.0)
        ax.scatter(
            [x], [y], s=area, color=PALETTE[0], edgecolor="white", linewidth=0.5, clip_on=False, zorder=4
        )
    known = sorted((_place(row), row["estimate"]) for row in rows if row["estimate"] is not None)
    ax.plot(
        [x for x, _ in known], [y for _, y in known], color=PALETTE[0], linewidth=0.8, alpha=0.5, zorder=2
    )
    _set_up(ax)
    _draw_histogram(ax, rows, largest)
    _write_counts(ax, rows)
    ax.set_title(name, parse_math=False, y=STRIP[1] + STRIP[3], pad=room, loc="left")


def _place(row: Row) -> float:
    """Where a bin stands: at its mean confidence, or in its middle when it is empty."""
    mean = none_if_null(row["conf_mean"])
    return float((row["conf_bin_low"] + row["conf_bin_high"]) / 2 if mean is None else mean)


def _set_up(ax: Axes) -> None:
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ticks = [0, 0.25, 0.5, 0.75, 1]
    ax.set_xticks(ticks, [f"{100 * tick:g}" for tick in ticks])
    ax.set_yticks(ticks, [f"{100 * tick:g}" for tick in ticks])
    ax.tick_params(labelsize=SMALL)
    ax.grid(color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.set_xlabel("stated confidence (%)")
    ax.set_ylabel("right (%)")


def _draw_histogram(ax: Axes, rows: Sequence[Row], largest: float) -> None:
    """Draw each bin's number of units above the axes, on one scale in all panels."""
    strip = ax.inset_axes(STRIP, sharex=ax)
    widths = [row["conf_bin_high"] - row["conf_bin_low"] for row in rows]
    middles = [
        (row["conf_bin_low"] + row["conf_bin_high"]) / 2 if width > THINNEST else _place(row)
        for row, width in zip(rows, widths, strict=True)
    ]
    strip.bar(
        middles, [row["n_units"] or 0 for row in rows], [max(0.9 * width, THINNEST) for width in widths],
        color=PALETTE[0], alpha=0.5, linewidth=0,
    )  # fmt: skip
    strip.set_ylim(0, largest)
    strip.set_yticks([])
    strip.tick_params(bottom=False, labelbottom=False)
    strip.spines[["left", "right", "top"]].set_visible(False)


def _write_counts(ax: Axes, rows: Sequence[Row]) -> None:
    """Write each bin's number of units above the histogram, upright, none over another."""
    counts = [str(row["n_units"] or 0) for row in rows]
    gap = SMALL / (72 * PANEL * 0.72)
    if gap * len(rows) > 1:
        return  # one bin for each stated value: the areas must do
    top = STRIP[1] + STRIP[3]
    for x, text, row in zip(spread([_place(row) for row in rows], gap), counts, rows, strict=True):
        ax.annotate(
            text, (x, top), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
            rotation=90, ha="center", va="bottom", fontsize=SMALL - 1, annotation_clip=False,
            color=MUTED if row["estimate"] is None else INK,
        )  # fmt: skip
    ax.annotate(
        "n", (0, STRIP[1]), xycoords="axes fraction", xytext=(-5, 0), textcoords="offset points", ha="right",
        va="bottom", fontsize=SMALL - 1, color=MUTED, style="italic", annotation_clip=False,
    )  # fmt: skip


def _caption(frame: pd.DataFrame) -> list[str]:
    families = count_text(frame.loc[frame["estimate"].notna(), "n_families"], "family")
    return [
        f"Bars: {drawable(levels_text(frame))}{f' over {families} in each bin' if families else ''}.",
        "n: units in the bin (their repeats in it averaged), shown by the histogram and the area of the point.",
        "Dashed: as often right as stated.",
    ]
