"""Which cells are compared: frozen values that become rows of coefficients over the levels of a factor."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pairstats.errors import PairstatsError, listed


@dataclass(frozen=True, slots=True)
class Pair:
    """First level minus second level of a factor."""

    first: str
    second: str

    @property
    def label(self) -> str:
        """Label with its sign: first minus second."""
        return f"{self.first} - {self.second}"


class Comparison(Protocol):
    """Anything that picks pairs among the levels of a factor."""

    @property
    def factor(self) -> str:
        """Column whose levels are compared."""
        ...

    def pairs(self, levels: Sequence[str]) -> list[Pair]:
        """Pairs to compare, in the order of the results."""
        ...


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every level against every other.

    Parameters
    ----------
    factor : str

    Examples
    --------
    >>> [pair.label for pair in Pairwise("model").pairs(["a", "b", "c"])]
    ['a - b', 'a - c', 'b - c']
    """

    factor: str

    def pairs(self, levels: Sequence[str]) -> list[Pair]:
        """All pairs in the order of the levels."""
        if len(levels) < 2:
            raise PairstatsError(
                f"A pairwise comparison needs at least 2 levels of {self.factor!r}, but there is "
                f"{listed(levels)}."
            )
        return [Pair(a, b) for a, b in itertools.combinations(levels, 2)]


@dataclass(frozen=True, slots=True)
class Versus:
    """Levels against a reference level.

    Parameters
    ----------
    factor : str
    reference : str
        The level that is subtracted.
    level : str or sequence of str, optional
        Levels to compare with it; all others by default.

    Examples
    --------
    >>> [pair.label for pair in Versus("condition", "direct").pairs(["code", "direct"])]
    ['code - direct']
    """

    factor: str
    reference: str
    level: str | tuple[str, ...] = ()

    def pairs(self, levels: Sequence[str]) -> list[Pair]:
        """The chosen levels, each minus the reference."""
        chosen = (self.level,) if isinstance(self.level, str) else tuple(self.level)
        absent = [name for name in (self.reference, *chosen) if name not in levels]
        if absent:
            raise PairstatsError(
                f"{self.factor!r} has no level {listed(absent)}; its levels are {listed(levels, 20)}."
            )
        others = chosen or tuple(name for name in levels if name != self.reference)
        return [Pair(name, self.reference) for name in others]
