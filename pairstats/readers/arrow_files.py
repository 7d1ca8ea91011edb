"""Tables in Arrow's own forms: Parquet, Arrow IPC files and Arrow IPC streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

STREAM = "arrow stream"
_NEXT = b"\xff\xff\xff\xff"
FORMS = {b"PAR1": "parquet", b"ARROW1": "arrow", _NEXT: STREAM}
"""First bytes of each form."""
_END = _NEXT + bytes(4)

Open = Callable[[], pa.NativeFile]
Batches = Callable[[], Iterator[pa.RecordBatch]]


def opened(source: Open, form: str, rows: int) -> tuple[list[str], Batches]:
    """Open a table.

    Parameters
    ----------
    source : callable
        Opens the file, each time at its beginning.
    form : str
        One of `FORMS`.
    rows : int
        How many of a Parquet file are read together; the other forms have batches of their own.

    Returns
    -------
    tuple of list of str, callable
        Names of columns, and what gives the batches each time that it is called; each is whole.

    Raises
    ------
    pyarrow.ArrowException, OSError
        When the file is damaged.
    """
    if form == STREAM:
        _check_end(source())
        names = list(pa.ipc.open_stream(source()).schema.names)
        return names, partial(_checked, lambda: iter(pa.ipc.open_stream(source())))
    if form == "parquet":
        parquet = pq.ParquetFile(source(), page_checksum_verification=True)
        return list(parquet.schema_arrow.names), partial(_checked, partial(parquet.iter_batches, rows))
    arrow = pa.ipc.open_file(source())
    batches = partial(map, arrow.get_batch, range(arrow.num_record_batches))
    return list(arrow.schema.names), partial(_checked, batches)


def _check_end(stream: pa.NativeFile) -> None:
    """Refuse a stream without its end: Arrow takes one that was cut between two batches for whole."""
    size = stream.size()
    stream.seek(max(0, size - len(_END)))
    if stream.read(len(_END)) != _END:
        raise pa.ArrowInvalid("it does not end as a stream does, so that batches may be missing")


def _checked(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches():
        batch.validate(full=True)
        yield batch
