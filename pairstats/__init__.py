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
    from pairstats.calibration import calibration_curve
    from pairstats.conditions import Condition
    from pairstats.confidence_verbs import calibration_summary
    from pairstats.contrasts import Interaction, Pairwise, Trend, Versus
    from pairstats.errors import PairingError, PairstatsError, ProtocolError, ReadError, SchemaError
    from pairstats.estimands import AllCorrect, Brier, FlipRate, Mean, Ratio, Share
    from pairstats.exchange import to_every_eval_ever
    from pairstats.fill import fill_article
    from pairstats.flip_verbs import flip_table, silent_errors
    from pairstats.infer import contrast, estimate
    from pairstats.intervals import CR2, Bootstrap, FamilyInterval
    from pairstats.panel import Panel
    from pairstats.power import power_of
    from pairstats.protocol import Protocol, load_protocol
    from pairstats.protocol.power_rule import PowerRule
    from pairstats.readers import extract, read_runs
    from pairstats.records import Records, load_records
    from pairstats.report import write_report
    from pairstats.result import Estimates
    from pairstats.results import Results
    from pairstats.run import run_protocol
    from pairstats.schema import validate
    from pairstats.simulate import StatedConfidence, simulate_records
    from pairstats.words import findings

_HOME = {
    "AllCorrect": "estimands",
    "AnswerFormat": "answers",
    "Bootstrap": "intervals",
    "Brier": "estimands",
    "CR2": "intervals",
    "Condition": "conditions",
    "Estimates": "result",
    "FamilyInterval": "intervals",
    "FlipRate": "estimands",
    "Interaction": "contrasts",
    "Mean": "estimands",
    "PairingError": "errors",
    "Pairwise": "contrasts",
    "PairstatsError": "errors",
    "Panel": "panel",
    "Protocol": "protocol",
    "ProtocolError": "errors",
    "Ratio": "estimands",
    "ReadError": "errors",
    "Records": "records",
    "Results": "results",
    "SchemaError": "errors",
    "Share": "estimands",
    "Trend": "contrasts",
    "Versus": "contrasts",
    "calibration_curve": "calibration",
    "calibration_summary": "confidence_verbs",
    "contrast": "infer",
    "estimate": "infer",
    "extract": "readers",
    "findings": "words",
    "flip_table": "flip_verbs",
    "load_protocol": "protocol",
    "load_records": "records",
    "read_runs": "readers",
    "run_protocol": "run",
    "silent_errors": "flip_verbs",
    "to_every_eval_ever": "exchange",
    "validate": "schema",
    "fill_article": "fill",
    "PowerRule": "protocol.power_rule",
    "power_of": "power",
    "StatedConfidence": "simulate",
    "simulate_records": "simulate",
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
