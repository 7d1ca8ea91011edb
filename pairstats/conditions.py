"""Conditions on rows as values, so that a protocol file can write them: ``"confidence >= 0.9"``."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals as nw

from pairstats.arguments import shown
from pairstats.errors import PairstatsError, one_of

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, ">": operator.gt,
    "<": operator.lt,
}  # fmt: skip
_WORD = re.compile(r"[^\s\"'<>=!]+")
_COMPARISON = re.compile(r"\s*(\w+)\s*(==|!=|>=|<=|>|<)\s*(.+?)\s*")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One column against one value.

    Attributes
    ----------
    column : str
    operator : {"==", "!=", ">=", "<=", ">", "<"}
    value : str, float or bool
    """

    column: str
    operator: str
    value: str | float | bool

    def __post_init__(self) -> None:
        one_of("operator", self.operator, _OPERATORS)

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {json.dumps(self.value)}"


@dataclass(frozen=True, slots=True)
class Condition:
    """Comparisons that must all hold. A row where a compared column is null neither meets nor fails it.

    Attributes
    ----------
    comparisons : tuple of Comparison

    Examples
    --------
    >>> print(Condition.parse("confidence >= 0.9 and score < 1"))
    confidence >= 0.9 and score < 1
    """

    comparisons: tuple[Comparison, ...]

    @classmethod
    def parse(cls, text: str | Condition) -> Condition:
        """Read a condition as a protocol file writes it; words need no quotes.

        Raises
        ------
        PairstatsError
            When a part is not ``<column> <operator> <value>``.
        """
        if isinstance(text, Condition):
            return text
        if not isinstance(text, str):
            raise PairstatsError(
                f"A condition must be a text such as 'score < 1', or a Condition, but got {shown(text)}."
            )
        return cls(tuple(_comparison(part, text) for part in re.split(r"\s+and\s+", text)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that must be there and not null."""
        return tuple(dict.fromkeys(comparison.column for comparison in self.comparisons))

    def holds(self) -> nw.Expr:
        """Boolean expression over rows whose compared columns are not null."""
        parts = [_OPERATORS[c.operator](nw.col(c.column), c.value) for c in self.comparisons]
        return reduce(operator.and_, parts)

    def __str__(self) -> str:
        return " and ".join(map(str, self.comparisons))


def _comparison(part: str, whole: str) -> Comparison:
    match = _COMPARISON.fullmatch(part)
    if match is None:
        raise PairstatsError(
            f"A condition must read `<column> <operator> <value>`, joined by `and`, but {part!r} in "
            f"{whole!r} does not. Write for example `confidence >= 0.9 and score < 1`."
        )
    column, symbol, value = match.groups()
    try:
        parsed = json.loads(value)
    except json.JSONDecodeError:
        parsed = value if _WORD.fullmatch(value) else None
    if not isinstance(parsed, str | float | int | bool):
        raise PairstatsError(
            f"A condition compares with a word or a number, but {whole!r} has {value!r}. Put several words "
            "in double quotes."
        )
    return Comparison(column, symbol, parsed)
