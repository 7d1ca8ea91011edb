"""What is estimated: frozen values that reduce rows to sums over repeats, which families then add up.

An estimand is a ratio of family totals. Users may write their own: a frozen value with `name`, `weight`,
`bounds`, `columns`, `unit()` and `reduce()` (see `Estimand`); there is nothing to register.
"""

from typing import Any

from pairstats.estimands.base import SUMS, Estimand, Rows, add_up
from pairstats.estimands.families import AllCorrect, FlipRate
from pairstats.estimands.means import Brier, Mean, Ratio, Share

KINDS: dict[str, type[Any]] = {
    "mean": Mean,
    "share": Share,
    "ratio": Ratio,
    "flip_rate": FlipRate,
    "all_correct": AllCorrect,
    "brier": Brier,
}
"""Names of the estimands in a protocol file."""

__all__ = [
    "KINDS", "SUMS", "AllCorrect", "Brier", "Estimand", "FlipRate", "Mean", "Ratio", "Rows", "Share",
    "add_up",
]  # fmt: skip
