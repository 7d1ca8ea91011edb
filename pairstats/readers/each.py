"""One record at a time: what is wrong with one must neither end the reading of a file nor hide what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import UnionType
from typing import Any, TypeVar, get_args

from pairstats.errors import PairstatsError, ReadError
from pairstats.readers.base import LeftOut, Record

UNFORESEEN = (
    AttributeError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, RecursionError, OSError,
)  # fmt: skip
"""What content of an unforeseen shape raises; ArithmeticError where a number is infinite."""
COUNTS = ("input_tokens", "output_tokens", "repeat")
AMOUNTS = ("latency_s", "cost_usd")
MOST_REPEATS = 1 << 15
"""What a column of 16 bits holds; other counts have 64."""
_MOST = {"repeat": MOST_REPEATS}
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
        found = make()
        if isinstance(found, Record):
            check(found)
        return found
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


def each_made(
    source: str, what: str, keep_going: bool, make: Callable[[], Iterable[Record | LeftOut]]
) -> Iterator[Record | LeftOut]:
    """Yield all records of one line, or the `LeftOut` of the line: never some of them only.

    Parameters
    ----------
    source, what, keep_going
        As in `made`.
    make : callable
        Gives the records.

    Raises
    ------
    ReadError
        Naming the line.

    Examples
    --------
    >>> list(each_made("run.jsonl:2", "a completion", True, lambda: [Record("run.jsonl:2", {"repeat": "x"})]))
    [LeftOut(source='run.jsonl:2', reason="does not have the shape of a completion (TypeError: its repeat is 'x')")]
    """
    found = made(source, what, keep_going, partial(_checked, make))
    yield from [found] if isinstance(found, LeftOut) else found


def _checked(make: Callable[[], Iterable[Record | LeftOut]]) -> list[Record | LeftOut]:
    found = list(make())
    for record in found:
        if isinstance(record, Record):
            check(record)
    return found


def check(record: Record) -> None:
    """Refuse a record whose fields no column holds: one such would end the reading of all files.

    Raises
    ------
    TypeError, ValueError
        Naming the field.

    Examples
    --------
    >>> check(Record("run.jsonl:2", {"model": "m", "latency_s": 0.5}))
    >>> check(Record("run.jsonl:2", {"model": ["m"]}))
    Traceback (most recent call last):
        ...
    TypeError: its model is ['m']
    """
    fields = record.fields
    if not isinstance(fields.get("model"), str | None):
        raise TypeError(f"its model is {shown(fields['model'])}")
    for name in (*COUNTS, *AMOUNTS):
        value = fields.get(name)
        if value is None or (isinstance(value, float) and value != value):
            continue  # NaN becomes null where the columns are filled, and is counted
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"its {name} is {shown(value)}")
        if name in COUNTS and not (int(value) == value and 0 <= value < _MOST.get(name, 1 << 63)):
            raise ValueError(f"its {name} is {shown(value)}")
        float(value)


def id_of(value: Any, what: str = "id") -> str:
    """Write an id, which is a text or a number, as text.

    Raises
    ------
    TypeError
        When it is anything else, of which ``str()`` would make a name all the same.

    Examples
    --------
    >>> id_of(7), id_of("q1")
    ('7', 'q1')
    >>> id_of(None)
    Traceback (most recent call last):
        ...
    TypeError: its id is None
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"its {what} is {shown(value)}")
    return str(value)


def expect(record: Any, what: str, kinds: Mapping[str, type | UnionType] | None = None) -> None:
    """Refuse what is no object, or an object in which a key holds another kind of value than it should.

    A value that is passed over where it has the wrong kind would be a loss that nobody sees: a reply would
    pass for empty. Null, and a key that is not there, are no value.

    Raises
    ------
    TypeError
        Naming the key.

    Examples
    --------
    >>> expect({"content": None}, "message", {"content": str})
    >>> expect({"content": 5}, "message", {"content": str})
    Traceback (most recent call last):
        ...
    TypeError: the `content` of its message is 5
    """
    if not isinstance(record, dict):
        raise TypeError(f"its {what} is {shown(record)}")
    for key, kind in (kinds or {}).items():
        value = record.get(key)
        fits = bool in (get_args(kind) or (kind,)) if isinstance(value, bool) else isinstance(value, kind)
        if value is not None and not fits:
            raise TypeError(f"the `{key}` of its {what} is {shown(value)}")


def shown(value: Any) -> str:
    """Show a value of any size in a few characters.

    Examples
    --------
    >>> shown(["a"])
    "['a']"
    """
    return repr(value)[:60]
