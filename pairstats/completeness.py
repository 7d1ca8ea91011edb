"""What became of every planned reply: counts by cell, shown whole in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pairstats.result import none_if_null
from pairstats.schema import ANSWERED, STATUSES
from pairstats.shown import plain


class Completeness(pd.DataFrame):
    """Counts of `Panel.completeness`; prints all its columns, where pandas would leave out those in the middle.

    Every column of a status is there, also of one that never occurs; printed, these are named below the table.
    What is made from it, such as a part, is a plain frame.

    Examples
    --------
    >>> from pairstats import Panel
    >>> rows = {"family": ["f", "g"], "item": ["q", "r"], "model": "m", "status": ["answered", "error"]}
    >>> Panel(pd.DataFrame(rows)).completeness()
    model  planned  answered  error  completeness reasons
    m      2        1         1      0.5          error: 1
    no reply is unparsed, truncated, refused, empty, absent
    """

    def __repr__(self) -> str:
        never = [name for name in STATUSES if name != ANSWERED and name in self and not self[name].any()]
        shown = pd.DataFrame(self).drop(columns=never)
        words = [name for name in shown if not pd.api.types.is_numeric_dtype(shown[name])]
        for name in words:
            texts = ["" if none_if_null(value) is None else plain(value) for value in shown[name]]
            widest = max(map(len, texts), default=0)
            shown[name] = [text.ljust(widest) for text in texts]
        most = pd.get_option("display.max_rows")
        table = shown.to_string(index=False, max_rows=most, justify="left")
        lines = [line.rstrip() for line in table.splitlines()]
        return "\n".join([*lines, *([f"no reply is {', '.join(never)}"] if never else [])])


def completeness(keys: Sequence[str], counted: pd.DataFrame) -> Completeness:
    """Make the counts of every combination of `keys` from those by status and reason.

    Parameters
    ----------
    keys : sequence of str
    counted : pandas.DataFrame
        Columns of the keys, ``status``, ``reason_`` and ``n``.

    Returns
    -------
    Completeness
    """
    groups = counted.groupby(list(keys), sort=True, dropna=False) if keys else [((), counted)]
    rows = [_counts(dict(zip(keys, _as_tuple(key), strict=True)), part) for key, part in groups]
    return Completeness(rows, columns=[*keys, "planned", *STATUSES, "completeness", "reasons"])


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _counts(labels: Mapping[str, Any], part: pd.DataFrame) -> dict[str, Any]:
    by_status = part.groupby("status")["n"].sum()
    planned = int(part["n"].sum())
    statuses = {status: int(by_status.get(status, 0)) for status in STATUSES}
    lost = part[part["status"] != ANSWERED].assign(
        why=lambda t: t["reason_"].where(t["reason_"] != "", t["status"])
    )
    reasons = lost.groupby("why")["n"].sum().sort_values(ascending=False, kind="stable")
    return {
        **labels, "planned": planned, **statuses, "completeness": statuses[ANSWERED] / planned,
        "reasons": ", ".join(f"{why}: {int(n)}" for why, n in reasons.items()),
    }  # fmt: skip
