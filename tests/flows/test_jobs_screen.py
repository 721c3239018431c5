"""The jobs screen and the line at the foot, with real jobs that answer from a file."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from apps import app_of
from loopback_models import LoopbackModels, Outcome, Seen, Status
from review_bench import painted, screen_text
from settling import Gate, until
from small_workspace import BEGAN, GOOD, labelled_by_agents, pairs_workspace, rows, script, verdicts
from sqlalchemy import update
from textual.widgets import Input, Log, Static

from agents.jobs.budget import Budget
from agents.jobs.estimate import estimate
from agents.jobs.events import JobLog, JobProgressed, Spent
from agents.llm.prices import Price
from agents.pipelines.pair_annotation.figures import counts_of
from agents.pipelines.spec import PipelineFigures
from agents.settings import JobSettings
from screens.app import WorkbenchApp
from screens.context import Plan
from screens.home.screen import HomeScreen
from screens.jobs.budget import BudgetScreen
from screens.jobs.job_line import JobLine, bar, job_line
from screens.jobs.jobs import JobReported
from screens.jobs.outcomes import OutcomesScreen
from screens.jobs.pace_lines import budget_end, rate_line, spend_line
from screens.jobs.parts import open_parts
from screens.jobs.run_tables import funnel
from screens.jobs.screen import JobsScreen
from screens.jobs.start import StartScreen
from screens.jobs.throttle import LEAST_SECONDS, ThrottledReader
from screens.queue.screen import QueueScreen
from screens.widgets.key_line import KeyLine
from store.analysis.pair_runs import PairCounts
from store.formatting import compact, format_duration
from store.queries.run_figures import ListedRun, RunFigures, listed_runs
from store.queries.run_pace import RunPace
from store.tables.columns import table_of
from store.tables.runs import Run, StepRow
from store.workspace.duckdb import Workspace

COUNT = 12
LONG = 600.0
"""Seconds of a turn that does not end while a test looks at the job."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Twelve pairs that nobody has looked at."""
    pairs = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(1, COUNT + 1)]
    with pairs_workspace(tmp_path, pairs) as made:
        yield made


def replies(*, hold: int | None = None) -> Iterator[tuple[str, str, float]]:
    """Seven matches, three other ones, two refusals; the item `hold` takes for ever."""
    for number in range(1, COUNT + 1):
        word = "!refused" if number in (3, 5) else "clear_match" if number <= 9 else "clear_nonmatch"
        yield f"q/{number}", word, LONG if number == hold else 0.0


async def start(pilot: Any) -> None:
    """Press g, read the estimate or why there is none, and start."""
    await pilot.press("g")
    assert isinstance(pilot.app.screen, StartScreen)
    await pilot.press("enter")


def text(app: WorkbenchApp, selector: str) -> str:
    """What a part of the screen says."""
    return str(app.screen.query_one(selector, Static).content)


def log_lines(app: WorkbenchApp) -> str:
    """The log as it is shown."""
    return "\n".join(app.screen.query_one(Log).lines)


async def opened(pilot: Any) -> JobsScreen:
    """Open the jobs screen and wait until it has read the runs."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, HomeScreen) and app.screen.facts is not None)
    await pilot.press("J")
    await until(pilot, lambda: isinstance(app.screen, JobsScreen) and app.screen.runs is not None)
    screen = app.screen
    assert isinstance(screen, JobsScreen)
    return screen


async def test_before_any_run_the_screen_says_what_is_missing(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        # Nothing has run yet, and nothing can.
        await opened(pilot)
        assert "No job has run in this workspace yet" in text(app, "#now")
        assert "No model is set. Name one in" in text(app, "#now")
        assert not app.screen.query_one("#parts").display
        # Keys fit one line on a narrow terminal.
        line = app.screen.query_one(KeyLine)
        assert line.region.height == 1
        assert str(line.content).endswith("? keys")
        # Text in the log is shown harmlessly.
        app.post_message(JobReported(JobLog(0, "warning", "a\x1b[31mred\u202e [bold]x[/]\nline")))
        await until(pilot, lambda: "red" in log_lines(app))
        assert log_lines(app).startswith("! a␛[31mred<U+202E> [bold]x[/]⏎line")
        # Keys that steer a job have nothing to steer.
        await pilot.press("p", "x", "escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))


async def test_a_job_runs_to_its_end_before_ones_eyes_and_its_outputs_are_listed(
    workspace: Workspace, tmp_path: Path
) -> None:
    app = app_of(workspace, annotation=script(tmp_path, replies()), annotation_problem="")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert "g lets them label" in text(app, "#now")
        await start(pilot)
        await until(pilot, lambda: "✓ done · 10 of 12 labelled · 2 failed" in text(app, "#now"))
        await until(pilot, lambda: screen.counts is not None and screen.counts.labelled == 10)
        await until(pilot, lambda: "labels" in text(app, "#funnel") and " 10 " in text(app, "#funnel"))
        assert "0 no match 3 · 1 match 7" in text(app, "#funnel")
        assert text(app, "#failures").split()[0] == "2"
        # The same failure over two items is one line.
        assert log_lines(app).startswith("! 2 × Model declined")
        assert "last q/5" in " ".join(log_lines(app).split())
        assert len(verdicts(workspace)) == 10
        assert rows(workspace, Run)[0]["state"] == "done"

        # Equal outputs stand once, and open to their items.
        await pilot.resize_terminal(100, 30)
        await pilot.press("enter")
        items = listed(app)
        assert items.outputs is not None
        # Backwards from the first group: the last output of the only role.
        await pilot.press("shift+tab")
        assert items.items.count == 3
        assert "▸         3    justification: as it reads · assessment: clear_nonmatch" in text(
            app, "#groups"
        )
        assert items.items.ids.tolist() == [10, 11, 12]
        assert "r retry" not in text(app, "KeyLine")
        await pilot.press("shift+tab", "shift+tab")
        assert items.items.count == 10
        assert "▸        10  Screener: 2 different outputs" in text(app, "#groups")
        await pilot.press("tab")
        assert items.items.count == 7
        await pilot.press("enter")
        await painted(pilot)


async def test_a_run_of_other_settings_is_not_tried_again_and_the_new_one_has_its_own_figures(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = [(2, "Model declined: no"), (4, "Model declined: no")]
    labelled_by_agents(workspace, [(1, 1.0, "tested")], refused, fullness=6)
    app = app_of(workspace, annotation=script(tmp_path, replies()), annotation_problem="")
    ended = Gate()
    ended.set()

    def once_ended(connection: Any) -> tuple[ListedRun, ...]:
        assert ended.wait(120)
        return listed_runs(connection)

    monkeypatch.setattr("screens.jobs.screen.listed_runs", once_ended)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.is_read and "1 match 1" in text(app, "#funnel"))
        # A run of other settings is not tried again by these.
        await pilot.press("tab", "tab")
        assert [line.split() for line in text(app, "#failures").splitlines()] == [
            ["2", "refused"],
            ["2", "×", "Model", "declined:", "no"],
        ]
        await pilot.press("r")
        await until(
            pilot, lambda: bool(app.context.jobs.started) and app.context.jobs.started[-1].state == "failed"
        )
        error = app.context.jobs.started[-1].error
        assert error is not None
        assert error.title == "Not this run's settings"
        assert len(rows(workspace, Run)) == 1
        assert len(verdicts(workspace)) == 1

        # A job can be at its end before the list of runs is read again.
        await pilot.resize_terminal(120, 40)
        assert "1 match 1" in text(app, "#funnel")
        ended.clear()
        await start(pilot)
        await until(pilot, lambda: "done" in {job.state for job in app.context.jobs.started})
        ended.set()
        await until(pilot, lambda: screen.run_shown is not None and screen.run_shown.labelled == 10)
        await until(pilot, lambda: "0 no match 3 · 1 match 7" in text(app, "#funnel"))
        assert "arbiter" not in text(app, "#stages")


async def test_a_blind_review_sees_progress_and_nothing_that_models_said(tmp_path: Path) -> None:
    with pairs_workspace(tmp_path, [("q/1", "query 1", GOOD)]) as one:
        for name in ("cosqa-plus:one", "cosqa-plus:two"):
            labelled_by_agents(one, [(1, 1.0, "screened")], name=name)
        settings = script(tmp_path, [("q/1", "clear_match", 0.0)])
        app = app_of(one, annotation=settings, annotation_problem="", blind=True)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await opened(pilot)
            # Runs are not compared, and items not listed by what models said of them.
            await pilot.press("c")
            assert "cannot be compared" in [each.message for each in app._notifications][-1]
            assert app.screen is screen
            assert "compare" not in text(app, "KeyLine")
            await pilot.press("enter")
            items = listed(app)
            assert items.outputs == ()
            assert [group.words for group in items.groups] == ["all failed", "labelled"]
            await pilot.press("escape")
            assert app.screen is screen
            # A job shows its progress, and no labels.
            await pilot.press("g")
            await until(pilot, lambda: "1 pair" in screen_text(app))
            assert "Unclear" not in screen_text(app)
            await pilot.press("enter")
            await until(pilot, lambda: "✓ done · 1 of 1 labelled" in text(app, "#now"))
            await until(pilot, lambda: screen.counts is not None and screen.counts.labelled == 1)
            await until(pilot, lambda: screen.stages is not None and "labelled" in text(app, "#funnel"))
            shown = screen_text(app)
            assert "labels and assessments are hidden" in shown
            for word in ("match", "unclear", "screen", "ruled", "executed"):
                assert word not in shown.lower(), shown


async def test_a_dialog_says_what_a_run_will_take_and_nothing_starts_before_that(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimated = Gate()

    def slow(*arguments: Any) -> Any:
        estimated.wait(120)
        return estimate(*arguments)

    monkeypatch.setattr("agents.jobs.estimate.estimate", slow)
    settings = replace(script(tmp_path, replies()), budget=Budget(requests=50))
    app = app_of(workspace, annotation=settings, annotation_problem="")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        # Nothing is started before the estimate is seen.
        await pilot.press("g", "enter")
        await until(pilot, lambda: "! Wait for the estimate" in screen_text(app))
        assert not app.context.jobs.started
        estimated.set()
        await until(pilot, lambda: "12 pairs" in screen_text(app))
        assert "! Wait for the estimate" not in screen_text(app)
        # The dialog says what a run will take.
        shown = screen_text(app)
        for words in ("full. As paper", "scripted:", "50 requests", "12 pairs", "tokens"):
            assert words in shown
        assert not app.context.jobs.started
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, JobsScreen))
        assert not app.context.jobs.started
        # A number of items that is none is refused, another one is estimated.
        await pilot.press("g", "x", "enter")
        await until(pilot, lambda: "Type a whole number of items" in screen_text(app))
        assert isinstance(app.screen, StartScreen)
        await pilot.press("backspace", "4")
        await until(pilot, lambda: "4 pairs" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "✓ done · 3 of 4 labelled · 1 failed" in text(app, "#now"))
        assert len(app.context.jobs.started) == 1


async def test_a_model_that_cannot_be_opened_is_said_by_the_estimate_and_by_the_start(
    workspace: Workspace, tmp_path: Path
) -> None:
    settings = script(tmp_path, [])
    (tmp_path / "replies.jsonl").unlink()
    app = app_of(workspace, annotation=settings, annotation_problem="")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("g")
        await until(pilot, lambda: "! Scripted replies cannot be read" in screen_text(app))
        # The path may be wrapped anywhere.
        assert "replies.jsonl" in re.sub(r"[^\w./-]", "", screen_text(app))
        await pilot.press("enter")
        assert "! Nothing is started" in screen_text(app)
        assert not app.context.jobs.started


async def test_without_a_configured_model_the_dialog_asks_for_one_and_remembers_it(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    model = script(tmp_path, replies()).model
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "g asks for one before it starts" in text(app, "#now")
        await pilot.press("g")
        shown = screen_text(app)
        for words in (
            "No model is set. Name one in",
            "Enter start · ↓ other models · Tab number",
            "Esc cancel",
        ):
            assert words in shown
        # Nothing is started without a model, nor with a name that is none.
        await pilot.press("enter")
        assert "! Type a model, such as openai:NAME" in screen_text(app)
        for name, problem in (
            ("gpt", "! Model name incomplete"),
            ("opnai:x", "! Unknown model provider"),
            ("openai:x", "! No key: OpenAI needs a key and none is set"),
        ):
            app.screen.query_one("#model", Input).value = name
            await until(pilot, lambda problem=problem: problem in screen_text(app))
            await pilot.press("enter")
            assert isinstance(app.screen, StartScreen)
            assert app.screen.query_one("#model", Input).value == name
        assert not app.context.jobs.started
        # The providers can be chosen, and a name be typed after them.
        app.screen.query_one("#model", Input).value = ""
        await pilot.press("down")
        assert app.screen.query_one("#model", Input).value == "anthropic:"
        await pilot.press("up")
        assert app.screen.query_one("#model", Input).value == "scripted:"
        await pilot.press(*model.removeprefix("scripted:"))
        await until(pilot, lambda: "12 pairs" in screen_text(app))
        # Another model that is typed is not started as the one that was estimated.
        line = app.screen.query_one("#model", Input)
        line.value = "openai:other"
        app.screen.query_one("#limit", Input).value = "3"
        await app.run_action("screen.begin")
        assert isinstance(app.screen, StartScreen)
        await until(pilot, lambda: "! No key" in screen_text(app))
        assert not app.context.jobs.started
        # Escape leaves it, and forgets the model.
        await pilot.press("escape", "g")
        assert app.screen.query_one("#model", Input).value == ""
        app.screen.query_one("#model", Input).value = model
        await until(pilot, lambda: "12 pairs" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "✓ done · 10 of 12 labelled" in text(app, "#now"))
        (run,) = rows(workspace, Run)
        assert run["model"].startswith("scripted:replies.jsonl")
        # It is that of the next run, and of what failed.
        await pilot.press("g")
        assert app.screen.query_one("#model", Input).value == model
        await pilot.press("escape", "r")
        await until(pilot, lambda: len(app.context.jobs.started) == 2)
        await until(pilot, lambda: app.context.jobs.started[1].state == "done")
        assert len(rows(workspace, Run)) == 1


async def test_the_dialog_offers_configured_models_and_those_of_earlier_runs(
    workspace: Workspace, tmp_path: Path
) -> None:
    labelled_by_agents(workspace, [(1, 1.0, "screened")])
    changed = {
        "configuration": '{"model": "openai:big", "roles": {"screener": {"model": "anthropic:small"}}}'
    }
    workspace.lane.submit(
        lambda connection: connection.execute(update(table_of(Run)).values(changed))
    ).result()
    settings = script(tmp_path, replies())

    def make_plan(_kind: str, name: str, model: str) -> Plan:
        chosen = replace(settings, agents=name or "full", model=model or settings.model)
        return Plan(chosen, names=("full", "single"), models=(settings.model, "anthropic:mine"))

    app = app_of(workspace, make_plan=make_plan)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("g", "tab")
        line = app.screen.query_one("#model", Input)
        assert "1 more" not in text(app, "#models")
        assert "anthropic:mine               configured" in text(app, "#models")
        seen = []
        for _ in range(6):
            await pilot.press("down")
            seen.append(line.value)
        assert seen == [
            "anthropic:mine",
            "openai:big",
            "anthropic:small",
            "anthropic:",
            "openai:",
            "scripted:",
        ]
        assert "openai:" in text(app, "#models")
        # A model that is chosen stays when other agents are.
        await pilot.press("down")
        assert line.value == settings.model
        line.value = "anthropic:mine"
        await pilot.press("tab", "down")
        await until(pilot, lambda: "single. One model" in screen_text(app))
        assert line.value == "anthropic:mine"
        screen = app.screen
        assert isinstance(screen, StartScreen)
        await until(pilot, lambda: screen.settings.model == "anthropic:mine")
        assert screen.settings.agents == "single"


async def test_a_service_without_schemas_is_named_and_after_its_run_nothing_is_left_to_do(
    workspace: Workspace,
) -> None:
    def no_schema(seen: Seen, _number: int) -> Outcome:
        asked = (seen.body.get("response_format") or {}).get("type")
        return Status(400, "This response_format type is unavailable now") if asked == "json_schema" else None

    with LoopbackModels(no_schema, replies={"ArbiterReply": {"reason": "read", "label": 1}}) as server:
        settings = JobSettings("openai:deep", agents="single", models=server.settings(), concurrency=4)
        app = app_of(workspace, annotation=settings, annotation_problem="")
        async with app.run_test(size=(120, 40)) as pilot:
            await opened(pilot)
            await start(pilot)
            await until(pilot, lambda: "✓ done · 12 of 12 labelled" in text(app, "#now"))
            # It is named in the status and in the log.
            assert "openai:deep is asked for json_object_schema" in text(app, "#now")
            (line,) = [line.text for line in app.context.jobs.status_of(1).log if "refuses" in line.text]
            assert 'models.openai_structured = "json_object_schema"' in line
            # Nothing is started where nothing is left to do.
            await pilot.press("g")
            await until(pilot, lambda: "nothing to do: this run has labelled all pairs" in screen_text(app))
            await pilot.press("enter")
            assert isinstance(app.screen, StartScreen)
            assert len(app.context.jobs.started) == 1


async def test_a_running_job_shows_on_every_screen_is_steered_and_goes_on_where_it_stopped(
    workspace: Workspace, tmp_path: Path
) -> None:
    app = app_of(workspace, annotation=script(tmp_path, replies(hold=11)), annotation_problem="")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await start(pilot)
        await until(pilot, lambda: "▶ running · 8 of 12 labelled · 2 failed" in text(app, "#now"))
        assert "p pause" in text(app, "KeyLine")
        # It shows on every screen.
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        line = app.screen.query_one(JobLine)
        await until(pilot, lambda: line.display and "▶ agents running" in str(line.content))
        assert "10 of 12" in str(line.content)
        assert "J shows more" in str(line.content)
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        assert app.screen.query_one(JobLine).display
        # It is paused, goes on, and is stopped.
        await pilot.press("J", "p")
        await until(pilot, lambda: isinstance(app.screen, JobsScreen) and "‖ paused" in text(app, "#now"))
        assert "p continues" in text(app, "#now")
        await until(pilot, lambda: "p go on" in text(app, "KeyLine"))
        await pilot.press("p")
        await until(pilot, lambda: "▶ running" in text(app, "#now"))
        await pilot.press("x")
        await until(pilot, lambda: "■ stopped" in text(app, "#now"))
        assert "g continues the run" in text(app, "#now")
        assert "g go on" in text(app, "KeyLine")
        assert app.context.jobs.runner.running is None
        assert len(verdicts(workspace)) == 8
        assert "p pause" not in text(app, "KeyLine")
        # A stopped run goes on where it stopped: of the four without a verdict, those that failed come first.
        await start(pilot)
        await until(pilot, lambda: "▶ running · 8 of 12 labelled · 2 failed" in text(app, "#now"))
        assert len(verdicts(workspace)) == 8
        assert len(rows(workspace, Run)) == 1
        await pilot.press("x")
        await until(pilot, lambda: "■ stopped" in text(app, "#now"))


def test_a_bar_is_full_only_at_the_end() -> None:
    assert bar(0, 10, 4) == "░░░░"
    assert bar(1, 1000, 4) == "▏░░░"
    assert bar(999, 1000, 4) == "███▉"
    assert bar(10, 10, 4) == "████"
    assert bar(0, 0, 4) == "░░░░"


@pytest.mark.parametrize(
    ("done", "total", "line"),
    [
        (3, 4, "✓ agents done ███████▌░░ 3 of 4 · J shows more"),
        (0, 0, "✓ agents done · nothing was left to do"),
    ],
)
def test_a_job_that_found_nothing_to_do_says_so(done: int, total: int, line: str) -> None:
    progress = JobProgressed(1, uuid4(), done, 0, total, 1.0, 0.0, "", Spent(), done)
    job = SimpleNamespace(state="done", title="agents", said="", progress=progress)
    assert job_line(job, "J", 80).startswith(line)  # type: ignore[arg-type]


def test_durations_in_words() -> None:
    assert [format_duration(seconds) for seconds in (12, 89, 200, 7_500)] == [
        "12 s",
        "89 s",
        "3 min",
        "2 h 5 min",
    ]


def funnel_of(counts: PairCounts, figures: RunFigures) -> list[str]:
    return funnel(figures, counts_of(counts, figures, executes=True), "pair", 76)


def test_the_funnel_adds_up() -> None:
    counts = PairCounts(clear_match=20, clear_nonmatch=30, unclear=50, executed=48, executable=40)
    figures = RunFigures(labelled=97, labels={0.0: 50, 1.0: 47})
    lines = funnel_of(counts, figures)
    assert [int(re.findall(r"\d+", line)[0]) for line in lines] == [100, 20, 30, 50, 48, 47, 97]
    assert "8 without a result" in lines[4]
    # The bars have the room that the words leave, and one scale.
    assert lines[0].count("█") == 76 - 30 - len("  8 without a result") == len(lines[3].split()[-1])
    assert lines[3].count("█") == lines[0].count("█") // 2
    assert "0 no match 50 · 1 match 47" in lines[6]
    waiting = funnel_of(replace(counts, executed=45), replace(figures, needs_sandbox=1_234))
    assert [line.index("│") if "│" in line else line.index("─") - 1 for line in waiting[4:7]] == [3, 3, 3]
    assert {len(line[: re.search(r"[0-9,]+", line).end()]) for line in waiting} == {28}


def test_labels_that_need_further_lines_stand_below_each_other() -> None:
    labels = {-2.0: 2, -1.0: 3, 0.0: 4, 1.0: 1, 2.0: 2}
    lines = funnel(RunFigures(labelled=12, labels=labels), PipelineFigures(), "comparison", 76)
    assert [line[:30].split() for line in lines] == [["labels", "12"], [], []]
    assert [line[30:] for line in lines] == [
        "-2 second much better 2 · -1 second better 3 ·",
        "0 same 4 · 1 first better 1 ·",
        "2 first much better 2",
    ]


def test_the_funnel_of_agents_that_execute_nothing_says_what_they_did() -> None:
    screened = PairCounts(clear_match=2, clear_nonmatch=3, unclear=5)
    lines = funnel_of(screened, RunFigures(labelled=10, paths={"screened": 5, "simulated": 5}))
    assert [line.split()[:2] for line in lines[-2:]] == [["└─", "simulated"], ["labels", "10"]]
    assert not any("executed" in line or "ruled" in line for line in lines)
    read, labels = funnel_of(PairCounts(), RunFigures(labelled=4, paths={"read": 4}))
    assert read.split()[:2] == ["read", "4"]
    assert labels.split() == ["labels", "4"]


async def test_what_failed_is_listed_opened_and_tried_again_though_another_run_labelled_it(
    workspace: Workspace, tmp_path: Path
) -> None:
    labelled_by_agents(workspace, [(number, 1.0, "screened") for number in range(1, 13)])
    app = app_of(workspace, annotation=script(tmp_path, replies()), annotation_problem="")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await start(pilot)
        await until(pilot, lambda: "✓ done · 10 of 12 labelled · 2 failed" in text(app, "#now"))
        await until(pilot, lambda: bool(screen.causes))
        await until(pilot, lambda: "r retry" in text(app, "KeyLine"))
        # What the other run labelled is not told of the run that failed.
        await pilot.press("enter")
        items = listed(app)
        assert items.items.ids.tolist() == [3, 5]
        failed = [items.items.row_of(number) for number in (3, 5)]
        assert [(row.agent_label, row.agent_path) for row in failed if row] == [(None, "failed")] * 2
        assert "failed" in screen_text(app)
        # What failed is opened, and the list goes to the item seen last.
        await pilot.press("down", "enter")
        review = await painted(pilot)
        assert review.order.item_id == 5
        await pilot.press("p")
        assert review.item is not None
        assert review.item.item_id == 3
        await pilot.press("q")
        assert app.screen is items
        assert items.items.item_id == 3
        await pilot.press("escape")
        assert app.screen is screen
        # What steers a job is not offered for another run.
        await pilot.press("down")
        assert "12 of 12 labelled" in text(app, "#now")
        assert "p pause" not in text(app, "KeyLine")
        assert "r retry" not in text(app, "KeyLine")
        # What failed is tried again.
        await pilot.press("up", "r")
        await until(
            pilot, lambda: len(app.context.jobs.started) == 2 and app.context.jobs.started[-1].state == "done"
        )
        assert len(rows(workspace, Run)) == 2
        assert sorted(step["item_id"] for step in rows(workspace, StepRow) if step["attempt"]) == [3, 5]


def listed(app: WorkbenchApp) -> OutcomesScreen:
    """The items of a run, which are listed."""
    screen = app.screen
    assert isinstance(screen, OutcomesScreen)
    assert screen.listed is not None
    return screen


def test_parts_that_say_something_open_while_they_fit() -> None:
    wanted = {"funnel": 7, "stages": 5, "failures": 2, "log": 0}
    assert open_parts(wanted, 40, "funnel", border=2) == {"funnel", "stages", "failures"}
    assert open_parts(wanted, 12, "funnel", border=2) == {"funnel"}
    assert open_parts(wanted, 12, "stages", border=2) == {"stages"}
    assert open_parts(wanted, 16, "funnel", border=2) == {"funnel", "failures"}
    # What is first is shown, come what may.
    assert open_parts(wanted, 4, "funnel", border=2) == {"funnel"}


HALF_HOUR = RunPace(1800.0, *((number / 24,) * 24 for number in (60.0, 3.0, 60_000.0, 120.0)))
"""The pace of a run that labelled 60 items in half an hour, for 3 dollars."""


@pytest.mark.parametrize(
    ("budget", "done", "total", "end"),
    [
        # 2 items a minute at 5 cents: a dollar is left, so 20 items, so 10 minutes.
        (Budget(money=4.0), 60, 500, "at this rate until 09:40"),
        # Of two bounds the first one reached: 10 items more, so 5 minutes.
        (Budget(money=4.0, pairs=70), 60, 500, "at this rate until 09:35"),
        (Budget(tokens=10**6), 60, 5_000, "at this rate until 17:20"),
        (Budget(requests=10**5), 60, 10**6, "at this rate until 2024-03-21 17:40"),
        (Budget(money=4.0), 60, 75, "lasts to the end"),
        (Budget(money=4.0), 0, 500, ""),
        (Budget(), 60, 500, ""),
    ],
)
def test_the_end_of_a_budget_in_sight(
    monkeypatch: pytest.MonkeyPatch, budget: Budget, done: int, total: int, end: str
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    spent = Spent(requests=120, tokens=60_000, money=3.0)
    progress = JobProgressed(1, uuid4(), done, 0, total, 1800.0, done / 30, "", spent, done)
    assert budget_end(spent, HALF_HOUR, budget, progress, BEGAN) == end
    monkeypatch.undo()
    time.tzset()


def test_spending_is_drawn_with_its_bound() -> None:
    spent = Spent(requests=120, tokens=60_000, money=3.0)
    line = spend_line(spent, HALF_HOUR, 120, budget=Budget(money=4.0), end="at this rate until 09:40")
    bars = "█" * 24
    assert line == f"spend ▕{bars}▏ $3.00 of $4.00 · at this rate until 09:40 · 120 requests · 60k tokens"
    assert rate_line(HALF_HOUR, None, 74) == f"rate  ▕{bars[:12]}▏ 60 items in 30 min"
    assert spend_line(Spent(), None, 74) == ""


def test_what_is_read_rests_as_long_as_it_took_ten_times() -> None:
    """A read that takes long is not begun again at every event (see the benchmark of large runs)."""
    assert ThrottledReader.rest_after(0.01) == LEAST_SECONDS
    assert ThrottledReader.rest_after(2.5) == 25.0


@pytest.mark.parametrize(
    ("bound", "said", "typed"),
    [
        # What is typed in turn, with what is answered; the last one is enough for the run.
        (
            {"pairs": 2},
            "2 of 2 items",
            [("", "Type a whole number"), ("9.5", "whole number"), ("2", "2 items are spent"), ("1,000", "")],
        ),
        (
            {"money": 0.0008, "tokens": 10**9},
            "$0.0008 of $0.0008 · 840 of 1,000,000,000 tokens",
            [("12,50", "Type an amount"), ("0.0004", "$0.0008 are spent"), ("$3.50", "")],
        ),
    ],
    ids=["pairs", "money"],
)
async def test_a_run_that_paused_at_its_budget_is_given_more_and_goes_on(
    workspace: Workspace,
    tmp_path: Path,
    bound: dict[str, Any],
    said: str,
    typed: list[tuple[str, str]],
) -> None:
    settings = script(tmp_path, replies())
    prices = {"scripted:*": Price(input=1, output=0)}  # $0.0004 a reply
    models = settings.models.model_copy(update={"prices": prices})
    settings = replace(settings, budget=Budget(**bound), models=models)
    app = app_of(workspace, annotation=settings, annotation_problem="")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await start(pilot)
        await until(pilot, lambda: said in text(app, "#now") and "‖ paused" in text(app, "#now"))
        assert "Budget reached" in text(app, "#now")
        assert "p raises the budget and continues" in text(app, "#now")
        await until(pilot, lambda: "p more budget" in text(app, "KeyLine"))
        await until(pilot, lambda: len(verdicts(workspace)) == 2)
        assert len(rows(workspace, StepRow)) == 2
        for number, answer in typed:
            await pilot.press("p") if app.screen is screen else None
            await until(pilot, lambda: isinstance(app.screen, BudgetScreen))
            assert "used up" in text(app, "#spent")
            app.screen.query_one(Input).value = number
            await pilot.press("enter")
            if answer:
                await until(pilot, lambda answer=answer: answer in text(app, "#wrong"))
        await until(pilot, lambda: "✓ done · 10 of 12 labelled · 2 failed" in text(app, "#now"))
        assert len(verdicts(workspace)) == 10
        assert len(rows(workspace, StepRow)) == 12
        steps = rows(workspace, StepRow)
        requests = sum(step["requests"] for step in steps)
        tokens = sum(step["tokens_in"] + step["tokens_out"] for step in steps)
        money = sum(step["money"] for step in steps)
        assert f"${money:.4f}" in text(app, "#now")
        assert f"{requests} requests" in text(app, "#now")
        assert (f"{tokens:,} of" if "tokens" in bound else f"{compact(tokens)} tokens") in text(app, "#now")


async def test_a_run_left_at_its_budget_stays_paused(workspace: Workspace, tmp_path: Path) -> None:
    settings = replace(script(tmp_path, replies()), budget=Budget(requests=1), concurrency=3)
    app = app_of(workspace, annotation=settings, annotation_problem="")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await start(pilot)
        await until(pilot, lambda: "p more budget" in text(app, "KeyLine"))
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, BudgetScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert [job.state for job in app.context.jobs.at_work] == ["paused"]
        await pilot.press("x")
        await until(pilot, lambda: not app.context.jobs.at_work)


async def test_runs_of_earlier_sessions_are_compared_and_added_up(workspace: Workspace) -> None:
    labelled_by_agents(workspace, [(1, 1.0, "screened"), (2, 0.0, "tested")])
    labelled_by_agents(
        workspace, [(n, float(n % 2), "screened") for n in range(1, 11)], name="cosqa-plus:one"
    )
    labelled_by_agents(workspace, [(n, float(n > 4), "screened") for n in range(1, 9)], name="cosqa-plus:two")
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        # Two runs are compared, and the items behind a cell opened.
        await pilot.press("c")
        await until(pilot, lambda: "▸× cosqa-plus:two" in text(app, "#runs").replace("◆", " "))
        await pilot.press("down", "c")
        await until(pilot, lambda: "kappa" in screen_text(app))
        shown = screen_text(app)
        assert "↓ cosqa-plus:two · → cosqa-plus:one" in shown
        assert "8 units" in shown
        assert "equal 50.0 % · kappa 0.00" in shown
        await pilot.press("right", "enter")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen) and "2 of 12" in screen_text(app))
        queue = app.screen
        assert isinstance(queue, QueueScreen)
        assert queue.queue_query.wanted.items == (1, 3)
        assert queue.queue_query.wanted.named == "cosqa-plus:two 0 no match · cosqa-plus:one 1 match"
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is screen)
        assert "×" not in text(app, "#runs")

        # A run of an earlier session is added up, though none can be started.
        await pilot.resize_terminal(120, 40)
        await pilot.press("down")
        assert "▸  cosqa-plus:scripted" in text(app, "#runs").replace("◆", " ")
        await until(pilot, lambda: "2 of 2 labelled" in text(app, "#now"))
        assert "asks for one before it starts" in text(app, "#now")
        await until(pilot, lambda: "ruled" in text(app, "#funnel"), "the funnel")
        # What says nothing folds to a line, and leaves its room to the others.
        await until(pilot, lambda: "nothing failed" in text(app, "#folded"))
        assert "none" in text(app, "#folded")
        assert app.screen.query_one("#funnel").region.width == 120


async def test_a_service_that_is_used_up_is_waited_for_and_that_is_said_once(workspace: Workspace) -> None:
    with LoopbackModels(lambda seen, number: Status(429, retry_after=60.0)) as server:
        settings = JobSettings(
            "openai:m", concurrency=4, stop_seconds=0.0, models=server.settings(), sandbox="process"
        )
        app = app_of(workspace, annotation=settings, annotation_problem="")
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await start(pilot)
            status = re.compile(r"▶ running · waits for the service until \d\d:\d\d:\d\d")
            await until(pilot, lambda: bool(status.search(text(app, "#now"))))
            await until(pilot, lambda: "limits are used up" in log_lines(app))
            await until(pilot, lambda: len(server.requests) == 4)
            assert len(app.context.jobs.status_of(1).log) == 1
            assert app.context.jobs.status_of(1).log[0].count == 1
            await pilot.press("x")
            await until(pilot, lambda: "■ stopped" in text(app, "#now"))
            assert "waits" not in text(app, "#now")


async def test_a_stopped_run_goes_on_with_its_own_agents(workspace: Workspace, tmp_path: Path) -> None:
    labelled_by_agents(workspace, [(1, 1.0, "screened")])
    changed = {"state": "stopped", "configuration": '{"pipeline": "single"}'}
    workspace.lane.submit(
        lambda connection: connection.execute(update(table_of(Run)).values(changed))
    ).result()
    settings = script(tmp_path, replies())

    def make_plan(_kind: str, name: str, _model: str) -> Plan:
        return Plan(replace(settings, agents=name or settings.agents), names=("full", "single"))

    app = app_of(workspace, annotation=settings, annotation_problem="", make_plan=make_plan)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "go on" in screen_text(app).splitlines()[-1])
        await pilot.press("g")
        await until(pilot, lambda: "single. One model" in screen_text(app))
        await pilot.press("down")
        await until(pilot, lambda: "full. As paper" in screen_text(app))
