"""What is remarkable in a table of records, although it breaks no rule of the format."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pairstats import schema
from pairstats.errors import listed

TWO_SCALES = "confidence on two scales"
"""How a note of the ledger begins, where a file holds stated confidences from 0 to 1 and from 0 to 100."""
MINORITY = 0.5
"""Share of items below which belonging to several families is an exception, not the way ids are given."""


def plain(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Column of a table without its dictionary."""
    column = table.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def unscored_rows(table: pa.Table) -> int:
    """Count the answered replies without a primary score."""
    answered = pc.equal(plain(table, "status"), schema.ANSWERED)
    return int(pc.sum(pc.and_(answered, pc.is_null(table.column("score")))).as_py() or 0)


def unscored(table: pa.Table) -> Iterator[str]:
    """Say how many answered replies have no score, and what gives them one.

    Examples
    --------
    >>> from pairstats.invariants import validate
    >>> rows = validate(pa.table({"family": ["f"], "item": ["q"], "model": ["m"], "status": ["answered"]}))
    >>> list(unscored(rows))
    ['1 answered reply has no score: pass answers=ps.AnswerFormat(...) (needs gold), or name a score=']
    """
    count = unscored_rows(table)
    if count:
        others = [
            name
            for name in table.column_names
            if name.startswith("score_") and table.column(name).null_count < table.num_rows
        ]
        names = (
            f" (there are {listed([name.removeprefix('score_') for name in others], 8)})" if others else ""
        )
        yield (
            f"{count} answered {'reply has' if count == 1 else 'replies have'} no score: "
            f"pass answers=ps.AnswerFormat(...) (needs gold), or name a score={names}"
        )


def in_several_families(table: pa.Table) -> Iterator[str]:
    """Name the items that belong to several families of one study, where most belong to one.

    Examples
    --------
    >>> from pairstats.invariants import validate
    >>> rows = {"family": ["f", "g", "f", "f"], "item": ["q1", "q1", "q2", "q3"], "model": ["m"] * 4,
    ...         "status": ["answered"] * 4}
    >>> list(in_several_families(validate(pa.table(rows))))
    ["1 of 3 items belongs to several families: 'q1' to 'f', 'g'. If that is a slip, correct family="]
    """
    for study in pc.unique(plain(table, "study")).to_pylist():
        rows = table.filter(pc.equal(plain(table, "study"), study))
        homes = pa.table({"item": plain(rows, "item"), "family": plain(rows, "family")})
        homes = homes.group_by(["item", "family"], use_threads=False).aggregate([])
        times = homes.group_by("item", use_threads=False).aggregate([("family", "count")])
        several = times.filter(pc.greater(times.column("family_count"), 1)).column("item")
        if len(several) and len(several) < MINORITY * times.num_rows:
            item = several[0].as_py()
            families = homes.filter(pc.equal(homes.column("item"), item)).column("family").to_pylist()
            where = f" of study {study!r}" if study else ""
            yield (
                f"{len(several)} of {times.num_rows} items{where} "
                f"{'belongs' if len(several) == 1 else 'belong'} to several families: {item!r} to "
                f"{listed(families)}. If that is a slip, correct family="
            )
