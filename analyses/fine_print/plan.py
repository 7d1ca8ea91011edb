"""What each model is made to answer: the published counts, and what had to be fitted around them.

One text of two letters a family, for the base and the variant copy:

* ``R`` right; ``Q`` right, a clause cited with its page in front (``rules:S1``); ``K`` right, citing R2 alone;
* ``C`` right value, wrong citation; ``1``, ``2`` the packet's first and second lure; ``A`` an abstention where the
  packet has an answer.

Fixed by the write-up's tables and text: every count a category, split and model, the flips, and the families
that the text names (``PINNED``). Fitted: which other families, and which of the two copies, are wrong; they are
drawn from ``SEED``, one model apart from the next, so joint outcomes of two models carry no information.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SEED = 20261007
SWAPPABLE = frozenset("RQC12")

Patterns = Mapping[str, Sequence[str]]
ALL_RIGHT = ("RR",) * 5

GEMINI_25: Patterns = {
    "exact_deadlines": ("R1", *ALL_RIGHT[1:]),
    "tz_dst": ("R1", "RR", "RR"),
    "business_day_chains": ("R1", "RR", "RR", "RR"),
    "compound": ("R1", "RR", "RR", "RR"),
    "aggregation_xl": ("R1", "R1", "R1", "R2", "RR"),
}
GEMMA: Patterns = {
    "exact_deadlines": ("R1", *ALL_RIGHT[1:]),
    "tz_dst": ("RR", "RR", "RR"),
    "compound": ("R1", *ALL_RIGHT[1:]),
}
DEEPSEEK: Patterns = {
    "exact_deadlines": ("11", "12", "11", "R1", "RR"),
    "eligibility": ("R1", *ALL_RIGHT[1:]),
    "multi_turn": ("11", "RC", "RR", "RR", "RR"),
    "tz_dst": ("R1", "RR"),
    "business_day_chains": ("R1", *ALL_RIGHT[1:]),
    "compound": ("11", "R1", "RC", "RR", "RR"),
    "aggregation": ("12", "11", "RC", "RR", "RR"),
    "aggregation_xl": ("12", "12", "12", "12", "RR"),
}
QWEN: Patterns = {
    "explicit_authority": ("11", "R1", "RR", "RR", "RR"),
    "scope_amendment": ("11", "RC", "RR", "RR", "RR"),
    "exact_deadlines": ("12", "R1", "R1", "RR", "RR"),
    "business_days": ("11", "12", "R1", "R1", "RR"),
    "eligibility": ("R1", "RC", "RR", "RR", "RR"),
    "notification_payout": ("11", "R1", "RR", "RR", "RR"),
    "two_hop_precedence": ("RR", "RR", "RR"),
    "long_distractors": ("11", "12", "C1", "C1", "RR"),
    "multi_turn": ("11", *ALL_RIGHT[1:]),
    "tz_dst": ("11", "11", "12", "12", "C1"),
    "business_day_chains": ("11", "11", "12", "R1", "R1"),
    "compound": ("11", "12", "R1", "RC", "RR"),
    "aggregation": ("11", "11", "12", "12", "11"),
    "aggregation_xl": ("11", "11", "11", "12", "C1"),
}
# Families that the write-up's text describes, and where.
PINNED: Mapping[tuple[str, str], str] = {
    ("google/gemini-2.5-flash", "payout_02"): "KR",
    ("google/gemini-2.5-flash", "h_tz_01"): "AR",
    ("google/gemini-2.5-flash", "h_tz_03"): "RA",  # so that abstaining is its commonest error there, as told
    ("google/gemini-2.5-flash", "h_bday_01"): "R1",
    ("google/gemini-2.5-flash", "h_mix_03"): "12",
    ("google/gemma-4-31b", "h_tz_01"): "AA",
    ("google/gemma-4-31b", "h_tz_02"): "A1",
    ("deepseek-ai/deepseek-r1-0528", "h_tz_01"): "AA",
    ("deepseek-ai/deepseek-r1-0528", "h_tz_03"): "AA",
    ("deepseek-ai/deepseek-r1-0528", "h_tz_05"): "AA",
    ("qwen/qwen3-235b-a22b-instruct-2507", "h_hop_04"): "11",
    ("qwen/qwen3-235b-a22b-instruct-2507", "h_hop_05"): "C1",
}
# Confidences that the text tells.
TOLD: Mapping[tuple[str, str], float] = {
    ("google/gemini-2.5-flash", "h_tz_01-base"): 1.0,
    ("google/gemini-2.5-flash", "h_bday_01-variant"): 1.0,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One model in one run.

    Attributes
    ----------
    limited : tuple of str
        Categories in which every call met a rate limit; all for ``"*"``.
    unsure : tuple of int
        How many easy answers, and how many wrong hard ones, have a confidence below 0.9.
    old_keys : bool
        Whether the first scorer was in use, which refused ``rules:S1`` and R2 alone.
    qualified : tuple of str
        Families in which one copy is answered right, with a clause cited as ``rules:S1``.
    """

    run: str
    model: str
    patterns: Patterns
    limited: tuple[str, ...] = ()
    unsure: tuple[int, int] = (0, 0)
    old_keys: bool = False
    qualified: tuple[str, ...] = ()


ASKED = (
    Asked("run 2", "google/gemini-3.7-flash", {}, old_keys=True, qualified=("dead_01",)),
    Asked("run 2", "google/gemini-2.5-flash", GEMINI_25, unsure=(1, 0), old_keys=True),
    Asked("run 3", "google/gemini-3.7-flash", {}, old_keys=True, qualified=("auth_02", "scope_04")),
    Asked("run 4", "google/gemma-4-31b", GEMMA, limited=("aggregation_xl",), unsure=(1, 0)),
    Asked("run 4", "qwen/qwen3-235b-a22b-instruct-2507", QWEN, unsure=(2, 1)),
    Asked("run 4", "deepseek-ai/deepseek-r1-0528", DEEPSEEK, unsure=(3, 0)),
    Asked("run 4", "openai/gpt-oss-120b", {}, limited=("*",)),
)


def outcomes(asked: Asked, families: Mapping[str, str]) -> dict[str, str]:
    """Give every family its two letters.

    Parameters
    ----------
    asked : Asked
    families : mapping of str to str
        Category of each family.
    """
    rng = random.Random(f"{SEED} {asked.run} {asked.model}")
    found: dict[str, str] = {}
    for category in dict.fromkeys(families.values()):
        there = [family for family, name in families.items() if name == category]
        pinned = {f: PINNED[asked.model, f] for f in there if (asked.model, f) in PINNED and asked.patterns}
        free = [family for family in there if family not in pinned]
        patterns = list(asked.patterns.get(category, ALL_RIGHT[: len(free)]))
        if len(patterns) != len(free):
            raise ValueError(f"{category}: {len(patterns)} patterns for {len(free)} families")
        rng.shuffle(patterns)
        drawn = {family: _turned(pattern, rng) for family, pattern in zip(free, patterns, strict=True)}
        found |= {family: (pinned | drawn)[family] for family in there}
    for family in asked.qualified:
        found[family] = rng.choice(("QR", "RQ"))
    return found


def _turned(pattern: str, rng: random.Random) -> str:
    return pattern[::-1] if rng.random() < 0.5 else pattern


def confidences(asked: Asked, cells: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """State a confidence for every reply: nearly all at least 0.9, wrong ones hardly lower than right ones.

    Parameters
    ----------
    cells : sequence of (item, letter)
    """
    rng = random.Random(f"{SEED} confidence {asked.run} {asked.model}")
    levels = {
        "R": (0.9, 0.95, 0.98, 0.99, 1.0, 1.0),
        "1": (0.9, 0.95, 0.95, 0.98, 1.0),
        "A": (0.95, 0.98, 1.0),
    }
    weak = asked.model.startswith("qwen")
    found = {}
    for item, letter in cells:
        high = item.startswith(("h_hop", "h_bday_01", "h_tz_01")) and letter in "1CA"
        kind = "A" if letter == "A" or high else "1" if letter in "12" or weak else "R"
        found[item, letter] = rng.choice(levels[kind])
    easy = [cell for cell in cells if not cell[0].startswith("h_")]
    wrong = [cell for cell in cells if cell[0].startswith("h_agg") and cell[1] in "12"]
    for cell in rng.sample(easy, asked.unsure[0]) + rng.sample(wrong, asked.unsure[1]):
        found[cell] = rng.choice((0.7, 0.8, 0.85))
    return {(item, letter): TOLD.get((asked.model, item), sure) for (item, letter), sure in found.items()}
