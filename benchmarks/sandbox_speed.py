"""How many test programs a second each sandbox executes, against bare `python test.py`, in one run.

    python benchmarks/sandbox_speed.py [--parallel N] [--seconds S] [--rounds N] [--sandbox NAME ...]
        [--pool N]

Bare is the sandboxes' own interpreter in a new virtual environment without packages (what lies beside another
installation may make its start many times slower), told to run a file that imports the candidate and calls
every test: no isolation, no limits, and its exit code for a report. It is started as asyncio starts a process,
its output is read, and so many run at the same time as in the sandboxes. A round runs each in turn; what is reported is the
median over the rounds of executions a second, and of the ratio to the bare ones of the same round, with its
range. Further runs for trust are not made, in none of them.

Of containers there are two figures. `docker, from a full pool`: as many programs as wait in the pool that was
filled before the clock started, while what is taken is replaced and removed behind them. That is what a job
sees whose programs come no faster than containers are made. `docker, without end`: programs follow each other
for the whole time, so that every container's making and removal is in the figure.

The program is one function and one assertion, so that what is measured is the sandbox alone: the worst case.

The engine is the one that DOCKER_HOST names, or one that is started for it (as root).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

REPOSITORY = Path(__file__).resolve().parent.parent
for _folder in (REPOSITORY / "tests", REPOSITORY):
    sys.path.insert(0, str(_folder))

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox  # noqa: E402 - found by the lines above
from agents.sandbox.check import CHECK_PROGRAM  # noqa: E402
from agents.sandbox.docker.sandbox import DockerSandbox  # noqa: E402 - found by the lines above
from agents.sandbox.interpreter import find_interpreter  # noqa: E402
from agents.sandbox.protocol import Sandbox  # noqa: E402
from agents.sandbox.settings import SandboxSettings  # noqa: E402

Execute = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Contender:
    """Something that executes programs.

    Attributes:
        name: What it is called in the table.
        execute: Executes a program.
        most: How many programs it is given at most; 0 for as many as the time allows.
        before: Makes it ready, outside the measured time.
    """

    name: str
    execute: Execute
    most: int = 0
    before: Callable[[], Awaitable[None]] | None = None


async def rate(contender: Contender, parallel: int, seconds: float) -> float:
    """Return the executions a second of one round."""
    if contender.before is not None:
        await contender.before()
    numbers = itertools.count()
    start = perf_counter()
    done = 0

    async def slot() -> None:
        nonlocal done
        while perf_counter() - start < seconds:
            number = next(numbers)
            if contender.most and number >= contender.most:
                return
            await contender.execute()
            done += 1

    await asyncio.gather(*(slot() for _ in range(parallel)))
    return done / (perf_counter() - start)


def bare(folder: Path) -> Execute:
    """Write the program to disk, and return what runs it as a user would."""
    python = str(folder / "bare" / "bin" / "python")
    subprocess.run([find_interpreter().program, "-m", "venv", "--without-pip", folder / "bare"], check=True)
    (folder / "candidate.py").write_text(CHECK_PROGRAM.candidate, encoding="utf-8")
    calls = (
        "\nfor _name, _test in list(globals().items()):\n    if _name.startswith('test_'):\n        _test()\n"
    )
    (folder / "test.py").write_text(CHECK_PROGRAM.test + calls, encoding="utf-8")

    async def execute() -> None:
        process = await asyncio.create_subprocess_exec(
            python,
            "test.py",
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, stderr = await process.communicate()
        if process.returncode:
            raise SystemExit(f"a program failed: {stderr.decode(errors='replace')}")

    return execute


def inside(sandbox: Sandbox) -> Execute:
    """Return what runs the program in a sandbox."""

    async def execute() -> None:
        report = await sandbox.run(CHECK_PROGRAM)
        if report.exit_reason != "ok":
            raise SystemExit(f"a program failed in {sandbox.name}: {report}")

    return execute


async def measure(options: argparse.Namespace, stack: ExitStack) -> None:
    """Run the rounds and print the table."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    contenders = [Contender("bare python test.py", bare(folder))]
    opened: list[Sandbox] = []
    if "bubblewrap" in options.sandbox:
        box = BubblewrapSandbox(SandboxSettings())
        await box.open(options.parallel)
        opened.append(box)
        contenders.append(Contender("bubblewrap", inside(box)))
    if "docker" in options.sandbox:
        pooled = containers(options, stack)
        await pooled.open(options.pool)
        opened.append(pooled)
        execute = inside(pooled)

        async def full() -> None:
            while pooled._pool.ready() < options.pool:  # type: ignore[attr-defined] # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await asyncio.sleep(1)  # what the round before left to be removed

        contenders.append(Contender("docker, from a full pool", execute, options.pool, full))
        contenders.append(Contender("docker, without end", execute, 0, full))
    rates: dict[str, list[float]] = {one.name: [] for one in contenders}
    try:
        for one in contenders:  # what is done once (a trial of the limits, a first import) is not measured
            await rate(Contender(one.name, one.execute, 2, one.before), 1, 60)
        for _ in range(options.rounds):
            for one in contenders:
                rates[one.name].append(await rate(one, options.parallel, options.seconds))
    finally:
        for each in opened:
            await each.close()
    print(f"{options.parallel} programs at a time, {options.rounds} rounds")
    first = rates[contenders[0].name]
    for name, found in rates.items():
        ratios = [one / other for one, other in zip(found, first, strict=True)]
        print(
            f"{name:26} {statistics.median(found):7.1f} a second, "
            f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def containers(options: argparse.Namespace, stack: ExitStack) -> Sandbox:
    """Return the sandbox of containers on a real engine."""
    from engine import IMAGE, engine

    from agents.sandbox.docker.image import build_image

    address = stack.enter_context(engine())
    settings = SandboxSettings(docker_host=address, image=IMAGE, ready_containers=options.pool)
    build_image(settings, "local")
    return DockerSandbox(settings)


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pool", type=int, default=16)
    parser.add_argument(
        "--sandbox", nargs="+", choices=("bubblewrap", "docker"), default=("bubblewrap", "docker")
    )
    options = parser.parse_args()
    with ExitStack() as stack:
        asyncio.run(measure(options, stack))


if __name__ == "__main__":
    main()
