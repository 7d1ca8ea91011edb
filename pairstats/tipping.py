"""Tipping point: how many missing answers would have to go against a verdict for it to fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pairstats.intervals import Totals
from pairstats.numeric.tipping import Turns, fewest_turned
from pairstats.pairs import Combined
from pairstats.sums import Units
from pairstats.verdicts import DOWNWARDS, UPWARDS, Judged, room_of

FIRM = (*UPWARDS, *DOWNWARDS, "noninferior", "equivalent")


def tipping_point(
    judged: Judged, units: Units, ends: tuple[float, float] | None, weight: str
) -> tuple[int | None, str]:
    """Count the missing answers that would have to go against a verdict for it to fall.

    The other missing answers count for it. They are turned one after another, each time the one that harms
    the verdict most.

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
    if judged.compared.combined.is_slope and not judged.claim.by_margin:
        return None, ""  # its test permutes doses, of which the family slopes alone do not tell
    everywhere = np.all(units.n_planned[:, columns] > 0, axis=1)
    counts = units.n_planned[:, columns] - units.n_valid[:, columns]
    missing = int(counts[everywhere].sum())
    if not missing or np.any(units.den[:, columns][units.n_valid[:, columns] > 0] != 1):
        return None, ""
    room = room_of(judged)
    directions = {
        "superior": (1,), "noninferior": (1,), "rises": (1,), "higher": (1,), "inferior": (-1,), "falls": (-1,),
        "lower": (-1,),
        "equivalent": (1, -1),
    }[verdict]  # fmt: skip
    found = [
        _first_fall(room, _best_case(units, judged.compared.combined, ends, weight, direction))
        for direction in directions
    ]
    falls = [n for n in found if n is not None]
    if not falls:
        return None, f"{verdict} even if all {missing} missing answers went against it"
    return min(falls), f"{verdict} unless {min(falls)} of the {missing} missing answers went against it"


def _best_case(
    units: Units, combined: Combined, ends: tuple[float, float], weight: str, direction: int
) -> tuple[Totals, Turns]:
    """Family totals with every missing reply as good for a direction as can be, and what turning one does."""
    columns, (low, high) = list(combined.columns), ends
    toward = direction * combined.weights > 0
    best, worst = np.where(toward, high, low), np.where(toward, low, high)
    planned = np.maximum(units.n_planned[:, columns], 1)
    counts = units.n_planned[:, columns] - units.n_valid[:, columns]
    observed = units.num[:, columns] * units.n_valid[:, columns]
    value = (observed + counts * best) / planned
    everywhere = np.all(units.n_planned[:, columns] > 0, axis=1)
    cells = tuple((str(column),) for column in columns)
    whole = replace(units, cells=cells, num=value, den=np.ones_like(value))
    sums = whole.add_up(range(len(columns)), everywhere, weight)
    totals = Totals(sums.num @ combined.weights, sums.den[:, 0], combined.range(ends))
    unit, side = np.nonzero(counts * everywhere[:, None])
    _, family, sizes = np.unique(units.family_of[everywhere], return_inverse=True, return_counts=True)
    place = np.full(everywhere.size, -1)
    place[everywhere] = family
    change = combined.weights[side] * (worst - best)[side] / planned[unit, side]
    if weight == "family":
        change = change / sizes[place[unit]]
    return totals, Turns(place[unit].astype(np.int64), change, counts[unit, side].astype(np.int64))


def _first_fall(room: Callable[[Totals], float], case: tuple[Totals, Turns]) -> int | None:
    totals, turns = case
    return fewest_turned(lambda num: room(replace(totals, num=num)), totals.num, totals.den, turns)
