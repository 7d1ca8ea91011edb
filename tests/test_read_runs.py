"""Reading runs of any platform into one table: mappings, item tables, copies, refusals, and our own truth."""

from __future__ import annotations

import gzip
import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT, SHARED, needs_shared
from test_reader_inspect import header, sample, write_eval

import pairstats as ps
from pairstats.errors import PairingError, PairstatsError, ReadError, SchemaError
from pairstats.readers import extract, files, read_runs
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile

OWN = SHARED / "samples" / "own"
MAPPED: dict[str, Any] = {
    "model": "eval.metadata.system", "family": "metadata.family_id", "variant": "metadata.variant",
}  # fmt: skip
SCALES = {"smollm2-terse-t0": 1, "smollm2-2shot-t0": 100, "smollm2-2shot-t1": 100}
FAMILY = {"family": "metadata.family_id"}


def write(
    path: Path, *samples: dict[str, Any], status: str = "success", ids: Any = None, epochs: int = 1
) -> Path:
    """Write an Inspect log, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_eval(path, list(samples), header(status, ids, epochs))


def adds_up(records: ps.Records) -> bool:
    ledger = records.ledger
    return bool((ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all())


# --- mappings


def test_paths_patterns_columns_constants_and_extras(tmp_path: Path) -> None:
    write(tmp_path / "modelA" / "a.eval", sample("f1-base"), sample("f1-new", value="I"))
    frame = read_runs(
        tmp_path,
        family=extract("item", r"^(\w+)-"),
        variant=extract("item", r"-(\w+)$"),
        model=extract("source", r"^([^/]+)/"),
        category="item",
        set={"condition": "direct", "study": 3},
        extra={"depth": "metadata.v1.2.x", "log": "log.status"},
    ).frame
    assert frame["family"].tolist() == ["f1", "f1"]
    assert frame["variant"].tolist() == ["base", "new"]
    assert frame["category"].tolist() == ["f1-base", "f1-new"]
    assert frame["model"].unique().tolist() == ["modelA"]
    assert (frame["study"].unique().tolist(), frame["condition"].unique().tolist()) == (["3"], ["direct"])
    assert (frame["depth"].tolist(), frame["log"].tolist()) == ([1, 1], ["success", "success"])
    assert frame["score"].tolist() == [1.0, 0.0]


def test_ids_stay_as_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", *(sample(item) for item in (7, "007", "=1+1", "../../etc", "a\nb")))
    records = read_runs(path, **FAMILY, exclude="a*")
    assert records.frame["item"].tolist() == ["7", "007", "=1+1", "../../etc"]
    assert records.left_out["reason"].tolist() == ["excluded by 'a*'"]


def test_int_and_text_of_one_id_are_one_item(tmp_path: Path) -> None:
    first, second = sample(7, uuid="u1"), sample("7", uuid="u2")
    paths = [write(tmp_path / "a.eval", first), write(tmp_path / "b.eval", second)]
    with pytest.raises(PairingError, match="A key must be one reply"):
        read_runs(paths, **FAMILY)
    assert read_runs(paths, **FAMILY, run=extract("source", r"^(\w)")).frame["item"].tolist() == ["7", "7"]


def test_models_by_path_and_names_that_need_care(tmp_path: Path) -> None:
    names = ["<b>bold</b>", "line\nbreak", "org/name:v1", "../up"]
    paths = {
        name: write(tmp_path / f"{place}.eval", sample(uuid=str(place))) for place, name in enumerate(names)
    }
    records = read_runs(paths, **FAMILY)
    assert records.frame["model"].tolist() == names
    assert "<b>" not in records._repr_html_()
    assert "line\\nbreak" in repr(records)
    with pytest.raises(PairstatsError, match="given in one way, but 'model' in two"):
        read_runs(paths, **FAMILY, model="eval.model")
    with pytest.raises(ReadError, match="belong to one model, but is given for two: 'x' and 'y'"):
        read_runs({"x": tmp_path / "0.eval", "y": tmp_path / "0.eval"}, **FAMILY)


def test_a_path_that_is_nowhere_lists_those_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample())
    with pytest.raises(PairingError) as caught:
        read_runs(path, family="metadata.famly_id")
    message = str(caught.value)
    assert "in none of 1: 'a.eval:q1_epoch_1.json'. Did you mean 'metadata.family_id'?" in message
    assert "eval.metadata.system" in message


def test_a_key_column_must_be_in_every_record(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample("q1"), sample("q2", metadata={}), sample("q3", metadata=None))
    with pytest.raises(PairingError, match=r"holds none in 2 of 3: 'a.eval:q2_epoch_1.json', 'a.eval:q3"):
        read_runs(path, **FAMILY)
    assert len(read_runs(path, **FAMILY, exclude=("q2", "q3"))) == 1


def test_a_column_that_may_be_null_is_null_where_it_is_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample("q1", metadata={"c": "x"}), sample("q2", metadata={}))
    assert read_runs(path, family="item", category="metadata.c").frame["category"].tolist()[0] == "x"
    assert read_runs(path, family="item", category="metadata.c").table["category"].null_count == 1


def test_pattern_must_fit_every_record(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample("a-1"), sample("b1"))
    with pytest.raises(PairingError, match=r"fits only 1 of 2 records; it does not fit 'b1 \(a.eval"):
        read_runs(path, family=extract("item", r"^(\w+)-"))
    with pytest.raises(PairingError, match="fits no record"):
        read_runs(path, family=extract("item", r"^(\w+):"))
    with pytest.raises(PairstatsError, match="must have a group"):
        extract("item", r"^\w+")
    with pytest.raises(PairstatsError, match="must be a regular expression"):
        extract("item", r"(")


def test_family_must_be_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample())
    with pytest.raises(PairingError, match=r'No family column: family="item" must be written'):
        read_runs(path)
    assert read_runs(path, family="item").frame["family"].tolist() == ["q1"]


def test_missing_model_asks_for_it(tmp_path: Path) -> None:
    head = header()
    del head["eval"]["model"]
    path = write_eval(tmp_path / "a.eval", [sample()], head)
    with pytest.raises(
        PairingError, match=r"do not name it: .* Map model=, or give the paths as \{model name"
    ):
        read_runs(path, **FAMILY)


@pytest.mark.parametrize("repeat", ["x", 1.5, True, None])
def test_repeats_are_whole_numbers(tmp_path: Path, repeat: Any) -> None:
    path = write(tmp_path / "a.eval", sample(metadata={"r": repeat}))
    with pytest.raises(PairingError, match="repeat"):
        read_runs(path, family="item", repeat="metadata.r")


# --- scores and confidences


def test_several_scores_must_be_chosen_from(tmp_path: Path) -> None:
    scores = {
        "m": {"value": "C", "answer": "A"},
        "j": {"value": {"right": True, "conf": 90, "bad": float("nan")}},
    }
    path = write(tmp_path / "a.eval", sample(scores=scores))
    with pytest.raises(PairingError, match=r"hold 4: m, j\.right, j\.conf, j\.bad"):
        read_runs(path, **FAMILY)
    with pytest.raises(PairingError, match="score='other' must be a score or path"):
        read_runs(path, **FAMILY, score="other")
    records = read_runs(path, **FAMILY, score="m")
    row = records.frame.iloc[0]
    assert (row["score"], row["score_j.right"], row["value_j.conf"]) == (1.0, 1.0, 90.0)
    assert records.table["score_j.bad"].null_count == 1
    assert records.ledger["nan_to_null"].tolist() == [1]
    by_path = read_runs(path, **FAMILY, score="scores.j.value.right")
    assert by_path.frame["score"].tolist() == [1.0]


def test_score_of_a_failed_call_is_ignored_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample(value="I", error={"message": "429"}), sample("q2"))
    records = read_runs(path, **FAMILY)
    assert records.table["score"].to_pylist() == [None, 1.0]
    assert records.ledger["score_ignored_on_error"].tolist() == [1]


def test_scores_outside_their_range_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample(value=7))
    with pytest.raises(SchemaError, match=r"'score' must lie in \[0, 1\]"):
        read_runs(path, **FAMILY)
    assert read_runs(path, **FAMILY, score_range=(0, 10)).frame["score"].tolist() == [7.0]


@pytest.mark.parametrize(
    ("stated", "scale", "expected"),
    [
        (0.9, 1, 0.9),
        (90, 100, 0.9),
        ("90%", 1, 0.9),
        ("90%", 100, 0.9),
        ("0.5", 1, 0.5),
        (0, 1, 0.0),
        (100, 100, 1.0),
        (120, 100, None),
        (-1, 1, None),
        ("sure", 1, None),
        (True, 1, None),
        (90, {"m": 100}, 0.9),
    ],
)
def test_confidence_is_scaled_and_counted(
    tmp_path: Path, stated: Any, scale: Any, expected: float | None
) -> None:
    path = write(tmp_path / "a.eval", sample(metadata={"family_id": "f", "c": stated}))
    records = read_runs(path, **FAMILY, confidence="metadata.c", confidence_scale=scale)
    assert records.table["confidence"].to_pylist() == [pytest.approx(expected, abs=1e-15)]
    assert records.ledger["confidence_out_of_range"].tolist() == [int(expected is None)]


def test_confidence_scale_must_be_known_for_every_model(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample(metadata={"family_id": "f", "c": 1}))
    with pytest.raises(PairingError, match="has none for 'm'; it has 'other'"):
        read_runs(path, **FAMILY, confidence="metadata.c", confidence_scale={"other": 1})
    with pytest.raises(PairstatsError, match="must be positive"):
        read_runs(path, **FAMILY, confidence_scale=0)


# --- answers


@dataclass(frozen=True)
class Reply:
    """What `Letter` reads from a reply."""

    answer: str | None
    confidence: float | None
    confidence_is_percent: bool
    status: str


class Letter:
    """A format as plain as can be: ``A 90%``; knows nothing of the real parser."""

    def parse(self, text: str | None, options: Any = None) -> Reply:
        words = (text or "").split()
        if not words:
            return Reply(None, None, False, "empty")
        answer = self.canonical(words[0], options)
        number = words[1] if len(words) > 1 else None
        stated = None if number is None else float(number.rstrip("%"))
        return Reply(answer, stated, "%" in (number or ""), "answered" if answer else "unparsed")

    def canonical(self, value: Any, options: Any = None) -> str | None:
        known = options or {"A": "A", "B": "B"}
        return known.get(value, value if value in known.values() else None)

    def matches(self, answer: str | None, gold: Any, options: Any = None) -> bool:
        return answer is not None and answer == self.canonical(gold, options)


def test_replies_are_read_and_scored_again(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.eval",
        sample("right", text="A 90%", value="I"),
        sample("wrong", text="B 0.5"),
        sample("unread", text="??"),
        sample("cut", text="??", stop="max_tokens"),
        sample("cut-with-answer", text="A", stop="max_tokens", value="N", answer=None),
        sample("refused", text="A", stop="content_filter"),
        sample("empty", text=" "),
        sample("failed", text="A", error={"message": "429"}),
    )
    records = read_runs(path, **FAMILY, answers=Letter())
    frame = records.frame.set_index("item")
    assert frame["status"].astype(str).to_dict() == {
        "right": "answered", "wrong": "answered", "unread": "unparsed", "cut": "truncated",
        "cut-with-answer": "answered", "refused": "refused", "empty": "empty", "failed": "error",
    }  # fmt: skip
    assert frame["score"].dropna().to_dict() == {"right": 1.0, "wrong": 0.0, "cut-with-answer": 1.0}
    assert frame.loc["cut-with-answer", "reason"] == "length"
    assert frame.loc["cut", "reason"] == "max_tokens"
    assert frame["confidence"].dropna().to_dict() == {"right": 0.9, "wrong": 0.5}
    assert frame.loc["right", "score_match"] == 0.0  # the platform's score stays beside ours


def test_named_score_stays_primary_beside_ours(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample(text="A", value="I"), sample("q2", text="B", target=None))
    with pytest.raises(PairingError, match=r"needs its key, but 1 have none: 'a\.eval:q2"):
        read_runs(path, **FAMILY, answers=Letter())
    frame = read_runs(path, **FAMILY, answers=Letter(), score="match").frame
    assert frame["score"].tolist() == [0.0, 1.0]
    assert frame["score_answers"].tolist()[0] == 1.0
    assert pd.isna(frame["score_answers"].tolist()[1])


def test_a_key_of_another_form_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample(text="A", target="seven"))
    with pytest.raises(PairingError, match=r"must be an answer of the declared format, but is 'seven'"):
        read_runs(path, **FAMILY, answers=Letter())


@pytest.mark.parametrize("options", [{"A": "red", "B": "blue"}, ["red", "blue"], '{"A": "red", "B": "blue"}'])
def test_letters_become_option_texts(tmp_path: Path, options: Any) -> None:
    path = write(tmp_path / "a.eval", sample(text="B", target="B", metadata={"o": options}))
    row = read_runs(path, family="item", answers=Letter(), options="metadata.o").frame.iloc[0]
    assert (row["answer"], row["gold"], row["score"]) == ("blue", "blue", 1.0)
    assert "options" not in row
    with pytest.raises(PairstatsError, match="`options` are used by `answers` only"):
        read_runs(path, family="item", options="metadata.o")


def test_a_table_of_answers_without_texts_is_scored_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,model,answer,gold\nq1,m,A,A\nq2,m,B,A\n")
    frame = read_runs(tmp_path / "a.csv", family="item", answers=Letter()).frame
    assert frame["score"].tolist() == [1.0, 0.0]


# --- item tables and plans


def items_as(kind: str, folder: Path, rows: list[dict[str, Any]]) -> Any:
    frame = pd.DataFrame(rows)
    path = folder / f"items.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    else:
        return {"frame": frame, "rows": rows}[kind]
    return path


ITEMS = [{"number": n, "qid": q, "fam": f, "cat": c} for n, q, f, c in
         [(1, "q1", "007", "x"), (2, "q2", "007", None), (3, "q3", "008", "y")]]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "jsonl.gz", "parquet", "frame", "rows"])
def test_item_table_of_every_kind(tmp_path: Path, kind: str) -> None:
    log = write(tmp_path / "a.eval", sample("q1"), sample("q2"))
    records = read_runs(log, family="fam", category="cat", items=items_as(kind, tmp_path, ITEMS))
    assert records.frame["family"].tolist() == ["007", "007"]
    assert records.table["category"].to_pylist() == ["x", None]
    assert records.ledger["reader"].tolist() == ["inspect", "items"]
    assert records.ledger["note"].tolist()[1] == "3 items"
    assert adds_up(records)


def test_planned_items_that_never_ran_are_absent(tmp_path: Path) -> None:
    logs = [
        write(tmp_path / "a.eval", sample("q1"), sample("q1", 2), sample("q2")),
        write(tmp_path / "b.eval", sample("q3", uuid="b"), sample("zzz", uuid="c")),
    ]
    records = read_runs(
        dict(zip("ab", logs, strict=True)), family="fam", category="cat", items=ITEMS, item_key="qid",
        planned=True, exclude=("zz*", "none"),
    )  # fmt: skip
    absent = records.frame.query("status == 'absent'")
    keys = sorted(zip(absent["model"], absent["item"], absent["repeat"], strict=True))
    assert keys == [
        ("a", "q2", 1), ("a", "q3", 0), ("a", "q3", 1), ("b", "q1", 0), ("b", "q2", 0),
    ]  # fmt: skip
    assert absent.set_index("item")["family"].to_dict() == {"q1": "007", "q2": "007", "q3": "008"}
    assert set(absent["reason"]) == {"not_run"}
    assert absent["score"].isna().all()
    assert records.ledger["absent"].tolist() == [0, 0, 5]
    assert records.ledger["note"].tolist()[0] == (
        "exclude 'none' fits no item; its own name of the model, 'm', gave way to 'a'"
    )
    assert adds_up(records)


def test_plan_covers_every_presentation_seen(tmp_path: Path) -> None:
    base, other = sample("q1", metadata={"v": "base"}), sample("q1", metadata={"v": "new"}, uuid="u")
    path = {"a": write(tmp_path / "a.eval", base), "b": write(tmp_path / "b.eval", other)}
    frame = read_runs(path, family="fam", variant="metadata.v", items=ITEMS[:1], planned=True).frame
    absent = frame[frame["status"] == "absent"]
    assert sorted(zip(absent["model"], absent["variant"], strict=True)) == [("a", "new"), ("b", "base")]


def test_a_planned_item_of_unknown_presentation_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample("q1", metadata={"v": "new"}))
    records = read_runs(path, family="fam", variant="metadata.v", items=ITEMS[:2], planned=True)
    assert records.frame["variant"].tolist() == ["new"]
    assert records.ledger["left_out_reasons"].tolist()[1] == (
        "1 planned, never ran; its variant cannot be known without an item table"
    )
    assert adds_up(records)


def test_a_run_that_was_cancelled_tells_what_it_can(tmp_path: Path) -> None:
    cut = write(tmp_path / "cut.eval", sample("q1"), status="cancelled", ids=["q1", "q2"])
    alone = read_runs(cut, **FAMILY)
    assert len(alone) == 1
    assert alone.left_out["reason"].tolist() == [
        "planned, never ran; its family cannot be known without an item table"
    ]
    whole = write(tmp_path / "whole.eval", sample("q1", uuid="1"), sample("q2", uuid="2"))
    both = read_runs({"cut": cut, "whole": whole}, **FAMILY)  # another model's record of q2 tells its family
    assert both.ledger["absent"].tolist() == [1, 0]
    renamed = "its own name of the model, 'm', gave way to "
    assert both.ledger["note"].tolist() == [
        f"the run ended as 'cancelled'; {renamed}'cut'", f"{renamed}'whole'",
    ]  # fmt: skip
    assert adds_up(both)


def test_an_id_of_another_study_tells_nothing(tmp_path: Path) -> None:
    write(tmp_path / "s1" / "cut.eval", sample("q1"), status="cancelled", ids=["q1", "q2"])
    write(tmp_path / "s2" / "whole.eval", sample("q2", uuid="2"))
    records = read_runs(tmp_path, **FAMILY, study=extract("source", r"^(\w+)/"))
    assert records.ledger["absent"].tolist() == [0, 0]
    assert records.ledger["left_out"].tolist() == [1, 0]


def test_record_and_item_table_must_not_differ(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample("q1") | {"fam": "other"})
    with pytest.raises(PairingError, match=r"has 'other' in the record and '007' in the item table"):
        read_runs(path, family="fam", items=ITEMS)
    assert read_runs(path, family="items.fam", items=ITEMS).frame["family"].tolist() == ["007"]
    assert read_runs(path, family="record.fam", items=ITEMS).frame["family"].tolist() == ["other"]


@pytest.mark.parametrize(
    ("rows", "key", "message"),
    [
        ([{"id": "x"}], None, "must hold the records' items, but none of 'id' does"),
        ([{"id": "x"}], "id", "must hold the records' items, but holds 'x' where the records have 'q1'"),
        ([{"id": "q1"}], "qid", "must be a column of item table, but it has 'id'"),
        ([{"id": "q1"}, {"id": "q1"}], "id", "must name each item once, but holds 'q1' more than once"),
        ([{"id": "q1"}, {"id": None}], "id", "must name an item in every row, but is blank in some"),
    ],
)
def test_item_tables_that_do_not_fit(tmp_path: Path, rows: Any, key: str | None, message: str) -> None:
    with pytest.raises(PairingError, match=message):
        read_runs(write(tmp_path / "a.eval", sample("q1")), family="id", items=rows, item_key=key)


def test_a_plan_needs_a_table_and_a_table_needs_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample())
    with pytest.raises(PairstatsError, match="`planned` needs the item table"):
        read_runs(path, family="item", planned=True)
    with pytest.raises(ReadError, match="item table must be a file"):
        read_runs(path, family="item", items=tmp_path / "none.csv")


# --- copies and contradictions


def test_one_reply_logged_twice_is_merged_and_counted(tmp_path: Path) -> None:
    first = write(tmp_path / "a.eval", sample("q1"), sample("q1", 2))
    (tmp_path / "copy.eval").write_bytes(first.read_bytes())
    (tmp_path / "a.json").write_text(json.dumps(header() | {"samples": [sample("q1"), sample("q1", 2)]}))
    records = read_runs(tmp_path, **FAMILY)
    assert len(records) == 2
    assert records.ledger.set_index("file")["merged"].to_dict() == {"a.eval": 0, "a.json": 2, "copy.eval": 2}
    assert adds_up(records)


def test_one_reply_with_two_scores_is_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.eval", sample()), write(tmp_path / "b.eval", sample(value="I"))]
    with pytest.raises(
        PairingError, match=r"one reply logged twice, so they must agree, but differ in 'score'"
    ):
        read_runs(paths, **FAMILY)


def test_two_replies_under_one_key_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.eval", sample()), write(tmp_path / "b.eval", sample(uuid="other"))]
    with pytest.raises(PairingError) as caught:
        read_runs(paths, **FAMILY)
    message = str(caught.value)
    assert "a.eval:q1_epoch_1.json and b.eval:q1_epoch_1.json" in message
    assert "run=" in message
    assert "variant=" in message


def test_repeats_that_share_a_response_stay_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample("q1", 1, uuid="same"), sample("q1", 2, uuid="same"))
    assert read_runs(path, **FAMILY).frame["repeat"].tolist() == [0, 1]


# --- files


def test_clutter_in_a_folder_is_told_not_read(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "deep" / "a.eval", sample())
    (tmp_path / "runs" / "README.md").write_text("# Words\n\nand more words\n")
    (tmp_path / "runs" / "empty.jsonl").write_bytes(b"")
    (tmp_path / "runs" / ".hidden").write_bytes(b"x")
    records = read_runs(tmp_path / "runs", **FAMILY)
    assert records.ledger["file"].tolist() == ["README.md", "deep/a.eval", "empty.jsonl"]
    notes = records.ledger["note"].tolist()
    assert notes[0].startswith("not recognized (inspect: no zip and no JSON object; ")
    assert notes[2] == "not recognized (the file is empty)"
    assert all(len(digest) == 64 for digest in records.ledger["sha256"])
    with pytest.raises(
        ReadError, match=r"README\.md must be a run file that a reader knows, but none does: inspect"
    ):
        read_runs([tmp_path / "runs" / "README.md", tmp_path / "runs"], **FAMILY)
    named = read_runs([tmp_path / "runs" / "README.md", tmp_path / "runs"], **FAMILY, keep_going=True)
    assert len(named) == 1


def test_what_cannot_be_found_or_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "a.md").write_text("only\n\nwords, here")
    (tmp_path / "empty.eval").write_bytes(b"")
    for paths, message in [
        (tmp_path / "none", "must be a file, a folder or a pattern"),
        (tmp_path / "*.none", "must fit run files, but fits none"),
        (tmp_path / "folder", "must hold run files, but holds no file at all"),
        (tmp_path / "words", "must hold a run file that a reader knows, but there is none"),
        (tmp_path / "empty.eval", "the file is empty"),
        ([], "must name at least one file"),
    ]:
        with pytest.raises(ReadError, match=message):
            read_runs(paths, family="item")
    with pytest.raises(PairstatsError, match="`paths` must be a path, a list of paths or a dict"):
        read_runs(3, family="item")  # type: ignore[arg-type]


def test_header_only_log_says_so(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "a.eval", [], header() | {"results": {"completed_samples": 5}})
    with pytest.raises(ReadError, match=r"must hold records, but none was read.*header only: the 5 samples"):
        read_runs(path, family="item")


def test_a_reader_may_be_forced(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample())
    assert len(read_runs(path, **FAMILY, reader="inspect")) == 1
    with pytest.raises(PairstatsError, match=r"`reader` must be one of 'inspect'.*but got 'excel'"):
        read_runs(path, **FAMILY, reader="excel")


class Words:
    """A reader of another package: one line, one reply."""

    name = "words"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        return Recognized("7") if file.head.startswith(b"words") else Declined("no words")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        for number, line in file.lines():
            fields = {"item": number, "model": "m", "status": "answered", "response": line.decode()}
            yield Record(f"{file.shown}:{number}", fields)


def test_readers_of_other_packages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = value = "words"

        def load(self) -> Words:
            return Words()

    monkeypatch.setattr(files.importlib.metadata, "entry_points", lambda group: [Point()])
    files.readers.cache_clear()
    try:
        assert [reader.name for reader in files.readers()][-2:] == ["words", "table"]
        (tmp_path / "a.txt").write_text("words of one\nwords of two\n")
        (tmp_path / "b.txt").write_text("words of one\nwords of two\n")
        records = read_runs(tmp_path, family="item")
    finally:
        files.readers.cache_clear()
    # Without a response id, records are one reply where the files are equal byte for byte.
    assert records.ledger["merged"].tolist() == [0, 2]
    assert records.ledger["reader"].tolist() == ["words", "words"]


def test_broken_file_in_a_folder_stops_or_is_counted(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.eval", sample("q1"), sample("q2"))
    cut = whole.read_bytes()
    (tmp_path / "b.eval").write_bytes(cut[: cut.index(b"samples/q2")])
    with pytest.raises(ReadError, match=r"b\.eval is cut short"):
        read_runs(tmp_path, **FAMILY)
    records = read_runs(tmp_path, **FAMILY, keep_going=True)
    assert records.ledger["merged"].tolist() == [0, 1]
    assert "cut short" in records.ledger["note"].tolist()[1]
    assert adds_up(records)


def test_names_do_not_depend_on_where_the_files_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x" / "one" / "a.eval", sample("q1"))
    write(tmp_path / "x" / "two" / "a.eval", sample("q2"))
    monkeypatch.chdir(tmp_path)
    absolute = read_runs([tmp_path / "x" / "one", tmp_path / "x" / "two"], **FAMILY)
    relative = read_runs("x/*/*.eval", **FAMILY)
    folder = read_runs(Path("x"), **FAMILY)
    assert absolute.table.equals(relative.table)
    assert absolute.table.equals(folder.table)
    assert absolute.ledger["file"].tolist() == ["one/a.eval", "two/a.eval"]


def test_arguments_that_contradict(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample())
    with pytest.raises(
        PairstatsError, match="`extra` must name columns outside the format, but names 'score'"
    ):
        read_runs(path, **FAMILY, extra={"score": "x"})
    with pytest.raises(PairstatsError, match="`set` must not set 'status'"):
        read_runs(path, **FAMILY, set={"status": "answered"})
    with pytest.raises(PairstatsError, match="given in one way, but 'family' in two"):
        read_runs(path, **FAMILY, set={"family": "x"})


def test_progress_can_be_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.eval", sample())
    read_runs(path, **FAMILY, progress=False)
    read_runs(path, **FAMILY)  # standard error is no terminal here
    assert capfd.readouterr().err == ""
    assert len(read_runs(path, **FAMILY, progress=True)) == 1


def test_importing_readers_is_light() -> None:
    heavy = ["matplotlib", "seaborn", "statsmodels", "scipy.stats", "rich", "polars", "duckdb"]
    code = f"import sys, pairstats.readers; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.strip() == "[]"


# --- our own logs against the record of every call


def cells(frame: pd.DataFrame) -> dict[str, list[int]]:
    """Correct and answered per family and variant; what the model left unread counts as wrong."""
    reached = frame[~frame["status"].isin(["error", "absent"])]
    groups = reached.groupby(["family", "variant"], observed=True)["score"]
    return {f"{f}|{v}": [int(s.fillna(0).sum()), len(s)] for (f, v), s in groups}


def flip_rate(frame: pd.DataFrame, variant: str, column: str) -> float:
    """Mean over families of all pairs of replies to base and variant."""
    rates = []
    for _, family in frame.groupby("family"):
        base, other = (family.loc[family["variant"] == v, column].tolist() for v in ("base", variant))
        rates.append(sum(a != b for a in base for b in other) / (len(base) * len(other)))
    return sum(rates) / len(rates)


@needs_shared
def test_full_runs_equal_the_wire() -> None:
    records = read_runs(
        OWN / "inspect" / "full", **MAPPED, score="letter_match",
        confidence="scores.json_choice.value.confidence", confidence_scale=SCALES,
    )  # fmt: skip
    assert len(records) == 1080
    truth = json.loads((OWN / "truth_full.json").read_text())
    for model, frame in records.frame.groupby("model", observed=True):
        told = truth[str(model).replace("smollm2", "full")]
        assert len(frame) == told["answered"]
        assert (frame["status"] == "answered").sum() == told["parsed"]
        assert frame["score"].sum() == told["correct"]
        assert cells(frame) == told["cells"]
        out = records.ledger["confidence_out_of_range"].sum() if str(model).endswith("t1") else 0
        assert frame["confidence"].notna().sum() == told["n_with_confidence"] - out
        if not out:
            mean = told["confidence_mean_raw"] / SCALES[str(model)]
            assert frame["confidence"].mean() == pytest.approx(mean, abs=1e-12)
        right = frame.assign(right=frame["score"].fillna(0))
        for variant, flips in told["flips"].items():
            assert flip_rate(right, variant, "right") == pytest.approx(flips["flip_correct"], abs=1e-12)


@needs_shared
def test_real_parser_agrees_with_the_scorer_of_the_run() -> None:
    scored = read_runs(OWN / "inspect" / "full", **MAPPED, score="letter_match").frame
    again = read_runs(
        OWN / "inspect" / "full", **MAPPED, answers=ps.AnswerFormat(), options="metadata.options",
        confidence_scale=SCALES,
    ).frame  # fmt: skip
    both = scored.merge(again, on=["model", "item", "repeat"], suffixes=("", "_again"))
    assert len(both) == 1080
    assert (both["status"].astype(str) == both["status_again"].astype(str)).all()
    assert (both["score"].fillna(-1) == both["score_again"].fillna(-1)).all()


@needs_shared
def test_runs_with_stress_rows_equal_the_wire() -> None:
    paths = [OWN / "inspect" / "eval", OWN / "inspect" / "json"]
    records = read_runs(paths, **MAPPED, score="letter_match")
    assert len(records) == 576
    assert records.ledger["merged"].tolist() == [0, 0, 0, 192, 192, 192]
    assert adds_up(records)
    alone = read_runs(paths[0], **MAPPED, score="letter_match")
    assert alone.table.drop_columns("source").equals(records.table.drop_columns("source"))
    truth = json.loads((OWN / "truth.json").read_text())
    planned = records.frame[~records.frame["item"].str.startswith("zzz")]
    for model, frame in planned.groupby("model", observed=True):
        told = truth["wire_cells"][str(model).replace("smollm2", "inspect")]
        assert cells(frame) == told
    stress = records.frame[records.frame["item"].str.startswith("zzz")]
    for _, frame in stress.groupby("model", observed=True):
        reasons = frame["reason"].value_counts()
        assert {reasons[why] for why in ("sample_error", "context", "token_limit")} == {3}
        assert (frame["status"] == "error").sum() == 3


@needs_shared
@pytest.mark.parametrize(
    ("folder", "tag", "rows"),
    [("json_native", "inspect-letter-terse-t0", 44), ("old_0.3.120", "inspect-old-terse-t0", 44),
     ("cancelled", "inspect-cancel", 19), ("error", "inspect-error", 15),
     ("json_small/cancelled", "inspect-cancel", 19), ("json_small/error", "inspect-error", 15)],
)  # fmt: skip
def test_small_runs_equal_the_wire(folder: str, tag: str, rows: int) -> None:
    mapped = MAPPED | {"model": "eval.model"}
    records = read_runs(OWN / "inspect" / folder, **mapped, score="letter_match")
    assert len(records) == rows
    assert adds_up(records)
    told = json.loads((OWN / "truth.json").read_text())["wire_cells"][tag]
    scored = records.frame[records.frame["score"].notna()]
    planned = records.frame[~records.frame["item"].str.startswith("zzz")]
    if folder in ("json_native", "old_0.3.120"):
        assert cells(planned) == told
    for key, cell in cells(scored[~scored["item"].str.startswith("zzz")]).items():
        assert told[key][0] == cell[0]


@needs_shared
def test_a_rerun_is_no_copy() -> None:
    paths = [OWN / "inspect" / "json_native", OWN / "inspect" / "old_0.3.120"]
    mapped = MAPPED | {"model": "eval.model"}
    with pytest.raises(PairingError, match="42 records repeat one"):
        read_runs(paths, **mapped, score="letter_match")
    runs = read_runs(paths, **mapped, score="letter_match", run=extract("source", r"^([^/]+)/"))
    assert len(runs) == 88


@needs_shared
def test_plain_client_logs_equal_the_wire() -> None:
    records = read_runs(
        OWN / "openai_full", model=extract("file", r"chat_json_([\w-]+)\."), family="family_id",
        variant="items.variant", answers=ps.AnswerFormat(), options="options", gold="gold",
        items=OWN / "bench" / "items.jsonl", planned=True, confidence_scale=SCALES,
    )  # fmt: skip
    truth = json.loads((OWN / "truth_full.json").read_text())
    assert len(records) == 540
    assert (records.frame["status"] != "error").sum() == 493
    for model, frame in records.frame.groupby("model", observed=True):
        told = truth[f"fault-full-{model}-json"]
        assert cells(frame) == told["cells"]
        assert (frame["status"] == "answered").sum() == told["parsed"]


def test_a_key_that_is_also_a_label_is_read_as_written(tmp_path: Path) -> None:
    # Of the options {"1": "2", "2": "4"} the key "1" means the text "2", which is another option's label.
    (tmp_path / "log.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "item": f"q{i}",
                    "model": "m",
                    "response": reply,
                    "gold": "1",
                    "options": {"1": "2", "2": "4"},
                }
            )
            + "\n"
            for i, reply in enumerate(['{"answer": "1"}', '{"answer": "2"}'])
        )
    )
    records = ps.read_runs(tmp_path, family="item", answers=ps.AnswerFormat(), options="options")
    assert records.frame["answer"].tolist() == ["2", "4"]
    assert records.frame["score"].tolist() == [1.0, 0.0]


# --- what a stranger found


def test_pipes_links_and_sockets_in_a_folder_are_told_not_opened(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "a.eval", sample())
    os.mkfifo(tmp_path / "runs" / "pipe.jsonl")
    (tmp_path / "runs" / "gone.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "runs" / "loop").symlink_to(tmp_path / "runs")
    ledger = read_runs(tmp_path / "runs", **FAMILY, progress=True).ledger.set_index("file")
    assert ledger["records"].to_dict() == {"a.eval": 1, "gone.csv": 0, "loop": 0, "pipe.jsonl": 0}
    assert ledger["note"].tolist()[1:] == [
        "not read (a broken link)", "not read (a link to a folder, which is not followed)",
        "not read (a pipe (FIFO))",
    ]  # fmt: skip
    assert len(read_runs(str(tmp_path / "runs" / "*"), **FAMILY)) == 1
    with pytest.raises(
        ReadError, match=r"must be a regular file, but is a pipe \(FIFO\)\. Write what it gives"
    ):
        read_runs(tmp_path / "runs" / "pipe.jsonl", **FAMILY)


@pytest.mark.parametrize("paths", ["", " ", [""], {"m": ""}])
def test_an_empty_path_is_not_the_whole_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: Any
) -> None:
    write(tmp_path / "a.eval", sample())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError, match=r"but is empty\. Write '\.' for this folder"):
        read_runs(paths, **FAMILY)
    assert len(read_runs(".", **FAMILY)) == 1


def test_a_repeated_key_says_what_tells_the_records_apart(tmp_path: Path) -> None:
    for system in ("terse", "2shot"):
        about = header()
        about["eval"] |= {"metadata": {"system": system}, "run_id": f"{system}9aZ0b1c2d3e4f5g6h7"}
        items = [sample(item, uuid=f"{system}{item}", text=system) for item in ("q1", "q2")]
        write_eval(tmp_path / f"{system}.eval", items, about)
    with pytest.raises(PairingError) as caught:
        read_runs(tmp_path, **FAMILY)
    message = str(caught.value)
    assert "They differ in 'eval.metadata.system' ('2shot', 'terse')" in message
    assert 'model="eval.metadata.system" would tell them apart' in message
    assert "run_id" not in message
    assert len(read_runs(tmp_path, **FAMILY, model="eval.metadata.system")) == 4


def test_records_that_differ_in_nothing_nameable_get_no_suggestion(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.eval", sample()), write(tmp_path / "b.eval", sample(uuid="other"))]
    with pytest.raises(PairingError, match=r"otherwise read one of them only\.$"):
        read_runs(paths, **FAMILY)


@pytest.mark.parametrize("name", ["parts.confidence", "value_parts.confidence", "score_parts.confidence"])
def test_names_that_the_package_prints_are_paths(tmp_path: Path, name: str) -> None:
    scores = {"parts": {"value": {"correct": 1, "confidence": 80}}}
    path = write(tmp_path / "a.eval", sample("q1", scores=scores), sample("q2", scores=scores))
    records = read_runs(
        path, **FAMILY, score="parts.correct", confidence=name, confidence_scale=100, extra={"stated": name}
    )
    assert records.frame["confidence"].tolist() == [0.8, 0.8]
    assert records.frame["stated"].tolist() == [80.0, 80.0]
    assert records.frame["value_parts.confidence"].tolist() == [80.0, 80.0]
    assert read_runs(path, **FAMILY, score="score_parts.correct").frame["score"].tolist() == [1.0, 1.0]
    with pytest.raises(
        PairingError, match=r"Did you mean 'parts.confidence'.*Scores: parts.correct, parts.conf"
    ):
        read_runs(path, **FAMILY, score="parts.correct", confidence="parts.confidenc")


def test_items_of_table_and_records_that_differ_in_white_space(tmp_path: Path) -> None:
    path = write(tmp_path / "a.eval", sample("q1"), sample("q2"))
    items = [{"item": "q1", "family": "f"}, {"item": "q2 ", "family": "f"}]
    with pytest.raises(PairingError, match="must be spelled in one way, but 'item' has 'q2' and 'q2 '"):
        read_runs(path, family="family", items=items)


def test_spelling_twins_are_refused_and_can_be_stripped(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,fam,model,score\nq1,f1,m,1\nq2,f1 ,m,0\n")
    with pytest.raises(SchemaError, match=r"has 'f1' and 'f1 ' in rows 0 \(a.csv:2\), 1 \(a.csv:3\)"):
        read_runs(path, family="fam")
    records = read_runs(path, family=extract("fam", r"^\s*(.*?)\s*$"))
    assert records.frame["family"].tolist() == ["f1", "f1"]


@needs_shared
def test_answered_replies_without_any_score_are_told() -> None:
    records = read_runs(
        OWN / "openai_full", model=extract("file", r"chat_json_([\w-]+)\."), family="family_id",
        variant="items.variant", items=OWN / "bench" / "items.jsonl",
    )  # fmt: skip
    answered = records.ledger["answered"].sum()
    assert (records.ledger["unscored"].sum(), answered) == (answered, 493)
    assert records.summary().endswith(
        "\n493 answered replies have no score: pass answers=ps.AnswerFormat(...) (needs gold), or name a score="
    )


def test_a_score_that_is_no_number_is_left_out_or_named(tmp_path: Path) -> None:
    rows = [sample("q1"), sample("q2")]
    rows[0]["metadata"]["grade"], rows[1]["metadata"]["grade"] = 1, "good"
    path = write(tmp_path / "a.eval", *rows)
    with pytest.raises(
        ReadError, match=r"'metadata.grade' of a.eval:q2_epoch_1.json must be a number, but is 'good'"
    ):
        read_runs(path, **FAMILY, score="metadata.grade")
    records = read_runs(path, **FAMILY, score="metadata.grade", keep_going=True)
    assert (records.frame["score"].tolist(), len(records.left_out)) == ([1.0], 1)


def documented_reader(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The reader that the README shows, as the module that its reader would write."""
    snippets = re.findall(r"```python\n(.+?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    [code] = [each for each in snippets if "READER" in each]
    (folder / "my_reader.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module("my_reader")


def test_the_documented_reader_reads_by_value_and_by_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = documented_reader(tmp_path, monkeypatch).READER
    log = tmp_path / "logs" / "calls.log"
    log.parent.mkdir()
    log.write_text("tally|m|f1-a|1|A\ntally|m|f1-b|0|TIMEOUT\ntally|m|f2-a|0|B\n")
    by_value = read_runs(log, family="meta.family", reader=reader)
    assert by_value.frame["family"].tolist() == ["f1", "f1", "f2"]
    assert by_value.frame["status"].tolist() == ["answered", "error", "answered"]
    assert by_value.table["score"].to_pylist() == [1.0, None, 0.0]
    point = importlib.metadata.EntryPoint("tally", "my_reader:READER", files.ENTRY_POINTS)
    monkeypatch.setattr(files.importlib.metadata, "entry_points", lambda group: [point])
    files.readers.cache_clear()
    try:
        assert read_runs(log.parent, family="meta.family").table.equals(by_value.table)
        assert read_runs(log, family="meta.family", reader="tally").table.equals(by_value.table)
    finally:
        files.readers.cache_clear()
    log.write_text(log.read_text() + "tally|m\n")
    with pytest.raises(ReadError, match=r"calls.log:4 must have 5 parts, but has 2"):
        read_runs(log, family="meta.family", reader=reader)
    left_out = read_runs(log, family="meta.family", reader=reader, keep_going=True).left_out
    assert left_out["reason"].tolist() == ["2 parts instead of 5"]


@pytest.mark.parametrize(
    ("value", "cause"), [("nowhere_at_all:READER", "must load, but does not"), ("json:dumps", "lacks 'name'")]
)
def test_a_broken_reader_of_another_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, cause: str
) -> None:
    path = write(tmp_path / "a.eval", sample())
    point = importlib.metadata.EntryPoint("tally", value, files.ENTRY_POINTS)
    monkeypatch.setattr(files.importlib.metadata, "entry_points", lambda group: [point])
    files.readers.cache_clear()
    try:
        with pytest.raises(PairstatsError, match=rf"{value}.*{cause}"):
            read_runs(path, **FAMILY)
    finally:
        files.readers.cache_clear()
    with pytest.raises(PairstatsError, match="but got the class"):
        read_runs(path, **FAMILY, reader=Words)  # type: ignore[arg-type]
