"""Speed of the app on 412,080 pairs in a pseudo-terminal: start, jumps, groups, key to next item.

    python benchmarks/screen_speed.py [PAIRS] [--rounds N] [--before CHECKOUT]

Each figure is printed with its reference, measured in the same run. With --before, another checkout is measured in
turn with this one. Goals: start to a usable queue under 1 s and at most twice an empty Textual app that opens the same
file, to the first item at most three times; a jump, and groups, under 0.1 s; key to the
next item painted under 50 ms for 95 of 100 keys, idle, while importing, annotating and searching, and beside
three works (two runs of agents, a candidate search). Reporting is `workbench report agreement` as a command, in a
loop: 95 of 100 keys take at most 1.3 times as long as without it. Beside the other keys stand those of a bare Textual app with the
same load behind it, which records and reads nothing: what it takes is the terminal's, Textual's and the
machine's part. An import begins with the first key, and only the keys within it are counted; 95 of 100 of them
take at most twice as long as the bare app's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import synthetic
from busy_app import IMPORT_ENDED, IMPORTED
from large_workspace import PAIRS, RATER, build
from terminal import Terminal

HERE = Path(__file__).parent
LOADS = ("idle", "annotating", "searching", "working", "importing", "reporting")
LISTED = "python how to do thing numb"
"""What a line of the list shows of every query; the preview beside it comes later and shows all of it."""


def start_seconds(command: list[str], shown: str) -> float:
    """Return how long a program takes from its start until it shows a text."""
    terminal = Terminal(command)
    try:
        return terminal.wait_for(shown) - terminal.started
    finally:
        terminal.close()


def workbench(path: Path, *options: str) -> list[str]:
    """Return the command that opens a workspace."""
    return [sys.executable, "-m", "workbench", str(path), "--rater", RATER, *options]


def of_checkout(checkout: Path) -> dict[str, str]:
    """Return the environment in which the packages of a checkout are imported."""
    # Without the last one the packages of the present folder come first.
    paths = (checkout, checkout / "benchmarks")
    return {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONSAFEPATH": "1",
    }


def start_and_type(command: list[str], env: Mapping[str, str], *steps: tuple[str, str]) -> list[float]:
    """Return the seconds from a program's start to the queue's lines, and to what each key typed then shows."""
    terminal = Terminal(command, env=env)
    try:
        seconds = [terminal.wait_for(LISTED) - terminal.started]
        for key, effect in steps:
            if key:
                terminal.send(key)
            seconds.append(terminal.wait_for(effect) - terminal.started)
        return seconds
    finally:
        terminal.close()


def measure_start(path: Path, rounds: int, checkouts: Mapping[str, Path]) -> None:
    """Print process start to each stage of the first item, for each checkout beside the empty app."""
    empty: list[float] = []
    stages: dict[str, dict[str, list[float]]] = {name: {} for name in checkouts}
    command = workbench(path, "--start", "queue")
    for _ in range(rounds):
        empty.append(start_seconds([sys.executable, str(HERE / "empty_app.py"), str(path)], "items"))
        for name, checkout in checkouts.items():
            env, told = of_checkout(checkout), stages[name]
            listed, searching = start_and_type(command, env, ("/", "part of the item"))
            _, item, counted = start_and_type(command, env, ("\r", "pair · pair-"), ("", " today · "))
            told.setdefault("start to the queue's lines", []).append(listed)
            told.setdefault("start to the first key's effect", []).append(searching)
            told.setdefault("start to the first item opened", []).append(item)
            told.setdefault("start to what is done and left", []).append(counted)
    base = statistics.median(empty)
    for name, told in stages.items():
        for stage, seconds in told.items():
            median = statistics.median(seconds)
            print(f"{name:<7}{stage:<32} {median:6.3f} s  empty app {base:.3f} s  ratio {median / base:.2f}")


def measure_machine() -> None:
    """Print the load of the machine, and how quick it is: a million additions take about 50 ms on a desktop."""
    print(f"load of the last minute          {os.getloadavg()[0]:6.2f} on {os.cpu_count()} cores")
    seconds = []
    for _ in range(10):
        began, total = time.perf_counter(), 0
        for number in range(1_000_000):
            total += number
        seconds.append(time.perf_counter() - began)
    print(f"a million additions              {statistics.median(seconds):6.3f} s  worst {max(seconds):.3f} s")


def measure_list(path: Path, pairs: int, rounds: int) -> None:
    """Print how long the jump to the last line takes, and to list pairs one by one and grouped by query."""
    terminal = Terminal(workbench(path, "--start", "queue"))
    # The last query is listed before the preview shows its pair in full.
    steps = {
        "jump to the end": ("\x1b[F", f"thing number {max(1, pairs // 20)}"),
        "jump to the start": ("\x1b[H", "thing number 1 "),
        "one by one": ("g", "◆ agents"),
        "grouped by query": ("g", "0 of 20"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    try:
        terminal.wait_for(f"of {pairs:,}")
        terminal.drain(1.0)
        for _ in range(rounds):
            for name, (key, shown) in steps.items():
                seconds[name].append(-terminal.send(key) + terminal.wait_for(shown))
                terminal.drain()
        for name, taken in seconds.items():
            print(f"{name:<22} {statistics.median(taken):6.3f} s  worst {max(taken):.3f} s  of {rounds}")
    finally:
        terminal.close()


def key_seconds(path: Path, keys: int, load: str, folder: Path, *, bare: bool, checkout: Path) -> list[float]:
    """Return how long it takes from each key until the next item is painted, by the app or the bare one.

    Raises:
        SystemExit: What was to go on behind the keys failed.
    """
    ended = folder / IMPORT_ENDED
    ended.unlink(missing_ok=True)
    program = checkout / "benchmarks" / "busy_app.py"
    command = [sys.executable, str(program), str(path), load, str(folder)]
    terminal = Terminal([*command, "bare"] if bare else command, env=of_checkout(checkout))
    beside = ExitStack()
    try:
        terminal.wait_for("thing number 1 ")
        terminal.drain(1.0 if load == "idle" else 0.3)
        if not bare:
            terminal.send("\r")
            # The session line comes last; keys before the first item is painted would be refused.
            terminal.wait_for(" left ")
            terminal.drain(0.3)
        if load == "importing":
            os.kill(terminal.pid, signal.SIGUSR1)
        if load == "reporting":
            beside.enter_context(reports(path))
        pressed, shown = [], []
        for number in range(2, keys + 2):
            pressed.append(terminal.send("1" if number % 2 else "0"))
            shown.append(terminal.wait_for(f"pair-{number} ", timeout=10))
            # A hand takes longer than this to come back.
            terminal.drain(0.1)
            if ended.exists():
                end, error = json.loads(ended.read_text())
                if error:
                    raise SystemExit(f"the import failed: {error}")
                shown = [moment for moment in shown if moment <= end]
                break
        return [after - before for before, after in zip(pressed, shown, strict=False)]
    finally:
        beside.close()
        terminal.close()


@contextmanager
def reports(path: Path) -> Iterator[None]:
    """Have the report of agreement made by a command, again and again, beside the app.

    Raises:
        SystemExit: It was not answered.
    """
    ended, told = threading.Event(), []

    def run() -> None:
        while not ended.is_set():
            began = time.perf_counter()
            command = [sys.executable, "-m", "workbench", "report", str(path), "agreement", "--json"]
            done = subprocess.run(command, capture_output=True, check=False)
            told.append((time.perf_counter() - began, done.stderr.decode() if done.returncode else ""))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if errors := [error for _, error in told if error]:
        raise SystemExit(f"a report failed: {errors[0]}")
    print(
        f"reports beside the keys: {len(told)}, median {statistics.median(second for second, _ in told):.2f} s"
    )


def measure_keys(path: Path, keys: int, load: str, folder: Path, checkouts: Mapping[str, Path]) -> None:
    """Print how long keys take with a load behind them, beside those of the bare app, or of the app alone."""
    p95: list[float] = []
    # Commands ask the app, so that it is compared with itself.
    first = ("now", "idle", False) if load == "reporting" else ("now", load, True)
    for name, behind, bare in (first, *((name, load, False) for name in checkouts)):
        # Each has the load to itself, on a file of its own: what one wrote must not be there for the other.
        copy = folder / f"{behind}-{'bare' if bare else 'app'}.duckdb"
        shutil.copy(path, copy)
        seconds = key_seconds(copy, keys, behind, folder, bare=bare, checkout=checkouts[name])
        for file in folder.glob(f"{copy.name}*"):
            file.unlink()
        p95.append(statistics.quantiles(seconds, n=20)[18])
        print(
            f"{name:<7}key to {'bare app painted' if bare else 'next item painted'}, {behind:<10}  "
            f"median {statistics.median(seconds) * 1000:6.1f} ms  "
            f"p95 {p95[-1] * 1000:6.1f} ms  worst {max(seconds) * 1000:6.1f} ms  of {len(seconds)}"
            + (f"  ratio of p95 {p95[-1] / p95[0]:.2f}" if len(p95) > 1 else "")
        )


def main() -> None:
    """Measure everything on a workspace built for it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("pairs", nargs="?", type=int, default=PAIRS)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--keys", type=int, default=60)
    options.add_argument("--loads", nargs="+", choices=LOADS, default=LOADS)
    options.add_argument("--before", type=Path, help="the root of another checkout to compare with")
    given = options.parse_args()
    checkouts = {"now": HERE.parent} | ({"before": given.before.resolve()} if given.before else {})
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as folder:
        path = build(Path(folder) / "large.duckdb", given.pairs)
        measure_machine()
        measure_start(path, given.rounds, checkouts)
        measure_list(path, given.pairs, given.rounds)
        synthetic.write(Path(folder) / IMPORTED)
        for load in given.loads:
            measure_keys(path, given.keys, load, Path(folder), checkouts)
        measure_machine()


if __name__ == "__main__":
    main()
