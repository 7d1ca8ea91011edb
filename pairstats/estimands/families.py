"""Estimands that take a whole family at once: flips, and all decisions right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw

from pairstats.arguments import checked_value
from pairstats.errors import PairingError, PairstatsError, listed
from pairstats.estimands.base import ONE, Rows, add_up, as_number, count, present
from pairstats.schema import is_score

MOST_LABELS = 26
_BLANK = "\x00no answer"


def lacking_variants(levels: Iterable[str], wanted: Sequence[str] = (), reference: str | None = None) -> str:
    """Say that rows hold no two variants to compare, and what gives them; empty where they do.

    Examples
    --------
    >>> lacking_variants(["base"])
    "there are no two variants to compare, only 'base': map variant= in read_runs"
    >>> lacking_variants(["base", "moved"]), lacking_variants(["a", "b"], reference="base")
    ('', "there are no two variants to compare, only 'a', 'b' without 'base': map variant= in read_runs")
    """
    there = sorted(set(levels) & set(wanted or levels))
    without = reference is not None and reference not in there
    if len(there) > 1 and not without:
        return ""
    only = f"only {listed(there)}" if there else "none of those named"
    only += f" without {reference!r}" if without else ""
    return f"there are no two variants to compare, {only}: map variant= in read_runs"


@checked_value
@dataclass(frozen=True, slots=True)
class FlipRate:
    r"""How often two presentations of one question get different answers.

    Use it as the flip rate, for any number of copies. Not to say whether flips harm, which `flip_table` and
    `silent_errors` do, nor as the effect of a wording without a noise floor (`excess_flips`,
    `control_flips`).

    All pairs of replies from different variants are compared, over all repeats, inside a family. The value
    is the mean over families of :math:`d_f / k_f` (differing pairs of all pairs), which for two copies is
    the share of families that flip. A pair with an error is dropped and counted. Where replies
    without an answer count (``no_answer="wrong"``), they are one value of their own among answers, and wrong
    among scores: against a wrong reply they are a flip of the answer, and none of the score.

    Parameters
    ----------
    column : str, default "answer"
        ``"answer"`` compares canonical answers, ``"score"`` whether they are right.
    reference : str, optional
        Compare every other variant with this one only.
    variants : sequence of str, optional
        Compare these variants only.
    within : sequence of str, default ()
        Columns that tell the questions of one family apart; needed where a family has several.
    label : str, optional

    Notes
    -----
    Formula and sources: `flip_rate` and `family_interval` of `pairstats.numeric`.

    Examples
    --------
    >>> FlipRate("score", reference="base", variants=["base", "reordered"]).name
    'flip_rate(score)'
    """

    column: str = "answer"
    reference: str | None = None
    variants: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        for name in ("variants", "within"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if self.reference is not None and self.variants and self.reference not in self.variants:
            raise PairstatsError(
                f"The reference {self.reference!r} must be among the variants {listed(self.variants, 10)}."
            )

    weight: ClassVar[str] = "family"
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)

    @property
    def name(self) -> str:
        return self.label or f"flip_rate({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def better(self) -> str:
        """Side that is better."""
        return "lower"

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        return (*self.within, *(name for name in apart if name not in self.within))

    def remarks(self, rows: Rows) -> list[str]:
        """Say which variants are missing; warn where option labels are compared: they move when options do."""
        levels = rows.select("variant").unique().collect()["variant"].to_list()
        if lacking := lacking_variants(levels, self.variants, self.reference):
            return [lacking]
        if is_score(self.column):
            return []
        values = rows.select(nw.col(self.column).cast(nw.String)).unique().head(MOST_LABELS + 2).collect()
        texts = [text for text in values[self.column].to_list() if isinstance(text, str) and text]
        labels = bool(texts) and len(texts) <= MOST_LABELS and all(len(t) == 1 and t.isupper() for t in texts)
        return ["option labels are compared: where options move, map options= to compare texts"] * labels

    def reduce(self, rows: Rows, by: Sequence[str], unit: Sequence[str]) -> Rows:
        keys = list(dict.fromkeys([*by, *unit]))  # a cell may be among the columns of `within`
        chosen = rows.filter(nw.col("variant").is_in(list(self.variants))) if self.variants else rows
        self._refuse_several_questions(chosen, keys)
        valued = self._valued(chosen)
        planned = self._pairs(valued, keys, "planned")
        compared = self._pairs(valued.filter(nw.col("is_valid")), keys, "valid")
        agreeing = self._agreeing(valued, keys)
        counted = nw.col("is_valid") & nw.col("is_blank")
        blank = add_up(valued, keys, n_blank=count(counted))
        joined = planned.join(compared, on=keys, how="left").join(agreeing, on=keys, how="left")
        joined = joined.join(blank, on=keys, how="left")
        valid, agree = nw.col("pairs_valid").fill_null(0), nw.col("agree").fill_null(0)
        return joined.select(
            *(nw.col(key) for key in keys),
            as_number(valid - agree).alias("num"),
            as_number(valid).alias("den"),
            valid.alias("n_valid"),
            nw.col("pairs_planned").alias("n_planned"),
            (nw.col("n_blank").fill_null(0) * count(valid > 0)).alias("n_blank"),
        )

    def _valued(self, rows: Rows) -> Rows:
        """Give every reply a text to compare; one without an answer gets the same text as all such."""
        column = nw.col(self.column)
        text = (column.round(9) if is_score(self.column) else column).cast(nw.String)
        blank = nw.col("is_blank") & nw.lit(not is_score(self.column))
        return rows.with_columns(
            value=nw.when(blank).then(nw.lit(_BLANK)).otherwise(text),
            is_valid=~nw.col("is_missing") & nw.col("is_counted") & (blank | ~column.is_null()),
        )

    def _pairs(self, rows: Rows, keys: Sequence[str], name: str) -> Rows:
        """Pairs of replies from different variants: (T^2 - sum T_v^2) / 2, or T_ref (T - T_ref)."""
        by_variant = add_up(rows, [*keys, "variant"], n=ONE)
        ref = count(self._is_reference()) * nw.col("n")
        totals = add_up(by_variant, keys, total=nw.col("n"), squares=nw.col("n") * nw.col("n"), ref=ref)
        return totals.select(
            *(nw.col(k) for k in keys), self._across("total", "squares", "ref").alias(f"pairs_{name}")
        )

    def _agreeing(self, rows: Rows, keys: Sequence[str]) -> Rows:
        """Pairs from different variants that give the same value."""
        valid = rows.filter(nw.col("is_valid"))
        cells = add_up(valid, [*keys, "value", "variant"], n=ONE)
        ref = count(self._is_reference()) * nw.col("n")
        values = add_up(
            cells, [*keys, "value"], total=nw.col("n"), squares=nw.col("n") * nw.col("n"), ref=ref
        )
        pairs = self._across("total", "squares", "ref")
        return add_up(values, keys, agree=pairs)

    def _is_reference(self) -> nw.Expr:
        return nw.col("variant") == nw.lit(self.reference or "")

    def _across(self, total: str, squares: str, ref: str) -> nw.Expr:
        everything, reference = nw.col(total), nw.col(ref)
        if self.reference is not None:
            return reference * (everything - reference)
        return (everything * everything - nw.col(squares)) // 2

    def _refuse_several_questions(self, rows: Rows, keys: Sequence[str]) -> None:
        items = add_up(rows, [*keys, "variant", "item"], n=ONE)
        several = add_up(items, [*keys, "variant"], items=ONE).filter(nw.col("items") > 1).head(1).collect()
        if len(several):
            row = several.row(0)
            where = ", ".join(f"{key}={value!r}" for key, value in zip([*keys, "variant"], row, strict=False))
            raise PairingError(
                f"A flip compares answers to one question, but {row[-1]} items share {where}. Say what tells "
                'the questions of a family apart, for example FlipRate(within="item"), or map family= to the '
                "question."
            )


@checked_value
@dataclass(frozen=True, slots=True)
class AllCorrect:
    r"""Share of families in which every decision is right.

    Use it as the strict score of a family. Not without the rate of single decisions and the distribution of the
    number right, which `number_correct` gives, nor across families of different size: it falls with it.

    One repeat of all units is one pass over the family. The family's value is the share of its complete
    passes in which every score is full; a pass with a missing decision is missing.

    Parameters
    ----------
    column : str, default "score"
    size : int, optional
        Decisions a family must have; by default as many as the family has in any cell.
    full : float, default 1
        Score of a right decision.
    label : str, optional

    Notes
    -----
    Formula and sources: `number_correct` and `clopper_pearson` of `pairstats.numeric`.

    Examples
    --------
    >>> AllCorrect(size=8).name
    'all_correct'
    """

    column: str = "score"
    size: int | None = None
    full: float = 1.0
    label: str = "all_correct"

    weight: ClassVar[str] = "family"
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)

    @property
    def name(self) -> str:
        return self.label

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def numbers(self) -> tuple[str, ...]:
        return self.columns

    @property
    def better(self) -> str:
        """Side that is better."""
        return "higher"

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        return tuple(apart)

    def reduce(self, rows: Rows, by: Sequence[str], unit: Sequence[str]) -> Rows:
        family, *_ = by
        valid = present([self.column])
        right = valid & (nw.col(self.column) >= self.full - 1e-9)
        passes = add_up(
            rows, [*by, *unit, "repeat"], n=count(valid), right=count(right), blank=count(nw.col("is_blank"))
        )
        sized = passes.join(self._sizes(rows, family), on=[family], how="left")
        complete = nw.col("n") == nw.col("size")
        return add_up(
            sized, [*by, *unit],
            num=as_number(complete & (nw.col("right") == nw.col("size"))), den=as_number(complete),
            n_valid=count(complete), n_planned=ONE, n_blank=count(complete & (nw.col("blank") > 0)),
        )  # fmt: skip

    def _sizes(self, rows: Rows, family: str) -> Rows:
        units = add_up(rows, [family, "item", "variant"], n=ONE)
        counted = add_up(units, [family], found=ONE)
        size = nw.col("found") if self.size is None else nw.lit(self.size)
        return counted.select(nw.col(family), size.alias("size"))
