"""Key to next item painted on 412,080 pairs: idle, while a file is imported, while the agents annotate.

    python benchmarks/keys_under_load.py [PAIRS] [--keys N]

The app runs in this process without a terminal (`screen_speed.py` measures through one); a key counts from
its press until the next item stands painted on the screen. Idle is the figure to compare the others with.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import synthetic
from large_workspace import PAIRS, RATER, build

from agents.jobs import AnnotationJob
from agents.settings import AnnotationSettings
from screens.app import WorkbenchApp
from screens.review.screen import ReviewScreen
from store.importing import import_files
from store.queries.queue import queue_ids
from store.workspace import Workspace
from workbench.config import Config
from workbench.context import Runners, make_context

ANNOTATED = 4_000


def replies(folder: Path, first: int) -> Path:
    """Write a script in which the screener finds every item clear, after the time a service takes."""
    path = folder / "replies.jsonl"
    reply = {"assessment": "clear_match", "justification": "It does what was asked. " * 8}
    with path.open("w") as file:
        for number in range(first, first + ANNOTATED):
            line = {"role": "screener", "subject": f"pair-{number}", "reply": reply, "delay_seconds": 0.05}
            file.write(json.dumps(line) + "\n")
    return path


async def press_keys(app: WorkbenchApp, keys: int, goes_on: Callable[[], bool]) -> list[float]:
    """Judge item after item; return seconds from each key to the next item painted."""
    seconds: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        context = app.context
        assert context.rater is not None
        app.open_review(queue_ids(context.workspace, context.rater.id), 0, "all items")
        await pilot.pause(1.0)
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        while not screen.is_painted:
            await pilot.pause(0.01)
        for number in range(keys):
            if not goes_on():
                break
            before = screen.order.index
            began = time.perf_counter()
            await pilot.press("1" if number % 2 else "0")
            while screen.order.index == before or not screen.is_painted:  # noqa: ASYNC110 - each turn of the loop counts
                await asyncio.sleep(0)
            seconds.append(time.perf_counter() - began)
            await asyncio.sleep(0.1)
    return seconds


def tell(name: str, seconds: list[float]) -> None:
    """Print one line of figures."""
    p95 = statistics.quantiles(seconds, n=20)[18]
    print(
        f"{name:<18} median {statistics.median(seconds) * 1000:6.1f} ms  p95 {p95 * 1000:6.1f} ms  of {len(seconds)} keys"
    )


def measure(path: Path, folder: Path, keys: int, load: str, imported: Path) -> None:
    """Judge under one load, in an app of its own."""
    with Workspace.open(path) as workspace, Runners(workspace) as runners:
        app = WorkbenchApp(make_context(workspace, Config(), RATER, runners))
        if load == "importing":
            thread = threading.Thread(target=import_files, args=(workspace, [imported]), daemon=True)
            thread.start()
            tell(load, asyncio.run(press_keys(app, keys, thread.is_alive)))
            thread.join()
        elif load == "annotating":
            first = 200_000 if PAIRS > 300_000 else 1
            settings = AnnotationSettings(
                model=f"scripted:{replies(folder, first)}", item_ids=tuple(range(first, first + ANNOTATED))
            )
            job = app.runner.start(AnnotationJob(settings))
            tell(load, asyncio.run(press_keys(app, keys, lambda: job.state in ("starting", "running"))))
            job.stop(0)
        else:
            tell(load, asyncio.run(press_keys(app, keys, lambda: True)))


def main() -> None:
    """Measure under each load."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("pairs", nargs="?", type=int, default=PAIRS)
    options.add_argument("--keys", type=int, default=60)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as name:
        folder = Path(name)
        path = build(folder / "large.duckdb", given.pairs)
        imported = folder / "more.jsonl"
        synthetic.write(imported, "jsonl")
        for load in ("idle", "importing", "annotating"):
            measure(path, folder, given.keys, load, imported)


if __name__ == "__main__":
    main()
