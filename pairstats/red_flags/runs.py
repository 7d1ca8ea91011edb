"""Red flags: a model at the end of the scale, constant shifts, raw records and response ids that repeat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairstats import schema
from pairstats.errors import counted
from pairstats.red_flags.copies import SAME, copied_runs
from pairstats.red_flags.found import MIN_COMMON, Check, Flag, LackingError, Rows, first_of

NUMBERS = ("score", "confidence")
"""Columns that a constant shift is looked for in, besides further scores."""
RECORD_OF_FILE = r":[^/\\]+$"
"""End of a source that names a record of its file."""
ID = "response_id"
"""Column that readers fill with the id the platform gave a reply."""


def ceilings(rows: Rows) -> Iterator[Flag]:
    """Find who scored the highest, or the lowest, that is possible in everything."""
    low, high = rows.score_range
    lost = rows.frame["status"].isin(schema.NO_ANSWER)
    scored = rows.frame[rows.frame["score"].notna() | lost]
    if not len(scored):
        raise LackingError("ceiling: there is no score")
    values = scored["score"].mask(lost & scored["score"].isna(), low)  # no answer counts as the worst one
    for subject, part in values.groupby(scored["subject_"]):
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
    but file and record are the same, and so are repeat, reply and score. A source that names no record, only a
    file, tells rows apart no further than the rest of the key does. Rows that differ in their repeat may be
    replies that one record holds, so that equal ones are only a remark.
    """
    sourced = rows.frame[rows.frame["source"] != ""]
    content = [n for n in ("response", "answer", "score") if rows.has(n)]
    if not len(sourced) or not content:
        raise LackingError("a raw record in several rows: the rows do not say where they come from")
    key = [name for name in schema.KEY if name not in ("family", "repeat")]
    named = sourced["source"].str.contains(RECORD_OF_FILE).astype(bool)
    of_key = sourced.groupby(key, dropna=False).ngroup()
    same = [sourced["source"], of_key.mask(named, -1), *(sourced[name] for name in content)]
    for kind, by, told in (
        ("key_repeats", [*same, sourced["repeat"]], "with the same reply and score"),
        (
            "cached_repeats",
            same,
            "as repeats with the same reply and score: one reply, or several that are equal",
        ),
    ):
        several = sourced.groupby(by, dropna=False)["item"].transform("size") > 1
        twice = sourced[several & (named | (kind == "key_repeats"))]
        if len(twice) and len(twice) < len(sourced) / 2:
            yield Flag(
                kind, kind == "key_repeats",
                f"{counted(twice['source'].nunique(), 'raw record')} stand in several rows each, {told}",
                len(twice), len(sourced), first_of(twice["source"]),
            )  # fmt: skip
            return


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


RUN_CHECKS: tuple[Check, ...] = (copied_runs, ceilings, constant_shifts, key_repeats, response_ids)
