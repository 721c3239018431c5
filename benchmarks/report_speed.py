"""Measures the time and the memory of the reports over a workspace as large as CoSQA+.

    python benchmarks/report_speed.py [WORKSPACE]

Each command runs as a user runs it, in a process of its own, five times: the median of the seconds from its
start to its end, and the most memory that it held. Without a workspace one is built (`large_workspace.py`).
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from large_workspace import build

COMMANDS = (
    ("report", "WORKSPACE", "agreement"),
    ("report", "WORKSPACE", "accuracy", "--panel", "imported 0,imported 1,imported 2"),
    ("report", "WORKSPACE", "progress"),
    ("report", "WORKSPACE", "figures"),
    ("items", "WORKSPACE", "--limit", "500"),
    ("sql", "WORKSPACE", "SELECT count(*) FROM pairs"),
    ("sql", "WORKSPACE", "SELECT rank, avg(length(code)) FROM pairs GROUP BY rank"),
    ("sql", "WORKSPACE", "SELECT rater, avg(value) FROM labels GROUP BY rater"),
)
TIMES = 5


def measured(command: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds and the most MB of memory that it held."""
    began = perf_counter()
    subprocess.run([sys.executable, "-m", "workbench", *command], check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    """Measure the commands and print a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else build(Path(folder) / "large.duckdb")
        for command in COMMANDS:
            words = [str(path) if word == "WORKSPACE" else word for word in command]
            # A process for each, since the system tells the most memory of all children alone.
            with get_context("spawn").Pool(1) as pool:
                found = pool.map(measured, [words] * TIMES)
            seconds, memory = (statistics.median(column) for column in zip(*found, strict=True))
            print(f"{' '.join(command[:3]):36} {seconds:5.2f} s {memory:5.0f} MB")


if __name__ == "__main__":
    main()
