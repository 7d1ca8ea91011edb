"""Records as files of Every Eval Ever, the exchange format of evaluation results (schema 0.3.0).

One aggregate (``<uuid>.json``) and one samples file (``<uuid>_samples.jsonl``) a model, study, condition,
run and platform, in the folder ``data/<study>/<developer>/<model>``. The samples file has one line a row and
score. What the schema has no place for (family, variant, repeat, status ...) lies in ``metadata`` under names
that begin with ``pairstats.``, where the reader finds it. Metadata are texts; ``pairstats.as_json`` lists the
names whose text is JSON, so that a number comes back as a number and the text ``"7"`` as a text.

Source: evaleval/every_eval_ever, ``schemas/eval.schema.json`` and ``instance_level_eval.schema.json``.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pairstats import schema
from pairstats._version import __version__
from pairstats.arguments import checked
from pairstats.errors import PairstatsError, listed
from pairstats.readers.every_eval_ever import AS_JSON, OWN, UNSCORED
from pairstats.records.redact import redact_records
from pairstats.records.table import Records

EEE_VERSION = "0.3.0"
EVALUATION = ("study", "model", "condition", "run", "platform")
"""Columns whose values make one evaluation, with files of its own."""
IN_PLACE = frozenset({
    "item", "model", "answer", "gold", "response", "input_tokens", "output_tokens", "source",
})  # fmt: skip
"""Columns that the schema has a place for, or that mean nothing outside the original files.

(Its place for seconds holds milliseconds, and most numbers are another one after times 1000 and back.)"""

Row = Mapping[str, Any]


@checked
def to_every_eval_ever(
    records: Records,
    path: str | Path,
    *,
    prompt: str | None = None,
    organization: str = "unknown",
    retrieved_timestamp: str = "unknown",
    redact: bool = False,
) -> list[Path]:
    """Write records as Every Eval Ever files, which `read_runs` reads back row by row.

    Parameters
    ----------
    records : Records
    path : str or pathlib.Path
        Folder for the files; it is made where it is not there.
    prompt : str, optional
        Column that holds the text put to the model (``input.raw``); left out, that text is empty.
    organization : str, default "unknown"
        Who ran the evaluation.
    retrieved_timestamp : str, default "unknown"
        When the results were obtained, as the schema wants it: seconds since 1970.
    redact : bool, default False
        Whether replies, keys and e-mail addresses are taken out first; see `redact_records`. No prompt may
        be named then.

    Returns
    -------
    list of pathlib.Path
        Samples files, one an evaluation; the aggregate lies beside each.

    Raises
    ------
    PairstatsError
        When the prompt is no column or is to be redacted, a further column has the name of a mark, there are
        no rows, or no row has a score.

    Notes
    -----
    The schema wants a score on every line. A row without one gets 0 and the mark ``pairstats.unscored``;
    where it failed, ``error`` says so. ``is_correct`` is whether the score is the highest that is possible.
    The aggregate's score is the mean over the rows that have one; it is no estimate by families. Of a model
    whose every row failed the aggregate holds no result. `read_runs` with ``family="family"`` gives the same
    values and types back, except ``source`` and what JSON has no kind for (times, lists), which become text.

    Examples
    --------
    >>> import tempfile
    >>> records = Records.from_frame(
    ...     {"family": ["f"], "item": ["q"], "model": ["m"], "status": ["answered"], "score": [1.0]}
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file] = to_every_eval_ever(records, folder)
    ...     line = json.loads(file.read_text())
    >>> line["evaluation"]
    {'score': 1.0, 'is_correct': True}
    """
    if redact:
        if prompt is not None:
            raise PairstatsError(
                f"`redact` drops prompts, so none may be written, but `prompt` names {prompt!r}. Leave one out."
            )
        records = redact_records(records)
    table = schema.undictionary(records.table)
    if prompt is not None and prompt not in table.column_names:
        raise PairstatsError(
            f"`prompt` must be a column of the records, but {prompt!r} is none of "
            f"{listed(table.column_names, 40)}."
        )
    _check(table)
    evaluations: dict[tuple[str, ...], list[Row]] = {}
    for row in table.to_pylist():
        evaluations.setdefault(tuple(row[name] for name in EVALUATION), []).append(row)
    folder = Path(path)
    about = {"organization": organization, "retrieved": retrieved_timestamp}
    return [_write(folder, rows, prompt, records.score_range, about) for rows in evaluations.values()]


def _check(table: pa.Table) -> None:
    if not table.num_rows:
        raise PairstatsError("`records` must hold at least one row to be written, but are empty.")
    taken = [name for name in table.column_names if OWN + name in (UNSCORED, AS_JSON)]
    if taken:
        raise PairstatsError(
            f"The columns of the records must not be called {listed(taken)}, which are marks of the file. "
            "Rename the column."
        )
    scores = [name for name in table.column_names if schema.is_score(name)]
    if all(table.column(name).null_count == table.num_rows for name in scores):
        raise PairstatsError(
            f"Every Eval Ever holds scores, so some row must have one, but none of {table.num_rows} has. "
            "Score the replies first (answers=)."
        )


def _scores_of(rows: Sequence[Row]) -> list[str]:
    """Score columns that hold a value in an evaluation."""
    names = [name for name in rows[0] if schema.is_score(name)]
    return [name for name in names if any(row[name] is not None for row in rows)]


def _write(
    folder: Path, rows: Sequence[Row], prompt: str | None, score_range: tuple[float, float],
    about: Mapping[str, str],
) -> Path:  # fmt: skip
    scores = _scores_of(rows)
    content = hashlib.sha256(repr(rows).encode()).hexdigest()
    # The schema wants a version 4 name; this one is of the content, so that writing twice gives equal files.
    name = str(uuid.UUID(hex=content[:32], version=4))
    place = _place(rows[0])
    (folder / place).mkdir(parents=True, exist_ok=True)
    evaluation = "/".join((rows[0]["study"] or "evaluation", rows[0]["model"], content[:16]))
    lines = [
        json.dumps(_line(row, score, evaluation, prompt, score_range)) + "\n"
        for score in scores or ["score"]  # where every row failed, each still is a line
        for row in rows
    ]
    samples = folder / place / f"{name}_samples.jsonl"
    text = "".join(lines).encode()
    samples.write_bytes(text)
    aggregate = _aggregate(rows, scores, evaluation, score_range, about) | {
        "detailed_evaluation_results": {
            "format": "jsonl", "file_path": f"{place}/{samples.name}", "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text).hexdigest(), "total_rows": len(lines),
        }
    }  # fmt: skip
    (folder / place / f"{name}.json").write_text(json.dumps(aggregate, indent=2) + "\n", encoding="utf-8")
    return samples


def _place(row: Row) -> str:
    """Folder of an evaluation as the format lays it out: data, benchmark, developer, model."""
    developer, _, model = row["model"].rpartition("/")
    names = (row["study"] or "evaluation", developer or "unknown", model or row["model"])
    return "/".join(("data", *(re.sub(r"[^\w.-]|^\.+", "_", name) for name in names)))


def _line(
    row: Row, score: str, evaluation: str, prompt: str | None, score_range: tuple[float, float]
) -> dict[str, Any]:
    raw = (row[prompt] if prompt else None) or ""
    reference = [] if row["gold"] is None else [row["gold"]]
    value, failed = row[score], row["status"] in schema.MISSING
    line = {
        "schema_version": EEE_VERSION,
        "evaluation_id": evaluation,
        "model_id": row["model"],
        "evaluation_name": row["study"] or "evaluation",
        "evaluation_result_id": score,
        "sample_id": row["item"],
        "sample_hash": _sample_hash(str(raw), reference) if raw else None,
        "interaction_type": "single_turn",
        "input": {"raw": str(raw), "reference": reference},
        "output": {"raw": [] if row["response"] is None else [row["response"]]},
        "answer_attribution": _attribution(row["answer"]),
        "evaluation": {"score": 0.0 if value is None else value, "is_correct": value == score_range[1]},
        "error": f"{row['status']}: {row['reason'] or 'no reason given'}" if failed else None,
        "metadata": dict(_metadata(row, value is None)),
    }
    counts = (row["input_tokens"], row["output_tokens"])
    if None not in counts:
        line["token_usage"] = {
            "input_tokens": counts[0], "output_tokens": counts[1], "total_tokens": sum(counts),
        }  # fmt: skip
    if row["latency_s"] is not None:
        line["performance"] = {"latency_ms": row["latency_s"] * 1000}
    return line


def _sample_hash(raw: str, reference: list[str]) -> str:
    """Digest of the sorted, compact JSON of prompt and key; the format's converters each have their own."""
    text = json.dumps({"raw": raw, "reference": reference}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _attribution(answer: str | None) -> list[dict[str, Any]]:
    if answer is None:
        return []
    return [
        {"turn_idx": 0, "source": "output.raw", "extracted_value": answer, "extraction_method": "pairstats",
         "is_terminal": True}
    ]  # fmt: skip


def _metadata(row: Row, unscored: bool) -> Iterator[tuple[str, str]]:
    """Yield as texts what has no place of its own; token counts too where only one of them is known."""
    lone = {"input_tokens", "output_tokens"} if None in (row["input_tokens"], row["output_tokens"]) else set()
    as_json = []
    for name, value in row.items():
        if value is not None and not schema.is_score(name) and (name not in IN_PLACE or name in lone):
            yield OWN + name, value if isinstance(value, str) else json.dumps(value, default=str)
            if not isinstance(value, str):
                as_json.append(name)
    yield AS_JSON, json.dumps(as_json)
    if unscored:
        yield UNSCORED, "true"


def _aggregate(
    rows: Sequence[Row], scores: Sequence[str], evaluation: str, score_range: tuple[float, float],
    about: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    model = rows[0]["model"]
    return {
        "schema_version": EEE_VERSION,
        "evaluation_id": evaluation,
        "retrieved_timestamp": about["retrieved"],
        "source_metadata": {
            "source_type": "evaluation_run", "source_organization_name": about["organization"],
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "pairstats", "version": __version__},
        "model_info": {
            "name": model, "id": model,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_result(rows, score, score_range) for score in scores],
    }  # fmt: skip


def _result(rows: Sequence[Row], score: str, score_range: tuple[float, float]) -> dict[str, Any]:
    values = [row[score] for row in rows if row[score] is not None]
    return {
        "evaluation_result_id": score,
        "evaluation_name": rows[0]["study"] or "evaluation",
        "source_data": {"dataset_name": rows[0]["study"] or "unknown", "source_type": "other"},
        "metric_config": {
            "evaluation_description": f"{score}: mean over the rows that have one",
            "lower_is_better": False, "score_type": "continuous",
            "min_score": score_range[0], "max_score": score_range[1],
        },
        "score_details": {
            "score": sum(values) / len(values),
            "details": {"rows": str(len(rows)), "rows_with_a_score": str(len(values))},
        },
    }  # fmt: skip
