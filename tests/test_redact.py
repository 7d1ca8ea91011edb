"""Records that may be shared: nothing that was said or asked, no key and no address, and all of it counted."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from conftest import ROOT

import pairstats as ps
from pairstats import cli
from pairstats.errors import PairstatsError
from pairstats.records.masks import EMAIL, Mask

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
    "run_hf_meta-llama-3-8b_instruct", "the token count is high", "Ask: how many?", "max_tokens",
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
    if name in ("openai", "github", "huggingface", "aws", "google"):
        assert Mask()(f"of_{SECRETS[name]}", Counter()) == "of_[key 1]"
    assert found == {"key": 1}


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_none_stays(text: str) -> None:
    found: Counter[str] = Counter()
    assert Mask()(text, found) == text
    assert not found


NAMED = {
    "OPENAI_API_KEY=abcdefgh12345678": "OPENAI_[key 1]",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "AWS_[key 1]",
    "client_secret=abcdefgh12345678": "client_[key 1]",
    "clientSecret: 'abcdefgh12345678'": "client[key 1]",
    "SECRET_KEY_BASE=abcdefgh12345678": "[key 1]",
    "AccountKey=abcdefghijklmnopqrstuvwxyz0123456789+/abc==;Endpoint=a": "[key 1];Endpoint=a",
    "AZURE_KEY=0123456789abcdef0123456789abcdef": "AZURE_[key 1]",
    "MISTRAL_KEY: ABCDEFGH1234567890ABCDEFGH123456": "MISTRAL_[key 1]",
    "key=4e8045cb-ea12-4b31-90a3-0a5c8bcbf21c": "[key 1]",
    "HF_TOKEN=abcdefgh12345678": "[key 1]",
    "my_token=abcdefgh12345678": "my_[key 1]",
    '{"x-api-key": "abcdefgh12345678"}': '{"x-[key 1]}',
    r"{\"api_key\": \"abcdefgh12345678\"}": r"{\"[key 1]}",
    "api_key is abcdefgh12345678": "[key 1]",
    "Incorrect API key provided: abcd1234efgh. See": "Incorrect [key 1] See",
    "run --api-key abcdefgh12345678 now": "run [key 1] now",
    "password: пароль7секрет": "[key 1]",
    "secret=秘密秘密秘密秘密秘密": "[key 1]",
    "PGPASSWORD=tiger": "PG[key 1]",
    'password="two words of it", then': "[key 1], then",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==": "[key 1]",
    "basic dXNlcjpwYXNzd29yZA==": "[key 1]",
    "Authorization: Token abcdefgh12345678": "[key 1]",
    "postgres://user:s3cretpass@localhost/db": "postgres://[key 1]@localhost/db",
    "https://ann:p@ss@db.example.org:80/x": "https://[key 1]@db.example.org:80/x",
    "https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/abcdefghijklmnopqrstuvwx": "https://[key 1]",
    "https://discord.com/api/webhooks/123/abcDEF-g": "https://[key 1]",
    "of_ya29.a0AfH6SMBabcdefghijklmnop": "of_[key 1]",
    "of_GOCSPX-abcdefghijklmnopqrstuvwx": "of_[key 1]",
    "ABCDEFGH1234567890ABCDEFGH123456": "[key 1]",
}


@pytest.mark.parametrize("text", NAMED)
def test_what_stands_behind_a_word_for_a_secret_is_masked(text: str) -> None:
    found: Counter[str] = Counter()
    mask = Mask()
    assert mask(text, found) == NAMED[text]
    assert found == {"key": 1}
    assert mask(NAMED[text], found) == NAMED[text], "a second time changes nothing"


def test_masks_behind_a_word_are_not_masked_again() -> None:
    mask = Mask()
    once = [mask(f"api_key=\"sk-{n:016}\" password='sk-{n:016}'", Counter()) for n in range(12)]
    assert once[11] == "api_key=\"[key 12]\" password='[key 12]'"
    assert [mask(text, Counter()) for text in once] == once


ORDINARY = (
    "gsm8k-test-0017", "key: gsm8k-test-0017", "key=mmlu_abstract_algebra/test/0017", "the answer key is B",
    "sort_key=(family, item)", "prompt_sha256=" + "0123456789abcdef" * 4, "token_hash: " + "ab12" * 8,
    "key_sha256=" + "0123456789abcdef" * 4, "0123456789ABCDEF" * 2, "max_tokens=1024000000", "tokens: 123456789",
    "cost_per_token=0.00000125", "token: 123456789", "eos_token=<|endoftext|>", "pad_token: </padding>",
    "next_token=Hamburg", "api_key=<your_api_key>", "password=None", "the password is incorrect",
    "the token is invalid", "the secret is perseverance", "Basic understanding of internationalization",
    "meta-llama/Llama-3.1-70B-Instruct", "claude-sonnet-4-5-20250929", "openai/gpt-4o-2024-08-06",
    "http://localhost:8000/v1/chat/completions", "https://example.org:80/a?b=c@d", "s3://bucket/run:3/a.jsonl",
    "401 Unauthorized: no authorization", "monkey: 3", "value_answer", "score_exact_match,strict-match",
    "1234567890" * 5, "-0.12345678901234567", "[key 1]: gsm8k", "secretary: Hamburg", "keys: abcdefgh12345678abcd",
)  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_texts_stay(text: str) -> None:
    assert Mask()(text, Counter()) == text


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
        "redacted: 5 replies or prompts dropped, 2 texts replaced by a digest, 1 key masked, "
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


ADDRESSES = (
    "ann@example.org", "o'brien@example.co.uk", "jörg.müller@example.de", "ann@bücher.example", "用户@例子.公司",
    "उदाहरण@उदाहरण.भारत", "ann@xn--bcher-kva.xn--p1ai", "ann＠example．org", '"ann lee"@example.org',
    "ann%40example.org", r"j\u00f6rg@example.de", r"ann@b\u00fccher.de", "ann@[192.168.0.1]", "почта@пример.рф",
)  # fmt: skip
NO_ADDRESSES = ("user @ home", "3@5", "日本@東京", "pass@1.5", "numpy@2.1.0", "100%", "«a»@«b».«cd»")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "around", ["{}", "to <{}>, at once", "runs/{}/a.jsonl:3", '{{"mail": "{}"}}', "mail={}."]
)
def test_addresses_of_any_script_leave_no_rest(address: str, around: str) -> None:
    found: Counter[str] = Counter()
    assert Mask()(around.format(address), found) == around.format("[e-mail 1]")
    assert found == {"e-mail": 1}


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_no_address_stays(text: str) -> None:
    assert Mask()(text, Counter()) == text


@pytest.mark.parametrize(
    "part",
    [
        "a",
        "a.",
        ".-",
        "a@",
        "a@b.",
        r"\\u0041",
        '"a',
        "a%40b",
        "字",
        "a@b-",
        "score_",
        "value_a",
        "eyJ-",
        "key=",
        "key:a1",
        "api key is ",
        "key ",
        "password=",
        'secret="',
        "token: '",
        "--",
        "--key ",
        "basic ",
        "bearer ",
        "://",
        "://a:",
        "a1",
        "authorization: a ",
        "hooks.slack.com/services/",
        "-----BEGIN ",
        "[key 1]",
        "token=[",
        "_a",
    ],
)
def test_long_texts_take_no_square_of_their_length(part: str) -> None:
    started = time.process_time()
    Mask()(part * (100_000 // len(part)), Counter())
    assert time.process_time() - started < 20  # a square would take minutes


@pytest.mark.parametrize(
    "start", ["key", "key is", "secret is:", "password=", "authorization: a", "basic", '"key"', "://"]
)
@pytest.mark.parametrize("rest", [" ", "a1"])
def test_long_rests_take_no_square_of_their_length(start: str, rest: str) -> None:
    started = time.process_time()
    Mask()(start + rest * (100_000 // len(rest)), Counter())
    assert time.process_time() - started < 20  # a square would take minutes


def test_bytes_and_nested_values_are_dropped_and_counted() -> None:
    secret = SECRETS["openai"]
    table = pa.Table.from_pandas(pd.DataFrame(ROWS), preserve_index=False)
    deep = [{"user": {"mail": [secret]}}, None, {"user": {"mail": []}}]
    columns = {
        "blob": pa.array([secret.encode(), None, b""]), "large": pa.array([secret.encode()] * 3, pa.large_binary()),
        "fixed": pa.array([b"abcd", None, None], pa.binary(4)), "meta": pa.array(deep),
        "pairs": pa.array([[("k", secret)], None, []], pa.map_(pa.string(), pa.string())),
        "view": pa.array([secret, "b", None], pa.string_view()), "when": pa.array([1, 2, None], pa.timestamp("s")),
    }  # fmt: skip
    for name, column in columns.items():
        table = table.append_column(name, column)
    safe = ps.redact_records(ps.Records.from_frame(table))
    assert secret not in str(safe.table.to_pylist()) + str(safe.table.schema)
    assert not {"blob", "large", "fixed", "meta", "pairs"} & set(safe.table.column_names)
    assert safe.table.column("when").to_pylist() == table.column("when").to_pylist()
    done = {(row["column"], row["what"]): row["values"] for row in safe.redactions.to_dict("records")}
    assert [done[name, "binary"] for name in ("blob", "large", "fixed")] == [2, 3, 1]
    assert (done["meta", "dropped"], done["pairs", "dropped"], done["view", "key"]) == (2, 2, 1)
    assert "6 binary values dropped" in safe.summary()


def test_names_of_columns_are_masked_too() -> None:
    dirty = pd.DataFrame(ROWS).assign(
        **{"n_of ann@example.org": 1, "score_ann@example.org": 1.0,
           "note by bob@example.org": "x", "prompt of eve@example.org": "y",
           f"n_{SECRETS['github']}": 3}
    )  # fmt: skip
    safe = ps.redact_records(ps.Records.from_frame(dirty))
    texts = str([safe.table.to_pylist(), safe.ledger.values.tolist(), safe.redactions.values.tolist()])
    assert not EMAIL.search(texts)
    assert "ghp_" not in texts
    number = safe.table.column("item").to_pylist()[0]
    assert safe.table.column(f"n_of {number}").to_pylist() == [1, 1, 1], "one person keeps one mask"
    assert safe.table.column(f"score_{number}").to_pylist() == [1.0] * 3, "a score stays one"
    assert ["note by [e-mail 2]", "e-mail", 1] in safe.redactions.values.tolist()


@pytest.mark.parametrize("column", ["model", "variant", "item", "note"])
@pytest.mark.parametrize("mask", ["[e-mail 1]", "[e-mail 2] and [e-mail 1]", f"[e-mail {'9' * 100}]"])
def test_a_text_that_looks_like_a_mask_stays_and_is_no_ones(column: str, mask: str) -> None:
    rows = {
        "family": ["f", "f"], "item": ["q", "q"], "model": ["m", "m"], "status": "answered", "note": ["a", "b"],
        "score": [1.0, 0.0], "variant": ["u", "v"],
    }  # fmt: skip
    rows[column] = ["ann@example.org", mask]
    safe = ps.redact_records(ps.Records.from_frame(pd.DataFrame(rows)))
    masks = safe.frame[column].tolist()
    assert masks[1] == mask
    assert masks[0] not in mask
    assert ps.redact_records(safe).frame[column].tolist() == masks, "a second time changes nothing"


def test_masks_of_the_ledger_and_of_records_left_out_are_given_to_no_one_else() -> None:
    whole = records()
    left_out = pd.DataFrame({"source": ["a.jsonl:9"], "reason": ["401 for [e-mail 2]"]})
    told = ps.Records(whole.table, whole.ledger.assign(note="of [e-mail 1]"), left_out)
    assert ps.redact_records(told).frame["item"].tolist() == ["[e-mail 3]", "[e-mail 4]", "[e-mail 3]"]


SAID = (
    "resps", "filtered_resps", "generated_text", "prediction", "predicted_text", "content", "text", "query", "chat",
    "output_text", "rationale", "solution", "doc", "explanation", "arguments", "pred", "answer_text", "raw_output",
    "doc.body", "outputText.0", "choices[0].text", "sample/query", "value_prediction", "Content", "docs",
    "prompt_hash", "prompt_sha256", "message_id", "prompt_tokens",
)  # fmt: skip


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("text", ["My name is Ann.", "我的名字是安"])
def test_short_texts_in_columns_for_replies_are_dropped(name: str, text: str) -> None:
    safe = ps.redact_records(ps.Records.from_frame(pd.DataFrame(ROWS).assign(**{name: [text, None, text]})))
    assert name not in safe.table.column_names
    assert text not in str(safe.table.to_pylist())
    assert [name, "dropped", 2] in safe.redactions.values.tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prompt_hash", "0123456789abcdef" * 4), ("prompt_hash", "sha256:" + "ab12" * 8),
        ("prompt_hash", "-123456"), ("prompt_hash", "aB3+/" * 8 + "=="), ("doc_id", "gsm8k-test-0017"),
        ("doc.id", "17"), ("prompt_tokens", "12"), ("request_id", "chatcmpl-4e8045cb-ea12-4b31"),
        ("message_id", "[e-mail 7]/1"), ("docker", "python 3"), ("chatbot", "m 1"), ("textbook", "b 1"),
        ("note", "short note"), ("predicate", "is a"), ("prediction", 0.5), ("text_length", 12),
        ("score_text", 1.0),
    ],
)  # fmt: skip
def test_what_holds_no_reply_stays(name: str, value: Any) -> None:
    safe = ps.redact_records(ps.Records.from_frame(pd.DataFrame(ROWS).assign(**{name: [value] * 3})))
    assert safe.table.column(name).to_pylist() == [value] * 3


def test_one_address_has_one_mask_whatever_readers_put_before_it() -> None:
    names = ["eve@x.org", "value_eve@x.org", "score_eve@x.org", "value_score_eve@x.org"]
    whole = ps.Records.from_frame(pd.DataFrame(ROWS).assign(**dict.fromkeys(names, 1.0)))
    told = ps.Records(whole.table, whole.ledger.assign(note="'value_eve@x.org' is no score"), whole.left_out)
    safe = ps.redact_records(told)
    number = next(name for name in safe.table.column_names if name.startswith("[e-mail"))
    assert {number, f"value_{number}", f"score_{number}", f"value_score_{number}"} <= set(
        safe.table.column_names
    )
    assert safe.ledger["note"][0] == f"'value_{number}' is no score"
