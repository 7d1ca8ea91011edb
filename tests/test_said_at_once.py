"""What a command or a reader must say at once, or beside the rows: places, words for scores, odd scales."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pairstats as ps
from pairstats import cli
from pairstats.commands.shell_words import as_typed
from pairstats.errors import PairstatsError
from pairstats.readers import collect
from pairstats.readers.columns import UnusualError

RUNS = "item,model,score\nq1,m,1\nq2,m,0\n"
PROTOCOL = """
[protocol]
name = "p"
[[records.source]]
path = "runs.csv"
map = { family = "item" }
[interval]
method = "family-cp"
[[estimand]]
name = "acc"
kind = "mean"
[design]
cells = ["model"]
"""


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture(params=["columns", "records"])
def way(request: Any, monkeypatch: Any) -> str:
    """Read by columns as is usual, and record by record."""

    def never(*_: Any) -> Any:
        raise UnusualError("not here")

    if request.param == "records":
        monkeypatch.setattr(collect, "read_pieces", never)
    return str(request.param)


def note_of(folder: Path, text: str, name: str = "runs.csv", **words: Any) -> str:
    records = ps.read_runs(written(folder, name, text), family="item", **words)
    return str(records.ledger["note"].item())


@pytest.mark.parametrize("name", ["nodir/r.parquet", "nodir/r.csv", "file/r.parquet"])
def test_a_folder_that_is_not_there_is_told_before_anything_is_read(
    name: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    raw = written(tmp_path, "runs.csv", RUNS)
    written(tmp_path, "file", "")
    ps.read_runs(raw, family="item").save("records.parquet")
    as_typed("")  # which remembers the words of `read_runs`, and not those of what takes its place here
    with monkeypatch.context() as patch:
        patch.setattr(collect, "read_runs", lambda *_, **__: pytest.fail("it was read"))
        for words in (["normalize", raw, "--family", "item"], ["rescore", "records.parquet", "scorer.py"]):
            assert cli.main([*words, "-o", name]) == 2
            assert f"{str(Path(name).parent)!r} is none. Make it first" in capsys.readouterr().err
    with pytest.raises(PairstatsError, match="Make it first"):
        ps.load_records("records.parquet").save(name)


def test_an_ending_that_is_not_known_is_told_before_anything_is_read(tmp_path: Path, capsys: Any) -> None:
    missing = str(tmp_path / "none.csv")
    assert cli.main(["normalize", missing, "-o", str(tmp_path / "r.xlsx")]) == 2
    assert "saved as '.parquet' or '.csv', but got 'r.xlsx'" in capsys.readouterr().err


@pytest.mark.parametrize("rules", ["", 'no_answer = "wrong"\n', 'no_answer = "wrong"\nmissing = "common"\n'])
def test_check_finds_what_freeze_refuses(rules: str, tmp_path: Path, capsys: Any) -> None:
    written(tmp_path, "runs.csv", RUNS)
    path = written(tmp_path, "protocol.toml", PROTOCOL + rules)
    checked = cli.main(["check", path])
    told = capsys.readouterr().out
    frozen = cli.main(["freeze", path])
    refused = capsys.readouterr().err
    assert (checked == 1) == (frozen == 2) == ("missing" not in rules)
    if frozen == 2:
        assert refused.removeprefix("pairstats: ").strip() in told
        assert f"{path}:12: A frozen protocol must declare" in told


def test_a_frozen_protocol_is_not_asked_again_what_its_lock_held(tmp_path: Path) -> None:
    written(tmp_path, "runs.csv", RUNS)
    rules = 'no_answer = "wrong"\nmissing = "common"\n'
    path = written(tmp_path, "protocol.toml", PROTOCOL + rules)
    cli.main(["freeze", path])
    assert cli.main(["check", path]) == 0


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_an_export_of_promptfoo_without_results(ending: str, tmp_path: Path) -> None:
    body = {"version": 3, "prompts": [], "results": [], "stats": {"successes": 0, "failures": 0, "errors": 0}}
    text = json.dumps({"evalId": "e", "results": body, "config": {}})
    with pytest.raises(
        PairstatsError, match=r"r\..* must hold at least one result, but its list .* is empty"
    ):
        ps.read_runs(written(tmp_path, f"r.{ending}", text), family="item")


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (["yes", " No", "1"], "scores that are words: 'no' as 0, 'yes' as 1"),
        (["true", "FALSE", "true"], "scores that are words: 'false' as 0, 'true' as 1"),
        (["1", "0", "0.5"], ""),
        (["1", "0", ""], ""),
    ],
)
def test_words_for_scores_are_told(cells: list[str], note: str, way: str, tmp_path: Path) -> None:
    text = "item,model,score\n" + "".join(f"q{i},m,{cell}\n" for i, cell in enumerate(cells))
    assert note_of(tmp_path, text) == note


def test_words_in_a_wide_table_and_in_json_lines_are_told(way: str, tmp_path: Path) -> None:
    wide = "item,alpha,beta\nq1,right,wrong\nq2,wrong,wrong\n"
    assert "scores that are words: 'right' as 1, 'wrong' as 0" in note_of(tmp_path, wide)
    lines = '{"item": "q1", "model": "m", "score": "yes"}\n{"item": "q2", "model": "m", "score": true}\n'
    assert note_of(tmp_path, lines, "runs.jsonl") == "scores that are words: 'yes' as 1"


def test_words_of_every_worker_are_told_once(tmp_path: Path) -> None:
    text = "item,model,score\n" + "".join(f"q{i},m,{('yes', 'no')[i % 2]}\n" for i in range(300))
    for workers in (1, 2):
        assert note_of(tmp_path, text, workers=workers) == "scores that are words: 'no' as 0, 'yes' as 1"


@pytest.mark.parametrize(
    ("stated", "scale", "note"),
    [
        (["1", "95", "80"], 1.0, "1 stated as 1 and read as certainty, 2 beyond it and out of range"),
        (["1", "1.0", "0", "0.4", "95", "80"], 1.0, "2 stated as 1 and read as certainty, 2 beyond it"),
        (["10", "95", "80"], 10.0, "1 stated as 10 and read as certainty, 2 beyond it"),
        (["0.1", "0.2", "1", "95", "80"], 1.0, "2 stated between 0 and 1, 2 above 1"),
        (["1", "0.9", "0.8", "1.2"], 1.0, ""),
        (["1", "1", "0", "0.5"], 1.0, ""),
        (["1", "95", "100"], 100.0, ""),
        (["95", "80"], 1.0, ""),
        (["1", "95 %", "80 %"], 1.0, ""),
    ],
)
def test_one_among_percentages_is_told(
    stated: list[str], scale: float, note: str, way: str, tmp_path: Path
) -> None:
    rows = "".join(f"q{i},m,1,{one}\n" for i, one in enumerate(stated))
    found = note_of(tmp_path, "item,model,score,confidence\n" + rows, confidence_scale=scale)
    assert (found == "") if not note else found.startswith(f"confidence on two scales: {note}")


def test_one_among_percentages_is_a_red_flag(tmp_path: Path) -> None:
    rows = "".join(f"q{i},m,1,{one}\n" for i, one in enumerate((1, 95, 80)))
    path = written(tmp_path, "runs.csv", "item,model,score,confidence\n" + rows)
    flags = ps.check_records(ps.read_runs(path, family="item")).flags
    assert "two_scales" in str(flags)


def test_commands_are_listed_in_the_order_of_a_study(capsys: Any) -> None:
    order = [
        "normalize",
        "check",
        "rescore",
        "power",
        "freeze",
        "run",
        "verify",
        "draw",
        "report",
        "fill",
        "diff",
    ]
    assert list(cli.EXAMPLES) == order
    cli.main([])
    shown = capsys.readouterr().out.split("examples:")[0]
    places = [shown.index(f"\n    {name}") for name in order]
    assert places == sorted(places)
