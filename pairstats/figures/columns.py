"""Text beside the rows of a plot: names to the left, numbers to the right, widths measured."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pairstats.figures.style import FONT_SIZE, INK, MUTED, SMALL, distinct, drawable, middle_cut, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 40
"""Characters in one line of a name; a name has at most two lines."""

GAP = 10.0
POINTS_PER_INCH = 72.0

Columns = Mapping[str, Sequence[str]]


def wrapped(names: Sequence[str], line: int = LINE) -> list[str]:
    """Make names drawable, shorten the longest in the middle, and break them over at most two lines.

    Examples
    --------
    >>> wrapped(["m"])
    ['m']
    """
    full = [drawable(name) for name in names]
    return distinct(full, ["\n".join(_two_lines(name, line)) for name in full])


def names_width(names: Sequence[str]) -> float:
    """Width in points of the column of names."""
    return max((text_width(line) for name in names for line in name.split("\n")), default=0.0)


def columns_width(columns: Columns) -> float:
    """Width in points of the columns of numbers."""
    return sum(_width(head, cells) + GAP for head, cells in columns.items())


def row_height(names: Sequence[str]) -> float:
    """Height in inches of a row that holds each of the names."""
    return 0.1 * (2 + max((name.count("\n") for name in names), default=0))


def under_headings(groups: Sequence[str | None]) -> tuple[list[float], dict[float, str], float]:
    """Heights of rows that are sorted by their group, of the headings above them, and of all together.

    Examples
    --------
    >>> under_headings(["easy", "easy", "hard"])
    ([1.0, 2.0, 4.35], {0.0: 'easy', 3.35: 'hard'}, 5.35)
    >>> under_headings([None, None])
    ([0.0, 1.0], {}, 2.0)
    """
    heights: list[float] = []
    headings: dict[float, str] = {}
    y = 0.0
    for k, group in enumerate(groups):
        if group is not None and (not k or group != groups[k - 1]):
            y += 0.35 if heights else 0.0
            headings[y] = group
            y += 1
        heights.append(y)
        y += 1
    return heights, headings, y


def write_names(ax: Axes, heights: Sequence[float], names: Sequence[str]) -> None:
    """Write names to the left of the axes, each at its height in data units, left-aligned."""
    left = -names_width(names) - GAP
    for y, name in zip(heights, names, strict=True):
        _write(ax, (0, y), (left, 0), name, ha="left", color=INK, size=FONT_SIZE)
    ax.set_yticks([])


def write_heading(ax: Axes, y: float, text: str, names: Sequence[str]) -> None:
    """Write a bold line above a group of rows, which may reach into the empty row of the axes, over its grid."""
    left = -names_width(names) - GAP
    _write(
        ax, (0, y), (left, 0), text, ha="left", color=INK, size=FONT_SIZE, weight="bold", background="white"
    )


def write_columns(ax: Axes, heights: Sequence[float], columns: Columns) -> None:
    """Write columns of numbers to the right of the axes, right-aligned under their heads."""
    right = 0.0
    for head, cells in columns.items():
        right += _width(head, cells) + GAP
        ax.annotate(
            head, (1, 1), xycoords="axes fraction", xytext=(right, 2), textcoords="offset points",
            ha="right", va="bottom", color=MUTED, fontsize=SMALL, annotation_clip=False, parse_math=False,
        )  # fmt: skip
        for y, cell in zip(heights, cells, strict=True):
            _write(ax, (1, y), (right, 0), cell, ha="right", color=INK, size=SMALL)


def caption_text(sentences: Sequence[str], width: float) -> str:
    """Join sentences and break them into lines no wider than `width` points."""
    lines, line = [], ""
    for word in " ".join(filter(None, sentences)).split(" "):
        longer = f"{line} {word}".strip()
        if line and text_width(longer, SMALL) > width:
            lines.append(line)
            longer = word
        line = longer
    return "\n".join([*lines, line])


def write_caption(ax: Axes, sentences: Sequence[str], left: float, width: float, below: float = 30.0) -> None:
    """Write what a reader must know under the axis label."""
    ax.annotate(
        caption_text(sentences, width), (0, 0), xycoords="axes fraction", xytext=(left, -below),
        textcoords="offset points", ha="left", va="top", color=MUTED, fontsize=SMALL, annotation_clip=False,
        parse_math=False, linespacing=1.2,
    )  # fmt: skip


def write_figure_caption(figure: Figure, sentences: Sequence[str]) -> None:
    """Write what a reader must know under all panels of a figure."""
    text = caption_text(sentences, POINTS_PER_INCH * (figure.get_figwidth() - 0.2))
    figure.supxlabel(
        text, x=0.01, ha="left", fontsize=SMALL, color=MUTED, parse_math=False, linespacing=1.2
    )  # fmt: skip


def write_figure_title(figure: Figure, title: str) -> None:
    """Write a title above all panels of a figure."""
    figure.suptitle(
        drawable(title), x=0.01, ha="left", fontsize=FONT_SIZE, fontweight="bold", parse_math=False
    )  # fmt: skip


def own_words(caption: str | None) -> list[str]:
    """Sentences of the caller's for a caption, made drawable."""
    return [drawable(caption)] if caption else []


def share_text(part: int, whole: int) -> str:
    """Percent, in which only all is 100 and only none is 0.

    Examples
    --------
    >>> share_text(1, 360), share_text(0, 5), share_text(0, 0)
    ('0.3 %', '0 %', 'none planned')
    """
    if not whole:
        return "none planned"
    share = 100 * part / whole
    if part not in (0, whole) and not 0.05 <= share < 99.95:
        return "> 99.9 %" if share > 50 else "< 0.1 %"
    digits = 0 if part in (0, whole) or 0.5 <= share < 99.5 else 1
    return f"{share:.{digits}f} %"


def _write(
    ax: Axes, at: tuple[float, float], offset: tuple[float, float], text: str, *, ha: str, color: str,
    size: float, weight: str = "normal", background: str | None = None,
) -> None:  # fmt: skip
    box = None if background is None else {"facecolor": background, "edgecolor": "none", "pad": 1.0}
    ax.annotate(
        text, at, xycoords=ax.get_yaxis_transform(), xytext=offset, textcoords="offset points", ha=ha,
        va="center", color=color, fontsize=size, fontweight=weight, annotation_clip=False, parse_math=False,
        linespacing=1.05, bbox=box,
    )  # fmt: skip


def _width(head: str, cells: Sequence[str]) -> float:
    return max(text_width(text, SMALL) for text in (head, *cells))


def _two_lines(name: str, line: int) -> list[str]:
    """Break a long name, a comparison between its two sides."""
    if len(name) <= line:
        return [name]
    if name.count(" - ") == 1:
        first, second = name.split(" - ")
        return [f"{middle_cut(first, line - 2)} -", middle_cut(second, line)]
    lines = textwrap.wrap(name, line, break_on_hyphens=False)
    if len(lines) <= 2:
        return lines
    name = middle_cut(name, 2 * line - 6)
    return [name[: line - 3], name[line - 3 :]]
