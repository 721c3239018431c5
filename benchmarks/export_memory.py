"""Measures the time and the memory of every export format of a workspace with three labels for each pair.

    python benchmarks/export_memory.py [--judgments N ...] [FORMAT ...]

Each export runs in a process of its own (`python -m workbench export`), by default of 150,000 and of 1,500,000
judgments (`large_workspace.py`), in turn. Memory is the most that the process held, in MB; a format whose memory
is flat holds about the same of both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from large_workspace import build

RATER = ("--rater", "imported 0")
FORMATS: dict[str, tuple[str, ...]] = {
    "jsonl": (),
    "judgments.csv": (),
    "judgments.parquet": (),
    "csv": (),
    "parquet": (),
    "labels": (),
    "cosqa": RATER,
    "cosqa-plus": RATER,
    "hugging-face": RATER,
    "beir": RATER,
    "coir": RATER,
    "trec-qrels": RATER,
    "matrix": (),
    "matrix-long": (),
    "label-studio": (),
    "argilla": (),
    "prodigy": (),
    "bundle": (),
}
"""The formats of pairs, the record with its ending, and the options that say whose labels are written."""


def measure(workspace: Path, form: str, out: Path) -> tuple[float, float]:
    """Return the seconds that an export takes, and the MB of memory that it holds at most."""
    name, _, ending = form.partition(".")
    out = out.with_suffix(f".{ending}") if ending else out
    command = [sys.executable, "-m", "workbench", "export", str(workspace), str(out), "--format", name]
    began = perf_counter()
    with subprocess.Popen([*command, *FORMATS[form]], stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"The export as {form} failed.")
    seconds = perf_counter() - began
    if out.is_dir():
        shutil.rmtree(out)
    else:
        out.unlink()
    return seconds, used.ru_maxrss / 1024


def main() -> None:
    """Print a table with a line for each format."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("formats", nargs="*", metavar="FORMAT", default=list(FORMATS))
    parser.add_argument("--judgments", type=int, nargs="+", default=[150_000, 1_500_000], metavar="N")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spaces = [Path(folder) / f"{n}.duckdb" for n in chosen.judgments]
        # Not in this process: what it once held counts as memory of the processes that it starts.
        with get_context("spawn").Pool(1) as pool:
            pool.starmap(build, [(space, n // 3) for space, n in zip(spaces, chosen.judgments, strict=True)])
        print("| format |" + "".join(f" {n:,} judgments |" for n in chosen.judgments))
        print("|---|" + "---|" * len(spaces))
        for form in chosen.formats:
            found = [measure(space, form, Path(folder) / "out") for space in spaces]
            cells = "".join(f" {seconds:.1f} s, {memory:.0f} MB |" for seconds, memory in found)
            print(f"| `{form}` |{cells}", flush=True)


if __name__ == "__main__":
    main()
