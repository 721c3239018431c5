"""The labels that a retrieval report counts as true, and the grades of pairs that they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from store.errors import ExportFailed, UnknownName, WorkbenchError
from store.export.labelled import GRADED, create_graded
from store.export.labels import create_exported_items
from store.export.studied import create_exported_records
from store.export.true_labels import TRUE_LABELS, create_true_labels, true_labels
from store.formats.retrieval import WHOLE
from store.kinds.pair import MATCH, PAIR
from store.queries.current import first_values
from store.queries.runs import rater_or_run, run_names
from store.splits.splits import list_splits
from store.sql import native
from store.tables.columns import table_of
from store.tables.people import Rater

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class LabelSource:
    """Whose labels count as true; one of the three is named.

    Attributes:
        rater: A rater or a run.
        policy: What makes one label of those of several people.
        split: A split, with the labels that it stored.
        part: The part of the split; None for `test`, or its only one.
    """

    rater: str | None = None
    policy: str | None = None
    split: str | None = None
    part: str | None = None

    @property
    def named(self) -> str:
        """The source in a few words."""
        if self.split is not None:
            return f"split {self.split}" + (f", {self.part}" if self.part else "")
        return f"people ({self.policy})" if self.policy is not None else str(self.rater)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options of a command that name it."""
        given = {"rater": self.rater, "policy": self.policy, "split": self.split, "part": self.part}
        return tuple(
            word for name, value in given.items() if value is not None for word in (f"--{name}", value)
        )

    def check(self, subject: str) -> None:
        """Refuse none of the three, or several.

        Args:
            subject: What needs the labels: "An evaluation".

        Raises:
            WorkbenchError: Not exactly one is named.
        """
        if sum(given is not None for given in (self.rater, self.policy, self.split)) != 1:
            raise WorkbenchError(
                "Whose labels?",
                f"{subject} needs true labels: of one rater, by a policy of several raters, or of a split.",
                "Give one: --rater NAME, --policy majority or --split NAME.",
            )


@dataclass(frozen=True, slots=True)
class Grades:
    """The grades of pairs.

    Attributes:
        qrels: The grade of each judged code of each query, both by the MD5 of their texts.
        part: The part of the split; `test` without one, as an export names it.
    """

    qrels: Mapping[str, Mapping[str, float]]
    part: str


def label_sources(connection: Connection) -> tuple[LabelSource, ...]:
    """Return what labels of pairs there are: of people together and of each rater, of runs, of splits.

    The first are those of most pairs; people together come before a rater with as many.
    """
    rater, values = table_of(Rater), first_values(questions=[MATCH.name])
    pairs = func.count(values.c.item_id.distinct())
    labelled = values.join(rater, rater.c.id == values.c.rater_id)
    by_rater = (
        select(rater.c.name, pairs)
        .select_from(labelled)
        .where(rater.c.kind != "agent")
        .group_by(rater.c.name)
        .order_by(rater.c.name)
    )
    of_people = connection.execute(
        select(pairs).select_from(labelled).where(rater.c.kind == "human")
    ).scalar()
    counts = {LabelSource(policy="majority"): of_people} if of_people else {}
    counts |= {LabelSource(rater=name): number for name, number in connection.execute(by_rater)}
    raters = sorted(counts, key=lambda source: -counts[source])
    runs = [LabelSource(rater=name) for name in run_names(connection, PAIR.name)]
    splits = [
        LabelSource(split=split.name, part=part.name)
        for split in list_splits(connection)
        if split.kind == PAIR.name
        for part in split.plan.parts
    ]
    return (*raters, *runs, *splits)


def read_grades(connection: Connection, source: LabelSource) -> Grades:
    """Return the grades of the labels of now, as an export of a benchmark writes them.

    Temporary tables are made in the connection.

    Raises:
        WorkbenchError: There are none, or one is no whole number.
        UnknownName: There is no such rater, run, policy, split or part.
    """
    rater_id, truth = TRUE_LABELS, None
    if source.rater is not None:
        rater_id = rater_or_run(connection, source.rater).id
    else:
        truth = true_labels(
            connection,
            policy=source.policy,
            question=MATCH.name,
            split=source.split,
            part=source.part,
        )
    cursor = native(connection)
    if truth is not None:
        create_true_labels(cursor, truth)
    create_exported_items(cursor, None, split=source.split is not None)
    create_exported_records(cursor, None, pseudonyms=False, withdrawn=False, truth=truth)
    try:
        create_graded(cursor, rater_id, PAIR, MATCH)
    except ExportFailed as error:
        raise WorkbenchError(
            "No grades", f"{error.message} Asked for: {source.named}.", "Label pairs, or name other labels."
        ) from error
    part = _part(source, truth.parts if truth is not None else ())
    qrels: dict[str, dict[str, float]] = {}
    for query, code, label, of in cursor.execute(GRADED).fetchall():
        if not of or of == part:
            qrels.setdefault(query, {})[code] = float(label)
    return Grades(qrels, part)


def _part(source: LabelSource, parts: tuple[str, ...]) -> str:
    """Return the part that is measured: the only one, else the one for tests."""
    if len(parts) <= 1:
        return parts[0] if parts else WHOLE
    if WHOLE not in parts:
        raise UnknownName(
            "Which part?",
            f"The split {source.split} has no part {WHOLE}.",
            f"Parts: {', '.join(parts)}; choose one: --part NAME.",
        )
    return WHOLE
