"""Constructing Python tasks, against one run of pylint over the same files as they are and with imports emptied.

    python benchmarks/construction_speed.py REPOSITORY [--rounds N]

Both run pylint with the same options; the construction also reads the repository, isolates pylint, cuts and filters
the tasks, and adds them to a workspace. Prints seconds and their ratio.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from agents.construction.python_files import _OPTIONS, _START, Modules, _shown, empty_imports
from agents.construction.work import Construction, ConstructionRequest
from agents.jobs.runner import run_work
from agents.jobs.work import WorkSettings
from agents.llm.settings import ModelSettings
from agents.repositories.reading import read_repository
from agents.retrieval.settings import RetrievalSettings
from store.workspace.duckdb import Workspace


def pylint_alone(repository: str, folder: Path) -> float:
    """Return the seconds of one run of pylint over both versions of the files that import others."""
    read = read_repository(repository, lambda path: path.endswith(".py"))
    files = {file.path: file.text for file in read.files}
    modules, names = Modules(files), []
    for number, (path, text) in enumerate(files.items()):
        emptied = empty_imports(text.encode(), path, modules)
        if emptied is not None:
            for kind, code in (("as_it_is", text.encode()), ("emptied", emptied.code)):
                file = folder / f"file_{number:06}_{kind}.py"
                file.write_bytes(code)
                names.append(str(file))
    tools = folder / "tools"
    tools.mkdir()
    for inside, place in _shown().items():
        (tools / Path(inside).name).symlink_to(place)
    started = perf_counter()
    start = _START.replace("/tools", str(tools))
    # Without the packages that are installed here, which the construction does not show to pylint either.
    command = [sys.executable, "-I", "-S", "-c", start, *_OPTIONS, *names]
    done = subprocess.run(command, capture_output=True, check=False)
    if b'"messages"' not in done.stdout:
        raise SystemExit(done.stderr.decode())
    return perf_counter() - started


def constructed(repository: str, folder: Path) -> tuple[float, int]:
    """Return the seconds of a construction, and its tasks."""
    work = Construction(
        ConstructionRequest((repository,), "python"), WorkSettings(ModelSettings(), RetrievalSettings())
    )
    with Workspace.create(folder / "bench.duckdb") as workspace:
        started = perf_counter()
        job = run_work(workspace, work, lambda _: None)
        seconds = perf_counter() - started
        if job.error is not None:
            raise SystemExit(str(job.error))
        return seconds, job.result().added


def main() -> None:
    """Measure in turn, and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("repository")
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    alone, whole, tasks = [], [], 0
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            alone.append(pylint_alone(given.repository, Path(folder)))
        with tempfile.TemporaryDirectory() as folder:
            seconds, tasks = constructed(given.repository, Path(folder))
            whole.append(seconds)
    ratio = statistics.median(whole) / statistics.median(alone)
    print(f"pylint alone {statistics.median(alone):6.2f} s")
    print(f"construction {statistics.median(whole):6.2f} s, {tasks:,} tasks, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
