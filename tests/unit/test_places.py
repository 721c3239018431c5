"""Nothing that is written goes over the workspace, its journal, or the file that is being read."""

import json
import os
import subprocess
import sys

import pytest
from made_once import built_once

from store.errors import ExportFailed, ImportFailed
from store.export.exporting import export
from store.ingest.importing import import_files
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path

GOOD = {"id": "a", "query": "q", "code": "def f(): pass"}


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps({"id": "b", "query": 1}) + "\n")
    return path


@built_once
def stored(tmp_path):
    good = tmp_path / "good.jsonl"
    good.write_text(json.dumps(GOOD) + "\n")
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, [good])
    return workspace.path


@pytest.fixture
def workspace(stored):
    with Workspace.open(stored) as opened:
        yield opened


@pytest.mark.parametrize("name", ["workspace", "journal", "link"])
def test_an_export_never_replaces_the_workspace(workspace, tmp_path, name):
    target = {
        "workspace": workspace.path,
        "journal": journal_path(workspace.path),
        "link": tmp_path / "link.jsonl",
    }[name]
    if name == "link":
        target.symlink_to(workspace.path)
    with pytest.raises(ExportFailed, match="in use"):
        export(workspace, target, "jsonl", overwrite=True)
    workspace.close()
    Workspace.open(workspace.path).close()


@pytest.mark.parametrize("place", ["workspace", "input", "there"])
def test_rejects_never_replace_a_file(workspace, pairs, tmp_path, place):
    there = tmp_path / "there.jsonl"
    there.write_text("mine")
    target = {"workspace": workspace.path, "input": pairs, "there": there}[place]
    before = pairs.read_bytes(), there.read_bytes()
    with pytest.raises(ImportFailed):
        import_files(workspace, [pairs], rejects=target)
    assert (pairs.read_bytes(), there.read_bytes()) == before


def test_a_dry_run_writes_no_rejects(workspace, pairs, tmp_path):
    import_files(workspace, [pairs], rejects=tmp_path / "bad.jsonl", dry_run=True)
    assert not (tmp_path / "bad.jsonl").exists()


def test_a_pipe_is_refused_at_once(workspace, tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(ImportFailed, match="neither a file nor a folder"):
        import_files(workspace, [tmp_path / "pipe.jsonl"])


def test_a_deeply_nested_file_is_refused(workspace, tmp_path):
    deep = tmp_path / "deep.jsonl"
    deep.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(Exception, match=r"deep\.jsonl") as caught:
        import_files(workspace, [deep])
    assert not isinstance(caught.value, RecursionError)


def test_an_argument_that_is_not_utf8_is_refused(tmp_path, repository):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "workbench",
            "judge",
            str(tmp_path / "w.duckdb"),
            "a",
            "1",
            "--rater",
            b"\xff",
        ],
        capture_output=True,
        check=False,
        cwd=repository,
        timeout=60,
    )
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr


def test_an_export_replaces_files_alone(workspace, tmp_path):
    """As root a rename puts a file in the place of a device such as /dev/null, for every program."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ExportFailed, match="neither a file nor a folder"):
        export(workspace, tmp_path / "pipe", "jsonl", overwrite=True)
    assert (tmp_path / "pipe").is_fifo()


def test_an_export_through_a_link_writes_what_it_points_to(workspace, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "data" / "real.jsonl")
    report = export(workspace, tmp_path / "link.jsonl", "jsonl", overwrite=True)
    assert report.destination == str(tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "data" / "real.jsonl").read_text() != "old"
