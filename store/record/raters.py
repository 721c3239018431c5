"""Raters, questions, guidelines and references to responses by name: found, or made when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, Table, func, insert, select, update

from store.errors import JudgmentRefused, UnknownName
from store.kinds.spec import QuestionSpec, task_kinds
from store.record.ids import now
from store.record.rater_ref import RaterKind, RaterRef, checked_name
from store.record.response_names import ResponseName
from store.record.scales import Scale
from store.tables.columns import table_of
from store.tables.people import Guideline, Question, Rater
from store.tables.record import JudgmentRow, MarkRow
from store.tables.responses import ResponseRef, Score
from store.workspace.duckdb import Workspace

_WHOSE = {
    "human": "a person",
    "agent": "a run of the agents",
    "import": "a rater whose labels were imported from a file",
}


def next_number(connection: Connection, table: Table) -> int:
    """Return the BIGINT key after the highest one of a table; safe within the write lane."""
    highest = connection.execute(select(func.max(table.c.id))).scalar()
    return 1 if highest is None else int(highest) + 1


def ensure_rater(workspace: Workspace, name: str, kind: RaterKind = "human") -> RaterRef:
    """Return the rater of that name, making it when it is new.

    Args:
        workspace: The open workspace.
        name: The rater's name, not blank.
        kind: The rater's kind. Labels of a file may be added to those of a human; nothing else is mixed.

    Raises:
        JudgmentRefused: The name is blank or cannot be seen, or a rater of another kind has it.
    """
    name = checked_name(name)
    return workspace.lane.submit(lambda connection: rater_row(connection, name, kind), urgent=True).result()


def rater_row(connection: Connection, name: str, kind: RaterKind) -> RaterRef:
    """Like `ensure_rater`, within a write that is already in the lane."""
    table = table_of(Rater)
    rater = _rater(connection, name)
    if kind == "human" and (rater is None or (rater.kind == "human" and not _has_record(connection, rater))):
        _refuse_judge(connection, name)
    if rater is None:
        rater = RaterRef(next_number(connection, table), kind, name)
        connection.execute(insert(table).values(**asdict(rater), pseudonym="", created_at=now()))
    elif rater.kind != kind and (rater.kind, kind) != ("human", "import"):
        raise JudgmentRefused(
            "Name taken",
            f"{name!r} is the name of {_WHOSE[rater.kind]}, and judgments of {_WHOSE[kind]} are kept apart "
            "from those.",
            "Choose another name: --rater NAME, or rater in the config. To go on under this name in another "
            "workspace, import the full record there: workbench export WORKSPACE FILE --format jsonl",
        )
    return rater


def _refuse_judge(connection: Connection, name: str) -> None:
    """Refuse a person under the name of a judge; one who judged before the judge's scores came goes on."""
    score = table_of(Score)
    if connection.execute(select(score.c.judge).where(score.c.judge == name).limit(1)).first() is not None:
        raise JudgmentRefused(
            "Name taken",
            f"{name!r} is the name of a judge that scored responses here, and the judgments of a person are "
            "kept apart from those.",
            "Choose another name: --rater NAME, or rater in the config.",
        )


def _has_record(connection: Connection, rater: RaterRef) -> bool:
    """Say whether a rater ever judged or marked an item."""
    records = (table_of(JudgmentRow), table_of(MarkRow))
    own = (select(table.c.id).where(table.c.rater_id == rater.id).limit(1) for table in records)
    return any(connection.execute(found).first() is not None for found in own)


def _rater(connection: Connection, name: str) -> RaterRef | None:
    table = table_of(Rater)
    found = select(table.c.id, table.c.kind, table.c.name).where(table.c.name == name)
    row = connection.execute(found).first()
    return None if row is None else RaterRef(*row)


def find_rater(connection: Connection, name: str) -> RaterRef:
    """Return the rater of that name.

    Raises:
        UnknownName: There is none.
    """
    table = table_of(Rater)
    rater = _rater(connection, name)
    if rater is None:
        known = connection.execute(select(table.c.name).order_by(table.c.id)).scalars().all()
        raise UnknownName(
            "Unknown rater",
            f"No rater is called {name!r}.",
            f"Raters here: {', '.join(known) or 'none yet'}.",
        )
    return rater


def label_givers(connection: Connection) -> list[str]:
    """Return the names of all raters but agents: people first, then imported ones."""
    table = table_of(Rater)
    found = select(table.c.name).where(table.c.kind != "agent").order_by(table.c.kind, table.c.name)
    return list(connection.execute(found).scalars())


def question_number(connection: Connection, name: str) -> int:
    """Return the key of a question.

    Raises:
        UnknownName: No registered kind asks it.
    """
    table = table_of(Question)
    number = connection.execute(select(table.c.id).where(table.c.name == name)).scalar()
    if number is None:
        raise UnknownName("Unknown question", f"No question is called {name!r}.", "See: workbench doctor")
    return int(number)


def kind_question_numbers(connection: Connection, kind: str) -> dict[str, int]:
    """Return the keys of a kind's questions by name, in order, stored where they are new; in the lane."""
    stored = _stored_questions(connection)
    for spec in task_kinds()[kind].questions:
        _add_question(connection, kind, spec, stored.get(spec.name))
    return {spec.name: question_number(connection, spec.name) for spec in task_kinds()[kind].questions}


def response_ref_number(connection: Connection, item_id: int, response: ResponseName) -> int:
    """Return the key of the reference to a response, made where it is new; in the lane."""
    table = table_of(ResponseRef)
    row = {"item_id": item_id, **asdict(response)}
    known = select(table.c.id).where(*(table.c[name] == value for name, value in row.items()))
    number = connection.execute(known).scalar()
    if number is None:
        number = next_number(connection, table)
        connection.execute(insert(table).values(id=number, **row))
    return int(number)


def add_response_refs(connection: Connection, rows: Sequence[tuple[int, str, str, int]]) -> None:
    """Make the references that are new among some; in the lane.

    Rows are (item, model, setting, trial).
    """
    items, models, settings, trials = (list(column) for column in zip(*rows, strict=True))
    connection.exec_driver_sql(
        "INSERT INTO response_ref "
        "SELECT (SELECT coalesce(max(id), 0) FROM response_ref) + row_number() OVER (), * "
        "FROM (SELECT unnest(?::BIGINT[]) AS item_id, unnest(?::VARCHAR[]) AS model, "
        "unnest(?::VARCHAR[]) AS setting, unnest(?::BIGINT[]) AS trial) "
        "ANTI JOIN response_ref USING (item_id, model, setting, trial)",
        (items, models, settings, trials),
    )


def guideline_number(connection: Connection, kind: str, version: str) -> int:
    """Return the key of a version of a kind's guideline, storing one whose text is not known; in the lane."""
    table = table_of(Guideline)
    known = select(table.c.id).where(table.c.task_kind == kind, table.c.version == version)
    number = connection.execute(known).scalar()
    if number is None:
        number = next_number(connection, table)
        text = "(its text did not come with the judgments)"
        connection.execute(insert(table).values(id=number, task_kind=kind, version=version, text=text))
    return int(number)


def installed_guidelines(connection: Connection) -> dict[str, int]:
    """Return by kind the key of the guideline that is installed; others came with records made under them."""
    table = table_of(Guideline)
    stored = connection.execute(select(table.c.task_kind, table.c.version, table.c.id)).all()
    installed = {(kind.name, kind.guideline_version) for kind in task_kinds().values()}
    return {kind: number for kind, version, number in stored if (kind, version) in installed}


def register_kinds(workspace: Workspace) -> None:
    """Store the missing rows of every installed kind: its table, its questions, its guideline."""
    guideline = table_of(Guideline)

    def write(connection: Connection) -> None:
        stored = _stored_questions(connection)
        known = select(guideline.c.task_kind, guideline.c.version)
        explained = {tuple(row) for row in connection.execute(known)}
        for kind in task_kinds().values():
            if kind.record.schema:
                connection.exec_driver_sql(kind.record.schema)
            for spec in kind.every_question:
                _add_question(connection, kind.name, spec, stored.get(spec.name))
            if (kind.name, kind.guideline_version) not in explained:
                row = {"task_kind": kind.name, "version": kind.guideline_version, "text": kind.guideline}
                connection.execute(insert(guideline).values(id=next_number(connection, guideline), **row))

    workspace.lane.submit(write, urgent=True).result()


def _stored_questions(connection: Connection) -> dict[str, tuple[str, str]]:
    """Return the words and the scale of each question, by its name."""
    table = table_of(Question)
    rows = connection.execute(select(table.c.name, table.c.text, table.c.scale))
    return {name: (text, scale) for name, text, scale in rows}


def _add_question(
    connection: Connection, kind: str, spec: QuestionSpec, stored: tuple[str, str] | None
) -> None:
    table, scale = table_of(Question), spec.scale.to_json()
    fields = {"text": spec.text, "scale": scale}
    if stored is None:
        fields |= {"task_kind": kind}
        connection.execute(insert(table).values(id=next_number(connection, table), name=spec.name, **fields))
    elif stored != (spec.text, scale) and ({*Scale.from_json(stored[1]).allowed} <= {*spec.scale.allowed}):
        # An earlier version had other words, fewer values or another level; what was judged is still valid.
        connection.execute(update(table).where(table.c.name == spec.name).values(**fields))
