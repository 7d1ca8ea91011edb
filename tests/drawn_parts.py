"""What is found in a drawn figure: its texts, points and bars, for the tests of figures."""

from __future__ import annotations

import io
import itertools

from matplotlib.figure import Figure
from matplotlib.text import Text

from pairstats.figures.labels import Box
from pairstats.figures.style import save


def texts(figure: Figure) -> list[Text]:
    """Texts that show something, once the layout is settled."""
    figure.draw_without_rendering()
    unseen = set()  # tick labels beyond the limits exist but are never drawn
    for ax in figure.axes:
        for axis, k in ((ax.xaxis, 0), (ax.yaxis, 1)):
            low, high = sorted(axis.get_view_interval())
            unseen |= {t for t in axis.get_ticklabels() if not low <= t.get_position()[k] <= high}
    shown = [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
    return [t for t in shown if t not in unseen]


def assert_nothing_overlaps(figure: Figure) -> None:
    """No two texts share room, and none leaves the figure."""
    # of an annotation, the text alone, without its line
    found = [(t.get_text(), Text.get_window_extent(t)) for t in texts(figure)]
    width, height = figure.get_size_inches() * figure.dpi
    for (one, a), (other, b) in itertools.combinations(found, 2):
        shared = Box(a.x0, a.y0, a.x1, a.y1).overlap(Box(b.x0, b.y0, b.x1, b.y1))
        assert shared < 2, (one, other, shared)  # square pixels at 100 dots an inch
    for text, box in found:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -1, text


def all_text(figure: Figure) -> str:
    return "\n".join(t.get_text() for t in texts(figure))


def single_points(ax) -> list[tuple[float, float]]:
    """Markers of one point each, without the end ticks of intervals."""
    return [
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in ax.lines
        if len(line.get_xdata()) == 1 and line.get_marker() not in ("|", "<", ">")
    ]


def bars(ax) -> list[tuple[float, float]]:
    """Ends of horizontal bars."""
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2]
    return [tuple(line.get_xdata()) for line in lines if line.get_ydata()[0] == line.get_ydata()[1]]


def figure_of(drawn: object) -> Figure:
    """Whole figure of axes or of a figure."""
    return drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)


def assert_same_bytes_twice(make) -> None:
    """Drawing twice gives the same SVG and PNG bytes."""
    for ending in ("svg", "png"):
        once, again = (_bytes(make(), ending) for _ in range(2))
        assert once == again


def _bytes(drawn: object, ending: str) -> bytes:
    target = io.BytesIO()
    save(figure_of(drawn), target, ending=ending, dpi=60)
    return target.getvalue()
