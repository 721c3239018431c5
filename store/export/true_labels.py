"""The labels that count as true, of a policy or of a split, as what an export writes; and who judged them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
import pyarrow
from sqlalchemy import Connection

from store.errors import ExportFailed, UnknownName
from store.measures.truth import POLICIES
from store.splits.splits import (
    SplitChanges,
    SplitDetails,
    SplitPlan,
    find_split,
    items_behind,
    split_changes,
    split_labels,
    split_parts,
    true_units,
)

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

TRUE_LABELS = -1
"""The rater of true labels, where one rater's labels are written."""

_BEFORE_ALL = UUID(int=0)
"""The lowest id: a split of agents' labels can be made before anybody judged."""


@dataclass(frozen=True, slots=True, eq=False)
class TrueLabels:
    """Labels that count as true.

    Attributes:
        name: Whose they are: a policy, or a rater.
        raters: The names of those whose labels they rest on; none for people.
        split: The split whose items they are of; None for all items.
        parts: The parts that are written, in order; none without a split.
        until: The highest id of a judgment that counts; None for all of now.
        changes: How the labels of now differ from those of the split, where that was asked for.
        items: The item of each label, of shape (n,).
        responses: The key of its response, 0 for none, of shape (n,).
        values: The labels, of shape (n,).
        part_of: The part of each; empty without a split.
        undecided: Other items of the parts' queries, with their parts, where these were asked for.
    """

    name: str
    question: str
    raters: tuple[str, ...]
    split: SplitDetails | None
    parts: tuple[str, ...]
    until: UUID | None
    changes: SplitChanges | None
    items: Array
    responses: Array
    values: Array
    part_of: Sequence[str]
    undecided: Mapping[int, str] = field(default_factory=dict)


def true_labels(
    connection: Connection,
    *,
    policy: str | None = None,
    question: str | None = None,
    split: str | None = None,
    part: str | None = None,
    now: bool = False,
    undecided: bool = False,
) -> TrueLabels:
    """Return the labels of a policy, or of a split.

    Args:
        connection: A reading connection.
        policy: The policy, where there is no split.
        question: The question; of a split its own, or None.
        split: The split; its labels are those of when it was made.
        part: The only part of it; None for all.
        now: Whether the labels of its items are those of now, by the same policy.
        undecided: Whether the items of its queries without a true label are given, too.

    Raises:
        UnknownName: There is no such policy, question, split or part.
        ExportFailed: The split is of other labels, or none of its items has a label now.
    """
    import numpy

    if split is None:
        if policy not in POLICIES:
            raise UnknownName(
                "Unknown policy", f"No policy is called {policy!r}.", f"Policies: {', '.join(POLICIES)}."
            )
        plan = SplitPlan(question or "", policy, ())
        units = true_units(connection, plan)
        names = tuple(units.panel.labels.raters[place].name for place in units.panel.places)
        return TrueLabels(
            *(policy, plan.question, names, None, (), None, None),
            *(units.items, units.responses, units.values, ()),
        )
    found = find_split(connection, split)
    if policy is not None and policy != found.plan.against:
        raise ExportFailed(
            "Other labels",
            f"The split {found.name} is of the labels of {found.plan.against}, not of {policy}.",
            "Leave --policy out, or make a split of those labels.",
        )
    if question is not None and question != found.plan.question:
        raise ExportFailed(
            "Another question",
            f"The split {found.name} is of {found.plan.question}, not of {question}.",
            "Name a split of that question.",
        )
    parts = split_parts(found, part)
    items, responses, values, part_of = split_labels(connection, found, parts)
    beside = items_behind(connection, found, part) if undecided else {}
    for item in items.tolist():
        beside.pop(item, None)
    changes = None
    if now:
        changes = split_changes(connection, found)
        units = true_units(connection, found.plan)
        keys = zip(units.items.tolist(), units.responses.tolist(), strict=True)
        today = dict(zip(keys, units.values.tolist(), strict=True))
        stored = zip(items.tolist(), responses.tolist(), strict=True)
        values = numpy.array([today.get(unit, numpy.nan) for unit in stored])
        there = ~numpy.isnan(values)
        if not there.any():
            raise ExportFailed(
                "No true labels", "No item of the split has a true label now.", "Leave --now out."
            )
        items, responses, values = items[there], responses[there], values[there]
        part_of = [name for name, inside in zip(part_of, there.tolist(), strict=True) if inside]
    return TrueLabels(
        found.plan.against,
        found.plan.question,
        found.report.truth.panel,
        found,
        parts,
        None if now else found.last_judgment or _BEFORE_ALL,
        changes,
        items,
        responses,
        values,
        part_of,
        beside,
    )


def create_true_labels(cursor: duckdb.DuckDBPyConnection, found: TrueLabels) -> None:
    """Create the temporary table true_label (item_id, question_id, response_ref_id, value, part)."""
    rows = pyarrow.table(
        {
            "item_id": pyarrow.array(found.items, pyarrow.int64()),
            "response_ref_id": pyarrow.array(found.responses, pyarrow.int64(), mask=found.responses == 0),
            "value": pyarrow.array(found.values, pyarrow.float64()),
            "part": pyarrow.array(found.part_of or [""] * len(found.items), pyarrow.string()),
        }
    )
    cursor.register("arriving_labels", rows)
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE true_label AS SELECT a.*, q.id AS question_id FROM arriving_labels a, "
        "question q WHERE q.name = ?",
        [found.question],
    )
    cursor.unregister("arriving_labels")
