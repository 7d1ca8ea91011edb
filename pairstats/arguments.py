"""Arguments of public functions: checked against their annotations before anything is computed.

An annotation says already what an argument must be. `checked` holds a call to it, so that a wrong one is an
error of ours, which names the argument, what it must be and what it is, and none from deep inside.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import date
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from pairstats.errors import PairstatsError

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_COUNTS = (
    "n_resamples", "n_simulations", "n_categories", "n_pairs", "copies", "families", "repeats", "wrong_answers",
    "k", "bins", "workers",
)  # fmt: skip
_LEAST = {**dict.fromkeys(_COUNTS, 1), "rng": 0, "seed": 0}
"""Least whole number that an argument of this name may be."""
_WITHIN = {"confidence_level": 0.95, "alpha": 0.05, "power": 0.8}
"""Numbers strictly between 0 and 1, by name, and what one writes, for instance."""
_RANGES = ("score_range",)
"""Pairs of which the lower number comes first."""

_WORDS: dict[Any, tuple[str, str]] = {
    float: ("a number", "numbers"),
    int: ("a whole number", "whole numbers"),
    str: ("a text", "texts"),
    bool: ("True or False", "truth values"),
    date: ("a date", "dates"),
    types.NoneType: ("None", "None"),
    PathLike: ("a path", "paths"),
}
_VALUES = {
    "Estimand": ("a value such as Mean('score') or FlipRate('answer')", "values such as Mean('score')"),
    "Comparison": ("a value such as Pairwise('model')", "values such as Pairwise('model')"),
    "IntervalKind": ("a value such as FamilyInterval('cp')", "values such as FamilyInterval('cp')"),
}
_REMEDIES = {
    "Panel": "Make one: Panel(records).",
    "Records": "Make them: read_runs(), load_records() or Records.from_frame().",
    "Estimates": "Give what a verb such as estimate() returned.",
}
_ROWS = (tuple, list, Sequence, Collection, Iterable)
_LONGEST = 60


def checked(function: F) -> F:
    """Make a function refuse arguments that are not what its annotations say.

    Examples
    --------
    >>> @checked
    ... def half(number: float) -> float:
    ...     return number / 2
    >>> half("1")
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `number` must be a number, but got '1'.
    """
    signature = inspect.signature(function)
    hints = functools.cache(lambda: _hints(function))

    @functools.wraps(function)
    def held(*args: Any, **words: Any) -> Any:
        args, words = tuple(map(_plain_row, args)), {name: _plain_row(value) for name, value in words.items()}
        try:
            given = signature.bind(*args, **words).arguments
        except TypeError:  # too few, too many: Python says so with the function's name
            return function(*args, **words)
        for parameter, name, value in _each(signature, given):
            if parameter in hints():
                check(name, value, hints()[parameter], ranged=name == parameter)
        return function(*args, **words)

    return cast("F", held)


def checked_value(kind: type[T]) -> type[T]:
    """Make a dataclass refuse fields that are not what its annotations say; one text stands for a row of texts.

    Where numbers must lie is for the value itself to say, but for a seed.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @checked_value
    ... @dataclass
    ... class Named:
    ...     names: tuple[str, ...] = ()
    >>> Named("a"), Named(["a", "b"])
    (Named(names='a'), Named(names=['a', 'b']))
    >>> Named(3)
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `names` must be a text or a list of texts, but got 3.
    """
    make: Callable[..., None] = kind.__init__
    signature = inspect.signature(make)
    hints = functools.cache(lambda: get_type_hints(kind))

    @functools.wraps(make)
    def made(self: Any, *args: Any, **words: Any) -> None:
        with suppress(TypeError):  # too few, too many: Python says so with the name of the class
            for name, value in signature.bind(self, *args, **words).arguments.items():
                hint = hints().get(name, Any)
                wanted = Sequence[str] | str if hint == tuple[str, ...] else hint
                check(name, value, wanted, ranged=name == "seed")
        make(self, *args, **words)

    kind.__init__ = made  # type: ignore[method-assign]
    return kind


def _plain_row(value: Any) -> Any:
    """Give a one-dimensional column as a list, whoever made it; anything else as it is.

    The columns of Polars and narwhals have no `ndim`, and those of pandas number their cells by an index. What
    verbs take so is short: levels, margins, a range.
    """
    if isinstance(value, str | bytes | Sequence) or len(getattr(value, "shape", ())) != 1:
        return value
    return value.tolist() if hasattr(value, "tolist") else value.to_list()


def _each(signature: inspect.Signature, given: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield parameter, name and value of every argument; those of ``*names`` and ``**names`` one by one."""
    for parameter, value in given.items():
        kind = signature.parameters[parameter].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            yield from ((parameter, name, one) for name, one in value.items())
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            yield from ((parameter, parameter, one) for one in value)
        else:
            yield parameter, parameter, value


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of the arguments; that of the result may be known to type checkers only."""
    written: Any = types.SimpleNamespace(
        __annotations__={name: hint for name, hint in function.__annotations__.items() if name != "return"}
    )
    return get_type_hints(written, function.__globals__)


def check(name: str, value: Any, hint: Any, *, ranged: bool = True) -> None:
    """Raise unless a value is what an annotation says, and lies where an argument of that name must.

    What a user names (a column of ``where``) has no range of its own.
    """
    if fits(value, hint) and not (ranged and _outside(name, value)):
        return
    wanted, remedy = described(hint), _REMEDIES.get(getattr(hint, "__name__", ""), "")
    if ranged and name in _LEAST:
        wanted = wanted.replace("a whole number", f"a whole number of at least {_LEAST[name]}")
    if ranged and name in _WITHIN:
        wanted = wanted.replace("a number", "a number strictly between 0 and 1")
        remedy = f"Write {_WITHIN[name]:g}, for instance."
    if ranged and name in _RANGES:
        wanted += ", the lower first"
    raise PairstatsError(f"`{name}` must be {wanted}, but got {shown(value)}. {remedy}".rstrip())


def _outside(name: str, value: Any) -> bool:
    """Whether numbers are not where an argument of that name must be."""
    if name in _RANGES:
        return bool(value[0] >= value[1])
    return _number(value) and bool(value < _LEAST.get(name, value) or (name in _WITHIN and not 0 < value < 1))


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says.

    Whole numbers are numbers, truth values and NaN are none. Any one-dimensional column is a sequence. What
    an annotation leaves open fits.

    Examples
    --------
    >>> fits(1, float), fits(True, float), fits(["a"], Sequence[str]), fits("a", Sequence[str])
    (True, False, True, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return any(isinstance(value, type(one)) and bool(value == one) for one in inner)
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        return _in_a_row(value) and len(value) == len(inner) and all(map(fits, value, inner))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(key, inner[0]) and fits(one, inner[1]) for key, one in value.items()
        )
    if origin is Iterable and not isinstance(value, str | bytes | Sequence):
        return isinstance(value, Iterable)  # which may be read once only
    if origin in _ROWS:
        several = _in_a_row(value) or (origin is Collection and isinstance(value, Set))
        return several and all(fits(one, inner[0]) for one in value)
    return _is_a(value, origin or hint)


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of a plain type, a class or a protocol."""
    if kind is float:
        return _number(value)
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        return _number(value) and isinstance(value, Integral)
    if kind is Callable:
        return callable(value) and not isinstance(value, type)
    if kind in (Any, object) or not isinstance(kind, type):
        return True
    if _is_path(kind):
        return isinstance(value, PathLike)
    if getattr(kind, "_is_protocol", False):
        members = [name for name in vars(kind) if not name.startswith("_")]
        return not isinstance(value, type) and all(hasattr(value, name) for name in members)
    return isinstance(value, kind)


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return isinstance(value, Integral) or math.isfinite(value)


def _in_a_row(value: Any) -> bool:
    """Whether a value is a list, tuple or one-dimensional column; texts and tables are none."""
    if isinstance(value, str | bytes):
        return False
    return isinstance(value, Sequence) or getattr(value, "ndim", None) == 1


def described(hint: Any, many: bool = False) -> str:
    """Say in words what an annotation wants.

    Examples
    --------
    >>> described(Sequence[str] | str | None)
    'a text, a list of texts or None'
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _alternatives(inner, many)
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        count = "two" if len(inner) == 2 else len(inner)
        return f"{'pairs of' if many and len(inner) == 2 else count} {described(inner[0], many=True)}"
    if origin is Callable:
        return "functions" if many else "a function"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        one = f"of {described(inner[0], many=True)} to {described(inner[1], many=True)}"
        return f"dicts {one}" if many else f"a dict {one}"
    if origin in _ROWS:
        return f"{'lists' if many else 'a list'} of {described(inner[0], many=True)}"
    return _noun(origin or hint, many)


def _alternatives(hints: Sequence[Any], many: bool) -> str:
    """Join what a union wants: single values first, None last; a path may always be written as a text."""
    paths = any(_is_path(get_origin(hint) or hint) for hint in hints)
    kept = [hint for hint in hints if not (paths and hint is str)]
    kept.sort(key=lambda hint: (hint is types.NoneType, get_origin(hint) is not None))
    *first, last = dict.fromkeys(described(hint, many) for hint in kept)
    return f"{', '.join(first)} or {last}" if first else last


def _is_path(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, PathLike)


def _noun(kind: Any, many: bool) -> str:
    name = getattr(kind, "__name__", "value")
    for known, words in _WORDS.items():
        if kind is known or (known is PathLike and _is_path(kind)):
            return words[many]
    if name in _VALUES:
        return _VALUES[name][many]
    if kind in (Any, object) or not isinstance(kind, type) or name == "Hashable":
        return "values" if many else "a value"
    return _one(name) if not many else name if name.endswith("s") else f"{name}s"


def _one(name: str) -> str:
    """Name of a class with its article; Records and Estimates are several."""
    if name.endswith("s"):
        return name
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def shown(value: Any) -> str:
    """Show what was given: a class and a table by name, anything else as it is written, cut where it is long.

    Examples
    --------
    >>> shown("0.95"), shown(float), shown(["a"])
    ("'0.95'", 'the class float', "['a']")
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if hasattr(value, "columns") or hasattr(value, "table") or not _plain(value):
        return _one(type(value).__name__)
    written = repr(value)
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]}..."


def _plain(value: Any) -> bool:
    """Whether the way a value is written fits into a sentence."""
    written = repr(value)
    return "\n" not in written and " at 0x" not in written
