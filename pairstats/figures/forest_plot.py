"""Estimates with their intervals, one row each, with the numbers written beside them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.errors import one_of
from pairstats.figures.columns import (
    GAP,
    POINTS_PER_INCH,
    caption_text,
    columns_width,
    names_width,
    own_words,
    row_height,
    wrapped,
    write_caption,
    write_columns,
    write_heading,
    write_names,
)  # fmt: skip
from pairstats.figures.forest_plan import Line, Plan, plan_forest
from pairstats.figures.style import (
    FAINT,
    LONGEST_NAME,
    MUTED,
    PALETTE,
    SMALL,
    TWO_COLUMNS,
    drawable,
    middle_cut,
    new_axes,
    paper,
    remember,
)  # fmt: skip
from pairstats.result import Estimates, p_text
from pairstats.shown import (
    ALPHA,
    Labels,
    Row,
    by_estimand,
    count_text,
    level_text,
    levels_text,
    limits_of,
    meaning,
    parting,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST_PLOT, SQUEEZED_PLOT = 2.6, 1.8
"""Widths in inches of the plot between names and numbers: as it should be, and as it may be at least."""

NARROWEST = 80.0
MOST_LINES = 3
"""Points that the reason of an empty row may have at least, and its most lines."""

WIDE_SPAN = 0.3
"""Shares that span more than this are drawn on the whole range from 0 to 1."""


def forest(
    estimates: Estimates,
    *,
    labels: Labels | None = None,
    reference: float | None = None,
    percent: bool | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    group: str = "estimand",
    caption: str | None = None,
) -> Axes:
    """Draw estimates and their intervals, in groups.

    Parameters
    ----------
    estimates : Estimates
        Either rows about cells or rows of comparisons. Nothing is computed from them.
    labels : mapping, optional
        What estimands and cells are called; by default what the provenance says.
    reference : float, optional
        Where to draw a vertical line; 0 for comparisons.
    percent : bool, optional
        Whether to show shares as percent; by default what the labels say.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default axes in a figure of their own, as high as the rows need.
    title : str, optional
    group : {"estimand", "contrast"}, default "estimand"
        What stands above the groups; for "contrast", rows are told apart by their factors.
    caption : str, optional
        Sentences of your own under the figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When there is no row, or when cells and comparisons are mixed.

    Examples
    --------
    >>> rows = [{"estimand": "accuracy", "model": "m", "estimate": 0.85, "conf_low": 0.75, "conf_high": 0.91}]
    >>> forest(Estimates.from_rows(rows, factors=("model",))).get_xlabel()
    'accuracy'
    """
    one_of("group", group, ("estimand", "contrast"))
    plan = plan_forest(estimates, labels, percent, group)
    names = wrapped([line.name for line in plan.lines])
    columns = _columns(plan)
    beside = names_width(names) + columns_width(columns)
    width = _width(beside / POINTS_PER_INCH + 0.3)
    reasons = _reasons(plan, POINTS_PER_INCH * width - beside - 3 * GAP)
    with paper():
        row = row_height([*names, *reasons.values()])
        ax = ax or new_axes(width, plan.height * row + 0.95)
        heights = [line.y for line in plan.lines]
        _set_limits(ax, plan)
        _draw_margin(ax, plan)
        if plan.paired or reference is not None:
            ax.axvline(
                (reference or 0.0) * plan.factor, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1
            )
        for line in plan.lines:
            _draw_line(ax, line, plan.factor, reasons.get(line.y, ""))
        write_names(ax, heights, names)
        for y, heading in plan.headings.items():
            write_heading(ax, y, heading, names)
        write_columns(ax, heights, columns)
        ax.set_xlabel(_axis_label(estimates, plan, labels), parse_math=False)
        left = -names_width(names) - GAP
        write_caption(ax, [*_caption(plan), *own_words(caption)], left, POINTS_PER_INCH * (width - 0.2))
        if title:
            ax.set_title(drawable(title), parse_math=False, pad=16, loc="left")
    remember(ax.get_figure(root=True), estimates.frame)
    return ax


def _width(beside: float) -> float:
    """Width of the figure in inches: two columns of a paper, more only where the plot would be squeezed."""
    return min(max(beside + SMALLEST_PLOT, 4.5), max(TWO_COLUMNS, beside + SQUEEZED_PLOT))


def _reasons(plan: Plan, room: float) -> dict[float, str]:
    """Why rows have no results, by their height: the first remark of each, in lines no wider than the plot."""
    reasons = {}
    for line in plan.lines:
        if line.row["estimate"] is None:
            why = str(line.row["note"] or "no results").partition("; ")[0]
            lines = caption_text([drawable(why)], max(room, NARROWEST)).split("\n")
            cut = (
                lines
                if len(lines) <= MOST_LINES
                else [*lines[: MOST_LINES - 1], f"{lines[MOST_LINES - 1]} …"]
            )
            reasons[line.y] = "\n".join(cut)
    return reasons


def _columns(plan: Plan) -> dict[str, list[str]]:
    rows = [line.row for line in plan.lines]
    units = {line.scale.unit.strip() for line in plan.lines} - {""}
    levels = ["" if row["conf_level"] is None else level_text(row["conf_level"]) for row in rows]
    alike = len({*levels} - {""}) == 1
    what = units.pop() if units else "difference" if plan.paired else "estimate"
    head = f"{what} [{f'{max(levels)} ' if alike else ''}interval]"
    columns = {head: [_estimate_text(line) for line in plan.lines]}
    if not alike and any(levels):
        columns["level"] = levels
    if any(row["p_adjusted"] is not None for row in rows):
        columns["adjusted p"] = [p_text(row["p_adjusted"]) for row in rows]
    elif any(row["p_value"] is not None for row in rows):
        columns["p"] = [p_text(row["p_value"]) for row in rows]
    if any(row["n_families"] is not None for row in rows):
        columns["families (n)"] = [_counts_text(row) for row in rows]
    return columns


def _estimate_text(line: Line) -> str:
    if line.row["estimate"] is None:
        return "no results"
    text = f"{line.scale.number(line.row['estimate'])} {line.scale.interval(line.row)}"
    return text.strip().replace("-", "\N{MINUS SIGN}")


def _counts_text(row: Row) -> str:
    families, units = row["n_families"], row["n_units"]
    return "" if families is None else f"{families}" if units is None else f"{families} ({units})"


def _values(plan: Plan) -> list[float]:
    found = [value for line in plan.lines for value in (line.row["estimate"], *limits_of(line.row))]
    return [value * plan.factor for value in found if value is not None and math.isfinite(value)]


def _set_limits(ax: Axes, plan: Plan) -> None:
    values = _values(plan)
    if plan.paired:
        margin = (_one_margin(plan) or 0.0) * plan.factor
        values += [-margin, 0.0, margin]
    low, high = (min(values), max(values)) if values else (0.0, float(plan.factor))
    within = not plan.paired and low >= 0 and high <= plan.factor
    if within and high - low > WIDE_SPAN * plan.factor:
        low, high = 0.0, float(plan.factor)
    room = 0.03 * (high - low) or 0.05 * (abs(high) or plan.factor)
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(plan.height - 0.4, -0.6)
    ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="x", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)


def _draw_margin(ax: Axes, plan: Plan) -> None:
    if plan.paired and (margin := _one_margin(plan)) is not None:
        ax.axvspan(-margin * plan.factor, margin * plan.factor, color=FAINT, alpha=0.5, linewidth=0, zorder=0)


def _draw_line(ax: Axes, line: Line, factor: int, reason: str) -> None:
    row = line.row
    if row["estimate"] is None:
        ax.text(
            0.02, line.y, reason, color=MUTED, fontsize=SMALL, transform=ax.get_yaxis_transform(), va="center",
            style="italic", parse_math=False, linespacing=1.05,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )  # fmt: skip
        return
    if row["conf_low"] is not None or row["conf_high"] is not None:
        ends = limits_of(row)
        low, high = _limit(ends[0], -math.inf), _limit(ends[1], math.inf)
        _draw_interval(ax, line.y, factor * low, factor * high)
    p = row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]
    filled = p is None or p <= ALPHA
    ax.plot(
        [row["estimate"] * factor], [line.y], marker="o", markersize=5, color=PALETTE[0], linestyle="",
        markerfacecolor=PALETTE[0] if filled else "white", clip_on=False, zorder=4,
    )  # fmt: skip


def _limit(value: float | None, absent: float) -> float:
    return absent if value is None else value


def _draw_interval(ax: Axes, y: float, low: float, high: float) -> None:
    """Draw a bar with end ticks; an end without a limit is an arrow head at the edge."""
    edges = sorted(ax.get_xlim())
    ends = [min(max(end, edges[0]), edges[1]) for end in (low, high)]
    ax.plot(ends, [y, y], color=PALETTE[0], linewidth=1.3, solid_capstyle="butt", clip_on=False)
    for limit, end, head in ((low, ends[0], "<"), (high, ends[1], ">")):
        shape = "|" if math.isfinite(limit) else head
        ax.plot([end], [y], marker=shape, color=PALETTE[0], markersize=5, linestyle="", clip_on=False)


def _axis_label(estimates: Estimates, plan: Plan, labels: Labels | None) -> str:
    groups = by_estimand(estimates)
    unit = {(100, True): " (percentage points)", (100, False): " (%)"}.get((plan.factor, plan.paired), "")
    what = meaning(estimates, groups[0][0], labels).label if len(groups) == 1 else "estimate"
    if plan.paired:
        what = f"difference in {what[:1].lower()}{what[1:]}" if len(groups) == 1 else "difference"
    return middle_cut(drawable(what), 2 * LONGEST_NAME) + unit


def _caption(plan: Plan) -> list[str]:
    rows = pd.DataFrame([line.row for line in plan.lines])
    families = count_text(rows.loc[rows["estimate"].notna(), "n_families"], "family")
    sentences = [f"Bars: {drawable(levels_text(rows))}{f' over {families}' if families else ''}."]
    if rows["n_units"].notna().any():
        sentences.append("n: units that count, repeats averaged.")
    if rows["p_value"].notna().any():
        adjusted = "adjusted " if rows["p_adjusted"].notna().any() else ""
        sentences.append(f"Filled: {adjusted}p ≤ {ALPHA:g}.")
    if any(parting(line.row) for line in plan.lines):
        sentences.append("Where a bar and its filling disagree, the test decides.")
    if plan.paired and (margin := _one_margin(plan)) is not None:
        sentences.append(f"Grey: margin of equivalence, ±{plan.lines[0].scale.value(margin).lstrip('+')}.")
    return sentences


def _one_margin(plan: Plan) -> float | None:
    """Margin of equivalence, if all rows have one and the same."""
    margins = {(line.row["claim"], line.row["margin"]) for line in plan.lines}
    claim, margin = margins.pop() if len(margins) == 1 else (None, None)
    return margin if claim == "equivalence" else None
