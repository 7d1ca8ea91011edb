"""Kernel smoothing of calibration residuals on [0, 1], by cosine transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct

FloatArray = NDArray[np.float64]

GRID = 1024
"""Points of the grid on [0, 1]."""

HALVINGS = 20
_BLOCK = 256
"""Rows smoothed at a time: 2 MB for each array."""


def smooth_errors(stated: FloatArray, residuals: FloatArray, weights: FloatArray) -> FloatArray:
    r"""Smooth calibration error of rows of residuals.

    A Gaussian kernel reflected at 0 and 1 is diagonal in the cosines: the coefficient of
    :math:`\cos(\pi k t)` is multiplied by :math:`\exp(-\pi^2 k^2 \sigma^2 / 2)`. The error falls with the
    bandwidth, so the bandwidth that equals its own error is found by halving.

    Parameters
    ----------
    stated : ndarray, shape (n,)
        Confidences in [0, 1].
    residuals : ndarray, shape (B, n)
        Outcome less confidence.
    weights : ndarray, shape (n,)
        Weight of each answer.

    Returns
    -------
    ndarray, shape (B,)

    Examples
    --------
    A single residual of 0.5 keeps its mass whatever the bandwidth:

    >>> smooth_errors(np.array([0.5]), np.array([[0.5]]), np.ones(1)).round(3).tolist()
    [0.5]
    """
    found = [
        _fixed_points(_on_grid(stated, residuals[start : start + _BLOCK], weights))
        for start in range(0, len(residuals), _BLOCK)
    ]
    return np.concatenate(found)


def _on_grid(stated: FloatArray, residuals: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean residual mass on the grid of cell centres, split between the two nearest."""
    place = np.clip(stated * GRID - 0.5, 0, GRID - 1)
    left = np.minimum(place.astype(np.int64), GRID - 2)
    part = place - left
    mass = np.zeros((len(residuals), GRID))
    for target, share in ((left, 1 - part), (left + 1, part)):
        order = np.argsort(target, kind="stable")
        starts = np.flatnonzero(np.diff(target[order], prepend=-1))
        sums = np.add.reduceat((residuals * (weights * share))[:, order], starts, axis=1)
        mass[:, target[order][starts]] += sums
    return mass / weights.sum()


def _fixed_points(mass: FloatArray) -> FloatArray:
    waves = dct(mass, axis=1)
    decay = -((np.pi * np.arange(GRID)) ** 2) / 2
    low, high = np.zeros(len(mass)), np.ones(len(mass))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        smooth = idct(waves * np.exp(decay * middle[:, None] ** 2), axis=1)
        above = np.abs(smooth).sum(axis=1) > middle
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2)
