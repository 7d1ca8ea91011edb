"""Ranks that each level may have, and which levels cannot be told apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairstats.errors import PairstatsError, listed
from pairstats.figures.columns import (
    GAP,
    POINTS_PER_INCH,
    caption_text,
    columns_width,
    names_width,
    own_words,
    row_height,
    under_headings,
    wrapped,
    write_caption,
    write_columns,
    write_heading,
    write_names,
)  # fmt: skip
from pairstats.figures.style import (
    FAINT,
    MUTED,
    PALETTE,
    SMALL,
    TWO_COLUMNS,
    drawable,
    new_axes,
    paper,
    remember,
)  # fmt: skip
from pairstats.result import Estimates
from pairstats.shown import Labels, Row, as_rows, called, count_text, levels_text, meaning, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOT_WIDTH = 2.6
_RANK = re.compile(r"rank\((.*)\)", re.DOTALL)
_GROUP = re.compile(r"group (\S+):")


@dataclass(frozen=True, slots=True)
class _Line:
    """One level: its name, its value and its ranks; either may be absent."""

    group: str
    name: str
    value: Row | None
    rank: Row | None


def rank_intervals(
    estimates: Estimates,
    *,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the ranks that each level may have, from best to worst, with its value and its group letters.

    Parameters
    ----------
    estimates : Estimates
        From `rank`, of one estimand: for each level its value and a row ``rank(...)``.
    labels : mapping, optional
        What levels and the estimand are called.
    caption, title : str, optional
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PairstatsError
        When there is no rank among the rows, or there are those of several estimands.

    Examples
    --------
    >>> value = {"estimand": "accuracy", "model": "a", "estimate": 0.8}
    >>> rank = {"estimand": "rank(accuracy)", "model": "a", "conf_low": 1, "conf_high": 2,
    ...         "note": "group a: not told apart from b"}
    >>> ax = rank_intervals(Estimates.from_rows([value, rank], factors=("model",)))
    >>> ax.lines[0].get_xdata()
    array([1., 2.])
    """
    name = _ranked(estimates)
    lines = _lines(estimates, name, labels)
    names = wrapped([line.name for line in lines])
    about = meaning(estimates, name, labels)
    columns = _columns(lines, estimates, name, about.percent)
    beside = (names_width(names) + columns_width(columns)) / POINTS_PER_INCH + 0.3
    headed = len({line.group for line in lines}) > 1
    heights, headings, total = under_headings([drawable(line.group) if headed else None for line in lines])
    words = [*_caption(estimates, name), *own_words(caption)]
    with paper():
        width = min(max(beside + PLOT_WIDTH, 4.5), max(TWO_COLUMNS, beside + 1.8))
        text = caption_text(words, POINTS_PER_INCH * (width - 0.2))
        room = 0.95 + 0.12 * max(
            text.count("\n") - 1, 0
        )  # for the axis, and a caption of more than two lines
        ax = ax or new_axes(width, total * row_height(names) * 1.15 + room)
        for y, line in zip(heights, lines, strict=True):
            _draw(ax, y, line)
        _set_up(ax, total, lines)
        write_names(ax, heights, names)
        for y, heading in headings.items():
            write_heading(ax, y, heading, names)
        write_columns(ax, heights, columns)
        ax.set_xlabel("rank (1 is the highest value)")
        write_caption(ax, words, -names_width(names) - GAP, POINTS_PER_INCH * (width - 0.2))
        if title:
            ax.set_title(drawable(title), parse_math=False, pad=16, loc="left")
    remember(ax.get_figure(root=True), estimates.frame)
    return ax


def _ranked(estimates: Estimates) -> str:
    """Name of the one estimand that is ranked."""
    found = [m[1] for name in estimates.frame["estimand"].dropna().unique() if (m := _RANK.fullmatch(name))]
    if len(found) != 1:
        raise PairstatsError(
            "Rank intervals are drawn from `rank` of one estimand, but the rows hold "
            f"{'no rank' if not found else listed(found)}."
        )
    return str(found[0])


def _lines(estimates: Estimates, name: str, labels: Labels | None) -> list[_Line]:
    """Levels in the order of the rows, each with its two rows; the last factor is the one that is ranked."""
    *others, factor = estimates.factors or ("",)
    found: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in as_rows(estimates.frame):
        if factor not in row:
            raise PairstatsError("Rank intervals need the factor that was ranked, but the rows have none.")
        rows = found.setdefault(tuple(row[key] for key in (*others, factor)), {})
        if row["estimand"] in rows:
            raise PairstatsError(f"Rank intervals need one row a level, but {row[factor]!r} has two.")
        rows[str(row["estimand"])] = row
    lines = [
        _Line(
            " / ".join(called(part, labels) for part in key[:-1] if part is not None),
            "no results" if key[-1] is None else called(key[-1], labels),
            rows.get(name), rows.get(f"rank({name})"),
        )
        for key, rows in found.items()
    ]  # fmt: skip
    groups = list(dict.fromkeys(line.group for line in lines))
    return sorted(lines, key=lambda line: groups.index(line.group))


def _columns(lines: Sequence[_Line], estimates: Estimates, name: str, percent: bool) -> dict[str, list[str]]:
    shown = scale(estimates.frame[estimates.frame["estimand"] == name], percent)
    texts = []
    for line in lines:
        known = line.value is not None and line.value["estimate"] is not None
        assert line.value is not None or not known
        text = (
            f"{shown.number(line.value['estimate'])} {shown.interval(line.value)}"
            if known and line.value
            else ""
        )
        texts.append(text.strip().replace("-", "\N{MINUS SIGN}"))
    ranks = [_rank_text(line.rank) for line in lines]
    return {
        f"value{shown.unit} [interval]": texts,
        "ranks": ranks,
        "group": [_letters(line.rank) for line in lines],
    }


def _rank_text(row: Row | None) -> str:
    if row is None or row["conf_low"] is None or row["conf_high"] is None:
        return ""
    low, high = f"{row['conf_low']:g}", f"{row['conf_high']:g}"
    return low if low == high else f"{low} to {high}"


def _letters(row: Row | None) -> str:
    found = _GROUP.match(row["note"] or "") if row is not None else None
    return found[1] if found else ""


def _draw(ax: Axes, y: float, line: _Line) -> None:
    row = line.rank
    if row is None or row["conf_low"] is None or row["conf_high"] is None:
        note = (line.value or {}).get("note") or "no ranks"
        ax.text(
            0.02, y, drawable(note), transform=ax.get_yaxis_transform(), color=MUTED, fontsize=SMALL,
            va="center", style="italic", parse_math=False,
        )  # fmt: skip
        return
    ends = [row["conf_low"], row["conf_high"]]
    ax.plot(ends, [y, y], color=PALETTE[0], linewidth=3.2, solid_capstyle="round", clip_on=False)
    places = range(int(ends[0]), int(ends[1]) + 1)
    ax.plot(
        list(places), [y] * len(places), linestyle="", marker="o", markersize=5, color=PALETTE[0],
        markeredgecolor="white", markeredgewidth=0.5, clip_on=False, zorder=4,
    )  # fmt: skip


def _set_up(ax: Axes, total: float, lines: Sequence[_Line]) -> None:
    ranks = [
        row["conf_high"] for line in lines if (row := line.rank) is not None and row["conf_high"] is not None
    ]
    last = max(int(max(ranks, default=1)), 1)
    ax.set_xlim(0.6, last + 0.4)
    step = 1 if last <= 12 else 5
    ax.set_xticks([1, *range(step, last + 1, step)] if step > 1 else list(range(1, last + 1)))
    ax.set_ylim(total - 0.4, -0.6)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="x", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _caption(estimates: Estimates, name: str) -> list[str]:
    frame = estimates.frame
    ranks = frame[frame["estimand"] == f"rank({name})"]
    level = (
        f"{100 * ranks['conf_level'].dropna().iloc[0]:.4g} %"
        if ranks["conf_level"].notna().any()
        else "the level"
    )
    methods = ranks["method"].dropna().unique()
    by = f" ({drawable(methods[0])})" if len(methods) == 1 else ""
    values = frame[frame["estimand"] == name]
    families = count_text(values["n_families"], "family")
    over = f", over {families} that all levels have" if families else ""
    return [
        f"Bars: ranks that are all right at once with {level}{by}.",
        f"Value: {drawable(levels_text(values))}, each alone{over}.",
        "Levels that share a letter were not told apart.",
    ]
