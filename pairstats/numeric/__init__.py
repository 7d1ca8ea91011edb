"""Statistics on plain arrays, usable alone: NumPy and SciPy only, no frames, nothing of the layers above.

Functions take arrays of family scores or counts and return small frozen results with named fields. Names are
loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pairstats.numeric.calibration import calibration_curve, corp_decomposition
    from pairstats.numeric.calibration_error import expected_calibration_error
    from pairstats.numeric.cochran import cochran_q
    from pairstats.numeric.dirichlet import dirichlet_mean_cdf
    from pairstats.numeric.discordant import mcnemar, mcnemar_odds_ratio
    from pairstats.numeric.draws import bootstrap_replicates, bootstrap_weights, family_types
    from pairstats.numeric.exact import sign_flip
    from pairstats.numeric.family import dirichlet_weights, family_interval
    from pairstats.numeric.flips import flip_rate
    from pairstats.numeric.intervals import (
        clopper_pearson,
        jeffreys,
        mid_p_interval,
        paired_difference_interval,
        wilson,
        zero_event_bound,
        zero_event_nobs,
    )
    from pairstats.numeric.law import exact_law
    from pairstats.numeric.multiplicity import adjust, holm
    from pairstats.numeric.pvalues import bootstrap_p_value, mc_p_value
    from pairstats.numeric.resample import bootstrap_interval
    from pairstats.numeric.sandwich import cr2_interval
    from pairstats.numeric.scores import auroc, brier, confident_wrong, log_loss
    from pairstats.numeric.swap import swap_test

_HOME = {
    "adjust": "multiplicity",
    "auroc": "scores",
    "bootstrap_interval": "resample",
    "bootstrap_p_value": "pvalues",
    "bootstrap_replicates": "draws",
    "bootstrap_weights": "draws",
    "brier": "scores",
    "calibration_curve": "calibration",
    "clopper_pearson": "intervals",
    "cochran_q": "cochran",
    "confident_wrong": "scores",
    "corp_decomposition": "calibration",
    "cr2_interval": "sandwich",
    "dirichlet_mean_cdf": "dirichlet",
    "dirichlet_weights": "family",
    "exact_law": "law",
    "expected_calibration_error": "calibration_error",
    "family_interval": "family",
    "family_types": "draws",
    "flip_rate": "flips",
    "holm": "multiplicity",
    "jeffreys": "intervals",
    "log_loss": "scores",
    "mc_p_value": "pvalues",
    "mcnemar": "discordant",
    "mcnemar_odds_ratio": "discordant",
    "mid_p_interval": "intervals",
    "paired_difference_interval": "intervals",
    "sign_flip": "exact",
    "swap_test": "swap",
    "wilson": "intervals",
    "zero_event_bound": "intervals",
    "zero_event_nobs": "intervals",
}
"""Public functions and the modules they live in."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'pairstats.numeric' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pairstats.numeric.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
