"""Noise floor of flips: repeats of one presentation, and a control arm."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.copies import answer_rows
from pairstats.numeric.exact import SignFlipTest, sign_flip
from pairstats.numeric.family import Kind, family_interval
from pairstats.numeric.flips import answer_tally
from pairstats.numeric.mover import mover_difference
from pairstats.numeric.shares import Share, family_share

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExcessDisagreement:
    """Disagreement between presentations beyond that between repeats of one presentation.

    Attributes
    ----------
    excess : Share
        ``E = B - W``, signed, on [-1, 1].
    between, within : Share
        B and W: probability that replies to two presentations, or two replies to one, differ.
    per_family : ndarray of float, shape (G,)
        E of each family; NaN where it has fewer than two presentations with two replies.
    n_families, n_too_few : int
        Families that count, and those that do not.
    n_presentations, n_single : int
        Presentations that count; those left out since fewer than two replies are answered.
    n_missing : int
        Missing replies.
    """

    excess: Share
    between: Share
    within: Share
    per_family: FloatArray
    n_families: int
    n_too_few: int
    n_presentations: int
    n_single: int
    n_missing: int


def excess_disagreement(
    answers: Iterable[Sequence[Sequence[Hashable]]] | NDArray[np.generic],
    *,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> ExcessDisagreement:
    r"""Effect of the presentation on the answer: between-presentation less within-presentation disagreement.

    Use it before a flip rate is read as an effect of wording: at any temperature repeats of one wording
    differ too. Not without repeats, where a control arm is the floor
    (`control_excess`).

    Parameters
    ----------
    answers : array or list of lists of lists
        Families x presentations x repeats; lengths may differ. None and NaN are missing.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    ExcessDisagreement
        A negative excess is noise around 0: it is printed, not cut.

    Notes
    -----
    W is the mean over presentations of the share of differing pairs of repeats, B the mean over pairs of
    presentations of the share of differing pairs of replies, both over presentations with two or more
    replies. Their difference is unbiased for half the mean squared distance of the answer probabilities,
    for 0/1 answers :math:`\overline{(\theta_u - \theta_v)^2} \ge 0`.

    References
    ----------
    Hayes, A. F. & Krippendorff, K. (2007). Communication Methods and Measures 1, 77-89.
    doi:10.1080/19312450709336664

    Examples
    --------
    >>> found = excess_disagreement([[["A", "A"], ["B", "B"]], [["A", "B"], ["A", "A"]]])
    >>> found.per_family.tolist(), found.between.value, found.within.value
    ([1.0, 0.0], 0.75, 0.25)
    """
    rows: list[Any] = list(answer_rows("answers", answers))
    per_family = np.full((len(rows), 2), math.nan)
    single, presentations, missing = 0, 0, 0
    for family, row in enumerate(rows):
        tallies = [answer_tally(replies, family) for replies in _presentations(row, family)]
        missing += sum(len(replies) for replies in row) - sum(t.total() for t in tallies)
        full = [tally for tally in tallies if tally.total() >= 2]
        single += len(tallies) - len(full)
        if len(full) >= 2:
            presentations += len(full)
            per_family[family] = _between(full), float(np.mean([_within(tally) for tally in full]))
    used = ~np.isnan(per_family[:, 0])
    between, within = per_family[used].T
    ones = np.ones(between.size)

    def share(top: FloatArray, low: float = 0.0) -> Share:
        return family_share(top, ones, kind=kind, bounds=(low, 1.0), confidence_level=confidence_level)

    return ExcessDisagreement(
        excess=share(between - within, -1.0),
        between=share(between),
        within=share(within),
        per_family=per_family[:, 0] - per_family[:, 1],
        n_families=between.size,
        n_too_few=len(rows) - between.size,
        n_presentations=presentations,
        n_single=single,
        n_missing=missing,
    )


def _presentations(row: Any, family: int) -> list[Sequence[Hashable]]:
    def is_list(value: object) -> bool:
        return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)

    if not is_list(row) or not all(is_list(one) for one in row):
        raise PairstatsError(
            f"Each family in `answers` must be a list of presentations, each a list of replies, but position "
            f"{family} is {row!r}. Pass families x presentations x repeats."
        )
    return list(row)


def _within(tally: Counter[Hashable]) -> float:
    k = tally.total()
    return 1 - sum(t * (t - 1) for t in tally.values()) / (k * (k - 1))


def _between(tallies: list[Counter[Hashable]]) -> float:
    pairs = [(a, b) for i, a in enumerate(tallies) for b in tallies[i + 1 :]]
    same = [sum(t * b[answer] for answer, t in a.items()) / (a.total() * b.total()) for a, b in pairs]
    return 1 - float(np.mean(same))


@dataclass(frozen=True, slots=True)
class ControlExcess:
    """Flip rate less that of a control arm.

    Attributes
    ----------
    estimate : float
        Treated less control, signed.
    low, high : float
        Limits.
    rate, control_rate : float
        The two flip rates, of the families that count.
    test : SignFlipTest or None
        Exact paired test; None where the arms have different families.
    n_families, n_control : int
        Families in each arm that count.
    n_dropped : int
        Families left out: without a flip rate, or (paired) in one arm only.
    method : str
        "family-jeffreys" or "family-cp" of family differences, or "mover" of the two family intervals.
    """

    estimate: float
    low: float
    high: float
    rate: float
    control_rate: float
    test: SignFlipTest | None
    n_families: int
    n_control: int
    n_dropped: int
    method: str


def control_excess(
    flips: ArrayLike,
    control: ArrayLike,
    *,
    paired: bool,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> ControlExcess:
    r"""Flip rate beyond that of a control arm, such as swaps of names within one group.

    Use it where there are no repeats. Not with repeats, where `excess_disagreement` needs no
    second arm. "About the same" needs a margin: compare the limits at ``confidence_level=0.90`` with it.

    Parameters
    ----------
    flips, control : array_like, shape (G,)
        Disagreement of each family in either arm (``flip_rate(...).per_family``), in [0, 1]; NaN where there
        is none.
    paired : bool
        Whether position i is the same family in both arms. Then the interval is of family differences, with
        the exact sign-flip test; else MOVER joins the two family intervals.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    ControlExcess

    Notes
    -----
    :math:`\bar f - \bar c`, of the same families by `family_interval` of their differences on [-1, 1], of
    different ones by `mover_difference`.

    References
    ----------
    Zou, G. Y. & Donner, A. (2008). Statistics in Medicine 27, 1693-1702. doi:10.1002/sim.3095

    Examples
    --------
    >>> found = control_excess([1, 0, 1, 0], [0, 0, 1, 0], paired=True)
    >>> found.estimate, found.test.p_value
    (0.25, 1.0)
    """
    first, second = np.asarray(flips, dtype=np.float64), np.asarray(control, dtype=np.float64)
    if first.ndim != 1 or second.ndim != 1 or (paired and first.size != second.size):
        raise PairstatsError(
            f"`flips` and `control` must be one-dimensional, and of one length if `paired`, but their shapes "
            f"are {first.shape} and {second.shape}. Pass one disagreement a family, NaN where there is none."
        )
    has = ~np.isnan(first), ~np.isnan(second)
    if paired:
        has = (has[0] & has[1],) * 2
    first_used, second_used = first[has[0]], second[has[1]]
    dropped = int(np.sum(~has[0])) if paired else int(np.sum(~has[0]) + np.sum(~has[1]))
    if not first_used.size or not second_used.size:
        raise PairstatsError(
            f"Each arm must have a family with a flip rate, but of {first.size} and {second.size} families "
            f"{first_used.size} and {second_used.size} count. Check the filter."
        )
    options: dict[str, Any] = {"kind": kind, "confidence_level": confidence_level}
    rates = float(first_used.mean()), float(second_used.mean())
    one, two = family_interval(first_used, **options), family_interval(second_used, **options)
    difference, test, method = rates[0] - rates[1], None, "mover"
    if paired:
        gaps = first_used - second_used
        found, test = family_interval(gaps, bounds=(-1, 1), **options), sign_flip(gaps)
        low, high, method = found.low, found.high, found.method
    else:
        joined = mover_difference(rates[0], one, rates[1], two)
        low, high = joined.low, joined.high
    return ControlExcess(
        difference, low, high, *rates, test, first_used.size, second_used.size, dropped, method
    )
