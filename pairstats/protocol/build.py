"""From the rules of a protocol to the values that the verbs take."""

from __future__ import annotations

import dataclasses
from typing import Any

from pairstats.answers import AnswerFormat
from pairstats.contrasts import Comparison, Pairwise, Versus
from pairstats.errors import PairstatsError, ProtocolError, listed
from pairstats.estimands import KINDS, Estimand
from pairstats.intervals import NAMED, Bootstrap, IntervalKind
from pairstats.protocol.values import Answers, ContrastRule, EstimandRule, IntervalRule


def build_estimand(rule: EstimandRule) -> Estimand:
    """Estimand value that a rule describes.

    Raises
    ------
    ProtocolError
        When the kind is unknown or the arguments do not fit it.
    """
    if rule.kind not in KINDS:
        raise ProtocolError(
            f"Estimand {rule.name!r}: `kind` must be one of {', '.join(KINDS)}, not {rule.kind!r}."
        )
    allowed = [f.name for f in dataclasses.fields(KINDS[rule.kind]) if f.name != "label"]
    unknown = [name for name in rule.args if name not in allowed]
    if unknown:
        raise ProtocolError(
            f"Estimand {rule.name!r}: args has the unknown key {listed(unknown)}; {rule.kind} takes "
            f"{', '.join(allowed)}."
        )
    try:
        return KINDS[rule.kind](**rule.args, label=rule.name)
    except (PairstatsError, TypeError) as error:
        raise ProtocolError(f"Estimand {rule.name!r}: {error}") from error


def build_answers(rule: Answers | None) -> AnswerFormat | None:
    """Answer format that a rule describes; None where the platform's own scores stand."""
    if rule is None:
        return None
    try:
        return AnswerFormat(**{**dataclasses.asdict(rule), "units": tuple(rule.units)})
    except PairstatsError as error:
        raise ProtocolError(f"[answers] {error}") from error


def build_interval(rule: IntervalRule) -> IntervalKind:
    """Interval value that a rule names.

    Raises
    ------
    ProtocolError
        When the method is unknown, or resampling is asked of a method that does not resample.
    """
    if rule.method not in NAMED:
        raise ProtocolError(f"[interval] `method` must be one of {', '.join(NAMED)}, not {rule.method!r}.")
    interval = NAMED[rule.method]
    resampling = {"n_resamples": rule.n_resamples, "seed": rule.seed, "at_collapse": rule.at_collapse}
    given: dict[str, Any] = {name: value for name, value in resampling.items() if value is not None}
    if not given:
        return interval
    if not isinstance(interval, Bootstrap):
        raise ProtocolError(
            f"[interval] {listed(given, 3)} belongs to a bootstrap, but the method is {rule.method!r}."
        )
    try:
        return dataclasses.replace(interval, **given)
    except PairstatsError as error:
        raise ProtocolError(f"[interval] {error}") from error


def build_comparison(rule: ContrastRule) -> Comparison:
    """Comparison value that a contrast describes: pairwise without a reference, else against it."""
    factor, reference = rule.compare["factor"], rule.compare.get("reference")
    if reference is None:
        return Pairwise(factor)
    level = rule.compare.get("level", ())
    return Versus(factor, reference, level if isinstance(level, str) else tuple(level))
