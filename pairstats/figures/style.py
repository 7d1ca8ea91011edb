"""What the figures share: sizes, colours, fonts, names that are safe to draw, and text widths.

Nothing here touches the global settings of matplotlib: figures are made inside `paper`, without pyplot.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import IO, TYPE_CHECKING, Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from pairstats.errors import PairstatsError
from pairstats.shown import plain

if TYPE_CHECKING:
    from pathlib import Path

ONE_COLUMN = 3.5
TWO_COLUMNS = 7.0
"""Widths of a figure in a paper, in inches."""

FONT_SIZE = 8.0
SMALL = 7.0
LONGEST_NAME = 40

INK = "#1b1b1b"
MUTED = "#6b6b6b"
FAINT = "#d9d9d9"
PALETTE: tuple[str, ...] = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999933",
)  # fmt: skip
"""Okabe and Ito's colours, told apart with any kind of colour vision, the darkest first."""

# Fonts that hold scripts which the first lacks; only those that are installed are used.
_FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "Microsoft YaHei",
    "Arial Unicode MS", "WenQuanYi Zen Hei", "Noto Sans Devanagari", "Noto Emoji", "Symbola",
)  # fmt: skip


class PaperFigure(Figure):
    """A figure without pyplot that shows itself in a notebook, and knows the rows that it was drawn from."""

    drawn_from: pd.DataFrame | None = None

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        data = io.BytesIO()
        with paper():
            self.savefig(data, format="png", dpi=200)
        width, height = (round(96 * inches) for inches in self.get_size_inches())
        return data.getvalue(), {"width": width, "height": height}


class PaperAxes(Axes):
    """Axes of a `PaperFigure`; shown in a notebook as the whole figure."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        return self.figure._repr_png_() if isinstance(self.figure, PaperFigure) else None


@contextmanager
def paper() -> Iterator[None]:
    """Use the settings of a paper's figure, and put the user's own back afterwards."""
    settings: Any = {
        "font.family": list(_fonts()),
        "font.size": FONT_SIZE,
        "axes.titlesize": FONT_SIZE,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": FONT_SIZE,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": FONT_SIZE,
        "legend.fontsize": SMALL,
        "legend.frameon": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "axes.unicode_minus": True,
        "axes.facecolor": "white",
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "savefig.bbox": None,
        "text.usetex": False,
        "text.parse_math": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "pairstats",
        "pdf.fonttype": 42,
    }
    with matplotlib.rc_context(settings):
        yield


def new_axes(width: float, height: float) -> Axes:
    """Make axes in a figure of their own, of a size in inches, which nothing global knows."""
    figure = PaperFigure(figsize=(width, height), layout="constrained")
    return figure.add_subplot(axes_class=PaperAxes)


def remember(figure: Figure | SubFigure | None, rows: pd.DataFrame) -> None:
    """Keep the rows that a figure was drawn from as its ``drawn_from``; rows of further axes are added below."""
    if figure is None:
        return
    earlier = getattr(figure, "drawn_from", None)
    rows = rows.reset_index(drop=True)
    kept = rows if earlier is None else pd.concat([earlier, rows], ignore_index=True)
    setattr(figure, "drawn_from", kept)  # noqa: B010 -- axes may belong to a plain figure of the user's


def save(figure: Figure, target: Path | IO[bytes], *, ending: str, dpi: int = 300) -> None:
    """Write a figure as the same bytes each time: no date, fixed ids.

    Raises
    ------
    PairstatsError
        When what stands beside a plot leaves it no room: half a figure would mislead.
    """
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with paper(), warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            figure.savefig(target, format=ending, dpi=dpi, metadata=undated.get(ending))
        except UserWarning as error:
            raise PairstatsError(
                "A figure must have room for its plot, but names and numbers beside it take it all. Shorten "
                "the names with labels=."
            ) from error


def drawable(text: object) -> str:
    r"""Text on one line in which every character has a glyph; others become their escape.

    Examples
    --------
    >>> print(drawable("m\n$x$ \U000f0000"))
    m $x$ \U000f0000
    """
    return "".join(c if _has_glyph(c) else ascii(c)[1:-1] for c in plain(text))


def short_names(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Make names drawable and shorten long ones in the middle; names that differed still differ.

    Examples
    --------
    >>> short_names(["a-very-long-name-of-a-model-1", "a-very-long-name-of-a-model-2"], longest=13)
    ['a-very…odel-1', 'a-very…odel-2']
    """
    full = [drawable(name) for name in names]
    return distinct(full, [middle_cut(name, longest) for name in full])


def distinct(full: Sequence[str], short: Sequence[str]) -> list[str]:
    """Number short names that became alike although the full ones differ.

    Examples
    --------
    >>> distinct(["model-1-x", "model-2-x", "model-1-x"], ["mo…x", "mo…x", "mo…x"])
    ['mo…x', 'mo…x (2)', 'mo…x']
    """
    named: dict[str, str] = {}
    for name, text in zip(full, short, strict=True):
        if name not in named:
            alike = sum(other == text or other.startswith(f"{text} (") for other in named.values())
            named[name] = f"{text} ({alike + 1})" if alike else text
    return [named[name] for name in full]


def middle_cut(text: str, longest: int) -> str:
    """Leave out the middle of a text that is too long."""
    if len(text) <= longest:
        return text
    kept = max(longest - 1, 2)
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Width of one line of text in points."""
    return sum(_advance(character) for character in text) * size


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Move positions apart, as little as a single sweep allows, until neighbours are `gap` apart.

    Examples
    --------
    >>> spread([0.0, 0.0, 5.0], gap=1.0)
    [-0.5, 0.5, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    groups: list[tuple[float, list[int]]] = []  # centre and members of runs that touch
    for i in order:
        groups.append((wanted[i], [i]))
        while len(groups) > 1 and _reach(groups[-2], gap, +1) > _reach(groups[-1], gap, -1):
            (_, right), (_, left) = groups.pop(), groups.pop()
            members = left + right
            groups.append((sum(wanted[k] for k in members) / len(members), members))
    placed = list(wanted)
    for centre, members in groups:
        for k, i in enumerate(members):
            placed[i] = centre + gap * (k - (len(members) - 1) / 2)
    return placed


def _reach(group: tuple[float, list[int]], gap: float, side: int) -> float:
    centre, members = group
    return centre + side * gap * len(members) / 2


@cache
def _fonts() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _FONTS if name in installed)


@cache
def _glyphs() -> tuple[Any, ...]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return tuple(get_font(findfont(FontProperties(family=name))) for name in _fonts())


@cache
def _advance(character: str) -> float:
    """Width of a character in units of the font size."""
    font = next((font for font in _glyphs() if font.get_char_index(ord(character))), _glyphs()[0])
    font.set_size(100, 72)
    return font.load_char(ord(character)).linearHoriAdvance / 65536 / 100


@cache
def _has_glyph(character: str) -> bool:
    return any(font.get_char_index(ord(character)) for font in _glyphs())
