"""Verdicts of a judge on pairs of replies that it saw in both orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import PairingError, PairstatsError, listed, one_of
from pairstats.numeric.checks import check_level
from pairstats.numeric.exact import SignFlipTest
from pairstats.numeric.family import Kind
from pairstats.numeric.judge import SwappedVerdicts, swapped_verdicts
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.verbs.replies import (
    ApartError,
    CellReplies,
    noted,
    provenance,
    replies_by_cell,
    request_keys,
    share_columns,
    shared_columns,
    side_by_side,
)

POSITIONS = ("first", "second")


@checked
def judge_verdicts(
    panel: Panel,
    systems: tuple[str | float, str | float],
    column: str = "answer",
    shown_first: str = "variant",
    *,
    verdicts: str = "systems",
    tie: str | float = "tie",
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Win rate of one system over another, position bias and consistency of a judge, in every cell.

    Use it for pairwise preferences where each pair was judged in both orders. Not for scores of single
    replies, for which `estimate` and `contrast` are; nor for one order, where position and system are one.

    Parameters
    ----------
    panel : Panel
        One row a judgement; the judge is a cell such as ``model``.
    systems : (str, str)
        The two systems that are compared; the win rate is that of the first.
    column : str, default "answer"
        The verdict.
    shown_first : str, default "variant"
        Column that names the system whose reply the judge saw first.
    verdicts : {"systems", "positions"}
        Whether a verdict names a system, or is "first" or "second".
    tie : str, default "tie"
        The verdict of no preference. A judgement without a verdict is missing, never a tie.
    kind : {"jeffreys", "cp"}
        As in `pairstats.numeric.family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        Four rows a cell: ``win_rate`` (ties half) and ``first_rate``, both with the exact test of one half;
        ``consistency``; and ``consistent_win_rate``, of pairs that one system wins in both orders.
        ``n_units`` counts pairs with both orders, ``n_missing`` the others. A judge without a pair in both orders
        has one row, whose note says why.

    Raises
    ------
    PairingError
        When no judge has a pair in both orders, or one has several verdicts on one pair in one order.
    PairstatsError
        When a verdict or a system shown first is neither of the two systems.

    Notes
    -----
    Formula and sources: `swapped_verdicts` of `pairstats.numeric`.

    References
    ----------
    Zheng, L. et al. (2023). Judging LLM-as-a-judge with MT-Bench and Chatbot Arena. arXiv:2306.05685.

    Examples
    --------
    >>> rows = pd.DataFrame([{"family": f"f{i}", "item": f"q{i}", "model": "judge", "variant": shown,
    ...                       "answer": "a" if i < 6 else shown} for i in range(8) for shown in "ab"])
    >>> found = judge_verdicts(Panel(rows), ("a", "b")).frame.set_index("estimand")["estimate"]
    >>> found[["win_rate", "first_rate", "consistency"]].tolist()
    [0.875, 0.625, 0.75]
    """
    one_of("verdicts", verdicts, ("systems", "positions"))
    two, word = _two(systems), _word(tie)
    check_level(confidence_level)
    if word in (POSITIONS if verdicts == "positions" else two):
        raise PairstatsError(f"`tie` must be a verdict of its own, but {word!r} is one of the two others.")
    shared = shared_columns(panel, "A comparison by a judge", confidence_level)
    keys = request_keys(panel, column, shown_first)
    others = tuple(name for name in panel.cells if name != shown_first)
    rows: list[dict[str, Any]] = []
    alone: list[str] = []
    for replies in replies_by_cell(panel.by(others), shown_first, column, *keys):
        frame = _coded(replies.frame, column, shown_first, two, verdicts, word)
        row = {**replies.labels, **shared, "contrast": f"{two[0]} - {two[1]}"}
        try:
            merged = side_by_side(frame, keys, shown_first, two, ("preference",))
        except ApartError:
            alone.append(_why_alone(replies, set(frame[shown_first])))
            n = len(frame.drop_duplicates(keys))
            rows.append(
                row
                | {
                    "estimand": "win_rate",
                    "n_families": 0,
                    "n_missing": n,
                    "note": f"no results: {alone[-1]}",
                }
            )
            continue
        first, second = merged[["preference_1", "preference_2"]].to_numpy(dtype=float).T
        if not (~np.isnan(first) & ~np.isnan(second)).any():
            note = "no results: no pair has a verdict in both orders"
            rows.append(
                row | {"estimand": "win_rate", "n_families": 0, "n_missing": len(merged), "note": note}
            )
            continue
        found = swapped_verdicts(
            first, second, families=merged[panel.family].tolist(), kind=kind, confidence_level=confidence_level
        )  # fmt: skip
        rows += [noted(panel, row | one) for one in _rows(found, two[0])]
    if alone and len(alone) == len(rows):
        raise PairingError(
            f"Some judge must have judged pairs in both orders, but none has: {'; '.join(alone[:3])}."
        )
    settings = provenance(panel, systems=list(two), verdicts=verdicts, tie=word)
    return Estimates.from_rows(rows, factors=others, provenance=settings)


def _two(systems: Any) -> tuple[str, str]:
    """Names of the two systems as words."""
    names = tuple(systems) if isinstance(systems, tuple | list) else ()
    if len(names) != 2 or len(set(names)) != 2:
        raise PairstatsError(
            f"`systems` must name two different systems, such as ('a', 'b'), but got {systems!r}."
        )
    return _word(names[0]), _word(names[1])


def _word(value: Any) -> str:
    """Write an id as a word; a missing value among whole numbers has made them floats."""
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _why_alone(replies: CellReplies, shown: set[str]) -> str:
    """Say who judged no pair in both orders, and what to do."""
    judge = ", ".join(f"{name} {level!r}" for name, level in replies.labels.items()) or "the judge"
    if len(shown) > 1:
        return f"{judge} saw other pairs in one order than in the other: map the ids so that both orders share them"
    return (
        f"{judge} judged in one order only, with {listed(shown)} shown first: ask again with the replies "
        "exchanged, or leave these rows out with panel.where()"
    )


def _coded(
    frame: pd.DataFrame, column: str, shown_first: str, systems: tuple[str, str], verdicts: str, tie: str
) -> pd.DataFrame:
    """Add the preference for the first system: 1, 0, 0.5 for a tie, NaN for no verdict."""
    # A column of the records may hold numbers or words; ids are words.
    shown, said = (
        pd.Series([None if pd.isna(v) else _word(v) for v in frame[name]], index=frame.index, dtype=object)
        for name in (shown_first, column)
    )
    if shown.isna().any():
        n = int(shown.isna().sum())
        raise PairstatsError(
            f"Column {shown_first!r} must name the system shown first, but is empty in {n} of {len(shown)} rows. "
            "Leave these rows out with panel.where(), or fill the column."
        )
    foreign = sorted(set(shown) - set(systems))
    if foreign:
        raise PairstatsError(
            f"Column {shown_first!r} must name the system shown first, {systems[0]!r} or {systems[1]!r}, but "
            f"holds {listed(foreign)}. Leave these rows out with panel.where(), or map the column."
        )
    known = POSITIONS if verdicts == "positions" else systems
    odd = sorted({word for word in said if word is not None} - {*known, tie})
    if odd:
        raise PairstatsError(
            f"Verdicts in {column!r} must be {known[0]!r}, {known[1]!r} or {tie!r}, but some are {listed(odd)}. "
            'Say tie="..." for the word of no preference, or verdicts="positions" for first and second.'
        )
    if verdicts == "positions":
        other = shown.map({systems[0]: systems[1], systems[1]: systems[0]})
        said = said.where(said != "first", shown).where(said != "second", other)
    worth = {systems[0]: 1.0, systems[1]: 0.0, tie: 0.5}
    return frame.assign(preference=said.map(worth).astype(float), **{shown_first: shown})


def _rows(found: SwappedVerdicts, first: str) -> list[dict[str, Any]]:
    counts = {"n_units": found.n_pairs, "n_missing": found.n_single + found.n_missing}
    both = f"{found.n_wins} won, {found.n_losses} lost, {found.n_ties} tied in both orders"
    apart = (
        f"{found.n_first} to the first shown, {found.n_second} to the second, {found.n_mixed} with one tie"
    )
    only = f"{found.n_single} judged in one order only" if found.n_single else None
    told = "; ".join(filter(None, [both, only]))
    return [
        counts | _tested("win_rate", found.win_rate, found.win_test) | {"note": f"of {first}: {told}"},
        counts | _tested("first_rate", found.first_rate, found.position_test) | {"note": apart},
        counts | {"estimand": "consistency", **share_columns(found.consistency)},
        counts | {"estimand": "consistent_win_rate", **share_columns(found.consistent_win_rate)},
    ]


def _tested(name: str, share: Any, test: SignFlipTest) -> dict[str, Any]:
    return {
        "estimand": name, **share_columns(share), "null": 0.5, "statistic": test.statistic,
        "p_value": test.p_value, "p_floor": test.p_floor,
    }  # fmt: skip
