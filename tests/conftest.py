"""Where the shared reference material lies, and the tests that need it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
"""Reference values and sample logs beside the project; absent in a plain checkout."""

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the shared reference folder is not beside this checkout"
)


READ: set[tuple[str, str]] = set()
"""Topic and name of every reference vector that a test module asked for, for `test_reference`."""


def reference(topic: str, *prefixes: str) -> list[Any]:
    """Reference vectors of one topic as pytest parameters, or one skipped parameter without the folder."""
    path = SHARED / "reference" / f"{topic}.json"
    if not path.is_file():
        return [pytest.param(None, marks=needs_shared, id=f"{topic}-absent")]
    vectors = json.loads(path.read_text())
    chosen = [v for v in vectors if not prefixes or v["name"].startswith(prefixes)]
    assert chosen, f"no reference vector of {topic} starts with {prefixes}"
    READ.update((topic, v["name"]) for v in chosen)
    return [pytest.param(v, id=v["name"]) for v in chosen]


# The same examples each time; `pytest --hypothesis-profile search` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("same")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names of tests that each worker gives alike: bytes hold the second they were packed in, long text is cut."""
    if isinstance(val, bytes):
        return argname
    return val[:60] if isinstance(val, str) and len(val) > 60 else None
