"""Rows about the cases at hand alone: only repeats of them are random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairstats.errors import PairstatsError
from pairstats.estimands import Mean
from pairstats.intervals import FamilyInterval
from pairstats.numeric.fixed_case_differences import TheseCasesDifference, these_cases_difference
from pairstats.numeric.fixed_cases import Method, these_cases_interval
from pairstats.schema import is_score
from pairstats.sums import Units, blank_note

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
    right, replies = _counts(asked, units, [column], chosen)
    weights, n_cases = _weights(asked, units, chosen)
    found = these_cases_interval(
        right, replies, weights=weights, method=method, confidence_level=asked.level,
        alternative=asked.alternative,
    )  # fmt: skip
    blank = int(units.n_blank[chosen, column].sum())
    scored = any(is_score(name) for name in asked.estimand.columns)
    notes = [_conditional(n_cases, replies), *blank_note(blank, scored)]
    return {
        "estimate": found.estimate, "std_error": found.std_error, "conf_low": found.low,
        "conf_high": found.high, "method": found.method, "n_families": n_cases,
        "note": "; ".join(notes),
    }  # fmt: skip


def these_cases_gap(
    asked: Asked, units: Units, columns: Sequence[int], weights: np.ndarray, chosen: np.ndarray
) -> tuple[dict[str, Any], Callable[[float], tuple[float, float]]]:
    """Difference of two sides, conditional on the cases, with an exact test of exchanged replies.

    Parameters
    ----------
    asked : Asked
        As in `these_cases`.
    units : Units
    columns : sequence of int
        Columns of both sides, those of the second in the order of the first.
    weights : ndarray
        Their weights: equal and positive on the first side, the opposite on the second. Of an interaction a side
        has one level of the effect in the one group, and the other level in the other.
    chosen : ndarray of bool
        Units that count on both sides.

    Returns
    -------
    dict
        Columns of the row.
    callable
        From a confidence level to the limits that judge a claim: Clopper-Pearson's on the replies, joined.

    Raises
    ------
    PairstatsError
        As `these_cases`, and for cells of different weights.

    Notes
    -----
    An interaction is so often the difference of the two sides as a side has cells for each average. Its labels
    are exchanged within each group: the law is exact where neither group shows an effect, and wider than that
    of the replies where both show the same one, so that the test is conservative then.
    """
    method = _method(asked)
    sides = [[c for c, w in zip(columns, weights, strict=True) if sign * w > 0] for sign in (1, -1)]
    scale = float(weights.clip(min=0).sum())
    if len(sides[0]) != len(sides[1]) or not np.allclose(np.abs(weights), scale / len(sides[0])):
        raise PairstatsError(
            "For population='these_cases' two levels or two effects are compared (Pairwise, Versus, Interaction), "
            "not a Trend. Compare the levels one by one, or declare population='families'."
        )
    first, second = (_counts(asked, units, side, chosen) for side in sides)
    shares, n_cases = _weights(asked, units, chosen)
    repeated = np.tile(np.ones(int(chosen.sum())) if shares is None else shares, len(sides[0]))

    def gap(level: float, kind: Method, alternative: str) -> TheseCasesDifference:
        return these_cases_difference(
            *first, *second, weights=repeated, method=kind, confidence_level=level, alternative=alternative
        )

    found = gap(asked.level, method, asked.alternative)
    notes = [
        _conditional(n_cases, np.concatenate([first[1], second[1]])),
        f"p by exchanging the replies to each case ({found.test})",
        *(["it is conservative where both groups show one effect"] if scale > 1 else []),
    ]
    row = {
        "estimate": scale * found.estimate, "std_error": scale * found.std_error, "conf_low": scale * found.low,
        "conf_high": scale * found.high, "method": found.method, "n_families": n_cases, "p_value": found.p_value,
        "p_floor": found.p_floor, "mc_error": found.mc_error, "seed": found.seed,
        "statistic": scale * found.estimate, "note": "; ".join(notes),
    }  # fmt: skip

    def deciding(level: float) -> tuple[float, float]:
        limits = gap(level, "clopper-pearson", "two-sided")
        return scale * limits.low, scale * limits.high

    return row, deciding


def _counts(
    asked: Asked, units: Units, columns: Sequence[int], chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Right replies and replies of every chosen unit, column after column."""
    replies = units.n_valid[:, list(columns)][chosen].T.ravel()
    right = units.num[:, list(columns)][chosen].T.ravel() * replies
    _refuse_partial(asked, right)
    return np.rint(right), replies


def _weights(asked: Asked, units: Units, chosen: np.ndarray) -> tuple[np.ndarray | None, int]:
    """Weight of every chosen unit, None for equal ones; and the number of families."""
    _, family, sizes = np.unique(units.family_of[chosen], return_inverse=True, return_counts=True)
    return (1.0 / sizes[family] if asked.estimand.weight == "family" else None), int(sizes.size)


def _conditional(n_cases: int, replies: np.ndarray) -> str:
    several = f"{np.min(replies):g} to {np.max(replies):g}" if np.ptp(replies) else f"{replies[0]:g}"
    return f"conditional on these {n_cases} cases, {several} replies to each question"


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
