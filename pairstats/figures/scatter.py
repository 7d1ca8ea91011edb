"""Flip rate against accuracy, one labelled point a cell, both intervals drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairstats.errors import PairstatsError, listed
from pairstats.figures.columns import POINTS_PER_INCH, own_words, write_caption
from pairstats.figures.labels import FAR, Box, Scene, place_labels
from pairstats.figures.style import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    SMALL,
    drawable,
    middle_cut,
    new_axes,
    paper,
    remember,
    short_names,
    text_width,
)  # fmt: skip
from pairstats.result import Estimates, concat
from pairstats.shown import Labels, Row, as_rows, cell_names, count_text, levels_text, meaning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

SIZE = (4.6, 3.9)
LONGEST_LABEL = 32
MOST_COVERED = 12.0
"""Square points that a label may cover, as where it crosses a bar; beyond, names go into a legend."""

NEAREST = 10.0
"""Distance of two markers, in points, below which lines to them are unclear; then names go into a legend."""

BESIDE = 8.0
"""Distance in points of cells that have the same numbers and are drawn beside each other."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")


@dataclass(frozen=True, slots=True)
class Look:
    """How one cell is drawn."""

    colour: str
    marker: str
    filled: bool = True

    @property
    def marking(self) -> dict[str, Any]:
        """Arguments of a line that has this marker."""
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.6}
        opened = {"markerfacecolor": "white", "markeredgecolor": self.colour, "markeredgewidth": 1.1}
        return {"color": self.colour, "marker": self.marker, **(edge if self.filled else opened)}


def flips_against_accuracy(
    accuracy: Estimates,
    flips: Estimates,
    *,
    labels: Labels | None = None,
    caption: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often each cell's answers flip against how often they are right.

    Parameters
    ----------
    accuracy, flips : Estimates
        One row a cell each, with the same factors; rows are matched by them.
    labels : mapping, optional
        What estimands and cells are called.
    caption : str, optional
        Sentences of your own under the figure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default axes in a figure of their own.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When a cell has two rows, or no cell has both numbers.

    Examples
    --------
    >>> rows = [{"estimand": "accuracy", "estimate": 0.8}, {"estimand": "flips", "estimate": 0.2}]
    >>> right, flip = (Estimates.from_rows([row | {"model": "m"}], factors=("model",)) for row in rows)
    >>> flips_against_accuracy(right, flip).get_ylabel()
    'flips (%)'
    """
    pairs, lost = _matched(accuracy, flips, labels)
    names = short_names(list(pairs), LONGEST_LABEL)
    with paper():
        ax = ax or new_axes(*SIZE)
        lines = [_draw_cell(ax, right, flip, _look(k)) for k, (right, flip) in enumerate(pairs.values())]
        _set_up(ax, pairs.values())
        ax.set_xlabel(_axis(accuracy, labels), parse_math=False)
        ax.set_ylabel(_axis(flips, labels), parse_math=False)
        together = _at_one_place(list(pairs.values()))
        words = [*_caption(accuracy, flips, lost), *_told_apart(together, names), *own_words(caption)]
        write_caption(ax, words, -36, POINTS_PER_INCH * (SIZE[0] - 0.3))
        _move_apart(ax, lines, together)
        _write_labels(ax, list(pairs.values()), names)
    remember(ax.get_figure(root=True), concat([accuracy, flips]).frame)
    return ax


def _look(number: int) -> Look:
    """Colour, marker and fill of a cell: no two of the first 128 look alike.

    The marker moves on by one in every round of colours; after 64 cells the markers are open.
    """
    colours, markers = len(PALETTE), len(MARKERS)
    turn = number // colours
    marker = MARKERS[(number + turn) % markers]
    return Look(PALETTE[number % colours], marker, filled=turn // markers % 2 == 0)


def _at_one_place(pairs: Sequence[tuple[Row, Row]]) -> list[list[int]]:
    """Groups of cells whose two numbers are equal, so that one would hide the others."""
    groups: dict[tuple[float, float], list[int]] = {}
    for k, pair in enumerate(pairs):
        groups.setdefault((round(_data(pair)[0], 6), round(_data(pair)[1], 6)), []).append(k)
    return [group for group in groups.values() if len(group) > 1]


def _told_apart(together: Sequence[Sequence[int]], names: Sequence[str]) -> list[str]:
    groups = "; ".join(", ".join(names[k] for k in group) for group in together)
    return [f"Equal values, drawn side by side: {groups}."] if groups else []


def _move_apart(ax: Axes, lines: Sequence[list[Line2D]], together: Sequence[Sequence[int]]) -> None:
    """Draw cells of one place beside each other: shifted on paper by a few points, their data unchanged."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None, "axes that are drawn in have a figure"
    for group in together:
        radius = BESIDE / (2 * math.sin(math.pi / len(group)))
        for place, k in enumerate(group):
            angle = math.pi - 2 * math.pi * place / len(group)
            shift = (radius * math.cos(angle) / POINTS_PER_INCH, radius * math.sin(angle) / POINTS_PER_INCH)
            for line in lines[k]:
                line.set_transform(ax.transData + ScaledTranslation(*shift, figure.dpi_scale_trans))


def _matched(
    accuracy: Estimates, flips: Estimates, labels: Labels | None
) -> tuple[dict[str, tuple[Row, Row]], list[str]]:
    """Pairs of rows by the name of their cell, and the cells that lack a number."""
    keys = [name for name in accuracy.factors if name in flips.factors]
    found = [_by_cell(estimates, keys) for estimates in (accuracy, flips)]
    cells = list(dict.fromkeys([*found[0], *found[1]]))
    names = cell_names(pd.DataFrame(cells, columns=keys), keys, labels) if keys else ["all"] * len(cells)
    both, lost = {}, []
    for cell, name in zip(cells, names, strict=True):
        rows = [side.get(cell) for side in found]
        if all(row is not None and row["estimate"] is not None for row in rows):
            both[name] = (found[0][cell], found[1][cell])
        else:
            lost.append(name)
    if not both:
        raise PairstatsError(
            f"No cell has both an accuracy and a flip rate; the cells are {listed(names, 10)}."
        )
    return both, lost


def _by_cell(estimates: Estimates, keys: Sequence[str]) -> dict[tuple[object, ...], Row]:
    rows: dict[tuple[object, ...], Row] = {}
    for row in as_rows(estimates.frame):
        cell = tuple(row[key] for key in keys)
        if row["contrast"] is not None or cell in rows:
            raise PairstatsError(
                "Accuracy and flips need one row a cell and no comparison, but "
                f"{listed([cell])} has another row. Choose one estimand with `.where(estimand=...)`."
            )
        rows[cell] = row
    return rows


def _draw_cell(ax: Axes, right: Row, flip: Row, look: Look) -> list[Line2D]:
    x, y = _data((right, flip))
    lines: list[Line2D] = []
    if right["conf_low"] is not None and right["conf_high"] is not None:
        ends = [100 * right["conf_low"], 100 * right["conf_high"]]
        lines += ax.plot(ends, [y, y], color=look.colour, linewidth=1.1)
    if flip["conf_low"] is not None and flip["conf_high"] is not None:
        ends = [100 * flip["conf_low"], 100 * flip["conf_high"]]
        lines += ax.plot([x, x], ends, color=look.colour, linewidth=1.1)
    lines += ax.plot([x], [y], markersize=6.5, clip_on=False, zorder=4, **look.marking)
    return lines


def _set_up(ax: Axes, pairs: Iterable[tuple[Row, Row]]) -> None:
    for axis, side in (("x", 0), ("y", 1)):
        rows = [pair[side] for pair in pairs]
        ends = [
            100 * row[k] for row in rows for k in ("estimate", "conf_low", "conf_high") if row[k] is not None
        ]
        low, high = min(ends), max(ends)
        room = max(0.12 * (high - low), 2.0)
        limits = (max(low - room, -1.5), min(high + room, 101.5)) if low >= 0 and high <= 100 else (low, high)
        (ax.set_xlim if axis == "x" else ax.set_ylim)(*limits)
    ax.locator_params(nbins=6)
    ax.tick_params(labelsize=SMALL)
    ax.grid(color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _axis(estimates: Estimates, labels: Labels | None) -> str:
    name = str(estimates.frame["estimand"].iloc[0])
    return f"{middle_cut(drawable(meaning(estimates, name, labels).label), 56)} (%)"


def _caption(accuracy: Estimates, flips: Estimates, lost: Sequence[str]) -> list[str]:
    columns = ["conf_level", "method", "n_families", "n_units"]
    frame = pd.concat([e.frame.loc[e.frame["estimate"].notna(), columns] for e in (accuracy, flips)])
    families = count_text(frame["n_families"], "family")
    units = count_text(frame["n_units"], "counted unit")
    sentences = [f"Bars: {drawable(levels_text(frame))}{f' over {families}' if families else ''}."]
    sentences.append(f"n: {units}." if units else "")
    if lost:
        sentences.append(f"No results for {', '.join(short_names(lost, LONGEST_LABEL))}.")
    return sentences


def _write_labels(ax: Axes, pairs: Sequence[tuple[Row, Row]], names: Sequence[str]) -> None:
    """Write each name beside its point, or all of them above the axes where that would be unclear."""
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes that are drawn in have a figure"
    figure.draw_without_rendering()  # settles the layout, so that places on the canvas are known
    points = POINTS_PER_INCH / figure.dpi
    places = [_on_canvas(ax, pair, points) for pair in pairs]
    window = ax.get_window_extent()
    inside = Box(*(edge * points for edge in (window.x0, window.y0, window.x1, window.y1)))
    taken = [box for pair in pairs for box in _drawn(ax, pair, points)]
    sizes = [(text_width(name, SMALL) + 2, SMALL * 1.25) for name in names]
    boxes, covered = place_labels(Scene(places, sizes, taken, inside))
    nearest = min((math.dist(a, b) for a, b in itertools.combinations(places, 2)), default=math.inf)
    if covered > MOST_COVERED or nearest < NEAREST:
        _write_legend(ax, names)
        return
    for pair, name, (x, y), box in zip(pairs, names, places, boxes, strict=True):
        line = {"arrowstyle": "-", "linewidth": 0.5, "color": MUTED, "shrinkA": 0, "shrinkB": 3}
        ax.annotate(
            name, _data(pair), xytext=(box.centre[0] - x, box.centre[1] - y), textcoords="offset points",
            ha="center", va="center", fontsize=SMALL, color=INK, zorder=5, annotation_clip=False,
            parse_math=False, arrowprops=line if box.away(x, y) > FAR else None,
        )  # fmt: skip


def _write_legend(ax: Axes, names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], markersize=5, linewidth=1.1, label=f"\u200a{name}", **_look(k).marking)
        for k, name in enumerate(names)
    ]
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.01), ncols=2, borderaxespad=0, borderpad=0,
        handlelength=1.8, columnspacing=1.2,
    )  # fmt: skip


def _data(pair: tuple[Row, Row]) -> tuple[float, float]:
    return 100 * pair[0]["estimate"], 100 * pair[1]["estimate"]


def _on_canvas(ax: Axes, pair: tuple[Row, Row], points: float) -> tuple[float, float]:
    across, up = ax.transData.transform(_data(pair))
    return float(across) * points, float(up) * points


def _drawn(ax: Axes, pair: tuple[Row, Row], points: float) -> list[Box]:
    """Boxes of a point and of its two bars."""
    x, y = _on_canvas(ax, pair, points)
    right, flip = pair
    boxes = [Box.around(x, y, 8, 8)]
    if right["conf_low"] is not None and right["conf_high"] is not None:
        low, high = ((right | {"estimate": right[end]}, flip) for end in ("conf_low", "conf_high"))
        boxes.append(Box(_on_canvas(ax, low, points)[0], y - 1, _on_canvas(ax, high, points)[0], y + 1))
    if flip["conf_low"] is not None and flip["conf_high"] is not None:
        low, high = ((right, flip | {"estimate": flip[end]}) for end in ("conf_low", "conf_high"))
        boxes.append(Box(x - 1, _on_canvas(ax, low, points)[1], x + 1, _on_canvas(ax, high, points)[1]))
    return boxes
