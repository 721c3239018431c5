"""How long an import takes, as a multiple of DuckDB's own reading of the same file, in one run.

    python benchmarks/import_speed.py [--form jsonl|csv|parquet|cosqa-plus] [--labelled] [--rounds N]
        [--queries N] [--codes N]

DuckDB's own reading is `CREATE TABLE ... AS SELECT * FROM read_json(FILE)` (read_csv, read_parquet) with all
columns and types told by itself, into a new database file, committed. The file was written just before, so
that both find it in the cache. A round is one such reading and one import right after it; what is reported
is the median over the rounds, and the ratio's range.

It also says how much memory the process had at most, and how long a judgment waited for its commit while
the import ran (median, p95, worst), and while nothing else did.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import synthetic

from store.events import Progress
from store.ingest.importing import import_files
from store.processes import tuned_for_throughput
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.raters import ensure_rater, question_number, register_kinds
from store.tables.record import Judgment
from store.workspace.duckdb import Workspace


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and by all cores together, which other programs on the machine disturb less."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:6.2f} s, CPU {self.cpu:6.2f} s"


def timed(work: Callable[[], object]) -> Took:
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - started, time.process_time() - cpu)


def read_by_duckdb(path: Path, place: Path) -> Took:
    """Time DuckDB making a table in a file out of the same records."""
    reader = {".csv": "read_csv", ".parquet": "read_parquet"}.get(path.suffix, "read_json")
    with duckdb.connect(str(place)) as connection:
        return timed(
            lambda: connection.execute(f"CREATE TABLE pairs AS SELECT * FROM {reader}(?)", [str(path)])
        )


def middle(took: Sequence[Took]) -> Took:
    """Return the medians of several measurements."""
    return Took(statistics.median(one.wall for one in took), statistics.median(one.cpu for one in took))


def peak() -> str:
    """Return how much memory the process has had at most."""
    return f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB of memory"


class Judging:
    """Judges one item again and again in a thread, and notes how long each judgment took to be stored."""

    def __init__(self, workspace: Workspace, item_id: int) -> None:
        self.waits: list[tuple[float, float]] = []
        self._workspace = workspace
        rater = ensure_rater(workspace, "bench")
        with workspace.reading() as connection:
            self._question = question_number(connection, "pair.match")
        self._recorder = Recorder(workspace, rater)
        self._item = item_id
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._judge)
        self._thread.start()

    def _judge(self) -> None:
        while not self._stop.wait(0.02):
            number = self._workspace.ids.next()
            record = Judgment(
                id=number,
                action=number,
                item_id=self._item,
                question_id=self._question,
                rater_id=self._recorder.rater.id,
                value=float(len(self.waits) % 2),
                created_at=now(),
            )
            started = time.perf_counter()
            self._recorder.submit(Action(number, (record,))).result()
            self.waits.append((started, time.perf_counter() - started))

    def stop(self) -> None:
        """Judge no more."""
        self._stop.set()
        self._thread.join()

    def told(self, start: float, end: float) -> str:
        """Return how long the judgments between two moments waited."""
        waits = sorted(wait * 1000 for begun, wait in self.waits if begun + wait >= start and begun <= end)
        if not waits:
            return "none"
        p95 = waits[int(len(waits) * 0.95)]
        return f"n={len(waits)} median {statistics.median(waits):.1f} p95 {p95:.1f} worst {waits[-1]:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=synthetic.QUERIES)
    parser.add_argument("--codes", type=int, default=synthetic.CODES)
    parser.add_argument("--form", choices=synthetic.FORMS, default="jsonl")
    parser.add_argument("--labelled", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = folder / f"pairs{synthetic.FORMS[options.form]}"
        count = synthetic.write(
            path,
            options.form,
            labelled=options.labelled,
            query_count=options.queries,
            code_count=options.codes,
        )
        print(f"{count:,} pairs, {path.stat().st_size / 1e6:.0f} MB, {options.form}")
        natives: list[Took] = []
        imports: list[Took] = []
        reading = ""
        for number in range(options.rounds):
            natives.append(read_by_duckdb(path, folder / f"plain{number}.duckdb"))
            reading = reading or peak()
            imports.append(run(path, folder / f"alone{number}.duckdb"))
        ratios = [one.wall / other.wall for one, other in zip(imports, natives, strict=True)]
        native, alone = middle(natives), middle(imports)
        print(f"DuckDB's own reading into a table  {native}   {reading}")
        print(f"import                             {alone}   {peak()}")
        print(
            f"ratio {statistics.median(ratios):.2f} (from {min(ratios):.2f} to {max(ratios):.2f}; "
            f"by CPU time {alone.cpu / native.cpu:.2f})"
        )
        while_judging(path, folder / "judging.duckdb", native)


def run(path: Path, workspace_path: Path) -> Took:
    with Workspace.create(workspace_path) as workspace:
        register_kinds(workspace)
        marks: list[tuple[str, float, float]] = []
        # As the command does; an import in the app is the one while judging.
        with tuned_for_throughput():
            took = timed(lambda: import_files(workspace, [path], progress=stages(marks)))
        ends = [*marks[1:], ("", time.perf_counter(), time.process_time())]
        for (stage, begun, cpu), (_, over, cpu_over) in zip(marks, ends, strict=True):
            print(f"  {stage:<32} {Took(over - begun, cpu_over - cpu)}")
        return took


def stages(marks: list[tuple[str, float, float]]) -> Callable[[Progress], None]:
    def note(progress: Progress) -> None:
        if not marks or marks[-1][0] != progress.stage:
            marks.append((progress.stage, time.perf_counter(), time.process_time()))

    return note


def while_judging(path: Path, workspace_path: Path, native: Took) -> None:
    first = workspace_path.with_name("first.jsonl")
    first.write_text('{"id": "first", "query": "q", "code": "def f(): pass"}\n', encoding="utf-8")
    with Workspace.create(workspace_path) as workspace:
        import_files(workspace, [first])
        judging = Judging(workspace, 1)
        try:
            began = time.perf_counter()
            time.sleep(2)
            marks: list[tuple[str, float, float]] = []
            started = time.perf_counter()
            import_files(workspace, [path], progress=stages(marks))
            ended = time.perf_counter()
        finally:
            judging.stop()
        publishing = next(at for stage, at, _ in marks if stage == "publishing")
        print(
            f"import while judging           {ended - started:6.2f} s   "
            f"ratio {(ended - started) / native.wall:.2f}"
        )
        print(f"a judgment alone               {judging.told(began, started)}")
        print(f"a judgment while staging       {judging.told(started, publishing)}")
        print(f"a judgment while publishing    {judging.told(publishing, ended)}")


if __name__ == "__main__":
    main()
