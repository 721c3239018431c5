"""The most common command line is read without the library, and means the same as with it."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workbench.cli.program import program
from workbench.cli.quick_parse import parse_opening
from workbench.start import COMMANDS

PLAIN = [
    [],
    ["study.duckdb"],
    ["study.duckdb", "--rater", "ana"],
    ["--rater", "ana", "study.duckdb"],
    ["--rater=ana maria", "study.duckdb", "--start", "queue"],
    ["study.duckdb", "--config", "c.toml", "--start=resume"],
    ["study.duckdb", "--run", "full"],
    ["study.duckdb", "--repositories", "checkouts"],
    ["study.duckdb", "--study", "rq2"],
    ["study.duckdb", "--blind"],
    ["study.duckdb", "--rater", "ana", "--blind"],
    ["--config=c.toml"],
    ["dir/../study.duckdb"],
]
OTHER = [
    ["--help"],
    ["--version"],
    ["-V"],
    ["study.duckdb", "--start", "nowhere"],
    ["study.duckdb", "other.duckdb"],
    ["study.duckdb", "--rater"],
    ["study.duckdb", "--blind=yes"],
    ["study.duckdb", "--rater", "--start"],
    ["study.duckdb", "--rater", "a", "--rater", "b"],
    ["--", "study.duckdb"],
    ["study.duckdb", "--unknown"],
    ["-x"],
    [""],
    ["open", "study.duckdb"],
    *([name] for name in COMMANDS),
]


@pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
def test_what_is_read_plainly_means_the_same_to_the_library(arguments, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "workbench.cli.opening.open_app", lambda *first, **rest: opened.append((*first, *rest.values())) or 0
    )
    result = CliRunner().invoke(program, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert [parse_opening(arguments)] == opened


@pytest.mark.parametrize("arguments", OTHER, ids=" ".join)
def test_everything_else_is_left_to_the_library(arguments):
    assert parse_opening(arguments) is None


def test_a_start_imports_nothing_that_its_first_screen_does_not_need():
    code = (
        "import sys, workbench.cli.quick_parse, workbench.exit_codes, workbench.lazy_config, workbench.wiring, screens.app, "
        "screens.queue.screen, screens.home.screen, store.first_look, store.workspace.duckdb\n"
        "heavy = {'sqlalchemy', 'sqlmodel', 'pydantic', 'typer', 'numpy', 'pyarrow', 'pygments', 'openai', 'matplotlib'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True, cwd=Path.cwd()
    )
    assert done.stdout.strip() == "[]"
