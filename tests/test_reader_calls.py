"""Calls of the documentation, word for word, on logs that the platforms wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import written

import pairstats as ps
from pairstats.errors import PairingError

SAMPLES = SHARED / "samples"


@pytest.fixture
def in_samples(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(SAMPLES)
    return SAMPLES


def cells(tag: str) -> Any:
    return json.loads((SAMPLES / "own/truth.json").read_text())["wire_cells"][tag]


def found_cells(frame: Any, column: str = "score") -> dict[str, list[int]]:
    """Right and all replies by family and variant, as the record of every call has them."""
    groups = frame[frame["status"] != "error"].groupby(["family", "variant"], observed=True)[column]
    return {f"{family}|{variant}": [int(rows.sum()), len(rows)] for (family, variant), rows in groups}


@needs_shared
def test_inspect_by_metadata(in_samples: Path) -> None:
    records = ps.read_runs(
        "own/inspect/eval", model="eval.metadata.system", family="metadata.family_id",
        variant="metadata.variant", score="letter_match",
    )  # fmt: skip
    assert len(records) == records.ledger["records"].sum() == 576
    frame = records.frame
    plain = frame[~frame["item"].str.startswith("zzz")]
    for system, rows in plain.groupby("model", observed=True):
        assert found_cells(rows) == cells(f"inspect-{str(system).removeprefix('smollm2-')}")


@needs_shared
def test_kaggle_by_patterns(in_samples: Path) -> None:
    records = ps.read_runs(
        "own/kaggle_benchmarks",
        family=ps.extract("item", r"^(\w+)-"), variant=ps.extract("item", r"-(\w+)$"),
    )  # fmt: skip
    frame = records.frame
    assert len(frame) == 62
    assert (frame["status"] == "error").sum() == 8
    assert frame.loc[frame["status"] == "error", "score"].isna().all()
    assert {"cmp01-base", "rul10-reordered"} <= set(frame["item"])


@needs_shared
@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_promptfoo_without_a_named_score(in_samples: Path, form: str) -> None:
    records = ps.read_runs(f"own/promptfoo/paired.{form}", family="vars.family_id", variant="vars.variant")
    frame = records.frame
    assert len(frame) == 180
    assert frame["repeat"].value_counts().to_dict() == {0: 90, 1: 90}
    # The verdict: JSON that is valid and right, as the promptfoo totals and the wire have it.
    for system, rows in frame.groupby("model", observed=True):
        assert found_cells(rows) == cells(f"promptfoo-{system}")
    assert {"score_valid_json", "score_correct"} <= set(frame.columns)
    assert "primary score 'success', the platform's verdict; further: " in records.ledger["note"][0]


@needs_shared
def test_promptfoo_counts_as_its_own_totals(in_samples: Path) -> None:
    frame = ps.read_runs("own/promptfoo/paired.json", family="vars.family_id", variant="vars.variant").frame
    document = json.loads((SAMPLES / "own/promptfoo/paired.json").read_text())["results"]
    assert frame["score"].sum() == document["stats"]["successes"]
    by_prompt = {prompt["provider"]: prompt["metrics"]["testPassCount"] for prompt in document["prompts"]}
    assert frame.groupby("model", observed=True)["score"].sum().to_dict() == by_prompt


@needs_shared
def test_lm_eval_by_model_and_filter(in_samples: Path) -> None:
    folder = "lm_eval/generated/openai__gsm8k-"
    paths = {
        "6b": f"{folder}6b_finetuning/samples_gsm100_replay_2026-11-29T20-17-03.952115.jsonl",
        "175b": f"{folder}175b_verification/samples_gsm100_replay_2026-11-29T20-17-43.042922.jsonl",
    }
    records = ps.read_runs(paths, filter="strict-match")
    frame = records.frame
    assert len(frame) == 200
    assert records.ledger["left_out"].tolist() == [100, 100]
    assert (frame["family"] == frame["item"]).all()
    assert records.ledger["note"].str.contains("each document is a family of its own").all()
    wide = SAMPLES / "gsm8k_openai_wide/example_model_solutions.jsonl"
    truth = [json.loads(line) for line in wide.read_text().splitlines()]
    for name, column in (("6b", "6b_finetuning"), ("175b", "175b_verification")):
        raw = (SAMPLES / paths[name]).read_text().splitlines()
        asked = {str(line["doc_id"]): int(line["doc"]["qid"].split("-")[-1]) for line in map(json.loads, raw)}
        rows = frame[frame["model"] == name]
        assert rows["score"].tolist() == [
            float(truth[asked[item]][column]["is_correct"]) for item in rows["item"]
        ]


@needs_shared
def test_documents_that_tell_of_others_need_a_family(in_samples: Path) -> None:
    folder = "own/lm_eval/smollm2-terse-t0"
    with pytest.raises(PairingError, match="No family column"):
        ps.read_runs(folder, filter="strict-letter")
    frame = ps.read_runs(folder, filter="strict-letter", family="doc.family_id", variant="doc.variant").frame
    assert frame["family"].nunique() == 12


@pytest.mark.parametrize("name", ["family_id", "variant", "group", "passage_id", "original_problem", "seed"])
def test_names_that_tell_of_others(tmp_path: Path, name: str) -> None:
    line = {
        "doc_id": 0, "doc": {"question": "How many?"}, "target": "4", "resps": [["4"]],
        "filtered_resps": ["4"], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0,
    }  # fmt: skip
    alone = written(tmp_path, "samples_a.jsonl", [line])
    assert ps.read_runs({"m": alone.path}).frame["family"].tolist() == ["0"]
    told = written(tmp_path, "samples_b.jsonl", [{**line, "doc": {"question": "How many?", name: "f1"}}])
    with pytest.raises(PairingError, match="No family column"):
        ps.read_runs({"m": told.path})
    assert ps.read_runs({"m": told.path}, family=f"doc.{name}").frame["family"].tolist() == ["f1"]


def test_verdict_is_primary_only_where_all_records_have_it(tmp_path: Path) -> None:
    def result(test: int, **named: float) -> dict[str, Any]:
        return {
            "id": f"r{os.urandom(4).hex()}", "testIdx": test, "promptIdx": 0, "success": False, "score": 0.5,
            "namedScores": named, "failureReason": 1, "provider": {"label": "m"}, "vars": {"q": test},
            "response": {"output": "A"},
        }  # fmt: skip

    both = written(tmp_path, "both.jsonl", [result(0, right=1.0, quick=0.0)])
    one = written(tmp_path, "one.jsonl", [result(1, right=1.0)])
    assert ps.read_runs(both.path, family="item").frame["score"].tolist() == [0.0]
    assert ps.read_runs(one.path, family="item").frame["score"].tolist() == [1.0]
    with pytest.raises(PairingError, match="`score` must name the primary score"):
        ps.read_runs([both.path, one.path], family="item")
    frame = ps.read_runs([both.path, one.path], family="item", score="right").frame
    assert frame["score"].tolist() == [1.0, 1.0]
