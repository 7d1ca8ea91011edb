"""Completions as columns: what `openai` does to a line, done to a block of lines that are all plain replies.

Lines of one choice each, without a failure and without attempts that the log numbers, are records of their own
whatever else the file holds. Anything else is `UnusualError`, and the file is read line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pairstats.readers.base import digest
from pairstats.readers.cells import Column
from pairstats.readers.columns import Block, UnusualError, by_word
from pairstats.readers.layout import Layout, check_mappings
from pairstats.readers.openai import GOLD_FIELDS, PROMPTS, SCHEMA_WORDS, SCORE_FIELDS
from pairstats.readers.openai_attempts import ITEM_FIELDS
from pairstats.readers.openai_reply import TOKENS, Reply, status_of
from pairstats.readers.prompts import PROMPT, RESPONSE_ID, identified
from pairstats.readers.reading import Reading

FURTHER = ("attempts", PROMPT, RESPONSE_ID)
"""Columns outside the format, in the order in which a record has them."""
_OWN = "\0"
"""What the names of columns made here begin with, beside those of the lines."""
_TEXT, _WHOLE, _NUMBER = (pa.string(),), (pa.int64(),), (pa.int64(), pa.float64())

Fields = dict[str, Column]


def columns_of(block: Block, reading: Reading) -> tuple[Block, Layout]:
    """Give a block of the format's columns beside those of the lines, and what is which.

    Raises
    ------
    UnusualError
        When a line is no plain reply.
    """
    line = _Level(block.table.combine_chunks().to_struct_array().combine_chunks(), "line")
    if any(name.startswith(_OWN) or name in FURTHER for name in block.names):
        raise UnusualError("a name of a column that is made here")
    if line.raw("body").null_count and line.has("body"):
        raise UnusualError("lines of which some have a body beside the completion")
    body = _body_of(line)
    _check_plain(line, body)
    fields = {**_told(line, body), **_reply(body)}
    found = {_OWN + name: column for name, column in fields.items()}
    found |= _identified(line, body)
    found |= {} if "body" in block.names else {"body": body.cells}
    table = pa.table(dict(zip(block.names, block.table.columns, strict=True)) | found)
    names, identity = tuple(table.column_names), _identity(line, body)
    plain = Block(names, table, block.numbers, block.size, pa.chunked_array([identity]))
    return plain, _layout(block, plain, {name: _OWN + name for name in fields}, reading)


class _Level:
    """Objects of one level of nesting, of which none is null."""

    def __init__(self, cells: pa.StructArray, what: str) -> None:
        if not pa.types.is_struct(cells.type) or cells.null_count:
            raise UnusualError(f"a {what} that is no object")
        self.cells = cells

    def has(self, name: str) -> bool:
        return self.cells.type.get_field_index(name) >= 0

    def raw(self, name: str) -> pa.Array:
        """Values at a key; nulls where no object has it."""
        return pc.struct_field(self.cells, name) if self.has(name) else pa.nulls(len(self.cells))

    def get(self, name: str, kinds: Iterable[pa.DataType]) -> pa.Array:
        """Values of one of some types, the first of which nulls have."""
        cells, kinds = self.raw(name), tuple(kinds)
        if pa.types.is_null(cells.type):
            return cells.cast(kinds[0])
        if cells.type not in kinds:
            raise UnusualError(f"{name!r} of another kind")
        if pa.types.is_floating(cells.type) and not pc.all(pc.is_finite(cells)).as_py():
            raise UnusualError(f"{name!r} that is no number")
        return cells

    def level(self, name: str) -> _Level:
        return _Level(self.raw(name), name)

    def maybe(self, name: str) -> _Level | None:
        """Objects at a key; None where it holds no object."""
        return self.level(name) if pa.types.is_struct(self.raw(name).type) else None

    def lacks(self, *names: str) -> bool:
        return all(self.raw(name).null_count == len(self.cells) for name in names)


def _body_of(line: _Level) -> _Level:
    """Completions that the lines are, or hold."""
    if not line.has("response"):
        if line.has("status_code"):
            raise UnusualError("a bare completion with the code of its call")
        return line
    response = line.level("response")
    if not response.has("status_code"):
        return response
    codes = response.get("status_code", _WHOLE)
    if codes.null_count or pc.max(codes).as_py() >= 400:
        raise UnusualError("a call that failed")
    return response.level("body")


def _check_plain(line: _Level, body: _Level) -> None:
    """Refuse what failed, what is a request, and attempts that the log numbers."""
    request = line.has("custom_id") and line.has("url") and line.has("body") and not line.has("response")
    if request or not (line.lacks("error", "attempt") and body.lacks("error", "status")):
        raise UnusualError("a request, a failed call, or an attempt")


def _told(line: _Level, body: _Level) -> Fields:
    """What a line says of its record, besides the reply."""
    line.get("model", _TEXT)
    model = body.get("model", _TEXT)
    if model.null_count or pc.any(pc.equal(model, "")).as_py():
        raise UnusualError("a reply whose model is not told")
    usage = body.maybe("usage")
    cost = line.get("cost_usd", reversed(_NUMBER))
    found = {
        "model": model, "item": _first_text(line, ITEM_FIELDS), "gold": _first_text(line, GOLD_FIELDS),
        **{name: line.get(name, _TEXT) for name in SCHEMA_WORDS},
        "repeat": line.get("repeat", _WHOLE), "latency_s": line.get("latency_s", _NUMBER),
        "cost_usd": cost if usage is None else _first([cost, usage.get("cost", reversed(_NUMBER))]),
    }  # fmt: skip
    if usage is not None:
        for name, keys in TOKENS.items():
            found[name] = _first([usage.get(key, _WHOLE) for key in keys])
            if pc.any(pc.less(found[name], 0)).as_py():
                raise UnusualError("a negative count")
    return {name: cells for name, cells in found.items() if cells.null_count < len(model)}


def _first(columns: list[pa.Array]) -> pa.Array:
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(pa.float64()) for column in columns]
    return pc.coalesce(*columns)


def _first_text(level: _Level, names: Iterable[str]) -> pa.Array:
    columns = [level.get(name, (*_TEXT, *_WHOLE)) for name in names]
    return pc.coalesce(*(column.cast(pa.string()) for column in columns))


def _choice_of(body: _Level) -> _Level:
    choices = body.raw("choices")
    if not pa.types.is_list(choices.type) or choices.null_count:
        raise UnusualError("a body without choices")
    if not pc.all(pc.equal(pc.list_value_length(choices), 1)).as_py():
        raise UnusualError("several choices, or none")
    return _Level(pc.list_flatten(choices), "choice")


def _reply(body: _Level) -> Fields:
    """Text, status and reason of every reply."""
    choice = _choice_of(body)
    message = choice.level("message") if choice.has("message") else None
    text = choice.get("text", _TEXT)  # which must be a text beside a message too
    text = text if message is None else message.get("content", _TEXT)
    refusal = pa.nulls(len(text), pa.string()) if message is None else message.get("refusal", _TEXT)
    refusal = pc.if_else(pc.equal(refusal, ""), pa.scalar(None, pa.string()), refusal)  # an empty one is none
    finish = pc.fill_null(choice.get("finish_reason", _TEXT), "")
    silent = pc.fill_null(pc.equal(text, ""), True)
    if pc.any(pc.and_(silent, _called(message, len(text)))).as_py():
        raise UnusualError("a call of a tool in place of a text")
    if pc.any(pc.equal(finish, "error")).as_py() or not choice.lacks("error"):
        raise UnusualError("a choice that failed")
    filled = _if_so(text, lambda told: bool(told.strip()), plain="[!-~]")
    refused = _if_so(refusal, bool, plain=".")
    ends = pc.binary_join_element_wise(filled, refused, finish, "\0")
    status, reason = (by_word(pa.chunked_array([ends]), _state_part(part), pa.string()) for part in (0, 1))
    return {"status": status, "reason": reason, "response": pc.if_else(silent, refusal, text)}


def _called(message: _Level | None, size: int) -> pa.Array:
    """Where a message calls a tool; an empty list of calls is none."""
    found = pa.repeat(pa.scalar(False), size)
    names = ("tool_calls", "function_call")
    for cells in () if message is None else map(message.raw, names):
        there = pc.is_valid(cells)
        if pa.types.is_list(cells.type):
            there = pc.fill_null(pc.greater(pc.list_value_length(cells), 0), False)
        found = pc.or_(found, there)
    return found


def _if_so(texts: pa.Array, holds: Callable[[str], bool], plain: str) -> pa.Array:
    """Write ``x`` for texts of which something holds, else nothing; it holds of those that fit a pattern."""
    sure = pc.fill_null(pc.match_substring_regex(texts, plain), False)
    words = pc.if_else(sure, "x", "")
    doubtful = pc.and_(pc.invert(sure), pc.is_valid(texts))
    if pc.any(doubtful).as_py():
        told = ["x" if holds(text) else "" for text in texts.filter(doubtful).to_pylist()]
        words = pc.replace_with_mask(words, doubtful, pa.array(told, pa.string()))
    return words


def _state_part(part: int) -> Callable[[str], str | None]:
    def told(ends: str) -> str | None:
        filled, refused, finish = ends.split("\0", 2)
        return status_of(Reply(0, filled or None, refused or None, finish))[part]

    return told


def _identified(line: _Level, body: _Level) -> Fields:
    """Attempts, digest of the messages, where a line has them, and the id of the completion."""
    asked = line.maybe("request") or line
    names = [name for name in PROMPTS if asked.has(name)]
    if len(names) > 1:
        raise UnusualError("several prompts")
    found = {"attempts": pa.repeat(pa.scalar(1), len(body.cells)), RESPONSE_ID: body.get("id", _TEXT)}
    prompts = [identified(prompt).get(PROMPT) for name in names for prompt in _prompts(asked.raw(name))]
    if any(prompt is not None for prompt in prompts):
        found[PROMPT] = pa.array(prompts, pa.string())
    return found


def _prompts(cells: pa.Array) -> list[Any]:
    """Prompts of every line: texts, or messages of a role and a text."""
    kind = cells.type
    if pa.types.is_string(kind) or pa.types.is_null(kind):
        return list(cells.to_pylist())
    if not (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)):
        raise UnusualError("prompts of another kind")
    messages = _Level(pc.list_flatten(cells), "message")
    parts = [messages.get(name, _TEXT) for name in ("role", "content")]
    if cells.null_count:
        raise UnusualError("a line without messages")
    ends = pc.cumulative_sum(pc.cast(pc.list_value_length(cells), pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    plain = pa.StructArray.from_arrays(parts, ["role", "content"])
    return list(pa.ListArray.from_arrays(offsets, plain).to_pylist())


def _identity(line: _Level, body: _Level) -> pa.Array:
    """Name every reply as `openai` does."""
    names = ["custom_id"] if line.has("custom_id") else [*ITEM_FIELDS, "repeat"]
    ids = body.get("id", _TEXT)
    if ids.null_count or pc.any(pc.equal(ids, "")).as_py():
        raise UnusualError("a reply without an id")
    index = pc.fill_null(_choice_of(body).get("index", _WHOLE), 0)
    parts = [ids, *(line.get(name, (*_TEXT, *_WHOLE)) for name in names), index]
    if line.has("custom_id") and parts[1].null_count:
        raise UnusualError("a line of a batch without its id")
    return pa.array(map(digest, *(part.to_pylist() for part in parts)), pa.string())


def _layout(lines: Block, plain: Block, roles: Mapping[str, str], reading: Reading) -> Layout:
    """Where the scores are, and the columns made here."""
    check_mappings(reading)
    scores = {name: name for name in SCORE_FIELDS if name in lines.names}
    wanted = reading.score
    if wanted is not None:
        scores |= {wanted: wanted}
    elif len(scores) > 1 and reading.answers is None:
        raise UnusualError("several scores")
    primary = wanted or (None if reading.answers else next(iter(scores), None))
    for name in scores:
        cells = plain.find(name)
        if cells is None or cells.type not in (pa.null(), pa.bool_(), pa.int64(), pa.float64()):
            raise UnusualError("a score that is no number")
        if cells.null_count and name != primary:
            raise UnusualError("a further score that some lines may not have")
    return Layout(roles, scores, primary, from_one=False)
