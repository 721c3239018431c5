"""The retrieval report in the app, two methods query by query, and their rankings of a query."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from ranked_bench import ranked_workspace, report
from review_bench import painted, screen_text

from screens.rankings.by_query import ByQueryScreen
from screens.rankings.ranked import RankedScreen
from screens.reports.screen import ReportsScreen
from screens.review.screen import ReviewScreen
from screens.text_screen import TextScreen
from store.workspace.duckdb import Workspace

SIZES = [(80, 24), (100, 30), (120, 40)]


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of docs/retrieval.md."""
    return ranked_workspace(tmp_path_factory.mktemp("ranked"))


@pytest.fixture
def workspace(ranked: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A copy of it, open."""
    path = Path(shutil.copy(ranked, tmp_path / "s.duckdb"))
    with Workspace.open(path) as opened:
        yield opened


@pytest.mark.asyncio
async def test_from_the_report_to_a_query_a_pair_and_a_code(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=SIZES[0]) as pilot:
        await report(app, pilot)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            text = screen_text(app)
            assert "Labels of sample-ana: 15 queries, 40 relevant codes" in text
            assert "[0.651]" in text
            assert "├" in text
            # What the report command prints.
            await pilot.press("y")
            assert app.clipboard == (
                f"workbench report {workspace.path} retrieval --rater sample-ana --preset cosqa-plus"
            )

            await pilot.press("enter")
            assert "mean difference +0.110 · bm25 better on 12 · bow on 3 · equal on 0" in screen_text(app)
            by_query = app.screen
            assert isinstance(by_query, ByQueryScreen)
            assert by_query.rows[0].text == "binary search in sorted list python return index"
            assert "█" in screen_text(app)
            await pilot.press("o")
            assert by_query.rows[0].text == "python flatten nested list any depth"
            assert "bow better first" in screen_text(app)
            await pilot.press("end", "home", "t")
            assert by_query.measure == "mrr@10"
            await pilot.press("T", "y")
            assert app.clipboard.endswith("--compare bm25,bow")

            await pilot.press("enter")
            assert " relevant ─" in screen_text(app)
            rankings = app.screen
            assert isinstance(rankings, RankedScreen)
            assert "query 1 of 15" in screen_text(app)
            await pilot.press("n")
            assert rankings.lists is not None
            assert "query 2 of 15" in screen_text(app)
            await pilot.press("p")
            assert rankings.lists is not None
            assert "query 1 of 15" in screen_text(app)

            # The other list has the same code at another rank.
            first = rankings.code
            assert first is not None
            assert first.other is not None
            await pilot.press("tab")
            assert rankings.code is not None
            assert (rankings.code.code, rankings.code.rank) == (first.code, first.other)

            in_pairs = [one.item is not None for one in rankings.lists[1]]
            await pilot.press("home", *["down"] * in_pairs.index(False), "enter")
            assert isinstance(app.screen, TextScreen)
            assert "def " in screen_text(app)
            await pilot.press("escape")
            assert app.screen is rankings
            await pilot.press("home", *["down"] * in_pairs.index(True), "enter")
            assert isinstance(app.screen, ReviewScreen)
            await painted(pilot)
            await pilot.press("q")
            assert app.screen is rankings
            await pilot.press("escape")
            assert app.screen is by_query
            assert by_query.query_one("#rows").cursor == 0  # type: ignore[attr-defined]
            await pilot.press("escape")
            assert isinstance(app.screen, ReportsScreen)


@pytest.mark.asyncio
async def test_the_end_of_the_report_and_a_label_given_from_a_ranking(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await report(app, pilot)
        # Keys reach what is below the last figure and above the first.
        assert "$ workbench report" not in screen_text(app)
        await pilot.press(*["pagedown"] * 4)
        assert "$ workbench report" in screen_text(app)
        await pilot.press(*["pageup"] * 4)
        assert "Labels of sample-ana" in screen_text(app)

        # A label given from a ranking leaves the report by the labels it was by.
        await pilot.press("enter")
        assert "better on 12" in screen_text(app)
        await pilot.press("enter")
        assert " relevant ─" in screen_text(app)
        await pilot.press("enter")
        assert isinstance(app.screen, ReviewScreen)
        await painted(pilot)
        # The first label of a person: without a choice, reports would be by the majority of people now.
        await pilot.press("1")
        assert "q Esc  back" in screen_text(app)
        await pilot.press("escape")
        assert isinstance(app.screen, RankedScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, ByQueryScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, ReportsScreen)
        assert "[0.651]" in screen_text(app)
        assert "Labels of sample-ana: 15 queries" in screen_text(app)


@pytest.mark.asyncio
async def test_what_is_copied_and_saved_is_by_the_chosen_measure_labels_and_preset(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_of(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        await report(app, pilot)
        # The copied command says which measure it prints.
        await pilot.press("enter")
        assert "better on 12" in screen_text(app)
        await pilot.press("y", "t", "y")
        first, second = (one.message for one in app._notifications)
        assert "It prints" not in first
        assert second == f"{first}\n\nIt prints ndcg@10, the first measure of the preset."

        # Other labels, another preset, and saving.
        await pilot.press("escape", "a")
        assert "Labels of sample-ben" in screen_text(app)
        await pilot.press("b")
        assert "Measures of trec" in screen_text(app)
        assert "Labels of sample-ben" in screen_text(app)
        await pilot.press("s", "ctrl+u", *"found.csv", "enter")
        assert "Written: found.csv" in screen_text(app)
        table = (tmp_path / "found.csv").read_text(encoding="utf-8")
        assert "method,map,95 % interval,low,value,high" in table


@pytest.mark.asyncio
async def test_without_rankings_the_report_says_which_command_makes_some(workspace: Workspace) -> None:
    def forget(connection: Any) -> None:
        connection.exec_driver_sql("DELETE FROM retrieval")

    workspace.lane.submit(forget).result()
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await report(app, pilot, "No method has ranked the codes")
        assert "--methods bm25,bow" in screen_text(app)


@pytest.mark.asyncio
async def test_ten_methods_are_legible(workspace: Workspace) -> None:
    def more(connection: Any) -> None:
        for key in range(3, 11):
            connection.exec_driver_sql(
                f"INSERT INTO retrieval SELECT {key}, 'a-model-with-a-long-name-{key}', settings, depth, codes, "
                "made_at FROM retrieval WHERE id = 1"
            )
            for table in ("retrieval_query", "retrieval_hit"):
                connection.exec_driver_sql(
                    f"INSERT INTO {table} SELECT * REPLACE ({key} AS retrieval_id) FROM {table} "
                    "WHERE retrieval_id = 1"
                )

    workspace.lane.submit(more).result()
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await report(app, pilot)
        screen = app.screen
        assert isinstance(screen, ReportsScreen)
        assert screen.page is not None
        assert [len(table.rows) for table in screen.page.tables] == [10, 10, 10, 10, 10, 45, 2, 12]
        assert all(f"name-{key} " in screen_text(app) for key in range(3, 11))
        assert "10 bow" in screen_text(app)
        await pilot.press("enter")
        assert isinstance(app.screen, ByQueryScreen)
        assert app.screen.found is not None
        by_query = app.screen
        assert isinstance(by_query, ByQueryScreen)
        assert by_query.found is not None
        before = by_query.found.asked.methods
        await pilot.press("b")
        assert by_query.found is not None
        assert by_query.found.asked.methods != before
        assert by_query.found.asked.methods[0] == before[0]


@pytest.mark.asyncio
async def test_a_blind_review_has_no_such_report(workspace: Workspace) -> None:
    app = app_of(workspace, "dana", blind=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("r")
        assert "Labels of each rater" in screen_text(app)
        assert "Retrieval" not in screen_text(app)
