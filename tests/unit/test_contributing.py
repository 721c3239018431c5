"""The recipes of CONTRIBUTING.md: each is followed to the letter, and does what it says.

That for a task kind is followed by tests/flows/test_fourth_kind.py.
"""

from __future__ import annotations

import json

import pytest
from recipes import change, install, run

from store.workspace.duckdb import Workspace
from store.workspace.schema import migrations

COMMAND = "import sys; from workbench.cli import main; main(sys.argv[1:])"


def command(folder, *arguments):
    """Run a command of the command line where a recipe was followed; return the object it prints."""
    return json.loads(run(folder, COMMAND, *arguments, "--json"))


def test_a_format(tmp_path):
    install("A file format", tmp_path)
    records = [
        {"snippet_id": number, "intent": "double it", "snippet": f"def f(x):\n    return x * {number}\n"}
        for number in (2, 3)
    ]
    (tmp_path / "found.jsonl").write_text("\n".join(map(json.dumps, records)))
    imported = command(tmp_path, "import", "w.duckdb", "found.jsonl")
    assert imported["files"][0]["format"] == "snippets"
    assert imported["files"][0]["items_added"] == 2
    command(tmp_path, "judge", "w.duckdb", "2", "match", "--rater", "dana")
    command(tmp_path, "export", "w.duckdb", "out.jsonl", "--format", "snippets", "--rater", "dana")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {
        **records[0],
        "snippet_id": "2",
        "label": 1.0,
    }


def test_a_measure(tmp_path):
    install("A measure", tmp_path)
    pairs = [{"id": number, "query": "double it", "code": f"{number} * 2"} for number in range(4)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    command(tmp_path, "import", "w.duckdb", "pairs.jsonl")
    given = {"dana": (1, 1, 0), "eli": (1, 0, 0, 1)}
    labels = [
        {"item": item, "rater": rater, "value": value}
        for rater, values in given.items()
        for item, value in enumerate(values)
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    command(tmp_path, "import", "w.duckdb", "labels.jsonl")
    (pair,) = command(tmp_path, "report", "w.duckdb", "agreement")["by_pair"]
    assert pair["bias_index"] == pytest.approx(2 / 3 - 1 / 3)
    assert pair["cohen"] == pytest.approx(0.4)
    assert "bias index" in run(tmp_path, COMMAND, "report", "w.duckdb", "agreement")


WORK = """
import asyncio, threading
from pathlib import Path
from types import SimpleNamespace
import words.work
from apps import app_of
from settling import until
from review_bench import screen_text
from small_workspace import pairs_workspace, rows
from screens.jobs.screen import JobsScreen
from store.tables.runs import WorkRow

PAIRS = [(f"p{number}", "double it", f"x = {number}") for number in range(60)]

TURNS = threading.Semaphore(0)
words.work.time = SimpleNamespace(sleep=lambda seconds: TURNS.acquire())

def kept(workspace):
    return rows(workspace, WorkRow)[0]

async def use(workspace):
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("J")
        await until(pilot, lambda: isinstance(app.screen, JobsScreen) and app.screen.runs is not None)
        await pilot.press("w")
        await until(pilot, lambda: "Counts the words of all pairs." in screen_text(app))
        await pilot.press("enter")
        TURNS.release(10)
        await until(pilot, lambda: "10 of 60" in screen_text(app) and "counting words" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "‖ paused" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "▶ running" in screen_text(app))
        await pilot.press("x")
        await until(pilot, lambda: "… stopping" in screen_text(app))
        TURNS.release(1)
        await until(pilot, lambda: "■ stopped" in screen_text(app))
    assert kept(workspace)["state"] == "stopped", kept(workspace)
    done = kept(workspace)["kept"]
    again = app_of(workspace)
    async with again.run_test(size=(80, 24)) as pilot:
        # In another session: it goes on from what it kept.
        await pilot.press("J")
        await until(pilot, lambda: "words of all pairs" in screen_text(again))
        await pilot.press("p")
        TURNS.release(49)
        await until(pilot, lambda: "300 words in 60 pairs" in screen_text(again))
        await until(pilot, lambda: "done" in screen_text(again))
    row = kept(workspace)
    assert (row["state"], row["said"]) == ("done", "300 words in 60 pairs"), row
    assert len(rows(workspace, WorkRow)) == 1
    assert '"done": 11' in done, done

with pairs_workspace(Path.cwd(), PAIRS) as workspace:
    asyncio.run(use(workspace))
"""


def test_a_work(tmp_path):
    install("A work", tmp_path)
    run(tmp_path, WORK)


def test_a_command(tmp_path):
    change("A command", tmp_path)
    pairs = [{"id": number, "query": "double it", "code": f"{number} * 2"} for number in range(4)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    command(tmp_path, "import", "w.duckdb", "pairs.jsonl")
    for item in ("0", "1"):
        command(tmp_path, "judge", "w.duckdb", item, "match", "--rater", "dana")
    assert command(tmp_path, "tally", "w.duckdb")["judgments"] == {"dana": 2}
    assert "dana: 2 judgments" in run(tmp_path, COMMAND, "tally", "w.duckdb")
    assert "Count the judgments of each rater." in run(tmp_path, COMMAND, "--help")
    (tmp_path / "blind.toml").write_text('rater = "dana"\n[screens]\nblind = true\n')
    refused = REFUSED.format(("tally", "w.duckdb", "--json", "--config", "blind.toml"))
    assert "A tally uses the labels of others, which a blind review hides." in run(tmp_path, refused)


REFUSED = """
import contextlib, io
from workbench.cli import main
said = io.StringIO()
with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
    try:
        main({!r})
    except SystemExit as end:
        code = end.code
print(code, said.getvalue())
"""


KEY = """
import asyncio
from pathlib import Path
from review_bench import bench, line_of, painted, review_app, said
from workbench.reference import keys_tables

async def press(workspace):
    app = review_app(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await painted(pilot)
        await pilot.press("I")
        assert said(app) == f"Id: {screen.item.external_id}", said(app)

with bench(Path.cwd()) as workspace:
    asyncio.run(press(workspace))
assert "| `I` | Show the id of the item. | `review.identify` |" in keys_tables()
"""


def test_a_key(tmp_path):
    change("A key", tmp_path)
    run(tmp_path, KEY)


SCREEN = """
import asyncio
from pathlib import Path
from apps import app_of
from settling import until
from review_bench import screen_text
from small_workspace import pairs_workspace
from screens.home.screen import HomeScreen

async def open_and_close(workspace):
    app = app_of(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("R")
        await until(pilot, lambda: "dana" in screen_text(app).split("\\n", 1)[1])
        assert " › raters" in screen_text(app)
        assert "back" in screen_text(app).splitlines()[-1]
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))

with pairs_workspace(Path.cwd(), [("p1", "double it", "2")]) as workspace:
    asyncio.run(open_and_close(workspace))
"""


def test_a_screen(tmp_path):
    change("A screen", tmp_path)
    run(tmp_path, SCREEN)


TABLE = """
import sys
from pathlib import Path
from sqlalchemy import insert, select
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.notes import Note
from store.workspace.duckdb import Workspace

with Workspace.open(Path(sys.argv[1])) as workspace:
    note = {"id": workspace.ids.next(), "item_id": 1, "rater_id": 1, "text": "look again", "created_at": now()}
    workspace.lane.submit(lambda connection: connection.execute(insert(table_of(Note)), [note])).result()
    with workspace.reading() as connection:
        (row,) = connection.execute(select(table_of(Note))).all()
    assert row._asdict() == note, row
"""


def test_a_table(tmp_path):
    before = tmp_path / "before.duckdb"
    Workspace.create(before).close()
    change("A table", tmp_path)
    run(tmp_path, TABLE, before)
    assert (tmp_path / f"before.duckdb.schema-{migrations()[-1][0]}.bak").exists()


RESTRICTION = """
from pathlib import Path
from small_workspace import pairs_workspace
from store.errors import HiddenData
from store.policy.refusal import refuse
from store.policy.scope import Scope, Shows, Visibility
from store.queries.sources import file_names

with pairs_workspace(Path.cwd(), [("p1", "double it", "2")]) as workspace, workspace.reading() as connection:
    assert len(file_names(connection, Scope())) == 1
    for hidden in (Scope(visibility=Visibility(blind=True)), Scope(sealed=True)):
        assert file_names(connection, hidden) == []
        try:
            refuse(connection, hidden, Shows.FILES, "This lists")
        except HiddenData as error:
            print(error.title, error.message)
"""
GUARDED = """
import sys, pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/unit/test_non_interference.py", "-k", sys.argv[1]]))
"""


@pytest.mark.full
def test_a_restriction(tmp_path):
    change("A restriction", tmp_path)
    said = run(tmp_path, RESTRICTION)
    assert "Blind review This lists the names of files, which a blind review hides." in said
    assert "Sealed session This lists the work of others" in said
    wanted = "every_query or everything_that_may or (without_the_policy_queries and FILES)"
    assert "3 passed" in run(tmp_path, GUARDED, wanted)
