"""Tails of a sum of weighted Gamma variables, by one contour integral.

The tail is an inverse Laplace transform of ``prod (1 - c_k s)^-w_k / s``. It is taken through the saddle
point of the integrand, along a path close to that of steepest descent; the smaller tail is then right
relative to itself, however small it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

Floats = NDArray[np.float64]

FIRST_STEP = 0.2
"""Spacing of the nodes to begin with; the trapezoid rule errs by about exp(-2 pi / step) of the tail."""

MAX_TURN = 2.0
"""Largest turn in phase (radians) between two nodes; with more the spacing is made smaller."""

NEGLIGIBLE = 1e-13
"""Nodes below this share of the peak may turn faster."""

ENDED = 1e-15
"""Share of the peak at which the sum ends; it decays doubly exponentially."""

CIRCLE = 2.0 * math.pi

LEAST_BLOCK = 16
"""Nodes evaluated at a time where there are many values; more where there are few."""

CHUNK = 4
"""Factors of weight 1 that are multiplied before a logarithm is taken. In one step the phase of a factor
turns by less than 0.5 radians, so that the turn of a chunk stays below half a circle."""

FEWEST_CHUNKED = 32
"""Factors of weight 1 from which on chunks are worth their overhead."""


def log_tails(c: Floats, weights: Floats, step: float = FIRST_STEP) -> tuple[float, float, float]:
    """Logarithms of P(Q <= 0) and P(Q > 0) for Q = sum of c * Gamma(weights), and the spacing that it took.

    The smaller one is found first. `step` is the spacing of the nodes to begin with.
    """
    if c.max() <= 0:
        return 0.0, -math.inf, step
    if c.min() >= 0:
        return -math.inf, 0.0, step
    if weights @ c <= 0:
        above, step = _log_upper_tail(c, weights, step)
        return _log_complement(above), above, step
    below, step = _log_upper_tail(-c, weights, step)
    return below, _log_complement(below), step


def _log_complement(log_probability: float) -> float:
    return math.log(-math.expm1(log_probability)) if log_probability < 0 else -math.inf


def _log_upper_tail(c: Floats, weights: Floats, step: float) -> tuple[float, float]:
    r"""Logarithm of P(Q > 0) for Q = sum of c * Gamma(weights), of mean at most 0, and the spacing taken.

    P(Q > 0) is the integral of M(s) / s along a contour from below to above the real axis, over 2 pi i,
    with M(s) = prod (1 - c s)^-w. The contour passes the real axis at the saddle point s0 of M(s) / s,
    between the pole at 0 and the first singularity on the right. The factor 1 / s is treated as one more
    term of M, of weight 1.
    """
    c = c / c.max()
    positive = c > 0
    top = float(weights[c == 1.0].sum())

    def slope(z: float) -> float:
        s = expit(z)
        return s * float(weights @ (c / (1.0 - s * c))) - 1.0

    # The saddle point is on (0, 1); these ends bracket it whatever the values. Near it is good enough.
    least = -math.log(weights[positive].sum()) - 1e-9
    most = math.log((1.0 + weights[~positive].sum()) / top) + 1e-9
    s0 = float(expit(brentq(slope, least, most, xtol=0.05)))

    rates = np.append(c / (1.0 - s0 * c), -1.0 / s0)
    powers = np.append(weights, 1.0)
    log_peak = -float(weights @ np.log1p(-s0 * c)) - math.log(s0)
    integral, step = _contour_integral(rates, powers, 1.0 - s0, step)
    return log_peak + math.log(integral / math.pi), step


def _contour_integral(rates: Floats, powers: Floats, gap: float, step: float) -> tuple[float, float]:
    """Integral of prod (1 - rates d)^-powers over the upper half of the contour d(u), imaginary part.

    The contour is the hyperbola d = unit * (i sinh u + bend * (cosh u - 1)): it leaves the saddle point
    vertically, has the curvature of the path of steepest descent, and meets no singularity again. The
    substitution follows both the peak and the slow decay. `gap` is the distance of the first singularity,
    `step` the spacing of the nodes to begin with; the one that was fine enough is returned too.
    """
    second = float(powers @ rates**2)
    third = 2.0 * float(powers @ rates**3)
    unit = min(1.0 / math.sqrt(second), gap)
    bend = min(max(unit * third / (3.0 * second), -1.0), 1.0)
    factors = _factors(rates * unit, powers)
    while True:
        total, turn = _trapezoid(factors, bend, step)
        if turn < MAX_TURN:
            return unit * total, step
        step *= 0.6 * MAX_TURN / turn


@dataclass(frozen=True, slots=True)
class _Factors:
    """Factors (1 - rate d)^-power, those of power 1 multiplied out in chunks of four.

    `chunks` has the coefficients of a polynomial in d in each column, constant first.
    """

    chunks: Floats
    rates: Floats
    powers: Floats

    def logarithms(self, across: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Log of the modulus of the inverse, shape (B,), and phases with their powers, shape (B, n)."""
        far = self.rates * across[:, None]
        off = self.rates * along[:, None]
        modulus = np.log1p(far * (far - 2.0) + off**2) @ self.powers
        phase = np.arctan2(off, 1.0 - far) * self.powers
        if self.chunks.shape[1] == 0:
            return 0.5 * modulus, phase
        series = np.empty((across.size, CHUNK + 1), dtype=np.complex128)
        series[:, 0] = 1.0
        series[:, 1] = across + 1j * along
        np.multiply(series[:, 1], series[:, 1], out=series[:, 2])
        np.multiply(series[:, 1:3], series[:, 2:3], out=series[:, 3:5])
        real, imaginary = series.real @ self.chunks, series.imag @ self.chunks
        modulus += np.log(real**2 + imaginary**2).sum(axis=1)
        return 0.5 * modulus, np.concatenate([phase, -np.arctan2(imaginary, real)], axis=1)


def _factors(rates: Floats, powers: Floats) -> _Factors:
    single = powers == 1.0
    count = int(single.sum())
    if count < FEWEST_CHUNKED:
        return _Factors(np.zeros((CHUNK + 1, 0)), rates, powers)
    chunked = np.zeros(CHUNK * -(-count // CHUNK))  # what fills the last chunk up is a factor of 1
    chunked[:count] = rates[single]
    chunks = np.zeros((CHUNK + 1, chunked.size // CHUNK))
    chunks[0] = 1.0
    for row in chunked.reshape(CHUNK, -1):
        chunks[1:] -= row * chunks[:-1]
    return _Factors(chunks, rates[~single], powers[~single])


def _trapezoid(factors: _Factors, bend: float, step: float) -> tuple[float, float]:
    """Trapezoid sum along the contour, and the largest turn in phase between two nodes that count."""
    kinds = factors.rates.size + factors.chunks.shape[1]
    block = max(LEAST_BLOCK, min(64, 2048 // kinds))
    whole = factors.rates.size  # phases behind these are known up to whole turns
    total, turn, start = -0.5, 0.0, 0  # the node at 0 counts half
    last = np.zeros(whole + factors.chunks.shape[1] + 1)
    while True:
        u = step * np.arange(start, start + block)
        sinh, cosh = np.sinh(u), np.cosh(u)
        modulus, phases = factors.logarithms(bend * (cosh - 1.0), sinh)
        size = np.exp(-modulus) * np.hypot(cosh, bend * sinh)
        phases = np.concatenate([phases, -np.arctan2(bend * sinh, cosh)[:, None]], axis=1)
        total += float(size @ np.cos(phases.sum(axis=1)))
        turns = np.empty_like(phases)
        np.subtract(phases[0], last, out=turns[0])
        np.subtract(phases[1:], phases[:-1], out=turns[1:])
        chunks = turns[:, whole:-1]
        chunks -= CIRCLE * np.rint(chunks / CIRCLE)
        moved = np.abs(turns.sum(axis=1))
        turn = max(turn, float(moved[size > NEGLIGIBLE].max(initial=0.0)))
        if size[-1] < ENDED:
            return step * total, turn
        if turn >= MAX_TURN:
            return math.nan, turn  # the spacing is too wide; the rest of the sum is not needed
        start, last = start + block, phases[-1]
