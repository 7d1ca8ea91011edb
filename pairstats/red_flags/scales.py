"""Findings about stated confidences: two scales in one table, a scale that none fits, values that became null."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pairstats.errors import listed
from pairstats.records.notes import TWO_SCALES
from pairstats.red_flags.found import Flag, Rows

PERCENT = 0.01
"""Largest value of a probability that was stated from 0 to 1 and then divided by 100."""
FEW = 3
"""Confidences below which a scale is not judged."""
AS_IF = "as if stated from 0 to 1 and divided by 100"


@dataclass(frozen=True, slots=True)
class Lost:
    """Confidences of a file that its scale put outside [0, 1], so that they are null, and those it left."""

    file: str
    lost: int
    kept: int

    @property
    def mostly(self) -> bool:
        """Whether most are lost, as where percentages are read as probabilities."""
        return self.lost > self.kept


def scales(rows: Rows) -> Iterator[Flag]:
    """Find confidences that one scale does not fit: of systems, of files, and within a file."""
    lines = [(str(line["file"]), str(line["note"])) for line in rows.ledger.to_dict("records")]
    for file, note in lines:
        for part in note.split("; "):
            if part.startswith(TWO_SCALES):
                yield Flag("two_scales", False, f"{file}: {part}", 1, 1)
    yield from _of_subjects(rows)
    yield from _within_files(rows, {file for file, note in lines if TWO_SCALES in note})
    yield from _lost(rows)


def _stated(rows: Rows) -> pd.DataFrame:
    return rows.frame[rows.frame["confidence"] > 0]


def _sizes(rows: Rows) -> tuple[pd.Series, pd.Series]:
    """How many confidences each subject stated, of all, and of those whose every one is a hundredth."""
    stated = _stated(rows).groupby("subject_")["confidence"].agg(["size", "max"])
    known = stated[stated["size"] >= FEW]
    return known["size"], known.loc[known["max"] <= PERCENT, "size"]


def _of_subjects(rows: Rows) -> Iterator[Flag]:
    """Find subjects whose confidences are all one hundredth of what they may be."""
    known, tiny = _sizes(rows)
    n = int(tiny.sum())
    if 0 < len(tiny) < len(known):
        names, others = (_listed(rows, each) for each in (tiny.index, known.index.difference(tiny.index)))
        yield Flag(
            "two_scales", False,
            f"all confidences of {names} are at most {PERCENT:g}, {AS_IF}, and those of {others} are not", n,
            int(known.sum()),
        )  # fmt: skip
    elif n:
        yield Flag("wrong_scale", False, f"all confidences are at most {PERCENT:g}, {AS_IF}", n, n)


def _listed(rows: Rows, subjects: pd.Index) -> str:
    """Names of subjects, the first few."""
    rest = len(subjects) - 3
    return ", ".join(rows.names[each] for each in subjects[:3]) + (f" and {rest} more" if rest > 0 else "")


def _within_files(rows: Rows, told: Collection[str]) -> Iterator[Flag]:
    """Find files that hold both; what a note of the ledger or a whole subject tells is not told again."""
    stated = _stated(rows)
    stated = stated[~stated["subject_"].isin(_sizes(rows)[1].index)]
    files = stated["source"].str.rsplit(":", n=1).str[0].where(stated["source"] != "", "the records")
    for file, part in stated.groupby(files)["confidence"]:
        small = int((part < PERCENT).sum())
        enough = min(small, len(part) - small) >= max(FEW, 0.02 * len(part))
        if enough and str(file) not in told:
            yield Flag(
                "two_scales", False,
                f"{file}: {small} of {len(part)} confidences are below {PERCENT:g} and the others are not, {AS_IF}",
                small, len(part),
            )  # fmt: skip


def _lost(rows: Rows) -> Iterator[Flag]:
    """Tell the confidences that became null, and whether only some files lost theirs."""
    files = [_lost_of(rows, line) for line in rows.ledger.to_dict("records")]
    files = [each for each in files if each.lost + each.kept]
    gone = [each for each in files if each.mostly and each.lost >= FEW]
    fine = [each.file for each in files if not each.mostly and each.kept >= FEW]
    if gone and fine:
        lost, all_of = sum(each.lost for each in gone), sum(each.lost + each.kept for each in files)
        yield Flag(
            "two_scales", False,
            f"most confidences of {listed(each.file for each in gone)} lie outside [0, 1] under the declared "
            f"scale, and those of {listed(fine)} do not", lost, all_of,
        )  # fmt: skip
    for each in files:
        if each.lost:
            yield Flag(
                "confidence_lost", False,
                f"{each.file}: {each.lost} of {each.lost + each.kept} stated confidences lie outside [0, 1] under "
                "the declared scale (confidence_scale=) and are null", each.lost, each.lost + each.kept,
            )  # fmt: skip


def _lost_of(rows: Rows, line: Mapping[Any, Any]) -> Lost:
    file, lost = str(line["file"]), line.get("confidence_out_of_range", 0)
    source = rows.frame["source"]
    mine = rows.frame["confidence"][(source == file) | source.str.startswith(f"{file}:")]
    return Lost(file, int(lost) if lost == lost else 0, int(mine.notna().sum()))
