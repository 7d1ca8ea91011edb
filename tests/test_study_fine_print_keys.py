"""The study fine_print: its scorer against known-bad replies, and its keys against a second oracle."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from conftest import ROOT
from study_generators import generator_modules

import pairstats as ps
from pairstats.scripts import load_function

HOME = ROOT / "analyses" / "fine_print"
RECORDS = ROOT / "records" / "fine_print"

SCORE = load_function(HOME / "scoring.py", "score")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def generator():
    with generator_modules(HOME) as modules:
        yield modules


class TestSecondOracle:
    CALENDAR = (
        "exact_deadlines",
        "business_days",
        "tz_dst",
        "business_day_chains",
        "aggregation",
        "aggregation_xl",
    )
    PAYOUT = ("payout_01", "payout_02", "payout_05")

    def test_every_calendar_and_aggregation_key(self):
        """Prompts are read from raw files; zones from the tz database, business days from NumPy."""
        solve = load_function(HOME / "oracle.py", "solve")
        items = {i["item"]: i for i in map(json.loads, (RECORDS / "items.jsonl").read_text().splitlines())}
        [path] = RECORDS.glob("raw/run3/*/*/*.run.json.gz")
        solved = 0
        for run in json.loads(gzip.decompress(path.read_bytes()))["subruns"]:
            mark, asked = (
                run["results"][0]["dictResult"],
                run["conversations"][0]["requests"][-1]["contents"][0],
            )
            item = items[f"{mark['packet']}-{mark['copy']}"]
            if item["category"] in self.CALENDAR or item["family"] in self.PAYOUT:
                assert solve(asked["parts"][0]["text"]) == item["gold"], item["item"]
                solved += 1
        assert solved == 66

    @pytest.mark.parametrize(
        ("zone", "local", "expected"),
        [("America/New_York", (2026, 7, 1, 12, 0), 1), ("America/New_York", (2026, 3, 8, 2, 15), 0),
         ("Europe/Berlin", (2026, 10, 25, 2, 30), 2), ("Australia/Lord_Howe", (2026, 4, 5, 1, 45), 2),
         ("Australia/Lord_Howe", (2026, 10, 4, 2, 10), 0)],
    )  # fmt: skip
    def test_clock_of_the_engine_at_changes(self, generator, zone, local, expected):
        clock = generator["clock"]
        assert len(clock.instants(zone, datetime(*local))) == expected

    def test_clock_of_the_engine_against_the_tz_database(self, generator):
        clock = generator["clock"]
        for name in clock.ZONES:
            for hour in range(0, 366 * 24, 5):
                at = datetime(2026, 1, 1) + timedelta(hours=hour, minutes=7)
                offset = at.replace(tzinfo=UTC).astimezone(ZoneInfo(name)).utcoffset()
                assert offset == timedelta(minutes=clock.offset_at(name, at)), (name, at)

    def test_keys_of_the_other_packets_by_hand(self):
        """Answers that a person reads off the packets of every category without a calendar."""
        keys = {
            i["family"]: i["gold"]
            for i in map(json.loads, (RECORDS / "items.jsonl").read_text().splitlines())
        }
        assert {family: keys[family] for family in BY_HAND} == BY_HAND


UNKNOWN = "insufficient_information"
BY_HAND = {
    "auth_01": "false",
    "auth_02": "2026-05-14T17:00:00Z",
    "auth_03": "1200",
    "auth_04": "2026-06-30",
    "auth_05": "false",
    "scope_01": "true",
    "scope_02": "35",
    "scope_03": "15",
    "scope_04": "false",
    "scope_05": "2026-08-17",
    "open_01": UNKNOWN,
    "open_02": "true",
    "open_03": UNKNOWN,
    "open_04": "7",
    "open_05": UNKNOWN,
    "elig_01": "false",
    "elig_02": UNKNOWN,
    "elig_03": "false",
    "elig_04": "true",
    "elig_05": "false",
    "art_01": "{post, repository}",
    "art_02": "{license file}",
    "art_03": "{post, video}",
    "art_04": UNKNOWN,
    "art_05": "{repository, video}",
    "payout_03": "true",
    "payout_04": "1800",
    "h_hop_01": "2026-04-24T12:00:00Z",
    "h_hop_02": "2026-05-12",
    "h_hop_03": UNKNOWN,
    "h_hop_04": "6",
    "h_hop_05": "true",
    "h_long_01": "2026-05-02T06:00:00Z",
    "h_long_02": "false",
    "h_long_03": "450",
    "h_long_04": UNKNOWN,
    "h_long_05": "300",
    "h_turn_01": "2026-06-19T15:00:00Z",
    "h_turn_02": "false",
    "h_turn_03": "12",
    "h_turn_04": UNKNOWN,
    "h_turn_05": "{repository, video}",
    "h_mix_01": "false",
    "h_mix_02": "{age, team}",
    "h_mix_03": "false",
    "h_mix_04": "2160",
    "h_mix_05": UNKNOWN,
}


def row(response: str, **key: Any) -> Json:
    full = {"kind": "instant", "value": "2026-10-03T16:00:00Z", "offset": "", "evidence": [["R1", "S1"]],
            "sources": {"S1": "rules", "R1": "faq"}}  # fmt: skip
    return {"response": response, "key": json.dumps(full | key)}


def said(**answer: Any) -> str:
    full = {
        "status": "determinate",
        "value": "2026-10-03T16:00:00Z",
        "evidence": ["S1", "R1"],
        "confidence": 0.9,
    }
    return json.dumps(full | answer)


class TestScorer:
    @pytest.mark.parametrize(
        "response",
        [
            said(),
            said(value="2026-10-04T03:00:00+11:00"),
            said(value="2026-10-03 16:00:00 UTC"),
            said(evidence=["R1", "rules:S1"]),
            said(evidence="R1, S1"),
            said(evidence=["faq:R1", "RULES: S1"]),
            said(status="Determined"),
            said(reason="a label of no interest"),
            f"```json\n{said()}\n```",
            f'<think>perhaps {{"status": "determinate", "value": null}} or {said(value="x")}</think>\nSo: {said()}',
            f"First {said(value='2026-10-03T17:00:00Z')}, no, rather {said()}",
            said()[:-1] + ",}",
            said().replace("0.9", '"90%"'),
            said().replace('"', "'"),
        ],
    )
    def test_good_replies_pass(self, response):
        found = SCORE(row(response))
        assert (found["score"], found["score_answer_only"], found["confidence"]) == (1.0, 1.0, 0.9)
        assert found["answer"] == "2026-10-03T16:00:00Z"

    @pytest.mark.parametrize(
        ("response", "strict", "answer_only", "outcome"),
        [
            (said(value="2026-10-03T16:00:01Z"), 0, 0, "wrong_value"),
            (said(value="2026-10-03T16:00:00"), 0, 0, "wrong_value"),
            (said(value=True), 0, 0, "wrong_value"),
            (said(evidence=["S1"]), 0, 1, "wrong_citation"),
            (said(evidence=["S1", "R1", "Z9"]), 0, 1, "wrong_citation"),
            (said(evidence=["rules:R1", "S1"]), 0, 1, "wrong_citation"),
            (said(evidence=["faq:S1", "R1"]), 0, 1, "wrong_citation"),
            (said(evidence=[]), 0, 1, "wrong_citation"),
            (said(evidence=None), 0, 1, "wrong_citation"),
            (said(status="insufficient_information", value=None), 0, 0, "abstained"),
            (said(status="insufficient_information"), 0, 0, "abstained"),
            (said(value="2026-10-03"), 0, 0, "wrong_value"),
            (said(value="2026-10-03T16:00:00+11:00"), 0, 0, "wrong_value"),
            (said(value=["2026-10-03T16:00:00Z"]), 0, 0, "wrong_value"),
            (said(value="2026-10-03T16:00:00Z or 2026-10-03T17:00:00Z"), 0, 0, "wrong_value"),
            (f"{said()}\nRather: {said(value='2026-01-01T00:00:00Z')}", 0, 0, "wrong_value"),
            (f"{said()}</think>{said(value='2026-10-03T17:00:00Z')}", 0, 0, "wrong_value"),
            (said(evidence=["S1", "S1"]), 0, 1, "wrong_citation"),
            (said(evidence={"S1": 1, "R1": 2}), 0, 1, "wrong_citation"),
        ],
    )
    def test_bad_replies_fail(self, response, strict, answer_only, outcome):
        found = SCORE(row(response))
        assert (found["score"], found["score_answer_only"], found["outcome"]) == (
            strict,
            answer_only,
            outcome,
        )
        assert found["status"] == "answered"

    @pytest.mark.parametrize(
        ("response", "status"),
        [
            ("", "empty"),
            (" \n", "empty"),
            ("The close is at 16:00.", "unparsed"),
            ('{"value": ', "unparsed"),
            ('{"evidence": ["S1"]}', "unparsed"),
            ('{"status": "determinate", "value": null}', "unparsed"),
            (f"<think>{said()}</think>", "unparsed"),
            (f"<think>{said()}", "unparsed"),
            ("[1, 2]", "unparsed"),
            (f"{said()}</think> I cannot tell.", "unparsed"),
            (said(status="maybe"), "unparsed"),
            (json.dumps({"answer": json.loads(said())}), "unparsed"),
        ],
    )
    def test_no_answer_is_told(self, response, status):
        found = SCORE(row(response))
        assert (found["status"], found["score"], found["answer"]) == (status, 0.0, None)

    def test_open_packets(self):
        key = {"value": None, "evidence": [["R1", "S1"]]}
        right = SCORE(row(said(status="INSUFFICIENT INFORMATION", value=None), **key))
        assert (right["score"], right["answer"]) == (1.0, "insufficient_information")
        assert SCORE(row(said(), **key))["outcome"] == "committed"

    def test_local_times_need_the_offset_but_do_not_flip_by_it(self):
        key = {"kind": "local_instant", "value": "2026-11-01T15:00:00+05:45", "offset": "+05:45"}
        good, other = (
            SCORE(row(said(value=v), **key)) for v in ("2026-11-01T15:00:00+0545", "2026-11-01T09:15:00Z")
        )
        assert (good["score"], other["score"]) == (1.0, 0.0)
        assert good["answer"] == other["answer"]

    @pytest.mark.parametrize(
        ("kind", "gold", "good", "bad"),
        [
            (
                "set",
                ["E01", "E10"],
                (["e10", "E01"], "E10; E01", "[E01, E10]"),
                (
                    ["E01"],
                    ["E01", "E10", "E11"],
                    "E01 E10",
                    [],
                    "E01-E10",
                    "all of E01, E10",
                    ["E01", ["E10"]],
                ),
            ),
            (
                "boolean",
                False,
                (False, "no", "False", "No."),
                (True, "yes", 0, "perhaps", "not true", "No, but yes"),
            ),
            (
                "number",
                2100,
                (2100, 2100.0, "2,100", "$2100.00", "2100 dollars"),
                (2101, "210", True, "NaN", "-2100", "2.100", "2,10,0", "2100 to 2200", ["2100"]),
            ),
            (
                "date",
                "2026-11-05",
                ("2026-11-05", "November 5, 2026", "5 November 2026", "5 Nov 2026"),
                ("2026-11-04", "2026-05-11", "Thursday", "05/11/2026", "2026-11-05T00:00:00Z"),
            ),
        ],
    )
    def test_values(self, kind, gold, good, bad):
        for each in good:
            assert SCORE(row(said(value=each), kind=kind, value=gold))["score"] == 1.0, each
        for each in bad:
            assert SCORE(row(said(value=each), kind=kind, value=gold))["score_answer_only"] == 0.0, each

    def test_two_accepted_evidence_sets(self):
        key = {"evidence": [["R1", "R2"], ["R2"]], "sources": {"R1": "rules", "R2": "rules"}}
        assert [SCORE(row(said(evidence=e), **key))["score"] for e in (["R2"], ["R2", "R1"], ["R1"])] == [
            1,
            1,
            0,
        ]

    def test_every_key_passes_and_one_clause_too_many_fails(self):
        rows = ps.load_records(RECORDS / "records.parquet").frame
        for one in rows.drop_duplicates("item").itertuples():
            key = json.loads(one.key)
            answer = {
                "status": "determinate" if key["value"] is not None else UNKNOWN,
                "value": key["value"],
                "evidence": key["evidence"][0],
                "confidence": 1,
            }
            assert SCORE({"response": json.dumps(answer), "key": one.key})["score"] == 1.0, one.item
            less = json.dumps(answer | {"evidence": [*key["evidence"][0], "Z1"]})
            assert SCORE({"response": less, "key": one.key})["score"] == 0.0, one.item
