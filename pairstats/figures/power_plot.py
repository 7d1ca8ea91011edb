"""Power against the size of a study: one panel a contrast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairstats.errors import PairstatsError, counted, listed, one_of
from pairstats.figures.columns import own_words, wrapped, write_figure_caption
from pairstats.figures.panels import PANEL, new_panels
from pairstats.figures.style import (
    FAINT,
    MUTED,
    PALETTE,
    SMALL,
    drawable,
    paper,
    remember,
    spread,
)
from pairstats.result import none_if_null

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOUNS = {"families": "family", "copies": "copy", "repeats": "repeat"}
AXES = tuple(NOUNS)
NEEDED = ("contrast", "comparison", *AXES, "power", "power_low", "power_high")
LONGEST_TITLE = 26
LABEL_GAP = 0.075
"""Least distance of two labels at the ends of lines, in units of power."""


def power_curve(
    frame: pd.DataFrame, *, across: str | None = None, target: float = 0.8, caption: str | None = None
) -> Figure:
    """Draw the power of each contrast against families, copies or repeats.

    Parameters
    ----------
    frame : pandas.DataFrame
        That of `pairstats.power.power_of`: one row a contrast and design.
    across : {"families", "copies", "repeats"}, optional
        What the horizontal axis shows; by default the one with most values, families first. The others make
        lines of their own.
    target : float, default 0.8
        Where the dashed line is drawn.
    caption : str, optional
        Sentences of your own under the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    PairstatsError
        When a column is missing, or no contrast was simulated.

    Examples
    --------
    >>> row = {"contrast": "C1", "comparison": "b - a", "copies": 8, "repeats": 1}
    >>> rows = [row | {"families": n, "power": p, "power_low": p - 0.02, "power_high": p + 0.02}
    ...         for n, p in [(50, 0.6), (100, 0.85)]]
    >>> power_curve(pd.DataFrame(rows)).axes[0].get_xlabel()
    'families'
    """
    absent = [name for name in NEEDED if name not in frame.columns]
    if absent:
        raise PairstatsError(f"A power curve needs the columns {listed(absent, 10)}, which this table lacks.")
    drawn = frame[frame["power"].notna()]
    if drawn.empty:
        raise PairstatsError("A power curve needs at least one simulated contrast, but there is none.")
    if across is None:
        across = max(AXES, key=lambda name: (drawn[name].nunique(), -AXES.index(name)))
    one_of("across", across, AXES)
    panels = dict(list(drawn.groupby(["contrast", "comparison"], sort=False)))
    titles = wrapped([f"{name}: {label}" for name, label in panels], LONGEST_TITLE)
    others = [name for name in AXES if name != across and drawn[name].nunique() > 1]
    with paper():
        figure, all_axes = new_panels(titles, alone=PANEL + 1.0)
        for ax, title, part in zip(all_axes, titles, panels.values(), strict=True):
            _draw_panel(ax, title, part, across, others, target)
        fixed = [
            counted(int(drawn[name].iloc[0]), NOUNS[name]) for name in AXES if drawn[name].nunique() == 1
        ]
        write_figure_caption(figure, [*_caption(drawn, fixed, target), *own_words(caption)])
    remember(figure, frame)
    return figure


def _draw_panel(
    ax: Axes, title: str, part: pd.DataFrame, across: str, others: Sequence[str], target: float
) -> None:
    ax.axhline(target, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    lines = part.groupby(list(others), sort=True) if others else [((), part)]
    ends: list[tuple[float, str, str]] = []
    for number, (key, line) in enumerate(lines):
        colour = PALETTE[number % len(PALETTE)]
        line = line.sort_values(across)
        x, y = line[across].astype(float), line["power"]
        ax.fill_between(x, line["power_low"], line["power_high"], color=colour, alpha=0.18, linewidth=0)
        ax.plot(x, y, color=colour, linewidth=1.2, marker="o", markersize=3.5, clip_on=False, zorder=3)
        names: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        text = ", ".join(counted(int(value), NOUNS[name]) for name, value in zip(others, names, strict=True))
        ends.append((float(y.iloc[-1]), text, colour))
    _set_up(ax, title, part, across)
    if others:
        _label_ends(ax, ends, float(part[across].max()))


def _label_ends(ax: Axes, ends: Sequence[tuple[float, str, str]], right: float) -> None:
    for place, (_, text, colour) in zip(spread([y for y, _, _ in ends], LABEL_GAP), ends, strict=True):
        ax.annotate(
            text, (right, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=SMALL,
            color=colour, annotation_clip=False,
        )  # fmt: skip


def _set_up(ax: Axes, title: str, part: pd.DataFrame, across: str) -> None:
    ax.set_title("\n".join(drawable(line) for line in title.split("\n")), fontsize=SMALL, loc="left")
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    ax.set_ylabel("power")
    ax.set_xlabel(across)
    values = sorted({int(value) for value in part[across]})
    if len(values) <= 6:
        ax.set_xticks(values)
    if len(values) == 1:
        ax.set_xlim(values[0] - 1, values[0] + 1)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _caption(drawn: pd.DataFrame, fixed: Sequence[str], target: float) -> list[str]:
    simulations: Any = none_if_null(drawn["n_simulations"].iloc[0]) if "n_simulations" in drawn else None
    counted = f" of {int(simulations)} simulations" if simulations is not None else ""
    return [
        f"Share{counted} in which the claim is reached, with its Monte-Carlo 95 % interval.",
        f"Dashed: {target:.0%} power.",
        *([f"Throughout: {', '.join(fixed)}."] if fixed else []),
    ]
