"""Rows about the cases at hand alone: only repeats of them are random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairstats.errors import PairstatsError
from pairstats.estimands import Mean
from pairstats.intervals import FamilyInterval
from pairstats.numeric.fixed_cases import Method, these_cases_interval
from pairstats.sums import Units

if TYPE_CHECKING:
    from pairstats.rows import Asked


def these_cases(asked: Asked, units: Units, column: int) -> dict[str, Any]:
    """Estimate, standard error and limits of one cell, conditional on its cases.

    Parameters
    ----------
    asked : Asked
        A `Mean` of a 0/1 score. The default interval is Wilson's with the repeats' own noise; with
        ``interval="family-cp"`` it is Clopper-Pearson's on the replies.
    units : Units
    column : int
        Column of the units.

    Returns
    -------
    dict

    Raises
    ------
    PairstatsError
        For another estimand or interval, a score that is not 0 or 1, or cases without repeats.
    """
    method = _method(asked)
    chosen = units.n_valid[:, column] > 0
    replies = units.n_valid[chosen, column]
    right = units.num[chosen, column] * replies
    _refuse_partial(asked, right)
    _, family, sizes = np.unique(units.family_of[chosen], return_inverse=True, return_counts=True)
    weights = 1.0 / sizes[family] if asked.estimand.weight == "family" else None
    found = these_cases_interval(
        np.rint(right), replies, weights=weights, method=method, confidence_level=asked.level,
        alternative=asked.alternative,
    )  # fmt: skip
    several = f"{np.min(replies)} to {np.max(replies)}" if np.ptp(replies) else str(replies[0])
    blank = int(units.n_blank[chosen, column].sum())
    notes = [f"conditional on these {sizes.size} cases, {several} replies to each question"]
    notes += [f"{blank} without an answer are counted"] if blank else []
    return {
        "estimate": found.estimate, "std_error": found.std_error, "conf_low": found.low,
        "conf_high": found.high, "method": found.method, "n_families": int(sizes.size),
        "note": "; ".join(notes),
    }  # fmt: skip


def _method(asked: Asked) -> Method:
    if not isinstance(asked.estimand, Mean):
        raise PairstatsError(
            "For population='these_cases' there is an interval for the Mean of a 0/1 score with repeats only, "
            f"not for {asked.estimand.name}. Declare population='families' for the others."
        )
    if asked.interval is None or asked.interval == FamilyInterval("jeffreys"):
        return "wilson"
    if asked.interval == FamilyInterval("cp"):
        return "clopper-pearson"
    raise PairstatsError(
        f"For population='these_cases' leave `interval` out, or take 'family-cp' for Clopper-Pearson on the "
        f"replies, but got {asked.interval.name!r}, which resamples families."
    )


def _refuse_partial(asked: Asked, right: np.ndarray) -> None:
    column = asked.estimand.columns[0]
    partial = [value for value in asked.panel.levels(column) if value not in (0, 1)]
    if partial or not np.allclose(right, np.rint(right), atol=1e-9):
        shown = partial[0] if partial else "a value between them"
        raise PairstatsError(
            f"For population='these_cases' column {column!r} must hold 0 or 1, but it holds {shown}. Threshold "
            "partial credit into a score_<name> column, and say so."
        )
