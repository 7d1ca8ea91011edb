"""Behaviour classes of two levels on the same items: equally often used, equally often left."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import one_of
from pairstats.numeric.family import Kind
from pairstats.numeric.multiplicity import adjust as adjust_p
from pairstats.numeric.paired_tables import QUESTIONS, ClassTest, paired_class_test
from pairstats.numeric.shares import family_codes, family_share, family_sums
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.verbs.replies import (
    noted,
    provenance,
    replies_by_cell,
    request_keys,
    share_columns,
    shared_columns,
    side_by_side,
    two_or_more,
)


@checked
def classes(
    panel: Panel,
    column: str = "outcome",
    factor: str = "model",
    *,
    question: str = "marginal",
    adjust: str | None = "holm",
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Compare the behaviour classes that two levels of a factor gave to the same items, for all pairs.

    Use it where answers fall into three or more classes. Not for right and wrong, or one class of interest;
    `contrast` with `Mean` or `Share` covers those. Labels of the two levels are exchanged for whole families.

    Parameters
    ----------
    panel : Panel
    column : str, default "outcome"
        The class of a reply; a reply without an answer is the class "no answer" where it counts.
    factor : str, default "model"
    question : {"marginal", "symmetry"}
        "marginal": is each class used equally often (Stuart-Maxwell)? "symmetry": are moves between each two
        classes as frequent in both directions (Bowker)?
    adjust : str or None, default "holm"
        For the tests of all pairs in the call.
    kind : {"jeffreys", "cp"}
        Family interval of the shares' differences.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        For each pair a row ``classes(...)`` with the test, and a row ``share(column == class)`` for each
        class: first minus second, at the level of each alone. ``n_missing`` counts replies whose partner is
        missing.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `stuart_maxwell`, `bowker`, `paired_class_test` of `pairstats.numeric`.

    References
    ----------
    Stuart, A. (1955). Biometrika 42, 412-416.
    Bowker, A. H. (1948). Journal of the American Statistical Association 43, 572-574.

    Examples
    --------
    >>> rows = pd.DataFrame([{"family": f"f{f}", "item": "q", "model": m, "outcome": o}
    ...                      for f in range(9) for m, o in (("a", "ask"), ("b", "guess" if f < 8 else "ask"))])
    >>> round(classes(Panel(rows)).where(estimand="classes(outcome)").frame["p_value"].item(), 7)
    0.0078125
    """
    one_of("question", question, QUESTIONS)
    others = tuple(name for name in panel.cells if name != factor)
    shared = shared_columns(panel, "A comparison of classes", confidence_level)
    rows: list[dict[str, Any]] = []
    keys = request_keys(panel, column, factor)
    for replies in replies_by_cell(panel.by(others), factor, column, *keys):
        frame = _with_classes(replies.frame, column)
        for first, second in combinations(two_or_more(frame, factor), 2):
            row = {**replies.labels, **shared, "contrast": f"{first} - {second}"}
            merged = side_by_side(frame, keys, factor, (first, second), ("class",))
            found = _pair(merged, panel.family, column, question, kind, confidence_level)
            rows += [noted(panel, row | one) for one in found]
    tested = [row for row in rows if row.get("p_value") is not None]
    if adjust is not None and tested:
        for row, p in zip(tested, adjust_p([row["p_value"] for row in tested], adjust), strict=True):
            row["p_adjusted"] = float(p)
    settings = provenance(panel, question=question, adjust=adjust, interval=f"family-{kind}")
    return Estimates.from_rows(rows, factors=others, provenance=settings)


def _with_classes(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add the class of every reply as "class": "no answer" where it has none but counts, None where missing."""
    given = frame[column].astype(object)
    blank = frame["is_blank"].astype(bool) & given.isna()
    counted = frame["is_counted"].astype(bool) & (given.notna() | blank)
    return frame.assign(**{"class": given.where(~blank, "no answer").where(counted, None)})


def _pair(
    merged: pd.DataFrame, family: str, column: str, question: str, kind: Kind, level: float
) -> Iterator[dict[str, Any]]:
    """Rows of one pair of levels: the test, and the difference of each class's share."""
    given = merged[["class_1", "class_2"]].astype(object)
    pair = given.where(given.notna(), None).to_numpy()
    there = np.array([[value is not None for value in row] for row in pair])
    both = there.all(axis=1)
    counts = {"n_units": int(both.sum()), "n_missing": int((there.any(axis=1) & ~both).sum())}
    name = f"classes({column})" if question == "marginal" else f"symmetry({column})"
    if not both.any():
        note = "no results: no item has a class on both sides"
        yield {"estimand": name, **counts, "n_families": 0, "note": note}
        return
    first, second = pair[both].T
    members = merged[family].to_numpy()[both].tolist()
    test = paired_class_test(first.tolist(), second.tolist(), families=members, question=question)
    yield {"estimand": name, **counts, **_test_columns(test, len(set(members)))}
    codes = family_codes(members, len(members))
    sizes = family_sums(np.ones(codes.size), codes)
    for one in test.classes:
        gap = family_sums((first == one).astype(float) - (second == one).astype(float), codes)
        share = family_share(gap, sizes, kind=kind, bounds=(-1.0, 1.0), confidence_level=level)
        columns = share_columns(share)
        yield {"estimand": f"share({column} == {one})", "null": 0.0, **counts, **columns}


def _test_columns(test: ClassTest, n_families: int) -> dict[str, Any]:
    moves = sum(sum(row) for row in test.table) - sum(test.table[i][i] for i in range(len(test.table)))
    return {
        "statistic": test.statistic, "p_value": test.p_value, "mc_error": test.mc_error, "seed": test.seed,
        "n_families": n_families, "method": f"label exchange by family ({test.method})", "conf_level": None,
        "note": f"{moves} items change class; {test.df} degrees of freedom, {test.n_informative} families that "
        "tell the two apart",
    }  # fmt: skip
