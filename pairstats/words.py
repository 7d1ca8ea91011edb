"""Results in words: one sentence an estimand, made of `Estimates` only.

A difference that no test detected is never called "the same": the sentence says what the interval does not
rule out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from pairstats.errors import PairstatsError, listed
from pairstats.result import Estimates
from pairstats.schema import ANSWERED, STATUSES
from pairstats.shown import (
    Labels,
    Meaning,
    Row,
    Scale,
    as_rows,
    by_estimand,
    cell_names,
    cells_of,
    contrast_names,
    contrasts_of,
    count_text,
    levels_text,
    meaning,
    p_words,
    plain,
    scale,
)  # fmt: skip

MOST_CELLS = 8
MOST_COMPARISONS = 3

# Spoken forms of the statuses other than "answered".
STATUS_WORDS: Mapping[str, str] = {
    "unparsed": "unparsed",
    "truncated": "truncated",
    "refused": "refused",
    "empty": "empty",
    "error": "errors",
    "absent": "never run",
}


def findings(
    estimates: Estimates,
    *,
    labels: Labels | None = None,
    completeness: pd.DataFrame | None = None,
    alpha: float = 0.05,
) -> list[str]:
    """Say what was found, in plain text.

    Parameters
    ----------
    estimates : Estimates
        Rows about cells and rows of comparisons.
    labels : mapping, optional
        What estimands and cells are called; by default what the provenance says.
    completeness : pandas.DataFrame, optional
        From `Panel.completeness`; adds a sentence about missing replies.
    alpha : float
        A difference is detected where its adjusted p-value is at most this.

    Returns
    -------
    list of str
        One sentence an estimand, then one or two for its comparisons, then the missing replies.

    Examples
    --------
    >>> row = {"estimand": "accuracy", "model": "m", "estimate": 0.45, "conf_low": 0.37, "conf_high": 0.53}
    >>> for said in findings(Estimates.from_rows([row | {"n_families": 60}], factors=("model",))):
    ...     print(said)
    Accuracy: 0.450 [0.370, 0.530] for m (60 families).
    """
    said: list[str] = []
    single, paired = cells_of(estimates), contrasts_of(estimates)
    for name, rows in by_estimand(single):
        said.append(_about_cells(rows, meaning(estimates, name, labels), estimates.factors, labels))
    for name, rows in by_estimand(paired):
        explored = rows["registered"].eq(False).fillna(False).astype(bool) & (
            "protocol" in estimates.provenance
        )
        for part, remark in ((rows[~explored], ""), (rows[explored], " (exploratory, not registered)")):
            if len(part):
                what = meaning(estimates, name, labels)
                said += _about_contrasts(part, what, remark, estimates.factors, labels, alpha)
    if completeness is not None:
        said.append(about_missing(completeness, labels=labels))
    return said


def about_missing(frame: pd.DataFrame, *, labels: Labels | None = None) -> str:
    """Say how many planned replies were answered, and what became of the others.

    Examples
    --------
    >>> counts = {"planned": [20], "answered": [18], "error": [2], "reasons": ["rate_limit: 2"]}
    >>> about_missing(pd.DataFrame(counts))
    '18 of 20 planned replies were answered; 2 were not: 2 errors (rate_limit: 2).'
    """
    for needed in ("planned", ANSWERED):
        if needed not in frame.columns:
            raise PairstatsError(
                f"Completeness needs a column {needed!r}; there are {listed(frame.columns, 50)}."
            )
    planned, answered = int(frame["planned"].sum()), int(frame[ANSWERED].sum())
    if answered == planned:
        return f"All {planned} planned replies were answered."
    lost = {s: int(frame[s].sum()) for s in STATUSES if s != ANSWERED and s in frame.columns}
    kinds = ", ".join(f"{n} {STATUS_WORDS[status]}" for status, n in lost.items() if n)
    reasons = _reasons(frame["reasons"]) if "reasons" in frame.columns else ""
    text = f"{answered} of {planned} planned replies were answered; {planned - answered} were not"
    worst = _least_complete(frame, labels)
    return f"{text}: {kinds}{reasons}{'; ' if worst else ''}{worst}."


def _least_complete(frame: pd.DataFrame, labels: Labels | None) -> str:
    asked = frame[frame["planned"] > 0].reset_index(drop=True)
    if len(asked) < 2:
        return ""
    factors = list(frame.columns[: list(frame.columns).index("planned")])
    share = asked[ANSWERED] / asked["planned"]
    if share.min() == share.max():
        return ""
    worst = int(share.to_numpy().argmin())
    name = cell_names(asked, factors, labels)[worst]
    return f"least complete: {name}, {int(asked[ANSWERED][worst])} of {int(asked['planned'][worst])}"


def _reasons(column: pd.Series) -> str:
    """Add up texts such as ``rate_limit: 10, server_error: 2``; text of another form is shown as it is."""
    counts: dict[str, int] = {}
    other: list[str] = []
    for text in column.dropna():
        for part in filter(None, (piece.strip() for piece in str(text).split(","))):
            name, _, count = part.rpartition(": ")
            if name and count.isdigit():
                counts[name] = counts.get(name, 0) + int(count)
            else:
                other.append(part)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{plain(name)}: {count}" for name, count in ranked] + [
        plain(text) for text in dict.fromkeys(other)
    ]
    return f" ({', '.join(shown)})" if shown else ""


def _about_cells(rows: pd.DataFrame, what: Meaning, factors: Sequence[str], labels: Labels | None) -> str:
    names = cell_names(rows, factors, labels)
    shown = scale(rows, what.percent)
    pairs = [(name, row) for name, row in zip(names, as_rows(rows), strict=True)]
    known = [(name, row) for name, row in pairs if row["estimate"] is not None]
    lost = [name for name, row in pairs if row["estimate"] is None]
    if not known:
        return f"{_sentence(what.label)}: no results."
    if len(known) > MOST_CELLS:
        ordered = sorted(known, key=lambda pair: pair[1]["estimate"])
        texts = [f"{shown.estimate(row)} for {name}" for name, row in (ordered[0], ordered[-1])]
        listing = f"from {texts[0]} to {texts[1]}, in {len(known)} cells"
    elif what.says:
        listing = ", ".join(f"{shown.estimate(row)} ({name})" for name, row in known)
    else:
        listing = ", ".join(f"{shown.estimate(row)} for {name}" for name, row in known)
    start = f"{_sentence(what.says)} " if what.says else f"{_sentence(what.label)}: "
    remarks = [
        _interval_remark(rows),
        count_text(rows.loc[rows["estimate"].notna(), "n_families"], "families"),
    ]
    basis = "; ".join(filter(None, remarks))
    missing = f"; no results for {', '.join(lost)}" if lost else ""
    return f"{start}{listing}{f' ({basis})' if basis else ''}{missing}."


def _about_contrasts(
    rows: pd.DataFrame,
    what: Meaning,
    remark: str,
    factors: Sequence[str],
    labels: Labels | None,
    alpha: float,
) -> list[str]:
    shown = scale(rows, what.percent, difference=True)
    names = contrast_names(rows, factors, labels)
    rows = rows.assign(name_=names, p_=rows["p_adjusted"].fillna(rows["p_value"]))
    rows = rows.sort_values("p_", kind="stable")
    total, label = len(rows), _sentence(what.label) + remark
    known = rows[rows["estimate"].notna()]
    groups = {
        f"difference detected in {{}} of {total} at {alpha:g}": known[known["p_"] <= alpha],
        f"difference not detected in {{}} of {total} at {alpha:g}": known[known["p_"] > alpha],
        f"not tested in {{}} of {total}": known[known["p_"].isna()],
        f"not estimable in {{}} of {total}": rows[rows["estimate"].isna()],
    }
    said = []
    for text, part in groups.items():
        if len(part):
            listing = _comparisons(part, shown)
            ruled = _not_ruled_out(part, shown) if "not detected" in text else ""
            said.append(f"{label}, {text.format(len(part))} comparisons: {listing}{ruled}.")
    verdicts = known[known["verdict"].notna()]
    if len(verdicts):
        claims = "; ".join(_verdict(row, shown) for row in as_rows(verdicts))
        said.append(f"{label}, verdicts: {claims}.")
    return said


def _comparisons(rows: pd.DataFrame, shown: Scale) -> str:
    texts = []
    for row in as_rows(rows.head(MOST_COMPARISONS)):
        if row["estimate"] is None:
            note = row["note"]
            texts.append(f"{row['name_']}{f' ({plain(note)})' if note else ''}")
        else:
            texts.append(", ".join(filter(None, (f"{row['name_']}: {shown.estimate(row)}", p_words(row)))))
    more = len(rows) - len(texts)
    return "; ".join(texts) + (f"; and {more} more" if more else "")


def _not_ruled_out(rows: pd.DataFrame, shown: Scale) -> str:
    low, high = rows["conf_low"].min(), rows["conf_high"].max()
    if pd.isna(low) or pd.isna(high):
        return ""
    return f"; differences from {shown.number(low)} to {shown.value(high)} are not ruled out"


def _verdict(row: Row, shown: Scale) -> str:
    claim, margin = row["claim"], row["margin"]
    within = "" if margin is None else f" (margin {shown.value(margin).lstrip('+')})"
    return f"{row['name_']}: {plain(claim) + within + ': ' if claim else ''}{plain(row['verdict'])}"


def _interval_remark(rows: pd.DataFrame) -> str:
    return f"{levels_text(rows)}s" if rows["conf_level"].notna().any() else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
