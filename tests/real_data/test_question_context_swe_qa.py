"""SWE-QA's questions about requests: files that reference answers name, and those that BM25 finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback_models import LoopbackModels

from agents.repositories.reading import read_repository
from store.analysis.answers import DIMENSIONS

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


def test_all_are_answered_with_context_and_judged_twice(
    shared_data: Callable[[str], Path], tmp_path: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = next(shared_data("repo-requests").glob("*.tar.gz"))
    path = tmp_path / "a.duckdb"
    assert workbench("import", path, shared_data("swe-qa") / "requests.jsonl").code == 0
    retrieve = ("retrieve", path, "--repositories", archive, "--retriever", "bm25", "--setting", "bm25")
    assert workbench(*retrieve).code == 0

    def script(seen: Any, number: int) -> Any:
        if "response_format" not in seen.body:
            return f"In {number}."
        return {name: {"reason": "so", "score": 1 + number % 10} for name in DIMENSIONS}

    with LoopbackModels(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        for context in ("none", "bm25"):
            answer = ("answer", path, "--model", "openai:chat", "--trials", "1", "--setting", context)
            told = workbench(*answer, "--json").json()
            assert (told["state"], told["items"], told["requests"]) == ("done", 48, 48)
        told = workbench("judge-answers", path, "--model", "openai:judge", "--json").json()
        assert (told["state"], told["items"], told["requests"]) == ("done", 48, 2 * 96)
    found = workbench("report", path, "answers", "--json").json()
    rows = {one["context"]: one for one in found["scores"] if one["language"] is None}
    # Recomputed from the rows: the mean over questions of the mean of both scores.
    query = (
        "SELECT setting, avg(mean) AS mean FROM (SELECT item, setting, avg(value) AS mean FROM scores "
        "WHERE measure = 'accuracy' GROUP BY ALL) GROUP BY setting"
    )
    for row in workbench("sql", path, query, "--json").json()["rows"]:
        assert rows[row["setting"]]["n"] == 48
        assert rows[row["setting"]]["accuracy"] == pytest.approx(row["mean"])
