"""A table with names of its own becomes items in the import dialog: its columns are shown, changed and taken."""

from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from settling import settled
from textual.widgets import Input, Static

from screens.app import WorkbenchApp
from screens.home.import_columns import ImportColumns
from screens.home.import_dialog import ImportScreen
from screens.review.screen import ReviewScreen
from store.workspace.duckdb import Workspace

TABLE = """nr;search text;other text;my snippet;verdict
1;how to sort a dict;what a dict is;"sorted(d)";good
2;read a file;what a file is;"open(p).read()";bad
3;join strings;what a string is;"', '.join(xs)";good
4;make a list unique;what a list is;"list(set(xs))";bad
"""


@pytest.fixture
def empty(tmp_path: Path) -> Any:
    with Workspace.create(tmp_path / "study.duckdb") as opened:
        yield opened


def shown(app: WorkbenchApp) -> str:
    columns = app.screen.query_one(ImportColumns)
    return "\n".join(str(columns.get_option_at_index(n).prompt) for n in range(columns.option_count))


def outcome(app: WorkbenchApp) -> str:
    return str(app.screen.query_one("#outcome", Static).content)


def foot(app: WorkbenchApp) -> str:
    return str(app.screen.query_one(".keys", Static).content)


def rows(workspace: Workspace, statement: str) -> list[Any]:
    cursor = workspace.native()
    try:
        return cursor.execute(statement).fetchall()
    finally:
        cursor.close()


ITEMS = (
    "SELECT external_id, q.text, c.text FROM item i JOIN pair p ON p.item_id = i.id "
    "JOIN query q ON q.id = query_id JOIN code c ON c.id = code_id ORDER BY i.id"
)
LABELS = "SELECT r.name, value FROM judgment j JOIN rater r ON r.id = rater_id ORDER BY j.item_id"


async def test_columns_are_proposed_changed_and_imported_by_keys(empty: Workspace, in_folder: Path) -> None:
    (in_folder / "mine.csv").write_text(TABLE, encoding="utf-8")
    app = app_of(empty)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app)
        await pilot.press("i", *"mine.csv")
        await settled(app)
        columns = app.screen.query_one(ImportColumns)
        assert [line.split()[0] for line in shown(app).splitlines()] == [
            *("query", "code", "label", "id", "label", "labels", "prefix", "licence", "kept"),
        ]
        # Two columns could be the query, so none is taken; what cannot be read yet is said.
        assert columns.missing == ["query"]
        assert "No column is the query yet." in outcome(app)
        assert "how to sort" not in outcome(app)
        await pilot.press("enter")
        assert columns.has_focus
        await settled(app)
        assert "Enter changes the line" in foot(app)
        assert rows(empty, "SELECT count(*) FROM item") == [(0,)]

        await pilot.press("enter")
        assert "Enter takes the column" in foot(app)
        assert columns.highlighted == 0
        await pilot.press("down", "down", "enter")
        await settled(app)
        assert columns.choices.mapping == {
            **{"query": "search text", "code": "my snippet", "label": "verdict", "id": "nr"},
        }
        assert "how to sort a dict" in outcome(app)
        # The labels are words that nothing explains.
        assert "'verdict' is 'good', which is none of match" in outcome(app)
        assert "`label words` good=1 (or 0, or nothing) says what it means" in outcome(app)
        assert "Enter changes the line" in foot(app)
        await pilot.press(*["down"] * 4, "enter")
        assert app.screen.query_one("#written", Input).has_focus
        await pilot.press(*"good=1,bad=0", "enter")
        await settled(app)
        assert "0 no match" in outcome(app)
        assert "4 records; 4 items would be added; 4 judgments of 'mine labels'" in outcome(app)
        assert app.screen.query_one(".keys").region.bottom <= 24

        await pilot.press("down", "enter", *"ann", "enter")
        await settled(app)
        assert "4 judgments of 'ann'" in outcome(app)
        await pilot.press("i")
        await settled(app)
        assert "4 items added" in outcome(app)
        await pilot.press("enter")
        assert isinstance(app.screen, ReviewScreen)
    assert rows(empty, ITEMS) == [
        ("1", "how to sort a dict", "sorted(d)"),
        ("2", "read a file", "open(p).read()"),
        ("3", "join strings", "', '.join(xs)"),
        ("4", "make a list unique", "list(set(xs))"),
    ]
    assert rows(empty, LABELS) == [("ann", 1.0), ("ann", 0.0), ("ann", 1.0), ("ann", 0.0)]


async def test_escape_goes_back_a_step_at_a_time(empty: Workspace, in_folder: Path) -> None:
    (in_folder / "mine.csv").write_text(TABLE, encoding="utf-8")
    app = app_of(empty)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app)
        await pilot.press("i", *"mine.csv")
        await settled(app)
        await pilot.press("down", "down", "enter", "escape")
        columns = app.screen.query_one(ImportColumns)
        assert columns.has_focus
        assert (columns.is_choosing, columns.highlighted) == (False, 1)
        await pilot.press(*["down"] * 3, "enter", *"x/", "escape")
        assert columns.has_focus
        assert columns.choices.prefix == ""
        await pilot.press("escape")
        assert app.screen.query_one("#path", Input).has_focus
        # Another file has other columns, or none.
        await pilot.press("backspace")
        await settled(app)
        assert not columns.display
        await pilot.press("escape")
        assert not isinstance(app.screen, ImportScreen)


async def test_none_is_a_choice_over_usual_names(empty: Workspace, in_folder: Path) -> None:
    rows_of = "7,add two,a + b,yes\n8,add one,a + 1,no\n"
    (in_folder / "mine.csv").write_text(f"nr,Question,Snippet,Label\n{rows_of}", encoding="utf-8")
    app = app_of(empty)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app)
        await pilot.press("i", *"mine.csv")
        await settled(app)
        assert "2 judgments of 'mine labels' would be added" in outcome(app)
        await pilot.press("down", "down", "down", "enter", "home", "enter")
        await pilot.press("down", "enter", "home", "enter")
        await settled(app)
        columns = app.screen.query_one(ImportColumns)
        assert (columns.choices.mapping["label"], columns.choices.mapping["id"]) == ("", "")
        assert "judgment" not in outcome(app)
        await pilot.press("i")
        await settled(app)
    assert all(name.startswith("mine-") for name, *_ in rows(empty, ITEMS))
    assert rows(empty, LABELS) == []


async def test_usual_names_need_no_choice(empty: Workspace, in_folder: Path) -> None:
    (in_folder / "mine.csv").write_text("Question,Snippet\nadd two,a + b\nadd one,a + 1\n", encoding="utf-8")
    app = app_of(empty)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app)
        await pilot.press("i", *"mine.csv")
        await settled(app)
        assert "2 records; 2 items would be added" in outcome(app)
        assert "id          of the content" in shown(app)
        await pilot.press("enter", "enter", "1")
        await settled(app)
    assert [row[1:] for row in rows(empty, ITEMS)] == [("add two", "a + b"), ("add one", "a + 1")]
    assert [row[1] for row in rows(empty, LABELS)] == [1.0]
