"""The command line: exit codes, messages, and the same words as the library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import pairstats
from pairstats import cli
from pairstats.records import load_records

RAW = ROOT / "records" / "rule_conflicts" / "raw"
INSPECT = [
    "--model",
    "eval.metadata.system",
    "--family",
    "metadata.family_id",
    "--variant",
    "metadata.variant",
]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = cli.main([str(word) for word in words])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_version_and_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in (
        (["--version"], pairstats.__version__),
        (["--help"], "examples:"),
        (["run", "--help"], "-o"),
    ):
        with pytest.raises(SystemExit) as caught:
            cli.main(words)
        assert caught.value.code == 0
        assert text in capsys.readouterr().out
    assert run(capsys)[0] == 2


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pairstats", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"pairstats {pairstats.__version__}"


def test_normalize_check_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "records.parquet"
    status, said, _ = run(
        capsys, "normalize", RAW / "inspect", *INSPECT, "--score", "letter_match", "-o", out
    )
    assert status == 0
    assert "in all: 1080 records = 1080 rows + 0 left out + 0 merged" in said
    assert f"written to {out}" in said
    assert len(load_records(out)) == 1080
    status, said, _ = run(capsys, "check", out)
    assert status == 0
    assert "1080 rows" in said


def test_normalize_as_json_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    status, said, _ = run(
        capsys, "normalize", RAW / "openai", "--model", "system", "--family", "family_id", "--item", "item_id",
        "--variant", "variant", "--answers", "choice", "--json",
    )  # fmt: skip
    found = json.loads(said)
    assert status == 0
    assert found["records"] == found["rows"] + found["left_out"] + found["merged"] == 540
    assert sum(f["error"] for f in found["files"]) == 47
    assert found["output"] is None


def test_a_mapping_may_be_a_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("item,model,score\na1-base,m,1\na1-moved,m,0\n")
    out = tmp_path / "r.parquet"
    status, *_ = run(
        capsys, "normalize", table, "--family", r"item~^(\w+)-", "--variant", r"item~-(\w+)$", "-o", out,
        "--set", "condition=plain",
    )  # fmt: skip
    assert status == 0
    frame = load_records(out).frame
    assert frame["family"].tolist() == ["a1", "a1"]
    assert frame["variant"].tolist() == ["base", "moved"]
    assert set(frame["condition"]) == {"plain"}


def test_models_may_be_named_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("item,score\nq1,1\n")
    out = tmp_path / "r.csv"
    words = [f"small={tmp_path / 'a.csv'}", f"large={tmp_path / 'b.csv'}"]
    status, *_ = run(capsys, "normalize", *words, "--family", "item", "-o", out)
    assert status == 0
    assert sorted(load_records(out).frame["model"]) == ["large", "small"]
    assert run(capsys, "normalize", words[0], tmp_path / "b.csv", "--family", "item")[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["normalize", "nowhere.jsonl"], "nowhere.jsonl"),
        (["check", "nowhere.parquet"], "nowhere.parquet"),
        (["check", "nowhere.toml"], "There is no protocol file nowhere.toml"),
        (["run", "nowhere.toml", "-o", "out"], "There is no protocol file nowhere.toml"),
        (["draw", "nowhere", "-o", "out"], "'nowhere' does not exist"),
        (["report", "nowhere", "-o", "out.html"], "'nowhere' does not exist"),
        (["normalize", "x", "--set", "condition"], "--set must read NAME=VALUE"),
        (["normalize", "x", "--confidence-scale", "big"], "--confidence-scale must be a number, but got big"),
        (["normalize", "x", "--answers", "essay"], "kind"),
    ],
)
def test_wrong_usage_is_one_message_and_status_2(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *words)
    assert status == 2
    assert message in err
    assert err.startswith("pairstats: ")
    assert "Traceback" not in err + out
    status, out, _ = run(capsys, *words, "--json")
    assert message in json.loads(out)["error"]


def test_check_reports_all_faults_of_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("family,item,model,status,score\nf,q,m,lost,2\nf,q,m,answered,1\n")
    status, out, _ = run(capsys, "check", broken)
    assert status == 1
    assert "'status' must be one of" in out
    assert "'score' must lie in [0, 1]" in out
    assert "1 keys occur more than once" in out
    status, out, _ = run(capsys, "check", broken, "--json")
    assert len(json.loads(out)["findings"]) == 3


def test_keep_going_lists_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "runs.jsonl"
    log.write_text('{"item": "q1", "model": "m", "score": 1}\n{"item": "q2", "mod\n')
    status, _, err = run(capsys, "normalize", log, "--family", "item")
    assert status == 2
    assert "runs.jsonl:2" in err
    status, out, _ = run(capsys, "normalize", log, "--family", "item", "--keep-going")
    assert status == 1
    assert "2 records = 1 rows + 1 left out" in out
    assert "runs.jsonl:2" in out


def test_steps_are_shown_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = ROOT / "analyses" / "rule_conflicts" / "protocol.toml"
    status, out, err = run(capsys, "run", study, "-o", tmp_path / "results", "--no-report")
    assert status == 0
    assert err.splitlines()[:3] == ["[1/5] reading", "[2/5] estimating", "[3/5] comparing"]
    assert out.splitlines()[0] == "Found:"
    assert str(tmp_path / "results" / "estimates.csv") in out.splitlines()[-1]
    status, out, _ = run(capsys, "draw", tmp_path / "results", "-o", tmp_path / "figures")
    assert status == 0
    assert len(list((tmp_path / "figures").glob("*.png"))) >= 4


POWER = """
[protocol]
name = "planned"
[[records.source]]
path = "later"
[[estimand]]
name = "accuracy"
kind = "mean"
[[contrast]]
name = "C1"
estimand = "accuracy"
compare = { factor = "model", level = "a", reference = "b" }
[power]
families = [20]
icc = 0.5
rho = 0.6
n_simulations = 100
[power.rates.accuracy]
a = 0.9
b = 0.5
"""


def test_power_before_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(POWER)
    status, out, _ = run(capsys, "power", path, "--families", 10, 40, "-o", tmp_path / "power", "--seed", 3)
    assert status == 0
    assert "40 families x 1 copy x 1 repeat: power" in out
    assert "seed 3" in out
    names = {file.name for file in (tmp_path / "power").iterdir()}
    assert names == {"power.csv", "power.json", "power_curve.png", "power_curve.svg"}
    status, out, _ = run(capsys, "power", path, "--json")
    assert [row["families"] for row in json.loads(out)["rows"]] == [20]
    path.write_text(POWER.replace("icc = 0.5", "icc = 5.0"))
    status, _, err = run(capsys, "power", path)
    assert status == 2
    assert "`icc` must lie in [0, 1]" in err
    assert "protocol.toml:13: " in err


def test_verify_diff_and_fill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = ROOT / "analyses" / "rule_conflicts" / "protocol.toml"
    for name in ("a", "b"):
        assert run(capsys, "run", study, "-o", tmp_path / name, "--no-report")[0] == 0
    status, out, _ = run(capsys, "verify", tmp_path / "a")
    assert status == 0, out
    assert "Not proved:" in out
    status, out, _ = run(capsys, "diff", tmp_path / "a", tmp_path / "b")
    assert status == 0, out
    altered = (tmp_path / "b" / "protocol.toml").read_text().replace('"family-jeffreys"', '"family-cp"')
    (tmp_path / "b" / "protocol.toml").write_text(altered)
    assert run(capsys, "diff", tmp_path / "a", tmp_path / "b", "--json")[0] == 1
    article = tmp_path / "article.md"
    article.write_text('Terse: {{ accuracy["inspect"]["smollm2-terse-t0"].estimate | num(3) }}.\n')
    status, out, _ = run(capsys, "fill", article, "--results", tmp_path / "a", "-o", tmp_path / "filled.md")
    assert status == 0
    assert (tmp_path / "filled.md").read_text() == "Terse: 0.450.\n"
    article.write_text("{{ accurracy.estimate }}\n")
    status, _, err = run(capsys, "fill", article, "--results", tmp_path / "a", "-o", tmp_path / "filled.md")
    assert status == 1
    assert "article.md:1" in err
