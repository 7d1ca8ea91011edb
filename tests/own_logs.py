"""Our own logs beside the project, each with the words by which it is read: one table of records a log."""

from __future__ import annotations

from functools import cache
from typing import Any

from conftest import SHARED

import pairstats as ps

OWN = SHARED / "samples/own"
SYSTEMS = ("smollm2-terse-t0", "smollm2-2shot-t0", "smollm2-2shot-t1")
_INSPECT = {"model": "eval.metadata.system", "family": "metadata.family_id", "variant": "metadata.variant"}
_LETTER = {"family": "metadata.family_id", "variant": "metadata.variant"}
_ITEM = {"family": r"item~^(\w+)-", "variant": r"item~-(\w+)$"}
_SCALES = {system: 1.0 if "terse" in system else 100.0 for system in SYSTEMS}
_JSON = {"score": "json_choice.correct", "confidence": "json_choice.confidence", "confidence_scale": _SCALES}
_LM_EVAL = {"family": "doc.family_id", "variant": "doc.variant"}
_LOOP = {"family": "family_id", "variant": "variant", "item": "item_id", "model": "system"}
_LETTERS = {**_LOOP, "answers": ps.AnswerFormat(field=None, confidence=None)}
_CHOICES = {**_LOOP, "answers": ps.AnswerFormat(), "confidence_scale": _SCALES}
_DEEPEVAL = {"family": "metadata.family_id", "variant": "metadata.variant", "score": "Letter Match"}
_VARS = {"family": "vars.family_id", "variant": "vars.variant"}

LOGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "inspect, eval": ("inspect/eval", {**_INSPECT, "score": "letter_match"}),
    "inspect, full": ("inspect/full", {**_INSPECT, **_JSON}),
    "inspect, json": ("inspect/json", {**_INSPECT, "score": "letter_match"}),
    "inspect, native json": ("inspect/json_native", {**_LETTER, "score": "letter_match"}),
    "inspect, cancelled": ("inspect/cancelled", {**_LETTER, "score": "letter_match"}),
    "inspect, error": ("inspect/error", {**_LETTER, "score": "letter_match"}),
    "inspect, old": ("inspect/old_0.3.120", {**_LETTER, "score": "letter_match"}),
    "lm_eval": (
        {system: f"lm_eval/{system}" for system in SYSTEMS}, {**_LM_EVAL, "filter": "strict-letter"},
    ),
    "promptfoo, json": ("promptfoo/paired.json", _VARS),
    "promptfoo, csv": ("promptfoo/paired.csv", _VARS),
    "promptfoo, faulty": ("promptfoo/faulty.json", _VARS),
    "openai, letters": ([f"openai_loop/chat_letter_{system}.jsonl.gz" for system in SYSTEMS], _LETTERS),
    "openai, json": ([f"openai_loop/chat_json_{system}.jsonl.gz" for system in SYSTEMS], _CHOICES),
    "openai, full": ("openai_full", _CHOICES),
    "kaggle": ("kaggle_benchmarks", _ITEM),
    "deepeval": ({system: f"deepeval/{system}" for system in (SYSTEMS[0], SYSTEMS[2])}, _DEEPEVAL),
}  # fmt: skip


def _path(words: dict[str, Any]) -> dict[str, Any]:
    from pairstats.readers.mapping import path_of

    return {name: path_of(w) if isinstance(w, str) and "~" in w else w for name, w in words.items()}


@cache
def records(name: str) -> ps.Records:
    """Records of one log."""
    paths, words = LOGS[name]
    if isinstance(paths, dict):
        given: Any = {model: str(OWN / path) for model, path in paths.items()}
    else:
        given = [str(OWN / path) for path in ([paths] if isinstance(paths, str) else paths)]
    return ps.read_runs(given, **_path(words))
