"""Names of all kinds of interval, as protocol files and ``interval=`` write them."""

from __future__ import annotations

from pairstats.errors import PairstatsError, one_of
from pairstats.intervals import CR2, Bootstrap, FamilyInterval, IntervalKind
from pairstats.more_intervals import Betting, ClusterRobust, KornGraubard, Proportion, WildCluster

NAMED: dict[str, IntervalKind] = {
    "family-jeffreys": FamilyInterval("jeffreys"),
    "family-cp": FamilyInterval("cp"),
    "betting": Betting(),
    "percentile": Bootstrap("percentile"),
    "basic": Bootstrap("basic"),
    "bca": Bootstrap("bca"),
    "bootstrap-t": Bootstrap("bootstrap-t"),
    "cr0-t": ClusterRobust("CR0"),
    "cr1-t": ClusterRobust("CR1"),
    "cr2-t": CR2(),
    "cr3-t": ClusterRobust("CR3"),
    "wild-cluster": WildCluster(),
    "korn-graubard": KornGraubard(),
    "clopper-pearson": Proportion("clopper-pearson"),
    "mid-p": Proportion("mid-p"),
    "wilson": Proportion("wilson"),
    "jeffreys": Proportion("jeffreys"),
    "agresti-coull": Proportion("agresti-coull"),
    "blaker": Proportion("blaker"),
}
"""Kinds of interval by name; a name is that of the value."""

SHARES_ONLY = (
    "korn-graubard", "clopper-pearson", "mid-p", "wilson", "jeffreys", "agresti-coull", "blaker"
)  # fmt: skip
"""Those that have no form for a difference."""


def as_interval(interval: IntervalKind | str) -> IntervalKind:
    """Interval value for a name; values pass through.

    Examples
    --------
    >>> as_interval("cr1-t")
    ClusterRobust(kind='CR1')
    """
    if isinstance(interval, str):
        one_of("interval", interval, NAMED)
        return NAMED[interval]
    if not hasattr(interval, "limits"):
        raise PairstatsError(
            f"`interval` must be a name or a value such as FamilyInterval('cp') or Bootstrap(), not {interval!r}."
        )
    return interval
