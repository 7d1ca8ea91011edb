"""Bayesian bootstrap over families: how probable it is that one cell is better than another by a margin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.contrasts import Comparison, Trend
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import compared
from pairstats.numeric.facing import canonical_sides
from pairstats.numeric.posterior import bayesian_bootstrap
from pairstats.numeric.posterior import probability_better as posterior_of
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, families_only
from pairstats.sums import FamilySums
from pairstats.verbs.replies import provenance


@checked
def probability_better(
    panel: Panel,
    estimand: Estimand,
    comparison: Comparison,
    *,
    delta: float = 0.0,
    prior: str = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Posterior probability that the first cell of a pair is higher than the second by at least delta.

    Use it to describe a comparison to readers who ask "how sure". Not for a registered claim: it has no
    guarantee on repetition; the test and the limits of `contrast` cover that.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With a known range.
    comparison : Pairwise, Versus or Interaction
    delta : float, default 0
        Smallest difference that matters.
    prior : {"jeffreys", "none"}
        Half a pseudo-family at either end of the range, or Rubin's.
    confidence_level : float, default 0.95
        Of the credible interval.

    Returns
    -------
    Estimates
        For each pair: ``P(better)``, ``P(within)`` (closer than delta; not for delta 0) and ``P(worse)``
        without limits, and ``posterior_difference`` with the posterior mean and its credible interval, the
        Dirichlet weights being those of the family interval. Exact, but for ratios whose sides have
        different denominators: those are drawn, with the seed and the Monte-Carlo error in the row.

    Raises
    ------
    PairstatsError
        When no range is known, or ratios of different denominators are not compared in pairs.

    Notes
    -----
    Formulas and sources: `family_posterior`, `probability_better`, `bayesian_bootstrap` of
    `pairstats.numeric`.

    References
    ----------
    Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134. doi:10.1214/aos/1176345338

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean, Pairwise
    >>> a = pd.DataFrame({"family": [f"f{i}" for i in range(40)], "item": "q", "model": "a",
    ...                   "score": [1.0] * 20 + [0.0] * 20})
    >>> rows = pd.concat([a, a.assign(model="b", score=[1.0] * 12 + [0.0] * 28)])
    >>> found = probability_better(Panel(rows), Mean("score"), Pairwise("model"), delta=0.01)
    >>> found.where(estimand="P(better)").frame["estimate"].round(4).item() > 0.99
    True
    """
    if isinstance(comparison, Trend):
        raise PairstatsError(
            "A probability of being better is for two sides, not for a Trend. Use contrast()."
        )
    families_only(panel, "A posterior")
    found = compared(panel, estimand, comparison, confidence_level=confidence_level)
    rows: list[dict[str, Any]] = []
    for one in found.compared:
        row = one.combined.labels | found.asked.described() | one.counted(f"family-{prior}")
        if one.sides is not None:
            rows += [row | each for each in _drawn(one.sides, found.asked, delta, prior, confidence_level)]
            continue
        if one.totals is None:
            rows.append(row | {"estimand": "P(better)"})
            continue
        bounds = one.totals.in_range("posterior")
        result = posterior_of(one.totals.means, delta=delta, sizes=one.totals.den, bounds=bounds, prior=prior)
        chances = {"better": result.better, "within": result.within, "worse": result.worse}
        for name, value in chances.items():
            if delta or name != "within":
                columns = {"estimand": f"P({name})", "estimate": value, "conf_level": None}
                rows.append(row | columns | {"method": result.method, "margin": delta})
        low, high = result.posterior.interval(confidence_level)
        rows.append(
            row | {
                "estimand": "posterior_difference", "estimate": result.posterior.mean, "null": 0.0,
                "std_error": result.posterior.std, "conf_low": low, "conf_high": high, "method": result.method,
            }
        )  # fmt: skip
    settings = provenance(panel, delta=delta, prior=prior)
    return Estimates.from_rows(rows, factors=found.factors, provenance=settings)


def _drawn(
    sums: FamilySums, asked: Asked, delta: float, prior: str, level: float
) -> Iterator[dict[str, Any]]:
    """Rows of two ratios with different denominators, from draws of the same weights."""
    bounds = asked.estimand.bounds
    if bounds is None:
        raise PairstatsError(f"A posterior needs a known range, but {asked.estimand.name} has none.")
    num, den, swapped = canonical_sides(sums.num, sums.den)
    sign = -1.0 if swapped else 1.0
    sizes = den.mean(axis=0)
    ends = [[*(np.array(pair) * sizes), *sizes] for pair in (bounds, bounds[::-1])]
    found = bayesian_bootstrap(
        np.hstack([num, den]),
        lambda t: sign * (t[:, 0] / t[:, 2] - t[:, 1] / t[:, 3]),
        ends=ends if prior == "jeffreys" else None,
    )
    shared = {"seed": found.seed, "method": f"Bayesian bootstrap, {prior} prior (Monte Carlo)"}
    better, worse = float(found.at_least(delta)), float(np.mean(found.values <= -delta))
    chances = {"better": better, "within": 1.0 - better - worse, "worse": worse}
    for name, value in chances.items():
        if delta or name != "within":
            error = math.sqrt(max(value * (1 - value), 0.0) / found.n_resamples)
            columns = {"estimand": f"P({name})", "estimate": value, "conf_level": None, "margin": delta}
            yield shared | columns | {"mc_error": error}
    tail = (1 - level) / 2
    yield shared | {
        "estimand": "posterior_difference", "estimate": float(found.values.mean()), "null": 0.0,
        "std_error": float(found.values.std(ddof=1)), "conf_low": float(found.quantile(tail)),
        "conf_high": float(found.quantile(1 - tail)),
    }  # fmt: skip
