"""The study fine_print: the write-up's numbers from raw Kaggle run files, and its records."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, SHARED, needs_shared
from scipy.stats import binomtest
from study_generators import generator_modules
from test_notebooks import shown

import pairstats as ps
from pairstats.report import execute_notebook, read_notebook

HOME = ROOT / "analyses" / "fine_print"
RECORDS = ROOT / "records" / "fine_print"

QWEN, DEEPSEEK, GEMMA = "qwen3-235b-a22b-instruct-2507", "deepseek-r1-0528", "gemma-4-31b"
NEW, OLD, GPT = "gemini-3.7-flash", "gemini-2.5-flash", "gpt-oss-120b"
HARD = (
    "two_hop_precedence",
    "long_distractors",
    "multi_turn",
    "tz_dst",
    "business_day_chains",
    "compound",
    "aggregation",
    "aggregation_xl",
)
# The write-up's main table: strict on easy and hard, value alone, flips, confident and wrong (hard).
MAIN = {
    NEW: (0.975, 1.000, 1.000, 0.000, 0.000),
    OLD: (0.975, 0.850, 0.850, 0.275, 0.150),
    GEMMA: (0.988, 0.929, 0.929, 0.057, 0.071),
    QWEN: (0.738, 0.275, 0.350, 0.400, 0.646),
    DEEPSEEK: (0.900, 0.650, 0.688, 0.200, 0.312),
}
# Its table by category (run 4), and what it says of the older Gemini on the hard split.
CATEGORIES: dict[str, tuple[float, float | None, float]] = {
    "explicit_authority": (1.0, 1.0, 0.7),
    "scope_amendment": (1.0, 1.0, 0.7),
    "unresolved_authority": (1.0, 1.0, 1.0),
    "two_hop_precedence": (1.0, 1.0, 0.6),
    "long_distractors": (1.0, 1.0, 0.2),
    "multi_turn": (0.7, 1.0, 0.8),
    "exact_deadlines": (0.3, 0.9, 0.6),
    "tz_dst": (0.3, 0.6, 0.0),
    "business_days": (1.0, 1.0, 0.4),
    "business_day_chains": (0.9, 1.0, 0.2),
    "eligibility": (0.9, 1.0, 0.8),
    "submission_artifacts": (1.0, 1.0, 1.0),
    "notification_payout": (1.0, 1.0, 0.7),
    "compound": (0.6, 0.9, 0.4),
    "aggregation": (0.5, 1.0, 0.0),
    "aggregation_xl": (0.2, None, 0.0),
}
OLD_HARD = {
    "aggregation_xl": 0.6,
    "tz_dst": 0.7,
    "business_day_chains": 0.8,
    "compound": 0.7,
    "long_distractors": 1.0,
    "two_hop_precedence": 1.0,
    "multi_turn": 1.0,
    "aggregation": 1.0,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ps.Results:
    folder = tmp_path_factory.mktemp("fine_print")
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
    path = ROOT / "notebooks" / "fine_print.ipynb"
    return execute_notebook(read_notebook(path), folder=path.parent, name=path.name)


def table(results: ps.Results, name: str) -> pd.DataFrame:
    found = results.tables[name]
    return found if isinstance(found, pd.DataFrame) else found.frame


def value(frame: pd.DataFrame, column: str = "estimate", **equal: str) -> Any:
    """The one value of a row; rounding is the write-up's, half to even at three places."""
    for name, level in equal.items():
        frame = frame[frame[name] == level]
    [found] = frame[column].tolist()
    return found


class TestPublishedNumbers:
    @pytest.mark.parametrize("model", MAIN)
    def test_main_table(self, results, model):
        main = table(results, "main")
        found = tuple(
            round(value(main, split=split, estimand=name, model=model), 3)
            for split, name in (
                ("easy", "strict_as_run"),
                ("hard", "strict_as_run"),
                ("hard", "answer_only"),
                ("hard", "flips"),
                ("hard", "confident_wrong"),
            )
        )
        assert found == MAIN[model]

    @pytest.mark.parametrize(
        ("model", "flips", "pairs", "wrong", "sure"),
        [
            (NEW, 0, 40, 0, 80),
            (OLD, 11, 40, 12, 80),
            (GEMMA, 2, 35, 5, 70),
            (QWEN, 16, 40, 51, 79),
            (DEEPSEEK, 8, 40, 25, 80),
        ],
    )
    def test_numerators_and_denominators(self, results, rows, model, flips, pairs, wrong, sure):
        main = table(results, "main")
        assert value(main, "n_units", split="hard", estimand="flips", model=model) == pairs
        assert value(main, split="hard", estimand="flips", model=model) * pairs == pytest.approx(flips)
        part = rows[(rows["model"] == model) & (rows["split"] == "hard") & (rows["reported"] == "yes")]
        stated = part[part["confidence"] >= 0.9]
        assert (int((stated["score_answer_only"] < 1).sum()), len(stated)) == (wrong, sure)

    @pytest.mark.parametrize("category", CATEGORIES)
    def test_categories(self, results, category):
        found = table(results, "categories")
        for model, expected in zip((DEEPSEEK, GEMMA, QWEN), CATEGORIES[category], strict=True):
            got = value(found, category=category, model=model)
            assert pd.isna(got) if expected is None else round(got, 3) == expected
            assert value(found, "n_units", category=category, model=model) == (0 if expected is None else 10)

    def test_categories_of_the_older_gemini(self, results):
        found = table(results, "categories")
        assert {name: round(value(found, category=name, model=OLD), 3) for name in OLD_HARD} == OLD_HARD

    def test_overall(self, results):
        overall = table(results, "overall")
        for model, expected, n in ((GEMMA, 0.960, 150), (DEEPSEEK, 0.775, 160), (QWEN, 0.506, 160)):
            assert (round(value(overall, model=model), 3), value(overall, "n_units", model=model)) == (
                expected,
                n,
            )

    @pytest.mark.parametrize("model", [NEW, OLD])
    def test_printed_interval_on_easy(self, results, model):
        row = {"split": "easy", "estimand": "strict_as_run", "model": model}
        main = table(results, "as_printed")
        assert [round(value(main, end, **row), 3) for end in ("conf_low", "conf_high")] == [0.938, 1.0]

    def test_printed_interval_on_hard_depends_on_the_seed(self, results, rows):
        main = table(results, "as_printed")
        row = {"split": "hard", "estimand": "strict_as_run", "model": OLD}
        assert [round(value(main, end, **row), 4) for end in ("conf_low", "conf_high")] == [0.7625, 0.925]
        part = rows[(rows["model"] == OLD) & (rows["split"] == "hard")]
        means = part.groupby("family")["score_as_run"].mean().to_numpy()
        lows = [
            float(np.quantile(np.random.default_rng(seed).choice(means, (2000, 40)).mean(axis=1), 0.025))
            for seed in range(40)
        ]
        assert {0.7625, 0.775} <= {round(low, 4) for low in lows}  # either is printed, by luck

    def test_unchanged_hard_items(self, results):
        found = table(results, "unchanged")
        assert round(value(found, model=OLD), 3) == 0.872
        assert value(found, "n_units", model=OLD) == 78

    def test_the_leaderboard_stays_and_the_new_scorer_stands_beside(self, results):
        cells = results.cells.frame
        run3 = {"run": "run 3", "model": NEW}
        assert round(value(cells, estimand="strict_as_run", split="easy", **run3), 3) == 0.975
        assert [value(cells, estimand="strict", split=split, **run3) for split in ("easy", "hard")] == [
            1.0,
            1.0,
        ]
        assert [value(cells, "n_units", estimand="strict", split=s, **run3) for s in ("easy", "hard")] == [
            80,
            80,
        ]
        run2 = {"run": "run 2", "model": NEW, "estimand": "strict_as_run"}
        assert [round(value(cells, split=split, **run2), 3) for split in ("easy", "hard")] == [0.988, 1.0]

    def test_only_qualified_ids_and_payout_02_changed(self, rows):
        changed = rows[rows["score"] != rows["score_as_run"]].dropna(subset="score")
        assert changed["run"].isin(["run 2", "run 3"]).all()
        assert (changed["score"] > changed["score_as_run"]).all()
        run3 = changed[changed["run"] == "run 3"]["response"]
        assert len(run3) == 2
        assert run3.str.contains("rules:S1").all()
        [reply] = changed[changed["model"] == OLD]["response"]
        assert re.search(r'"evidence": (\[\s*"R2"\s*\]|"R2")', reply)

    def test_coverage(self, results):
        counts = results.completeness.set_index(["split", "run", "model"])
        assert counts.loc[("hard", "run 4", GEMMA), ["planned", "answered", "error"]].tolist() == [80, 70, 10]
        assert [counts.loc[(s, "run 4", GPT), "answered"] for s in ("easy", "hard")] == [0, 0]
        assert [counts.loc[(s, "run 4", GPT), "error"] for s in ("easy", "hard")] == [80, 80]
        assert set(counts["reasons"]) == {"", "rate_limit: 10", "rate_limit: 80"}
        assert (
            counts[["unparsed", "truncated", "refused", "empty", "absent"]].to_numpy().sum() == 0
        )  # no format error
        blocks = pd.read_parquet(results.folder / "completeness_by_block.parquet")
        assert set(blocks[(blocks["model"] == GEMMA) & (blocks["error"] > 0)]["category"]) == {
            "aggregation_xl"
        }

    def test_no_answers_is_no_zero(self, results):
        row = table(results, "overall").set_index("model").loc[GPT]
        assert pd.isna(row["estimate"])
        assert "none of 160 planned replies" in row["note"]

    def test_worst_case_of_the_ten_missing_items(self, results):
        bounds = table(results, "bounds")
        gemma = bounds[(bounds["split"] == "hard") & (bounds["model"] == GEMMA)]
        assert gemma["bound_low"].round(4).unique().tolist() == [0.8125]
        assert gemma["bound_high"].round(4).unique().tolist() == [0.9375]
        assert (gemma["bound_low"] > MAIN[DEEPSEEK][1]).all()

    def test_a_fifth_has_no_unique_answer_and_abstaining_wins_nothing(self, results, rows):
        items = rows.drop_duplicates("item")
        assert len(items) == 160
        assert (items["truth"] == "unresolved").sum() == 32
        assert (
            items.groupby("split", observed=True)["truth"].apply(lambda t: (t == "unresolved").sum()) == 16
        ).all()
        truth = table(results, "truth")
        assert set(truth[truth["n_units"] > 0]["truth"]) == {"determinate", "unresolved"}

    def test_design(self, results, rows):
        items = rows.drop_duplicates("item")
        assert items.groupby(["split", "category"], observed=True).size().tolist() == [10] * 16
        assert items.groupby("split", observed=True)["category"].nunique().tolist() == [8, 8]
        assert items.groupby("split", observed=True).size().tolist() == [80, 80]
        assert (items.groupby("family")["variant"].apply(sorted).map(tuple) == ("base", "variant")).all()
        main = table(results, "main").query("model == @OLD and estimand == 'strict_as_run'")
        assert main[["n_families", "n_units"]].to_numpy().tolist() == [[40, 80], [40, 80]]

    def test_the_newer_gemini_gets_all_160_values_and_never_flips(self, results):
        main = table(results, "main").query("model == @NEW").set_index(["split", "estimand"])
        for split in ("easy", "hard"):
            assert main.loc[(split, "answer_only"), ["estimate", "n_units"]].tolist() == [1.0, 80]
            assert main.loc[(split, "flips"), ["estimate", "n_units"]].tolist() == [0.0, 40]

    def test_almost_every_answer_claims_at_least_nine_tenths(self, results):
        shares = table(results, "main").query("estimand == 'confident'")["estimate"].dropna()
        assert len(shares) == 10
        assert shares.min() > 0.95

    def test_65_percent_of_the_confident_answers_of_qwen_are_wrong(self, results):
        share = value(table(results, "main"), split="hard", estimand="confident_wrong", model=QWEN)
        assert round(100 * share) == 65

    def test_the_comment_s_ten_points_at_80_items(self, results):
        """Half the length of an interval at a rate of one half: 11 points, more where copies move together."""
        assert round(100 * 1.96 * (0.25 / 80) ** 0.5, 1) == 11.0
        main = table(results, "main").query("split == 'hard' and estimand == 'strict_as_run'")
        row = main.set_index("model").loc[DEEPSEEK]  # 0.650, the nearest to one half
        assert 0.10 < (row["conf_high"] - row["conf_low"]) / 2 < 0.155
        tests = results.contrasts.frame
        assert len(tests) == 5
        assert (tests["mdd"] > 0.06).all()  # "6 points apart on one split": found in no comparison
        assert round(tests["mdd"].min(), 3) == 0.216  # the README's 22 points

    @needs_shared
    def test_shared_counts_of_categories(self, results):
        published = pd.read_csv(SHARED / "published/fine_print_per_category.csv")
        published = published[published["category"].isin(CATEGORIES) & (published["n_scored"] > 0)]
        found = table(results, "categories").set_index(["category", "model"])
        assert len(published) > 60
        for row in published.itertuples():
            got = found.loc[(row.category, row.model)]
            assert (round(got["estimate"] * 10), got["n_units"]) == (row.strict_correct, row.n_scored)

    @needs_shared
    def test_shared_counts_of_hard_families(self, rows):
        """Families are matched by category, copies right and flip; their numbers are labels."""
        published = pd.read_csv(SHARED / "published/fine_print_hard_families.csv").dropna(
            subset="copies_right"
        )
        part = rows[
            (rows["split"] == "hard") & (rows["reported"] == "yes") & rows["model"].isin([OLD, GEMMA, NEW])
        ]
        part = part[part["status"] == "answered"]
        found = part.groupby(["model", "category", "family"], observed=True).agg(
            right=("score_answer_only", "sum"), answers=("answer", "nunique")
        )
        ours = sorted((m, c, int(r), int(a == 2)) for (m, c, _), r, a in found.itertuples())
        theirs = sorted(
            (r.model, r.category, int(r.copies_right), int(r.flip)) for r in published.itertuples()
        )
        assert len(theirs) == 115
        assert ours == theirs

    @needs_shared
    def test_shared_counts_of_the_main_table(self, results):
        published = pd.read_csv(SHARED / "published/fine_print_main.csv")
        main = table(results, "main")
        for row in published.itertuples():
            for split, name, text in (
                ("easy", "strict_as_run", row.easy_strict),
                ("hard", "strict_as_run", row.hard_strict),
                ("hard", "answer_only", row.hard_answer_only),
            ):
                right, n = map(int, text.split("/"))
                got = {"split": split, "estimand": name, "model": row.model}
                assert (round(value(main, **got) * n), value(main, "n_units", **got)) == (right, n)


class TestStoriesOfTheText:
    """Cases that the text tells: packet, copy, answer and confidence."""

    def reply(self, rows: pd.DataFrame, model: str, item: str) -> pd.Series:
        [found] = [row for _, row in rows[(rows["model"] == model) & (rows["item"] == item)].iterrows()]
        return found

    def test_a_gap_with_a_rule_became_an_abstention(self, rows):
        base, variant = (self.reply(rows, OLD, f"h_tz_01-{copy}") for copy in ("base", "variant"))
        assert (base["outcome"], base["confidence"]) == ("abstained", 1.0)
        assert "missing_fact" in base["response"]
        assert (variant["answer"], variant["outcome"]) == ("2026-10-03T16:00:00Z", "right")
        assert variant["twist"] == "about"

    def test_off_by_one_in_tokyo(self, rows):
        base, variant = (self.reply(rows, OLD, f"h_bday_01-{copy}") for copy in ("base", "variant"))
        assert (base["answer"], variant["answer"], variant["confidence"]) == ("2026-11-05", "2026-11-04", 1.0)
        assert variant["twist"] == "clauses"
        assert variant["category"] == "business_day_chains"

    def test_forty_records_in_another_order(self, rows):
        part = rows[(rows["model"] == OLD) & (rows["category"] == "aggregation_xl")]
        assert part.groupby("family")["answer"].nunique().tolist().count(2) == 4
        assert (part["confidence"] >= 0.9).all()
        assert set(part["twist"]) == {"records"}

    def test_qwen_cites_past_the_amendment(self, rows):
        for item in ("h_hop_04-base", "h_hop_04-variant", "h_hop_05-base", "h_hop_05-variant"):
            row = self.reply(rows, QWEN, item)
            assert row["score"] == 0
            assert row["confidence"] >= 0.95
            cited = re.search(r'"evidence": (\[[^]]*\]|"[^"]*")', row["response"])[1]
            assert "T2" in cited
            assert "A1" not in cited
        answers = {self.reply(rows, QWEN, f"h_hop_05-{copy}")["answer"] for copy in ("base", "variant")}
        assert answers == {"true", "false"}

    def test_qwen_is_sure_of_what_it_gets_wrong_about_authority(self, results, rows):
        """Confidence of .95 to 1 on nearly all of its misses in the three categories that the text names."""
        lost = ["explicit_authority", "two_hop_precedence", "long_distractors"]
        part = rows[(rows["model"] == QWEN) & rows["category"].isin(lost) & (rows["score"] < 1)]
        assert len(part) == 3 + 4 + 8
        assert (part["confidence"] >= 0.95).sum() == 14

    def test_deepseek_abstains_on_gaps(self, rows):
        for family in ("h_tz_01", "h_tz_03", "h_tz_05"):
            for copy in ("base", "variant"):
                row = self.reply(rows, DEEPSEEK, f"{family}-{copy}")
                assert row["outcome"] == "abstained"
                assert row["confidence"] >= 0.95

    def test_gemma_on_gap_and_nepal(self, rows):
        gap, nepal = (
            rows[(rows["model"] == GEMMA) & (rows["family"] == f)]["outcome"] for f in ("h_tz_01", "h_tz_02")
        )
        assert sorted(gap) == ["abstained", "abstained"]
        assert sorted(nepal) == ["abstained", "wrong_value"]

    def test_only_qwen_loses_authority_questions(self, rows):
        part = rows[rows["category"].isin(["explicit_authority", "scope_amendment", *HARD[:2]])]
        wrong = part[(part["score_answer_only"] < 1) & (part["status"] == "answered")]
        assert set(wrong["model"]) == {QWEN}


class TestAgainstOtherPaths:
    def test_main_table_by_counting_in_raw_files(self):
        """The task's own verdicts, read with json alone, no reader and no scorer."""
        counts: dict[tuple[str, bool], list[bool]] = {}
        for path in sorted(RECORDS.glob("raw/run[34]/*/*/*.run.json.gz")):
            for run in json.loads(gzip.decompress(path.read_bytes()))["subruns"]:
                if run["state"].endswith("COMPLETED"):
                    mark = run["results"][0]["dictResult"]
                    key = run["modelVersion"]["slug"].split("/")[1], mark["packet"].startswith("h_")
                    counts.setdefault(key, []).append(mark["strict"])
        for model in (NEW, GEMMA, QWEN, DEEPSEEK):
            easy, hard = (counts[model, is_hard] for is_hard in (False, True))
            assert (round(np.mean(easy), 3), round(np.mean(hard), 3)) == MAIN[model][:2]
        assert (GPT, True) not in counts

    def test_exact_mcnemar_with_holm(self, results, rows):
        part = rows[(rows["split"] == "hard") & (rows["variant"] == "base") & (rows["reported"] == "yes")]
        wide = part.pivot_table(index="item", columns="model", values="score", observed=True)
        found = table(results, "mcnemar").dropna(subset="p_value")
        assert len(found) == 10
        raw = []
        for row in found.itertuples():
            first, second = row.contrast.split(" - ")
            pair = wide[[first, second]].dropna()
            only = int((pair[first] > pair[second]).sum()), int((pair[first] < pair[second]).sum())
            assert (row.n_first_only, row.n_second_only) == only
            p = binomtest(only[0], sum(only)).pvalue if sum(only) else 1.0
            assert row.p_value == pytest.approx(p, abs=1e-12)
            raw.append(p)
        order, worst = sorted(range(10), key=raw.__getitem__), 0.0
        for k, i in enumerate(order):
            worst = max(worst, min(1.0, (10 - k) * raw[i]))
            assert found["p_adjusted"].iloc[i] == pytest.approx(worst, abs=1e-12)

    def test_brier(self, results, rows):
        part = rows[(rows["split"] == "hard") & (rows["model"] == QWEN)]
        expected = ((part["confidence"] - part["score_answer_only"]) ** 2).mean()
        assert value(table(results, "main"), estimand="brier", split="hard", model=QWEN) == pytest.approx(
            expected
        )

    def test_moves_between_copies(self, results, rows):
        part = rows[(rows["split"] == "hard") & (rows["model"] == OLD)]
        wide = part.pivot(index="family", columns="variant", values="score_answer_only").astype(bool)
        moves = (
            table(results, "flip_moves")
            .query("split == 'hard' and model == @OLD")
            .set_index("estimand")["estimate"]
        )
        assert moves["right_to_wrong"] * 40 == pytest.approx((wide["base"] & ~wide["variant"]).sum())
        assert moves["wrong_to_right"] * 40 == pytest.approx((~wide["base"] & wide["variant"]).sum())
        assert (moves["wrong_to_other"] * 40, moves["wrong_to_same"]) == (pytest.approx(1), 0)  # h_mix_03

    def test_two_runs_of_one_model(self, results):
        same = table(results, "retest").query("estimand == 'same_answer'")
        assert same["estimate"].tolist() == [1.0, 1.0]

    def test_review_by_disagreement(self, results, rows):
        found = table(results, "review").query("model == @OLD and estimand == 'error'")
        assert found["estimate"].min() == pytest.approx(0)  # every packet that is wrong anywhere flips


class TestRecords:
    def test_generator_writes_the_same_files(self, generator, tmp_path):
        written = generator["make_records"].write_raw(tmp_path)
        assert len(written) == 11
        for path in written:
            committed = RECORDS / path.relative_to(tmp_path)
            new, old = path.read_bytes(), committed.read_bytes()
            if path.suffix == ".gz":  # compressed bytes differ between builds of zlib
                new, old = gzip.decompress(new), gzip.decompress(old)
            assert new == old, path.name

    def test_manifest(self):
        manifest = json.loads((RECORDS / "manifest.json").read_text())
        assert {Path(name).name for name in manifest["sha256"]} >= {"items.jsonl", "records.parquet"}
        for name, digest in manifest["sha256"].items():
            assert hashlib.sha256((RECORDS / name).read_bytes()).hexdigest() == digest, name
        there = {p.relative_to(RECORDS).as_posix() for p in RECORDS.rglob("*") if p.is_file()}
        assert there - set(manifest["sha256"]) == {"manifest.json", "README.md"}

    def test_parquet_is_what_the_protocol_reads(self, results, rows):
        columns = [
            "run",
            "model",
            "item",
            "status",
            "answer",
            "score",
            "score_as_run",
            "confidence",
            "outcome",
        ]
        by = ["run", "model", "item"]
        fresh = ps.load_records(Path(results.folder) / "records.parquet").frame
        assert list(rows.columns) == list(fresh.columns)
        ours, theirs = (f[columns].astype(object).sort_values(by, ignore_index=True) for f in (rows, fresh))
        pd.testing.assert_frame_equal(ours, theirs)

    def test_lures_are_wrong_and_apart(self, generator):
        canonical = generator["packets"].canonical
        for packet in generator["make_records"].all_packets():
            answers = [canonical(v, packet.kind) for v in (packet.ruling.value, *packet.lures)]
            assert len(set(answers)) == len(answers), packet.id
            assert packet.decoy not in packet.ruling.evidence, packet.id

    def test_copies_say_the_same(self, generator):
        """Sorted lines differ by the added page alone; long packets have about 800 words around the clauses."""
        packets = generator["packets"]
        for packet in generator["make_records"].all_packets():
            base, variant = (packets.rendered(packet, copy) for copy in ("base", "variant"))
            lines = [set("\n".join(c).replace("-variant", "-base").splitlines()) for c in (base, variant)]
            extra = lines[1] - lines[0]
            assert not lines[0] - lines[1], packet.id
            assert all(re.match(r"X\d\.|== About", line) for line in extra), packet.id
            assert base != [text.replace("-variant", "-base") for text in variant], packet.id
            assert (len(base[0].split()) > 800) == (packet.split == "hard"), packet.id

    def test_numbers_that_the_packets_hold(self, generator):
        """What the write-up's description and its quotations say of single packets, read in their texts."""
        packets = generator["packets"]
        every = generator["make_records"].all_packets()
        texts = {
            p.id: {copy: "\n".join(packets.rendered(p, copy)) for copy in ("base", "variant")} for p in every
        }
        listed = {
            name: {copy: re.findall(r"^E\d+", text, re.MULTILINE) for copy, text in copies.items()}
            for name, copies in texts.items()
            if "agg" in name
        }
        sizes = sorted({len(copies["base"]) for copies in listed.values()})
        assert (sizes[0], sizes[-2], sizes[-1]) == (6, 12, 40)  # 6 to 12 records, and 40
        for name, copies in listed.items():
            assert copies["variant"] == copies["base"][::-1], name  # record order reversed
        assert "Entries close at 2:30 AM on October 4, 2026, Australia/Sydney" in texts["h_tz_01"]["base"]
        assert "+05:45" in {p.id: p for p in every}["h_tz_02"].ruling.value  # the Nepal packet
        chain = texts["h_bday_01"]["base"]
        assert "3 business days after the first attempted notification" in chain
        assert "Asia/Tokyo" in chain
        late = texts["dead_03"]["base"]  # 30 seconds after 5 PM in London, which is 16:00 in UTC
        assert "Entries close at 5:00 PM on March 29, 2026, Europe/London" in late
        assert "received at 2026-03-29T16:00:30Z" in late
        assert "Is a team of five allowed?" in texts["auth_01"]["base"]
        assert "In Boro the age of majority is 19, elsewhere 18." in texts["elig_01"]["base"]

    def test_only_one_packet_was_reworded(self, generator):
        packets = generator["packets"]
        changed = [
            p.id
            for p in generator["make_records"].all_packets()
            if packets.rendered(p, "base") != packets.rendered(p, "base", earlier=True)
        ]
        assert changed == ["h_mix_03"]


class TestFigures:
    NAMES = (
        "coverage",
        "categories",
        "flips_hard",
        "outcomes",
        "flip_moves",
        "reliability",
        "discordance",
        "ranks",
    )

    @pytest.mark.parametrize("name", NAMES)
    def test_committed_and_drawn_from_these_numbers(self, results, name):
        folder = ROOT / "figures" / "fine_print"
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        committed = pd.read_csv(folder / f"{name}.csv")
        drawn = pd.read_csv(Path(results.folder).parent / "figures" / f"{name}.csv")
        pd.testing.assert_frame_equal(committed, drawn, rtol=1e-9)

    def test_heat_map_shows_missing_cells(self):
        found = pd.read_csv(ROOT / "figures/fine_print/categories.csv").set_index(["category", "model"])[
            "estimate"
        ]
        assert pd.isna(found["aggregation_xl", GEMMA])
        assert found[found.isna()].index.get_level_values("model").tolist().count(GPT) == 16
        assert found["tz_dst", QWEN] == 0.0


class TestNotebook:
    """notebooks/fine_print.ipynb runs from a clean start and shows the numbers of the write-up."""

    def test_nothing_on_stderr(self, notebook):
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert outputs
        assert [output.text for output in outputs if output.get("name") == "stderr"] == []

    def test_rate_limits_are_coverage(self, notebook):
        text = shown(notebook, "panel.completeness()")
        assert re.search(r"gemma-4-31b +80 +70 +10 +0\.875", text), text
        assert re.search(r"gpt-oss-120b +80 +0 +80 ", text), text

    def test_both_scores(self, notebook):
        assert re.search(r"easy +gemini-3\.7-flash +0\.975 +\[0\.938, 1\.000\]", shown(notebook, "as_run = "))
        assert re.search(r"gemini-3\.7-flash +1\.000 ", shown(notebook, 'today.where(split="easy")'))

    def test_confident_and_wrong(self, notebook):
        text = shown(notebook, "confident and wrong")
        assert re.search(r"qwen3-235b-a22b-instruct-2507 +0\.646 ", text), text

    def test_worst_case(self, notebook):
        text = shown(notebook, "ps.missing_bounds")
        assert re.search(r"gemma-4-31b +0\.8125 +0\.9375 +10", text), text

    def test_cases_by_the_rule(self, notebook, rows):
        text = shown(notebook, "kinds = ")
        assert re.search(
            r"tz_dst +abstained +h_tz_01-base +2026-10-03T16:00:00Z +insufficient_information +1\.0", text
        ), text
        assert re.search(
            r"business_day_chains +wrong_value +h_bday_01-variant +2026-11-05 +2026-11-04 +1\.0", text
        ), text
        assert len(set(re.findall(r"h_(?:tz|bday|mix|aggx)_0\d-", text))) == 4

    def test_figures_are_shown_inline(self, notebook):
        drawn = [cell for cell in notebook.cells if cell.cell_type == "code" and "ps.figures." in cell.source]
        assert len(drawn) == 3
        assert all("image/png" in cell.outputs[-1].data for cell in drawn)
