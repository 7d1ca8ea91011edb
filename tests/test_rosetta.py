"""Many formats, one identical paired table.

The same published answers (openai/grade-school-math, MIT: GSM8K test items, two of its systems) were replayed
through the writers of each platform. Each format is read here by `read_runs`, and every score is compared with
the published ``is_correct``. Platforms that keep no score are scored by `AnswerFormat` against an item table.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd
import pytest
from conftest import SHARED, needs_shared

import pairstats as ps

SAMPLES = SHARED / "samples"
SOLUTIONS = SAMPLES / "gsm8k_openai_wide/example_model_solutions.jsonl"
MODELS = ("6b_finetuning", "175b_verification")
ANSWER = {"kind": "number", "field": None, "confidence": None, "pattern": r"A:\s*(.+)"}


@dataclass(frozen=True)
class Format:
    """How one format is read, and what it holds.

    Attributes
    ----------
    paths : str or dict
        Pattern below the samples folder; ``{}`` stands for the model where the file does not name it.
    items : int
        Items a model.
    repeats : int
    failed : int or dict
        Rows a model (or by model) that are errors, whatever the platform scored them.
    refused : int
        Rows a model that are refusals (put into the batch containers for the purpose).
    item : str or Extract, optional
    options : dict
        Further arguments of `read_runs`.
    scored_again : bool
        Whether the replies are scored here.
    """

    paths: tuple[str, ...]
    items: int
    repeats: int = 1
    failed: int | dict[str, int] = 0
    refused: int = 0
    item: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    scored_again: bool = False


FORMATS: dict[str, Format] = {
    "Inspect": Format(("inspect/generated/gsm8k_replay/*.eval",), 100),
    "lm_eval, strict": Format(
        ("lm_eval/generated/*/samples_gsm100_replay*.jsonl",), 100, item="doc.qid",
        options={"filter": "strict-match"},
    ),
    "lm_eval, flexible": Format(
        ("lm_eval/generated/*/samples_gsm100_replay*.jsonl",), 100, item="doc.qid",
        options={"filter": "flexible-extract"},
    ),
    "HELM": Format(("helm/generated/gsm_*",), 60, options={"score": "exact_match"}),
    "promptfoo": Format(("promptfoo/generated/output.json",), 12, 2, {"6b_finetuning": 2}),
    "promptfoo, JSON Lines": Format(("promptfoo/generated/output.jsonl",), 12, 2, {"6b_finetuning": 2}),
    "promptfoo, CSV": Format(("promptfoo/generated/output.csv",), 12, 2, {"6b_finetuning": 2}),
    "Every Eval Ever": Format(
        ("every_eval_ever/converted/gsm100_replay/**/*_samples.jsonl",), 100,
        options={"score": "exact_match:strict-match"},
    ),
    "lighteval": Format(("lighteval/generated/details/**/*.parquet",), 100, item="doc.specific.qid"),
    "DeepEval": Format(("deepeval/generated/test_run_*.json",), 30, failed=1),
    "DeepEval, objects": Format(("deepeval/generated/evaluation_result_{}.json",), 30, failed=1),
    "OpenAI evals": Format(("openai_evals/generated/*.jsonl",), 40),
    "MLflow": Format(("mlflow/generated/eval_results_table_{}.json",), 30),
    "MLflow, genai": Format(("mlflow/generated/genai_result_df_{}.json",), 30, item="request.item"),
    "Ragas": Format(("ragas/generated/ragas_{}.csv",), 30, item="user_input"),
    "Ragas, JSON Lines": Format(("ragas/generated/ragas_{}.jsonl",), 30, item="user_input"),
    "LangSmith": Format(("langsmith/generated/{}.csv",), 20, 2, 2, item="inputs.question"),
    "Braintrust": Format(("braintrust/generated/eval_results_{}.json",), 20, 2, 2, item="metadata.item"),
    "Phoenix": Format(("phoenix/generated/phoenix_{}.json",), 20, 2, 2, item="input.question"),
    "Phoenix, CSV": Format(("phoenix/generated/phoenix_{}.csv",), 20, 2, 2, item="metadata.item"),
    "OpenAI batch": Format(
        ("openai_batch/constructed/{}_output.jsonl", "openai_batch/constructed/{}_errors.jsonl"), 40,
        failed=2, refused=1, scored_again=True,
    ),
    "Anthropic batch": Format(
        ("anthropic_batch/constructed/{}_results.jsonl",), 40, failed=3, refused=1, scored_again=True
    ),
    "vLLM batch": Format(
        ("vllm_batch/constructed/{}_results.jsonl",), 40, failed=1, refused=1, scored_again=True
    ),
    "plain table": Format(("plain_tables/gsm8k_long.csv",), 1319),
    "plain table, one row an item": Format(("plain_tables/gsm8k_wide_correct.parquet",), 1319),
    "rows with objects by model": Format(
        ("gsm8k_openai_wide/example_model_solutions.jsonl",), 1319, item="question"
    ),
}  # fmt: skip


@cache
def solutions() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in SOLUTIONS.read_text(encoding="utf-8").splitlines())


def place(item: str) -> int:
    """Number of an item, which formats name by number or by question."""
    number = re.search(r"(\d+)$", item)
    if number:
        return int(number[1])
    return next(n for n, row in enumerate(solutions()) if row["question"] == item)


def key_table() -> list[dict[str, str]]:
    return [
        {"item": f"gsm8k-test-{n}", "key": row["ground_truth"].split("A:")[-1].strip()}
        for n, row in enumerate(solutions())
    ]


@cache
def table(name: str) -> pd.DataFrame:
    """Rows of one format: model, item number, repeat, status, score."""
    how = FORMATS[name]
    files: Any = [str(SAMPLES / path) for path in how.paths]
    if "{}" in how.paths[0]:
        files = {model: [file.format(model) for file in files] for model in MODELS}
    options = dict(how.options)
    if how.scored_again:
        options |= {"answers": ps.AnswerFormat(**ANSWER), "items": key_table(), "gold": "items.key"}
    frame = ps.read_runs(files, family="item", item=how.item, **options).frame
    frame = frame[frame["variant"] == "base"]  # HELM holds perturbed questions too
    model = frame["model"].astype(str).str.extract(f"({'|'.join(MODELS)})$")[0]
    found = pd.DataFrame(
        {"model": model, "item": frame["item"].map(place), "repeat": frame["repeat"], "status": frame["status"],
         "score": frame["score"]}
    )  # fmt: skip
    return found[model.notna()].sort_values(["model", "item", "repeat"]).reset_index(drop=True)


@needs_shared
@pytest.mark.parametrize("name", FORMATS)
def test_every_score_is_the_published_one(name: str) -> None:
    how, found = FORMATS[name], table(name)
    assert sorted(found["model"].unique()) == sorted(MODELS)
    for model, rows in found.groupby("model"):
        assert rows["item"].nunique() == how.items
        assert len(rows) == how.items * how.repeats
        missing = rows[rows["status"] == "error"]
        assert len(missing) == (how.failed.get(model, 0) if isinstance(how.failed, dict) else how.failed)
        assert missing["score"].isna().all()
        assert (rows["status"] == "refused").sum() == how.refused
        scored = rows[~rows["status"].isin(["error", "refused"])]
        truth = [float(solutions()[item][model]["is_correct"]) for item in scored["item"]]
        assert scored["score"].tolist() == truth


@needs_shared
def test_instances_of_helm_are_numbered_as_published() -> None:
    """HELM names an instance ``id<number>``; its own list of instances says which question that is."""
    files = sorted((SAMPLES / "helm/generated").glob("gsm_*/instances.json"))
    assert len(files) == 2
    for file in files:
        plain = [each for each in json.loads(file.read_text()) if "perturbation" not in each]
        assert [f"id{place(each['input']['text'])}" for each in plain] == [each["id"] for each in plain]


@needs_shared
def test_the_paired_tables_are_identical() -> None:
    """Per model and item, for the items that every format answered: of promptfoo's 12 items, 4 failed elsewhere."""
    means = {
        name: table(name)[table(name)["score"].notna()].groupby(["model", "item"])["score"].mean()
        for name in FORMATS
    }
    common = set.intersection(*(set(scores.index) for scores in means.values()))
    assert len(common) == 2 * len({*range(12)} - {7, 8, 9, 10})
    index = sorted(common)
    first = means["plain table"].loc[index]
    assert 0 < first.sum() < len(first)
    for name, scores in means.items():
        assert scores.loc[index].equals(first), name
