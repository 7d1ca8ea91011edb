"""The command line: exit codes, messages, and the same words as the library."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import ROOT
from synthetic_results import write_results

import pairstats
from pairstats import Estimates, cli
from pairstats.commands import normalize
from pairstats.commands.shell_words import as_typed
from pairstats.records.table import load_records

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
    assert status == 1
    assert "1080 rows" in said
    assert "Red flags: none" in said
    assert "'smollm2-terse-t0' answered 'A' in 360 of 360 decisions" in said


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


def test_normalize_has_every_word_of_read_runs() -> None:
    parser = argparse.ArgumentParser()
    normalize.add_arguments(parser)
    known = set(vars(parser.parse_args(["runs/"])))
    words = set(signature(pairstats.read_runs).parameters) - {"paths"}
    assert words <= known
    assert known - words == {"raw", "output", "force", "answer_field", "redact"}


def test_scores_of_any_range_can_be_normalized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("item,model,score\nq1,m,70\nq2,m,80\n")
    words = ("normalize", tmp_path / "a.csv", "--family", "item", "-o", tmp_path / "r.parquet")
    status, _, err = run(capsys, *words)
    assert status == 2
    assert "--score-range 0,100" in err
    assert run(capsys, *words, "--score-range", "0,100")[0] == 0
    assert load_records(tmp_path / "r.parquet").score_range == (0, 100)


def test_models_of_a_wide_table_and_further_columns_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("item,gpt-4,claude,hard\nq1,0.5,0.7,1\nq2,0.4,0.3,0\n")
    words = ("normalize", tmp_path / "a.csv", "--family", "item", "-o", tmp_path / "r.parquet")
    status, _, err = run(capsys, *words)
    assert status == 2
    assert "--models COLUMN, once for each" in err
    more = ("--models", "gpt-4", "--models", "claude", "--extra", "difficulty=hard")
    assert run(capsys, *words, *more)[0] == 0
    frame = load_records(tmp_path / "r.parquet").frame
    assert sorted(set(frame["model"])) == ["claude", "gpt-4"]
    assert sorted(frame["difficulty"].astype(str)) == ["0", "0", "1", "1"]


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        (
            "Map model=, or give the paths as {model name: path}.",
            "Map --model, or give the paths as MODEL=PATH.",
        ),
        ("Write score='a b'; map item=.", "Write --score 'a b'; map --item."),
        ("pass answers=ps.AnswerFormat(...) (needs gold)", "pass --answers KIND (needs gold)"),
        (
            "`planned` needs `items`, and `item` is a column",
            "--planned needs --items, and `item` is a column",
        ),
        ("gsm:model=gpt-4,run=3 in 'a/model=b'", "gsm:model=gpt-4,run=3 in 'a/model=b'"),
        ("model=7b/a.csv, run=3.csv: 1 row", "model=7b/a.csv, run=3.csv: 1 row"),
        ("Write confidence_scale=100.", "Write --confidence-scale 100."),
    ],
)
def test_messages_name_words_as_the_shell_has_them(message: str, typed: str) -> None:
    assert as_typed(message) == typed


def test_a_path_with_an_equals_sign_names_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("gsm:model=a", "gsm:model=b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text(f"item,model,score\nq1,{name[-1]},1\n")
    (tmp_path / "other.csv").write_text("item,model,score\nq1,o,1\n")

    def models(*words: str) -> list[str]:
        status, *_ = run(capsys, "normalize", *words, "--family", "item", "-o", "r.csv", "--force")
        assert status == 0
        found = sorted(load_records(Path("r.csv")).frame["model"])
        Path("r.csv").unlink()
        return found

    assert models("gsm:model=*") == ["a", "b"]
    assert models("gsm:model=a", "gsm:model=b") == ["a", "b"]
    assert models("gsm:model=other.csv") == ["gsm:model"]
    assert models("mine=o*.csv") == ["mine"]
    status, _, err = run(capsys, "normalize", "gsm:model=c", "--family", "item")
    assert status == 2
    assert "'gsm:model=c' must be a file" in err


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
        (["normalize", "x", "--score-range", "0-100"], "--score-range must be two numbers, LOW,HIGH"),
        (["normalize", "x", "--extra", "a=b", "--extra", "a=c"], "--extra must name a column once"),
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


def test_an_unknown_option_shows_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["normalize", "runs/", "--overwrite"])
    said = capsys.readouterr().err
    assert said.startswith("usage: pairstats normalize ")
    assert said.endswith("pairstats normalize: error: unrecognized arguments: --overwrite\n")


def test_check_reports_all_faults_of_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("family,item,model,status,score\nf,q,m,lost,2\nf,q,m,answered,1\n")
    status, out, _ = run(capsys, "check", broken)
    assert status == 1
    assert "'status' must be one of" in out
    assert "'score' must lie in [0, 1]" in out
    assert "1 key occurs more than once" in out
    status, out, _ = run(capsys, "check", broken, "--json")
    assert len(json.loads(out)["findings"]) == 3


def test_records_left_out_in_a_row_are_listed_as_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [*["zzz"] * 3, "a", "zzz", *"bcdefghijklmnopqrstuvwxyz", "zzz"]
    lines = [{"item": f"{name}{n:02d}", "model": "m", "score": 1} for n, name in enumerate(items)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = (tmp_path / "a.jsonl", "-o", tmp_path / "out.parquet", "--family", "item")
    _, out, _ = run(capsys, "normalize", *words, "--exclude", "zzz*", "--exclude", "b*")
    assert out.partition("\nleft out:\n")[2].splitlines()[:-1] == [
        "  a.jsonl:1 to 3: excluded by 'zzz*'", "  a.jsonl:5: excluded by 'zzz*'", "  a.jsonl:6: excluded by 'b*'",
        "  a.jsonl:31: excluded by 'zzz*'",
    ]  # fmt: skip


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
    assert "protocol.toml:15: " in err


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


def left_alone(path: Path, before: bytes = b"years of work") -> None:
    assert path.read_bytes() == before


def test_check_lists_every_fault_of_a_protocol_and_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(POWER.replace('kind = "mean"', 'kind = "median"') + '[design]\nmissing = "impute"\n')
    status, out, _ = run(capsys, "check", path)
    assert status == 1
    assert f"- {path}:5: there is no file or folder later" in out
    assert f"- {path}:8: Estimand 'accuracy': `kind` must be one of" in out
    assert f"- {path}:22: `missing` must be one of" in out
    assert "A frozen protocol must declare 'no_answer' in [design]" in out
    assert "1 estimand, 1 contrast, not frozen" in out
    status, out, _ = run(capsys, "check", path, "--json")
    assert len(json.loads(out)["findings"]) == 4
    status, _, err = run(capsys, "run", path, "-o", tmp_path / "out")
    assert status == 2
    assert "has 2 faults" in err


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("cli") / "results")


def test_a_report_replaces_reports_only(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, page, folder = tmp_path / "data.csv", tmp_path / "thesis.html", tmp_path / "folder.html"
    folder.mkdir()
    for path in (table, page):
        path.write_text("years of work")
    for path, message in (
        (table, "must end with .html"), (page, "is there already, and pairstats did not write it"),
        (folder, "is a folder"), (page / "new.html", "is a file"),
    ):  # fmt: skip
        status, _, err = run(capsys, "report", results, "-o", path)
        assert status == 2
        assert message in err
        assert err.count("\n") == 1
    left_alone(table)
    left_alone(page)
    assert run(capsys, "report", results, "-o", page, "--force")[0] == 0
    assert run(capsys, "report", results, "-o", page)[0] == 0, "an earlier report may be replaced"
    assert b"pairstats" in page.read_bytes()


def test_figures_overwrite_figures_only(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    for name in ("estimates.csv", "map.png"):
        (folder / name).write_text("years of work")
    status, _, err = run(capsys, "draw", results, "-o", folder)
    assert status == 2
    assert "'estimates.csv'" in err
    assert "would be overwritten" in err
    assert {path.name for path in folder.iterdir()} == {"estimates.csv", "map.png"}
    assert run(capsys, "draw", results, "-o", folder / "map.png")[0] == 2
    before = (results / "estimates.csv").read_bytes()
    assert run(capsys, "draw", results, "-o", results)[0] == 2, "tables of results are no figures"
    left_alone(results / "estimates.csv", before)
    assert run(capsys, "draw", results, "-o", folder, "--force")[0] == 0
    (folder / "figures.json").write_text(
        (folder / "figures.json").read_text().replace('"files": [', '"files": ["stale.png", "../map.png", ')
    )
    (folder / "stale.png").write_text("drawn from other results")
    assert run(capsys, "draw", results, "-o", folder)[0] == 0, "earlier figures may be replaced"
    assert not (folder / "stale.png").exists()
    left_alone(folder / "map.png")


def test_a_filled_article_overwrites_nothing_else(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    article, filled = tmp_path / "article.md", tmp_path / "filled.md"
    article.write_text('{{ accuracy["smollm2-terse-t0"].pct }} %\n')
    filled.write_text("years of work")
    words = ["fill", article, "--results", results, "-o"]
    assert "is there already" in run(capsys, *words, filled)[2]
    left_alone(filled)
    assert run(capsys, *words, tmp_path)[0] == 2
    assert run(capsys, *words, article, "--force")[0] == 2, "the template itself is never overwritten"
    assert run(capsys, *words, filled, "--force")[0] == 0
    assert run(capsys, *words, filled)[0] == 0, "the same text again changes nothing"
    assert run(capsys, *words, tmp_path / "new" / "filled.md")[0] == 0
    article.write_text("{{ nobody.pct }}\n")
    status, out, _ = run(capsys, *words, filled, "--json")
    assert status == 1
    assert json.loads(out)["faults"][0]["line"] == 1


def test_power_overwrites_power_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(POWER)
    (tmp_path / "power.csv").write_text("years of work")
    with monkeypatch.context() as patch:
        patch.setattr("pairstats.power.power_of", lambda *_, **__: pytest.fail("the output is checked first"))
        assert "'power.csv'" in run(capsys, "power", path, "-o", tmp_path)[2]
    left_alone(tmp_path / "power.csv")
    for _ in range(2):
        assert run(capsys, "power", path, "-o", tmp_path / "out")[0] == 0


def test_the_output_of_a_run_is_checked_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.csv").write_text("model,family,item,score\nm,f,q,1\n")
    path = tmp_path / "protocol.toml"
    path.write_text(POWER.replace('"later"', '"rows.csv"\nmap = { family = "family" }'))
    (tmp_path / "file").write_text("years of work")
    monkeypatch.setattr("pairstats.run.analyse", lambda *_, **__: pytest.fail("the output is checked first"))
    for output in (tmp_path / "file", tmp_path / "file" / "new", tmp_path):
        status, _, err = run(capsys, "run", path, "-o", output)
        assert status == 2, err
    left_alone(tmp_path / "file")


def test_an_earlier_run_stays_until_the_new_one_has_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("model,family,item,score\na,f,q,1\nb,f,q,0\n")
    path = tmp_path / "protocol.toml"
    path.write_text(POWER.replace('"later"', '"rows.csv"\nmap = { family = "family" }'))
    assert run(capsys, "run", path, "-o", tmp_path / "out")[0] == 0
    before = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert tmp_path / "out" / "report.html" in before
    (tmp_path / "rows.csv").write_text("model,family,item,score\na,f,q,seven\n")
    assert run(capsys, "run", path, "-o", tmp_path / "out")[0] == 2
    assert {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", ["estimates.parquet", "completeness.parquet", "provenance.json"])
@pytest.mark.parametrize("content", [b"", b"PAR1 no table", b"{"])
def test_damaged_results_are_one_message(
    results: Path, tmp_path: Path, name: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(results, tmp_path / "results")
    (folder / name).write_bytes(content)
    status, _, err = run(capsys, "draw", folder, "-o", tmp_path / "figures")
    assert status == 2
    assert err.startswith(f"pairstats: {folder / name} must be as `pairstats run` wrote it")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "pairstats: No space left on device\n"),
        (OSError(28, "No space left on device", "x.csv"), "pairstats: No space left on device: x.csv\n"),
        (TimeoutError("slow disk"), "pairstats: slow disk\n"),
        (
            pa.ArrowInvalid("no\nmagic bytes"),
            "pairstats: a table cannot be read or written: no magic bytes\n",
        ),
        (KeyboardInterrupt(), "pairstats: stopped\n"),
    ],
)
def test_errors_of_the_surroundings_are_one_message(
    error: BaseException, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "_function", lambda _: fail)
    assert run(capsys, "check", "x.csv") == (2, "", message)


def test_a_fault_of_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_function", lambda _: lambda _: {}["wrong"])
    with pytest.raises(KeyError):
        cli.main(["check", "x.csv"])


def process(*words: object, **more: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "pairstats", *map(str, words)]
    return subprocess.run(command, check=False, cwd=ROOT, stderr=subprocess.PIPE, **more)


def test_a_terminal_that_lacks_letters_gets_their_escapes(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(
        "family,item,model,status,score\nf,q,\u00e9\u4e2d,answered,1\n", encoding="utf-8"
    )
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = process("check", tmp_path / "r.csv", stdout=subprocess.PIPE, env=ascii_only)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u4e2d" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_full_disk_is_one_message(tmp_path: Path, json_too: list[str]) -> None:
    (tmp_path / "r.csv").write_text("family,item,model,status,score\nf,q,m,answered,1\n")
    with Path("/dev/full").open("wb") as full:
        done = process("check", tmp_path / "r.csv", *json_too, stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode() == "pairstats: No space left on device\n"


def test_help_of_a_command_has_its_own_examples_and_its_own_findings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, examples in cli.EXAMPLES.items():
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        shown = capsys.readouterr().out
        assert all(example in shown for example in examples)
        foreign = [example for other, each in cli.EXAMPLES.items() if other != name for example in each]
        assert not [example for example in foreign if example in shown and example not in examples]
        assert ("1 where " in shown) == (name in cli.FINDING)
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    assert "the records depart from the protocol (a [[deviation]]" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    assert all(example in shown for each in cli.EXAMPLES.values() for example in each)


def test_every_command_has_an_example() -> None:
    [commands] = [a for a in cli.build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    assert set(commands.choices) == set(cli.EXAMPLES)


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_input_is_never_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], force: tuple[str, ...]
) -> None:
    raw = tmp_path / "logs" / "x.csv"
    raw.parent.mkdir()
    raw.write_text("family,item,model,score\nf,1,m,1\n")
    (tmp_path / "link.csv").symlink_to(raw)
    before = raw.read_bytes()
    for inputs, out in [(raw, raw), (raw.parent, raw), (raw, tmp_path / "link.csv"), (f"m={raw}", raw)]:
        status, _, err = run(capsys, "normalize", inputs, "--family", "family", "-o", out, *force)
        assert (status, "must be another file than the inputs" in err) == (2, True)
    status, _, err = run(
        capsys, "normalize", raw, "--family", "family", "--items", tmp_path / "link.csv", "-o", raw, *force
    )
    assert status == 2
    assert raw.read_bytes() == before


def test_a_file_of_others_is_written_over_by_force_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, out = tmp_path / "x.csv", tmp_path / "thesis.csv"
    raw.write_text("family,item,model,response\nf,1,m,A\n")
    out.write_text("years of work\n")
    words = ("normalize", raw, "--family", "family", "-o", out)
    status, _, err = run(capsys, *words)
    assert (status, out.read_text()) == (2, "years of work\n")
    assert "--force" in err
    status, said, _ = run(capsys, *words, "--force")
    assert (status, len(load_records(out))) == (0, 1)
    assert "1 answered reply has no score: pass --answers KIND" in said
    status, said, _ = run(capsys, *words, "--json")
    found = json.loads(said)
    assert (status, found["unscored"], len(found["notes"])) == (0, 1, 1)


def test_fill_refuses_a_table_that_was_changed_after_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = ROOT / "analyses" / "rule_conflicts" / "protocol.toml"
    assert run(capsys, "run", study, "-o", tmp_path / "out", "--no-report")[0] == 0
    table = tmp_path / "out" / "estimates.parquet"
    changed = Estimates.load(table)
    Estimates(changed.frame.assign(estimate=0.36), changed.factors, changed.provenance).to_parquet(table)
    article = tmp_path / "article.md"
    article.write_text("{{ brier.estimate }}\n")
    status, _, err = run(capsys, "fill", article, "--results", tmp_path / "out", "-o", tmp_path / "b.md")
    assert status == 2
    assert not (tmp_path / "b.md").exists()
    assert "was changed afterwards" in err
