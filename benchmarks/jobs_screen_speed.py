"""How quick the jobs screen is on the records of a run over 412,080 pairs, in a pseudo-terminal.

    python benchmarks/jobs_screen_speed.py [PAIRS]

Prints how long each part takes to add up by itself, how long it takes from `J` until each is shown, and how
long the key that shows the next part takes while the slowest one is being added up.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from large_workspace import PAIRS, build
from screen_speed import workbench
from sqlalchemy import Connection
from terminal import Terminal

from store.queries.run_figures import listed_runs, role_figures, run_figures
from store.queries.run_items import failed_turns, failure_causes, run_outputs
from store.queries.run_pace import run_pace
from store.record.ids import now
from store.workspace.duckdb import Workspace

ROUNDS = 20

_RUN = """
INSERT INTO run (id, kind, name, configuration, model, rater_id, state, total, started_at)
VALUES (?, 'pair', 'cosqa-plus/bench/01234567', '{}', 'bench', 1, 'stopped', ?, now())
"""

# A quarter is clear, of the rest all roles have their turn; one in 50 is refused, one in 10 rate limited at the end.
_STEPS = """
INSERT INTO step (id, run_id, item_id, role, attempt, outcome, request_hash, reply, error, model, tokens_in,
    tokens_out, tokens_cached, money, requests, seconds, created_at)
SELECT uuidv7(), $run, i, role, 0, CASE WHEN error = '' THEN 'ok' ELSE 'failed' END, md5(i || role),
    CASE WHEN error <> '' THEN '' WHEN role <> 'screener' THEN repeat('x', 300) || i
        ELSE '{"assessment": "' || CASE WHEN i % 4 = 0 THEN 'clear_match' ELSE 'unclear' END || '"}' END,
    error, 'bench', 400, 50, 0, 0.0001, 1, 0.7, now() - ($pairs - i) * INTERVAL 10 MILLISECOND
FROM (SELECT i, role, place, CASE WHEN role = 'screener' AND i % 50 = 0 THEN 'Model declined: it would rather not'
        WHEN role = 'arbiter' AND i % 10 = 0 THEN 'Rate limited: wait for ' || (i % 7) || ' s' ELSE '' END AS error
    FROM range(1, $pairs + 1) items(i),
        (VALUES ('screener', 1), ('test_writer', 2), ('executor', 3), ('arbiter', 4)) roles(role, place))
WHERE role = 'screener' OR (i % 4 <> 0 AND i % 50 <> 0)
ORDER BY i, place
"""

_EXECUTIONS = """
INSERT INTO execution (id, item_id, step_id, program, program_digest, sandbox, environment, exit_reason, executable,
    error, stdout, stderr, output_dropped, seconds, created_at, trace, image, packages, stdout_cut, stderr_cut, snapshot)
SELECT uuidv7(), item_id, id, 'program', '', 'bench', '', 'ok', item_id % 5 <> 0, '', 'out', '', 0, 0.2, now(), '', '',
    '', '', '', ''
FROM step WHERE run_id = $run AND role = 'executor' AND $pairs > 0
"""

_VERDICTS = """
INSERT INTO verdict SELECT uuidv7(), $run, i, (i % 2)::DOUBLE, CASE WHEN i % 4 = 0 THEN 'screened' ELSE 'tested' END,
    'why', NULL, now(), 1, NULL
FROM range(1, $pairs + 1) items(i) WHERE NOT (i % 50 = 0 OR (i % 4 <> 0 AND i % 10 = 0))
"""


def add_run(path: Path, pairs: int) -> UUID:
    """Write the records of a run over all pairs; return its key."""
    with Workspace.open(path) as workspace, workspace.native() as cursor:
        run_id = workspace.ids.next()
        cursor.execute(_RUN, [run_id, pairs])
        for statement in (_STEPS, _EXECUTIONS, _VERDICTS):
            cursor.execute(statement, {"run": run_id, "pairs": pairs})
    return run_id


def measure_reads(path: Path, run_id: UUID) -> None:
    """Print how long each part takes to add up."""
    parts: dict[str, Callable[[Connection], Any]] = {
        "runs": listed_runs,
        "stages": lambda connection: role_figures(connection, run_id, now()),
        "pace": lambda connection: run_pace(connection, run_id),
        "failures": lambda connection: (
            failure_causes(connection, run_id),
            failed_turns(connection, run_id, 200),
        ),
        "funnel": lambda connection: run_figures(connection, run_id),
        "equal outputs": lambda connection: run_outputs(connection, run_id),
    }
    with Workspace.open(path) as workspace:
        workspace.share_cores()
        for name, read in parts.items():
            seconds = []
            for _ in range(3):
                began = time.perf_counter()
                with workspace.reading() as connection:
                    read(connection)
                seconds.append(time.perf_counter() - began)
            print(f"{name + ' added up':<28} {statistics.median(seconds):6.3f} s")


def measure_screen(path: Path) -> None:
    """Print how long the parts take to be shown, and keys while they are being added up."""
    terminal = Terminal(workbench(path), size=(80, 24))
    try:
        terminal.wait_for("Next")
        terminal.drain(2.0)
        pressed = terminal.send("J")
        shown = terminal.wait_for("cosqa-plus/bench")
        print(f"{'J to the runs':<28} {shown - pressed:6.3f} s")
        seconds = []
        for number in range(ROUNDS):
            # A word of the part that the key shows.
            heading = ("s/turn", "─ Failures by cause", "Failed turns", "screened")[number % 4]
            began = terminal.send("\t")
            seconds.append(terminal.wait_for(heading) - began)
            terminal.drain(0.05)
        print(
            f"{'Tab to the next part':<28} {statistics.median(seconds):6.3f} s  worst {max(seconds):.3f} s  of {ROUNDS}"
        )
    finally:
        terminal.close()


def main() -> None:
    """Measure everything on a workspace built for it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("pairs", nargs="?", type=int, default=PAIRS)
    pairs = options.parse_args().pairs
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as folder:
        path = build(Path(folder) / "large.duckdb", pairs)
        run_id = add_run(path, pairs)
        measure_reads(path, run_id)
        measure_screen(path)


if __name__ == "__main__":
    main()
