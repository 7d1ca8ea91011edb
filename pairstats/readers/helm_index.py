"""Where the entries of a HELM run's files lie, by instance, perturbation and trial, so that none is held."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from typing import IO, Any

import numpy as np

from pairstats.readers.documents import Document
from pairstats.readers.jsonlines import dig, parse

Json = dict[str, Any]


def key_of(instance: Any, id_name: str, trial: Any) -> str:
    """Write instance, perturbation and trial as one text.

    Examples
    --------
    >>> key_of({"id": "id1", "perturbation": {"name": "typos"}}, "id", 0)
    '["id1", {"name": "typos"}, 0]'
    """
    perturbation = dig(instance, "perturbation") or {}
    return json.dumps([dig(instance, id_name), perturbation, trial], sort_keys=True)


class Index:
    """Three numbers an entry, and a digest a key.

    Parameters
    ----------
    names : iterable of str
        Files of a run, in the order in which they are looked through.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._codes: dict[bytes, int] = {}
        self._spans = {name: array("q") for name in names}
        self._settings: dict[str, set[str]] = {}

    def add(self, name: str, key: str, start: int, length: int) -> None:
        """Take note of the next entry of a file."""
        code = self._codes.setdefault(blake2b(key.encode(), digest_size=16).digest(), len(self._codes))
        self._spans[name].extend((code, start, length))
        perturbation = json.loads(key)[1]
        setting = json.dumps(perturbation, sort_keys=True)
        self._settings.setdefault(perturbation.get("name", ""), set()).add(setting)

    def several_settings(self) -> set[str]:
        """Names of perturbations that occur with several settings, which their variants must tell apart."""
        return {name for name, found in self._settings.items() if len(found) > 1}

    def groups(self) -> Iterator[dict[str, list[tuple[int, int]]]]:
        """Yield, for every key in the order of its first entry, start and length of its entries by file."""
        tables = {}
        for name, spans in self._spans.items():
            rows = np.array(spans, np.int64).reshape(-1, 3)
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
            tables[name] = rows, np.searchsorted(rows[:, 0], np.arange(len(self._codes) + 1))
        for code in range(len(self._codes)):
            yield {
                name: [(start, length) for _, start, length in rows[ends[code] : ends[code + 1]].tolist()]
                for name, (rows, ends) in tables.items()
            }


class Entries:
    """Entries of a run's files, each fetched from its place; a context manager.

    Parameters
    ----------
    opened : dict of str to Document
        The files of the run that are there.
    """

    def __init__(self, opened: dict[str, Document]) -> None:
        self._opened, self._streams, self._stack = opened, dict[str, IO[bytes]](), ExitStack()

    def __enter__(self) -> Entries:
        for name, document in self._opened.items():
            self._streams[name] = self._stack.enter_context(document.file.open_seekable())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fetch(
        self, group: dict[str, list[tuple[int, int]]], finished: Callable[[str, Any], Json]
    ) -> dict[str, list[Json]]:
        """Read the entries of one key; `finished` completes each with what its file says of all."""
        return {
            name: [finished(name, self._entry(name, *span)) for span in spans]
            for name, spans in group.items()
        }

    def _entry(self, name: str, start: int, length: int) -> Any:
        stream = self._streams[name]
        stream.seek(start)
        return parse(stream.read(length), self._opened[name].file.shown)
