"""Progress on standard error, for work that takes long enough to wonder."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pairstats.readers.files import Given
from pairstats.readers.parts import Part

Sink = Callable[[Part], Part]
"""What becomes of a part as soon as it is read: it stays in memory, or is laid on disk."""
PATIENCE = 1.0
"""Seconds before progress is shown."""


class Progress:
    """A bar of bytes read, with the files and the records a second; silent where none is wanted."""

    def __init__(self, files: Sequence[Given], wanted: bool | None) -> None:
        self._sizes = [
            0 if given.unread or given.broken else given.file.path.stat().st_size for given in files
        ]
        self._shown = wanted is True or (wanted is None and sys.stderr.isatty())
        self._patience = 0.0 if wanted else PATIENCE
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def update(self, files_done: int, records: int, bytes_more: int = 0) -> None:
        """Show how far reading is.

        Parameters
        ----------
        files_done, records : int
        bytes_more : int
            Bytes read of the next file.
        """
        elapsed = time.monotonic() - self._start
        if not self._shown or elapsed < self._patience:
            return
        if self._bar is None:
            self._bar = _bar()
            self._task = self._bar.add_task("reading", total=sum(self._sizes), speed="")
        self._bar.update(
            self._task, completed=sum(self._sizes[:files_done]) + bytes_more,
            description=f"reading {min(files_done + 1, len(self._sizes))}/{len(self._sizes)}",
            speed=f"{records / elapsed:,.0f} records/s" if records and elapsed > 0 else "",
        )  # fmt: skip

    def watching(self, sink: Sink) -> Sink:
        """Give a sink that shows every part that it takes; for a single process, which reads in order."""
        place, records, size = 0, 0, 0

        def watched(part: Part) -> Part:
            nonlocal place, records, size
            place, size = part.place, part.size + (size if part.place == place else 0)
            records += part.table.num_rows
            self.update(place, records, size)
            return sink(part)

        return watched

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress_of(files: Sequence[Given], wanted: bool | None) -> Iterator[Progress]:
    """Give a bar for reading files, and take it away at the end.

    Parameters
    ----------
    files : sequence of Given
    wanted : bool or None
        None shows the bar at a terminal only, and only after `PATIENCE`.
    """
    progress = Progress(files, wanted)
    try:
        progress.update(0, 0)
        yield progress
    finally:
        progress.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[speed]}"),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar
