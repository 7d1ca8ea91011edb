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
    from pairstats.numeric.betting import betting_interval
    from pairstats.numeric.calibration import calibration_curve, corp_decomposition
    from pairstats.numeric.calibration_error import expected_calibration_error
    from pairstats.numeric.calibration_null import calibration_test, smooth_ece
    from pairstats.numeric.calibration_parts import brier_decomposition
    from pairstats.numeric.clustered_odds import clustered_odds_ratio
    from pairstats.numeric.clustered_tests import clustered_difference, clustered_mcnemar
    from pairstats.numeric.cochran import cochran_q
    from pairstats.numeric.composite import capped_score, number_correct, weighted_composite
    from pairstats.numeric.dependence import design_effect, effective_families
    from pairstats.numeric.dirichlet import dirichlet_mean_cdf
    from pairstats.numeric.discordant import mcnemar, mcnemar_odds_ratio
    from pairstats.numeric.draws import bootstrap_replicates, bootstrap_weights, family_types
    from pairstats.numeric.effective import clustered_difference_interval
    from pairstats.numeric.exact import sign_flip
    from pairstats.numeric.family import dirichlet_weights, family_interval
    from pairstats.numeric.fast_contrasts import many_contrasts
    from pairstats.numeric.fixed_case_differences import these_cases_difference
    from pairstats.numeric.fixed_cases import these_cases_interval
    from pairstats.numeric.flips import flip_rate
    from pairstats.numeric.jackknife import jackknife_interval
    from pairstats.numeric.judge import swapped_verdicts
    from pairstats.numeric.krippendorff import krippendorff_alpha
    from pairstats.numeric.law import exact_law
    from pairstats.numeric.many import all_pairs, shaffer
    from pairstats.numeric.medians import paired_medians
    from pairstats.numeric.missing import (
        enough_answered,
        imbens_manski,
        manski_bounds,
        paired_manski_bounds,
        tipping_point,
    )
    from pairstats.numeric.more_proportions import agresti_coull, binomial_test, blaker
    from pairstats.numeric.mover import mover_difference
    from pairstats.numeric.multiplicity import adjust, holm
    from pairstats.numeric.noise import control_excess, excess_disagreement
    from pairstats.numeric.noninferiority import family_margin_test, margin_test, noninferiority_nobs
    from pairstats.numeric.paired_differences import paired_difference_interval
    from pairstats.numeric.paired_tables import bowker, paired_class_test, stuart_maxwell
    from pairstats.numeric.planning import (
        families_for_bound,
        families_needed,
        paired_family_power,
        smallest_sign_flip_p,
    )
    from pairstats.numeric.posterior import bayesian_bootstrap, family_posterior, probability_better
    from pairstats.numeric.power import mcnemar_power, mcnemar_sample_size, minimal_detectable_difference
    from pairstats.numeric.proportions import (
        clopper_pearson,
        jeffreys,
        mid_p_interval,
        wilson,
        zero_event_bound,
        zero_event_nobs,
    )
    from pairstats.numeric.pvalues import bootstrap_p_value, mc_p_value
    from pairstats.numeric.rank_sets import (
        group_letters,
        indistinguishable_groups,
        rank_bounds,
        rank_intervals,
    )
    from pairstats.numeric.ranking import auroc_difference, auroc_interval, delong_test, delong_variance
    from pairstats.numeric.reliability_band import corp_band
    from pairstats.numeric.repeats import copied_repeats, pass_at_k, pass_hat_k, repeats_to_buy
    from pairstats.numeric.resample import bootstrap_interval
    from pairstats.numeric.retest import retest_agreement
    from pairstats.numeric.sandwich import cluster_robust, cr2_interval, korn_graubard
    from pairstats.numeric.scorer_error import corrected_difference, corrected_rate
    from pairstats.numeric.scores import auroc, brier, confident_wrong, log_loss
    from pairstats.numeric.selective import aurc, review_curve
    from pairstats.numeric.shares import family_share
    from pairstats.numeric.simultaneous import simultaneous_intervals
    from pairstats.numeric.stated_confidence import brier_difference, calibration_table, overconfidence
    from pairstats.numeric.stepdown import max_t, romano_wolf
    from pairstats.numeric.strata import macro_average, post_stratify
    from pairstats.numeric.swap import swap_test
    from pairstats.numeric.tipping import paired_tipping_point
    from pairstats.numeric.transitions import flip_errors, flip_transitions
    from pairstats.numeric.trends import dose_trend, interaction_test
    from pairstats.numeric.variance import crossed_variance, repeat_variance, variance_components
    from pairstats.numeric.wild import wild_cluster

_HOME = {
    "adjust": "multiplicity",
    "agresti_coull": "more_proportions",
    "all_pairs": "many",
    "answer_entropy": "answer_spread",
    "any_disagreement": "answer_spread",
    "aurc": "selective",
    "auroc": "scores",
    "auroc_difference": "ranking",
    "auroc_interval": "ranking",
    "bayesian_bootstrap": "posterior",
    "betting_interval": "betting",
    "binomial_test": "more_proportions",
    "blaker": "more_proportions",
    "bootstrap_interval": "resample",
    "bootstrap_p_value": "pvalues",
    "bootstrap_replicates": "draws",
    "bootstrap_weights": "draws",
    "bowker": "paired_tables",
    "brier": "scores",
    "brier_decomposition": "calibration_parts",
    "brier_difference": "stated_confidence",
    "calibration_curve": "calibration",
    "calibration_table": "stated_confidence",
    "calibration_test": "calibration_null",
    "capped_score": "composite",
    "clopper_pearson": "proportions",
    "cluster_robust": "sandwich",
    "clustered_difference": "clustered_tests",
    "clustered_difference_interval": "effective",
    "clustered_mcnemar": "clustered_tests",
    "clustered_odds_ratio": "clustered_odds",
    "cochran_q": "cochran",
    "cohen_kappa": "agreement",
    "confident_wrong": "scores",
    "control_excess": "noise",
    "copied_repeats": "repeats",
    "corp_band": "reliability_band",
    "corp_decomposition": "calibration",
    "corrected_difference": "scorer_error",
    "corrected_rate": "scorer_error",
    "cr2_interval": "sandwich",
    "crossed_variance": "variance",
    "delong_test": "ranking",
    "delong_variance": "ranking",
    "design_effect": "dependence",
    "dirichlet_mean_cdf": "dirichlet",
    "dirichlet_weights": "family",
    "dose_trend": "trends",
    "effective_families": "dependence",
    "enough_answered": "missing",
    "exact_law": "law",
    "excess_disagreement": "noise",
    "expected_calibration_error": "calibration_error",
    "families_for_bound": "planning",
    "families_needed": "planning",
    "family_interval": "family",
    "family_margin_test": "noninferiority",
    "family_posterior": "posterior",
    "family_share": "shares",
    "family_types": "draws",
    "fleiss_kappa": "agreement",
    "flip_errors": "transitions",
    "flip_rate": "flips",
    "flip_transitions": "transitions",
    "group_letters": "rank_sets",
    "gwet_ac1": "agreement",
    "holm": "multiplicity",
    "imbens_manski": "missing",
    "indistinguishable_groups": "rank_sets",
    "interaction_test": "trends",
    "jackknife_interval": "jackknife",
    "jeffreys": "proportions",
    "korn_graubard": "sandwich",
    "krippendorff_alpha": "krippendorff",
    "log_loss": "scores",
    "macro_average": "strata",
    "manski_bounds": "missing",
    "many_contrasts": "fast_contrasts",
    "margin_test": "noninferiority",
    "max_t": "stepdown",
    "mc_p_value": "pvalues",
    "mcnemar": "discordant",
    "mcnemar_odds_ratio": "discordant",
    "mcnemar_power": "power",
    "mcnemar_sample_size": "power",
    "mid_p_interval": "proportions",
    "minimal_detectable_difference": "power",
    "mover_difference": "mover",
    "noninferiority_nobs": "noninferiority",
    "number_correct": "composite",
    "overconfidence": "stated_confidence",
    "paired_class_test": "paired_tables",
    "paired_difference_interval": "paired_differences",
    "paired_family_power": "planning",
    "paired_manski_bounds": "missing",
    "paired_medians": "medians",
    "paired_tipping_point": "tipping",
    "pass_at_k": "repeats",
    "pass_hat_k": "repeats",
    "post_stratify": "strata",
    "probability_better": "posterior",
    "rank_bounds": "rank_sets",
    "rank_intervals": "rank_sets",
    "repeat_variance": "variance",
    "repeats_to_buy": "repeats",
    "retest_agreement": "retest",
    "review_curve": "selective",
    "romano_wolf": "stepdown",
    "shaffer": "many",
    "sign_flip": "exact",
    "simultaneous_intervals": "simultaneous",
    "smallest_sign_flip_p": "planning",
    "smooth_ece": "calibration_null",
    "stuart_maxwell": "paired_tables",
    "swap_test": "swap",
    "swapped_verdicts": "judge",
    "these_cases_difference": "fixed_case_differences",
    "these_cases_interval": "fixed_cases",
    "tipping_point": "missing",
    "variance_components": "variance",
    "weighted_composite": "composite",
    "wild_cluster": "wild",
    "wilson": "proportions",
    "zero_event_bound": "proportions",
    "zero_event_nobs": "proportions",
}
"""Public functions and the modules they live in."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'pairstats.numeric' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pairstats.numeric.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
