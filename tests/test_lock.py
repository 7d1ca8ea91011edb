"""Freezing a protocol: what is kept, what is refused, and every way of tampering that must be found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairstats import ProtocolError, Results, cli, load_protocol, run_protocol
from pairstats.protocol.lock import broken, freeze, lock_path, read_lock
from pairstats.protocol.meaning import meaning_diff
from pairstats.templates import parts

TEXT = """
[protocol]
name = "study"
[[records.source]]
path = "raw"
map = { family = "family" }
[design]
expect = { families = 12 }
missing = "common"
no_answer = "wrong"
[[estimand]]
name = "accuracy"
kind = "mean"
[[contrast]]
name = "C1"
estimand = "accuracy"
claim = "superiority"
compare = { factor = "model", level = "a", reference = "b" }
[[contrast]]
name = "C2"
estimand = "accuracy"
claim = "noninferiority"
margin = 0.3
compare = { factor = "model", level = "a", reference = "b" }
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "raw").mkdir()
    for model, right in (("a", 10), ("b", 3)):
        rows = [f"{model},f{i},q{i},{int(i < right)}" for i in range(12)]
        (tmp_path / "raw" / f"{model}.csv").write_text("\n".join(["model,family,item,score", *rows]) + "\n")
    path = tmp_path / "protocol.toml"
    path.write_text(TEXT)
    return path


def registered(results: Results) -> list[bool]:
    return results.estimates.frame["registered"].tolist()


def test_without_a_lock_every_row_is_unregistered(study: Path, tmp_path: Path) -> None:
    assert not any(registered(run_protocol(study, tmp_path / "out", report=False)))


def test_a_lock_that_holds_registers_its_rows(study: Path, tmp_path: Path) -> None:
    before = study.read_bytes()
    lock = freeze(study)
    assert study.read_bytes() == before, "the protocol itself is never rewritten"
    assert lock.sha256 == load_protocol(study).digest
    assert set(lock.records) == {"raw/a.csv", "raw/b.csv"}
    assert {"pairstats", "python", "numpy", "scipy"} <= set(lock.packages)
    results = run_protocol(study, tmp_path / "out", report=False)
    assert all(registered(results))
    assert results.provenance["records_when_frozen"] == 2
    assert "2 record files lay there when the protocol was frozen" in parts.header(results).text
    verdicts = results.contrasts.frame[["claim", "verdict"]].values.tolist()
    assert verdicts == [["superiority", "superior"], ["noninferiority", "noninferior"]]
    assert (tmp_path / "out" / "protocol.lock").read_bytes() == lock_path(study).read_bytes()


def test_comments_and_white_space_are_no_change(study: Path) -> None:
    lock = freeze(study)
    study.write_text("# thoughts\n" + TEXT.replace(" = ", "="))
    assert broken(load_protocol(study), lock) == []


def test_a_changed_setting_is_told_in_words(study: Path, tmp_path: Path) -> None:
    freeze(study)
    study.write_text(TEXT.replace("margin = 0.3", "margin = 0.4"))
    with pytest.raises(ProtocolError, match=r"contrast C2\.margin: was 0\.3, is 0\.4") as caught:
        run_protocol(study, tmp_path / "out", report=False)
    assert "--unlocked" in str(caught.value)
    assert not any(registered(run_protocol(study, tmp_path / "out", report=False, unlocked=True)))


def test_a_changed_removed_or_added_record_file(study: Path, tmp_path: Path) -> None:
    freeze(study)
    extra = study.parent / "raw" / "c.csv"
    extra.write_text("model,family,item,score\nc,f0,q0,1\n")
    assert all(registered(run_protocol(study, tmp_path / "out", report=False))), "data may come after"
    extra.unlink()
    (study.parent / "raw" / "a.csv").write_text(
        (study.parent / "raw" / "a.csv").read_text().replace(",0\n", ",1\n")
    )
    with pytest.raises(ProtocolError, match=r"record file raw/a\.csv changed"):
        run_protocol(study, tmp_path / "out", report=False)
    (study.parent / "raw" / "a.csv").unlink()
    with pytest.raises(ProtocolError, match=r"record file raw/a\.csv was there .* and is gone"):
        run_protocol(study, tmp_path / "out", report=False)


def test_a_changed_lock_is_found(study: Path) -> None:
    freeze(study)
    content = json.loads(lock_path(study).read_text())
    content["content"]["contrast"][1]["margin"] = 0.5
    lock_path(study).write_text(json.dumps(content))
    lock = read_lock(study)
    assert lock is not None
    found = broken(load_protocol(study), lock)
    assert any("the lock itself was changed" in each for each in found)
    lock_path(study).write_text("{}")
    with pytest.raises(ProtocolError, match="is no lock of pairstats"):
        read_lock(study)


def test_a_protocol_is_not_frozen_twice(study: Path) -> None:
    freeze(study)
    before = lock_path(study).read_bytes()
    with pytest.raises(ProtocolError, match="is there already"):
        freeze(study)
    study.write_text(TEXT.replace("margin = 0.3", "margin = 0.4"))
    with pytest.raises(ProtocolError, match="is there already"):
        freeze(study)
    assert lock_path(study).read_bytes() == before


def test_a_timestamp_token_can_be_attached(study: Path) -> None:
    freeze(study)
    token = study.parent / "token.tsr"
    token.write_bytes(b"signed elsewhere")
    assert freeze(study, timestamp=token).timestamp["file"] == "token.tsr"
    assert broken(load_protocol(study), read_lock(study)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["missing", "no_answer"])
def test_rules_for_missing_answers_must_be_declared(study: Path, rule: str) -> None:
    study.write_text("\n".join(line for line in TEXT.splitlines() if not line.startswith(rule)))
    with pytest.raises(ProtocolError, match=f"must declare '{rule}'"):
        freeze(study)


def test_what_the_design_cannot_decide_is_said_before_the_data(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(TEXT.replace("families = 12", "families = 5").replace("margin = 0.3", "margin = 0.1"))
    assert cli.main(["freeze", str(study)]) == 1
    said = capsys.readouterr().out
    assert "contrast C1: 5 families cannot support a claim of superiority: not estimable" in said
    assert "contrast C2: 5 families establish noninferiority only where the first side is ahead" in said


def test_check_tells_the_state(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", str(study)]) == 0
    assert "not frozen" in capsys.readouterr().out
    freeze(study)
    assert cli.main(["check", str(study)]) == 0
    assert "frozen at 20" in capsys.readouterr().out
    study.write_text(TEXT.replace('"wrong"', '"missing"'))
    assert cli.main(["check", str(study)]) == 1
    assert "design.no_answer: was wrong, is missing" in capsys.readouterr().out


def test_a_deviation_does_not_break_the_lock_and_stands_beside_its_contrast(
    study: Path, tmp_path: Path
) -> None:
    freeze(study)
    study.write_text(TEXT + '[[deviation]]\ndate = 2026-10-05\ncontrast = "C1"\nwhat = "thinking was off"\n')
    results = run_protocol(study, tmp_path / "out", report=False)
    notes = results.contrasts.frame["note"].tolist()
    assert "deviation of 2026-10-05: thinking was off" in notes[0]
    assert "deviation" not in (notes[1] or "")
    study.write_text(TEXT + '[[deviation]]\ndate = 2026-10-05\ncontrast = "C9"\nwhat = "x"\n')
    with pytest.raises(ProtocolError, match=r"\[deviation\] names 'C9', which is no contrast"):
        load_protocol(study)


def test_what_stands_beside_the_protocol_is_never_registered(study: Path, tmp_path: Path) -> None:
    freeze(study)
    study.write_text(
        TEXT + '[[exploratory.estimand]]\nname = "flips"\nkind = "share"\nargs = { event = "score < 1" }\n'
        '[[exploratory.contrast]]\nname = "E1"\nestimand = "flips"\ncompare = { factor = "model" }\n'
    )
    results = run_protocol(study, tmp_path / "out", report=False)
    assert all(registered(results))
    assert "flips" not in set(results.estimates.frame["estimand"])
    assert results.exploratory is not None
    beside = results.exploratory.frame
    assert set(beside["estimand"]) == {"flips"}
    assert not beside["registered"].any()
    shown = parts.exploratory(results).text
    assert shown.count("flips") >= 2
    assert "None of these was registered" in shown


@pytest.mark.parametrize(
    ("change", "status"),
    [("", 0), ('claim = "superiority"', 11), ("margin = 0.3", 10)],
)
def test_the_worst_verdict_is_the_exit_status(
    study: Path, tmp_path: Path, change: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEXT
    if status == 11:
        text = text.replace('level = "a", reference = "b"', 'level = "b", reference = "a"', 2)
        text = text.replace("margin = 0.3", "margin = 0.7")
    if status == 10:
        (study.parent / "raw" / "b.csv").write_text(
            (study.parent / "raw" / "a.csv").read_text().replace("a,f", "b,f")
        )
        text = text.replace('claim = "superiority"', 'claim = "equivalence"\nmargin = 0.5').replace(
            "margin = 0.3", "margin = 0.6"
        )
    study.write_text(text)
    found = cli.main(["run", str(study), "-o", str(tmp_path / "out"), "--no-report", "--exit-verdict"])
    capsys.readouterr()
    assert found == status


def test_differences_of_meaning() -> None:
    old = {
        "design": {"cells": ["model"]},
        "estimand": [{"name": "a", "kind": "mean"}, {"name": "b", "kind": "brier"}],
    }
    new = {"estimand": [{"kind": "mean", "name": "a"}], "design": {"cells": ["model", "split"]}}
    assert meaning_diff(old, old) == []
    assert meaning_diff(old, new) == [
        "design.cells: was ['model'], is ['model', 'split']",
        "estimand b: removed, was defined",
        "estimand b.kind: removed, was brier",
    ]


def test_check_tells_what_the_design_cannot_decide(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(TEXT.replace("families = 12", "families = 5"))
    assert cli.main(["check", str(study)]) == 0
    assert "before the data: contrast C1: 5 families cannot support" in capsys.readouterr().out
