"""How many pairs a second the pipeline labels, as a share of a bare SDK loop of the same calls, in one run.

    python benchmarks/pipeline_speed.py [--pairs N] [--concurrency N] [--rounds N]
    python benchmarks/pipeline_speed.py --memory [--pairs N]

The service (`model_server.py`, a process of its own) answers at once that each pair is a clear match, so that
every pair is one call and what is measured is the pipeline alone: the worst case. The bare loop makes the same
requests with the same SDK, so many at the same time, and does nothing with the answers. A round runs both; what
is reported is the median over the rounds, and the ratio's range.

With --memory one run goes over all pairs of a workspace as large as CoSQA+ (or the first N), answered without a
service, and what is reported is the process's memory after each tenth of it, and how much of that are pages of
the file and rows not yet worked into it, which DuckDB keeps as long as nobody else needs the memory.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import large_workspace
from model_server import REPLY

from agents.jobs import role_models
from agents.jobs.events import JobEvent, JobLog, JobProgressed
from agents.jobs.runner import run_job
from agents.llm.openai import OpenAIChat
from agents.llm.protocol import LanguageModel, ModelReply, ModelRequest, Usage
from agents.llm.schemas import strict_schema
from agents.llm.settings import ModelSettings
from agents.pipelines.pair_annotation.configurations import SCREENER
from agents.pipelines.pair_annotation.reply_models import ScreenerReply
from agents.prompts import load_prompt
from agents.settings import JobSettings
from store.analysis.pair_runs import pair_texts
from store.workspace.duckdb import Workspace

MODEL = "benchmark"


@contextmanager
def service() -> Iterator[ModelSettings]:
    """Start the service; yield the settings that lead to it."""
    command = [sys.executable, str(Path(__file__).with_name("model_server.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            yield ModelSettings(openai_base_url=address, openai_api_key="benchmark")
        finally:
            process.terminate()


def requests(path: Path, count: int, models: ModelSettings) -> list[ModelRequest]:
    """Return what the screener asks of the first pairs, as the pipeline puts it."""
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        pairs = pair_texts(connection, range(1, count + 1))
    return [
        ModelRequest(
            role=SCREENER,
            subject=pair.external_id,
            messages=load_prompt(SCREENER).messages(query=pair.query, code=pair.code),
            reply_type=ScreenerReply,
            temperature=models.temperature,
            max_output_tokens=models.max_output_tokens,
            seed=models.seed,
        )
        for pair in pairs
    ]


async def bare(asked: list[ModelRequest], models: ModelSettings, concurrency: int, *, plain: bool) -> float:
    """Make the calls with the SDK alone; return how many a second.

    Args:
        asked: What is asked.
        models: Where.
        concurrency: How many requests are under way at the same time.
        plain: Whether the SDK sends the bodies as they are, as the pipeline has it do, or through
            `chat.completions.create`, which transforms each one first.
    """
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion

    assert models.openai_api_key is not None
    client = AsyncOpenAI(base_url=models.openai_base_url, api_key=models.openai_api_key.get_secret_value())
    left = iter(asked)
    schema = {"name": "reply", "schema": strict_schema(ScreenerReply), "strict": True}
    form = {"type": "json_schema", "json_schema": schema}

    async def loop() -> None:
        for request in left:
            body: Any = {
                "model": MODEL,
                "messages": [asdict(message) for message in request.messages],
                "response_format": form,
                "temperature": request.temperature,
                "max_tokens": request.max_output_tokens,
            }
            if plain:
                await client.post("/chat/completions", cast_to=ChatCompletion, body=body)
            else:
                await client.chat.completions.create(**body)

    start = time.perf_counter()
    await asyncio.gather(*(loop() for _ in range(concurrency)))
    seconds = time.perf_counter() - start
    await client.close()
    return len(asked) / seconds


def pipeline(path: Path, settings: JobSettings) -> float:
    """Let the pipeline label the pairs; return how many a second, from its first turn to its last."""
    with Workspace.open(path) as workspace:
        report = run_job(workspace, settings, fail_on_trouble)
    if report.state != "done" or report.failed:
        raise SystemExit(f"the run failed: {report}")
    return report.done / report.seconds


def fail_on_trouble(event: JobEvent) -> None:
    """Say what went wrong."""
    if isinstance(event, JobLog) and event.level != "info":
        print(event.text, file=sys.stderr)


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Run the rounds and print the table."""
    rates: dict[str, list[float]] = {"bare SDK loop": [], "bare, body as it is": [], "pipeline": []}
    with service() as models:
        for number in range(options.rounds):
            path = large_workspace.build(folder / f"{number}.duckdb", options.pairs)
            asked = requests(path, options.pairs, models)
            for plain, name in ((False, "bare SDK loop"), (True, "bare, body as it is")):
                loop = partial(bare, models=models, concurrency=options.concurrency, plain=plain)
                asyncio.run(loop(asked[:200]))  # imports, connections
                rates[name].append(asyncio.run(loop(asked)))
            settings = JobSettings(
                model=f"openai:{MODEL}", concurrency=options.concurrency, models=models, sandbox="process"
            )
            rates["pipeline"].append(pipeline(path, settings))
            path.unlink()
    print(f"{options.pairs:,} calls, {options.concurrency} at a time, {options.rounds} rounds")
    for name, found in rates.items():
        ratios = [one / other for one, other in zip(found, rates["bare SDK loop"], strict=True)]
        print(
            f"{name:20} {statistics.median(found):7.1f} a second, "
            f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


class AtOnce(OpenAIChat):
    """Answers in this process, at once."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Find every pair a clear match."""
        await asyncio.sleep(0)
        text = f"{REPLY}"
        value = ScreenerReply.model_validate(REPLY)
        return ModelReply(value, text, Usage(700, 60), self.name, 0.0, 1, "benchmark")


def memory(options: argparse.Namespace, folder: Path) -> None:
    """Run over all pairs, and print what the process holds after each tenth."""

    def at_once(name: str, settings: ModelSettings) -> LanguageModel:
        return AtOnce(name.partition(":")[2], settings)

    def told(ended: int) -> str:
        cursor = workspace.native()
        (kept,) = cursor.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0]
        cursor.close()
        return f"{ended:8,} pairs: {resident():6.1f} MiB, of which DuckDB keeps {int(kept) / 2**20:6.1f}"

    role_models.open_model = at_once
    path = large_workspace.build(folder / "large.duckdb", options.pairs)
    tenths = itertools.count(1)
    due = [next(tenths)]

    def tell(event: JobEvent) -> None:
        fail_on_trouble(event)
        if isinstance(event, JobProgressed) and event.ended >= due[0] * event.total // 10:
            print(told(event.ended), flush=True)
            due[0] = next(tenths)

    models = ModelSettings(openai_base_url="http://127.0.0.1:1/v1")
    settings = JobSettings(model=f"openai:{MODEL}", concurrency=32, models=models, sandbox="process")
    with Workspace.open(path) as workspace:
        print(told(0), flush=True)
        report = run_job(workspace, replace(settings, limit=options.pairs), tell)
    print(f"{report.done / report.seconds:,.0f} pairs a second")


def resident() -> float:
    """Return how much memory this process holds, in MiB, what it maps of files included."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    options.pairs = options.pairs or (large_workspace.PAIRS if options.memory else 2_000)
    with tempfile.TemporaryDirectory() as folder:
        (memory if options.memory else compare)(options, Path(folder))


if __name__ == "__main__":
    main()
