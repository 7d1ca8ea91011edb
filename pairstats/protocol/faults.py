"""Faults of a protocol that no single table shows: names, references, values that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pairstats.errors import PairstatsError, listed
from pairstats.protocol import build
from pairstats.protocol.values import ContrastRule, EstimandRule, Protocol, Sensitivity


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and a word of the file to find its line by."""

    message: str
    near: str


def faults(protocol: Protocol) -> Iterator[Fault]:
    """Yield every way in which a protocol contradicts itself."""
    if not protocol.sources:
        yield Fault("The protocol must name its records: write [[records.source]] with a path.", "records")
    if not protocol.estimands:
        yield Fault("The protocol must define at least one [[estimand]].", "protocol")
    estimands = (*protocol.estimands, *protocol.exploratory.estimands)
    contrasts = (*protocol.contrasts, *protocol.exploratory.contrasts)
    yield from _twice("estimand", [rule.name for rule in estimands])
    yield from _twice("contrast", [rule.name for rule in contrasts])
    yield from _estimands(estimands)
    registered = {rule.name for rule in protocol.estimands}
    for rule in protocol.contrasts:
        yield from _contrast(rule, registered)
    for rule in protocol.exploratory.contrasts:
        yield from _contrast(rule, {rule.name for rule in estimands})
    yield from _rules(protocol)


def _rules(protocol: Protocol) -> Iterator[Fault]:
    contrasts = {rule.name for rule in protocol.contrasts}
    named = [("multiplicity", protocol.multiplicity.contrasts)]
    named += [(f"sensitivity {rule.name!r}", rule.contrasts) for rule in protocol.sensitivity]
    named += [("deviation", [d.contrast]) for d in protocol.deviations if d.contrast]
    for where, names in named:
        foreign = [name for name in names if name not in contrasts]
        if foreign:
            yield Fault(f"[{where}] names {listed(foreign)}, which is no contrast of the file.", foreign[0])
    yield from _twice("sensitivity", [rule.name for rule in protocol.sensitivity])
    for rule in protocol.sensitivity:
        yield from _sensitivity(rule)
    for name, builder in (
        ("interval", lambda: build.build_interval(protocol.interval)),
        ("answers", lambda: build.build_answers(protocol.answers)),
        ("multiplicity", lambda: build.check_multiplicity(protocol.multiplicity)),
    ):
        yield from _tried(builder, name)


def _twice(what: str, names: Sequence[str]) -> Iterator[Fault]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        yield Fault(f"Every {what} must have its own name, but {listed(twice)} occurs twice.", twice[0])


def _estimands(rules: Sequence[EstimandRule]) -> Iterator[Fault]:
    for rule in rules:
        yield from _tried(lambda rule=rule: build.build_estimand(rule), rule.name)


def _contrast(rule: ContrastRule, defined: set[str]) -> Iterator[Fault]:
    for name in filter(None, (rule.estimand, rule.minus)):
        if name not in defined:
            yield Fault(
                f"Contrast {rule.name!r} asks for the estimand {name!r}, which is not defined; "
                f"there are {listed(sorted(defined), 20)}.", name,
            )  # fmt: skip
    yield from _tried(lambda: build.build_claim(rule), rule.name)
    if rule.minus is None:
        yield from _tried(lambda: build.build_comparison(rule), rule.name)
    elif rule.compare or rule.average:
        yield Fault(f"Contrast {rule.name!r} takes either `compare` or `minus`, not both.", rule.name)


def _sensitivity(rule: Sensitivity) -> Iterator[Fault]:
    settings = (rule.no_answer, rule.missing, rule.method, rule.score, rule.drop, rule.leave_out)
    if not rule.where and all(setting is None for setting in settings):
        yield Fault(f"Sensitivity {rule.name!r} must change something, but changes nothing.", rule.name)


def _tried(make: object, near: str) -> Iterator[Fault]:
    try:
        make()  # type: ignore[operator]
    except PairstatsError as error:
        yield Fault(str(error), near)
