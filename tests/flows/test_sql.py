"""SQL in the app: completion, rows, history, export, errors, and a statement that is stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apps import app_of
from review_bench import bench, screen_text
from settling import left_alone, settled, until
from small_workspace import label, recorded
from textual.widgets import DataTable, Input

from screens.sql.completion import common_start, completions
from screens.sql.screen import SqlScreen
from store.record.raters import ensure_rater
from store.record.session import load_session

KEYS = {" ": "space", "=": "equals_sign"}
COLUMNS = {"items": ("item", "number", "label"), "labels": ("item", "value", "reason"), "raters": ("name",)}


def test_completion_offers_what_fits_the_place() -> None:
    assert completions("SELECT it", "", COLUMNS) == ["items", "item"]
    assert completions("SELECT * FROM la", "", COLUMNS) == ["labels"]
    # The columns of the views that are named come first; others are not offered then.
    assert completions("SELECT r", " FROM labels", COLUMNS) == ["reason", "raters"]
    assert completions("FROM labels WHERE VAL", "", COLUMNS) == ["value"]
    assert completions("sel", "", COLUMNS) == ["SELECT"]
    assert completions("SELECT item", "", COLUMNS) == ["items"]
    assert completions("SELECT * ", "", COLUMNS) == []
    assert common_start(["items", "item"], "it") == "item"
    assert common_start(["raters", "reason"], "r") == "r"


@pytest.mark.asyncio
async def test_statements_from_the_prompt_to_a_file(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        dana = ensure_rater(workspace, "dana")
        recorded(workspace, dana, label(workspace, dana, 1, 1.0))
        app = app_of(workspace)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press("S")
            assert "SELECT from these views" in screen_text(app)
            screen = app.screen
            assert isinstance(screen, SqlScreen)
            prompt, table = screen.query_one("#statement", Input), screen.query_one(DataTable)

            for part in ("from la", "where va", "= 1"):
                await pilot.press(*(KEYS.get(letter, letter) for letter in part))
                await pilot.press("tab" if part != "= 1" else "enter")
            await settled(pilot.app)
            assert "1 row · " in screen_text(app)
            assert prompt.value == "from labels where value = 1"
            assert table.row_count == 1

            # An error leaves the rows and the statement as they are.
            prompt.value = "FROM itms"
            await pilot.press("enter")
            assert "! Unknown view" in screen_text(app)
            assert "Did you mean items" in screen_text(app)
            assert (prompt.value, table.row_count) == ("FROM itms", 1)

            # A date that Python has not.
            prompt.value = "SELECT 'infinity'::DATE AS day"
            await pilot.press("enter")
            assert screen.running is None
            assert table.row_count == 1
            await pilot.press("tab")
            assert "day: infinity" in screen_text(app)
            prompt.focus()

            prompt.value = "SELECT range AS n, 'row ' || range AS text FROM range(3000)"
            await pilot.press("enter")
            assert "The first 1,000 rows" in screen_text(app)
            await pilot.press("tab", "down", "right")
            assert "text: row 1" in screen_text(app)

            # The export holds all rows, and replaces nothing.
            target = tmp_path / "rows.jsonl"
            target.write_text("kept", encoding="utf-8")
            await pilot.press("ctrl+s")
            file = screen.query_one("#file", Input)
            file.value = str(target)
            await pilot.press("enter")
            assert "! File exists" in screen_text(app)
            assert target.read_text(encoding="utf-8") == "kept"
            for suffix in (".txt", ".parquet", ".csv", ".json"):
                file.value = str(tmp_path / f"rows{suffix}")
                file.display = True
                file.focus()
                await pilot.press("enter")
                expected = "! Unknown format" if suffix == ".txt" else "3,000 rows written"
                await until(pilot, lambda words=expected: words in screen_text(app))
                screen._say("")
            rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
            assert (len(rows), rows[-1]) == (3000, {"n": 2999, "text": "row 2999"})
            assert (tmp_path / "rows.csv").read_text(encoding="utf-8").startswith("n,text\n0,row 0\n")
            assert (tmp_path / "rows.parquet").read_bytes()[:4] == b"PAR1"

            # What does not end is stopped by a key; the statement before comes back.
            prompt.focus()
            prompt.value = "SELECT count(*) FROM range(1000000000000000000)"
            with left_alone("sql"):
                await pilot.press("enter")
                assert screen.running is not None
                await pilot.press("ctrl+c")
            await settled(pilot.app)
            assert "! Stopped" in screen_text(app)
            assert screen.running is None
            await pilot.press("up", "up")
            assert prompt.value == "SELECT range AS n, 'row ' || range AS text FROM range(3000)"
            await pilot.press("up", "up", "up", "down")
            assert prompt.value == "FROM itms"

            # Two columns are drawn; of more it is said what a chart needs.
            prompt.focus()
            prompt.value = "SELECT 'row ' || range AS text, range AS n FROM range(3)"
            await pilot.press("enter")
            assert "3 rows" in screen_text(app)
            await pilot.press("ctrl+s")
            file.value = str(tmp_path / "rows.svg")
            await pilot.press("enter")
            await until(pilot, lambda: "3 rows written" in screen_text(app))
            assert "row 2" in (tmp_path / "rows.svg").read_text(encoding="utf-8")
            prompt.focus()
            await pilot.press("escape")
            assert app.screen is not screen
            workspace.lane.drain(10)
        kept = load_session(workspace, dana.id, "sql")["history"]
        assert kept[:2] == ["from labels where value = 1", "FROM itms"]

        # Another session goes on with the history.
        app = app_of(workspace)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press("S")
            assert "SELECT from these views" in screen_text(app)
            await pilot.press("up")
            assert app.screen.query_one("#statement", Input).value == kept[-1]
