"""Statistics on plain arrays, usable alone: NumPy and SciPy only, no frames, nothing of the layers above.

Functions take arrays of family scores or counts and return small frozen results with named fields. Names are
loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pairstats.numeric.agreement import cohen_kappa, fleiss_kappa, gwet_ac1
    from pairstats.numeric.answer_spread import answer_entropy, any_disagreement
    from pairstats.numeric.calibration import calibration_curve, corp_decomposition
    from pairstats.numeric.calibration_error import expected_calibration_error
    from pairstats.numeric.calibration_null import calibration_test, smooth_ece
    from pairstats.numeric.calibration_parts import brier_decomposition
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
    from pairstats.numeric.jackknife import jackknife_interval
    from pairstats.numeric.krippendorff import krippendorff_alpha
    from pairstats.numeric.law import exact_law
    from pairstats.numeric.multiplicity import adjust, holm
    from pairstats.numeric.noise import control_excess, excess_disagreement
    from pairstats.numeric.pvalues import bootstrap_p_value, mc_p_value
    from pairstats.numeric.ranking import auroc_difference, auroc_interval, delong_test, delong_variance
    from pairstats.numeric.reliability_band import corp_band
    from pairstats.numeric.resample import bootstrap_interval
    from pairstats.numeric.retest import retest_agreement
    from pairstats.numeric.sandwich import cr2_interval
    from pairstats.numeric.scores import auroc, brier, confident_wrong, log_loss
    from pairstats.numeric.selective import aurc, review_curve
    from pairstats.numeric.shares import family_share
    from pairstats.numeric.stated_confidence import brier_difference, calibration_table, overconfidence
    from pairstats.numeric.swap import swap_test
    from pairstats.numeric.transitions import flip_errors, flip_transitions

_HOME = {
    "adjust": "multiplicity",
    "answer_entropy": "answer_spread",
    "any_disagreement": "answer_spread",
    "aurc": "selective",
    "auroc": "scores",
    "auroc_difference": "ranking",
    "auroc_interval": "ranking",
    "bootstrap_interval": "resample",
    "bootstrap_p_value": "pvalues",
    "bootstrap_replicates": "draws",
    "bootstrap_weights": "draws",
    "brier": "scores",
    "brier_decomposition": "calibration_parts",
    "brier_difference": "stated_confidence",
    "calibration_curve": "calibration",
    "calibration_table": "stated_confidence",
    "calibration_test": "calibration_null",
    "clopper_pearson": "intervals",
    "cochran_q": "cochran",
    "cohen_kappa": "agreement",
    "confident_wrong": "scores",
    "control_excess": "noise",
    "corp_band": "reliability_band",
    "corp_decomposition": "calibration",
    "cr2_interval": "sandwich",
    "delong_test": "ranking",
    "delong_variance": "ranking",
    "dirichlet_mean_cdf": "dirichlet",
    "dirichlet_weights": "family",
    "exact_law": "law",
    "excess_disagreement": "noise",
    "expected_calibration_error": "calibration_error",
    "family_interval": "family",
    "family_share": "shares",
    "family_types": "draws",
    "fleiss_kappa": "agreement",
    "flip_errors": "transitions",
    "flip_rate": "flips",
    "flip_transitions": "transitions",
    "gwet_ac1": "agreement",
    "holm": "multiplicity",
    "jackknife_interval": "jackknife",
    "jeffreys": "intervals",
    "krippendorff_alpha": "krippendorff",
    "log_loss": "scores",
    "mc_p_value": "pvalues",
    "mcnemar": "discordant",
    "mcnemar_odds_ratio": "discordant",
    "mid_p_interval": "intervals",
    "overconfidence": "stated_confidence",
    "paired_difference_interval": "intervals",
    "retest_agreement": "retest",
    "review_curve": "selective",
    "sign_flip": "exact",
    "smooth_ece": "calibration_null",
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
