"""Measures what a run over 412,080 pairs (1.3 million steps) costs those who report on it and merge it.

    python benchmarks/run_at_scale.py FOLDER

The records are synthetic: a third of the pairs is unclear, tested, and repaired once or twice. They are written into
a copy of a workspace, which is reported on, and then merged into it. Each command is a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

from large_workspace import build

from store.record.raters import ensure_rater
from store.workspace.duckdb import Workspace

NAME = "ps-tpg-te-bf-fa/synthetic/00000000"

_RUN = (
    "INSERT INTO run BY NAME SELECT uuidv7() AS id, 'pair' AS kind, $name AS name, '{}' AS configuration, "
    "'synthetic' AS model, $rater AS rater_id, 'done' AS state, count(*) AS total, now() AS started_at, "
    "now() AS ended_at FROM item"
)
_PAIRS = (
    "CREATE TEMP TABLE work AS SELECT id AS item_id, (SELECT id FROM run WHERE name = $name) AS run_id, "
    "CASE id % 3 WHEN 0 THEN 'unclear' WHEN 1 THEN 'clear_match' ELSE 'clear_nonmatch' END AS assessment FROM item"
)
_STEP = (
    "INSERT INTO step BY NAME SELECT uuidv7() AS id, run_id, item_id, '{role}' AS role, {attempt} AS attempt, "
    "'ok' AS outcome, sha256('{role} {attempt} ' || item_id) AS request_hash, {reply} AS reply, '' AS error, "
    "'synthetic' AS model, {asks} * 900 AS tokens_in, {asks} * 60 AS tokens_out, {asks} * 400 AS tokens_cached, "
    "CASE WHEN {asks} = 1 THEN 0.0002 END AS money, {asks} AS requests, random() * 10 AS seconds, "
    "now() AS created_at FROM work WHERE {where}"
)
_STEPS = (
    ("screener", 0, "'{\"assessment\": \"' || assessment || '\", \"why\": \"' || repeat('so it is ', 30) || '\"}'", 1, ""),
    ("test_writer", 0, "'{\"test_program\": \"' || repeat('assert f(1) == 2 ', 60) || '\"}'", 1, "unclear"),
    ("executor", 0, "'{\"executable\": false}'", 0, "unclear"),
    ("repair", 0, "'{\"repair\": \"install\", \"outcome\": \"done\", \"output\": \"' || repeat('ok ', 99) || '\"}'", 0, "unclear"),
    ("executor", 1, "'{\"executable\": true}'", 0, "unclear"),
    ("bug_fixer", 0, "'{\"commands\": [\"pip install x\"]}'", 1, "unclear"),
    ("repair", 1, "'{\"repair\": \"commands\", \"outcome\": \"done\", \"output\": \"' || repeat('ok ', 99) || '\"}'", 0, "odd"),
    ("arbiter", 0, "'{\"label\": 1, \"reason\": \"' || repeat('so ', 50) || '\"}'", 1, "unclear"),
)  # fmt: skip
_WHERE = {
    "": "true",
    "unclear": "assessment = 'unclear'",
    "odd": "assessment = 'unclear' AND item_id % 2 = 1",
}
_RESULTS = (
    "INSERT INTO execution BY NAME SELECT uuidv7() AS id, item_id, id AS step_id, "
    "repeat('assert f(1) == 2' || chr(10), 60) || item_id AS program, sha256(item_id::VARCHAR) AS program_digest, "
    "'synthetic' AS sandbox, '' AS environment, CASE attempt WHEN 0 THEN 'error' ELSE 'ok' END AS exit_reason, "
    "attempt = 1 AND hash(item_id) % 6 > 0 AS executable, '' AS error, repeat('out ', 30) AS stdout, '' AS stderr, "
    "0 AS output_dropped, 0.5 AS seconds, now() AS created_at FROM step WHERE role = 'executor'",
    "INSERT INTO test_outcome BY NAME SELECT id AS execution_id, number AS position, 'test_' || number AS name, "
    "'passed' AS outcome, '' AS message, 0.01 AS seconds FROM execution, range(4) t(number) WHERE executable",
    "INSERT INTO verdict BY NAME SELECT uuidv7() AS id, run_id, item_id, (item_id % 2)::DOUBLE AS value, "
    "CASE assessment WHEN 'unclear' THEN 'tested' ELSE 'screened' END AS path, repeat('reason ', 20) AS reason, "
    "now() AS created_at, 1 AS question_id FROM work",
)


def begin(path: Path) -> None:
    """Build a workspace in which no agent has worked."""
    build(path)
    with Workspace.open(path) as workspace, workspace.native() as cursor:
        cursor.execute("DELETE FROM verdict")


def annotate(path: Path) -> None:
    """Write the records of a run over every item into a workspace."""
    with Workspace.open(path) as workspace, workspace.native() as cursor:
        cursor.execute(_RUN, {"name": NAME, "rater": ensure_rater(workspace, NAME, "agent").id})
        cursor.execute(_PAIRS, {"name": NAME})
        for role, attempt, reply, asks, which in _STEPS:
            cursor.execute(
                _STEP.format(role=role, attempt=attempt, reply=reply, asks=asks, where=_WHERE[which])
            )
        for statement in _RESULTS:
            cursor.execute(statement)
        ((steps,),) = cursor.execute("SELECT count(*) FROM step").fetchall()
        print(f"{steps:,} steps in the copy")


def apart(work: Callable[[Path], None], path: Path) -> None:
    """Do something in a process of its own: what a process held counts for those that it starts."""
    process = get_context("spawn").Process(target=work, args=(path,))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{work.__name__} ended with {process.exitcode}")


def measured(*arguments: object) -> str:
    """Run a command of the program, and return its seconds and the most memory it held."""
    started = time.monotonic()
    command = [sys.executable, "-m", "workbench", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return f"{time.monotonic() - started:6.1f} s  {used.ru_maxrss / 1024:6.0f} MiB"


def main(folder: Path) -> None:
    """Build the workspaces in a folder, and print what each command takes."""
    study, copy = folder / "study.duckdb", folder / "copy.duckdb"
    apart(begin, study)
    print(f"{'copy':24}", measured("copy", study, copy))
    apart(annotate, copy)
    print(f"{'report pipeline':24}", measured("report", copy, "pipeline", "--json"))
    print(f"{'merge --dry-run':24}", measured("merge", study, copy, "--dry-run"))
    print(f"{'merge':24}", measured("merge", study, copy))
    print(f"{'merge again':24}", measured("merge", study, copy))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
