"""What a row of a plain table says of its request besides a status: an error, why the reply stopped, no text.

The same rules twice, of a row and of columns: state first, then score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pairstats.readers.columns import by_word
from pairstats.readers.jsonlines import real_of
from pairstats.readers.states import ANY, OF_LENGTH, STOP, State, cut, failed, told

NO_ERROR = frozenset({"", "none", "null", "nan", "na", "n/a", "nil", "false", "no", "ok", "-", "[]", "{}"})
"""What stands in a column of errors where there was none."""
CODES = range(400, 600)
"""Numbers that are errors; any other may as well be the distance from the right answer."""


def error_of(cell: Any) -> State | None:
    """State that a cell of a column of errors tells: words, or the code of a failed call.

    Examples
    --------
    >>> error_of("RateLimitError: 429"), error_of("None")
    (State(status='error', reason='rate_limit'), None)
    >>> error_of(503), error_of("0.25")
    (State(status='error', reason='overloaded'), None)
    """
    text = str(cell).strip()
    if cell is None or text.lower() in NO_ERROR:
        return None
    number = None if isinstance(cell, bool) else real_of(text)
    if number is None:
        return failed(text, "unknown")
    return failed(str(int(number)), "unknown") if number in CODES else None


def stop_of(cell: Any) -> State | None:
    """State that the reason to stop tells, as if the reply held no text.

    Examples
    --------
    >>> stop_of("Length"), stop_of("stop")
    (State(status='truncated', reason='max_tokens'), None)
    """
    return told(ANY, STOP, str(cell).strip().lower())


def state_of_row(
    errors: Sequence[Any], stop: Any, texts: Sequence[Any], scores: Sequence[float | None]
) -> State | None:
    """State of a request from its row; None where the rest of the row must tell it.

    Parameters
    ----------
    errors : sequence
        Cells of the columns of errors; the last one that tells anything counts.
    stop : object
        Cell of the column of reasons to stop.
    texts : sequence
        Its answer and reply, each None where there is none.
    scores : sequence of float or None
        What a scorer found right was answered, though the text is not stored.
    """
    broken = [state for state in map(error_of, errors) if state is not None]
    if broken:
        return broken[-1]
    said = [text for text in texts if text is not None]
    answered = any(text.strip() for text in said) or any(score is not None and score > 0 for score in scores)
    stopped = stop_of(stop)
    if stopped is not None:
        return cut(stopped, answered)
    return State("empty", None) if said and not answered else None


def states_of_columns(
    errors: Sequence[pa.ChunkedArray | None], stop: pa.ChunkedArray | None, texts: Sequence[pa.ChunkedArray],
    scores: Sequence[pa.ChunkedArray],
) -> tuple[pa.ChunkedArray | None, pa.ChunkedArray | None]:  # fmt: skip
    """Do the same to columns; gives those of status and reason, None where no row tells one."""
    answered = _any(
        [pc.not_equal(pc.utf8_trim_whitespace(text), "") for text in texts]
        + [pc.greater(score, 0.0) for score in scores]
    )
    status = reason = None
    if texts:
        blank = pc.and_(_any(map(pc.is_valid, texts)), pc.invert(answered))
        if pc.any(blank).as_py():
            status = pc.if_else(blank, "empty", pa.scalar(None, pa.string()))
    known = [(stop, stop_of), *((error, error_of) for error in errors)]
    for cells, state_of in known:  # what counts more comes last
        if cells is None:
            continue
        state, why = (by_word(cells, partial(_part_of, state_of, at), pa.string()) for at in (0, 1))
        if cells is stop and answered is not None:
            was_cut = pc.and_(pc.equal(state, "truncated"), answered)
            whole = cut(State("truncated", OF_LENGTH[0]), holds_answer=True)
            state, why = pc.if_else(was_cut, whole.status, state), pc.if_else(was_cut, whole.reason, why)
        if state.null_count < len(state):
            status = state if status is None else pc.coalesce(state, status)
            reason = why if reason is None else pc.if_else(pc.is_valid(state), why, reason)
    return status, reason


def _part_of(state_of: Callable[[Any], State | None], at: int, cell: Any) -> str | None:
    state = state_of(cell)
    return None if state is None else state[at]


def _any(masks: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray | None:
    """Where one of several masks holds; null counts as no."""
    found = None
    for mask in masks:
        holds = pc.fill_null(mask, False)
        found = holds if found is None else pc.or_(found, holds)
    return found
