"""Many simulated studies of one design: family scores, which claims are reached, which intervals hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pairstats.intervals import FamilyInterval, IntervalKind, Totals
from pairstats.numeric.batch import covers_many, margin_p_many, sign_flip_many
from pairstats.power.questions import Assumed, Question
from pairstats.protocol.power_rule import PowerRule
from pairstats.verdicts import Claim, adjust_claims

Floats = np.ndarray

BLOCK = 4_000_000
"""Latent numbers drawn at a time."""

ROUNDING = 1e-12
"""A p-value this far above alpha is at it: that of the batch tests is right to about this."""

MOST_INTERVALS = 1000
"""Simulations in which an interval without a batch form is computed."""


def family_scores(
    assumed: Assumed, rule: PowerRule, families: int, copies: int, repeats: int, position: int
) -> Floats:
    """Simulated family scores of all cells of one estimand, shape (n_simulations, families, C)."""
    rng = np.random.default_rng([rule.seed or 0, position, families, copies, repeats])
    columns = range(len(assumed.cells))
    copula, units = assumed.copula(rule, columns), assumed.units(copies)
    each = families * len(assumed.cells) * units * (repeats + 2)
    at_once = max(1, min(rule.n_simulations, BLOCK // each))
    parts = []
    for start in range(0, rule.n_simulations, at_once):
        n = min(at_once, rule.n_simulations - start)
        latent = copula.draw(n * families, units, repeats, rng)
        parts.append(copula.family_means(latent, repeats).reshape(n, families, -1))
    return np.concatenate(parts)


def claim_p_many(differences: Floats, claim: Claim, side: str, bounds: tuple[float, float]) -> Floats:
    """p-values of a claim in many data sets, as `pairstats.verdicts.claim_p` gives them one by one."""
    if not claim.by_margin:
        return sign_flip_many(differences, alternative=side)
    below, above = claim.margins
    lower = margin_p_many(differences, -below, bounds=bounds)
    if claim.kind == "noninferiority":
        return np.minimum(1.0, 2 * lower)
    return np.maximum(lower, margin_p_many(differences, above, bounds=bounds, side="less"))


def reached(
    asked: Sequence[Question], differences: Sequence[Floats | None], method: str, never: int
) -> list[np.ndarray | None]:
    """Whether each claim is reached in each simulation; `never` contrasts share alpha and are never reached."""
    p = [
        None if d is None else claim_p_many(d, q.claim, q.rule.side, q.bounds)
        for q, d in zip(asked, differences, strict=True)
    ]
    families = {q.rule.name if not q.together else "": q.together for q in asked}
    for contrast, together in families.items():
        members = [k for k, q in enumerate(asked) if p[k] is not None
                   and (q.together if together else not q.together and q.rule.name == contrast)]  # fmt: skip
        _adjust_columns(p, members, [asked[k].claim.group for k in members], method, never * together)
    found: list[np.ndarray | None] = []
    for question, p_k, difference in zip(asked, p, differences, strict=True):
        if p_k is None or difference is None:
            found.append(None)
            continue
        hit = p_k <= question.claim.alpha + ROUNDING
        found.append(hit & (difference.sum(axis=1) > 0) if question.claim.kind == "superiority" else hit)
    return found


def _adjust_columns(
    p: list[Floats | None], members: Sequence[int], groups: Sequence[int], method: str, never: int
) -> None:
    """Replace the p-values of some questions by those adjusted together; `never` more have p = 1."""
    if not members:
        return
    columns = [column for k in members if (column := p[k]) is not None]
    matrix = np.column_stack([*columns, *[np.ones_like(columns[0])] * never])
    ranks = [*groups, *[max(groups)] * never]
    adjusted = np.array([adjust_claims(row, ranks, method) for row in matrix])
    for position, k in enumerate(members):
        p[k] = adjusted[:, position]


def covered_by(
    interval: IntervalKind, differences: Floats, truth: float, bounds: tuple[float, float], level: float
) -> np.ndarray:
    """Whether the declared interval of each simulated study holds the truth, shape (S,) or fewer."""
    if isinstance(interval, FamilyInterval):
        return covers_many(differences, truth, kind=interval.kind, bounds=bounds, confidence_level=level)
    ordered = np.sort(differences[:MOST_INTERVALS], axis=1)
    kinds, where = np.unique(ordered, axis=0, return_inverse=True)
    ones = np.ones(differences.shape[1])
    found = [interval.limits(Totals(kind, ones, bounds), level, "two-sided") for kind in kinds]
    held = np.array([limits.low - 1e-12 <= truth <= limits.high + 1e-12 for limits in found])
    return held[where.ravel()]
