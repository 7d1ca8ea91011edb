"""The same contrasts analysed in other ways: what the verdict depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pairstats.errors import PairstatsError, ProtocolError
from pairstats.panel import Panel
from pairstats.protocol import with_method
from pairstats.protocol.values import Protocol, Sensitivity
from pairstats.result import Estimates

AS_REGISTERED = "as registered"


def sensitivity(protocol: Protocol, panel: Panel, registered: Mapping[str, Estimates]) -> Estimates | None:
    """Judge the contrasts again under every other way to analyse them.

    Parameters
    ----------
    protocol : Protocol
    panel : Panel
        As the design makes it.
    registered : mapping of str to Estimates
        The contrasts as they were judged, which the others stand beside.

    Returns
    -------
    Estimates or None
        With the factors ``question`` (name of the contrast) and ``analysis``; the registered analysis comes
        first. None where the protocol asks for none.
    """
    if not protocol.sensitivity:
        return None
    rows, factors = [], ["question", "analysis"]
    analyses: list[tuple[str, Mapping[str, Estimates], Sequence[str]]] = [(AS_REGISTERED, registered, ())]
    for name, changed, inside, wanted in _analyses(protocol, panel):
        analyses.append((name, _contrasts(name, changed, inside, wanted), wanted))
    for name, judged, about in analyses:
        for question, found in judged.items():
            if about and question not in about:
                continue
            factors += [factor for factor in found.factors if factor not in factors]
            rows += [{**row, "question": question, "analysis": name, "registered": False} for row in found]
    return Estimates.from_rows(rows, factors=factors)


def _contrasts(name: str, protocol: Protocol, panel: Panel, wanted: Sequence[str]) -> dict[str, Estimates]:
    """Judge what an analysis is about, and what shares an error rate with it."""
    from pairstats.analysis import contrasts

    shared = set(protocol.multiplicity.contrasts or [rule.name for rule in protocol.contrasts])
    needed = shared.union(wanted) if shared & set(wanted) else set(wanted)
    rules = [rule for rule in protocol.contrasts if not wanted or rule.name in needed]
    try:
        return contrasts(protocol, panel, rules=rules)
    except PairstatsError as error:
        raise type(error)(f"Sensitivity {name!r}: {error}") from error


def _analyses(protocol: Protocol, panel: Panel) -> Iterator[tuple[str, Protocol, Panel, list[str]]]:
    """Yield the name of each analysis, the protocol and panel it uses, and the contrasts it is about."""
    for rule in protocol.sensitivity:
        changed, inside = _changed(protocol, panel, rule)
        if rule.leave_out is None:
            yield rule.name, changed, inside, rule.contrasts
            continue
        levels = inside.levels(rule.leave_out)
        if len(levels) < 2:
            raise ProtocolError(
                f"Sensitivity {rule.name!r} leaves out one {rule.leave_out} at a time, but there is one only."
            )
        for level in levels:
            yield f"{rule.name}: {level}", changed, inside.without(**{rule.leave_out: level}), rule.contrasts


def _changed(protocol: Protocol, panel: Panel, rule: Sensitivity) -> tuple[Protocol, Panel]:
    design, interval = protocol.design, protocol.interval
    if rule.missing is not None:
        design = replace(design, missing=rule.missing)
    if rule.method is not None:
        interval = with_method(interval, rule.method)
    inside = panel.with_rules(no_answer=rule.no_answer)
    inside = inside.where(**rule.where) if rule.where else inside
    inside = inside if rule.drop is None else inside.not_meeting(rule.drop)
    inside = inside if rule.score is None else inside.scored_by(rule.score)
    return replace(protocol, design=design, interval=interval), inside
