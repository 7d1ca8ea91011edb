"""HELM run folders (``benchmark_output/runs/<suite>/<run>/``): one record an instance, perturbation and trial.

The files of a folder are one log: the scores lie in ``per_instance_stats.json``, the replies in
``scenario_state.json``, predictions of further instances in ``display_predictions.json``, and the model in
``run_spec.json``. The first of these that is there is read, and what it lacks is taken from the others.

Source: stanford-crfm/helm 0.5.x, ``benchmark/adaptation/request_state.py`` and ``benchmark/metrics``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.helm_entry import Entry, Json, fields_of, scores_of, variant_of
from pairstats.readers.jsonlines import dig, parse
from pairstats.readers.outline import outline
from pairstats.readers.rowlog import present

STATS = "per_instance_stats.json"
STATE = "scenario_state.json"
PREDICTIONS = "display_predictions.json"
SPEC = "run_spec.json"
KEYS: dict[str, tuple[str, tuple[str, ...], bytes]] = {
    STATS: ("array", ("instance_id", "stats"), b'"count"'),
    PREDICTIONS: ("array", ("instance_id", "predicted_text"), b'"stats"'),
    STATE: ("object", ("adapter_spec", "request_states"), b'"request_states"'),
}
"""Files that hold records, in the order of preference: form, first keys, and what the first bytes hold."""
COMPANIONS: dict[str, tuple[str, tuple[str, ...], bytes]] = {
    "specification of the run": ("object", ("scenario_spec", "adapter_spec", "metric_specs"), b""),
    "requests as they were sent": ("array", ("instance_id", "request"), b'"prompt"'),
    "instances and their references": ("array", ("input", "references", "id"), b'"split"'),
    "totals of the run": ("array", ("name", "count", "sum"), b'"sum_squared"'),
    "description of the scenario": ("object", ("name", "description", "definition_path"), b""),
}
_ORDER = (STATS, STATE, PREDICTIONS)
_COMPRESSED = ("", ".gz", ".zst")
_MODEL_ARGUMENT = re.compile(r"(?<=[:,])model(_deployment)?=[^,]*(,|$)")


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies in a run's folder.

    Attributes
    ----------
    spec : dict
        ``run_spec.json``, empty where it is not there.
    tables : dict of str to dict
        Entries by file name and key; a key that occurs twice has several.
    """

    spec: Json
    tables: dict[str, dict[str, list[Json]]]


@dataclass(frozen=True, slots=True)
class HelmReader:
    """Reader of HELM run folders."""

    name: str = "helm"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for the first keys of the files of a run."""
        kind = _kind(file)
        if kind in KEYS:
            main = _main(file)
            if main != kind:
                return Recognized("", companion=f"part of the run that is read from {main} beside it")
            spec = _spec(file)
            return Recognized("run", note="; ".join(filter(None, [_note(spec), _clash(file, spec)])))
        if kind and (kind != "description of the scenario" or _beside(file, SPEC)):
            return Recognized("", companion=f"{kind}: no records")
        return Declined("no keys of a file of a HELM run, as 'instance_id' and 'stats'")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record an instance, perturbation and trial, from all files of the folder."""
        folder = Folder(_spec(file), {})
        for name in _ORDER:
            part = file if name == _kind(file) else _beside(file, name)
            folder.tables[name] = {}
            for place, entry in _entries(part, name) if part else ():
                if isinstance(entry, dict):
                    folder.tables[name].setdefault(_key(name, entry), []).append(entry)
                elif options.keep_going:
                    yield LeftOut(place, "not an object")
                else:
                    raise ReadError(f"{place} must be an object, but is {str(entry)[:60]!r}.")
        yield from _records(file, folder)


READER = HelmReader()


def _kind(file: RunFile) -> str:
    """Name of the file of a run that this one is by its content, or what it says where it has no records."""
    seen = outline(file)
    for kind, (form, keys, evidence) in (KEYS | COMPANIONS).items():
        if seen.kind == form and set(keys) <= set(seen.keys) and evidence in file.head:
            return kind
    return ""


def _beside(file: RunFile, name: str) -> RunFile | None:
    """Another file of the same folder, under its usual name or compressed."""
    for ending in _COMPRESSED:
        path = file.path.with_name(name + ending)
        if path.is_file():
            other = RunFile(path, file.shown[: -len(file.path.name)] + path.name)
            return other if name == SPEC or _kind(other) == name else None
    return None


def _main(file: RunFile) -> str:
    """Name of the file of the folder from which its records are read."""
    own = _kind(file)
    return next(name for name in _ORDER if name == own or _beside(file, name))


def _spec(file: RunFile) -> Json:
    found = _beside(file, SPEC)
    value = parse(found.read_bytes(), found.shown) if found else {}
    return value if isinstance(value, dict) else {}


def _note(spec: Json) -> str:
    notes = [] if spec else [f"no {SPEC} beside it: neither model nor scenario is in the file"]
    if dig(spec, "data_augmenter_spec", "should_skip_unchanged_eval") and dig(
        spec, "data_augmenter_spec", "perturbation_specs"
    ):
        notes.append("perturbations that left an instance as it was are not in the run, by its own setting")
    return "; ".join(notes)


def _clash(file: RunFile, spec: Json) -> str:
    """Say that the folder's name names another model than the specification; HELM writes ``/`` as ``_``."""
    named = _MODEL_ARGUMENT.search(file.path.parent.name)
    model = dig(spec, "adapter_spec", "model")
    if named is None or named[1] or not isinstance(model, str):
        return ""
    folder = named[0].partition("=")[2].rstrip(",")
    if folder in (model, model.replace("/", "_")):
        return ""
    return f"{SPEC} names the model {model!r} (taken), the folder {folder!r}"


def _entries(file: RunFile, name: str) -> Iterator[tuple[str, Any]]:
    content = parse(file.read_bytes(), file.shown)
    entries = dig(content, "request_states") if name == STATE else content
    if not isinstance(entries, list):
        raise ReadError(f"{file.shown} must hold a list of instances, but holds {type(entries).__name__}.")
    adapter = dig(content, "adapter_spec")
    for number, entry in enumerate(entries):
        if name == STATE and isinstance(entry, dict):
            entry = {"adapter_spec": adapter, **entry}
        yield f"{file.shown}:{number}", entry


def _key(name: str, entry: Json) -> str:
    """Write instance, perturbation and trial as one text."""
    instance = entry.get("instance") if name == STATE else entry
    item = dig(instance, "id" if name == STATE else "instance_id")
    perturbation = dig(instance, "perturbation") or {}
    return json.dumps([item, perturbation, entry.get("train_trial_index")], sort_keys=True)


def _records(file: RunFile, folder: Folder) -> Iterator[Record | LeftOut]:
    keys = dict.fromkeys(key for name in _ORDER for key in folder.tables[name])
    doubtful = _several_settings(list(keys))
    study = _study(folder.spec)
    for key in keys:
        item, perturbation, trial = json.loads(key)
        found = {name: folder.tables[name].get(key, []) for name in _ORDER}
        entry = Entry(found[STATS], found[STATE], found[PREDICTIONS])
        setting = variant_of(perturbation, qualified=perturbation.get("name") in doubtful)
        source = f"{file.shown}:{item}" + "".join(f":{part}" for part in (setting, trial) if part)
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise ReadError(f"{source} must name its instance by text, but has {item!r}.")
        twice = [name for name in (STATS, PREDICTIONS) if len(found[name]) > 1]
        if twice:
            raise ReadError(
                f"{source} must occur once in {twice[0]}, but occurs {len(found[twice[0]])} times."
            )
        fields = {
            "study": study,
            "model": _model(folder.spec, entry),
            "item": str(item),
            "variant": setting or "base",
            "repeat": 0 if trial is None else trial,
            **fields_of(entry),
        }
        raw = {**entry.raw(), "perturbation": perturbation, "run_spec": folder.spec}
        # A run that is repeated under the same name is another run: its times differ.
        identity = digest(folder.spec, key, entry.raw())
        yield Record(source, present(fields), scores_of(entry), raw, identity)
        for number in range(1, len(entry.replies())):
            yield LeftOut(f"{source}:completion {number}", "further completion, which HELM does not score")


def _several_settings(keys: list[str]) -> set[str]:
    """Names of perturbations that occur with several settings, which their variants must tell apart."""
    settings: dict[str, set[str]] = {}
    for key in keys:
        perturbation = json.loads(key)[1]
        settings.setdefault(perturbation.get("name", ""), set()).add(json.dumps(perturbation, sort_keys=True))
    return {name for name, found in settings.items() if len(found) > 1}


def _study(spec: Json) -> str | None:
    """Scenario with its arguments, without the model: within it an instance id means one instance."""
    name = spec.get("name")
    if not isinstance(name, str):
        return None
    return _MODEL_ARGUMENT.sub("", name).rstrip(":,") or None


def _model(spec: Json, entry: Entry) -> str | None:
    names = [dig(spec, "adapter_spec", "model"), dig(entry.state, "adapter_spec", "model"),
             dig(entry.state, "request", "model")]  # fmt: skip
    return next((name for name in names if isinstance(name, str) and name), None)
