"""Completions in review: the file at its cursor, other files, models' completions, three questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from entry_bench import MODELS, PREDICTIONS, TASKS, entries, given, hide_models
from kinds import prediction, task
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
from rich.cells import cell_len
from scopes import scope
from settling import settled, until
from textual.app import App, ComposeResult

from screens.app import WorkbenchApp
from screens.items.completion import load
from screens.review.bars import CaseTabs, ClaimLine
from store.kinds.completion import COMPLETION
from store.queries.item import load_item
from store.queries.queue import queue_rows
from store.queries.responses import letter
from store.record.raters import ensure_rater
from store.workspace.duckdb import Workspace

SIZE = (120, 40)
SETTINGS = ("retrieval", "in-file")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with entries(tmp_path, tasks=TASKS, predictions=PREDICTIONS) as made:
        yield made


def tabs(app: WorkbenchApp) -> str:
    return line_of(app, CaseTabs).strip()


async def test_three_keys_judge_a_task_and_the_next_one_comes(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        assert "▸ 5     return make.▮thing_1(value)" in screen_text(app)
        assert text_of(app, "prompt") == "thing_1(value)"
        assert "── 1 · tools.py · score 2.5 ──" in screen_text(app)
        await press(pilot, "a", "b", "c")
        await painted(pilot, 2)
        assert said(app) == "● keep: C drop · project_cc_python/1 · u undo"
        await press(pilot, "c", "c", "b")
        await painted(pilot, 3)
        await press(pilot, "b", "a")
        await pilot.press("a")
        assert "3 of 3 done" in screen_text(app)
        await settled(pilot.app)
        names = ("cross_file", "predictable", "keep")
        values = [(1, 2, 3), (3, 3, 2), (2, 1, 1)]
        assert [row[:4] for row in given(workspace)] == [
            (item, f"completion.{name}", value, "independent")
            for item, each in enumerate(values, start=1)
            for name, value in zip(names, each, strict=True)
        ]
        rows = queue_rows(workspace, scope(ensure_rater(workspace, "dana").id), [1, 2, 3])
        keep = COMPLETION.label_question
        assert keep is not None
        assert [keep.scale.word(row.label) for row in rows] == ["C drop", "B unsure", "A keep"]
        # Undone one by one, each at its item and its question.
        screen = review_of(app)
        for item, question in ((3, 2), (3, 1), (3, 0), (2, 2)):
            await press(pilot, "u")

            def is_there(item: int = item, question: int = question) -> bool:
                return screen.item is not None and (screen.item.item_id, screen.item.at) == (item, question)

            await settled(pilot.app)
            assert is_there()
            await painted(pilot, item)
        assert said(app).startswith("Undone: keep B unsure")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_long_reference_has_the_rows_that_its_file_leaves_free(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    reference = "\n".join(f"step_{number}(value)" for number in range(7))
    long = task(1, groundtruth=reference, right_context="\n")
    with entries(tmp_path, tasks=[long], predictions=[prediction(1, "step_0(value)")]) as made:
        app = review_app(made)
        async with app.run_test(size=size) as pilot:
            await painted(pilot, 1)
            pane = review_of(app).panes.by_id["response-A"]
            # A narrow terminal has a tab for the file as well.
            await press(pilot, *["right_square_bracket"] * (2 if size[0] == 120 else 3))
            assert review_of(app).panes.active == pane.id
            prompt = review_of(app).panes.prompt
            # What is free is known once the tab is laid out, after the keys.
            await until(pilot, lambda: prompt.max_scroll_y == 0, "the reference has its rows")
            assert all(line in screen_text(app) for line in reference.split("\n"))
            assert pane.max_scroll_y == 0


async def test_marks_and_citations_of_a_task(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "f", "m")
        await pilot.press(*"so so", "enter")
        await press(pilot, "v", *["down"] * 4, "v", "escape")
        assert review_of(app).citations.cited[0].text == "    return make.thing_1(value)"
        await press(pilot, "tab", "v", "down", "v", "escape")
        await press(pilot, *["right_square_bracket"] * 3, "v", "v", "escape", "a")
        assert "cites" in text_of(app, "history")
        history = text_of(app, "history")
        for line in (
            "cites code 5",
            "    return make.thing_1(value)",
            "cites context 2",
            "cites completion",
            "cross file A yes · independent",
            "so so",
        ):
            assert line in history, (line, history)
        await press(pilot, "s")
        await painted(pilot, 2)
        await press(pilot, "d", "w")
        assert [row[:3] for row in marks(workspace)] == [
            (1, "flag", True),
            (1, "comment", True),
            (1, "skip", True),
            (2, "cannot_decide", True),
        ]


async def test_completions_are_compared_and_read_one_by_one(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        assert tabs(app) == "[Context] Compare  A  B  C  History  Guide"
        # The file with the reference and the completions beside it are shown alike.
        compared = [review_of(app).panes.by_id[name] for name in ("subject", "response-A", "response-C")]
        for wraps in (False, True):
            assert all(pane.wrap is not wraps for pane in compared)
            await press(pilot, "W")
        await press(pilot, "right_square_bracket")
        assert text_of(app, "comparison").split("\n") == [
            "Reference · 1 line",
            "thing_1(value)",
            "",
            f"A · {MODELS[0]} · in-file",
            "(differs from the reference in 2 places)",
            "not exact · ES 92 · identifiers F1 0.50",
            "thing(value)",
            "",
            "",
            "… 3 lines more under [A]",
            "",
            f"B · {MODELS[0]} · retrieval",
            "(equals the reference)",
            "exact · ES 100 · identifiers exact",
            "thing_1(value)",
            "",
            f"C · {MODELS[1]} · retrieval",
            "(empty completion)",
            "not exact · ES 0 · identifiers F1 0.00",
        ]
        shown = screen_text(app)
        assert "~ 7 thing(value)" in shown
        assert "=15 thing_1(value)" in shown
        assert "Lines: = same · ~ changed · + added." in shown
        await press(pilot, "right_square_bracket")
        assert text_of(app, "response-A") == PREDICTIONS[1]["pred"]
        assert "Not exact · ES 92 difflib" in screen_text(app)
        view = review_of(app).item
        assert view is not None
        part = next(part for part in view.case if part.id == "response-A")
        scored = "ES 92 difflib, 92 Levenshtein, 92.31 RapidFuzz · identifiers F1 0.50."
        assert part.above == f"Not exact · {scored} Differs in 2 places. Lines: = same · ~ changed · + added."
        changed = part.spans[0]
        assert (changed.style, PREDICTIONS[1]["pred"][changed.start : changed.end]) == ("changed", "thing")
        await press(pilot, "right_square_bracket", "right_square_bracket")
        assert screen_text(app).count("n empty completion.") == 1
        await press(pilot, "y")
        # A completion takes the place of the file, for every item that has one there.
        await press(pilot, "left_square_bracket", "x")
        assert said(app) == "B is on the left now; x shows File again."
        assert text_of(app, "subject") == "thing_1(value)"
        await press(pilot, "x", "slash")
        await pilot.press(*"value", "enter")
        assert said(app).startswith("find: 1 of 1")
        await press(pilot, "escape", "z")
        assert "Zoomed" in said(app)
        assert tabs(app) not in screen_text(app)
        assert "1 of 3 · Does the reference use a name" in screen_text(app)


class OnlyTabs(App[None]):
    """Tabs and nothing else; keeps what was chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield CaseTabs()

    def on_case_tabs_chosen(self, message: CaseTabs.Chosen) -> None:
        self.chosen.append(message.pane_id)


@pytest.mark.parametrize("width", [20, 40, 80])
async def test_the_tab_that_is_shown_is_in_sight_among_many(width: int) -> None:
    titles = ["File", "Context", "Compare", *map(letter, range(30)), "漢字", "History", "Guide"]
    app = OnlyTabs()
    async with app.run_test(size=(width, 3)) as pilot:
        tabs = app.query_one(CaseTabs)
        for place, title in enumerate(titles):
            tabs.show([(name, name) for name in titles], title)
            line = str(tabs.content)
            assert f"[{title}]" in line
            assert cell_len(line) <= width
            first, last = (re.search(pattern, line) for pattern in (r"^‹(\d+) ", r" (\d+)›$"))
            shown = re.sub(r"^‹\d+ | \d+›$|[\[\]]", " ", line).split()
            left, right = (int(found[1]) if found else 0 for found in (first, last))
            assert shown == titles[left : len(titles) - right]
            # The next one is in sight, too, where two have room.
            assert place + 1 == len(titles) or titles[place + 1] in shown or width < 30
            # What stands there is what a click chooses.
            await pilot.click(CaseTabs, offset=(cell_len(line[: line.index(f"[{title}]")]) + 1, 0))
            assert app.chosen[-1] == title


def leaks(text: str) -> list[str]:
    return [word for word in (*MODELS, *SETTINGS) if word in text]


@pytest.mark.parametrize("how", ["blind", "assigned"])
async def test_hidden_models_are_nowhere(workspace: Workspace, how: str) -> None:
    dana, ben = ensure_rater(workspace, "dana"), ensure_rater(workspace, "ben")
    blind = how == "blind"
    if not blind:
        hide_models(workspace, "dana", 1)
        hide_models(workspace, "ben", 1)
    app = review_app(workspace, blind=blind)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        seen = screen_text(app)
        assert "1 of 3 · Does the reference use a name" in line_of(app, ClaimLine)
        for _ in range(7):
            await press(pilot, "right_square_bracket")
            seen += screen_text(app)
        assert "3 completions beside the reference · models hidden" in seen
        assert ("not exact · ES 92" in seen) is not blind
        await press(pilot, "a", "u")
        seen += screen_text(app) + repr(review_of(app).item)
        assert not leaks(seen)
    with workspace.reading() as connection:
        entry = load_item(connection, scope(dana.id, blind=blind), COMPLETION, 1)
        assert entry.hides_models
        assert not leaks(repr(entry) + repr(load(connection, scope(dana.id, blind=blind), 1)))
        assert load_item(connection, scope(dana.id, blind=blind), COMPLETION, 1).responses == entry.responses
        # An assignment hides them on that item from that rater alone.
        if not blind:
            assert leaks(repr(load(connection, scope(dana.id, blind=blind), 2)))
            assert leaks(repr(load(connection, scope(ensure_rater(workspace, "eve").id, blind=blind), 1)))
        assert {
            one.text for one in load_item(connection, scope(ben.id, blind=blind), COMPLETION, 1).responses
        } == {each["pred"] for each in PREDICTIONS[:3]}


def test_letters_are_drawn_for_each_rater_and_item(tmp_path: Path) -> None:
    tasks = [task(number) for number in range(1, 21)]
    made = [prediction(each, word, model=word) for each in range(1, 21) for word in ("m1", "m2", "m3")]
    with entries(tmp_path, tasks=tasks, predictions=made) as workspace, workspace.reading() as connection:

        def orders(rater_id: int) -> list[tuple[str, ...]]:
            found = (
                load_item(connection, scope(rater_id, blind=True), COMPLETION, item) for item in range(1, 21)
            )
            return [tuple(one.text for one in entry.responses) for entry in found]

        first, second = orders(1), orders(2)
        assert first != second
        assert len(set(first)) > 3
        assert (orders(1), orders(2)) == (first, second)
