"""Further findings: constant and identical answers, cached repeats, two scales, splits, prompts, keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from pairstats import schema
from pairstats.answers import AnswerFormat
from pairstats.errors import counted
from pairstats.records.notes import TWO_SCALES
from pairstats.red_flags.found import MIN_COMMON, Check, Flag, LackingError, Rows, codes, first_of
from pairstats.red_flags.runs import ID

CONSTANT = 0.95
"""Share of one answer from which answers count as constant ..."""
VARIED = 0.8
"""... where the most frequent key has less than this share."""
PERCENT = 0.01
"""Largest value of a probability that was stated from 0 to 1 and then divided by 100."""
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
    """Find two subjects with the same canonical answer everywhere, although their replies differ."""
    answered = rows.answered[rows.answered["answer"].notna()]
    if not len(answered) or not rows.has("response"):
        return  # without replies `identical_runs` has compared the answers
    grid = rows.grid(codes(answered["answer"]).dropna())
    texts = rows.grid(codes(rows.answered["response"]).dropna())
    for a, b in rows.pairs():
        one, two = grid[:, a], grid[:, b]
        both = ~np.isnan(one) & ~np.isnan(two)
        n = int(both.sum())
        varied = n >= MIN_COMMON and len(np.unique(one[both])) > 1
        same_text = texts[both, a] == texts[both, b]
        if varied and (one[both] == two[both]).all() and not same_text.all():
            yield Flag(
                "identical_answers", False,
                f"{rows.names[a]} and {rows.names[b]} gave the same answer in {n} of {n} decisions, "
                f"{int(same_text.sum())} times with the same text", n, n,
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


def two_scales(rows: Rows) -> Iterator[Flag]:
    """Find files whose confidences were stated from 0 to 1 in part and from 0 to 100 in part."""
    for line in rows.ledger.to_dict("records"):
        for note in str(line["note"]).split("; "):
            if note.startswith(TWO_SCALES):
                yield Flag("two_scales", False, f"{line['file']}: {note}", 1, 1)
    told = {str(line["file"]) for line in rows.ledger.to_dict("records") if TWO_SCALES in str(line["note"])}
    stated = rows.frame[rows.frame["confidence"] > 0]
    files = stated["source"].str.rsplit(":", n=1).str[0].where(stated["source"] != "", "the records")
    for file, part in stated.groupby(files)["confidence"]:
        small = int((part < PERCENT).sum())
        enough = min(small, len(part) - small) >= max(3, 0.02 * len(part))
        if enough and str(file) not in told:
            yield Flag(
                "two_scales", False,
                f"{file}: {small} of {len(part)} confidences are below {PERCENT:g} and the others are not, as if "
                "some were stated from 0 to 1 and divided by 100", small, len(part),
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


def keys(rows: Rows) -> Iterator[Flag]:
    """Find items with different keys for different models."""
    if rows.has("gold"):
        yield from _differing(rows, "gold", "gold_differs", "have different keys for different models")


def _differing(rows: Rows, column: str, kind: str, what: str) -> Iterator[Flag]:
    known = rows.frame[rows.frame[column].notna()]
    # What differs between the repeats of one model is no difference between models.
    first = known.groupby([*_QUESTION, "model"], dropna=False)[column].agg(["first", "nunique"])
    one = first[first["nunique"] == 1].groupby(level=_QUESTION, dropna=False)["first"]
    counts = one.agg(["size", "nunique"])
    asked = counts[counts["size"] > 1]
    hit = asked[asked["nunique"] > 1]
    if len(hit):
        yield Flag(
            kind, False, f"{counted(len(hit), 'item')} of {len(asked)} {what}", len(hit), len(asked),
            first_of(index[2] for index in hit.index),
        )  # fmt: skip


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


COLUMN_CHECKS: tuple[Check, ...] = (
    constant_answers, constant_letters, identical_answers, cached_repeats, two_scales, two_splits, prompts, keys,
)  # fmt: skip
