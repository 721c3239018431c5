"""A program to be killed: judges without pause while agents annotate, and notes in a log what is acknowledged.

The log is written with one call a line and is never buffered, so it holds whatever was noted before the end.
Its lines are a word and what it is about: `asked` a model's reply is asked for, `ok` a step is on disk,
`submitted` and `saved` a record of the rater's, `verdict`, `opened`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from typing import Any

from judging import Desk

# Imported here, so that no child spends its life on it.
import agents.pipelines.pair_annotation.part
import agents.sandbox.process  # noqa: F401
from agents.jobs.job import JobRequest
from agents.jobs.run_record import RunRecord
from agents.jobs.runner import JobRunner
from agents.llm.scripted import ScriptedModel
from agents.pipelines.pair_annotation import figures, pipeline  # noqa: F401 - imported once, not by each child
from agents.settings import JobSettings
from store.record.actions import Action
from store.tables.runs import VerdictRow
from store.workspace.duckdb import Workspace
from workbench.signals import Stopped, handle_signals, raise_if_stopped

IN_FLIGHT = 3


class Log:
    """Notes lines at the end of a file, each whole or not at all."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, *words: object) -> None:
        """Note a line."""
        os.write(self._descriptor, (" ".join(map(str, words)) + "\n").encode())


def listen(log: Log, delay: float) -> None:
    """Note what the agents ask for and what is acknowledged to them; a model takes its time to answer."""
    add_step, add_outcomes, ask = RunRecord.add_step, RunRecord.add_outcomes, ScriptedModel._ask

    async def step_noted(self: RunRecord, step: Any, *others: Any, **kept: Any) -> None:
        await add_step(self, step, *others, **kept)
        log.note("ok" if step.outcome == "ok" else "failed", step.id, step.item_id, step.role, step.attempt)

    async def outcomes_noted(self: RunRecord, rows: Any, after: Any) -> None:
        await add_outcomes(self, rows, after)
        for verdict in dict(rows)[VerdictRow]:
            log.note("verdict", verdict.id, verdict.item_id, verdict.value)

    async def asked_noted(self: ScriptedModel, request: Any, messages: Any) -> Any:
        log.note("asked", request.subject, request.role)
        await asyncio.sleep(delay)
        return await ask(self, request, messages)

    RunRecord.add_step = step_noted  # type: ignore[method-assign]
    RunRecord.add_outcomes = outcomes_noted  # type: ignore[method-assign]
    ScriptedModel._ask = asked_noted  # type: ignore[method-assign]


def judge_on(desk: Desk, log: Log, chance: random.Random, items: int) -> None:
    """Press keys until the end: labels, marks, undo and redo, some of them before the last one is saved."""

    def saved(future: Any) -> None:
        action: Action | None = future.result()
        for record in action.records if action else ():
            log.note("saved", record.id, type(record).__name__)

    flying = []
    while True:
        raise_if_stopped()  # what a signal raised inside the database's own code, that swallowed
        item = chance.randint(1, items)
        key = chance.choice(["label"] * 6 + ["skip", "cannot_decide", "flag", "undo", "undo", "redo"])
        if key in ("undo", "redo"):
            future: Any = getattr(desk.recorder, key)()
        else:
            action = (
                desk.label(item, float(chance.random() < 0.5)) if key == "label" else desk.mark(item, key)
            )
            future = desk.recorder.submit(action)
            log.note("submitted", action.records[0].id)
        future.add_done_callback(saved)
        flying.append(future)
        if len(flying) >= IN_FLIGHT:
            flying.pop(0).result(60)
        # Judgments go before steps: without a breath no step would ever be written.
        time.sleep(chance.uniform(0.0, 0.06))


def live(
    path: str,
    log: str,
    *,
    model: str = "",
    delay: float = 0.0,
    judging: bool = True,
    seed: int = 0,
    items: int = 1,
) -> int:
    """Live until killed, or until the annotation is done where nobody judges."""
    notes = Log(log)
    listen(notes, delay)
    try:
        with handle_signals(), Workspace.open(path) as workspace:
            notes.note("opened", os.getpid())
            if not model:
                judge_on(Desk(workspace), notes, random.Random(seed), items)
            with JobRunner(workspace, lambda _: None) as runner:
                job = runner.start(JobRequest(JobSettings(model, sandbox="process", concurrency=4)))
                if judging:
                    judge_on(Desk(workspace), notes, random.Random(seed), items)
                job.wait()
                job.result()
    except Stopped as stopped:
        return 128 + stopped.number
    return 0


def serve() -> None:
    """Fork a child for each line of the input, so that its life does not begin with a second of imports."""
    # Whoever began the tests in the background of a shell had Ctrl-C ignored, by the children too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as `nohup` has it ignored
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = live(**json.loads(line))
            finally:
                os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
