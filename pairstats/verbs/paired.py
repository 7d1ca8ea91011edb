"""Two levels of a factor on the same 0/1 items by every method a referee may ask for, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.contrasts import Comparison, Trend
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand, Mean
from pairstats.estimands.base import better_side
from pairstats.infer import asked_for, compared
from pairstats.numeric.checks import EstimateInterval
from pairstats.numeric.clustered_odds import clustered_odds_ratio
from pairstats.numeric.clustered_tests import clustered_mcnemar
from pairstats.numeric.discordant import MCNEMAR_METHODS, mcnemar, mcnemar_odds_ratio
from pairstats.numeric.effective import METHODS as EFFECTIVE
from pairstats.numeric.effective import clustered_difference_interval
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import KINDS, family_interval
from pairstats.numeric.noninferiority import family_margin_test
from pairstats.numeric.paired_differences import DIFFERENCE_METHODS, paired_difference_interval
from pairstats.numeric.sandwich import cluster_robust
from pairstats.numeric.wild import wild_cluster
from pairstats.pairs import paired_units
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, families_only, joined
from pairstats.verbs.replies import noted, number, provenance
from pairstats.verdicts import side_note

CLUSTERED = ("obuchowski", "durkalski", "yang", "eliasziw-donner")
VAIN_AT_ALL = "this many families could not have established the claim"
VAIN = {"noninferiority": "had no family differed, this many could not have established the claim"}
ESTABLISHED = {"superiority": "superior", "noninferiority": "noninferior", "equivalence": "equivalent"}


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Shared items of two levels: four counts of each family."""

    labels: dict[str, Any]
    counts: np.ndarray
    row: dict[str, Any]

    @property
    def gaps(self) -> np.ndarray:
        """Items that only the first got right minus those that only the second did, by family."""
        gaps: np.ndarray = self.counts[:, 1] - self.counts[:, 2]
        return gaps

    @property
    def sizes(self) -> np.ndarray:
        """Items of each family."""
        sizes: np.ndarray = self.counts.sum(axis=1)
        return sizes

    @property
    def totals(self) -> list[int]:
        """Both right, first only, second only, neither: over all families."""
        return [int(n) for n in self.counts.sum(axis=0)]

    @property
    def independent(self) -> bool:
        """Whether every family is one item, so that the items are independent."""
        return bool((self.sizes == 1).all())


@checked
def paired_tests(panel: Panel, factor: str = "model", column: str = "score") -> Estimates:
    """Every test of two levels of a factor on the same 0/1 items, side by side.

    Use it as a sensitivity analysis, or to compare with a paper that took one of them. Not to choose the
    smallest p-value: the registered test is the exact sign-flip of `contrast`, the first row. Where families
    hold several items, the tests for independent items are left out.

    Parameters
    ----------
    panel : Panel
        One reply to each item at each level.
    factor : str, default "model"
    column : str, default "score"
        0 or 1.

    Returns
    -------
    Estimates
        For each pair of levels a row a ``method``: sign-flip (exact, mid-p), Obuchowski, Durkalski, Yang,
        Eliasziw-Donner, CR2 t, wild cluster; on single items McNemar (exact, mid-p, chi-square with and
        without correction, unconditional). No p-value is adjusted.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `wild_cluster`, `sign_flip`, `mcnemar`, `clustered_mcnemar` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> a = pd.DataFrame({"family": [f"f{i}" for i in range(12)], "item": "q", "model": "a", "score": 1.0})
    >>> rows = pd.concat([a, a.assign(model="b", score=[0.0] * 8 + [1.0] * 4)])
    >>> paired_tests(Panel(rows)).where(method="mcnemar exact").frame["p_value"].item()
    0.0078125
    """
    rows: list[dict[str, Any]] = []
    for pair in _pairs(panel, factor, column, 0.95):
        rows += [noted(panel, pair.row | one) for one in _tests(pair)] if len(pair.counts) else [pair.row]
    others = tuple(name for name in panel.cells if name != factor)
    return Estimates.from_rows(rows, factors=others, provenance=provenance(panel, factor=factor))


@checked
def paired_intervals(
    panel: Panel, factor: str = "model", column: str = "score", *, confidence_level: float = 0.95
) -> Estimates:
    """Every interval for the difference of two levels of a factor on the same 0/1 items, and the odds ratio.

    Use it as a sensitivity analysis, or to compare with a paper. Not to choose the shortest: the default of
    `contrast` is the first row. Where families hold several items, intervals for independent items are made
    with an effective number of items, and the odds ratio is the marginal one of a GEE logit.

    Parameters
    ----------
    panel, factor, column
        As in `paired_tests`.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        For each pair of levels a row a ``method``: family-jeffreys, family-cp, cr2-t, and Tango,
        Bonett-Price, Newcombe and Agresti-Min with effective n; on single items the same as published. Rows
        ``odds_ratio``: exact, mid-p and Wilson on single items, else with Mancl and DeRouen's variance.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `mcnemar_odds_ratio`, `clustered_odds_ratio`, `paired_difference_interval`,
    `clustered_difference_interval` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> a = pd.DataFrame({"family": [f"f{i}" for i in range(12)], "item": "q", "model": "a", "score": 1.0})
    >>> rows = pd.concat([a, a.assign(model="b", score=[0.0] * 8 + [1.0] * 4)])
    >>> round(paired_intervals(Panel(rows)).where(method="tango").frame["conf_low"].item(), 3)
    0.263
    """
    rows: list[dict[str, Any]] = []
    for pair in _pairs(panel, factor, column, confidence_level):
        found = _intervals(pair, confidence_level) if len(pair.counts) else ()
        rows += [noted(panel, pair.row | one) for one in found] if found else [pair.row]
    others = tuple(name for name in panel.cells if name != factor)
    return Estimates.from_rows(rows, factors=others, provenance=provenance(panel, factor=factor))


@checked
def margin_test(
    panel: Panel,
    estimand: Estimand,
    comparison: Comparison,
    *,
    claim: str,
    margin: float | tuple[float, float] = 0.0,
    method: str = "family-cp",
    alpha: float | None = None,
) -> Estimates:
    """Test superiority, non-inferiority or equivalence of two cells against a margin, over families.

    Use it for a claim that was fixed before the outcomes were seen. Not for a registered study; a protocol
    (`run_protocol`) covers that, with multiplicity and sensitivity. "Not significantly different" in `contrast`
    is no equivalence.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With a known range.
    comparison : Pairwise, Versus or Interaction
    claim : {"superiority", "noninferiority", "equivalence"}
    margin : float or (float, float)
        In the unit of the estimand; for equivalence also (how much worse, how much better).
    method : {"family-cp", "family-jeffreys", "t", "obuchowski", "durkalski", "yang"}
        As in `pairstats.numeric.family_margin_test`.
    alpha : float, optional
        Superiority: two-sided, default 0.05. Non-inferiority: one-sided, default 0.025. Equivalence: on each
        side, default 0.05.

    Returns
    -------
    Estimates
        One row a pair, with the interval that goes with the claim (at 1 - 2 alpha but for superiority), the
        p-value of the claim, and ``verdict``: "inconclusive" where it is not shown. Not adjusted. ``null`` is the
        difference that a claim of superiority or non-inferiority is tested against; ``margin`` the larger one
        of two, ``note`` has both.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `margin_test`, `family_margin_test` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Pairwise
    >>> a = pd.DataFrame({"family": [f"f{i}" for i in range(48)], "item": "q", "model": "a", "score": 1.0})
    >>> rows = pd.concat([a, a.assign(model="b")])
    >>> margin_test(Panel(rows), Mean(), Pairwise("model"), claim="equivalence", margin=0.1).frame["verdict"].item()
    'equivalent'
    """
    if isinstance(comparison, Trend):
        raise PairstatsError("A claim against a margin is for two sides, not for a Trend. Use contrast().")
    families_only(panel, "A claim against a margin")
    preferred = better_side(estimand)
    found = compared(panel, estimand, comparison)
    rows: list[dict[str, Any]] = []
    for one in found.compared:
        row = one.combined.labels | found.asked.described() | one.counted(method)
        row |= {"claim": claim, "margin": max(map(abs, np.atleast_1d(margin).tolist()))}
        if one.totals is None and one.row.get("n_families"):
            raise PairstatsError(
                f"The sides of {estimand.name} have different denominators, so there are no family differences "
                "to hold against a margin. Compare the limits of contrast() with it."
            )
        if one.totals is None:
            rows.append(row | {"verdict": "not estimable"})
            continue
        bounds = (-1.0, 1.0) if method == "t" else one.totals.in_range(method)
        test = family_margin_test(
            one.totals.means, claim=claim, margin=margin, sizes=one.totals.den, method=method, alpha=alpha,
            bounds=bounds,
        )  # fmt: skip
        vain = [VAIN.get(claim, VAIN_AT_ALL)] if not (test.attainable or test.established) else []
        worse, better = test.margin
        null, held = {
            "superiority": (0.0, []),
            "noninferiority": (worse, [f"one-sided p of {worse:g} or worse"]),
            "equivalence": (None, [f"p of two one-sided tests against {worse:g} and {better:g}"]),
        }[claim]
        shown = "higher" if claim == "superiority" and preferred != "higher" else ESTABLISHED[claim]
        columns = {
            "estimate": test.estimate, "conf_low": test.low, "conf_high": test.high,
            "conf_level": test.confidence_level, "statistic": test.statistic, "p_value": test.p_value,
            "method": test.method, "verdict": shown if test.established else "inconclusive",
            "null": null,
        }  # fmt: skip
        row["note"] = joined([*vain, *held, side_note(claim, preferred), row["note"]])
        rows.append(row | columns)
    settings = provenance(panel, claim=claim, margin=margin, method=method)
    return Estimates.from_rows(rows, factors=found.factors, provenance=settings)


def _pairs(panel: Panel, factor: str, column: str, level: float) -> Iterator[_Pair]:
    """Shared 0/1 items of each two levels, in each combination of the other cells."""
    panel.require(factor, column)
    families_only(panel, "A paired comparison")
    partial = [value for value in panel.levels(column) if value not in (0, 1)]
    if partial:
        raise PairstatsError(
            f"Column {column!r} must hold 0 or 1, but it holds {partial[0]}. Use contrast() for partial credit."
        )
    others = tuple(name for name in panel.cells if name != factor)
    asked = asked_for(panel.by((*others, factor)), Mean(column), None, level)
    units, _ = paired_units(asked, (factor,), asked.panel.cells)
    if (units.n_valid > 1).any():
        raise PairstatsError(
            "These methods take one reply to each item, but some have several. Choose a repeat with "
            "panel.where(repeat=0), or use contrast(), which averages them."
        )
    for key in sorted({cell[:-1] for cell in units.cells}):
        columns = [c for c, cell in enumerate(units.cells) if cell[:-1] == key]
        for first, second in combinations(columns, 2):
            names = units.cells[first][-1], units.cells[second][-1]
            labels = {"contrast": f"{names[0]} - {names[1]}", **dict(zip(others, key, strict=True))}
            yield _pair(asked, units, labels, [first, second])


def _pair(asked: Asked, units: Any, labels: dict[str, Any], columns: list[int]) -> _Pair:
    chosen = units.common(columns)
    planned = (units.n_planned[:, columns] > 0).any(axis=1)
    one, two = units.num[chosen][:, columns].T
    cells = np.column_stack([one * two, one * (1 - two), (1 - one) * two, (1 - one) * (1 - two)])
    _, family = np.unique(units.family_of[chosen], return_inverse=True)
    counts = np.zeros((int(family.max(initial=-1)) + 1, 4))
    np.add.at(counts, family, np.rint(cells))
    row = asked.described() | labels | {
        "null": 0.0, "n_units": int(chosen.sum()), "n_missing": int((planned & ~chosen).sum()),
        "n_families": len(counts), "n_first_only": int(counts[:, 1].sum()),
        "n_second_only": int(counts[:, 2].sum()),
    }  # fmt: skip
    if not len(counts):
        row |= {"note": "no results: no item is answered on both sides"}
    else:
        row |= {"estimate": float((counts[:, 1] - counts[:, 2]).sum() / counts.sum())}
    return _Pair(labels, counts, row)


def _tests(pair: _Pair) -> Iterator[dict[str, Any]]:
    for method in ("exact", "mid-p"):
        flip = sign_flip(pair.gaps, method=method)
        named = {"method": f"sign-flip {method}", "statistic": flip.statistic}
        yield named | {"p_value": flip.p_value, "p_floor": flip.p_floor}
    for method in CLUSTERED:
        square = clustered_mcnemar(*pair.counts.T, method=method)
        yield {"method": method, "statistic": square.statistic, "p_value": square.p_value}
    means = pair.gaps / pair.sizes
    robust = cluster_robust(means, sizes=pair.sizes)
    finite = number(robust.statistic) if np.isfinite(robust.statistic) else None
    yield {"method": robust.method, "statistic": finite, "p_value": robust.p_value}
    wild = wild_cluster(means, sizes=pair.sizes)
    yield {"method": wild.method, "p_value": wild.p_value, "p_floor": wild.p_floor, "seed": wild.seed}
    for method in MCNEMAR_METHODS if pair.independent else ():
        _, first, second, _ = pair.totals
        plain = mcnemar(first, second, method=method, n=len(pair.gaps))
        yield {"method": f"mcnemar {method}", "statistic": plain.statistic, "p_value": plain.p_value}


def _intervals(pair: _Pair, level: float) -> list[dict[str, Any]]:
    means = pair.gaps / pair.sizes
    options: dict[str, Any] = {"confidence_level": level}
    kinds = [kind for kind in ("jeffreys", "cp") if kind in KINDS]
    found: list[Any] = [
        family_interval(means, sizes=pair.sizes, kind=kind, bounds=(-1.0, 1.0), **options) for kind in kinds
    ]
    found.append(cluster_robust(means, sizes=pair.sizes, **options))
    found += [clustered_difference_interval(*pair.counts.T, method=name, **options) for name in EFFECTIVE]
    if pair.independent:
        found += [
            paired_difference_interval(*pair.totals, method=name, **options) for name in DIFFERENCE_METHODS
        ]
    rows = [{"method": one.method, "conf_low": one.low, "conf_high": one.high} for one in found]
    if pair.independent:
        _, first, second, _ = pair.totals
        for name in ("exact", "mid-p", "wilson"):
            odds = mcnemar_odds_ratio(first, second, method=name, **options)
            rows.append(_odds_row(odds))
    else:
        rows.append(_odds_row(clustered_odds_ratio(*pair.counts.T, **options)))
    return rows


def _odds_row(odds: EstimateInterval) -> dict[str, Any]:
    return {
        "estimand": "odds_ratio", "null": 1.0, "estimate": number(odds.estimate), "conf_low": odds.low,
        "conf_high": odds.high, "method": odds.method,
    }  # fmt: skip
