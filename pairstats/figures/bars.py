"""What became of every planned reply, as stacked bars with counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairstats.errors import PairstatsError, counted, listed
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
    SMALL,
    TWO_COLUMNS,
    drawable,
    new_axes,
    paper,
    remember,
    text_width,
)  # fmt: skip
from pairstats.schema import ANSWERED, MISSING, STATUSES
from pairstats.shown import Labels, cell_names
from pairstats.words import about_missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOT_WIDTH = 3.0

# Fill, text colour and hatch of each status; hatched is what was not the model's doing.
_LOOK: dict[str, tuple[str, str, str | None]] = {
    "answered": ("#0072b2", "white", None),
    "unparsed": ("#e69f00", INK, None),
    "truncated": ("#d55e00", INK, None),
    "refused": ("#cc79a7", INK, None),
    "empty": ("#f0e442", INK, None),
    "error": ("#c4c4c4", INK, "////"),
    "absent": ("#ffffff", INK, "...."),
}


def completeness(
    frame: pd.DataFrame,
    *,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what became of the planned replies of each cell.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `Panel.completeness`: the cell's columns, then ``planned``, one column a status, ``reasons``.
    labels : mapping, optional
        What cells are called.
    caption : str, optional
        Sentences of your own under the figure.
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default axes in a figure of their own.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When there is no row, a column is missing, or counts do not add up to ``planned``.

    Examples
    --------
    >>> counts = pd.DataFrame({"model": ["m"], "planned": [20], "answered": [18], "error": [2]})
    >>> completeness(counts).get_xlabel()
    'planned replies (%)'
    """
    factors, statuses = _checked(frame)
    frame = frame.reset_index(drop=True)
    names = wrapped(cell_names(frame, factors, labels))
    columns = _columns(frame)
    with paper():
        beside = (names_width(names) + columns_width(columns)) / POINTS_PER_INCH + 0.3
        height = len(frame) * row_height(names) * 1.3 + 1.15
        ax = ax or new_axes(min(max(beside + PLOT_WIDTH, 4.5), TWO_COLUMNS), height)
        _draw_bars(ax, frame, statuses)
        write_names(ax, range(len(frame)), names)
        write_columns(ax, range(len(frame)), columns)
        ax.set_xlabel("planned replies (%)")
        left = -names_width(names) - GAP
        write_caption(
            ax,
            [*_caption(frame, labels), *own_words(caption)],
            left,
            beside * POINTS_PER_INCH + POINTS_PER_INCH * PLOT_WIDTH * 0.9,
        )
        _legend(ax, frame, statuses)
        if title:
            ax.set_title(drawable(title), parse_math=False, pad=44, loc="left")
    remember(ax.get_figure(root=True), frame)
    return ax


def _checked(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Columns of the cells and of the statuses, once the counts are known to add up."""
    for needed in ("planned", ANSWERED):
        if needed not in frame.columns:
            raise PairstatsError(
                f"Completeness needs a column {needed!r}; there are {listed(frame.columns, 50)}."
            )
    if frame.empty:
        raise PairstatsError("Completeness needs at least one cell, but there is none.")
    names = list(frame.columns)
    statuses = [status for status in STATUSES if status in names]
    wrong = frame[frame[statuses].sum(axis=1) != frame["planned"]]
    if len(wrong):
        raise PairstatsError(
            f"The statuses of each cell must add up to `planned`, but in {counted(len(wrong), 'cell')} they do "
            f"not, the first in row {wrong.index[0]}."
        )
    return names[: names.index("planned")], statuses


def _columns(frame: pd.DataFrame) -> dict[str, list[str]]:
    counts = list(zip(frame[ANSWERED], frame["planned"], strict=True))
    shares = [share_text(int(answered), int(planned)) for answered, planned in counts]
    return {"answered / planned": [f"{a} / {p}" for a, p in counts], "share": shares}


def _draw_bars(ax: Axes, frame: pd.DataFrame, statuses: Sequence[str]) -> None:
    planned = frame["planned"].where(frame["planned"] > 0)
    left = pd.Series(0.0, index=frame.index)
    for status in statuses:
        width = (100 * frame[status] / planned).fillna(0.0)
        fill, ink, hatch = _LOOK[status]
        ax.barh(
            frame.index,
            width,
            left=left,
            height=0.68,
            facecolor=fill,
            hatch=hatch,
            edgecolor=MUTED,
            linewidth=0.4,
        )
        for y in frame.index[width > 0]:
            count = str(int(frame[status][y]))
            if width[y] * PLOT_WIDTH * POINTS_PER_INCH / 100 * 0.85 > text_width(count, SMALL) + 3:
                ax.text(
                    left[y] + width[y] / 2, y, count, ha="center", va="center", color=ink, fontsize=SMALL,
                    bbox={"facecolor": fill, "edgecolor": "none", "pad": 0.8} if hatch else None,
                )  # fmt: skip
        left = left + width
    ax.set_xlim(0, 100)
    ax.set_ylim(len(frame) - 0.45, -0.55)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="x", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _legend(ax: Axes, frame: pd.DataFrame, statuses: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    totals = {status: int(frame[status].sum()) for status in statuses}
    handles: list[Any] = []
    for status, total in totals.items():
        if total:
            fill, _, hatch = _LOOK[status]
            handles.append(
                Patch(
                    facecolor=fill, hatch=hatch, edgecolor=MUTED, linewidth=0.4, label=f"{status} ({total})"
                )
            )
    if handles:
        ax.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(len(handles), 3),
            borderaxespad=1.4, handlelength=1.4, columnspacing=1.2, borderpad=0,
        )  # fmt: skip


def _caption(frame: pd.DataFrame, labels: Labels | None) -> list[str]:
    hatched = any(int(frame[status].sum()) for status in MISSING if status in frame.columns)
    remark = "Hatched: not the model's doing, never scored as wrong." if hatched else ""
    return [drawable(about_missing(frame, labels=labels)), remark]
