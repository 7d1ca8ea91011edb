"""The message that refuses records of one key: in what they differ, and what can be done about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pairstats import schema
from pairstats.errors import PairingError, listed
from pairstats.readers.dotted import lookup, paths_in
from pairstats.readers.drafts import Draft, Tally
from pairstats.readers.mapping import KNOWN_PATHS

PROBED_KEYS = 5
"""Keys whose records are looked at."""
PROBED_RECORDS = 12
"""Records of one key that are looked at."""
MOST_PATHS = 3
LONGEST = 60
"""Characters of a value that may be a name, and of a text that is shown."""
LONGEST_TEXT = 2000
"""Characters of a system prompt or a template that may tell records apart."""
WORDS_OF_A_NAME = 3

_OF_THE_REPLY = re.compile(
    r"(^|[._])(outputs?|choices|responses?|completion|messages?|headers|answers?|predictions?|reply|usage|\w*scores?|metrics?|"
    r"(is_)?correct|tokens|latency|duration|cost|\w*time|timestamp|date|created|started|completed|uuid|hash|sha\d*|"
    r"seed)(_(ms|s|at|usd))?([.]|$)"
)
"""Names of what differs between any two calls, or any two runs, whatever was asked."""
_OF_OTHERS = re.compile(r"judge|grad(er|ing)|scorer|evaluator|embedding|tokenizer|assert")
"""Names of what belongs to whoever judged the reply."""
_NO_NAME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d|(?=[A-Za-z]*\d)[A-Za-z0-9]{16}|[0-9a-f]{8}-[0-9a-f]{4}-")
"""Instants and random ids."""
_MEANINGS = tuple((column, re.compile(rf"(^|[._])({names})$")) for column, names in (
    ("condition", r"temperature|top_[pk]|max_\w*tokens|(reasoning_)?effort|thinking|(token_|thinking_)?budget|"
     r"(num_|n_)?(few_?)?shots?|system_(prompt|message|instructions?)|instructions?|tools|tool_choice|condition|"
     r"treatment|setting|framing|dose|persona|time_pressure"),
    ("repeat", r"(epoch|trial|attempt|repeat|repetition|replicate|rollout|iteration)(_?(index|idx|number|num|no))?|"
     r"sample_?(index|idx|number)"),
    ("variant", r"variant|variation|perturbation|paraphrase|wording|phrasing|presentation|(prompt_)?template|"
     r"(prompt|template)([._](label|name|idx|index|number|version|variant))?"),
    ("model", r"((model|llm|engine|deployment|checkpoint|model_version|provider)([._](id|name|slug|label|version))?"
     r"|system(_(id|name))?)"),
))  # fmt: skip
"""Names whose meaning is clear, and the column that they are."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field by which records of one key differ.

    Attributes
    ----------
    path : str
    kinds : tuple
        Its different values in the records of the first key.
    values : tuple of tuple of str
        All values, by key.
    column : str
        The column that it is by its name; empty where that is not clear.
    """

    path: str
    kinds: tuple[Any, ...]
    values: tuple[tuple[str, ...], ...]
    column: str

    @property
    def rank(self) -> tuple[int, int, bool, int]:
        """Place among others: what tells most records apart by the fewest values comes first."""
        in_all = len({value for group in self.values for value in group})
        return alike([self]), in_all, "metadata" not in self.path, self.path.count(".")


def alike(fields: Sequence[Difference]) -> int:
    """How many records some fields together do not tell from another one of their key."""
    keys = [
        list(zip(*groups, strict=True)) for groups in zip(*(field.values for field in fields), strict=True)
    ]
    return sum(len(group) - len(set(group)) for group in keys)


def differing(groups: Sequence[Sequence[Any]]) -> list[Difference]:
    """Find fields by which records of every key differ, those first that tell most of them apart.

    Parameters
    ----------
    groups : sequence of sequence
        Raw contents of the records of one key, for a few keys.

    Returns
    -------
    list of Difference

    Examples
    --------
    >>> found = differing([[{"log": {"system": "terse"}, "x": 1}, {"log": {"system": "2shot"}, "x": 1}]])
    >>> [(each.path, each.kinds, each.column) for each in found]
    [('log.system', ('terse', '2shot'), 'model')]
    """
    found = []
    for path in islice(paths_in(groups[0][0]), KNOWN_PATHS) if groups else ():
        values = [[lookup(raw, path) for raw in group] for group in groups]
        column = _column(path, values)
        if not column and _OF_THE_REPLY.search(_plain(path)):
            continue
        if all(_may_tell(value, column) for group in values for value in group):
            texts = tuple(tuple(map(str, group)) for group in values)
            if all(len(set(group)) > 1 for group in texts):
                found.append(Difference(path, tuple(dict.fromkeys(values[0])), texts, column))
    return sorted(found, key=lambda each: each.rank)


def _plain(path: str) -> str:
    """Write a path in small letters, its words with `_` between."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path).lower().replace("-", "_")


def _column(path: str, values: Sequence[Sequence[Any]]) -> str:
    """Column that a field is by its name and values; empty where it is not clear, or no two keys share a value."""
    plain = _plain(path)
    column = next((column for column, names in _MEANINGS if names.search(plain)), "")
    texts = [{str(value) for value in group} for group in values]
    everywhere = set().union(*texts)
    recurs = (
        len(everywhere) < sum(map(len, texts)) if len(texts) > 1 else max(map(len, everywhere)) <= LONGEST
    )
    if _OF_OTHERS.search(plain) or not recurs:
        return ""
    if column == "repeat" and not all(text.isdecimal() for text in everywhere):
        return ""
    if column == "model" and any(len(text.split()) > WORDS_OF_A_NAME for text in everywhere):
        return "condition" if plain.endswith("system") else ""
    return column


def _may_tell(value: Any, column: str) -> bool:
    """Whether a value may be the name of a level, or the text of one where the column holds such."""
    if isinstance(value, str):
        longest = LONGEST_TEXT if column in ("condition", "variant") else LONGEST
        return 0 < len(value) <= longest and not _NO_NAME.search(value)
    return isinstance(value, bool | int) or (bool(column) and isinstance(value, float))


def suggestion(groups: Sequence[Sequence[Any]]) -> str:
    """Say in what records of one key differ, and which columns would tell them apart; empty where nothing does.

    A column is proposed only where a field's name says what it is: of any other field nobody knows whether it
    tells conditions apart, or only one try from the next.

    Examples
    --------
    >>> print(suggestion([[{"temperature": 0, "state": "a"}, {"temperature": 1, "state": "b"}]]).strip())
    They differ in 'temperature' (0, 1), 'state' ('a', 'b'): condition="temperature" would tell them apart.
    """
    whole = [[raw for raw in group if isinstance(raw, Mapping)] for group in groups]
    found = differing([group for group in whole if len(group) > 1])
    if not found:
        return ""
    chosen = _chosen(found)
    told = [*chosen, *(each for each in found if each not in chosen)][: max(MOST_PATHS, len(chosen))]
    shown = ", ".join(f"{each.path!r} ({listed(map(_short, each.kinds))})" for each in told)
    if not chosen:
        return f" They differ in {shown}; what these mean is yours to say."
    columns = " with ".join(f'{each.column}="{each.path}"' for each in chosen)
    rest = ", though not all of them" if alike(chosen) else ""
    return f" They differ in {shown}: {columns} would tell them apart{rest}."


def _chosen(found: Sequence[Difference]) -> list[Difference]:
    """Fields of clear meaning, of each column one at most, until they tell all records apart."""
    chosen: list[Difference] = []
    while not chosen or alike(chosen):
        left = [each for each in found if each.column and each.column not in {one.column for one in chosen}]
        best = min(left, key=lambda each: (alike([*chosen, each]), each.rank), default=None)
        if best is None or (chosen and alike([*chosen, best]) == alike(chosen)):
            break
        chosen.append(best)
    return chosen


def _short(value: Any) -> Any:
    return value[: LONGEST - 1] + "…" if isinstance(value, str) and len(value) > LONGEST else value


Raws = Callable[[Sequence[Draft]], Mapping[tuple[int, str], Any]]
"""Raw contents of records by file and source, read again; for messages."""


def clash_of(
    clashes: Sequence[tuple[Draft, Draft]], raws: Raws, tallies: Sequence[Tally],
    settled: Sequence[Sequence[Draft]] = (),
) -> PairingError:  # fmt: skip
    """Error for different replies under one key: shows both, and what would tell them apart.

    Parameters
    ----------
    clashes : sequence of tuple of Draft
    raws : callable
    tallies : sequence of Tally
    settled : sequence of sequence of Draft
        Records of other keys, one of which is the row.
    """
    one, other = clashes[0]
    key = ", ".join(
        f"{name} {one.fields[name]!r}" for name in schema.KEY if one.fields[name] not in ("", None)
    )
    return PairingError(
        f"A key must be one reply, but {len(clashes)} records repeat one: {one.source} and {other.source} "
        f"are both ({key}). If they are presentations, repeats, conditions, runs or models, say so with "
        f"variant=, repeat=, condition=, run= or model=; otherwise {_otherwise(clashes, tallies, settled)}."
        f"{_how_they_differ(clashes, raws)}"
    )


def _how_they_differ(clashes: Sequence[tuple[Draft, Draft]], raws: Raws) -> str:
    groups: dict[int, list[Draft]] = {}
    for one, other in clashes:
        group = groups.setdefault(id(one), [one])
        if len(group) < PROBED_RECORDS:
            group.append(other)
    probed = list(groups.values())[:PROBED_KEYS]
    found = raws([draft for group in probed for draft in group])
    return suggestion([[found.get((draft.file, draft.source)) for draft in group] for group in probed])


def _otherwise(
    clashes: Sequence[tuple[Draft, Draft]], tallies: Sequence[Tally], settled: Sequence[Sequence[Draft]]
) -> str:
    """What can be done where nothing tells two replies apart: a file can be left out only if it holds no others."""
    places = (clashes[0][0].file, clashes[0][1].file)
    if places[0] == places[1]:
        return "keep one of them in the file"
    folders = [tallies[place].file.rpartition("/")[0] for place in places]
    by_folder = folders[0] != folders[1] and all(folders)
    units = [tally.file.rpartition("/")[0] if by_folder else tally.file for tally in tallies]
    pair = [units[place] for place in places]
    shared = sum(set(pair) <= {units[draft.file] for draft in group} for group in (*clashes, *settled))
    spare = [each for each in pair if shared >= sum(map(_rows, _of(each, units, tallies)))]
    run = 'ps.extract("source", "^(.*)/")' if by_folder else '"file"'
    if len(spare) == 2:
        return "read one of them only" + (f", {pair[0]!r} or {pair[1]!r}" if by_folder else "")
    if spare:
        return f"leave out {spare[0]!r}, which holds nothing else"
    return (
        f"take the doubled ones out of {pair[0]!r} or {pair[1]!r}, each of which holds others that are needed, "
        f"or keep both as two runs with run={run}"
    )


def _of(unit: str, units: Sequence[str], tallies: Sequence[Tally]) -> list[Tally]:
    return [tally for tally, each in zip(tallies, units, strict=True) if each == unit]


def _rows(tally: Tally) -> int:
    return tally.records - len(tally.left_out) - tally.merged
