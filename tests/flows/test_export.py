"""Exports and saved views in the app: a view saved in the queue, and its items written by the form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apps import app_of, context_of
from review_bench import screen_text
from settling import Gate, settled
from small_workspace import GOOD, label, pairs_workspace, recorded
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, Select

from screens.app import WorkbenchApp
from screens.exporting.options import Items, Whose, run_export
from screens.exporting.screen import ExportScreen
from screens.queue.screen import QueueScreen
from screens.queue.views import ViewsScreen
from screens.settings import ScreenSettings
from store.errors import WorkbenchError
from store.export.exporting import ExportReport
from store.ingest.bundle import import_bundle
from store.ingest.importing import import_files
from store.queries.rows import QueueFilter, ViewQuery
from store.queries.saved_views import list_views
from store.record.actions import Action
from store.record.raters import ensure_rater, register_kinds
from store.saved_views import save_view
from store.workspace.duckdb import Workspace

PAIRS = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(6)]


def judged(folder: Path) -> Workspace:
    """Six pairs, of which dana has judged two."""
    workspace = pairs_workspace(folder, PAIRS)
    rater = context_of(workspace).rater
    assert rater is not None
    recorded(workspace, rater, *[label(workspace, rater, number, 1.0) for number in (1, 2)])
    return workspace


async def says(pilot: Pilot[Any], words: str) -> None:
    """Wait for words on the screen, wherever their line is broken."""
    await settled(pilot.app)
    assert words in " ".join(screen_text(pilot.app).split())


async def export_form(pilot: Pilot[Any]) -> ExportScreen:
    """Open the form from Home, and wait until it says what it would write."""
    await says(pilot, "pairs")
    await pilot.press("x")
    await says(pilot, "2 judgments and marks")
    form = pilot.app.screen
    assert isinstance(form, ExportScreen)
    return form


def names(app: WorkbenchApp) -> list[str]:
    """The names of the saved views."""
    with app.context.workspace.reading() as connection:
        return [view.name for view in list_views(connection, app.context.scope)]


async def test_a_view_from_the_queue_to_a_file(tmp_path: Path) -> None:
    with judged(tmp_path) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(100, 40)) as pilot:
            app.open_queue(QueueFilter(status="judged"))
            await says(pilot, "2 of 6")
            # Saved, refused under the same name, renamed.
            await pilot.press("w")
            await says(pilot, "A name for: judged")
            await pilot.press(*"mine", "enter")
            await says(pilot, "▸ mine")
            await pilot.press("n", *"mine", "enter")
            await says(pilot, "There is a view mine already")
            await pilot.press("escape", "r", *"2", "enter")
            assert names(app) == ["2"]
            await says(pilot, "▸ 2 ")
            await pilot.press("escape", "c")
            await says(pilot, "6 of 6")
            # It lists the same again.
            await pilot.press("v")
            await says(pilot, "made by dana")
            await pilot.press("enter")
            await says(pilot, "2 of 6")

            # Its items alone are written.
            await pilot.press("x")
            form = app.screen
            assert isinstance(form, ExportScreen)
            await says(pilot, "2 judgments and marks, of every rater")
            assert form.query_one("#items", Select).value == Items("list")
            form.query_one("#items", Select).value = Items("view", "2")
            await says(pilot, "Only items of the view 2.")
            form.query_one("#format", Select).value = "csv"
            form.query_one("#whose", Select).value = Whose("rater", "dana")
            out = tmp_path / "mine.csv"
            form.query_one("#file", Input).value = str(out)
            await says(pilot, "2 rows, 2 with a label of dana")
            assert not out.exists()
            await pilot.press("ctrl+s")
            await says(pilot, "✓ Written to")
            assert "Import it elsewhere: workbench import" in screen_text(app)
            assert out.read_text().count("q/") == 2
            # What is there is replaced only after a question.
            out.write_text("kept")
            await pilot.press("ctrl+s")
            await says(pilot, "Its contents will be lost.")
            await pilot.press("escape")
            assert app.screen is form
            assert out.read_text() == "kept"
            await pilot.press("ctrl+s")
            await says(pilot, "Its contents will be lost.")
            await pilot.press("enter")
            assert out.read_text() != "kept"
            await says(pilot, "✓ Written to")

            # Back in the queue the view is deleted.
            await pilot.press("escape")
            assert isinstance(app.screen, QueueScreen)
            await pilot.press("v")
            await says(pilot, "made by dana")
            await pilot.press("d", "enter")
            await says(pilot, "No saved view yet")
            assert names(app) == []
            assert "n save filter · Esc cancel" in screen_text(app)
            assert "r rename" not in screen_text(app)


async def test_the_form_refuses_before_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = tmp_path / "late.jsonl"

    def written_meanwhile(*plan: Any, dry_run: bool = False) -> ExportReport:
        if not dry_run and plan[1].destination == late:
            late.write_text("of another program")
        return run_export(*plan, dry_run=dry_run)

    monkeypatch.setattr("screens.exporting.screen.run_export", written_meanwhile)
    with judged(tmp_path) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(100, 40)) as pilot:
            form = await export_form(pilot)
            box, file = form.query_one("#format", Select), form.query_one("#file", Input)
            assert file.value == "pairs-jsonl.jsonl"
            box.value = "beir"
            await says(pilot, "Choose whose in “Labels of”")
            assert file.value == "pairs-beir"
            form.query_one("#whose", Select).value = Whose("policy", "majority")
            await says(pilot, "2 graded pairs")
            assert form.query_one("#of-question").display
            box.value = "predictions"
            await says(pilot, "There are no completions by models")
            assert not form.query_one("#of-whose").display
            file.value = str(tmp_path / "no" / "file")
            box.value = "jsonl"
            await says(pilot, "is not a folder")
            file.value = f"{'n' * 300}.jsonl"
            await pilot.press("ctrl+s")
            await says(pilot, "name too long")
            # The preview says so, too, and what is saved meanwhile is not saved twice.
            await settled(pilot.app)
            assert not form._foot.saving
            # Nobody agreed to replace what was not there when it was asked for.
            file.value = str(late)
            await pilot.press("ctrl+s")
            await says(pilot, "exists. Choose another name")
            assert late.read_text() == "of another program"
            file.value = ""
            box.value = "bundle"
            form.query_one("#pseudonyms", Checkbox).value = True
            file.value = str(tmp_path / "bundle")
            await says(pilot, "People have pseudonyms in place of their names.")
            assert not form.query_one("#of-items").display
            await pilot.press("ctrl+s")
            await says(pilot, "✓ Written to")
        assert import_bundle(tmp_path / "again.duckdb", tmp_path / "bundle").pseudonyms


async def test_a_failure_is_said_also_where_the_form_was_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, written = Gate(), []

    def slow(*plan: Any, dry_run: bool = False) -> ExportReport:
        if dry_run:
            return run_export(*plan, dry_run=True)
        go.wait(60)
        written.append(plan[1].destination.name)
        raise WorkbenchError("Disk full", "The disk is full.")

    monkeypatch.setattr("screens.exporting.screen.run_export", slow)
    with judged(tmp_path) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(100, 40)) as pilot:
            form = await export_form(pilot)
            foot, file = form._foot, form.query_one("#file", Input)
            await pilot.press("ctrl+s")
            begun = foot._generation
            file.value = "another.jsonl"
            await settled(pilot.app)
            assert foot._generation > begun
            # A field that is missing does not end what is being saved, and nothing is saved twice.
            file.value = " "
            await settled(pilot.app)
            assert foot._generation > begun + 1
            await pilot.press("ctrl+s")
            assert foot.saving
            assert "Exporting" in screen_text(app)
            file.value = "another.jsonl"
            await settled(app)
            go.set()
            await says(pilot, "The disk is full.")
            await pilot.press("ctrl+s")
            assert len(written) == 2
            await says(pilot, "The disk is full.")
    assert written == ["pairs-jsonl.jsonl", "another.jsonl"]


async def test_a_blind_review_keeps_views_of_the_agents_labels_closed(tmp_path: Path) -> None:
    with judged(tmp_path) as workspace:
        query = ViewQuery(QueueFilter(agreement="disagree"))
        save_view(workspace, context_of(workspace).scope, "dis", query)
        app = app_of(workspace, settings=ScreenSettings(blind=True))
        async with app.run_test(size=(80, 24)) as pilot:
            app.open_queue()
            await says(pilot, "6 of 6")
            await pilot.press("v")
            await says(pilot, "hidden")
            await pilot.press("enter")
            await says(pilot, "uses the agents")
            assert isinstance(app.screen, ViewsScreen)
            await pilot.press("escape", "x")
            # How many labels a majority has tells what others answered.
            await says(pilot, "Not counted: it holds the labels of every rater")
            form = app.screen
            form.query_one("#format", Select).value = "labels"
            form.query_one("#whose", Select).value = Whose("policy", "majority")
            await says(pilot, "Not counted: it holds the labels of majority")
            form.query_one("#whose", Select).value = Whose("rater", "dana")
            await says(pilot, "2 labels, rater dana")


async def test_ones_own_table_is_proposed_and_given_back(tmp_path: Path) -> None:
    for name in ("mine", "more"):
        text = f"id,Question,snippet\n{name}1,sort a list,sorted(xs)\n{name}2,sum a list,sum(xs)\n"
        (tmp_path / f"{name}.csv").write_text(text)
    with Workspace.create(tmp_path / "own.duckdb") as workspace:
        register_kinds(workspace)
        import_files(workspace, [tmp_path / "mine.csv"])
        import_files(workspace, [tmp_path / "more.csv"])
        rater = ensure_rater(workspace, "dana")
        given = label(workspace, rater, 1, 1.0)
        said = given.records[0].model_copy(update={"comment": "as dana@example.org says"})
        recorded(workspace, rater, Action(given.id, (said,)))
        app = app_of(workspace)
        async with app.run_test(size=(100, 30)) as pilot:
            await says(pilot, "pairs")
            await pilot.press("x")
            await says(
                pilot, "2 rows, 1 with a label (csv, a file). The rows of mine.csv with label, decided_by"
            )
            form = app.screen
            assert isinstance(form, ExportScreen)
            assert form.query_one("#file", Input).value == "mine-judged.csv"
            form.query_one("#table", Select).value = "more.csv"
            await says(
                pilot, "2 rows, 0 with a label (csv, a file). The rows of more.csv with label, decided_by"
            )
            assert form.query_one("#file", Input).value == "more-judged.csv"
            form.query_one("#table", Select).value = "mine.csv"
            # Comments that name somebody are shown before they are written.
            form.query_one("#comments", Checkbox).value = True
            await says(pilot, "1 comment holds a rater's name or an e-mail address:")
            await says(pilot, "mine1: as dana@example.org says")
            form.query_one("#names", Checkbox).value = True
            await says(pilot, "2 rows, 1 with a label")
            out = tmp_path / "back.csv"
            form.query_one("#file", Input).value = str(out)
            await pilot.press("ctrl+s")
            await says(pilot, "✓ Written to")
    header, first, second = out.read_text().splitlines()
    assert header.startswith("id,Question,snippet,label,decided_by,")
    assert first.startswith("mine1,sort a list,sorted(xs),1,expert,1,1.0,0,")
    assert first.endswith(",as dana@example.org says")
    assert second == "mine2,sum a list,sum(xs)" + "," * 9
