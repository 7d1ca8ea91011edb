"""Orders and signs of families, systems and contrasts that depend on their numbers alone.

A draw that is made for them is one draw, whatever the order of the rows, the names of the systems, and which of
two comes first: A - B and B - A then have exactly opposite limits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def _unrounded(values: FloatArray) -> FloatArray:
    """Shares of the largest value, without their rounding, which differs from one order of summing to another."""
    return np.round(values / max(float(np.abs(values).max(initial=0.0)), 1e-300), 12) + 0.0


def points_down(values: FloatArray, weights: FloatArray) -> bool:
    """Whether to draw for the opposite of the values, and to turn the limits back.

    So A - B and B - A are one draw, with exactly opposite limits. The weighted sum decides; where it is 0, the
    order of the sorted values.

    Examples
    --------
    >>> ones = np.ones(3)
    >>> [points_down(np.array(values), ones) for values in ([1.0, -2.0, 0.0], [2.0, -1.0, -1.0], [0.0] * 3)]
    [True, True, False]
    """
    total, scale = float(weights @ values), float(weights @ np.abs(values))
    if abs(total) > 1e-9 * scale:
        return total < 0
    unit = _unrounded(values)
    there, back = (
        sorted(zip(facing.tolist(), weights.tolist(), strict=True)) for facing in (unit, 0.0 - unit)
    )
    return back < there


def facing_columns(
    rows: FloatArray, weights: FloatArray, *, turn: bool = True
) -> tuple[IntArray, FloatArray]:
    """Order and signs of contrasts that depend neither on their order nor on which system comes first.

    A draw for ``rows[:, order] * signs`` is one draw however the systems are named.

    Parameters
    ----------
    rows : ndarray, shape (G, M)
        Contrasts of each family.
    weights : ndarray, shape (G,)
        Weight of each family.
    turn : bool, default True
        Whether a contrast may be turned round.

    Examples
    --------
    >>> order, signs = facing_columns(np.array([[1.0, -2.0], [0.0, -1.0]]), np.ones(2))
    >>> order.tolist(), signs.tolist()
    ([0, 1], [1.0, -1.0])
    """
    signs = np.array([-1.0 if turn and points_down(column, weights) else 1.0 for column in rows.T])
    keys = np.sort(_unrounded(rows * signs), axis=0)
    order = np.lexsort(keys[::-1])
    return order, signs[order]


def nameless_rows(rows: FloatArray) -> FloatArray:
    """Entries of each row in order, and the rows: what is left if neither has a name.

    Rounding of the entries does not change the order of the rows.

    Examples
    --------
    >>> nameless_rows(np.array([[3.0, 1.0], [2.0, 0.0]])).tolist()
    [[0.0, 2.0], [1.0, 3.0]]
    """
    ordered = np.sort(rows, axis=1)
    return ordered[np.lexsort(_unrounded(ordered).T)]


def canonical_sides(num: FloatArray, den: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Order families and sides by their totals, so that draws depend on the data alone.

    Swapping the sides or renaming families then gives the same draws, and exactly the opposite limits.

    Examples
    --------
    >>> canonical_sides(np.array([[2.0, 1.0]]), np.array([[2.0, 2.0]]))
    (array([[1., 2.]]), array([[2., 2.]]), True)
    """
    keys, orders = [], []
    for sides in ([0, 1], [1, 0]):
        key = np.hstack([_unrounded(each[:, sides]) for each in (num, den)])
        orders.append(np.lexsort(key.T[::-1]))
        keys.append(key[orders[-1]].ravel().tolist())
    swapped = bool(keys[1] < keys[0])
    order, step = orders[swapped], -1 if swapped else 1
    return num[order, ::step], den[order, ::step], swapped
