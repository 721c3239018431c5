"""The health of a workspace: its schema, how much is in it, what points nowhere, what the journal has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, exists, func, select, text
from sqlmodel import SQLModel

from store.counted import counted
from store.journal import journal_path
from store.tables.columns import table_of
from store.tables.imported import Code, Item, Pair, Query, Similarity, Source
from store.tables.people import Question, Rater
from store.tables.record import JudgmentRow, MarkRow
from store.tables.runs import ExecutionRow, ReplyRow, Run, StepRow, TestOutcomeRow, VerdictRow
from store.workspace import migrations

if TYPE_CHECKING:
    from store.workspace import Workspace

_COUNTED = (
    *(Source, Item, Pair, Query, Code, Similarity),
    *(Rater, Question, JudgmentRow, MarkRow),
    *(Run, StepRow, ReplyRow, ExecutionRow, TestOutcomeRow, VerdictRow),
)

# Which column must name a row of which table: what foreign keys would hold, were they cheap enough.
_REFERENCES = (
    (Item, "source_id", Source, "id"),
    (Pair, "item_id", Item, "id"),
    (Pair, "query_id", Query, "id"),
    (Pair, "code_id", Code, "id"),
    (Similarity, "item_id", Item, "id"),
    (JudgmentRow, "item_id", Item, "id"),
    (JudgmentRow, "rater_id", Rater, "id"),
    (JudgmentRow, "question_id", Question, "id"),
    (MarkRow, "item_id", Item, "id"),
    (MarkRow, "rater_id", Rater, "id"),
    (StepRow, "item_id", Item, "id"),
    (StepRow, "run_id", Run, "id"),
    (StepRow, "reply_id", ReplyRow, "id"),
    (ExecutionRow, "item_id", Item, "id"),
    (ExecutionRow, "step_id", StepRow, "id"),
    (TestOutcomeRow, "execution_id", ExecutionRow, "id"),
    (VerdictRow, "item_id", Item, "id"),
    (VerdictRow, "run_id", Run, "id"),
    (VerdictRow, "execution_id", ExecutionRow, "id"),
)


# What a judgment may have been made before in another workspace, from which it was brought without the runs.
_SHOWN_ELSEWHERE = (
    (JudgmentRow, "shown_verdict", VerdictRow, "id"),
    (JudgmentRow, "shown_execution", ExecutionRow, "id"),
)


@dataclass(frozen=True, slots=True)
class Health:
    """What `workbench doctor WORKSPACE` finds.

    Attributes:
        path: The file.
        bytes: Its size.
        schema: The version of its tables.
        newest_schema: The version that this program makes.
        rows: How many rows of each table.
        orphans: Rows that name something which is not there, by "table.column".
        elsewhere: Judgments made before a verdict or an execution that is in another workspace: they were
            imported, or brought back by `workbench recover`, without the agents' run.
        journal: The journal file, empty when there is none.
        journal_ahead: Records that the journal has and the workspace lacks.
    """

    path: str
    bytes: int
    schema: int
    newest_schema: int
    rows: dict[str, int]
    orphans: dict[str, int]
    elsewhere: dict[str, int]
    journal: str
    journal_ahead: int

    @property
    def problems(self) -> list[str]:
        """What is wrong, as sentences."""
        found = [
            f"{counted(count, 'row')} of {name} {'names' if count == 1 else 'name'} what is not there."
            for name, count in self.orphans.items()
        ]
        if self.journal_ahead:
            found.append(
                f"The journal holds {counted(self.journal_ahead, 'record')} that the workspace lacks; "
                f"bring back what is missing: workbench recover {self.path}"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {**asdict(self), "problems": self.problems}


def health(workspace: Workspace) -> Health:
    """Examine a workspace; nothing is changed."""
    from store.recovery import journal_ahead

    journal = journal_path(workspace.path)
    with workspace.reading() as connection:
        schema = connection.execute(text("SELECT max(version) FROM schema_version")).scalar_one()
        tables = [table_of(model) for model in _COUNTED]
        rows = {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables
        }
        orphans = _dangling(connection, _REFERENCES)
        elsewhere = _dangling(connection, _SHOWN_ELSEWHERE)
    return Health(
        path=str(workspace.path),
        bytes=workspace.path.stat().st_size,
        schema=int(schema),
        newest_schema=migrations()[-1][0],
        rows=rows,
        orphans=orphans,
        elsewhere=elsewhere,
        journal=str(journal) if journal.exists() else "",
        journal_ahead=journal_ahead(workspace) if journal.exists() else 0,
    )


def _dangling(
    connection: Connection, references: Sequence[tuple[type[SQLModel], str, type[SQLModel], str]]
) -> dict[str, int]:
    """Return how many rows name what is not there, by "table.column"; no entry where all is well."""
    found = {}
    for model, column, target_model, key in references:
        table, target = table_of(model), table_of(target_model)
        if count := connection.execute(_missing(table, column, target, key)).scalar_one():
            found[f"{table.name}.{column}"] = int(count)
    return found


def _missing(table: Table, column: str, target: Table, key: str) -> Any:
    """Select how many rows have a value in a column that no row of the target has."""
    value = table.c[column]
    return (
        select(func.count())
        .select_from(table)
        .where(value.is_not(None), ~exists().where(target.c[key] == value))
    )
