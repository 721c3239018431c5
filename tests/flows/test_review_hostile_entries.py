"""Completions and repository questions that are hostile, huge, empty or wide: shown exactly and harmlessly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from entry_bench import answer, entries
from hostile_texts import BIDI, DANGEROUS, ESCAPES, HOSTILE, MARKUP, harmless
from kinds import prediction, task
from review_bench import line_of, painted, press, review_app, review_of, said, screen_text, text_of
from rich.cells import cell_len
from settling import settled, until
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.review.bars import ClaimLine
from screens.review.panes import PROMPT, SUBJECT
from screens.widgets.text.view import TextPane

SIZES = [(80, 24), (120, 40)]
NAME = "m[bold]x[/]\x1b[31m\u202e%@[y]#1"
HTML = '<script>alert(1)</script>\n\n<img src=x onerror="x()">\n\n<!-- hidden -->\n\n&lt;b&gt; <b>bold</b>'
# The gauge and the question are the same in all columns only when every wide character takes two cells.
WIDE = "| 漢字 | かな |\n|---|---|\n| 一 | 二二二 |\n| aaaa | ﾊﾝｶｸ |"


def read_whole(app: WorkbenchApp, pane_id: str) -> TextPane:
    return app.screen.query_one(f"#{pane_id}", TextPane)


async def copied(pilot: Pilot[Any], app: WorkbenchApp, pane_id: str) -> str:
    """What `y` copies of a pane; what no terminal takes is in a file."""
    pane = app.screen.query_one(f"#{pane_id}", TextPane)
    pane.focus()
    await settled(pilot.app)
    assert app.screen.focused is pane
    await press(pilot, "y")
    sent, _, file = said(app).partition(" written to ")
    if not file:
        assert "sent to the terminal's clipboard" in sent
        return app.clipboard
    return taken(Path(file))


def taken(file: Path) -> str:
    text = file.read_bytes().decode("utf-8", "surrogatepass")
    file.unlink()
    return text


@pytest.mark.parametrize("size", SIZES)
async def test_a_hostile_task_is_harmless_and_exact(tmp_path: Path, size: tuple[int, int]) -> None:
    hostile = task(1, prompt=HOSTILE, groundtruth=HOSTILE, right_context=HOSTILE)
    hostile["metadata"] |= {"task_id": f"t{NAME}/1", "file": NAME, "repository": NAME}
    hostile["crossfile_context"]["list"][0] |= {"retrieved_chunk": HOSTILE, "filename": NAME}
    made = [prediction(1, HOSTILE + "x", model=NAME, setting=NAME, task_id=f"t{NAME}/1")]
    with entries(tmp_path, tasks=[hostile, task(2)], predictions=made) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=size) as pilot:
            await painted(pilot, 1)
            seen = ""
            for _ in range(7):
                await settled(pilot.app)
                seen += screen_text(app)
                await press(pilot, "right_square_bracket")
            assert harmless(seen), sorted(map(ascii, set(seen.replace("\n", "")) & DANGEROUS))
            assert "x: list[int] = [red]not red[/red] a[/]b [@click=app.quit]quit[/]" in seen
            assert text_of(app, SUBJECT) == HOSTILE * 3
            assert text_of(app, "response-A") == HOSTILE + "x"
            assert text_of(app, PROMPT) == HOSTILE
            await press(pilot, "a", "u")
            assert harmless(screen_text(app) + said(app))


@pytest.mark.parametrize("size", SIZES)
async def test_a_hostile_question_is_harmless_and_exact(tmp_path: Path, size: tuple[int, int]) -> None:
    comments = [
        {"by": NAME, "created_at": ESCAPES, "body": body, "reactions": {NAME: 2}} for body in (HTML, BIDI)
    ]
    hostile = {
        "id": f"q{NAME}",
        "question": HOSTILE,
        "answer": f"{HTML}\n\n{HOSTILE}",
        "repository": NAME,
        "commit": NAME,
        "issue": {"number": 1, "title": HOSTILE, "body": HTML, "labels": [MARKUP], "comments": comments},
        "chunks": [{"file": NAME, "text": HOSTILE}],
    }
    score = {"judge": NAME, "measure": "accuracy", "score": "[red]" + NAME, "reason": HOSTILE}
    made = [
        answer(
            f"q{NAME}",
            NAME,
            HTML,
            setting=NAME,
            trial=1,
            scores=[score, {**score, "measure": "clarity", "score": 3}],
        )
    ]
    with entries(tmp_path, questions=[hostile], answers=made) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=size) as pilot:
            await painted(pilot, 1)
            seen = ""
            for _ in range(8):
                await settled(pilot.app)
                seen += screen_text(app)
                await press(pilot, "right_square_bracket")
            assert harmless(seen), sorted(map(ascii, set(seen.replace("\n", "")) & DANGEROUS))
            for part in ("<script>alert(1)</script>", '<img src=x onerror="x()">', "<!-- hidden -->"):
                assert part in seen
            assert "not parsed (“[red]m[bold]x[/]" in seen
            for pane_id, exact in (
                (SUBJECT, hostile["answer"]),
                ("response-A", HTML),
                (PROMPT, HOSTILE),
            ):
                assert await copied(pilot, app, pane_id) == exact
            issue = await copied(pilot, app, "issue")
            assert (issue.count(HTML), issue.count(BIDI)) == (2, 2)
            await press(pilot, "1", "2", "3", "o")
            await pilot.press("4")
            assert "End of the list" in screen_text(app)
            await settled(pilot.app)
            assert harmless(screen_text(app) + said(app))


async def test_a_reference_that_stands_twice_is_marked_at_the_cursor_of_a_long_prompt(tmp_path: Path) -> None:
    line = "value = make.thing(value)\n"
    prompt = line * 5_000 + "value = make."
    twice = task(1, prompt=prompt, groundtruth="thing(value)", right_context="\n" + line * 5_000)
    completion = "\n".join(f"other({number})" for number in range(10_000))
    with entries(tmp_path, tasks=[twice], predictions=[prediction(1, completion)]) as workspace:
        for size in SIZES:
            app = review_app(workspace)
            async with app.run_test(size=size) as pilot:
                await painted(pilot, 1)
                shown = screen_text(app)
                assert shown.count("▮") == 2
                assert "▸ 5001 value = make.▮thing(value)" in shown
                assert "  5000 value = make.thing(value)" in shown
                view = review_of(app).item
                assert view is not None
                (reference,) = (span for span in view.subject.spans if span.style == "reference")
                assert (reference.start, reference.end) == (len(prompt), len(prompt) + len("thing(value)"))
                assert text_of(app, SUBJECT) == prompt + "thing(value)\n" + line * 5_000
                assert "… 9,997 lines more under [A]" in text_of(app, "comparison")
                assert await copied(pilot, app, "response-A") == completion
                await press(pilot, "end")
                assert "other(9999)" in screen_text(app)


async def test_an_issue_of_100_000_characters_and_fences_in_fences(tmp_path: Path) -> None:
    nested = "````markdown\n```python\nx = 1\n```\n````\n\nafter *it*"
    body = nested + "\n\n" + "word *and* word. " * 6_300
    assert len(body) > 100_000
    comments = [{"by": "author", "body": "````\nleft open\n```"}, {"by": "participant 2", "body": "## Next"}]
    long = {
        "id": "q",
        "question": "why [do] I " * 273,
        "issue": {"title": "T", "body": body, "comments": comments},
    }
    assert len(long["question"]) > 3_000
    with entries(tmp_path, questions=[long]) as workspace:
        for size in SIZES:
            app = review_app(workspace)
            async with app.run_test(size=size) as pilot:
                await painted(pilot, 1)
                pane = read_whole(app, SUBJECT)
                await until(pilot, lambda pane=pane: pane.is_rendered)  # type: ignore[misc]
                rows = app.screen.query_one(f"#{PROMPT}", TextPane).scrollable_content_region.height
                assert rows == 2
                assert await copied(pilot, app, PROMPT) == long["question"]
                shown = screen_text(app)
                assert "  ```python" in shown
                assert "after it" in shown
                pane.focus()
                await press(pilot, "end")
                assert "  left open" in screen_text(app)
                assert "── comment · participant 2 ──" in screen_text(app)
                # The block that was left open does not swallow the next comment.
                assert "## Next" not in screen_text(app)
                issue = await copied(pilot, app, SUBJECT)
                assert issue.endswith("\n## Next")
                assert body in issue


async def test_wide_characters_stand_in_their_columns(tmp_path: Path) -> None:
    judgment = {
        "question_id": 1,
        "model": "モデル",
        "judge": ["gpt-4", "single"],
        "user_prompt": f"[質問]\n漢字とかなの違いは何ですか？\n\n[アシスタントの回答の開始]\n{WIDE}\n[アシスタントの回答の終了]",
        "judgment": "評価：不明",
        "score": -1,
        "turn": 1,
    }
    with entries(tmp_path, questions=[judgment]) as workspace:
        for size in SIZES:
            app = review_app(workspace)
            async with app.run_test(size=size) as pilot:
                await painted(pilot, 1)
                await press(pilot, "right_square_bracket", "left_square_bracket")
                pane = read_whole(app, "response-A")
                await until(pilot, lambda pane=pane: pane.is_rendered)  # type: ignore[misc]
                shown = screen_text(app)
                assert "漢字とかなの違いは何ですか？" in shown
                table = [
                    row[row.rindex("│", 0, row.index(word)) :]
                    for word in ("漢字", "一", "aaaa")
                    for row in shown.split("\n")
                    if word in row and "かなの" not in row
                ]
                edges = [[cell_len(row[:at]) for at, sign in enumerate(row) if sign == "│"] for row in table]
                assert len(edges) == 3
                assert edges[0] == edges[1] == edges[2]
                assert all(cell_len(row) == size[0] for row in shown.split("\n"))
                assert text_of(app, "judges").split("\n")[1:] == ["rating: not parsed", "    評価：不明"]
                assert "no judge's score" in line_of(app, ClaimLine)
                assert await copied(pilot, app, "response-A") == WIDE


async def test_empty_texts_are_told_from_missing_ones(tmp_path: Path) -> None:
    empty = task(1, prompt="", groundtruth="x", right_context="")
    blank = [prediction(1, "", model="none"), prediction(1, " \n\t\n", model="blank")]
    answers = [answer("q", "none", ""), answer("q", "blank", " \n")]
    questions = [
        {"id": "q", "question": "Why?", "issue": {"title": "", "body": "", "comments": [{"body": ""}]}}
    ]
    with entries(
        tmp_path, tasks=[empty], predictions=blank, questions=questions, answers=answers
    ) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZES[1]) as pilot:
            await painted(pilot, 1)
            assert "▸ 1 ▮x" in screen_text(app)
            comparison = text_of(app, "comparison")
            assert "A · blank\n(only blanks)" in comparison
            assert "B · none\n(empty completion)" in comparison
            await press(pilot, *["right_square_bracket"] * 3, "a", "a", "a")
            await painted(pilot, 2)
            await press(pilot, "t", "t", "t", "t")
            assert "An empty answer." in screen_text(app)
