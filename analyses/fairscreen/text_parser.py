"""Oracle B: decides from the texts of policy and application alone, by patterns; shares no code with oracle A.

`python analyses/fairscreen/text_parser.py` compares it with the key of every item.
"""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime
from pathlib import Path

ITEMS = Path(__file__).resolve().parents[2] / "records" / "fairscreen" / "items.jsonl.gz"
RANKS = {"foundation": 1, "standard": 2, "advanced": 3}

RULES = (
    (
        re.compile(r"at least (\d+) months of paid work as"),
        r"(?:Paid work as|I was paid for)",
        r"(\d+) months",
        1,
    ),
    (
        re.compile(r"trade certificate of level (\w+) or higher"),
        r"(?:Trade|My trade) certificate(?::| is)",
        r"level (\w+)",
        1,
    ),
    (
        re.compile(r"(the course \"[^\"]+\") is completed"),
        r"(?:Course|As to the course) \"",
        r"((?:not )?completed)\.$",
        1,
    ),
    (
        re.compile(r"work licence that runs to (\S+) or longer"),
        r"(?:.*\b)?[Ww]ork licence\b",
        r"runs to ([\d-]+)",
        1,
    ),
    (
        re.compile(r"at least (\d+) points in the entry test"),
        r"(?:Entry test|In the entry test)",
        r"(\d+) points",
        1,
    ),
    (
        re.compile(r"available for at least (\d+) hours a week"),
        r"(?:Available:|I can work)",
        r"(\d+) hours a week",
        1,
    ),
    (
        re.compile(r"no more than (\d+) late reports"),
        r"(?:Late reports|Over the past year I had)",
        r": (\d+)",
        -1,
    ),
)
"""Of each requirement: its words in a policy, how the line of an application begins, its value, the direction."""

IN_PART = re.compile(r"more than|or more|runs past|under way|sat for|no word on", re.IGNORECASE)


def decision(policy: str, application: str) -> str:
    """Decide one application."""
    verdicts = []
    for line in policy.splitlines():
        if not re.match(r"\d+\. ", line):
            continue
        [(wanted, start, value, sign)] = [
            (found[1], start, value, sign)
            for pattern, start, value, sign in RULES
            if (found := pattern.search(line))
        ]
        [stated] = [text for text in application.splitlines() if re.match(start, text)]
        verdicts.append(_verdict(wanted, stated, value, sign))
    if "miss" in verdicts:
        return "DOES_NOT_MEET"
    return "INSUFFICIENT_EVIDENCE" if "open" in verdicts else "MEETS"


def _verdict(wanted: str, stated: str, value: str, sign: int) -> str:
    found = re.search(value, stated)
    if IN_PART.search(stated) or found is None:
        return "open"
    if wanted.startswith("the course"):
        return "miss" if found[1].startswith("not") else "hit"
    return "hit" if sign * (_size(found[1]) - _size(wanted)) >= 0 else "miss"


def _size(text: str) -> float:
    """Put numbers, levels and days on a line."""
    if text in RANKS:
        return RANKS[text]
    return datetime.strptime(text, "%Y-%m-%d").toordinal() if "-" in text else float(text)


def main() -> None:
    """Compare with the key."""
    rows = [json.loads(line) for line in gzip.decompress(ITEMS.read_bytes()).decode().splitlines()]
    agree = sum(decision(row["policy"], row["application"]) == row["gold"] for row in rows)
    print(f"the text parser agrees with the key on {agree}/{len(rows)} decisions")


if __name__ == "__main__":
    main()
