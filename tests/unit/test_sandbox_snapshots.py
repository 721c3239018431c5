"""Snapshots as folders: what a repair's archive may hold, and what is left when it may not."""

import io
import os
import tarfile
from datetime import UTC, datetime, timedelta

import pytest

from agents.sandbox.bubblewrap.snapshots import SnapshotFolder
from agents.sandbox.errors import SandboxError

MOST = 10_000


def archive(*entries):
    """A tar file of (name, content) and (name, type, link)."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as packed:
        for name, *what in entries:
            entry = tarfile.TarInfo(name)
            entry.mode = 0o4777
            data = what[0] if len(what) == 1 else b""
            if len(what) == 2:
                entry.type, entry.linkname = what
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))
    return content


def test_files_folders_and_links_are_kept_without_further_rights(tmp_path):
    kept = SnapshotFolder(str(tmp_path / "kept"))
    whole = archive(
        (".", tarfile.DIRTYPE, ""),
        ("lib", tarfile.DIRTYPE, ""),
        ("lib/a.py", b"x = 1\n"),
        ("python", tarfile.SYMTYPE, "/opt/py/bin/python3"),
        ("null", tarfile.CHRTYPE, ""),
    )
    kept.store("one", whole, MOST)
    kept.store("one", archive(("other", b"")), MOST)  # by another workbench, which was later
    folder = kept.find("one")
    assert sorted(os.listdir(folder)) == ["lib", "python"]
    assert (folder / "lib" / "a.py").read_text() == "x = 1\n"
    assert oct((folder / "lib" / "a.py").stat().st_mode)[-4:] == "0755"
    assert os.readlink(folder / "python") == "/opt/py/bin/python3"
    assert os.listdir(tmp_path / "kept") == ["one"]
    assert kept.find("two") is None


@pytest.mark.parametrize(
    "entries",
    [
        [("../out", b"x")],
        [("/out", b"x")],
        [("link", tarfile.SYMTYPE, ".."), ("link/out", b"x")],
        [("link", tarfile.SYMTYPE, "/"), ("link/out", b"x")],
        [("link", tarfile.SYMTYPE, "../out"), ("link", b"x")],
        [("large", bytes(MOST + 1))],
    ],
)
def test_what_leads_out_or_is_too_large_is_refused_and_nothing_is_left(tmp_path, entries):
    kept = SnapshotFolder(str(tmp_path / "kept"))
    with pytest.raises(SandboxError):
        kept.store("one", archive(*entries), MOST)
    assert [*(tmp_path / "kept").iterdir()] == []
    assert sorted(os.listdir(tmp_path)) == ["kept"]


def test_a_damaged_archive_is_refused(tmp_path):
    with pytest.raises(SandboxError, match="could not be kept"):
        SnapshotFolder(str(tmp_path)).store("one", io.BytesIO(b"nonsense" * 100), MOST)


def test_what_is_kept_is_listed_with_its_size_and_removed_by_name(tmp_path):
    kept = SnapshotFolder(str(tmp_path / "kept"))
    assert kept.stored() == []
    kept.remove("0" * 64)
    one, other = "a" * 64, "b" * 64
    for name in (one, other):
        kept.store(name, archive(("lib", tarfile.DIRTYPE, ""), ("lib/a.py", b"x" * 500)), MOST)
    (tmp_path / "kept" / ".unfinished").mkdir()
    (tmp_path / "kept" / "something of another's").mkdir()
    listed = {each.name: each for each in kept.stored()}
    assert listed.keys() == {one, other}
    assert 500 <= listed[one].bytes < 20_000
    assert timedelta(0) <= datetime.now(UTC) - listed[one].made_at < timedelta(minutes=5)
    kept.remove(one)
    assert [each.name for each in kept.stored()] == [other]
    assert sorted(os.listdir(tmp_path / "kept")) == [".unfinished", other, "something of another's"]
