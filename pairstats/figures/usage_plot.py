"""Tokens, latency or reply length of each model: the given values as a box or a step curve, on a log axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairstats.errors import PairstatsError, counted, listed, one_of
from pairstats.figures.columns import (
    GAP,
    POINTS_PER_INCH,
    columns_width,
    names_width,
    own_words,
    row_height,
    share_text,
    wrapped,
    write_caption,
    write_columns,
    write_names,
)  # fmt: skip
from pairstats.figures.style import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    SMALL,
    TWO_COLUMNS,
    drawable,
    new_axes,
    paper,
    remember,
)  # fmt: skip
from pairstats.result import none_if_null
from pairstats.shown import Labels, called

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("box", "ecdf")
PLOT_WIDTH = 3.0
TRUNCATED = "truncated"
ENDS = (5.0, 25.0, 50.0, 75.0, 95.0)
"""Percentiles of the whiskers, the box and its line."""

STYLES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
LEGIBLE = 8
"""Step curves that can be told apart."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Values of one model in ascending order, which of them were cut off, and what has no value."""

    name: str
    values: np.ndarray
    cut: np.ndarray
    n_truncated: int
    n_absent: int


def usage_distribution(
    frame: pd.DataFrame,
    *,
    value: str = "output_tokens",
    by: str = "model",
    kind: str = "box",
    log: bool = True,
    status: str = "status",
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how long, slow or dear the replies of each model were, and how many were cut off.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a reply.
    value : str, default "output_tokens"
        Column with numbers from 0 up; nulls are counted and not drawn.
    by : str, default "model"
    kind : {"box", "ecdf"}
        "box": quartiles, whiskers to the 5th and the 95th percentile, and every reply beyond them. "ecdf": the
        share of replies up to each value, for at most 8 levels.
    log : bool, default True
        Logarithmic axis; linear below 1 where there are zeros.
    status : str, default "status"
        Column in which "truncated" marks a reply that was cut off; it need not be there.
    labels : mapping, optional
        What levels and the value are called.
    caption, title : str, optional
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When a column is missing, no reply has a value, one is negative, or curves are too many.

    Examples
    --------
    >>> replies = pd.DataFrame({"model": ["a"] * 5, "output_tokens": [10, 12, 14, 16, 900]})
    >>> usage_distribution(replies).get_xlabel()
    'output tokens'
    """
    one_of("kind", kind, KINDS)
    groups = _groups(frame, value, by, status, labels)
    if kind == "ecdf" and len(groups) > LEGIBLE:
        raise PairstatsError(
            f"At most {LEGIBLE} step curves can be told apart, but there are {len(groups)}. Use kind='box'."
        )
    has_status = status in frame.columns
    names = wrapped([group.name for group in groups])
    columns = _columns(groups, has_status)
    beside = (names_width(names) + columns_width(columns)) / POINTS_PER_INCH + 0.3
    with paper():
        width = min(max(beside + PLOT_WIDTH, 4.5), max(TWO_COLUMNS, beside + 2.0))
        rows = len(groups) * row_height(names) * 1.35
        ax = ax or new_axes(width, rows + 0.95 + (2.0 if kind == "ecdf" else 0.0))
        (_draw_boxes if kind == "box" else _draw_curves)(ax, groups, names)
        _scale_axis(ax, groups, log)
        if kind == "box":
            write_names(ax, range(len(groups)), names)
            write_columns(ax, range(len(groups)), columns)
        else:
            _curve_legend(ax, names, columns)
        ax.set_xlabel(drawable(called(value, labels)).replace("_", " "), parse_math=False)
        left = -names_width(names) - GAP if kind == "box" else -32.0
        write_caption(
            ax, [*_caption(groups, kind, has_status), *own_words(caption)], left, POINTS_PER_INCH * (width - 0.2)
        )  # fmt: skip
        if title:
            ax.set_title(drawable(title), parse_math=False, pad=16, loc="left")
    kept = [name for name in (by, value, status) if name in frame.columns]
    remember(ax.get_figure(root=True), frame[kept])
    return ax


def _groups(frame: pd.DataFrame, value: str, by: str, status: str, labels: Labels | None) -> list[_Group]:
    absent = [name for name in (value, by) if name not in frame.columns]
    if absent:
        raise PairstatsError(
            f"A distribution needs the columns {listed(absent)}; there are {listed(frame.columns, 50)}."
        )
    frame = frame.reset_index(drop=True)
    numbers = pd.to_numeric(frame[value], errors="coerce").astype(float)
    odd = frame[value].notna() & numbers.isna()
    if odd.any() or (numbers < 0).any() or np.isinf(numbers).any():
        raise PairstatsError(f"Column {value!r} must hold numbers from 0 up, but holds something else.")
    if not numbers.notna().any():
        raise PairstatsError(f"A distribution needs at least one value in {value!r}, but there is none.")
    cut = frame[status].eq(TRUNCATED) if status in frame.columns else pd.Series(False, index=frame.index)
    found = []
    for level, part in numbers.groupby(frame[by].astype(object), sort=False, dropna=False):
        known = part.dropna().sort_values(kind="stable")
        found.append(
            _Group(
                called(none_if_null(level), labels), known.to_numpy(), cut[known.index].to_numpy(dtype=bool),
                int(cut[part.index].sum()), int(part.isna().sum()),
            )
        )  # fmt: skip
    return found


def _columns(groups: Sequence[_Group], has_status: bool) -> dict[str, list[str]]:
    columns = {
        "n": [f"{len(group.values)}" for group in groups],
        "median": [_median(group.values) for group in groups],
    }
    if has_status:
        columns["truncated"] = [_truncated(group) for group in groups]
    if any(group.n_absent for group in groups):
        columns["no value"] = [f"{group.n_absent}" for group in groups]
    return columns


def _median(values: np.ndarray) -> str:
    """Median as a person writes it: no exponent, no decimals that say nothing."""
    if not len(values):
        return ""
    median = float(np.median(values))
    return f"{median:,.0f}" if median >= 1000 else f"{median:.4g}"


def _truncated(group: _Group) -> str:
    part, whole = group.n_truncated, len(group.values) + group.n_absent
    return f"{part} ({share_text(part, whole)})" if part else "0"


def _draw_boxes(ax: Axes, groups: Sequence[_Group], names: Sequence[str]) -> None:
    from matplotlib.patches import Rectangle

    for y, group in enumerate(groups):
        if not len(group.values):
            ax.text(
                0.02, y, "no values", transform=ax.get_yaxis_transform(), color=MUTED, fontsize=SMALL,
                va="center", style="italic",
            )  # fmt: skip
            continue
        low, first, middle, third, high = np.percentile(group.values, ENDS)
        for start, end in ((low, first), (third, high)):
            ax.plot([start, end], [y, y], color=PALETTE[0], linewidth=1.1, solid_capstyle="butt")
        box = Rectangle(
            (first, y - 0.26), third - first, 0.52, facecolor="#9cc7e0", edgecolor=PALETTE[0], linewidth=0.8
        )
        ax.add_patch(box)
        ax.plot([middle, middle], [y - 0.26, y + 0.26], color=INK, linewidth=1.6, solid_capstyle="butt")
        beyond = (group.values < low) | (group.values > high)
        _points(ax, group.values[beyond & ~group.cut], y, "o", PALETTE[0])
        _points(ax, group.values[group.cut], y, "|", PALETTE[1])
    ax.set_ylim(len(groups) - 0.45, -0.55)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)


def _points(ax: Axes, values: np.ndarray, y: float, marker: str, colour: str) -> None:
    if len(values):
        at = np.full(len(values), y + (0.38 if marker == "|" else 0.0))
        ax.plot(
            values, at, linestyle="", marker=marker, markersize=4 if marker == "|" else 2.4, color=colour,
            markerfacecolor="none", markeredgewidth=0.8 if marker == "|" else 0.5, clip_on=False, zorder=4,
        )  # fmt: skip


def _draw_curves(ax: Axes, groups: Sequence[_Group], names: Sequence[str]) -> None:
    for k, group in enumerate(groups):
        if not len(group.values):
            continue
        shares = 100 * np.arange(1, len(group.values) + 1) / len(group.values)
        ax.plot(
            np.repeat(group.values, 2), np.repeat(np.concatenate([[0.0], shares]), 2)[1:-1], color=PALETTE[k],
            linestyle=STYLES[k % len(STYLES)], linewidth=1.3,
        )  # fmt: skip
        if group.cut.any():
            ax.plot(
                group.values[group.cut],
                shares[group.cut],
                linestyle="",
                marker="|",
                markersize=5,
                color=PALETTE[k],
            )
    ax.set_ylim(0, 101)
    ax.set_ylabel("replies up to this value (%)")
    ax.tick_params(labelsize=SMALL)


def _curve_legend(ax: Axes, names: Sequence[str], columns: dict[str, list[str]]) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for k, name in enumerate(names):
        numbers = ", ".join(f"{head} {cells[k]}" for head, cells in columns.items())
        handles.append(
            Line2D(
                [], [], color=PALETTE[k], linestyle=STYLES[k % len(STYLES)], linewidth=1.3,
                label=f"\u200a{name.replace(chr(10), ' ')}: {numbers}",
            )
        )  # fmt: skip
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.01), ncols=1, borderaxespad=0, borderpad=0,
        handlelength=2.4,
    )  # fmt: skip


def _scale_axis(ax: Axes, groups: Sequence[_Group], log: bool) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    values = np.concatenate([group.values for group in groups])
    positive = values[values > 0]
    if log and len(positive):
        zeros = len(positive) < len(values)
        if zeros:
            ax.set_xscale("symlog", linthresh=min(1.0, float(positive.min())))
        else:
            ax.set_xscale("log")
        low = 0.0 if zeros else float(positive.min()) / 1.25
        ax.set_xlim(low, float(positive.max()) * 1.25)
        if not zeros and positive.max() < 30 * positive.min():
            ax.xaxis.set_major_locator(FixedLocator(_one_two_five(*ax.get_xlim())))
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        most = float(values.max()) or 1.0
        ax.set_xlim(-0.02 * most, 1.04 * most)
        ax.locator_params(axis="x", nbins=6)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    ax.grid(axis="x", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _one_two_five(low: float, high: float) -> list[float]:
    """Ticks of a short logarithmic axis: 1, 2 and 5 times powers of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def _caption(groups: Sequence[_Group], kind: str, has_status: bool) -> list[str]:
    sentences = [
        "Box: quartiles and median; lines to the 5th and 95th percentile; dots: every reply beyond."
        if kind == "box"
        else "Steps: share of the replies drawn that are at most so long."
    ]
    if any(group.cut.any() for group in groups):
        where = "Orange ticks" if kind == "box" else "Ticks"
        sentences.append(f"{where}: replies that were cut off, whose full length is not known.")
    elif has_status:
        sentences.append("No reply with a value was cut off.")
    lost = sum(group.n_absent for group in groups)
    if lost:
        sentences.append(f"Not drawn: {counted(lost, 'row')} without a value.")
    return sentences
