"""Progress on standard error, for work that takes long enough to wonder."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from pairstats.readers.files import Given

PATIENCE = 1.0
"""Seconds before progress is shown."""


def progress_bar(files: Sequence[Given], wanted: bool | None) -> Iterator[Given]:
    """Yield the files while a bar follows their bytes.

    Parameters
    ----------
    files : sequence of Given
    wanted : bool or None
        None shows the bar at a terminal only, and only after `PATIENCE`.
    """
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield from files
        return
    start, bar, task = time.monotonic(), None, None
    sizes = [0 if given.unread else given.file.path.stat().st_size for given in files]
    try:
        for number, given in enumerate(files):
            if bar is None and (wanted or time.monotonic() - start > PATIENCE):
                bar, task = _bar(sum(sizes))
            if bar is not None and task is not None:
                bar.update(
                    task, completed=sum(sizes[:number]), description=f"reading {number + 1}/{len(files)}"
                )
            yield given
    finally:
        if bar is not None:
            bar.stop()


def _bar(total: int):  # type: ignore[no-untyped-def]
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task("reading", total=total)
