"""kill -9 at random moments while `workbench candidates` works: the result is that of a run that nobody killed."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
import tiny_models
from sqlalchemy import select

from store.tables.columns import table_of
from store.tables.imported import Pair, Similarity, Source
from store.workspace.duckdb import Workspace

pytestmark = pytest.mark.crash

# Forks a process for each command line that it reads, so that the libraries are loaded once. With a number of blocks of
# vectors the process kills itself when the folder has so many: another one would often come too late for that.
NURSERY = """
import json, os, pathlib, signal, sys
import sentence_transformers, torch
import workbench.cli, workbench.cli.candidates

def dies_at(blocks):
    replace = pathlib.Path.replace
    def replaced(path, target):
        found = replace(path, target)
        if len(list(target.parent.parent.rglob("*.vectors"))) >= blocks:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    pathlib.Path.replace = replaced

print("ready", flush=True)
for line in sys.stdin:
    arguments, blocks = json.loads(line)
    child = os.fork()
    if not child:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0), os.dup2(nowhere, 1), os.close(nowhere)
        if blocks:
            dies_at(blocks)
        workbench.cli.main(arguments)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
QUERIES, CODES, TOP = 40, 3200, 5
KILLS_WHILE_ADDING = 3


@pytest.fixture
def nursery(repository, in_folder):
    """A function that runs a command line in a process of its own, and may kill it."""
    # One thread: beside other tests several would wait for each other.
    environment = {**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "ready\n"

        def run(*arguments, kill_when=None, dies_at=None):
            """Return the exit code and the seconds; the code is negative where the process was killed.

            It is killed once `kill_when()` is true, or dies when there are `dies_at` blocks of vectors.
            """
            began = time.monotonic()
            process.stdin.write(json.dumps([[str(each) for each in arguments], dies_at]) + "\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            ended = threading.Event()

            def kill():
                while not ended.wait(0.002):
                    if kill_when():
                        with suppress(ProcessLookupError):  # it has just ended
                            os.kill(child, signal.SIGKILL)
                        return

            watch = threading.Thread(target=kill)
            if kill_when is not None:
                watch.start()
            code = int(process.stdout.readline())
            ended.set()
            if kill_when is not None:
                watch.join()
            return code, time.monotonic() - began

        yield run
        process.stdin.close()


def found(path):
    """The pairs, their similarities and their sources, as they are in the file."""
    pair, similarity, source = map(table_of, (Pair, Similarity, Source))
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        return (
            connection.execute(select(pair).order_by(pair.c.item_id)).all(),
            connection.execute(select(similarity).order_by(similarity.c.item_id, similarity.c.model)).all(),
            connection.execute(select(source.c.name, source.c.sha256, source.c.records)).all(),
        )


def test_candidates_killed_at_random_and_run_again_are_the_same(nursery, workbench, tmp_path):
    model = tiny_models.bert(tmp_path / "tiny", length=16)
    records = [
        {
            "code": f"def f{number}(x):\n    return sort(x, {number % 97}) if x else open({number % 89})\n",
            **{"repo": "a", "path": f"{number}.py", "func_name": f"f{number}", "language": "python"},
        }
        for number in range(CODES)
    ]
    (tmp_path / "codes.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "queries.txt").write_text("".join(f"sort list number {n}\n" for n in range(QUERIES)))
    empty = tmp_path / "empty.duckdb"
    assert workbench("import", empty, tmp_path / "codes.jsonl").code == 0
    assert workbench("import", empty, tmp_path / "queries.txt", "--format", "queries").code == 0

    def candidates(name, vectors):
        path = tmp_path / f"{name}.duckdb"
        if not path.exists():
            shutil.copy(empty, path)
        config = tmp_path / f"{vectors}.toml"
        config.write_text(f'[retrieval]\nvectors = "{tmp_path / vectors}"\nbatch_size = 256\n')
        return path, ("candidates", path, "--models", model, "--top", TOP, "--config", config)

    def blocks_of(folder):
        return len(list((tmp_path / folder).rglob("*.vectors")))

    path, command = candidates("whole", "vectors")
    code, seconds = nursery(*command)
    assert code == 0
    whole = found(path)
    assert len(whole[0]) == QUERIES * TOP
    assert len(whole[1]) == QUERIES * TOP

    chance = random.Random()
    path, command = candidates("torn", "torn-vectors")

    def later(seconds):
        """A function that is true some seconds after now."""
        end = time.monotonic() + seconds
        return lambda: time.monotonic() >= end

    assert blocks_of("vectors") == 5  # one of the queries, four of the codes
    for blocks in range(1, 5):
        code, _ = nursery(*command, dies_at=blocks)
        assert code == -signal.SIGKILL
        assert blocks_of("torn-vectors") == blocks
    code, _ = nursery(*command, kill_when=later(seconds * chance.uniform(0, 0.3)))
    assert code in (0, -signal.SIGKILL)
    assert nursery(*command)[0] == 0
    assert found(path) == whole
    names = [
        sorted(each.relative_to(tmp_path / folder) for each in (tmp_path / folder).rglob("*.vectors"))
        for folder in ("vectors", "torn-vectors")
    ]
    assert names[0] == names[1]

    # With all vectors there, it is killed while it searches and adds the pairs: all of them or none.
    _, command = candidates("warm", "vectors")
    _, seconds = nursery(*command)
    for number in range(KILLS_WHILE_ADDING):
        path, command = candidates(f"again-{number}", "vectors")
        nursery(*command, kill_when=later(seconds * chance.uniform(0.3, 1)))
        assert len(found(path)[0]) in (0, QUERIES * TOP)
        code, _ = nursery(*command)
        assert code == 0
        assert found(path) == whole
