"""Where things are in the review: panes stay in their places, whatever is said and whichever item is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kinds import task
from reading_pane import texts
from review_bench import (
    bench,
    line_of,
    painted,
    press,
    review_app,
    review_of,
    said,
    screen_text,
    text_of,
)
from several_kinds import three_kinds
from small_workspace import labelled_by_agents
from textual.geometry import Region

from screens.items.signs import sign_spans
from screens.jobs.job_line import JobLine
from screens.judging.context import Foot
from screens.judging.keys import JudgingKeyLine
from screens.review.bars import CaseTabs
from screens.review.item_tests import TestEditor
from screens.review.screen import ReviewScreen
from store.ingest.importing import import_files
from store.workspace.duckdb import Workspace

SIZES = [(80, 24), (100, 30), (120, 40)]
BEHIND = "value_of_a_long_name = the_other_one(first_argument, second_argument, third="


def every_kind(folder: Path) -> Workspace:
    """A workspace of items of all kinds, with and without a claim, context and an answer."""
    workspace = three_kinds(folder)
    pairs = [
        {"id": f"p{number}", "query": "do it " * 12 * number, "code": "def g(): ..."} for number in (2, 3)
    ]
    duel = {
        "id": "d",
        "prompt": "one\ntwo\nthree\nfour",
        "first": "a = 1",
        "second": "b = 2",
        "about": "codes",
    }
    duel |= {"first_name": "alpha", "second_name": "omega"}
    alone = task(8, crossfile_context={"text": "", "list": []})
    far = task(9, prompt=f"def run():\n    {BEHIND}", groundtruth="thing(value)[0])")
    for name, records in {"more": pairs, "duels": [duel], "tasks": [alone, far]}.items():
        file = folder / f"{name}-more.jsonl"
        file.write_text("\n".join(map(json.dumps, records)))
        import_files(workspace, [file])
    labelled_by_agents(workspace, [(1, 1.0, "screened")])
    return workspace


def places(screen: ReviewScreen) -> dict[str, Region]:
    """Where the lines and panes are that are shown."""
    widgets = [*screen.query("#place, #prompt, #claim, #tabs, #subject, #case, Foot")]
    return {each.id or "foot": each.region for each in widgets if each.region}


@pytest.mark.parametrize("size", SIZES)
async def test_panes_stay_where_they_are(tmp_path: Path, size: tuple[int, int]) -> None:
    with every_kind(tmp_path) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=size) as pilot:
            screen = await painted(pilot, 1)
            first = places(screen)
            kinds = set()
            for number in range(1, screen.order.total + 1):
                await painted(pilot, number)
                item = screen.item
                assert item is not None
                # The last question has a claim where an answer was scored.
                if item.has_several and item.current.pane:
                    screen.ask_question(len(item.questions) - 1)
                    await painted(pilot, number)
                item = screen.item
                assert item is not None
                kinds.add((item.kind, item.claim is not None))
                now = places(screen)
                if size[0] >= 120 and not item.case[0].text and not item.current.pane:
                    # The pane without a text gives its room to the other one, which moves no line.
                    assert "case" not in now
                    assert now["subject"].width == size[0]
                    assert item.case[0].empty[:20] in line_of(app, CaseTabs)
                    now |= {name: first[name] for name in ("subject", "case")}
                if size[0] < 120 and not item.has_sides:
                    # One pane at a time, which is the subject or what is asked about.
                    now = {{"case": "subject"}.get(name, name): region for name, region in now.items()}
                if size[0] < 120 and item.has_sides:
                    # One above the other, in the place of the one pane.
                    now["subject"] = now["subject"].union(now.pop("case"))
                if item.has_sides:
                    # The rows that both leave free are the prompt's, which has four.
                    assert now["prompt"].height == first["prompt"].height + 2
                    assert now["subject"].y == now["tabs"].bottom
                    assert now["subject"].bottom == first["subject"].bottom
                    now |= {name: first[name] for name in now if name != "foot"}
                assert now == first, item.external_id
                assert "[ ] tabs" in line_of(app, JudgingKeyLine)
                assert "? keys" in line_of(app, JudgingKeyLine)
                await pilot.press("n")
            assert {kind for kind, _ in kinds} == {"pair", "completion", "answer", "comparison"}
            assert {("pair", True), ("pair", False), ("answer", True), ("answer", False)} <= kinds


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_said_moves_no_pane(tmp_path: Path, size: tuple[int, int]) -> None:
    with bench(tmp_path) as workspace:
        app = review_app(workspace, at=3)
        async with app.run_test(size=size) as pilot:
            screen = await painted(pilot, 4)
            first = places(screen)
            for key, ends, shown in (
                ("d", "escape", "query unclear"),
                ("m", "escape", "save the comment"),
                ("slash", "escape", "keep the search"),
                ("f", "f", "flag"),
            ):
                await press(pilot, key)
                await pilot.pause()
                assert shown in screen_text(app)
                assert places(screen) == first, key
                await press(pilot, ends)
            for length in (1, 30, 300):
                screen.show_notice("word " * length)
                await pilot.pause()
                assert places(screen) == first
            # A message takes its rows from the keys, and leaves them one.
            foot = screen.query_one(Foot)
            assert screen.query_one("#say").region.height == foot.region.height - 1
            assert "…" in screen_text(app).split("\n")[-2]
            assert "1 match" in line_of(app, JudgingKeyLine)
            # A question that waits for its answer takes the line of a running job.
            job = screen.query_one(JobLine).add_class("-job")
            await pilot.pause()
            assert job.display
            await press(pilot, "1")
            await painted(pilot, 5)
            assert "why?" in said(app)
            assert "test is wrong" in line_of(app, JudgingKeyLine)
            assert not job.display
            assert places(screen) == first


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_cursor_of_a_completion_is_in_view_sideways(tmp_path: Path, size: tuple[int, int]) -> None:
    with every_kind(tmp_path) as workspace:
        app = review_app(workspace, at=10)
        async with app.run_test(size=size) as pilot:
            screen = await painted(pilot, 11)
            assert text_of(app, "prompt") == "thing(value)[0])"
            whole = "third=▮thing(value)[0])"
            shown = "".join(row.strip() for row in texts(review_of(app).panes.by_id["subject"]))
            assert whole in shown
            # Not wrapped, it is scrolled to.
            await press(pilot, "W")
            assert whole in screen_text(app)
            await press(pilot, "z")
            assert whole in screen_text(app)
            await press(pilot, "z", "p", "n")
            await painted(pilot, 11)
            assert whole in screen_text(app)
            width = 100 if size[0] == 120 else 120
            await pilot.resize_terminal(width, 30)
            assert screen.size.width == width
            assert whole in screen_text(app)


async def test_the_editor_of_a_test_leaves_code_query_and_claim_in_sight(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        app = review_app(workspace, at=3)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await painted(pilot, 4)
            first = places(screen)
            await pilot.press("e")
            assert isinstance(app.screen, TestEditor)
            await pilot.pause()
            editor = app.screen
            assert editor.query_one("#editor-beside").region.offset == first["subject"].offset
            assert editor.query_one("#editor-text").region.x == first["case"].x
            assert "is_blank_file(path)" in text_of(app, "editor-beside")
            # Nothing is laid over the lines above the panes.
            assert editor.query_one("#editor").region.y == first["subject"].y
            assert editor.styles.background.a == 0
            # The narrow one takes the whole screen, and names the query.
            await pilot.resize_terminal(80, 24)
            assert editor.query_one("#editor").region.size == (80, 24)
            assert not editor.query_one("#editor-beside").display


def test_a_sign_is_coloured_only_where_it_is_of_a_result() -> None:
    lines = ["  ✗ one  AssertionError: ✓ two", "✓ three", "ended · ✓ 2 of 3 passed · ! 1 error · note"]
    text = "\n".join(lines)
    found = [(text[span.start : span.end], span.style) for span in sign_spans(lines, {0, 2})]
    assert found == [("✗ one", "failed"), ("✓ 2 of 3 passed", "passed"), ("! 1 error", "error")]
