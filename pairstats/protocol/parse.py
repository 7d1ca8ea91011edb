"""From a TOML file to a protocol: every fault of it is found, each with its line."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairstats.arguments import checked
from pairstats.errors import ProtocolError, counted
from pairstats.protocol.faults import faults
from pairstats.protocol.places import Fault, line_of
from pairstats.protocol.tables import Section, Tables, read_tables
from pairstats.protocol.values import Exploratory, Protocol

NOT_REGISTERED = ("deviation", "exploratory", "power")
"""Sections that may change after a protocol is frozen."""


@dataclass(frozen=True, slots=True)
class ProtocolFile:
    """A protocol file as it was read, whether it can be run or not.

    Attributes
    ----------
    path : Path
    text : str
    content : mapping
        As parsed.
    tables : Tables
    faults : tuple of Fault
        Every way in which it contradicts itself.
    """

    path: Path
    text: str
    content: Section
    tables: Tables
    faults: tuple[Fault, ...]

    def told(self, found: Iterable[Fault]) -> list[str]:
        """Put faults as ``path:line: message``, in the order of the lines."""
        lines = [(line_of(self.text, fault.place), fault.message) for fault in dict.fromkeys(found)]
        lines.sort(key=lambda each: each[0] or 0)
        return [f"{self.path}{f':{line}' if line else ''}: {message}" for line, message in lines]

    def protocol(self) -> Protocol:
        """The protocol, where there is no fault.

        Raises
        ------
        ProtocolError
            With every fault, also as its ``findings``.
        """
        told = self.told(self.faults)
        if told:
            head = f"{self.path} must be a protocol that can be run, but has {counted(len(told), 'fault')}:\n"
            raise ProtocolError((head if len(told) > 1 else "") + "\n".join(told), told)
        return self._built()

    def _built(self) -> Protocol:
        registered = {name: part for name, part in self.content.items() if name not in NOT_REGISTERED}
        tables, head = self.tables, self.tables.value("protocol")
        return Protocol(
            path=self.path,
            name=head.name or self.path.resolve().parent.name,
            questions=head.questions,
            registered=head.registered,
            sources=tables.values("records.source"),
            answers=tables.value("answers"),
            scorer=tables.value("scorer"),
            script=tables.value("script"),
            design=tables.value("design"),
            interval=tables.value("interval"),
            estimands=tables.values("estimand"),
            contrasts=tables.values("contrast"),
            multiplicity=tables.value("multiplicity"),
            calibration=tables.value("calibration"),
            sensitivity=tables.values("sensitivity"),
            exploratory=Exploratory(
                tables.values("exploratory.estimand"), tables.values("exploratory.contrast")
            ),
            power=tables.value("power"),
            deviations=tables.values("deviation"),
            content=registered,
            digest=digest_of(registered),
        )


@checked
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
        When the file is absent or no TOML, has unknown keys, wrong types or words, names what it does not
        define, or asks what cannot be run, whatever the records hold. The message lists every fault with its
        line.
    """
    return read_protocol(path).protocol()


def read_protocol(path: str | Path) -> ProtocolFile:
    """Read a protocol file and find its faults.

    Raises
    ------
    ProtocolError
        When the file is absent or no TOML.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise ProtocolError(f"There is no protocol file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, IsADirectoryError) as error:
        found = re.search(r"at line (\d+)", str(error))
        line = f":{found[1]}" if found else ""
        raise ProtocolError(f"{path}{line} is not a TOML file: {error}.") from error
    tables = read_tables(content)
    return ProtocolFile(path, text, content, tables, tuple(faults(tables)))


def digest_of(content: Mapping[str, Any]) -> str:
    """Digest of parsed content, whatever its order, white space and comments."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
