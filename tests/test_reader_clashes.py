"""Two replies of one key: the message names what differs, and proposes a column only where its meaning is clear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pairstats as ps
from pairstats.errors import PairingError
from pairstats.readers.differing import suggestion
from pairstats.readers.written import write_runs

OTHERWISE = "otherwise "


def two(path: str, one: Any, other: Any) -> list[list[dict[str, Any]]]:
    """Two keys, each with two records that differ in a field."""

    def record(value: Any) -> dict[str, Any]:
        *parents, leaf = path.split(".")
        made: dict[str, Any] = {leaf: value}
        for parent in reversed(parents):
            made = {parent: made}
        return made

    return [[record(one), record(other)] for _ in range(2)]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "values", "column"),
    [
        ("epoch", (1, 2), "repeat"),
        ("trial", ("0", "1"), "repeat"),
        ("attempt", (1, 2), "repeat"),
        ("sampleIndex", (0, 1), "repeat"),
        ("prompt.label", ("short", "long"), "variant"),
        ("promptIdx", (0, 1), "variant"),
        ("metadata.template", ("A: {x}", "B: {x}"), "variant"),
        ("temperature", (0.5, 1.0), "condition"),
        ("body.reasoning_effort", ("low", "high"), "condition"),
        ("time_pressure", (True, False), "condition"),
        ("config.system_prompt", ("You are terse. " * 9, "You are kind. " * 9), "condition"),
        ("system", ("You are a terse assistant.", "You are a very kind assistant."), "condition"),
        ("eval.metadata.system", ("terse", "2shot"), "model"),
        ("modelVersion.slug", ("a-1", "a-2"), "model"),
        ("provider.label", ("one", "two"), "model"),
    ],
)
def test_a_name_of_clear_meaning_is_proposed(path: str, values: tuple[Any, Any], column: str) -> None:
    assert f'{column}="{path}" would tell them apart.' in suggestion(two(path, *values))


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("log.status", ("error", "success")),
        ("state", ("A", "B")),
        ("attempt", ("first", "second")),
        ("success", (True, False)),
        ("judge.model", ("j1", "j2")),
        ("label", ("x", "y")),
        ("pyRunId", ("Run #1", "Run #2")),
        ("eval.packages.inspect_ai", ("0.3.285", "0.3.120")),
    ],
)
def test_a_name_of_unclear_meaning_is_named_only(path: str, values: tuple[Any, Any]) -> None:
    shown = ", ".join(map(repr, values))
    assert suggestion(two(path, *values)) == (
        f" They differ in {path!r} ({shown}); what these mean is yours to say."
    )


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("evaluation.is_correct", (True, False)), ("evaluation.score", (0, 1)), ("latencyMs", (10, 20)),
        ("response.answer", ("A", "B")), ("id", ("6f9619ff-8b86-d011-b42d-00c04fc964ff", "7f9619ff-8b86-d011")),
        ("metadata.http.headers.content-length", ("1", "2")),
    ],
)  # fmt: skip
def test_what_differs_between_any_two_calls_is_not_even_named(path: str, values: tuple[Any, Any]) -> None:
    assert suggestion(two(path, *values)) == ""


def test_values_that_no_two_keys_share_tell_no_conditions_apart() -> None:
    groups = [[{"model_id": f"m{key}{reply}"} for reply in range(2)] for key in range(2)]
    assert suggestion(groups) == " They differ in 'model_id' ('m00', 'm01'); what these mean is yours to say."
    prompts = [[{"prompt": f"{text}{key}" * 30} for text in ("a", "b")] for key in range(2)]
    assert suggestion(prompts) == ""
    assert suggestion(prompts[:1]) == ""  # one key cannot tell whether a text returns


def test_two_fields_may_be_needed_together() -> None:
    group = [{"model": m, "epoch": e, "host": f"{m}{e}"} for m in ("a", "b") for e in (1, 2)]
    told = suggestion([group, group])
    assert told.endswith('model="model" with repeat="epoch" would tell them apart.')
    same = [{"model": m} for m in ("a", "b", "b")]
    assert suggestion([same, same]).endswith('model="model" would tell them apart, though not all of them.')


# --- files


def refused(*paths: Path, **words: Any) -> str:
    with pytest.raises(PairingError, match="A key must be one reply") as caught:
        ps.read_runs(list(paths), family="item", **words)
    return str(caught.value).partition(OTHERWISE)[2]


def log(path: Path, *rows: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("item,model,score\n" + "".join(f"{row}\n" for row in rows))
    return path


def test_files_that_are_both_needed_are_not_to_be_left_out(tmp_path: Path) -> None:
    one = log(tmp_path / "a.csv", "q1,m,1", "q2,m,1")
    other = log(tmp_path / "b.csv", "q2,m,0", "q3,m,1")
    assert refused(one, other) == (
        "take the doubled ones out of 'a.csv' or 'b.csv', each of which holds others that are needed, or keep "
        'both as two runs with run="file".'
    )
    both = ps.read_runs([one, other], family="item", run="file")
    assert both.frame["run"].tolist() == ["a.csv", "a.csv", "b.csv", "b.csv"]
    whole = log(tmp_path / "c.csv", "q2,m,0")
    assert refused(one, whole) == "leave out 'c.csv', which holds nothing else."
    assert refused(one, log(tmp_path / "d.csv", "q1,m,0", "q2,m,0")) == "read one of them only."
    assert refused(log(tmp_path / "e.csv", "q1,m,1", "q2,m,1", "q1,m,0")) == "keep one of them in the file."


def test_folders_with_a_file_an_item(tmp_path: Path) -> None:
    for run, items in (("r1", "ab"), ("r2", "bc")):
        for item in items:
            log(tmp_path / run / f"{item}.csv", f"{item},m,{int(run == 'r1')}")
    assert refused(tmp_path) == (
        "take the doubled ones out of 'r1' or 'r2', each of which holds others that are needed, or keep both as "
        'two runs with run=ps.extract("source", "^(.*)/").'
    )
    runs = ps.read_runs(tmp_path, family="item", run=ps.extract("source", "^(.*)/"))
    assert runs.frame["run"].tolist() == ["r1", "r1", "r2", "r2"]
    (tmp_path / "r1" / "a.csv").unlink()
    assert refused(tmp_path) == "leave out 'r1', which holds nothing else."
    (tmp_path / "r2" / "c.csv").unlink()
    assert refused(tmp_path) == "read one of them only, 'r1' or 'r2'."


def test_one_message_whatever_the_way_of_reading(tmp_path: Path) -> None:
    one = log(tmp_path / "a.csv", "q1,m,1", "q2,m,1")
    other = log(tmp_path / "b.csv", "q2,m,0", "q3,m,1")
    with pytest.raises(PairingError) as caught:
        write_runs([one, other], tmp_path / "r.parquet", family="item")
    assert str(caught.value).partition(OTHERWISE)[2] == refused(one, other)


def test_failures_that_the_other_file_has_too_are_not_needed(tmp_path: Path) -> None:
    head = "item,model,score,status,run\n"
    (tmp_path / "a.csv").write_text(head + "q1,m,1,answered,\nq2,m,,error,\n")
    (tmp_path / "b.csv").write_text(head + "q1,m,0,answered,\nq2,m,1,answered,\n")
    assert refused(tmp_path / "a.csv", tmp_path / "b.csv") == "read one of them only."
