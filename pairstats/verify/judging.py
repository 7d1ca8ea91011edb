"""Adjusted p-values, deciding limits and verdicts, from the numbers of the second path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairstats.verify.chances import adjusted, through_gates, touching
from pairstats.verify.declared import Declared, Ends, Question
from pairstats.verify.limits import EXACT, Span, Wanted, dirichlet_mean_below, limits_of
from pairstats.verify.rows import THESE_CASES, Row, unpaired_limits

NOISE = 1e-12
"""Absolute error allowed for a probability that is an integral."""

Pair = tuple[Row, Mapping[str, Any], str]


def judge(declared: Declared, pairs: Sequence[Pair]) -> None:
    """Fill in what follows from the p-values of contrasts that share an error rate.

    Raises
    ------
    PairstatsError
        When the multiplicity procedure is not known here.
    """
    method = declared.multiplicity.get("method", "holm")
    names = [question.name for question in declared.questions]
    together = declared.multiplicity.get("contrasts") or names
    for group in (together, *([name] for name in names if name not in together)):
        asked = [(row, row.question, found) for row, found, _ in pairs if row.question is not None]
        inside = [each for each in asked if each[1].name in group]
        p = [_claim_p(row, question, found, declared) for row, question, found in inside]
        tested = [i for i, value in enumerate(p) if value is not None]
        values = [value for value in p if value is not None]
        gates = [inside[i][1].gate for i in tested]
        stepped = through_gates(values, gates) if method == "gatekeeping" else adjusted(values, method)
        after = dict(zip(tested, stepped, strict=True))
        for i, (row, question, _) in enumerate(inside):
            row.words.update({"claim": question.claim, "verdict": "not estimable"})
            if question.margins is not None:
                row.spans["margin"] = Span.at(_one_margin(question), EXACT)
            if i in after:
                _conclude(row, question, p[i] or 0.0, after[i], declared)


def _one_margin(question: Question) -> float:
    """The margin as one number; NaN for two different ones."""
    assert question.margins is not None, "claims without a margin show none"
    below, above = question.margins
    return below if below == above or question.claim == "noninferiority" else math.nan


def _claim_p(row: Row, question: Question, found: Mapping[str, Any], declared: Declared) -> float | None:
    """P-value of the claim: the one in the table where it is right, else our own; None where there is none."""
    if declared.population == "these_cases":
        return None if found.get("p_value") is None else float(found["p_value"])
    if question.margins is not None:
        span = _margin_p(row, question, question.margins, declared)
        if span is None:
            return None
        row.unknown.pop("p_value", None)
        row.spans["p_value"] = span
    elif "p_value" in row.unknown:
        return None if found.get("p_value") is None else float(found["p_value"])
    if "p_value" not in row.spans:
        return None
    span, printed = row.spans["p_value"], found.get("p_value")
    nearest = min(max(float(printed or 0), span.low), span.high)
    close = printed is not None and abs(float(printed) - nearest) <= 1e-8 * nearest
    return float(printed) if close and printed is not None else max(nearest, 1e-300)


def _margin_p(row: Row, question: Question, margins: Ends, declared: Declared) -> Span | None:
    """Level at which family-CP limits touch the margin; twice that of the one side for non-inferiority."""
    below, above = margins
    both = question.claim == "equivalence"
    if row.sides and "estimate" in row.spans:

        def inside(alpha: float) -> bool:
            level = 1 - 2 * alpha if both else 1 - alpha
            low, high = unpaired_limits(row, "family-cp", level, declared)
            return low.low > -below and (not both or high.high < above)

        return touching(inside)
    answer = row.answer
    ends = None if answer is None else answer.span(question.quantity.ends)
    if answer is None or answer.empty or not answer.shared or ends is None:
        return None
    s, n = (np.array(each) for each in answer.totals())
    p = _margin_tail(s, n, ends, margins, both)
    return Span(max(p - NOISE, 0.0), p + NOISE, EXACT)


def _margin_tail(s: Any, n: Any, ends: Ends, margins: Ends, both: bool) -> float:
    weights, sizes = np.ones(len(s) + 1), np.append(n, n.max())
    lower = dirichlet_mean_below(-margins[0], np.append(s / n, ends[0]), weights, sizes)
    if not both:
        return min(1.0, 2 * lower)
    return max(lower, dirichlet_mean_below(-margins[1], np.append(-s / n, -ends[1]), weights, sizes))


def _conclude(row: Row, question: Question, p: float, after: float, declared: Declared) -> None:
    """Adjusted p-value, the level that it leaves, the limits at that level, and the verdict."""
    small = NOISE * max(1.0, after / p) if question.margins is not None else 0.0
    row.spans["p_adjusted"] = Span(max(after - small, 0.0), after + small, EXACT)
    alpha = question.alpha * (p / after)
    if declared.population == "these_cases":
        _conclude_these_cases(row, question, after)
        return
    error = row.spans.get("std_error")
    if error is not None and not math.isnan(error.low):
        row.spans["mdd"] = Span.at(_detectable(row, question, alpha, error.low), EXACT)
    if question.margins is not None:
        level = 1 - 2 * alpha if question.claim == "equivalence" else 1 - alpha
        low, high = _deciding(row, question, level, declared)
        row.spans.update({
            "conf_low": low, "conf_high": high, "conf_level": Span(level - 1e-9, level + 1e-9, EXACT),
            "null": Span.at(-question.margins[0], EXACT),
        })  # fmt: skip
        row.spans.pop("statistic", None)
        row.spans.pop("p_floor", None)
        row.unknown.pop("p_floor", None)
        side = "each side" if question.claim == "equivalence" else "lower limit one-sided"
        kind = "MOVER of family-cp" if row.sides else "family-cp"
        row.words["method"] = f"{kind} at the adjusted level ({side})"
    row.words["verdict"] = _worded(question, _verdict(row, question, after, declared))


def _conclude_these_cases(row: Row, question: Question, after: float) -> None:
    """Keep what follows from the printed p-value alone: the verdict of a claim that is reached."""
    if question.margins is not None:
        row.unknown.update(dict.fromkeys(("conf_level", "null"), THESE_CASES))
    if after <= question.alpha:
        row.words["verdict"] = _worded(question, _reached(row, question))
    else:
        row.words.pop("verdict", None)
        row.unknown["verdict"] = THESE_CASES


def _deciding(row: Row, question: Question, level: float, declared: Declared) -> tuple[Span, Span]:
    if row.sides:
        return unpaired_limits(row, "family-cp", level, declared)
    assert row.answer is not None, "a claim without totals has no p-value"
    wanted = Wanted("family-cp", level, "two-sided", {})
    return limits_of(*row.answer.totals(), row.answer.span(question.quantity.ends), wanted)


def _detectable(row: Row, question: Question, alpha: float, error: float) -> float:
    """Difference found with 80 % power at this spread, and at least what the exact test needs."""
    from scipy import stats

    tail = alpha if question.claim == "equivalence" else alpha / 2
    by_spread = (stats.norm.isf(tail) + stats.norm.isf(0.2)) * error
    families = int(row.spans["n_families"].low)
    if question.margins is not None:
        return float(max(by_spread, stats.beta.ppf(1 - tail, 1, families)))
    fewest = math.ceil(1 - math.log2(alpha))
    if fewest > families:
        return 1.0
    # So many of the families differ with 80 % probability: a quantile of the Beta distribution.
    return float(max(by_spread, stats.beta.ppf(0.8, fewest, families - fewest + 1)))


def _verdict(row: Row, question: Question, after: float, declared: Declared) -> str:
    units, missing = (row.spans[name].low for name in ("n_units", "n_missing"))
    if units < declared.minimum * (units + missing):
        return "not estimable"
    if after <= question.alpha:
        return _reached(row, question)
    if question.margins is not None:
        if row.spans["conf_high"].high < -question.margins[0]:
            return "inferior"
        if question.claim == "equivalence" and row.spans["conf_low"].low > question.margins[1]:
            return "superior"
    return "inconclusive" if _decidable(row, question) else "not estimable"


def _worded(question: Question, verdict: str) -> str:
    """A slope over doses rises or falls; what is no score is higher or lower; neither is better."""
    if "doses" in question.compare:
        return {"superior": "rises", "inferior": "falls"}.get(verdict, verdict)
    quantity = question.quantity
    is_score = str(quantity.args.get("column", "score")).partition("_")[0] == "score"
    if quantity.kind == "all_correct" or (quantity.kind == "mean" and is_score):
        return verdict
    return {"superior": "higher", "inferior": "lower"}.get(verdict, verdict)


def _reached(row: Row, question: Question) -> str:
    """Verdict of a claim whose adjusted p-value is small enough."""
    if question.margins is not None:
        return {"noninferiority": "noninferior", "equivalence": "equivalent"}[question.claim]
    value = row.spans["estimate"].low
    return "superior" if value > 0 else "inferior" if value < 0 else "inconclusive"


def _decidable(row: Row, question: Question) -> bool:
    """Whether this many families could support the claim if the data were as clear as can be."""
    families = int(row.spans["n_families"].low)
    if question.margins is None:
        return 2.0 ** (1 - families) <= question.alpha
    ends = None if row.answer is None else row.answer.span(question.quantity.ends)
    if ends is None:
        return True
    both = question.claim == "equivalence"
    best, ones = np.full(families, 0.0 if both else ends[1]), np.ones(families)
    return _margin_tail(best, ones, ends, question.margins, both) <= question.alpha
