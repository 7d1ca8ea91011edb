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
from pairstats.protocol.faults import faults
from pairstats.protocol.power_rule import PowerRule
from pairstats.protocol.values import (
    Answers,
    Calibration,
    ContrastRule,
    Design,
    Deviation,
    EstimandRule,
    Exploratory,
    IntervalRule,
    Multiplicity,
    Protocol,
    Sensitivity,
    Source,
)

Section = Mapping[str, Any]

NOT_REGISTERED = ("deviation", "exploratory", "power")
"""Sections that may change after a protocol is frozen."""


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
                    "multiplicity", "calibration", "sensitivity", "exploratory", "power", "deviation")  # fmt: skip
        self.refuse_unknown("the file", content, sections)
        head, records = content.get("protocol", {}), content.get("records", {})
        beside = content.get("exploratory", {})
        self.refuse_unknown("[protocol]", head, ("name", "registered", "questions"))
        self.refuse_unknown("[records]", records, ("source",))
        self.refuse_unknown("[exploratory]", beside, ("estimand", "contrast"))
        registered = {name: part for name, part in content.items() if name not in NOT_REGISTERED}
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
            sensitivity=self.several(Sensitivity, "sensitivity", content.get("sensitivity", [])),
            exploratory=Exploratory(
                self.several(EstimandRule, "exploratory.estimand", beside.get("estimand", [])),
                self.several(ContrastRule, "exploratory.contrast", beside.get("contrast", [])),
            ),
            power=self.power(content.get("power")),
            deviations=self.several(Deviation, "deviation", content.get("deviation", [])),
            content=registered,
            digest=digest_of(registered),
        )
        for fault in faults(protocol):
            self.fail(fault.message, fault.near)
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

    def power(self, table: Any) -> PowerRule | None:
        """Assumptions for the power simulation, with the line of their section in a message."""
        try:
            rule: PowerRule | None = self.one(PowerRule, "power", table)
        except ProtocolError as error:
            if str(error).startswith(str(self.path)):
                raise
            self.fail(str(error), "power")
        return rule

    def refuse_unknown(self, where: str, table: Any, known: Sequence[str]) -> None:
        if not isinstance(table, dict):
            self.fail(f"{where} must be a table.", where.strip("[]"))
        unknown = [key for key in table if key not in known]
        if unknown:
            self.fail(
                f"{where} has the unknown key {listed(unknown)}; it may have {', '.join(known)}.", unknown[0]
            )

    def fail(self, message: str, near: str) -> typing.NoReturn:
        raise ProtocolError(f"{self.path}{self.line(near)}: {message}")

    def line(self, near: str) -> str:
        """Line on which a name is given, or else a key or value first written, as ``:12``."""
        word = re.escape(near)
        for pattern in (rf"^\s*name\s*=\s*[\"']{word}[\"']", rf"(?<![\w-]){word}(?![\w-])"):
            for number, line in enumerate(self.text.splitlines(), start=1):
                if re.search(pattern, line):
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


def digest_of(content: Section) -> str:
    """Digest of parsed content, whatever its order, white space and comments."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
