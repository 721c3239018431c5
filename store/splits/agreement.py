"""The agreement behind a split: of all that its raters labelled of the queries of each part.

Items on which a policy did not decide are in no part. Without them, people would seem to agree better than
they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from store.formatting import pluralize
from store.kinds.spec import TaskKind, task_kinds
from store.measures.table_agreement import table_agreement
from store.sql import quoted
from store.tables.columns import table_of
from store.tables.splits import SplitLabel

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    from store.queries.truth_panel import TruthPanel
    from store.splits.splits import SplitDetails, SplitPlan, SplitReport

    Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ItemsByQuery:
    """The n items of a kind, with what is kept together.

    Attributes:
        ids: Their keys, in ascending order, of shape (n,).
        queries: The query of each, or its repository where these are kept apart, as numbers from 0.
        parts: The part of each; -1 where neither it nor another item of its query is in just one.
    """

    ids: Array
    queries: Array
    parts: Array


def items_by_query(
    connection: Connection, kind: TaskKind, plan: SplitPlan, part_of: Mapping[int, str]
) -> ItemsByQuery:
    """Return all items of a kind, those without a true label in the part that has the rest of their query.

    Args:
        connection: A reading connection.
        kind: The kind.
        plan: How the split is made.
        part_of: The parts of the items with a true label.
    """
    import numpy

    rows = f"SELECT id, group_id AS query FROM item WHERE kind = {quoted(kind.name)} ORDER BY id"
    if plan.disjoint == "repository" and "repository" in kind.record.columns:
        # An item without a repository is by itself.
        query = "hash(coalesce(nullif(repository, ''), item_id::VARCHAR))"
        rows = f"SELECT item_id AS id, {query} AS query FROM ({kind.record.select}) ORDER BY item_id"
    cursor = connection.exec_driver_sql(rows).cursor
    assert cursor is not None
    columns = cursor.fetchnumpy()
    ids, (_, queries) = columns["id"], numpy.unique(columns["query"], return_inverse=True)
    parts = numpy.full(len(ids), -1)
    places = {part.name: place for place, part in enumerate(plan.parts)}
    there = numpy.isin(ids, [*part_of])
    parts[there] = [places[part_of[item]] for item in ids[there].tolist()]
    lowest, highest = numpy.full(len(ids), len(places)), numpy.full(len(ids), -1)
    numpy.minimum.at(lowest, queries[there], parts[there])
    numpy.maximum.at(highest, queries[there], parts[there])
    of_query = numpy.where(lowest == highest, lowest, -1)[queries]
    return ItemsByQuery(ids, queries, numpy.where(there, parts, of_query))


def items_behind(connection: Connection, split: SplitDetails, part: str | None = None) -> dict[int, str]:
    """Return the items that the agreement of a split is about, with the part of each, empty for none.

    Args:
        connection: A reading connection.
        split: The split.
        part: The only part; None for all of the split, with the queries that are in no part.
    """
    label = table_of(SplitLabel)
    rows = connection.execute(select(label.c.item_id, label.c.part).where(label.c.split_id == split.id))
    part_of = {int(item): str(name) for item, name in rows}
    found = items_by_query(connection, task_kinds()[split.kind], split.plan, part_of)
    names = [*(one.name for one in split.plan.parts), ""]
    every = {item: names[place] for item, place in zip(found.ids.tolist(), found.parts.tolist(), strict=True)}
    if part is None and split.plan.disjoint != "given":
        return every
    return {item: name for item, name in every.items() if name and part in (None, name)}


def agreement_behind(panel: TruthPanel, ids: Array) -> dict[str, Any]:
    """Return the agreement of the raters of a policy, or of people, on some items.

    Args:
        panel: Whose labels are true.
        ids: The items.

    Returns:
        `alpha` at the question's `level`, `percent`, `units` with two labels or more, those of all labelled
        units that are `undecided`, the number of `raters`, and `why` there is no alpha.
    """
    import numpy

    places = panel_places(panel)
    labels = panel.labels.only(ids)
    found = table_agreement(labels.table().only(places), level=labels.level, pairs=False)
    undecided = labelled_units(panel, places) & numpy.isnan(panel.without(()).values)
    return {
        "alpha": found.alpha[labels.level],
        "level": labels.level,
        "percent": found.percent,
        "units": found.units - found.dropped_units,
        "undecided": int(undecided[numpy.isin(panel.labels.item_ids, ids)].sum()),
        "raters": len(places),
        "why": found.why,
    }


def agreement_words(report: SplitReport) -> list[str]:
    """Return what the agreement of the parts of a split is about, and that of all of it, a sentence each."""
    whom = "the raters of the policy" if len(report.truth.panel) > 1 else "people"
    if not report.agreement:
        return [f"Agreement: Krippendorff's alpha of {whom} on each part's items with a true label."]
    alpha, undecided = report.agreement["alpha"], report.agreement["undecided"]
    queries = pluralize(report.undecided_queries, "query", "queries")
    return [
        f"Agreement: Krippendorff's alpha of {whom} on all items of a part's queries that they labelled, "
        "undecided ones included"
        + (", before adjudication." if report.truth.against == "adjudicated" else "."),
        f"In all: {'none' if alpha is None else f'{alpha:.3f}'} on {report.agreement['units']:,} units, "
        f"{undecided:,} undecided"
        + (f"; {queries} without a decided item." if report.undecided_queries else "."),
    ]


def panel_places(panel: TruthPanel) -> list[int]:
    """Return the raters of a policy, or people where one rater's labels are true."""
    if panel.policy is not None:
        return [*panel.places]
    return [place for place, one in enumerate(panel.labels.raters) if one.kind == "human"]


def labelled_units(panel: TruthPanel, places: Sequence[int]) -> Array:
    """Return which units some raters labelled, of shape (n,)."""
    import numpy

    nobody = [numpy.full(len(panel.labels.units), numpy.nan)]
    values = numpy.array([panel.labels.raters[place].values for place in places] or nobody)
    found: Array = ~numpy.isnan(values).all(axis=0)
    return found


def undecided_queries(panel: TruthPanel, items: ItemsByQuery) -> int:
    """Return how many queries have a label, and no item with a true one."""
    import numpy

    query = items.queries[numpy.searchsorted(items.ids, panel.labels.item_ids)]
    labelled = labelled_units(panel, panel_places(panel))
    decided = ~numpy.isnan(panel.without(()).values)
    return len(set(query[labelled].tolist()) - set(query[decided].tolist()))
