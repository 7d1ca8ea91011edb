"""Logs of OpenAI evals (``oaieval``): one event a line, joined on ``sample_id``.

The first line is the ``spec``, which names the model; ``final_report`` holds totals. A sample is one record:
its ``sampling`` event holds the reply, its ``match`` or ``metrics`` event the score. Several matches of one
sample are repeats. A sample that was asked but never scored is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.drafts import MISSING, as_text
from pairstats.readers.each import each_made, expect, id_of, made
from pairstats.readers.jsonlines import dig, first_objects, objects, whole
from pairstats.readers.rowlog import Scores, first, present, score_of, state

EVENT = frozenset({"event_id", "sample_id", "type", "data"})
WHAT = "an event of a sample"
SCORED = ("match", "metrics", "cond_logp", "pick_option")
TOKENS = {"input_tokens": ("usage.prompt_tokens",), "output_tokens": ("usage.completion_tokens",)}


@dataclass(slots=True)
class Sample:
    """Events of one sample, in the order of the file."""

    line: int
    sampled: list[dict[str, Any]] = field(default_factory=list)
    scored: list[dict[str, Any]] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OaievalReader:
    """Reader of OpenAI evals logs."""

    name: str = "oaieval"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for the spec of a run, or for events of samples."""
        known = b'"spec"' in file.head or b'"event_id"' in file.head
        lines = first_objects(file) if known else []
        if any(dig(line, "spec", "eval_name") or line.keys() >= EVENT for line in lines):
            report = any("final_report" in line for line in lines)
            return Recognized(
                "events", note="" if report else "no final report: the run may have been cut off"
            )
        return Declined("no line is the spec of a run, or an event of a sample")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a sample, or one a match where a sample has several."""
        samples: dict[tuple[str, str], Sample] = {}
        runs: dict[str, dict[str, Any]] = {}
        lines: dict[str, int] = {}
        for number, line in objects(file, keep_going=options.keep_going):
            source = f"{file.shown}:{number}"
            if isinstance(line, LeftOut):
                yield line
            elif isinstance(line.get("spec"), dict):
                runs[_run_of(line)] = {"model": _model(line["spec"]), "study": line["spec"].get("eval_name")}
            elif line.keys() >= EVENT and line["sample_id"] is not None:
                found = made(source, WHAT, options.keep_going, partial(_of_event, line))
                if isinstance(found, LeftOut):
                    yield found
                elif lines.setdefault(digest(line), number) != number:
                    yield LeftOut(source, f"the event of line {lines[digest(line)]} again")
                else:
                    _collect(samples.setdefault((_run_of(line), found), Sample(number)), line)
            elif "event_id" in line:
                yield LeftOut(source, f"event of no sample (type {line.get('type')!r})")
            elif "final_report" not in line:
                if not options.keep_going:
                    raise ReadError(
                        f"{source} must be an event of a sample, but has the keys {listed(line, 8)}. Remove "
                        "the line, or pass keep_going=True to leave such lines out and count them."
                    )
                yield LeftOut(source, "not an event of a sample")
        for (run, name), sample in samples.items():
            common = runs.get(run) or next(iter(runs.values()), {})
            if len(runs) > 1 and run not in runs:
                raise ReadError(
                    f"{file.shown}:{sample.line} must be of a run whose spec is in the log, but {run!r} is none of "
                    f"{listed(runs)}. Split the log into one file a run."
                )
            make = partial(_records, file, name, sample, common, options)
            yield from each_made(f"{file.shown}:{sample.line}", "a sample", options.keep_going, make)


READER = OaievalReader()


def _model(spec: dict[str, Any]) -> str | None:
    """First completion function: the one that is evaluated; others grade it."""
    names = spec.get("completion_fns")
    return str(names[0]) if isinstance(names, list) and names else None


def _run_of(line: dict[str, Any]) -> str:
    """Id of the run of a spec or an event; logs of several runs may have been joined."""
    return str(line.get("run_id") or dig(line, "spec", "run_id") or "")


def _of_event(event: dict[str, Any]) -> str:
    """Name the sample that an event is of."""
    expect(event, "event", {"type": str, "data": dict})
    return id_of(event["sample_id"], "sample_id")


def _collect(sample: Sample, event: dict[str, Any]) -> None:
    data = event["data"] if isinstance(event["data"], dict) else {}
    if event["type"] == "sampling":
        sample.sampled.append(data)
    elif event["type"] in SCORED:
        sample.scored.append({**data, "type": event["type"]})
    elif event["type"] == "error":
        sample.errors.append(event["data"])


def _records(
    file: RunFile, name: str, sample: Sample, common: dict[str, Any], options: ReadOptions
) -> Iterator[Record]:
    matches = [event for event in sample.scored if event["type"] == "match"]
    others = [event for event in sample.scored if event["type"] != "match"]
    tries = max(1, len(matches))
    for repeat in range(tries):
        match = matches[repeat] if matches else {}
        sampling = _sampling(sample, repeat, tries)
        scores = _scores([match, *others] if tries == 1 else [match])
        reply = sampling.get("sampled", match.get("sampled"))
        reply = reply[0] if isinstance(reply, list) and len(reply) == 1 else reply
        known = bool(sampling or match)
        error = (as_text(sample.errors[-1]) or "error") if sample.errors and not sample.scored else None
        # A sample without any score was cut off; that is not the model's doing.
        wanted = scores or {"match": None}
        status, reason = state(error, as_text(reply) if known else MISSING, wanted, options.rescored)
        fields = {
            **common, "item": name, "repeat": repeat, "status": status, "reason": reason,
            "response": as_text(reply) or None, "gold": as_text(match.get("expected")),
            "answer": as_text(match.get("picked")),
            **{column: whole(first(sampling, paths)) for column, paths in TOKENS.items()},
        }  # fmt: skip
        raw = {"sampling": sampling, "match": match, "samplings": len(sample.sampled)}
        identity = digest(file.content_sha256, name, repeat)
        yield Record(f"{file.shown}:{sample.line}", present(fields), scores, raw, identity)


def _sampling(sample: Sample, repeat: int, tries: int) -> dict[str, Any]:
    """Reply of a try; unknown where a sample was asked in several steps, of which the last need not count."""
    return sample.sampled[repeat] if len(sample.sampled) == tries else {}


def _scores(events: list[dict[str, Any]]) -> Scores:
    """A match's ``correct`` by the name ``match``; numbers of other events by their own names."""
    scores: Scores = {}
    for event in events:
        if event.get("type") == "match":
            scores["match"] = score_of(event.get("correct"))
        else:
            scores |= {
                str(key): score_of(value)
                for key, value in event.items()
                if key != "type" and isinstance(value, bool | int | float)
            }
    return scores
