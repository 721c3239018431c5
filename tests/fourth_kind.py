"""A task kind of another package: texts that are classified, two questions each, with keys that mean other things.

`python -m fourth_kind FOLDER` works with it as experts do, in a process that finds it among the installed
packages; it ends with an error as soon as something is not as it should be.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import recipes

AGENTS = """
from agents.jobs.outcome import Response, Score
from agents.pipelines.spec import AgentsPart, Configuration, FunnelLine, PipelineFigures
from agents.prompts import load_prompt
from pydantic import BaseModel
from sqlalchemy import column, select, table
from store.record.response_names import ResponseName
from store.tables.columns import among, table_of
from store.tables.imported import Item

TABLE = table("report", column("item_id"), column("text"))

class Answer(BaseModel):
    text: str

class Marks(BaseModel):
    sort: int
    tone: int
    why: str

class Report:
    def __init__(self, item_id, external_id, text):
        self.item_id, self.external_id, self.text = item_id, external_id, text

def load(connection, item_ids):
    item = table_of(Item)
    found = connection.execute(
        select(item.c.id, item.c.external_id, TABLE.c.text)
        .join(TABLE, TABLE.c.item_id == item.c.id).where(among(item.c.id, item_ids))
    )
    reports = {row[0]: Report(*row) for row in found}
    return [reports[number] for number in item_ids if number in reports]

class Answering:
    def __init__(self, configuration, sandbox, settings):
        assert sandbox is None

    async def run(self, item, recorder):
        ask = load_prompt("report_kind:answer").messages(text=item.text)
        answer = await recorder.ask("writer", ask, Answer)
        ask = load_prompt("report_kind:judge").messages(text=item.text, answer=answer.text)
        marks = await recorder.ask("judge", ask, Marks)
        name = ResponseName("writer", "short")
        return (
            Response(name, answer.text),
            Score(name, "report.sort", marks.sort, marks.why),
            Score(name, "report.tone", marks.tone, marks.why),
        )

def counts(connection, run, figures):
    return PipelineFigures({"answered": figures.labelled}, (("answered", str(figures.labelled)),),
                           funnel=(FunnelLine("answered", figures.labelled),))

PART = AgentsPart(
    "report", (Configuration("full", "answering", "Answers.", {"writer": "report_kind:answer", "judge": "report_kind:judge"}),),
    load, Answering, counts=counts, report=lambda workspace, run, figures: counts(None, run, figures),
)
"""

PROMPT = "version: 1\n=== system ===\nAnswer in JSON.\n=== user ===\n"

ENTRY_POINTS = """[workbench.task_kinds]
report.agents = report_kind.agents:PART
"""

REPORTS = ("It crashes when I save.", "Please add a dark theme, thank you.", "lol", "Saving loses a line.")


def install(folder: Path) -> None:
    """Put the package where a path entry finds it: the kind as CONTRIBUTING.md has it, and its agents part."""
    recipes.install("A task kind", folder)
    package, info = folder / "report_kind", folder / "report_agents-1.0.dist-info"
    info.mkdir()
    (package / "agents.py").write_text(AGENTS)
    (package / "answer.txt").write_text(PROMPT + "[[text]]\n")
    (package / "judge.txt").write_text(PROMPT + "[[text]]\n[[answer]]\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: report-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)


def command(*arguments: object) -> Any:
    """Run a command of the command line, and return what it printed as JSON."""
    import contextlib
    import io

    from workbench.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*map(str, arguments), "--json"])
    return json.loads(printed.getvalue())


def at_work(folder: Path) -> None:
    """Import reports beside pairs, judge them on screen and by commands, and take the record elsewhere."""
    reports, pairs = folder / "reports.jsonl", folder / "pairs.jsonl"
    lines = [{"number": n, "report": text, "product": "editor"} for n, text in enumerate(REPORTS, start=1)]
    reports.write_text("\n".join(map(json.dumps, lines)))
    pairs.write_text(
        json.dumps({"id": "p1", "query": "double a number", "code": "def f(x):\n    return x * 2\n"})
    )
    file = folder / "study.duckdb"
    command("import", file, pairs)
    command("import", file, reports)
    found = command("items", file)["items"]
    assert [(one["kind"], one["answered"], one["required"]) for one in found] == [("pair", 0, 1)] + [
        ("report", 0, 2)
    ] * 4
    assert found[1]["text"] == REPORTS[0]
    assert [one["item"] for one in command("items", file, "--text", "sav")["items"]] == ["1", "4"]

    asyncio.run(on_screen(file))

    # Two questions need a name; a word of either scale is taken.
    done = command("judge", file, 3, "neither", "--question", "sort", "--rater", "dana")
    assert (done["question"], done["value"], done["word"]) == ("report.sort", 3, "3 neither")
    command("judge", file, 3, 0, "--question", "report.tone", "--rater", "dana")
    progress = command("report", file, "progress", "--rater", "dana")
    assert (progress["judged"], progress["left"], progress["today"]) == (3, 2, 3), progress
    exported = command("export", file, folder / "record.jsonl", "--format", "jsonl")
    assert exported["records"] == 9, exported
    other = folder / "other.duckdb"
    command("import", other, pairs)
    command("import", other, reports)
    command("import", other, folder / "record.jsonl")
    stand = [
        (one["status"], one["answered"], one["label"])
        for one in command("items", file, "--rater", "dana")["items"]
    ]
    assert stand == [
        ("judged", 1, 0.0),
        ("judged", 2, 1.0),
        ("open", 1, 2.0),
        ("judged", 2, 3.0),
        ("open", 0, None),
    ]
    again = command("items", other, "--rater", "dana")["items"]
    assert [(one["status"], one["answered"], one["label"]) for one in again] == stand


def agents_at_work(folder: Path) -> None:
    """Let a pipeline yield a response and scores for two questions: run, budget, resume, report, review."""
    from scopes import scope
    from small_workspace import rows

    from store.queries.responses import load_responses
    from store.queries.run_items import ItemGroup, run_items
    from store.queries.runs import all_runs
    from store.tables.responses import Response, ResponseRef, Score
    from store.tables.runs import VerdictRow
    from store.workspace.duckdb import Workspace

    file = folder / "answered.duckdb"
    command("import", file, folder / "reports.jsonl")
    script = folder / "replies.jsonl"

    lines: list[dict[str, Any]] = []
    for number in range(1, len(REPORTS) + 1):
        marks = {"sort": 1 + number % 3, "tone": number % 2, "why": f"so {number}"}
        failure = {"error": "refused"} if number == 2 else {"reply": marks}
        lines.append({"role": "writer", "subject": str(number), "reply": {"text": f"Answer {number}"}})
        lines.append({"role": "judge", "subject": str(number), **failure})
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def annotate(*options: object) -> Any:
        return command("annotate", file, "--model", f"scripted:{script}", *options)

    # A budget of requests ends the first job; one item of the next fails, and stays so.
    first = annotate("--budget-requests", 2, "--concurrency", 1)
    assert (first["state"], first["labelled"], first["answered"]) == ("stopped", 1, 1), first
    assert first["budget_reached"]["budget"] == "requests"
    second = annotate()
    assert (second["run"], second["labelled"], second["failed"]) == (first["run"], 3, 1), second
    assert (second["job"]["done"], second["causes"]) == (2, {"refused": 1})
    third = annotate("--retry-failed")
    assert (third["run"], third["job"]["failed"], third["labelled"]) == (first["run"], 1, 3)
    assert (third["steps"], third["from_cache"]) == (9, 0), third
    estimate = annotate("--estimate")
    assert (estimate["pairs"], [role["role"] for role in estimate["roles"]]) == (1, ["writer", "judge"])

    (report,) = command("report", file, "pipeline")["runs"]
    assert (report["pairs"], report["labelled"], report["labels"], report["answered"]) == (4, 3, {}, 3), (
        report
    )
    roles = [(role["role"], role["turns"], role["failed"]) for role in report["roles"]]
    assert roles == [("writer", 4, 0), ("judge", 5, 2)]

    with Workspace.open(file) as workspace:
        with workspace.reading() as connection:
            (run,) = all_runs(connection)
        assert run_items(workspace, run.id, ItemGroup(finished=True)).tolist() == [1, 3, 4]
        assert not rows(workspace, VerdictRow)
        refs = {row["id"]: row for row in rows(workspace, ResponseRef)}
        assert {(row["item_id"], row["model"], row["setting"]) for row in refs.values()} == {
            (number, "writer", "short") for number in (1, 3, 4)
        }
        texts = {refs[row["id"]]["item_id"]: row for row in rows(workspace, Response)}
        assert {number: text["text"] for number, text in texts.items()} == {
            n: f"Answer {n}" for n in (1, 3, 4)
        }
        assert {row["run_id"] for row in texts.values()} == {run.id}
        scores = {
            (refs[row["response_ref_id"]]["item_id"], row["measure"]): (
                row["value"],
                row["judge"],
                row["step_id"],
            )
            for row in rows(workspace, Score)
        }
        assert {key: value for key, (value, _, _) in scores.items()} == {
            **{(number, "sort"): 1 + number % 3 for number in (1, 3, 4)},
            **{(number, "tone"): number % 2 for number in (1, 3, 4)},
        }
        assert {judge for _, judge, _ in scores.values()} == {run.name}
        assert None not in {step for _, _, step in scores.values()}
        # What a review reads of an item.
        with workspace.reading() as connection:
            (seen,) = load_responses(connection, 3, scope(1), blind=False, hidden=False)
        assert (seen.text, {score.measure: score.value for score in seen.scores}) == (
            "Answer 3",
            {"sort": 1.0, "tone": 1.0},
        )


async def on_screen(file: Path) -> None:
    """Judge a pair and two reports by keys, some of which mean other things where they are no values."""
    from review_bench import judgments, line_of, painted, press, review_app, said, screen_text
    from settling import settled, until

    from screens.judging.keys import JudgingKeyLine
    from screens.review.bars import ClaimLine
    from store.queries.queue import queue_ids
    from store.queries.rows import QueueFilter
    from store.workspace.duckdb import Workspace

    with Workspace.open(file) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = await painted(pilot, 1)
            assert line_of(app, JudgingKeyLine).startswith("1 match · 0 no match")
            await pilot.press("f")  # a flag on a pair
            await until(pilot, lambda: screen.item.own.flagged)
            await press(pilot, "0")
            await painted(pilot, 2)
            # The same key is a value of a report's first question.
            assert line_of(app, JudgingKeyLine).startswith("sort: b bug · f feature · n neither"), line_of(
                app, JudgingKeyLine
            )
            assert " 1 of 2 · What is this report?" in line_of(app, ClaimLine)
            await press(pilot, "f")
            await until(pilot, lambda: screen.item.at == 1)
            assert not screen.item.own.flagged
            assert said(app) == "● sort: 2 feature · 1 · u undo"
            assert line_of(app, JudgingKeyLine).startswith("manners: 0 rude · 1 polite"), line_of(
                app, JudgingKeyLine
            )
            assert "● 2 feature · [○]" in line_of(app, ClaimLine)
            await press(pilot, "u")
            await until(pilot, lambda: screen.item.at == 0 and screen.item.label is None)
            assert said(app).startswith("Undone: sort 2 feature · now no label")
            await press(pilot, "b", "1")
            await painted(pilot, 3)
            await press(pilot, "f")
            await until(pilot, lambda: screen.item.at == 1)
            # No value of the question that is asked now, n goes to the next item.
            await press(pilot, "n")
            await painted(pilot, 4)
            await press(pilot, "p", "p")
            await painted(pilot, 2)
            assert screen.item.at == 0
            assert "[● 1 bug] · ● 1 polite" in line_of(app, ClaimLine), line_of(app, ClaimLine)
            assert "It crashes when I save." in screen_text(app)
            await settled(pilot.app)
            await pilot.press("q")
            await until(pilot, lambda: "today 2" in screen_text(app))
            shown = screen_text(app)
            assert all(words in shown for words in ("reports", "1/4", "⚑ flagged 1", "3 without your"))
        values = [(item, value, origin) for item, value, origin, _ in judgments(workspace)]
        assert values == [
            (1, 0, "independent"), (2, 2, "independent"), (2, None, "undo"),
            (2, 1, "independent"), (2, 1, "independent"), (3, 2, "independent"),
        ]  # fmt: skip
        scope = app.context.scope

        def listed(**wanted: Any) -> list[int]:
            return queue_ids(workspace, scope, QueueFilter(**wanted)).tolist()

        assert (listed(kind="report"), listed(kind="report", status="judged")) == ([2, 3, 4, 5], [2])
        assert (listed(status="open"), listed(label=1.0), listed(label=2.0)) == ([3, 4, 5], [2], [3])
        assert QueueFilter(kind="report", label=1.0).sentence() == "reports · you say bug"


if __name__ == "__main__":
    at_work(Path(sys.argv[1]))
    agents_at_work(Path(sys.argv[1]))
