"""What a row of a plain table says of its request besides a status: an error, why the reply stopped, no text.

The same rules twice, of a row and of columns: state first, then score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pairstats.readers.column_names import ERRORS
from pairstats.readers.columns import by_word
from pairstats.readers.jsonlines import real_of
from pairstats.readers.states import ANY, OF_LENGTH, STOP, State, cut, failed, told

NO_ERROR = frozenset({
    "", "none", "null", "nan", "na", "n/a", "<na>", "nat", "nil", "undefined", "false", "no", "ok", "success", "-",
    "no error", "no errors", "[]", "{}",
})  # fmt: skip
"""What stands in a column of errors where there was none."""
YES = frozenset({"true", "yes", "1", "1.0"})
CODES = range(400, 600)
"""Numbers that are errors; in a column of words, any other may as well be the distance from the right answer."""
_CODE = re.compile(r"\s*(\d{3})(?!\w)(?!\.[1-9])")


def error_of(cell: Any) -> State | None:
    """State that a cell of a column of errors tells: words, or the code of a failed call.

    Examples
    --------
    >>> error_of("RateLimitError: 429"), error_of("None")
    (State(status='error', reason='rate_limit'), None)
    >>> error_of(503), error_of("0.25")
    (State(status='error', reason='overloaded'), None)
    """
    if not _is_filled(cell):
        return None
    text = str(cell).strip()
    if not isinstance(cell, bool) and real_of(text) is not None:
        return code_of(text)
    return failed(text, "unknown")


def _is_filled(cell: Any) -> bool:
    if isinstance(cell, list | tuple):
        return any(map(_is_filled, cell))
    if isinstance(cell, Mapping):
        return any(map(_is_filled, cell.values()))
    return cell is not None and str(cell).strip().lower() not in NO_ERROR


def code_of(cell: Any) -> State | None:
    """State that the code of a call tells; words beside it tell nothing.

    Examples
    --------
    >>> code_of("429 Too Many Requests"), code_of(200.0), code_of("UNSET")
    (State(status='error', reason='rate_limit'), None, None)
    """
    found = _CODE.match(str(cell))
    return failed(found[1], "unknown") if found and int(found[1]) in CODES else None


def flag_of(cell: Any) -> State | None:
    """State that a cell of a column of flags tells.

    Examples
    --------
    >>> flag_of(1), flag_of("False")
    (State(status='error', reason='unknown'), None)
    """
    return State("error", "unknown") if str(cell).strip().lower() in YES else None


TELLS: Mapping[str, Callable[[Any], State | None]] = {
    **dict.fromkeys(ERRORS, error_of), "code": code_of, "is_error": flag_of,
}  # fmt: skip
"""By role, what says the state of a cell."""


def stop_of(cell: Any) -> State | None:
    """State that the reason to stop tells, as if the reply held no text.

    Examples
    --------
    >>> stop_of("Length"), stop_of("stop")
    (State(status='truncated', reason='max_tokens'), None)
    >>> stop_of("FinishReason.MAX_TOKENS")
    State(status='truncated', reason='max_tokens')
    """
    return told(ANY, STOP, str(cell).strip().rpartition(".")[2].lower())


def state_of_row(
    errors: Mapping[str, Any], stop: Any, texts: Sequence[Any], scores: Sequence[float | None]
) -> State | None:
    """State of a request from its row; None where the rest of the row must tell it.

    Parameters
    ----------
    errors : mapping
        Cells of the columns of errors by role; the last one that tells anything counts.
    stop : object
        Cell of the column of reasons to stop.
    texts : sequence
        Its answer and reply, each None where there is none.
    scores : sequence of float or None
        What a scorer found right was answered, though the text is not stored.
    """
    said = [text for text in texts if text is not None]
    written = any(text.strip() for text in said)
    found = ((role, TELLS[role](cell)) for role, cell in errors.items())
    broken = [
        state
        for role, state in found
        if state is not None and not (written and _may_judge(role, state.reason))
    ]
    if broken:
        return broken[-1]
    answered = written or any(score is not None and score > 0 for score in scores)
    stopped = stop_of(stop)
    if stopped is not None:
        return cut(stopped, answered)
    return State("empty", None) if said and not answered else None


def states_of_columns(
    errors: Mapping[str, pa.ChunkedArray], stop: pa.ChunkedArray | None, texts: Sequence[pa.ChunkedArray],
    scores: Sequence[pa.ChunkedArray],
) -> tuple[pa.ChunkedArray | None, pa.ChunkedArray | None]:  # fmt: skip
    """Do the same to columns; gives those of status and reason, None where no row tells one."""
    written = _any([pc.not_equal(pc.utf8_trim_whitespace(text), "") for text in texts])
    answered = _any([*([] if written is None else [written]), *(pc.greater(score, 0.0) for score in scores)])
    status = reason = None
    if texts:
        blank = pc.and_(_any(map(pc.is_valid, texts)), pc.invert(answered))
        if pc.any(blank).as_py():
            status = pc.if_else(blank, "empty", pa.scalar(None, pa.string()))
    known = [("stop", stop, stop_of), *((role, cells, TELLS[role]) for role, cells in errors.items())]
    for role, cells, state_of in known:  # what counts more comes last
        if cells is None:
            continue
        state, why = (by_word(cells, partial(_part_of, state_of, at), pa.string()) for at in (0, 1))
        if cells is stop and answered is not None:
            was_cut = pc.and_(pc.equal(state, "truncated"), answered)
            whole = cut(State("truncated", OF_LENGTH[0]), holds_answer=True)
            state, why = pc.if_else(was_cut, whole.status, state), pc.if_else(was_cut, whole.reason, why)
        if written is not None and _may_judge(role, "unknown"):
            judged = pc.fill_null(pc.and_(written, pc.equal(why, "unknown")), False)
            state, why = (pc.if_else(judged, pa.scalar(None, pa.string()), each) for each in (state, why))
        if state.null_count < len(state):
            status = state if status is None else pc.coalesce(state, status)
            reason = why if reason is None else pc.if_else(pc.is_valid(state), why, reason)
    return status, reason


def _may_judge(role: str, reason: str | None) -> bool:
    """Whether words tell of no failure that is known, and so may judge the answer beside them: "wrong unit"."""
    return reason == "unknown" and TELLS.get(role) is error_of


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
