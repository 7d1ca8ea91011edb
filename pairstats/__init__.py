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
    from pairstats.answers import AnswerFormat
    from pairstats.conditions import Condition
    from pairstats.contrasts import Interaction, Pairwise, Trend, Versus
    from pairstats.difference import diff_results
    from pairstats.errors import PairingError, PairstatsError, ProtocolError, ReadError, SchemaError
    from pairstats.estimands import AllCorrect, Brier, FlipRate, Mean, Ratio, Share
    from pairstats.fill import fill_article
    from pairstats.infer import contrast, estimate
    from pairstats.intervals import CR2, Bootstrap, FamilyInterval
    from pairstats.invariants import validate
    from pairstats.more_intervals import Betting, ClusterRobust, KornGraubard, Proportion, WildCluster
    from pairstats.panel import Panel
    from pairstats.power import power_of
    from pairstats.protocol import Protocol, load_protocol
    from pairstats.protocol.power_rule import PowerRule
    from pairstats.readers import extract, read_runs
    from pairstats.records.exchange import to_every_eval_ever
    from pairstats.records.redact import Redacted, redact_records
    from pairstats.records.rescoring import Rescored, rescore
    from pairstats.records.table import Records, load_records
    from pairstats.red_flags.check import RecordsCheck, check_records
    from pairstats.report import write_report
    from pairstats.result import Estimates, concat
    from pairstats.results import Results
    from pairstats.run import run_protocol
    from pairstats.simulate import StatedConfidence, simulate_records
    from pairstats.verbs.agreement import agreement, retest, review_curve
    from pairstats.verbs.calibration import brier_parts, calibration_errors, corp_curve
    from pairstats.verbs.calibration_curve import calibration_curve
    from pairstats.verbs.classes import classes
    from pairstats.verbs.composite import capped, number_correct, weighted
    from pairstats.verbs.confidence import calibration_summary
    from pairstats.verbs.discrimination import aurc, auroc, compare_auroc, compare_confidences
    from pairstats.verbs.flips import flip_table, silent_errors
    from pairstats.verbs.judges import judge_verdicts
    from pairstats.verbs.missing import missing_bounds
    from pairstats.verbs.noise import answer_spread, control_flips, excess_flips
    from pairstats.verbs.paired import margin_test, paired_intervals, paired_tests
    from pairstats.verbs.planning import bound_plan, design_effects
    from pairstats.verbs.posterior import probability_better
    from pairstats.verbs.ranking import omnibus, rank
    from pairstats.verbs.rates import rate_test
    from pairstats.verbs.repeats import copied_replies, framing_test, pass_rates, variance_parts
    from pairstats.verbs.scorer_error import corrected
    from pairstats.verbs.sizing import families_plan, margin_plan
    from pairstats.verbs.strata import macro_average, post_stratify
    from pairstats.verbs.together import simultaneous
    from pairstats.verbs.usage import usage
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
    "Records": "records.table",
    "RecordsCheck": "red_flags.check",
    "Redacted": "records.redact",
    "Rescored": "records.rescoring",
    "Results": "results",
    "SchemaError": "errors",
    "Share": "estimands",
    "StatedConfidence": "simulate",
    "Trend": "contrasts",
    "Versus": "contrasts",
    "WildCluster": "more_intervals",
    "agreement": "verbs.agreement",
    "answer_spread": "verbs.noise",
    "aurc": "verbs.discrimination",
    "auroc": "verbs.discrimination",
    "bound_plan": "verbs.planning",
    "brier_parts": "verbs.calibration",
    "calibration_curve": "verbs.calibration_curve",
    "calibration_errors": "verbs.calibration",
    "calibration_summary": "verbs.confidence",
    "capped": "verbs.composite",
    "check_records": "red_flags.check",
    "classes": "verbs.classes",
    "compare_auroc": "verbs.discrimination",
    "compare_confidences": "verbs.discrimination",
    "concat": "result",
    "contrast": "infer",
    "control_flips": "verbs.noise",
    "copied_replies": "verbs.repeats",
    "corrected": "verbs.scorer_error",
    "corp_curve": "verbs.calibration",
    "design_effects": "verbs.planning",
    "diff_results": "difference",
    "estimate": "infer",
    "excess_flips": "verbs.noise",
    "extract": "readers",
    "families_plan": "verbs.sizing",
    "fill_article": "fill",
    "findings": "words",
    "flip_table": "verbs.flips",
    "framing_test": "verbs.repeats",
    "judge_verdicts": "verbs.judges",
    "load_protocol": "protocol",
    "load_records": "records.table",
    "macro_average": "verbs.strata",
    "margin_plan": "verbs.sizing",
    "margin_test": "verbs.paired",
    "missing_bounds": "verbs.missing",
    "number_correct": "verbs.composite",
    "omnibus": "verbs.ranking",
    "paired_intervals": "verbs.paired",
    "paired_tests": "verbs.paired",
    "pass_rates": "verbs.repeats",
    "post_stratify": "verbs.strata",
    "power_of": "power",
    "probability_better": "verbs.posterior",
    "rank": "verbs.ranking",
    "rate_test": "verbs.rates",
    "read_runs": "readers",
    "redact_records": "records.redact",
    "rescore": "records.rescoring",
    "retest": "verbs.agreement",
    "review_curve": "verbs.agreement",
    "run_protocol": "run",
    "silent_errors": "verbs.flips",
    "simulate_records": "simulate",
    "simultaneous": "verbs.together",
    "to_every_eval_ever": "records.exchange",
    "usage": "verbs.usage",
    "validate": "invariants",
    "variance_parts": "verbs.repeats",
    "verify_results": "verify",
    "weighted": "verbs.composite",
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
