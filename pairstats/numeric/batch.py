"""Tests and tail probabilities of many simulated data sets at once.

The same laws as `exact.sign_flip` and `family.family_interval`, computed for a whole matrix of family scores
by matrix products: for power and coverage, where only a comparison with a level matters. Absolute errors are
about 1e-12, so that very small p-values are not right relative to themselves; take the single functions for
results that are printed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import check_alternative
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import PSEUDO_WEIGHT
from pairstats.numeric.lattice import common_lattice, lattice_steps

Floats = NDArray[np.float64]

BLOCK = 2**21
"""Numbers held at a time."""

LONGEST_LAW = 2**16
"""Points of the sign-flip law up to which it is computed for all data sets together."""

STEP, NODES, CHUNK = 0.07, 192, 16
"""Nodes of the contour integral, on a scale where it decays doubly exponentially, and how many at a time."""

NEGLIGIBLE = 1e-13
"""The integral ends where its terms are below this."""


def sign_flip_many(differences: ArrayLike, *, alternative: str = "two-sided") -> Floats:
    r"""P-values of the exact sign-flip test, one a row.

    Parameters
    ----------
    differences : array_like, shape (S, G)
        Family differences of S data sets. On a common lattice (differences of means of copies are) all rows
        are computed together; otherwise one by one.
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    ndarray, shape (S,)
        In (0, 1]; equal to `sign_flip` to about 1e-12.

    Notes
    -----
    The law of :math:`T^* = \sum_i \varepsilon_i d_i` has the characteristic function
    :math:`\prod_k \cos(k \omega)^{n_k}`, with :math:`n_k` differences of k lattice steps; one inverse FFT a
    row gives it.

    Examples
    --------
    >>> sign_flip_many([[3, 3, 2, 1], [1, -1, 0, 0]]).round(6).tolist()
    [0.125, 1.0]
    """
    side = check_alternative(alternative)
    values = _matrix("differences", differences)
    distinct = np.unique(values)
    spacing = common_lattice(distinct)
    steps = None if spacing is None else lattice_steps(values, spacing)
    length = 0 if steps is None else int(2 * np.abs(steps).sum(axis=1).max()) + 2
    if steps is None or length > LONGEST_LAW:
        return np.array([sign_flip(row, alternative=side).p_value for row in values])
    size = 1 << (length - 1).bit_length()
    rows = max(1, BLOCK // size)
    parts = [_sign_flip_block(steps[k : k + rows], size, side) for k in range(0, len(steps), rows)]
    return np.concatenate(parts)


def family_tails_many(
    scores: ArrayLike, point: float, *, low_weight: float, high_weight: float, bounds: tuple[float, float]
) -> tuple[Floats, Floats]:
    r"""Probability that a Dirichlet-weighted mean lies below and above a point, one pair a row.

    Parameters
    ----------
    scores : array_like, shape (S, G)
        Family scores within `bounds`, of equal size; each family has weight 1.
    point : float
        Where the distribution function is wanted.
    low_weight, high_weight : float
        Weights of the pseudo-families at the two ends of the range: (1, 0) for the lower and (0, 1) for the
        upper limit of family-CP, (1/2, 1/2) for family-Jeffreys.
    bounds : tuple of float

    Returns
    -------
    below, above : ndarray, shape (S,)
        Their sum is 1. The lower limit at tail a lies at or below the point where ``below >= a``.

    Notes
    -----
    The contour integral of `numeric.dirichlet`, :math:`P(Q > 0) = \frac1\pi \int_0^\infty
    \mathrm{Re}\,[M(s_0 + iy) / (s_0 + iy)]\,dy` with :math:`M(s) = \prod_k (1 - c_k s)^{-w_k}` and
    :math:`c_k = v_k - t`, on fixed nodes :math:`y = a \sinh u`, for all rows together.

    Examples
    --------
    Three of four families right; the lower Clopper-Pearson tail of .2 is a beta distribution's:

    >>> below, above = family_tails_many([[1, 1, 1, 0]], 0.2, low_weight=1, high_weight=0, bounds=(0, 1))
    >>> below.round(6).tolist(), above.round(6).tolist()
    ([0.0272], [0.9728])
    """
    values = _matrix("scores", scores)
    low, high = bounds
    distinct, where = np.unique(np.round(values, 12), return_inverse=True)
    where = where.reshape(values.shape)
    if point < low or point > high:
        below = np.full(len(values), float(point > high))
        return below, 1 - below
    counts = np.zeros((len(values), distinct.size + 2))
    np.add.at(counts, (np.arange(len(values))[:, None], where), 1.0)
    counts[:, -2], counts[:, -1] = low_weight, high_weight
    shifted = np.concatenate([distinct, [low, high]]) - point
    rows = max(1, BLOCK // (CHUNK * shifted.size))
    parts = [_tails_block(counts[k : k + rows], shifted) for k in range(0, len(counts), rows)]
    below = np.concatenate(parts)
    return below, 1 - below


def covers_many(
    scores: ArrayLike, truth: float, *, kind: str, bounds: tuple[float, float], confidence_level: float = 0.95
) -> NDArray[np.bool_]:
    """Whether the two-sided family interval of each row holds the truth.

    Parameters
    ----------
    scores : array_like, shape (S, G)
    truth : float
    kind : {"jeffreys", "cp"}
    bounds : tuple of float
    confidence_level : float

    Returns
    -------
    ndarray of bool, shape (S,)

    Examples
    --------
    >>> covers_many([[1, 1, 1, 0], [0, 0, 0, 0]], 0.9, kind="cp", bounds=(0, 1)).tolist()
    [True, False]
    """
    tail = (1 - confidence_level) / 2
    weight = PSEUDO_WEIGHT[kind]
    if kind == "cp":
        below, _ = family_tails_many(scores, truth, low_weight=weight, high_weight=0.0, bounds=bounds)
        _, above = family_tails_many(scores, truth, low_weight=0.0, high_weight=weight, bounds=bounds)
    else:
        below, above = family_tails_many(scores, truth, low_weight=weight, high_weight=weight, bounds=bounds)
    values = np.asarray(scores, dtype=np.float64)
    # A limit lies at the end of the range where every family does.
    held_low = (below >= tail) | np.all(values <= bounds[0] + 1e-12, axis=1)
    held_high = (above >= tail) | np.all(values >= bounds[1] - 1e-12, axis=1)
    covered: NDArray[np.bool_] = held_low & held_high
    return covered


def margin_p_many(
    scores: ArrayLike, margin: float, *, bounds: tuple[float, float], side: str = "greater"
) -> Floats:
    """One-sided p-value of each row against a margin, by inverting the family-CP limit.

    Parameters
    ----------
    scores : array_like, shape (S, G)
        Family differences.
    margin : float
        The value to be excluded, with its sign.
    bounds : tuple of float
    side : {"greater", "less"}
        "greater": the mean is above the margin; "less": below it.

    Returns
    -------
    ndarray, shape (S,)
        At most a exactly where the one-sided family-CP limit at level 1 - a is beyond the margin.

    Examples
    --------
    >>> margin_p_many([[0.0] * 60, [-1.0] * 60], -0.1, bounds=(-1, 1)).round(4).tolist()
    [0.0018, 1.0]
    """
    if side == "greater":
        return family_tails_many(scores, margin, low_weight=1.0, high_weight=0.0, bounds=bounds)[0]
    return family_tails_many(scores, margin, low_weight=0.0, high_weight=1.0, bounds=bounds)[1]


def _matrix(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise PairstatsError(
            f"`{name}` must be a matrix with one data set a row and one family a column, but its shape is "
            f"{array.shape}."
        )
    if not np.isfinite(array).all():
        raise PairstatsError(f"`{name}` must hold finite numbers, but row "
                             f"{int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])} does not.")  # fmt: skip
    return array


def _sign_flip_block(steps: NDArray[np.int64], size: int, side: str) -> Floats:
    sums = steps.sum(axis=1)
    spectrum = _law_spectrum(np.abs(steps), size)
    law = np.maximum(np.fft.irfft(spectrum, n=size, axis=1), 0.0)  # P(T* = t) at t modulo size
    half = size // 2
    beyond = np.cumsum(law[:, half - 1 :: -1], axis=1)[:, ::-1]  # P(T* >= t) at 0 <= t < half
    row = np.arange(len(steps))
    tail = beyond[row, np.abs(sums)]
    atom = law[row, np.abs(sums)]
    least = 0.5 ** np.count_nonzero(steps, axis=1)
    if side == "two-sided":
        return np.where(sums == 0, 1.0, np.clip(2 * tail, np.minimum(2 * least, 1.0), 1.0))
    towards = sums if side == "greater" else -sums
    return np.clip(np.where(towards >= 0, tail, 1.0 - tail + atom), least, 1.0)


def _law_spectrum(sizes: NDArray[np.int64], size: int) -> Floats:
    """Product of cos(k omega) over the differences of each row, by one matrix product of logarithms."""
    kinds, where = np.unique(sizes, return_inverse=True)
    counts = np.zeros((len(sizes), kinds.size))
    np.add.at(counts, (np.arange(len(sizes))[:, None], where.reshape(sizes.shape)), 1.0)
    # Angles are taken modulo one turn as whole numbers, so that multiples of a quarter turn are exact.
    turn = (kinds[:, None] * np.arange(size // 2 + 1)) % size
    wave = np.cos(2 * math.pi * turn / size)
    wave[(4 * turn) % (2 * size) == size] = 0.0
    logs = np.log(np.maximum(np.abs(wave), 1e-300))
    odd = np.rint(counts @ (wave < 0)) % 2
    spectrum: Floats = np.exp(counts @ logs) * (1 - 2 * odd)
    return spectrum


def _tails_block(weights: Floats, shifted: Floats) -> Floats:
    """P(Q <= 0) for Q = sum of shifted * Gamma(weights), a row each."""
    # The smaller tail is integrated: where the mean of Q is positive, Q changes sign.
    sign = np.where(weights @ shifted > 0, -1.0, 1.0)
    c = sign[:, None] * shifted
    present = weights > 0
    top = np.max(np.where(present, c, -np.inf), axis=1)
    possible = top > 0
    tail = np.zeros(len(weights))
    if possible.any():
        tail[possible] = upper_tail(c[possible], weights[possible], top[possible])
    return np.where(sign > 0, 1.0 - tail, tail)


def upper_tail(c: Floats, weights: Floats, top: Floats) -> Floats:
    """P(sum of c_k Gamma(w_k) > 0) for each row, by the contour integral through its saddle point."""
    c = np.where(weights > 0, c, 0.0)
    saddle = _saddle_points(c, weights, top)
    bend = np.sum(weights * (c / (1 - c * saddle[:, None])) ** 2, axis=1) + 1 / saddle**2
    scale = (1 / np.sqrt(bend))[:, None]
    total, active = np.zeros(len(c)), np.arange(len(c))
    for start in range(0, NODES, CHUNK):
        nodes = STEP * np.arange(start, min(start + CHUNK, NODES))
        s = saddle[active, None] + 1j * scale[active] * np.sinh(nodes)
        logs = np.log(1 - c[active, None, :] * s[:, :, None])
        value = np.exp(-np.einsum("rnk,rk->rn", logs, weights[active])) / s
        jacobian = scale[active] * np.cosh(nodes) * np.where(nodes == 0, 0.5, 1.0)
        total[active] += (value.real * jacobian).sum(axis=1)
        active = active[np.abs(value[:, -1]) * jacobian[:, -1] > NEGLIGIBLE]
        if not active.size:
            break
    found: Floats = np.clip(total * STEP / math.pi, 0.0, 1.0)
    return found


def _saddle_points(c: Floats, weights: Floats, top: Floats) -> Floats:
    """Where M(s) / s is least between 0 and the first singularity: the derivative increases, so bisect."""
    low, high = np.zeros(len(c)), 1 / top
    for _ in range(50):
        s = (low + high) / 2
        slope = np.sum(weights * c / (1 - c * s[:, None]), axis=1) - 1 / s
        low, high = np.where(slope < 0, s, low), np.where(slope < 0, high, s)
    middle: Floats = (low + high) / 2
    return middle
