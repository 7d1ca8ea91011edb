"""What `check_records` finds: each fault planted alone, none in clean records, and the own logs' known traits."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, SHARED, needs_shared
from own_logs import LOGS, OWN
from own_logs import records as own_records

import pairstats as ps
from pairstats import cli
from pairstats.errors import SchemaError

RAW = ROOT / "records/rule_conflicts/raw"
N = 40


def frame(**columns: Any) -> pd.DataFrame:
    """Two models, 40 items, two repeats: everything as it should be."""
    rng = random.Random(7)
    rows = []
    for model in ("a", "b"):
        for item in range(N):
            for repeat in (0, 1):
                answer = rng.choice("ABCD")
                rows.append({
                    "family": f"f{item // 2}", "item": f"q{item}", "model": model, "repeat": repeat,
                    "status": "answered", "answer": answer, "gold": "ABCD"[item % 4],
                    "score": float(answer == "ABCD"[item % 4]), "confidence": rng.uniform(0.3, 1),
                    "response": f"{answer}, says {model} on {item} for the {rng.random()}th time",
                    "source": f"{model}.jsonl:{2 * item + repeat + 1}", "split": "easy" if item < N / 2 else "hard",
                    "prompt_sha256": f"p{item}", "response_id": f"{model}-{item}-{repeat}",
                })  # fmt: skip
    return pd.DataFrame(rows).assign(**columns)


def kinds(rows: pd.DataFrame, **options: Any) -> list[str]:
    return [flag.kind for flag in ps.check_records(ps.Records.from_frame(rows, **options)).flags]


def of(rows: pd.DataFrame, model: str) -> pd.Series:
    return rows["model"] == model


def test_clean_records_have_no_flag() -> None:
    found = ps.check_records(ps.Records.from_frame(frame()))
    assert found.flags == ()
    assert not found.any
    assert found.not_checked == ()
    assert found.completeness[["model", "split", "planned", "answered"]].values.tolist() == [
        ["a", "easy", 40, 40], ["a", "hard", 40, 40], ["b", "easy", 40, 40], ["b", "hard", 40, 40],
    ]  # fmt: skip


def test_copied_run_is_red_and_first() -> None:
    rows = frame()
    for name in ("response", "answer", "score", "confidence"):
        rows.loc[of(rows, "b"), name] = rows.loc[of(rows, "a"), name].to_numpy()
    found = ps.check_records(ps.Records.from_frame(rows))
    assert [flag.kind for flag in found.red] == ["identical_runs"]
    assert found.flags[0].finding == (
        "the replies of 'a' and 'b' are the same texts in 80 of 80 decisions (scores equal in 80 of 80)"
    )
    rows.loc[of(rows, "b"), "response"] = " " + rows["response"] + "\n"
    assert kinds(rows) == ["identical_runs"], "blanks around a reply make no other one"
    rows.loc[of(rows, "b") & (rows["item"] == "q3"), "response"] = "another"
    found = ps.check_records(ps.Records.from_frame(rows))
    assert [flag.kind for flag in found.red] == ["near_copies"]
    assert (found.flags[0].count, found.flags[0].of, found.flags[0].examples) == (78, 80, ("q3",))
    rows.loc[of(rows, "b") & (rows["item"] < "q2"), "response"] = "another"
    assert kinds(rows) == ["identical_answers"]


def test_copied_run_without_texts_is_told_by_answer_score_and_confidence() -> None:
    rows = frame(response=None)
    assert kinds(rows) == []
    for name in ("answer", "score", "confidence"):
        rows.loc[of(rows, "b"), name] = rows.loc[of(rows, "a"), name].to_numpy()
    assert kinds(rows) == ["identical_runs"]


def scored(one: list[float], two: list[float], **columns: Any) -> pd.DataFrame:
    """Two runs of which scores are all there is."""
    rows = [
        {"family": f"f{i}", "item": f"q{i}", "model": m, "status": "answered", "score": value}
        for m, values in (("a", one), ("b", two)) for i, value in enumerate(values)
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**columns)


def test_equal_scores_are_judged_by_their_chance() -> None:
    mixed = [float(i % 3 > 0) for i in range(60)]
    [flag] = ps.check_records(ps.Records.from_frame(scored(mixed, mixed))).flags
    assert (flag.kind, flag.red) == ("identical_runs", True)
    # Two shares of 2/3 and 1/3 agree with chance 5/9 in one decision.
    power = int(flag.finding.rsplit("1e", 1)[1])
    assert 10.0 ** (power - 1) <= (5 / 9) ** 60 < 10.0**power
    [flag] = ps.check_records(ps.Records.from_frame(scored(mixed[:12], mixed[:12]))).flags
    assert (flag.kind, flag.red) == ("identical_runs", False), "(5/9) ** 12 is no miracle"
    right = [0.0, 0.0] + [1.0] * 98
    [flag] = ps.check_records(ps.Records.from_frame(scored(right, right))).flags
    assert (flag.kind, flag.red) == ("identical_runs", False), "two good models fail at the same two items"
    assert kinds(scored([0.0] + [1.0] * 30, [0.0] + [1.0] * 30)) == []
    assert kinds(scored([1.0] * 200, [1.0] * 200)) == ["ceiling", "ceiling"]


def test_texts_of_others_do_not_hide_runs_without_texts() -> None:
    mixed = [float(i % 3 > 0) for i in range(60)]
    other = scored(mixed[::-1], mixed[::-1]).query("model == 'a'").assign(model="c")
    other["response"] = other["item"] + " by c"
    rows = pd.concat([scored(mixed, mixed), other])
    assert kinds(rows) == ["identical_runs"]
    # Answers of one side only are no difference either.
    assert (
        kinds(rows.assign(answer=rows["model"].map({"a": "A"}).where(rows["score"] > 0)))[0]
        == "identical_runs"
    )


def test_near_copies_without_texts_are_a_remark() -> None:
    rng = random.Random(5)
    one = [float(rng.random() < 0.6) for _ in range(200)]
    [flag] = ps.check_records(ps.Records.from_frame(scored(one, [1 - one[0], *one[1:]]))).flags
    assert (flag.kind, flag.red, flag.count, flag.of) == ("near_copies", False, 199, 200)
    assert flag.examples == ("q0",)
    # Two good models that share no error agree in 98 of 100, and are no copies.
    assert kinds(scored([0.0] + [1.0] * 199, [1.0, 0.0] + [1.0] * 198)) == []
    alike = [value if rng.random() < 0.9 else 1 - value for value in one]
    assert kinds(scored(one, alike)) == []


def test_replies_of_one_letter_are_no_free_texts() -> None:
    rng = random.Random(6)
    letters = [rng.choice("ABCD") for _ in range(200)]
    rows = scored(
        [1.0, 0.0] * 100,
        [1.0, 0.0] * 100,
        response=[*letters, "ABCD"["BCDA".index(letters[0])], *letters[1:]],
    )
    [flag] = [
        flag for flag in ps.check_records(ps.Records.from_frame(rows)).flags if flag.kind == "near_copies"
    ]
    assert (flag.red, flag.count) == (False, 199)


def test_two_models_that_are_always_right_are_no_copies() -> None:
    rows = frame(response=None, confidence=None, answer=None, score=1.0)
    assert kinds(rows) == ["ceiling", "ceiling"]


def test_runs_and_conditions_are_subjects_of_their_own() -> None:
    rows = frame()
    rows["run"] = rows["model"].map({"a": "one", "b": "two"})
    rows["model"] = "m"
    rows["response"] = "same " + rows["item"] + rows["repeat"].astype(str)
    rows["response_id"] = rows["source"]
    [flag] = ps.check_records(ps.Records.from_frame(rows)).red
    assert "'m' run='one' and 'm' run='two' are the same texts" in flag.finding
    assert "identical_runs" not in kinds(rows.assign(study=rows["run"]))


@pytest.mark.parametrize(("value", "kind"), [(1.0, "ceiling"), (0.0, "floor")])
def test_ceiling_and_floor(value: float, kind: str) -> None:
    rows = frame()
    rows.loc[of(rows, "a"), "score"] = value
    found = ps.check_records(ps.Records.from_frame(rows))
    assert [(flag.kind, flag.red, flag.count) for flag in found.flags] == [(kind, True, 80)]
    rows.loc[0, "score"] = 0.5
    assert kinds(rows) == []


def test_replies_without_any_answer_are_at_the_floor() -> None:
    rows = frame()
    silent = {"status": "unparsed", "score": np.nan, "answer": None}
    some = rows.assign(**{name: rows[name].mask(of(rows, "a"), value) for name, value in silent.items()})
    assert "floor" in kinds(some)
    assert kinds(rows.assign(**silent)).count("floor") == rows["model"].nunique()


def test_ceiling_is_the_end_of_the_declared_range() -> None:
    rows = frame()
    rows.loc[of(rows, "a"), "score"] = 1.0
    assert kinds(rows, score_range=(0.0, 10.0)) == []


@pytest.mark.parametrize("name", ["score", "confidence", "score_style"])
def test_constant_shift(name: str) -> None:
    rng = random.Random(3)
    rows = frame()
    values = [rng.uniform(0, 0.8) for _ in range(2 * N)]
    rows.loc[of(rows, "a"), name] = values
    rows.loc[of(rows, "b"), name] = [value + 0.125 for value in values]
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.red) == ("constant_shift", True)
    assert flag.finding == f"{name} of 'b' is that of 'a' + 0.125 in all of 80 decisions"
    rows.loc[rows.index[-1], name] = 0.5
    assert kinds(rows) == []


def test_a_raw_record_in_two_families() -> None:
    rows = frame()
    twice = rows.iloc[[4]].assign(family="g")
    found = ps.check_records(ps.Records.from_frame(pd.concat([rows, twice])))
    assert [flag.kind for flag in found.red] == ["key_repeats"]
    assert found.red[0].examples == ("a.jsonl:5",)


def test_repeats_of_one_raw_record_are_a_remark() -> None:
    rows = frame(response_id=None)
    rows["source"] = rows["model"] + ".jsonl:" + rows["item"]  # one line holds both replies
    same = rows["item"].isin(["q0", "q1", "q2"])
    for name in ("response", "answer", "score"):
        rows.loc[same, name] = rows[same].groupby(["model", "item"])[name].transform("first")
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.red, flag.count, flag.of) == ("cached_repeats", False, 12, 160)


@pytest.mark.parametrize("source", ["a.jsonl", "C:\\\\runs\\\\a.csv", "runs/a"])
def test_a_source_that_names_no_record_tells_of_no_repeats(source: str) -> None:
    rows = frame(source=source, response=None, response_id=None)
    assert kinds(rows) == []
    twice = rows.iloc[[4]].assign(family="g")
    assert kinds(pd.concat([rows, twice]))[0] == "key_repeats"


def test_keys_that_repeat_are_faults_of_the_format() -> None:
    rows = frame()
    with pytest.raises(SchemaError, match="1 key occurs more than once"):
        ps.Records.from_frame(pd.concat([rows, rows.iloc[[4]]]))


def test_one_response_id_for_two_items_is_red_and_for_two_repeats_is_not() -> None:
    rows = frame()
    rows.loc[[0, 2], "response_id"] = "x"
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.red, flag.count) == ("response_id_repeats", True, 2)
    assert "rows of different items" in flag.finding
    rows = frame()
    rows.loc[[0, len(rows) - 1], "response_id"] = "x"
    assert len(kinds(rows)) == 2
    rows = frame()
    rows.loc[[0, 1, 2, 3], "response_id"] = ["x", "x", "y", "y"]
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.red, flag.count, flag.of) == ("cached_repeats", False, 2, 160)


def test_repeats_of_one_text_and_replies_from_a_cache() -> None:
    rows = frame()
    rows.loc[of(rows, "a"), "response"] = "on " + rows["item"]
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert flag.finding.startswith("all repeats of 'a' are the same text in 40 of 40 units")
    rows = frame(cached=[True] * 3 + [None] * (4 * N - 3))
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert flag.finding == "3 replies of 160 came from the platform's cache by its own word"


def test_constant_answer() -> None:
    rows = frame()
    rows.loc[of(rows, "b"), "answer"] = "A"
    rows.loc[rows.index[-1], "answer"] = "C"
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert flag.finding == "'b' answered 'A' in 79 of 80 decisions; the most frequent key is 25% of the keys"
    assert "constant_answer" not in kinds(rows.assign(gold="A"))
    [flag] = ps.check_records(ps.Records.from_frame(rows.assign(gold=None))).flags
    assert flag.finding == "'b' answered 'A' in 79 of 80 decisions"


def test_one_letter_whatever_option_stands_there() -> None:
    rows = frame()
    texts = ["red", "blue", "green", "black"]
    rows["gold"] = rows["gold"].map(lambda letter: texts["ABCD".index(letter)])
    rows["answer"] = [texts[(i // 2 + "ABCD".index(a)) % 4] for i, a in enumerate(rows["answer"])]
    assert kinds(rows) == []
    rows.loc[of(rows, "b"), "answer"] = [texts[i // 2 % 4] for i in range(2 * N)]
    rows.loc[of(rows, "b"), "score"] = [float(i // 2 % 4 == 0) for i in range(2 * N)]
    rows.loc[of(rows, "b"), "response"] = [f'{{"answer": "A", "confidence": {i}}}' for i in range(2 * N)]
    rows.loc[rows.index[-1], "response"] = "no idea"
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.count, flag.of) == ("constant_answer", 79, 80)
    assert "'b' named the letter 'A' in 79 of 80 decisions" in flag.finding
    assert flag.finding.endswith("its mean score is 0.25")
    rows.loc[rows.index[-9:], "response"] = '{"answer": "B"}'
    assert "constant_answer" not in kinds(rows)
    unknown = ps.check_records(ps.Records.from_frame(rows.drop(columns="response")))
    assert any(what.startswith("constant letters") for what in unknown.not_checked)


def test_one_letter_is_no_finding_where_the_key_stands_there_or_the_option_never_moves() -> None:
    rows = frame(response="A", response_id=None, score=1.0)
    rows.loc[rows.index[::9], "score"] = 0.0
    rows["answer"] = [f"text {i // 2 % N}" for i in range(len(rows))]
    assert "constant_answer" not in kinds(rows)
    still = ps.check_records(ps.Records.from_frame(rows.assign(answer="yes", score=0.0)))
    assert not any("letter" in flag.finding for flag in still.flags)


def test_identical_answers_with_other_words() -> None:
    rows = frame()
    for name in ("answer", "score"):
        rows.loc[of(rows, "b"), name] = rows.loc[of(rows, "a"), name].to_numpy()
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.red) == ("identical_answers", False)
    assert (
        flag.finding == "'a' and 'b' gave the same answer in 80 of 80 decisions, 0 times with the same text"
    )


@pytest.mark.parametrize("replies", [True, False])
def test_identical_answers_with_other_scores_are_red(replies: bool) -> None:
    rows = frame() if replies else frame(response=None, response_id=None)
    rows.loc[of(rows, "b"), "answer"] = rows.loc[of(rows, "a"), "answer"].to_numpy()
    differ = int(
        (rows.loc[of(rows, "a"), "score"].to_numpy() != rows.loc[of(rows, "b"), "score"].to_numpy()).sum()
    )
    assert differ > 10
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.red) == ("identical_answers", True)
    told = ", 0 times with the same text" if replies else ""
    assert flag.finding == (
        f"'a' and 'b' gave the same answer in 80 of 80 decisions{told}, but another score in {differ}: "
        "the scorer differs"
    )


def test_identical_answers_without_replies_or_scores() -> None:
    rows = frame(response=None, response_id=None, score=None)
    rows.loc[of(rows, "b"), "answer"] = rows.loc[of(rows, "a"), "answer"].to_numpy()
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.red) == ("identical_answers", False), "the confidences differ"
    # Where nothing differs it is a copied run, and told once.
    assert kinds(rows.assign(confidence=None)) == ["identical_runs"]


def test_a_text_that_was_scored_in_two_ways_is_red() -> None:
    rows = frame()
    for name in ("answer", "response"):
        rows.loc[of(rows, "b"), name] = rows.loc[of(rows, "a"), name].to_numpy()
    found = ps.check_records(ps.Records.from_frame(rows))
    assert [flag.kind for flag in found.red] == ["identical_runs", "identical_answers"]
    assert "the scorer differs" in found.red[1].finding


def test_a_model_that_lacks_items_is_found_and_coverage_is_told() -> None:
    rows = frame()
    partial = rows[~(of(rows, "b") & rows["item"].isin([f"q{n}" for n in range(26, 40)]))]
    found = ps.check_records(ps.Records.from_frame(partial))
    [flag] = found.flags
    assert (flag.kind, flag.count, flag.of, flag.examples) == ("items_missing", 14, 40, ("q26", "q27", "q28"))
    assert flag.finding.startswith("'b' has no row for 14 of 40 items that other models have")
    assert found.coverage.values.tolist() == [["a", 40, 40, 40, 1.0, 26], ["b", 40, 26, 26, 0.65, 26]]
    assert "Coverage of all models' items:" in str(found)
    assert found.to_dict()["coverage"][1]["common"] == 26
    assert "0.65" in found._repr_html_()


def test_items_are_lacking_inside_a_study_and_condition_only() -> None:
    rows = frame()
    rows["study"] = rows["model"].map({"a": "one", "b": "two"})
    assert kinds(rows[rows["model"].eq("a") | rows["item"].ne("q3")]) == []
    both = pd.concat([frame(condition="x"), frame(condition="y")]).assign(response_id=None)
    both["source"] = both["condition"] + both["source"]
    both["response"] = both["condition"] + both["response"]
    lacking = both[~(of(both, "a") & both["item"].eq("q3") & both["condition"].eq("y"))]
    flags = [f for f in ps.check_records(ps.Records.from_frame(lacking)).flags if f.kind == "items_missing"]
    assert [(f.count, f.of, "of condition 'y'" in f.finding) for f in flags] == [(1, 40, True)]


def test_a_planned_item_is_no_missing_one_and_a_failed_repeat_no_missing_answer() -> None:
    rows = frame()
    rows.loc[of(rows, "b") & rows["item"].eq("q3"), ["status", "answer", "score"]] = ["absent", None, None]
    rows.loc[of(rows, "b") & rows["item"].eq("q4") & rows["repeat"].eq(0), ["status", "score"]] = [
        "error",
        None,
    ]
    found = ps.check_records(ps.Records.from_frame(rows))
    assert found.flags == ()
    assert found.coverage[["with_rows", "answered", "common"]].values.tolist() == [[40, 40, 39], [40, 39, 39]]


def test_a_variant_that_one_model_lacks_is_named() -> None:
    rows = pd.concat([frame(), frame(variant="moved")]).assign(response_id=None, source="")
    rows["response"] = rows["response"] + rows["variant"]
    lacking = rows[~(of(rows, "b") & rows["variant"].eq("moved") & rows["item"].eq("q7"))]
    [flag] = [f for f in ps.check_records(ps.Records.from_frame(lacking)).flags if f.kind == "items_missing"]
    assert (flag.count, flag.of, flag.examples) == (1, 80, ("q7 (moved)",))


def test_family_in_two_splits() -> None:
    rows = frame()
    rows.loc[rows["item"] == "q0", "split"] = "hard"
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.count, flag.of, flag.examples) == ("two_splits", 1, 20, ("f0",))


@pytest.mark.parametrize(("column", "kind"), [("prompt_sha256", "prompt_differs"), ("gold", "gold_differs")])
def test_prompt_or_key_differs_between_models(column: str, kind: str) -> None:
    rows = frame()
    rows.loc[of(rows, "b") & (rows["item"] == "q9"), column] = "Z"
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.count, flag.of, flag.examples) == (kind, 1, 40, ("q9",))
    # Another condition or variant may be put in other words.
    assert kinds(rows.assign(condition=rows["model"])) == []
    assert kind not in kinds(rows.assign(variant=rows["model"]))


def test_prompts_that_differ_between_repeats_too() -> None:
    rows = frame()
    rows.loc[rows["repeat"].eq(1), "prompt_sha256"] += "again"
    assert kinds(rows) == [], "both models were asked in both ways"
    rows.loc[of(rows, "b"), "prompt_sha256"] = "b" + rows["prompt_sha256"]
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.count, flag.of) == ("prompt_differs", 40, 40)


def test_a_model_whose_prompts_are_unknown_is_said() -> None:
    rows = frame()
    rows.loc[of(rows, "b"), "prompt_sha256"] = None
    found = ps.check_records(ps.Records.from_frame(rows))
    assert found.not_checked == ("prompts of 'b': the rows hold no prompt_sha256",)


def test_confidence_on_two_scales_is_seen_in_a_file(tmp_path: Path) -> None:
    def read(scale: float, values: list[float]) -> ps.RecordsCheck:
        lines = [f"q{n},m,{value},1\n" for n, value in enumerate(values)]
        (tmp_path / "a.csv").write_text("item,model,confidence,score\n" + "".join(lines))
        records = ps.read_runs(tmp_path / "a.csv", family="item", confidence_scale=scale)
        return ps.check_records(records)

    mixed = [0.9, 0.8, 0.75, 80, 90, 95, 60, 70]
    for scale in (1, 100):
        [flag] = [flag for flag in read(scale, mixed).flags if flag.kind == "two_scales"]
        assert flag.finding == "a.csv: confidence on two scales: 3 stated between 0 and 1, 5 above 1"
    assert [f for f in read(1, [0.9, 0.8, 0.7, 1.0]).flags if f.kind == "two_scales"] == []
    assert [f for f in read(100, [90, 80, 0, 1, 100, 101]).flags if f.kind == "two_scales"] == []


def test_two_scales_without_a_ledger() -> None:
    rows = frame()
    rows.loc[rows.index[:6], "confidence"] = [0.009, 0.008, 0.0075, 0.007, 0.005, 0.0095]
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert flag.finding.startswith("a.jsonl: 6 of 80 confidences are below 0.01")


def test_two_scales_of_two_systems() -> None:
    rows = frame()
    rows.loc[of(rows, "b"), "confidence"] /= 100
    [flag] = ps.check_records(ps.Records.from_frame(rows)).flags
    assert (flag.kind, flag.count, flag.of) == ("two_scales", 80, 160)
    assert flag.finding.startswith("all confidences of 'b' are at most 0.01, as if stated from 0 to 1")
    rows.loc[of(rows, "a"), "confidence"] /= 100
    assert kinds(rows) == ["wrong_scale"]
    # One who is never sure is no other scale, nor is one who states nothing but zeros.
    assert kinds(frame().assign(confidence=lambda f: f["confidence"].where(of(f, "a"), 0.0))) == []
    assert (
        kinds(frame().assign(confidence=lambda f: f["confidence"].where(of(f, "a"), f["confidence"] / 20)))
        == []
    )


@pytest.mark.parametrize("scale", [1, 100])
def test_two_scales_of_two_files(tmp_path: Path, scale: int) -> None:
    for name, stated in (("a", [0.9, 0.8, 0.75, 0.6, 1.0]), ("b", [90, 80, 75, 60, 101])):
        lines = [f"q{n},{name},{value},1\n" for n, value in enumerate(stated)]
        (tmp_path / f"{name}.csv").write_text("item,model,confidence,score\n" + "".join(lines))
    records = ps.read_runs(tmp_path, family="item", confidence_scale=scale)
    flags = [f for f in ps.check_records(records).flags if f.kind in ("two_scales", "confidence_lost")]
    if scale == 1:
        assert [(f.kind, f.count, f.of) for f in flags] == [("two_scales", 5, 10), ("confidence_lost", 5, 5)]
        assert "most confidences of 'b.csv' lie outside [0, 1]" in flags[0].finding
        assert flags[1].finding.startswith("b.csv: 5 of 5 stated confidences")
    else:
        assert [(f.kind, f.count, f.of) for f in flags][-1] == ("confidence_lost", 1, 5)
        assert any(f.finding.startswith("all confidences of 'a' are at most 0.01") for f in flags)
    fitting = ps.read_runs(tmp_path, family="item", confidence_scale={"a": 1, "b": 100})
    assert [f.kind for f in ps.check_records(fitting).flags] == ["confidence_lost"]


def test_what_is_lacking_is_said() -> None:
    bare = pd.DataFrame({"family": ["f"], "item": ["q"], "model": ["m"], "status": ["error"]})
    found = ps.check_records(ps.Records.from_frame(bare))
    assert found.flags == ()
    assert [what.split(":")[0] for what in found.not_checked] == [
        "identical runs", "ceiling", "constant shift", "a raw record in several rows", "response ids",
        "constant answers", "cached repeats", "prompts",
    ]  # fmt: skip


def test_few_decisions_say_nothing() -> None:
    rows = frame()
    few = rows[rows["item"].isin(["q0", "q1", "q2", "q3"])]
    assert kinds(few.assign(score=1.0, answer="A", response="A", response_id=None)) == []


def test_many_runs_are_not_compared_in_pairs_and_that_is_said() -> None:
    rows = [
        {"family": "f", "item": "q", "model": f"m{n}", "status": "answered", "response": "A"}
        for n in range(401)
    ]
    found = ps.check_records(ps.Records.from_frame(pd.DataFrame(rows)))
    assert any("there are 401, more than 400" in what for what in found.not_checked)


def test_shown_as_text_html_frame_and_dict() -> None:
    rows = frame()
    rows.loc[of(rows, "b"), "score"] = 1.0
    rows.loc[rows["item"] == "q0", "split"] = "<hard>"
    rows["model"] = rows["model"].map({"a": "a", "b": "<b>"})
    found = ps.check_records(ps.Records.from_frame(rows))
    text = str(found)
    assert text.index("ceiling: '<b>' scored 1") < text.index("Completeness:") < text.index("two splits")
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert found.frame["kind"].tolist() == ["ceiling", "two_splits"]
    assert json.loads(json.dumps(found.to_dict()))["flags"][0]["kind"] == "ceiling"


def test_command_exits_1_on_findings_and_0_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.parquet"
    ps.Records.from_frame(frame()).save(path)
    assert cli.main(["check", str(path)]) == 0
    assert "Red flags: none" in capsys.readouterr().out
    rows = frame()
    rows.loc[of(rows, "b"), "score"] = 1.0
    ps.Records.from_frame(rows).save(path)
    assert cli.main(["check", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["flags"][0]["kind"] == "ceiling"
    assert found["findings"] == [found["flags"][0]["finding"]]
    assert found["completeness"][0]["planned"] == 40


def test_own_runs_answer_by_position() -> None:
    records = ps.read_runs(
        RAW / "inspect", model="eval.metadata.system", family="metadata.family_id", variant="metadata.variant",
        score="letter_match",
    )  # fmt: skip
    found = ps.check_records(records)
    assert found.red == ()
    findings = [flag.finding for flag in found.flags]
    assert any("'smollm2-terse-t0' answered 'A' in 360 of 360 decisions" in each for each in findings)
    assert any(
        "all repeats of 'smollm2-2shot-t0' are the same text in 180 of 180 units" in f for f in findings
    )
    assert any("180 items of 180 were put to the models in different words" in each for each in findings)


def test_own_runs_answer_by_position_where_options_are_mapped_to_texts() -> None:
    records = ps.read_runs(
        RAW / "inspect", model="eval.metadata.system", family="metadata.family_id", variant="metadata.variant",
        answers=ps.AnswerFormat(), options="metadata.options",
        confidence_scale={"smollm2-terse-t0": 1, "smollm2-2shot-t0": 100, "smollm2-2shot-t1": 100},
    )  # fmt: skip
    findings = [flag.finding for flag in ps.check_records(records).flags]
    assert any("'smollm2-terse-t0' named the letter 'A' in 360 of 360 decisions" in f for f in findings)


@needs_shared
def test_repeats_from_the_server_s_memory_are_told_by_their_id() -> None:
    # At temperature 0 the proxy answers a repeated request from memory, with the first reply's id.
    records = ps.read_runs(
        SHARED / "samples/own/openai_loop/chat_json_smollm2-2shot-t0.jsonl.gz", family="family_id",
        variant="variant", item="item_id", model="system", score_range=(0, 1),
    )  # fmt: skip
    ids = records.frame.loc[records.frame["status"] == "answered", "response_id"]
    copies = [
        flag for flag in ps.check_records(records).flags if "response id of another repeat" in flag.finding
    ]
    assert copies[0].count == len(ids) - ids.nunique() > 0


def test_scores_of_another_range_are_checked_in_it() -> None:
    rows = [
        {"family": f"f{i}", "item": f"q{i}", "model": m, "status": "answered", "score": 1.0 + (i * 7 + len(m)) % 5}
        for i in range(12) for m in ("a", "bb")
    ]  # fmt: skip
    found = ps.check_records(ps.Records.from_frame(pd.DataFrame(rows), score_range=(1, 5)))
    assert found.completeness["planned"].sum() == 24


def test_words_of_a_csv_and_blank_ids_are_no_findings() -> None:
    rows = [
        {"family": f"f{i}", "item": f"q{i}", "model": "m", "status": "answered", "score": float(i % 2),
         "cached": "False", "response_id": "", "response": f"reply {i}", "source": f"s:{i}"}
        for i in range(12)
    ]  # fmt: skip
    found = ps.check_records(ps.Records.from_frame(pd.DataFrame(rows)))
    names = {flag.name for flag in found.flags} if hasattr(found, "flags") else set(found.frame.iloc[:, 0])
    assert not names & {"cached_repeats", "response_id_repeats"}


CONSTANT, CACHED, PROMPT, LOST = "constant_answer", "cached_repeats", "prompt_differs", "confidence_lost"
FOUND = {
    "inspect, eval": {CONSTANT, CACHED, PROMPT}, "inspect, json": {CONSTANT, CACHED, PROMPT},
    "inspect, full": {CONSTANT, CACHED, PROMPT, LOST}, "inspect, native json": {CACHED}, "inspect, old": {CACHED},
    "inspect, cancelled": set(), "inspect, error": {CONSTANT}, "lm_eval": {PROMPT},
    "promptfoo, json": {CACHED, PROMPT}, "promptfoo, csv": {CACHED}, "promptfoo, faulty": set(),
    "openai, letters": {CONSTANT, PROMPT}, "openai, json": {CONSTANT, CACHED, PROMPT, LOST},
    "openai, full": {CONSTANT, PROMPT, LOST}, "kaggle": set(), "deepeval": set(),
}  # fmt: skip
"""What is true of each of our own logs: a little model that answers by position, a server that remembers what it
was asked at temperature 0, systems that are asked with and without examples, a few confidences above 100."""


@needs_shared
@pytest.mark.parametrize("name", LOGS)
def test_own_logs_have_the_findings_that_are_true_of_them(name: str) -> None:
    records = own_records(name)
    found = ps.check_records(records)
    assert {flag.kind for flag in found.flags} == FOUND[name]
    assert found.red == ()
    lost = sum(flag.count for flag in found.flags if flag.kind == LOST)
    assert lost == records.ledger["confidence_out_of_range"].sum()
    rows = records.frame.groupby("model")["item"].nunique()
    assert found.coverage.set_index("model")["with_rows"].to_dict() == rows.to_dict()


@needs_shared
@pytest.mark.parametrize("scale", [1, 100])
def test_two_scales_of_our_own_systems_come_out_whichever_is_declared(scale: int) -> None:
    """The terse system states 0 to 1, the two others 0 to 100."""
    paths, words = LOGS["inspect, full"]
    records = ps.read_runs(OWN / paths, **{**words, "confidence_scale": scale})
    told = {flag.kind: flag for flag in ps.check_records(records).flags}
    if scale == 100:
        assert "all confidences of 'smollm2-terse-t0' are at most 0.01" in told["two_scales"].finding
    else:
        assert "most confidences of" in told["two_scales"].finding
        flags = [flag for flag in ps.check_records(records).flags if flag.kind == LOST]
        assert sum(flag.count for flag in flags) == 683
