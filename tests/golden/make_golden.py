"""Write golden rows: what the platforms' own packages say of our own logs.

Run it in an environment of its own, with inspect_ai, openai and anthropic, and the folder of samples:

    python -m venv golden && golden/bin/pip install inspect_ai openai anthropic
    golden/bin/python tests/golden/make_golden.py ../shared/samples tests/golden

Only logs in ``own/`` are used, which may be copied. Replies become digests, so that the files stay small. The
Anthropic results are made here from our own replies, as its batches were not run.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

INSPECT = ("inspect/eval", "inspect/json_native", "inspect/cancelled", "inspect/error", "inspect/old_0.3.120")
OPENAI = "openai_loop/batch_output_smollm2-2shot-t1.jsonl"
STOPS = ("end_turn", "max_tokens", "stop_sequence", "refusal")


def digest(text: str | None) -> str | None:
    """Short digest of a reply."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:12]


def inspect_rows(folder: Path) -> list[dict[str, Any]]:
    """One row a sample, as `read_eval_log` gives it."""
    from inspect_ai.log import read_eval_log

    rows = []
    for file in sorted([*folder.glob("*.eval"), *folder.glob("*.json")]):
        log = read_eval_log(str(file))
        for sample in log.samples or []:
            usage = list(sample.model_usage.values())
            rows.append({
                "file": file.name, "item": str(sample.id), "repeat": sample.epoch - 1, "model": log.eval.model,
                "system": (log.eval.metadata or {}).get("system"), "error": sample.error is not None,
                "family": sample.metadata.get("family_id"),
                "response": digest(sample.output.completion if sample.output.choices else None),
                "gold": sample.target if isinstance(sample.target, str) else json.dumps(list(sample.target)),
                "scores": {name: score.value for name, score in (sample.scores or {}).items()},
                "answers": {name: score.answer for name, score in (sample.scores or {}).items()},
                "input_tokens": sum(each.input_tokens for each in usage) if usage else None,
                "output_tokens": sum(each.output_tokens for each in usage) if usage else None,
                "latency_s": sample.total_time,
            })  # fmt: skip
    return rows


def openai_rows(file: Path) -> list[dict[str, Any]]:
    """One row a line, as the types of the openai package give it."""
    from openai.types.chat import ChatCompletion

    rows = []
    for line in map(json.loads, file.read_text().splitlines()):
        body = ChatCompletion.model_validate(line["response"]["body"])
        choice = body.choices[0]
        rows.append({
            "item": line["custom_id"], "model": body.model, "response_id": body.id,
            "response": digest(choice.message.content), "finish": choice.finish_reason,
            "input_tokens": body.usage.prompt_tokens if body.usage else None,
            "output_tokens": body.usage.completion_tokens if body.usage else None,
        })  # fmt: skip
    return rows


def anthropic_lines(file: Path) -> list[dict[str, Any]]:
    """Batch results as the anthropic package writes them, made from replies of a client log of ours."""
    from anthropic.types import Message, TextBlock, Usage
    from anthropic.types.messages import MessageBatchIndividualResponse, MessageBatchSucceededResult

    lines = []
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        logged = [json.loads(line) for line in stream]
    for number, line in enumerate([each for each in logged if each["response"]][:12]):
        body = line["response"]
        text = body["choices"][0]["message"]["content"]
        message = Message(
            id=f"msg_{number}", type="message", role="assistant", model=body["model"],
            content=[TextBlock(type="text", text=text)] if text and number != 3 else [],
            stop_reason=STOPS[number % len(STOPS)], stop_sequence=None,
            usage=Usage(input_tokens=body["usage"]["prompt_tokens"], cache_read_input_tokens=number,
                        output_tokens=body["usage"]["completion_tokens"]),
        )  # fmt: skip
        result = MessageBatchSucceededResult(type="succeeded", message=message)
        whole = MessageBatchIndividualResponse(custom_id=f"{line['item_id']}__r{number}", result=result)
        lines.append(json.loads(whole.model_dump_json(exclude_none=True)))
    lines += [
        _checked({"custom_id": "late", "result": {"type": "expired"}}),
        _checked({"custom_id": "stopped", "result": {"type": "canceled"}}),
        *(
            _checked({"custom_id": kind, "result": {"type": "errored", "error": {
                "type": "error", "request_id": None, "error": {"type": kind, "message": "made for a test"}}}})
            for kind in ("rate_limit_error", "overloaded_error", "invalid_request_error", "api_error")
        ),
    ]  # fmt: skip
    return lines


def _checked(line: dict[str, Any]) -> dict[str, Any]:
    """Line that the package's own type takes."""
    from anthropic.types.messages import MessageBatchIndividualResponse

    MessageBatchIndividualResponse.model_validate(line)
    return line


def anthropic_rows(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a line, as the types of the anthropic package give it."""
    from anthropic.types.messages import MessageBatchIndividualResponse

    rows = []
    for line in lines:
        result = MessageBatchIndividualResponse.model_validate(line).result
        row: dict[str, Any] = {"item": line["custom_id"], "type": result.type}
        if result.type == "succeeded":
            message = result.message
            text = "".join(block.text for block in message.content if block.type == "text")
            row |= {
                "model": message.model, "response_id": message.id, "response": digest(text or None),
                "stop": message.stop_reason, "output_tokens": message.usage.output_tokens,
                "input_tokens": message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0),
            }  # fmt: skip
        elif result.type == "errored":
            row["error"] = result.error.error.type
        rows.append(row)
    return rows


def main(samples: Path, target: Path) -> None:
    """Write every golden file."""
    own = samples / "own"
    about = {"made_by": {name: version(name) for name in ("inspect_ai", "openai", "anthropic")}}
    rows = [row for folder in INSPECT for row in inspect_rows(own / folder)]
    write(target / "inspect.json", {**about, "folders": list(INSPECT), "rows": rows})
    write(target / "openai.json", {**about, "file": OPENAI, "rows": openai_rows(own / OPENAI)})
    lines = anthropic_lines(own / "openai_loop/chat_letter_smollm2-terse-t0.jsonl.gz")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (target / "anthropic_results.jsonl").write_text(text, encoding="utf-8")
    write(target / "anthropic.json", {**about, "rows": anthropic_rows(lines)})


def write(path: Path, content: dict[str, Any]) -> None:
    """Write one row a line, so that a change can be read; NaN becomes text."""
    rows = [json.dumps(_named(row), sort_keys=True) for row in content.pop("rows")]
    head = json.dumps(content, sort_keys=True)[:-1]
    path.write_text(head + ', "rows": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _named(each) for key, each in value.items()}
    return "NaN" if isinstance(value, float) and value != value else value


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
