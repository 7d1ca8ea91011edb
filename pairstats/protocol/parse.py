"""From a TOML file to a protocol: names, types and references are checked, with the line in the message."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairstats.errors import ProtocolError, listed
from pairstats.protocol.values import (
    Answers,
    Calibration,
    ContrastRule,
    Design,
    Deviation,
    EstimandRule,
    IntervalRule,
    Multiplicity,
    Protocol,
    Source,
)

Section = Mapping[str, Any]


def load_protocol(path: str | Path) -> Protocol:
    """Read a protocol file and check it against itself.

    Parameters
    ----------
    path : str or Path
        A TOML file; the sections are described in the documentation.

    Returns
    -------
    Protocol

    Raises
    ------
    ProtocolError
        When the file is absent or no TOML, has unknown keys or wrong types, names an estimand that it does
        not define, or defines a name twice. The message gives the line.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise ProtocolError(f"There is no protocol file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, IsADirectoryError) as error:
        raise ProtocolError(f"{path} is not a TOML file: {error}.") from error
    return _Parser(path, text).protocol(content)


@dataclass(frozen=True, slots=True)
class _Parser:
    path: Path
    text: str

    def protocol(self, content: Section) -> Protocol:
        sections = ("protocol", "records", "answers", "design", "interval", "estimand", "contrast",
                    "multiplicity", "calibration", "deviation")  # fmt: skip
        self.refuse_unknown("the file", content, sections)
        head, records = content.get("protocol", {}), content.get("records", {})
        self.refuse_unknown("[protocol]", head, ("name", "registered", "questions"))
        self.refuse_unknown("[records]", records, ("source",))
        protocol = Protocol(
            path=self.path,
            name=str(head.get("name", self.path.parent.name)),
            questions=str(head.get("questions", "")),
            registered=head.get("registered"),
            sources=self.several(Source, "records.source", records.get("source", [])),
            answers=self.one(Answers, "answers", content.get("answers")),
            design=self.one(Design, "design", content.get("design", {})) or Design(),
            interval=self.one(IntervalRule, "interval", content.get("interval", {})) or IntervalRule(),
            estimands=self.several(EstimandRule, "estimand", content.get("estimand", [])),
            contrasts=self.several(ContrastRule, "contrast", content.get("contrast", [])),
            multiplicity=self.one(Multiplicity, "multiplicity", content.get("multiplicity", {}))
            or Multiplicity(),
            calibration=self.one(Calibration, "calibration", content.get("calibration")),
            deviations=self.several(Deviation, "deviation", content.get("deviation", [])),
            digest=_digest(content),
        )
        self.check_names(protocol)
        return protocol

    def several(self, kind: type[Any], where: str, tables: Any) -> tuple[Any, ...]:
        if not isinstance(tables, list):
            self.fail(f"`{where}` must be a list of tables; write [[{where}]].", where.rpartition(".")[2])
        return tuple(self.one(kind, where, table) for table in tables)

    def one(self, kind: type[Any], where: str, table: Any) -> Any:
        """Build a frozen value from a table, checking names and types of its keys."""
        if table is None:
            return None
        if not isinstance(table, dict):
            self.fail(f"`{where}` must be a table.", where)
        hints = typing.get_type_hints(kind)
        self.refuse_unknown(f"[{where}]", table, tuple(hints))
        for name, value in table.items():
            if not _fits(value, hints[name]):
                wanted = str(hints[name]).replace("typing.", "").removeprefix("<class '").removesuffix("'>")
                self.fail(f"`{name}` in [{where}] must be {wanted}, but is {value!r}.", name)
        required = [
            f.name
            for f in dataclasses.fields(kind)
            if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        ]
        absent = [name for name in required if name not in table]
        if absent:
            self.fail(f"[{where}] must have {listed(absent, 10)}.", where.rpartition(".")[2])
        return kind(**table)

    def refuse_unknown(self, where: str, table: Any, known: Sequence[str]) -> None:
        if not isinstance(table, dict):
            self.fail(f"{where} must be a table.", where.strip("[]"))
        unknown = [key for key in table if key not in known]
        if unknown:
            self.fail(
                f"{where} has the unknown key {listed(unknown)}; it may have {', '.join(known)}.", unknown[0]
            )

    def check_names(self, protocol: Protocol) -> None:
        if not protocol.sources:
            self.fail("The protocol must name its records: write [[records.source]] with a path.", "records")
        if not protocol.estimands:
            self.fail("The protocol must define at least one [[estimand]].", "protocol")
        for what, rules in (("estimand", protocol.estimands), ("contrast", protocol.contrasts)):
            names = [rule.name for rule in rules]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                self.fail(f"Every {what} must have its own name, but {listed(twice)} occurs twice.", twice[0])
        defined = {rule.name for rule in protocol.estimands}
        for rule in protocol.contrasts:
            if rule.estimand not in defined:
                self.fail(
                    f"Contrast {rule.name!r} asks for the estimand {rule.estimand!r}, which is not defined; "
                    f"there are {listed(sorted(defined), 20)}.", rule.estimand,
                )  # fmt: skip
            self.check_compare(rule)
            if rule.claim != "difference":
                self.fail(f"`claim` must be 'difference' in this version, but is {rule.claim!r}.", "claim")
        known = {rule.name for rule in protocol.contrasts}
        foreign = [name for name in protocol.multiplicity.contrasts if name not in known]
        if foreign:
            self.fail(
                f"[multiplicity] names {listed(foreign)}, which is no contrast of the file.", foreign[0]
            )

    def check_compare(self, rule: ContrastRule) -> None:
        where = f"compare of contrast {rule.name!r}"
        self.refuse_unknown(where, rule.compare, ("factor", "level", "reference"))
        if not isinstance(rule.compare.get("factor"), str):
            self.fail(f"{where} must name its factor.", rule.name)
        if "level" in rule.compare and "reference" not in rule.compare:
            self.fail(f"{where} has a level, so it must have a reference too.", rule.name)

    def fail(self, message: str, near: str) -> typing.NoReturn:
        raise ProtocolError(f"{self.path}{self.line(near)}: {message}")

    def line(self, near: str) -> str:
        """Line on which a key or value is first written, as ``:12``."""
        pattern = re.compile(rf"(?<![\w-]){re.escape(near)}(?![\w-])")
        for number, line in enumerate(self.text.splitlines(), start=1):
            if pattern.search(line):
                return f":{number}"
        return ""


def _fits(value: Any, hint: Any) -> bool:
    """Whether a TOML value is of an annotated type; whole numbers pass as decimals, booleans do not."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, argument) for argument in arguments)
    if origin is list:
        return isinstance(value, list) and all(_fits(each, arguments[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(each, arguments[1]) for each in value.values())
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def _digest(content: Section) -> str:
    judged = {name: section for name, section in content.items() if name != "deviation"}
    return hashlib.sha256(json.dumps(judged, sort_keys=True, default=str).encode()).hexdigest()
