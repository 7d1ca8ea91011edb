"""Read documents that are one JSON value, and packed bombs; prints a table, exits 1 where a promise is missed.

python benchmarks/documents.py                          documents of 300 MB
python benchmarks/documents.py --megabytes 1500         larger ones
python benchmarks/documents.py --write                  keeps the table in benchmarks/results/documents.md

Every measurement is a process of its own, so that its memory is its own. What is promised is the memory: under
1 GB resident, whatever the size.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readers import LOADED, RESIDENT, WORDS, WRITE, machine, row, timed

RESULTS = Path(__file__).resolve().parent / "results" / "documents.md"
Json = dict[str, Any]
BOMB_BYTES = 1 << 30


def prose(chosen: random.Random, words: int) -> str:
    return " ".join(chosen.choices(WORDS, k=words))


def promptfoo(number: int, chosen: random.Random) -> Json:
    """One result, about 3 kB."""
    item, right = number // 3, chosen.random() < 0.7
    variables = {
        "prompt": prose(chosen, 60), "gold": "A", "family_id": f"fam{item // 8:06d}", "variant": f"v{item % 8}",
    }  # fmt: skip
    usage = {"prompt": 109, "completion": 14, "total": 123, "numRequests": 1}
    named = {"valid_json": 1, "correct": int(right)}
    checks = [
        {"pass": right, "score": int(right), "reason": prose(chosen, 8), "assertion": {"type": "javascript",
         "metric": name, "value": prose(chosen, 40)}} for name in named
    ]  # fmt: skip
    return {
        "cost": 0, "id": f"r{number}", "latencyMs": chosen.randrange(9000), "namedScores": named,
        "gradingResult": {"pass": right, "score": 1, "namedScores": named, "componentResults": checks},
        "prompt": {"raw": variables["prompt"], "label": "terse"}, "promptIdx": number % 3, "testIdx": item,
        "provider": {"id": f"openai:chat:model-{number % 3}", "label": f"model-{number % 3}"},
        "response": {"output": prose(chosen, 30), "tokenUsage": usage, "cached": False, "finishReason": "stop"},
        "score": 1, "success": right, "failureReason": 0, "vars": variables,
        "testCase": {"description": f"q{item}", "vars": variables, "assert": checks},
    }  # fmt: skip


def stats(number: int, chosen: random.Random) -> Json:
    """Statistics of one instance of a HELM run, about 6 kB."""
    names = ("exact_match", "num_prompt_tokens", "num_output_tokens", "inference_runtime", "logprob")
    values = [*names, *(f"quasi_{n}" for n in range(25))]
    each = [
        {"name": {"name": name, "split": "test"}, "count": 1, "sum": 1, "sum_squared": 1, "min": 1, "max": 1,
         "mean": float(chosen.randrange(2)), "variance": 0.0, "stddev": 0.0} for name in values
    ]  # fmt: skip
    return {"instance_id": f"id{number}", "train_trial_index": 0, "stats": each}


def state(number: int, chosen: random.Random) -> Json:
    """Request and reply of one instance of a HELM run, about 3 kB."""
    text = prose(chosen, 300)
    references = [{"output": {"text": "18"}, "tags": ["correct"]}]
    return {
        "instance": {"input": {"text": text}, "references": references, "split": "test", "id": f"id{number}"},
        "train_trial_index": 0,
        "request": {"model": "openai/gpt", "prompt": text, "temperature": 0.0, "max_tokens": 10},
        "result": {"success": True, "completions": [{"text": prose(chosen, 20), "logprob": -1.5}]},
    }


def sample(number: int, chosen: random.Random) -> Json:
    """One sample of an Inspect log, about 9 kB, most of it events."""
    asked, reply = prose(chosen, 60), prose(chosen, 40)
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": reply, "model": "m"}]
    events = [{"event": "model", "uuid": f"{number}-{n}", "text": prose(chosen, 300)} for n in range(4)]
    return {
        "id": f"q{number:07d}", "epoch": 1, "input": asked, "target": "A", "messages": messages,
        "output": {"model": "m", "choices": [{"message": messages[1], "stop_reason": "stop"}]},
        "scores": {"match": {"value": chosen.choice("CI"), "answer": "A"}}, "uuid": f"u{number}",
        "metadata": {"family_id": f"fam{number // 8:06d}", "variant": f"v{number % 8}"}, "events": events,
    }  # fmt: skip


def subrun(number: int, chosen: random.Random) -> Json:
    """One subrun of a Kaggle run, about 1.5 kB."""
    says = [("USER", "User", prose(chosen, 60)), ("ASSISTANT", "model-a", prose(chosen, 40))]
    contents = [
        {"parts": [{"text": text}], "role": f"CONTENT_ROLE_{role}", "senderName": who}
        for role, who, text in says
    ]
    metrics = {"inputTokens": 55, "outputTokens": 4}
    request = {"contents": contents, "metrics": metrics, "id": f"r{number}"}
    return {
        "taskVersion": {"name": f"item {number}", "definition": prose(chosen, 60)},
        "modelVersion": {"slug": "model-a"}, "state": "BENCHMARK_TASK_RUN_STATE_COMPLETED",
        "conversations": [{"id": f"chat{number}", "requests": [request]}], "pyRunId": f"t-Run #{number}",
        "results": [{"type": "AGGREGATED", "booleanResult": chosen.random() < 0.5}],
    }  # fmt: skip


def plain(number: int, chosen: random.Random) -> Json:
    """One row of a plain table, about 400 bytes."""
    return {
        "item": f"q{number // 4:07d}", "model": f"model-{number % 4}", "score": chosen.randrange(2),
        "family": f"fam{number // 32:06d}", "response": prose(chosen, 60),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document: its files, each with what stands before and behind its list, and the words to read it."""

    name: str
    parts: tuple[tuple[str, str, Callable[[int, random.Random], Json], str], ...]
    words: str
    beside: str = ""


SPEC = (
    '{"name": "gsm:model=openai_gpt", "adapter_spec": {"model": "openai/gpt"}, "scenario_spec": {}, '
    '"metric_specs": []}'
)
EVAL = (
    '{"version": 2, "status": "success", "eval": {"task": "t", "task_id": "x", "model": "m", "dataset": {}}'
)
RUN = (
    '{"taskVersion": {"name": "all"}, "modelVersion": {"slug": "model-a"}, '
    '"state": "BENCHMARK_TASK_RUN_STATE_COMPLETED", "results": []'
)
KINDS = (
    Kind(
        "promptfoo",
        (("out.json", '{"evalId": "e", "results": {"version": 3, "results": [', promptfoo,
          ']}, "config": {}, "metadata": {"promptfooVersion": "0.121"}}'),),
        "family='vars.family_id', variant='vars.variant', score='correct'",
    ),
    Kind(
        "HELM, two files",
        (("per_instance_stats.json", "[", stats, "]"),
         ("scenario_state.json", '{"adapter_spec": {"method": "generation"}, "request_states": [', state, "]}")),
        "family='item', score='exact_match'",
        SPEC,
    ),
    Kind(
        "Inspect",
        (("log.json", EVAL + ', "samples": [', sample, '], "reductions": []}'),),
        "family='metadata.family_id', variant='metadata.variant', score='match'",
    ),
    Kind(
        "Kaggle, subruns",
        (("merged.run.json", RUN + ', "subruns": [', subrun, "]}"),),
        "item='taskVersion.name', family='item', study=ps.extract('pyRunId', '^(t)')",
    ),
    Kind("JSON array", (("table.json", "[", plain, "]"),), ""),
)  # fmt: skip


def write(kind: Kind, folder: Path, size: int) -> int:
    """Write the files of a kind, so large together; return the number of records."""
    chosen = random.Random(3)
    each = sum(len(json.dumps(make(0, chosen))) for _, _, make, _ in kind.parts)
    count = size // each
    for name, before, make, behind in kind.parts:
        with (folder / name).open("w") as file:
            file.write(before)
            for number in range(count):
                file.write((", " if number else "") + json.dumps(make(number, chosen)))
            file.write(behind)
    if kind.beside:
        (folder / "run_spec.json").write_text(kind.beside)
    return count


def packed(path: Path, before: bytes, filler: bytes, behind: bytes) -> None:
    """Write a document that holds a gigabyte of one byte."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(before)
        for _ in range(BOMB_BYTES >> 20):
            file.write(filler * (1 << 20))
        file.write(behind)


START = b'{"evalId": "e", "results": {"version": 3, "results": ['
BOMBS: dict[str, tuple[bytes, bytes, bytes]] = {
    "blanks between results": (START, b" ", b"]}}"),
    "blanks outside the results": (b'{"evalId": "e", ', b" ", b'"results": {"version": 3, "results": []}}'),
    "one text in a result": (START + b'{"vars": {"q": "', b"a", b'"}}]}}'),
    "one text of no platform": (b'{"a": "', b"a", b'"}'),
    "brackets": (START, b"[", b"]}}"),
    "blanks in an array": (b'[{"item": "q", "model": "m", "score": 1}, ', b" ", b"]"),
}
REFUSED = (
    LOADED
    + """
def call():
    try:
        ps.read_runs({path!r}, family="item")
    except ps.ReadError as error:
        assert {name!r} in str(error)
    else:
        raise AssertionError("was not refused")
"""
)


def documents(folder: Path, size: int) -> Iterator[str]:
    for kind in KINDS:
        place = folder / "documents"
        place.mkdir()
        count = write(kind, place, size)
        held = sum(path.stat().st_size for path in place.iterdir())
        code = WRITE.format(path=str(place), words=", ".join(filter(None, ["workers=1", kind.words])))
        taken = timed(code, times=1)
        what = f"{kind.name}, {count:,} records, {held / 1e9:.2f} GB: `write_runs`"
        yield row(what, taken, count, "under 1 GB resident", taken.resident < RESIDENT)
        for path in place.iterdir():
            path.unlink()
        place.rmdir()


def bombs(folder: Path) -> Iterator[str]:
    for what, (before, filler, behind) in BOMBS.items():
        path = folder / "bomb.json.gz"
        packed(path, before, filler, behind)
        taken = timed(REFUSED.format(path=str(path), name=path.name), times=1)
        name = f"1 GiB of {what}, {path.stat().st_size >> 20} MB packed: refused"
        yield row(name, taken, 1, "under 1 GB resident", taken.resident < RESIDENT)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=300, help="of each document")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    told = machine(None)
    lines = [
        "| what | wall s | processor s | records / s | peak MB | promise | holds |", "|---|---|---|---|---|---|---|"
    ]  # fmt: skip
    print("\n".join(lines))
    with tempfile.TemporaryDirectory() as name:
        for part in (documents(Path(name), given.megabytes * 1_000_000), bombs(Path(name))):
            for line in part:
                print(line, flush=True)
                lines.append(line)
    about = f"Written by `python benchmarks/documents.py {' '.join(sys.argv[1:])}`. {told}. One run each."
    if given.write:
        RESULTS.write_text("\n".join(["# Documents", "", about, "", *lines, ""]))
    return 1 if any(line.endswith("| no |") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
