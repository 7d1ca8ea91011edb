"""Figures that draw the estimates they are given, and never estimate.

Each function takes `Estimates`, or a frame of which it only counts rows, and returns matplotlib axes or a figure
made without pyplot, so that no global setting is touched. The figure knows the rows that it was drawn from:
``figure.drawn_from``.
"""

from __future__ import annotations

from pairstats.figures.bars import completeness
from pairstats.figures.drawing import Drawn, draw
from pairstats.figures.forest_plot import forest
from pairstats.figures.heat import heat_map
from pairstats.figures.lines import dose_response, slopes
from pairstats.figures.outcomes import outcome_bars
from pairstats.figures.pairs_plot import discordance
from pairstats.figures.platforms import cross_platform
from pairstats.figures.power_plot import power_curve
from pairstats.figures.ranks import rank_intervals
from pairstats.figures.reliability import calibration
from pairstats.figures.scatter import flips_against_accuracy
from pairstats.figures.usage_plot import usage_distribution

__all__ = [
    "Drawn",
    "calibration",
    "completeness",
    "cross_platform",
    "discordance",
    "dose_response",
    "draw",
    "flips_against_accuracy",
    "forest",
    "heat_map",
    "outcome_bars",
    "power_curve",
    "rank_intervals",
    "slopes",
    "usage_distribution",
]
