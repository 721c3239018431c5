"""Measures exports and splits of a workspace as large as CoSQA+ with the labels of three raters for each pair.

    python benchmarks/ground_truth_speed.py [WORKSPACE]

The export of all judgments as Parquet (1,236,240 rows, each with its item) is compared with DuckDB's own COPY of
the tables' rows joined in the same way, in one run, in turn, three times: the median of each, and of the time of
processors, which other work beside it lengthens less. An export holds at most 1 GB in the database; the COPY is
measured with as much memory as it takes, and with 1 GB. The bare COPY writes judgments, items, queries and codes,
but no similarities, words, raters, questions, guidelines and studies. A split and an export of it run once. Without a workspace one is built (`large_workspace.py`).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

from large_workspace import build

from store.export.exporting import export
from store.splits.allocation import parse_ratios
from store.splits.splits import SplitPlan, make_split
from store.workspace.duckdb import Workspace

TIMES = 3
PANEL = ("imported 0", "imported 1", "imported 2")
BARE = """
    COPY (
        SELECT j.*, i.*, q.text AS query, c.text AS code, c.name, c.language, c.repository, c.path, c.licence, p.rank
        FROM judgment j JOIN item i ON i.id = j.item_id JOIN pair p ON p.item_id = i.id
        JOIN query q ON q.id = p.query_id JOIN code c ON c.id = p.code_id ORDER BY j.id
    ) TO '{file}' (FORMAT parquet, COMPRESSION zstd)
"""


@contextmanager
def timed(found: list[tuple[float, float]]) -> Iterator[None]:
    """Add the seconds that the block takes, and those of processors."""
    began = perf_counter(), process_time()
    yield
    found.append((perf_counter() - began[0], process_time() - began[1]))


def main() -> None:
    """Measure, and print a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else build(Path(folder) / "large.duckdb")
        out = Path(folder) / "out"
        with Workspace.open(path) as workspace:
            ways: dict[str, list[tuple[float, float]]] = {"export": [], "bare COPY": [], "in 1 GB": []}
            for _ in range(TIMES):
                with workspace.native() as cursor:
                    with timed(ways["bare COPY"]):
                        cursor.execute(BARE.format(file=out))
                    with workspace.limited_memory("1GB"), timed(ways["in 1 GB"]):
                        cursor.execute(BARE.format(file=out))
                with timed(ways["export"]):
                    rows = export(workspace, out.with_suffix(".parquet"), "judgments", overwrite=True).records
            for place, what in enumerate(("seconds", "processor seconds")):
                ours, bare, limited = (
                    statistics.median(one[place] for one in found) for found in ways.values()
                )
                print(
                    f"export of {rows:,} judgments, {what}: {ours:.1f}; bare COPY {bare:.1f}, {ours / bare:.2f} "
                    f"times; bare COPY in 1 GB as the export {limited:.1f}, {ours / limited:.2f} times",
                    flush=True,
                )
            began = perf_counter()
            plan = SplitPlan("pair.match", "majority", parse_ratios("8:1:1"), panel=PANEL)
            items = sum(part.items for part in make_split(workspace, "bench", plan).report.parts)
            print(f"split of {items:,} pairs: {perf_counter() - began:.1f} s")
            for form in ("hugging-face", "beir", "trec-qrels"):
                began = perf_counter()
                rows = export(workspace, Path(folder) / form, form, split="bench").records
                print(f"{form} of {rows:,} pairs: {perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
