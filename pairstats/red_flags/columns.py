"""Further findings: constant and identical answers, cached repeats, splits, prompts, keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from pairstats import schema
from pairstats.answers import AnswerFormat
from pairstats.errors import counted
from pairstats.red_flags.copies import SAME
from pairstats.red_flags.coverage import items_missing
from pairstats.red_flags.found import MIN_COMMON, Check, Flag, LackingError, Rows, codes, first_of
from pairstats.red_flags.runs import ID
from pairstats.red_flags.scales import scales

CONSTANT = 0.95
"""Share of one answer from which answers count as constant ..."""
VARIED = 0.8
"""... where the most frequent key has less than this share."""
PROMPT = "prompt_sha256"
_UNIT = ["subject_", "study", "family", "item", "variant"]
_QUESTION = ["study", "family", "item", "variant", "condition"]


def constant_answers(rows: Rows) -> Iterator[Flag]:
    """Find who gives nearly always the same answer although the keys vary."""
    answered = rows.answered[rows.answered["answer"].notna()]
    if not len(answered):
        raise LackingError("constant answers: there is no canonical answer (answers= fills the column)")
    for subject, part in answered.groupby("subject_"):
        name = rows.names[int(str(subject))]
        times = part["answer"].value_counts()
        n, most = len(part), int(times.iloc[0])
        keys = part["gold"].value_counts(normalize=True)
        varied = part["item"].nunique() >= MIN_COMMON and (not len(keys) or keys.iloc[0] < VARIED)
        if n >= MIN_COMMON and most >= CONSTANT * n and varied:
            told = f"; the most frequent key is {keys.iloc[0]:.0%} of the keys" if len(keys) else ""
            yield Flag(
                "constant_answer", False,
                f"{name} answered {_short(times.index[0])} in {most} of "
                f"{counted(n, 'decision')}{told}", most, n,
            )  # fmt: skip


def constant_letters(rows: Rows) -> Iterator[Flag]:
    """Find who names nearly always the same letter, where the canonical answers are option texts.

    The letter is read from the reply as `AnswerFormat` reads it without options. Who is nearly always right is
    not flagged: the key may stand at that letter.
    """
    answered = rows.answered[rows.answered["answer"].notna()]
    if not len(answered) or bool((answered["answer"].str.len() == 1).all()):
        return  # the answers are letters: `constant_answers` has looked at them
    if not rows.has("response"):
        raise LackingError(
            "constant letters: answers are texts, and there are no replies to read the letter from"
        )
    low, high = rows.score_range
    for subject, part in answered.groupby("subject_"):
        n = len(part)
        same = part["answer"].value_counts().iloc[0] >= CONSTANT * n
        if same or part["item"].nunique() < MIN_COMMON:
            continue
        letter, times = _letter(part["response"])
        score = (part["score"].mean() - low) / (high - low)
        if times >= CONSTANT * n and not score >= VARIED:
            told = "" if pd.isna(score) else f"; its mean score is {part['score'].mean():.2f}"
            yield Flag(
                "constant_answer", False,
                f"{rows.names[int(str(subject))]} named the letter {letter!r} in {times} of "
                f"{counted(n, 'decision')}, whatever option stood there{told}", times, n,
            )  # fmt: skip


def _letter(replies: pd.Series) -> tuple[str, int]:
    """Most frequent letter and how often it is named; ("", 0) as soon as none can be named nearly always."""
    letters: Counter[str] = Counter()
    seen = 0
    for reply, times in replies.value_counts().items():
        parsed = AnswerFormat().parse(str(reply))
        seen += times
        if parsed.status == schema.ANSWERED and parsed.answer is not None:
            letters[parsed.answer] += times
        if seen - max(letters.values(), default=0) > (1 - CONSTANT) * len(replies):
            return "", 0
    return letters.most_common(1)[0] if letters else ("", 0)


def identical_answers(rows: Rows) -> Iterator[Flag]:
    """Find two subjects with the same canonical answer everywhere, although something else differs.

    Where nothing does, `copied_runs` has compared them. Equal answers with other scores are red: what scored
    them was not the same.
    """
    answered = rows.answered
    answers = rows.grid(codes(answered["answer"]).dropna())
    texts = rows.grid(codes(answered["response"]).dropna())
    numbers = {name: rows.grid(answered[name].dropna().astype(float)) for name in ("score", "confidence")}
    for a, b in rows.pairs():
        one, two = answers[:, a], answers[:, b]
        both = ~np.isnan(one) & ~np.isnan(two)
        n = int(both.sum())
        if n < MIN_COMMON or len(np.unique(one[both])) == 1 or not (one[both] == two[both]).all():
            continue
        replied = both & ~np.isnan(texts[:, a] + texts[:, b])
        same_text = int((texts[replied, a] == texts[replied, b]).sum())
        gaps = {name: np.abs(grid[both, a] - grid[both, b]) > SAME for name, grid in numbers.items()}
        rescored = int(gaps["score"].sum())
        if same_text == replied.sum() and not rescored and not gaps["confidence"].any():
            continue
        told = f", {same_text} times with the same text" if replied.any() else ""
        told += f", but another score in {rescored}: the scorer differs" if rescored else ""
        yield Flag(
            "identical_answers", bool(rescored),
            f"{rows.names[a]} and {rows.names[b]} gave the same answer in {n} of {n} decisions{told}", n, n,
        )  # fmt: skip


def cached_repeats(rows: Rows) -> Iterator[Flag]:
    """Find repeats that are one reply: the same response id, marked as cached, or the same text everywhere."""
    answered = rows.answered
    units = answered.groupby(_UNIT, dropna=False)["repeat"].transform("size")
    several = answered[units > 1]
    if rows.has(ID):
        known = several[several[ID].notna()]
        copies = known[known.duplicated([*_UNIT, ID])]
        if len(copies):
            yield Flag(
                "cached_repeats", False,
                f"{counted(len(copies), 'repeat')} of {len(known)} have the response id of another repeat of "
                "their item: they are copies, and say nothing on noise", len(copies), len(known),
                first_of(copies["source"]),
            )  # fmt: skip
    yield from _same_texts(rows, several)
    if "cached" in rows.frame.columns:
        told = rows.frame["cached"].astype("string").str.lower()  # after CSV, the words True and False
        cached = rows.frame[told.isin(("true", "1", "1.0", "yes")).fillna(False).astype(bool)]
        if len(cached):
            yield Flag(
                "cached_repeats", False,
                f"{counted(len(cached), 'reply')} of {len(rows.frame)} came from the platform's cache by its own "
                "word", len(cached), len(rows.frame), first_of(cached["source"]),
            )  # fmt: skip
    if not rows.has("response") and not rows.has(ID):
        raise LackingError("cached repeats: the records hold neither replies nor response ids")


def _same_texts(rows: Rows, several: pd.DataFrame) -> Iterator[Flag]:
    """Find subjects whose repeats are the same text in every unit."""
    texts = several[several["response"].notna()]
    for subject, part in texts.groupby("subject_"):
        units = part.groupby(_UNIT, dropna=False)["response"].agg(["size", "nunique"])
        units = units[units["size"] > 1]
        if len(units) >= MIN_COMMON and bool((units["nunique"] == 1).all()):
            yield Flag(
                "cached_repeats", False,
                f"all repeats of {rows.names[int(str(subject))]} are the same text in {len(units)} of "
                f"{len(units)} units (temperature 0, a fixed seed, or a cache)", len(units), len(units),
            )  # fmt: skip


def two_splits(rows: Rows) -> Iterator[Flag]:
    """Find families that lie in several splits, so that the splits are not independent."""
    split = rows.frame[rows.frame["split"].notna()]
    several = split.groupby(["study", "family"])["split"].nunique()
    hit = several[several > 1]
    if len(hit):
        yield Flag(
            "two_splits", False,
            f"{counted(len(hit), 'family')} of {len(several)} lie in several splits: the splits are not "
            "independent", len(hit), len(several), first_of(family for _, family in hit.index),
        )  # fmt: skip


def prompts(rows: Rows) -> Iterator[Flag]:
    """Find items that were put to the models in different words."""
    if not rows.has(PROMPT):
        raise LackingError(
            f"prompts: there is no column {PROMPT} (docs/platforms.md says which readers fill it)"
        )
    yield from _differing(
        rows,
        PROMPT,
        "prompt_differs",
        "were put to the models in different words, in one variant and condition",
    )
    known = rows.frame[PROMPT].notna().groupby(rows.frame["subject_"]).any()
    unknown = [rows.names[int(str(each))] for each in known.index[~known]]
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        raise LackingError(f"prompts of {', '.join(unknown[:3])}{more}: the rows hold no {PROMPT}")


def keys(rows: Rows) -> Iterator[Flag]:
    """Find items with different keys for different models."""
    if rows.has("gold"):
        yield from _differing(rows, "gold", "gold_differs", "have different keys for different models")


def _differing(rows: Rows, column: str, kind: str, what: str) -> Iterator[Flag]:
    """Find items of which no value is known of all models; repeats of one model may differ."""
    known = rows.frame[rows.frame[column].notna()]
    values = known.drop_duplicates([*_QUESTION, "model", column])
    common = (
        values.groupby([*_QUESTION, column], dropna=False).size().groupby(level=_QUESTION, dropna=False).max()
    )
    models = values.groupby(_QUESTION, dropna=False)["model"].nunique()
    asked = models[models > 1]
    hit = asked[common.loc[asked.index] < asked]
    if len(hit):
        yield Flag(
            kind, False, f"{counted(len(hit), 'item')} of {len(asked)} {what}", len(hit), len(asked),
            first_of(index[2] for index in hit.index),
        )  # fmt: skip


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


COLUMN_CHECKS: tuple[Check, ...] = (
    items_missing, constant_answers, constant_letters, identical_answers, cached_repeats, scales, two_splits,
    prompts, keys,
)  # fmt: skip
