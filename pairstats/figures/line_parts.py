"""Lines through estimates with their bands or bars, inside axes that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairstats.figures.columns import POINTS_PER_INCH, wrapped
from pairstats.figures.style import FAINT, MUTED, PALETTE, SMALL, spread
from pairstats.result import none_if_null
from pairstats.shown import Labels, Row, called

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 2.9
"""Height in inches of a figure of one panel."""

LABEL_GAP = 9.0
"""Least distance in points of two names at the ends of lines."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
Point = tuple[float, Row]


@dataclass(frozen=True, slots=True)
class Line:
    """Points of one line in order of their place, and points that stand apart from it."""

    name: str
    joined: tuple[tuple[float, Row], ...]
    apart: tuple[tuple[float, Row], ...]

    @property
    def known(self) -> list[tuple[float, Row]]:
        """Points with an estimate."""
        return [(x, row) for x, row in (*self.joined, *self.apart) if row["estimate"] is not None]


@dataclass(frozen=True, slots=True)
class Places:
    """Where each level stands, and which ones stand apart."""

    at: dict[object, float]
    apart: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """How a line is drawn: its number among the lines of a panel, percent or not, bands or bars, step aside."""

    number: int
    factor: int
    bands: bool
    aside: float = 0.0


def set_up(
    ax: Axes,
    places: Places,
    limits: tuple[float, float],
    labels: Labels | None,
    longest: int = 12,
    aside: float = 0.0,
) -> None:
    """Set limits and ticks of axes; `longest`: characters in a line of a tick's text; `aside`: largest step."""
    ax.set_ylim(*limits)
    texts = wrapped([called(none_if_null(level), labels) for level in places.at], longest)
    ax.set_xticks(list(places.at.values()), texts)
    span = max(places.at.values()) - min(places.at.values())
    room = max(0.06 * span or 0.5, aside + 0.03 * span)
    ax.set_xlim(min(places.at.values()) - room, max(places.at.values()) + room)
    ax.tick_params(labelsize=SMALL)
    for text in ax.get_xticklabels():
        text.set_parse_math(False)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def draw_line(ax: Axes, line: Line, look: Look) -> None:
    """Draw the joined points with their band or bars, and the others apart."""
    colour = PALETTE[look.number]
    for run in _runs(line.joined):
        step = 0.0 if look.bands else look.aside
        banded = [stretch for stretch in _limited(run) if len(stretch) > 1] if look.bands else []
        if len(run) > 1:
            ax.plot(
                [x + step for x, _ in run], [look.factor * row["estimate"] for _, row in run], color=colour,
                linewidth=1.3, zorder=3,
            )  # fmt: skip
        for stretch in banded:
            ax.fill_between(
                [x for x, _ in stretch], [look.factor * row["conf_low"] for _, row in stretch],
                [look.factor * row["conf_high"] for _, row in stretch], color=colour, alpha=0.15, linewidth=0,
            )  # fmt: skip
        in_band = {x for stretch in banded for x, _ in stretch}
        for x, row in run:
            _draw_point(ax, x + step, row, look, barred=x not in in_band)
    for x, row in line.apart:
        if row["estimate"] is not None:
            _draw_point(ax, x + look.aside, row, look, barred=True)


def _draw_point(ax: Axes, x: float, row: Row, look: Look, *, barred: bool) -> None:
    colour = PALETTE[look.number]
    if barred and row["conf_low"] is not None and row["conf_high"] is not None:
        ends = [look.factor * row["conf_low"], look.factor * row["conf_high"]]
        ax.plot([x, x], ends, color=colour, linewidth=1.1, solid_capstyle="butt", zorder=2)
    ax.plot(
        [x], [look.factor * row["estimate"]], marker=MARKERS[look.number], markersize=4.5, color=colour,
        markeredgecolor="white", markeredgewidth=0.5, linestyle="", clip_on=False, zorder=4,
    )  # fmt: skip


def _limited(run: Sequence[Point]) -> list[list[Point]]:
    """Stretches of points that have both limits: a band never runs over a point without."""
    stretches: list[list[Point]] = [[]]
    for point in run:
        if point[1]["conf_low"] is None or point[1]["conf_high"] is None:
            stretches.append([])
        else:
            stretches[-1].append(point)
    return stretches


def _runs(points: Sequence[tuple[float, Row]]) -> list[list[tuple[float, Row]]]:
    """Stretches without a missing estimate: a line never runs over a place that has none."""
    runs: list[list[tuple[float, Row]]] = [[]]
    for place, row in points:
        if row["estimate"] is None:
            runs.append([])
        else:
            runs[-1].append((place, row))
    return [run for run in runs if run]


def draw_faint(ax: Axes, line: Line, factor: int) -> None:
    """Draw a line in grey, for comparison with another."""
    for run in _runs(line.joined):
        ax.plot(
            [place for place, _ in run], [factor * row["estimate"] for _, row in run], color=FAINT, linewidth=0.9,
            zorder=1,
        )  # fmt: skip


def label_ends(
    ax: Axes, lines: Sequence[Line], names: Sequence[str], factor: int, limits: tuple[float, float]
) -> None:
    """Write the name of each line at its right end, in its colour, none over another."""
    if len(lines) == 1:
        return
    ends = [_end(line, factor, limits[0]) for line in lines]
    height = HEIGHT * POINTS_PER_INCH * 0.66
    tallest = 1 + max(name.count("\n") for name in names)
    gap = (limits[1] - limits[0]) * LABEL_GAP * tallest / height
    for j, (place, name) in enumerate(zip(spread(ends, gap), names, strict=True)):
        text = name if lines[j].known else f"{name}: no results"
        ax.annotate(
            text, (1, place), xycoords=ax.get_yaxis_transform(), xytext=(6, 0), textcoords="offset points",
            va="center", fontsize=SMALL, color=PALETTE[j] if lines[j].known else MUTED, annotation_clip=False,
            parse_math=False, linespacing=1.0,
        )  # fmt: skip


def _end(line: Line, factor: int, absent: float) -> float:
    """Where a line ends: its last point that is joined, else its last one."""
    joined = [row for _, row in line.joined if row["estimate"] is not None]
    rows = joined or [row for _, row in line.apart if row["estimate"] is not None]
    return float(rows[-1]["estimate"]) * factor if rows else absent
