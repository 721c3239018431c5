"""A workspace of pairs that three people labelled, of which a split leaks."""

from __future__ import annotations

from pathlib import Path

from judging import Desk
from small_workspace import pairs_workspace

from store.record.raters import register_kinds
from store.splits.allocation import parse_ratios
from store.splits.splits import SplitDetails, SplitPlan, make_split
from store.workspace.duckdb import Workspace

QUERIES = (
    "read a csv file into a list of rows",
    "check whether a date is valid",
    "split a list into chunks of n",
    "merge two dicts with nested keys",
    "find the longest common prefix",
    "parse a duration such as 2h 5m",
    "remove duplicates and keep the order",
    "count words in a text file",
    "convert a hex string to bytes",
    "flatten a list of lists",
)
NEAR = ("sort big numpy array by column", "sort big numpy array by row")
"""Too different for the builder of splits to keep them together, and too similar for the detector of leaks."""


RATERS = ("ana", "ben", "chi")


def labelled_pairs(folder: Path) -> Workspace:
    """A workspace with two pairs for each query, labelled by three people, of whom chi differs at times."""
    places = [(place, candidate) for place in range(len(QUERIES + NEAR)) for candidate in (1, 2)]
    # Some codes are candidates of two queries.
    pairs = [
        (f"q{place}/{one}", (*QUERIES, *NEAR)[place], f"def f_{place % 7}_{one}(x):\n    return x\n")
        for place, one in places
    ]
    workspace = pairs_workspace(folder, pairs)
    register_kinds(workspace)
    for rater in RATERS:
        desk = Desk(workspace, rater)
        for item, (place, one) in enumerate(places, start=1):
            differs = rater == "chi" and (place + 3 * one) % 5 == 0
            desk.judge(item, float(((place + one) % 3 > 0) != differs))
    return workspace


def torn_split(workspace: Workspace, name: str = "v1", seed: int = 3) -> SplitDetails:
    """A split of the labels of most, two parts of which have similar queries."""
    plan = SplitPlan("pair.match", "majority", parse_ratios("6:2:2"), seed=seed)
    return make_split(workspace, name, plan)
