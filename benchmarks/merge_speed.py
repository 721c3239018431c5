"""Keys of a rater who judges while packets are merged in the same app: 20 packets of 600 records.

    python benchmarks/merge_speed.py [--packets 20] [--items 600] [--keys 60]

Goal: 95 of 100 keys show the next item in at most 1.5 times what they take with nothing behind them, in the same run. The
records are written into the packets straight by SQL.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import duckdb
from busy_app import MERGED, PACKETS
from large_workspace import build
from screen_speed import key_seconds

from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.studies.packet_merge import merge_packet
from store.studies.packets import make_packet
from store.studies.studies import freeze_study, new_study
from store.workspace.duckdb import Workspace

PAIRS = 12_000
_LABEL_EACH = (
    "INSERT INTO judgment (id, action, item_id, question_id, rater_id, assignment_id, phase, value, origin, blind, "
    "reason, comment, evidence, created_at) SELECT uuidv7(), uuidv7(), a.item_id, q.id, a.rater_id, a.id, a.phase, "
    "(hash(a.id) % 2)::DOUBLE, 'independent', true, '', '', '[]', now() "
    "FROM assignment a, question q WHERE q.name = 'pair.match' ORDER BY a.position"
)


def judged_packets(workspace: Workspace, folder: Path, count: int, items: int) -> list[Path]:
    """Make a study of the workspace's first items, and a packet for each rater in which all are labelled."""
    raters = [f"rater {number}" for number in range(1, count + 1)]
    chosen = [ChosenItem(number) for number in range(1, items + 1)]
    new_study(workspace, "merged", StudyProtocol("pair", seed=1), chosen, raters)
    freeze_study(workspace, "merged")
    folder.mkdir()
    paths = []
    for rater in raters:
        paths.append(folder / f"{rater}.duckdb")
        make_packet(workspace, "merged", rater, paths[-1])
        with duckdb.connect(str(paths[-1])) as packet:
            packet.execute(_LABEL_EACH)
    return paths


def main() -> None:
    """Measure keys without and with a merge behind them, and the merge alone."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--packets", type=int, default=20)
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--keys", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as name:
        folder = Path(name)
        path = build(folder / "pairs.duckdb", PAIRS)
        with Workspace.open(path) as workspace:
            paths = judged_packets(workspace, folder / PACKETS, given.packets, given.items)
        p95 = {}
        for load in ("idle", "merging"):
            copy = folder / f"{load}.duckdb"
            shutil.copy(path, copy)
            here = Path(__file__).parent.parent
            seconds = key_seconds(copy, given.keys, load, folder, bare=False, checkout=here)
            p95[load] = statistics.quantiles(seconds, n=20)[18]
            print(
                f"key to next item painted, {load:<8}  median {statistics.median(seconds) * 1000:6.1f} ms  "
                f"p95 {p95[load] * 1000:6.1f} ms  worst {max(seconds) * 1000:6.1f} ms  of {given.keys}"
            )
        merged = (folder / MERGED).read_text().splitlines()
        # The end of the app cuts off what is merged then.
        while merged and not merged[-1].endswith("records"):
            merged.pop()
        errors = [line for line in merged if not line.endswith("records")]
        whole = len(merged) - len(errors)
        print(f"packets merged meanwhile: {whole} of {given.packets}")
        if not whole or errors:
            raise SystemExit(f"no merge went on beside the keys: {errors}")
        print(f"ratio of p95 {p95['merging'] / p95['idle']:.2f}")
        with Workspace.open(path) as workspace:
            began = time.perf_counter()
            reports = [merge_packet(workspace, packet) for packet in paths]
            seconds_each = (time.perf_counter() - began) / len(paths)
        print(f"one packet alone: {seconds_each:.2f} s for {reports[0].judgments} records")


if __name__ == "__main__":
    main()
