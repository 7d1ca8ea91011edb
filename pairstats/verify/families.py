"""From sums of units to totals of families: single cells, and signed combinations of cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pairstats.errors import PairstatsError
from pairstats.verify.decisions import Key, Sums, Units
from pairstats.verify.declared import Ends, Quantity

EQUAL = 1e-9
"""Values of a unit, and sizes of a family, that are closer than this are one."""

Term = tuple[Key, float]
"""A cell and its weight."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one row of the table is made from.

    Attributes
    ----------
    counts : dict
        ``n_units``, ``n_missing`` and, for comparisons, ``n_first_only`` and ``n_second_only``.
    num, den : list of list of float
        Totals of each family, one entry a cell.
    weights : list of float
        Weights of the cells; a single cell has weight 1.
    bounds : tuple of float or None
        Worst and best case of what is missing.
    """

    counts: dict[str, int]
    num: list[list[float]]
    den: list[list[float]]
    weights: list[float]
    bounds: Ends | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to estimate."""
        return not self.num or any(math.fsum(column) == 0 for column in zip(*self.den, strict=True))

    @property
    def stray(self) -> bool:
        """Whether a family has a numerator but no denominator; it counts, but there is no interval then."""
        pairs = zip(self.num, self.den, strict=True)
        return any(x != 0 and n == 0 for tops, bottoms in pairs for x, n in zip(tops, bottoms, strict=True))

    @property
    def shared(self) -> bool:
        """Whether every family has the same denominator in all cells."""
        return all(abs(den - row[0]) < EQUAL for row in self.den for den in row)

    def totals(self) -> tuple[list[float], list[float]]:
        """Signed totals of the families and their sizes, where the denominators are shared."""
        signed = [math.fsum(w * x for w, x in zip(self.weights, row, strict=True)) for row in self.num]
        return signed, [row[0] for row in self.den]

    @property
    def estimate(self) -> float:
        """Signed sum of the ratios of totals of the cells."""
        if self.shared:
            totals, sizes = self.totals()
            return math.fsum(totals) / math.fsum(sizes)
        tops, bottoms = ([math.fsum(c) for c in zip(*rows, strict=True)] for rows in (self.num, self.den))
        return math.fsum(w * x / n for w, x, n in zip(self.weights, tops, bottoms, strict=True))

    def span(self, ends: Ends | None) -> Ends | None:
        """Range of the combination."""
        if ends is None:
            return None
        pairs = [(w * ends[0], w * ends[1]) for w in self.weights]
        return math.fsum(map(min, pairs)), math.fsum(map(max, pairs))


def answer_of(
    units: Units, terms: Sequence[Term], quantity: Quantity, missing: str, *, single: bool
) -> Answer:
    """Totals, counts and bounds of one cell, or of a combination of cells on the units they share."""
    cells = [cell for cell, _ in terms]
    weights = [weight for _, weight in terms]
    keys = sorted({key for key, _ in units}, key=_as_text)
    held = {key: [units.get((key, cell)) for cell in cells] for key in keys}
    planned = {key for key, sums in held.items() if any(s is not None and s.planned for s in sums)}
    common = {key for key, sums in held.items() if all(s is not None and s.valid for s in sums)}
    if missing == "drop-family" and not single:
        broken = {key[0] for key in planned - common}
        common = {key for key in common if key[0] not in broken}
    counts = {"n_units": len(common), "n_missing": len(planned - common)}
    if single:
        replies = [s for sums in held.values() for s in sums if s is not None]
        counts["n_missing"] = sum(s.planned - s.valid for s in replies)
    num, den = _by_family({key: held[key] for key in keys if key in common}, quantity.weight)
    answer = Answer(counts, num, den, weights, _bounds(held, weights, quantity))
    if not single and not answer.empty:
        values = [_value([s for s in held[key] if s is not None], weights) for key in common]
        counts["n_first_only"] = sum(value > EQUAL for value in values)
        counts["n_second_only"] = sum(value < -EQUAL for value in values)
    return answer


def _value(sums: Iterable[Sums], weights: Sequence[float]) -> float:
    """Combination of one unit; NaN where a cell has nothing to count."""
    parts = [w * s.num / s.den if s.den > 0 else math.nan for s, w in zip(sums, weights, strict=True)]
    return sum(parts)


def _by_family(
    held: Mapping[Key, Sequence[Sums | None]], weight: str
) -> tuple[list[list[float]], list[list[float]]]:
    num: dict[Any, list[list[float]]] = {}
    den: dict[Any, list[list[float]]] = {}
    for key, sums in held.items():
        num.setdefault(key[0], []).append([s.num for s in sums if s is not None])
        den.setdefault(key[0], []).append([s.den for s in sums if s is not None])
    tops, bottoms = [], []
    for family in sorted(num, key=str):
        top = [math.fsum(column) for column in zip(*num[family], strict=True)]
        bottom = [math.fsum(column) for column in zip(*den[family], strict=True)]
        if weight == "family":
            top = [x / n if n > 0 else 0.0 for x, n in zip(top, bottom, strict=True)]
            bottom = [float(n > 0) for n in bottom]
        if any(n > 0 for n in bottom) or any(top):
            tops.append(top)
            bottoms.append(bottom)
    return tops, bottoms


def _bounds(
    held: Mapping[Key, Sequence[Sums | None]], weights: Sequence[float], quantity: Quantity
) -> Ends | None:
    """Manski's bounds: what is missing all at one end of the range, then all at the other."""
    there = [s for sums in held.values() for s in sums if s is not None]
    if quantity.ends is None or not any(s.planned > s.valid for s in there):
        return None
    if any(s.den != 1 for s in there if s.valid):
        return None
    low = high = 0.0
    for column, weight in enumerate(weights):
        cases = [_filled(held, column, end, quantity.weight) for end in quantity.ends]
        if None in cases:
            return None
        low += min(weight * case for case in cases if case is not None)
        high += max(weight * case for case in cases if case is not None)
    return low, high


def _filled(held: Mapping[Key, Sequence[Sums | None]], column: int, end: float, weight: str) -> float | None:
    """Value of one cell when every missing reply scores `end`."""
    families: dict[Any, list[float]] = {}
    for key, sums in held.items():
        s = sums[column]
        if s is not None and s.planned:
            filled = (s.num * s.valid + end * (s.planned - s.valid)) / s.planned
            families.setdefault(key[0], []).append(filled)
    if not families:
        return None
    if weight == "family":
        return math.fsum(math.fsum(v) / len(v) for v in families.values()) / len(families)
    return math.fsum(itertools.chain(*families.values())) / sum(map(len, families.values()))


def paired_units(
    collect: Callable[[Sequence[str]], Units],
    unit: Sequence[str],
    cells: Sequence[str],
    factors: Sequence[str],
    averaged: Sequence[str] = (),
) -> Units:
    """Units in which the levels compared or averaged over meet; else, where each has one, families themselves.

    Raises
    ------
    PairstatsError
        When it is not known which units belong together.
    """
    own = [name for name in unit if name not in factors]
    units = collect(own)
    apart = [name for name in {*factors, *averaged} if not _meets(units, cells, [name])]
    if not own or not apart:
        return units
    whole = collect(())
    if sum(s.planned > 0 for s in units.values()) == sum(s.planned > 0 for s in whole.values()):
        return whole
    if _meets(units, cells, factors) and not all(_meets(whole, cells, [name]) for name in apart):
        return units
    raise PairstatsError(f"no {' and '.join(own)} is shared by two levels of {' and '.join(sorted(apart))}")


def _meets(units: Units, cells: Sequence[str], names: Sequence[str]) -> bool:
    """Whether some unit was planned at two levels of these columns, or they have only one."""
    places = [list(cells).index(name) for name in names]
    met: dict[Key, set[Key]] = {}
    for (key, cell), sums in units.items():
        if sums.planned:
            met.setdefault(key, set()).add(tuple(cell[place] for place in places))
    levels = {tuple(cell[place] for place in places) for _, cell in units}
    return len(levels) < 2 or any(len(seen) > 1 for seen in met.values())


def _as_text(key: Key) -> tuple[str, ...]:
    return tuple(map(str, key))
