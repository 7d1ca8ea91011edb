"""Pieces read one after the other, or by several processes at once; the result is the same."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from numbers import Integral
from types import ModuleType

from pairstats.errors import PairstatsError
from pairstats.readers.columns import UnusualError
from pairstats.readers.files import Given
from pairstats.readers.flat import flat_form
from pairstats.readers.pieces import Piece, Task, read_piece
from pairstats.readers.progress import Sink
from pairstats.readers.reading import Reading
from pairstats.threads import cores

PARALLEL_BYTES = 50 << 20
"""Input from which starting processes is worth its second."""
WAITING = 2
"""Tasks that each other process has before it once it has started, so that none is idle."""
HELD = 4
"""Pieces for each process that may be held until those before them are read."""


def number_of_workers(files: Sequence[Given], reading: Reading, wanted: int | None) -> int:
    """Say how many processes are to read.

    Parameters
    ----------
    files : sequence of Given
    reading : Reading
    wanted : int or None
        What the user says; None takes as many as there are cores, where there is enough to read.

    Raises
    ------
    PairstatsError
        When the number is no positive whole number.
    """
    if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, Integral) or wanted < 1):
        raise PairstatsError(f"`workers` must be a positive whole number, but got {wanted!r}.")
    if reading.items is not None or not _can_travel(reading):
        return 1
    if wanted is not None:
        return wanted
    # Arrow reads flat tables on all cores by itself: only where replies are read besides, and many, others help.
    flat = [given for given in files if _is_flat(given, reading)]
    work = size_of(files) - size_of(flat) + (size_of(flat) / 2 if reading.answers is not None else 0)
    return cores() if work > PARALLEL_BYTES else 1


def _is_flat(given: Given, reading: Reading) -> bool:
    return bool(given.unread or given.broken or flat_form(given, reading))


def size_of(files: Iterable[Given]) -> int:
    """Bytes of the files as they lie on disk."""
    return sum(given.file.path.stat().st_size for given in files if not (given.unread or given.broken))


def _can_travel(reading: Reading) -> bool:
    """Whether another process can take over what was asked: not what only the running script defines."""
    try:
        return b"__main__" not in pickle.dumps(reading)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def run(tasks: Iterable[Task], reading: Reading, workers: int, sink: Sink) -> Iterator[Piece]:
    """Yield the piece of every task, in order.

    Parameters
    ----------
    tasks : iterable of Task
    reading : Reading
    workers : int
    sink : callable
        See `Sink`; it is called where the piece is read.
    """
    if workers < 2:
        for task in tasks:
            yield read_piece(task, reading, sink)
        return
    others = workers - 1  # this process reads too, from the first moment: others need a second to start
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(others, mp_context=context) as pool:
        waiting: deque[Future[Piece]] = deque()
        first: Future[Piece] | None = None
        try:
            for task in tasks:
                ahead = WAITING if first is not None and first.done() else 1
                if sum(not piece.done() for piece in waiting) < ahead * others:
                    with _no_main_module():
                        waiting.append(pool.submit(read_piece, task, reading, sink))
                    first = first or waiting[-1]
                else:
                    waiting.append(_read_here(task, reading, sink))
                while waiting and (waiting[0].done() or len(waiting) > HELD * workers):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise UnusualError("a process that read files died") from error
        finally:
            for future in waiting:
                future.cancel()


def _read_here(task: Task, reading: Reading, sink: Sink) -> Future[Piece]:
    """Do a task in this process; what is wrong with it is told when its turn comes."""
    done: Future[Piece] = Future()
    try:
        done.set_result(read_piece(task, reading, sink))
    except (UnusualError, PairstatsError) as error:
        done.set_exception(error)
    return done


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep new processes from running the user's script again, which they need nothing of."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
