"""Score one completed sheet: whose rule its four values follow, and whether the reply names the conflict.

A pure function on one row, standard library only. It needs the columns ``response``, ``reason``, ``conflict``
(yes or no) and ``key`` (JSON: ``form`` of the values, and the values by ``rule`` and by ``precedent``), and returns

* ``followed``: rule, precedent, neither (four values of no one rule), none (no four values) or never_reached (the
  token budget ended before any answer);
* ``flagged``: whether the visible reply names the conflict, by keywords; ``noticed``: the same of the hidden
  reasoning, where the platform stores it;
* ``outcome``: rule_flagged, rule_silent, precedent_flagged, precedent_silent, other_none or never_reached; on
  sheets without a conflict right or wrong;
* ``score``: 1, 0.5, 0.5 or 0 on conflict sheets, else whether the rule was followed; ``score_precedent``: whether
  the precedent was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

POINTS = {"rule_flagged": 1.0, "rule_silent": 0.5, "precedent_flagged": 0.5}
NAMES_IT = re.compile(
    r"\bhowever\b|\bdespite\b|\balthough\b|inconsisten|contradict|\bconflict|\bdisagree|discrepan|mismatch"
    r"|does(?:n't| not) (?:match|follow|agree)|\bdo(?:n't| not) (?:match|follow|agree)"
    r"|\b(?:rule|header|heading) (?:says|states|asks)|\bnot \d+ ?%",
    re.IGNORECASE,
)
"""Words by which a reply names the conflict. It misses other wordings, so acknowledgements are undercounted."""

_FINAL = re.compile(r"^[\s>*_#`-]*values[\s*_`]*:[\s*_`]*(.+?)[\s*_`]*$", re.IGNORECASE | re.MULTILINE)
_LISTED = re.compile(r"\{[^{}]*\"values\"\s*:\s*(\[[^\[\]]*\])[^{}]*\}", re.IGNORECASE)
_ROW = re.compile(r"^[\s>*-]*row (\d+)[\s*]*[:=][\s*]*(.+?)[\s*]*$", re.IGNORECASE | re.MULTILINE)
_CLOSED = re.compile(r"</think>", re.IGNORECASE)


def score(row: Mapping[str, Any]) -> dict[str, Any]:
    """Score the reply of one row."""
    key, text = json.loads(row["key"]), row["response"] or ""
    cut = row.get("reason") == "length"
    said = visible(text, cut=cut)
    values = read_values(said, key["form"])
    followed = "never_reached" if cut and values is None else _followed(values, key)
    flagged = followed != "never_reached" and bool(NAMES_IT.search(said))
    outcome = _outcome(followed, flagged) if row["conflict"] == "yes" else _right(followed)
    hidden = row.get("reasoning")
    return {
        "score": POINTS.get(outcome, 0.0) if row["conflict"] == "yes" else float(outcome == "right"),
        "score_precedent": float(followed == "precedent"),
        "answer": None if values is None else "; ".join(values), "outcome": outcome, "followed": followed,
        "flagged": "yes" if flagged else "no", "reply_chars": len(text),
        "noticed": None if hidden is None else "yes" if NAMES_IT.search(hidden) else "no",
        "status": _status(values, text, row.get("reason")),
    }  # fmt: skip


def visible(text: str, *, cut: bool) -> str:
    """Give what follows the reasoning block.

    The opening tag may be a part of the prompt, so that a reply only closes the block. One that was cut and closes
    none never left its reasoning, and shows nothing.
    """
    *before, said = _CLOSED.split(text)
    inside = not before and (cut or "<think>" in text.lower())
    return "" if inside else said


def read_values(text: str, form: str) -> list[str] | None:
    """Find the last four values of a reply in canonical form; None where there are not four."""
    finals, lists = list(_FINAL.finditer(text)), list(_LISTED.finditer(text))
    if lists and (not finals or lists[-1].start() > finals[-1].start()):
        return _canonical(_loaded(lists[-1][1]), form)
    if finals:
        return _canonical(_split(finals[-1][1]), form)
    rows = [(int(number), value) for number, value in _ROW.findall(text)][-4:]
    if not rows or [number for number, _ in rows] != list(range(rows[0][0], rows[0][0] + 4)):
        return None
    return _canonical([value for _, value in rows], form)


def _loaded(text: str) -> list[str]:
    try:
        return [str(value) for value in json.loads(text)]
    except ValueError:
        return []


def _split(text: str) -> list[str]:
    """Split at semicolons or bars; at commas only where they are no part of a number or a date."""
    for mark in (";", "|"):
        if mark in text:
            return [part for part in text.split(mark) if part.strip()]
    return re.split(r",\s+", text)


def _canonical(values: Sequence[str], form: str) -> list[str] | None:
    try:
        found = [_FORMS[form](value.strip().strip("*_`\"' .")) for value in values]
    except (ValueError, InvalidOperation):
        return None
    return found if len(found) == 4 else None


def _number(text: str) -> Decimal:
    plain = re.sub(r"^\$\s*|\s*(days?|min(utes)?|alerts?|dollars?|USD)$", "", text, flags=re.IGNORECASE)
    if not re.fullmatch(r"-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?", plain):
        raise ValueError(f"no number: {text!r}")
    return Decimal(plain.replace(",", ""))


def _money(text: str) -> str:
    number = _number(text)
    return f"{number:.2f}" if number == round(number, 2) else f"{number.normalize():f}"


def _count(text: str) -> str:
    return f"{_number(text).normalize():f}"


def _date(text: str) -> str:
    plain = re.sub(r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+", "", text, flags=re.IGNORECASE)
    for form in ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y"):
        try:
            return datetime.strptime(plain, form).date().isoformat()
        except ValueError:
            continue
    return date.fromisoformat(plain).isoformat()


_FORMS = {"money": _money, "count": _count, "date": _date}


def _followed(values: Sequence[str] | None, key: Mapping[str, Any]) -> str:
    if values is None:
        return "none"
    return next((rule for rule in ("rule", "precedent") if list(values) == key[rule]), "neither")


def _outcome(followed: str, flagged: bool) -> str:
    if followed in ("rule", "precedent"):
        return f"{followed}_{'flagged' if flagged else 'silent'}"
    return followed if followed == "never_reached" else "other_none"


def _right(followed: str) -> str:
    return followed if followed == "never_reached" else "right" if followed == "rule" else "wrong"


def _status(values: Sequence[str] | None, text: str, reason: str | None) -> str:
    if values is not None:
        return "answered"
    if reason in ("length", "length_suspected"):
        return "truncated"
    return "unparsed" if text.strip() else "empty"
