"""Measures machinery for speed and for estimates: the product with it and without it, in one run.

    python benchmarks/machinery.py jobs [--pairs N] [--kept N] [--seconds S] [--rounds N]
    python benchmarks/machinery.py start [--rounds N]
    python benchmarks/machinery.py queue [--pairs N] [--rounds N]
    python benchmarks/machinery.py estimates [--thinking TOKENS]

Each round runs every variant, and every other round in the reverse order, so that what else the machine does falls on
all of them alike. What is printed are medians, and the median of the ratios (or differences) to the first variant in
the same round, with its range.

`jobs`: a model in this process answers after S seconds that a pair is a clear match; N replies of others are kept
already. `start`: the processor time of the main thread, which a start waits for, beside a loop of a million additions
(about 50 ms on a desktop). `queue`: from the start of the process until the first lines of the queue are on the
terminal, with and without `store.first_look`. `estimates`: what the sample's replies cost at four characters a token
and $0.15 and $0.60 a million, beside what is estimated for the second half of the job; with --thinking each reply
costs so many output tokens more, as with a model that reasons.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import large_workspace
import pipeline_speed
from first_judgment import processor_seconds
from sqlalchemy import delete, insert
from terminal import Terminal

from agents.jobs import estimate, role_models, run_record
from agents.jobs.runner import run_job
from agents.llm.protocol import ModelReply, ModelRequest, Usage
from agents.llm.settings import ModelSettings
from agents.settings import JobSettings
from store.tables.columns import among, table_of
from store.workspace.duckdb import Workspace
from workbench.config import Config
from workbench.job_settings import sample_annotation
from workbench.sample import import_sample

Figures = tuple[float, float]
"""Seconds by the clock, and of processor time."""

_KEPT = (
    "INSERT INTO reply BY NAME SELECT uuidv4() AS id, 'screener' AS role, 'another' AS model, '' AS service, "
    "'' AS snapshot, repeat('so it is ', 30) AS text, 700 AS tokens_in, 60 AS tokens_out, 0 AS tokens_cached, "
    "0 AS tokens_written, 1 AS requests, NULL AS money, '' AS price, '' AS sdk, 1.0 AS seconds, now() AS created_at "
    "FROM range({kept})"
)


def compare(variants: Sequence[str], rounds: int, measure: Callable[[str], Figures]) -> None:
    """Measure every variant in every round, and print the table."""
    found: dict[str, list[Figures]] = {name: [] for name in variants}
    for number in range(rounds):
        for name in variants if number % 2 == 0 else reversed(variants):
            found[name].append(measure(name))
    base = found[variants[0]]
    for name, figures in found.items():
        for at, what in enumerate(("by the clock", "of processors")):
            pairs = [(one[at], other[at]) for one, other in zip(figures, base, strict=True)]
            ratios = [one / other for one, other in pairs]
            more = statistics.median(one - other for one, other in pairs)
            print(
                f"{name:<32} {statistics.median(one for one, _ in pairs):7.3f} s {what}  {1000 * more:+6.0f} ms  "
                f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            )


class WriteForEach:
    """Gives the lane a write of its own for each call, and leaves it to the lane to batch them."""

    def __init__(self, lane: Any, *, replaced: Sequence[Any] = ()) -> None:
        self._lane, self._replaced = lane, frozenset(replaced)
        self._unwritten: set[asyncio.Future[None]] = set()

    async def add(self, *rows: Any, after: asyncio.Task[None] | None = None) -> None:
        """Write rows."""
        if after is not None:
            await after
        told = [(model, [row.model_dump() for row in some]) for model, some in rows if some]

        def write(connection: Any) -> None:
            for model, some in told:
                table = table_of(model)
                if model in self._replaced:
                    ids = [row["id"] for row in some]
                    connection.execute(delete(table).where(among(table.c.id, ids)))
                connection.execute(insert(table), some)

        done = asyncio.wrap_future(self._lane.submit(write))
        self._unwritten.add(done)
        done.add_done_callback(self._unwritten.discard)
        await asyncio.shield(done)

    async def written(self) -> None:
        """Wait for all."""
        while self._unwritten:
            await asyncio.wait(self._unwritten)


def jobs(options: argparse.Namespace, folder: Path) -> None:
    """Compare runs over pairs."""

    class Slow(pipeline_speed.AtOnce):
        async def reply(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(options.seconds)
            return await super().reply(request)

    role_models.open_model = lambda name, settings: Slow(name.partition(":")[2], settings)
    template = large_workspace.build(folder / "template.duckdb", options.pairs)
    with Workspace.open(template) as workspace, workspace.native() as cursor:
        cursor.execute("DELETE FROM verdict")
        cursor.execute(_KEPT.format(kept=options.kept))
    content, path = template.read_bytes(), folder / "run.duckdb"
    batches = run_record.RowBatcher
    settings = JobSettings(
        model=f"openai:{pipeline_speed.MODEL}",
        concurrency=32,
        models=ModelSettings(openai_base_url="http://127.0.0.1:1/v1"),
        sandbox="process",
    )

    def measure(variant: str) -> Figures:
        run_record.RowBatcher = WriteForEach if "each" in variant else batches
        path.write_bytes(content)
        with Workspace.open(path) as workspace:
            processor, clock = time.process_time(), time.perf_counter()
            report = run_job(workspace, settings, pipeline_speed.fail_on_trouble)
            figures = time.perf_counter() - clock, time.process_time() - processor
        if report.state != "done" or report.failed:
            raise SystemExit(f"the run failed: {report}")
        return figures

    compare(("as it is", "a write for each call"), options.rounds, measure)


_START = """
import time, workbench.wiring, workbench.exit_codes, workbench.start, screens.app, screens.home.screen
import screens.queue.screen, store.first_look, store.workspace.duckdb
moments = [time.thread_time()]
sum(range(1_000_000)) and [number + 1 for number in range(1_000_000)]
moments.append(time.thread_time())
from workbench.cli.quick_parse import parse_opening
parse_opening(ARGUMENTS)
moments.append(time.thread_time())
import typer
from workbench.cli.program import program
typer.main.get_command(program).make_context("workbench", ARGUMENTS, resilient_parsing=True)
moments.append(time.thread_time())
from workbench.lazy_config import LazyConfig
LazyConfig().screens
moments.append(time.thread_time())
from workbench.config import load_config
load_config()
moments.append(time.thread_time())
print(*(1000 * (after - before) for before, after in zip(moments, moments[1:])))
"""


def start(options: argparse.Namespace, folder: Path) -> None:
    """Print what reading the command line and the configuration takes at a start, in both ways."""
    code = _START.replace("ARGUMENTS", repr(["study.duckdb", "--rater", "ana"]))
    unset = {name: value for name, value in os.environ.items() if not name.startswith("WORKBENCH_")}
    environment = unset | {"XDG_CONFIG_HOME": str(folder)}
    told = [
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout
        for _ in range(options.rounds)
    ]
    names = (
        "a million additions",
        "the reader of plain command lines",
        "Typer reads the command line",
        "the defaults of the configuration",
        "the whole configuration",
    )
    columns = zip(*(map(float, line.split()) for line in told), strict=True)
    for name, column in zip(names, map(sorted, columns), strict=True):
        print(f"{name:<36} {statistics.median(column):6.1f} ms ({column[0]:.1f} to {column[-1]:.1f})")


_QUEUE = """
import sys
import store.first_look as first
if sys.argv.pop(1) != "as it is":
    first.look = lambda *_, **__: None
from workbench.cli import main
main()
"""


def queue(options: argparse.Namespace, folder: Path) -> None:
    """Compare starts that show the queue."""
    path = large_workspace.build(folder / "pairs.duckdb", options.pairs)
    opening = [str(path), "--rater", large_workspace.RATER, "--start", "queue"]

    def measure(variant: str) -> Figures:
        terminal = Terminal(
            [sys.executable, "-c", _QUEUE, variant, *opening], env={"XDG_CONFIG_HOME": str(folder)}
        )
        try:
            seconds = terminal.wait_for("thing number 1 ") - terminal.started
            return seconds, processor_seconds(terminal.pid)
        finally:
            terminal.close()

    compare(("as it is", "all is read by the queries"), options.rounds, measure)


def estimates(options: argparse.Namespace, folder: Path) -> None:
    """Compare what is estimated for the second half of a job with what it costs."""
    used: Counter[str] = Counter()
    opened = role_models.open_model

    def counted(name: str, settings: ModelSettings) -> Any:
        model: Any = opened(name, settings)
        answer = model.reply

        async def reply(request: ModelRequest) -> ModelReply:
            given: ModelReply = await answer(request)
            tokens_in = round(sum(len(message.content) for message in request.messages) / 4)
            usage = Usage(tokens_in, round(len(given.text) / 4) + options.thinking)
            used.update(tokens_in=usage.tokens_in, tokens_out=usage.tokens_out)
            return replace(given, usage=usage)

        model.reply = reply
        return model

    def told(name: str, tokens_in: int, tokens_out: int, actual: float = 0.0) -> float:
        money = (tokens_in * 0.15 + tokens_out * 0.60) / 1e6
        share = f"  {money / actual:.2f} of what it costs" if actual else ""
        print(f"{name:<32} {tokens_in:7,} tokens in {tokens_out:7,} out  ${money:.4f}{share}")
        return money

    role_models.open_model = counted
    with Workspace.open(folder / "sample.duckdb", create=True) as workspace:
        import_sample(workspace)
        job = sample_annotation(Config())
        run_job(workspace, replace(job, limit=40), lambda _: None)
        used.clear()
        found = {"prompts and earlier replies": estimate.estimate(workspace, job)}
        estimate.past_replies = lambda _: {}
        estimate.past_assessments = lambda *_: (0, 0)
        found["prompts alone"] = estimate.estimate(workspace, job)
        estimate._prompt_characters = lambda *_: 2000.0
        found["2,000 characters a prompt"] = estimate.estimate(workspace, job)
        run_job(workspace, job, lambda _: None)
    actual = told("what it costs", used["tokens_in"], used["tokens_out"])
    for name, one in found.items():
        told(name, one.total("tokens_in"), one.total("tokens_out"), actual)


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["jobs", "start", "queue", "estimates"])
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--kept", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--thinking", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        {"jobs": jobs, "start": start, "queue": queue, "estimates": estimates}[options.what](
            options, Path(folder)
        )


if __name__ == "__main__":
    main()
