"""Details files of lighteval: ``details/<model>/<time>/details_<task>|<shots>_<time>.parquet``.

Three layouts: flat columns of texts (up to 0.7), the same columns with their types (0.8 to 0.10), and the
structs ``doc``, ``model_response`` and ``metric`` (0.11 onwards). The model is in the run's results file.
A document with several replies is one record with the score over all of them, or one record a reply where
the replies are scored again.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.companions import beside, refuse_broken
from pairstats.readers.drafts import as_text
from pairstats.readers.each import each_made
from pairstats.readers.jsonlines import dig
from pairstats.readers.likelihoods import likeliest, other_choice
from pairstats.readers.outline import outline
from pairstats.readers.place import place_of
from pairstats.readers.rowlog import Scores, content_id, present, score_of
from pairstats.readers.sheets import Row, open_sheet
from pairstats.readers.states import words
from pairstats.schema import ANSWERED

STRUCTS = frozenset({"doc", "model_response", "metric"})
FLAT = frozenset({"example", "predictions", "metrics"})
NAME = re.compile(r"^details_(?P<task>.+)_(?P<time>\d{4}-\d{2}-\d{2}T[\d:.-]+)\.parquet$")
TYPED = ("gold", "predictions", "pred_logits", "choices", "gold_index", "metrics", "specifics")
"""Flat columns that hold lists and maps, as text up to 0.7."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the three layouts hold in common of one document."""

    item: str
    replies: list[str]
    choices: list[str]
    log_likelihoods: list[float]
    gold: str | None
    scores: Scores
    input_tokens: int | None = None
    output_tokens: tuple[int, ...] = ()
    task: str | None = None
    question: str = ""
    """Digest of what is asked, where the item is only its place in the data set."""


@dataclass(frozen=True, slots=True)
class LightevalReader:
    """Reader of lighteval details files."""

    name: str = "lighteval"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for the columns of a layout, or for a results file, which serves its details."""
        seen = outline(file)
        keys = set(seen.keys)
        if seen.kind == "object" and "config_general" in keys:
            return Recognized("results", companion="results file: totals of the details beside it")
        if seen.kind == "table" and keys >= STRUCTS:
            return Recognized("details, 0.11 onwards", note=_clash(file))
        if seen.kind == "table" and keys >= FLAT:
            return Recognized("details, up to 0.10", note=_clash(file))
        return Declined("no columns 'doc', 'model_response' and 'metric', or 'example' and 'predictions'")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a document, or one a reply where replies are scored again."""
        match = NAME.match(file.path.name)
        model = _model(file, match["time"], options.keep_going) if match else None
        for number, row in open_sheet(file).rows():
            if isinstance(row, LeftOut):
                yield row
                continue
            make = partial(_of_row, file, number, row, model, match["task"] if match else None, options)
            yield from each_made(f"{file.shown}:{number}", "a row of details", options.keep_going, make)


READER = LightevalReader()


def _of_row(
    file: RunFile, number: int, row: Row, model: str | None, task: str | None, options: ReadOptions
) -> Iterator[Record]:
    answer = _of_structs(row) if keys_of(row) >= STRUCTS else _of_columns(row)
    common = {"item": answer.item, "model": model, "study": _task(answer.task or task), "gold": answer.gold}
    return _records(file, number, answer, common, row, options)


def keys_of(row: Row) -> frozenset[str]:
    """Columns of a row."""
    return frozenset(row)


def _records(
    file: RunFile, number: int, answer: Answer, common: dict[str, Any], row: Row, options: ReadOptions
) -> Iterator[Record]:
    source, identity = f"{file.shown}:{number}", digest(file.content_sha256, number)
    common = {**common, "input_tokens": answer.input_tokens}
    place = place_of("document", answer.item, common["study"], answer.question, "doc.query")
    if answer.log_likelihoods:
        note = other_choice(options.score, answer.scores)
        found = _likeliest(answer)
        found = {"status": ANSWERED} if note and found["status"] == ANSWERED else found
        fields = present({**common, **found})
        yield Record(source, fields, answer.scores, row, identity, place, note=note)
    elif len(answer.replies) > 1 and not options.rescored:
        # The metric is of all replies together (majority, pass@k), so it can't be given to any one of them.
        status = ANSWERED if any(map(str.strip, answer.replies)) else "empty"
        fields = {**common, "status": status, "replies": len(answer.replies)}
        yield Record(source, present(fields), answer.scores, row, identity, place)
    else:
        for repeat, text in enumerate(answer.replies or [""]):
            fields = {
                **common, "repeat": repeat, "status": ANSWERED if text.strip() else "empty",
                "response": text or None,
                "output_tokens": dict(enumerate(answer.output_tokens)).get(repeat),
            }  # fmt: skip
            where = source if len(answer.replies) < 2 else f"{source}:reply {repeat}"
            scores = answer.scores if len(answer.replies) < 2 else {}
            yield Record(where, present(fields), scores, row, digest(identity, repeat), place)


def _likeliest(answer: Answer) -> dict[str, Any]:
    """Choice with the largest log-likelihood, and its softmax probability."""
    values = answer.log_likelihoods
    if any(math.isnan(value) for value in values):
        return words("lighteval", "log-likelihood")["NaN"]._asdict()
    best, probability = likeliest(values)
    name = answer.choices[best].strip() if len(answer.choices) == len(values) else str(best)
    return {"status": ANSWERED, "answer": name, "response": name, "confidence": probability}


def _of_structs(row: Row) -> Answer:
    doc, response, metric = (row[name] or {} for name in ("doc", "model_response", "metric"))
    choices = [str(choice) for choice in doc.get("choices") or []]
    replies = response.get("text_post_processed") or response.get("text") or []
    tokens = response.get("output_tokens") or []
    item, question = doc.get("id"), content_id(doc.get("query"), choices)
    return Answer(
        question if item in (None, "") else str(item),
        [str(reply) for reply in replies],
        choices,
        # A model that generates may log the log-likelihood of its own reply, which is no choice.
        _numbers(response.get("logprobs")) if not replies else [],
        _gold(choices, doc.get("gold_index")),
        {name: score_of(value) for name, value in metric.items() if _is_score(value)},
        len(response["input_tokens"]) if isinstance(response.get("input_tokens"), list) else None,
        tuple(len(each) for each in tokens if isinstance(each, list)),
        doc.get("task_name"),
        "" if item in (None, "") else question,
    )


def _of_columns(row: Row) -> Answer:
    row = {name: _typed(name, value) for name, value in row.items()}
    choices = [str(choice) for choice in _listed(row.get("choices"))]
    predictions = _listed(row.get("predictions"))
    likelihoods = _paired(predictions) if len(predictions) == len(choices) > 1 else []
    replies = [] if likelihoods else [str(each) for each in _flat(predictions)]
    metrics = row.get("metrics") if isinstance(row.get("metrics"), dict) else {}
    gold = _listed(row.get("gold"))
    key = as_text(gold[0]) if gold else _gold(choices, row.get("gold_index"))
    logits = likelihoods or _numbers(row.get("pred_logits"))
    return Answer(
        content_id(row.get("example"), key), replies, choices,
        logits if len(logits) == len(choices) > 1 else [], key,
        {name: score_of(value) for name, value in (metrics or {}).items() if _is_score(value)},
    )  # fmt: skip


def _paired(predictions: list[Any]) -> list[float]:
    """Log-likelihoods of the choices, each by itself or with whether it is what the model would have said."""
    firsts = [each[0] if isinstance(each, list | tuple) and len(each) == 2 else each for each in predictions]
    return _numbers(firsts)


class _Spelled(ast.NodeTransformer):
    """Numbers that Python writes and does not read: ``nan``, ``inf``, and NumPy's with their type."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(float(node.id)) if node.id in ("nan", "inf") else node

    def visit_Call(self, node: ast.Call) -> Any:
        kind = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return self.visit(node.args[0]) if kind.startswith(("float", "int", "bool")) and node.args else node


def _typed(name: str, value: Any) -> Any:
    """Undo the ``str()`` of the old layout; text that is no literal stays text."""
    if name in TYPED and isinstance(value, str):
        try:
            return ast.literal_eval(_Spelled().visit(ast.parse(value.strip(), mode="eval")))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    return value


def _is_score(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _flat(values: list[Any]) -> list[Any]:
    return [part for value in values for part in (value if isinstance(value, list) else [value])]


def _numbers(values: Any) -> list[float]:
    flat = _flat(_listed(values))
    return [float(value) for value in flat] if all(isinstance(v, int | float) for v in flat) else []


def _gold(choices: list[str], places: Any) -> str | None:
    keys = [choices[p].strip() for p in _listed(places) if isinstance(p, int) and 0 <= p < len(choices)]
    return keys[0] if len(keys) == 1 else as_text(keys) if keys else None


def _task(name: str | None) -> str | None:
    """Task without the suite that older versions put before it: ``lighteval|gsm8k|0`` is ``gsm8k|0``."""
    parts = (name or "").split("|")
    return "|".join(parts[1:] if len(parts) > 2 and not parts[1].isdecimal() else parts) or None


def _clash(file: RunFile) -> str:
    """Say that the folders name another model than the results file, or that it is broken."""
    match = NAME.match(file.path.name)
    broken = _about(file, match["time"])[1] if match and "details" in file.path.parts else ""
    if broken:
        return f"read without the run's results file: {broken}"
    model = _model(file, match["time"]) if match else None
    _, folders = _folders(file)
    folder = "/".join(folders[:-1])
    if not folder or model is None or folder == model:
        return ""
    return f"the results file names the model {model!r} (taken), the folder {folder!r}"


def _folders(file: RunFile) -> tuple[int, tuple[str, ...]]:
    """Place of the folder ``details`` in the path, and the folders between it and the file."""
    parts = file.path.parts
    place = len(parts) - 1 - parts[::-1].index("details") if "details" in parts else len(parts) - 1
    return place, parts[place + 1 : -1]


def _about(file: RunFile, time: str) -> tuple[Any, str]:
    """Give the run's results file, and what is wrong with it."""
    parts = file.path.parts
    place, folders = _folders(file)
    return beside(Path(*parts[:place], "results", *folders[:-1], f"results_{time}.json"))


def _model(file: RunFile, time: str, keep_going: bool = True) -> str | None:
    """Name in the run's results file, else the folders between ``details`` and the time."""
    if "details" not in file.path.parts:
        return None
    about, broken = _about(file, time)
    refuse_broken(broken, keep_going)
    for path in (("config_general", "model_name"), ("config_general", "model_config", "model_name")):
        name = dig(about, *path)
        if isinstance(name, str) and name:
            return name
    _, folders = _folders(file)
    return "/".join(folders[:-1]) if len(folders) > 1 and folders[-1] in time else None
