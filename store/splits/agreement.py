"""The agreement behind a split: of all that its raters labelled of the queries of each part.

Items on which a policy did not decide are in no part. Without them, people would seem to agree better than
they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.kinds.spec import TaskKind
from store.measures.table_agreement import table_agreement
from store.sql import quoted

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    from store.analysis.truth_panel import TruthPanel

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
    connection: Connection,
    kind: TaskKind,
    parts: Sequence[str],
    part_of: Mapping[int, str],
    *,
    repositories: bool,
) -> ItemsByQuery:
    """Return all items of a kind, those without a true label in the part that has the rest of their query.

    Args:
        connection: A reading connection.
        kind: The kind.
        parts: The names of the parts.
        part_of: The parts of the items with a true label.
        repositories: Whether parts keep repositories apart, and not queries.
    """
    import numpy

    rows = f"SELECT id, group_id AS query FROM item WHERE kind = {quoted(kind.name)} ORDER BY id"
    if repositories and "repository" in kind.record.columns:
        # An item without a repository is by itself.
        query = "hash(coalesce(nullif(repository, ''), item_id::VARCHAR))"
        rows = f"SELECT item_id AS id, {query} AS query FROM ({kind.record.select}) ORDER BY item_id"
    cursor = connection.exec_driver_sql(rows).cursor
    assert cursor is not None
    columns = cursor.fetchnumpy()
    ids, (_, queries) = columns["id"], numpy.unique(columns["query"], return_inverse=True)
    own = numpy.full(len(ids), -1)
    places = {name: place for place, name in enumerate(parts)}
    there = numpy.isin(ids, [*part_of])
    own[there] = [places[part_of[item]] for item in ids[there].tolist()]
    lowest, highest = numpy.full(len(ids), len(places)), numpy.full(len(ids), -1)
    numpy.minimum.at(lowest, queries[there], own[there])
    numpy.maximum.at(highest, queries[there], own[there])
    of_query = numpy.where(lowest == highest, lowest, -1)[queries]
    return ItemsByQuery(ids, queries, numpy.where(there, own, of_query))


def agreement_behind(panel: TruthPanel, ids: Array) -> dict[str, Any]:
    """Return the agreement of the raters of a policy, or of people, on some items.

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
