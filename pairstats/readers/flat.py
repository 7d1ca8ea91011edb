"""Flat tables as columns: what `tables`, `pairing` and `scoring` do to a record, done to a block of them.

Only what is certain to give the same rows is done so. For anything else `UnusualError` is raised, and the records
are read one by one, which names the file and record of whatever is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairstats.readers.blocks import FORMS, blocks_of
from pairstats.readers.columns import UnusualError
from pairstats.readers.drafts import Tally
from pairstats.readers.files import TABLES, Given
from pairstats.readers.flat_block import FlatBlock
from pairstats.readers.layout import Layout, layout_of
from pairstats.readers.parts import Part
from pairstats.readers.reading import Reading
from pairstats.readers.sheets import form_of

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
    plain = reading.items is None and not reading.options.models
    if not plain or reading.reader not in (None, TABLES):
        return ""
    form = form_of(given.file)
    return form if form in FORMS else ""


def flat_parts(
    given: Given, form: str, reading: Reading, tally: Tally, place: int
) -> Iterator[tuple[tuple[str, ...], Layout, Part]]:
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
    for block in blocks_of(given.file, form):
        before, names = names, tuple(dict.fromkeys((*names, *block.names)))
        if len(names) > WIDEST:
            raise UnusualError("very many columns")
        if layout is None:
            layout = layout_of(names, form, reading)
        elif names != before and layout_of(names, form, reading) != layout:
            raise UnusualError("columns that come late and change what others mean")
        yield names, layout, FlatBlock(given, reading, tally, layout, block).part(names, place)
    if layout is None:
        raise UnusualError("no row")
