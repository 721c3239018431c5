"""Collecting issues from a service in GitHub's form on this machine, against a bare loop over the same pages.

    python benchmarks/collection_speed.py [--issues N] [--rounds N] [--delay SECONDS]

The bare loop gets page after page and reads its JSON, and nothing else. Collecting also keeps pages, decides on every
issue, gets the comments of those that may be taken, and adds questions without user names. The service answers after
--delay seconds; GitHub takes 0.1 and more. Prints pages a second and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from loopback_github import GitHubHere, github_here, helpful, issue

from agents.collection.issues import IssueCollection, IssueRequest
from agents.github.settings import GitHubSettings
from agents.jobs.runner import run_work
from agents.jobs.work import WorkSettings
from agents.llm.settings import ModelSettings
from agents.retrieval.settings import RetrievalSettings
from store.workspace.duckdb import Workspace

NAME = "shop/till"
BODY = "The drawer stays shut, whatever the till does about it.\n\n```python\nopen_drawer(till)\n```\n" * 8


async def bare(here: GitHubHere) -> int:
    """Get all pages of closed issues, and their JSON."""
    address: str | None = f"{here.url}/repos/{NAME}/issues?state=closed&per_page=100"
    pages = 0
    async with aiohttp.ClientSession() as session:
        while address is not None:
            async with session.get(address) as response:
                json.loads(await response.read())
                address = str(response.links["next"]["url"]) if "next" in response.links else None
            pages += 1
    return pages


def collected(here: GitHubHere, folder: Path) -> int:
    """Collect, and return the pages that were asked for."""
    settings = WorkSettings(
        ModelSettings(), RetrievalSettings(), github=GitHubSettings(url=here.url, pages=folder / "pages")
    )
    here.asked.clear()
    with Workspace.create(folder / "bench.duckdb") as workspace:
        job = run_work(workspace, IssueCollection(IssueRequest((NAME,)), settings), lambda _: None)
        if job.error is not None:
            raise SystemExit(str(job.error))
    return len(here.asked)


def main() -> None:
    """Measure in turn, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--issues", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.05)
    given = parser.parse_args()
    ours, alone = [], []
    with github_here() as here:
        here.delay = given.delay
        titles = (f"Drawer {number}" for number in range(given.issues))
        here.add(
            NAME,
            [issue(title, body=BODY) for title in titles],
            {at: helpful(4) for at in range(1, given.issues, 50)},
        )
        for _ in range(given.rounds):
            started = perf_counter()
            pages = asyncio.run(bare(here))
            alone.append(pages / (perf_counter() - started))
            with tempfile.TemporaryDirectory() as folder:
                started = perf_counter()
                pages = collected(here, Path(folder))
                ours.append(pages / (perf_counter() - started))
    middle, of = statistics.median(ours), statistics.median(alone)
    print(f"{given.issues:,} issues, each answer after {1000 * given.delay:.0f} ms")
    print(f"collecting {middle:.0f} pages a second, a bare loop {of:.0f}, ratio {middle / of:.2f}")


if __name__ == "__main__":
    main()
