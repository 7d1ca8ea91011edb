"""Columns of cells as text and as numbers, exactly as the row readers would read each cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pairstats.readers.columns import EXACT, UnusualError, by_word
from pairstats.readers.drafts import Tally, as_text
from pairstats.readers.jsonlines import real_of
from pairstats.readers.pairing import WORDS

Column: TypeAlias = pa.ChunkedArray


def is_plain(kind: pa.DataType) -> bool:
    """Whether a type is text, a number or a truth value."""
    return (
        pa.types.is_string(kind) or pa.types.is_int64(kind) or pa.types.is_float64(kind)
        or pa.types.is_boolean(kind) or pa.types.is_null(kind)
    )  # fmt: skip


def text_of(cells: Column) -> Column:
    """Column as text, each value as `as_text` writes it."""
    if not is_plain(cells.type):
        raise UnusualError("values that are not plain")
    if pa.types.is_float64(cells.type):
        check_exact(cells)
        if pc.any(pc.is_nan(cells)).as_py():
            raise UnusualError("NaN in a column of words")
        return by_word(cells, as_text, pa.string())
    return cells if pa.types.is_string(cells.type) else cells.cast(pa.string())


DIGITS = r"^\d+$"
"""How a whole number is written in a text cell."""


def check_exact(cells: Column) -> None:
    """Refuse floats that may stand for another whole number than the one in the file."""
    if cells.null_count < len(cells) and pc.any(pc.greater_equal(pc.abs(cells), EXACT)).as_py():
        raise UnusualError("large numbers")


def check_fraction(cells: Column) -> None:
    """Refuse floats that are all whole: only a value that is gone may have made floats of whole numbers."""
    if pc.all(pc.equal(pc.floor(cells), cells)).as_py():
        raise UnusualError("numbers that may be whole without the values left out")


def typed(name: str, cells: Column) -> Column:
    """Column in the type that the format has for its name."""
    if name == "repeat":
        if pa.types.is_boolean(cells.type):
            raise UnusualError("a repeat that is true or false")
        if (
            pa.types.is_string(cells.type)
            and pc.any(pc.invert(pc.match_substring_regex(cells, DIGITS))).as_py()
        ):
            raise UnusualError("a repeat that is not written as a whole number")
        return whole_of(cells)
    return text_of(cells) if name in WORDS or name in ("gold", "answer") else cells


def number_of(cells: Column, of_text: Callable[[Any], float | None]) -> Column:
    """Column as floats; a text is read by a function of `tables`."""
    if not is_plain(cells.type):
        raise UnusualError("values that are not plain")
    values = (
        by_word(cells, of_text, pa.float64()) if pa.types.is_string(cells.type)
        else cells if pa.types.is_float64(cells.type) else cast_to(cells, pa.float64())
    )  # fmt: skip
    if values.null_count != cells.null_count:
        raise UnusualError("a cell that is no number")
    return values


def whole_of(cells: Column) -> Column:
    """Column as whole numbers, all of them exact as floats too."""
    if not pa.types.is_int64(cells.type):
        cells = number_of(cells, real_of)
    if cells.null_count < len(cells):
        if pa.types.is_int64(cells.type):
            found = pc.min_max(cells).as_py()
            if max(abs(found["min"]), abs(found["max"])) >= EXACT:
                raise UnusualError("large numbers")
        else:
            check_exact(cells)
    return cast_to(cells, pa.int64())


def cast_to(cells: Column, kind: pa.DataType) -> Column:
    """Column in another type, where that changes no value."""
    try:
        return cells.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnusualError(str(error)) from error


def without_nan(tally: Tally, values: Column) -> Column:
    """Column of floats with null for NaN, which is counted."""
    nan = pc.is_nan(values)
    count = pc.sum(nan).as_py() or 0
    tally.nan_to_null += count
    return pc.if_else(nan, pa.scalar(None, pa.float64()), values) if count else values
