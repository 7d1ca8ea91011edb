"""Tipping point: how many missing answers would have to go against a verdict for it to fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pairstats.intervals import Totals
from pairstats.pairs import Combined
from pairstats.sums import Units
from pairstats.verdicts import Judged, holds

FIRM = ("superior", "inferior", "noninferior", "equivalent")


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Missing replies of every unit on every side, and what they may be worth."""

    units: Units
    combined: Combined
    ends: tuple[float, float]
    weight: str

    @property
    def counts(self) -> np.ndarray:
        """Missing replies, shape (U, columns)."""
        columns = list(self.combined.columns)
        return self.units.n_planned[:, columns] - self.units.n_valid[:, columns]

    def fill(self, against: np.ndarray, direction: int) -> Totals:
        """Family totals with `against` of the missing replies as bad as can be, the rest as good as can be."""
        columns, low, high = list(self.combined.columns), *self.ends
        toward = np.where(direction * self.combined.weights > 0, low, high)
        away = np.where(direction * self.combined.weights > 0, high, low)
        planned = np.maximum(self.units.n_planned[:, columns], 1)
        observed = self.units.num[:, columns] * self.units.n_valid[:, columns]
        value = (observed + against * toward + (self.counts - against) * away) / planned
        everywhere = np.all(self.units.n_planned[:, columns] > 0, axis=1)
        cells = tuple((str(column),) for column in columns)
        whole = replace(self.units, cells=cells, num=value, den=np.ones_like(value))
        sums = whole.add_up(range(len(columns)), everywhere, self.weight)
        return Totals(sums.num @ self.combined.weights, sums.den[:, 0], self.combined.range(self.ends))


def tipping_point(
    judged: Judged, units: Units, ends: tuple[float, float] | None, weight: str
) -> tuple[int | None, str]:
    """Count the missing answers that would have to go against a verdict for it to fall.

    The other missing answers count for it. They are turned one after another, those of the families that
    support the verdict most first.

    Parameters
    ----------
    judged : Judged
    units : Units
        All units, answered or not.
    ends : tuple of float or None
        Range of a score.
    weight : {"item", "family"}

    Returns
    -------
    int or None
        None where nothing is missing, where the verdict is not firm, or where it never falls.
    str
        One sentence for the reader; empty where there is nothing to say.
    """
    columns = list(judged.compared.combined.columns)
    verdict = judged.compared.row["verdict"]
    if verdict not in FIRM or ends is None or judged.compared.totals is None:
        return None, ""
    gaps = _Gaps(units, judged.compared.combined, ends, weight)
    everywhere = np.all(units.n_planned[:, columns] > 0, axis=1)
    missing = int(gaps.counts[everywhere].sum())
    if not missing or np.any(units.den[:, columns][units.n_valid[:, columns] > 0] != 1):
        return None, ""
    same = holds(judged)
    directions = {"superior": (1,), "noninferior": (1,), "inferior": (-1,), "equivalent": (1, -1)}[verdict]
    found = [_first_fall(gaps, direction, everywhere, same) for direction in directions]
    falls = [n for n in found if n is not None]
    if not falls:
        return None, f"{verdict} even if all {missing} missing answers went against it"
    return min(falls), f"{verdict} unless {min(falls)} of the {missing} missing answers went against it"


def _first_fall(
    gaps: _Gaps, direction: int, everywhere: np.ndarray, same: Callable[[Totals, float], bool]
) -> int | None:
    order = _order(gaps, direction, everywhere)
    against = np.zeros_like(gaps.counts)
    for turned in range(len(order) + 1):
        totals = gaps.fill(against, direction)
        if not same(totals, float(totals.num.sum() / totals.den.sum())):
            return turned
        if turned < len(order):
            against[order[turned]] += 1
    return None


def _order(gaps: _Gaps, direction: int, everywhere: np.ndarray) -> list[tuple[int, int]]:
    """Missing replies one by one, those of the families that support the verdict most first."""
    support = np.zeros(len(gaps.units.families))
    columns = list(gaps.combined.columns)
    np.add.at(support, gaps.units.family_of, direction * (gaps.units.num[:, columns] @ gaps.combined.weights))
    listed = [
        (unit, side)
        for unit in np.flatnonzero(everywhere).tolist()
        for side in range(len(columns))
        for _ in range(int(gaps.counts[unit, side]))
    ]
    return sorted(listed, key=lambda at: (-support[gaps.units.family_of[at[0]]], at))
