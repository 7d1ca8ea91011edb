"""Red flags: runs that are copies of each other, whole or but for a few rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairstats.red_flags.found import MIN_COMMON, Flag, LackingError, Rows, first_of

SAME = 1e-9
"""Differences that are rounding."""
REMARKABLE = 0.05
"""Chance, were two runs independent, from which their agreement is no finding ..."""
INCREDIBLE = 1e-6
"""... and below which it is a red flag."""
NEAR = 0.95
"""Share of equal decisions, of those where not both have the commonest value, that makes a near copy."""
COLUMNS = ("answer", "score", "confidence")
"""What is compared where no reply is stored."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far two runs have the same values.

    Attributes
    ----------
    n : int
        Decisions of both.
    differing : numpy.ndarray of int
        Numbers of those with different values.
    n_telling : int
        Decisions where not both have the commonest value: two models that are nearly always right agree anyhow.
    log_chance : float
        Natural logarithm of the chance of as much agreement, were the two independent, each with its own shares
        of the values.
    varied : bool
        Whether most values are different ones, as free texts are.
    """

    n: int
    differing: np.ndarray[Any, Any]
    n_telling: int
    log_chance: float
    varied: bool

    @property
    def near(self) -> bool:
        """Whether all but a few of the telling decisions agree."""
        return self.n_telling >= MIN_COMMON and 0 < self.differing.size <= (1 - NEAR) * self.n_telling


def copied_runs(rows: Rows) -> Iterator[Flag]:
    """Find two runs with the same replies; where they hold no texts, with the same answers and scores.

    What agrees entirely is red where chance cannot explain it, a remark where it hardly can, and nothing where
    it can: two models that are right everywhere are not suspicious. What differs in a few rows is red where
    the replies are free texts; where only letters or scores are alike, two versions of a model may be.
    """
    if not any(rows.has(name) for name in ("response", *COLUMNS)):
        raise LackingError("identical runs: the records hold no reply, answer or score")
    grids = _Grids(rows)
    for pair in rows.pairs():
        for names in (("response",), grids.common(pair)):
            found = _agreement(*grids.of(names)[:, pair].T) if names else None
            if found is not None:
                yield from _flags(rows, pair, found, names)
                break


class _Grids:
    """Numbers of the values of columns, as decisions by subjects; each set of columns is laid out once."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._answered = rows, rows.answered
        self._known: dict[tuple[str, ...], np.ndarray[Any, Any]] = {}

    def of(self, names: tuple[str, ...]) -> np.ndarray[Any, Any]:
        """Numbers of the combinations of values; NaN where one is missing."""
        if names not in self._known:
            columns = [self._answered[name] for name in names]
            whole = np.logical_and.reduce([column.notna() for column in columns], axis=0)
            rows = self._answered[whole]
            self._known[names] = self._rows.grid(rows.groupby(list(names)).ngroup().astype(float))
        return self._known[names]

    def common(self, pair: tuple[int, int]) -> tuple[str, ...]:
        """Columns without text that both runs fill."""
        filled = ((name, ~np.isnan(self.of((name,))[:, pair])) for name in COLUMNS if self._rows.has(name))
        return tuple(name for name, there in filled if there.all(axis=1).sum() >= MIN_COMMON)


def _agreement(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> Agreement | None:
    """Compare the decisions that both have; None where they are too few."""
    both = np.flatnonzero(~np.isnan(one) & ~np.isnan(two))
    n = both.size
    if n < MIN_COMMON:
        return None
    first, second = one[both], two[both]
    values, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    shares = [np.bincount(part, minlength=values.size) / n for part in (places[:n], places[n:])]
    commonest = values[np.argmax(shares[0] + shares[1])]
    telling = n - int(((first == commonest) & (second == commonest)).sum())
    differing = both[first != second]
    chance = _log_tail(n - differing.size, n, float(shares[0] @ shares[1]))
    return Agreement(n, differing, telling, chance, varied=2 * values.size > n)


def _log_tail(k: int, n: int, p: float) -> float:
    """Logarithm of the chance of `k` or more of `n`."""
    if k == n:
        return n * math.log(p)
    from scipy.stats import binom

    return float(binom.logsf(k - 1, n, p))


def _flags(rows: Rows, pair: tuple[int, int], found: Agreement, names: tuple[str, ...]) -> Iterator[Flag]:
    incredible, same = found.log_chance < math.log(INCREDIBLE), found.n - found.differing.size
    texts = names == ("response",)
    if not found.differing.size and found.log_chance < math.log(REMARKABLE):
        kind, red = "identical_runs", incredible
    elif found.near and incredible:
        kind, red = "near_copies", texts and found.varied
    else:
        return
    named = "replies" if texts else " and ".join(f"{name}s" for name in names)
    what = "the same texts" if texts else "the same"
    one, two = (rows.names[each] for each in pair)
    told = f"the {named} of {one} and {two} are {what} in {same} of {found.n} decisions"
    if texts:
        told += f" ({_scores_too(rows, *pair)})"
    if not found.varied:
        told += f"; were they independent, the chance of that is {_as_chance(found.log_chance)}"
    of_decision = rows.frame.drop_duplicates("decision_").set_index("decision_")["item"]
    yield Flag(kind, red, told, same, found.n, first_of(of_decision[found.differing]))


def _as_chance(log_chance: float) -> str:
    """Chance as a power of ten that it is below; so small that no float holds it."""
    return f"below 1e{math.floor(log_chance / math.log(10)) + 1:d}"


def _scores_too(rows: Rows, a: int, b: int) -> str:
    if not rows.has("score"):
        return "no score"
    grid = rows.grid(rows.answered["score"].dropna())
    one, two = grid[:, a], grid[:, b]
    both = ~np.isnan(one) & ~np.isnan(two)
    n, same = int(both.sum()), int((np.abs(one[both] - two[both]) <= SAME).sum())
    return f"scores equal in {same} of {n}"
