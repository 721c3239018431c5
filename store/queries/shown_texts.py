"""The texts of comparisons as the study of a scope shows them (see store.kinds.comparison_texts)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from store.kinds.comparison import COMPARISON
from store.kinds.comparison_texts import changed_texts
from store.kinds.listing import relation
from store.tables.columns import among, table_of
from store.tables.people import Study

if TYPE_CHECKING:
    from store.policy.scope import Scope
    from store.record.protocol import StudyProtocol


def protocol_of(connection: Connection, scope: Scope) -> StudyProtocol | None:
    """Return the protocol of the study of a scope; None outside a study."""
    from store.record.protocol import StudyProtocol

    if scope.sitting is None:
        return None
    study = table_of(Study)
    found = select(study.c.protocol).where(study.c.id == scope.sitting.study)
    return StudyProtocol.from_json(connection.execute(found).scalar_one())


def shown_candidates(
    connection: Connection, scope: Scope, texts: Mapping[int, Mapping[str, Any]]
) -> dict[int, tuple[dict[str, str], tuple[str, ...]]]:
    """Return the candidates' texts that a study shows otherwise than they were imported.

    Returns:
        By item the texts under their names, and the changes that were made; nothing of a study that shows
        texts as they are, nor outside a study.
    """
    protocol = protocol_of(connection, scope) if texts else None
    if protocol is None or not protocol.texts:
        return {}
    names = names_of_sets(connection, texts)
    shown = {}
    for item_id, own in texts.items():
        found = changed_texts(
            own["first"],
            own["second"],
            protocol.texts,
            names=names[item_id],
            language=own["language"],
            about=own["about"],
        )
        shown[item_id] = {"first": found.first, "second": found.second}, found.changes
    return shown


def names_of_sets(connection: Connection, item_ids: Iterable[int]) -> dict[Any, tuple[str, str]]:
    """Return the names of the sets of both candidates of some comparisons, in canonical order."""
    found = relation(COMPARISON)
    names = (found.columns["first_name"], found.columns["second_name"])
    rows = connection.execute(
        select(found.item_id, *names).select_from(found.source).where(among(found.item_id, list(item_ids)))
    )
    return {row[0]: (row[1], row[2]) for row in rows}
