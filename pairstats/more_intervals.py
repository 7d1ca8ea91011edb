"""Further kinds of interval as values, for a proof or for comparison with other papers: the default covers more.

They are given to `estimate` and `contrast` as ``interval=Betting()`` and the like; protocol files name the kinds
in `pairstats.intervals` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pairstats.errors import PairstatsError, one_of
from pairstats.intervals import Limits, Totals
from pairstats.numeric.betting import betting_interval
from pairstats.numeric.intervals import clopper_pearson, jeffreys, mid_p_interval, wilson
from pairstats.numeric.sandwich import cluster_robust, korn_graubard
from pairstats.numeric.wild import wild_cluster

PROPORTIONS = {
    "clopper-pearson": clopper_pearson, "mid-p": mid_p_interval, "wilson": wilson, "jeffreys": jeffreys
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Betting:
    """Hedged betting interval over families: its coverage is a theorem.

    Use it where a referee demands a proof. Not for width: ``FamilyInterval("cp")`` is shorter, without a known
    counter-example, and covers everything else.

    Examples
    --------
    >>> Betting().name
    'betting'
    """

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        return "betting"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        found = betting_interval(
            totals.means, sizes=totals.den, bounds=totals.in_range(self.name),
            confidence_level=confidence_level, alternative=alternative,
        )  # fmt: skip
        return Limits(found.low, found.high, self.name)


@dataclass(frozen=True, slots=True)
class WildCluster:
    """Wild cluster bootstrap interval, null imposed, by Rademacher signs.

    Use it for unbounded scores of 6 to 50 families, or to compare with econometric papers. Not near a ceiling;
    the family interval covers that.

    Examples
    --------
    >>> WildCluster().name
    'wild cluster'
    """

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        return "wild cluster"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        found = wild_cluster(
            totals.means, sizes=totals.den, confidence_level=confidence_level, alternative=alternative
        )  # fmt: skip
        return Limits(found.low, found.high, found.method)


@dataclass(frozen=True, slots=True)
class ClusterRobust:
    """Cluster-robust t interval of another kind than the default CR2, with Satterthwaite degrees of freedom.

    Use it to reproduce a paper that took CR0, CR1 or CR3. Not otherwise; `CR2` and the family interval cover
    unbounded and bounded scores.

    Parameters
    ----------
    kind : {"CR0", "CR1", "CR2", "CR3"}, default "CR1"

    Examples
    --------
    >>> ClusterRobust("CR3").name
    'cr3-t'
    """

    kind: str = "CR1"

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("CR0", "CR1", "CR2", "CR3"))

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        return f"{self.kind.lower()}-t"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        found = cluster_robust(
            totals.means, sizes=totals.den, kind=self.kind, confidence_level=confidence_level,
            alternative=alternative,
        )  # fmt: skip
        return Limits(found.low, found.high, self.name)


@dataclass(frozen=True, slots=True)
class KornGraubard:
    """Clopper-Pearson interval at an effective number of items, as survey practice has it.

    Use it to compare with survey papers. Not as a guarantee: it fails where the design effect is below 1 by
    luck; ``FamilyInterval("cp")`` covers that. Only for values in [0, 1].

    Examples
    --------
    >>> KornGraubard().name
    'korn-graubard'
    """

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        return "korn-graubard"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        _refuse_difference(totals, self.name)
        found = korn_graubard(
            totals.means, sizes=totals.den, confidence_level=confidence_level, alternative=alternative
        )  # fmt: skip
        return Limits(found.low, found.high, self.name, notes=(f"{found.n_effective:.1f} effective items",))


@dataclass(frozen=True, slots=True)
class Proportion:
    """Interval for a count of independent 0/1 families: Clopper-Pearson, mid-P, Wilson or Jeffreys.

    Use it where every family is one 0/1 decision, or all-correct. Not where families have copies; the family
    interval covers both, and on 0/1 families is Jeffreys ("jeffreys") and Clopper-Pearson ("cp").

    Parameters
    ----------
    method : {"clopper-pearson", "mid-p", "wilson", "jeffreys"}, default "clopper-pearson"

    Examples
    --------
    >>> Proportion("wilson").limits(Totals(np.ones(20), np.ones(20), (0.0, 1.0)), 0.95, "two-sided").high
    1.0
    """

    method: Literal["clopper-pearson", "mid-p", "wilson", "jeffreys"] = "clopper-pearson"

    def __post_init__(self) -> None:
        one_of("method", self.method, PROPORTIONS)

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        return self.method

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        _refuse_difference(totals, self.name)
        if not (np.all(np.isin(totals.num, (0, 1))) and np.all(totals.den == 1)):
            raise PairstatsError(
                f"The {self.name} interval is for families that are one 0/1 decision each, but these are not. "
                "Use the family interval, which is the same on 0/1 families."
            )
        found = PROPORTIONS[self.method](
            int(totals.num.sum()), len(totals.num), confidence_level=confidence_level, alternative=alternative
        )  # fmt: skip
        return Limits(found.low, found.high, self.name)


def _refuse_difference(totals: Totals, name: str) -> None:
    if totals.bounds != (0.0, 1.0):
        raise PairstatsError(
            f"The {name} interval is for shares in [0, 1], but the range here is {totals.bounds}. Use the "
            "family interval."
        )
