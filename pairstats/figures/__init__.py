"""Figures that draw the estimates they are given, and never estimate.

Each function takes `Estimates` (or the frame of `Panel.completeness`) and returns matplotlib axes or a figure
made without pyplot, so that no global setting is touched.
"""

from __future__ import annotations

from pairstats.figures.bars import completeness
from pairstats.figures.drawing import Drawn, draw
from pairstats.figures.forest_plot import forest
from pairstats.figures.power_plot import power_curve
from pairstats.figures.reliability import calibration
from pairstats.figures.scatter import flips_against_accuracy

__all__ = ["Drawn", "calibration", "completeness", "draw", "flips_against_accuracy", "forest", "power_curve"]
