"""Flip rate against accuracy, one labelled point a cell, both intervals drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.errors import PairstatsError, listed
from pairstats.figures.columns import write_caption
from pairstats.figures.style import (
    FAINT,
    FONT_SIZE,
    INK,
    MUTED,
    PALETTE,
    SMALL,
    drawable,
    middle_cut,
    new_axes,
    paper,
    short_names,
    text_width,
)  # fmt: skip
from pairstats.result import Estimates
from pairstats.shown import Labels, Row, as_rows, cell_names, count_text, levels_text, meaning

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (4.6, 3.9)
LONGEST_LABEL = 32


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle on the canvas, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: _Box) -> float:
        """Area that two boxes share."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(wide, 0.0) * max(high, 0.0)

    def outside(self, other: _Box) -> float:
        """Area that lies outside another box."""
        return (self.right - self.left) * (self.top - self.bottom) - self.overlap(other)


def flips_against_accuracy(
    accuracy: Estimates, flips: Estimates, *, labels: Labels | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often each cell's answers flip against how often they are right.

    Parameters
    ----------
    accuracy, flips : Estimates
        One row a cell each, with the same factors; rows are matched by them.
    labels : mapping, optional
        What estimands and cells are called.
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
        for k, (right, flip) in enumerate(pairs.values()):
            _draw_cell(ax, right, flip, PALETTE[k % len(PALETTE)])
        _set_up(ax, pairs.values())
        ax.set_xlabel(_axis(accuracy, labels), parse_math=False)
        ax.set_ylabel(_axis(flips, labels), parse_math=False)
        write_caption(ax, _caption(accuracy, flips, lost), -36, 72 * (SIZE[0] - 0.3))
        _write_labels(ax, list(pairs.values()), names)
    return ax


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


def _draw_cell(ax: Axes, right: Row, flip: Row, color: str) -> None:
    x, y = 100 * right["estimate"], 100 * flip["estimate"]
    if right["conf_low"] is not None and right["conf_high"] is not None:
        ax.plot([100 * right["conf_low"], 100 * right["conf_high"]], [y, y], color=color, linewidth=1.1)
    if flip["conf_low"] is not None and flip["conf_high"] is not None:
        ax.plot([x, x], [100 * flip["conf_low"], 100 * flip["conf_high"]], color=color, linewidth=1.1)
    ax.plot(
        [x], [y], marker="o", markersize=5.5, color=color, markeredgecolor="white", clip_on=False, zorder=4
    )


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
    frame = pd.concat([e.frame[["conf_level", "method", "n_families"]] for e in (accuracy, flips)])
    families = count_text(frame["n_families"], "families")
    sentences = [f"Bars: {drawable(levels_text(frame))}{f' over {families}' if families else ''}."]
    if lost:
        sentences.append(f"No results for {', '.join(short_names(lost, LONGEST_LABEL))}.")
    return sentences


def _write_labels(ax: Axes, pairs: Sequence[tuple[Row, Row]], names: Sequence[str]) -> None:
    """Write each name where it covers least: near its point, else further away with a line to it."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles the layout, so that places on the canvas are known
    points = 72 / figure.dpi
    place = [_on_canvas(ax, 100 * r["estimate"], 100 * f["estimate"], points) for r, f in pairs]
    window = ax.get_window_extent()
    inside = _Box(*(edge * points for edge in (window.x0, window.y0, window.x1, window.y1)))
    taken = [box for pair in pairs for box in _covered(ax, pair, points)]
    for (x, y), name, k in zip(place, names, range(len(names)), strict=True):
        width, height = text_width(name, SMALL) + 2, SMALL * 1.25
        best = min(
            (_at(x, y, dx, dy, width, height) for dx, dy in _offsets(width)),
            key=lambda box: (
                4 * box.outside(inside) + sum(box.overlap(t) for t in taken) + 0.05 * _away(box, x, y)
            ),
        )
        taken.append(best)
        ax.annotate(
            name, _data(pairs[k]),
            xytext=((best.left + best.right) / 2 - x, (best.bottom + best.top) / 2 - y),
            textcoords="offset points", ha="center", va="center", fontsize=SMALL, color=INK, zorder=5,
            annotation_clip=False, parse_math=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": MUTED, "shrinkA": 0, "shrinkB": 3}
            if _away(best, x, y) > 14 else None,
        )  # fmt: skip


def _data(pair: tuple[Row, Row]) -> tuple[float, float]:
    return 100 * pair[0]["estimate"], 100 * pair[1]["estimate"]


def _on_canvas(ax: Axes, x: float, y: float, points: float) -> tuple[float, float]:
    across, up = ax.transData.transform((x, y))
    return float(across) * points, float(up) * points


def _covered(ax: Axes, pair: tuple[Row, Row], points: float) -> list[_Box]:
    """Boxes of a point and of its two bars."""
    x, y = _data(pair)
    cx, cy = _on_canvas(ax, x, y, points)
    boxes = [_Box(cx - 4, cy - 4, cx + 4, cy + 4)]
    right, flip = pair
    if right["conf_low"] is not None and right["conf_high"] is not None:
        ends = [_on_canvas(ax, 100 * right[k], y, points)[0] for k in ("conf_low", "conf_high")]
        boxes.append(_Box(ends[0], cy - 1, ends[1], cy + 1))
    if flip["conf_low"] is not None and flip["conf_high"] is not None:
        ends = [_on_canvas(ax, x, 100 * flip[k], points)[1] for k in ("conf_low", "conf_high")]
        boxes.append(_Box(cx - 1, ends[0], cx + 1, ends[1]))
    return boxes


def _offsets(width: float) -> list[tuple[float, float]]:
    """Places of a label's centre around its point: near ones first, then rings."""
    near = [(sx * (width / 2 + 6), sy * (FONT_SIZE * 0.5 + 4)) for sy in (1, -1) for sx in (1, -1)]
    rings = [
        (math.cos(angle) * (width / 2 + radius), math.sin(angle) * radius)
        for radius in (14, 24, 36, 50, 66, 84)
        for angle in (k * math.pi / 8 for k in range(16))
    ]
    return near + rings


def _at(x: float, y: float, dx: float, dy: float, width: float, height: float) -> _Box:
    return _Box(x + dx - width / 2, y + dy - height / 2, x + dx + width / 2, y + dy + height / 2)


def _away(box: _Box, x: float, y: float) -> float:
    """Distance in points from a point to the nearest edge of a box."""
    return math.hypot(max(box.left - x, 0, x - box.right), max(box.bottom - y, 0, y - box.top))
