"""lm-evaluation-harness samples files."""

from __future__ import annotations

import json
import math
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers import written as writing
from pairstats.readers.base import Declined, Recognized, RunFile
from pairstats.readers.lm_eval import OWN_FAMILY, READER
from pairstats.readers.prompts import identified

SAMPLES = SHARED / "samples"
TIME = "2026-01-02T03-04-05.678"
NAME = f"samples_task_{TIME}.jsonl"
Json = dict[str, Any]


def generated(doc_id: int, *replies: str, name: str | None = "none", **more: Any) -> Json:
    """One line of a generating task; its score is that of the filter."""
    line = {
        "doc_id": doc_id, "doc": {"id": f"q{doc_id}"}, "target": "A", "resps": [list(replies)],
        "filtered_resps": [replies[0][:1]], "filter": name, "metrics": ["exact_match"],
        "doc_hash": f"h{doc_id}",
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": ["\n"]}}}, "exact_match": 1.0, **more,
    }  # fmt: skip
    return {key: value for key, value in line.items() if value is not None}


def chosen(*values: Any, **more: Any) -> Json:
    """One line of a multiple-choice task."""
    resps = [[[value, "False"]] for value in values]
    return {"doc_id": 0, "doc": {"choices": list("abcdef")[: len(values)]}, "target": 1, "resps": resps,
            "filtered_resps": [], "filter": "none", "metrics": ["acc", "acc_norm"], "acc": 0.0,
            "acc_norm": 1.0, **more}  # fmt: skip


def test_fields_of_a_reply_and_its_run(tmp_path: Path) -> None:
    results = {"results": {"task": {}}, "configs": {}, "lm_eval_version": "0.4.9", "model_name": "org/m"}
    written(tmp_path, f"results_{TIME}.json", json.dumps(results))
    file = written(tmp_path, NAME, [generated(0, "A. yes")])
    assert READER.recognize(file) == Recognized("0.4.9", note=OWN_FAMILY)
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields == {
        "item": "0", "family": "0", "model": "org/m", "study": "task", "doc_hash": "h0", "repeat": 0,
        "status": "answered", "response": "A. yes", "answer": "A", "gold": "A",
        "prompt_sha256": sha256(b"Q").hexdigest(),
    }  # fmt: skip
    assert record.scores == {"exact_match": 1.0}
    assert record.raw["doc"]["id"] == "q0"


@pytest.mark.parametrize(
    ("folder", "results", "model"),
    [
        ("org__m", None, "org/m"),
        ("downloads", None, None),
        ("any", {"config": {"model_args": "pretrained=org/m,dtype=auto"}}, "org/m"),
        ("any", {"config": {"model_args": {"model": "m", "base_url": "u"}}}, "m"),
        ("any", {"config": {"model_args": "pretrained=base,peft=adapter"}}, "adapter"),
        ("org__m", {"config": {"model_args": None}}, None),
    ],
)
def test_model_is_what_the_run_says(
    tmp_path: Path, folder: str, results: Json | None, model: str | None
) -> None:
    file = written(tmp_path, f"{folder}/{NAME}", [generated(0, "A")])
    if results is not None:
        written(
            tmp_path, f"{folder}/results_{TIME}.json", json.dumps({"results": {}, "configs": {}, **results})
        )
    assert column(read(READER, file)[0], "model") == [model]


def test_results_file_is_a_companion(tmp_path: Path) -> None:
    text = json.dumps({"results": {"t": {"acc,none": 1.0}}, "configs": {}, "config": {}}, indent=2)
    seen = READER.recognize(written(tmp_path, "results.json", text))
    assert isinstance(seen, Recognized)
    assert seen.companion.startswith("results file")


@pytest.mark.parametrize(
    "content",
    ["", "prose", '{"results": {"a": 1}}', '{"results": ', '{"doc_id": 1, "text": "x"}', b"\x80\x81\x82",
     '{"config_general": {}, "results": {}, "versions": {}}'],
)  # fmt: skip
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "results_x.json", content)), Declined)


def test_several_filters_must_be_chosen_from(tmp_path: Path) -> None:
    lines = [generated(0, "A", name="strict"), generated(0, "A", name="loose", exact_match=0.0)]
    file = written(tmp_path, NAME, lines)
    with pytest.raises(ReadError, match=r"2 filters: 'strict', 'loose'\. Pass filter='strict'"):
        read(READER, file)
    with pytest.raises(ReadError, match=r"must have the filter 'maj', but has the filters 'strict', 'loose'"):
        read(READER, file, filter="maj")
    records, left_out = read(READER, file, filter="loose")
    assert [record.scores for record in records] == [{"exact_match": 0.0}]
    assert [each.reason for each in left_out] == ["other filter: strict"]
    records, left_out = read(READER, file, rescored=True)
    assert len(records) == 1
    assert [each.reason for each in left_out] == ["other filter: loose"]


def test_several_replies_are_records_only_when_scored_again(tmp_path: Path) -> None:
    file = written(
        tmp_path, NAME, [generated(0, "A", "B", "A", name="maj3"), generated(1, "B", "", name="maj3")]
    )
    with pytest.raises(
        ReadError, match=r"up to 3 replies .* filters 'maj3'.*AnswerFormat\(field=None\).*filter='maj3'"
    ):
        read(READER, file)
    records, _ = read(READER, file, rescored=True)
    assert column(records, "repeat") == [0, 1, 2, 0, 1]
    assert column(records, "response") == ["A", "B", "A", "B", ""]
    assert column(records, "status") == ["answered"] * 4 + ["empty"]
    assert all(record.scores == {} for record in records)
    assert len({record.identity for record in records}) == 5


def test_a_named_filter_gives_one_row_a_document_with_its_score(tmp_path: Path) -> None:
    """``repeats: 3`` and a majority filter: the score is that of the three replies together."""
    lines = [
        generated(0, "A", "B", "A", name="maj3"), generated(0, "A", "B", "A", name="first", exact_match=0.0),
        generated(1, "B", "", "", name="maj3", filtered_resps=["[invalid]"], exact_match=0.0),
        generated(1, "B", "", "", name="first"), generated(2, "", " ", name="maj3", exact_match=0.0),
    ]  # fmt: skip
    file = written(tmp_path, NAME, lines)
    records, left_out = read(READER, file, filter="maj3")
    assert column(records, "item") == ["0", "1", "2"]
    assert column(records, "repeat") == [0, 0, 0]
    assert [record.scores["exact_match"] for record in records] == [1.0, 0.0, 0.0]
    assert column(records, "answer") == ["A", None, None]
    assert column(records, "status") == ["answered", "unparsed", "empty"]
    assert column(records, "replies") == [3, 3, 2]
    assert records[0].fields["scored_by"] == "score of 3 replies by maj3"
    assert [each.reason for each in left_out] == ["other filter: first"] * 2
    frame = ps.read_runs({"m": file.path}, family="item", filter="maj3").frame
    assert (frame["score"].tolist(), frame["replies"].tolist()) == ([1.0, 0.0, 0.0], [3, 3, 2])


def test_filters_without_names(tmp_path: Path) -> None:
    """Before 0.4.7 the same document occurs once a filter, with nothing to tell the lines apart."""
    old = {"name": None, "metrics": None}
    lines = [generated(0, "A", **old), generated(0, "A", filtered_resps=["B"], exact_match=0.0, **old)]
    file = written(tmp_path, NAME, lines)
    with pytest.raises(ReadError, match=r"scores the same reply twice, first for doc_id 0"):
        read(READER, file)
    with pytest.raises(ReadError, match=r"names no filters"):
        read(READER, file, filter="strict")
    records, left_out = read(READER, file, rescored=True)
    assert len(records) == 1
    assert [each.reason for each in left_out] == ["other filter: unnamed"]
    [single], _ = read(READER, written(tmp_path, "one.jsonl", lines[:1]))
    assert single.scores == {"exact_match": 1.0}


def test_a_file_appended_to_itself_has_equal_identities(tmp_path: Path) -> None:
    records, _ = read(READER, written(tmp_path, NAME, [generated(0, "A"), generated(0, "A")]))
    assert records[0].identity == records[1].identity
    rerun, _ = read(READER, written(tmp_path, "rerun.jsonl", [generated(0, "A")]))
    assert rerun[0].identity != records[0].identity


def test_choice_is_the_likeliest_and_confidence_its_softmax(tmp_path: Path) -> None:
    """By hand: likelihoods 1, 3 and 4 of 8, written as numbers and as texts."""
    values = [math.log(1), str(math.log(3)), math.log(4)]
    [record], _ = read(READER, written(tmp_path, NAME, [chosen(*values)]))
    assert (record.fields["answer"], record.fields["gold"]) == ("c", "b")
    assert record.fields["confidence"] == pytest.approx(0.5, rel=1e-15)
    assert record.scores == {"acc": 0.0, "acc_norm": 1.0}


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"doc": {"choices": {"text": ["x", "y"], "label": ["1", "2"]}}}, ("x", "y")),
        (
            {"doc": {}, "arguments": {"gen_args_0": {"arg_1": " A"}, "gen_args_1": {"arg_1": " B"}}},
            ("A", "B"),
        ),
        (
            {"doc": {}, "arguments": {"gen_args_0": {"arg_1": " s"}, "gen_args_1": {"arg_1": " s"}}},
            ("0", "1"),
        ),
        ({"doc": {"choices": ["x", "y", "z"]}}, ("0", "1")),
    ],
)
def test_names_of_the_choices(tmp_path: Path, more: Json, names: tuple[str, str]) -> None:
    [record], _ = read(READER, written(tmp_path, NAME, [chosen(-1.0, -2.0, **more)]))
    assert (record.fields["answer"], record.fields["gold"]) == names


@pytest.mark.parametrize(("score", "told"), [("acc", True), ("acc_norm", False)])
def test_the_likeliest_choice_is_not_told_beside_a_score_of_another(
    score: str, told: bool, tmp_path: Path
) -> None:
    file = written(tmp_path, NAME, [chosen(-1.0, -2.0)])
    [record], _ = read(READER, file, score=score)
    assert ("answer" in record.fields, "confidence" in record.fields, record.note == "") == (told, told, told)
    assert record.fields["gold"] == "b"


def test_only_the_choices_after_the_question_are_asked_for(tmp_path: Path) -> None:
    """With `acc_mutual_info` the harness logs the choices without the question too."""
    doc = {"choices": ["a", "b"]}
    line = chosen(-1.0, -2.0, -0.1, -0.2, doc=doc, metrics=["acc", "acc_mutual_info"], acc_mutual_info=1.0)
    [record], _ = read(READER, written(tmp_path, NAME, [line]), score="acc")
    assert (record.fields["answer"], record.fields["gold"]) == ("a", "b")
    assert record.fields["confidence"] == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-15)


@pytest.mark.parametrize(
    ("target", "right", "key"),
    [
        ("1", 1.0, "1"), ("1", 0.0, "2"), ("2", 0.0, "3"), (2, 1.0, "3"), ("0", 1.0, "1"),
        ("[0, 2]", 1.0, '["1", "3"]'),
        ("[5]", 1.0, "[5]"), ("x", 0.0, "x"),
    ],
)  # fmt: skip
def test_a_key_is_a_place_or_the_text_by_which_the_accuracy_is_right(
    target: Any, right: float, key: str, tmp_path: Path
) -> None:
    """The choices are "1", "2" and "3", of which "1" is the likeliest."""
    line = chosen(
        -1.0, -2.0, -3.0, doc={"choices": ["1", "2", "3"]}, target=target, acc=right, metrics=["acc"]
    )
    [record], _ = read(READER, written(tmp_path, NAME, [line]))
    assert (record.fields["answer"], record.fields["gold"]) == ("1", key)


def test_awkward_likelihoods(tmp_path: Path) -> None:
    minus = float("-inf")
    lines = [
        chosen(float("nan"), -1.0),
        chosen(minus, -1.0),
        chosen(minus, minus),
        chosen(-1.0),
        chosen(-2.0, -2.0),
    ]
    records, _ = read(READER, written(tmp_path, NAME, lines))
    assert column(records, "status") == ["error", "answered", "answered", "answered", "answered"]
    assert column(records, "confidence") == [None, 1.0, None, None, 0.5]
    assert column(records, "answer") == [None, "b", "a", None, "a"]
    assert records[0].scores == {}


def test_what_is_no_score_of_a_document(tmp_path: Path) -> None:
    metrics = {"f1": [1, 0], "bleu": ["A", "B"], "perplexity": -3.5, "acc": float("nan"), "ok": True}
    [record], _ = read(READER, written(tmp_path, NAME, [generated(0, "A", **metrics, metrics=list(metrics))]))
    assert record.scores.keys() == {"acc", "ok"}
    assert math.isnan(record.scores["acc"] or 0.0)  # kept, to be counted by read_runs
    rolling = generated(0, "-123.4", metrics=["word_perplexity", "bits_per_byte"], arguments={})
    records, left_out = read(READER, written(tmp_path, "rolling.jsonl", [rolling]))
    assert not records
    assert left_out[0].reason.startswith("rolling log-likelihood")


def test_unparsed_and_empty_replies(tmp_path: Path) -> None:
    lines = [generated(0, "hm", filtered_resps=["[invalid]"], exact_match=0.0), generated(1, "  ")]
    records, _ = read(READER, written(tmp_path, NAME, lines))
    assert column(records, "status") == ["unparsed", "empty"]
    assert column(records, "answer") == [None, None]


@pytest.mark.parametrize("resps", [None, [], "A", [["A"], ["B"]], [{"a": 1}], [[1, 2]], [[]]])
def test_replies_of_another_form_are_named(tmp_path: Path, resps: Any) -> None:
    broken = {**generated(1, "A"), "resps": resps}
    file = written(tmp_path, NAME, [generated(0, "A"), broken])
    with pytest.raises(ReadError, match=rf"{NAME}:2 must hold the replies of one request a document"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), [each.source for each in left_out]) == (1, [f"{NAME}:2"])


def test_broken_line_is_named_and_counted(tmp_path: Path) -> None:
    text = json.dumps(generated(0, "A")) + "\n" + json.dumps(generated(1, "A"))[:40]
    file = written(tmp_path, NAME, text)
    with pytest.raises(ReadError, match=rf"{NAME}:2 must be one JSON object"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), [each.reason for each in left_out]) == (
        1,
        ["broken line: Unterminated string starting at column 36"],
    )


def samples_files(folder: str, task: str) -> list[Path]:
    return sorted((SAMPLES / folder).glob(f"**/samples_{task}_*.jsonl"))


@needs_shared
@pytest.mark.parametrize(
    ("folder", "tag"),
    [(f"own/lm_eval/{system}", f"lmeval-{system}") for system in
     ("smollm2-terse-t0", "smollm2-2shot-t0", "smollm2-2shot-t1")]
    + [("own/lm_eval/smollm2-2shot-t1-reseed", "reseed-lmeval-smollm2-2shot-t1")],
)  # fmt: skip
def test_all_replies_equal_the_wire_cell_by_cell(folder: str, tag: str) -> None:
    """Truth: the proxy's record of every call, ``wire_cells`` = [correct, answered]."""
    truth = json.loads((SAMPLES / "own/truth.json").read_text())
    frame = ps.read_runs(
        SAMPLES / folder, item="doc.id", family="doc.family_id", variant="doc.variant",
        answers=ps.AnswerFormat(kind="choice", field=None, confidence=None),
    ).frame  # fmt: skip
    assert len(frame) == 108
    cells = frame.groupby(["family", "variant"], observed=True).score.agg(["sum", "size"])
    found = {f"{family}|{variant}": [right, size] for (family, variant), right, size in cells.itertuples()}
    assert found == truth["wire_cells"][tag]


@needs_shared
@pytest.mark.parametrize(
    ("model", "right"), [("6b_finetuning", 21), ("175b_verification", 58)]
)  # fmt: skip
@pytest.mark.parametrize("name", ["strict-match", "flexible-extract"])
def test_generated_files_hold_the_true_scores(model: str, right: int, name: str) -> None:
    """Truth: published ``is_correct`` of the replayed answers, and the harness's own totals."""
    solutions = (SAMPLES / "gsm8k_openai_wide/example_model_solutions.jsonl").read_text().splitlines()[:100]
    truth = [float(json.loads(line)[model]["is_correct"]) for line in solutions]
    [path] = samples_files(f"lm_eval/generated/openai__gsm8k-{model}", "gsm100_replay")
    records, left_out = read(READER, RunFile(path, path.name), filter=name)
    assert [record.scores["exact_match"] for record in records] == truth
    assert (sum(truth), len(left_out)) == (right, 100)
    assert Counter(column(records, "model")) == {f"openai/gsm8k-{model}": 100}


@needs_shared
@pytest.mark.parametrize(("model", "right"), [("6b_finetuning", 12), ("175b_verification", 4)])
def test_choices_agree_with_the_harness_score(model: str, right: int) -> None:
    """`acc` is the harness's own argmax: ours must give the same right and wrong items."""
    [path] = samples_files(f"lm_eval/generated/openai__gsm8k-{model}", "date_mc60")
    records, _ = read(READER, RunFile(path, path.name))
    ours = [float(record.fields["answer"] == record.fields["gold"]) for record in records]
    assert ours == [record.scores["acc"] for record in records]
    assert sum(ours) == right
    assert all(1 / 6 <= record.fields["confidence"] <= 1 for record in records)


@needs_shared
def test_a_real_file() -> None:
    [path] = samples_files("lm_eval/real", "math_perturbed_full")
    records, left_out = read(READER, RunFile(path, path.name))
    assert (len(records), left_out) == (10, [])
    assert [record.scores for record in records] == [{"exact_match": 0.0}] * 10
    assert READER.recognize(RunFile(path, path.name)) == Recognized("0.4.9.2")


def test_a_document_is_a_family_only_where_no_field_tells_of_others(tmp_path: Path) -> None:
    alone = written(tmp_path, NAME, [generated(n, "A") for n in range(3)])
    records = ps.read_runs({"m": alone.path})
    assert records.frame["family"].tolist() == records.frame["item"].tolist() == ["0", "1", "2"]
    assert 'each document is a family of its own (as family="item" says)' in records.ledger["note"][0]
    (tmp_path / "b").mkdir()
    lines = [generated(n, "A", doc={"id": f"q{n}", "family_id": f"f{n // 2}"}) for n in range(3)]
    told = written(tmp_path / "b", NAME, lines)
    with pytest.raises(PairingError, match=r'No family column: family="item" must be written.*family_id'):
        ps.read_runs({"m": told.path})
    assert ps.read_runs({"m": told.path}, family="doc.family_id").frame["family"].tolist() == [
        "f0",
        "f0",
        "f1",
    ]


def samples_of(folder: Path, name: str, documents: list[str], **more: Any) -> Path:
    """A samples file of the documents with these names, in this order, with hashes as the harness has them."""
    lines = [
        generated(number, "A", doc={"id": document}, doc_hash=f"h-{document}", target_hash="t") | more
        for number, document in enumerate(documents)
    ]
    return written(folder, name, lines).path


@pytest.mark.parametrize("words", [{}, {"item": "doc_id"}, {"family": "item"}, {"workers": 2}])
@pytest.mark.parametrize("hashes", [{}, {"doc_hash": "h", "target_hash": "another"}])
def test_one_place_with_two_documents_is_refused(tmp_path: Path, words: Json, hashes: Json) -> None:
    paths = {
        "one": samples_of(tmp_path, "a.jsonl", ["x", "y"], **({"doc_hash": "h"} if hashes else {})),
        "two": samples_of(tmp_path, "b.jsonl", ["y", "x"], **hashes),
    }
    with pytest.raises(
        PairingError, match=r'doc_id 0 must be one question, but a.jsonl:1 and b.jsonl:1 .*"doc_hash"'
    ):
        ps.read_runs(paths, progress=False, **words)


def test_one_place_with_two_documents_is_refused_on_the_way_to_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {
        "one": samples_of(tmp_path, "a.jsonl", ["x", "y"]),
        "two": samples_of(tmp_path, "b.jsonl", ["x", "z"]),
    }
    monkeypatch.setattr(writing, "STREAM_BYTES", 0)
    with pytest.raises(PairingError, match=r"doc_id 1 must be one question, but a.jsonl:2 and b.jsonl:2"):
        writing.write_runs(paths, tmp_path / "out.parquet", progress=False)


@pytest.mark.parametrize("item", ["doc_hash", "doc.id"])
def test_documents_pair_by_what_they_hold(tmp_path: Path, item: str) -> None:
    paths = {
        "one": samples_of(tmp_path, "a.jsonl", ["x", "y"]),
        "two": samples_of(tmp_path, "b.jsonl", ["y", "z"]),
    }
    for workers in (1, 2):
        frame = ps.read_runs(paths, item=item, workers=workers, progress=False).frame
        shared = frame[frame["item"].isin(["h-y", "y"])]
        assert sorted(shared["model"]) == ["one", "two"]
        assert frame["item"].nunique() == 3
        assert frame["family"].tolist() == frame["item"].tolist()


def test_equal_documents_and_old_files_pair_by_their_place(tmp_path: Path) -> None:
    paths = [samples_of(tmp_path, f"{name}.jsonl", ["x", "y"]) for name in "ab"]
    old = written(tmp_path, "c.jsonl", [generated(number, "A", doc_hash=None) for number in range(2)]).path
    named: Any = dict(zip("abc", [*paths, old], strict=True))
    records = ps.read_runs(named, progress=False)
    assert records.frame["item"].tolist() == ["0", "1"] * 3
    assert set(records.ledger["note"]) == {OWN_FAMILY}
    other = samples_of(tmp_path, f"samples_other_{TIME}.jsonl", ["p", "q"])
    tasks = [samples_of(tmp_path, NAME, ["x", "y"]), other]
    assert len(ps.read_runs({"m": tasks}, progress=False)) == 4


def test_a_chat_has_the_digest_of_its_messages(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}]
    lines = [
        generated(number, "A", arguments={"gen_args_0": {"arg_0": [json.dumps(asked)], "arg_1": {}}})
        for number, asked in enumerate([messages, messages[1:], []])
    ]
    [chat, alone, nothing], _ = read(READER, written(tmp_path, NAME, lines))
    assert chat.fields["prompt_sha256"] == identified(messages)["prompt_sha256"]
    assert alone.fields["prompt_sha256"] == sha256(b"Q").hexdigest()
    assert nothing.fields["prompt_sha256"] == sha256(b"[]").hexdigest()


@needs_shared
def test_own_chat_runs_have_the_digest_of_their_prompts() -> None:
    folders = [folder for folder in (SAMPLES / "own/lm_eval").iterdir() if "reseed" not in folder.name]
    words: Any = {"item": "doc.id", "family": "doc.family_id", "filter": "strict-letter", "progress": False}
    frame = ps.read_runs(folders, **words).frame
    assert frame["prompt_sha256"].notna().all()
    assert frame.groupby(["model", "item"])["prompt_sha256"].nunique().eq(1).all()
