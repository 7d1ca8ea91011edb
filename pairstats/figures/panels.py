"""Small multiples: several axes of one size in one figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pairstats.figures.style import TWO_COLUMNS, PaperAxes, PaperFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL = 2.25
"""Width and height of a panel in inches."""

PANELS_IN_A_ROW = 3


def new_panels(
    titles: Sequence[str], *, alone: float = PANEL + 0.6, high: float = PANEL, in_a_row: int = PANELS_IN_A_ROW
) -> tuple[PaperFigure, list[Axes]]:
    """Make one panel a title, a few side by side, each `high` inches high; `alone` is the width of a single one."""
    count, lines = len(titles), 1 + max(title.count("\n") for title in titles)
    across = min(count, in_a_row)
    down = math.ceil(count / across)
    width = TWO_COLUMNS if across >= PANELS_IN_A_ROW else max(PANEL * across, alone)
    height = (high + 0.1 + 0.15 * lines) * down + 0.45
    figure = PaperFigure(figsize=(width, height), layout="constrained")
    return figure, [figure.add_subplot(down, across, i + 1, axes_class=PaperAxes) for i in range(count)]
