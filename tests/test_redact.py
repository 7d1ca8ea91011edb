"""Records that may be shared: nothing that was said or asked, no key and no address, and all of it counted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT

import pairstats as ps
from pairstats import cli
from pairstats.errors import PairstatsError
from pairstats.redact import EMAIL, Mask

RAW = ROOT / "records/rule_conflicts/raw/inspect"
SECRETS = {
    "openai": "sk-proj-" + "aB3" * 12,
    "anthropic": "sk-ant-api03-" + "x9Y_" * 8,
    "github": "ghp_" + "Ab1" * 12,
    "huggingface": "hf_" + "qW2e" * 8,
    "aws": "AKIA" + "ABCDEFGHIJ234567",
    "google": "AIza" + "Sy9-" * 9,
    "slack": "xoxb-" + "123456789012-abcdef",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "bearer": "Bearer abcdefghijklmnop1234",
    "named": 'api_key="hunter2hunter2"',
    "unbroken": "aZ9" * 12,
    "private": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
}
PLAIN = (
    "2026-11-29T20-11-04-00-00_paired-rules_Cw993fvk2Fwp46f7hoocAS.eval:rul01-base_epoch_1.json",
    "runs/gsm8k_openai_wide/Results2026/samples_gsm100.jsonl:12", "org/model-v1.5-20260401", "skip-level_meeting-2",
    "a" * 64, "0123456789abcdef" * 4, "user @ home", "3@5", "chatcmpl-4e8045cb-ea12-4b31-90a3-0a5c8bcbf21c",
    "the token count is high", "Ask: how many?", "max_tokens",
)  # fmt: skip
ROWS: dict[str, list[Any]] = {
    "family": ["f1", "f1", "f2"],
    "item": ["ann@example.org", "bob@example.org", "ann@example.org"],
    "model": ["m", "m", "m"],
    "status": ["answered", "answered", "error"],
    "reason": [None, None, "auth sk-" + "a1" * 12],
    "answer": ["A", "x" * 250, None],
    "gold": ["A", "x" * 250, None],
    "score": [1.0, 1.0, None],
    "response": ["My key is secret", "x" * 250, None],
    "prompt": ["What?", "Why?", None],
    "note": ["mail Ann@Example.org", "short", None],
    "essay": ["y" * 300, None, None],
    "attempts": [1, 2, 1],
    "prompt_sha256": ["ab" * 32, "cd" * 32, None],
    "source": ["a.jsonl:1", "a.jsonl:2", "a.jsonl:3"],
}


def records() -> ps.Records:
    return ps.Records.from_frame(pd.DataFrame(ROWS))


@pytest.mark.parametrize("name", SECRETS)
def test_what_looks_like_a_key_is_masked(name: str) -> None:
    found: Counter[str] = Counter()
    masked = Mask()(f"before {SECRETS[name]} after", found)
    assert masked == "before [key 1] after"
    assert found == {"key": 1}


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_none_stays(text: str) -> None:
    found: Counter[str] = Counter()
    assert Mask()(text, found) == text
    assert not found


def test_columns_and_counts() -> None:
    safe = ps.redact_records(records())
    rows = safe.table.to_pylist()
    assert {row["response"] for row in rows} == {None}
    assert not {"prompt", "essay"} & set(safe.table.column_names)
    assert [row["item"] for row in rows] == ["[e-mail 1]", "[e-mail 2]", "[e-mail 1]"]
    assert rows[2]["reason"] == "auth [key 1]"
    assert rows[0]["note"] == "mail [e-mail 3]"
    assert rows[1]["answer"] == rows[1]["gold"]
    assert rows[1]["answer"].startswith("sha256:")
    kept = ("family", "score", "attempts", "prompt_sha256", "source", "status")
    assert [[row[name] for name in kept] for row in rows] == [
        list(r) for r in zip(*(ROWS[n] for n in kept), strict=True)
    ]
    assert safe.redactions.values.tolist() == [
        ["item", "e-mail", 3], ["reason", "key", 1], ["answer", "digest", 1], ["gold", "digest", 1],
        ["response", "dropped", 2], ["prompt", "dropped", 2], ["note", "e-mail", 1], ["essay", "dropped", 1],
    ]  # fmt: skip
    assert safe.summary().endswith(
        "redacted: 5 replies or prompts dropped, 2 long answers replaced by a digest, 1 key masked, "
        "4 e-mail addresses masked"
    )


def test_ledger_and_left_out_are_cleaned_and_say_so() -> None:
    whole = records()
    left_out = pd.DataFrame({"source": ["a.jsonl:9"], "reason": ["401 for eve@example.org"]})
    dirty = ps.Records(whole.table, whole.ledger.assign(note=f"asked with {SECRETS['openai']}"), left_out)
    safe = ps.redact_records(dirty)
    assert safe.ledger["note"][0] == "asked with [key 2]"
    assert safe.left_out["reason"].tolist() == ["401 for [e-mail 4]"]
    assert safe.ledger["reader"].tolist() == ["frame", "redact"]
    assert safe.ledger["note"][1].startswith("redacted: 5 replies or prompts dropped")
    total = safe.ledger[["records", "rows", "left_out", "merged"]].sum()
    assert total["records"] == total["rows"] + total["left_out"] + total["merged"] == 3


def test_nothing_to_take_out_is_said() -> None:
    bare = ps.Records.from_frame({"family": ["f"], "item": ["q"], "model": ["m"], "status": ["answered"]})
    assert ps.redact_records(bare).summary().endswith("redacted: there was nothing to take out")


def test_the_original_is_left_alone() -> None:
    whole = records()
    before = whole.table.to_pylist()
    ps.redact_records(whole)
    assert whole.table.to_pylist() == before


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_saved_file_holds_no_byte_of_it(tmp_path: Path, suffix: str) -> None:
    path = records().save(tmp_path / f"r{suffix}", redact=True)
    again = ps.load_records(path)
    assert again.frame["response"].isna().all()
    texts = str([again.table.to_pylist(), again.table.schema.metadata, again.ledger.values.tolist()])
    assert not EMAIL.search(texts)
    for said in ("My key is secret", "What?", "a1a1a1", "xxxx", "yyyy"):
        assert said not in texts
    if suffix == ".csv":
        assert "example.org" not in path.read_text()


def test_estimates_are_the_same_after() -> None:
    whole = ps.read_runs(
        RAW, model="eval.metadata.system", family="metadata.family_id", variant="metadata.variant",
        score="letter_match",
    )  # fmt: skip
    safe = ps.redact_records(whole)
    assert int(safe.redactions.set_index("column").loc["response", "values"]) == 1080
    for estimand in (ps.Mean("score"), ps.FlipRate("answer")):
        one, two = (ps.estimate(ps.Panel(each, cells=("model",)), estimand).frame for each in (whole, safe))
        columns = ["model", "estimate", "conf_low", "conf_high", "n_units"]
        assert one[columns].values.tolist() == two[columns].values.tolist()


def test_exchange_format_without_what_was_said(tmp_path: Path) -> None:
    files = ps.to_every_eval_ever(records(), tmp_path, redact=True)
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert [line["output"]["raw"] for line in lines] == [[]] * 3
    assert [line["sample_id"] for line in lines] == ["[e-mail 1]", "[e-mail 2]", "[e-mail 1]"]
    text = "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())
    assert not EMAIL.search(text)
    assert "My key is secret" not in text
    with pytest.raises(PairstatsError, match="`redact` drops prompts"):
        ps.to_every_eval_ever(records(), tmp_path, prompt="prompt", redact=True)


def test_command_tells_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.jsonl"
    row = {
        "item": "q1",
        "model": "m",
        "score": 1,
        "response": "It is four, says ann@example.org",
        "answer": "4",
    }
    log.write_text(json.dumps(row) + "\n")
    out = tmp_path / "r.parquet"
    assert cli.main(["normalize", str(log), "--family", "item", "--redact", "-o", str(out)]) == 0
    assert "redacted: 1 reply or prompt dropped" in capsys.readouterr().out
    assert b"It is four" not in out.read_bytes()
    assert ps.load_records(out).table.column("response").null_count == 1


def test_ids_are_masked_too_and_numbers_in_use_are_not_given_again() -> None:
    rows = {
        "family": ["f", "g"], "item": ["[e-mail 1]", "bob@example.org"], "model": "m", "status": "answered",
        "score": [1.0, 0.0], "user_id": ["ann@example.org", "a" * 16 + "0" * 48],
    }  # fmt: skip
    frame = ps.redact_records(ps.Records.from_frame(pd.DataFrame(rows))).frame
    assert frame["user_id"].tolist()[1] == rows["user_id"][1], "a digest is no key"
    masks = [*frame["item"], frame["user_id"][0]]
    assert masks[0] == "[e-mail 1]"
    assert len(set(masks)) == 3, "three different people stay three"
