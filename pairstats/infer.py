"""The verbs: estimates of cells, and contrasts between cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairstats._version import __version__
from pairstats.arguments import checked
from pairstats.asking import check_comparison, check_estimand, check_panel, remarks
from pairstats.contrasts import Comparison
from pairstats.errors import PairstatsError, one_of
from pairstats.estimands import Estimand
from pairstats.interval_names import as_interval
from pairstats.intervals import FamilyInterval, IntervalKind
from pairstats.numeric.multiplicity import adjust as adjust_p
from pairstats.pairs import Compared, combine, compare, paired_units
from pairstats.panel import Panel
from pairstats.result import Estimates, concat
from pairstats.rows import Asked, cell_row
from pairstats.sums import Units

MISSING_RULES = ("common", "refuse", "drop-family")


@checked
def estimate(
    panel: Panel,
    estimand: Estimand | Sequence[Estimand],
    *,
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> Estimates:
    """Estimate a quantity in every cell of a panel, with an interval over families.

    Use it for one value a cell: accuracy, flip rate, Brier score, shares. Not to compare cells by whether their
    intervals overlap; `contrast` covers that, on the units they share.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand or sequence of Estimand
        For example ``Mean("score")`` or ``FlipRate("answer")``.
    interval : FamilyInterval, Bootstrap, CR2 or str, optional
        By default family-Jeffreys, or CR2-t for values without a known range.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
        "greater": lower limit only; "less": upper limit only.

    Returns
    -------
    Estimates
        One row a cell. ``n_units`` counts units (repeats averaged), ``n_missing`` planned replies (for flips:
        pairs of replies) that do not count; ``bound_low`` and ``bound_high`` are the worst and best case of
        the missing ones. A cell without any value keeps its row, with the reason in ``note``.

    Notes
    -----
    Formulas and sources: `family_interval`, `bootstrap_interval`, `exact_law`, `cr2_interval` of
    `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean, Panel
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(20)], "item": "q", "model": "m",
    ...                      "score": [1.0] * 17 + [0.0] * 3})
    >>> estimate(Panel(rows), Mean("score"))
    estimand model estimate [95 %]         families missing method
    accuracy m     0.850    [0.651, 0.956] 20       0       family-jeffreys
    """
    if isinstance(estimand, Sequence):
        if not len(estimand):
            raise PairstatsError("`estimand` must hold at least one estimand, but it is empty.")
        return concat([
            estimate(panel, one, interval=interval, confidence_level=confidence_level, alternative=alternative)
            for one in estimand
        ])  # fmt: skip
    check_estimand(panel, estimand)
    asked = asked_for(panel, estimand, interval, confidence_level, alternative)
    unit = panel.unit_of(estimand)
    units = Units.collect(panel.rows(), estimand, panel.family, panel.cells, unit)
    rows = [cell_row(asked, units, cell) for cell in units.cells]
    return Estimates.from_rows(rows, factors=panel.cells, provenance=_provenance(asked, units))


@checked
def contrast(
    panel: Panel,
    estimand: Estimand,
    comparison: Comparison,
    *,
    average: Sequence[str] | str = (),
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    missing: str = "common",
    adjust: str | None = "holm",
) -> Estimates:
    """Compare cells on the units they share, with a paired interval and the exact sign-flip test.

    Use it for every comparison of models, conditions or presentations. Not to show that two are the same:
    `margin_test` covers that; nor for intervals that hold together, which `simultaneous` gives.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
    comparison : Pairwise, Versus, Interaction or Trend
        Which levels of which factor. Within each combination of the panel's other cells.
    average : str or sequence of str, default ()
        Cells to average over with equal weights instead; families move together for all of them.
    interval : FamilyInterval, Bootstrap, CR2 or str, optional
        As in `estimate`.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
    missing : {"common", "refuse", "drop-family"}, default "common"
        Compare the units that every side answered, raise where any is missing, or leave out families with
        a missing unit.
    adjust : str or None, default "holm"
        Multiplicity adjustment over all rows of the call.

    Returns
    -------
    Estimates
        One row a pair: first minus second. ``statistic`` is the sum of family differences; ``n_first_only``
        and ``n_second_only`` count the units in which the first or the second is higher (for 0/1 scores the
        discordant counts of McNemar); ``n_missing`` the units that only one side has.

    Notes
    -----
    Labels are exchanged within whole families, so that copies and repeats move together; with one 0/1 unit a
    family the test is exact McNemar. The interval is at the nominal level: it is not adjusted. Where the panel
    declares ``population="these_cases"`` only repeats are random: labels are exchanged between the replies to
    each case, and the interval is of `pairstats.numeric.these_cases_difference`.

    Formulas and sources: `family_interval`, `sign_flip`, `clustered_difference`, `swap_test` of
    `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean, Panel, Pairwise
    >>> items = [f"q{i}" for i in range(12)]
    >>> a = pd.DataFrame({"item": items, "model": "a", "score": [1.0] * 10 + [0.0] * 2})
    >>> b = a.assign(model="b", score=[1.0] * 2 + [0.0] * 10)
    >>> rows = pd.concat([a, b]).assign(family=lambda t: t["item"])
    >>> contrast(Panel(rows), Mean("score"), Pairwise("model")).frame["p_value"].item()
    0.0078125
    """
    found = compared(
        panel, estimand, comparison, average=average, interval=interval, confidence_level=confidence_level,
        alternative=alternative, missing=missing,
    )  # fmt: skip
    return adjusted([found.estimates()], adjust)[0]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """All comparisons of one question, before they are adjusted and judged.

    Attributes
    ----------
    asked : Asked
    units : Units
    factors : tuple of str
        Strata within which cells were compared.
    compared : tuple of Compared
    """

    asked: Asked
    units: Units
    factors: tuple[str, ...]
    compared: tuple[Compared, ...]

    def estimates(self) -> Estimates:
        """Rows as they stand."""
        return Estimates.from_rows(
            [each.row for each in self.compared],
            factors=self.factors,
            provenance=_provenance(self.asked, self.units),
        )


def compared(
    panel: Panel,
    estimand: Estimand,
    comparison: Comparison,
    *,
    average: Sequence[str] | str = (),
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    missing: str = "common",
) -> Comparisons:
    """Compare as `contrast` does, and keep the family totals behind every row; nothing is adjusted."""
    one_of("missing", missing, MISSING_RULES)
    check_panel(panel)
    check_estimand(panel, estimand)
    check_comparison(panel, comparison)
    average = (average,) if isinstance(average, str) else tuple(average)
    cells = tuple(dict.fromkeys((*panel.cells, *average, *comparison.factors)))
    asked = asked_for(panel.by(cells), estimand, interval, confidence_level, alternative)
    units, paired = paired_units(asked, comparison.factors, cells, average)
    strata = tuple(name for name in cells if name not in comparison.factors and name not in average)
    rows = [
        compare(asked, units, combined, comparison, paired, missing)
        for combined in combine(units, cells, strata, comparison)
    ]
    return Comparisons(asked, units, strata, tuple(rows))


def adjusted(parts: Sequence[Estimates], method: str | None) -> list[Estimates]:
    """Adjust the p-values of several results together: they share one error rate.

    Parameters
    ----------
    parts : sequence of Estimates
    method : str or None
        As in `pairstats.numeric.adjust`; None leaves them alone.

    Returns
    -------
    list of Estimates
        The same results with ``p_adjusted`` filled. Rows without a p-value do not count as tests.
    """
    rows = [[dict(row) for row in part] for part in parts]
    tested = [row for part in rows for row in part if row["p_value"] is not None]
    if method is None or not tested:
        return list(parts)
    for row, p in zip(tested, adjust_p([row["p_value"] for row in tested], method), strict=True):
        row["p_adjusted"] = float(p)
    return [
        Estimates.from_rows(each, factors=part.factors, provenance={**part.provenance, "adjust": method})
        for each, part in zip(rows, parts, strict=True)
    ]


def asked_for(
    panel: Panel,
    estimand: Estimand,
    interval: IntervalKind | str | None,
    level: float,
    alternative: str = "two-sided",
) -> Asked:
    """Put what a user asked into one value."""
    chosen = None if interval is None else as_interval(interval)
    return Asked(panel, estimand, chosen, level, alternative, remarks(panel, estimand))


def _provenance(asked: Asked, units: Units) -> dict[str, Any]:
    return {
        "pairstats": __version__,
        "input_digest": units.digest(),
        "interval": (asked.interval or FamilyInterval()).name,
        "confidence_level": asked.level,
        "no_answer": asked.panel.no_answer,
        "population": asked.panel.population,
    }
