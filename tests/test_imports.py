"""Arrows of the architecture that must never exist, and imports that must stay light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGE = ROOT / "pairstats"
HEAVY = ("scipy.stats", "statsmodels", "seaborn", "matplotlib")
ENGINES = ("polars", "duckdb", "dask", "pyspark")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path, *, top_level: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else list(ast.walk(tree))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def hits(names: set[str], targets: tuple[str, ...]) -> set[str]:
    return {name for name in names for target in targets if name == target or name.startswith(target + ".")}


def inside(path: Path, *parts: str) -> bool:
    return path.relative_to(PACKAGE).parts[: len(parts)] == parts or path == PACKAGE / f"{parts[0]}.py"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_forbidden_arrow(path: Path) -> None:
    names = imported(path)
    ours = {name for name in names if name == "pairstats" or name.startswith("pairstats.")}
    if inside(path, "numeric"):
        assert not hits(names, ("pandas", "pyarrow", "narwhals")), "numeric knows no frames"
        assert not {n for n in ours if not n.startswith(("pairstats.numeric", "pairstats.errors"))}
    statistics = tuple(
        f"pairstats.{n}" for n in ("numeric", "estimands", "infer", "pairs", "rows", "sums", "panel")
    )
    if inside(path, "readers"):
        assert not hits(names, statistics), "readers know no statistics"
    if path.stem in {"panel", "sums", "infer", "pairs", "rows", "intervals"} or inside(path, "estimands"):
        assert not hits(names, ("pairstats.readers",)), "statistics know no platform"
    if inside(path, "figures"):
        assert not hits(names, statistics), "figures never estimate"
    assert not hits(imported(path, top_level=True), HEAVY) or inside(path, "figures")
    assert not hits(names, ENGINES), "no engine package is imported by the core"
    if not (
        path.stem in {"panel", "sums", "conditions", "asking"}
        or inside(path, "estimands")
        or inside(path, "records", "file.py")
    ):
        assert not hits(names, ("narwhals",))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_global_randomness(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    for forbidden in ("np.random.seed", "np.random.rand(", "np.random.choice", "random.seed("):
        assert forbidden not in source


def test_importing_the_package_is_light() -> None:
    code = (
        f"import json, sys, pairstats; print(json.dumps([m for m in {HEAVY + ENGINES} if m in sys.modules]))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(loaded) == []


def test_help_imports_nothing_but_the_standard_library() -> None:
    code = (
        "import json, sys, pairstats.cli as cli; cli.build_parser().format_help();"
        "print(json.dumps([m for m in ('numpy', 'pandas', 'pyarrow', 'scipy', 'narwhals') if m in sys.modules]))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(loaded) == []


def test_every_public_name_is_there_and_is_listed() -> None:
    import pairstats as ps

    for name in ps.__all__:
        assert getattr(ps, name) is not None
    assert set(ps.__all__) <= set(dir(ps))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ps.nothing
