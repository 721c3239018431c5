"""Files that hold other files are refused as what they are."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

LINE = b'{"id": "1", "query": "q", "code": "c"}\n'


def tar() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        info = tarfile.TarInfo("pairs.jsonl")
        info.size = len(LINE)
        archive.addfile(info, io.BytesIO(LINE))
    return held.getvalue()


def zipped() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("pairs.jsonl", LINE)
    return held.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (tar(), "tar"),
        (gzip.compress(tar()), "tar"),
        (zipped(), "zip"),
        (bz2.compress(LINE), "bzip2"),
        (lzma.compress(LINE), "xz"),
    ],
    ids=("tar", "tar.gz", "zip", "bz2", "xz"),
)
def test_an_archive_is_called_one(workbench, in_folder, content, kind):
    (in_folder / "pairs.jsonl").write_bytes(content)
    error = workbench("import", "new.duckdb", "pairs.jsonl", "--json").json()["error"]
    assert f"pairs.jsonl is an archive ({kind})" in error["message"]
    assert "Unpack it" in error["hint"]
    (in_folder / "pairs.jsonl").write_bytes(gzip.compress(LINE))
    assert workbench("import", "new.duckdb", "pairs.jsonl").code == 0
