"""Replies of a block of a table as columns: what `replies` does to a record, done to all that are alike at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pairstats.errors import PairstatsError
from pairstats.readers.cells import Column
from pairstats.readers.columns import UnusualError
from pairstats.readers.confidence import Scale, scale_confidence, scaled
from pairstats.readers.drafts import Draft, Tally, as_text
from pairstats.readers.mapping import Extract, Path
from pairstats.readers.replies import RESCORED, Format, deciding_part, rescore, what_it_says

_OF_A_REPLY = ("status", "reason", "response", "answer", "gold")
"""Columns that scoring a reply again looks at, besides its options."""

Told = Mapping[str, Sequence[Any]]


def rescore_columns(
    fields: dict[str, Column], options: Sequence[Any] | None, answers: Format, keep_score: bool,
    scale: Scale, tally: Tally,
) -> None:  # fmt: skip
    """Score every reply again and scale its confidence; fill in the columns.

    Parameters
    ----------
    fields : dict of str to pyarrow.ChunkedArray
        Columns known so far.
    options : sequence or None
        Option map of every row.
    answers : AnswerFormat
    keep_score : bool
        As in `rescore`.
    scale, tally
        As in `scale_confidence`.

    Raises
    ------
    PairingError
        When a key cannot be read, or a reply has none and the platform's score is not kept.
    """
    told = {name: _values(fields[name]) for name in _OF_A_REPLY if name in fields}
    if options is not None:
        told["options"] = options
    firsts, like = _alike(told, answers)
    try:
        drafts = _scored(
            {n: [cells[row] for row in firsts] for n, cells in told.items()}, answers, keep_score
        )
    except PairstatsError:  # which is to name all records that it is true of
        _scored({**told, "source": fields["source"].to_pylist()}, answers, keep_score)
        raise
    for name in ("status", "reason", "answer", "gold"):
        words = pa.array([as_text(draft.fields.get(name)) for draft in drafts], pa.string())
        fields[name] = pa.chunked_array([words.take(like)])
    score = RESCORED if keep_score else "score"
    fields[score] = pa.chunked_array([pa.array([d.fields[score] for d in drafts], pa.float64()).take(like)])
    fields["confidence"] = _confidences(fields, drafts, like, scale, tally)


def option_maps(cells: Column, path: Path) -> list[Any]:
    """Option map of every row; labels that other rows have and this one has not are null.

    Raises
    ------
    UnusualError
        When an option is no text.
    """
    kind = cells.type
    inner = [field.type for field in kind] if pa.types.is_struct(kind) else [kind]
    inner = [kind.value_type] if pa.types.is_list(kind) else inner
    if isinstance(path, Extract) or not all(map(pa.types.is_string, inner)):
        raise UnusualError("options that are not texts")
    return list(cells.to_pylist())


def _values(cells: Column) -> Sequence[Any]:
    if pa.types.is_string(cells.type):  # of which this makes Python's own, and None of null, in half the time
        return list(cells.to_numpy(zero_copy_only=False))
    return list(cells.to_pylist())


def _alike(told: Told, answers: Format) -> tuple[list[int], pa.Array]:
    """Find the first rows of their kinds, and for every row the place of its like among these."""
    columns = dict(told)
    says: Callable[[str], Hashable] = partial(what_it_says, answers)
    if "options" in told:  # which differ by item: what a reply says to each is not asked yet
        columns["options"] = [_fixed(each) for each in told["options"]]
        says = deciding_part(answers)
    if "response" in told:
        columns["response"] = [says(reply) if type(reply) is str else reply for reply in told["response"]]
    first: dict[tuple[Any, ...], int] = {}
    like = [first.setdefault(row, number) for number, row in enumerate(zip(*columns.values(), strict=True))]
    firsts = list(first.values())
    return firsts, pa.array(np.searchsorted(firsts, like))


def _fixed(options: Any) -> Any:
    if isinstance(options, dict):
        return tuple(options.items())
    return tuple(options) if isinstance(options, list) else options


def _scored(told: Told, answers: Format, keep_score: bool) -> list[Draft]:
    """Score rows by themselves."""
    rows = [dict(zip(told, row, strict=True)) for row in zip(*told.values(), strict=True)]
    drafts = [Draft(0, row.pop("source", ""), "", row, {}, {}) for row in rows]
    rescore(drafts, answers, keep_score, "options" in told)
    return drafts


def _is_number_or_none(stated: tuple[Any, Any]) -> bool:
    value, is_percent = stated
    return type(is_percent) is bool and (value is None or (type(value) is float and value == value))


def _confidences(
    fields: Mapping[str, Column], drafts: Sequence[Draft], like: pa.Array, scale: Scale,
    tally: Tally,
) -> Column:  # fmt: skip
    """Confidences that records, or else their replies, state."""
    own = fields.get("confidence")
    read = [
        (draft.fields.get("confidence"), draft.fields.get("confidence_is_percent", False)) for draft in drafts
    ]
    if (own is None or own.null_count == len(like)) and all(map(_is_number_or_none, read)):
        numbers = pa.array([value for value, _ in read], pa.float64()).take(like)
        percent = pa.array([is_percent for _, is_percent in read], pa.bool_()).take(like)
        return scaled(pa.chunked_array([numbers]), pa.chunked_array([percent]), fields["model"], scale, tally)
    values: list[Any] = [None] * len(like) if own is None else own.to_pylist()
    models, stated = fields["model"].to_pylist(), {}
    for row, place in enumerate(like.to_pylist()):
        value, percent = (values[row], False) if values[row] is not None else read[place]
        if value is not None:
            words = {"model": models[row], "confidence": value, "confidence_is_percent": percent}
            stated[row] = Draft(0, "", "", words, {}, {})
    scale_confidence(list(stated.values()), scale, [tally])
    for row, draft in stated.items():
        values[row] = draft.fields["confidence"]
    return pa.chunked_array([pa.array(values, pa.float64())])
