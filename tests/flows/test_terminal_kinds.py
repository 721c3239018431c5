"""From import to export in a real terminal: completions and questions imported, judged by keys, exported, imported again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from entry_bench import ANSWERS, MODELS, PREDICTIONS, QUESTIONS, TASKS
from kinds import json_lines, kept
from tmux_terminal import TmuxTerminal

from store.workspace.duckdb import Workspace

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

WORKBENCH = [sys.executable, "-m", "workbench"]


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [*WORKBENCH, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_judge_undo_export_and_import_again(tmp_path: Path) -> None:
    files = [
        json_lines(tmp_path / "tasks.jsonl", TASKS[:1]),
        json_lines(tmp_path / "predictions.jsonl", PREDICTIONS[:3]),
        json_lines(tmp_path / "questions.jsonl", QUESTIONS[:1]),
        json_lines(tmp_path / "answers.jsonl", ANSWERS),
    ]
    first, second, exported = (tmp_path / name for name in ("first.duckdb", "second.duckdb", "out.jsonl"))
    run("import", first, *files)
    config = tmp_path / "config.toml"
    config.touch()
    terminal = TmuxTerminal(
        [*WORKBENCH, str(first), "--rater", "dana"], env={"WORKBENCH_CONFIG": str(config)}
    )
    try:
        terminal.wait_for("rater: dana")
        terminal.settle()
        terminal.press("Tab")
        terminal.wait_for("all items")
        terminal.settle()
        terminal.press("Enter")
        terminal.wait_for("return make.▮thing_1(value)")
        terminal.press_at_item("a", "2 of 3 · Could you write")
        terminal.press_at_item("b", "3 of 3 · Keep this example")
        terminal.press_at_item("c", "1 of 8 · answer A")
        terminal.press_at_item("a", "2 of 8 · answer A · Completeness")
        terminal.press_at_item("3", "overrides ◆")
        terminal.press_at_item("h", "Reason: judge relies on reference only")
        terminal.press_at_item("0", "4 of 8 · answer A · Clarity")
        terminal.press_at_item("u", "Undone: relevance of answer A: 10")
        terminal.press_at_item("f", "⚑ flagged")
        terminal.press("C-q")
        terminal.wait_for("ended with 0")
    finally:
        terminal.close()
    run("export", first, exported, "--format", "jsonl")
    run("import", second, *files)
    run("import", second, exported)
    with Workspace.open(first) as one, Workspace.open(second) as other:
        before, after = kept(one), kept(other)
    assert after == before
    judged = {
        name for row in before["judgment"] for name in row if str(name).startswith(("answer.", "completion."))
    }
    assert judged == {
        *(f"completion.{word}" for word in ("cross_file", "predictable", "keep")),
        *(f"answer.{word}@{MODELS[0]}[retrieval]" for word in ("accuracy", "completeness", "relevance")),
    }
    # The reason and what was taken back are judgments, too.
    assert len(before["judgment"]) == len(judged) + 2
    assert [row for row in before["mark"] if "flag" in row]
