"""The smallest difference, and the smallest margin, that a design reaches with a given power."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pairstats.numeric.batch import margin_p_many, sign_flip_many
from pairstats.numeric.copula import FamilyCopula, Latent
from pairstats.power.questions import Question
from pairstats.power.studies import ROUNDING
from pairstats.protocol.power_rule import PowerRule

STEPS = 10
"""Halvings: the answer is right to a thousandth of the room there is."""
SIMULATIONS = 1000
NUMBERS = 10_000_000
"""Latent numbers held during a search."""

Design = tuple[int, int, int]


def smallest_difference(question: Question, rule: PowerRule, design: Design, alpha: float) -> float:
    """Smallest true difference that the sign-flip test at level alpha finds with the target power.

    Parameters
    ----------
    question : Question
    rule : PowerRule
    design : tuple of int
        Families, copies, repeats.
    alpha : float

    Returns
    -------
    float
        With the sign of the assumed difference (where that is 0, on the side with more room); NaN where no
        rate the first level could have is found with that power, or for a combination that is no pair.

    Notes
    -----
    The rates of the first level are those of the reference, moved by one amount and cut at 0 and 1; the same
    latent draws serve every amount, so that power does not fall as the amount grows but for the draws.
    """
    if not question.is_pair:
        return math.nan
    families, _, repeats = design
    half = len(question.columns) // 2
    start = question.assumed.rates[list(question.columns[half:])]
    towards = math.copysign(1.0, question.difference or float(np.mean(0.5 - start)))
    latent, n = _draw(question, rule, design)

    def rates(amount: float) -> np.ndarray:
        return np.concatenate([np.clip(start + towards * amount, 0.0, 1.0), start])

    def power(amount: float) -> float:
        copula = question.assumed.copula(rule, question.columns, rates(amount))
        p = sign_flip_many(
            _differences(question, copula, latent, n, families, repeats), alternative=question.rule.side
        )
        return float(np.mean(p <= alpha + ROUNDING))

    room = float(np.max(1 - start if towards > 0 else start))
    found = _bisect(lambda amount: power(amount) >= rule.target, room)
    return math.nan if math.isnan(found) else float(question.weights @ rates(found))


def smallest_margin(question: Question, rule: PowerRule, design: Design, alpha: float) -> float:
    """Smallest margin that a margin claim would meet with the target power at the assumed rates.

    Returns
    -------
    float
        NaN where there is none inside the range, or the claim has no margin.
    """
    if not question.claim.by_margin:
        return math.nan
    families, _, repeats = design
    latent, n = _draw(question, rule, design)
    copula = question.assumed.copula(rule, question.columns)
    differences = _differences(question, copula, latent, n, families, repeats)
    both = question.claim.kind == "equivalence"

    def met(margin: float) -> bool:
        lower = margin_p_many(differences, -margin, bounds=question.bounds)
        if not both:
            return bool(np.mean(2 * lower <= alpha) >= rule.target)
        upper = margin_p_many(differences, margin, bounds=question.bounds, side="less")
        return bool(np.mean(np.maximum(lower, upper) <= alpha) >= rule.target)

    return _bisect(met, question.bounds[1] * (1 - 1e-9))


def _draw(question: Question, rule: PowerRule, design: Design) -> tuple[Latent, int]:
    families, copies, repeats = design
    units = question.assumed.units(copies)
    each = families * len(question.columns) * units * (repeats + 1)
    n = max(100, min(rule.n_simulations, SIMULATIONS, NUMBERS // each))
    rng = np.random.default_rng([rule.seed or 0, 1, *design])
    return question.assumed.copula(rule, question.columns).draw(n * families, units, repeats, rng), n


def _differences(
    question: Question, copula: FamilyCopula, latent: Latent, n: int, families: int, repeats: int
) -> np.ndarray:
    scores = copula.family_means(latent, repeats).reshape(n, families, -1)
    found: np.ndarray = np.round(scores @ question.weights, 12)
    return found


def _bisect(reached: Callable[[float], bool], most: float) -> float:
    """Smallest argument in (0, most] from which on the answer is yes; NaN where it is no at `most`."""
    if most <= 0 or not reached(most):
        return math.nan
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
