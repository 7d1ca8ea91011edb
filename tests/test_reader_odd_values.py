"""Every reader meets, at every place of a record, every kind of value that does not belong there.

Without ``keep_going`` it may read it or refuse it with an error of ours; with it, one record is left out and
counted, and the others are read as if nothing had happened.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import pairstats as ps
from pairstats.errors import PairstatsError, ReadError
from pairstats.readers.base import LeftOut, Reader, ReadOptions, Record, RunFile
from pairstats.readers.files import Given, recognize
from pairstats.readers.whole import guarded

Json = dict[str, Any]
Path_ = tuple[str | int, ...]

ODD: tuple[Any, ...] = (None, [], {}, "x", 5, True, [[1]])
DEPTH = 4
N = 3
ODD_ONE = 1
"""How many records a run has, and which of them is broken."""


@dataclass(frozen=True)
class Run:
    """Files of a run, and where the records lie in the first of them."""

    files: dict[str, Any]
    place: Path_ = ()
    at: str | int = ODD_ONE
    words: Json = field(default_factory=lambda: {"set": {"model": "m"}})

    def record(self) -> Any:
        return reached(next(iter(self.files.values())), (*self.place, self.at))

    def with_odd(self, path: Path_, value: Any) -> dict[str, Any]:
        """The first file with another value at a place of the record."""
        name, content = next(iter(self.files.items()))
        content = copy.deepcopy(content)
        *above, last = (*self.place, self.at, *path)
        reached(content, tuple(above))[last] = value
        return {name: content}


def reached(value: Any, path: Path_) -> Any:
    for key in path:
        value = value[key]
    return value


def places(value: Any, depth: int = DEPTH, at: Path_ = ()) -> Iterator[Path_]:
    yield at
    if depth and isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value[:2])):
            yield from places(value[key], depth - 1, (*at, key))


def written(folder: Path, files: dict[str, Any]) -> None:
    """Write the files of a run."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".eval"):
            with zipfile.ZipFile(path, "w") as archive:
                for member, part in content.items():
                    archive.writestr(member, json.dumps(part))
        elif name.endswith((".jsonl", "_result.json", "_score.json")):
            path.write_text("".join(json.dumps(line) + "\n" for line in content))
        elif name.endswith(".csv"):
            text = io.StringIO()
            writer = csv.DictWriter(text, list(content[0]))
            writer.writeheader()
            writer.writerows(row if isinstance(row, dict) else {"example": row} for row in content)
            path.write_text(text.getvalue())
        else:
            path.write_text(json.dumps(content))


def each(make: Any) -> list[Any]:
    return [make(number) for number in range(N)]


def lm_line(n: int, *choices: Any) -> Json:
    return {
        "doc_id": n, "doc": {"question": f"q{n}"}, "target": "4", "doc_hash": f"h{n}", "filter": "f",
        "arguments": {"gen_args_0": {"arg_0": f"q{n}", "arg_1": " a" if choices else {"until": ["\n"]}}},
        "resps": [[choice] for choice in choices] or [["4"]], "filtered_resps": ["4"],
        "metrics": ["exact_match"], "exact_match": 1.0,
    }  # fmt: skip


def kaggle(n: int) -> Json:
    contents = [
        {"parts": [{"text": f"Q{n}?"}], "role": "CONTENT_ROLE_USER", "senderName": "User"},
        {"parts": [{"text": "A"}], "role": "CONTENT_ROLE_ASSISTANT", "senderName": "m"},
    ]
    metrics = {"inputTokens": 4, "totalBackendLatencyMs": "817"}
    return {
        "taskVersion": {"name": f"task {n}"}, "modelVersion": {"slug": "m"}, "pyRunId": f"Run #{n}",
        "state": "BENCHMARK_TASK_RUN_STATE_COMPLETED", "results": [{"type": "AGGREGATED", "booleanResult": True}],
        "conversations": [{"id": f"c{n}", "requests": [{"contents": contents, "metrics": metrics}]}],
    }  # fmt: skip


KAGGLE = {**kaggle(9), "conversations": [], "subruns": each(kaggle)}


def completion(n: int) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    return {"id": f"r{n}", "object": "chat.completion", "model": "m", "choices": [choice],
            "usage": {"prompt_tokens": 3}}  # fmt: skip


def batch(n: int) -> Json:
    return {"custom_id": f"q{n}", "response": {"status_code": 200, "body": completion(n)}, "error": None}


def client_line(n: int) -> Json:
    return {"item_id": f"q{n}", "repeat": 0, "score": 1, "gold": "A", "latency_s": 0.5, "attempt": 1,
            "response": completion(n)}  # fmt: skip


def response(n: int) -> Json:
    said = [{"type": "message", "content": [{"type": "output_text", "text": "A"}]}]
    body = {"id": f"r{n}", "object": "response", "model": "m", "output": said}
    return {"custom_id": f"q{n}", "response": {"status_code": 200, "body": body}, "error": None}


def batch_input(n: int) -> Json:
    body = {"model": "m", "messages": [{"role": "user", "content": f"q{n}"}]}
    return {"custom_id": f"q{n}", "method": "POST", "url": "/v1/chat/completions", "body": body}


def anthropic(n: int) -> Json:
    message = {"id": f"r{n}", "model": "m", "content": [{"type": "text", "text": "A"}],
               "stop_reason": "end_turn", "usage": {"output_tokens": 2}}  # fmt: skip
    return {"custom_id": f"q{n}", "result": {"type": "succeeded", "message": message}}


def anthropic_request(n: int) -> Json:
    asked = {"model": "m", "system": "s", "messages": [{"role": "user", "content": f"q{n}"}]}
    return {"custom_id": f"q{n}", "params": asked}


def mlflow(n: int) -> Json:
    assessments = [
        {"assessment_name": "exact", "feedback": {"value": True}},
        {"assessment_name": "answer", "expectation": {"value": "18"}},
    ]
    return {
        "trace_id": f"t{n}", "client_request_id": f"q{n}", "request": {"q": n}, "response": "18", "state": "OK",
        "exact/value": True, "answer/value": "18", "execution_duration": 5, "input_tokens": 3,
        "assessments": assessments,
    }  # fmt: skip


def bfcl(n: int) -> Json:
    return {"id": f"s_{n}", "result": "f(x=1)", "input_token_count": [[1, 2], [3]], "latency": 0.5}


BFCL_SCORE = [{"accuracy": 0.67, "correct_count": 2, "total_count": 3}, {"id": "s_1", "error_type": "wrong"}]


def helm_stats(n: int) -> Json:
    stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1.0, "mean": 1.0}
    return {
        "instance_id": f"id{n}",
        "perturbation": {"name": "typos"},
        "train_trial_index": 0,
        "stats": [stat],
    }


def helm_state(n: int) -> Json:
    instance = {
        "id": f"id{n}", "perturbation": {"name": "typos"}, "split": "test",
        "references": [{"output": {"text": "A"}, "tags": ["correct"]}],
    }  # fmt: skip
    result = {"success": True, "completions": [{"text": "A", "logprob": -1.0}], "request_time": 0.5}
    return {"instance": instance, "train_trial_index": 0, "request": {"model": "m", "prompt": f"q{n}"},
            "result": result}  # fmt: skip


def helm_prediction(n: int) -> Json:
    return {"instance_id": f"id{n}", "perturbation": {"name": "typos"}, "train_trial_index": 0,
            "predicted_text": "A", "stats": {"exact_match": 1.0}}  # fmt: skip


HELM = {
    "run/per_instance_stats.json": each(helm_stats),
    "run/scenario_state.json": {"adapter_spec": {"model": "m"}, "request_states": each(helm_state)},
    "run/display_predictions.json": each(helm_prediction),
}


def last_first(name: str) -> dict[str, Any]:
    return {name: HELM[name], **HELM}


def inspect_sample(n: int) -> Json:
    message = {"role": "assistant", "content": [{"type": "text", "text": "A"}], "source": "generate"}
    return {
        "id": n, "epoch": 1, "input": "q", "target": "A", "messages": [{"role": "user", "content": "q"}, message],
        "output": {"model": "m", "choices": [{"message": message, "stop_reason": "stop"}]},
        "scores": {"exact": {"value": "C", "answer": "A"}}, "model_usage": {"m": {"input_tokens": 3}},
        "total_time": 0.5,
    }  # fmt: skip


def inspect_log(status: str) -> Json:
    plan = {"sample_ids": list(range(N))}
    about = {"task_id": "t", "run_id": "r", "model": "m", "dataset": plan, "config": {"epochs": 1}}
    return {"version": 2, "status": status, "eval": about}


ARCHIVE = {
    "header.json": inspect_log("success"),
    **{f"samples/{n}_epoch_1.json": inspect_sample(n) for n in range(N)},
}


def promptfoo(n: int) -> Json:
    return {
        "id": f"i{n}", "vars": {"q": f"q{n}"}, "testIdx": n, "promptIdx": 0, "success": True, "score": 0.5,
        "prompt": {"raw": f"p{n}", "label": "p"}, "provider": {"id": "m"}, "namedScores": {},
        "response": {"output": "x", "tokenUsage": {"prompt": 3}}, "testCase": {"description": f"d{n}"},
        "latencyMs": 5,
    }  # fmt: skip


def promptfoo_row(n: int) -> Json:
    output = {"pass": True, "score": 0.5, "text": "x", "provider": "m", "namedScores": {}}
    return {"vars": [f"q{n}"], "test": {"description": f"d{n}"}, "outputs": [output]}


PROMPTFOO = {"evalId": "e", "config": {}, "results": {"version": 3, "results": each(promptfoo)}}
PROMPTFOO_TABLE = {
    "evalId": "e", "config": {},
    "results": {
        "version": 2,
        "table": {"head": {"prompts": [{"provider": "m"}], "vars": ["q"]}, "body": each(promptfoo_row)},
    },
}  # fmt: skip


def every_line(n: int) -> Json:
    return {
        "schema_version": "0.2.2", "evaluation_id": "e", "sample_id": f"q{n}", "model_id": "m",
        "evaluation_name": "n", "evaluation": {"score": 1.0}, "metadata": {"epoch": "1", "stop_reason": "stop"},
        "input": {"raw": f"q{n}", "reference": ["A"]}, "output": {"raw": ["A"]}, "token_usage": {"input_tokens": 3},
        "answer_attribution": [{"is_terminal": True, "extracted_value": "A"}],
        "performance": {"latency_ms": 5.0},
    }  # fmt: skip


def lighteval(n: int) -> Json:
    return {"example": f"q{n}", "predictions": "['A']", "choices": "['A', 'B']", "gold": "['A']",
            "metrics": "{'em': 1.0}", "gold_index": "[0]", "pred_logits": "[]"}  # fmt: skip


def deepeval(n: int) -> Json:
    metric = {"name": "right", "score": 1.0, "success": True}
    return {"name": f"c{n}", "input": "q", "actual_output": "x", "expected_output": "x", "metrics_data": [metric],
            "metadata": {"error": None}}  # fmt: skip


def phoenix(n: int) -> Json:
    return {
        "example_id": f"e{n}", "repetition_number": 1, "input": {"q": n}, "reference_output": {"a": "18"},
        "output": "18", "error": None, "latency_ms": 250.0, "prompt_token_count": 3,
        "annotations": [{"name": "exact", "score": 1.0}],
    }  # fmt: skip


def langsmith(n: int) -> Json:
    return {"example_id": f"e{n}", "execution_time": 0.5, "outputs.output": "18", "reference.answer": "18",
            "feedback.exact": 1.0, "error": None}  # fmt: skip


def braintrust(n: int) -> Json:
    return {"input": {"q": n}, "output": "18", "expected": "18", "scores": {"exact": 1.0}, "error": None,
            "metadata": {"k": n}}  # fmt: skip


def ragas(n: int) -> Json:
    return {"user_input": f"q{n}", "response": "18", "reference": "18", "exact": 1.0}


def metr(n: int) -> Json:
    return {"task_id": f"t{n}", "task_family": "f", "alias": "m", "score_binarized": 1, "fatal_error_from": None,
            "generation_cost": 0.5, "started_at": 1.0, "completed_at": 5.0}  # fmt: skip


def trial(n: int) -> Json:
    return {"task_id": n + 10, "trial": 0, "reward": 1.0, "info": {"error": None},
            "traj": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "A"}]}  # fmt: skip


def simulation(n: int) -> Json:
    return {"task_id": f"t{n}", "trial": 0, "reward_info": {"reward": 1.0}, "duration": 1.5, "agent_cost": 0.5,
            "termination_reason": "user_stop", "messages": [{"role": "assistant", "content": "A"}]}  # fmt: skip


def boards() -> Json:
    found = {f"a__a-{n}": {"resolved": True, "cost": 0.5} for n in range(N)}
    return {"leaderboards": [{"name": "b", "results": [{"name": "m", "per_instance_details": found}]}]}


def zeroeval(n: int) -> Json:
    return {"session_id": f"s{n}", "chat_history": ["q"], "output": ["A"], "generator": "m", "dataset": "d",
            "answer": "A"}  # fmt: skip


def alpaca(n: int) -> Json:
    return {"instruction": f"q{n}", "output_2": "A", "generator_1": "base", "generator_2": "m", "dataset": "d",
            "preference": 1.5}  # fmt: skip


NAMED: Json = {}
"""Of a run that names its model."""
TAU2 = {
    "info": {"agent_info": {"llm": "m"}}, "tasks": [], "simulations": each(simulation),
}  # fmt: skip
EVALPLUS = {f"HumanEval/{n}": [{"solution": "x", "base_status": "pass"}] for n in range(N)}
OLD_EVALPLUS = {f"HumanEval/{n}": {"nfiles": 1, "base": [["success", [1]]]} for n in range(N)}
WEIRDML = {"methodology": "", "tasks": ["t"], "models": {"m": {"tasks": {
    f"t{n}": {"runs": [{"score": 0.5}]} for n in range(N)}}}}  # fmt: skip
TASK = "samples_t_2026-01-01T00-00-00.jsonl"
RUNS: dict[str, Run] = {
    "lm_eval": Run({TASK: each(lm_line)}),
    "lm_eval choices": Run({TASK: each(lambda n: lm_line(n, ["-1.0", "False"], ["-2.0", "False"]))}),
    "kaggle": Run({"all.run.json": KAGGLE}, ("subruns",), words={"item": "pyRunId"}),
    "openai": Run({"a_output.jsonl": each(batch)}, words=NAMED),
    "openai client": Run({"a.jsonl": each(client_line)}, words=NAMED),
    "openai response": Run({"a_output.jsonl": each(response)}, words=NAMED),
    "openai input": Run({"a_input.jsonl": each(batch_input), "a_output.jsonl": [batch(0)]}, words=NAMED),
    "anthropic": Run({"a_results.jsonl": each(anthropic)}, words=NAMED),
    "anthropic requests": Run(
        {"a_requests.jsonl": each(anthropic_request), "a_results.jsonl": [anthropic(0)]}, words=NAMED
    ),
    "mlflow": Run({"a.json": each(mlflow)}),
    "bfcl": Run({"BFCL_v4_s_result.json": each(bfcl)}),
    "bfcl scored": Run({"BFCL_v4_s_result.json": each(bfcl), "BFCL_v4_s_score.json": BFCL_SCORE}),
    "helm": Run(HELM, words={"set": {"study": "s"}}),
    "helm state": Run(last_first("run/scenario_state.json"), ("request_states",), words=NAMED),
    "helm predictions": Run(last_first("run/display_predictions.json"), words=NAMED),
    "helm stats alone": Run({"run/per_instance_stats.json": each(helm_stats)}),
    "inspect": Run({"a.json": {**inspect_log("success"), "samples": each(inspect_sample)}}, ("samples",),
                   words=NAMED),
    "inspect error": Run({"a.json": {**inspect_log("error"), "samples": each(inspect_sample)}}, ("samples",),
                         words=NAMED),
    "inspect zip": Run({"a.eval": ARCHIVE}, at="samples/1_epoch_1.json", words=NAMED),
    "promptfoo": Run({"a.json": PROMPTFOO}, ("results", "results"), words=NAMED),
    "promptfoo lines": Run({"a.jsonl": each(promptfoo)}, words=NAMED),
    "promptfoo table": Run({"a.json": PROMPTFOO_TABLE}, ("results", "table", "body"), words=NAMED),
    "every_eval_ever": Run({"a_samples.jsonl": each(every_line)}, words=NAMED),
    "lighteval": Run({"a.csv": each(lighteval)}),
    "deepeval": Run({"a.json": {"test_results": each(deepeval)}}, ("test_results",)),
    "phoenix": Run({"a.json": each(phoenix)}),
    "langsmith": Run({"a.jsonl": each(langsmith)}),
    "braintrust": Run({"a.json": each(braintrust)}),
    "ragas": Run({"a.jsonl": each(ragas)}),
    "metr": Run({"runs.jsonl": each(metr)}, words=NAMED),
    "tau_bench": Run({"a.json": each(trial)}),
    "tau2_bench": Run({"a.json": TAU2}, ("simulations",), words=NAMED),
    "swe_bench": Run({"a.json": {f"a__a-{n}": True for n in range(N)}}, at="a__a-1"),
    "swe_bench boards": Run(
        {"a.json": boards()}, ("leaderboards", 0, "results", 0, "per_instance_details"), "a__a-1", NAMED
    ),
    "evalplus": Run({"a.json": {"date": "d", "hash": "h", "eval": EVALPLUS}}, ("eval",), "HumanEval/1"),
    "evalplus old": Run({"a.json": {"date": "d", "hash": "h", "eval": OLD_EVALPLUS}}, ("eval",), "HumanEval/1"),
    "bbh": Run({"a.json": {"outputs": each(lambda n: {"input": f"Q: {n}", "prediction": "A", "target": "A"})}},
               ("outputs",)),
    "zeroeval": Run({"a.json": each(zeroeval)}, words=NAMED),
    "weirdml": Run({"a.json": WEIRDML}, ("models", "m", "tasks"), "t1", NAMED),
    "alpaca_eval": Run({"a.json": each(alpaca)}, words=NAMED),
}  # fmt: skip


OTHERS = {("lm_eval", "filter"), ("bfcl scored", "id")}
"""Names by which a record belongs together with others: one of another file is an error of the file."""


def mutants(name: str) -> Iterator[tuple[Path_, Any]]:
    """Places of a run's record, and some of the odd values for each: all of them in turn, for the sake of time."""
    for number, path in enumerate(places(RUNS[name].record())):
        chosen = [ODD[(number + step) % len(ODD)] for step in range(0, len(ODD), 3)] if path else ODD
        yield from ((path, odd) for odd in chosen if not is_of_others(name, path, odd))


def is_of_others(name: str, path: Path_, odd: Any) -> bool:
    return odd in ("x", 5) and any(name.startswith(run) and path == (key,) for run, key in OTHERS)


def reader_of(folder: Path, files: dict[str, Any]) -> tuple[Reader, str]:
    """The reader that knows a run, and the file of it that it reads the records from."""
    for name in files:
        path = folder / name
        seen = recognize(Given(RunFile(path, name), None, True), None)
        if not isinstance(seen, str) and not seen[1].companion:
            return seen[0], name
    raise AssertionError("no reader knows it")


def parts_of(folder: Path, known: tuple[Reader, str], keep_going: bool) -> list[Record | LeftOut]:
    reader, name = known
    given = Given(RunFile(folder / name, name), None, True)
    return list(guarded(given, reader, ReadOptions(keep_going=keep_going)))


def told(parts: list[Record | LeftOut]) -> dict[str, Any]:
    return {each.source: (each.fields, each.scores) for each in parts if isinstance(each, Record)}


@pytest.mark.parametrize("name", RUNS)
def test_an_odd_value_is_read_refused_or_left_out(tmp_path: Path, name: str) -> None:
    run = RUNS[name]
    written(tmp_path, run.files)
    known = reader_of(tmp_path, run.files)
    whole = parts_of(tmp_path, known, keep_going=False)
    rows = told(whole)
    assert len(rows) >= N
    for path, odd in mutants(name):
        written(tmp_path, run.with_odd(path, odd))
        why = ""
        try:
            strict = parts_of(tmp_path, known, keep_going=False)
        except ReadError as error:
            strict, why = [], str(error)
        assert not why or any(file.rsplit("/")[-1] in why for file in run.files)
        assert "Is it damaged?" not in why, "it must name the record"
        kept = parts_of(tmp_path, known, keep_going=True)
        if strict:
            assert [each.source for each in kept] == [each.source for each in strict], (path, odd)
        else:
            assert len(kept) == len(whole), (path, odd)
        now = told(kept)
        changed = [source for source in rows if now.get(source) != rows[source]]
        assert len(changed) <= 1, (path, odd, changed)


@pytest.mark.parametrize("name", RUNS)
def test_an_odd_value_does_not_end_the_reading_of_a_run(tmp_path: Path, name: str) -> None:
    run = RUNS[name]
    words: Json = {"family": "item", "progress": False, "workers": 1, **run.words}
    written(tmp_path, run.files)
    whole = ps.read_runs(tmp_path, **words)
    for number, path in enumerate(list(places(run.record()))[::2]):
        odd = ODD[number % len(ODD)]
        if is_of_others(name, path, odd):
            continue
        written(tmp_path, run.with_odd(path, odd))
        with suppress(PairstatsError):
            ps.read_runs(tmp_path, **words)
        kept = ps.read_runs(tmp_path, keep_going=True, **words)
        ledger = kept.ledger
        assert (ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all()
        assert len(kept.table) >= len(whole.table) - 1, (path, odd)
