r"""Right and wrong decisions in families, with known rates and correlations: a Gaussian copula.

The decision of family f in cell c on copy u at repeat r is right where a latent normal variable is at most
:math:`\Phi^{-1}(p_c)`:

.. math::  Z_{fcur} = a_c A_{fc} + b_c B_{fcu} + e_c E_{fcur},  \qquad  a_c^2 + b_c^2 + e_c^2 = 1,

with standard normal :math:`A` (shared by the copies of a family), :math:`B` (one copy) and :math:`E` (one
call). :math:`A` and :math:`B` have the correlation `rho` between cells, so that two models that answer the
same copy agree more often than by chance; :math:`E` is independent. The loadings are solved from correlations
of the 0/1 decisions themselves: :math:`a_c^2` from the correlation `icc` of two copies, :math:`a_c^2 + b_c^2`
from the correlation :math:`1 - (1 - \mathrm{icc})\,\mathrm{instability}` of two repeats of one copy.

References
----------
Emrich, L. J. & Piedmonte, M. R. (1991). A method for generating high-dimensional multivariate binary
variates. The American Statistician 45, 302-304. doi:10.1080/00031305.1991.10475828
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, owens_t

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_count, as_scores

Floats = NDArray[np.float64]

LATENT = np.linspace(-9.0, 9.0, 4001)
"""Points at which integrals over one latent normal variable are evaluated."""

_DENSITY = np.exp(-(LATENT**2) / 2) / math.sqrt(2 * math.pi) * (LATENT[1] - LATENT[0])


def normal_expectation(values: Floats) -> float:
    """Expectation of a smooth function of a standard normal variable, given its values at `LATENT`.

    Examples
    --------
    >>> round(normal_expectation(LATENT**2), 9)
    1.0
    """
    return float(values @ _DENSITY)


def both_right(first: float, second: float, latent: float) -> float:
    r"""Probability that two decisions of the given rates are both right, at a latent correlation.

    Parameters
    ----------
    first, second : float
        Rates in [0, 1].
    latent : float
        Correlation of the latent variables, in [0, 1].

    Returns
    -------
    float
        :math:`\int \varphi(x)\, \Phi\{(h - \sqrt\lambda x) / \sqrt{1-\lambda}\}\,
        \Phi\{(k - \sqrt\lambda x) / \sqrt{1-\lambda}\}\,dx`; for equal rates by Owen's T function.

    Examples
    --------
    >>> round(both_right(0.5, 0.5, 0.5), 9), both_right(0.25, 0.5, 0.0), both_right(0.25, 0.5, 1.0)
    (0.333333333, 0.125, 0.25)
    """
    if latent <= 0:
        return first * second
    if latent >= 1 or min(first, second) <= 0 or max(first, second) >= 1:
        return min(first, second) if latent >= 1 else first * second
    h, k = float(ndtri(first)), float(ndtri(second))
    if first == second:
        return first - 2 * float(owens_t(h, math.sqrt((1 - latent) / (1 + latent))))
    # Plackett's identity: the derivative by the correlation is the bivariate density.
    angle, weight = np.polynomial.legendre.leggauss(400)
    angle = (angle + 1) / 2 * math.asin(latent)
    density = np.exp(-(h * h + k * k - 2 * h * k * np.sin(angle)) / (2 * np.cos(angle) ** 2))
    return first * second + float(weight @ density) * math.asin(latent) / (4 * math.pi)


def latent_correlation(rate: float, correlation: float) -> float:
    """Latent correlation at which two 0/1 decisions of one rate have the wanted correlation.

    Parameters
    ----------
    rate, correlation : float
        In [0, 1]; at a rate of 0 or 1 nothing varies and the correlation is returned as it is.

    Examples
    --------
    >>> round(latent_correlation(0.5, 1 / 3), 6)
    0.5
    """
    if rate <= 0 or rate >= 1 or correlation in (0.0, 1.0):
        return float(correlation)
    wanted = rate * rate + correlation * rate * (1 - rate)
    return float(brentq(lambda x: both_right(rate, rate, x) - wanted, 0.0, 1.0 - 1e-12, xtol=1e-10))


@dataclass(frozen=True, eq=False)
class Latent:
    """Latent draws, from which the scores at any rates can be read.

    Attributes
    ----------
    family : ndarray, shape (F, C)
    copy : ndarray, shape (F, C, m)
    call : ndarray, shape (F, C, m, r), or None where repeats always agree
    """

    family: Floats
    copy: Floats
    call: Floats | None


@dataclass(frozen=True, eq=False)
class FamilyCopula:
    """Rates and correlations of 0/1 decisions in families.

    Parameters
    ----------
    rates : array_like, shape (C,)
        Chance of a right decision in each cell, in [0, 1].
    icc : float
        Correlation of the decisions on two copies of one family in one cell, in [0, 1].
    rho : array_like, shape (C, C), or float
        Latent (tetrachoric) correlation between cells on the same copy; one number for all pairs of cells.
    instability : float
        0: repeats of one call agree. 1: they differ as often as two copies do.

    Raises
    ------
    PairstatsError
        When a number is out of its range, or the matrix `rho` is not symmetric with ones on the diagonal.
    """

    rates: Floats
    icc: float
    rho: Floats
    instability: float = 0.0

    def __init__(
        self, rates: ArrayLike, *, icc: float = 0.0, rho: ArrayLike = 0.0, instability: float = 0.0
    ) -> None:
        values = as_scores("rates", rates)
        for name, given in (("rates", values), ("icc", icc), ("instability", instability), ("rho", rho)):
            array = np.asarray(given, dtype=np.float64)
            if not ((array >= 0) & (array <= 1)).all():
                raise PairstatsError(f"`{name}` must lie in [0, 1], but got {array.tolist()}.")
        matrix = np.asarray(rho, dtype=np.float64)
        if matrix.ndim == 0:
            matrix = np.where(np.eye(values.size) == 1, 1.0, float(matrix))
        if matrix.shape != (values.size, values.size) or not (
            np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1.0)
        ):
            raise PairstatsError(
                f"`rho` must be one number or a symmetric matrix of {values.size} cells with ones on its "
                f"diagonal, but its shape is {matrix.shape}."
            )
        if np.linalg.eigvalsh(matrix).min() < -1e-9:
            raise PairstatsError("`rho` must be a matrix of correlations that can hold together.")
        for name, value in (("rates", values), ("icc", float(icc)), ("rho", matrix),
                            ("instability", float(instability))):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def repeat_correlation(self) -> float:
        """Correlation of the decisions of two repeats of one call."""
        return 1 - (1 - self.icc) * self.instability

    def loadings(self) -> Floats:
        """Loadings (a, b, e) of each cell, shape (C, 3)."""
        found = []
        for rate in self.rates.tolist():
            family = latent_correlation(rate, self.icc)
            call = max(latent_correlation(rate, self.repeat_correlation), family)
            found.append([family, call - family, 1 - call])
        loadings: Floats = np.sqrt(np.maximum(np.array(found), 0.0))
        return loadings

    def draw(self, n_families: int, copies: int, repeats: int, rng: np.random.Generator) -> Latent:
        """Latent variables of `n_families` families; they depend on `rho`, not on rates."""
        families = as_count("n_families", n_families, minimum=1)
        copies, repeats = as_count("copies", copies, minimum=1), as_count("repeats", repeats, minimum=1)
        values, vectors = np.linalg.eigh(self.rho)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        cells = self.rates.size
        family = rng.standard_normal((families, cells)) @ root.T
        copy = np.moveaxis(rng.standard_normal((families, copies, cells)) @ root.T, -1, 1)
        call = rng.standard_normal((families, cells, copies, repeats)) if self.instability > 0 else None
        return Latent(family, copy, call)

    def latent_values(self, latent: Latent, repeats: int = 1) -> Floats:
        """Latent variable of every decision, shape (F, C, m, r)."""
        a, b, e = self.loadings().T[:, None, :, None]
        value = (a * latent.family[:, :, None] + b * latent.copy)[..., None]
        if latent.call is None:
            return np.broadcast_to(value, (*value.shape[:3], repeats))
        total: Floats = value + e[..., None] * latent.call
        return total

    def scores(self, latent: Latent, repeats: int = 1) -> NDArray[np.bool_]:
        """Whether each decision is right, shape (F, C, m, r)."""
        right: NDArray[np.bool_] = self.latent_values(latent, repeats) <= ndtri(self.rates)[:, None, None]
        return right

    def family_means(self, latent: Latent, repeats: int = 1) -> Floats:
        """Share of right decisions of each family, shape (F, C)."""
        if latent.call is None:
            return self.scores(latent)[..., 0].mean(axis=2)
        return self.scores(latent, repeats).mean(axis=(2, 3))

    def pair_correlation(self, first: int, second: int) -> float:
        """Correlation of the 0/1 decisions of two cells on the same copy (each at one repeat)."""
        p, q = float(self.rates[first]), float(self.rates[second])
        if min(p, q) <= 0 or max(p, q) >= 1:
            return math.nan
        loads = self.loadings()
        shared = float(self.rho[first, second] * (loads[first, :2] @ loads[second, :2]))
        return (both_right(p, q, shared) - p * q) / math.sqrt(p * (1 - p) * q * (1 - q))

    def all_right(self, cell: int, copies: int) -> float:
        """Probability that all copies of a family are right, at one repeat each."""
        rate = float(self.rates[cell])
        a = self.loadings()[cell, 0]
        if a >= 1 or rate <= 0 or rate >= 1:
            return rate
        given = ndtr((ndtri(rate) - a * LATENT) / math.sqrt(1 - a * a))
        return normal_expectation(given**copies)
