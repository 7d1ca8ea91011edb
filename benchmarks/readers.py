"""Time the readers against peers on the same files; prints a table, exits 1 where a promise is missed.

python benchmarks/readers.py                            prints
python benchmarks/readers.py --write                    and keeps the table in benchmarks/results/readers.md
python benchmarks/readers.py --inspect-python PYTHON    an interpreter that has inspect_ai, for its part
python benchmarks/readers.py --records 100000           a smaller run

Every measurement is a process of its own, so that its memory is its own. Processor seconds are told beside the
wall clock, since that depends on what else the machine does at the time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
RESULTS = HERE.parent / "results" / "readers.md"
INSPECT_LOGS = HERE.parents[2] / "shared" / "samples" / "own" / "inspect" / "eval"
WORDS = [
    "the",
    "model",
    "says",
    "in",
    "few",
    "words",
    "why",
    "this",
    "option",
    "is",
    "right",
    "given",
    "what",
    "it",
    "read",
]
RESIDENT = 1 << 30
FILES = 4
TIMES = 3
"""Times each measurement is made; the fastest counts."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a call took in a process of its own: seconds, and bytes resident at the peak."""

    wall: float
    processor: float
    resident: int


def flat(path: Path, count: int) -> None:
    """Write flat, scored records, about 300 bytes each."""
    chosen = random.Random(1)
    with path.open("w") as file:
        for number in range(count):
            item = number // 5
            record = {
                "item": f"q{item:07d}", "model": f"model-{number % 5}", "family": f"fam{item // 8:06d}",
                "variant": ("base", "reordered")[item % 2], "condition": "direct", "repeat": 0,
                "answer": chosen.choice("ABCD"), "gold": chosen.choice("ABCD"), "score": chosen.choice((0, 1)),
                "confidence": round(chosen.random(), 3), "input_tokens": chosen.randrange(50, 900),
                "output_tokens": chosen.randrange(1, 400), "latency_s": round(9 * chosen.random(), 3),
                "response": " ".join(chosen.choices(WORDS, k=9)),
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")


LAST_LINE = ".\nAnswer: {letter}"
IN_PROSE = ", and so I think that the answer is ({letter}) since {reply}."


def nested(path: Path, count: int, end: str = LAST_LINE) -> None:
    """Write nested records whose answers stand in their replies, about 350 bytes each."""
    chosen = random.Random(2)
    with path.open("w") as file:
        for number in range(count):
            item, reply = number // 4, " ".join(chosen.choices(WORDS, k=25))
            stated = end.format(letter=chosen.choice("ABCD"), reply=reply[:40])
            about = {"family_id": f"fam{item // 8:06d}", "variant": ("base", "reordered")[item % 2]}
            record = {
                "item": f"q{item:07d}", "model": f"model-{number % 4}", "gold": chosen.choice("ABCD"),
                "metadata": about,
                "usage": {"prompt_tokens": 300, "completion_tokens": 60},
                "response": f"{reply} {number}{stated}",
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")


def as_csv(source: Path, target: Path) -> None:
    """Copy to CSV in a process of its own: the peak of this one would be that of all that it starts."""
    code = (
        "import sys, pyarrow.csv as c, pyarrow.json as j; c.write_csv(j.read_json(sys.argv[1]), sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, source, target], check=True)


ARROW_JSON = "import pyarrow.json as reader; call = lambda: reader.read_json({path!r})"
ARROW_CSV = "import pyarrow.csv as reader; call = lambda: reader.read_csv({path!r})"
LOADED = "import pairstats as ps; from pairstats.readers.files import readers; readers(); "
"""Modules are loaded before the clock starts, as those of the peers are."""
RUNS = LOADED + "ps.read_runs; call = lambda: ps.read_runs({path!r}, {words})"
WRITE = LOADED + (
    "from pairstats.readers.written import write_runs; "
    "call = lambda: write_runs({path!r}, {path!r} + '.parquet', overwrite=True, {words})"
)
ANSWERS = (
    "family='metadata.family_id', variant='metadata.variant', answers=ps.AnswerFormat('choice', field=None)"
)
OF_ITEMS = (
    "items={path!r}, family='items.family', variant='items.variant', gold='items.gold', "
    "answers=ps.AnswerFormat('choice', field=None)"
)
OF_INSPECT = (
    "model='eval.metadata.system', family='metadata.family_id', variant='metadata.variant', "
    "score='letter_match'"
)
SAMPLES_DF = (
    "from inspect_ai.analysis import samples_df; call = lambda: samples_df({path!r}, full={full}, quiet=True)"
)
TIMED = """
import json, resource, sys, time
{code}
if __name__ == "__main__":
    call() if {warm} else None
    wall, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    call()
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    busy += children.ru_utime + children.ru_stime
    print(json.dumps([wall, busy, (after.ru_maxrss + children.ru_maxrss) * 1024]))
"""
"""A child's peak is added to the parent's: they may be resident at the same time."""


def timed(code: str, *, python: str = sys.executable, warm: bool = False, times: int = TIMES) -> Taken:
    """Run code that defines `call` in new processes, and give the fastest."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(TIMED.format(code=code, warm=warm))
        script.flush()
        found = []
        for _ in range(times):
            done = subprocess.run([python, script.name], capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{code}\n{done.stderr}")
            found.append(Taken(*json.loads(done.stdout.splitlines()[-1])))
    return min(found, key=lambda taken: taken.processor)


def row(what: str, taken: Taken, count: int, promise: str = "", holds: bool | None = None) -> str:
    verdict = {None: "", True: "yes", False: "no"}[holds]
    return (
        f"| {what} | {taken.wall:.2f} | {taken.processor:.2f} | {count / taken.wall:,.0f} | "
        f"{taken.resident / (1 << 20):,.0f} | {promise} | {verdict} |"
    )


def against_arrow(folder: Path, count: int) -> list[str]:
    lines = []
    source = folder / "flat.jsonl"
    flat(source, count)
    as_csv(source, folder / "flat.csv")
    for name, peer in (("flat.jsonl", ARROW_JSON), ("flat.csv", ARROW_CSV)):
        path = str(folder / name)
        bare, ours = timed(peer.format(path=path)), timed(RUNS.format(path=path, words=""))
        share = bare.wall / ours.wall
        shares = f"{share:.2f} by the clock, {bare.processor / ours.processor:.2f} by processor time"
        size = (folder / name).stat().st_size >> 20
        lines.append(row(f"{name}, {count:,} records, {size} MB: pyarrow, read only", bare, count))
        told = (
            f"at least half of pyarrow's speed: {shares}"
            if name == "flat.jsonl"
            else f"of its speed {shares}"
        )
        lines.append(row(f"{name}: `read_runs`", ours, count, told, share >= 0.5 if "half" in told else None))
    return lines


def memory(folder: Path, count: int, copies: int) -> list[str]:
    """Write one large file of renamed copies to Parquet."""
    path = folder / "large.jsonl"
    with path.open("wb") as target:
        for copy in range(copies):
            with (folder / "flat.jsonl").open("rb") as source:
                for line in source:
                    target.write(line.replace(b'"model": "model-', b'"model": "m%d-' % copy, 1))
    taken = timed(WRITE.format(path=str(path), words="workers=1"), times=1)
    what = f"large.jsonl, {count * copies:,} records, {path.stat().st_size / 1e9:.2f} GB: `write_runs`"
    return [row(what, taken, count * copies, "under 1 GB resident", taken.resident < RESIDENT)]


def answers(folder: Path, count: int) -> list[str]:
    path = folder / "nested.jsonl"
    nested(path, count)
    lines = []
    for workers, processes in (
        (None, "as many processes as it takes by itself"),
        (1, "1 process"),
        (2, "2 processes"),
    ):
        taken = timed(RUNS.format(path=str(path), words=f"{ANSWERS}, workers={workers}"))
        promise = ("100,000 records a second on two cores", count / taken.wall >= 1e5)
        what = f"nested.jsonl, {count:,} answers parsed, {processes}"
        lines.append(row(what, taken, count, *(promise if workers is None else ())))
    path = folder / "prose.jsonl"
    nested(path, count, IN_PROSE)
    taken = timed(RUNS.format(path=str(path), words=f"{ANSWERS}, workers=1"))
    lines.append(row(f"prose.jsonl, {count:,} answers in the middle of a sentence, 1 process", taken, count))
    return lines


def other_forms(folder: Path, count: int) -> list[str]:
    """A JSON array of nested records, a table without its model, and a folder of logs read by several processes."""
    array, unnamed, logs = folder / "array.json", folder / "unnamed.jsonl", folder / "logs"
    questions = folder / "items.csv"
    for part in range(FILES):
        (logs / f"run-{part}").mkdir(parents=True)
    batches = [logs / f"run-{part}" / "batch_output.jsonl" for part in range(FILES)]
    # A line at a time: what this process holds counts as the peak of all that it starts.
    with (
        (folder / "nested.jsonl").open() as source,
        array.open("w") as one,
        unnamed.open("w") as other,
        questions.open("w") as asked,
        ExitStack() as opened,
    ):
        outputs = [opened.enter_context(path.open("w")) for path in batches]
        asked.write("item,family,variant,gold\n")
        for number, line in enumerate(source):
            record = json.loads(line)
            one.write(("," if number else "[") + json.dumps(record | {"score": 1}))
            other.write(json.dumps({"item": record["item"] + record["model"], "score": 1}) + "\n")
            outputs[number % FILES].write(_openai_line(record, number % FILES))
            if number % FILES == 0:
                about = record["metadata"]
                asked.write(f"{record['item']},{about['family_id']},{about['variant']},{record['gold']}\n")
        one.write("]")
    words = "family='metadata.family_id', variant='metadata.variant'"
    taken = timed(RUNS.format(path=str(array), words=words))
    lines = [row(f"array.json, {count:,} nested records, scored", taken, count)]
    code = LOADED + f"call = lambda: ps.read_runs({{'m': {str(unnamed)!r}}}, family='item')"
    lines.append(
        row(f"unnamed.jsonl, {count:,} flat records of a model that is named for it", timed(code), count)
    )
    what = f"{FILES} OpenAI batches of {count // FILES:,} replies"
    for workers, processes in ((1, "1 process"), (2, "2 processes")):
        for words, job in (
            ("family='item'", ""),
            (OF_ITEMS.format(path=str(questions)), ", answers parsed, an item table"),
        ):
            taken = timed(RUNS.format(path=str(logs), words=f"{words}, workers={workers}"))
            lines.append(row(f"{what}{job}, {processes}", taken, count))
    return lines


def _openai_line(record: dict[str, Any], part: int) -> str:
    """Write a record as a line of a batch's output."""
    message = {"role": "assistant", "content": record["response"]}
    body = {
        "id": f"r{record['item']}{record['model']}", "object": "chat.completion",
        "model": f"{record['model']}-{part}",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360},
    }  # fmt: skip
    response = {"status_code": 200, "request_id": "x", "body": body}
    return json.dumps({"id": "b", "custom_id": record["item"], "response": response, "error": None}) + "\n"


def against_inspect(python: str) -> list[str]:
    if not INSPECT_LOGS.is_dir():
        return ["| Inspect: no logs beside this checkout | | | | | | |"]
    path, lines = str(INSPECT_LOGS), []
    ours = timed(RUNS.format(path=path, words=OF_INSPECT), warm=True)
    lines.append(row("Inspect logs, 576 samples: `read_runs`", ours, 576))
    for full in (True, False):
        peer = timed(SAMPLES_DF.format(path=path, full=full), python=python, warm=True)
        what = "full samples" if full else "summaries only, without replies"
        ratio = peer.processor / ours.processor
        promise = (f"5 times as fast: {ratio:.1f}", ratio >= 5) if full else (f"{ratio:.1f} times", None)
        lines.append(row(f"Inspect logs: `samples_df`, {what}", peer, 576, *promise))
    return lines


def machine(python: str | None) -> str:
    shown = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "numpy", "pandas", "msgspec"))
    if python:
        asked = "from importlib.metadata import version; print(version('inspect_ai'))"
        shown += (
            ", inspect_ai "
            + subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.strip()
        )
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, load {load} at the start, Python "
        f"{platform.python_version()}, {shown}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--copies", type=int, default=8, help="of the flat file, in the one for memory")
    parser.add_argument("--inspect-python", metavar="PYTHON")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = [
        "| what | wall s | processor s | records / s | peak MB | promise | holds |", "|---|---|---|---|---|---|---|"
    ]  # fmt: skip
    told = machine(given.inspect_python)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: list[Callable[[], list[str]]] = [
            lambda: against_arrow(folder, given.records),
            lambda: memory(folder, given.records, given.copies),
            lambda: answers(folder, given.records // 5),
            lambda: other_forms(folder, given.records // 5),
        ]
        if given.inspect_python:
            parts.append(lambda: against_inspect(given.inspect_python))
        print("\n".join(lines))
        for part in parts:
            found = part()
            print("\n".join(found), flush=True)
            lines += found
    words = " ".join(word for word in sys.argv[1:] if word != given.inspect_python)
    about = (
        f"Written by `python benchmarks/readers.py {words}`. {told}. The fastest of {TIMES} runs by "
        "processor time\n"
        "(one run of the large file). Speeds are compared by the clock, with Inspect by processor time: what else\n"
        "the machine does lowers the first."
    )
    text = "\n".join(["# Readers", "", about, "", *lines, ""])
    if given.write:
        RESULTS.write_text(text)
    return 1 if any(line.endswith("| no |") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
