"""promptfoo's results as JSON, JSON Lines and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers.base import Declined, Recognized, RunFile
from pairstats.readers.promptfoo import CSV_NOTE, READER

SAMPLES = SHARED / "samples"
OWN = SAMPLES / "own/promptfoo"
SYSTEMS = ("smollm2-terse-t0", "smollm2-2shot-t0", "smollm2-2shot-t1")
MAPPING: Any = {"family": "vars.family_id", "variant": "vars.variant", "score": "correct"}
FORMS = ("json", "jsonl", "csv")
Json = dict[str, Any]


def result(test: int = 0, output: Any = "A", **more: Any) -> Json:
    """A result that failed an assertion, whose text is in ``error``."""
    response = {"output": output, "finishReason": "stop", "tokenUsage": {"prompt": 3, "completion": 2}}
    return {
        "id": f"r{test}", "testIdx": test, "promptIdx": 0, "success": False, "score": 0.5,
        "namedScores": {"exact": 0}, "failureReason": 1, "error": "Expected 429 to equal 430",
        "provider": {"id": "openai:m", "label": "m"}, "prompt": {"label": "P", "raw": "Q"},
        "testCase": {"description": "q1"}, "vars": {"question": "Q"}, "latencyMs": 250, "cost": 0,
        "response": response, **more,
    }  # fmt: skip


def document(*results: Any, **more: Any) -> str:
    body = {"version": 3, "results": list(results)}
    return json.dumps({"evalId": "e", "results": {**body, **more}, "config": {},
                       "metadata": {"promptfooVersion": "0.1"}})  # fmt: skip


def test_fields_of_a_result(tmp_path: Path) -> None:
    file = written(tmp_path, "out.json", document(result()))
    assert READER.recognize(file) == Recognized("0.1, results version 3", primary="success")
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields == {
        "item": "q1", "repeat": 0, "model": "m", "status": "answered", "response": "A", "input_tokens": 3,
        "output_tokens": 2, "latency_s": 0.25, "prompt_sha256": sha256(b"Q").hexdigest(),
    }  # fmt: skip
    assert record.scores == {"exact": 0.0}
    assert record.identity == "r0"


RESPONSES: list[tuple[Json, str, str | None]] = [
    ({}, "answered", None),
    ({"failureReason": 0, "success": True}, "answered", None),
    ({"failureReason": 2, "error": "API error: 429 Too Many Requests"}, "error", "rate_limit"),
    ({"failureReason": 2, "error": "TypeError: fetch failed"}, "error", "connection"),
    ({"failureReason": 2, "error": None, "response": {"error": "timed out"}}, "error", "timeout"),
    ({"failureReason": 2}, "error", "rate_limit"),
    ({"failureReason": None, "response": {"error": "odd"}, "error": "odd"}, "error", "unknown"),
    ({"failureReason": None}, "answered", None),
    ({"response": None}, "error", "no_response"),
    ({"response": {"output": " "}}, "empty", None),
    ({"response": {"output": None}}, "empty", None),
    ({"response": {"output": {"a": 1}}}, "answered", None),
    ({"response": {"output": "A", "finishReason": "length"}}, "answered", "length"),
    ({"response": {"output": "", "finishReason": "length"}}, "truncated", "max_tokens"),
    ({"response": {"output": "", "finishReason": "content_filter"}}, "refused", "content_filter"),
    ({"response": {"output": "no", "guardrails": {"flaggedOutput": True}}}, "refused", "content_filter"),
    ({"response": {"output": "no", "isRefusal": True}}, "refused", None),
]


@pytest.mark.parametrize(("more", "status", "reason"), RESPONSES)
def test_status_and_reason(tmp_path: Path, more: Json, status: str, reason: str | None) -> None:
    for name, content in (("o.json", document(result(**more))), ("o.jsonl", json.dumps(result(**more)))):
        [record], _ = read(READER, written(tmp_path, name, content))
        assert (record.fields["status"], record.fields.get("reason")) == (status, reason)


def test_repeats_are_numbered_by_test(tmp_path: Path) -> None:
    other = {"testCase": {"description": "q2"}, "vars": {"question": "R"}}
    results = [
        result(3),
        result(1, **other),
        result(0),
        result(2, promptIdx=1, provider={"id": "n"}),
        result(7),
    ]
    records, _ = read(READER, written(tmp_path, "o.json", document(*results)))
    assert column(records, "repeat") == [1, 0, 0, 0, 2]
    assert column(records, "model") == ["m", "m", "m", "n", "m"]


def test_retries_are_counted(tmp_path: Path) -> None:
    failed = {"failureReason": 2, "error": "429", "namedScores": {}}
    results = [result(0, **failed), result(0, id="again"), result(1, **failed), result(1, **failed)]
    records, left_out = read(READER, written(tmp_path, "o.jsonl", results))
    assert column(records, "status") == ["answered", "error"]
    assert column(records, "attempts") == [2, 2]
    assert column(records, "repeat") == [0, 1]
    assert Counter(each.reason for each in left_out) == {"superseded attempt": 2}


def test_two_runs_in_one_file_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "o.jsonl", [result(0), result(0, id="other")])
    with pytest.raises(PairingError, match="A key must be one reply, but 1 records repeat one"):
        ps.read_runs(file.path, family="item")
    copied = written(tmp_path, "o.jsonl", [result(0), result(0)])
    assert ps.read_runs(copied.path, family="item").ledger["merged"].tolist() == [1]


def test_prompts_of_one_model_must_be_told_apart(tmp_path: Path) -> None:
    results = [result(0), result(0, id="b", promptIdx=1, prompt={"label": "P2"})]
    file = written(tmp_path, "o.json", document(*results))
    with pytest.raises(PairingError, match="condition="):
        ps.read_runs(file.path, family="item")
    frame = ps.read_runs(file.path, family="item", condition="prompt.label").frame
    assert frame["condition"].tolist() == ["P", "P2"]


@pytest.mark.parametrize("case", [{}, {"description": "all the same"}])
def test_tests_without_a_name_of_their_own_are_named_by_content(tmp_path: Path, case: Json) -> None:
    results = [result(n, testCase=case, vars={"n": n % 2}) for n in range(4)]
    records, _ = read(READER, written(tmp_path, "o.json", document(*results)))
    items = column(records, "item")
    assert items[0] == items[2] != items[1] == items[3]
    assert column(records, "repeat") == [0, 0, 1, 1]
    text = [result(n, testCase=case, vars={"n": str(n % 2)}) for n in range(4)]
    assert column(read(READER, written(tmp_path, "t.json", document(*text)))[0], "item") == items


@pytest.mark.parametrize(
    ("results", "scores"),
    [
        ([result(namedScores={"a": 1, "b": None})], {"success": 0.0, "a": 1.0, "b": None}),
        ([result(namedScores={"a": 1}), result(1, namedScores={"b": 1})], {"success": 0.0, "a": 1.0}),
        ([result(namedScores={}, score=0.0)], {"score": 0.0}),
        ([result(namedScores={}, score=0.5)], {"score": 0.5, "success": 0.0}),
        ([result(namedScores={}, failureReason=2, score=0), result(1)], {}),
    ],
)
def test_scores(tmp_path: Path, results: list[Json], scores: Json) -> None:
    assert read(READER, written(tmp_path, "o.json", document(*results)))[0][0].scores == scores


def test_failed_calls_are_not_wrong_answers(tmp_path: Path) -> None:
    failed = result(
        1, namedScores={}, score=0, failureReason=2, vars={"q": 2}, testCase={"description": "q2"}
    )
    file = written(tmp_path, "o.json", document(result(namedScores={}, score=0), failed))
    records = ps.read_runs(file.path, family="item")
    assert records.frame["score"].isna().tolist() == [False, True]
    assert records.ledger["score_ignored_on_error"].tolist() == [1]


def test_cached_replies_have_no_usage(tmp_path: Path) -> None:
    cached = result(response={"output": "A", "cached": True, "tokenUsage": {"prompt": 0}}, latencyMs=0)
    [record], _ = read(READER, written(tmp_path, "o.json", document(cached)))
    assert record.fields["cached"] is True
    assert not {"latency_s", "cost_usd", "input_tokens"} & record.fields.keys()


@pytest.mark.parametrize(
    ("own", "total", "cost"), [(0.25, 0.5, 0.25), (0, 0, 0.0), (None, 0.5, 0.5), (None, 0, None)]
)
def test_cost_that_nobody_reported_is_unknown(
    tmp_path: Path, own: float | None, total: float, cost: float | None
) -> None:
    response = {"output": "A"} | ({} if own is None else {"cost": own})
    [record], _ = read(READER, written(tmp_path, "o.json", document(result(cost=total, response=response))))
    assert record.fields.get("cost_usd") == cost


def test_totals_that_count_more_are_noted(tmp_path: Path) -> None:
    stats = {"successes": 1, "failures": 1, "errors": 0}
    seen = READER.recognize(written(tmp_path, "o.json", document(result(), stats=stats)))
    assert isinstance(seen, Recognized)
    assert seen.note == "its totals count 2 results, but the file holds 1"


def test_table_of_older_versions(tmp_path: Path) -> None:
    outputs = [{"pass": True, "score": 1, "text": "A", "namedScores": {}, "latencyMs": 10},
               {"pass": False, "score": 0, "text": "B", "namedScores": {}, "error": "Expected A"}]  # fmt: skip
    table = {"head": {"prompts": [{"provider": "m", "label": "P"}, {"provider": "n", "label": "P"}],
                      "vars": ["q"]},
             "body": [{"vars": ["x"], "outputs": outputs}, {"vars": ["y"], "outputs": outputs}]}  # fmt: skip
    file = written(tmp_path, "o.json", json.dumps({"version": 2, "config": {}, "results": {"table": table}}))
    assert isinstance(READER.recognize(file), Recognized)
    records, _ = read(READER, file)
    assert column(records, "model") == ["m", "n", "m", "n"]
    assert [record.scores for record in records] == [{"score": 1.0}, {"score": 0.0}] * 2
    assert column(records, "status") == ["answered"] * 4
    assert len(set(column(records, "item"))) == 2


def table(rows: list[list[str]], *blocks: list[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["Description", "q", *(name for block in blocks for name in block)])
    writer.writerows(rows)
    return text.getvalue()


BLOCK = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]


def test_csv_has_a_block_of_columns_a_provider(tmp_path: Path) -> None:
    rows = [["d", "Q", "A", "PASS", "1.00", '{"x":1}', "", "", "[FAIL] B", "FAIL", "0.50", '{"x":0.25}', "", ""],
            ["d", "Q", "", "ERROR", "0.00", "", "", "", "[ok] C", "PASS", "1.00", '{"x":1}', "", ""]]  # fmt: skip
    file = written(tmp_path, "o.csv", table(rows, ["[m] P {{q}}\nlong", *BLOCK], ["[n] P", *BLOCK]))
    assert READER.recognize(file) == Recognized("csv", note=CSV_NOTE, primary="success")
    records, left_out = read(READER, file)
    assert not left_out
    assert column(records, "model") == ["m", "n", "m", "n"]
    assert column(records, "item") == ["d"] * 4
    assert column(records, "repeat") == [0, 0, 1, 1]
    assert column(records, "status") == ["answered", "answered", "error", "answered"]
    assert column(records, "response") == ["A", "B", "", "[ok] C"]
    assert [record.scores for record in records] == [{"x": 1.0}, {"x": 0.25}, {}, {"x": 1.0}]
    assert records[0].source == "o.csv:3 (m)"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["d", "Q", "A", "PASS", "1.00", "{}", ""], r"o.csv:2 must be a whole row.* 7 fields instead of 8"),
        (
            ["d", "Q", "A", "GOOD", "1.00", "{}", "", ""],
            r"o.csv:2 \(m\) must have a status PASS, FAIL, ERROR",
        ),
        (
            ["d", "Q", "A", "PASS", "one", "", "", ""],
            r"score of o.csv:2 \(m\) must be a number, but is 'one'",
        ),
        (
            ["d", "Q", "A", "PASS", "1.00", "[", "", ""],
            r"named scores of o.csv:2 \(m\) must be a JSON object",
        ),
    ],
)
def test_broken_csv_is_refused(tmp_path: Path, row: list[str], message: str) -> None:
    file = written(tmp_path, "o.csv", table([row], ["[m] P", *BLOCK]))
    with pytest.raises(ReadError, match=message):
        read(READER, file)


def test_broken_rows_are_counted(tmp_path: Path) -> None:
    rows = [["d", "Q", "A"], ["e", "Q", "A", "PASS", "1.00", "{}", "", ""]]
    records, left_out = read(
        READER, written(tmp_path, "o.csv", table(rows, ["[m] P", *BLOCK])), keep_going=True
    )
    assert column(records, "item") == ["e"]
    assert [each.reason for each in left_out] == ["3 fields instead of 8"]


def test_csv_without_a_column_of_verdicts_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "o.csv", table([["d", "Q", "[PASS] A"]], ["[m] P"]))
    assert isinstance(READER.recognize(file), Recognized)
    with pytest.raises(ReadError, match="export the evaluation as JSON"):
        read(READER, file)


@pytest.mark.parametrize(
    "content",
    ["", "prose", "[]", '{"results": []}', '{"evalId": 1, "results": {"a": 1}}', '{"testIdx": 1}', b"\x80",
     '{"evalId": 1, "results": {"results": [{"x": 1}]}}', '{"config": {}, "results": {"t": {}}, "versions": {}}',
     "item,score\na,1\n", "item,[x],y\na,1,2\n", 'item,"[x] y"\na,1\n'],
)  # fmt: skip
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "o", content)), Declined)


@pytest.mark.parametrize("bad", [3, "x", None, [], {"vars": 3}, {"vars": "x"}])
def test_what_is_no_result_is_refused_or_counted(tmp_path: Path, bad: Any) -> None:
    file = written(tmp_path, "o.json", document(result(), bad))
    with pytest.raises(ReadError, match=r"o.json:results\[1\] must be a result with 'vars'"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), len(left_out)) == (1, 1)


def test_a_stream_that_was_cut_is_refused_or_counted(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(result(number)) for number in range(3))
    file = written(tmp_path, "o.jsonl", lines[:-9])
    with pytest.raises(ReadError, match=r"o\.jsonl:3 must be one JSON object"):
        ps.read_runs(file.path, family="item")
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), len(left_out)) == (2, 1)


def test_a_document_that_was_cut_is_refused(tmp_path: Path) -> None:
    whole = document(result(), result(1))
    for cut in range(120, len(whole), 61):
        file = written(tmp_path, "o.json", whole[:cut])
        with pytest.raises(ReadError, match=r"o\.json"):
            ps.read_runs(file.path, family="item")


@pytest.mark.parametrize(
    "more",
    [{"provider": 3}, {"provider": None}, {"prompt": "x"}, {"testCase": 7}, {"testIdx": "x"}, {"latencyMs": "x"},
     {"cost": {}}, {"testIdx": 2**70}, {"namedScores": {"exact": "good"}},
     {"response": {"tokenUsage": 3, "output": 1}}],
)  # fmt: skip
def test_values_of_a_wrong_type_are_unknown(tmp_path: Path, more: Json) -> None:
    file = written(tmp_path, "o.json", document(result(**more)))
    assert len(ps.read_runs({"m": file.path}, family="item").frame) == 1


@pytest.mark.parametrize("named", [3, "x", [1]])
def test_named_scores_of_a_wrong_type_are_refused(tmp_path: Path, named: Any) -> None:
    file = written(tmp_path, "o.json", document(result(namedScores=named)))
    with pytest.raises(ReadError, match=r"o\.json:results\[0\] must have the shape of a result"):
        ps.read_runs(file.path, family="item")


@needs_shared
@pytest.mark.parametrize("form", FORMS)
def test_paired_results_equal_the_wire(form: str) -> None:
    records = ps.read_runs(OWN / f"paired.{form}", **MAPPING)
    frame = records.frame
    assert len(frame) == records.ledger["records"].sum() == 180
    assert frame["repeat"].value_counts().to_dict() == {0: 90, 1: 90}
    cells = json.loads((SAMPLES / "own/truth.json").read_text())["wire_cells"]
    for system in SYSTEMS:
        found = {
            f"{family}|{variant}": [int(rows.sum()), len(rows)]
            for (family, variant), rows in frame[frame["model"] == system].groupby(
                ["family", "variant"], observed=True
            )["score"]
        }
        assert found == cells[f"promptfoo-{system}"]


@needs_shared
@pytest.mark.parametrize("name", ["paired", "faulty"])
def test_three_forms_hold_equal_rows(name: str) -> None:
    columns = [
        "model",
        "item",
        "family",
        "variant",
        "repeat",
        "status",
        "score",
        "score_valid_json",
        "response",
    ]
    rows = {}
    for form in FORMS:
        frame = ps.read_runs(OWN / f"{name}.{form}", **MAPPING).frame
        frame["response"] = frame["response"].fillna("")
        rows[form] = frame[columns].astype(str).sort_values(columns[:5]).values.tolist()
    assert rows["json"] == rows["jsonl"] == rows["csv"]


@needs_shared
def test_a_document_and_its_stream_are_merged() -> None:
    records = ps.read_runs([OWN / "paired.json", OWN / "paired.jsonl"], **MAPPING)
    assert records.ledger[["records", "rows", "merged"]].values.tolist() == [[180, 180, 0], [180, 0, 180]]


@needs_shared
def test_failures_and_errors() -> None:
    frame = ps.read_runs(OWN / "faulty.json", **MAPPING).frame
    assert frame["status"].value_counts().to_dict() == {"error": 34, "answered": 26}
    assert frame["reason"].value_counts().to_dict() == {"connection": 30, "rate_limit": 4}
    assert (frame["score"].sum(), frame["score"].count()) == (9.0, 26)
    cells = json.loads((SAMPLES / "own/truth.json").read_text())["wire_cells"]["fault-promptfoo-terse-t0"]
    answered = frame[frame["status"] == "answered"].groupby(["family", "variant"], observed=True)["score"]
    assert {f"{f}|{v}": [int(rows.sum()), len(rows)] for (f, v), rows in answered} == cells


@needs_shared
@pytest.mark.parametrize("form", FORMS)
def test_replayed_answers_equal_the_truth(form: str) -> None:
    source = (SAMPLES / "gsm8k_openai_wide/example_model_solutions.jsonl").read_text().splitlines()
    truth = [json.loads(line) for line in source]
    frame = ps.read_runs(SAMPLES / f"promptfoo/generated/output.{form}", family="item", score="exact").frame
    assert len(frame) == 48
    assert (frame["status"] == "error").sum() == 2
    scored = frame[frame["status"] == "answered"]
    expected = [float(truth[int(item.rsplit("-", 1)[1])][model]["is_correct"])
                for item, model in zip(scored["item"], scored["model"], strict=True)]  # fmt: skip
    assert scored["score"].tolist() == expected
    assert (frame["reason"] == "length").sum() == (0 if form == "csv" else 4)


@needs_shared
@pytest.mark.parametrize("form", FORMS)
def test_damaged_samples_are_errors_that_name_the_file(tmp_path: Path, form: str) -> None:
    whole = (OWN / f"faulty.{form}").read_bytes()
    for place in range(len(whole) // 7, len(whole) - 1, len(whole) // 7):
        damaged = whole[:place] + b"\x00\xff" + whole[place + 2 :]
        file = RunFile(tmp_path / "o", "o")
        file.path.write_bytes(damaged)
        with pytest.raises(ReadError, match=r"\bo\b"):
            ps.read_runs(file.path, **MAPPING)
