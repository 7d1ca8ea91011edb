"""Published result files: BIG-Bench Hard, ZeroEval, WeirdML, AlpacaEval."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers import alpaca_eval, bbh, weirdml, zeroeval
from pairstats.readers.base import Declined

SAMPLES = SHARED / "samples"
ALL = [module.READER for module in (bbh, zeroeval, weirdml, alpaca_eval)]


@pytest.mark.parametrize("reader", ALL, ids=lambda reader: reader.name)
@pytest.mark.parametrize(
    "content", ["", "prose", "[]", '{"outputs": 1}', '[{"id": 1}]', "a,b\n1,2\n", b"\x80"]
)
def test_other_files_are_declined(tmp_path: Path, reader: Any, content: str | bytes) -> None:
    assert isinstance(reader.recognize(written(tmp_path, "x", content)), Declined)


def test_bbh_item_is_the_question_whatever_the_prompt(tmp_path: Path) -> None:
    def output(cue: str, shot: str) -> dict[str, str]:
        prompt = f"Task.\n\nQ: example\nA: {shot}\n\nQ: Is it?\nOptions:\n- Yes\n- No\nA:{cue}"
        return {"input": prompt, "prediction": "Yes", "target": "Yes"}

    files = [
        written(tmp_path, name, json.dumps({"outputs": [output(*parts)]}))
        for name, parts in {"direct.json": ("", "No"), "cot.json": (" Let's think.", "So No.")}.items()
    ]
    one, other = (read(bbh.READER, file)[0][0] for file in files)
    assert one.fields["item"] == other.fields["item"]
    assert one.raw["question"] == "Is it?\nOptions:\n- Yes\n- No"
    assert one.scores == {}


def test_bbh_stray_output_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "a.json", json.dumps({"outputs": [{"input": "Q", "prediction": "A"}, "stray"]}))
    with pytest.raises(ReadError, match=r"a\.json:outputs\.2 must be an object"):
        read(bbh.READER, file)
    assert len(read(bbh.READER, file, keep_going=True)[1]) == 1


def test_zeroeval_replies_are_repeats(tmp_path: Path) -> None:
    row = {"session_id": "q#0", "chat_history": ["Q"], "output": ["a", "b", ""], "generator": "org/m",
           "dataset": "gsm", "id": "q#0", "answer": "# 18"}  # fmt: skip
    records, _ = read(zeroeval.READER, written(tmp_path, "a.json", json.dumps([row])))
    assert column(records, "repeat") == [0, 1, 2]
    assert column(records, "response") == ["a", "b", None]
    assert column(records, "status") == ["answered", "answered", "empty"]
    assert set(column(records, "gold")) == {"18"}


def test_alpaca_eval_without_a_preference_is_no_loss(tmp_path: Path) -> None:
    rows = [{"instruction": name, "generator_1": "base", "generator_2": "m", "preference": value, "output_2": "x"}
            for name, value in (("a", 1.0), ("b", 2.0), ("c", None))]  # fmt: skip
    frame = ps.read_runs(written(tmp_path, "a.json", json.dumps(rows)).path, family="item").frame
    assert frame["score"].tolist()[:2] == [0.0, 1.0]
    assert frame["status"].tolist() == ["answered", "answered", "error"]


@needs_shared
def test_bbh_samples_pair_and_score() -> None:
    """Truth: ``correct`` of the same task in the derived table (first 40 of 250 items)."""
    folder = SAMPLES / "bbh"
    truth = ps.read_runs(
        folder / "bbh_codex_direct_vs_cot_long.parquet", item="idx", family="item", model="mode", study="task"
    ).frame
    truth = truth[truth["study"] == "navigate"]
    files = {mode: folder / f"navigate_{mode}.json" for mode in ("direct", "cot")}
    frame = ps.read_runs(files, family="item").frame
    items = {mode: part["item"].tolist() for mode, part in frame.groupby("model", observed=True)}
    assert items["direct"] == items["cot"]
    assert len(set(items["cot"])) == 40
    for mode, part in frame.groupby("model", observed=True):
        said = part["response"].str.rsplit("answer is", n=1).str[-1].str.strip(" .\n")
        right = (said == part["gold"]).astype(float).tolist()
        expected = truth[truth["model"] == mode].sort_values("item", key=lambda ids: ids.astype(int))
        assert right == expected["score"].tolist()[:40]


@needs_shared
@pytest.mark.parametrize("model", ["claude-3-opus-20240229", "gpt-4o-mini-2024-07-18"])
def test_zeroeval_replies_score_as_published(model: str) -> None:
    """Truth: score of the derived table, whose totals equal the published summaries (first 60 items).

    The table's own parser also takes an answer out of broken JSON, ours calls it unparsed; where both have one
    they agree.
    """
    table = SAMPLES / "zeroeval/zeroeval_gsm_mathl5_long.parquet"
    truth = pd.read_parquet(table, filters=[("model", "==", model), ("dataset", "==", "gsm")]).set_index(
        "item"
    )
    answers = ps.AnswerFormat(kind="number", field="answer", confidence=None)
    frame = ps.read_runs(SAMPLES / f"zeroeval/gsm_{model}.json", family="item", answers=answers).frame
    assert len(frame) == 60
    both = frame[frame["status"] == "answered"]
    assert len(both) >= 53
    assert both["score"].tolist() == truth.loc[both["item"], "score"].tolist()


@needs_shared
def test_weirdml_averages_as_published() -> None:
    """Truth: ``avg_acc`` of each of 87 models, the mean over tasks of the mean over runs (rounded there)."""
    path = SAMPLES / "weirdml/weirdml_results.json"
    frame = ps.read_runs(path, family="item").frame
    by_task = frame.groupby(["model", "item"], observed=True)["score"].mean()
    published = json.loads(path.read_text())["models"]
    means = by_task.groupby("model", observed=True).mean()
    assert len(means) == len(published) == 87
    for model, mean in means.items():
        assert mean == pytest.approx(published[model]["aggregate_scores"]["avg_acc"], abs=5e-6)


@needs_shared
@pytest.mark.parametrize("model", ["claude-2", "claude-2.1", "gpt4_0613_concise"])
def test_alpaca_eval_win_rates_as_published(model: str) -> None:
    """Truth: ``win_rate`` of the published leaderboard, in percent."""
    folder = SAMPLES / "alpaca_eval"
    with (folder / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv").open(newline="") as text:
        published = {row[""]: float(row["win_rate"]) for row in csv.DictReader(text)}
    frame = ps.read_runs(folder / f"{model}.annotations.json", family="item").frame
    assert len(frame) == 805
    assert 100 * frame["score"].mean() == pytest.approx(published[model], abs=1e-9)
