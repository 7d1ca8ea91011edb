"""Scoring stored replies again, and the scorer and script of a protocol."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import pairstats as ps
from pairstats import PairstatsError, ProtocolError, Records, Results, SchemaError, cli, rescore, run_protocol
from pairstats.protocol.lock import broken, freeze
from pairstats.records.rescoring import Rescored
from pairstats.study import _named

ROWS = {
    "family": ["f1", "f1", "f2", "f2", "f3"],
    "item": ["a", "b", "c", "d", "e"],
    "model": ["m"] * 5,
    "status": ["answered", "answered", "unparsed", "empty", "error"],
    "score": [0.0, 1.0, 0.0, 0.0, None],
    "answer": ["yes", "no", None, None, None],
    "gold": ["yes"] * 5,
    "response": ["Yes!", "no", "maybe yes", None, None],
    "note": ["x", "y", "z", "w", "v"],
}
SCORER = """
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Read:
    word: str

def score(row):
    read = Read(row["response"].strip("!").lower())
    known = read.word in ("yes", "no")
    return {"score": float(read.word == row["gold"]), "answer": read.word if known else None,
            "outcome": "agrees" if read.word == "yes" else "other", "length": len(row["response"])}
"""


@pytest.fixture
def records() -> Records:
    return Records.from_frame(pd.DataFrame(ROWS))


@pytest.fixture
def scorer(tmp_path: Path) -> Path:
    path = tmp_path / "scorer.py"
    path.write_text(SCORER)
    return path


def test_the_old_score_stays_beside_the_new_and_changes_are_listed(records, scorer):
    again = rescore(records, scorer)
    assert isinstance(again, Rescored)
    frame = again.frame
    assert frame["score"].tolist()[:4] == [1.0, 0.0, 0.0, 0.0]
    assert frame["score_as_run"].tolist()[:4] == [0.0, 1.0, 0.0, 0.0]
    assert frame["score"].isna().tolist() == [False] * 4 + [True], "an error is never scored"
    assert frame["answer"].tolist()[:2] == ["yes", "no"]
    assert frame["outcome"].tolist()[:4] == ["agrees", "other", "other", "other"]
    assert frame["length"].tolist()[:4] == [4, 2, 9, 0]
    moved = again.changes[again.changes["column"] == "score"]
    assert moved[["item", "before", "after"]].values.tolist() == [["a", 0.0, 1.0], ["b", 1.0, 0.0]]
    assert again.n_scored == 4
    assert "score changed in 2 (0.0 -> 1.0: 1; 1.0 -> 0.0: 1)" in again.summary()
    assert records.frame["score"].tolist()[:2] == [0.0, 1.0], "the records themselves stay"


@pytest.mark.parametrize("before", [[None, 1.0, None, 0.0, None], [None] * 5])
def test_replies_that_had_no_score_are_told_beside_the_changes(before, scorer, tmp_path, capsys):
    rows = pd.DataFrame({**ROWS, "score": pd.array(before, "Float64")})
    again = rescore(Records.from_frame(rows), scorer)
    now = 4 - sum(value is not None for value in before)
    assert again.n_scored_now == now
    assert again.changed()[0].endswith(f"changed, {now} scored now that had no score")
    assert again.ledger["note"].iloc[-1].endswith(f", {now} scored now that had no score")
    assert rescore(again, scorer).changed() == ["4 replies scored again, 0 values changed"]
    path = Records.from_frame(rows).save(tmp_path / "r.parquet")
    cli.main(["rescore", str(path), str(scorer), "-o", str(tmp_path / "again.parquet"), "--json"])
    assert json.loads(capsys.readouterr().out)["scored_now"] == now


def test_the_ledger_still_adds_up_and_names_the_scorer(records, scorer):
    ledger = rescore(records, scorer).ledger
    assert (ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all()
    last = ledger.iloc[-1]
    assert (last["file"], last["reader"], last["records"]) == ("scorer.py", "scorer", 0)
    assert len(last["sha256"]) == 64


def test_scored_twice_keeps_the_score_of_the_run(records):
    once = rescore(records, lambda row: 0.5)
    twice = rescore(once, lambda row: 0.25)
    assert twice.frame["score_as_run"].tolist()[:4] == [0.0, 1.0, 0.0, 0.0]
    assert [c for c in twice.table.column_names if c.endswith("as_run_as_run")] == []


def test_a_status_can_change_and_the_old_one_is_kept(records):
    def found_late(row):
        late = row["status"] == "unparsed"
        return {"score": float(late), "status": "answered" if late else row["status"]}

    frame = rescore(records, found_late).frame
    assert frame["status"].tolist() == ["answered", "answered", "answered", "empty", "error"]
    assert frame["status_as_run"].tolist() == ROWS["status"]


def test_saved_and_loaded_is_the_same(records, scorer, tmp_path):
    again = rescore(records, scorer)
    again.save(tmp_path / "again.parquet")
    loaded = Records.load(tmp_path / "again.parquet")
    pd.testing.assert_frame_equal(loaded.frame, again.frame)


def test_it_estimates_as_run_and_anew(records, scorer):
    panel = ps.Panel(rescore(records, scorer))
    as_run, new = (
        ps.estimate(panel, ps.Mean(name)).frame["estimate"].item() for name in ("score_as_run", "score")
    )
    assert (as_run, new) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("scorer", "says"),
    [
        (lambda row: 1 / 0, "ZeroDivisionError"),
        (lambda row: {"family": "x"}, "sets 'family'"),
        (lambda row: {"response": "x"}, "sets 'response'"),
        (lambda row: {"score": "1"}, "a number or None for 'score'"),
        (lambda row: {"note": [1]}, "text or a number or None for 'note'"),
        (lambda row: float("nan"), "is NaN"),
        (lambda row: {"status": "error"}, "must be one of 'answered'"),
        (lambda row: {"score": 1.0} if row["item"] == "a" else {}, "for every reply"),
    ],
)
def test_what_no_row_can_hold_is_refused_and_names_the_record(records, scorer, says):
    with pytest.raises(PairstatsError, match=says):
        rescore(records, scorer)


def test_a_score_outside_the_range_is_refused(records):
    with pytest.raises(SchemaError, match="'score' must lie in"):
        rescore(records, lambda row: 2.0)


def test_the_row_is_read_only(records):
    def greedy(row):
        row["score"] = 1.0

    with pytest.raises(PairstatsError, match="TypeError"):
        rescore(records, greedy)


def test_an_answered_row_without_its_reply_is_refused():
    rows = {"family": ["f"], "item": ["a"], "model": ["m"], "status": ["answered"], "score": [1.0]}
    with pytest.raises(PairstatsError, match="hold its reply"):
        rescore(Records.from_frame(rows), lambda row: 1.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def other(row): return 1", "must define the function 'score', but defines 'other'"),
        ("def score(row:\n", "line 1 is no Python"),
        ("x = 1\nraise RuntimeError('late')", "RuntimeError in line 2: late"),
        ("import no_such_module_anywhere", "no_such_module_anywhere"),
        ("def score(row):\n    return row['nothing']", "KeyError in line 2"),
    ],
)
def test_faults_of_a_scorer_file_name_file_and_line(records, tmp_path, text, says):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(PairstatsError, match=says):
        rescore(records, path)


def test_no_such_scorer_file(records, tmp_path):
    with pytest.raises(PairstatsError, match="there is none"):
        rescore(records, tmp_path / "none.py")


def test_command(records, scorer, tmp_path, capsys):
    records.save(tmp_path / "r.parquet")
    words = ["rescore", str(tmp_path / "r.parquet"), str(scorer), "-o", str(tmp_path / "n.parquet")]
    assert cli.main([*words, "--changes", str(tmp_path / "c.csv")]) == 1
    assert "4 replies scored again" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "c.csv")) == len(rescore(records, scorer).changes)
    assert Records.load(tmp_path / "n.parquet").frame["score"].tolist()[:2] == [1.0, 0.0]
    assert cli.main([*words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["replies"] == 4
    assert cli.main([*words[:3], "-o", str(tmp_path / "r.parquet")]) == 2
    assert cli.main([*words, "--changes", str(scorer)]) == 2
    assert scorer.read_text() == SCORER


PROTOCOL = """
[[records.source]]
path = "raw.csv"
map = { family = "family" }
extra = { kind = "kind" }
[scorer]
file = "scoring.py"
[script]
file = "study.py"
[design]
missing = "common"
no_answer = "wrong"
[[estimand]]
name = "accuracy"
kind = "mean"
"""
SCORING = (
    "def score(row): return {'score': float(row['response'] == row['gold']), 'kind2': row['kind'] + '!'}\n"
)
STUDY = """
import pairstats as ps

def tables(panel):
    counts = panel.completeness(["kind2"])
    return {"kinds": ps.estimate(panel.by(["kind2"]), ps.Mean("score")), "counts": counts}

def figures(tables):
    answered = ps.figures.completeness(tables["completeness"])
    return {"by_kind": ps.figures.forest(tables["kinds"]), "answered": answered}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rows = [f"f{i},q{i},m,yes,{'yes' if i % 3 else 'no'},k{i % 2}" for i in range(12)]
    (tmp_path / "raw.csv").write_text("\n".join(["family,item,model,gold,response,kind", *rows]) + "\n")
    (tmp_path / "scoring.py").write_text(SCORING)
    (tmp_path / "study.py").write_text(STUDY)
    (tmp_path / "protocol.toml").write_text(PROTOCOL)
    return tmp_path / "protocol.toml"


def test_a_protocol_with_scorer_and_script(study, tmp_path):
    results = run_protocol(study, tmp_path / "out", figures=tmp_path / "drawn")
    assert results.estimates.frame["estimate"].tolist() == [8 / 12]
    kinds = results.tables["kinds"].frame
    assert kinds[["kind2", "estimate"]].values.tolist() == [["k0!", 4 / 6], ["k1!", 4 / 6]]
    assert results.tables["counts"]["planned"].tolist() == [6, 6]
    written = {
        p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()
    }
    assert {"study/kinds.csv", "study/counts.parquet", "figures/by_kind.svg", "figures/answered.png",
            "rescored.csv", "scoring.py", "study.py"} <= written  # fmt: skip
    assert {p.name for p in (tmp_path / "drawn").iterdir()} >= {"by_kind.png", "answered.png", "figures.json"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "by kind" in page
    assert "k1!" in page
    assert Results.load(tmp_path / "out").tables.keys() == {"kinds", "counts"}


def test_a_frozen_protocol_holds_its_scripts(study, tmp_path):
    lock = freeze(study)
    assert {"raw.csv", "scoring.py", "study.py"} == set(lock.records)
    (tmp_path / "scoring.py").write_text(SCORING + "\n# changed\n")
    assert any("scoring.py changed" in line for line in broken(ps.load_protocol(study), lock))
    with pytest.raises(ProtocolError, match="scoring"):
        run_protocol(study, tmp_path / "out", report=False)


def test_no_freeze_without_the_scorer(study, tmp_path):
    (tmp_path / "scoring.py").unlink()
    with pytest.raises(ProtocolError, match=r"scoring\.py"):
        freeze(study)
    assert cli.main(["check", str(study)]) == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[scorer]", '[answers]\nkind = "text"\n[scorer]', "either \\[answers\\] or \\[scorer\\]"),
        ("study.py", "study.txt", "must be a Python file"),
        ("extra = { kind", "extra = { variant", "outside the format"),
    ],
)
def test_faults_of_the_sections(study, old, new, says):
    study.write_text(PROTOCOL.replace(old, new))
    with pytest.raises(ProtocolError, match=says):
        ps.load_protocol(study)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def tables(panel): return [1]", "must return a dict"),
        ("def tables(panel): return {'a b': 1}", "become file names"),
        ("def tables(panel): return {'estimates': 1}", "a table of the run itself"),
        ("def tables(panel): return {'a': 1}", "must be Estimates or a frame"),
        ("def tables(panel): return panel.where(kind='none')", "No row has"),
        (
            "import pandas\ndef tables(panel): return {'a': pandas.DataFrame({'x': [1, 'b']})}",
            "one type each",
        ),
        ("def tables(panel): return {}\ndef figures(tables): return {'a': 1}", "must be axes or a figure"),
    ],
)
def test_faults_of_a_script_name_it(study, tmp_path, text, says):
    (tmp_path / "study.py").write_text(text)
    with pytest.raises(PairstatsError, match=says):
        run_protocol(study, tmp_path / "out")


FRAME = "__import__('pandas').DataFrame({'x': [1, 2]})"
DRAWS = """
import matplotlib.figure, pandas as pd
def tables(panel): return {}
def figures(tables):
    figure = matplotlib.figure.Figure()
    ax = figure.add_subplot()
    DO
    return {"a": ax}
"""


@pytest.mark.parametrize(
    "name",
    ["../../evil", "/etc/x", "C:\\x", "a/b", "..", "", " ", "<b>x</b>", "a.b", r"$\frac{$", "a\n", 3, None, "1a",
     "-o", "a" * 101, "ä" * 51, "con nul"],
)  # fmt: skip
def test_names_that_are_no_file_names_are_refused(tmp_path, name):
    path = tmp_path / "study.py"
    for function in ("tables", "figures"):
        with pytest.raises(
            PairstatsError, match=rf"study.py: names of `{function}` become file names"
        ) as caught:
            _named({name: 1}, path, function)
        assert len(str(caught.value)) < 300, "a long name is not shown whole"


@pytest.mark.parametrize("function", ["tables", "figures"])
def test_a_name_with_a_path_writes_nothing(study, tmp_path, function):
    tables = f"def tables(panel): return {{'../../evil': {FRAME}}}"
    figures = "def tables(panel): return {}\ndef figures(tables): return {'../../evil': 1}"
    (tmp_path / "study.py").write_text(tables if function == "tables" else figures)
    before = {path for path in tmp_path.rglob("*") if "out" not in path.parts}
    with pytest.raises(PairstatsError, match="become file names"):
        run_protocol(study, tmp_path / "out")
    assert {path for path in tmp_path.rglob("*") if "out" not in path.parts} == before


def test_the_longest_name_is_written(study, tmp_path):
    name = "a" * 100
    (tmp_path / "study.py").write_text(f"def tables(panel): return {{'{name}': {FRAME}}}")
    assert list(run_protocol(study, tmp_path / "out", report=False).tables) == [name]


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ("{'Kinds': FRAME, 'kinds': FRAME}", "'Kinds' and 'kinds' do not"),
        ("{'a': FRAME.assign(m=1).set_index('x').assign(x=1)}", "there is one called 'x' already"),
        (
            "{'a': type('R', (), {'frame': FRAME.set_index([['p', 'q']])})()}",
            "index of table 'a' would be lost",
        ),
        ("{'a': pd.concat([FRAME, FRAME], axis=1)}", "one type each"),
    ],
)
def test_tables_that_cannot_be_written_as_they_are(study, tmp_path, tables, says):
    text = f"import pandas as pd\ndef tables(panel): return {tables.replace('FRAME', FRAME)}"
    (tmp_path / "study.py").write_text(text)
    with pytest.raises(PairstatsError, match=says):
        run_protocol(study, tmp_path / "out", report=False)


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (
            r"ax.set_title(r'$\\frac{$')",
            r"Figure 'a' of the script must be drawable, but is not: ValueError.* is written",
        ),
        (r"ax.set_xlabel(r'cost in $x_{$')", "Figure 'a' of the script must be drawable"),
        ("ax.set_xticks([0], [r'$\\\\nope$'])", "Figure 'a' of the script must be drawable"),
        ("figure.drawn_from = [1, 2]", "`drawn_from` of figure 'a' must be Estimates or a frame.* is list"),
        (
            "figure.drawn_from = {'x': [1]}",
            "`drawn_from` of figure 'a' must be Estimates or a frame.* is dict",
        ),
        (
            "figure.drawn_from = pd.DataFrame({'x': [1]}, index=['a'])",
            "index of `drawn_from` of figure 'a' would",
        ),
    ],
)
def test_figures_that_cannot_be_written_are_named(study, tmp_path, do, says):
    (tmp_path / "study.py").write_text(DRAWS.replace("DO", do))
    with pytest.raises(PairstatsError, match=says) as caught:
        run_protocol(study, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out" / "figures" / "a.svg").exists()


def test_an_index_with_a_name_is_kept_in_what_a_figure_was_drawn_from(study, tmp_path):
    do = "figure.drawn_from = pd.DataFrame({'x': [1, 2]}, index=pd.Index(['p', 'q'], name='who'))"
    (tmp_path / "study.py").write_text(DRAWS.replace("DO", do + "\n    ax.set_title(r'costs \\$5 or \\$6')"))
    run_protocol(study, tmp_path / "out")
    assert (tmp_path / "out" / "figures" / "a.csv").read_text() == "who,x\np,1\nq,2\n"


def test_changes_never_overwrite_an_input_by_another_spelling(records, scorer, tmp_path):
    (tmp_path / "sub").mkdir()
    records.save(tmp_path / "r.csv")
    before = (tmp_path / "r.csv").read_bytes()
    words = ["rescore", str(tmp_path / "r.csv"), str(scorer), "-o", str(tmp_path / "o.parquet"), "--force"]
    assert cli.main([*words, "--changes", str(tmp_path / "sub" / ".." / "r.csv")]) == 2
    assert (tmp_path / "r.csv").read_bytes() == before


@pytest.mark.parametrize("text", ["import sys\nsys.exit(0)", "def score(row): raise SystemExit(0)"])
def test_a_script_that_leaves_is_an_error(records, tmp_path, text):
    path = tmp_path / "leaves.py"
    path.write_text(text)
    with pytest.raises(PairstatsError, match="SystemExit"):
        rescore(records, path)


def test_numpy_scalars_are_numbers_and_types_alone_are_no_change(records):
    import numpy as np

    again = rescore(records, lambda row: {"score": np.bool_(row["item"] == "a"), "answer": row["answer"]})
    assert again.frame["score"].tolist()[:2] == [1.0, 0.0]
    numbers = Records.from_frame(pd.DataFrame({**ROWS, "answer": ["5", "7", None, None, None]}))
    same = rescore(numbers, lambda row: {"answer": row["answer"] and int(row["answer"])})
    assert len(same.changes) == 0


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ({"score_as_run": 0.5}, "sets 'score_as_run'"),
        ({"n": 10**30}, "64 bits"),
        ({"answer": "\ud800"}, "is none"),
    ],
)
def test_what_would_overwrite_history_or_fits_no_column_is_refused(records, new, says):
    with pytest.raises(PairstatsError, match=says):
        rescore(records, lambda row: {"score": 1.0, **new})


def test_a_syntax_error_in_a_reply_is_not_blamed_on_the_script(records, tmp_path):
    path = tmp_path / "literal.py"
    path.write_text("import ast\n\ndef score(row):\n    return ast.literal_eval(row['response'])\n")
    with pytest.raises(PairstatsError, match="SyntaxError in line 4"):
        rescore(records, path)


def test_a_script_keeps_its_own_future(tmp_path):
    from pairstats.scripts import load_module

    (tmp_path / "plain.py").write_text("class A:\n    x: int\n")
    assert load_module(tmp_path / "plain.py").A.__annotations__ == {"x": int}


def test_a_named_index_becomes_columns_and_an_unnamed_one_is_refused(study, tmp_path):
    grouped = "pd.DataFrame({'m': ['a', 'b', 'a'], 'v': [1, 2, 3]}).groupby('m').sum()"
    script = "import pandas as pd\ndef tables(panel): return {'m': FRAME}\n"
    (tmp_path / "study.py").write_text(script.replace("FRAME", grouped))
    results = run_protocol(study, tmp_path / "out", report=False)
    assert results.tables["m"].values.tolist() == [["a", 4], ["b", 2]]
    (tmp_path / "study.py").write_text(script.replace("FRAME", "pd.DataFrame({'v': [1]}, index=['a'])"))
    with pytest.raises(PairstatsError, match="index of table 'm' would be lost"):
        run_protocol(study, tmp_path / "out", report=False)


def test_figures_of_a_script_keep_their_names_and_stay(study, tmp_path):
    run_protocol(study, tmp_path / "out")
    assert cli.main(["draw", str(tmp_path / "out"), "-o", str(tmp_path / "out" / "figures")]) == 0
    assert (tmp_path / "out" / "figures" / "by_kind.svg").is_file(), "only a run can draw it again"
    with pytest.raises(PairstatsError, match="in the results anyway"):
        run_protocol(study, tmp_path / "out", figures=tmp_path / "out" / "figures")
    (tmp_path / "study.py").write_text(STUDY.replace('"by_kind"', '"estimates"'))
    with pytest.raises(PairstatsError, match="'estimates' is a"):
        run_protocol(study, tmp_path / "other")
    (tmp_path / "study.py").write_text(STUDY)
    study.write_text(PROTOCOL.replace('file = "study.py"', 'file = "study.py"\nfigures = "figs"'))
    with pytest.raises(PairstatsError, match="must define the function 'figs'"):
        run_protocol(study, tmp_path / "third")
