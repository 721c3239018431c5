"""What the jobs screen and `report pipeline --json` say of a run's roles and failures, against its steps."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from rich.cells import cell_len
from small_workspace import BEGAN, GOOD, labelled_by_agents, pairs_workspace
from sqlalchemy import Connection, insert

from screens.jobs.jobs import LogLine
from screens.jobs.log_pane import folded
from store.json_fields import json_fields
from store.queries.run_figures import listed_runs, role_figures
from store.queries.run_items import (
    ItemGroup,
    RoleOutputs,
    RunOutput,
    failed_turns,
    failure_causes,
    run_items,
    run_outputs,
)
from store.queries.run_pace import run_pace
from store.tables.columns import table_of
from store.tables.runs import StepRow
from store.workspace.duckdb import Workspace

BUSY = "Rate limited: wait"
FAILURES = [
    *[(number, BUSY) for number in range(10, 16)],
    *[(number, f"Rate limited: wait for {number} s") for number in range(16, 20)],
    (20, "Model declined: no"),
    (21, "Model declined"),
    (22, "Needs a sandbox: the test waits"),
]
"""Ten items of one cause with five messages, two of another, one that waits."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Thirty pairs."""
    pairs = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(1, 31)]
    with pairs_workspace(tmp_path, pairs) as made:
        yield made


@pytest.fixture
def run_id(workspace: Workspace) -> UUID:
    """A run with a second turn of its screener on item 1, which had failed, and one of the arbiter on item 20."""
    made = labelled_by_agents(workspace, [(1, 1.0, "tested"), (2, 0.0, "screened")], FAILURES)
    later = BEGAN + timedelta(minutes=2)
    common = {"run_id": made, "request_hash": "", "reply": "", "model": "scripted", "tokens_cached": 0}
    common |= {"tokens_in": 100, "tokens_out": 10, "money": None, "requests": 2, "created_at": later}
    turns = [("screener", 1, 1, "failed", BUSY), ("arbiter", 1, 0, "ok", ""), ("arbiter", 20, 0, "ok", "")]

    def write(connection: Connection) -> None:
        rows: list[dict[str, Any]] = [
            {**common, "id": workspace.ids.next(), "role": role, "item_id": item, "attempt": attempt}
            | {"outcome": outcome, "error": error, "seconds": 2.0}
            for role, item, attempt, outcome, error in turns
        ]
        connection.execute(insert(table_of(StepRow)), rows)

    workspace.lane.submit(write).result()
    return made


def test_roles_add_up_in_the_order_in_which_they_came(workspace: Workspace, run_id: UUID) -> None:
    with workspace.reading() as connection:
        screener, arbiter = role_figures(connection, run_id, BEGAN + timedelta(minutes=2, seconds=30))
        (listed,) = listed_runs(connection)
    assert (screener.role, screener.turns, screener.items, screener.failed) == ("screener", 16, 15, 14)
    assert (arbiter.role, arbiter.turns, arbiter.items, arbiter.failed) == ("arbiter", 2, 2, 0)
    assert (screener.retries, screener.retried_items) == (1, 1)
    assert (arbiter.retries, arbiter.retried_items) == (0, 0)
    # Only what was recorded in the last minute makes the rate.
    assert (screener.lately, arbiter.lately) == (1, 2)
    assert (arbiter.requests, arbiter.tokens_in, arbiter.tokens_out, arbiter.seconds) == (4, 200, 20, 4.0)
    assert arbiter.money is None
    assert screener.money == pytest.approx(0.0015)
    assert (listed.labelled, listed.money) == (2, pytest.approx(0.0015))


def test_roles_added_up_as_one_name_none(workspace: Workspace, run_id: UUID) -> None:
    with workspace.reading() as connection:
        (every,) = role_figures(connection, run_id, BEGAN, together=True)
        assert role_figures(connection, workspace.ids.next(), BEGAN, together=True) == ()
    assert (every.role, every.turns, every.items) == ("all", 18, 15)
    assert (every.failed, every.retries, every.retried_items) == (14, 1, 1)


def test_the_pace_of_a_run(workspace: Workspace, run_id: UUID) -> None:
    with workspace.reading() as connection:
        pace = run_pace(connection, run_id)
        assert run_pace(connection, workspace.ids.next()) is None
        assert run_pace(connection, labelled_by_agents(workspace, [(1, 1.0, "read")], name="other")) is None
    assert pace is not None
    assert pace.seconds == 120
    # Item 2 was labelled in its first part, and item 1 with its last turn.
    assert (pace.items[0], pace.items[-1], sum(pace.items)) == (1, 1, 2)
    assert (pace.tokens[0], pace.tokens[-1], sum(pace.tokens)) == (15 * 420, 330, 15 * 420 + 330)
    assert pace.for_each_item("requests") == (15 + 6) / 2
    assert pace.for_each_item("money") == pytest.approx(0.0015 / 2)


def test_failures_are_grouped_by_cause_and_equal_messages_counted(workspace: Workspace, run_id: UUID) -> None:
    with workspace.reading() as connection:
        busy, waiting = failure_causes(connection, run_id)[0], failure_causes(connection, run_id)[-1]
        causes = {cause.cause: cause.items for cause in failure_causes(connection, run_id)}
        turns = failed_turns(connection, run_id, 2)
    # Item 20 was taken up again since, and item 1 is labelled.
    assert causes == {"rate_limited": 10, "refused": 1, "needs_sandbox": 1}
    assert (busy.messages[0].text, busy.messages[0].items) == (BUSY, 6)
    assert (len(busy.messages), busy.different) == (3, 5)
    assert waiting.waits
    assert (turns[-1].text, turns[-1].turns, turns[-1].latest) == (BUSY, 7, BEGAN + timedelta(minutes=2))


@pytest.mark.parametrize(
    ("group", "items"),
    [
        (ItemGroup(), [*range(10, 20), 21]),
        (ItemGroup(cause="rate_limited"), list(range(10, 20))),
        (ItemGroup(cause="rate_limited", message=BUSY), list(range(10, 16))),
        (ItemGroup(cause="refused", message="Model declined"), [21]),
        (ItemGroup(cause="needs_sandbox"), [22]),
        (ItemGroup(finished=True), [1, 2]),
    ],
)
def test_items_of_a_group(workspace: Workspace, run_id: UUID, group: ItemGroup, items: list[int]) -> None:
    assert run_items(workspace, run_id, group).tolist() == items


def test_the_report_prints_what_the_screen_shows(workspace: Workspace, run_id: UUID, workbench: Any) -> None:
    path = workspace.path
    with workspace.reading() as connection:
        causes = [json_fields(cause) for cause in failure_causes(connection, run_id)]
    workspace.close()
    (run,) = workbench("report", path, "pipeline", "--json").json()["runs"]
    assert run["failures"] == causes
    assert [(role["role"], role["turns"], role["failed"]) for role in run["roles"]] == [
        ("screener", 16, 14),
        ("arbiter", 2, 0),
    ]
    assert sum(cause["items"] for cause in causes) == run["failed"] + run["needs_sandbox"]


def test_equal_outputs_stand_once_with_the_items_behind_them(workspace: Workspace) -> None:
    """Two screener replies that several items got; the second turn of item 1 counts it once."""
    verdicts = [(1, 1.0, "screened"), (2, 0.0, "screened"), (3, 1.0, "screened"), (4, 1.0, "tested")]
    made = labelled_by_agents(workspace, verdicts, [(5, BUSY)])
    match, other, unclear = (
        f'{{"assessment": "{word}", "justification": "as it reads"}}'
        for word in ("clear_match", "clear_nonmatch", "unclear")
    )
    common = {"run_id": made, "attempt": 1, "outcome": "ok", "request_hash": "", "model": "m", "seconds": 1.0}
    common |= {"error": "", "tokens_in": 1, "tokens_out": 1, "tokens_cached": 0, "created_at": BEGAN}
    # Asked and from the cache; a sandbox's report is no output of a model.
    turns = [
        ("screener", 1, match, 1, False),
        ("arbiter", 4, match, 0, True),
        ("arbiter", 6, match, 1, False),
        ("executor", 4, match, 0, False),
        ("executor", 6, match, 0, False),
        ("test_writer", 4, "", 1, False),
    ]

    def write(connection: Connection) -> None:
        rows = [
            {**common, "id": workspace.ids.next(), "role": role, "item_id": item, "reply": reply}
            | {"requests": requests, "from_cache": kept}
            for role, item, reply, requests, kept in turns
        ]
        connection.execute(insert(table_of(StepRow)), rows)

    workspace.lane.submit(write).result()
    with workspace.reading() as connection:
        screener, arbiter = run_outputs(connection, made)
    assert screener == RoleOutputs("screener", 4, 3, (RunOutput(match, 2),))
    assert arbiter == RoleOutputs("arbiter", 2, 1, (RunOutput(match, 2),))
    for text, items in ((None, [1, 2, 3, 4]), (match, [1, 3]), (other, [2]), (unclear, [4])):
        group = ItemGroup(role="screener", output=text)
        assert run_items(workspace, made, group).tolist() == items


def test_a_line_of_the_log_is_folded_within_its_width() -> None:
    long = LogLine("warning", "a service asks to wait " * 12, count=3, latest="q/10", when="12:03")
    wide = LogLine("error", "この要求は受け付けられません" * 6)
    for line in (long, wide):
        parts = folded(line, 40)
        assert len(parts) > 1
        assert all(cell_len(part) <= 40 for part in parts)
