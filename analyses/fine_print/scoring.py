"""Score one reply to a packet: status and value, then whether the cited clauses are a minimal evidence set.

A pure function on one row, standard library only. It needs the columns ``response`` and ``key`` (JSON: ``kind``,
``value``, ``offset``, ``evidence``, ``sources``) and returns the strict ``score``, ``score_answer_only``, the
canonical ``answer`` for flips, ``confidence``, and the ``outcome``:

``right``, ``wrong_citation`` (right value), ``wrong_value``, ``abstained`` (though the packet has an answer),
``committed`` (though it has none), ``no_answer``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

ABSTAINS = "insufficient_information"
DETERMINATE = frozenset(("determinate", "determined", "answered"))
Json = dict[str, Any]


def score(row: Mapping[str, Any]) -> Json:
    """Score the reply of one row."""
    key = json.loads(row["key"])
    reply = read_reply(row["response"] or "")
    if reply is None:
        status = "empty" if not (row["response"] or "").strip() else "unparsed"
        return _result(0.0, 0.0, None, None, "no_answer", status)
    abstains = said_status(reply) == ABSTAINS
    value = None if abstains else canonical(reply.get("value"), key["kind"])
    gold = canonical(key["value"], key["kind"])
    right = value == gold and (abstains or has_offset(reply.get("value"), key))
    cites = cited(reply.get("evidence"), key["sources"]) in [set(each) for each in key["evidence"]]
    outcome = "right" if cites else "wrong_citation"
    if not right:
        outcome = "abstained" if abstains else "committed" if gold is None else "wrong_value"
    answer = ABSTAINS if abstains else value
    return _result(float(right and cites), float(right), answer, said_confidence(reply), outcome, "answered")


def _result(
    strict: float, answer_only: float, answer: str | None, confidence: float | None, outcome: str, status: str
) -> Json:
    return {
        "score": strict, "score_answer_only": answer_only, "answer": answer, "confidence": confidence,
        "outcome": outcome, "status": status,
    }  # fmt: skip


def read_reply(text: str) -> Json | None:
    """Find the answer object of a reply: the last one with a status, outside of any reasoning block.

    None where there is none, or where its status or value is not told.
    """
    text = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL | re.IGNORECASE)
    text = re.split(r"</think>", text, flags=re.IGNORECASE)[-1]  # the prompt may have opened the block
    found = [each for each in map(_object, _braced(text)) if each is not None and said_status(each)]
    return found[-1] if found else None


def _braced(text: str) -> list[str]:
    """Outermost {...} of a text; braces inside strings do not count."""
    found, depth, start, quote = [], 0, 0, ""
    at = 0
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter == '"' and depth:
            quote = letter
        elif letter == "{":
            start = at if not depth else start
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
            if not depth:
                found.append(text[start : at + 1])
        at += 1
    return found


def _object(text: str) -> Json | None:
    """Read JSON, forgiving a comma before a closing bracket and Python's spelling."""
    plain = re.sub(r",\s*([}\]])", r"\1", text)
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(plain)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return (
            {str(name).strip().lower(): each for name, each in value.items()}
            if isinstance(value, dict)
            else None
        )
    return None


def said_status(reply: Json) -> str:
    """Status in its one spelling; a value without a status is determinate; empty where neither can be told."""
    status = re.sub(r"[\s_-]+", "_", str(reply.get("status") or "").strip().lower())
    if status in (ABSTAINS, "insufficient"):
        return ABSTAINS
    if reply.get("value") is None:
        return ""
    return "determinate" if status in DETERMINATE or not status else ""


def said_confidence(reply: Json) -> float | None:
    """Stated probability; a percentage is one where it says so or exceeds 1."""
    value = reply.get("confidence")
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        number = float(text.rstrip("% "))
    except ValueError:
        return None
    number = number / 100 if percent or 1 < number <= 100 else number
    return number if 0 <= number <= 1 and not isinstance(value, bool) else None


def cited(evidence: Any, sources: Mapping[str, str]) -> set[str]:
    """Clause ids; a page in front of one (``rules:S1``) is dropped if the clause is on that page."""
    listed = evidence if isinstance(evidence, list) else re.split(r"[,;\s]+", str(evidence or ""))
    found = set()
    for each in listed:
        name = str(each).strip().strip("[]()\"'.")
        page, colon, clause = (part.strip() for part in name.rpartition(":"))
        known = colon and sources.get(clause, "").lower() == page.lower()
        found.add(clause if known else name)
    return found - {""}


def canonical(value: Any, kind: str) -> str | None:
    """Write a value so that equal answers have equal texts; what is of another kind stays as it is."""
    if value is None:
        return None
    try:
        return _KINDS[kind](value)
    except (ValueError, InvalidOperation, OverflowError, TypeError):
        return " ".join(str(value).lower().split())


def has_offset(value: Any, key: Json) -> bool:
    """Whether a local time has the offset that was asked for; other kinds have none to check."""
    if not key["offset"]:
        return True
    offset = re.search(r"(Z|[+-]\d\d:?\d\d)$", str(value).strip(), re.IGNORECASE)
    return bool(offset) and offset[1].replace(":", "") == key["offset"].replace(":", "")  # type: ignore[index]


def _instant(value: Any) -> str:
    moment = datetime.fromisoformat(re.sub(r"\s*(UTC|GMT)$", "Z", str(value).strip()))
    if moment.tzinfo is None:
        raise ValueError("no offset")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _date(value: Any) -> str:
    text = str(value).strip()
    for form in ("%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%d %b %Y"):
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    return date.fromisoformat(text).isoformat()


def _boolean(value: Any) -> str:
    text = str(value).strip().lower().rstrip(".")
    if text not in ("true", "yes", "false", "no"):
        raise ValueError("no truth value")
    return "true" if text in ("true", "yes") else "false"


def _number(value: Any) -> str:
    if isinstance(value, bool):
        raise ValueError("a truth value is no number")
    text = re.sub(r"[$\s]|dollars?$", "", str(value))
    grouped = re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", text)
    number = Decimal(text.replace(",", "") if grouped else text)
    if not number.is_finite():
        raise ValueError("not finite")
    return f"{number.normalize():f}"


def _set(value: Any) -> str:
    listed = value if isinstance(value, list | tuple | set) else re.split(r"[,;]", str(value).strip("[]{} "))
    names = {" ".join(str(each).strip(" \"'").lower().split()) for each in listed} - {""}
    return "{" + ", ".join(sorted(names)) + "}"


_KINDS = {
    "instant": _instant,
    "local_instant": _instant,
    "date": _date,
    "boolean": _boolean,
    "number": _number,
    "set": _set,
}
