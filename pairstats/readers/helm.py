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
from functools import partial
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.documents import Document, open_document
from pairstats.readers.each import each_made, expect, id_of, made
from pairstats.readers.helm_entry import Entry, Json, fields_of, scores_of, variant_of
from pairstats.readers.helm_index import Entries, Index, key_of
from pairstats.readers.jsonlines import dig, parse
from pairstats.readers.outline import outline
from pairstats.readers.place import place_of
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
_LIST: dict[str, tuple[str, ...]] = {STATS: (), STATE: ("request_states",), PREDICTIONS: ()}
"""Where the list of instances lies in each."""
WHAT = "an instance of a run"
_COMPRESSED = ("", ".gz", ".zst")
_MODEL_ARGUMENT = re.compile(r"(?<=[:,])model(_deployment)?=[^,]*(,|$)")


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
        opened: dict[str, Document] = {}
        index = Index(_ORDER)
        keyless: list[_Keyless] = []
        for name in _ORDER:
            part = file if name == _kind(file) else _beside(file, name)
            if part is None:
                continue
            document = opened[name] = open_document(part, _LIST[name])
            _check_list(name, document)
            for element in document.elements(_LIST[name]):
                place = f"{document.file.shown}:{element.number}"
                entry = parse(element.text, place)
                key = made(place, WHAT, options.keep_going, partial(_key, name, entry))
                if isinstance(key, LeftOut):
                    keyless.append(_Keyless(name, key, _item(name, entry)))
                else:
                    index.add(name, key, element.start, len(element.text))
        yield from _records(file, opened, index, keyless, options.keep_going)


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


def _check_list(name: str, document: Document) -> None:
    found = dig(document.head, "request_states") if name == STATE else document.head
    if not isinstance(found, list):
        raise ReadError(
            f"{document.file.shown} must hold a list of instances, but holds {type(found).__name__}."
        )


@dataclass(frozen=True, slots=True)
class _Keyless:
    """An entry that does not tell of which instance, perturbation and trial it is; of which instance, perhaps."""

    name: str
    left_out: LeftOut
    item: str | None

    def may_be(self, item: str, found: dict[str, list[Json]], most: int) -> bool:
        """Whether it may be of an instance of which its file says less than `most`, what it says of any."""
        return len(found[self.name]) < most and self.item in (None, item)


def _instance(name: str, entry: Any) -> tuple[Any, str]:
    """What names the instance in an entry of a file, and by which key."""
    return (dig(entry, "instance"), "id") if name == STATE else (entry, "instance_id")


def _item(name: str, entry: Any) -> str | None:
    instance, key = _instance(name, entry)
    try:
        return id_of(dig(instance, key))
    except TypeError:
        return None


def _key(name: str, entry: Any) -> str:
    expect(entry, "entry", {"train_trial_index": int})
    instance, key = _instance(name, entry)
    expect(instance, "instance", {"perturbation": dict})
    expect(instance.get("perturbation") or {}, "perturbation", {"name": str})
    id_of(instance.get(key), key)
    return key_of(instance, key, entry.get("train_trial_index") or 0)


def _records(
    file: RunFile, opened: dict[str, Document], index: Index, keyless: list[_Keyless], keep_going: bool
) -> Iterator[Record | LeftOut]:
    """Put together what the files say of each key, in a second pass through them.

    An instance of which a file says less than of others may be the one that an entry without a key is of: it is
    left out with it, since what is missing would make another record of it, and it counts once.
    """
    spec, doubtful = _spec(file), index.several_settings()
    adapter = dig(opened[STATE].head, "adapter_spec") if STATE in opened else None

    def finished(name: str, entry: Json) -> Json:
        return {"adapter_spec": adapter, **entry} if name == STATE else entry

    told: list[_Keyless] = []
    most = {
        each.name: max((len(group[each.name]) for group in index.groups()), default=0) for each in keyless
    }
    with Entries(opened) as entries:
        for group in index.groups():
            found = entries.fetch(group, finished)
            item = str(json.loads(_first_key(found))[0])
            lost = [each for each in keyless if each.may_be(item, found, most[each.name])]
            source = f"{file.shown}:{_named(found)}"
            if lost:
                counted = next((each for each in lost if each not in told), lost[0])
                told.append(counted)
                why = f"{counted.left_out.source}, which may be of it, {counted.left_out.reason}"
                yield LeftOut(source, why)
            else:
                make = partial(_record, file, spec, doubtful, found)
                yield from each_made(source, WHAT, keep_going, make)
    yield from (each.left_out for each in keyless if each not in told)


def _first_key(found: dict[str, list[Json]]) -> str:
    return next(_key(name, each[0]) for name, each in found.items() if each)


def _named(found: dict[str, list[Json]]) -> str:
    """Name instance, perturbation and trial for a person."""
    item, perturbation, trial = json.loads(_first_key(found))
    return ":".join(str(part) for part in (item, perturbation.get("name"), trial) if part is not None)


def _record(
    file: RunFile, spec: Json, doubtful: set[str], found: dict[str, list[Json]]
) -> list[Record | LeftOut]:
    key = _first_key(found)
    item, perturbation, trial = json.loads(key)
    entry = Entry(found[STATS], found[STATE], found[PREDICTIONS])
    setting = variant_of(perturbation, qualified=perturbation.get("name") in doubtful)
    source = f"{file.shown}:{item}" + "".join(f":{part}" for part in (setting, trial) if part)
    twice = [name for name in (STATS, PREDICTIONS) if len(found[name]) > 1]
    if twice:
        raise ReadError(f"{source} must occur once in {twice[0]}, but occurs {len(found[twice[0]])} times.")
    if entry.doubt:
        raise ReadError(
            f"{source} must {entry.doubt}. Remove what does not count, or pass keep_going=True to leave it out."
        )
    fields = {
        "study": _study(spec),
        "model": _model(spec, entry),
        "item": str(item),
        "variant": setting or "base",
        "repeat": 0 if trial is None else trial,
        **fields_of(entry),
    }
    raw = {**entry.raw(), "perturbation": perturbation, "run_spec": spec}
    # A run that is repeated under the same name is another run: its times differ.
    identity = digest(spec, key, entry.raw())
    further = [
        LeftOut(f"{source}:completion {number}", "further completion, which HELM does not score")
        for number in range(1, len(entry.replies()))
    ]
    asked, presented = dig(entry.instance, "input"), f"{item} ({fields['variant']})"
    told = "" if asked is None else digest(asked)
    place = place_of("instance", presented, fields["study"], told, "instance.input.text")
    return [Record(source, present(fields), scores_of(entry), raw, identity, place), *further]


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
