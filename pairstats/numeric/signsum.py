"""Tail of a sum of numbers with random signs: the law behind the sign-flip test.

``T* = sum of e_i d_i`` with independent fair signs ``e_i``. Three exact ways, for three kinds of data, and
one that is exact but for a smoothing far below the spread:

* few lattice points: convolution, all terms positive (right in every digit down to 1e-280);
* a lattice with many points: a contour integral over one period of the generating function;
* up to 40 numbers without a lattice: every arrangement, in two halves that meet in the middle;
* more numbers without a lattice, or too fine a one: the contour integral, cut short by a taper.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from pairstats.numeric.lattice import common_lattice, lattice_steps

Floats = NDArray[np.float64]

CONVOLUTION_COST = 5e6
"""Additions that the plain convolution may take (a few milliseconds); beyond it the contour is faster."""

NEGLIGIBLE = -60.0
"""Nodes of the contour whose logarithm is this far below the peak are left out: below 1e-20 in sum."""

CONTOUR_COST = 1e7
"""Terms that the contour integral may take (about a second)."""

FEWEST_NODES = 2**10
"""Where the integral is cut short, it still reaches 1,024 nodes, about 160 over the spread of the sum."""

MOST_ENUMERATED = 40
"""Numbers whose 2^40 arrangements are counted as pairs of 2^20 half sums."""

TIE = 1e-9
"""Sums closer than this share of the largest sum are equal."""

SMALLEST_P = sys.float_info.min
"""Smaller p-values cannot be held with all digits; they are given as this one, 2.2e-308."""


@dataclass(frozen=True, slots=True)
class SignSum:
    """Where the observed sum lies among all arrangements of signs.

    Attributes
    ----------
    tail : float
        P(T* >= |T|).
    atom : float
        P(T* = |T|), of the observed sum and its ties.
    sign : int
        Of the observed sum T: -1, 0 or 1.
    exact : bool
        False where the law was smoothed.
    """

    tail: float
    atom: float
    sign: int
    exact: bool


def sign_sum(differences: Floats) -> SignSum:
    """Tail of the law of the sum with random signs, at the observed sum.

    Parameters
    ----------
    differences : ndarray, shape (m,)
        Finite and not 0; at least one.

    Examples
    --------
    Of the 8 arrangements of 3, 1, 1 the sums are 5, 3, 3, 1 and their negatives; observed is 3:

    >>> sign_sum(np.array([3.0, 1.0, -1.0]))
    SignSum(tail=0.375, atom=0.25, sign=1, exact=True)
    """
    spacing = common_lattice(differences)
    if spacing is None:
        return _without_lattice(differences)
    steps = lattice_steps(differences, spacing)
    steps = steps // np.gcd.reduce(steps)
    observed = int(steps.sum())
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    total = int(sizes @ counts)
    sign = int(np.sign(observed))
    if steps.size * float(total) <= CONVOLUTION_COST:
        tail, atom = _convolved(np.abs(steps), (total + abs(observed)) // 2)
        if tail > 1e-280:
            return SignSum(tail, atom, sign, exact=True)
    if abs(observed) == total:
        return SignSum(0.5**steps.size, 0.5**steps.size, sign, exact=True)
    tail, atom, exact = _contour(sizes.astype(np.float64), counts, abs(observed), lattice=True)
    return SignSum(tail, atom, sign, exact)


def side_p(found: SignSum, side: str, *, mid: bool) -> float:
    """P-value from the tail beyond |T|, the atom at |T|, and the sign of T; the law is symmetric.

    Mid-p is the exact p less P(T* = T) where it is two-sided, and less half of that where it is one-sided;
    so it is 1 - P(T* = 0) at T = 0, as Fagerland et al. (2013) define it for equal discordant counts. Where no
    family differs, so that the law is one point, it is one half.
    """
    beyond = found.tail - found.atom  # P(T* > |T|)
    if side == "two-sided":
        if found.sign == 0:
            return 1.0 - (min(found.atom, 0.5) if mid else 0.0)
        return 2 * found.tail - (found.atom if mid else 0.0)
    with_it = found.sign if side == "greater" else -found.sign
    if with_it >= 0:
        return found.tail - (found.atom / 2 if mid else 0.0)
    return 1.0 - beyond - (found.atom / 2 if mid else 0.0)


def as_p(value: float) -> float:
    """Value as a p-value: at most 1, and never 0."""
    return min(1.0, max(value, SMALLEST_P))


def _without_lattice(differences: Floats) -> SignSum:
    sizes = np.abs(differences)
    total, observed = math.fsum(sizes), math.fsum(differences)
    sign = 0 if abs(observed) <= TIE * total else int(math.copysign(1, observed))
    if sizes.size <= MOST_ENUMERATED:
        tail, atom = _enumerated(sizes, abs(observed), TIE * total)
        return SignSum(tail, atom, sign, exact=True)
    least = 0.5**sizes.size
    if total - abs(observed) <= TIE * total:
        return SignSum(least, least, sign, exact=True)
    distinct, counts = np.unique(sizes / sizes.max(), return_counts=True)
    tail, _, _ = _contour(distinct, counts, abs(observed) / sizes.max(), lattice=False)
    return SignSum(max(tail, least), least, sign, exact=False)


def _convolved(sizes: NDArray[np.int64], at: int) -> tuple[float, float]:
    """P(R >= at) and P(R = at) for R the sum of each size with probability one half."""
    law = np.zeros(int(sizes.sum()) + 1)
    law[0], reach = 1.0, 0
    for size in np.sort(sizes).tolist():
        reach += size
        law[: reach + 1] *= 0.5
        law[size : reach + 1] += law[: reach - size + 1].copy()
    return math.fsum(law[at:]), float(law[at])


def _enumerated(sizes: Floats, observed: float, tie: float) -> tuple[float, float]:
    """Count the pairs of half sums that reach the observed sum."""
    half = sizes.size // 2
    first, second = _all_sums(sizes[:half]), np.sort(_all_sums(sizes[half:]))
    reaching = second.size - np.searchsorted(second, observed - tie - first)
    beyond = second.size - np.searchsorted(second, observed + tie - first, side="right")
    arrangements = float(first.size) * second.size
    return int(reaching.sum()) / arrangements, int((reaching - beyond).sum()) / arrangements


def _all_sums(sizes: Floats) -> Floats:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _contour(
    sizes: Floats, counts: NDArray[np.int64], at: float, *, lattice: bool
) -> tuple[float, float, bool]:
    r"""P(T* >= at), P(T* = at) by integration of the generating function, and whether it is exact.

    With M(s) = prod cosh(size s)^count, P(T* >= t) = 1/(2 pi i) * integral of M(s) exp(-s t) / s along a
    vertical line through the saddle point. On the whole numbers of the parity of t, M(s) exp(-s t) has period
    pi i and 1 / s becomes 2 / (1 - exp(-2 s)). Without a lattice, or where the period takes too many nodes,
    a taper ends the integral: the law is then smoothed over a distance far below its spread by a kernel whose
    first seven moments are 0, and on a lattice t is moved half way to the sum below.
    """
    point = _saddle_point(sizes, counts, at)
    step = _node_spacing(sizes, counts, at, point)
    nodes = math.ceil(0.5 * math.pi / step)
    exact = lattice and nodes * sizes.size <= CONTOUR_COST
    if exact:
        step = 0.5 * math.pi / nodes
    else:
        nodes = int(min(max(CONTOUR_COST / sizes.size, FEWEST_NODES), 2**17))
        at -= 1.0 if lattice else 0.0

    leaning = np.tanh(sizes * point)
    tail = atom = 0.0
    block = max(1, int(2**20 // sizes.size))
    for start in range(0, nodes + 1, block):
        node = np.arange(start, min(start + block, nodes + 1))
        y = step * node
        cosine = np.cos(y[:, None] * sizes)
        kept = 0.5 * (np.log(leaning**2 + (1.0 - leaning**2) * cosine**2) @ counts) > NEGLIGIBLE
        node, y, cosine = node[kept], y[kept], cosine[kept]
        sine = np.sin(y[:, None] * sizes)
        value = np.prod((cosine + 1j * leaning * sine) ** counts, axis=1) * np.exp(-1j * y * at)
        if exact:
            value[(node == 0) | (node == nodes)] *= 0.5  # the ends of the half period count half
            kernel = -2.0 / np.expm1(-2 * (point + 1j * y))
        else:
            value *= np.exp(-36.0 * (node / nodes) ** 8) * np.where(node == 0, 0.5, 1.0)
            kernel = 1.0 / (point + 1j * y)
        tail += float((value * kernel).real.sum())
        atom += 2.0 * float(value.real.sum())
    scale = math.exp(_log_generating(sizes, counts, point) - point * at) * step / math.pi
    return scale * tail, scale * atom if exact else 0.0, exact


def _saddle_point(sizes: Floats, counts: NDArray[np.int64], at: float) -> float:
    """Where M(s) exp(-s at) / s is least on s > 0; `at` is below the largest sum."""

    def slope(log_s: float) -> float:
        s = math.exp(log_s)
        return s * (float(counts @ (sizes * np.tanh(sizes * s))) - at) - 1.0

    spread = math.sqrt(float(counts @ sizes**2))
    low, high = -math.log(spread) - 1.0, -math.log(spread) + 1.0
    while slope(low) > 0:
        low -= 2.0
    while slope(high) < 0:
        high += 2.0
    return math.exp(brentq(slope, low, high, xtol=1e-3))


def _node_spacing(sizes: Floats, counts: NDArray[np.int64], at: float, point: float) -> float:
    """Spacing at which the images of the law, one period of the sum apart, are below 1e-17 of the tail."""
    spread = math.sqrt(float(counts @ (sizes / np.cosh(np.minimum(sizes * point, 300.0))) ** 2))
    depth = max(point * at - _log_generating(sizes, counts, point), 0.0)
    return 2 * math.pi / max(40 * spread, 64 * float(sizes.max()), (45 + depth) / point)


def _log_generating(sizes: Floats, counts: NDArray[np.int64], s: float) -> float:
    bent = sizes * s
    return float(counts @ (bent + np.log1p(np.exp(-2 * bent)) - math.log(2)))
