"""Kaggle Benchmarks run files (``<task>-<id>.run.json``), one run each, or a run with its subruns.

The file holds neither the item nor the arguments of the task: the item is a part of the file's name, and
is taken from there only where task and model, which are in the file, leave no doubt which part. A run that
only sums up its subruns is no record; a subrun whose own file lies beside it is the same run, logged twice.

Source: kaggle-benchmarks 0.2.0 to 0.6.2 (PyPI), whose run files have the same keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pairstats.errors import ReadError
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile
from pairstats.readers.documents import open_object
from pairstats.readers.each import made
from pairstats.readers.kaggle_run import (
    STATE,
    fields_of,
    identity_of,
    is_total,
    prompt_of,
    scores_of,
    slug_of,
    state_of,
    subruns_of,
    task_of,
)  # fmt: skip
from pairstats.readers.model_names import is_dated
from pairstats.readers.outline import document, outline
from pairstats.readers.rowlog import present

Json = dict[str, Any]

RUN_NAME = re.compile(r"\.run\.json(\.gz|\.zst)?$")
BY_ITEM = "run_param_id_"
WHAT = "a run"
_SUBRUNS = ("subruns",)
_INSTRUCTED = "-it"
"""What the platform leaves out of some models' names, and keeps in their folders'."""
_DEEPEST = 50
"""Levels of subruns; deeper ones are refused."""
_COMPANIONS: dict[str, tuple[str, ...]] = {
    "task file: what was asked, not what was answered": ("versionNumber", "name", "definition"),
    "result file: derived from the run file, where failed runs score 0.0": ("task_name", "trial_name"),
}
_INTERVAL = "the second number of a pair (`confidenceInterval`) is not read: it may be any spread or count"


@dataclass(frozen=True, slots=True)
class Beside:
    """The run files in the same folder: what a subrun does not say of itself.

    Attributes
    ----------
    items : dict of str to str
        Item by the run's identity.
    files : dict of str to str
        File name by the run's identity.
    stubs : dict of tuple to list of pathlib.Path
        Files of whole runs by what a merged file keeps of them.
    """

    items: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    stubs: dict[tuple[Any, ...], list[Path]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KaggleReader:
    """Reader of Kaggle Benchmarks run files."""

    name: str = "kaggle"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for a run's keys, or for those of the files beside it."""
        seen = outline(file)
        if seen.kind == "object" and _is_run(seen.keys, file.head):
            return _recognized(file)
        for why, keys in _COMPANIONS.items():
            if seen.kind == "object" and set(keys) <= set(seen.keys) and _is_kaggle(file.head):
                return Recognized("", companion=why)
        return Declined(f"no keys 'taskVersion' and 'state' ({STATE}...) of a run")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield the file's run and its subruns, except those that only sum up others."""
        opened = open_object(file, _SUBRUNS)
        opened.check(_SUBRUNS)
        subruns_of(opened.head)
        run, inner = (
            opened.head,
            _Inner(opened.counts[_SUBRUNS], (each for _, each in opened.values(_SUBRUNS))),
        )
        beside = _beside(file) if inner.times else Beside()
        item = item_in_name(file.path.name, run)
        yield from _walk(file.shown, run, inner, item, file.path.name, beside, options)


READER = KaggleReader()


def _is_run(keys: tuple[str, ...], head: bytes) -> bool:
    marks = ("results", "conversations", "subruns", "pyRunId", "modelVersion")
    return "taskVersion" in keys and any(key in keys for key in marks) and (
        STATE.encode() in head or "state" not in keys
    )  # fmt: skip


def _is_kaggle(head: bytes) -> bool:
    return any(word in head for word in (b"kbench", b"kaggle", b"subtaskFileNames"))


def _recognized(file: RunFile) -> Recognized:
    try:
        opened = open_object(file, _SUBRUNS)
    except ReadError as error:
        return Recognized("run", note=str(error))
    run, inner = opened.head, opened.counts[_SUBRUNS]
    notes = [_item_note(file.path.name, run, inner), _clash_note(file.shown, slug_of(run))]
    if "confidenceInterval" in str(run.get("results")):
        notes.append(_INTERVAL)
    version = f"run with {inner} subruns" if inner else "run"
    return Recognized(version, note="; ".join(note for note in notes if note))


def normalized(name: str) -> str:
    """Write a name as the platform writes it in file names.

    Examples
    --------
    >>> normalized("anthropic/claude-haiku-4-5@20251001"), normalized("Fidelity (all items)")
    ('anthropic_claude-haiku-4-520251001', 'Fidelity_all_items')
    """
    return re.sub(r"[^A-Za-z0-9_.-]", "", re.sub(r"[ /\\]", "_", name))


def item_in_name(name: str, run: Json) -> str | None:
    """Take the item from a file's name, where the run's own task and model are the rest of it.

    Parameters
    ----------
    name : str
        ``"<task>-run_param_id_<item>_<model>.run.json"``.
    run : dict

    Returns
    -------
    str or None
        The item as the name writes it (blanks and slashes are underscores there); None where in doubt.

    Examples
    --------
    >>> run = {"taskVersion": {"name": "my task"}, "modelVersion": {"slug": "org/m"}}
    >>> item_in_name("my_task-run_param_id_q_1_org_m.run.json", run)
    'q_1'
    >>> item_in_name("my_task-run_param_id_q_1_other.run.json", run) is None
    True
    """
    task, slug = task_of(run), slug_of(run)
    if task is None or slug is None or not RUN_NAME.search(name):
        return None
    stem = RUN_NAME.sub("", name)
    start, end = f"{normalized(task)}-{BY_ITEM}", f"_{normalized(slug)}"
    known = stem.startswith(start) and stem.endswith(end) and len(stem) > len(start) + len(end)
    return stem[len(start) : -len(end)] if known else None


def _item_note(name: str, run: Json, inner: int) -> str:
    if is_total(run, inner):
        return "a subrun's item is that of its own run file in this folder, where there is one"
    if item_in_name(name, run) is not None:
        return "item from the file name, the file itself does not hold it"
    if BY_ITEM in name:
        return (
            "no item: the file name does not end in the model's name; if you know its form, write "
            f'item=ps.extract("run_file", r"{BY_ITEM}(.+)_<model>")'
        )
    return (
        'no item in file or file name; write, for example, item="taskVersion.name" and '
        'repeat=ps.extract("pyRunId", r"#(\\d+)$"), or map one from "prompt" or "result.<key>"'
    )


def _clash_note(shown: str, slug: str | None) -> str:
    """Compare the model with its folder in a download, ``<task>/<version>/<model>/<run number>/``."""
    folders = PurePosixPath(shown).parts[:-1]
    if slug is None or len(folders) < 2 or not folders[-1].isdecimal():
        return ""
    folder = folders[-2].removesuffix(_INSTRUCTED)
    model = slug.removesuffix(_INSTRUCTED)
    if is_dated(folder, model) or is_dated(model, folder):
        return ""
    return f"the folder is named {folders[-2]!r}, but the run is of {slug!r}, which holds"


class _Inner(NamedTuple):
    """Runs inside a run: how many there are, and one after the other."""

    times: int
    runs: Iterator[Any]


def _inner(run: Any) -> _Inner:
    found = subruns_of(run) if isinstance(run, dict) else []
    return _Inner(len(found), iter(found))


def _walk(
    source: str,
    run: Any,
    inner: _Inner,
    item: str | None,
    run_file: str,
    beside: Beside,
    options: ReadOptions,
    depth: int = 0,
) -> Iterator[Record | LeftOut]:
    """Yield a run and the runs inside it; a run in the list that is none is refused, or left out."""
    if not isinstance(run, dict) or ("results" not in run and "state" not in run):
        if not options.keep_going:
            raise ReadError(
                f"{source} must be a run with 'state' and 'results', but is {str(run)[:60]!r}. Remove it, or "
                "pass keep_going=True to leave such runs out and count them."
            )
        yield LeftOut(source, "not a run")
        return
    if depth > _DEEPEST:
        raise ReadError(f"{source} must hold at most {_DEEPEST} levels of subruns, but holds more.")
    yield made(source, WHAT, options.keep_going, partial(_made, source, run, inner.times, item, run_file))
    for number, subrun in enumerate(inner.runs):
        where = f"{source}:subruns[{number}]"
        found = made(where, WHAT, options.keep_going, partial(_placed, subrun, beside))
        if isinstance(found, LeftOut):
            yield found
        else:
            yield from _walk(where, *found, beside, options, depth + 1)


def _placed(subrun: Any, beside: Beside) -> tuple[Any, _Inner, str | None, str]:
    """Give a subrun as its own file has it, the runs inside it, its item and its file."""
    whole = _filled(subrun, beside)
    known = identity_of(whole) if isinstance(whole, dict) else ""
    return whole, _inner(whole), beside.items.get(known), beside.files.get(known, "")


def _made(source: str, run: Json, times: int, item: str | None, run_file: str) -> Record | LeftOut:
    if is_total(run, times):
        state = "" if state_of(run) == "COMPLETED" else f", and ended as {state_of(run)}"
        return LeftOut(source, f"no run of its own: sums up {times} subruns{state}")
    raw = {key: value for key, value in run.items() if key != "subruns"}
    results = run.get("results")
    result = results[0] if isinstance(results, list) and results else None
    extras = {
        "prompt": prompt_of(run),
        "result": result.get("dictResult") if isinstance(result, dict) else None,
        "run_file": run_file,
    }
    raw |= {name: value for name, value in extras.items() if value}
    fields = present({"item": item, **fields_of(run)})
    scores = scores_of(run)
    if (
        state_of(run) == "ERRORED" and fields["status"] != "error"
    ):  # refused: its result is no judgment either
        scores = dict.fromkeys(scores)
    return Record(source, fields, scores, raw, identity_of(run))


def _beside(file: RunFile) -> Beside:
    """Read the other run files of the folder; one that cannot be read has its own say when its turn comes."""
    found = Beside()
    for path in sorted(file.path.parent.iterdir()):
        if path == file.path or not path.is_file() or not RUN_NAME.search(path.name):
            continue
        try:
            opened = open_object(RunFile(path, path.name), _SUBRUNS)
            run = opened.head
            opened.check(_SUBRUNS)
        except ReadError:
            continue
        if is_total(run, opened.counts[_SUBRUNS]):
            continue
        identity, item = identity_of(run), item_in_name(path.name, run)
        if identity:
            found.files[identity] = path.name
            if item is not None:
                found.items[identity] = item
        found.stubs.setdefault(_stub(run), []).append(path)
    return found


def _stub(run: Json) -> tuple[Any, ...]:
    """Give what a merged file keeps of a run."""
    return run.get("pyRunId"), task_of(run), slug_of(run), state_of(run), repr(scores_of(run))


def _filled(subrun: Any, beside: Beside) -> Any:
    """Give the whole run that a merged file's stub stands for, if one file beside it, and only one, fits."""
    if not isinstance(subrun, dict) or "conversations" in subrun or not subrun.get("pyRunId"):
        return subrun
    files = beside.stubs.get(_stub(subrun), [])
    return document(RunFile(files[0], files[0].name)) if len(files) == 1 else subrun
