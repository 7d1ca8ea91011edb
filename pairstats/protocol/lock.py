"""Freezing a protocol before the data, and finding out afterwards whether it held."""

from __future__ import annotations

import glob
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pairstats._version import __version__
from pairstats.errors import ProtocolError, counted, listed
from pairstats.protocol.build import build_claim
from pairstats.protocol.meaning import meaning_diff
from pairstats.protocol.parse import digest_of, load_protocol
from pairstats.protocol.values import Protocol
from pairstats.verdicts import could_decide, decides_equal

PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "narwhals")
MUST_BE_WRITTEN = ("missing", "no_answer")
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Lock:
    """What was frozen, and when.

    Attributes
    ----------
    sha256 : str
        Digest of the registered content of the protocol.
    content : mapping
        That content itself, so that a change can be told in words.
    records : mapping of str to str
        Checksums of the record files that existed, by path from the protocol's folder.
    frozen_at : str
        UTC time of the machine that froze it: a claim, not a proof, without a timestamp token.
    git : str
        Commit of the repository, or "".
    packages : mapping of str to str
        Versions.
    warnings : tuple of str
        What could be known before the data: claims that the planned design cannot support.
    timestamp : mapping of str to str
        Name and checksum of a timestamp token that the user attached, or empty.
    """

    sha256: str
    content: Mapping[str, Any]
    records: Mapping[str, str]
    frozen_at: str
    git: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    timestamp: Mapping[str, str] = field(default_factory=dict)


def lock_path(protocol: str | Path) -> Path:
    """Where the lock of a protocol file lies: beside it."""
    return Path(protocol).with_suffix(".lock")


def freeze(path: str | Path, *, timestamp: str | Path | None = None) -> Lock:
    """Write the lock of a protocol beside it; the protocol itself is never changed.

    Parameters
    ----------
    path : str or Path
        The protocol file.
    timestamp : str or Path, optional
        A timestamp token (RFC 3161) of the lock's `sha256`, made elsewhere; its checksum is kept.

    Returns
    -------
    Lock

    Raises
    ------
    ProtocolError
        When a rule that must be declared is left to its default, or a lock is there already.
    """
    protocol = load_protocol(path)
    target = lock_path(path)
    _refuse_undeclared(protocol)
    if target.exists():
        held = read_lock(path)
        if held is not None and held.sha256 == protocol.digest and timestamp is not None:
            return _write(target, _stamped(held, timestamp))
        raise ProtocolError(
            f"{target} is there already, and a frozen protocol is not frozen twice. Declare a [[deviation]], or "
            "remove the lock by hand and say why."
        )
    lock = Lock(
        sha256=protocol.digest,
        content=_as_json(protocol.content),
        records=checksums(protocol),
        frozen_at=datetime.now(UTC).isoformat(timespec="seconds"),
        git=_commit(protocol.path.parent),
        packages={"pairstats": __version__, "python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in PACKAGES},
        warnings=tuple(foreseeable(protocol)),
    )
    return _write(target, lock if timestamp is None else _stamped(lock, timestamp))


def read_lock(path: str | Path) -> Lock | None:
    """Read the lock beside a protocol file; None where there is none.

    Raises
    ------
    ProtocolError
        When the file beside it is no lock.
    """
    target = lock_path(path)
    if not target.exists():
        return None
    try:
        content = json.loads(target.read_text(encoding="utf-8"))
        if content.pop("pairstats_lock") != FORMAT:
            raise ValueError("another version")
        return Lock(**{**content, "warnings": tuple(content["warnings"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProtocolError(f"{target} is no lock of pairstats, or was damaged: {error}.") from error


def broken(protocol: Protocol, lock: Lock) -> list[str]:
    """Say how a protocol or its records differ from the lock; empty where the lock holds.

    Record files that came after the freeze are no difference.
    """
    now = _as_json(protocol.content)
    found = [f"protocol changed since it was frozen: {line}" for line in meaning_diff(lock.content, now)]
    if lock.sha256 != protocol.digest and not found:
        found.append("protocol changed since it was frozen")
    if digest_of(lock.content) != lock.sha256:
        found.append("the lock itself was changed: its content does not fit its checksum")
    current = checksums(protocol)
    for name, digest in lock.records.items():
        if name not in current:
            found.append(f"record file {name} was there when the protocol was frozen, and is gone")
        elif current[name] != digest:
            found.append(f"record file {name} changed since the protocol was frozen")
    return found


def checksums(protocol: Protocol) -> dict[str, str]:
    """SHA-256 of every record file, item table and script that exists, by path from the protocol's folder."""
    folder = protocol.path.parent
    patterns = [p for s in protocol.sources for p in (*_listed(s.path), *_listed(s.items))]
    patterns += scripts_of(protocol)
    files = {file for pattern in patterns for file in _files(folder, pattern)}
    digests = {}
    for file in sorted(files):
        with file.open("rb") as stream:
            digests[_relative(file, folder)] = hashlib.file_digest(stream, "sha256").hexdigest()
    return digests


def seen_when_frozen(protocol: Protocol, lock: Lock) -> list[str]:
    """Record files that were there when the protocol was frozen: it may have been written after them."""
    folder = protocol.path.parent
    files = {
        _relative(file, folder)
        for source in protocol.sources
        for pattern in _listed(source.path)
        for file in _files(folder, pattern)
    }
    return sorted(files & lock.records.keys())


def scripts_of(protocol: Protocol) -> list[str]:
    """Python files that a protocol names, by path from its folder."""
    return [rule.file for rule in (protocol.scorer, protocol.script) if rule is not None]


def foreseeable(protocol: Protocol) -> list[str]:
    """Say which claims the planned number of families cannot support, whatever the data."""
    planned = protocol.design.expect.get("families")
    if planned is None:
        return ["the planned number of families is not declared (design.expect.families)"]
    if protocol.design.population == "these_cases":
        return []  # repeats are exchanged within each case: what they can show depends on the replies
    found, families = [], counted(planned, "family")
    for rule in protocol.contrasts:
        claim = build_claim(rule)
        if not could_decide(planned, claim):
            found.append(
                f"contrast {rule.name}: {families} cannot support a claim of {rule.claim}: not estimable"
            )
        elif claim.by_margin and not decides_equal(planned, claim):
            found.append(
                f"contrast {rule.name}: {families} establish {rule.claim} only where the first side is ahead, "
                "not where there is no difference"
            )
    return found


def _as_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """Content as a lock holds it: dates and the like as text."""
    return dict(json.loads(json.dumps(content, default=str)))


def undeclared(content: Mapping[str, Any]) -> str:
    """Say which rules a protocol leaves to their defaults, so that it cannot be frozen; empty where none."""
    design = content.get("design", {})
    absent = [name for name in MUST_BE_WRITTEN if name not in design]
    if not absent:
        return ""
    return f"A frozen protocol must declare {listed(absent)} in [design]; a default is not a declaration."


def _refuse_undeclared(protocol: Protocol) -> None:
    found = undeclared(protocol.content)
    if found:
        raise ProtocolError(found)
    unwritten = [name for name in scripts_of(protocol) if not (protocol.path.parent / name).is_file()]
    if unwritten:
        raise ProtocolError(
            f"A protocol is frozen with its scripts, but {listed(unwritten)} is not there. Write it first."
        )


def _stamped(lock: Lock, token: str | Path) -> Lock:
    file = Path(token)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return replace(lock, timestamp={"file": file.name, "sha256": digest})


def _write(target: Path, lock: Lock) -> Lock:
    content = {"pairstats_lock": FORMAT, **asdict(lock)}
    target.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return lock


def _commit(folder: Path) -> str:
    """Commit of the repository that holds the protocol, marked where files are changed; "" outside one."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _listed(value: str | Sequence[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _files(folder: Path, pattern: str) -> list[Path]:
    found = [Path(name) for name in sorted(glob.glob(str(folder / pattern), recursive=True))]
    inner = [p for each in found for p in (sorted(each.rglob("*")) if each.is_dir() else [each])]
    return [p for p in inner if p.is_file() and not p.name.startswith(".")]


def _relative(file: Path, folder: Path) -> str:
    return Path(os.path.relpath(file.resolve(), folder.resolve())).as_posix()
