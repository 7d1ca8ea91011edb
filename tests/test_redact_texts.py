"""Redaction of texts: ids, short replies, reasons and notes; and that no statistic sees a difference."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import SHARED, needs_shared
from own_logs import LOGS, OWN
from own_logs import records as own_records

import pairstats as ps
from pairstats import cli
from pairstats.records.masks import EMAIL, KEYS
from pairstats.records.texts import core, digest, is_text, only_names_quoted, without_quotes
from pairstats.schema import IDS

ASKED = "What is the name of the patient John Smith of ward 7?"
SAID = "He is called John Smith, as you say yourself."


def rows(**columns: Any) -> ps.Records:
    """Two models, three items, without a text anywhere."""
    base: dict[str, Any] = {
        "family": ["f", "f", "g"] * 2, "item": ["q1", "q2", "q3"] * 2, "model": ["a"] * 3 + ["b"] * 3,
        "status": ["answered"] * 6, "score": [1.0, 0.0, 1.0, 0.0, 0.0, 1.0], "repeat": [0] * 3 + [1] * 3,
    }  # fmt: skip
    return ps.Records.from_frame(pd.DataFrame({**base, **columns}))


def everything(records: ps.Records, folder: Path) -> str:
    """All that a saved file holds, and all that is told of it."""
    path = records.save(folder / "r.parquet")
    table = pq.read_table(path)
    metadata = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    return json.dumps([table.column_names, table.to_pylist(), metadata], default=str) + records.summary()


@pytest.mark.parametrize(
    "name", [*(n for n in IDS if n != "outcome"), "outcome", "answer", "gold", "reason", "note"]
)
def test_a_text_is_digested_in_every_column(tmp_path: Path, name: str) -> None:
    texts = [ASKED, ASKED + "?", "short"] * 2
    extra = {"item": texts} if name in ("family", "item") else {}
    whole = rows(**{**extra, name: texts, "source": [f"a.jsonl:{text}" for text in texts]})
    safe = ps.redact_records(whole)
    assert safe.frame[name].tolist()[:3] == [digest(ASKED), digest(ASKED + "?"), "short"]
    assert safe.frame[name].tolist()[3:] == safe.frame[name].tolist()[:3]
    assert "John" not in everything(safe, tmp_path)
    assert safe.redactions.set_index("column").loc[name, "what"] == "digest"
    assert ps.redact_records(safe).table.equals(safe.table), "a second time changes nothing"


def test_a_name_of_many_items_stays() -> None:
    title = "Reasoning about colored objects, part 2"
    many = {"family": [f"f{n}" for n in range(12)], "item": [f"q{n}" for n in range(12)], "model": ["m"] * 12}
    whole = {
        **many,
        "status": ["answered"] * 12,
        "category": [title] * 10 + [ASKED] * 2,
        "study": [title] * 12,
    }
    frame = ps.redact_records(ps.Records.from_frame(whole)).frame
    assert frame["category"].tolist() == [title] * 10 + [digest(ASKED)] * 2, (
        "what two items share may be their text"
    )
    assert set(frame["study"]) == {title}
    long = ps.redact_records(ps.Records.from_frame({**whole, "study": ["x y" * 100] * 12}))
    assert set(long.frame["study"]) == {digest("x y" * 100)}


def test_a_name_of_a_column_is_no_text_either() -> None:
    safe = ps.redact_records(rows(**{f"score_{ASKED}": 1.0, ASKED: 3}))
    assert {f"score_{digest(ASKED)}", digest(ASKED)} <= set(safe.table.column_names), "a score stays one"


@pytest.mark.parametrize(
    "value",
    ["paired_item-run_param_id_cmp01-distractor_smollm2-2shot-t1.run.json", "a" * 64, "[e-mail 1]/rul01-reordered",
     "helm:model=openai_gpt2,data_augmentation=robustness", "What is this, please?", digest(ASKED)],
)  # fmt: skip
def test_ids_are_no_texts(value: str) -> None:
    assert not is_text(value)


@pytest.mark.parametrize(
    "value", [ASKED, "我的名字是安" * 5, "x" * 129, "two\nlines of a prompt, or three", "é" * 30]
)
def test_texts_are(value: str) -> None:
    assert is_text(value)


def test_an_answer_that_is_its_reply_is_digested_unless_it_is_a_label() -> None:
    said = ["Olive.", "yes", "A", " 18", "John Smith", "In 1921"]
    whole = rows(
        item=["q1", "q2", "q3", "q4", "q5", "q6"], family=list("abcdef"),
        response=[" olive ", "Yes.", "(A)", "18", "John Smith\n", "It was in 1921"],
        answer=said, gold=["Olive", "no", "B", "17", "jane doe", "yes"], note=["olive", "n"] * 3,
    )  # fmt: skip
    frame = ps.redact_records(whole).frame
    # "yes" is the key of another item; "In 1921" was taken out of a longer reply.
    assert frame["answer"].tolist() == [digest("Olive."), "yes", "A", " 18", digest("John Smith"), "In 1921"]
    assert frame["gold"].tolist() == [digest("Olive"), "no", "B", "17", "jane doe", "yes"]
    assert frame["note"].tolist() == [digest("olive"), "n"] * 3, "one text is hidden wherever it stands"


def test_core() -> None:
    assert core(' "Yes!"\n') == core("yes")
    assert core("-1") != core("1")


def test_reasons_do_not_quote(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    lines = [
        {"item": ASKED, "model": "m", "score": 1, "response": SAID},
        {"item": "q2", "model": "m", "score": "John Smith has cancer", "response": SAID},
        {"item": "q3", "model": "m", "score": "John's cancer", "response": SAID},
    ]
    log.write_text("\n".join(map(json.dumps, lines)))
    whole = ps.read_runs(log, family="item", keep_going=True)
    assert "John" in str(whole.left_out.values.tolist())
    safe = ps.redact_records(whole)
    assert "John" not in everything(safe, tmp_path)
    assert safe.left_out["source"].tolist() == ["a.jsonl:2", "a.jsonl:3"]
    assert safe.left_out["reason"].str.endswith("…").all()
    assert safe.ledger["left_out_reasons"][0] == f"2 {safe.left_out['reason'][0]}"
    total = safe.ledger[["records", "rows", "left_out", "merged"]].sum()
    assert total["records"] == total["rows"] + total["left_out"] + total["merged"] == 3


def test_a_record_that_is_named_by_a_text_is_not_called_by_it(tmp_path: Path) -> None:
    """Inspect's archive names a sample's file by its id, and so do sources and reasons."""
    log = tmp_path / "a.eval"
    about = {"task_id": "t", "run_id": "r", "model": "m", "dataset": {"sample_ids": [ASKED, "q2"]}}
    head = {"version": 2, "status": "success", "eval": {"task": "t", "config": {"epochs": 1}, **about}}
    sample = {"id": ASKED, "epoch": 1, "target": "x", "scores": {"s": {"value": "C", "answer": "x"}}}
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("header.json", json.dumps(head))
        archive.writestr("samples/q2_epoch_1.json", json.dumps({**sample, "id": "q2"}))
        archive.writestr(f"samples/{ASKED}_epoch_1.json", json.dumps(sample))
    content = bytearray(log.read_bytes())
    content[content.find(b'"target"', content.find(f"samples/{ASKED}".encode()))] ^= 1
    log.write_bytes(bytes(content))
    whole = ps.read_runs(log, family="item", keep_going=True)
    assert "John" in str(whole.left_out.values.tolist())
    assert "John" not in everything(ps.redact_records(whole), tmp_path)


def test_a_ledger_with_gaps_is_no_fault() -> None:
    whole = rows()
    gaps = whole.ledger.assign(note=None, reasons=float("nan"))
    safe = ps.redact_records(ps.Records(whole.table, gaps, whole.left_out))
    assert safe.redactions.empty
    assert safe.ledger[["note", "reasons"]].iloc[0].tolist() == ["", ""]


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("score must be a number, but is 'John's", "score must be a number, but is …"),
        ("does not have the shape of a run (KeyError: 3)", "does not have the shape of a run …"),
        ("is {'a': 1}", "is …"), ("is ['a']", "is …"), ("the platform's own", "the platform's own"),
        ("401 for [e-mail 4]", "401 for [e-mail 4]"), ("other filter: maj3", "other filter: maj3"), ("", ""),
    ],
)  # fmt: skip
def test_where_a_message_begins_to_quote(message: str, left: str) -> None:
    assert without_quotes(message) == left


@pytest.mark.parametrize(
    ("note", "left"),
    [
        ("exclude 'zzz*' fits no item; further: 'my score', 'b'", "exclude 'zzz*' fits no item; further: '…', 'b'"),
        ("confidence on two scales: 3 above 1", "confidence on two scales: 3 above 1"),
        ('its model is "it\'s John Smith", so', "its model is '…', so"),
        ("it is 'John Smith, a cut te", "it is …"), ("the platform's 'a' and 'b'", "the platform's 'a' and 'b'"),
    ],
)  # fmt: skip
def test_notes_quote_names_only(note: str, left: str) -> None:
    assert only_names_quoted(note) == left


def test_what_the_command_prints_as_json_holds_none_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, out = tmp_path / "a.jsonl", tmp_path / "r.parquet"
    lines = [
        {"id": ASKED, "m": "m", "score": s, "response": SAID, "answer": SAID}
        for s in (1, "John Smith is ill")
    ]
    log.write_text("\n".join(map(json.dumps, lines)))
    words = [
        "--model",
        "m",
        "--item",
        "id",
        "--family",
        "item",
        "--redact",
        "--keep-going",
        "--json",
        "-o",
        str(out),
    ]
    assert cli.main(["normalize", str(log), *words]) == 1
    assert "John" not in capsys.readouterr().out
    assert b"John" not in out.read_bytes()
    cli.main(["check", str(out), "--json"])
    assert "John" not in capsys.readouterr().out


def same(one: Any, two: Any) -> bool:
    columns = [name for name in one.frame if name not in ("note", "provenance")]
    return bool(one.frame[columns].equals(two.frame[columns]))


def equal_statistics(whole: ps.Records) -> ps.Records:
    """Redact records, and compare flips, classes, scores and what answers and keys have in common."""
    safe = ps.redact_records(whole)
    old, new = whole.frame, safe.frame
    pairs = [pd.concat([frame["answer"], frame["gold"]]) for frame in (old, new)]
    for before, after in ((old["item"], new["item"]), (old["family"], new["family"]), pairs):
        assert (pd.factorize(before)[0] == pd.factorize(after)[0]).all()
    assert safe.counts().equals(whole.counts())
    one, two = (ps.Panel(each, cells=("model",)) for each in (whole, safe))
    for estimand in (ps.Mean("score"), ps.FlipRate("answer")):
        assert same(ps.estimate(one, estimand), ps.estimate(two, estimand))
    if set(old["score"].dropna()) <= {0.0, 1.0}:
        assert same(ps.flip_table(one), ps.flip_table(two))
    if old["answer"].notna().any() and old["model"].nunique() > 1:
        assert sorted(classes_of(one)) == sorted(classes_of(two))
    return safe


def classes_of(panel: ps.Panel) -> list[list[Any]]:
    """Tests and shares of the answers as classes, without the names of the classes."""
    frame = ps.classes(panel, "answer").frame
    return frame[["estimate", "conf_low", "conf_high", "p_value", "n_missing"]].fillna(-9).to_numpy().tolist()


@needs_shared
@pytest.mark.parametrize("name", LOGS)
def test_no_statistic_of_our_own_logs_sees_a_difference(name: str) -> None:
    equal_statistics(own_records(name))


def test_no_statistic_of_short_free_answers_sees_a_difference() -> None:
    """Replies that are the answer, that hold it, and that spell it in another way; keys beside them."""
    rng = random.Random(11)
    names = [
        "Olive",
        "Olive.",
        "olive",
        "John Smith",
        "yes",
        "no",
        "17",
        "A",
        "a tree of the olive family, I think",
    ]
    lines = []
    for item in range(14):  # so few that the test of the classes is exact: draws would depend on their names
        for model in ("a", "b"):
            for variant in ("base", "moved"):
                answer, gold = rng.choice(names), names[item % len(names)]
                lines.append({
                    "family": f"f{item}", "item": f"q{item}", "model": model, "variant": variant,
                    "answer": answer, "status": "answered", "gold": gold, "score": float(answer == gold),
                    "response": rng.choice(["{}", " {}\n", "It is {}", "**{}**"]).format(answer),
                })  # fmt: skip
    safe = equal_statistics(ps.Records.from_frame(pd.DataFrame(lines)))
    assert {"yes", "no", "17", "A"} < set(safe.frame["answer"])
    assert not set(safe.frame["answer"]) & {"John Smith", names[-1]}


def strings(value: Any) -> list[str]:
    """Every text of a document."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in strings(each)]


@needs_shared
@pytest.mark.parametrize("name", LOGS)
def test_no_part_of_what_was_asked_or_said_in_our_own_logs_is_left(tmp_path: Path, name: str) -> None:
    whole = own_records(name)
    bench = [json.loads(line) for line in (OWN / "bench/items.jsonl").read_text().splitlines()]
    replies = [text for text in whole.frame["response"] if isinstance(text, str)]
    source = {
        text[i : i + 30] for text in [*strings(bench), *replies] if " " in text for i in range(len(text) - 29)
    }
    found = everything(ps.redact_records(whole), tmp_path)
    assert not {found[i : i + 30] for i in range(len(found) - 29)} & source
    assert not EMAIL.search(found)
    assert not any(pattern.search(found) for pattern in KEYS)


@needs_shared
def test_a_completion_is_no_answer_to_share() -> None:
    """HELM's canonical answer is the whole completion: `Olive.` among others."""
    folder = next((SHARED / "samples/helm/real").glob("narrative_qa*"))
    whole = ps.read_runs(folder, family="item", score="exact_match")
    safe = ps.redact_records(whole).frame
    assert "Olive." in set(whole.frame["answer"])
    assert safe["answer"].dropna().str.startswith("sha256:").all()
