"""Pictures of home, the queue and the jobs screen: every state at 80x24, 100x30 and 120x40."""

import shutil
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from apps import app_of, context_of
from pictures import MEDIUM, NARROW, WIDE, Sizes, at, named, states
from settling import settled, until
from small_workspace import (
    BEGAN,
    CAUSES,
    GOOD,
    WRONG,
    import_of,
    label,
    labelled_by_agents,
    mark,
    pairs_workspace,
    recorded,
)
from sqlalchemy import Connection, insert
from textual.pilot import Pilot
from textual.widgets import Input, Static

from agents.jobs.budget import Budget
from agents.jobs.errors import BudgetReached
from agents.jobs.events import ItemEnded, JobLog, JobPaused, JobProgressed, JobState, Spent
from agents.jobs.job import JobRequest
from agents.settings import JobSettings
from screens.app import WorkbenchApp
from screens.home.import_dialog import ImportScreen
from screens.home.screen import HomeScreen
from screens.jobs import run_status
from screens.jobs.jobs import JobReported
from screens.jobs.outcomes import OutcomesScreen
from screens.jobs.screen import JobsScreen
from screens.queue.filter import FilterScreen
from screens.queue.runs import RunScreen
from screens.queue.screen import QueueScreen
from screens.queue.sort import SortScreen
from store.errors import WorkbenchError
from store.first_look import QUEUE_SESSION
from store.queries.item import find_item
from store.queries.rows import NEEDS_SANDBOX, QueueFilter, QueueSort
from store.record.raters import ensure_rater
from store.record.session import save_session
from store.tables.columns import table_of
from store.tables.runs import Run, StepRow
from store.workspace.duckdb import Workspace
from workbench.sample import import_sample

QUERIES = (
    "python check if a file is empty before reading it line by line",
    "sort list of dicts by key",
    "x: list[int] a[/]b [red]not red[/red]",
    "split \x1b[31mstring\x1b[0m \u202eon comma",
    "テキスト を 分割 する",
)
COUNT = 60
SANDBOX = "Test programs run in bubblewrap, without network and without your files."

Snap = Callable[..., bool]
Steps = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are looked at at one moment."""
    monkeypatch.setattr(run_status, "now", lambda: BEGAN)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, UUID]:
    """Sixty pairs with labels of dana and of the agents; the file and the run."""
    pairs = [
        (
            f"q{number % 5}/{number // 5 + 1}",
            QUERIES[number % 5],
            f"{GOOD if number % 2 else WRONG}# {number}\n",
        )
        for number in range(COUNT)
    ]
    with pairs_workspace(tmp_path_factory.mktemp("pictures"), pairs) as made:
        rater = context_of(made).rater
        assert rater is not None
        labelled = [n for n in range(1, COUNT + 1) if n % 7]
        declined = "Model declined: it would rather not answer"
        run_id = labelled_by_agents(
            made,
            [(n, float(n % 2), "tested" if n % 3 == 0 else "screened") for n in labelled],
            [(7, declined), (14, declined), (21, "Reply malformed: no JSON [bold]in it[/]")],
        )
        recorded(
            made, rater, *[label(made, rater, number, float(number % 3 == 0)) for number in range(1, 13)]
        )
        recorded(made, rater, mark(made, rater, 3, "flag"), mark(made, rater, 15, "skip"))
        recorded(made, rater, mark(made, rater, 16, "cannot_decide"))
        save_session(made, rater.id, QUEUE_SESSION, {"grouped": False}).result()
        return made.path, run_id


@pytest.fixture
def workspace(built: tuple[Path, UUID], tmp_path: Path) -> Iterator[Workspace]:
    """A copy of the workspace for one picture."""
    path = tmp_path / "study.duckdb"
    shutil.copy(built[0], path)
    with Workspace.open(path) as opened:
        yield opened


@pytest.fixture
def runs(workspace: Workspace, built: tuple[Path, UUID]) -> Workspace:
    """The workspace with all roles' steps, and with four older runs that failed for several reasons."""
    turns = [
        (built[1], number, role, "ok", "", 0.0004)
        for number in range(3, 61, 3)
        if number % 7
        for role in ("test_writer", "executor", "arbiter")
    ]
    kept = []
    for number in range(4):
        run_id = workspace.ids.next()
        name = f"cosqa-plus/openai:gpt-4o-mini-2024-07-18/{number}c0ffee{number}"
        run = {"id": run_id, "kind": "pair", "name": name, "configuration": f'{{"run": {number}}}'}
        run |= {"model": "openai:gpt-4o-mini", "rater_id": 1, "state": "stopped", "total": 60}
        began = BEGAN - timedelta(days=number + 1)
        kept.append({**run, "started_at": began, "ended_at": began + timedelta(hours=2)})
        for item in range(1, 41):
            turns.append((run_id, item, "screener", "failed", FAILED[item % len(FAILED)], None))
    steps = [
        {
            "id": workspace.ids.next(), "run_id": run_id, "item_id": item, "role": role, "attempt": 0,
            "outcome": outcome, "request_hash": "", "reply": "", "error": error, "model": "scripted",
            "tokens_in": 1_200, "tokens_out": 300, "tokens_cached": 0, "money": money, "requests": 1,
            "seconds": 1.7, "created_at": BEGAN + timedelta(seconds=item * (90 - item)), "cause": CAUSES.get(error.partition(":")[0], ""),
        }
        for run_id, item, role, outcome, error, money in turns
    ]  # fmt: skip

    def write(connection: Connection) -> None:
        connection.execute(insert(table_of(Run)), kept)
        connection.execute(insert(table_of(StepRow)), steps)

    workspace.lane.submit(write).result()
    return workspace


FAILED = (
    *["Rate limited: openai:gpt-4o-mini takes no more requests at the moment. Give it time."] * 5,
    "Rate limited: openai:gpt-4o-mini: the quota of today is used up.",
    *["Model declined: openai:gpt-4o-mini declined to answer as screener: I'm sorry, but I can't help."] * 3,
    "Reply malformed: no JSON [bold]in it[/]",
    "Needs a sandbox: the test waits.",
)
"""What steps of the older runs failed with, in turn."""


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace that holds nothing."""
    with Workspace.create(tmp_path / "study.duckdb") as made:
        yield made


@pytest.fixture(scope="module")
def sample_built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample: pairs, completions and repository questions; dana answered two completions, one in part."""
    path = tmp_path_factory.mktemp("kinds") / "study.duckdb"
    with Workspace.create(path) as made:
        import_sample(made)
        rater = context_of(made).rater
        assert rater is not None
        with made.reading() as connection:
            first = find_item(connection, "sample_python/1")
        asked = ("cross_file", "predictable", "keep")
        for item, values in ((first, (1, 2, 1)), (first + 1, (3, 1)), (first + 2, (1, 1, 3))):
            for name, value in zip(asked, values, strict=False):
                recorded(made, rater, label(made, rater, item, value, question=f"completion.{name}"))
    return path


@pytest.fixture
def sample(sample_built: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A copy of the sample's workspace for one picture."""
    path = tmp_path / "study.duckdb"
    shutil.copy(sample_built, path)
    with Workspace.open(path) as opened:
        yield opened


@dataclass
class StillJob:
    """A job as it stood at one moment."""

    run_id: UUID | None
    state: JobState = "running"
    number: int = 1
    title: str = "agents"
    said: str = ""
    record: None = None
    work_id: None = None
    failed: int = 3
    error: WorkbenchError | None = None
    job: JobRequest = field(default_factory=lambda: JobRequest(JobSettings(model="scripted:x")))
    progress: JobProgressed = field(init=False)
    budget: Budget = field(default_factory=Budget)
    used_up: BudgetReached | None = None
    spent: Spent = field(default_factory=lambda: Spent(55, 23_100, 0.0055))

    def __post_init__(self) -> None:
        self.progress = JobProgressed(
            *(1, self.run_id, 38, self.failed, 60, 123.0, 20.0, "q1/8"),
            self.spent,
            38,
        )


class StillRunner:
    """A runner whose only job stands still."""

    def __init__(self, job: StillJob) -> None:
        self.jobs = [job]

    @property
    def running(self) -> StillJob | None:
        """The job, unless it has ended."""
        (job,) = self.jobs
        return None if job.state in ("done", "stopped", "failed") else job


def at_work(workspace: Workspace, job: StillJob, **changed: Any) -> WorkbenchApp:
    """An app in which a job was started. The runner is made with the first start, so it is asked for."""
    app = app_of(workspace, make_runner=lambda _: StillRunner(job), **changed)
    assert app.context.jobs.runner.jobs == [job]
    return app


async def at_home(pilot: Pilot[Any]) -> None:
    """Wait until home has read its numbers."""
    screen = pilot.app.screen
    assert isinstance(screen, HomeScreen)
    await settled(pilot.app)
    assert screen.facts is not None
    await settled(pilot.app)


async def still(pilot: Pilot[Any]) -> None:
    """Let what was begun come to rest, and the text cursor stand still."""
    for box in pilot.app.screen.query(Input):
        box.cursor_blink = False
    await settled(pilot.app)


async def at_queue(pilot: Pilot[Any]) -> QueueScreen:
    """Open the queue and wait until it is read, the preview too."""
    await at_home(pilot)
    await pilot.press("tab")
    assert isinstance(pilot.app.screen, QueueScreen)
    assert pilot.app.screen._complete
    screen = pilot.app.screen
    assert isinstance(screen, QueueScreen)
    await read(pilot, screen)
    return screen


async def read(pilot: Pilot[Any], screen: QueueScreen) -> None:
    """Wait until every line in sight is read, and the preview shows the item under the cursor."""
    items = screen.items

    def painted() -> bool:
        lines = "".join(items.render_line(y).text for y in range(items.size.height))
        counted = screen._complete and screen.progress is not None
        return counted and (not items.display or "┄" not in lines)

    def previewed() -> bool:
        row = items.row_of(items.item_id) if items.item_id else None
        if not screen.has_class("-wide") or row is None:
            return True
        title = screen.query_one("#preview-prompt").border_title
        panes = screen.query("#preview-subject")
        return str(title) == row.external_id and all(pane.size.height for pane in panes) and bool(panes)

    await settled(pilot.app)
    assert painted()
    assert previewed()
    await still(pilot)


async def at_jobs(pilot: Pilot[Any]) -> JobsScreen:
    """Open the jobs screen and wait until it has read the runs."""
    await at_home(pilot)
    await pilot.press("J")
    await until(pilot, lambda: isinstance(pilot.app.screen, JobsScreen) and pilot.app.screen.is_read)
    await still(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, JobsScreen)
    return screen


# -- home ---------------------------------------------------------------------------------------------


@at(NARROW, WIDE)
def test_home(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    app = app_of(workspace, sandbox=SANDBOX)
    assert snap_compare(app, sizes=sizes, run_before=at_home)


@at(NARROW)
def test_home_of_the_sample_with_a_kept_session(
    workspace: Workspace, snap_compare: Snap, sizes: Sizes
) -> None:
    save_session(workspace, ensure_rater(workspace, "dana").id, "review", {"item": 17}).result()
    annotation = JobSettings(model="scripted:x")
    app = app_of(workspace, sandbox=SANDBOX, is_sample=lambda: True, annotation=annotation)
    assert snap_compare(app, sizes=sizes, run_before=at_home)


@at(NARROW, WIDE)
def test_home_of_several_kinds(sample: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    annotation = JobSettings(model="scripted:x")
    app = app_of(sample, sandbox=SANDBOX, is_sample=lambda: True, annotation=annotation)
    assert snap_compare(app, sizes=sizes, run_before=at_home)


@at(NARROW)
def test_home_empty(empty: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(empty, sandbox=SANDBOX), sizes=sizes, run_before=at_home)


@at(NARROW)
def test_home_loading(
    workspace: Workspace, snap_compare: Snap, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HomeScreen, "read", lambda self: None)
    assert snap_compare(app_of(workspace, sandbox=SANDBOX), sizes=sizes, run_before=still)


@at(NARROW)
def test_home_blind(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(workspace, blind=True), sizes=sizes, run_before=at_home)


@at(NARROW)
def test_home_without_a_rater(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(workspace, rater=None), sizes=sizes, run_before=at_home)


@at(NARROW)
def test_home_with_a_running_job(
    workspace: Workspace, built: tuple[Path, UUID], snap_compare: Snap, sizes: Sizes
) -> None:
    app = at_work(workspace, StillJob(built[1]), sandbox=SANDBOX)
    assert snap_compare(app, sizes=sizes, run_before=at_home)


@at(NARROW)
def test_home_error(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def fail(pilot: Pilot[Any]) -> None:
        await at_home(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, HomeScreen)
        screen._read_failed(WorkbenchError("Disk full", "The disk took no more."))
        await still(pilot)

    assert snap_compare(app_of(workspace, sandbox=SANDBOX), sizes=sizes, run_before=fail)


def import_steps(name: str, outcome: str) -> Steps:
    """Open the import and type a name; wait for what is found in the file, and import it where that is asked."""

    async def steps(pilot: Pilot[Any]) -> None:
        await at_home(pilot)
        await pilot.press("i", *name)
        screen = pilot.app.screen
        assert isinstance(screen, ImportScreen)
        if outcome:
            found = screen.query_one("#outcome", Static)
            await settled(pilot.app)
            assert "would be" in str(found.content) or screen.has_class("-failed")
        if outcome == "-done":
            await pilot.press("enter")
            assert screen.has_class(outcome)
        await still(pilot)

    return steps


@at(NARROW, WIDE)
@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        *(("pa", ""), ("pairs.jsonl", "preview"), ("pairs.jsonl", "-done"), ("bad.jsonl", "-failed")),
        ("own.csv", "preview"),
    ],
)
def test_import(
    empty: Workspace, in_folder: Path, snap_compare: Snap, sizes: Sizes, name: str, outcome: str
) -> None:
    good = '{"id": "a1", "query": "add", "code": "def add(a, b): return a + b"}\n'
    import_of(in_folder, good)
    import_of(in_folder, good + '{"id": "a2", "query": "no code"}\n' + "{", "bad.jsonl")
    import_of(
        in_folder,
        "nr;search text;snippet;verdict\n"
        + "1;how to add;a + b;yes\n2;how to subtract;a - b;no\n3;how to sort;sorted(a);yes\n4;how to turn;a[::-1];no\n",
        "own.csv",
    )
    (in_folder / "parts").mkdir()
    assert snap_compare(app_of(empty), sizes=sizes, run_before=import_steps(name, outcome))


# -- queue --------------------------------------------------------------------------------------------


def queue_steps(*keys: str, asked: tuple[QueueFilter, QueueSort] | None = None) -> Steps:
    """Open the queue, press keys, ask for another queue."""

    async def steps(pilot: Pilot[Any]) -> None:
        screen = await at_queue(pilot)
        if asked is not None:
            screen.load_queue(replace(screen.queue_query, wanted=asked[0], sort=asked[1]))
            await settled(pilot.app)
            assert screen._complete
        await pilot.press(*keys)
        await read(pilot, screen)

    return steps


@at(NARROW, WIDE)
def test_queue(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=queue_steps("down", "down"))


@at(NARROW, WIDE)
def test_queue_grouped(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=queue_steps("g", "home", "down"))


@at(NARROW, WIDE)
@pytest.mark.parametrize("kind", ["completion", "answer", ""])
def test_queue_of_several_kinds(sample: Workspace, snap_compare: Snap, sizes: Sizes, kind: str) -> None:
    # All kinds side by side at the end, where one follows the other.
    keys = ("down",) if kind else ("end", *["up"] * 9)
    steps = queue_steps(*keys, asked=(QueueFilter(kind=kind or None), QueueSort()))
    assert snap_compare(app_of(sample), sizes=sizes, run_before=steps)


@at(NARROW)
def test_queue_whose_tests_wait_for_a_sandbox(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    refused = f"{NEEDS_SANDBOX}: nothing here can run a test program."
    labelled_by_agents(workspace, [(1, 1.0, "screened")], [(7, refused), (14, refused)])
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=queue_steps())


@at(NARROW)
def test_queue_at_its_end(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=queue_steps("end"))


@at(NARROW)
def test_queue_filtered_and_ordered(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    asked = QueueFilter(status="open", agent="1", text="file"), QueueSort("title", descending=True)
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=queue_steps(asked=asked))


@at(NARROW)
def test_queue_where_nothing_matches(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    asked = QueueFilter(status="judged", text="no such text"), QueueSort()
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=queue_steps(asked=asked))


@at(NARROW)
def test_queue_blind(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(workspace, blind=True), sizes=sizes, run_before=queue_steps())


@at(NARROW)
def test_queue_loading(
    workspace: Workspace, snap_compare: Snap, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QueueScreen, "_take_up", lambda self: None)
    assert snap_compare(app_of(workspace, start_with="queue"), sizes=sizes, run_before=still)


def test_queue_before_the_first_preview(
    workspace: Workspace, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QueueScreen, "_read_preview", lambda self, item_id: None)

    async def wait(pilot: Pilot[Any]) -> None:
        await settled(pilot.app)
        assert isinstance(pilot.app.screen, QueueScreen)
        screen = pilot.app.screen
        await settled(pilot.app)
        assert isinstance(screen, QueueScreen)
        assert screen.progress is not None
        await still(pilot)

    app = app_of(workspace, start_with="queue")
    assert snap_compare(app, sizes=(WIDE,), run_before=wait)


@at(NARROW)
def test_queue_error(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def fail(pilot: Pilot[Any]) -> None:
        screen = await at_queue(pilot)
        screen._order_failed(screen._generation, WorkbenchError("Disk full", "The disk took no more."))
        await still(pilot)

    assert snap_compare(app_of(workspace), sizes=sizes, run_before=fail)


@at(NARROW)
def test_queue_of_an_empty_workspace(empty: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def wait(pilot: Pilot[Any]) -> None:
        await settled(pilot.app)
        assert isinstance(pilot.app.screen, QueueScreen)
        assert pilot.app.screen._complete
        await still(pilot)

    assert snap_compare(app_of(empty, start_with="queue"), sizes=sizes, run_before=wait)


@at(NARROW)
def test_queue_with_a_running_job(
    workspace: Workspace, built: tuple[Path, UUID], snap_compare: Snap, sizes: Sizes
) -> None:
    app = at_work(workspace, StillJob(built[1]))
    assert snap_compare(app, sizes=sizes, run_before=queue_steps())


@at(NARROW)
def test_queue_with_records_on_their_way(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        screen = await at_queue(pilot)
        screen.items.show_unsaved({2, 5}, {4})
        await still(pilot)

    assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)


@at(NARROW)
def test_queue_search_line(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        screen = await at_queue(pilot)
        screen.query_one("#find", Input).cursor_blink = False
        await pilot.press("slash", *"a file")
        await still(pilot)

    assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)


@at(NARROW)
@pytest.mark.parametrize("blind", [False, True], ids=["open", "blind"])
def test_filter(workspace: Workspace, snap_compare: Snap, sizes: Sizes, blind: bool) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        await at_queue(pilot)
        await pilot.press("f")
        assert isinstance(pilot.app.screen, FilterScreen)
        await pilot.press("down", "right", "down")
        await still(pilot)

    assert snap_compare(app_of(workspace, blind=blind), sizes=sizes, run_before=steps)


@at(NARROW)
def test_order(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        await at_queue(pilot)
        await pilot.press("o")
        assert isinstance(pilot.app.screen, SortScreen)
        await pilot.press("down", "d")
        await still(pilot)

    assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)


@at(NARROW)
def test_choice_of_a_run(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    labelled_by_agents(
        workspace, [(1, 0.0, "read")], name="single/a-long-name-of-a-model/bb22cc33", fullness=1
    )

    async def steps(pilot: Pilot[Any]) -> None:
        await at_queue(pilot)
        await pilot.press("a")
        assert isinstance(pilot.app.screen, RunScreen)
        await pilot.press("down")
        await still(pilot)

    assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)


# -- jobs ---------------------------------------------------------------------------------------------


async def jobs(pilot: Pilot[Any]) -> None:
    """Open the jobs screen."""
    await at_jobs(pilot)


@at(NARROW)
def test_jobs_of_earlier_sessions_and_no_model(
    workspace: Workspace, snap_compare: Snap, sizes: Sizes
) -> None:
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=jobs)


@at(NARROW)
@pytest.mark.parametrize("model", ["", "scripted:x"], ids=["no-model", "model"])
def test_jobs_empty(empty: Workspace, snap_compare: Snap, sizes: Sizes, model: str) -> None:
    annotation = JobSettings(model=model) if model else None
    assert snap_compare(app_of(empty, annotation=annotation), sizes=sizes, run_before=jobs)


PAUSED_FOR = WorkbenchError(
    "Model unreachable",
    "openai:gpt-5 gave no answer 20 times in a row.",
    "Look at the service, then resume; nothing is asked twice.",
)


@states(["running", "paused", "stopping", "stopped", "failed", "done"], in_both=["running"], otherwise=NARROW)
def test_jobs(
    workspace: Workspace, built: tuple[Path, UUID], snap_compare: Snap, sizes: Sizes, state: JobState
) -> None:
    job = StillJob(built[1], state=state, error=PAUSED_FOR if state == "failed" else None)
    app = at_work(workspace, job, annotation=JobSettings(model="scripted:x"))

    assert snap_compare(app, sizes=sizes, run_before=job_steps(app, built[1]))


def job_steps(app: WorkbenchApp, run_id: UUID, *keys: str, reason: WorkbenchError | None = None) -> Steps:
    """Open the jobs screen over a job of which some items failed, and press keys."""

    async def steps(pilot: Pilot[Any]) -> None:
        screen = await at_jobs(pilot)
        for number in range(30):
            why = "since " * 12 if number % 3 else ""
            failure = WorkbenchError(
                "Model declined", f"\x1b[31mI would rather not[/] answer this one, {why}"
            )
            name = f"q{number}/3"
            ended = ItemEnded(1, run_id, number, name, (), failure)
            app.post_message(JobReported(ended))
            app.post_message(JobReported(JobLog(1, "warning", f"{name}: {failure}")))
        if reason is not None:
            app.post_message(JobReported(JobPaused(1, reason)))
        await until(pilot, lambda: screen.context.jobs.status_of(1).logged == 30 + (reason is not None))
        await pilot.press(*keys)
        await until(pilot, lambda: screen.is_read)
        await still(pilot)

    return steps


@at(NARROW)
def test_jobs_paused_by_failures(
    workspace: Workspace, built: tuple[Path, UUID], snap_compare: Snap, sizes: Sizes
) -> None:
    job = StillJob(built[1], state="paused")
    app = at_work(workspace, job, annotation=JobSettings(model="scripted:x"))
    reason = WorkbenchError(
        "Agents keep failing",
        "20 items in a row failed, at last: Model unreachable: no answer.",
        "Mend the cause, then go on: items that failed are tried again by the next job.",
    )
    steps = job_steps(app, built[1], reason=reason)
    assert snap_compare(app, sizes=sizes, run_before=steps)


PARTS_SHOWN = [(0, (MEDIUM, WIDE)), (1, (NARROW, MEDIUM)), (2, (NARROW,)), (3, (NARROW,))]


@pytest.mark.parametrize(
    ("tabs", "sizes"), PARTS_SHOWN, ids=[f"{tabs}-{named(sizes)}" for tabs, sizes in PARTS_SHOWN]
)
def test_jobs_part(
    runs: Workspace, built: tuple[Path, UUID], snap_compare: Snap, sizes: Sizes, tabs: int
) -> None:
    job = StillJob(built[1], spent=Spent(109, 104_100, 0.0271), budget=Budget(money=0.03))
    app = at_work(runs, job, annotation=JobSettings(model="scripted:x"))
    assert snap_compare(app, sizes=sizes, run_before=job_steps(app, built[1], *["tab"] * tabs))


@at(NARROW, MEDIUM, WIDE)
def test_jobs_all_parts_of_an_earlier_run(runs: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    app = app_of(runs, annotation=JobSettings(model="scripted:x"))

    async def steps(pilot: Pilot[Any]) -> None:
        screen = await at_jobs(pilot)
        await pilot.press("down")
        await until(pilot, lambda: screen.run_shown is not screen.runs[0] and screen.is_read)
        await still(pilot)

    assert snap_compare(app, sizes=sizes, run_before=steps)


@at(NARROW)
@pytest.mark.parametrize(
    ("run", "keys"),
    [("down", []), ("down", ["tab", "tab", "tab"]), ("up", ["shift+tab"])],
    ids=["failed", "message", "labelled"],
)
def test_items_of_a_run(runs: Workspace, snap_compare: Snap, sizes: Sizes, run: str, keys: list[str]) -> None:
    app = app_of(runs, annotation=JobSettings(model="scripted:x"))

    async def steps(pilot: Pilot[Any]) -> None:
        await at_jobs(pilot)
        await pilot.press(run, "enter")
        for key in ["", *keys]:
            await pilot.press(*filter(None, [key]))
            await until(pilot, lambda: pilot.app.screen.listed == pilot.app.screen._wanted)
        screen = pilot.app.screen
        assert isinstance(screen, OutcomesScreen)
        await until(pilot, lambda: screen.items.row_of(screen.items.item_id) is not None)
        await still(pilot)

    assert snap_compare(app, sizes=sizes, run_before=steps)


@at(NARROW)
def test_items_of_a_run_that_failed_on_none(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        await at_jobs(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "Nothing failed" in pilot.app.screen._message())
        await still(pilot)

    labelled_by_agents(workspace, [(number, 1.0, "screened") for number in range(1, 9)])
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)


@at(NARROW)
def test_jobs_error(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def fail(pilot: Pilot[Any]) -> None:
        screen = await at_jobs(pilot)
        screen._not_read(WorkbenchError("Disk full", "The disk took no more."))
        await still(pilot)

    assert snap_compare(app_of(workspace), sizes=sizes, run_before=fail)
