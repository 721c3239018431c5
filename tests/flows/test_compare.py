"""Comparisons are judged on two sides without names; what is stored is the first candidate's, whichever side."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from apps import context_of
from comparisons_bench import STUDY, comparisons, firsts, judged, recorded, study_of
from reading_pane import texts
from review_bench import (
    line_of,
    marks,
    painted,
    press,
    review_app,
    review_of,
    said,
    screen_text,
    text_of,
)
from sealed_bench import plain, session_of
from settling import settled, until

from screens.app import WorkbenchApp
from screens.items.judges import judges_claim
from screens.judging.keys import JudgingKeyLine
from screens.queue.screen import QueueScreen
from screens.review.bars import ClaimLine
from screens.review.screen import ReviewScreen
from screens.study_place import StudyPlace
from store.analysis.preferences import preference_votes
from store.ingest.importing import import_files
from store.kinds.comparison import AS_LISTED, SWAPPED, scale_values, shown_scale
from store.measures.preference_report import Options, preference_report
from store.queries.judged_comparisons import ImportedVerdict
from store.record.evidence import citations_of
from store.record.raters import register_kinds
from store.workspace.duckdb import Workspace

LONG = 0
"""The place of the comparison with long texts."""


async def test_sides_are_judged_and_the_first_candidates_value_is_stored(tmp_path: Path) -> None:
    with comparisons(tmp_path) as workspace:
        first = firsts(workspace)
        app = review_app(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await painted(pilot, 1)
            await _read_together(app, pilot)
            # What is on the left is called better, then much worse, and so on, as fast as items come.
            given: list[tuple[int, float, str]] = []
            values = {"1": 2.0, "2": 1.0, "3": 0.0, "4": -1.0, "5": -2.0}
            for place, key in enumerate("12345124", start=1):
                screen = await painted(pilot, place)
                item = screen.item
                assert item is not None
                on_left = text_of(app, "subject").partition("_")[0].removeprefix("def ")
                is_first = on_left == first[item.item_id]
                assert item.shown_as == ("as-listed" if is_first else "swapped")
                value = values[key] if is_first else 0.0 - values[key]
                given.append((item.item_id, value, item.shown_as))
                await press(pilot, key)
            assert {order for *_, order in given} == {"as-listed", "swapped"}
            await settled(pilot.app)
            assert [(number, value, shown) for number, value, _, _, shown in recorded(workspace)] == given
            # Going back, the sides are the same, and the choice is told in their words.
            assert screen.order.at_end
            await press(pilot, "p")
            assert "● your choice: 4 right" in line_of(app, ClaimLine)
            assert review_of(app).item.shown_as == given[-1][2]
            await press(pilot, "0")
            assert recorded(workspace)[-1][1:] == (0.0, "independent", "both-bad", given[-1][2])
            await press(pilot, "u")
            assert "Undone: both bad · now right" in said(app)
            await settled(pilot.app)
            assert recorded(workspace)[-1][:2] == given[-1][:2]
            await press(pilot, "ctrl+r", "d", "w")
            assert marks(workspace)[-1][:4] == (given[-1][0], "cannot_decide", True, "prompt unclear")
            # The lines that are cited say which candidate it was; the screen says on which side.
            await press(pilot, "p", "v", "v", "1")
            assert "cites left 1" in said(app)
            await settled(pilot.app)
            with workspace.reading() as connection:
                evidence = connection.exec_driver_sql(
                    "SELECT evidence FROM judgment ORDER BY id DESC LIMIT 1"
                )
                (cited,) = citations_of(evidence.scalar_one())
            assert cited.part == ("first" if given[-1][2] == "as-listed" else "second")
            # The list has the words of the sides, too.
            app.open_queue()
            await settled(pilot.app)
            assert isinstance(app.screen, QueueScreen)
            await settled(pilot.app)
            listed = screen_text(app)
            assert all(word in listed for word in ("left much", "right much", "same"))
            assert "alpha" not in listed
            assert "omega" not in listed


async def _read_together(app: WorkbenchApp, pilot) -> None:
    """Scroll both sides at once, mark where they differ, and see to the end of each."""
    panes = review_of(app).panes.by_id
    left, right = panes["subject"], panes["right"]
    assert left.size == right.size
    assert "lines more" in left.note
    await pilot.press("down", "down", "down")
    assert (left.scroll_y, right.scroll_y) == (3, 3)
    await pilot.press("tab", "end")
    assert "seen to the end ✓" in right.note
    await pilot.press("shift+tab", "end")
    assert "seen to the end ✓" in left.note
    shorter = min(left, right, key=lambda pane: pane.line_count)
    assert shorter.scroll_y == shorter.max_scroll_y
    await pilot.press("home")
    assert (left.scroll_y, right.scroll_y) == (0, 0)
    assert "seen to the end ✓" in left.note
    await pilot.press("equals_sign")
    assert "Differences are marked" in said(app)
    assert "~" in screen_text(app)
    await pilot.press("equals_sign", "x")
    assert said(app) == "The sides of a comparison cannot be swapped."
    await painted(pilot)


HEAD = "value = transform(first_argument, second_argument, third_argument, "
"""The beginning of a line that fills a pane of 120 cells; what differs comes after it."""

PROMPT = " ".join(f"word{number}" for number in range(90))


def long_lines(folder: Path, about: str) -> Workspace:
    """A workspace of one comparison whose candidates differ where their only line goes on."""
    folder.mkdir(exist_ok=True)
    record = {
        "id": "long", "prompt": PROMPT, "about": about, "language": "python",
        "first": f"{HEAD}rounding='up')", "second": f"{HEAD}rounding='down')",
        "reference": f"{HEAD}rounding='none')", "first_name": "a", "second_name": "b",
    }  # fmt: skip
    (folder / "long.jsonl").write_text(json.dumps(record))
    workspace = Workspace.create(folder / "long.duckdb")
    register_kinds(workspace)
    import_files(workspace, [folder / "long.jsonl"])
    return workspace


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_differs_at_the_end_of_a_line_is_shown(tmp_path: Path, size: tuple[int, int]) -> None:
    """Both sides wrap, and so does the reference; not wrapped, they say that lines go on."""
    with long_lines(tmp_path, "completions") as workspace:
        app = review_app(workspace)
        async with app.run_test(size=size) as pilot:
            await painted(pilot, 1)
            panes = review_of(app).panes.by_id
            sides = (panes["subject"], panes["right"])
            ends = {"".join(row.strip() for row in texts(pane))[-7:] for pane in sides}
            assert ends == {"g='up')", "'down')"}
            assert all(pane.wrap for pane in sides)
            assert screen_text(app).count("seen to the end ✓") == 2
            # Whichever has the focus, the key is for both.
            for key in ("W", "tab"):
                await press(pilot, key)
            assert not any(pane.wrap for pane in (*sides, panes["reference"]))
            assert screen_text(app).count("› ") - screen_text(app).count(" › ") == 2
            assert "up" not in screen_text(app)
            assert screen_text(app).count("1 line goes on to the right") == 2
            # They scroll together: what was scrolled to on one side was in sight on the other, too.
            await press(pilot, "right", *["right"] * 9)
            assert screen_text(app).count("seen to the end ✓") == 2
            assert screen_text(app).count("‹") == 2
            await press(pilot, "L", "W")
            assert all(pane.wrap and not pane.numbers for pane in (*sides, panes["reference"]))
            if size[0] == 120:
                await press(pilot, "right_square_bracket")
                assert "rounding='none')" in "".join(row.strip() for row in texts(panes["reference"]))


async def test_rows_that_both_sides_leave_free_are_the_prompts(tmp_path: Path) -> None:
    """A long prompt is seen whole where there is room; a long text takes its rows back."""
    with long_lines(tmp_path, "codes") as workspace:
        app = review_app(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            await painted(pilot, 1)
            prompt = review_of(app).panes.prompt
            assert prompt.max_scroll_y == 0
            assert PROMPT.split()[-1] in screen_text(app)
            # Both texts are still seen whole.
            assert screen_text(app).count("seen to the end ✓") == 2
            await pilot.resize_terminal(80, 24)
            await settled(app)
            assert screen_text(app).count("seen to the end ✓") == 2
            assert prompt.content_size.height > 2
    with comparisons(tmp_path / "long", count=1) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            await painted(pilot, 1)
            assert review_of(app).panes.prompt.content_size.height == 2


async def test_differences_of_answers_are_marked_in_their_source(tmp_path: Path) -> None:
    """Glyphs are those of source lines, which rendered Markdown does not have."""
    with comparisons(tmp_path, count=1, about="answers") as workspace:
        app = review_app(workspace)
        async with app.run_test(size=(80, 24)) as pilot:
            await painted(pilot, 1)
            left = review_of(app).panes.by_id["subject"]
            assert left.is_rendered
            await press(pilot, "equals_sign")
            assert not left.is_rendered
            assert "~ def o" in screen_text(app)
            await press(pilot, "M")
            assert "marked in the source" in said(app)
            assert not left.is_rendered
            await press(pilot, "equals_sign")
            assert left.is_rendered


async def _walk(workspace: Workspace, path: Path) -> list[str]:
    """Go through what a rater of a study sees: the list, a comparison, a choice, what is said of it."""
    app = WorkbenchApp(
        context_of(
            workspace, "ana", study=StudyPlace(workspace, session_of(workspace, STUDY)), annotation=None
        )
    )
    seen: list[str] = []

    async def look() -> None:
        await settled(pilot.app)
        seen.append(plain(screen_text(app), path))
        seen.append(f"{app.title} {app.sub_title}")

    async with app.run_test(size=(120, 40)) as pilot:
        await look()
        app.open_queue()
        await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        await until(pilot, lambda: "0 of 8 judged" in screen_text(app), "the progress")
        # The pane comes with the first item, and its foot when it has its room.
        await until(pilot, lambda: "seen to the end ✓" in screen_text(app), "the preview")
        await look()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ReviewScreen))
        await painted(pilot, 1)
        assert line_of(app, JudgingKeyLine).startswith("2 left · 4 right · d cannot decide")
        await pilot.press("0")
        assert said(app) == "0 is not an answer here. Its keys: 2 left · 4 right."
        for key in ("2", "p", "right_square_bracket", "right_square_bracket", "n"):
            await press(pilot, key)
            await look()
    return seen


async def test_names_of_sets_are_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With the names of the sets exchanged, and all texts the same, a rater sees the very same."""
    seen = []
    for folder, names in (("a", ("alpha", "omega")), ("b", ("omega", "alpha"))):
        with comparisons(tmp_path / folder, names) as workspace:
            study_of(workspace, "forced")
            seen.append(await _walk(workspace, workspace.path))
            (_, value, _, _, shown), *_ = recorded(workspace)
            assert value in (1.0, -1.0)
            assert (value == 1.0) == (shown == "as-listed")
    assert seen[0] == seen[1]
    assert "alpha" not in "".join(seen[0]) + caplog.text


LEVELS = {
    # What the first is as A, and the second as A.
    "d/0": ("much better", "worse"),
    "d/1": ("better", "better"),
    "d/2": ("much worse", "much better"),
}


async def test_a_judges_verdict_is_accepted_or_overridden(tmp_path: Path) -> None:
    """It is told in the words of the sides. Names are shown only of what is revealed, once it is answered."""
    with comparisons(tmp_path, count=4) as workspace:
        judged(workspace, tmp_path, LEVELS)
        _import_verdicts(workspace, tmp_path, "d/3", {"as-listed": 1, "swapped": -1})
        study_of(workspace, "five", "revealed")
        place = StudyPlace(workspace, session_of(workspace, STUDY))
        app = WorkbenchApp(context_of(workspace, "ana", study=place, annotation=None))
        names = dict(workspace.native().execute("SELECT id, external_id FROM item").fetchall())
        keys = {"d/0": "a", "d/2": "0", "d/3": "a"}
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(pilot.app)
            app.resume()
            await until(pilot, lambda: isinstance(app.screen, ReviewScreen))
            done: dict[str, tuple[int, bool]] = {}
            for number in range(1, 5):
                screen = await painted(pilot, number)
                item = screen.item
                assert item is not None
                # Its own id would tell the set, and is not shown.
                name = names[item.item_id]
                listed = item.shown_as == "as-listed"
                left, right = ("left", "right") if listed else ("right", "left")
                asked = "judge" if listed else "judge_swapped"
                level = LEVELS.get(name, ("", ""))[0 if listed else 1]
                # The judge's answer that is shown had the candidate on the left as A, in either order.
                said_of_a = f"A is left, B is right: A is {level} in {asked}."
                claim = {
                    "d/0": f"◆ {'2 left' if listed else '4 right'} · {said_of_a}",
                    "d/1": f"◆ 3 same · ≠ the order decides · {said_of_a}",
                    "d/2": f"◆ {'5 right much' if listed else '1 left much'} · {said_of_a}",
                    "d/3": "◆ gpt-4: 3 same · ≠ the order decides",
                }
                first_row, _, second_row = line_of(app, ClaimLine).partition("\n")
                assert claim[name] in f"{first_row.partition(' ○')[0].strip()} {second_row.strip()}"
                assert "alpha" not in screen_text(app)
                await press(pilot, "right_square_bracket")
                shown = text_of(app, "steps")
                if name == "d/3":
                    assert "gpt-4, imported: the same · ≠ the order decides" in shown
                    assert f"{left} as A, {right} as B: {left} better" in shown
                    assert f"{right} as A, {left} as B: {right} better" in shown
                else:
                    first, second = LEVELS[name]
                    one, _, other = shown.partition("\n2. ")
                    assert f"1. Judge, {left} as A, {right} as B" in one
                    assert f"verdict: {first}" in one
                    assert other.startswith(f"Judge, {right} as A, {left} as B")
                    assert other.endswith(f"verdict: {second}")
                    assert ("≠ the order decides" in one) == (name == "d/1")
                done[name] = item.item_id, listed
                await press(pilot, keys.get(name, "1" if listed else "5"))
            await settled(pilot.app)
            # The last of the four is the one shown.
            await press(pilot, "p")
            titles = {review_of(app).panes.by_id[pane].border_title for pane in ("subject", "right")}
            assert titles in ({"Left · alpha", "Right · omega"}, {"Left · omega", "Right · alpha"})
        given = {number: (value, origin, reason) for number, value, origin, reason, _ in recorded(workspace)
                 if origin != "import"}  # fmt: skip
        assert {name: given[number] for name, (number, _) in done.items()} == {
            "d/0": (1.0, "accept", ""),
            "d/1": (2.0, "override", ""),
            "d/2": (0.0, "override", "both-bad"),
            "d/3": (0.0, "accept", ""),
        }
        with workspace.reading() as connection:
            report = preference_report(preference_votes(connection, study=STUDY), Options(resamples=0))
        # All four saw the verdict, and the report says so.
        assert (report.n["votes"], report.n["revealed"]) == (4, 4)


@pytest.mark.parametrize(
    ("given", "scale", "shown", "is_answer"),
    [(2.0, "five", "1 left much", True), (-2.0, "tie", "4 right", True), (0.0, "forced", "3 same", False)],
)
def test_a_verdict_is_shown_in_the_levels_that_the_rater_has(
    given: float, scale: str, shown: str, is_answer: bool
) -> None:
    """A judge always has five levels; a tie where one has to be better cannot be accepted."""
    imported = ImportedVerdict(uuid4(), "gpt-4", given, {})
    allowed = scale_values(scale)
    claim = judges_claim(
        None, [imported], AS_LISTED, shown_scale(AS_LISTED), allowed, sides=("left", "right")
    )
    assert claim is not None
    assert claim.summary == f"◆ gpt-4: {shown}"
    assert (claim.value in allowed) == is_answer


@pytest.mark.parametrize(
    ("order", "sides", "placed"),
    [
        (AS_LISTED, ("left", "right"), "A is left, B is right: "),
        (SWAPPED, ("right", "left"), "A is left, B is right: "),
        (AS_LISTED, ("first", "second"), "A is first, B is second: "),
    ],
)
def test_a_reason_that_names_a_or_b_says_where_these_are(
    order: str, sides: tuple[str, str], placed: str
) -> None:
    """A is the candidate that the judge was shown first, which is on the left for a rater."""
    for reason, before in (("B forgets the empty list.", placed), ("Both are right.", "")):
        imported = ImportedVerdict(uuid4(), "gpt-4", 0.0, {order: (0.0, reason)})
        claim = judges_claim(None, [imported], order, shown_scale(order), scale_values("five"), sides=sides)
        assert claim is not None
        assert claim.summary == f"◆ gpt-4: 3 same · {before}{reason}"


def _import_verdicts(workspace: Workspace, folder: Path, name: str, orders: dict[str, int]) -> None:
    """Import the verdicts of a judge on the first candidate of a comparison that is there."""
    records = map(json.loads, (folder / "duels.jsonl").read_text().splitlines())
    record = next(one for one in records if one["id"] == name)
    verdicts = [{"judge": "gpt-4", "value": value, "order": order} for order, value in orders.items()]
    (folder / "judge.jsonl").write_text(json.dumps({**record, "verdicts": verdicts}))
    import_files(workspace, [folder / "judge.jsonl"])
