"""The candidates of a query beside the code: ranks, similarities and marks, all judged in one sitting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from review_bench import painted, press, review_app
from scopes import scope

from screens.app import WorkbenchApp
from screens.review.candidates import CandidateList
from screens.review.screen import ReviewScreen
from screens.settings import ScreenSettings
from store.ingest.importing import import_files
from store.queries.candidates import candidates_of
from store.record.raters import ensure_rater, register_kinds
from store.workspace.duckdb import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Two queries; the candidates of the first are not in the order of their ranks."""
    pairs = [
        {
            "id": f"{query}/{rank}",
            "query": query,
            "code": f"def {query}_{rank}(x): return x",
            "name": f"{query}_{rank}",
            "rank": rank,
            "similarity": {"wide": rank / 10, "narrow": rank / 20},
        }
        for query, ranks in (("sort", (3, 1, 2)), ("read", (1, 2)))
        for rank in ranks
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    with Workspace.create(tmp_path / "w.duckdb") as made:
        register_kinds(made)
        import_files(made, [path])
        ensure_rater(made, "dana")
        yield made


def listed(app: WorkbenchApp) -> list[str]:
    """Return the lines of the list, without the blanks between their parts."""
    found = app.screen.query_one(CandidateList)
    return [" ".join(line.split()) for line in str(found.content).splitlines()] if found.display else []


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_all_candidates_of_a_query_are_judged_beside_the_list(
    workspace: Workspace, size: tuple[int, int]
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=size) as pilot:
        await painted(pilot, 1)
        assert listed(app) == []
        await press(pilot, "Q")
        assert listed(app)[2:3] == ["▸ 3 ○ 0.22 sort_3"]
        assert listed(app)[:2] == ["1 ○ 0.08 sort_1", "2 ○ 0.15 sort_2"]
        if size[1] == 40:
            assert listed(app)[3:] == ["", "narrow 0.15", "wide 0.30"]
        await press(pilot, "1")
        assert listed(app)[:3] == [
            "▸ 1 ○ 0.08 sort_1",
            "2 ○ 0.15 sort_2",
            "3 ●1 0.22 sort_3",
        ]
        assert app.screen.query_one(CandidateList).border_subtitle == "1 of 3 judged"
        # A click goes to a candidate, and keys judge that one.
        await pilot.click(CandidateList, offset=(10, 3))
        assert listed(app)[2:3] == ["▸ 3 ●1 0.22 sort_3"]
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        await painted(pilot, 1)
        await press(pilot, "n")
        assert "another query" not in screen.shared.message
        await press(pilot, "n", "n")
        assert listed(app)[:2] == ["▸ 1 ○ 0.08 read_1", "2 ○ 0.15 read_2"]
        assert "now candidates of another query" in screen.shared.message
        # Opened again, the list is of the query that is on the screen.
        await press(pilot, "Q")
        assert listed(app) == []
        await press(pilot, "n", "Q")
        assert listed(app)[1:2] == ["▸ 2 ○ 0.15 read_2"]
        assert "another query" not in screen.shared.message


async def test_blind_the_list_tells_of_own_labels_alone(workspace: Workspace) -> None:
    app = review_app(workspace, settings=ScreenSettings(blind=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await painted(pilot, 1)
        await press(pilot, "Q", "0")
        assert "3 ●0 0.22 sort_3" in listed(app)
        assert "◆" not in " ".join(listed(app))


def test_candidates_come_by_rank_with_every_similarity(workspace: Workspace) -> None:
    found = candidates_of(workspace, scope("dana"), 1)
    assert [(one.row.item_id, one.row.rank) for one in found] == [(2, 1), (3, 2), (1, 3)]
    assert found[0].similarities == {"narrow": 0.05, "wide": 0.1}
    assert candidates_of(workspace, scope("dana"), 99) == []
