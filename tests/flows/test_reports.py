"""Reports in the app: their figures, the items behind these, what can be chosen, copied and saved."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from apps import app_of
from judging import Desk
from review_bench import screen_text
from settling import Gate, settled, until
from small_workspace import labelled_by_agents
from split_bench import labelled_pairs
from study_bench import STUDY, frozen_study
from textual.pilot import Pilot
from textual.widgets import Select

from screens.app import WorkbenchApp
from screens.queue.screen import QueueScreen
from screens.reports.choosing import ChoiceScreen
from screens.reports.screen import ReportsScreen
from store.analysis.confusion import confusion
from store.analysis.labels import question_labels
from store.ingest.importing import import_files
from store.splits.allocation import parse_ratios
from store.splits.splits import SplitPlan, make_split
from store.workspace.duckdb import Workspace

RUN = "cosqa-plus:scripted"


def agents_too(workspace: Workspace) -> None:
    """Let agents label some of the pairs, and a further person take 7 seconds for each of two."""
    labelled_by_agents(workspace, [(item, float(item % 3 > 0), "tested") for item in range(1, 20)])
    for item in (1, 2):
        Desk(workspace, "eli").judge(item, 1.0, active_ms=7_000)


def flat(app: WorkbenchApp) -> str:
    """The text of the screen without its boxes and line breaks."""
    return " ".join(screen_text(app).replace("│", " ").split())


async def listed(app: WorkbenchApp, pilot: Pilot[None]) -> tuple[list[int], str]:
    """The items behind the figure under the cursor, and what they are called; then the report again."""
    await pilot.press("enter")
    assert isinstance(app.screen, QueueScreen)
    queue = app.screen
    assert isinstance(queue, QueueScreen)
    await settled(pilot.app)
    assert hasattr(queue, "items")
    assert queue.items.count > 0
    wanted = queue.queue_query.wanted
    await pilot.press("escape")
    assert isinstance(app.screen, ReportsScreen)
    assert app.screen.page is not None
    return list(wanted.items or ()), wanted.named


async def report(app: WorkbenchApp, pilot: Pilot[None], title: str, shows: str) -> None:
    """Go down in the list to a report, and wait until it shows something."""
    screen = app.screen
    assert isinstance(screen, ReportsScreen)
    assert title in [one.title for one in screen.offered]
    while screen.report is not None and screen.report.title != title:
        await pilot.press("down")
    await settled(pilot.app)
    assert shows in screen_text(app)


@pytest.mark.asyncio
async def test_reports_and_the_items_behind_their_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with labelled_pairs(tmp_path) as workspace:
        agents_too(workspace)
        with workspace.reading() as connection:
            labels = question_labels(connection, "pair.match", people_only=True)
            differ = labels.items_of(labels.shared(range(4), differing=True))
            matrix = confusion(connection, "pair.match", raters=["ana", RUN])
            other = confusion(connection, "pair.match", raters=["ben", RUN])
        app = app_of(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("r")
            assert "pair.match" in screen_text(app)
            assert "Krippendorff's alpha of ana, ben, chi, eli" in screen_text(app)
            await pilot.press("enter", "right")
            assert f"[{len(differ)}]" in screen_text(app)
            assert await listed(app, pilot) == (differ, "pair.match: on which people differ")
            assert f"[{len(differ)}]" in screen_text(app)

            # A cell of the confusion; then that of another rater.
            await pilot.press("escape")
            await report(app, pilot, "Confusion of two raters", "19 units")
            # What has no items is passed over.
            assert matrix.items(0.0, 0.0) == []
            await pilot.press("tab")
            named = f"ana 0 no match · {RUN} 1 match"
            assert await listed(app, pilot) == (matrix.items(0.0, 1.0), named)
            await pilot.press("a")
            assert "↓ ben" in screen_text(app)
            assert (await listed(app, pilot))[0] == other.items(0.0, 1.0)
            await pilot.press("y")
            assert app.clipboard == (
                f"workbench report {workspace.path} confusion --question pair.match --raters ben,{RUN}"
            )

            await pilot.press("Y")
            assert app.clipboard.startswith(
                "| ↓ \\\\ → | 0 | 1 | all |\n| --- | ---: | ---: | ---: |\n| 0 no match |"
            )

            await pilot.press("escape")
            await report(app, pilot, "Accuracy", "wrong")
            # Its name is shortened beside figures with intervals.
            assert ":scripted agent" in flat(app)
            await report(app, pilot, "Labels of each rater", "cosqa-plus:scripted (agent) · 19 labels")
            await report(app, pilot, "Time for each item", "pairs: eli · median 7.0 s")
            await pilot.press("tab")
            assert await listed(app, pilot) == ([1, 2], "5 to 10 seconds")
            await pilot.press("tab")

            # The pairs of a figure of the paper; of a person's labels, too.
            await report(
                app, pilot, "How many queries a code answers", f"Labels of the agents' run {RUN}: 19 of 24"
            )
            await pilot.press("a")
            assert "Labels of ana: 24 of 24" in screen_text(app)
            await pilot.press("tab")
            items, named = await listed(app, pilot)
            assert named == "codes that answer 1 query"
            assert items == sorted(items)

            # Saved as a table and as a picture; nothing is overwritten.
            for name, says in (
                ("", "Written: pairs-figure-7.svg"),
                ("figures.csv", "Written: figures.csv"),
                ("figures.csv", "figures.csv is already there"),
                ("figures", "must end in one of"),
            ):
                await pilot.press("s")
                if name:
                    # The cursor is behind the proposed name, of the first report as of a later one.
                    await pilot.press("ctrl+u", *name)
                await pilot.press("enter")
                await until(pilot, lambda says=says: says in screen_text(app), says)
                if not says.startswith("Written"):
                    await pilot.press("escape")
            assert "codes" in (tmp_path / "pairs-figure-7.svg").read_text(encoding="utf-8")
            with (tmp_path / "figures.csv").open(encoding="utf-8", newline="") as file:
                head, first, *_ = csv.reader(file)
            assert head == ["queries", "codes", "share"]
            assert first[0] == "1"


@pytest.mark.asyncio
async def test_what_a_report_takes_is_chosen_from_lists(tmp_path: Path) -> None:
    with labelled_pairs(tmp_path) as workspace:
        agents_too(workspace)
        frozen_study(workspace)
        make_split(workspace, "v1", SplitPlan("pair.match", "ana", parse_ratios("2:1")))
        app = app_of(workspace, rater="eli")
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("r")
            await settled(app)
            screen = app.screen
            assert isinstance(screen, ReportsScreen)
            await report(app, pilot, "Accuracy", "Accuracy")
            await pilot.press("enter")
            await settled(app)
            assert "majority of ana, ben, chi, eli" in flat(app)
            await pilot.press("o")
            assert isinstance(app.screen, ChoiceScreen)
            named = {select.id: select.value for select in app.screen.query(Select)}
            assert named == {"first": "majority", "study": "all"}
            # Left, nothing changes.
            await pilot.press("escape")
            assert "majority of ana, ben, chi, eli" in flat(app)
            await pilot.press("o")
            app.screen.query_one("#first", Select).value = "ben"
            await pilot.press("ctrl+s")
            await settled(app)
            assert "true labels are those of ben" in flat(app)
            assert screen.command.endswith("accuracy --question pair.match --policy ben")
            # A study without labels has nothing to be right by: another one can still be chosen.
            await pilot.press("o")
            app.screen.query_one("#study", Select).value = STUDY
            await pilot.press("ctrl+s")
            await settled(app)
            assert screen.failure is not None
            await pilot.press("o")
            app.screen.query_one("#study", Select).value = "all"
            await pilot.press("ctrl+s")
            await settled(app)
            assert "true labels are those of ben" in flat(app)
            # Agreement takes a phase and a split, too.
            await pilot.press("escape")
            while screen.report is not None and screen.report.name != "agreement":
                await pilot.press("up")
            await pilot.press("enter")
            await settled(app)
            await pilot.press("o")
            for name, value in (("subject", "pair.match"), ("split", "v1"), ("phase", "review")):
                app.screen.query_one(f"#{name}", Select).value = value
            await pilot.press("ctrl+s")
            await settled(app)
            assert screen.command.endswith("agreement --question pair.match --phase review --split v1")
            assert screen.page is not None


@pytest.mark.asyncio
async def test_a_narrow_terminal_shows_the_list_or_the_report_and_both_can_be_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = Gate()
    with labelled_pairs(tmp_path) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot.app)
            assert "pairs" in screen_text(app)
            app.open_queue()
            await settled(pilot.app)
            assert isinstance(app.screen, QueueScreen)
            # From any screen.
            await pilot.press("f9")
            assert "▸ Agreement of people" in screen_text(app)
            assert "Krippendorff" not in screen_text(app)
            await pilot.press("enter")
            assert "Krippendorff" in screen_text(app)
            assert "Labels of each rater" not in screen_text(app)
            await pilot.press("escape")
            # What takes long is left.
            monkeypatch.setattr("store.reports.accuracy.accuracy_report", lambda *_, **__: goes_on.wait(60))
            await pilot.press("down", "down", "enter")
            assert "Reading …" in screen_text(app)
            await pilot.press("escape", "down", "enter")
            assert "ana · 24 labels" in screen_text(app)
            goes_on.set()
            await pilot.press("escape", "escape")
            assert isinstance(app.screen, QueueScreen)


@pytest.mark.asyncio
async def test_home_reports_splits_and_studies_say_what_imports_rejected(tmp_path: Path) -> None:
    queries = ("sort a list", "open a file", "add two numbers")
    records = [{"id": query, "query": query, "code": f"x = {query!r}"} for query in queries]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, [*records, {**records[0], "code": "y"}])))
    with Workspace.create(tmp_path / "some.duckdb") as workspace:
        import_files(workspace, [tmp_path / "some.jsonl"], rejects=tmp_path / "rejects.jsonl")
        for item in (1, 2, 3):
            Desk(workspace, "eli").judge(item, 1.0)
        make_split(workspace, "v1", SplitPlan("pair.match", "eli", parse_ratios("2:1")))
        app = app_of(workspace, rater="eli")
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(app)
            await pilot.press("p")
            await settled(app)
            assert "Left out: 1 record rejected by imports (1 of 4 of some.jsonl)" in flat(app)
        frozen_study(workspace)
        app = app_of(workspace, rater="eli")
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(app)
            await pilot.press("s")
            await settled(app)
            await pilot.press("enter")
            await settled(app)
            assert "Left out: 1 record rejected by imports. Figures" in flat(app)
        for blind in (False, True):
            app = app_of(workspace, rater="eli", blind=blind)
            async with app.run_test(size=(120, 40)) as pilot:
                await settled(app)
                assert "! 1 record rejected by imports" in screen_text(app)
                await pilot.press("r")
                await settled(app)
                text = flat(app)
                assert "Left out: 1 record rejected by imports" in text
                assert ("1 of 4 of some.jsonl" in text) != blind


@pytest.mark.asyncio
async def test_a_blind_review_reports_on_its_own_labels_alone(tmp_path: Path) -> None:
    with labelled_pairs(tmp_path) as workspace:
        agents_too(workspace)
        app = app_of(workspace, rater="ben", blind=True)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("r")
            assert "ben · 24 labels" in screen_text(app)
            text = screen_text(app)
            assert "Blind review: reports" in text
            for word in ("Agreement", "Confusion", "Accuracy", "Figure", "ana ", RUN):
                assert word not in text, word
            await pilot.press("down")
            assert "No times yet" in screen_text(app)
            assert "eli" not in screen_text(app)
