"""Tokens, cost and latency of two models on the same requests: medians, their ratio, and the ratio of totals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pairstats.arguments import checked
from pairstats.numeric.medians import MedianInterval, paired_medians
from pairstats.numeric.resample import bootstrap_interval
from pairstats.numeric.shares import family_codes, family_sums
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.verbs.replies import (
    noted,
    number,
    provenance,
    replies_by_cell,
    request_keys,
    shared_columns,
    side_by_side,
    two_or_more,
)


@checked
def usage(
    panel: Panel,
    column: str = "output_tokens",
    factor: str = "model",
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
) -> Estimates:
    """Compare tokens, cost or latency of the levels of a factor on the requests that both have a value for.

    Use it for skewed amounts without a known range. Not for scores; `contrast` covers those. With fewer than
    about 10 families the percentile interval of a median is too short.

    Parameters
    ----------
    panel : Panel
    column : str, default "output_tokens"
        A number a reply: ``output_tokens``, ``cost_usd``, ``latency_s`` ...
    factor : str, default "model"
    confidence_level : float, default 0.95
    n_resamples : int, default 10000
        Draws for the medians; their seed follows from the data.

    Returns
    -------
    Estimates
        For each pair of levels: ``median_first``, ``median_second``, ``difference_of_medians``,
        ``median_difference`` (reply by reply), ``ratio_of_medians`` and ``ratio_of_totals`` (what a bill adds
        up to); the ratios only where all values are positive. ``n_missing`` counts requests without a value
        on one side.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `paired_medians` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("abcdef") * 2, "item": "q", "model": ["m"] * 6 + ["n"] * 6,
    ...                      "output_tokens": [120, 80, 200, 150, 90, 300, 100, 90, 100, 100, 80, 150]})
    >>> found = usage(Panel(rows), n_resamples=999).frame.set_index("estimand")["estimate"]
    >>> found[["median_first", "ratio_of_medians", "median_difference"]].tolist()
    [135.0, 1.35, 35.0]
    """
    others = tuple(name for name in panel.cells if name != factor)
    shared = shared_columns(panel, "A comparison of usage", confidence_level)
    rows: list[dict[str, Any]] = []
    keys = request_keys(panel, column, factor)
    for replies in replies_by_cell(panel.by(others), factor, column, *keys, numbers=(column,)):
        frame = replies.frame
        for first, second in combinations(two_or_more(frame, factor), 2):
            merged = side_by_side(frame, keys, factor, (first, second), (column,))
            row = {**replies.labels, **shared, "contrast": f"{first} - {second}"}
            found = _compared(merged, panel.family, column, confidence_level, n_resamples)
            rows += [noted(panel, row | one) for one in found]
    settings = provenance(panel, column=column, n_resamples=n_resamples)
    return Estimates.from_rows(rows, factors=others, provenance=settings)


def _compared(
    merged: pd.DataFrame, family: str, column: str, level: float, draws: int
) -> Iterator[dict[str, Any]]:
    values = merged[[f"{column}_1", f"{column}_2"]].to_numpy(dtype=float)
    used = ~np.isnan(values).any(axis=1)
    counts = {"n_units": int(used.sum()), "n_missing": int((~used).sum())}
    if not used.any():
        note = "no results: no request has a value on both sides"
        yield counts | {"estimand": "median_first", "n_families": 0, "note": note}
        return
    (first, second), families = values[used].T, merged[family].to_numpy()[used]
    found = paired_medians(first, second, families=families, confidence_level=level, n_resamples=draws)
    shared = counts | {"n_families": found.n_families, "method": found.method, "seed": found.seed}
    parts: dict[str, MedianInterval | None] = {
        "median_first": found.first, "median_second": found.second,
        "difference_of_medians": found.difference, "median_difference": found.median_difference,
        "ratio_of_medians": found.ratio,
    }  # fmt: skip
    few = "fewer than 10 families: too short" if found.n_families < 10 else None
    for name, one in parts.items():
        if one is not None:
            yield shared | {"estimand": name, "note": few, **_limits(one)}
    if found.ratio is not None:
        codes = family_codes(families, families.size)
        tops, belows = family_sums(first, codes), family_sums(second, codes)
        total = bootstrap_interval(tops / belows, sizes=belows, confidence_level=level)
        yield counts | {
            "estimand": "ratio_of_totals", "estimate": float(tops.sum() / belows.sum()),
            "conf_low": number(total.low), "conf_high": number(total.high), "method": total.method,
            "n_families": found.n_families, "seed": total.seed, "note": few,
        }  # fmt: skip


def _limits(one: MedianInterval) -> dict[str, Any]:
    return {"estimate": one.estimate, "conf_low": one.low, "conf_high": one.high, "mc_error": one.mc_error}
