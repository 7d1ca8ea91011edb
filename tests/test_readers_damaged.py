"""Damaged run files: refused by file and record, or read as far as they are whole; never another error or result.

Every sample file that can be read alone, made small where it is large, is cut, changed and mixed with another one;
so are samples that were packed here, and the files that only serve others. The damages are the same each time;
``pytest --hypothesis-profile search`` tries twenty times as many. What is read nevertheless is compared with
what the whole file gives:

* A packed file (gzip, zstandard, zip and so Inspect's ``.eval``, Excel) shows every damage: without an error, all
  is as before.
* A JSON document is refused where it is no JSON. Where it still is, no more records may differ than elements do.
* Lines of JSON and rows of a table are refused by the number of a broken one. Those that are not damaged are
  read as before, and every other one is a row, or counted. What is cut off at the end of a line nobody can see: the
  rows are the first ones then.
* Parquet and Arrow files have no checksum unless their writer wants one: they hold as many records as before.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from damage import ALWAYS, DAMAGES, changed_elements, is_value, records_of
from hypothesis import settings
from sample_reading import Found, Row, Sample, sample_of, tried
from small_samples import PACKED, small

from pairstats.errors import PairstatsError, ReadError

SAMPLES = SHARED / "samples"
ENDINGS = (".json", ".jsonl", ".csv", ".eval", ".parquet", ".gz")
SEALED = (".gz", ".zst", ".eval", ".xlsx", ".zip")
LINES = (".jsonl", ".csv", ".tsv")
SERVING = {
    "helm/*/run_spec.json": True, "*lm_eval/*/results_*.json": True, "every_eval_ever/*-*.json": True,
    "helm/*/scenario.json": False, "helm/*/stats.json": False, "helm/*/instances.json": False,
    "helm/*/display_requests.json": False,
}  # fmt: skip
"""Files that serve those beside them, and whether anything is taken from them."""
NO_RECORDS = (
    *SERVING, "lighteval/*/results_*.json", "*.task.json", "*.result.json", "*.schema.json", "own/bench/*",
    "own/files.csv", "own/truth*.json", "*_input*.jsonl", "arena_hard/*.jsonl", "*/new_wrapped_response*",
    "*/*no-samples.json", "*/data_with_llm_scoring.json", "alpaca_eval/*leaderboard.csv",
)  # fmt: skip
"""Files without a record that can be read alone."""
JOINED = ("openai_evals", "every_eval_ever")
"""Platforms that join lines to one record, so that a damaged line takes something from the record of another."""
ASKED = re.compile(
    r"reader knows|none was read|must have the filter|must be a score or path|must have a column|"
    r"replies a document|the same repl|Column names"
)
"""What may be said of a file as a whole before a broken record is met."""


def check(sample: Sample, kind: str, after: bytes, folder: Path) -> bool:
    """Read a damaged file; return whether it was refused."""
    (folder / sample.file).write_bytes(after)
    found = tried(sample, folder)
    if isinstance(found, Found):
        check_read(sample, after, found)
        return False
    check_refused(sample, kind, after, found)
    found = tried(sample, folder, keep_going=True)
    if isinstance(found, Found):
        check_kept_going(sample, after, found)
    else:
        assert sample.file in str(found)
    return True


def check_refused(sample: Sample, kind: str, after: bytes, error: PairstatsError) -> None:
    """The message names the file, and a broken record."""
    message = str(error)
    assert sample.file in message, message
    if sample.suffix in SEALED or (kind == "cut" and sample.suffix not in (".csv", ".tsv")):
        assert isinstance(error, ReadError), message
    if sample.suffix in LINES:
        records = records_of(after, sample.suffix)
        other = is_other(sample, after)
        if other or None not in records.values() or len(records) == 1 or ASKED.search(message):
            return
        told = {int(number) for number in re.findall(re.escape(sample.file) + r":(\d+)", message)}
        # Among lines of two platforms, those of either may be the ones that do not belong there.
        odd = {
            n
            for n, record in records.items()
            if "interleave" in kind or record not in sample.records.values()
        }
        assert told & odd, message


def check_read(sample: Sample, after: bytes, found: Found) -> None:
    """What was read without an error is what was there."""
    if sample.suffix in SEALED:
        assert found == sample.found
    elif sample.suffix in LINES:
        assert None not in records_of(after, sample.suffix).values(), "a broken record was read"
        check_lines(sample, after, found)
    elif sample.suffix == ".json":
        assert is_value(after), "what is no JSON was read"
        check_elements(sample, after, found)
    else:
        assert found.records == sample.found.records


def check_kept_going(sample: Sample, after: bytes, found: Found) -> None:
    """Rows that remain are as before, and what is lost is counted."""
    known = sample.found
    if sample.suffix in SEALED:
        absent = {
            source for source, row in found.rows.items() if row["status"] == "absent"
        }  # in the part lost
        for source in set(found.rows) - absent - set(known.left_out):
            assert found.rows[source] == known.rows[source]
        assert found.left_out or len(absent) >= len(set(known.rows) - set(found.rows))
    elif sample.suffix in LINES:
        check_lines(sample, after, found)
    elif sample.suffix == ".json":
        if is_value(after):
            check_elements(sample, after, found)
        else:
            assert found.left_out


def is_other(sample: Sample, after: bytes) -> bool:
    """Whether a text became another table, by its header, or another file, by how it begins."""
    if sample.suffix == ".jsonl":
        return after.lstrip()[:1] != b"{"
    return records_of(after, sample.suffix).get(1) != sample.records[1]


def check_lines(sample: Sample, after: bytes, found: Found) -> None:
    """Compare line by line."""
    if is_other(sample, after):
        return
    before, now = dict(sample.records), records_of(after, sample.suffix)
    if sample.suffix != ".jsonl":
        del before[1], now[1]
    places = {record: number for number, record in before.items()}
    ours, theirs = sample.found.by_line(sample.file), found.by_line(sample.file)
    every_line_counts = ours.keys() >= before.keys()
    for number, record in now.items():
        if record is None:
            assert number not in theirs or set(theirs[number]) <= set(found.left_out)
        if every_line_counts and sample.name.split("/")[0] not in JOINED:
            assert number in theirs or found.merged, f"line {number} is neither a row nor counted"
        for source in ours.get(places.get(record, 0), ()):
            if source in sample.found.rows:
                check_row(sample, source, f"{sample.file}:{number}", found)


def check_row(sample: Sample, source: str, place: str, found: Found) -> None:
    """A record that was not damaged is the row that it was, or is counted."""
    before = sample.found.rows[source]
    after = found.rows.get(place + re.sub(r"^:\d+", "", source.removeprefix(sample.file)))
    if sample.name.split("/")[0] in JOINED:
        assert after is None or after.get("score") in (before.get("score"), None)
    elif after is None:
        assert found.left_out or found.merged, f"{place} is gone"
    else:
        assert same(sample, before, after), (place, before, after)


def same(sample: Sample, before: Row, after: Row) -> bool:
    """Whether a row tells the same; a request that came in between may tell its prompt."""
    unlike = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    free = set()
    if "promptfoo" in sample.name:
        # A description that is given to two tests names neither, and of two named scores none is the score.
        scores = {name for name in unlike if name.startswith("score")}
        free = {"item", "family"} | (scores if before.keys() != after.keys() else set())
    return unlike <= free | ({"prompt_sha256"} - before.keys())


def check_elements(sample: Sample, after: bytes, found: Found) -> None:
    """No more records of a document differ than its elements do, unless what is outside of them does."""
    changed, outside = changed_elements(sample.content, after)
    before = sample.found.rows
    if sample.name.startswith("helm"):  # one that is unlike others of its name makes the names of all longer
        scores = [
            Counter((row["item"], row.get("score")) for row in rows.values()) for rows in (before, found.rows)
        ]
        assert outside or ((scores[0] - scores[1]) | (scores[1] - scores[0])).total() <= 2 * changed
        return
    differ = {
        re.sub(r"[:.].*", "", source.removeprefix(sample.file + ":"))
        for source in before.keys() | found.rows.keys()
        if not same(sample, before.get(source, {}), found.rows.get(source, {}))
    }
    assert outside or len(differ) <= 2 * changed, differ  # an id that differs is one less and one more
    assert changed or found.left_out or found.records >= sample.found.records


def damages(name: str, content: bytes, others: dict[str, bytes]) -> Any:
    """Ways to damage a file, with what it becomes: the same each time, more of them for a search."""
    rounds = settings().max_examples // 100
    rng = random.Random(f"kind {name}")
    kinds = (
        list(DAMAGES)
        if rounds > 1
        else [*ALWAYS, rng.choice([kind for kind in DAMAGES if kind not in ALWAYS])]
    )
    for number in range(rounds):
        for kind in kinds:
            rng = random.Random(f"{name} {kind} {number}")
            other = rng.choice([content, *others.values()])
            after = DAMAGES[kind](content, rng, other)
            if after not in (content, b"") and not (
                kind == "interleave lines" and Path(name).suffix in SEALED
            ):
                yield f"{kind} {number}", kind, after


def check_all(samples: list[Sample], others: dict[str, bytes], folder: Path) -> int:
    """Damage every sample in every way; return how often that was refused."""
    refused = 0
    for sample in samples:
        for path in folder.iterdir():
            path.unlink()
        for which, kind, after in damages(sample.name, sample.content, others):
            try:
                refused += check(sample, kind, after, folder)
            except Exception as error:
                raise AssertionError(f"{sample.name}, {which}: {error}") from error
    return refused


def folder_of(name: str) -> str:
    """Platform of a sample."""
    return "/".join(name.split("/")[: 2 if name.startswith("own/") else 1])


NAMES = [
    path.relative_to(SAMPLES).as_posix()
    for path in sorted(SAMPLES.rglob("*")) if path.is_file() and path.suffix in ENDINGS
]  # fmt: skip


@needs_shared
@pytest.mark.parametrize("platform", dict.fromkeys(map(folder_of, NAMES)))
def test_damage_is_told_or_changes_nothing_else(tmp_path: Path, platform: str) -> None:
    contents = {name: small(SAMPLES / name) for name in NAMES if folder_of(name) == platform}
    samples = []
    for name, content in contents.items():
        folder = tmp_path / f"alone {len(samples)}"
        folder.mkdir(exist_ok=True)
        sample = sample_of(name, content, folder)
        assert (sample is None) == any(fnmatch(name, pattern) for pattern in NO_RECORDS), name
        samples += [sample] if sample else []
    folder = tmp_path / "damaged"
    folder.mkdir()
    assert check_all(samples, contents, folder) >= len(samples) / 2


@needs_shared
@pytest.mark.parametrize("name", PACKED)
def test_damage_of_packed_samples(tmp_path: Path, name: str) -> None:
    sample = sample_of(name, PACKED[name](SAMPLES), tmp_path)
    assert sample is not None
    others = {path: small(SAMPLES / path) for path in NAMES if path.startswith("plain_tables/gsm8k_wide")}
    refused = 0
    for number in range(4):
        refused += check_all([replace(sample, name=f"packed {number}/{sample.file}")], others, tmp_path)
    assert refused >= 8


@needs_shared
@pytest.mark.parametrize("name", [name for name in NAMES if any(fnmatch(name, each) for each in SERVING)])
def test_a_damaged_companion_is_named_or_changes_no_score(tmp_path: Path, name: str) -> None:
    taken = next(taken for pattern, taken in SERVING.items() if fnmatch(name, pattern))
    path = SAMPLES / name
    beside = [each for each in sorted(path.parent.iterdir()) if each.suffix in ENDINGS and each != path]
    if "lm_eval" in name:
        beside = [each for each in beside if each.suffix == ".jsonl"][:1]
    contents = {each.name: small(each) for each in [path, *beside]}
    for file, content in contents.items():
        (tmp_path / file).write_bytes(content)
    whole = sample_of(name, b"", tmp_path)
    assert whole is not None
    for which, _, after in damages(name, contents[path.name], contents):
        (tmp_path / path.name).write_bytes(after)
        found = tried(whole, tmp_path)
        if isinstance(found, PairstatsError):
            assert any(file in str(found) for file in contents), (which, found)
            if not is_value(after):
                assert isinstance(found, ReadError), (which, found)
                assert path.name in str(found), (which, found)
        else:
            assert is_value(after) or not taken, which
            scores = [{s: row.get("score") for s, row in each.rows.items()} for each in (whole.found, found)]
            assert scores[0] == scores[1], which
