"""Agreement by cell: of copies beyond chance, of two runs, and what sending disagreements to a person buys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import PairstatsError, listed, one_of
from pairstats.numeric.agreement import Agreement, cohen_kappa, fleiss_kappa, gwet_ac1
from pairstats.numeric.family import Kind
from pairstats.numeric.krippendorff import LEVELS, krippendorff_alpha
from pairstats.numeric.retest import retest_agreement
from pairstats.numeric.selective import review_curve as review_points
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.verbs.questions import NO_ANSWER, ONE_QUESTION, Copies, compared, copies_by_cell, no_copies
from pairstats.verbs.replies import (
    noted,
    number,
    provenance,
    replies_by_cell,
    request_keys,
    shared_columns,
    side_by_side,
)
from pairstats.verbs.replies import share_columns as columns_of

KINDS = {"fleiss": "fleiss_kappa", "krippendorff": "krippendorff_alpha", "gwet": "gwet_ac1"}
"""Kinds of agreement, and their names in the results."""


@checked
def agreement(
    panel: Panel,
    column: str = "answer",
    *,
    kind: str = "fleiss",
    within: Sequence[str] | str = (),
    level: str = "nominal",
    n_categories: int | None = None,
    confidence_level: float = 0.95,
) -> Estimates:
    """Agreement of the copies of a question beyond chance, in every cell.

    Use it to compare with published kappas, or for rubric scores (``kind="krippendorff"``, ordinal). Not as
    the headline: where nearly all copies give one answer, kappa and alpha are near 0 whatever the agreement;
    `estimate` with `FlipRate` covers that, and ``kind="gwet"`` is stable there. Never average over questions
    with different answer sets.

    Parameters
    ----------
    panel : Panel
    column : str, default "answer"
        Canonical answers, classes, or ratings. All replies to a question are its copies.
    kind : {"fleiss", "krippendorff", "gwet"}
    within : sequence of str, default ()
        Columns that tell the questions of one family apart.
    level : {"nominal", "ordinal", "interval"}
        For "krippendorff": what counts as disagreement.
    n_categories : int, optional
        For "gwet": how many answers could be given; by default those that occur.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell with a family jackknife interval; ``note`` gives the observed agreement and that by
        chance. ``n_units`` counts questions with two or more copies, ``n_missing`` missing copies.

    Raises
    ------
    PairingError, PairstatsError

    Notes
    -----
    Formulas and sources: `fleiss_kappa`, `krippendorff_alpha`, `gwet_ac1` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": ["f", "f", "g", "g"], "item": ["f", "f", "g", "g"], "model": "m",
    ...                      "variant": ["base", "moved"] * 2, "answer": ["A", "A", "B", "A"]})
    >>> round(agreement(Panel(rows)).frame["estimate"].item(), 3)
    -0.333
    """
    one_of("kind", kind, KINDS)
    one_of("level", level, LEVELS)
    shared = shared_columns(panel, "Agreement", confidence_level)
    rows = []
    for copies in copies_by_cell(panel, column, None, within):
        row = {**copies.cell, **shared, "estimand": f"{KINDS[kind]}({column})"}
        if not any(answer is not None for one in copies.answers for answer in one):
            rows.append(row | {"n_families": 0, "note": "no results: no copy has an answer"})
            continue
        found = _agreement(copies, kind, level, n_categories, confidence_level)
        columns = agreement_columns(found) | {"n_units": found.n_units, "n_missing": found.n_missing}
        rows.append(noted(panel, row | columns, copies.notes))
    settings = provenance(panel, kind=kind, confidence_level=confidence_level)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _agreement(
    copies: Copies, kind: str, level: str, n_categories: int | None, confidence_level: float
) -> Agreement:
    shared: dict[str, Any] = {"families": copies.families, "confidence_level": confidence_level}
    if kind == "fleiss":
        return fleiss_kappa(copies.answers, **shared)
    if kind == "gwet":
        return gwet_ac1(copies.answers, n_categories=n_categories, **shared)
    if level != "nominal":
        # Ratings are numbers there; a reply without an answer has none.
        answers = [[None if a == NO_ANSWER else a for a in row] for row in copies.answers]
        return krippendorff_alpha(answers, level=level, **shared)
    return krippendorff_alpha(copies.answers, level=level, **shared)


def agreement_columns(found: Agreement) -> dict[str, Any]:
    """Columns of a chance-corrected agreement."""
    beside = f"observed {found.observed:.3f}, by chance {found.expected:.3f}"
    return {
        "estimate": number(found.value), "std_error": number(found.std_error), "conf_low": found.low,
        "conf_high": found.high, "method": found.method, "n_families": found.n_families,
        "note": beside if found.value == found.value else f"undefined: one answer only; {beside}",
    }  # fmt: skip


@checked
def retest(
    panel: Panel,
    factor: str = "run",
    first: str | None = None,
    second: str | None = None,
    *,
    column: str = "answer",
    score: str | None = "score",
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Test-retest agreement of two runs on the same questions, in every cell.

    Use it to say how far one run stands for the model: two levels of `factor` (run, repeat, platform) are two
    runs of the same requests. Not to compare two models or two conditions; `contrast` covers that. Runs of
    one set of questions say nothing about other questions.

    Parameters
    ----------
    panel : Panel
    factor : str, default "run"
        Column that tells the runs apart.
    first, second : str, optional
        Its two levels; may be left out where there are just two.
    column : str, default "answer"
    score : str or None, default "score"
        For the change of the mean score; None leaves it out.
    kind : {"jeffreys", "cp"}
        Kind of family interval.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        Rows ``same_answer`` (share of the replies answered in both runs that agree), ``cohen_kappa`` of the
        two runs, and ``score_change`` (second less first). ``n_units`` counts replies answered in both,
        ``n_missing`` those answered in one run or none.

    Raises
    ------
    PairingError, PairstatsError

    Notes
    -----
    Formulas and sources: `retest_agreement`, `cohen_kappa` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("aabb"), "item": list("aabb"), "model": "m",
    ...                      "run": ["1", "2"] * 2, "answer": ["A", "A", "B", "C"], "score": [1.0, 1.0, 1.0, 0.0]})
    >>> retest(Panel(rows)).frame["estimate"].tolist()[0]
    0.5
    """
    panel.require(factor, column, *([score] if score else []))
    levels = _two_levels(panel, factor, first, second)
    shared = shared_columns(panel, "Test-retest agreement", confidence_level)
    label = f"{levels[1]} - {levels[0]}"
    rows: list[dict[str, Any]] = []
    keys = request_keys(panel, column, factor)
    scores = [score] if score else []
    for replies in replies_by_cell(panel, factor, column, *scores, *keys, numbers=scores):
        row = {**replies.labels, **shared, "contrast": label}
        answers = _with_answers(replies.frame, column)
        merged = side_by_side(answers, keys, factor, levels, ("given", *scores))
        found = _retest_rows(merged, panel.family, score, kind, confidence_level)
        rows += [noted(panel, row | one) for one in found]
    settings = provenance(panel, factor=factor, kind=kind, confidence_level=confidence_level)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _two_levels(panel: Panel, factor: str, first: Any, second: Any) -> tuple[Any, Any]:
    if factor in panel.cells:
        raise PairstatsError(
            f"The runs are paired inside a cell, so {factor!r} must not be one of the cells "
            f"{listed(panel.cells)}. Use panel.by() with the others."
        )
    there = panel.levels(factor)
    chosen = [
        there[i] if level is None and len(there) == 2 else level for i, level in ((0, first), (1, second))
    ]
    absent = [level for level in chosen if level not in there]
    if absent or chosen[0] == chosen[1]:
        raise PairstatsError(
            f"Two different levels of {factor!r} must be named, but got {chosen[0]!r} and {chosen[1]!r}. There "
            f"are {listed(there, 12)}: pass first= and second=."
        )
    return chosen[0], chosen[1]


def _with_answers(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add the answer of every reply as "given"; None where it is missing."""
    return frame.assign(given=compared(frame, column))


def _retest_rows(
    merged: pd.DataFrame, family: str, score: str | None, kind: Kind, level: float
) -> Iterator[dict[str, Any]]:
    if not len(merged):
        yield {"estimand": "same_answer", "n_families": 0, "note": "no results: no reply in either run"}
        return
    first, second = ([None if pd.isna(a) else a for a in merged[name]] for name in ("given_1", "given_2"))
    families = merged[family].tolist()
    both = np.array([a is not None and b is not None for a, b in zip(first, second, strict=True)])
    scores = None
    if score:
        scored = merged[[f"{score}_1", f"{score}_2"]].to_numpy(dtype=float)
        if np.isnan(scored[both]).any():
            raise PairstatsError(
                f"Every answered reply must have a score, but column {score!r} is empty for "
                f"{int(np.isnan(scored[both]).any(axis=1).sum())} of them. Pass score=None."
            )
        scores = (scored[:, 0], scored[:, 1])
    found = retest_agreement(
        first, second, families=families, scores=scores, kind=kind, confidence_level=level
    )  # fmt: skip
    lost = (found.n_first_only, found.n_second_only, found.n_neither)
    note = (
        f"{lost[0]} answered in the first run only, {lost[1]} in the second only" if any(lost[:2]) else None
    )
    counted = {"n_units": found.n_items, "n_missing": sum(lost)}
    yield {"estimand": "same_answer", "note": note, **columns_of(found.agreement), **counted}
    if found.n_items:
        pairs = [(a, b, f) for a, b, f, kept in zip(first, second, families, both, strict=True) if kept]
        one, two, members = (list(side) for side in zip(*pairs, strict=True))
        kappa = cohen_kappa(one, two, families=members, confidence_level=level)
        yield {"estimand": "cohen_kappa", **agreement_columns(kappa), **counted}
    if found.change is not None:
        yield {"estimand": "score_change", "null": 0.0, **columns_of(found.change), **counted}


@checked
def review_curve(
    panel: Panel,
    column: str = "answer",
    *,
    score: str = "score",
    reviewer_accuracy: float = 1.0,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Coverage-risk curve in every cell: errors that remain when questions whose copies disagree are reviewed.

    Use it to price review by disagreement. Not for review by stated confidence: `aurc` covers that; nor for a
    majority vote, which is another system. Limits hold for each point alone, not for the curve as a whole.

    Parameters
    ----------
    panel : Panel
        One question a family; all its replies are copies.
    column : str, default "answer"
    score : str, default "score"
        0 or 1.
    reviewer_accuracy : float, default 1.0
        Share of the reviewed questions that a person gets right.
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        For each point, from everything kept to only full agreement kept, with the factors ``agreement`` (the
        least that is kept) and ``coverage`` (share kept): ``risk``, the error rate among those kept, and
        ``error``, that of all when a person answers the others; its ``note`` gives the error when as many are
        reviewed at random.

    Raises
    ------
    PairingError, PairstatsError

    Notes
    -----
    Formula and sources: `review_curve` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("aabbcc"), "item": list("aabbcc"), "model": "m",
    ...                      "variant": ["base", "moved"] * 3, "answer": list("AAABCC"),
    ...                      "score": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]})
    >>> review_curve(Panel(rows)).where(estimand="risk").frame["coverage"].round(3).tolist()
    [1.0, 0.667]
    """
    shared = shared_columns(panel, "A coverage-risk curve", confidence_level, weight="family")
    rows: list[dict[str, Any]] = []
    for copies in copies_by_cell(panel, column, score, remedy=ONE_QUESTION):
        curve = review_points(
            copies.answers, copies.correct, reviewer_accuracy=reviewer_accuracy, kind=kind,
            confidence_level=confidence_level,
        )  # fmt: skip
        row = {**copies.cell, **shared, "n_units": curve.n_families, "n_missing": curve.n_missing}
        if not curve.points:
            note = no_copies(panel, "no question has two copies")
            rows.append(row | {"estimand": "risk", "n_families": 0, "note": note})
        for point in curve.points:
            at = row | {"agreement": point.agreement, "coverage": point.coverage}
            random = f"{point.error_at_random:.3f} when as many are reviewed at random"
            rows.append(noted(panel, at | {"estimand": "risk"} | columns_of(point.risk), copies.notes))
            error = at | {"estimand": "error", "note": random} | columns_of(point.error)
            rows.append(noted(panel, error, copies.notes))
    settings = provenance(panel, reviewer_accuracy=reviewer_accuracy, confidence_level=confidence_level)
    return Estimates.from_rows(
        rows, factors=(*panel.cells, "agreement", "coverage"), provenance=settings
    )  # fmt: skip
