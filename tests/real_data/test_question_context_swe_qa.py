"""SWE-QA's questions about requests: files that reference answers name, and those that BM25 finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.repositories.reading import read_repository

FILES, HITS = 47, 42
"""Reference answers that name a file of the tree, and those of which a chunk is found at least."""


def test_bm25_finds_files_that_reference_answers_name(
    shared_data: Callable[[str], Path], tmp_path: Path, workbench: Any
) -> None:
    archive = next(shared_data("repo-requests").glob("*.tar.gz"))
    tree = read_repository(str(archive), lambda _: True)
    assert sum(len(file.text) for file in tree.files) // 4 == 112_571
    path = tmp_path / "a.duckdb"
    assert workbench("import", path, shared_data("swe-qa") / "requests.jsonl").code == 0
    for cut in ("separators", "definitions"):
        told = workbench(
            *("retrieve", path, "--repositories", archive, "--retriever", "bm25", "--setting", cut),
            *("--cut", cut, "--json"),
        ).json()
        assert (told["items"], told["retrieved"], told["with_files"]) == (48, 48, FILES)
        assert told["hits"] >= HITS
