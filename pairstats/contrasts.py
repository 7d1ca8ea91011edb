"""Which cells are compared: frozen values that become signed weights of the levels of one or two factors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pairstats.arguments import checked_value
from pairstats.errors import PairstatsError, listed

Levels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """Signed combination of cells.

    Attributes
    ----------
    label : str
        With its sign: first minus second.
    weights : mapping of tuple of str to float
        Weight of each combination of levels, in the order of the comparison's factors; they sum to 0.
    """

    label: str
    weights: Mapping[Levels, float]


class Comparison(Protocol):
    """Anything that combines the levels of one or more factors."""

    @property
    def factors(self) -> tuple[str, ...]:
        """Columns whose levels are compared."""
        ...

    def combinations(self, levels: Mapping[str, Sequence[str]]) -> list[Combination]:
        """Combinations of the levels of each factor, in the order of the results."""
        ...


@checked_value
@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every level against every other.

    Use it for all pairs of models or conditions, with `contrast` or `simultaneous`. Not where one level is the
    baseline: `Versus` asks fewer questions.

    Parameters
    ----------
    factor : str

    Examples
    --------
    >>> [pair.label for pair in Pairwise("model").combinations({"model": ["a", "b", "c"]})]
    ['a - b', 'a - c', 'b - c']
    """

    factor: str

    @property
    def factors(self) -> tuple[str, ...]:
        """The one factor."""
        return (self.factor,)

    def combinations(self, levels: Mapping[str, Sequence[str]]) -> list[Combination]:
        """All pairs in the order of the levels."""
        there = levels[self.factor]
        if len(there) < 2:
            raise PairstatsError(
                f"A pairwise comparison needs at least 2 levels of {self.factor!r}, but there is "
                f"{listed(there)}."
            )
        return [_pair(first, second) for first, second in itertools.combinations(there, 2)]


@checked_value
@dataclass(frozen=True, slots=True)
class Versus:
    """Levels against a reference level.

    Use it for a setting against its baseline. Not for all pairs, which `Pairwise` covers.

    Parameters
    ----------
    factor : str
    reference : str
        The level that is subtracted.
    level : str or sequence of str, optional
        Levels to compare with it; all others by default.

    Examples
    --------
    >>> [pair.label for pair in Versus("condition", "direct").combinations({"condition": ["code", "direct"]})]
    ['code - direct']
    """

    factor: str
    reference: str
    level: str | tuple[str, ...] = ()

    @property
    def factors(self) -> tuple[str, ...]:
        """The one factor."""
        return (self.factor,)

    def combinations(self, levels: Mapping[str, Sequence[str]]) -> list[Combination]:
        """The chosen levels, each minus the reference."""
        chosen = (self.level,) if isinstance(self.level, str) else tuple(self.level)
        _require(self.factor, (self.reference, *chosen), levels[self.factor])
        others = chosen or tuple(name for name in levels[self.factor] if name != self.reference)
        return [_pair(name, self.reference) for name in others]


@checked_value
@dataclass(frozen=True, slots=True)
class Interaction:
    """Difference of two differences: whether an effect differs between two levels of another factor.

    Use it to claim that an effect is larger in one model than in another. Not for the effects themselves, which
    `Versus` gives: one significant and one not are no interaction.

    Parameters
    ----------
    effect : Versus
        One level against its reference.
    factor : str
        The other factor.
    level, reference : str
        The effect at `level` minus the effect at `reference`.

    Examples
    --------
    >>> asked = Interaction(Versus("framing", "plain", "pressure"), "model", "a", "b")
    >>> asked.combinations({"framing": ["plain", "pressure"], "model": ["a", "b"]})[0].label
    '(pressure - plain) in a - in b'
    """

    effect: Versus
    factor: str
    level: str
    reference: str

    @property
    def factors(self) -> tuple[str, ...]:
        """The factor of the effect, then the other one."""
        return (*self.effect.factors, self.factor)

    def combinations(self, levels: Mapping[str, Sequence[str]]) -> list[Combination]:
        """One combination for each level of the effect."""
        _require(self.factor, (self.level, self.reference), levels[self.factor])
        found = []
        for effect in self.effect.combinations(levels):
            weights = {
                (*key, other): sign * weight
                for other, sign in ((self.level, 1.0), (self.reference, -1.0))
                for key, weight in effect.weights.items()
            }
            found.append(Combination(f"({effect.label}) in {self.level} - in {self.reference}", weights))
        return found


@checked_value
@dataclass(frozen=True, slots=True)
class Trend:
    r"""Least-squares slope over the doses of a factor: change for one unit of dose.

    Use it for one registered direction over ordered doses. Not for the step from one dose to the next, nor for
    a shape: `Versus` against the lowest dose shows both.

    Parameters
    ----------
    factor : str
    doses : mapping of str to float
        Dose of each level that takes part; a trend says nothing about shape.

    Examples
    --------
    >>> slope = Trend("rows", {"0": 0, "1": 1, "3": 3}).combinations({"rows": ["0", "1", "3"]})[0]
    >>> {level[0]: round(weight, 3) for level, weight in slope.weights.items()}
    {'0': -0.286, '1': -0.071, '3': 0.357}
    """

    factor: str
    doses: Mapping[str, float]

    @property
    def factors(self) -> tuple[str, ...]:
        """The one factor."""
        return (self.factor,)

    def combinations(self, levels: Mapping[str, Sequence[str]]) -> list[Combination]:
        """The slope, as one combination."""
        _require(self.factor, tuple(self.doses), levels[self.factor])
        mean = sum(self.doses.values()) / max(1, len(self.doses))
        spread = sum((dose - mean) ** 2 for dose in self.doses.values())
        if len(self.doses) < 2 or spread == 0:
            raise PairstatsError(f"A trend needs at least two different doses, but got {dict(self.doses)}.")
        weights: dict[Levels, float] = {
            (level,): (dose - mean) / spread for level, dose in self.doses.items()
        }
        return [Combination(f"trend over {self.factor}", weights)]


def _pair(first: str, second: str) -> Combination:
    if first == second:
        raise PairstatsError(f"A level cannot be compared with itself, but both sides are {first!r}.")
    return Combination(f"{first} - {second}", {(first,): 1.0, (second,): -1.0})


def _require(factor: str, wanted: Sequence[str], there: Sequence[str]) -> None:
    absent = [name for name in dict.fromkeys(wanted) if name not in there]
    if absent:
        raise PairstatsError(f"{factor!r} has no level {listed(absent)}; its levels are {listed(there, 20)}.")
