"""Code and function-calling benchmarks: EvalPlus, BFCL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairstatsError, ReadError
from pairstats.readers import bfcl, evalplus
from pairstats.readers.base import Declined, Recognized

Json = dict[str, Any]


@pytest.mark.parametrize("reader", [evalplus.READER, bfcl.READER], ids=lambda reader: reader.name)
@pytest.mark.parametrize("content", ["", "prose", "[]", '{"a": 1}', '{"id": "q", "result": "x"}', b"\x80"])
def test_other_files_are_declined(tmp_path: Path, reader: Any, content: str | bytes) -> None:
    assert isinstance(reader.recognize(written(tmp_path, "x.jsonl", content)), Declined)


def test_plus_needs_base_too(tmp_path: Path) -> None:
    solutions = [
        {"solution": "a", "base_status": "pass", "plus_status": "pass"},
        {"solution": "b", "base_status": "fail", "plus_status": "pass"},
        {"solution": "c", "base_status": "pass", "plus_status": "timeout"},
        {"solution": "d", "base_status": "pass", "plus_status": None},
    ]
    whole = {
        "date": "d",
        "hash": "abcdef0123456789",
        "eval": {"HumanEval/0": solutions, "HumanEval/1": solutions[:1]},
    }
    file = written(tmp_path, "m_eval_results.json", json.dumps(whole))
    assert evalplus.READER.recognize(file) == Recognized("eval_results")
    records, _ = read(evalplus.READER, file)
    assert column(records, "repeat") == [0, 1, 2, 3, 0]
    assert column(records, "item") == ["HumanEval/0"] * 4 + ["HumanEval/1"]
    assert column(records, "response") == ["a", "b", "c", "d", "a"]
    assert [record.scores for record in records[:4]] == [
        {"base": 1.0, "plus": 1.0}, {"base": 0.0, "plus": 0.0}, {"base": 1.0, "plus": 0.0}, {"base": 1.0},
    ]  # fmt: skip
    assert set(column(records, "study")) == {"HumanEval abcdef012345"}


def test_older_layout(tmp_path: Path) -> None:
    found = {
        "nfiles": 2,
        "base": [["success", []], ["failed", []]],
        "plus": [["success", []], ["success", []]],
    }
    whole = {"date": "d", "hash": "h", "eval": {"Mbpp/2": found}}
    records, _ = read(evalplus.READER, written(tmp_path, "eval_results.json", json.dumps(whole)))
    assert [record.scores for record in records] == [{"base": 1.0, "plus": 1.0}, {"base": 0.0, "plus": 0.0}]
    assert column(records, "repeat") == [0, 1]


def test_versions_of_the_data_are_never_paired(tmp_path: Path) -> None:
    solution = [{"solution": "a", "base_status": "pass", "plus_status": "pass"}]
    for version in "ab":
        whole = {"date": "d", "hash": version, "eval": {"HumanEval/0": solution}}
        written(tmp_path, f"{version}.json", json.dumps(whole))
    frame = ps.read_runs({"m": tmp_path}, family="item", score="plus").frame
    assert frame["study"].tolist() == ["HumanEval a", "HumanEval b"]


def result(number: int, text: Any = "f(x=1)", **more: Any) -> Json:
    return {"id": f"simple_{number}", "result": text, "input_token_count": 3, "output_token_count": 4,
            "latency": 0.5, **more}  # fmt: skip


def bfcl_files(folder: Path, results: list[Json], score: list[Json] | None) -> Any:
    if score is not None:
        written(folder, "score/org_m/BFCL_v4_simple_score.json", score)
    return written(folder, "result/org_m/BFCL_v4_simple_result.json", results)


def totals(right: int, n: int) -> Json:
    return {"accuracy": right / n, "correct_count": right, "total_count": n}


def test_what_is_no_failure_passed(tmp_path: Path) -> None:
    results = [result(0), result(1), result(2), result(3, "Error during inference: 429"), result(4)]
    failures = [
        {"id": "simple_1", "error_type": "simple_function_checker:wrong_count"},
        {"id": "simple_2", "error_type": "ast_decoder:decoder_failed"},
        {"id": "simple_3", "error_type": "multi_turn:inference_error"},
    ]
    file = bfcl_files(tmp_path, results, [totals(2, 5), *failures])
    assert bfcl.READER.recognize(file) == Recognized("BFCL_v4")
    records, _ = read(bfcl.READER, file)
    assert column(records, "item") == [f"simple_{n}" for n in range(5)]
    assert column(records, "status") == ["answered", "answered", "unparsed", "error", "answered"]
    assert [record.scores["correct"] for record in records] == [1.0, 0.0, 0.0, None, 1.0]
    assert column(records, "model") == ["org_m"] * 5
    assert column(records, "study") == ["simple"] * 5
    assert records[0].fields["input_tokens"] == 3
    companion = bfcl.READER.recognize(written(tmp_path, "s.json", [totals(2, 5)]))
    assert isinstance(companion, Recognized)
    assert companion.companion.startswith("score file")


def test_old_ids_count_from_one_in_scores_and_from_zero_in_results(tmp_path: Path) -> None:
    results = [
        {"idx": n, "result": "f()", "input_token_count": 1, "output_token_count": 1, "latency": 1}
        for n in range(3)
    ]
    file = bfcl_files(tmp_path, results, [totals(2, 3), {"id": 1, "error_type": "wrong"}])
    records, _ = read(bfcl.READER, file)
    assert [record.scores["correct"] for record in records] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ([totals(1, 3), {"id": "simple_0"}], "counts 1 of 3 correct where the files give 1 of 2"),
        ([totals(2, 2), {"id": "simple_0"}], "counts 2 of 2 correct where the files give 1 of 2"),
        ([totals(1, 2), {"id": "simple_9"}], "names 'simple_9', which are none"),
    ],
)
def test_scores_of_other_results_are_refused(tmp_path: Path, score: list[Json], message: str) -> None:
    file = bfcl_files(tmp_path, [result(0), result(1)], score)
    with pytest.raises(ReadError, match=message):
        read(bfcl.READER, file)


def test_results_without_scores_say_so(tmp_path: Path) -> None:
    nested = result(0, [["f()"]], latency=[[0.5, 0.25], [1.0]], input_token_count=[[1, 2], [3]])
    file = bfcl_files(tmp_path, [nested], None)
    seen = bfcl.READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert "no score file" in seen.note
    [record], _ = read(bfcl.READER, file)
    assert record.scores == {}
    assert (record.fields["latency_s"], record.fields["input_tokens"]) == (1.75, 6)


def test_results_of_two_versions_of_the_data_are_not_paired(tmp_path: Path) -> None:
    found = [{"solution": "a", "base_status": "pass", "plus_status": "pass"}]
    for name, version in (("a", "h1"), ("b", "h2"), ("c", "h1")):
        whole = {"date": "2026", "hash": version, "eval": {f"HumanEval/{n}": found for n in range(3)}}
        (tmp_path / f"{name}_eval_results.json").write_text(json.dumps(whole))

    def panel(*models: str) -> ps.Panel:
        paths = {model: tmp_path / f"{model}_eval_results.json" for model in models}
        return ps.Panel(ps.read_runs(paths, family="item", score="plus"))

    [same] = ps.contrast(panel("a", "c"), ps.Mean(), ps.Pairwise("model"))
    assert same["n_units"] == 3
    with pytest.raises(PairstatsError, match="in different studies"):
        ps.contrast(panel("a", "b"), ps.Mean(), ps.Pairwise("model"))


@pytest.mark.parametrize("first", [0, 1])
def test_ids_that_are_numbers_are_told_by_what_failed(first: int, tmp_path: Path) -> None:
    results = [{"id": n, "result": f"[f(x={n})]"} for n in range(4)]
    failures = [{"id": 1 + first, "error_type": "wrong", "model_result_raw": "[f(x=1)]"}]
    written(tmp_path, "score/m/simple_score.json", [totals(3, 4), *failures])
    file = written(tmp_path, "result/m/simple_result.json", results)
    assert [record.scores["correct"] for record in read(bfcl.READER, file)[0]] == [1.0, 0.0, 1.0, 1.0]


def test_the_score_file_of_2024_has_a_shorter_name(tmp_path: Path) -> None:
    written(tmp_path, "score/m/simple_score.json", [totals(1, 2), {"id": 2, "error_type": "wrong"}])
    name = "result/m/gorilla_openfunctions_v1_test_simple_result.json"
    file = written(tmp_path, name, [{"idx": n, "result": "f()", "input_token_count": 1} for n in range(2)])
    assert [record.scores["correct"] for record in read(bfcl.READER, file)[0]] == [1.0, 0.0]


def test_failures_of_several_turns_have_their_type_in_the_error(tmp_path: Path) -> None:
    failures = [
        {"id": f"simple_{n}", "error": {"error_type": f"multi_turn:{kind}", "error_message": ["why"]}}
        for n, kind in enumerate(("inference_error", "force_terminated"))
    ]
    file = bfcl_files(tmp_path, [result(0, [[["f()"]]]), result(1), result(2)], [totals(1, 3), *failures])
    frame = ps.read_runs(file.path.parents[2], family="item").frame
    assert frame["status"].tolist() == ["error", "truncated", "answered"]
    assert frame["score"].isna().tolist() == [True, False, False]


def test_a_call_that_should_not_have_been_made_is_a_wrong_answer(tmp_path: Path) -> None:
    """What failed in the irrelevance categories could be decoded: that is the failure."""
    failures = [{"id": "simple_0", "error_type": "irrelevance_error:decoder_success"},
                {"id": "simple_1", "error_type": "ast_decoder:decoder_wrong_output_format"}]  # fmt: skip
    records, _ = read(bfcl.READER, bfcl_files(tmp_path, [result(0), result(1)], [totals(0, 2), *failures]))
    assert column(records, "status") == ["answered", "unparsed"]
    assert [record.scores["correct"] for record in records] == [0.0, 0.0]
