"""Counts the executable test programs of real pairs, by configuration, with the reasons of the others.

    python benchmarks/executability.py FILE... [--configuration paper full] [--limit N] [--concurrency N]

All pairs of the files go through Algorithm 1, in the sandbox, with packages installed from the package index. The
agents are a deterministic stand-in (`stand_in.py`), which finds every pair unclear and calls each function once, so
that the figures are about scaffold, repairs and corrections, and not about a model. They are the same for the same
pairs, as long as the index offers the same packages.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stand_in import StandIn

from agents.jobs import role_models
from agents.jobs.events import JobEvent, JobLog
from agents.jobs.runner import run_job
from agents.reports.pipeline import read_reports
from agents.sandbox.settings import SandboxSettings
from agents.settings import OURS, JobSettings
from store.ingest.importing import import_files
from store.tables.runs import Run
from store.workspace.duckdb import Workspace


def main() -> None:
    """Annotate, and print what became of the programs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="pairs, in any format that is imported"
    )
    parser.add_argument(
        "--configuration", nargs="+", choices=[*OURS], default=["paper", "full"], help="default: paper full"
    )
    parser.add_argument("--limit", type=int, help="only so many pairs")
    parser.add_argument("--concurrency", type=int, default=4, help="pairs at the same time (4)")
    parser.add_argument("--sandbox", help="bubblewrap or docker; default: the best that works")
    parser.add_argument(
        "--snapshots", default="", help="folder of repaired environments; default: the user's"
    )
    parser.add_argument("--wall-seconds", type=float, default=10.0, help="limit of one execution (10)")
    parser.add_argument("--details", action="store_true", help="name each missing module, name and file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = annotate(Path(folder) / "pairs.duckdb", options)
    sys.stdout.write("\n".join(lines(figures, details=options.details)) + "\n")


def annotate(path: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Have the configurations work on the same pairs; return the figures of each (docs/scripting.md)."""
    role_models.open_model = lambda *_: StandIn()
    # The further runs against stubs tell nothing of executability.
    sandboxes = SandboxSettings(
        trust_checks=False, snapshots=options.snapshots, wall_seconds=options.wall_seconds
    )
    figures = {}
    with Workspace.create(path) as workspace:
        import_files(workspace, options.files)
        for name in options.configuration:
            settings = JobSettings(
                StandIn.name,
                agents=name,
                sandbox=options.sandbox,
                sandboxes=sandboxes,
                limit=options.limit,
                concurrency=options.concurrency,
            )
            started = time.perf_counter()
            report = run_job(workspace, settings, told)
            with workspace.reading() as connection:
                run = (
                    connection.execute(Run.__table__.select().where(Run.id == report.run_id)).mappings().one()
                )
                (found,) = read_reports(connection, [Run(**run)])
            figures[name] = found.to_dict(blind=False) | {"seconds": time.perf_counter() - started}
    return figures


def told(event: JobEvent) -> None:
    """Print what a job says of what went wrong."""
    if isinstance(event, JobLog) and event.level != "info":
        sys.stderr.write(f"{event.text}\n")


def reason_key(one: dict[str, Any], details: bool) -> str:
    """Return a reason's words, with the name or module that it is about on request."""
    return ": ".join(filter(None, (one["reason"], one["detail"] if details else "")))


def lines(figures: dict[str, dict[str, Any]], *, details: bool = False) -> list[str]:
    """Lay the configurations out side by side."""
    rows: dict[str, list[str]] = {"": [*figures]}
    for each in figures.values():
        repairs = each["repairs"]
        facts = {
            "pairs": f"{each['pairs']:,}",
            "failed (no result recorded)": f"{each['failed']:,}",
            "executed": f"{each['executed']:,}",
            "executable": f"{each['executable']:,}",
            "  of all": percent(each["executable_rate"]),
            f"  of valid Python 3 ({each['valid_code']:,})": percent(each["valid_executable_rate"]),
            "entered the loop": f"{repairs['programs']:,}",
            "  executable by installation": f"{repairs['installed']:,}",
            "  executable by commands": f"{repairs['by_model']:,}",
            "  executable by correction": f"{repairs['corrected']:,}",
            "  given up": f"{repairs['given_up']:,}",
            "seconds": f"{each['seconds']:,.0f}",
        }
        for label, value in facts.items():
            rows.setdefault(label, []).append(value)
    rows["not executable"] = [f"{each['executed'] - each['executable']:,}" for each in figures.values()]
    keys = {reason_key(one, details) for each in figures.values() for one in each["not_executable"]}
    for key in sorted(keys):
        counts = [
            sum(one["count"] for one in each["not_executable"] if reason_key(one, details) == key)
            for each in figures.values()
        ]
        rows[f"  {key}"] = [f"{count:,}" for count in counts]
    width = max(map(len, rows)) + 2
    return [
        f"{label:<{width}}" + "".join(f"{value:>12}" for value in values) for label, values in rows.items()
    ]


def percent(share: float | None) -> str:
    """Write a share."""
    return "-" if share is None else f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
