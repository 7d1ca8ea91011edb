"""From families right or wrong to single decisions: which of a failing family's decisions are wrong, and how.

Published: 2.6 percent of the identity swaps and 2.2 percent of the same-group swaps change the decision. The
denominators are not; here they are all pairs of the direct condition over the six models, and which pairs change is
drawn from the seed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from families import all_families
from plan import (
    CLUSTER,
    DIRECT,
    EXTRACTION,
    FAIRNESS,
    HOSTED,
    KAGGLE,
    N_CORE,
    N_SHARED,
    SEED,
    THINKING,
    Model,
    fitted,
)
from policies import FAILS, MEETS, OPEN

Answers = dict[str, str]
"""Decision by item; CUT and LOST mark replies that were cut off and calls that failed."""

CUT, LOST, MUTE = "cut", "lost", "mute"
SPLIT = {"core": 120, "control": 50}
"""Pairs that differ in the name or marker alone and get two decisions, over the six models."""

LOST_CONTROLS = 9
"""Calls on control families that failed for good."""

BY_HABIT = {"strict": FAILS, "lenient": MEETS, "evasive": OPEN}
Spot = tuple[str, str, str]
"""Family, qualification and presentation: two decisions that differ in identity alone."""


def core(family_right: Mapping[str, bool], model: Model, rng: random.Random) -> dict[Spot, str]:
    """Wrong decisions of one model, by spot, both identities alike."""
    found: dict[Spot, str] = {}
    for family in all_families():
        if family_right.get(family.id, True):
            continue
        spots = [(family.id, q, p) for q in family.facts for p in ("plain", "changed")]
        golds = {spot: family.gold((spot[1], "a", spot[2])) for spot in spots}
        habit = rng.choices(tuple(BY_HABIT), model.habits)[0]
        able = [spot for spot in spots if golds[spot] != BY_HABIT[habit]]
        for spot in rng.sample(able, rng.randint(1, len(able))):
            found[spot] = BY_HABIT[habit]
    return found


def spread(wrong: dict[Spot, str], split: set[Spot], rng: random.Random) -> Answers:
    """Write decisions of all items; at the spots of `split` one identity alone gets the wrong decision."""
    answers: Answers = {}
    for family in all_families():
        for cell in family.cells:
            answers[family.item(cell)] = family.gold(cell)
        for q in family.facts:
            for p in ("plain", "changed"):
                spot = (family.id, q, p)
                if spot in wrong:
                    chosen = [rng.choice("ab")] if spot in split else list(family.identity)
                    for identity in chosen:
                        answers[family.item((q, identity, p))] = wrong[spot]
    return answers


def cluster() -> dict[tuple[str, str], Answers]:
    """Answers of the cluster panel by model and condition."""
    outcome, found = fitted(), {}
    ids = [family.id for family in all_families()[:N_CORE]]
    for condition in (DIRECT, FAIRNESS, EXTRACTION):
        rng = random.Random(f"{SEED} decisions {condition}")
        wrong = {
            model.name: core(dict(zip(ids, outcome[condition][:, m], strict=True)), model, rng)
            for m, model in enumerate(CLUSTER)
        }
        if condition == DIRECT:
            for model in CLUSTER:
                wrong[model.name] |= core(_controls(model, rng), model, rng)
        split = _split(wrong, condition, rng)
        for model in CLUSTER:
            answers = spread(wrong[model.name], split[model.name], rng)
            if condition != FAIRNESS:
                _leave_open(answers, model, condition, rng)
            found[model.name, condition] = _only(answers, condition)
    _lose(found)
    return found


def _controls(model: Model, rng: random.Random) -> dict[str, bool]:
    """Control families that a model gets right, at the rate of its core families."""
    rate = model.right[DIRECT] / N_CORE
    return {family.id: rng.random() < rate for family in all_families() if family.suite == "control"}


def _split(wrong: Mapping[str, dict[Spot, str]], condition: str, rng: random.Random) -> dict[str, set[Spot]]:
    """Choose the spots where the identities part."""
    found: dict[str, set[Spot]] = {name: set() for name in wrong}
    for suite, n in SPLIT.items():
        control = suite == "control"
        spots = [
            (name, spot)
            for name, each in wrong.items()
            for spot in sorted(each)
            if spot[0].startswith("ctrl-") == control
        ]
        n = n if condition == DIRECT else len(spots) // 6
        for name, spot in rng.sample(spots, min(n, len(spots))):
            found[name].add(spot)
    return found


GUESSES = {
    "gpt-oss-120b": 0.04, "gpt-oss-20b": 0.08, "qwen3-32b": 0.25, "unnamed-1": 0.4, "unnamed-2": 0.05,
    "unnamed-3": 0.2,
}  # fmt: skip
RECORDS_PART = {
    "gpt-oss-120b": 0.06, "gpt-oss-20b": 0.15, "qwen3-32b": 0.35, "unnamed-1": 0.4, "unnamed-2": 0.3,
    "unnamed-3": 0.45,
}  # fmt: skip
"""Fitted: how often a model decides without evidence, and how often it writes down the part that is stated."""


def _leave_open(answers: Answers, model: Model, condition: str, rng: random.Random) -> None:
    """Decide the families with evidence missing; by fixed code, a recorded part decides."""
    rate = (GUESSES if condition == DIRECT else RECORDS_PART)[model.name]
    for family in all_families():
        if family.suite == "missing":
            for cell in family.cells:
                if cell[0] == "partial" and rng.random() < rate:
                    answers[family.item(cell)] = (
                        "part" if condition == EXTRACTION else rng.choice((MEETS, FAILS))
                    )


def _only(answers: Answers, condition: str) -> Answers:
    """Keep what was asked: core families always, controls directly, missing evidence directly and by extraction."""
    without = {DIRECT: (), FAIRNESS: ("ctrl-", "miss-"), EXTRACTION: ("ctrl-",)}[condition]
    return {item: answer for item, answer in answers.items() if not item.startswith(without)}


def _lose(found: dict[tuple[str, str], Answers]) -> None:
    """Let a few calls on control families fail for good, and a few replies hold no decision."""
    rng = random.Random(f"{SEED} lost")
    calls = [
        (key, item)
        for key, each in found.items()
        for item in each
        if key[1] == DIRECT and item.startswith("ctrl-")
    ]
    right = {family.item(cell): family.gold(cell) for family in all_families() for cell in family.cells}
    safe = [(key, item) for key, item in calls if found[key][item] == found[key][_other(item)] == right[item]]
    for key, item in rng.sample(safe, LOST_CONTROLS):
        found[key][item] = LOST
    missed = [(key, item) for key, each in found.items() for item, a in each.items()
              if key[1] != EXTRACTION and not item.startswith("ctrl-") and a == OPEN != right[item]]  # fmt: skip
    pairs = [each for each in missed if found[each[0]].get(_other(each[1])) == OPEN]
    for key, item in rng.sample(pairs, 12):
        if MUTE not in (found[key][item], found[key][_other(item)]):
            found[key][item] = found[key][_other(item)] = MUTE


def _other(item: str) -> str:
    """Item with the other identity."""
    return item[:-2] + {"a": "b", "b": "a"}[item[-2]] + item[-1]


def single(model: Model, condition: str, name: str, n: int = N_CORE) -> Answers:
    """Answers of one model outside the cluster panel to the first `n` core families."""
    rng = random.Random(f"{SEED} {name} {model.name} {condition}")
    ids = [family.id for family in all_families()[:n]]
    missed = set(rng.sample(ids, n - model.right[condition]))
    wrong = core({each: each not in missed for each in ids}, model, rng)
    split = {spot for spot in wrong if rng.random() < 0.2}
    answers = spread(wrong, split, rng)
    if model in (KAGGLE[2], THINKING):  # cut off: by the host in the middle of a word, or by the token limit
        for item, gold in spread({}, set(), rng).items():
            cut = item.rpartition("-")[0] in missed and answers[item] != gold
            answers[item] = CUT if cut else answers[item]
    return {item: answer for item, answer in answers.items() if item.rpartition("-")[0] in ids}


def exploratory() -> dict[tuple[str, str], Answers]:
    """Answers of the runs beside the panel, by folder and condition."""
    return {
        ("cluster/qwen3-32b-thinking", DIRECT): single(THINKING, DIRECT, "thinking"),
        ("soclaas/glm-5.3-flash", DIRECT): single(HOSTED, DIRECT, "hosted"),
        ("soclaas/glm-5.3-flash", FAIRNESS): single(HOSTED, FAIRNESS, "hosted"),
    }


def kaggle() -> dict[str, Answers]:
    """Answers of the Kaggle panel by model."""
    found = {model.name: single(model, DIRECT, "kaggle", N_SHARED) for model in KAGGLE}
    rng = random.Random(f"{SEED} kaggle lost")
    last = found[KAGGLE[-1].name]
    for item in rng.sample(sorted(last), 7):
        last[item] = LOST
    return found
