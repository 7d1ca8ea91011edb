"""What each model is made to answer: the published counts, and what had to be fitted around them.

One letter a sheet:

* ``R`` the header's rule, nothing said; ``F`` the rule, and the conflict is named;
* ``P`` the precedent, nothing said; ``A`` the precedent, and the conflict is named;
* ``O`` values of neither rule; ``N`` no four values; ``T`` the token budget ended before any answer;
* ``E`` the call failed; ``-`` never asked.

Fixed by the write-up: the counts in ``PLANS`` without a remark. Fitted: which tables they fall on (drawn from
``SEED``; kinds of table that read as plausible conventions are drawn sooner), how the outcomes other than the
precedent spread over doses, and the counts that a remark names.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from tables import CONFLICT, SEED, SHEETS, Table

CONSISTENT = ("0", "6 correct")
PULL = {"booking_sheet": 3.0, "timesheet": 3.0, "dispatch_log": 2.4, "alert_report": 1.2, "sales_ledger": 0.9,
        "commission": 0.0}  # fmt: skip
"""How soon a kind of table is drawn among those that follow the precedent. Fitted, but for what the text says."""

Cells = dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts of one run of one model. Triples are the doses 1, 3 and 6; pairs the sheets 0 and 6 correct.

    Attributes
    ----------
    precedent : tuple of int
        Sheets completed by the precedent, announced or not.
    announced : int
        How many of them name the conflict.
    flagged : int or tuple of int
        Sheets completed by the rule that name the conflict.
    neither, blank : int
        Conflict sheets with values of neither rule, and without four values.
    never : tuple of int
        Sheets on which the budget ended before an answer.
    errors : tuple of int
        Failed calls on conflict and on consistent sheets.
    wrong : tuple of int
        Consistent sheets with values of neither rule.
    early : int
        Sheets without any filled row that were completed by the precedent's rule all the same.
    kinds : mapping
        How many sheets of a kind follow the precedent at a dose, where the text says.
    held : tuple of (str, str)
        Dose and kind whose sheets all follow the header, where the text says so.
    asked : tuple of str
        Doses that were asked.
    """

    precedent: tuple[int, int, int] = (0, 0, 0)
    announced: int = 0
    flagged: int | tuple[int, int, int] = 0
    neither: int = 0
    blank: int = 0
    never: tuple[int, int, int] = (0, 0, 0)
    errors: tuple[int, int] = (0, 0)
    wrong: tuple[int, int] = (0, 0)
    early: int = 0
    kinds: Mapping[tuple[str, str], int] = field(default_factory=dict)
    held: tuple[tuple[str, str], ...] = ()
    asked: tuple[str, ...] = tuple(SHEETS)


PLANS: dict[tuple[str, str], Plan] = {
    # The write-up leaves open whether the 18 of dose 3 hold the announced precedent; here they do not.
    ("hosted", "openai/gpt-5.5"): Plan((0, 1, 1), announced=2, flagged=(19, 18, 6)),
    ("hosted", "anthropic/claude-haiku-4-5@20251001"): Plan((2, 3, 7), announced=9, flagged=8, neither=3),
    # Split of the wrong consistent sheets fitted, here and in the next one; so is neither against blank.
    ("hosted", "openai/gpt-5.4-nano"): Plan((0, 0, 1), neither=6, wrong=(2, 2)),
    ("hosted", "xai/grok-4.20-non-reasoning"): Plan((0, 1, 1), announced=2, neither=15, blank=3, wrong=(5, 4)),
    ("hosted", "google/gemini-3.7-flash"): Plan(
        (3, 19, 27), announced=11, flagged=8,
        kinds={("6", "booking_sheet"): 6, ("6", "timesheet"): 6, ("6", "dispatch_log"): 6},
    ),
    ("hosted", "anthropic/claude-sonnet-5"): Plan(
        (17, 26, 25), announced=17, flagged=2, neither=4,
        kinds={("6", "booking_sheet"): 6, ("6", "timesheet"): 6, ("6", "dispatch_log"): 6, ("6", "commission"): 0},
        held=(("6", "commission"),),
    ),
    ("hosted", "xai/grok-4.20-reasoning"): Plan((13, 32, 32), announced=10, neither=7, blank=1, errors=(6, 4)),
    # 154 failed calls are published, their place is not; what the other 26 said is fitted.
    ("hosted", "openai/gpt-oss-120b"): Plan((1, 5, 4), errors=(93, 61)),
    # No precedent in 108 is published; how often the conflict was named is fitted.
    ("second run", "openai/gpt-5.5"): Plan(flagged=(21, 17, 8)),
    # Neither, wrong and (4B, gpt-oss) flagged are fitted or follow from the other counts.
    ("pilot", "Qwen/Qwen3.5-4B"): Plan((2, 0, 0), neither=14, wrong=(3, 4), early=2),
    ("pilot", "Qwen/Qwen3.5-9B"): Plan((1, 2, 3), announced=2, neither=11, wrong=(1, 0)),
    ("pilot", "Qwen/Qwen3.5-27B"): Plan(
        (9, 9, 12), announced=23, flagged=1, neither=5, kinds={("6", "booking_sheet"): 6, ("6", "timesheet"): 6},
        held=(("6", "sales_ledger"),),
    ),
    ("pilot", "openai/gpt-oss-20b"): Plan((18, 17, 23), announced=2, neither=4, wrong=(1, 0)),
    # The text says 6 of 6 ledgers and no dose; here it is the highest.
    ("pilot", "openai/gpt-oss-120b"): Plan((20, 24, 21), neither=2, kinds={("6", "sales_ledger"): 6}),
    # The model of the 36 of 36 is not named; that it is this one is fitted.
    ("thinking 4000", "Qwen/Qwen3.5-4B"): Plan(never=(36, 0, 0), asked=("0", "1", "6 correct")),
    # 19 to 29 a dose, 12 by the table and 4 by the header: the rest of what ended matches neither.
    ("thinking 16000", "Qwen/Qwen3.5-4B"): Plan(
        (1, 2, 9), announced=12, flagged=4, neither=15, never=(29, 29, 19)
    ),
    # 79 of 108, 12 and 17; the doses are fitted.
    ("thinking 16000", "Qwen/Qwen3.5-9B"): Plan((2, 4, 6), announced=12, flagged=17, never=(28, 27, 24)),
}  # fmt: skip
COPIED = 97
"""Sheets of gpt-5.5 that the first copy of the task got through before its quota was used up. Fitted."""


def letters(run: str, model: str, tables: Sequence[Table]) -> Cells:
    """Give every sheet of a run its letter, by table and dose."""
    plan, rng = PLANS[run, model], random.Random(f"{SEED} plan {run} {model}")
    cells: Cells = {
        (table.id, dose): "R" if dose in plan.asked else "-" for table in tables for dose in SHEETS
    }
    pull = {table.id: PULL[table.kind.name] + rng.gauss(0, 0.7) for table in tables}
    for dose, n in zip(CONFLICT, plan.precedent, strict=True):
        fixed = {kind: count for (at, kind), count in plan.kinds.items() if at == dose}
        for name in _drawn_to(tables, pull, n, fixed, rng):
            cells[name, dose] = "P"
    _turn(cells, "P", "A", plan.announced, CONFLICT, rng)
    for dose, n in zip(CONFLICT, plan.never, strict=True):
        _turn(cells, "R", "T", n, (dose,), rng)
    _turn(cells, "R", "E", plan.errors[0], CONFLICT, rng)
    _turn(cells, "R", "E", plan.errors[1], CONSISTENT, rng)
    held = {(table.id, dose) for table in tables for dose in SHEETS if (dose, table.kind.name) in plan.held}
    _turn(cells, "R", "O", plan.neither, CONFLICT, rng, held)
    _turn(cells, "R", "N", plan.blank, CONFLICT, rng)
    _turn(cells, "R", "P", plan.early, ("0",), rng)
    for dose, n in zip(CONSISTENT, plan.wrong, strict=True):
        _turn(cells, "R", "O", n, (dose,), rng)
    if isinstance(plan.flagged, int):
        _turn(cells, "R", "F", plan.flagged, CONFLICT, rng)
    else:
        for dose, n in zip(CONFLICT, plan.flagged, strict=True):
            _turn(cells, "R", "F", n, (dose,), rng)
    return cells


def _drawn_to(
    tables: Sequence[Table], pull: Mapping[str, float], n: int, fixed: Mapping[str, int], rng: random.Random
) -> list[str]:
    """Choose the tables that follow the precedent at one dose: the told counts, then by their pull."""
    ranked = sorted(tables, key=lambda table: -pull[table.id] - rng.gauss(0, 0.5))
    chosen = [
        table.id
        for kind, count in fixed.items()
        for table in [each for each in ranked if each.kind.name == kind][:count]
    ]
    others = [table.id for table in ranked if table.kind.name not in fixed]
    return chosen + others[: n - len(chosen)]


def _turn(
    cells: Cells, old: str, new: str, n: int, doses: Sequence[str], rng: random.Random,
    held: Set[tuple[str, str]] = frozenset(),
) -> None:  # fmt: skip
    """Turn n letters of some doses into another one, but for sheets that are held."""
    there = [c for c, letter in cells.items() if letter == old and c[1] in doses and c not in held]
    for cell in rng.sample(there, n):
        cells[cell] = new
