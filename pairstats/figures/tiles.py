"""A grid of coloured tiles with text in them: names to the left and above, sizes measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.colors import to_hex, to_rgb

from pairstats.figures.columns import GAP, POINTS_PER_INCH, names_width, wrapped, write_caption, write_names
from pairstats.figures.style import (
    FAINT,
    INK,
    PALETTE,
    SMALL,
    TWO_COLUMNS,
    drawable,
    new_axes,
    paper,
    text_width,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROWEST, WIDEST = 26.0, 74.0
"""Widths in points of a tile, unless there are many."""

MANY = 12
"""More columns than these are written closely."""

SHORT_NAME = 24
"""Characters in one line of a name above a column."""

TINY = 6.0
HATCH = "////"
UP, DOWN = PALETTE[0], PALETTE[1]
"""Colours of the upper end of a scale, and of its lower end where it has a middle."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile with lines of text, of which the first is larger unless all are small."""

    row: int
    column: int
    fill: str
    lines: tuple[str, ...] = ()
    hatched: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Tiles and the names of their rows and columns."""

    tiles: Sequence[Tile]
    rows: Sequence[str]
    columns: Sequence[str]


def draw_grid(
    grid: Grid, caption: Sequence[str], *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw tiles with the names of their rows and columns, and a caption below."""
    names = wrapped(grid.rows)
    heads = wrapped(grid.columns, SHORT_NAME)
    wide = _tile_width(grid, heads)
    high = max((_text_height(tile) for tile in grid.tiles), default=SMALL) + 6
    high = max(high, (1 + max(name.count("\n") for name in names)) * 9.5 + 2)
    upright = max(names_width([head]) for head in heads) * SMALL / 8 > wide - 3
    left = names_width(names) + GAP
    width = max((left + wide * len(heads)) / POINTS_PER_INCH + 0.3, 2.6)
    with paper():
        above = (max(names_width([head]) for head in heads) if upright else 20.0) / POINTS_PER_INCH
        ax = ax or new_axes(width, (high * len(names)) / POINTS_PER_INCH + above + 0.75)
        for tile in grid.tiles:
            _draw(ax, tile)
        ax.set_xlim(-0.5, len(heads) - 0.5)
        ax.set_ylim(len(names) - 0.5, -0.5)
        for side in ("left", "top", "right", "bottom"):
            ax.spines[side].set_visible(False)
        ax.set_xticks([])
        write_names(ax, range(len(names)), names)
        _write_heads(ax, heads, upright)
        write_caption(ax, caption, -left, POINTS_PER_INCH * (width - 0.2), below=8)
        if title:
            ax.set_title(drawable(title), parse_math=False, pad=above * POINTS_PER_INCH + 8, loc="left")
    return ax


def shade(value: float, low: float, high: float, *, diverging: bool = False) -> str:
    """Colour of a value: from white up to blue, or down to vermilion through white at 0 for differences.

    Examples
    --------
    >>> shade(0.0, 0.0, 1.0), shade(1.0, 0.0, 1.0), shade(-1.0, -1.0, 1.0, diverging=True)
    ('#ffffff', '#0072b2', '#d55e00')
    """
    if diverging:
        most = max(abs(low), abs(high)) or 1.0
        return _mixed(DOWN if value < 0 else UP, abs(value) / most)
    return _mixed(UP, (value - low) / (high - low) if high > low else 0.0)


def ink_on(fill: str) -> str:
    """Black or white, whichever is readable on a tile; the worse of the two colours has 4.5 : 1 at least."""
    light = _luminance(fill)
    return "#ffffff" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "#000000"


def _mixed(colour: str, share: float) -> str:
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (1 + share * (part - 1) for part in to_rgb(colour))
    return to_hex((red, green, blue))


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _tile_width(grid: Grid, heads: Sequence[str]) -> float:
    """Width in points that holds the texts, and the names above where that is not too wide."""
    needed = max((_text_width(tile) for tile in grid.tiles), default=0.0) + 6
    if len(heads) > MANY:
        return needed - 2
    named = max(names_width([head]) for head in heads) * SMALL / 8 + 8
    room = (TWO_COLUMNS - 0.3) * POINTS_PER_INCH - names_width(wrapped(grid.rows)) - GAP
    wanted = named if named <= min(WIDEST, room / max(len(heads), 1)) else min(needed + 6, WIDEST)
    return max(wanted, needed, NARROWEST)


def _sizes(tile: Tile) -> list[float]:
    return [TINY if k or tile.small else SMALL for k in range(len(tile.lines))]


def _text_width(tile: Tile) -> float:
    widths = [text_width(line, size) for line, size in zip(tile.lines, _sizes(tile), strict=True)]
    return max(widths, default=0.0)


def _text_height(tile: Tile) -> float:
    return sum(_sizes(tile)) * 1.2


def _draw(ax: Axes, tile: Tile) -> None:
    from matplotlib.patches import Rectangle

    edge: dict[str, Any] = {"edgecolor": FAINT, "linewidth": 0.6}
    if tile.hatched:
        edge = {"edgecolor": "#c4c4c4", "linewidth": 0.0, "hatch": HATCH}
    ax.add_patch(Rectangle((tile.column - 0.5, tile.row - 0.5), 1, 1, facecolor=tile.fill, **edge))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8} if tile.hatched else None
    ink = INK if tile.hatched else ink_on(tile.fill)
    heights = _sizes(tile)
    top = sum(heights) * 1.2 / 2
    for line, size in zip(tile.lines, heights, strict=True):
        top -= size * 1.2
        ax.annotate(
            line, (tile.column, tile.row), xytext=(0, top + size * 0.6), textcoords="offset points",
            ha="center", va="center", color=ink, fontsize=size, parse_math=False, bbox=box,
            annotation_clip=False,
        )  # fmt: skip


def _write_heads(ax: Axes, heads: Sequence[str], upright: bool) -> None:
    for column, head in enumerate(heads):
        ax.annotate(
            head, (column, 1), xycoords=ax.get_xaxis_transform(), xytext=(0, 4), textcoords="offset points",
            ha="center", va="bottom", rotation=90 if upright else 0, fontsize=SMALL, color=INK,
            annotation_clip=False, parse_math=False, linespacing=1.05,
            multialignment="left" if upright else "center",
        )  # fmt: skip
