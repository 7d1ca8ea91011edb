"""The study precedent_vs_spec: the write-up's numbers from Kaggle and vLLM files, its scorer, its oracle."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, SHARED, needs_shared
from statsmodels.stats.contingency_tables import cochrans_q
from study_generators import generator_modules

import pairstats as ps
from pairstats.report import execute_notebook, read_notebook
from pairstats.scripts import load_function

HOME = ROOT / "analyses" / "precedent_vs_spec"
RECORDS = ROOT / "records" / "precedent_vs_spec"
SCORE = load_function(HOME / "scoring.py", "score")
GPT, HAIKU, NANO, GEMINI, SONNET = (
    "gpt-5.5",
    "claude-haiku-4-5",
    "gpt-5.4-nano",
    "gemini-3.7-flash",
    "claude-sonnet-5",
)
OFF, ON = "grok-4.20-non-reasoning", "grok-4.20-reasoning"
Q4, Q9, Q27, OSS20, OSS120 = "Qwen3.5-4B", "Qwen3.5-9B", "Qwen3.5-27B", "gpt-oss-20b", "gpt-oss-120b"
OUTCOMES = ("rule_flagged", "rule_silent", "precedent_flagged", "precedent_silent", "other_none")
# The write-up's table: score, five outcomes, accuracy on consistent tables.
MAIN = {
    GPT: (0.70, (43, 63, 2, 0, 0), 1.00),
    HAIKU: (0.51, (8, 85, 9, 3, 3), 1.00),
    NANO: (0.47, (0, 101, 0, 1, 6), 0.94),
    OFF: (0.42, (0, 88, 2, 0, 18), 0.88),
    GEMINI: (0.36, (8, 51, 11, 38, 0), 1.00),
    SONNET: (0.25, (2, 34, 17, 51, 4), 1.00),
    ON: (0.13, (0, 17, 10, 67, 8), 1.00),
}
# Its second table: by the precedent at 1, 3 and 6 wrong rows, in all, and acknowledged.
DOSES = {
    NANO: (0, 0, 1, 1, 0),
    OFF: (0, 1, 1, 2, 2),
    HAIKU: (2, 3, 7, 12, 9),
    GEMINI: (3, 19, 27, 49, 11),
    SONNET: (17, 26, 25, 68, 17),
    ON: (13, 32, 32, 77, 10),
    GPT: (0, 1, 1, 2, 2),
}
# The pilot: by the precedent at 0 wrong and 6 correct rows, at 1, 3 and 6 wrong ones, and acknowledged of all.
PILOT = {
    Q4: (2, 0, 2, 0, 0, None, 2),
    Q9: (0, 0, 1, 2, 3, 2, 6),
    Q27: (0, 0, 9, 9, 12, 23, 30),
    OSS20: (0, 0, 18, 17, 23, 2, 58),
    OSS120: (0, 0, 20, 24, 21, 0, 65),
}
# Kinds of table at six wrong rows that the text names, and those that follow from its totals.
KINDS = {
    (SONNET, "booking_sheet"): 6, (SONNET, "timesheet"): 6, (SONNET, "dispatch_log"): 6, (SONNET, "commission"): 0,
    (GEMINI, "booking_sheet"): 6, (GEMINI, "timesheet"): 6, (GEMINI, "dispatch_log"): 6,
    (Q27, "booking_sheet"): 6, (Q27, "timesheet"): 6, (Q27, "sales_ledger"): 0, (Q27, "commission"): 0,
    (Q27, "dispatch_log"): 0, (Q27, "alert_report"): 0, (OSS120, "sales_ledger"): 6,
}  # fmt: skip
HOSTED, LONG = {"run": "hosted", "condition": "default"}, "thinking 16000"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ps.Results:
    folder = tmp_path_factory.mktemp("precedent_vs_spec")
    return ps.run_protocol(
        HOME / "protocol.toml", folder / "results", report=False, figures=folder / "figures"
    )


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return ps.load_records(RECORDS / "records.parquet").frame


@pytest.fixture(scope="module")
def generator() -> Iterator[Any]:
    with generator_modules(HOME) as modules:
        yield modules


@pytest.fixture(scope="module")
def notebook():
    path = ROOT / "notebooks" / "precedent_vs_spec.ipynb"
    return execute_notebook(read_notebook(path), folder=path.parent, name=path.name)


def table(results: ps.Results, name: str) -> pd.DataFrame:
    found = results.tables[name]
    return found if isinstance(found, pd.DataFrame) else found.frame


def one(frame: pd.DataFrame, **equal: str) -> pd.Series:
    """The one row with these levels."""
    for name, level in equal.items():
        frame = frame[frame[name] == level]
    assert len(frame) == 1, equal
    return frame.iloc[0]


def count(frame: pd.DataFrame, **equal: str) -> int:
    """Numerator of a share, which must be a whole number of units."""
    row = one(frame, **equal)
    found = row["estimate"] * row["n_units"]
    assert found == pytest.approx(round(found), abs=1e-9)
    return round(found)


class TestMainTable:
    @pytest.mark.parametrize("model", MAIN)
    def test_outcomes(self, results, model):
        outcomes = table(results, "outcomes")
        found = tuple(count(outcomes, estimand=name, model=model, **HOSTED) for name in OUTCOMES)
        assert found == MAIN[model][1]
        assert count(outcomes, estimand="never_reached", model=model, **HOSTED) == 0
        completed = one(outcomes, estimand="rule_flagged", model=model, **HOSTED)
        assert (completed["n_units"], completed["n_missing"]) == ((102, 6) if model == ON else (108, 0))

    @pytest.mark.parametrize("model", MAIN)
    def test_score_is_the_minimum(self, results, model):
        score = table(results, "score")
        assert (
            round(one(score, estimand="min(score, consistent)", model=model)["estimate"], 2) == MAIN[model][0]
        )
        assert round(one(score, estimand="consistent", model=model)["estimate"], 2) == MAIN[model][2]
        assert one(score, estimand="min(score, consistent)", model=model)["note"] == "active: score"

    def test_a_product_would_print_other_numbers(self, results):
        caps = table(results, "caps").set_index("model")["product"]
        differing = {
            model: round(caps[model], 2) for model in MAIN if round(caps[model], 2) != MAIN[model][0]
        }
        assert differing == {NANO: 0.44, OFF: 0.36}

    def test_claims_about_the_table(self, results):
        score, outcomes = table(results, "score"), table(results, "outcomes")
        capped = score[score["estimand"] == "min(score, consistent)"].sort_values("estimate", ascending=False)
        assert capped["model"].tolist() == list(MAIN)
        assert round(capped["estimate"].max(), 2) == 0.70
        bottom = [
            count(outcomes, estimand="precedent_silent", model=m, **HOSTED) for m in (GEMINI, SONNET, ON)
        ]
        assert (bottom, sum(bottom)) == ([38, 51, 67], 156)
        by_header = [
            count(outcomes, estimand=f"rule_{how}", model=GPT, **HOSTED) for how in ("flagged", "silent")
        ]
        assert sum(by_header) == 106

    def test_both_denominators(self, results):
        bounds = one(table(results, "bounds"), estimand="bounds(score)", model=ON)
        assert (bounds["n_units"], bounds["n_missing"]) == (102, 6)
        assert bounds["bound_low"] == pytest.approx(13.5 / 108)
        assert bounds["bound_high"] == pytest.approx(19.5 / 108)

    def test_consistent_tables_31_to_36_of_36(self, results):
        doses = table(results, "doses")
        part = doses[(doses["estimand"] == "score") & doses["variant"].isin(["0", "6 correct"])]
        right = (
            part["estimate"] * part["n_units"] + part["n_missing"]
        ).round()  # failed calls are no wrong sums
        assert part["model"].nunique() == 12
        assert (right.min(), right.max()) == (31, 36)
        below = set(part[right < 35]["model"])
        assert below == {Q4, NANO, OFF}  # the last two contradict "35-36 above 4B", see differences.md


class TestDoses:
    @pytest.mark.parametrize("model", DOSES)
    def test_hosted(self, results, model):
        doses, said = table(results, "doses"), table(results, "said")
        found = [count(doses, estimand="defected", model=model, variant=dose) for dose in "136"]
        total = count(said, estimand="defected", model=model, **HOSTED)
        share = one(said, estimand="acknowledged", model=model, **HOSTED)["estimate"]
        assert (*found, total, round(share * total)) == DOSES[model]
        assert [count(doses, estimand="defected", model=model, variant=v) for v in ("0", "6 correct")] == [
            0,
            0,
        ]

    @pytest.mark.parametrize("model", PILOT)
    def test_pilot(self, results, model):
        doses, said = table(results, "doses"), table(results, "said")
        order = ("0", "6 correct", "1", "3", "6")
        found = [count(doses, estimand="defected", model=model, variant=dose) for dose in order]
        cell = {"run": "pilot", "condition": "default", "model": model}
        total = count(said, estimand="defected", **cell)
        announced = round(one(said, estimand="acknowledged", **cell)["estimate"] * total)
        assert tuple(found) == PILOT[model][:5]
        assert total == PILOT[model][6]
        assert announced == (PILOT[model][5] or 0)
        units = doses[(doses["model"] == model) & (doses["estimand"] == "defected")]["n_units"]
        assert units.tolist() == [36] * 5

    def test_flagged_among_followers(self, results):
        said = table(results, "said")
        outcomes = table(results, "outcomes")
        for run, model, flagged, followers in (
            ("hosted", SONNET, 2, 36), ("hosted", ON, 0, 17), ("pilot", Q9, 0, 91), ("pilot", Q27, 1, 73),
        ):  # fmt: skip
            cell = {"run": run, "condition": "default", "model": model}
            kept = sum(count(outcomes, estimand=f"rule_{how}", **cell) for how in ("flagged", "silent"))
            assert (kept, one(said, estimand="warned", **cell)["estimate"]) == (
                followers,
                pytest.approx(flagged / followers),
            )
        neither = [
            count(outcomes, estimand="other_none", run="pilot", condition="default", model=m)
            for m in (Q9, Q27)
        ]
        assert neither == [11, 5]  # what the printed counts leave

    def test_gpt_flagged_by_dose_and_in_the_second_run(self, results):
        doses, said = table(results, "doses"), table(results, "said")
        assert [count(doses, estimand="rule_flagged", model=GPT, variant=dose) for dose in "136"] == [
            19,
            18,
            6,
        ]
        again = {"run": "second run", "condition": "default", "model": GPT}
        assert count(said, estimand="defected", **again) == 0
        assert one(said, estimand="defected", **again)["n_units"] == 108
        same = one(table(results, "retest"), estimand="same_answer", model=GPT)
        assert same["estimate"] == pytest.approx(106 / 108)

    def test_zero_events_have_an_upper_bound(self, results):
        none = one(table(results, "doses"), estimand="defected", model=OSS120, variant="6 correct")
        assert (none["estimate"], round(none["conf_high"], 3)) == (0.0, 0.067)

    @pytest.mark.parametrize(("model", "kind"), KINDS)
    def test_kinds(self, results, model, kind):
        assert count(table(results, "kinds"), model=model, category=kind) == KINDS[model, kind]

    def test_rounding_held_and_so_did_the_ledger(self, rows):
        """At six wrong rows Sonnet keeps to the header in 6 of 6 commission sheets, Qwen3.5-27B in 6 ledgers."""
        part = rows[(rows["variant"] == "6") & (rows["condition"] == "default")]
        for model, kind in ((SONNET, "commission"), (Q27, "sales_ledger")):
            mine = part[(part["model"] == model) & (part["category"] == kind)]
            assert mine["followed"].tolist() == ["rule"] * 6


class TestThinking:
    def test_never_reached(self, results):
        never, outcomes = table(results, "never"), table(results, "outcomes")
        assert count(never, condition="thinking 4000", model=Q4, variant="1") == 36
        found = [count(never, condition=LONG, model=Q4, variant=dose) for dose in "136"]
        assert (min(found), max(found)) == (19, 29)
        assert sum(count(never, condition=LONG, model=Q9, variant=dose) for dose in "136") == 79
        cell = {"estimand": "never_reached", "condition": LONG, "model": Q9}
        assert (count(outcomes, **cell), one(outcomes, **cell)["n_units"]) == (79, 108)

    def test_what_the_others_did(self, results):
        outcomes = table(results, "outcomes")
        found = {
            m: [count(outcomes, estimand=n, condition=LONG, model=m) for n in OUTCOMES] for m in (Q4, Q9)
        }
        assert found[Q4] == [4, 0, 12, 0, 15]
        assert found[Q9] == [17, 0, 12, 0, 0]  # 29 ended, and all of them mention the conflict

    def test_consistent_tables_are_answered(self, rows):
        part = rows[(rows["condition"] != "default") & (rows["conflict"] == "no")]
        assert (part["outcome"] == "right").all()
        assert len(part) == 3 * 72

    def test_medians(self, results):
        lengths = table(results, "lengths")
        part = lengths[lengths["estimand"] == "median_second"]
        pair = f"default - {LONG}"
        assert one(part, model=Q4, contrast=pair)["estimate"] == 43_000
        assert one(part, model=Q9, contrast=pair)["estimate"] == 45_008

    def test_truncation_is_told(self, results):
        counts = results.completeness.set_index(["run", "condition", "model"])
        assert counts.loc[("pilot", LONG, Q9), ["planned", "answered", "truncated"]].tolist() == [
            180,
            101,
            79,
        ]
        assert counts.loc[("pilot", "thinking 4000", Q4), ["planned", "truncated"]].tolist() == [108, 36]

    def test_the_grok_pair(self, results):
        said = table(results, "said")
        assert [count(said, estimand="defected", model=m, **HOSTED) for m in (OFF, ON)] == [2, 77]
        contrasts = results.contrasts.frame
        row = contrasts[contrasts["contrast"] == f"{ON} - {OFF}"].iloc[0]
        assert (row["n_units"], row["n_missing"], row["n_families"]) == (102, 6, 36)
        assert row["n_first_only"] + row["n_second_only"] >= 75  # any joint outcomes with 2 and 77 of 102
        assert row["n_first_only"] - row["n_second_only"] == 75


class TestCoverage:
    def test_errors(self, results):
        counts = results.completeness.set_index(["run", "condition", "model"])
        busy, grok = (counts.loc[("hosted", "default", m)] for m in (OSS120, ON))
        assert busy[["planned", "answered", "error"]].tolist() == [180, 26, 154]
        assert grok[["planned", "error"]].tolist() == [180, 10]
        assert re.fullmatch(r"overloaded:? 154", busy["reasons"])
        hosted = counts.loc["hosted"]
        assert (hosted["planned"] == 180).all()
        assert hosted["error"].sum() == 164
        assert hosted["absent"].sum() == 0

    def test_the_loaded_model_was_tried_across_two_days(self):
        [path] = RECORDS.glob(f"raw/kaggle/hosted/*/{OSS120}/*/*.run.json.gz")
        runs = json.loads(gzip.decompress(path.read_bytes()))["subruns"]
        failed = {run["startTime"][:10] for run in runs if run["state"].endswith("ERRORED")}
        assert failed == {"2026-09-24", "2026-09-25"}

    def test_no_reply_of_gpt_is_longer_than_its_cap_of_3000_tokens(self, rows):
        assert 1000 < rows.loc[rows["model"] == GPT, "output_tokens"].max() <= 3000

    def test_two_copies_of_one_task_are_one_run(self, rows):
        part = rows[(rows["run"] == "hosted") & (rows["model"] == GPT)]
        copies = part["source"].str.contains("precedent_vs_spec_copy").value_counts()
        assert copies.to_dict() == {False: 97, True: 83}
        assert part["item"].nunique() == 180

    def test_the_excluded_model_is_in_no_comparison(self, results):
        for name in ("score", "bounds", "by_kind", "ranks"):
            assert set(table(results, name)["model"].dropna()) == set(MAIN)

    def test_design(self, rows):
        items = rows.drop_duplicates("item")
        assert (len(items), items["family"].nunique(), items["category"].nunique()) == (180, 36, 6)
        assert items.groupby("category", observed=True)["family"].nunique().tolist() == [6] * 6
        assert Counter(items["conflict"]) == {"yes": 108, "no": 72}
        keys = [json.loads(key) for key in items["key"]]
        assert {len(key[rule]) for key in keys for rule in ("rule", "precedent")} == {4}  # four new rows


@needs_shared
class TestSharedCounts:
    def test_outcomes_by_dose_lie_within_what_is_known(self, rows):
        published = pd.read_csv(SHARED / "published/precedent_vs_spec.csv")
        names = {
            "GPT-5.5": GPT, "Claude Haiku 4.5": HAIKU, "GPT-5.4 nano": NANO, "Gemini 3.7 Flash": GEMINI,
            "Grok 4.20, thinking off": OFF, "Grok 4.20, thinking on": ON, "Claude Sonnet 5": SONNET,
        }  # fmt: skip
        part = rows[(rows["run"] == "hosted") & (rows["conflict"] == "yes")]
        checked = 0
        for row in published.itertuples():
            mine = part[part["model"] == names[row.model]]
            if row.dose in ("1", "3", "6"):
                mine = mine[mine["variant"] == row.dose]
            elif row.dose != "all":
                continue
            if row.outcome == "errored":
                found = (mine["status"] == "error").sum()
            elif row.outcome == "precedent_total":
                found = (mine["followed"] == "precedent").sum()
            elif row.outcome == "score":
                found = round(mine["score"].fillna(0)[mine["status"] != "error"].mean(), 2)
            else:
                found = (mine["outcome"] == row.outcome).sum()
            assert row.count_min <= found <= row.count_max, row
            checked += 1
        assert checked == 7 * 28

    def test_kinds(self, rows):
        published = pd.read_csv(SHARED / "published/precedent_vs_spec_by_family.csv").dropna(
            subset="precedent"
        )
        part = rows[
            (rows["variant"] == "6") & (rows["condition"] == "default") & (rows["followed"] == "precedent")
        ]
        names = {"Claude Sonnet 5": SONNET, "Gemini 3.7 Flash": GEMINI}
        assert len(published) == 14
        for row in published.itertuples():
            mine = part[(part["model"] == names.get(row.model, row.model)) & (part["category"] == row.family)]
            assert len(mine[mine["run"] != "hosted"] if row.model == OSS120 else mine) == row.precedent, row

    def test_pilot(self):
        published = pd.read_csv(SHARED / "published/precedent_vs_spec_open_pilot.csv").set_index("model")
        columns = ["zero_wrong", "six_correct", "prec_1row", "prec_3rows", "prec_6rows"]
        for model, expected in PILOT.items():
            assert tuple(published.loc[model, columns]) == expected[:5]
            assert published.loc[model, "defections"] == expected[6]


class TestAgainstOtherPaths:
    def test_main_table_by_counting_in_raw_files(self):
        """The task's own marks, read with json alone: no reader, no scorer."""
        names = {"rule": {True: 0, False: 1}, "precedent": {True: 2, False: 3}}
        counts: dict[str, list[int]] = {model: [0] * 5 for model in MAIN}
        points: dict[str, list[float]] = {model: [] for model in MAIN}
        for path in sorted(RECORDS.glob("raw/kaggle/hosted/*/*/*/*.run.json.gz")):
            for run in json.loads(gzip.decompress(path.read_bytes()))["subruns"]:
                model = re.sub("@.*", "", run["modelVersion"]["slug"].split("/")[1])
                mark = run["results"][0].get("dictResult")
                if model in MAIN and mark and mark["sheet"][-2:] in ("w1", "w3", "w6"):
                    counts[model][names.get(mark["followed"], {}).get(mark["flagged"], 4)] += 1
                    points[model].append(mark["points"])
        for model, (score, expected, _) in MAIN.items():
            assert tuple(counts[model]) == expected
            assert round(np.mean(points[model]), 2) == score

    def test_cochran_q(self, results, rows):
        found = table(results, "any_dose").set_index("model")
        part = rows[
            (rows["run"] != "second run")
            & (rows["condition"] == "default")
            & (rows["variant"] != "6 correct")
        ]
        for model in (GEMINI, SONNET, Q27):
            wide = part[part["model"] == model].pivot(
                index="family", columns="variant", values="score_precedent"
            )
            assert found.loc[model, "statistic"] == pytest.approx(cochrans_q(wide.to_numpy()).statistic)
        assert found.loc[GEMINI, "p_value"] < 1e-9

    def test_slope_and_onset(self, results, rows):
        contrasts = results.contrasts.frame
        part = rows[(rows["run"] == "hosted") & (rows["model"] == GEMINI)]
        wide = part.pivot(index="family", columns="variant", values="score_precedent")[["0", "1", "3", "6"]]
        slopes = [np.polyfit([0, 1, 3, 6], values, 1)[0] for values in wide.to_numpy()]
        mine = contrasts[(contrasts["run"] == "hosted") & (contrasts["model"] == GEMINI)]
        trend = mine[mine["contrast"].str.contains("trend")].iloc[0]
        assert trend["estimate"] == pytest.approx(np.mean(slopes))
        onset = contrasts[(contrasts["run"] == "hosted") & (contrasts["model"] == SONNET)]
        onset = onset[onset["contrast"] == "1 - 0"].iloc[0]
        assert (onset["n_first_only"], onset["n_second_only"], onset["n_units"]) == (17, 0, 36)
        assert onset["p_value"] == pytest.approx(2 * 0.5**17)

    def test_six_kinds_of_table_by_enumeration(self, results, rows):
        wide = rows[rows["run"] == "hosted"].pivot(
            index=["category", "item"], columns="model", values="score_precedent"
        )
        conflict = wide[wide.index.get_level_values("item").str[-2:].isin(["w1", "w3", "w6"])][
            [OFF, ON]
        ].dropna()
        gaps = (conflict[ON] - conflict[OFF]).groupby(level="category", observed=True).sum().to_numpy()
        sums = [abs(np.dot(signs, gaps)) for signs in product((-1, 1), repeat=6)]
        p = np.mean(np.array(sums) >= abs(gaps.sum()) - 1e-9)
        row = one(table(results, "thinking_by_kind"), contrast=f"{ON} - {OFF}")
        assert row["p_value"] == pytest.approx(p) == 2 / 64
        assert row["n_families"] == 6
        assert "6" in row["note"]

    def test_acknowledgement_if_nine_of_ten_were_found(self, results):
        row = one(table(results, "undercount"), model=SONNET)
        assert row["estimate"] == pytest.approx(17 / 68 / 0.9)

    def test_few_clusters_are_said(self, results):
        by_kind = table(results, "by_kind")
        assert (by_kind["n_families"] == 6).all()
        assert by_kind["note"].str.contains("beyond these 6").all()
        wide, tables_ = (
            one(f, estimand="defected", model=SONNET)
            for f in (by_kind, table(results, "said").query("run == 'hosted'"))
        )
        assert wide["estimate"] == pytest.approx(tables_["estimate"])
        assert wide["conf_high"] - wide["conf_low"] > 2 * (tables_["conf_high"] - tables_["conf_low"])

    def test_hidden_reasoning_is_apart(self, results, rows):
        noticed = table(results, "noticed").dropna(subset="estimate")
        assert set(noticed["model"]) == {OSS20, OSS120}
        part = rows[(rows["run"] == "pilot") & (rows["model"] == OSS120) & (rows["followed"] == "precedent")]
        assert one(noticed, model=OSS120)["estimate"] == pytest.approx((part["noticed"] == "yes").mean())
        assert (part["flagged"] == "no").all()


class TestSecondOracle:
    def test_every_key_and_every_filled_row(self):
        """Prompts are read from raw files; dates by NumPy, rounding by decimal."""
        solve = load_function(HOME / "oracle.py", "solve")
        keys = {i["item"]: i for i in map(json.loads, (RECORDS / "items.jsonl").read_text().splitlines())}
        [path] = RECORDS.glob("raw/kaggle/second_run/*/*/*/*.run.json.gz")
        filled = 0
        for run in json.loads(gzip.decompress(path.read_bytes()))["subruns"]:
            item = keys[run["results"][0]["dictResult"]["sheet"]]
            new, before = solve(run["conversations"][0]["requests"][0]["contents"][0]["parts"][0]["text"])
            key = json.loads(item["key"])
            assert [pair[0] for pair in new] == key["rule"], item["item"]
            assert [pair[1] for pair in new] == key["precedent"], item["item"]
            for (rule, precedent), value in before:
                assert value == (precedent if item["conflict"] == "yes" else rule)
                assert rule != precedent
                filled += 1
            assert len(before) == {"0": 0, "1": 1, "3": 3}.get(item["filled"], 6)
        assert filled == 36 * (1 + 3 + 6 + 6)

    def test_rows_by_hand(self):
        both = load_function(HOME / "oracle.py", "both")
        assert both("a sales tax of 10%", ["450.00"]) == (
            "495.00",
            "486.00",
        )  # quoted: 450 x 1.10 = 495, not 486
        assert both("a sales tax of 10%", ["750"])[1] == "810.00"  # quoted: 750 x 1.08
        assert both("a sales tax of 10%", ["1150"])[1] == "1242.00"
        assert both("are both counted", ["2026-02-27", "2026-03-02"]) == ("4", "3")
        assert both("rounded to the nearest whole dollar", ["210.00"]) == ("15", "14")
        assert both("three business days", ["2026-01-08"]) == ("2026-01-13", "2026-01-11")  # Thursday
        assert both("three business days", ["2026-01-10"]) == ("2026-01-14", "2026-01-13")  # Saturday
        assert both("given as H:MM", ["1:30"]) == ("90", "130")
        assert both("strictly greater than 50", ["50, 49, 51, 50"]) == ("1", "3")

    def test_no_fee_lies_halfway(self, generator):
        for each in generator["make_records"].all_tables():
            if each.kind.name == "commission":
                for row in (*each.filled, *each.new):
                    assert (7 * int(row.shown[1].split(".")[0])) % 100 > 50


MONEY = {"form": "money", "rule": ["110.00", "1540.00", "55.00", "82.50"],
         "precedent": ["108.00", "1512.00", "54.00", "81.00"]}  # fmt: skip
DATES = {"form": "date", "rule": ["2026-01-13", "2026-02-04", "2026-03-10", "2026-04-15"],
         "precedent": ["2026-01-11", "2026-02-02", "2026-03-08", "2026-04-13"]}  # fmt: skip
COUNTS = {"form": "count", "rule": ["90", "75", "62", "121"], "precedent": ["130", "115", "102", "201"]}
GOOD = "VALUES: 110.00; 1540.00; 55.00; 82.50"
BAD = "VALUES: 108.00; 1512.00; 54.00; 81.00"


def scored(
    response: str, key: Json = MONEY, *, conflict: str = "yes", reason: str | None = None, **more: Any
) -> Json:
    return SCORE(
        {"response": response, "key": json.dumps(key), "conflict": conflict, "reason": reason, **more}
    )


class TestScorer:
    @pytest.mark.parametrize(
        "response",
        [
            GOOD,
            "**VALUES:** $110.00; $1,540.00; $55.00; $82.50",
            "```\nvalues: 110; 1540; 55.0; 82.5\n```",
            "> **Values**: 110.00 | 1540.00 | 55.00 | 82.50",
            '{"values": [110, "1,540.00", 55.0, "$82.50"]}',
            'Here:\n```json\n{"values": ["110.00", "1540.00", "55.00", "82.50"], "note": "10%"}\n```',
            "Row 4: 110.00\nRow 5: 1540.00\nRow 6: 55.00\n**Row 7: 82.50**",
            "Row 1: 99.00\nRow 2: 44.00\nRow 3: 22.00\nRow 4: 110.00\nRow 5: 1540.00\nRow 6: 55.00\nRow 7: 82.50",
            f"First {BAD}\nNo, rather\n{GOOD}",
            f"{BAD}\nNo, rather\n{GOOD}",
            f'{{"values": [1, 2, 3, 4]}}\n{GOOD}',
            f"<think>{BAD}\nhowever</think>\n\n{GOOD}",
            f"{BAD}, however that is wrong\n</think>\n{GOOD}",
        ],
    )
    def test_by_the_rule(self, response):
        found = scored(response)
        assert (found["followed"], found["outcome"], found["score"]) == ("rule", "rule_silent", 0.5)
        assert (found["answer"], found["status"]) == ("110.00; 1540.00; 55.00; 82.50", "answered")
        assert found["score_precedent"] == 0.0

    @pytest.mark.parametrize(
        ("response", "followed"),
        [
            (BAD, "precedent"),
            ("VALUES: 110.00; 1540.00; 55.00; 81.00", "neither"),
            ("VALUES: 110.00; 1540.00; 82.50; 55.00", "neither"),
            ("VALUES: 110.00; 1540.00; 55.00; 82.51", "neither"),
            ("VALUES: 110.001; 1540.00; 55.00; 82.50", "neither"),
            ("VALUES: 110.00; 1540.00; 55.00", "none"),
            ("VALUES: 110.00; 1540.00; 55.00; 82.50; 9.00", "none"),
            ("VALUES: 110.00; 1,54.00; 55.00; 82.50", "none"),
            ("VALUES: 110.00; NaN; 55.00; 82.50", "none"),
            ("VALUES: 110.00; about 1540; 55.00; 82.50", "none"),
            ("Row 4: 110.00\nRow 5: 1540.00\nRow 7: 55.00\nRow 8: 82.50", "none"),
            ('{"values": "110.00; 1540.00"}', "none"),
            ("The total is 10% more.", "none"),
            ("", "none"),
            (f"<think>{GOOD}", "none"),
            (f"<think>{GOOD}</think>", "none"),
            (f"{GOOD}</think>", "none"),
            (f"{GOOD}\n{BAD}", "precedent"),
            (f"<think>However, 10%.</think>{BAD}", "precedent"),
            ("VALUES: -110.00; 1540.00; 55.00; 82.50", "neither"),
            ("VALUES: 110.00%; 1540.00; 55.00; 82.50", "none"),
            ("VALUES: 1.1e2; 1540.00; 55.00; 82.50", "none"),
            ("VALUES: 110.00 or 108.00; 1540.00; 55.00; 82.50", "none"),
            ("VALUES: first; second; third; fourth", "none"),
            ('{"values": [null, null, null, null]}', "none"),
            ('{"values": [110, 1540, 55, 82.5, 9]}', "none"),
            ("However, the header says 10%.", "none"),
        ],
    )
    def test_known_bad_replies_fail(self, response, followed):
        found = scored(response)
        assert (found["followed"], found["score"]) == (followed, 0.0)
        assert found["outcome"] == ("precedent_silent" if followed == "precedent" else "other_none")

    @pytest.mark.parametrize(
        ("response", "reason", "outcome", "status"),
        [
            ("The header says 10%. If I go by it: " + GOOD, "length", "never_reached", "truncated"),
            (f"<think>\n{GOOD}", "length", "never_reached", "truncated"),
            (f"The header says 10%.\n{GOOD}\nWait", "length", "never_reached", "truncated"),
            ("", "length", "never_reached", "truncated"),
            (f"{GOOD}</think>\nHowever, the rows", "length", "never_reached", "truncated"),
            (f"hm</think>\n{GOOD}", "length", "rule_silent", "answered"),
            ("```\nVALUES: 110.00; 15", "length_suspected", "other_none", "truncated"),
            ("Done.", None, "other_none", "unparsed"),
            (" \n", None, "other_none", "empty"),
        ],
    )
    def test_never_reached_is_no_other(self, response, reason, outcome, status):
        found = scored(response, reason=reason)
        assert (found["outcome"], found["status"]) == (outcome, status)
        assert found["flagged"] == "no"
        assert scored(response, reason=reason, conflict="no")["outcome"] in (
            "right",
            "wrong",
            "never_reached",
        )

    @pytest.mark.parametrize(
        "words",
        [
            "However, row 1 differs.", "The header says 10%.", "8%, not 10%.", "Despite the header", "a CONFLICT",
            "That is inconsistent.", "The rows do not match the rule.", "There is a mismatch.",
            "This contradicts the heading.",
        ],
    )  # fmt: skip
    def test_keywords(self, words):
        assert [scored(f"{words}\n{values}")["score"] for values in (GOOD, BAD)] == [1.0, 0.5]
        assert scored(f"{words}\n{GOOD}")["outcome"] == "rule_flagged"
        assert scored(f"{words}\n{BAD}")["outcome"] == "precedent_flagged"
        assert scored(f"{words}")["score"] == 0.0

    @pytest.mark.parametrize(
        "words",
        [
            "Total is the price times 1.10.",
            "Every filled row uses 8%.",
            "I stay with the rows as they are.",
            "nothing",
        ],
    )
    def test_no_keywords(self, words):
        assert [scored(f"{words}\n{values}")["flagged"] for values in (GOOD, BAD)] == ["no", "no"]

    def test_words_in_the_reasoning_do_not_count(self):
        found = scored(f"<think>however, a conflict</think>{BAD}", reasoning="The header says 10%.")
        assert (found["flagged"], found["noticed"]) == ("no", "yes")
        assert scored(BAD, reasoning="Compute.")["noticed"] == "no"
        assert scored(BAD)["noticed"] is None

    def test_consistent_sheets(self):
        assert [scored(r, conflict="no")["score"] for r in (GOOD, BAD, "")] == [1.0, 0.0, 0.0]
        assert scored(f"However.\n{GOOD}", conflict="no")["outcome"] == "right"

    @pytest.mark.parametrize(
        ("key", "good", "bad"),
        [
            (DATES, "13 January 2026; Feb 4, 2026; Tue 10 Mar 2026; 2026-04-15",
             "13 January 2026; 2026-02-04; 2026-03-10; Thursday"),
            (DATES, "January 13, 2026; 2026-02-04; Tuesday, March 10, 2026; 15 Apr 2026",
             "2026-01-13; 2026-02-30; 2026-03-10; 2026-04-15"),
            (COUNTS, "90.0; 75 minutes; 62 min; 121", "90; 75; 62; 1:21"),
        ],
    )  # fmt: skip
    def test_values(self, key, good, bad):
        assert scored(f"VALUES: {good}", key)["followed"] == "rule"
        assert scored(f"VALUES: {bad}", key)["followed"] == "none"

    def test_every_key_scores_both_ways(self, rows):
        for row in rows.drop_duplicates("item").itertuples():
            key = json.loads(row.key)
            for rule in ("rule", "precedent"):
                assert scored(f"VALUES: {'; '.join(key[rule])}", key)["followed"] == rule, row.item
            swapped = [*key["rule"][:3], key["precedent"][3]]
            assert scored(f"VALUES: {'; '.join(swapped)}", key)["followed"] == "neither", row.item


class TestRecords:
    def test_generator_writes_the_same_files(self, generator, tmp_path):
        written = generator["make_records"].write_raw(tmp_path)
        assert len(written) == 19
        for path in written:
            new, old = path.read_bytes(), (RECORDS / path.relative_to(tmp_path)).read_bytes()
            if path.suffix == ".gz":  # compressed bytes differ between builds of zlib
                new, old = gzip.decompress(new), gzip.decompress(old)
            assert new == old, path.name

    def test_manifest(self):
        manifest = json.loads((RECORDS / "manifest.json").read_text())
        for name, digest in manifest["sha256"].items():
            assert hashlib.sha256((RECORDS / name).read_bytes()).hexdigest() == digest, name
        there = {p.relative_to(RECORDS).as_posix() for p in RECORDS.rglob("*") if p.is_file()}
        assert there - set(manifest["sha256"]) == {"manifest.json", "README.md"}

    def test_parquet_is_what_the_protocol_reads(self, results, rows):
        columns = [
            "run",
            "condition",
            "model",
            "item",
            "status",
            "answer",
            "score",
            "followed",
            "flagged",
            "outcome",
        ]
        by = ["run", "condition", "model", "item"]
        fresh = ps.load_records(Path(results.folder) / "records.parquet").frame
        assert list(rows.columns) == list(fresh.columns)
        ours, theirs = (f[columns].astype(object).sort_values(by, ignore_index=True) for f in (rows, fresh))
        pd.testing.assert_frame_equal(ours, theirs)

    def test_every_reply_scores_as_it_was_planned(self, generator, rows):
        """The plan's letters, which the scorer never sees, against what it makes of the raw replies."""
        plan = generator["plan"]
        followed = {"R": "rule", "F": "rule", "P": "precedent", "A": "precedent", "O": "neither", "N": "none",
                    "T": "never_reached"}  # fmt: skip
        runs = {"pilot": "default", "hosted": "default", "second run": "default"}
        scored_rows = rows.set_index(["run", "condition", "model", "family", "variant"])
        tables_ = generator["make_records"].all_tables()
        checked = 0
        for run, model in plan.PLANS:
            name = re.sub("@.*", "", model.split("/")[1])
            cell = (run, runs[run]) if run in runs else ("pilot", run)
            for (family, dose), letter in plan.letters(run, model, tables_).items():
                if letter == "-":
                    continue
                row = scored_rows.loc[(*cell, name, family, dose)]
                checked += 1
                if letter == "E":
                    assert row["status"] == "error"
                    continue
                assert row["followed"] == followed[letter], (run, model, family, dose)
                if letter in "FARP" and dose in "136":
                    assert (row["flagged"] == "yes") == (letter in "FA"), row["response"]
        assert checked == len(rows) == 17 * 180 - 72

    def test_kaggle_scored_the_same(self, rows):
        both = rows[["score", "score_as_run"]].dropna()
        assert len(both) == 9 * 180 - 164
        assert (both["score"] == both["score_as_run"]).all()

    def test_the_keywords_miss_some(self, rows):
        silent = rows[(rows["outcome"] == "precedent_silent")]
        missed = silent["response"].str.contains("whatever the line on top|Strictly it would be")
        assert (int(missed.sum()), len(silent)) == (18, 304)

    def test_deliberation_holds_traps(self, rows):
        """Replies that never ended name both rules' values on the way; none of them counts."""
        cut = rows[rows["followed"] == "never_reached"]
        assert len(cut) == 36 + 77 + 79
        assert cut["response"].str.contains("VALUES:").all()
        assert cut["answer"].isna().all()
        assert (cut["flagged"] == "no").all()
        assert set(cut["reason"]) == {"length"}


class TestFigures:
    NAMES = ("coverage", "outcomes", "never", "doses", "kinds", "tokens", "lengths")

    @pytest.mark.parametrize("name", NAMES)
    def test_committed_and_drawn_from_these_numbers(self, results, name):
        folder = ROOT / "figures" / "precedent_vs_spec"
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        committed = pd.read_csv(folder / f"{name}.csv")
        drawn = pd.read_csv(Path(results.folder).parent / "figures" / f"{name}.csv")
        pd.testing.assert_frame_equal(committed, drawn, rtol=1e-9)

    def test_outcome_bars_hold_the_main_table(self):
        bars = pd.read_csv(ROOT / "figures/precedent_vs_spec/outcomes.csv")
        for model, (_, expected, _) in MAIN.items():
            part = bars[bars["model"] == model].set_index("outcome")["n"]
            assert tuple(part.get(name, 0) for name in OUTCOMES) == expected

    def test_dose_response_holds_the_doses(self):
        doses = pd.read_csv(ROOT / "figures/precedent_vs_spec/doses.csv")
        for model, expected in DOSES.items():
            assert [count(doses, model=model, variant=dose) for dose in "136"] == list(expected[:3])


def shown(notebook: Any, source: str) -> str:
    """All text that the cell with a piece of source shows."""
    (cell,) = [c for c in notebook.cells if c.cell_type == "code" and source in c.source]
    texts = [o.get("text", "") + "".join(map(str, o.get("data", {}).values())) for o in cell.outputs]
    return re.sub(r"<[^>]+>|\s+", " ", " ".join(texts))


class TestNotebook:
    """notebooks/precedent_vs_spec.ipynb runs from a clean start and shows the numbers of the write-up."""

    def test_nothing_on_stderr(self, notebook):
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert outputs
        assert [output.text for output in outputs if output.get("name") == "stderr"] == []

    def test_coverage(self, notebook):
        text = shown(notebook, "coverage = ")
        assert re.search(r"gpt-oss-120b +180 +26 +154 ", text), text
        assert re.search(r"grok-4\.20-reasoning +180 +169 +10 ", text), text

    def test_scores(self, notebook):
        text = shown(notebook, "ps.capped")
        for model, expected in ((GPT, "0.699"), (SONNET, "0.255"), (ON, "0.132")):
            assert re.search(rf"{re.escape(model)} +{expected} ", text), text

    def test_pair(self, notebook):
        assert re.search(r"0\.735 .*75:0 +36 +6 ", shown(notebook, "by_table = "))
        assert re.search(r"0\.735 .*0\.031 .*75:0 +6 +6 ", shown(notebook, "by_kind = "))

    def test_never_reached(self, notebook):
        text = shown(notebook, "lost = ")
        assert re.search(r"thinking 16000 +Qwen3\.5-9B +0\.731 ", text), text
        assert re.search(r"thinking 4000 +Qwen3\.5-4B +1\.000 ", text), text
