"""From the rules of a protocol to the values that the verbs take."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from pairstats.answers import AnswerFormat
from pairstats.contrasts import Comparison, Interaction, Pairwise, Trend, Versus
from pairstats.errors import PairstatsError, ProtocolError, listed, one_of
from pairstats.estimands import KINDS, Estimand
from pairstats.interval_names import NAMED
from pairstats.intervals import IntervalKind
from pairstats.numeric.checks import ALTERNATIVES
from pairstats.protocol.values import Answers, ContrastRule, EstimandRule, IntervalRule, Multiplicity
from pairstats.readers import extract
from pairstats.readers.mapping import Path, path_of
from pairstats.verdicts import MULTIPLICITY, Claim

RESAMPLING = ("n_resamples", "seed", "at_collapse")
"""Settings that only some kinds of interval have."""


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
    except (TypeError, ValueError, AttributeError) as error:
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
    resampling = {name: getattr(rule, name) for name in RESAMPLING}
    given: dict[str, Any] = {name: value for name, value in resampling.items() if value is not None}
    if not given:
        return interval
    foreign = [name for name in given if name not in _settings(rule.method)]
    if foreign:
        raise ProtocolError(
            f"[interval] {listed(foreign, 3)} does not belong to the method {rule.method!r}, which takes "
            f"{listed(_settings(rule.method), 3) or 'none of these'}."
        )
    try:
        return dataclasses.replace(interval, **given)  # type: ignore[type-var]
    except PairstatsError as error:
        raise ProtocolError(f"[interval] {error}") from error


def with_method(rule: IntervalRule, method: str) -> IntervalRule:
    """Make the same rule with another method; how to resample stays only where the method takes it."""
    taken = _settings(method)
    dropped: dict[str, Any] = {name: None for name in RESAMPLING if name not in taken}
    return dataclasses.replace(rule, method=method, **dropped)


def _settings(method: str) -> list[str]:
    """Settings of resampling that an interval takes."""
    if method not in NAMED:
        return []
    own = [field.name for field in dataclasses.fields(NAMED[method])]  # type: ignore[arg-type]
    return [name for name in RESAMPLING if name in own]


def build_mapping(name: str, value: Any, key: str = "map") -> Path:
    r"""Mapping of one column: a dotted path, ``"item~^(\w+)-"``, or ``{ from = "item", pattern = "^(\w+)-" }``.

    Raises
    ------
    ProtocolError
        When it is none of these, or its pattern is no regular expression with a group.

    Examples
    --------
    >>> build_mapping("family", r"item~^(\w+)-")
    Extract(name='item', pattern='^(\\w+)-')
    """
    parts = value if isinstance(value, dict) and value.keys() == {"from", "pattern"} else {}
    words = list(parts.values()) or [value]
    if not all(isinstance(word, str) for word in words) or not words[0].partition("~")[0]:
        raise ProtocolError(
            f"`{key}.{name}` must be a dotted path, 'column~pattern' or {{ from = ..., pattern = ... }}, "
            f"but is {value!r}."
        )
    try:
        return extract(parts["from"], parts["pattern"]) if parts else path_of(value)
    except PairstatsError as error:
        raise ProtocolError(f"`{key}.{name}`: {error}") from error


def build_comparison(rule: ContrastRule) -> Comparison:
    """Comparison value that a contrast describes.

    A factor alone compares all pairs; with ``reference`` (and ``level``) against it; with ``across`` the
    effect is compared between two levels of another factor; with ``doses`` it is a trend.

    Raises
    ------
    ProtocolError
        When keys are unknown, absent or do not fit together.
    """
    where = f"compare of contrast {rule.name!r}"
    compare = rule.compare
    _only(where, compare, ("factor", "level", "reference", "across", "doses"))
    factor, reference, level = (compare.get(name) for name in ("factor", "reference", "level"))
    if not isinstance(factor, str):
        raise ProtocolError(f"{where} must name its factor.")
    if "doses" in compare:
        return _trend(where, factor, compare)
    if reference is None:
        if level is not None or "across" in compare:
            raise ProtocolError(f"{where} must have a reference: what the level is compared with.")
        return Pairwise(factor)
    levels = () if level is None else tuple(_levels(where, level))
    for each in _levels(where, reference):
        if each in levels or isinstance(reference, list):
            raise ProtocolError(
                f"{where} must have one reference, other than its levels, but has {reference!r}."
            )
    effect = Versus(factor, str(reference), levels[0] if len(levels) == 1 else levels)
    return _interaction(where, effect, compare["across"]) if "across" in compare else effect


def _levels(where: str, value: Any) -> list[str]:
    """Levels as text, as every id is; one or a list."""
    given = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(each, str | int | float) for each in given):
        raise ProtocolError(f"{where}: a level must be a word, but is {value!r}.")
    levels = [str(each) for each in given]
    if len(set(levels)) < len(levels):
        raise ProtocolError(f"{where} must name each level once, but names {value!r}.")
    return levels


def _trend(where: str, factor: str, compare: dict[str, Any]) -> Trend:
    doses = compare["doses"]
    if set(compare) != {"factor", "doses"} or not isinstance(doses, dict) or len(doses) < 2:
        raise ProtocolError(f"{where}: a trend takes a factor and the doses of at least two of its levels.")
    if not all(isinstance(dose, int | float) and not isinstance(dose, bool) for dose in doses.values()):
        raise ProtocolError(f"{where}: every dose must be a number, but they are {doses}.")
    if not all(math.isfinite(dose) for dose in doses.values()) or len(set(doses.values())) < 2:
        raise ProtocolError(f"{where}: a trend needs at least two different doses, but they are {doses}.")
    return Trend(factor, doses)


def _interaction(where: str, effect: Versus, across: Any) -> Interaction:
    if not isinstance(across, dict) or set(across) != {"factor", "level", "reference"}:
        raise ProtocolError(f"{where}: `across` must have factor, level and reference, but is {across!r}.")
    other, level, reference = (_levels(where, across[name])[0] for name in ("factor", "level", "reference"))
    if other == effect.factor or level == reference:
        raise ProtocolError(f"{where}: `across` must have two levels of another factor, but is {across}.")
    return Interaction(effect, other, level, reference)


def _only(where: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    unknown = [name for name in table if name not in known]
    if unknown:
        raise ProtocolError(f"{where} has the unknown key {listed(unknown)}; it may have {', '.join(known)}.")


def build_claim(rule: ContrastRule) -> Claim:
    """Claim that a contrast makes.

    Raises
    ------
    ProtocolError
        When the claim is unknown, or a margin is absent, superfluous or no positive number.
    """
    margin = rule.margin
    try:
        if isinstance(margin, list):
            if len(margin) != 2:
                raise PairstatsError(f"`margin` must be one number or two, below and above, but is {margin}.")
            margin = (float(margin[0]), float(margin[1]))  # type: ignore[assignment]
        one_of("side", rule.side, ALTERNATIVES)
        return Claim(rule.claim, margin, rule.alpha, rule.group)  # type: ignore[arg-type]
    except PairstatsError as error:
        raise ProtocolError(f"Contrast {rule.name!r}: {error}") from error


def check_multiplicity(rule: Multiplicity) -> None:
    """Raise unless the procedure is known."""
    if rule.method not in MULTIPLICITY:
        known = ", ".join(MULTIPLICITY)
        raise ProtocolError(f"[multiplicity] `method` must be one of {known}, not {rule.method!r}.")
