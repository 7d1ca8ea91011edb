"""The rule engine: which page governs, who may enter, what is missing. Answers come from here alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packets import Ruling


@dataclass(frozen=True, slots=True)
class Claim:
    """What one clause says about the question.

    Attributes
    ----------
    scope : str
        The only track it speaks of; empty for all.
    withdrawn_by : str
        Clause that takes its page back.
    """

    clause: str
    page: str
    value: Any
    scope: str = ""
    withdrawn_by: str = ""


@dataclass(frozen=True, slots=True)
class Precedence:
    """A clause that puts one page above another."""

    clause: str
    higher: str
    lower: str


def govern(claims: Sequence[Claim], order: Sequence[Precedence], *, track: str = "") -> Ruling:
    """Find what governs: the claim that no page above contradicts.

    A claim is beaten where a page that stands above its own says something else; two pages that stand above
    each other, by whatever round, beat nothing. Evidence is the claim and the clauses that put its page above
    those that say otherwise, or that take such a page back.
    """
    there = [claim for claim in claims if claim.scope in ("", track)]
    alive = [claim for claim in there if not claim.withdrawn_by]
    standing = [c for c in alive if not any(_beats(d, c, order) for d in alive)]
    values = {repr(claim.value) for claim in standing}
    if len(values) != 1:
        cycle = {e.clause for e in order for c in standing for d in standing
                 if c.page != d.page and e in _path(c.page, d.page, order)}  # fmt: skip
        return Ruling(None, (frozenset({c.clause for c in standing} | cycle),))
    taken_back = {c.withdrawn_by for c in there if c.withdrawn_by and c.value != standing[0].value}
    found = []
    for claim in standing:
        rivals = [c for c in alive if c.value != claim.value]
        steps = {e.clause for rival in rivals for e in _path(claim.page, rival.page, order)}
        found.append(frozenset({claim.clause} | steps | taken_back))
    fewest = min(map(len, found))
    return Ruling(standing[0].value, tuple(sorted({s for s in found if len(s) == fewest}, key=sorted)))


def _beats(above: Claim, below: Claim, order: Sequence[Precedence]) -> bool:
    up, down = _path(above.page, below.page, order), _path(below.page, above.page, order)
    return above.value != below.value and bool(up) and not down


def _path(higher: str, lower: str, order: Sequence[Precedence]) -> list[Precedence]:
    """Give the shortest chain of precedence clauses from one page down to another; empty where there is none."""
    paths: list[list[Precedence]] = [[]]
    seen = {higher}
    while paths:
        path = paths.pop(0)
        at = path[-1].lower if path else higher
        if at == lower and path:
            return path
        for edge in order:
            if edge.higher == at and (edge.lower not in seen or edge.lower == lower):
                seen.add(edge.lower)
                paths.append([*path, edge])
    return []


@dataclass(frozen=True, slots=True)
class Test:
    """A condition of one clause: met, failed, or None where a fact is not told."""

    clause: str
    met: bool | None


def all_met(tests: Sequence[Test]) -> Ruling:
    """Find whether all conditions are met: one that fails settles it, and one that is open leaves it open."""
    failed = [test.clause for test in tests if test.met is False]
    unknown = [test.clause for test in tests if test.met is None]
    if failed:
        return Ruling(False, tuple(frozenset([clause]) for clause in failed))
    if unknown:
        return Ruling(None, (frozenset(unknown),))
    return Ruling(True, (frozenset(test.clause for test in tests),))


@dataclass(frozen=True, slots=True)
class Need:
    """An artifact that a clause asks for.

    Attributes
    ----------
    due, given : bool or None
        Whether it is asked of this entry, and whether it is there as asked; None where that is not told.
    """

    clause: str
    artifact: str
    due: bool | None = True
    given: bool | None = True


def missing(needs: Sequence[Need], also: Iterable[str] = ()) -> Ruling:
    """Find the artifacts that are asked for and not there; `also` names clauses that say what counts."""
    open_ones = [n.clause for n in needs if (n.due is None and n.given is not True)
                 or (n.due is True and n.given is None)]  # fmt: skip
    if open_ones:
        return Ruling(None, (frozenset(open_ones),))
    lacking = [need for need in needs if need.due and not need.given]
    cited = {need.clause for need in lacking} | set(also)
    return Ruling(sorted(need.artifact for need in lacking), (frozenset(cited),))


Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bar:
    """A rule that keeps entries out: a field of the entry, how it is compared, and with what."""

    clause: str
    field: str
    test: str
    bound: Any

    def bars(self, entry: Entry) -> bool | None:
        """Whether the entry is kept out; None where the field is not told."""
        value = entry[self.field]
        if value is None:
            return None
        if self.test == "above":
            return bool(value > self.bound)
        if self.test == "below":
            return bool(value < self.bound)
        return value in self.bound


def barred(entries: Sequence[Entry], bars: Sequence[Bar], *, count_others: bool = False) -> Ruling:
    """Find the entries that any rule keeps out (or how many are left); an untold field may leave it open."""
    cited = frozenset(bar.clause for bar in bars)
    out = []
    for entry in entries:
        verdicts = {bar.clause: bar.bars(entry) for bar in bars}
        if True in verdicts.values():
            out.append(str(entry["id"]))
        elif None in verdicts.values():
            return Ruling(None, (frozenset(clause for clause, v in verdicts.items() if v is None),))
    return Ruling(len(entries) - len(out) if count_others else sorted(out), (cited,))
