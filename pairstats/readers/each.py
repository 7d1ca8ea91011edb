"""One record at a time: what is wrong with one must neither end the reading of a file nor hide what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pairstats.errors import PairstatsError, ReadError
from pairstats.readers.base import LeftOut

UNFORESEEN = (
    AttributeError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, RecursionError, OSError,
)  # fmt: skip
"""What content of an unforeseen shape raises; ArithmeticError where a number is infinite."""
T = TypeVar("T")


class RestLostError(ReadError):
    """A file ends in the middle for its reader: `keep_going` must not hide how many records lie behind."""


def made(source: str, what: str, keep_going: bool, make: Callable[[], T]) -> T | LeftOut:
    """Make something of one record; say which record it was where that fails.

    Parameters
    ----------
    source : str
        File and record.
    what : str
        What the record should be, with its article.
    keep_going : bool
        Give a `LeftOut` for a record that fails, instead of raising.
    make : callable

    Returns
    -------
    object or LeftOut

    Raises
    ------
    ReadError
        Naming the record.

    Examples
    --------
    >>> made("run.json:2", "a test case", True, lambda: {"a": 1}["b"])
    LeftOut(source='run.json:2', reason="does not have the shape of a test case (KeyError: 'b')")
    >>> made("run.json:3", "a test case", True, lambda: {"a": 1}["a"])
    1
    """
    try:
        return make()
    except PairstatsError as error:
        if not keep_going:
            raise
        return LeftOut(source, str(error))
    except UNFORESEEN as error:
        why = f"({type(error).__name__}: {error})"
        if keep_going:
            return LeftOut(source, f"does not have the shape of {what} {why}")
        raise ReadError(
            f"{source} must have the shape of {what}, but does not {why}. Repair or remove that record, or "
            "pass keep_going=True to leave such records out and count them."
        ) from error
