"""Further kinds of interval as values, for a proof or for comparison with other papers: the default covers more.

They are given to `estimate` and `contrast` as ``interval=Betting()`` or by name; `pairstats.interval_names` has
the names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pairstats.arguments import checked_value
from pairstats.errors import PairstatsError, one_of
from pairstats.intervals import Limits, Totals, near_one_value
from pairstats.numeric.betting import betting_interval
from pairstats.numeric.more_proportions import agresti_coull, blaker
from pairstats.numeric.proportions import clopper_pearson, jeffreys, mid_p_interval, wilson
from pairstats.numeric.sandwich import cluster_robust, korn_graubard
from pairstats.numeric.wild import wild_cluster

PROPORTIONS = {
    "clopper-pearson": clopper_pearson, "mid-p": mid_p_interval, "wilson": wilson, "jeffreys": jeffreys,
    "agresti-coull": agresti_coull, "blaker": blaker,
}  # fmt: skip


@checked_value
@dataclass(frozen=True, slots=True)
class Betting:
    """Hedged betting interval over families: its coverage is a theorem.

    Use it where a referee demands a proof. Not for width: `FamilyInterval` of kind "cp" is shorter, without a
    known counter-example, and covers everything else.

    Parameters
    ----------
    seed : int, optional
        Of the order in which families are taken; by default derived from the data, and printed.

    Examples
    --------
    >>> Betting().name
    'betting'
    """

    seed: int | None = None

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        return "betting"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        found = betting_interval(
            totals.means, sizes=totals.den, bounds=totals.in_range(self.name),
            confidence_level=confidence_level, alternative=alternative, rng=self.seed,
        )  # fmt: skip
        return Limits(found.low, found.high, self.name, seed=found.seed)


@checked_value
@dataclass(frozen=True, slots=True)
class WildCluster:
    """Wild cluster bootstrap interval, null imposed, by Rademacher signs.

    Use it for unbounded scores of 6 to 50 families, or to compare with econometric papers. Not near a ceiling;
    `FamilyInterval` covers that.

    Parameters
    ----------
    n_resamples : int, default 9999
        Arrangements drawn where there are too many to take all.
    seed : int, optional
        By default derived from the data, and printed.

    Examples
    --------
    >>> WildCluster().name
    'wild-cluster'
    """

    n_resamples: int = 9999
    seed: int | None = None

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        return "wild-cluster"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        found = wild_cluster(
            totals.means, sizes=totals.den, confidence_level=confidence_level, alternative=alternative,
            n_resamples=self.n_resamples, rng=self.seed,
        )  # fmt: skip
        return Limits(found.low, found.high, found.method, seed=found.seed, notes=near_one_value(totals))


@checked_value
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
        return Limits(found.low, found.high, self.name, notes=near_one_value(totals))


@checked_value
@dataclass(frozen=True, slots=True)
class KornGraubard:
    """Clopper-Pearson interval at an effective number of items, as survey practice has it.

    Use it to compare with survey papers. Not as a guarantee: it fails where the design effect is below 1 by
    luck; `FamilyInterval` of kind "cp" covers that. Only for values in [0, 1].

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


@checked_value
@dataclass(frozen=True, slots=True)
class Proportion:
    """Interval for a count of independent 0/1 families: Clopper-Pearson, Blaker, mid-P, Wilson and others.

    Use it where every family is one 0/1 decision, or all-correct. Not where families have copies; `FamilyInterval`
    covers both, and on 0/1 families is Jeffreys ("jeffreys") and Clopper-Pearson ("cp").

    Parameters
    ----------
    method : {"clopper-pearson", "blaker", "mid-p", "wilson", "jeffreys", "agresti-coull"}
        Default "clopper-pearson".

    Examples
    --------
    >>> Proportion("wilson").limits(Totals(np.ones(20), np.ones(20), (0.0, 1.0)), 0.95, "two-sided").high
    1.0
    """

    method: Literal["clopper-pearson", "mid-p", "wilson", "jeffreys", "agresti-coull", "blaker"] = (
        "clopper-pearson"
    )

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
