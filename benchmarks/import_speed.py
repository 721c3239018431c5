"""How long an import takes, as a multiple of DuckDB's own read_json of the same file, in one run.

    python benchmarks/import_speed.py [--queries N] [--codes N] [--form jsonl|cosqa-plus] [--labelled]

It also says how long a judgment waited for its commit while the import ran (median, p95, worst), and
while nothing else did.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import synthetic

from store.events import Progress
from store.ids import now
from store.importing import import_files
from store.raters import ensure_rater, question_number, register_kinds
from store.recording import Action, Recorder
from store.tables.record import Judgment
from store.workspace import Workspace


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and by all cores together, which other programs on the machine disturb less."""

    wall: float
    cpu: float

    def against(self, other: Took) -> str:
        """Return how many times the other it is."""
        return f"ratio {self.wall / other.wall:.2f} (by CPU time {self.cpu / other.cpu:.2f})"

    def __str__(self) -> str:
        return f"{self.wall:6.2f} s, CPU {self.cpu:6.2f} s"


def timed(work: Callable[[], object]) -> Took:
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - started, time.process_time() - cpu)


def read_by_duckdb(path: Path, place: Path) -> Took:
    """Time DuckDB making a table in a file out of the same records."""
    with duckdb.connect(str(place)) as connection:
        return timed(
            lambda: connection.execute("CREATE TABLE pairs AS SELECT * FROM read_json(?)", [str(path)])
        )


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
    parser.add_argument("--form", choices=("jsonl", "cosqa-plus"), default="jsonl")
    parser.add_argument("--labelled", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = folder / ("pairs.jsonl" if options.form == "jsonl" else "pairs.json")
        count = synthetic.write(
            path,
            options.form,
            labelled=options.labelled,
            query_count=options.queries,
            code_count=options.codes,
        )
        print(f"{count:,} pairs, {path.stat().st_size / 1e6:.0f} MB, {options.form}")
        native = min(
            (read_by_duckdb(path, folder / f"plain{number}.duckdb") for number in range(2)),
            key=lambda took: took.wall,
        )
        alone = min(
            (run(path, folder / f"alone{number}.duckdb") for number in range(2)), key=lambda took: took.wall
        )
        print(f"DuckDB read_json into a table  {native}")
        print(f"import                         {alone}   {alone.against(native)}")
        while_judging(path, folder / "judging.duckdb", native)


def run(path: Path, workspace_path: Path) -> Took:
    with Workspace.create(workspace_path) as workspace:
        register_kinds(workspace)
        marks: list[tuple[str, float]] = []
        took = timed(lambda: import_files(workspace, [path], progress=stages(marks)))
        ended = time.perf_counter()
        for (stage, begun), (_, over) in zip(marks, [*marks[1:], ("", ended)], strict=True):
            print(f"  {stage:<38} {over - begun:6.2f} s")
        return took


def stages(marks: list[tuple[str, float]]) -> Callable[[Progress], None]:
    def note(progress: Progress) -> None:
        if not marks or marks[-1][0] != progress.stage:
            marks.append((progress.stage, time.perf_counter()))

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
            marks: list[tuple[str, float]] = []
            started = time.perf_counter()
            import_files(workspace, [path], progress=stages(marks))
            ended = time.perf_counter()
        finally:
            judging.stop()
        publishing = next(at for stage, at in marks if stage == "publishing")
        print(
            f"import while judging           {ended - started:6.2f} s   "
            f"ratio {(ended - started) / native.wall:.2f}"
        )
        print(f"a judgment alone               {judging.told(began, started)}")
        print(f"a judgment while staging       {judging.told(started, publishing)}")
        print(f"a judgment while publishing    {judging.told(publishing, ended)}")


if __name__ == "__main__":
    main()
