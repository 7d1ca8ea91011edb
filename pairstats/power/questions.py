"""What the power of a protocol is asked about: each row that its contrasts would give, as weights of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairstats.contrasts import Trend
from pairstats.errors import PairstatsError, ProtocolError, listed
from pairstats.numeric.copula import FamilyCopula
from pairstats.pairs import Combined, combine
from pairstats.protocol import Protocol, build_claim, build_comparison
from pairstats.protocol.power_rule import PowerRule
from pairstats.protocol.values import ContrastRule, EstimandRule
from pairstats.simulate import Cell, cell_correlations, cell_rates
from pairstats.sums import Units
from pairstats.verdicts import Claim

BOUNDS = (0.0, 1.0)

_APPROXIMATE = {
    "all_correct": "the rate is that of whole families, whatever the copies",
    "flip_rate": "k copies are k - 1 comparisons of one rate",
}


@dataclass(frozen=True, eq=False)
class Assumed:
    """Cells of one estimand with their assumed values.

    Attributes
    ----------
    estimand : EstimandRule
    cells : tuple of tuple of str
    factors : tuple of str
    rates : ndarray, shape (C,)
    rho : ndarray, shape (C, C)
    """

    estimand: EstimandRule
    cells: tuple[Cell, ...]
    factors: tuple[str, ...]
    rates: np.ndarray
    rho: np.ndarray

    def units(self, copies: int) -> int:
        """Decisions that make up the score of one family in one cell.

        All-correct families are one decision. Flips of k copies are taken as k - 1 comparisons, which is
        exact for two copies.
        """
        return {"all_correct": 1, "flip_rate": copies - 1}.get(self.estimand.kind, copies)

    def copula(
        self, rule: PowerRule, columns: Sequence[int], rates: np.ndarray | None = None
    ) -> FamilyCopula:
        """Make the copula of some of the cells, at the assumed or at other rates."""
        chosen = list(columns)
        return FamilyCopula(
            self.rates[chosen] if rates is None else rates, icc=rule.icc,
            rho=self.rho[np.ix_(chosen, chosen)], instability=rule.instability,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Question:
    """One row that a contrast would give.

    Attributes
    ----------
    rule : ContrastRule
    claim : Claim
    label : str
        Which levels, and in which stratum.
    assumed : Assumed
    columns, weights : tuple of int, ndarray
        Cells of the combination and their weights.
    together : bool
        Whether the row shares an error rate with others.
    note : str
        What is approximate.
    """

    rule: ContrastRule
    claim: Claim
    label: str
    assumed: Assumed
    columns: tuple[int, ...]
    weights: np.ndarray
    together: bool
    note: str = ""

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of a family's difference."""
        found = Combined({}, self.columns, self.weights).range(BOUNDS)
        assert found is not None, "the bounds are known"
        return found

    @property
    def difference(self) -> float:
        """Assumed true value of the contrast."""
        return float(self.weights @ self.assumed.rates[list(self.columns)])

    @property
    def is_pair(self) -> bool:
        """Whether it is one level minus another, averaged or not."""
        half = len(self.columns) // 2
        return len(self.columns) == 2 * half and np.allclose(self.weights[:half], -self.weights[half:])


def questions(protocol: Protocol, rule: PowerRule) -> tuple[list[Question], dict[str, str]]:
    """Rows of all contrasts; second, the contrasts that cannot be simulated, and why.

    Raises
    ------
    ProtocolError
        When the rates do not fit the estimands or the factors, or a contrast names levels without a rate.
    """
    estimands = {each.name: each for each in protocol.estimands}
    foreign = [name for name in rule.rates if name not in estimands and name != "default"]
    if foreign:
        raise ProtocolError(
            f"[power] `rates` names {listed(foreign)}, which is no estimand; there are {listed(estimands, 20)}."
        )
    family = protocol.multiplicity.contrasts or [each.name for each in protocol.contrasts]
    found: list[Question] = []
    skipped: dict[str, str] = {}
    assumed: dict[str, Assumed] = {}
    for contrast in protocol.contrasts:
        estimand = estimands[contrast.estimand]
        why = "it compares rates of different families" if contrast.minus else _not_simulated(estimand)
        if why:
            skipped[contrast.name] = why
            continue
        try:
            if estimand.name not in assumed:
                assumed[estimand.name] = _assumed(protocol, rule, estimand)
            found += _rows(protocol, contrast, assumed[estimand.name], contrast.name in family)
        except PairstatsError as error:
            raise ProtocolError(f"[power] contrast {contrast.name!r}: {error}") from error
    return found, skipped


def _not_simulated(estimand: EstimandRule) -> str:
    """Why an estimand cannot be simulated from rates; empty where it can."""
    if estimand.kind in ("mean", "all_correct", "flip_rate"):
        return ""
    if estimand.kind == "share":
        return "its denominator is random" if "given" in estimand.args else ""
    return f"a {estimand.kind} does not follow from rates"


def _assumed(protocol: Protocol, rule: PowerRule, estimand: EstimandRule) -> Assumed:
    table = rule.rates.get(estimand.name, rule.rates.get("default"))
    if table is None:
        raise ProtocolError(
            f"the estimand {estimand.name!r} has no rates; write [power.rates.{estimand.name}]."
        )
    factors = tuple(rule.factors or protocol.design.cells)
    cells, rates = cell_rates(table, factors)
    return Assumed(estimand, cells, factors, rates, cell_correlations(cells, factors, rule.rho))


def _rows(protocol: Protocol, contrast: ContrastRule, assumed: Assumed, together: bool) -> list[Question]:
    comparison = build_comparison(contrast)
    absent = [name for name in comparison.factors if name not in assumed.factors]
    if absent:
        raise ProtocolError(
            f"it compares levels of {listed(absent)}, but the rates go by {listed(assumed.factors, 10)}. Set "
            "`factors` in [power] and give a rate for each level."
        )
    average = [contrast.average] if isinstance(contrast.average, str) else list(contrast.average)
    strata = [f for f in assumed.factors if f not in comparison.factors and f not in average]
    chosen = _chosen(assumed, {**assumed.estimand.where, **contrast.where})
    note = _APPROXIMATE.get(assumed.estimand.kind, "")
    if isinstance(comparison, Trend):
        note = "power of the sign-flip test of the slope"
    return [
        Question(
            contrast, build_claim(contrast), _label(combined, strata), assumed,
            tuple(chosen[column] for column in combined.columns), combined.weights, together, note,
        )
        for combined in combine(_cells_only(assumed, chosen), assumed.factors, strata, comparison)
        if combined.columns
    ]  # fmt: skip


def _chosen(assumed: Assumed, where: Mapping[str, Any]) -> list[int]:
    """Cells that a filter leaves; filters on other columns choose records, not cells."""

    def kept(cell: Cell) -> bool:
        return all(
            level in [str(v) for v in (wanted if isinstance(wanted, list) else [wanted])]
            for factor, level in zip(assumed.factors, cell, strict=True)
            if (wanted := where.get(factor)) is not None
        )

    return [k for k, cell in enumerate(assumed.cells) if kept(cell)]


def _cells_only(assumed: Assumed, chosen: Sequence[int]) -> Units:
    """Units without any value: `combine` reads their cells only."""
    cells = tuple(assumed.cells[k] for k in chosen)
    numbers, counts = np.zeros((0, len(cells))), np.zeros((0, len(cells)), dtype=np.int64)
    return Units((), np.zeros(0, dtype=np.intp), cells, numbers, numbers, counts, counts, counts)


def _label(combined: Combined, strata: Sequence[str]) -> str:
    inside = ", ".join(str(combined.labels[name]) for name in strata)
    return f"{combined.labels['contrast']}" + (f" ({inside})" if inside else "")
