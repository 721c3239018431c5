"""Measures storing rankings and the retrieval report at the scale of CoSQA+, beside pytrec_eval.

    python benchmarks/retrieval_report.py [--pairs 412080] [--depth 1000] [--workspace PATH]

Two methods rank 1,000 codes for each of 20,604 queries: at random, half of the labelled codes of a query among them.
Storing one, reading it into numpy alone, and the report of both (intervals of 1,000 resamples, as the command) run
in a process each, whose seconds, seconds of processors and growth of memory are printed. Ratios are of seconds of
processors, which other work on the machine changes less. pytrec_eval computes the measures that it has
of those of the report, of the same rankings and labels, in Python's dicts, which it needs; only its evaluation is
timed. Both must agree.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# As the commands do: the products of a bootstrap are too small to be worth threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy
import pytrec_eval
from large_workspace import PAIRS, build
from sqlalchemy import Connection
from top_k_speed import memory

from store.rankings.labels import LabelSource, read_grades
from store.rankings.rankings import store_ranking
from store.rankings.report import retrieval_report
from store.workspace.duckdb import Workspace

Array = numpy.ndarray[Any, Any]

METHODS = ("one", "two")
SOURCE = LabelSource(rater="imported 0")
QUERIES_AT_ONCE = 500
OF_TREC = {
    **{
        f"{name}@10": f"{key}_10"
        for name, key in (("ndcg", "ndcg_cut"), ("map", "map_cut"), ("precision", "P"))
    },
    **{f"{name}@{cut}": f"{name}_{cut}" for name in ("success", "recall") for cut in (1, 5, 10, 20, 100)},
}
"""The measures of the report that pytrec_eval has, and what it calls them."""


def drawn(connection: Connection, depth: int, seed: int) -> dict[str, Any]:
    """Return a ranking of all queries, drawn at random, half of the labelled codes of each query in it."""
    queries, codes = (
        connection.exec_driver_sql(f"SELECT text_hash FROM {table} ORDER BY id").scalars().all()
        for table in ("query", "code")
    )
    random = numpy.random.default_rng(seed)
    # The codes from a random one on: no code twice in a ranking.
    places = (random.integers(len(codes), size=(len(queries), 1)) + numpy.arange(depth) * 7) % len(codes)
    labelled = connection.exec_driver_sql("SELECT query_id, code_id FROM pair ORDER BY item_id")
    for number, (query, code) in enumerate(labelled):
        row = places[query - 1]
        if number % 2 == 0 and code - 1 not in row:
            row[random.integers(depth)] = code - 1
    scores = numpy.broadcast_to(1 / numpy.arange(1, depth + 1), places.shape)
    return {"queries": queries, "codes": codes, "places": places.astype(numpy.int32), "scores": scores}


def store(path: Path, method: str, depth: int) -> Callable[[], object]:
    """Return what stores the ranking of a method."""
    opened = Workspace.open(path)
    with opened.reading() as connection:
        given = drawn(connection, depth, METHODS.index(method))
    return lambda: store_ranking(opened, method, {}, depth=depth, **given)


def read_alone(path: Path) -> Callable[[], object]:
    """Return what reads the codes of one ranking into numpy, in order, and does nothing with them."""
    opened = Workspace.open(path)
    opened.share_cores()
    statement = "SELECT code_id FROM retrieval_hit WHERE retrieval_id = 1 ORDER BY query_id, rank"
    return lambda: opened.native().execute(statement).fetchnumpy()


def report(path: Path) -> Callable[[], object]:
    """Return what makes the report."""
    opened = Workspace.open(path)
    opened.share_cores()

    def run() -> object:
        with opened.reading() as connection:
            return retrieval_report(connection, SOURCE)

    return run


def measured(of: Callable[..., Callable[[], object]], *given: object) -> tuple[float, float, float]:
    """Run a step; return its seconds, those of processors, and the MiB by which this process grew at most."""
    step = of(*given)
    Path("/proc/self/clear_refs").write_text("5")  # the peak from here on
    before = memory("VmRSS")
    began, worked = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - began, time.process_time() - worked, memory("VmHWM") - before


def evaluated(path: Path) -> tuple[float, float]:
    """Return the seconds that pytrec_eval takes for one ranking, and how far a measure is from the report's at most."""
    with Workspace.open(path) as opened, opened.reading() as connection:
        found = retrieval_report(connection, SOURCE)
        qrels = read_grades(connection, SOURCE).qrels
        rows = connection.exec_driver_sql(
            "SELECT q.text_hash, list(c.text_hash ORDER BY h.rank) FROM retrieval_hit h "
            "JOIN query q ON q.id = h.query_id JOIN code c ON c.id = h.code_id WHERE h.retrieval_id = 1 GROUP BY 1"
        )
        run = dict(tuple(row) for row in rows)
    assert found is not None
    ours = found.scores[METHODS[0]]
    means = {**ours.means(), **found.curves[METHODS[0]]}
    seconds, sums = 0.0, dict.fromkeys(OF_TREC, 0.0)
    for start in range(0, len(ours.queries), QUERIES_AT_ONCE):
        part = ours.queries[start : start + QUERIES_AT_ONCE]
        grades = {query: {code: int(grade) for code, grade in qrels[query].items()} for query in part}
        scores = {query: {code: float(-rank) for rank, code in enumerate(run[query])} for query in part}
        began = time.process_time()
        values = pytrec_eval.RelevanceEvaluator(grades, set(OF_TREC.values())).evaluate(scores)
        seconds += time.process_time() - began
        for name, theirs in OF_TREC.items():
            sums[name] += sum(each[theirs] for each in values.values())
    return seconds, max(abs(means[name] - total / len(ours.queries)) for name, total in sums.items())


def main() -> None:
    """Store two rankings, report on them, and print what each step took."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--pairs", type=int, default=PAIRS)
    options.add_argument("--depth", type=int, default=1000)
    options.add_argument(
        "--workspace", type=Path, help="where the workspace is kept; else in a temporary folder"
    )
    given = options.parse_args()

    def apart(of: Callable[..., Any], *arguments: object) -> Any:
        """Run a function in a process of its own."""
        with get_context("spawn").Pool(1) as pool:
            return pool.apply(of, arguments)

    def step(name: str, *arguments: Any) -> float:
        """Measure a step and print a line; return its seconds of processors."""
        seconds, worked, grown = apart(measured, *arguments)
        print(f"{name:18} {seconds:6.1f} s {worked:6.1f} s of processors {grown:6,.0f} MiB", flush=True)
        return float(worked)

    with tempfile.TemporaryDirectory() as folder:
        path = build(given.workspace or Path(folder) / "large.duckdb", given.pairs)
        size = path.stat().st_size
        for method in METHODS:
            step("store a ranking", store, path, method, given.depth)
        print(f"the file grew by {(path.stat().st_size - size) / 2**20 / len(METHODS):,.0f} MiB for each")
        alone = step("read one alone", read_alone, path)
        one = step("report of both", report, path) / len(METHODS)
        theirs, difference = apart(evaluated, path)
        print(f"pytrec_eval of one {theirs:16.1f} s of processors")
        print(f"report for each: {one / alone:.2f} of reading one alone, {one / theirs:.2f} of pytrec_eval")
        print(f"measures differ by {difference:.0e} at most")


if __name__ == "__main__":
    main()
