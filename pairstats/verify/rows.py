"""The rows that a protocol asks for, each number as the second path finds it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pairstats.errors import PairstatsError
from pairstats.verify.chances import sign_flip_p, swap_p, touching
from pairstats.verify.combinations import Combinations, comparison_of
from pairstats.verify.decisions import Key, Units, chosen, units_of
from pairstats.verify.declared import Declared, Quantity, Question
from pairstats.verify.families import Answer, Term, answer_of, paired_units
from pairstats.verify.limits import (
    EXACT,
    Span,
    Wanted,
    collapsed,
    limits_of,
    ratio_difference_limits,
    std_error,
)

THESE_CASES = "limits and tests over repeats of these cases have no second path"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the main table as it should be.

    Attributes
    ----------
    contrast : str or None
    estimand : str
    levels : dict
        Levels of the factors that the row is about.
    spans : dict
        Where each number must lie.
    question : Question or None
    answer : Answer or None
        Family totals behind it.
    unknown : dict
        Columns that have no second path, and why.
    """

    contrast: str | None
    estimand: str
    levels: dict[str, Any]
    spans: dict[str, Span] = field(default_factory=dict)
    question: Question | None = None
    answer: Answer | None = None
    sides: tuple[Answer, ...] = ()
    words: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells rows apart."""
        named = sorted((name, str(level)) for name, level in self.levels.items())
        return (self.contrast, self.estimand, *named)


def cell_rows(declared: Declared, rows: pa.Table, quantity: Quantity) -> list[Row]:
    """Rows of one estimand: one a cell."""
    found = []
    for levels, answer in _cells(declared, rows, quantity):
        made = Row(None, quantity.name, levels, _counts(answer), None, answer)
        made.spans["conf_level"] = Span.at(declared.level, EXACT)
        if not answer.empty:
            _add_numbers(made, quantity, declared, "two-sided")
        found.append(made)
    return found


def _cells(
    declared: Declared,
    rows: pa.Table,
    quantity: Quantity,
    where: Mapping[str, Any] | None = None,
    pooled: Sequence[str] = (),
) -> list[tuple[dict[str, Any], Answer]]:
    """Every cell of a quantity, with its totals; replies of pooled cells stay apart inside a family."""
    here = chosen(rows, {**quantity.where, **(where or {})})
    cells = tuple(name for name in declared.cells if name not in pooled)
    unit = declared.unit_of(quantity, here.column_names, cells)
    units = units_of(quantity, here, declared.family, cells, unit)
    return [
        (
            dict(zip(cells, cell, strict=True)),
            answer_of(units, [(cell, 1.0)], quantity, declared.missing, single=True),
        )
        for cell in sorted({cell for _, cell in units}, key=str)
    ]


def question_rows(declared: Declared, rows: pa.Table, question: Question) -> list[Row]:
    """Rows of one contrast: one a combination and stratum."""
    if question.minus is not None:
        return _unpaired_rows(declared, rows, question, question.minus)
    quantity = question.quantity
    factors, combinations = comparison_of(question.compare)
    cells = tuple(dict.fromkeys((*declared.cells, *question.average, *factors)))
    here = chosen(rows, {**quantity.where, **question.where})

    def collect(unit: Sequence[str]) -> Units:
        return units_of(quantity, here, declared.family, cells, unit)

    unit = declared.unit_of(quantity, here.column_names, cells, factors)
    units = paired_units(collect, unit, cells, factors, question.average)
    found = []
    for label, levels, terms in _terms(units, cells, factors, question.average, combinations):
        made = Row(label, quantity.name, levels, {"n_families": Span.at(0, EXACT)}, question)
        if terms:
            answer = answer_of(units, terms, quantity, declared.missing, single=False)
            made = Row(label, quantity.name, levels, _counts(answer), question, answer)
            if not answer.empty:
                _add_numbers(made, quantity, declared, question.side)
                _add_test(made, question, declared)
        made.spans["conf_level"] = Span.at(declared.level, EXACT)
        made.spans["null"] = Span.at(0.0, EXACT)
        found.append(made)
    return found


def _unpaired_rows(declared: Declared, rows: pa.Table, question: Question, minus: Quantity) -> list[Row]:
    """Rows of a difference of two quantities whose families are not paired."""
    first = _cells(declared, rows, question.quantity, question.where, question.average)
    second = {
        str(levels): answer
        for levels, answer in _cells(declared, rows, minus, question.where, question.average)
    }
    found = []
    for levels, one in first:
        if str(levels) not in second:
            continue
        two = second[str(levels)]
        counts = {
            "n_families": min(len(one.num), len(two.num)), "n_units": len(one.num) + len(two.num),
            "n_missing": one.counts["n_missing"] + two.counts["n_missing"], "null": 0.0,
            "conf_level": declared.level,
        }  # fmt: skip
        spans = {name: Span.at(value, EXACT) for name, value in counts.items()}
        label = f"{question.quantity.name} - {minus.name}"
        made = Row(label, question.quantity.name, levels, spans, question, None, (one, two))
        if not (one.empty or two.empty):
            low, high = unpaired_limits(made, declared.method, declared.level, declared)
            made.spans.update({"conf_low": low, "conf_high": high})
            value = math.fsum(s * side.estimate for s, side in zip((1, -1), (one, two), strict=True))
            made.spans["estimate"] = Span.at(value, EXACT)
            made.spans["p_value"] = touching(
                lambda alpha, made=made: _off_zero(  # type: ignore[misc]
                    unpaired_limits(made, "family-cp", 1 - alpha, declared)
                )
            )
            made.words["method"] = f"MOVER of {declared.method}"
        found.append(made)
    return found


def unpaired_limits(row: Row, method: str, level: float, declared: Declared) -> tuple[Span, Span]:
    """Limits of a difference from those of its sides, by recovering the variance from each."""
    question = row.question
    assert question is not None, "rows of single cells have no other side"
    assert question.minus is not None, "only two quantities are not paired"
    wanted = Wanted(method, level, "two-sided", declared.interval)
    ends = (question.quantity.ends, question.minus.ends)
    (low1, high1), (low2, high2) = (
        limits_of(*side.totals(), each, wanted) for side, each in zip(row.sides, ends, strict=True)
    )
    one, two = (side.estimate for side in row.sides)
    below = [math.hypot(one - a, b - two) for a, b in ((low1.low, high2.high), (low1.high, high2.low))]
    above = [math.hypot(a - one, two - b) for a, b in ((high1.low, low2.high), (high1.high, low2.low))]
    return (
        Span(one - two - below[0], one - two - below[1], low1.how),
        Span(one - two + above[0], one - two + above[1], high1.how),
    )


def _off_zero(limits: tuple[Span, Span]) -> bool:
    return limits[0].low > 0 or limits[1].high < 0


def _terms(
    units: Units, cells: Sequence[str], factors: Sequence[str], average: Sequence[str], combine: Combinations
) -> Iterator[tuple[str, dict[str, Any], list[Term]]]:
    """Label, stratum and weighted cells of every row; no cells where one side has none."""
    place = {name: i for i, name in enumerate(cells)}
    strata = [name for name in cells if name not in factors and name not in average]
    inner = [name for name in cells if name not in factors and name not in strata]
    there = sorted({cell for _, cell in units}, key=str)
    levels = {name: sorted({cell[place[name]] for cell in there}) for name in factors}
    for stratum in sorted({tuple(cell[place[name]] for name in strata) for cell in there}, key=str):
        held: dict[Key, dict[Key, Key]] = {}
        for cell in there:
            if tuple(cell[place[name]] for name in strata) == stratum:
                side = tuple(cell[place[name]] for name in factors)
                held.setdefault(side, {})[tuple(cell[place[name]] for name in inner)] = cell
        for label, weights in combine(levels):
            named = dict(zip(strata, stratum, strict=True))
            if all(side in held for side in weights):
                yield (
                    label,
                    named,
                    [
                        (cell, weight / len(held[side]))
                        for side, weight in weights.items()
                        for cell in held[side].values()
                    ],
                )
            elif any(side in held for side in weights):
                yield label, named, []


def _counts(answer: Answer) -> dict[str, Span]:
    counts: dict[str, float] = dict(answer.counts)
    counts["n_families"] = 0 if answer.empty else len(answer.num)
    if answer.bounds is not None:
        counts |= {"bound_low": answer.bounds[0], "bound_high": answer.bounds[1]}
    return {name: Span.at(value, EXACT) for name, value in counts.items()}


def _add_numbers(row: Row, quantity: Quantity, declared: Declared, side: str) -> None:
    """Estimate, standard error and limits."""
    answer = row.answer
    assert answer is not None, "rows without an answer have no numbers"
    if answer.stray:
        row.spans["estimate"] = Span.at(answer.estimate, EXACT)
        return
    if declared.population == "these_cases":
        row.spans["estimate"] = Span.at(answer.estimate, EXACT)
        row.unknown.update(dict.fromkeys(("std_error", "conf_low", "conf_high"), THESE_CASES))
        return
    wanted = Wanted(declared.method, declared.level, side, declared.interval)
    row.words["method"] = declared.method
    if answer.shared:
        totals, sizes = answer.totals()
        row.spans["std_error"] = Span.at(std_error(totals, sizes), EXACT)
        limits = limits_of(totals, sizes, answer.span(quantity.ends), wanted)
        if declared.interval.get("at_collapse") == "family-cp" and collapsed(totals, sizes, declared.method):
            row.words["method"] = "family-cp"
    else:
        if answer.weights != [1.0, -1.0] or quantity.ends is None:
            raise PairstatsError("ratios of different denominators are compared in pairs only")
        row.words["method"] = f"{declared.method} (Monte Carlo)"
        limits = ratio_difference_limits(np.array(answer.num), np.array(answer.den), quantity.ends, wanted)
    row.spans["estimate"] = Span.at(answer.estimate, EXACT)
    row.spans["conf_low"], row.spans["conf_high"] = limits


def _add_test(row: Row, question: Question, declared: Declared) -> None:
    """Statistic and p-value."""
    answer = row.answer
    assert answer is not None, "rows without an answer have no test"
    if answer.stray:
        return
    if declared.population == "these_cases":
        row.unknown.update(dict.fromkeys(("statistic", "p_value", "p_floor", "mdd"), THESE_CASES))
        return
    if not answer.shared:
        row.spans["statistic"] = row.spans["estimate"]
        p, least = swap_p(np.array(answer.num), np.array(answer.den), question.side)
        row.spans["p_value"] = p
        if least is None:
            row.unknown["p_floor"] = "too many exchanges to count"
        else:
            row.spans["p_floor"] = Span.at(least, EXACT)
        return
    totals, _ = answer.totals()
    row.spans["statistic"] = Span.at(math.fsum(totals), EXACT)
    if "doses" in question.compare:
        row.unknown.update(
            dict.fromkeys(("p_value", "p_floor"), "a trend test permutes doses within families")
        )
        return
    p, floor = sign_flip_p(totals, question.side)
    row.spans["p_value"], row.spans["p_floor"] = p, Span.at(floor, EXACT)
