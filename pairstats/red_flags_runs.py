"""Red flags: copied runs, a model at the end of the scale, constant shifts, keys that repeat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from pairstats import schema
from pairstats.errors import counted
from pairstats.red_flags_found import MIN_COMMON, Check, Flag, LackingError, Rows, codes, first_of

SAME = 1e-9
"""Differences that are rounding."""
NUMBERS = ("score", "confidence")
"""Columns that a constant shift is looked for in, besides further scores."""
ID = "response_id"
"""Column that readers fill with the id the platform gave a reply."""


def identical_runs(rows: Rows) -> Iterator[Flag]:
    """Find two runs whose replies are the same texts; where no text is stored, whose rows are the same."""
    answered = rows.answered
    if rows.has("response"):
        what, column = "the same texts", codes(answered["response"])
        named = "replies"
    else:
        names = [n for n in ("answer", "score", "confidence") if rows.has(n)]
        if not names:
            raise LackingError("identical runs: the records hold no reply, answer or score")
        column = pd.Series(answered.groupby(names, dropna=False).ngroup(), index=answered.index, dtype=float)
        what, named = "the same", " and ".join(f"{name}s" for name in names)
    grid = rows.grid(column.dropna())
    for a, b in rows.pairs():
        one, two = grid[:, a], grid[:, b]
        both = ~np.isnan(one) & ~np.isnan(two)
        n = int(both.sum())
        # Where one value is nearly all there is (everybody is right), equal rows are no wonder.
        if n < MIN_COMMON or _rest(one[both]) < 2 or not (one[both] == two[both]).all():
            continue
        yield Flag(
            "identical_runs", True,
            f"the {named} of {rows.names[a]} and {rows.names[b]} are {what} in {n} of {n} decisions "
            f"({_scores_too(rows, a, b)})", n, n,
        )  # fmt: skip


def _rest(values: np.ndarray) -> int:
    """How many are not the most frequent value."""
    return int(len(values) - np.unique(values, return_counts=True)[1].max())


def _scores_too(rows: Rows, a: int, b: int) -> str:
    if not rows.has("score"):
        return "no score"
    grid = rows.grid(rows.answered["score"].dropna())
    one, two = grid[:, a], grid[:, b]
    both = ~np.isnan(one) & ~np.isnan(two)
    n, same = int(both.sum()), int((np.abs(one[both] - two[both]) <= SAME).sum())
    return f"scores equal in {same} of {n}"


def ceilings(rows: Rows) -> Iterator[Flag]:
    """Find who scored the highest, or the lowest, that is possible in everything."""
    scored = rows.frame[rows.frame["score"].notna()]
    if not len(scored):
        raise LackingError("ceiling: there is no score")
    low, high = rows.score_range
    for subject, part in scored.groupby("subject_")["score"]:
        name = rows.names[int(str(subject))]
        for kind, end in (("ceiling", high), ("floor", low)):
            if len(part) >= MIN_COMMON and bool((np.abs(part - end) <= SAME).all()):
                yield Flag(
                    kind, True,
                    f"{name} scored {end:g} in all of {counted(len(part), 'decision')}: "
                    "nothing better or worse can be seen from here", len(part), len(part),
                )  # fmt: skip


def constant_shifts(rows: Rows) -> Iterator[Flag]:
    """Find two subjects whose numbers differ by one constant: one was made from the other."""
    names = [n for n in rows.frame.columns if (n in NUMBERS or schema.is_score(n)) and rows.has(n)]
    if not names:
        raise LackingError("constant shift: there is no score or confidence")
    for name in names:
        grid = rows.grid(rows.frame[name].dropna().astype(float))
        for a, b in rows.pairs():
            shift = grid[:, b] - grid[:, a]
            both = ~np.isnan(shift)
            n = int(both.sum())
            if n < MIN_COMMON or np.ptp(grid[both, a]) <= SAME:
                continue
            size = float(np.median(shift[both]))
            if abs(size) > SAME and np.abs(shift[both] - size).max() <= SAME:
                yield Flag(
                    "constant_shift", True,
                    f"{name} of {rows.names[b]} is that of {rows.names[a]} {'+' if size > 0 else '-'} "
                    f"{abs(size):g} in all of {counted(n, 'decision')}", n, n,
                )  # fmt: skip


def key_repeats(rows: Rows) -> Iterator[Flag]:
    """Find one raw record in several rows, where that is an exception.

    Two rows with one key are refused by the format itself. Here the key differs, in the family for instance,
    but file and record are the same, and so are reply and score.
    """
    sourced = rows.frame[rows.frame["source"] != ""]
    content = [n for n in ("response", "answer", "score") if rows.has(n)]
    if not len(sourced) or not content:
        raise LackingError("a raw record in several rows: the rows do not say where they come from")
    times = sourced.groupby(["source", *content], dropna=False)["item"].transform("size")
    twice = sourced[times > 1]
    if len(twice) and len(twice) < len(sourced) / 2:
        yield Flag(
            "key_repeats", True,
            f"{counted(twice['source'].nunique(), 'raw record')} stand in several rows each, with the same reply "
            "and score", len(twice), len(sourced), first_of(twice["source"]),
        )  # fmt: skip


def response_ids(rows: Rows) -> Iterator[Flag]:
    """Find one response id in rows of different items or subjects: one reply counted for several."""
    if not rows.has(ID):
        raise LackingError(
            f"response ids: there is no column {ID} (the platform gives none, or the file is older)"
        )
    known = rows.frame[rows.frame[ID].notna() & (rows.frame[ID] != "")]
    groups = known.groupby(ID)
    units = known.assign(unit_=known["item"].astype(str) + "\x1f" + known["variant"].astype(str))
    for column, what in (("subject_", "runs or models"), ("unit_", "items")):
        several = units.groupby(ID)[column].nunique()
        shared = several[several > 1].index
        if len(shared):
            hit = units[units[ID].isin(shared)]
            yield Flag(
                "response_id_repeats", True,
                f"{counted(len(shared), 'response id')} of {groups.ngroups} stand in rows of different {what}: "
                "one reply is counted for several", len(hit), len(known), first_of(hit["source"]),
            )  # fmt: skip


RUN_CHECKS: tuple[Check, ...] = (identical_runs, ceilings, constant_shifts, key_repeats, response_ids)
