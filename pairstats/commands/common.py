"""What commands share: exit statuses, JSON, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

OK, FINDINGS, USAGE = 0, 1, 2


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object for machines."""
    print(json.dumps(value, indent=2, default=str))


@contextmanager
def progress(steps: Sequence[str] = ()) -> Iterator[Callable[[str], None]]:
    """Show steps on standard error: a spinner at a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda name: print(_line(name, steps), file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=len(steps) or None)

        def step(name: str) -> None:
            bar.update(task, description=name, completed=steps.index(name) if name in steps else None)

        yield step


def _line(name: str, steps: Sequence[str]) -> str:
    return f"[{steps.index(name) + 1}/{len(steps)}] {name}" if name in steps else name
