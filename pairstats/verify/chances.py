"""P-values by counting arrangements, and their adjustment by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError
from pairstats.verify.laws import DRAWS, as_whole
from pairstats.verify.limits import DRAWN, EXACT, Span

Floats = NDArray[np.float64]

TIE = 1e-9
"""Differences below this share of the largest are none; sums this close are equal."""

COUNTED = 3_000_000
"""Most additions to count arrangements in whole numbers."""

GRID = 1_000_000
"""Cells between 0 and the sum of all absolute differences where they have no common fraction."""

LISTED, SWAPPED = 18, 16
"""Families up to which all arrangements are listed one by one."""

SWAPS = 9_999
"""Draws of the package's own label-swap test, where it draws."""


def sign_flip_p(differences: Sequence[float], alternative: str) -> tuple[Span, float]:
    """P-value of the sign-flip test and the smallest one possible."""
    values = np.array(differences, dtype=float)
    nonzero = values[np.abs(values) > TIE * np.abs(values).max()]
    floor = min(1.0, (2 if alternative == "two-sided" else 1) * 0.5**nonzero.size)
    if alternative == "less" or (alternative == "two-sided" and nonzero.sum() < 0):
        nonzero = -nonzero
    low, high = _upper_tail(nonzero)
    if alternative == "two-sided":
        low, high = min(1.0, 2 * low), min(1.0, 2 * high)
        total = abs(float(nonzero.sum()))
        if total <= TIE * float(np.abs(nonzero).sum()):
            low = high = 1.0
    return Span(low, high, EXACT if low == high else "bracketed"), floor


def _upper_tail(d: Floats) -> tuple[float, float]:
    """P(sum of signed absolute differences >= the sum observed): the exact value twice, or a bracket."""
    if d.size == 0:
        return 1.0, 1.0
    whole = as_whole(d)
    if whole is not None and d.size * sum(map(abs, whole[0])) <= COUNTED:
        p = _counted(whole[0])
        return p, p
    sizes, observed = np.abs(d), float(d.sum())
    if d.size <= LISTED:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums - size, sums + size])
        p = float(np.mean(sums >= observed - TIE * sizes.sum()))
        return p, p
    cell = sizes.sum() / GRID
    off = (d.size / 2 + 1) * cell
    law, zero = _gridded(np.rint(sizes / cell).astype(np.int64))
    first, last = (math.ceil((observed + side * off) / cell) + zero for side in (1, -1))
    return float(law[max(first, 0) :].sum()), float(law[max(last, 0) :].sum())


def _counted(steps: Sequence[int]) -> float:
    """Arrangements of signs counted in whole numbers of any length."""
    ways = {0: 1}
    for step in map(abs, steps):
        grown: dict[int, int] = {}
        for total, count in ways.items():
            for moved in (total - step, total + step):
                grown[moved] = grown.get(moved, 0) + count
        ways = grown
    observed = sum(steps)
    hits = sum(count for total, count in ways.items() if total >= observed)
    return float(Fraction(hits, 2 ** len(steps)))


def _gridded(steps: NDArray[np.int64]) -> tuple[Floats, int]:
    """Law of the signed sum on a grid, and the place of 0 in it."""
    zero = int(steps.sum())
    law = np.zeros(2 * zero + 1)
    law[zero] = 1.0
    reach = 0
    for step in steps.tolist():
        grown = np.zeros_like(law)
        held = slice(zero - reach, zero + reach + 1)
        grown[zero - reach - step : zero + reach + 1 - step] += law[held] / 2
        grown[zero - reach + step : zero + reach + 1 + step] += law[held] / 2
        law, reach = grown, reach + step
    return law, zero


def swap_p(num: Floats, den: Floats, alternative: str) -> tuple[Span, float | None]:
    """P-value of exchanging the labels of two ratios within families, and the smallest one possible.

    All exchanges are listed, or counted in whole numbers. Where there are too many they are simulated: the
    p-value of the package must then lie within five Monte-Carlo errors, of its draws too, and the smallest one
    is not known.
    """
    moving = (num[:, 0] != num[:, 1]) | (den[:, 0] != den[:, 1])
    gaps = [own[moving, 1] - own[moving, 0] for own in (num, den)]
    law = _moved(gaps)
    exact = law is not None
    if law is None:
        exchanged = np.random.default_rng(20_250_102).integers(0, 2, (DRAWS, gaps[0].size)).astype(float)
        law = np.column_stack([exchanged @ own for own in gaps]), np.full(DRAWS, 1 / DRAWS)
    moved, chance = law
    tops, bottoms = (
        np.column_stack([own[:, 0].sum() + change, own[:, 1].sum() - change])
        for own, change in ((num, moved[:, 0]), (den, moved[:, 1]))
    )
    ratios = np.divide(tops, bottoms, out=np.full_like(tops, np.nan), where=bottoms > 0)
    drawn = np.nan_to_num(ratios[:, 0] - ratios[:, 1])
    observed = num[:, 0].sum() / den[:, 0].sum() - num[:, 1].sum() / den[:, 1].sum()
    facing = np.abs(drawn) if alternative == "two-sided" else drawn if alternative == "greater" else -drawn
    mark = (
        abs(observed) if alternative == "two-sided" else observed if alternative == "greater" else -observed
    )
    slack = TIE * np.abs(num).sum() / den.sum()
    p, least = (float(chance @ (facing >= at - slack)) for at in (mark, facing.max()))
    if exact:
        return Span.at(p, EXACT), least
    error = 5 * math.sqrt(max(p * (1 - p), 1e-4) * (1 / SWAPS + 1 / DRAWS)) + 2 / (SWAPS + 1)
    return Span(p - error, min(p + error, 1.0), DRAWN), None


def _moved(gaps: Sequence[Floats]) -> tuple[Floats, Floats] | None:
    """What exchanges move of either total, and their chances; None where there are too many to count."""
    size = gaps[0].size
    if size <= SWAPPED:
        listed = np.array(list(itertools.product((0.0, 1.0), repeat=size))).reshape(-1, size)
        return np.column_stack([listed @ own for own in gaps]), np.full(len(listed), 1 / len(listed))
    whole = [found for found in map(as_whole, gaps) if found is not None]
    if len(whole) < len(gaps):
        return None
    (tops, top_unit), (bottoms, bottom_unit) = whole
    ways = {(0, 0): 1}
    for top, bottom in zip(tops, bottoms, strict=True):
        grown = dict(ways)
        for (a, b), count in ways.items():
            grown[a + top, b + bottom] = grown.get((a + top, b + bottom), 0) + count
        ways = grown
        if size * len(ways) > COUNTED:
            return None
    chances = np.array([float(Fraction(count, 2**size)) for count in ways.values()])
    return np.array(list(ways), dtype=float) / [top_unit, bottom_unit], chances


def touching(decides: Callable[[float], bool]) -> Span:
    """Smallest error rate at which limits decide, by halving on the logarithmic scale; 1 where none does."""
    low, high = math.log(1e-16), math.log(0.499)
    if not decides(math.exp(high)):
        return Span.at(1.0, EXACT)
    for _ in range(34):
        middle = (low + high) / 2
        low, high = (low, middle) if decides(math.exp(middle)) else (middle, high)
    p = math.exp(high)
    return Span(0.0 if p < 1e-12 else p - 1e-12, p + 1e-12, EXACT)


def adjusted(p: Sequence[float], method: str) -> list[float]:
    """P-values adjusted for their number.

    Raises
    ------
    PairstatsError
        When the method is not known here.
    """
    k = len(p)
    ranked = sorted(p)
    if method == "none":
        return list(p)
    if method in ("bonferroni", "sidak"):
        return [min(1.0, k * each) if method == "bonferroni" else 1 - (1 - each) ** k for each in p]
    if method in ("holm", "holm-sidak"):
        down = [
            min(1.0, (k - i) * each) if method == "holm" else 1 - (1 - each) ** (k - i)
            for i, each in enumerate(ranked)
        ]
        return [max(v for q, v in zip(ranked, down, strict=True) if q <= each) for each in p]
    if method in ("hochberg", "bh", "by"):
        harmonic = sum(1 / (i + 1) for i in range(k)) if method == "by" else 1.0
        up = [
            (k - i) * each if method == "hochberg" else harmonic * k / (i + 1) * each
            for i, each in enumerate(ranked)
        ]
        return [min(1.0, *(v for q, v in zip(ranked, up, strict=True) if q >= each)) for each in p]
    if method == "fixed-sequence":
        return [max(p[: i + 1]) for i in range(k)]
    raise PairstatsError(f"adjustment by {method!r} has no second path")


def through_gates(p: Sequence[float], gates: Sequence[int]) -> list[float]:
    """Holm inside each gate; nothing may be smaller than the largest of the gates before it."""
    found, floor = [0.0] * len(p), 0.0
    for gate in sorted(set(gates)):
        places = [i for i, each in enumerate(gates) if each == gate]
        for i, value in zip(places, adjusted([p[i] for i in places], "holm"), strict=True):
            found[i] = max(value, floor)
        floor = max(floor, *(found[i] for i in places))
    return found
