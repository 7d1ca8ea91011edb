"""pairstats: what may be concluded when language models answered the same items.

Raw run files of any platform become records in a paired long format; estimates with family intervals, paired
tests, calibration and flip rates come out as tidy rows, figures and a report.

    >>> import pairstats as ps
    >>> ps.FlipRate("answer").name
    'flip_rate(answer)'

Names are loaded on first use, so that importing the package stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pairstats._version import __version__

if TYPE_CHECKING:
    from pairstats import figures, numeric
    from pairstats.agreement_verbs import agreement, retest, review_curve
    from pairstats.answers import AnswerFormat
    from pairstats.calibration import calibration_curve
    from pairstats.calibration_verbs import brier_parts, calibration_errors, corp_curve
    from pairstats.class_verbs import classes
    from pairstats.composite_verbs import capped, number_correct, weighted
    from pairstats.conditions import Condition
    from pairstats.confidence_verbs import calibration_summary
    from pairstats.contrasts import Interaction, Pairwise, Trend, Versus
    from pairstats.difference import diff_results
    from pairstats.discrimination_verbs import aurc, auroc, compare_auroc, compare_confidences
    from pairstats.errors import PairingError, PairstatsError, ProtocolError, ReadError, SchemaError
    from pairstats.estimands import AllCorrect, Brier, FlipRate, Mean, Ratio, Share
    from pairstats.exchange import to_every_eval_ever
    from pairstats.fill import fill_article
    from pairstats.flip_verbs import flip_table, silent_errors
    from pairstats.infer import contrast, estimate
    from pairstats.intervals import CR2, Bootstrap, FamilyInterval
    from pairstats.judge_verbs import judge_verdicts
    from pairstats.missing_verbs import missing_bounds
    from pairstats.more_intervals import Betting, ClusterRobust, KornGraubard, Proportion, WildCluster
    from pairstats.noise_verbs import answer_spread, control_flips, excess_flips
    from pairstats.paired_verbs import margin_test, paired_intervals, paired_tests
    from pairstats.panel import Panel
    from pairstats.planning_verbs import bound_plan, design_effects
    from pairstats.posterior_verbs import probability_better
    from pairstats.power import power_of
    from pairstats.protocol import Protocol, load_protocol
    from pairstats.protocol.power_rule import PowerRule
    from pairstats.ranking_verbs import omnibus, rank
    from pairstats.rate_verbs import rate_test
    from pairstats.readers import extract, read_runs
    from pairstats.records import Records, load_records
    from pairstats.red_flags import RecordsCheck, check_records
    from pairstats.redact import Redacted, redact_records
    from pairstats.repeat_verbs import copied_replies, framing_test, pass_rates, variance_parts
    from pairstats.report import write_report
    from pairstats.rescoring import Rescored, rescore
    from pairstats.result import Estimates, concat
    from pairstats.results import Results
    from pairstats.run import run_protocol
    from pairstats.schema import validate
    from pairstats.scorer_verbs import corrected
    from pairstats.simulate import StatedConfidence, simulate_records
    from pairstats.sizing_verbs import families_plan, margin_plan
    from pairstats.strata_verbs import macro_average, post_stratify
    from pairstats.together_verbs import simultaneous
    from pairstats.usage_verbs import usage
    from pairstats.verify import verify_results
    from pairstats.words import findings

_HOME = {
    "AllCorrect": "estimands",
    "AnswerFormat": "answers",
    "Betting": "more_intervals",
    "Bootstrap": "intervals",
    "Brier": "estimands",
    "CR2": "intervals",
    "ClusterRobust": "more_intervals",
    "Condition": "conditions",
    "Estimates": "result",
    "FamilyInterval": "intervals",
    "FlipRate": "estimands",
    "Interaction": "contrasts",
    "KornGraubard": "more_intervals",
    "Mean": "estimands",
    "PairingError": "errors",
    "PairstatsError": "errors",
    "Pairwise": "contrasts",
    "Panel": "panel",
    "Proportion": "more_intervals",
    "Protocol": "protocol",
    "ProtocolError": "errors",
    "Ratio": "estimands",
    "ReadError": "errors",
    "Records": "records",
    "RecordsCheck": "red_flags",
    "Redacted": "redact",
    "Rescored": "rescoring",
    "Results": "results",
    "SchemaError": "errors",
    "Share": "estimands",
    "StatedConfidence": "simulate",
    "Trend": "contrasts",
    "Versus": "contrasts",
    "WildCluster": "more_intervals",
    "agreement": "agreement_verbs",
    "answer_spread": "noise_verbs",
    "aurc": "discrimination_verbs",
    "auroc": "discrimination_verbs",
    "bound_plan": "planning_verbs",
    "brier_parts": "calibration_verbs",
    "calibration_curve": "calibration",
    "calibration_errors": "calibration_verbs",
    "calibration_summary": "confidence_verbs",
    "capped": "composite_verbs",
    "check_records": "red_flags",
    "classes": "class_verbs",
    "compare_auroc": "discrimination_verbs",
    "compare_confidences": "discrimination_verbs",
    "concat": "result",
    "contrast": "infer",
    "control_flips": "noise_verbs",
    "copied_replies": "repeat_verbs",
    "corrected": "scorer_verbs",
    "corp_curve": "calibration_verbs",
    "design_effects": "planning_verbs",
    "diff_results": "difference",
    "estimate": "infer",
    "excess_flips": "noise_verbs",
    "extract": "readers",
    "families_plan": "sizing_verbs",
    "fill_article": "fill",
    "findings": "words",
    "flip_table": "flip_verbs",
    "framing_test": "repeat_verbs",
    "judge_verdicts": "judge_verbs",
    "load_protocol": "protocol",
    "load_records": "records",
    "macro_average": "strata_verbs",
    "margin_plan": "sizing_verbs",
    "margin_test": "paired_verbs",
    "missing_bounds": "missing_verbs",
    "number_correct": "composite_verbs",
    "omnibus": "ranking_verbs",
    "paired_intervals": "paired_verbs",
    "paired_tests": "paired_verbs",
    "pass_rates": "repeat_verbs",
    "post_stratify": "strata_verbs",
    "power_of": "power",
    "probability_better": "posterior_verbs",
    "rank": "ranking_verbs",
    "rate_test": "rate_verbs",
    "read_runs": "readers",
    "redact_records": "redact",
    "rescore": "rescoring",
    "retest": "agreement_verbs",
    "review_curve": "agreement_verbs",
    "run_protocol": "run",
    "silent_errors": "flip_verbs",
    "simulate_records": "simulate",
    "simultaneous": "together_verbs",
    "to_every_eval_ever": "exchange",
    "usage": "usage_verbs",
    "validate": "schema",
    "variance_parts": "repeat_verbs",
    "verify_results": "verify",
    "weighted": "composite_verbs",
    "write_report": "report",
}
"""Public names and the modules they live in."""

_MODULES = ("figures", "numeric")

__all__ = ["__version__", *sorted(_HOME), *_MODULES]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"pairstats.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"pairstats.{_HOME[name]}"), name)
    raise AttributeError(f"module 'pairstats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
