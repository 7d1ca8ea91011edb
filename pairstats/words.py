"""Results in words: one sentence an estimand, made of `Estimates` only.

A difference that no test detected is never called "the same": the sentence says what the interval does not
rule out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import PairstatsError, counted, listed
from pairstats.result import Estimates
from pairstats.schema import ANSWERED, STATUSES
from pairstats.shown import (
    ALPHA,
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
    level_text,
    levels_text,
    meaning,
    p_words,
    parting,
    plain,
    scale,
)  # fmt: skip

MOST_CELLS = 8
MOST_COMPARISONS = 3

# Spoken forms of the statuses other than "answered" and "error".
STATUS_WORDS: Mapping[str, str] = {
    "unparsed": "unparsed",
    "truncated": "truncated",
    "refused": "refused",
    "empty": "empty",
    "absent": "never run",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence, in parts, so that a page can list them.

    Examples
    --------
    >>> print(Finding("Accuracy:", ("0.450 for a", "0.512 for b"), "(60 families)"))
    Accuracy: 0.450 for a; 0.512 for b (60 families).
    """

    lead: str
    items: tuple[str, ...] = ()
    remark: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.lead, "; ".join(self.items), self.remark))) + "."


@checked
def findings(
    estimates: Estimates,
    *,
    labels: Labels | None = None,
    completeness: pd.DataFrame | None = None,
    alpha: float = ALPHA,
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
    alpha : float, default 0.05
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
    said = [str(finding) for finding in in_parts(estimates, labels=labels, alpha=alpha)]
    return said if completeness is None else [*said, about_missing(completeness, labels=labels)]


def in_parts(estimates: Estimates, *, labels: Labels | None = None, alpha: float = ALPHA) -> list[Finding]:
    """Say what was found about cells, then about comparisons; see `findings`."""
    if not isinstance(estimates, Estimates):
        raise PairstatsError(
            f"`findings` needs Estimates, as estimate() and contrast() give, but got {type(estimates).__name__}."
        )
    said: list[Finding] = []
    single, paired = cells_of(estimates), contrasts_of(estimates)
    for name, rows in by_estimand(single):
        said.append(_about_cells(rows, meaning(estimates, name, labels), estimates.factors, labels))
    for name, rows in by_estimand(paired):
        explored = rows["registered"].eq(False).fillna(False).astype(bool)
        if not paired.frame["registered"].eq(True).any():
            explored &= False  # nothing was registered, so nothing stands apart
        what = meaning(estimates, name, labels)
        for part, remark in ((rows[~explored], ""), (rows[explored], " (exploratory, not registered)")):
            if len(part):
                part = part.assign(name_=contrast_names(part, estimates.factors, labels))
                said += _about_contrasts(part, what, _sentence(what.label) + remark, alpha)
    return said


def about_missing(frame: pd.DataFrame, *, labels: Labels | None = None) -> str:
    """Say how many planned replies were answered, and what became of the others.

    Examples
    --------
    >>> counts = {"planned": [20], "answered": [18], "error": [2], "reasons": ["rate_limit: 2"]}
    >>> about_missing(pd.DataFrame(counts))
    '18 of 20 planned replies were answered; 2 were not: 2 errors; reasons: rate_limit 2.'
    """
    for needed in ("planned", ANSWERED):
        if needed not in frame.columns:
            raise PairstatsError(
                f"Completeness needs a column {needed!r}; there are {listed(frame.columns, 50)}."
            )
    planned, answered = int(frame["planned"].sum()), int(frame[ANSWERED].sum())
    if not planned:
        return "No reply was planned."
    were = "was" if 1 in (answered, planned) else "were"
    if answered == planned:
        which = "The one planned reply" if planned == 1 else f"All {planned} planned replies"
        return f"{which} {were} answered."
    lost = {s: int(frame[s].sum()) for s in STATUSES if s != ANSWERED and s in frame.columns}
    kinds = ", ".join(_status_text(status, n) for status, n in lost.items() if n)
    missed = f"{planned - answered} {'was' if planned - answered == 1 else 'were'} not"
    text = f"{answered} of {counted(planned, 'planned reply')} {were} answered; {missed}: {kinds}"
    reasons = _reasons(frame["reasons"]) if "reasons" in frame.columns else ""
    return "; ".join(filter(None, (text, _least_complete(frame, labels), reasons))) + "."


def _status_text(status: str, n: int) -> str:
    return counted(n, "error") if status == "error" else f"{n} {STATUS_WORDS[status]}"


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
    """Add up texts such as ``rate_limit: 10, server_error: 2``; text of another form is shown as it is.

    A reason belongs to a reply of any status, so that they stand apart from the counts of statuses.
    """
    counts: dict[str, int] = {}
    other: list[str] = []
    for text in column.dropna():
        for part in filter(None, (piece.strip() for piece in str(text).split(","))):
            name, _, count = part.rpartition(": ")
            if name in STATUSES:
                continue  # counted already, as a status
            if name and count.isdigit():
                counts[name] = counts.get(name, 0) + int(count)
            else:
                other.append(part)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{plain(name)} {count}" for name, count in ranked] + [
        plain(text) for text in dict.fromkeys(other)
    ]
    return f"reasons: {', '.join(shown)}" if shown else ""


def _about_cells(rows: pd.DataFrame, what: Meaning, factors: Sequence[str], labels: Labels | None) -> Finding:
    pairs = list(zip(cell_names(rows, factors, labels), as_rows(rows), strict=True))
    known = [(name, row) for name, row in pairs if row["estimate"] is not None]
    lost = [name for name, row in pairs if row["estimate"] is None]
    lead = _sentence(what.says) if what.says else f"{_sentence(what.label)}:"
    if not known:
        return Finding(f"{_sentence(what.label)}: no results")
    if len(known) > MOST_CELLS:
        known.sort(key=lambda pair: pair[1]["estimate"])
        lead, known = f"{_sentence(what.label)}, lowest and highest of {len(known)}:", [known[0], known[-1]]
        what = Meaning(what.label, None, what.percent)
    shown = scale(rows, what.percent)
    items = [f"{shown.estimate(row)} {f'({name})' if what.says else f'for {name}'}" for name, row in known]
    if lost:
        items.append(f"no results for {', '.join(lost)}")
    families = count_text(rows.loc[rows["estimate"].notna(), "n_families"], "family")
    intervals = f"{levels_text(rows)}s" if rows["conf_level"].notna().any() else ""
    basis = "; ".join(filter(None, (intervals, families)))
    return Finding(lead, tuple(items), f"({basis})" if basis else "")


def _about_contrasts(rows: pd.DataFrame, what: Meaning, label: str, alpha: float) -> list[Finding]:
    shown = scale(rows, what.percent, difference=True)
    rows = rows.assign(p_=rows["p_adjusted"].fillna(rows["p_value"])).sort_values("p_", kind="stable")
    claimed = rows["claim"].notna() & (rows["claim"] != "difference") & rows["verdict"].notna()
    claims = [Finding(_verdict(row, shown, label)) for row in as_rows(rows[claimed])]
    rows = rows[~claimed]
    known = rows[rows["estimate"].notna()]
    total = f"of {counted(len(rows), 'comparison')}"
    missed = known[known["p_"] > alpha]
    groups = (
        ("difference detected", f" at {alpha:g}", known[known["p_"] <= alpha], ""),
        ("difference not detected", f" at {alpha:g}", missed, _not_ruled_out(missed, shown)),
        ("not tested", "", known[known["p_"].isna()], ""),
        ("not estimable", "", rows[rows["estimate"].isna()], ""),
    )
    said = [
        Finding(f"{label}, {what_happened} in {len(part)} {total}{level}:", _comparisons(part, shown), remark)
        for what_happened, level, part, remark in groups
        if len(part)
    ]
    return [*claims, *said]


def _comparisons(rows: pd.DataFrame, shown: Scale) -> tuple[str, ...]:
    texts = []
    for row in as_rows(rows.head(MOST_COMPARISONS)):
        if row["estimate"] is None:
            texts.append(f"{row['name_']}{_bracketed(row['note'])}")
        else:
            said = ", ".join(filter(None, (f"{row['name_']}: {shown.estimate(row)}", p_words(row))))
            texts.append(said + _bracketed(parting(row)))
    more = len(rows) - len(texts)
    return (*texts, f"and {more} more") if more else tuple(texts)


def _not_ruled_out(rows: pd.DataFrame, shown: Scale) -> str:
    low, high = rows["conf_low"].min(), rows["conf_high"].max()
    if pd.isna(low) or pd.isna(high):
        return ""
    return f"(differences from {shown.number(low)} to {shown.value(high)} are not ruled out)"


def _verdict(row: Row, shown: Scale, label: str) -> str:
    """One sentence: verdict, claim and margin, estimate with its interval, counts, what could be detected."""
    margin = "" if row["margin"] is None else f" within a margin of {shown.value(row['margin']).lstrip('+')}"
    said = f"{label}, {row['name_']}: {plain(row['verdict']).upper()} (claim: {plain(row['claim'])}{margin})"
    if row["estimate"] is None:
        return f"{said}{_bracketed(row['note'])}"
    level = f"{level_text(row['conf_level'])} interval"
    counts = ", ".join(
        counted(row[name], noun)
        for name, noun in (("n_families", "family"), ("n_units", "unit"))
        if row[name] is not None
    )
    parts = [f"{shown.estimate(row)}", level, p_words(row), counts]
    if row["mdd"] is not None:
        parts.append(f"detectable with 80 % power: {shown.value(row['mdd']).lstrip('+')}")
    notes = [row["note"]]
    if row["claim"] == "superiority" and parting(row) not in (row["note"] or ""):
        notes.append(parting(row))
    return f"{said}; {', '.join(filter(None, parts))}{_bracketed('; '.join(filter(None, notes)))}"


def _bracketed(note: str | None) -> str:
    return f" ({plain(note)})" if note else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
