"""What the array functions accept: checked once, at the door, with the offending positions named."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, listed, one_of

ALTERNATIVES = ("two-sided", "less", "greater")
"""Directions, as in scipy: "greater" gives a lower limit, "less" an upper limit."""

OPPOSITE = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
"""The same question about second minus first."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and how it was made.

    Attributes
    ----------
    low, high : float
        Limits. In a one-sided interval the other end is that of the range of the quantity.
    method : str
        What was computed.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater": lower limit only; "less": upper limit only; both at the full level.

    Examples
    --------
    >>> Interval(0.75, 0.91, method="family-jeffreys", confidence_level=0.95, alternative="two-sided")
    Interval(0.75, 0.91, family-jeffreys, 95% two-sided)
    """

    low: float
    high: float
    method: str
    confidence_level: float
    alternative: str

    def __repr__(self) -> str:
        level = f"{100 * self.confidence_level:.10g}%"
        return f"Interval({self.low:.6g}, {self.high:.6g}, {self.method}, {level} {self.alternative})"


@dataclass(frozen=True, slots=True, repr=False)
class EstimateInterval(Interval):
    """A confidence interval with its estimate.

    Attributes
    ----------
    low, high : float
        Limits. In a one-sided interval the other end is that of the range of the quantity.
    method : str
        What was computed.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater": lower limit only; "less": upper limit only; both at the full level.
    estimate : float
        The plain sample value, not the centre of the interval.
    """

    estimate: float

    def __repr__(self) -> str:
        level = f"{100 * self.confidence_level:.10g}%"
        return (
            f"EstimateInterval({self.estimate:.6g} [{self.low:.6g}, {self.high:.6g}], "
            f"{self.method}, {level} {self.alternative})"
        )


def tails(confidence_level: float, alternative: str) -> tuple[float | None, float | None]:
    """Error probability below the lower and above the upper limit; None where there is no such limit.

    Examples
    --------
    >>> tails(0.75, "two-sided")
    (0.125, 0.125)
    >>> tails(0.75, "less")
    (None, 0.25)
    """
    level, side = check_level(confidence_level), check_alternative(alternative)
    alpha = 1.0 - level
    if side == "two-sided":
        return alpha / 2, alpha / 2
    return (alpha, None) if side == "greater" else (None, alpha)


def as_scores(name: str, values: ArrayLike, *, copy: bool = True) -> NDArray[np.float64]:
    """Return a one-dimensional array of finite floats.

    Parameters
    ----------
    name : str
        What the caller calls the argument; shown in messages.
    values : array_like, shape (n,)
        Numbers or booleans.
    copy : bool, default True
        Whether the array is always a new one. Without it, the caller must not write to it.

    Raises
    ------
    PairstatsError
        If the values are not numbers, not one-dimensional, empty, or not finite (positions are named).

    Examples
    --------
    >>> as_scores("scores", [1, 0.5])
    array([1. , 0.5])
    >>> as_scores("scores", [1, float("nan")])
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `scores` must hold finite numbers, but position 1 is nan. Drop ...
    """
    try:
        array = np.array(values, dtype=np.float64, copy=True if copy else None)
    except (TypeError, ValueError) as error:
        raise PairstatsError(
            f"`{name}` must be a one-dimensional array of numbers, but got {type(values).__name__} "
            f"that cannot be converted ({error}). Pass one number for each family or item."
        ) from None
    if array.ndim != 1:
        raise PairstatsError(
            f"`{name}` must be one-dimensional, but its shape is {array.shape}. "
            "Pass one number for each family or item."
        )
    if array.size == 0:
        raise PairstatsError(f"`{name}` must hold at least one number, but it is empty. Check the filter.")
    # NaN and infinity both reach the smallest or largest value; no array as large as this one is made.
    if not (math.isfinite(array.min()) and math.isfinite(array.max())):
        wrong = np.flatnonzero(~np.isfinite(array))
        shown = ", ".join(f"position {i} is {array[i]}" for i in wrong[:3].tolist())
        more = f" and {wrong.size - 3} more" if wrong.size > 3 else ""
        raise PairstatsError(
            f"`{name}` must hold finite numbers, but {shown}{more}. "
            "Drop what is missing, and count it, before calling."
        )
    return array


def plain_list(values: Iterable[Any]) -> list[Any]:
    """Return labels, or rows of labels, as a list: of arrays, columns and tables of any frame, and Arrow.

    Examples
    --------
    >>> plain_list(np.array(["a", "b"])), plain_list(("a", None))
    (['a', 'b'], ['a', None])
    """
    if hasattr(values, "__array__"):
        return np.asarray(values, dtype=object).tolist()
    return list(values)


def as_sizes(sizes: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Return the number of decisions behind each of `n` family scores: positive, ones where None.

    Examples
    --------
    >>> as_sizes(None, 3)
    array([1., 1., 1.])
    """
    if sizes is None:
        return np.ones(n)
    array = as_scores("sizes", sizes, copy=False)
    if array.size != n:
        raise PairstatsError(
            f"`sizes` must have one entry for each of the {n} scores, but it has {array.size}. "
            "Pass the number of decisions behind each family score, in the same order."
        )
    if array.min() <= 0:
        wrong = np.flatnonzero(array <= 0)
        raise PairstatsError(
            f"`sizes` must be positive, but positions {listed(wrong.tolist())} are not. "
            "Leave out families without a decision, and count them."
        )
    return array


def check_level(confidence_level: float) -> float:
    """Return the confidence level as a float strictly between 0 and 1.

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `confidence_level` must lie strictly between 0 and 1, but got 95. ...
    """
    try:
        level = float(confidence_level)
    except (TypeError, ValueError):
        level = math.nan
    if not 0.0 < level < 1.0:
        raise PairstatsError(
            f"`confidence_level` must lie strictly between 0 and 1, but got {confidence_level!r}. "
            "Write 0.95 for a 95 % interval."
        )
    return level


def check_alternative(alternative: str) -> str:
    """Return the direction, one of "two-sided", "less", "greater".

    Examples
    --------
    >>> check_alternative("greater")
    'greater'
    """
    one_of("alternative", alternative, ALTERNATIVES)
    return alternative


def check_bounds(scores: NDArray[np.float64], bounds: Sequence[float]) -> tuple[float, float]:
    """Return the (low, high) ends of the range that the scores must lie in.

    A score beyond an end by rounding only (1e-12 of the range) is let through: clip it where it matters.

    Examples
    --------
    >>> check_bounds(np.array([0.0, 1.5]), (0, 1))
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `scores` must lie in [0, 1], but position 1 is 1.5. Give ...
    """
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise PairstatsError(
            f"`bounds` must be two finite numbers, the lower first, but got {bounds!r}. "
            "Pass (0, 1) for shares, (-1, 1) for differences of shares."
        )
    slack = 1e-12 * max(high - low, abs(low), abs(high))
    if scores.size and (scores.min() < low - slack or scores.max() > high + slack):
        wrong = np.flatnonzero((scores < low - slack) | (scores > high + slack))
        shown = ", ".join(f"position {i} is {scores[i]:.6g}" for i in wrong[:3].tolist())
        more = f" and {wrong.size - 3} more" if wrong.size > 3 else ""
        raise PairstatsError(
            f"`scores` must lie in [{low:g}, {high:g}], but {shown}{more}. "
            "Give the range that the score can take as `bounds`; "
            "family scores are means of the decisions, not totals."
        )
    return low, high


def as_count(name: str, value: object, *, minimum: int = 0) -> int:
    """Return a whole number of at least `minimum`, of any size.

    Examples
    --------
    >>> as_count("nobs", 48.0)
    48
    >>> as_count("nobs", 0.5)
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `nobs` must be a whole number of at least 0, but got 0.5. ...
    """
    try:
        if isinstance(value, float | np.floating) and float(value).is_integer():
            count = int(value)
        elif isinstance(value, bool | np.bool_):
            count = minimum - 1
        else:
            count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = minimum - 1
    if count < minimum:
        raise PairstatsError(
            f"`{name}` must be a whole number of at least {minimum}, but got {value!r}. "
            "Pass a count, not a share."
        )
    return count
