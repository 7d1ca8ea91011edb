"""Means, shares and ratios over the decisions of a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw

from pairstats.arguments import checked_value
from pairstats.conditions import Condition
from pairstats.errors import one_of
from pairstats.estimands.base import Rows, as_number, means, present
from pairstats.schema import is_score


@checked_value
@dataclass(frozen=True, slots=True)
class Mean:
    r"""Mean of a column: accuracy when the column is a 0/1 score.

    Use it for accuracy, partial credit, tokens and seconds. Not where only some decisions belong to the
    denominator, which `Share` covers, nor for squared errors of confidence (`Brier`).

    Repeats are averaged inside a unit, units inside a family. With ``weight="item"`` the value is
    :math:`\sum_f s_f / \sum_f n_f`, with ``weight="family"`` the mean of the family means.

    Parameters
    ----------
    column : str, default "score"
    weight : {"item", "family"}, default "item"
    bounds : tuple of float, optional
        Range of the column. Known for scores and confidences; others have none.
    label : str, optional
        Name in the results; by default ``mean(<column>)``, and ``accuracy`` for ``score``.

    Notes
    -----
    Limits and sources: `family_interval` of `pairstats.numeric` where the range is known, else `cr2_interval`.

    Examples
    --------
    >>> Mean("score").name
    'accuracy'
    """

    column: str = "score"
    weight: str = "item"
    bounds: tuple[float, float] | None = None
    label: str = ""

    def __post_init__(self) -> None:
        one_of("weight", self.weight, ("item", "family"))
        named = isinstance(self.column, str) and (is_score(self.column) or self.column == "confidence")
        if self.bounds is None and named:
            object.__setattr__(self, "bounds", (0.0, 1.0))

    @property
    def name(self) -> str:
        return self.label or ("accuracy" if self.column == "score" else f"mean({self.column})")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def numbers(self) -> tuple[str, ...]:
        return self.columns

    @property
    def better(self) -> str:
        """Side that is better: a score is, a measurement has none."""
        return "higher" if is_score(self.column) else ""

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        return tuple(unit)

    def reduce(self, rows: Rows, by: Sequence[str], unit: Sequence[str]) -> Rows:
        return means(rows, [*by, *unit], present([self.column]), nw.col(self.column), nw.lit(1.0))


@checked_value
@dataclass(frozen=True, slots=True)
class Brier:
    r"""Mean squared distance of the stated confidence from the score, :math:`\mathrm{mean}\,(f - y)^2`.

    Use it to compare the stated confidence of models, with `contrast`. Not to say what is wrong with it:
    `brier_parts` takes it apart, `calibration_summary` has the sign.

    A row without a confidence or without a score is missing and counted.

    Parameters
    ----------
    confidence : str, default "confidence"
    score : str, default "score"
    label : str, optional

    Notes
    -----
    Limits and sources: `brier_difference` and `family_interval` of `pairstats.numeric`.

    References
    ----------
    Brier, G. W. (1950). Monthly Weather Review 78, 1-3. doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    Examples
    --------
    >>> Brier().columns
    ('confidence', 'score')
    """

    confidence: str = "confidence"
    score: str = "score"
    label: str = "brier"

    weight: ClassVar[str] = "item"
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)

    @property
    def name(self) -> str:
        return self.label

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.confidence, self.score)

    @property
    def numbers(self) -> tuple[str, ...]:
        return self.columns

    @property
    def better(self) -> str:
        """Side that is better."""
        return "lower"

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        return tuple(unit)

    def reduce(self, rows: Rows, by: Sequence[str], unit: Sequence[str]) -> Rows:
        error = nw.col(self.confidence) - nw.col(self.score)
        return means(rows, [*by, *unit], present(self.columns), error * error, nw.lit(1.0))


@checked_value
@dataclass(frozen=True, slots=True)
class Share:
    r"""Share of decisions with an event, of all or of those that meet a condition.

    Use it for rates of an outcome, confident errors, and shares of a subset. Not for a mean of numbers, which
    `Mean` covers. With `given` the denominator is random: numerator and denominator are resampled together by
    family.

    Parameters
    ----------
    event : str or Condition
        For example ``"score < 1"`` or ``"outcome == followed_spec"``.
    given : str or Condition, optional
        For example ``"confidence >= 0.9"``.
    label : str, optional

    Notes
    -----
    Formula and sources: `family_share` of `pairstats.numeric`.

    Examples
    --------
    >>> Share("score < 1", given="confidence >= 0.9").name
    'share(score < 1 | confidence >= 0.9)'
    """

    event: str | Condition
    given: str | Condition | None = None
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "event", Condition.parse(self.event))
        if self.given is not None:
            object.__setattr__(self, "given", Condition.parse(self.given))

    weight: ClassVar[str] = "item"
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)

    @property
    def name(self) -> str:
        condition = "" if self.given is None else f" | {self.given}"
        return self.label or f"share({self.event}{condition})"

    @property
    def columns(self) -> tuple[str, ...]:
        given = () if self.given is None else Condition.parse(self.given).columns
        return tuple(dict.fromkeys((*Condition.parse(self.event).columns, *given)))

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        return tuple(unit)

    def reduce(self, rows: Rows, by: Sequence[str], unit: Sequence[str]) -> Rows:
        event = Condition.parse(self.event).holds()
        given = nw.lit(True) if self.given is None else Condition.parse(self.given).holds()
        return means(rows, [*by, *unit], present(self.columns), as_number(event & given), as_number(given))


@checked_value
@dataclass(frozen=True, slots=True)
class Ratio:
    r"""Ratio of the totals of two columns, :math:`\sum_f s_f / \sum_f n_f`, both resampled together.

    Use it for cost per reply or tokens per second. Not for a share of decisions, which `Share` covers, nor for
    the ratio of two models' medians (`usage`). Where families have a numerator but no denominator (cost, but no
    right answer) all count in the value, which then has no interval.

    Parameters
    ----------
    numerator, denominator : str
        Numeric columns; the denominator must not be negative.
    bounds : tuple of float, optional
        Range of the ratio of any one decision, if it has one.
    label : str, optional

    Notes
    -----
    Formula and sources: `family_share` of `pairstats.numeric`, and `cr2_interval` without a range.

    Examples
    --------
    >>> Ratio("cost_usd", "score").name
    'ratio(cost_usd/score)'
    """

    numerator: str
    denominator: str
    bounds: tuple[float, float] | None = None
    label: str = ""

    weight: ClassVar[str] = "item"

    @property
    def name(self) -> str:
        return self.label or f"ratio({self.numerator}/{self.denominator})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.numerator, self.denominator)

    @property
    def numbers(self) -> tuple[str, ...]:
        return self.columns

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        return tuple(unit)

    def reduce(self, rows: Rows, by: Sequence[str], unit: Sequence[str]) -> Rows:
        numerator, denominator = nw.col(self.numerator), nw.col(self.denominator)
        return means(rows, [*by, *unit], present(self.columns), numerator, denominator)
