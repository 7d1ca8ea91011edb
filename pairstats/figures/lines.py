"""Estimates over an ordered factor: doses at their value, or levels side by side."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.errors import PairstatsError, listed
from pairstats.figures.columns import (
    POINTS_PER_INCH,
    own_words,
    wrapped,
    write_figure_caption,
    write_figure_title,
)  # fmt: skip
from pairstats.figures.line_parts import HEIGHT, Line, Look, Places, draw_faint, draw_line, label_ends, set_up
from pairstats.figures.panels import new_panels
from pairstats.figures.style import (
    FONT_SIZE,
    SMALL,
    PaperAxes,
    PaperFigure,
    drawable,
    middle_cut,
    paper,
    remember,
    text_width,
)  # fmt: skip
from pairstats.result import Estimates
from pairstats.shown import Labels, Row, as_rows, called, cell_names, count_text, levels_text, meaning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOGETHER = 4
"""Lines that share one panel; of more, each gets a panel of its own, with the others behind it."""

FEW_PANELS = 9
"""More panels than these are drawn smaller."""

LONGEST_LABEL = 24
LINE_UPRIGHT = 34


def dose_response(
    estimates: Estimates,
    *,
    dose: str,
    by: str | None = None,
    order: Sequence[object] | None = None,
    percent: bool | None = None,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
) -> Figure:
    """Draw an estimate against the dose, one line a model, with its intervals as bands.

    Parameters
    ----------
    estimates : Estimates
        One estimand, one row a dose and model.
    dose : str
        Factor with the dose. Levels that are numbers stand at their value; others, such as a control, stand
        apart to the right and are not joined.
    by : str, optional
        Factor that makes the lines; by default all others that vary.
    order : sequence, optional
        Levels of `by`, in the order to show.
    percent : bool, optional
        Whether to show shares as percent; by default what the labels say.
    labels : mapping, optional
        What levels, factors and the estimand are called.
    caption, title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
        One panel for up to four lines, else one panel a line.

    Raises
    ------
    PairstatsError
        When there is no row, several estimands, a comparison, or two rows at one place.

    Examples
    --------
    >>> rows = [{"estimand": "defected", "model": "m", "dose": d, "estimate": e} for d, e in ((0, 0.0), (6, 0.8))]
    >>> figure = dose_response(Estimates.from_rows(rows, factors=("model", "dose")), dose="dose")
    >>> figure.axes[0].lines[0].get_xydata().tolist()
    [[0.0, 0.0], [6.0, 0.8]]
    """
    frame = _checked(estimates, dose)
    places = _dose_places(frame[dose])
    lines = _lines(estimates, frame, dose, by, order, labels, places)
    return _drawn(
        estimates, lines, places, x=dose, bands=True, percent=percent, labels=labels, caption=caption, title=title
    )  # fmt: skip


def slopes(
    estimates: Estimates,
    *,
    x: str,
    by: str | None = None,
    order: Sequence[object] | None = None,
    percent: bool | None = None,
    labels: Labels | None = None,
    caption: str | None = None,
    title: str | None = None,
) -> Figure:
    """Draw an estimate over the levels of an ordered factor, one line a model, with interval bars.

    Parameters
    ----------
    estimates : Estimates
        One estimand, one row a level and model.
    x : str
        Factor along the axis, such as a framing.
    by : str, optional
        Factor that makes the lines; by default all others that vary.
    order : sequence, optional
        Levels of `x` from left to right; by default as they come.
    percent, labels, caption, title
        As in `dose_response`.

    Returns
    -------
    matplotlib.figure.Figure
        One panel for up to four lines, else one panel a line.

    Raises
    ------
    PairstatsError
        When there is no row, several estimands, a comparison, two rows at one place, or a level is not in
        `order`.

    Examples
    --------
    >>> rows = [{"estimand": "honest", "model": "m", "framing": f, "estimate": e}
    ...         for f, e in (("neutral", 0.9), ("pressure", 0.5))]
    >>> figure = slopes(Estimates.from_rows(rows, factors=("model", "framing")), x="framing")
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['neutral', 'pressure']
    """
    frame = _checked(estimates, x)
    levels = _ordered(frame[x], order, x)
    places = Places({level: float(k) for k, level in enumerate(levels)}, ())
    lines = _lines(estimates, frame, x, by, None, labels, places)
    return _drawn(
        estimates, lines, places, x=x, bands=False, percent=percent, labels=labels, caption=caption, title=title
    )  # fmt: skip


def _checked(estimates: Estimates, factor: str) -> pd.DataFrame:
    frame = estimates.frame
    if factor not in frame.columns:
        raise PairstatsError(f"There is no factor {factor!r}; there are {listed(estimates.factors, 20)}.")
    if frame.empty:
        raise PairstatsError("Lines need at least one estimate, but there is none.")
    if frame["contrast"].notna().any():
        raise PairstatsError(
            "Lines show cells, but there are comparisons among the rows; `forest` draws those."
        )
    names = frame["estimand"].dropna().unique()
    if len(names) > 1:
        raise PairstatsError(
            f"Lines show one estimand, but there are {listed(names, 10)}. Choose one with `.where(estimand=...)`."
        )
    if frame[factor].isna().any():
        raise PairstatsError(
            f"Every row must have a level of {factor!r}, but {int(frame[factor].isna().sum())} have none."
        )
    return frame


def _dose_places(levels: pd.Series) -> Places:
    """Numbers at their value; other levels to the right of all, one step apart."""
    there = list(levels.drop_duplicates())
    numbers = {level: number for level in there if (number := _number(level)) is not None}
    others = tuple(level for level in there if level not in numbers)
    if not numbers:
        return Places({level: float(k) for k, level in enumerate(there)}, ())
    low, high = min(numbers.values()), max(numbers.values())
    step = (high - low) / 3 or 1.0
    places = numbers | {level: high + step * (k + 1) for k, level in enumerate(others)}
    return Places(dict(places), others)


def _number(level: object) -> float | None:
    try:
        found = float(level)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _ordered(values: pd.Series, order: Sequence[object] | None, name: str) -> list[object]:
    there = list(values.drop_duplicates())
    if order is None:
        return there
    left = [level for level in there if level not in order]
    if left:
        raise PairstatsError(
            f"An order of {name!r} must name all of its levels, but {listed(left)} is not in it."
        )
    return list(dict.fromkeys(order))


def _lines(
    estimates: Estimates, frame: pd.DataFrame, x: str, by: str | None, order: Sequence[object] | None,
    labels: Labels | None, places: Places,
) -> list[Line]:  # fmt: skip
    factors = [name for name in estimates.factors if name != x] if by is None else [by]
    if by is not None and by not in frame.columns:
        raise PairstatsError(f"There is no factor {by!r}; there are {listed(estimates.factors, 20)}.")
    if order is not None and by is not None:
        rank = {level: k for k, level in enumerate(_ordered(frame[by], order, by))}
        frame = frame.sort_values(by, key=lambda column: column.map(rank), kind="stable")
    names = cell_names(frame, factors, labels)
    found: dict[str, dict[object, Row]] = {}
    for name, row in zip(names, as_rows(frame), strict=True):
        rows = found.setdefault(name, {})
        if row[x] in rows:
            raise PairstatsError(
                f"Lines need one row at each place, but {name!r} has two at {x} {row[x]!r}. Choose one with "
                "`.where(...)`, or name the factor that makes the lines with `by=`."
            )
        rows[row[x]] = row
    return [_line(name, rows, places) for name, rows in found.items()]


def _line(name: str, rows: dict[object, Row], places: Places) -> Line:
    points = sorted(((places.at[level], row) for level, row in rows.items()), key=lambda point: point[0])
    apart = {places.at[level] for level in places.apart}
    return Line(
        name,
        tuple(point for point in points if point[0] not in apart),
        tuple(point for point in points if point[0] in apart),
    )


def _drawn(
    estimates: Estimates, lines: Sequence[Line], places: Places, *, x: str, bands: bool, percent: bool | None,
    labels: Labels | None, caption: str | None, title: str | None,
) -> Figure:  # fmt: skip
    name = str(estimates.frame["estimand"].iloc[0])
    about = meaning(estimates, name, labels)
    factor = 100 if (about.percent if percent is None else percent) else 1
    names = wrapped([line.name for line in lines], LONGEST_LABEL)
    together = len(lines) <= TOGETHER
    with paper():
        figure, all_axes = _axes(names, places, together)
        limits = _limits(lines, factor)
        steps = [_aside(j, len(lines), places, bands) if together else 0.0 for j in range(len(lines))]
        longest, aside = (
            12 if together else 10 if len(places.at) <= 3 else 8,
            max(map(abs, steps), default=0.0),
        )
        for ax in all_axes:
            set_up(ax, places, limits, labels, longest, aside)
            ax.set_xlabel(drawable(called(x, labels)), parse_math=False)
        if together:
            for j, line in enumerate(lines):
                draw_line(all_axes[0], line, Look(j, factor, bands, steps[j]))
            label_ends(all_axes[0], lines, names, factor, limits)
        else:
            _draw_apart(all_axes, lines, names, Look(0, factor, bands))
        _write_measure(figure, all_axes, drawable(about.label) + (" (%)" if factor == 100 else ""), together)
        if title:
            write_figure_title(figure, title)
        words = _caption(estimates.frame, lines, together, bands, places)
        write_figure_caption(figure, [*words, *own_words(caption)])
    remember(figure, estimates.frame)
    return figure


def _draw_apart(all_axes: Sequence[Axes], lines: Sequence[Line], names: Sequence[str], look: Look) -> None:
    """Draw one line a panel, the others behind it in grey."""
    for ax, line, name in zip(all_axes, lines, names, strict=True):
        for other in lines:
            draw_faint(ax, other, look.factor)
        draw_line(ax, line, look)
        ax.set_title(name, parse_math=False, loc="left", fontsize=SMALL)
        ax.xaxis.label.set_fontsize(SMALL)


def _write_measure(figure: Figure, all_axes: Sequence[Axes], text: str, together: bool) -> None:
    """Write what the vertical axis shows."""
    if together:
        lines = textwrap.wrap(middle_cut(text, 2 * LINE_UPRIGHT), LINE_UPRIGHT)
        all_axes[0].set_ylabel("\n".join(lines), parse_math=False)
    else:
        figure.supylabel(middle_cut(text, 64), fontsize=FONT_SIZE, parse_math=False)


def _axes(names: Sequence[str], places: Places, together: bool) -> tuple[PaperFigure, list[Axes]]:
    if not together:
        many = len(names) > FEW_PANELS
        return new_panels(names, high=1.55 if many else 1.95, in_a_row=4 if many else 3)
    room = max(text_width(part) for name in names for part in name.split("\n")) if len(names) > 1 else 0.0
    width = min(3.4 + 0.25 * max(len(places.at) - 4, 0), 5.0) + room / POINTS_PER_INCH
    figure = PaperFigure(figsize=(width, HEIGHT), layout="constrained")
    return figure, [figure.add_subplot(axes_class=PaperAxes)]


def _aside(j: int, count: int, places: Places, bands: bool) -> float:
    """Step to the side that keeps bars of several lines from covering each other."""
    if not bands:
        return 0.09 * (j - (count - 1) / 2)
    span = max(places.at.values()) - min(places.at.values())
    return 0.02 * span * (j - (count - 1) / 2)


def _limits(lines: Sequence[Line], factor: int) -> tuple[float, float]:
    values = [
        factor * row[end]
        for line in lines
        for _, row in line.known
        for end in ("estimate", "conf_low", "conf_high")
        if row[end] is not None and math.isfinite(row[end])
    ]
    low, high = (min(values), max(values)) if values else (0.0, float(factor))
    if low >= 0 and high <= factor:
        return -0.02 * factor, 1.02 * factor
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def _caption(
    frame: pd.DataFrame, lines: Sequence[Line], together: bool, bands: bool, places: Places
) -> list[str]:
    known = frame[frame["estimate"].notna()]
    families = count_text(known["n_families"], "family")
    units = count_text(known["n_units"], "counted unit")
    sentences = [
        f"{'Bands' if bands else 'Bars'}: {drawable(levels_text(frame))}{f' over {families}' if families else ''}."
    ]
    sentences.append(f"n: {units} a point." if units else "")
    if not together:
        sentences.append("Grey: the other lines.")
    if places.apart:
        sentences.append("Not joined: no dose, or a control.")
    lost = int(frame["estimate"].isna().sum())
    if lost:
        sentences.append(f"No results: {lost} of {len(frame)} points.")
    return sentences
