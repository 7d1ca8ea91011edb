"""How well stated confidence ranks right before wrong answers, by cell and between models."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import PairstatsError
from pairstats.numeric.ranking import (
    AurocInterval,
    auroc_difference,
    auroc_interval,
    delong_test,
    delong_variance,
)
from pairstats.numeric.selective import aurc as area_under_risk
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.verbs.forecasts import NOTHING, forecasts_by_cell
from pairstats.verbs.replies import (
    noted,
    number,
    provenance,
    refuse_partial,
    replies_by_cell,
    request_keys,
    shared_columns,
    side_by_side,
    two_or_more,
)

UNDEFINED = "limits are the whole range"


@checked
def auroc(
    panel: Panel,
    confidence: str = "confidence",
    score: str = "score",
    *,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> Estimates:
    """AUROC of stated confidence for correctness in every cell, with a logit jackknife-t interval by family.

    Use it for ranking alone: does the model know which answers are wrong? Not for calibration;
    `calibration_summary` and `calibration_errors` cover that. Not for two models; `compare_auroc`.

    Parameters
    ----------
    panel : Panel
    confidence, score : str
        Columns: a stated probability in [0, 1], and a score that is 0 or 1.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    Estimates
        One row a cell; ``note`` counts right and wrong answers. Undefined where one kind is absent.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `auroc`, `auroc_interval` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("abcdefg"), "item": "q", "model": "m",
    ...                      "score": [1.0, 1, 0, 1, 0, 0, 0], "confidence": [0.9, 0.8, 0.7, 0.6, 0.5, 0.8, 0.4]})
    >>> round(auroc(Panel(rows)).frame["estimate"].item(), 4)
    0.7917
    """
    shared = shared_columns(panel, "AUROC", confidence_level, alternative=alternative)
    rows = []
    for cell in forecasts_by_cell(panel, confidence, score):
        row = cell.row(shared) | {"estimand": "auroc"}
        if cell.empty:
            rows.append(row | {"n_families": 0, "note": NOTHING})
            continue
        found = auroc_interval(
            cell.stated, cell.right, families=cell.families, confidence_level=confidence_level,
            alternative=alternative,
        )  # fmt: skip
        rows.append(noted(panel, row | _columns(found)))
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel))


@checked
def aurc(
    panel: Panel,
    confidence: str = "confidence",
    score: str = "score",
    *,
    confidence_level: float = 0.95,
) -> Estimates:
    """Area under the risk-coverage curve of stated confidence in every cell; lower is better.

    Use it for deferral by confidence at an unknown budget. Not to compare models whose error rates differ:
    `auroc` covers ranking alone. For deferral by disagreement of copies see `review_curve`.

    Parameters
    ----------
    panel, confidence, score, confidence_level
        As in `auroc`.

    Returns
    -------
    Estimates
        Rows ``aurc``, with a logit jackknife-t interval by family, and ``aurc_excess`` above a perfect ranking
        at the same error rate, without one.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `aurc` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("abcd"), "item": "q", "model": "m",
    ...                      "score": [1.0, 1, 1, 0], "confidence": [0.9, 0.8, 0.7, 0.6]})
    >>> aurc(Panel(rows)).frame["estimate"].tolist()
    [0.0625, 0.0]
    """
    shared = shared_columns(panel, "AURC", confidence_level)
    rows = []
    for cell in forecasts_by_cell(panel, confidence, score):
        row = cell.row(shared) | {"estimand": "aurc"}
        if cell.empty:
            rows.append(row | {"n_families": 0, "note": NOTHING})
            continue
        found = area_under_risk(
            cell.stated, cell.right, families=cell.families, confidence_level=confidence_level
        )  # fmt: skip
        beside = f"{found.best:.3f} with a perfect ranking, {found.error_rate:.3f} with none"
        columns = {
            "estimate": number(found.value), "conf_low": found.low, "conf_high": found.high,
            "method": found.method, "n_families": found.n_families, "note": beside,
        }  # fmt: skip
        notes = [UNDEFINED] if found.method.endswith("undefined") else []
        rows.append(noted(panel, row | columns, notes))
        excess = {"estimand": "aurc_excess", "estimate": number(found.excess), "n_families": found.n_families}
        rows.append(row | excess | {"conf_level": None})
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel))


@checked
def compare_auroc(
    panel: Panel,
    factor: str = "model",
    confidence: str = "confidence",
    score: str = "score",
    *,
    confidence_level: float = 0.95,
) -> Estimates:
    """AUROC of one level of a factor less that of another, on the requests both answered with a confidence.

    Use it to ask which of two models knows its errors better. Not for calibration and accuracy in one:
    `contrast` with `Brier` covers that. DeLong's test is for two confidences of the same answers only.

    Parameters
    ----------
    panel : Panel
    factor : str, default "model"
    confidence, score, confidence_level
        As in `auroc`.

    Returns
    -------
    Estimates
        One row a pair of levels, in each combination of the panel's other cells, with a family jackknife t
        interval. ``n_units`` counts shared requests, ``n_missing`` those that lack either side.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `auroc_difference` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("abcd") * 2, "item": "q", "model": ["m"] * 4 + ["n"] * 4,
    ...                      "score": [1.0, 1, 0, 0] * 2, "confidence": [0.9, 0.8, 0.4, 0.3, 0.9, 0.5, 0.6, 0.3]})
    >>> compare_auroc(Panel(rows)).frame["estimate"].item()
    0.25
    """
    others = tuple(name for name in panel.cells if name != factor)
    shared = shared_columns(panel, "A difference of AUROCs", confidence_level)
    rows: list[dict[str, Any]] = []
    keys = request_keys(panel, score, factor)
    numbers = (confidence, score)
    for replies in replies_by_cell(panel.by(others), factor, *numbers, *keys, numbers=numbers):
        frame = replies.frame
        for first, second in combinations(two_or_more(frame, factor), 2):
            merged = side_by_side(frame, keys, factor, (first, second), (confidence, score))
            row = {
                **replies.labels,
                **shared,
                "contrast": f"{first} - {second}",
                "estimand": "auroc",
                "null": 0.0,
            }
            found = _difference(merged, panel.family, confidence, score, confidence_level)
            rows.append(noted(panel, row | found))
    return Estimates.from_rows(rows, factors=others, provenance=provenance(panel))


@checked
def compare_confidences(
    panel: Panel,
    first: str,
    second: str,
    score: str = "score",
    *,
    confidence_level: float = 0.95,
) -> Estimates:
    """AUROC of one confidence less that of another about the same answers, by family and by DeLong.

    Use it for two elicitations of confidence from one set of answers (stated, and from log probabilities). Not
    for two models, whose answers differ; `compare_auroc` covers them.

    Parameters
    ----------
    panel : Panel
    first, second : str
        Columns of the two confidences, each in [0, 1].
    score : str, default "score"
        0 or 1.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        In every cell a row of the difference with a family jackknife t interval, which holds with families;
        where every answer is its own family also rows by DeLong: the difference with its p-value, and both
        AUROCs with their standard errors.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `delong_variance`, `delong_test` of `pairstats.numeric`.

    References
    ----------
    DeLong, E. R., DeLong, D. M. & Clarke-Pearson, D. L. (1988). Biometrics 44, 837-845. doi:10.2307/2531595

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("abcdef"), "item": "q", "model": "m", "score": [1.0, 1, 0, 0, 1, 0],
    ...                      "stated": [0.9, 0.8, 0.7, 0.4, 0.6, 0.5], "logprob": [0.9, 0.5, 0.7, 0.4, 0.8, 0.6]})
    >>> found = compare_confidences(Panel(rows), "stated", "logprob").frame
    >>> found["estimate"].round(3).tolist(), found["method"].tolist()[1]
    ([0.111, 0.111, 0.889, 0.778], 'DeLong')
    """
    shared = shared_columns(panel, "A difference of AUROCs", confidence_level)
    panel.require(first, second, score)
    if len({first, second, score}) < 3:
        raise PairstatsError(
            f"`first`, `second` and `score` must be three columns, but are {first!r}, {second!r} and {score!r}."
        )
    rows: list[dict[str, Any]] = []
    for replies in replies_by_cell(panel, first, second, score, numbers=(first, second, score)):
        values = replies.frame[[first, second, score]].to_numpy(dtype=float)
        used = (values == values).all(axis=1)
        row = {
            **replies.labels, **shared, "contrast": f"{first} - {second}", "estimand": "auroc", "null": 0.0,
            "n_units": int(used.sum()), "n_missing": int((~used).sum()),
        }  # fmt: skip
        if not used.any():
            rows.append(row | {"n_families": 0, "note": NOTHING})
            continue
        refuse_partial(score, values[used][:, 2])
        one, two, right = values[used].T
        families = replies.frame[panel.family].to_numpy()[used]
        found = auroc_difference(
            (one, right), (two, right), families=families, confidence_level=confidence_level
        )
        n_right = int(right.sum())  # `found` counts both sides, which here are the same answers
        columns = _columns(found)
        rest = columns["note"].partition(" wrong")[2]
        columns["note"] = f"{n_right} right, {right.size - n_right} wrong{rest}"
        rows.append(noted(panel, row | columns))
        if found.n_families == right.size and min(n_right, right.size - n_right) >= 2:
            try:
                rows += [row | each for each in _delong({first: one, second: two}, right)]
            except PairstatsError as error:  # no variance to test by: the jackknife row stands alone
                rows[-1]["note"] = f"{rows[-1]['note']}; no DeLong test: {error}"
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel))


def _delong(stated: dict[str, Any], right: Any) -> list[dict[str, Any]]:
    """Rows of independent answers: the test, and each AUROC with its standard error."""
    one, two = stated.values()
    test = delong_test(one, two, right)
    shared = {"n_families": right.size, "conf_level": None}
    rows = [
        shared | {
            "estimate": test.estimate, "statistic": test.statistic, "p_value": test.p_value, "method": "DeLong",
        }
    ]  # fmt: skip
    for name, values in stated.items():
        alone = delong_variance(values, right)
        rows.append(shared | {
            "contrast": None, "null": None, "estimand": f"auroc({name})", "estimate": alone.auroc,
            "std_error": number(alone.variance**0.5), "method": "DeLong",
        })  # fmt: skip
    return rows


def _difference(
    merged: pd.DataFrame, family: str, confidence: str, score: str, level: float
) -> dict[str, Any]:
    names = [f"{confidence}_1", f"{score}_1", f"{confidence}_2", f"{score}_2"]
    values = merged[names].to_numpy(dtype=float)
    used = (values == values).all(axis=1)
    counts = {"n_units": int(used.sum()), "n_missing": int((~used).sum())}
    if not used.any():
        note = "no results: no request has a confidence and a score on both sides"
        return counts | {"n_families": 0, "note": note}
    refuse_partial(score, values[used][:, [1, 3]].ravel())
    one, right, other, right_other = values[used].T
    found = auroc_difference(
        (one, right), (other, right_other), families=merged[family].to_numpy()[used], confidence_level=level
    )
    return counts | _columns(found)


def _columns(found: AurocInterval) -> dict[str, Any]:
    undefined = f"; {UNDEFINED}" if found.method.endswith("undefined") else ""
    return {
        "estimate": number(found.value), "conf_low": found.low, "conf_high": found.high,
        "method": found.method, "n_families": found.n_families,
        "note": f"{found.n_correct} right, {found.n_wrong} wrong{undefined}",
    }  # fmt: skip
