"""Where run files may lie: zip archives, compressed files, and addresses of any file system."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import ROOT, SHARED, needs_shared

import pairstats as ps
from pairstats import cli
from pairstats.errors import ReadError
from pairstats.readers import remote, store, unpacked, zipped
from pairstats.readers.base import LARGEST_WHOLE

RAW = ROOT / "records/rule_conflicts/raw"
OWN = SHARED / "samples/own"
INSPECT: Any = {
    "model": "eval.metadata.system", "family": "metadata.family_id", "variant": "metadata.variant",
    "score": "letter_match",
}  # fmt: skip
LINES = '{"item": "q1", "model": "m", "score": 1}\n{"item": "q2", "model": "m", "score": 0}\n'


def zipped_up(path: Path, files: dict[str, bytes | str], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", **{"compression": zipfile.ZIP_DEFLATED, **options}) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def rows(records: ps.Records) -> list[dict[str, Any]]:
    kept = [{k: v for k, v in row.items() if k != "source"} for row in records.table.to_pylist()]
    return sorted(kept, key=lambda row: (row["model"], row["item"], row["repeat"]))


def tree(folder: Path) -> dict[str, bytes | str]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


# Archives


def test_zip_of_inspect_logs_reads_as_their_folder(tmp_path: Path) -> None:
    archive = zipped_up(tmp_path / "logs.zip", {f"a/{name}": c for name, c in tree(RAW / "inspect").items()})
    found, plain = ps.read_runs(archive, **INSPECT), ps.read_runs(RAW / "inspect", **INSPECT)
    assert rows(found) == rows(plain)
    assert found.ledger["file"].str.startswith("logs.zip/a/").all()
    assert found.ledger["sha256"].tolist() == plain.ledger["sha256"].tolist()


@needs_shared
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip_of_many_platforms_keeps_neighbours_together(tmp_path: Path, compression: int) -> None:
    """lm_eval takes model and task from the results file beside the samples."""
    files = tree(OWN / "lm_eval/smollm2-terse-t0")
    archive = zipped_up(tmp_path / "l.zip", {**files, "readme.md": "# hm", "__MACOSX/x": "", ".DS_Store": "x"},
                        compression=compression)  # fmt: skip
    options: Any = {"filter": "strict-letter", "family": "doc.family_id", "variant": "doc.variant"}
    found = ps.read_runs(archive, **options)
    assert rows(found) == rows(ps.read_runs(OWN / "lm_eval/smollm2-terse-t0", **options))
    assert found.frame["model"].unique().tolist() == ["smollm2-terse-t0"]
    assert found.ledger["file"].tolist()[0] == "l.zip/readme.md"
    assert found.ledger["note"][0].startswith("not recognized")


@needs_shared
def test_zip_in_a_folder_of_kaggle_runs(tmp_path: Path) -> None:
    zipped_up(tmp_path / "kaggle.zip", tree(OWN / "kaggle_benchmarks"))
    frame = ps.read_runs(
        tmp_path, family=ps.extract("item", r"^(\w+)-"), variant=ps.extract("item", r"-(\w+)$")
    ).frame
    assert (len(frame), (frame["status"] == "error").sum()) == (62, 8)


def test_compressed_members_and_named_models(tmp_path: Path) -> None:
    archive = zipped_up(
        tmp_path / "r.zip", {"a.jsonl.gz": gzip.compress(LINES.replace('"model": "m", ', "").encode())}
    )
    assert ps.read_runs({"x": archive}, family="item").frame["model"].tolist() == ["x", "x"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_inspect_log_and_packed_zip(tmp_path: Path, pack: Any) -> None:
    log = next((RAW / "inspect").glob("*.eval"))
    ending = ".gz" if pack is gzip.compress else ".zst"
    path = tmp_path / (log.name + ending)
    path.write_bytes(pack(log.read_bytes()))
    found = ps.read_runs(path, **INSPECT)
    assert rows(found) == rows(ps.read_runs(log, **INSPECT))
    assert found.ledger["file"].tolist() == [path.name]
    archive = zipped_up(tmp_path / "a.zip", {"a.jsonl": LINES})
    twice = tmp_path / f"b.zip{ending}"
    twice.write_bytes(pack(archive.read_bytes()))
    assert len(ps.read_runs(twice, family="item")) == 2


def test_workbook_and_npz_are_no_archives_of_run_files(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in (["item", "model", "score"], ["q", "m", 1]):
        book.active.append(line)
    book.save(tmp_path / "r.xlsx")
    assert len(ps.read_runs(tmp_path / "r.xlsx", family="item")) == 1


def test_archive_of_nothing_is_noted_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    zipped_up(tmp_path / "b.zip", {"sub/": "", ".hidden": "x"})
    ledger = ps.read_runs(tmp_path, family="item").ledger
    assert ledger["note"].tolist()[1] == "not read (an archive without files)"


def test_changed_archive_is_unpacked_again(tmp_path: Path) -> None:
    path = zipped_up(tmp_path / "a.zip", {"a.jsonl": LINES})
    assert len(ps.read_runs(path, family="item")) == 2
    zipped_up(path, {"a.jsonl": LINES + LINES.replace("q", "r")})
    assert len(ps.read_runs(path, family="item")) == 4


HOSTILE = [
    "../evil.jsonl",
    "/etc/evil.jsonl",
    "a/../../evil.jsonl",
    "..\\evil.jsonl",
    "C:\\evil.jsonl",
    "x" * 300,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_members_that_leave_the_archive_are_refused(tmp_path: Path, name: str) -> None:
    path = zipped_up(tmp_path / "a.zip", {"good.jsonl": LINES, name: LINES})
    with pytest.raises(ReadError, match=r"a\.zip must hold files within itself, but names"):
        ps.read_runs(path, family="item")
    assert not list(tmp_path.parent.rglob("evil*"))
    assert not list(store.folder().rglob("*evil*"))
    (tmp_path / "b.jsonl").write_text(LINES)
    records = ps.read_runs(tmp_path, family="item", keep_going=True)
    assert len(records) == 2
    assert records.left_out["source"].tolist() == ["a.zip"]


def test_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.jsonl", "w", force_zip64=True) as out,
    ):
        for _ in range(1024):
            out.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 21
    before = sum(file.stat().st_size for file in store.folder().rglob("*") if file.is_file())
    with pytest.raises(
        ReadError, match=r"bomb\.zip/a\.jsonl must be a log, but would unpack from \d+ KiB to 1024 MiB"
    ):
        ps.read_runs(path, family="item")
    assert sum(file.stat().st_size for file in store.folder().rglob("*") if file.is_file()) == before


def test_bomb_as_a_sample_of_an_inspect_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.eval"
    head = {
        "version": 2,
        "status": "success",
        "eval": {"model": "m", "task": "t", "packages": {"inspect_ai": "1"}},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(head))
        with archive.open("samples/q_epoch_1.json", "w", force_zip64=True) as out:
            for _ in range(64):
                out.write(b" " * (1 << 20))
    with pytest.raises(ReadError, match=r"q_epoch_1\.json must be a log, but would unpack"):
        ps.read_runs(path, family="item")


def test_member_that_is_larger_than_it_says_is_damaged(tmp_path: Path) -> None:
    path = zipped_up(tmp_path / "a.zip", {"a.jsonl": LINES * 50})
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02") + 24  # the size in the central directory
    content[place : place + 4] = (10).to_bytes(4, "little")
    path.write_bytes(bytes(content))
    with pytest.raises(ReadError, match="checksum does not fit"):
        ps.read_runs(path, family="item")


def test_limits_of_number_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped_up(tmp_path / "a.zip", {f"{n}.jsonl": LINES for n in range(5)})
    monkeypatch.setattr(unpacked, "MOST_MEMBERS", 4)
    with pytest.raises(ReadError, match="at most 4 files, but lists 5"):
        ps.read_runs(path, family="item")
    monkeypatch.setattr(unpacked, "MOST_MEMBERS", 5)
    monkeypatch.setattr(unpacked, "MOST_UNPACKED", 100)
    with pytest.raises(ReadError, match=r"a\.zip would unpack to more than"):
        ps.read_runs(path, family="item")


def test_encrypted_member_is_named(tmp_path: Path) -> None:
    path = zipped_up(tmp_path / "a.zip", {"a.jsonl": LINES})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ReadError, match="is encrypted"):
        ps.read_runs(path, family="item")


def test_document_larger_than_can_be_parsed_says_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairstats.readers.base.LARGEST_WHOLE", 1000)
    path = tmp_path / "o.json"
    path.write_text(json.dumps({"date": "", "hash": "", "eval": {"x" * 2000: []}}))
    with pytest.raises(
        ReadError, match=r"o\.json is read as a whole, which can be done up to 0 MiB, but is larger"
    ):
        ps.read_runs(path, family="item")


def test_store_is_removed_when_the_process_ends(tmp_path: Path) -> None:
    archive = zipped_up(tmp_path / "a.zip", {"a.jsonl": LINES})
    code = (
        "import pairstats as ps; from pairstats.readers import store\n"
        f"ps.read_runs({str(archive)!r}, family='item'); print(store.folder())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not Path(done.stdout.strip()).exists()


# Addresses


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for name in ("a.jsonl", "runs/b.jsonl", "runs/deep/c.jsonl", "runs/.hidden"):
        system.pipe(f"/bucket/{name}", LINES.replace("q", name[-7]).encode())
    yield system
    system.rm("/bucket", recursive=True)


@pytest.mark.parametrize(
    ("address", "files"),
    [
        ("memory://bucket/a.jsonl", ["a.jsonl"]),
        ("memory://bucket/runs", ["b.jsonl", "deep/c.jsonl"]),
        ("memory://bucket/runs/", ["b.jsonl", "deep/c.jsonl"]),
        ("memory://bucket/runs/*.jsonl", ["b.jsonl"]),
        ("memory://bucket/**/*.jsonl", ["a.jsonl", "runs/b.jsonl", "runs/deep/c.jsonl"]),
    ],
)
def test_file_folder_and_pattern_at_an_address(memory: Any, address: str, files: list[str]) -> None:
    records = ps.read_runs(address, family="item")
    assert records.ledger["file"].tolist() == files
    assert len(records) == 2 * len(files)
    assert not records.frame["source"].str.contains("pairstats-|tmp").any()


def test_addresses_and_local_files_together(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(LINES)
    records = ps.read_runs(
        ["memory://bucket/a.jsonl", "memory://bucket/runs/b.jsonl", str(tmp_path / "d.jsonl")], family="item"
    )
    assert records.ledger["file"].tolist() == ["a.jsonl", "runs/b.jsonl", "d.jsonl"]
    frame = ps.read_runs(
        {"x": "memory://bucket/a.jsonl"}, family="item", items="memory://bucket/a.jsonl"
    ).frame
    assert frame["model"].tolist() == ["x", "x"]


def test_zip_at_an_address_and_an_address_in_a_zip(memory: Any, tmp_path: Path) -> None:
    archive = zipped_up(tmp_path / "r.zip", {"in/a.jsonl": LINES})
    memory.pipe("/bucket/r.zip", archive.read_bytes())
    assert ps.read_runs("memory://bucket/r.zip", family="item").ledger["file"].tolist() == [
        "r.zip/in/a.jsonl"
    ]
    inside = ps.read_runs(f"zip://in/a.jsonl::{archive}", family="item")
    assert inside.ledger["file"].tolist() == ["a.jsonl"]
    assert len(ps.read_runs("zip://in/*.jsonl::memory://bucket/r.zip", family="item")) == 2


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://bucket/none.jsonl", "must be a file, a folder or a pattern, but there is none"),
        ("memory://bucket/none*.jsonl", "must fit run files, but fits none"),
        ("nosuch://bucket/a.jsonl", "must be an address that fsspec knows"),
    ],
)
def test_what_is_not_there_is_said(memory: Any, address: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        ps.read_runs(address, family="item")


def test_errors_of_a_file_system_are_ours_and_hold_no_secret(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("403 for https://me:hunter2@host/a.jsonl?sig=hunter2")

    monkeypatch.setattr(type(memory), "get_file", fail)
    with pytest.raises(ReadError, match="cannot be fetched: RuntimeError: 403") as raised:
        ps.read_runs("memory://bucket/a.jsonl", family="item")
    assert "hunter2" not in str(raised.value)
    assert remote.shown("https://me:hunter2@host/a.jsonl?sig=hunter2") == "https://host/a.jsonl"


def test_without_fsspec_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        ReadError, match=r"the package fsspec must be installed.*pip install 'pairstats\[remote\]'"
    ):
        ps.read_runs("s3://bucket/a.jsonl", family="item")


def test_names_that_leave_their_folder_are_refused(memory: Any) -> None:
    memory.pipe("/bucket/x.zip", zip_bytes({"../../evil.jsonl": LINES}))
    with pytest.raises(ReadError):
        ps.read_runs("zip://**::memory://bucket/x.zip", family="item")


def zip_bytes(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_command_line_takes_addresses(
    memory: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.parquet"
    words = [
        "normalize",
        "x=memory://bucket/a.jsonl",
        "y=memory://bucket/runs/b.jsonl",
        "--family",
        "item",
        "-o",
        str(out),
    ]
    assert cli.main(words) == 0
    assert ps.load_records(out).frame["model"].unique().tolist() == ["x", "y"]
    assert cli.main(["normalize", "memory://bucket/a.jsonl?x=1", "--family", "item"]) == 2
    assert "'memory://bucket/a.jsonl' must" in capsys.readouterr().err


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


def test_file_of_a_web_server(server: str, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "a.jsonl").write_text(LINES)
    records = ps.read_runs(f"{server}/a.jsonl?sig=hunter2", family="item")
    assert records.ledger["file"].tolist() == ["a.jsonl"]
    assert "hunter2" not in str(records.table.to_pylist()) + str(records.ledger.values)


def test_ratio_lets_a_small_regular_file_through(tmp_path: Path) -> None:
    line = LINES.splitlines()[0]
    many = "".join(line.replace("q1", f"q{n}") + "\n" for n in range(20_000))
    path = zipped_up(tmp_path / "a.zip", {"a.jsonl": many})
    assert len(many) > 10 * path.stat().st_size
    assert len(ps.read_runs(path, family="item")) == 20_000
    assert zipped.SMALL < LARGEST_WHOLE


def test_logs_whose_names_begin_with_a_dot_are_read_from_folders_and_zips(tmp_path: Path) -> None:
    """aider and DeepEval write such; what else begins with a dot is none."""
    folder, about = (
        tmp_path / "runs",
        {"model": "gpt", "tests_outcomes": [True], "cost": 0.1, "duration": 1.0},
    )
    for test in ("bowling", "poker"):
        place = folder / "go" / "exercises" / "practice" / test
        place.mkdir(parents=True)
        (place / ".aider.results.json").write_text(json.dumps({"testcase": test, **about}))
        (place / ".hidden.csv").write_text("item,model,score\nq,m,1\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "a.csv").write_text("item,model,score\nq,m,1\n")
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, file.relative_to(folder))
    for path in (folder, tmp_path / "runs.zip"):
        found = ps.read_runs(path, family="item", score="pass_1")
        assert sorted(found.frame["item"]) == ["go/bowling", "go/poker"]
        assert len(found.ledger) == 2


def test_an_exercise_of_aider_that_failed_is_an_error_of_its_run(tmp_path: Path) -> None:
    passed = {"testcase": "a", "model": "gpt", "tests_outcomes": [True], "cost": 0.1, "duration": 1.0}
    for name, content in (("a", passed), ("b", {"exception": "litellm.RateLimitError: 429"})):
        place = tmp_path / "run" / "go" / "exercises" / "practice" / name
        place.mkdir(parents=True)
        (place / ".aider.results.json").write_text(json.dumps(content))
    frame = ps.read_runs(tmp_path, family="item", score="pass_1").frame
    assert frame[["item", "model", "status"]].values.tolist() == [
        ["go/a", "gpt", "answered"], ["go/b", "gpt", "error"],
    ]  # fmt: skip
    assert frame["reason"].tolist()[1] == "rate_limit"
    assert frame["score"].isna().tolist() == [False, True]
