"""The time of an import of CSV with other column names, divided by that with our names, in one run.

    python benchmarks/own_table_speed.py [--rows 412080] [--rounds 3]

Each round imports the same rows three times, each into a new workspace: with the columns id, query, code and
label; with other names, which `--map` gives; and without ids, which are made of the content. Goal: at most 1.2.
At the end the last table is given back as CSV.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import time
from pathlib import Path

from store.export.exporting import export
from store.ingest.importing import import_files
from store.processes import tuned_for_throughput
from store.record.raters import register_kinds
from store.workspace.duckdb import Workspace

OWN = {"id": "nr", "query": "search text", "code": "my snippet", "label": "verdict"}


def write(path: Path, names: list[str], rows: int) -> Path:
    """Write a table: each of a thousand queries with many codes."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for number in range(rows):
            code = f"def function_{number}(items, key={number % 7}):\n    return [each for each in items if each != key]\n"
            row = (f"r{number}", f"how to do the thing {number % 1_000} with a list", code, str(number % 2))
            writer.writerow(row if len(names) == len(OWN) else row[1:])
    return path


def seconds(path: Path, folder: Path, mapping: dict[str, str]) -> float:
    """Import a file into a new workspace."""
    place = folder / "own.duckdb"
    place.unlink(missing_ok=True)
    with Workspace.create(place) as workspace, tuned_for_throughput():
        register_kinds(workspace)
        began = time.perf_counter()
        import_files(workspace, [path], mapping=mapping)
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=412_080)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as name:
        folder = Path(name)
        without = {ours: theirs for ours, theirs in OWN.items() if ours != "id"}
        files = {
            "our names": (write(folder / "ours.csv", list(OWN), asked.rows), {}),
            "other names": (write(folder / "theirs.csv", list(OWN.values()), asked.rows), OWN),
            "without ids": (write(folder / "bare.csv", list(without.values()), asked.rows), without),
        }
        took: dict[str, list[float]] = {each: [] for each in files}
        for _ in range(asked.rounds):
            for each, (path, mapping) in files.items():
                took[each].append(seconds(path, folder, mapping))
        with Workspace.open(folder / "own.duckdb") as workspace:
            began = time.perf_counter()
            export(workspace, folder / "back.csv", "csv")
            back = time.perf_counter() - began
    first = took["our names"]
    for each, found in took.items():
        ratios = [one / ours for one, ours in zip(found, first, strict=True)]
        print(f"{each:<12} {statistics.median(found):6.2f} s  {statistics.median(ratios):.2f} times")
    print(f"given back   {back:6.2f} s  {back / statistics.median(first):.2f} times")


if __name__ == "__main__":
    main()
