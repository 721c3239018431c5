"""The health of a workspace: its schema, its size, dangling references, doubtful labels, and its journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection, Table, TableClause, Uuid, cast, column, exists, func, select, table, text
from sqlmodel import SQLModel

from store.formatting import pluralize
from store.kinds.comparison import AS_LISTED, ORDERS, PREFERENCE
from store.kinds.spec import task_kinds
from store.queries.current import all_values
from store.sql import named
from store.tables.columns import table_of
from store.tables.imported import Code, Comparison, Item, Pair, Query, Similarity, Source
from store.tables.people import Question, Rater
from store.tables.record import JudgmentRow, MarkRow
from store.tables.responses import ContextChunk, PendingResponse, Response, ResponseRef, Score
from store.tables.retrieval import Retrieval, RetrievalHit, RetrievalQuery
from store.tables.runs import ExecutionRow, ReplyRow, Run, StepRow, TestOutcomeRow, VerdictRow
from store.workspace.duckdb import migrations
from store.workspace.journal import journal_path

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace

_COUNTED = (
    *(Source, Item, Pair, Query, Code, Similarity),
    *(ContextChunk, ResponseRef, Response, Score, PendingResponse),
    *(Rater, Question, JudgmentRow, MarkRow),
    *(Run, StepRow, ReplyRow, ExecutionRow, TestOutcomeRow, VerdictRow),
    *(Retrieval, RetrievalQuery, RetrievalHit),
)

Reference = tuple[type[SQLModel], str, type[SQLModel], *tuple[type[SQLModel], ...]]
"""A table, its column, and the tables one of which has a row with that `id`."""

# Which column must name a row of which table: what foreign keys would hold, were they cheap enough.
_REFERENCES: tuple[Reference, ...] = (
    (Item, "source_id", Source),
    (Pair, "item_id", Item),
    (Pair, "query_id", Query),
    (Pair, "code_id", Code),
    (Similarity, "item_id", Item),
    (ContextChunk, "item_id", Item),
    (ResponseRef, "item_id", Item),
    (Response, "id", ResponseRef),
    (Score, "response_ref_id", Response),
    (JudgmentRow, "item_id", Item),
    (JudgmentRow, "rater_id", Rater),
    (JudgmentRow, "question_id", Question),
    (JudgmentRow, "response_ref_id", ResponseRef),
    (MarkRow, "item_id", Item),
    (MarkRow, "rater_id", Rater),
    (StepRow, "item_id", Item),
    (StepRow, "run_id", Run),
    (StepRow, "reply_id", ReplyRow),
    (ExecutionRow, "item_id", Item),
    (ExecutionRow, "step_id", StepRow),
    (TestOutcomeRow, "execution_id", ExecutionRow),
    (VerdictRow, "item_id", Item),
    (VerdictRow, "run_id", Run),
    (VerdictRow, "question_id", Question),
    (VerdictRow, "response_ref_id", ResponseRef),
    (VerdictRow, "execution_id", ExecutionRow),
    (RetrievalQuery, "retrieval_id", Retrieval),
    (RetrievalQuery, "query_id", Query),
    (RetrievalHit, "retrieval_id", Retrieval),
    (RetrievalHit, "query_id", Query),
    (RetrievalHit, "code_id", Code),
)


# What a judgment may have been made before in another workspace, from which it was brought without the runs.
_SHOWN_ELSEWHERE: tuple[Reference, ...] = (
    (JudgmentRow, "shown_verdict", VerdictRow, Score, JudgmentRow),
    (JudgmentRow, "shown_execution", ExecutionRow),
)


@dataclass(frozen=True, slots=True)
class Health:
    """The findings of `workbench doctor WORKSPACE`.

    Attributes:
        path: The file.
        bytes: Its size.
        schema: The version of its tables.
        newest_schema: The version that this program makes.
        rows: How many rows of each table.
        orphans: Rows that name something which is not there, by "table.column".
        elsewhere: Judgments made before a verdict, a score or an execution of another workspace: they were
            imported, or brought back by `workbench recover`, without the agents' run.
        unknown_sides: Imported labels of comparisons that may be of the other candidate, by rater: they came
            before it was known which candidate the comparison's file lists first.
        journal: The journal file, empty when there is none.
        journal_ahead: Records that the journal has and the workspace lacks.
    """

    JSON_ALSO: ClassVar = ("problems", "notes")

    path: str
    bytes: int
    schema: int
    newest_schema: int
    rows: dict[str, int]
    orphans: dict[str, int]
    elsewhere: dict[str, int]
    unknown_sides: dict[str, int]
    journal: str
    journal_ahead: int

    @property
    def problems(self) -> list[str]:
        """The problems, as sentences."""
        found = [
            f"{pluralize(count, 'row')} of {name} {'names' if count == 1 else 'name'} what is not there."
            for name, count in self.orphans.items()
        ]
        if self.journal_ahead:
            found.append(
                f"The journal holds {pluralize(self.journal_ahead, 'record')} that the workspace lacks; "
                f"bring back what is missing: workbench recover {self.path}"
            )
        return found

    @property
    def notes(self) -> list[str]:
        """Warnings to be checked by a person, as sentences."""
        if not self.unknown_sides:
            return []
        total = pluralize(sum(self.unknown_sides.values()), "label")
        return [
            f"{total} of comparisons by {', '.join(self.unknown_sides)} may be for the other candidate: "
            "imported before it was stored which one a comparison's file lists first. Those that came with "
            "their comparisons, or from an export, are right; import the others again with the name of the "
            "favoured candidate in the column `of`."
        ]


def health(workspace: Workspace) -> Health:
    """Examine a workspace, every value of it; nothing is changed.

    Raises:
        WorkspaceError: A part of it cannot be read.
    """
    from store.workspace.recovery import journal_ahead

    journal = journal_path(workspace.path)
    with workspace.reading() as connection:
        schema = connection.execute(text("SELECT max(version) FROM schema_version")).scalar_one()
        for name in connection.execute(text("SELECT table_name FROM duckdb_tables()")).scalars().all():
            # Counts are known without a look at the rows; a damaged block is found by reading it.
            connection.exec_driver_sql(f"SELECT bit_xor(hash(entry)) FROM {named(name)} AS entry")
        own = _tables_of_kinds(connection)
        tables = [*(table_of(model) for model in _COUNTED), *own]
        rows = {
            each.name: connection.execute(select(func.count()).select_from(each)).scalar_one()
            for each in tables
        }
        orphans = _dangling(connection, _REFERENCES)
        for each in own:
            if count := connection.execute(_missing(each, "item_id", [table_of(Item)])).scalar_one():
                orphans[f"{each.name}.item_id"] = int(count)
        elsewhere = _dangling(connection, _SHOWN_ELSEWHERE)
        unknown_sides = _unknown_sides(connection)
    return Health(
        path=str(workspace.path),
        bytes=workspace.path.stat().st_size,
        schema=int(schema),
        newest_schema=migrations()[-1][0],
        rows=rows,
        orphans=orphans,
        elsewhere=elsewhere,
        unknown_sides=unknown_sides,
        journal=str(journal) if journal.exists() else "",
        journal_ahead=journal_ahead(workspace) if journal.exists() else 0,
    )


def _unknown_sides(connection: Connection) -> dict[str, int]:
    """Return how many labels may be of the other candidate, by rater (see `Health.unknown_sides`)."""
    fact = "SELECT value FROM workspace_fact WHERE name = 'labels_of_unknown_side'"
    last = connection.execute(text(fact)).scalar()
    if last is None:
        return {}
    value, comparison, rater = all_values(questions=[PREFERENCE.name]), table_of(Comparison), table_of(Rater)
    order = table_of(JudgmentRow)
    # Verdicts in one order alone, and those of both, came with their comparisons.
    of_judge = exists().where(
        order.c.rater_id == value.c.rater_id, order.c.item_id == value.c.item_id, order.c.phase.in_(ORDERS)
    )
    found = (
        select(rater.c.name, func.count())
        .join(value, value.c.rater_id == rater.c.id)
        .join(comparison, comparison.c.item_id == value.c.item_id)
        .where(
            value.c.id <= cast(last, Uuid),
            value.c.origin == "import",
            value.c.value != 0,
            value.c.shown_as == "",
            comparison.c.file_order != AS_LISTED,
            ~of_judge,
        )
        .group_by(rater.c.name)
        .order_by(rater.c.name)
    )
    return {name: int(labels) for name, labels in connection.execute(found)}


def _tables_of_kinds(connection: Connection) -> list[TableClause]:
    """Return the tables that kinds have for their items, as far as the workspace has them."""
    there = set(connection.execute(text("SELECT table_name FROM duckdb_tables()")).scalars())
    named = (kind.record.table for kind in task_kinds().values())
    return [table(name, column("item_id")) for name in named if name in there]


def _dangling(connection: Connection, references: Sequence[Reference]) -> dict[str, int]:
    """Return how many rows name what is not there, by "table.column"; no entry where all is well."""
    found = {}
    for model, name, *targets in references:
        missing = _missing(table_of(model), name, [table_of(target) for target in targets])
        if count := connection.execute(missing).scalar_one():
            found[f"{table_of(model).name}.{name}"] = int(count)
    return found


def _missing(where: TableClause, name: str, targets: Sequence[Table]) -> Any:
    """Select how many rows have a value in a column that no row of the targets has."""
    value = where.c[name]
    nowhere = (~exists().where(target.c.id == value) for target in targets)
    return select(func.count()).select_from(where).where(value.is_not(None), *nowhere)
