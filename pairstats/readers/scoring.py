"""From the scores of a record to one primary score and further ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairstats import schema
from pairstats.errors import PairingError, ReadError, listed
from pairstats.readers.drafts import MISSING, Draft, Tally, Word, is_nan, leave_out
from pairstats.readers.mapping import NowhereError, names_meant, names_shown, paths_of, scores_of

JUDGED = "primary score"


def choose_score(
    drafts: Sequence[Draft],
    wanted: str | None,
    tallies: list[Tally],
    rescored: bool,
    keep_going: bool = False,
) -> list[Draft]:
    """Put scores in their columns as `place_scores` does, those that leave [0, 1] in ``value_<name>``."""
    kept, primary, names = place_scores(drafts, wanted, tallies, rescored, keep_going)
    _rename_unbounded(kept, [column_of(name) for name in names if name != primary])
    return kept


def place_scores(
    drafts: Sequence[Draft],
    wanted: str | None,
    tallies: list[Tally],
    rescored: bool,
    keep_going: bool = False,
) -> tuple[list[Draft], str | None, list[str]]:
    """Put the primary score in ``score`` and the others in ``score_<name>``, as numbers or null.

    Parameters
    ----------
    drafts : sequence of Draft
    wanted : str or None
        Name of the primary score, or a dotted path to it.
    tallies : list of Tally
    rescored : bool
        Whether `answers=` will score the replies, so that no primary score need be named.
    keep_going : bool, default False
        Whether records whose score is no number are left out, and counted.

    Returns
    -------
    tuple of list of Draft, str or None, list of str
        The drafts kept, the primary score, and the names of all.

    Raises
    ------
    PairingError
        When records hold several scores, none is named and the platform judges by none of them, or when the
        one named is not there.
    ReadError
        When a score is no number.
    """
    names = scores_of(drafts)
    if wanted is not None and all(draft.found.get(wanted, MISSING) is MISSING for draft in drafts):
        wanted = next((name for name in names_meant(wanted) if name in names), wanted)
    if wanted is None and len(names) > 1 and not rescored:
        wanted = _judged_by(drafts, names, tallies)
    if wanted is None and len(names) > 1 and not rescored:
        raise PairingError(
            f"`score` must name the primary score, since the records hold {len(names)}: {', '.join(names)}. "
            f"Write score={names[0]!r}; the others stay as further columns. The first records that hold them are "
            f"{listed(dict.fromkeys(_first_with(drafts, name) for name in names))}."
        )
    if wanted is not None and wanted not in names:
        if all(draft.found.get(wanted, MISSING) is MISSING for draft in drafts):
            raise NowhereError(
                f"score={wanted!r} must be a score or path of the records of "
                f"{listed(dict.fromkeys(tallies[draft.file].file for draft in drafts))}, but they hold "
                f"{', '.join(names) or 'no score'}. Paths: {names_shown(paths_of(tallies))}."
            )
        for draft in drafts:
            draft.scores[wanted] = None if (v := draft.found.get(wanted)) is MISSING else v
        names.append(wanted)
    primary = wanted if wanted is not None or rescored else (names[0] if names else None)
    faults = [_place_scores(draft, primary, tallies[draft.file]) for draft in drafts]
    if any(faults) and not keep_going:
        raise ReadError(next(filter(None, faults)) + f". {_LEAVE_OUT}")
    return leave_out(zip(drafts, faults, strict=True), tallies), primary, names


def _first_with(drafts: Sequence[Draft], score: str) -> str:
    return next(draft.source for draft in drafts if score in draft.scores)


def _judged_by(drafts: Sequence[Draft], names: Sequence[str], tallies: list[Tally]) -> str | None:
    """Score by which the platform of every record judges it, where all say the same one; it is noted."""
    told = {tallies[draft.file].primary for draft in drafts if draft.ran}
    primary = told.pop() if len(told) == 1 else ""
    if not primary or any(primary not in draft.scores for draft in drafts if draft.ran):
        return None
    others = ", ".join(name for name in names if name != primary)
    for place in dict.fromkeys(draft.file for draft in drafts if draft.ran):
        tallies[place].notes.append(f"{JUDGED} {primary!r}, the platform's verdict; further: {others}")
    return primary


_LEAVE_OUT = "Correct it, or pass keep_going=True to leave such records out and count them."


def leave_out_of_range(
    drafts: Sequence[Draft], score_range: tuple[float, float], tallies: list[Tally]
) -> list[Draft]:
    """Leave out, and count, the records with a score outside its range.

    Parameters
    ----------
    drafts : sequence of Draft
        With their scores in place.
    score_range : tuple of float
    tallies : list of Tally

    Raises
    ------
    ReadError
        When these are most of the records with that score: then the range is wrong, not the records.
    """
    low, high = score_range
    why: dict[int, str] = {}
    for name in dict.fromkeys(name for draft in drafts for name in draft.fields if schema.is_score(name)):
        scored = [(place, v) for place, d in enumerate(drafts) if (v := d.fields.get(name)) is not None]
        outside = {place: value for place, value in scored if schema.within(value, score_range) is None}
        if 2 * len(outside) > len(scored):
            raise ReadError(
                f"{name!r} must lie in [{low:g}, {high:g}], but {len(outside)} of {len(scored)} do not: "
                f"{listed(list(outside.values()))}. So many are no slip: declare their range, score_range=(0, 100)."
            )
        why |= {p: f"{name} outside [{low:g}, {high:g}]: {value:g}" for p, value in outside.items()}
    return leave_out(((draft, why.get(place)) for place, draft in enumerate(drafts)), tallies)


def column_of(name: str) -> str:
    """Column of a score that is not the primary one."""
    return name if name.startswith("score_") else f"score_{name}"


def _place_scores(draft: Draft, primary: str | None, tally: Tally) -> str | None:
    """Write the scores of a record into its columns; give a reason where one is no number."""
    mapped = {name: value for name, value in draft.fields.items() if schema.is_score(name)}
    broken = next(((n, v) for n, v in (draft.scores | mapped).items() if not _is_number(v)), None)
    if broken is not None:
        return f"score {broken[0]!r} of {draft.source} must be a number, but is {str(broken[1])[:60]!r}"
    tally.words |= {value.word: float(value) for value in draft.scores.values() if isinstance(value, Word)}
    scored = {name: _number(value, tally) for name, value in draft.scores.items()}
    mapped = {name: _number(value, tally) for name, value in mapped.items()}
    if draft.fields["status"] in schema.MISSING:
        # A platform that scores a failed call 0 has not measured the model.
        tally.score_ignored_on_error += any(
            value is not None for value in (*scored.values(), *mapped.values())
        )
        scored, mapped = dict.fromkeys(scored), dict.fromkeys(mapped)
    for name, value in scored.items():
        draft.fields["score" if name == primary else column_of(name)] = value
    draft.fields |= mapped  # by `extra`, which says so
    return None


def _is_number(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    try:
        return isinstance(value, str | int | float) and float(value) is not None
    except (ValueError, OverflowError):
        return False


def _number(value: Any, tally: Tally) -> float | None:
    """Score as a number; NaN is null, and counted."""
    number = None if value is None else float(value)
    if number is not None and is_nan(number):
        tally.nan_to_null += 1
        return None
    return number


def _rename_unbounded(drafts: Sequence[Draft], columns: Sequence[str]) -> None:
    """Call a further score ``value_<name>`` where it leaves [0, 1]: it is a measurement, not a score."""
    for column in columns:
        values = [v for draft in drafts if (v := draft.fields.get(column)) is not None]
        if any(schema.within(value, (0.0, 1.0)) is None for value in values):
            for draft in drafts:
                if column in draft.fields:
                    draft.fields["value_" + column.removeprefix("score_")] = draft.fields.pop(column)
