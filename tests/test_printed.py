"""What a table of estimates and one of counts show in a terminal and in a notebook."""

from __future__ import annotations

import pandas as pd
import pytest
from synthetic_results import write_results

import pairstats as ps
from pairstats import Estimates, PairstatsError, Panel
from pairstats.results import Results
from pairstats.schema import STATUSES


def panel() -> Panel:
    """Two models, ten families, one error and one reply without an answer."""
    rows = pd.DataFrame({"family": [f"f{n % 10}" for n in range(20)], "item": "q", "model": ["a"] * 10 + ["b"] * 10,
                         "score": [1.0] * 7 + [0.0] * 2 + [None] + [1.0, 0.0] * 4 + [1.0, None]})  # fmt: skip
    rows["status"] = ["answered"] * 9 + ["error"] + ["answered"] * 9 + ["unparsed"]
    rows["reason"] = [None] * 9 + ["rate_limit"] + [None] * 10
    return Panel(rows)


def cells(shown: str, line: int) -> dict[str, str]:
    """Cells of a printed line by the heads above them."""
    head, row = shown.splitlines()[0], shown.splitlines()[line]
    starts = [0]
    starts += [n for n in range(1, len(head)) if head[n] != " " and head[n - 1] == " "]
    ends = [*starts[1:], None]
    return {head[a:b].strip(): row[a:b].strip() for a, b in zip(starts, ends, strict=True)}


@pytest.mark.parametrize("show", [repr, Estimates._repr_html_], ids=["terminal", "notebook"])
def test_a_claim_is_shown_with_its_margin_and_verdict(show) -> None:
    found = ps.margin_test(panel(), ps.Mean(), ps.Pairwise("model"), claim="equivalence", margin=0.125)
    shown = show(found)
    for text in ("verdict", "claim", "margin", "inconclusive", "equivalence", "0.125"):
        assert text in shown
    assert "verdict" not in show(ps.contrast(panel(), ps.Mean(), ps.Pairwise("model")))


def test_bounds_are_shown_and_no_empty_column_of_estimates() -> None:
    found = ps.missing_bounds(panel(), ps.Mean())
    first = cells(repr(found), 1)
    assert (first["bound_low"], first["bound_high"]) == ("0.700", "0.800")
    assert "estimate" not in first
    assert "<th>bound_low</th>" in found._repr_html_()
    beside = cells(repr(ps.estimate(panel(), ps.Mean())), 1)
    assert (beside["estimate"], beside["bound_low"], beside["bound_high"]) == ("0.778", "0.700", "0.800")


def test_an_estimate_that_is_nowhere_keeps_its_column() -> None:
    assert "estimate" in repr(Estimates.from_rows([{"estimand": "accuracy", "note": "no results"}]))


def test_long_notes_stand_once_below_the_table_and_are_wrapped() -> None:
    long = "a note that says a thing at length, " * 6
    rows = [{"estimand": name, "estimate": 0.5, "note": f"{long}; {name}"} for name in ("accuracy", "flips")]
    lines = repr(Estimates.from_rows(rows)).splitlines()
    assert lines[0].split()[-1] == "note"
    assert [line.split()[-2:] for line in lines[1:3]] == [["1,", "2"], ["1,", "3"]]
    assert max(map(len, lines)) <= 79
    assert " ".join(line.strip() for line in lines[3:]) == f"1: {long.strip()} 2: accuracy 3: flips"
    assert long.strip() in Estimates.from_rows(rows)._repr_html_()


def test_what_a_cell_holds_cannot_break_the_table() -> None:
    row = {"estimand": "x", "model": "a\n<b>\x1b[31m", "estimate": 0.5}
    found = Estimates.from_rows([row], factors=("model",))
    assert len(repr(found).splitlines()) == 2
    assert "\x1b" not in repr(found)
    assert "&lt;b&gt;" in found._repr_html_()


def test_numbers_stand_below_each_other_and_words_at_the_left() -> None:
    rows = [{"estimand": name, "estimate": value} for name, value in (("a", -0.25), ("long name", 0.5))]
    assert repr(Estimates.from_rows(rows)).splitlines() == [
        "estimand  estimate [95 %]",
        "a         -0.250",
        "long name  0.500",
    ]


def test_a_column_is_taken_by_its_name() -> None:
    found = ps.estimate(panel(), ps.Mean())
    assert found["model"].tolist() == ["a", "b"]
    with pytest.raises(PairstatsError, match=r"no column 'estimat'; .* Did you mean 'estimate'"):
        found["estimat"]
    with pytest.raises(PairstatsError, match="no column 0"):
        found[0]  # type: ignore[index]


def test_completeness_prints_every_column_that_says_something() -> None:
    found = panel().completeness()
    lines = repr(found).splitlines()
    assert lines[0].split() == [
        "model",
        "planned",
        "answered",
        "unparsed",
        "error",
        "completeness",
        "reasons",
    ]
    assert lines[1].split() == ["a", "10", "9", "0", "1", "0.9", "rate_limit:", "1"]
    assert lines[-1] == "no reply is truncated, refused, empty, absent"
    assert str(found) == repr(found)
    assert set(STATUSES) <= set(found.columns)  # nothing is dropped from the frame
    assert type(found[found["model"] == "a"]) is pd.DataFrame


def test_completeness_of_odd_names_stays_one_line_a_row() -> None:
    rows = pd.DataFrame({"family": "f", "item": "q", "model": ["a\nb\x1b[31m", None], "score": 1.0})
    shown = repr(Panel(rows).completeness())
    assert len(shown.splitlines()) == 4
    assert "\x1b" not in shown


def test_stored_completeness_prints_the_same(tmp_path) -> None:
    folder = write_results(tmp_path / "r")
    found = Results.load(folder).completeness
    assert "..." not in repr(found)
    assert "reasons" in repr(found)


def test_completeness_of_many_cells_is_shortened_as_pandas_does() -> None:
    rows = pd.DataFrame({"family": "f", "item": "q", "model": [f"m{n:03}" for n in range(200)], "score": 1.0})
    shown = repr(Panel(rows).completeness())
    assert "m000" in shown
    assert "m199" in shown
    assert len(shown.splitlines()) < 100


def test_findings_of_what_is_no_table_of_estimates_are_refused() -> None:
    with pytest.raises(PairstatsError, match="`estimates` must be Estimates, but got a Panel"):
        ps.findings(panel())  # type: ignore[arg-type]
