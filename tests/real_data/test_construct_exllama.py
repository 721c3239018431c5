"""Tasks constructed of a published repository: the places of CrossCodeEval's own tasks are among them."""

from __future__ import annotations

import gzip
import json
import shutil
from typing import Any

import pytest

pytestmark = pytest.mark.full


def test_published_tasks_are_constructed_again(shared_data: Any, tmp_path: Any, workbench: Any) -> None:
    archive = shared_data("repo-exllama") / "exllama-a544085.tar.gz"
    with gzip.open(shared_data("crosscodeeval") / "python_sample.jsonl.gz", "rt", encoding="utf-8") as file:
        tasks = [json.loads(line) for line in file]
    published = {
        (task["metadata"]["file"], task["prompt"]): task
        for task in tasks
        if task["metadata"]["repository"] == "turboderp-exllama-a544085"
    }
    assert len(published) == 24
    study, out = tmp_path / "a.duckdb", tmp_path / "out.jsonl"
    construct = ("construct", study, archive, "--language", "python", "--preset", "crosscodeeval")
    told = workbench(*construct, "--cursor", "name", "--json").json()
    assert told["places"] >= 24
    repositories = tmp_path / "repositories"
    repositories.mkdir()
    shutil.copy(archive, repositories / "exllama-a544085.tar.gz")
    retrieve = ("retrieve", study, "--repositories", repositories, "--retriever", "bm25")
    found = workbench(*retrieve, "--setting", "rg1_bm25", "--json").json()
    assert found["retrieved"] == told["tasks"]
    workbench("export", study, out, "--format", "crosscodeeval", "--setting", "rg1_bm25")
    made = {}
    for task in map(json.loads, out.read_text().splitlines()):
        made[task["metadata"]["file"], task["prompt"]] = task
    equal = 0
    for key, task in published.items():
        own = made[key]
        for part in ("groundtruth", "right_context"):
            assert own[part] == task[part]
        for part in ("context_start_lineno", "groundtruth_start_lineno", "right_context_start_lineno"):
            assert own["metadata"][part] == task["metadata"][part]
        lists = [
            [(one["retrieved_chunk"], one["filename"]) for one in of["crossfile_context"]["list"]]
            for of in (own, task)
        ]
        equal += lists[0] == lists[1]
    # One list was published with other chunks.
    assert equal == 23
