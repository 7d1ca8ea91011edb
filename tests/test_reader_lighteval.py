"""lighteval details files, in their three layouts."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers.base import Declined, Recognized, RunFile
from pairstats.readers.lighteval import READER

SAMPLES = SHARED / "samples/lighteval/generated"
TIME = "2026-01-02T03-04-05.678"
NAME = f"details_gsm|0_{TIME}.parquet"
Json = dict[str, Any]


def parquet(folder: Path, rows: list[Json], name: str = NAME) -> RunFile:
    sink = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist(rows), sink)
    return written(folder, name, sink.getvalue())


def structs(*replies: str, score: float | None = 1.0, **doc: Any) -> Json:
    return {
        "doc": {"query": "Q", "choices": ["18"], "gold_index": 0, "id": "7", "task_name": "gsm|0", **doc},
        "model_response": {"text": list(replies), "logprobs": [], "input_tokens": [1, 2, 3],
                           "output_tokens": [[1] * len(reply) for reply in replies]},
        "metric": {"exact": score, "pairs": [1, 0]},
    }  # fmt: skip


def columns(predictions: Any, metrics: Any, **more: Any) -> Json:
    return {"example": "Q", "instruction": "", "full_prompt": "Q", "predictions": predictions, "gold": ["18"],
            "choices": ["18"], "gold_index": [0], "pred_logits": None, "metrics": metrics, **more}  # fmt: skip


def test_fields_of_structs(tmp_path: Path) -> None:
    file = parquet(tmp_path, [structs("so 18")])
    assert READER.recognize(file) == Recognized("details, 0.11 onwards")
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields == {
        "item": "7", "study": "gsm|0", "gold": "18", "input_tokens": 3, "output_tokens": 5, "repeat": 0,
        "status": "answered", "response": "so 18",
    }  # fmt: skip
    assert record.scores == {"exact": 1.0}


@pytest.mark.parametrize("as_text", [False, True])
def test_flat_columns_with_types_and_as_text(tmp_path: Path, as_text: bool) -> None:
    row = columns(["so 18"], {"exact": 1.0, "other": 0})
    if as_text:
        row = {name: str(value) for name, value in row.items()}
    file = parquet(tmp_path, [row], f"details_lighteval|gsm|0_{TIME}.parquet")
    assert READER.recognize(file) == Recognized("details, up to 0.10")
    [record], _ = read(READER, file)
    assert record.fields["response"] == "so 18"
    assert record.fields["gold"] == "18"
    assert record.fields["study"] == "gsm|0"
    assert record.scores == {"exact": 1.0, "other": 0.0}


def test_items_of_old_files_are_named_by_content(tmp_path: Path) -> None:
    rows = [columns(["a"], {"m": 1.0}, example=name) for name in ("Q1", "Q2")]
    items = column(read(READER, parquet(tmp_path, rows))[0], "item")
    moved = column(read(READER, parquet(tmp_path, rows[::-1], "other.parquet"))[0], "item")
    assert moved == items[::-1]
    assert len(set(items)) == 2


def test_several_replies_are_one_score_or_scored_again(tmp_path: Path) -> None:
    file = parquet(tmp_path, [structs("a", "b", " ", score=0.5)])
    [record], _ = read(READER, file)
    assert record.scores == {"exact": 0.5}
    assert record.fields["replies"] == 3
    assert "response" not in record.fields
    again, _ = read(READER, file, rescored=True)
    assert column(again, "response") == ["a", "b", " "]
    assert column(again, "repeat") == [0, 1, 2]
    assert column(again, "status") == ["answered", "answered", "empty"]
    assert all(not record.scores for record in again)
    assert len({record.identity for record in again}) == 3


def test_choice_is_the_likeliest_and_confidence_its_softmax(tmp_path: Path) -> None:
    """By hand: likelihoods 1, 3 and 4 of 8."""
    row = structs(choices=[" a", " b", " c"], gold_index=1)
    row["model_response"] |= {"text": [], "logprobs": [math.log(1), math.log(3), math.log(4)]}
    [record], _ = read(READER, parquet(tmp_path, [row]))
    assert (record.fields["answer"], record.fields["gold"]) == ("c", "b")
    assert record.fields["confidence"] == pytest.approx(0.5, rel=1e-15)
    row["model_response"]["logprobs"] = [float("nan"), -1.0, -2.0]
    [record], _ = read(READER, parquet(tmp_path, [row], "nan.parquet"))
    assert record.fields["status"] == "error"


PAIRS = [(-2.0, False), (-1.0, True)]


@pytest.mark.parametrize(
    "predictions",
    [str(PAIRS), "[-2.0, -1.0]", [[-2.0, 0.0], [-1.0, 1.0]], [-2.0, -1.0], "[-inf, -1.0]"],
    ids=str,
)
def test_choices_of_old_files_are_told_by_their_predictions(predictions: Any, tmp_path: Path) -> None:
    """lighteval up to 0.10 keeps log-likelihoods, or pairs with whether greedy decoding says the same, there."""
    as_text = isinstance(predictions, str)
    more = {"choices": [" A", " B"], "gold_index": [1], "gold": []}
    more = {name: str(value) for name, value in more.items()} if as_text else more
    metrics: Any = "{'acc': np.float64(1.0), 'f1': nan}" if as_text else {"acc": 1.0, "f1": float("nan")}
    file = parquet(tmp_path, [columns(predictions, metrics, **more)])
    [record], _ = read(READER, file)
    fields = record.fields
    assert (fields["status"], fields["answer"], fields["gold"]) == ("answered", "B", "B")
    assert fields["confidence"] == pytest.approx(1.0 if "inf" in str(predictions) else 1 / (1 + math.exp(-1)))
    assert record.scores["acc"] == 1.0
    assert math.isnan(record.scores["f1"] or 0)
    assert len(read(READER, file, rescored=True)[0]) == 1
    if as_text:
        [record], _ = read(READER, parquet(tmp_path, [columns("[nan, -1.0]", metrics, **more)], "n.parquet"))
        assert (record.fields["status"], record.fields["reason"]) == ("error", "nan_loglikelihood")


@pytest.mark.parametrize(("score", "told"), [("acc", True), ("acc_norm", False)])
def test_the_likeliest_choice_is_not_told_beside_a_score_of_another(
    score: str, told: bool, tmp_path: Path
) -> None:
    row = structs(choices=[" a", " b"], gold_index=1)
    row["model_response"] |= {"text": [], "logprobs": [-1.0, -2.0]}
    row["metric"] = {"acc": 0.0, "acc_norm": 1.0}
    [record], _ = read(READER, parquet(tmp_path, [row]), score=score)
    assert ("answer" in record.fields, "confidence" in record.fields, record.note == "") == (told, told, told)


@pytest.mark.parametrize("with_results", [True, False])
def test_model_is_that_of_the_run(tmp_path: Path, with_results: bool) -> None:
    file = parquet(tmp_path, [structs("a")], f"out/details/org/m/{TIME}/{NAME}")
    if with_results:
        about = {"config_general": {"model_name": "org/m-dated"}}
        results = written(tmp_path, f"out/results/org/m/results_{TIME}.json", json.dumps(about))
        seen = READER.recognize(results)
        assert isinstance(seen, Recognized)
        assert seen.companion.startswith("results file")
    assert column(read(READER, file)[0], "model") == ["org/m-dated" if with_results else "org/m"]


def test_model_is_not_guessed_from_any_folder(tmp_path: Path) -> None:
    assert column(read(READER, parquet(tmp_path, [structs("a")], f"downloads/{NAME}"))[0], "model") == [None]


def test_other_files_are_declined_and_damaged_ones_refused(tmp_path: Path) -> None:
    assert isinstance(READER.recognize(parquet(tmp_path, [{"doc": 1, "score": 2}])), Declined)
    assert isinstance(READER.recognize(written(tmp_path, "a.csv", "a,b\n1,2\n")), Declined)
    whole = parquet(tmp_path, [structs("a")] * 50).path.read_bytes()
    cut = written(tmp_path, "cut.parquet", whole[: len(whole) // 2])
    with pytest.raises(ReadError, match=r"cut\.parquet"):
        ps.read_runs(cut.path, family="item")


@needs_shared
@pytest.mark.parametrize(("model", "right"), [("6b_finetuning", 21), ("175b_verification", 58)])
def test_samples_hold_the_published_accuracy(model: str, right: int) -> None:
    """Truth: ``results_*.json`` of the same run, .21 and .58 of 100 documents."""
    frame = ps.read_runs(SAMPLES / f"details/openai/gsm8k-{model}", family="item").frame
    assert (len(frame), frame["score"].sum()) == (100, right)
    assert set(frame["model"]) == {f"openai/gsm8k-{model}"}


def test_several_replies_that_are_all_blank_are_empty(tmp_path: Path) -> None:
    records, _ = read(READER, parquet(tmp_path, [structs(" ", ""), structs("", "18")]))
    assert column(records, "status") == ["empty", "answered"]
