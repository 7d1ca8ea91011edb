"""Columns worked on side by side: Arrow needs no interpreter for what it does to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

Value = TypeVar("Value")
Result = TypeVar("Result")

MANY = 1 << 16
"""Rows from which threads save more than they cost."""


def side_by_side(function: Callable[[Value], Result], values: Iterable[Value], rows: int) -> list[Result]:
    """Apply a function to each value, in threads where there are many rows; results keep the order of the values.

    Parameters
    ----------
    function : callable
    values : iterable
    rows : int
        Rows of each column that the function works on.

    Examples
    --------
    >>> side_by_side(str.upper, ["a", "b"], rows=2)
    ['A', 'B']
    """
    if rows < MANY:
        return [function(value) for value in values]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(function, values))


def ahead(values: Generator[Value]) -> Generator[Value]:
    """Yield values while another thread makes the next one; what is not used is closed.

    Examples
    --------
    >>> list(ahead(number for number in (1, 2)))
    [1, 2]
    """
    with closing(values), ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, values, None)
        while (value := coming.result()) is not None:
            coming = pool.submit(next, values, None)
            yield value


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
