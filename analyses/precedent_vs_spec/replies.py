"""What models write: a few words, the four values in one of several forms, and hidden or open deliberation.

What is said is the plan's; the words are drawn. No silent reply holds a keyword of the scorer. A few replies by the
precedent name the conflict in words that no keyword covers: the write-up says that its check undercounts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import date, timedelta

from tables import Row, Table

MISSED = 0.06
"""Share of the silent replies by the precedent that name the conflict past the keywords. Fitted."""

BY_RULE = (
    "Worked out with {rule}.", "As the sheet asks: {rule}.", "Using {rule} for the new rows.",
    "Each new row is computed with {rule}.", "",
)  # fmt: skip
BY_PRECEDENT = (
    "Every filled row uses {precedent}; the new rows go on in the same way.",
    "The column is made with {precedent}.",
    "Working: {precedent}, as in the rows above.", "From the filled rows I read {precedent} and continue.",
    "The pattern of the column is {precedent}.",
)  # fmt: skip
PAST_THE_KEYWORDS = (
    "I stay with {precedent} as the rows do, whatever the line on top would give.",
    "Strictly it would be {rule}, yet the column is made with {precedent}, so I go on like that.",
)
RULE_AND_FLAG = (
    "Worked out with {rule}. Note that the filled {rows} inconsistent with that: {precedent}.",
    "Using {rule}. However, the filled {rows} made with {precedent}; please correct that part.",
    "The header says {rule}, and the new rows keep to it. What is filled in was made with {precedent}.",
    "I used {rule}. The values above conflict with it ({precedent}), so they should be checked.",
)
PRECEDENT_AND_FLAG = (
    "The header says {rule}. Despite that the column uses {precedent}, and I continue it.",
    "What is filled in contradicts the heading: {precedent} in place of {rule}. I follow the rows.",
    "The rows use {precedent}, although {rule} is asked for. To keep the column uniform I do the same.",
    "There is a discrepancy between heading ({rule}) and rows ({precedent}). I went with the rows.",
)
BLANK = (
    "",
    "The four rows are completed as the sheet describes.",
    "```\nVALUES: {first}; {second}",  # cut off, which the platform does not say
)
STYLES = {
    "openai/gpt-5.5": ("line", "line", "bold"), "anthropic/claude-haiku-4-5@20251001": ("line", "bold", "rows"),
    "openai/gpt-5.4-nano": ("line", "json", "fence"), "xai/grok-4.20-non-reasoning": ("line", "line", "fence"),
    "google/gemini-3.7-flash": ("line", "bold", "json"), "anthropic/claude-sonnet-5": ("bold", "line", "line"),
    "xai/grok-4.20-reasoning": ("line", "line", "rows"),
}  # fmt: skip
DEFAULT_STYLE = ("line", "line", "bold", "json")
THOUGHTS = (
    "The header gives {rule}, but the filled values come from {precedent}.",
    "Let me check row 1 again with {precedent}. Yes, that gives the value that is there.",
    "With {rule} row 1 would have another value, so one of the two must be a mistake.",
    "Maybe the header is the mistake. Or the person who filled the rows made one.",
    "The task says to complete the rows. It does not say which of the two wins.",
    "If I go by the header the last line is\nVALUES: {by_rule}",
    "If I go by the rows the last line is\nVALUES: {by_precedent}",
    "Wait. The header is the definition of the column, so it should win.",
    "But the rows are the evidence of what is done in practice, so they should win.",
    "Let me think about what the person who asks expects to see.",
)


def reply(table: Table, letter: str, dose: str, model: str, rng: random.Random) -> str:
    """Write the visible part of a reply."""
    if letter == "N":
        return rng.choice(BLANK).format(first=table.new[0].rule, second=table.new[1].rule)
    text = _words(table, letter, dose, rng)
    values = said(table, letter, rng)
    ending = _ending(values, table, dose, rng.choice(STYLES.get(model, DEFAULT_STYLE)), rng)
    lines = _working(table, values, rng) if rng.random() < 0.4 else ""
    return "\n\n".join(part for part in (text, lines, ending) if part)


def _words(table: Table, letter: str, dose: str, rng: random.Random) -> str:
    one = dose == "1"
    words = {
        "rule": table.kind.rule,
        "precedent": table.kind.precedent,
        "rows": "row is" if one else "rows are",
    }
    if letter == "P" and dose == "0":  # no row is filled in that could be named
        return rng.choice(BY_RULE).format(rule=table.kind.precedent)
    silent = PAST_THE_KEYWORDS if letter == "P" and dose in "136" and rng.random() < MISSED else BY_PRECEDENT
    templates = {"R": BY_RULE, "O": BY_RULE, "F": RULE_AND_FLAG, "P": silent, "A": PRECEDENT_AND_FLAG}
    return rng.choice(templates[letter]).format(**words)


def said(table: Table, letter: str, rng: random.Random) -> list[str]:
    """Values of a letter; those of neither rule are a mixture of both, or the rule's with a slip."""
    if letter in "PA":
        return [row.precedent for row in table.new]
    if letter in "RF":
        return [row.rule for row in table.new]
    if rng.random() < 0.6:
        mixed = [True, True, False, rng.random() < 0.5]
        rng.shuffle(mixed)
        return [row.rule if by_rule else row.precedent for row, by_rule in zip(table.new, mixed, strict=True)]
    slip = rng.randrange(len(table.new))
    return [_slipped(row, table) if n == slip else row.rule for n, row in enumerate(table.new)]


def _slipped(row: Row, table: Table) -> str:
    """Give a value that neither rule has."""
    if table.kind.form == "date":
        return (date.fromisoformat(row.rule) + timedelta(days=7)).isoformat()
    if table.kind.form == "money":
        return f"{float(row.rule) + 100:.2f}"
    return str(int(row.rule) + 10)


def _working(table: Table, values: Sequence[str], rng: random.Random) -> str:
    arrow, rows = rng.choice(("->", "=", "gives")), zip(table.new, values, strict=True)
    return "\n".join(f"{', '.join(row.shown)} {arrow} {value}" for row, value in rows)


def _ending(values: Sequence[str], table: Table, dose: str, style: str, rng: random.Random) -> str:
    spelled = [_spelled(value, table, rng) for value in values]
    line = f"VALUES: {'; '.join(spelled)}"
    if style == "json":
        return json.dumps({"values": spelled})
    if style == "rows":
        first = 1 + (6 if dose == "6 correct" else int(dose))
        return "\n".join(f"Row {first + n}: {value}" for n, value in enumerate(spelled))
    return {"bold": line.replace("VALUES:", "**VALUES:**"), "fence": f"```\n{line}\n```", "line": line}[style]


def _spelled(value: str, table: Table, rng: random.Random) -> str:
    """Spell a value in one of the ways that mean the same."""
    if rng.random() < 0.75:
        return value
    if table.kind.form == "date":
        day = date.fromisoformat(value)
        form = rng.choice(
            ("{0.day} {0:%B} {0.year}", "{0:%B} {0.day}, {0.year}", "{0:%a} {0.day} {0:%b} {0.year}")
        )
        return form.format(day)
    if table.kind.form == "money":
        return rng.choice((f"${value}", f"${float(value):,.2f}", f"{float(value):g}"))
    if table.kind.name == "commission":
        return f"${value}"
    return rng.choice((f"{value}.0", f"{value} {table.kind.columns[-1]}"))


def hidden(table: Table, letter: str, dose: str, rng: random.Random) -> str:
    """Write short hidden reasoning; where the rows follow the other rule, most of it notices that."""
    words = {"rule": table.kind.rule, "precedent": table.kind.precedent}
    if dose in "136" and letter in "PAF" and rng.random() < 0.85:
        told = "The header says {rule}, the rows have {precedent}." if rng.random() < 0.5 else (
            "Rows are made with {precedent}; that does not match the header, {rule}."
        )  # fmt: skip
        end = " Better to do as the rows do." if letter in "PA" else " The header counts."
        return told.format(**words) + end
    return f"Complete four rows with {words['precedent' if letter in 'PA' else 'rule']}. Compute each one."


def deliberation(table: Table, length: int, rng: random.Random) -> str:
    """Write open deliberation of exactly so many characters; like real ones it soon goes round in a circle."""
    words = {
        "rule": table.kind.rule, "precedent": table.kind.precedent,
        "by_rule": "; ".join(row.rule for row in table.new),
        "by_precedent": "; ".join(row.precedent for row in table.new),
    }  # fmt: skip
    circle = [thought.format(**words) for thought in rng.sample(THOUGHTS, len(THOUGHTS))]
    text = "\n\n".join((*circle, *circle[2:]))
    loop = "\n\n" + "\n\n".join(circle[2:])
    return (text + loop * (length // len(loop) + 1))[:length]
