"""One model on two platforms, on the families that both have: a 2x2 of counts, or one point a family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.errors import PairstatsError, counted, listed, one_of
from pairstats.figures.columns import (
    POINTS_PER_INCH,
    caption_text,
    own_words,
    wrapped,
    write_figure_caption,
    write_figure_title,
)  # fmt: skip
from pairstats.figures.panels import PANEL, new_panels
from pairstats.figures.style import (
    FAINT,
    MUTED,
    PALETTE,
    SMALL,
    drawable,
    middle_cut,
    paper,
    remember,
)  # fmt: skip
from pairstats.figures.tiles import ink_on, shade
from pairstats.result import Estimates, none_if_null
from pairstats.shown import Labels, Row, as_rows, called, level_text, meaning, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REDUCTIONS = ("all", "mean")
LONGEST_TITLE = 26
LONGEST_PLATFORM = 22


@dataclass(frozen=True, slots=True)
class _Shared:
    """Values of the shared families of one model on both platforms, and families that one lacks."""

    name: str
    level: object
    values: pd.DataFrame
    first_only: int
    second_only: int


def cross_platform(
    data: pd.DataFrame,
    *,
    platforms: Sequence[str] | None = None,
    platform: str = "platform",
    value: str = "score",
    family: str = "family",
    by: str | None = "model",
    reduce: str | None = None,
    difference: Estimates | None = None,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
) -> Figure:
    """Draw what became of the same families on two platforms.

    Parameters
    ----------
    data : pandas.DataFrame
        One row a family and platform (and model), or several with `reduce`. Rows without a value are missing:
        their family is not shared.
    platforms : (str, str), optional
        First and second; by default the two that there are.
    platform, value, family : str
        Columns of `data`. Values of 0 and 1 make a 2x2 of counts, others one point a family.
    by : str or None, default "model"
        Column that makes panels; None, or a column that is not there, makes one.
    reduce : {"all", "mean"}, optional
        What becomes of several rows of a family: "all" is 1 where all are 1; a family with a row without a value
        is missing.
    difference : Estimates, optional
        Rows of comparisons that are printed as they are, such as ``contrast`` of `Versus` by model.
    labels : mapping, optional
        What levels are called; "right" and "wrong" stand for 1 and 0.
    caption, title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    PairstatsError
        When there are not two platforms, no shared family, several rows a family without `reduce`, or values
        that are not 0 or 1 with ``reduce="all"``.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": ["f", "g", "h"] * 2, "platform": ["here"] * 3 + ["there"] * 3,
    ...                      "score": [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]})
    >>> figure = cross_platform(rows)
    >>> [text.get_text() for text in figure.axes[0].texts if text.get_text().isdigit()][:4]
    ['1', '1', '0', '1']
    """
    pair = _checked(data, platforms, platform, value, family, reduce)
    shared = _all_shared(data, pair, platform, value, family, by, reduce, labels)
    binary = all(one.values.isin([0.0, 1.0]).to_numpy().all() for one in shared)
    sides = [middle_cut(drawable(called(name, labels)), LONGEST_PLATFORM) for name in pair]
    below = [_differences(one, difference, by, labels) for one in shared]
    words = [drawable(called(word, labels)) for word in ("right", "wrong")]
    titles = wrapped([one.name for one in shared], LONGEST_TITLE)
    with paper():
        figure, all_axes = new_panels(titles, alone=2.6, high=2.2 if len(titles) == 1 else 1.9)
        for ax, heading, one, text in zip(all_axes, titles, shared, below, strict=True):
            if binary:
                _draw_counts(ax, one.values, words)
            else:
                _draw_points(ax, one.values)
            ax.set_title(heading, parse_math=False, loc="left")
            ax.set_xlabel("\n".join([sides[1], *_fitted(text)]), parse_math=False, fontsize=SMALL)
            ax.set_ylabel(sides[0], parse_math=False, fontsize=SMALL)
        lines = max(len(_fitted(text)) for text in below)
        titled = 0.2 if title else 0.0
        figure.set_figheight(figure.get_figheight() + 0.12 * lines * _down(shared) + titled)
        if title:
            write_figure_title(figure, title)
        write_figure_caption(figure, [*_caption(shared, sides, binary, reduce, value), *own_words(caption)])
    remember(figure, _rows(shared, pair, by, family))
    return figure


def _down(shared: Sequence[_Shared]) -> int:
    return -(-len(shared) // 3)


def _checked(
    data: pd.DataFrame,
    platforms: Sequence[str] | None,
    platform: str,
    value: str,
    family: str,
    reduce: str | None,
) -> tuple[object, object]:
    one_of("reduce", reduce, (None, *REDUCTIONS))
    absent = [name for name in (platform, value, family) if name not in data.columns]
    if absent:
        raise PairstatsError(
            f"A comparison of platforms needs the columns {listed(absent)}; there are {listed(data.columns, 50)}."
        )
    there = list(data[platform].dropna().unique())
    pair = list(there if platforms is None else platforms)
    if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(there):
        raise PairstatsError(
            f"Two platforms are compared, but the choice is {listed(pair, 10)} of {listed(there, 10)}. Name two "
            "with `platforms=`."
        )
    return pair[0], pair[1]


def _all_shared(
    data: pd.DataFrame, pair: tuple[object, object], platform: str, value: str, family: str, by: str | None,
    reduce: str | None, labels: Labels | None,
) -> list[_Shared]:  # fmt: skip
    panels = (
        [(None, data)]
        if by is None or by not in data.columns
        else list(data.groupby(by, sort=False, observed=True))
    )
    found = []
    for level, part in panels:
        sides = [_by_family(part[part[platform] == side], value, family, reduce) for side in pair]
        both = pd.concat(sides, axis=1, keys=[0, 1])
        known = both.dropna()
        name = "" if level is None else called(level, labels)
        found.append(
            _Shared(
                name, level, known, int((both[0].notna() & both[1].isna()).sum()),
                int((both[1].notna() & both[0].isna()).sum()),
            )
        )  # fmt: skip
    kept = [one for one in found if len(one.values)]
    if not kept:
        raise PairstatsError(
            "Platforms are compared on families that both have, but there is no such family."
        )
    return kept


def _by_family(part: pd.DataFrame, value: str, family: str, reduce: str | None) -> pd.Series:
    values = part[value].astype(float)
    if reduce is None:
        if part[family].duplicated().any():
            twice = part.loc[part[family].duplicated(), family].iloc[0]
            raise PairstatsError(
                f"One row a family and platform is drawn, but family {twice!r} has several. Say with `reduce=` "
                "what becomes of them."
            )
        return pd.Series(values.to_numpy(), index=part[family].to_numpy())
    if reduce == "all" and not values.dropna().isin([0.0, 1.0]).all():
        raise PairstatsError("`reduce='all'` needs values of 0 and 1; use reduce='mean' for others.")
    groups = values.groupby(part[family].to_numpy(), sort=True)
    reduced = groups.min() if reduce == "all" else groups.mean()
    return reduced.where(groups.count() == groups.size())


def _draw_counts(ax: Axes, values: pd.DataFrame, words: Sequence[str]) -> None:
    """Four tiles: right on both, on the first only, on the second only, on neither; totals outside."""
    from matplotlib.patches import Rectangle

    n = len(values)
    counts = Counter(zip(values[0].astype(int), values[1].astype(int), strict=True))
    for i, first in enumerate((1, 0)):
        for j, second in enumerate((1, 0)):
            number = counts[first, second]
            fill = shade(number, 0, n)
            ax.add_patch(Rectangle((j, i), 1, 1, facecolor=fill, edgecolor=FAINT, linewidth=0.8))
            size = 11 if first != second else 9
            ax.text(
                j + 0.5, i + 0.5, f"{number}", ha="center", va="center", color=ink_on(fill), fontsize=size
            )
    for i, first in enumerate((1, 0)):
        ax.text(
            2.06, i + 0.5, f"{counts[first, 1] + counts[first, 0]}", va="center", fontsize=SMALL, color=MUTED
        )
        ax.text(
            i + 0.5, -0.06, f"{counts[1, first] + counts[0, first]}", ha="center", fontsize=SMALL, color=MUTED
        )
    ax.text(2.06, -0.06, f"{n}", fontsize=SMALL, color=MUTED)
    ax.set_xlim(0, 2.3)
    ax.set_ylim(2, -0.25)
    ax.set_xticks([0.5, 1.5], words)
    ax.set_yticks([0.5, 1.5], words, rotation=90, va="center")
    ax.tick_params(length=0, labelsize=SMALL)
    for side in ("left", "top", "right", "bottom"):
        ax.spines[side].set_visible(False)


def _draw_points(ax: Axes, values: pd.DataFrame) -> None:
    """One point a place, its area the number of families there; the first platform is the vertical axis."""
    counts = Counter(zip(values[1], values[0], strict=True))
    low, high = min(0.0, float(values.to_numpy().min())), max(1.0, float(values.to_numpy().max()))
    ax.plot([low, high], [low, high], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    most = max(counts.values())
    ax.scatter(
        [x for x, _ in counts], [y for _, y in counts], s=[max(90 * n / most, 6) for n in counts.values()],
        color=PALETTE[0], alpha=0.75, edgecolor="white", linewidth=0.5, clip_on=False, zorder=3,
    )  # fmt: skip
    room = 0.03 * (high - low)
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(low - room, high + room)
    ax.locator_params(nbins=5)
    ax.tick_params(labelsize=SMALL)
    ax.grid(color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _differences(
    one: _Shared, difference: Estimates | None, by: str | None, labels: Labels | None
) -> list[str]:
    """Given comparisons of one panel, as text."""
    if difference is None:
        return []
    frame = difference.frame
    if by is not None and by in frame.columns and one.level is not None:
        frame = frame[frame[by].astype(str) == str(one.level)]
    texts = []
    for name in frame["estimand"].dropna().unique():
        rows = frame[frame["estimand"] == name]
        shown = scale(rows, meaning(difference, str(name), labels).percent, difference=True)
        texts += [_difference(row, shown.estimate(row)) for row in as_rows(rows)]
    return texts


def _difference(row: Row, text: str) -> str:
    if row["estimate"] is None:
        return f"{called(row['contrast'])}: no results"
    level = "" if row["conf_level"] is None else f" ({level_text(row['conf_level'])})"
    signed = f"{text}{level}".replace("-", "\N{MINUS SIGN}")
    return f"{called(row['contrast'])}:\n{signed}"


def _fitted(texts: Sequence[str]) -> list[str]:
    """Lines no wider than a panel; an interval is never broken where it fits."""
    parts = [part for text in texts for part in text.split("\n")]
    width = POINTS_PER_INCH * PANEL * 0.95
    return [line for part in parts for line in caption_text([drawable(part)], width).split("\n")]


def _caption(
    shared: Sequence[_Shared], sides: Sequence[str], binary: bool, reduce: str | None, value: str
) -> list[str]:
    rule = {"all": "right where all of its rows are", "mean": "the mean of its rows"}.get(reduce or "")
    numbers = sorted({len(one.values) for one in shared})
    families = (
        counted(numbers[0], "family") if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} families"
    )
    sentences = [f"{families} that both platforms have{f'; a family is {rule}' if rule else ''}."]
    sentences.append(
        "Rows: first platform, columns: second; grey: totals."
        if binary
        else f"Points: families, by {drawable(value)}; area: how many; dashed: equal."
    )
    lost = [
        (one.name, one.first_only, one.second_only) for one in shared if one.first_only or one.second_only
    ]
    if lost:
        total = (sum(row[1] for row in lost), sum(row[2] for row in lost))
        which = "" if len(lost) == 1 and len(shared) == 1 else " in all"
        sentences.append(f"Not drawn{which}: {total[0]} only on {sides[0]}, {total[1]} only on {sides[1]}.")
    return sentences


def _rows(
    shared: Sequence[_Shared], pair: tuple[object, object], by: str | None, family: str
) -> pd.DataFrame:
    parts = []
    for one in shared:
        frame = (
            one.values.rename(columns={0: str(pair[0]), 1: str(pair[1])}).rename_axis(family).reset_index()
        )
        parts.append(
            frame if by is None or one.level is None else frame.assign(**{by: none_if_null(one.level)})
        )
    return pd.concat(parts, ignore_index=True)
