"""Flat tables as columns: what `tables`, `pairing` and `scoring` do to a record, done to a block of them.

Only what is certain to give the same rows is done so. For anything else `UnusualError` is raised, and the records
are read one by one, which names the file and record of whatever is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager

import pyarrow as pa

from pairstats.readers import openai, openai_columns
from pairstats.readers.base import Reader
from pairstats.readers.blocks import FORMS, blocks_of
from pairstats.readers.columns import Block, UnusualError
from pairstats.readers.drafts import Tally
from pairstats.readers.files import TABLES, Given
from pairstats.readers.flat_block import FlatBlock
from pairstats.readers.layout import Layout, layout_of
from pairstats.readers.parts import Part
from pairstats.readers.reading import Reading
from pairstats.readers.sheets import form_of

LOGS: Mapping[type, Callable[[Block, Reading], tuple[Block, Layout]]] = {
    openai.OpenAIReader: openai_columns.columns_of
}
"""Readers of JSON Lines of which a block may be read as columns, and what gives these."""
WIDEST = 10_000
"""Columns of a table that is read as columns."""


def flat_form(given: Given, reading: Reading) -> str:
    r"""Say how a flat table is written that may be read as columns; empty if it may not.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pairstats.readers.files import find_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.csv")
    ...     _ = file.write_text("item,model,score\nq1,m,1\n")
    ...     flat_form(find_files(file)[0], Reading())
    'csv'
    """
    if not reading.by_block or reading.reader not in (None, TABLES):
        return ""
    form = form_of(given.file)
    return form if form in FORMS else ""


def flat_parts(
    given: Given, form: str, reading: Reading, tally: Tally, place: int
) -> Generator[tuple[tuple[str, ...], Layout, Part]]:
    """Yield the columns met so far, what they mean, and the rows of a block; enter them in the tally.

    Parameters
    ----------
    given : Given
    form : str
        As `flat_form` says.
    reading : Reading
    tally : Tally
    place : int
        Its position in the ledger.

    Raises
    ------
    UnusualError
        When the records must be read one by one.
    """
    names: tuple[str, ...] = ()
    layout: Layout | None = None
    with closing(blocks_of(given.file, form)) as blocks:
        for block in blocks:
            before, names = names, tuple(dict.fromkeys((*names, *block.names)))
            if len(names) > WIDEST:
                raise UnusualError("very many columns")
            if layout is None:
                layout = layout_of(names, form, reading)
            elif names != before and layout_of(names, form, reading) != layout:
                raise UnusualError("columns that come late and change what others mean")
            if _may_be_foreign(block, layout):
                raise UnusualError("objects that may be maps by model, or of another platform")
            with _what_arrow_refuses():
                part = FlatBlock(given, reading, tally, layout, block).part(names, place)
            yield names, layout, part
    if layout is None:
        raise UnusualError("no row")


def log_parts(given: Given, reader: Reader, reading: Reading, tally: Tally, place: int) -> Generator[Part]:
    """Yield the rows of the blocks of a platform's log, one of `LOGS`.

    Raises
    ------
    UnusualError
        When the records must be read one by one.
    """
    with closing(blocks_of(given.file, "jsonl")) as blocks:
        for block in blocks:
            with _what_arrow_refuses():
                plain, layout = LOGS[type(reader)](block, reading)
                part = FlatBlock(given, reading, tally, layout, plain).part(openai_columns.FURTHER, place)
            yield part


@contextmanager
def _what_arrow_refuses() -> Iterator[None]:
    """Take what Arrow cannot hold or do, say a whole number of 70 bits or half a surrogate pair, for unusual."""
    try:
        yield
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise UnusualError(str(error)) from error


def _may_be_foreign(block: Block, layout: Layout) -> bool:
    nested = any(_holds_objects(field.type) for field in block.table.schema)
    return nested and not ("model" in block.names and {"item", "model"} <= layout.roles.keys())


def _holds_objects(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) or (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)))
