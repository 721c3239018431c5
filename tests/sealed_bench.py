"""Workspaces with a frozen study that are made the same way and differ only in what its raters must not see."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from judging import Desk
from review_bench import BEGAN, CASES, MODEL, RUN_NAME, TEST, Ran, uid, write_case, write_expert_run
from several_kinds import ANSWERS, QUESTIONS
from small_workspace import labelled_by_agents
from sqlalchemy import Connection, insert, select, update

from store.ingest.importing import import_files
from store.policy.rows import words_of
from store.policy.scope import ADJUDICATE, Scope, Sitting
from store.queries.item import item_access
from store.queries.rows import QueueFilter, ViewQuery
from store.queries.studies import ChosenItem, find_study
from store.record.ids import now
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater, find_rater, register_kinds
from store.record.revisions import REVISION
from store.record.session import save_session
from store.saved_views import save_view
from store.studies.session import study_session
from store.studies.studies import freeze_study, new_study, withdraw
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Rater, Study, StudyItem, StudyRater
from store.tables.responses import ResponseRef, Score
from store.tables.runs import ExecutionRow, ReplyRow, Run
from store.workspace.duckdb import Workspace

FILE = "study.duckdb"
STUDY, OF_ANSWERS, DRAFT = "rq2", "answers", "draft-x"
OUTSIDE = "extra/1"
"""An item that only the busy workspace has; in no study."""
UNKNOWN = "nowhere/1"
"""An item that no workspace has."""
OWN_VIEW = "todo"
"""The name that a view of ana gets; in the busy workspace another one has it already."""
SECRETS = (
    *("ben", "chi", "zoe", "judge-x", RUN_NAME, "full:scripted", "secret", OUTSIDE, "Not doubled", DRAFT),
    *("clear_match", "unclear", "screener", "arbiter", "test_only_newline"),
)
"""Words that are only in what is hidden."""


def study_workspace(folder: Path, conditions: Collection[str] = ("blind", "own-test")) -> Path:
    """A workspace with a study of pairs and one of answers, in which ana has begun; returns its file."""
    folder.mkdir(exist_ok=True)
    pairs = [
        {"id": case.name, "query": f"{case.query} {place}", "code": f"{case.code}# {place}\n"}
        for place, case in enumerate(CASES)
    ]
    files = []
    for name, records in (("pairs", pairs), ("questions", QUESTIONS), ("answers", ANSWERS)):
        files.append(folder / f"{name}.jsonl")
        files[-1].write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    with Workspace.create(folder / FILE) as workspace:
        import_files(workspace, files)
        register_kinds(workspace)
        numbers = {kind: _items(workspace, kind) for kind in ("pair", "answer")}
        chosen = [ChosenItem(number) for number in numbers["pair"][:-1]]
        gold = ChosenItem(numbers["pair"][-1], "gold", gold={"pair.match": 1.0})
        reveal = None if any("revealed" in words for words in conditions) else "revealed+tests"
        protocol = StudyProtocol("pair", conditions=tuple(conditions), repeats=2, seed=3, reveal=reveal)
        new_study(workspace, STUDY, protocol, [*chosen, gold], ("ana", "ben", "chi"))
        freeze_study(workspace, STUDY)
        answers = [ChosenItem(number) for number in numbers["answer"]]
        new_study(workspace, OF_ANSWERS, StudyProtocol("answer", seed=3), answers, ("ana", "ben"))
        freeze_study(workspace, OF_ANSWERS)
        first, second, third, *_ = items_of(workspace, ana(workspace))
        label_in_study(workspace, "ana", {first: 1.0})
        desk = Desk(workspace, "ana")
        for item, kind, text in ((second, "flag", ""), (third, "comment", "mine")):
            desk.say(item, kind, text=text, **_under(workspace, ana(workspace), item))
    return folder / FILE


def _items(workspace: Workspace, kind: str) -> list[int]:
    item = table_of(Item)
    with workspace.reading() as connection:
        found = select(item.c.id).where(item.c.kind == kind).order_by(item.c.id)
        return list(connection.execute(found).scalars())


def ana(workspace: Workspace, study: str = STUDY, number: int = 1, rater: str = "ana") -> Scope:
    """The scope of a sitting of a rater, ana's first one by default."""
    with workspace.reading() as connection:
        return Scope(find_rater(connection, rater), Sitting(find_study(connection, study).id, number))


def items_of(workspace: Workspace, scope: Scope, *words: str) -> list[int]:
    """The items of a sitting in their order; those whose condition has one of some words, if any are given."""
    assignment = table_of(Assignment)
    assert scope.sitting is not None
    own = select(assignment.c.item_id, words_of().label("condition")).where(
        assignment.c.rater_id == scope.rater_id,
        assignment.c.study_id == scope.sitting.study,
        assignment.c.sitting == scope.sitting.number,
    )
    with workspace.reading() as connection:
        rows = connection.execute(own.order_by(assignment.c.position)).all()
    return [row.item_id for row in rows if not words or not {*words}.isdisjoint(row.condition.split())]


def _under(workspace: Workspace, scope: Scope, item: int) -> dict[str, Any]:
    with workspace.reading() as connection:
        access = item_access(connection, scope, item)
    return {"assignment_id": access.assignment_id, "phase": access.phase}


def label_in_study(workspace: Workspace, rater: str, values: dict[int, float]) -> None:
    """Label items under the assignments of a rater's first sitting."""
    scope = ana(workspace, rater=rater)
    desk = Desk(workspace, rater)
    for item, value in values.items():
        desk.judge(item, value, comment="a remark", **_under(workspace, scope, item))


def run_of_agents(workspace: Workspace, items: Collection[int]) -> None:
    """Store what a run made of some of the pairs, which stand in the order of the cases."""
    rater = ensure_rater(workspace, RUN_NAME, "agent")

    def write(connection: Connection) -> None:
        run = table_of(Run)
        if connection.execute(select(run.c.id).where(run.c.id == uid(0))).first() is None:
            row = {"id": uid(0), "kind": "pair", "name": RUN_NAME, "configuration": "{}", "model": MODEL}
            row |= {"rater_id": rater.id, "state": "done", "total": len(CASES)}
            connection.execute(insert(run).values(**row, started_at=BEGAN, ended_at=BEGAN))
        for number, case in enumerate(CASES, start=1):
            if number in items:
                write_case(connection, number, case)

    workspace.lane.submit(write).result()


def hide(path: Path, *, only: Collection[int] | None = None) -> None:
    """Put everything into a workspace that its rater ana must not see.

    Args:
        path: The file.
        only: The pairs of which agents and other raters made something; all by default.
    """
    extra = [
        {"id": OUTSIDE, "query": "secret query", "code": "def hidden():\n    return 1\n"},
        {"id": "extra/2", "query": "another secret", "code": "def hidden():\n    return 2\n"},
    ]
    file = path.with_name("extra.jsonl")
    file.write_text("\n".join(map(json.dumps, extra)), encoding="utf-8")
    with Workspace.open(path) as workspace:
        import_files(workspace, [file])
        pairs = [*(only if only is not None else _items(workspace, "pair")[: len(CASES)])]
        run_of_agents(workspace, pairs)
        labelled_by_agents(
            workspace,
            [(pairs[0], 1.0, "tested"), (pairs[1], 0.0, "screened")],
            name="full:scripted",
            fullness=3,
        )
        write_expert_run(workspace, pairs[0], "ben", TEST, Ran([("two", "failed", "secret failure")]))
        label_in_study(workspace, "ben", {pairs[0]: 0.0, pairs[2]: 1.0})
        ben, chi = Desk(workspace, "ben"), Desk(workspace, "chi")
        for kind, text in (("flag", ""), ("comment", "secret remark"), ("cannot_decide", "secret")):
            ben.say(pairs[1], kind, text=text, **_under(workspace, ana(workspace, rater="ben"), pairs[1]))
        chi.judge(pairs[0], 0.0, phase=ADJUDICATE, origin="ruling", reason="secret ruling")
        for item in _items(workspace, "answer"):
            for column in ("question", "reference"):
                ben.say(item, REVISION + column, text=f"secret {column}")
        workspace.lane.submit(_scores_and_people).result()
        with workspace.reading() as connection:
            of_ben = Scope(find_rater(connection, "ben"))
        for name in ("secret view", OWN_VIEW):
            save_view(workspace, of_ben, name, ViewQuery(QueueFilter(text="secret")))
        new_study(workspace, DRAFT, StudyProtocol("pair"), [ChosenItem(pairs[0])], ("ben", "chi"))
        withdraw(workspace, STUDY, "chi")
        save_session(workspace, ben.rater.id, "review", {"item": pairs[0]})


def _scores_and_people(connection: Connection) -> None:
    """Other scores of judges, a reply of a model, another rater and other answers of the gold items."""
    score, ref, gold, study = (table_of(model) for model in (Score, ResponseRef, StudyItem, Study))
    for place, number in enumerate(connection.execute(select(ref.c.id).order_by(ref.c.id)).scalars().all()):
        given = {"id": uid(9000 + place), "response_ref_id": number, "judge": "judge-x", "measure": "clarity"}
        given |= {"value": 9.0, "raw": "9", "reason": "secret reason", "created_at": BEGAN}
        connection.execute(insert(score).values(**given))
        # The question `answer.rating` is asked where a judge rated before the study was frozen.
        rated = given | {"id": uid(9500 + place), "measure": "rating", "created_at": now()}
        connection.execute(insert(score).values(**rated))
    number = connection.execute(select(study.c.id).where(study.c.name == STUDY)).scalar_one()
    zoe = {"id": 900, "kind": "human", "name": "zoe", "pseudonym": "", "created_at": BEGAN}
    connection.execute(insert(table_of(Rater)).values(**zoe))
    member = {"study_id": number, "rater_id": 900, "pseudonym": "R4", "position": 4, "consent_version": "1"}
    connection.execute(insert(table_of(StudyRater)).values(**member, experience="secret years"))
    connection.execute(update(gold).where(gold.c.role == "gold").values(gold='{"pair.match": 0.0}'))
    reply = {"id": uid(8000), "role": "screener", "model": MODEL, "snapshot": MODEL, "service": "secret"}
    ran = table_of(ExecutionRow)
    connection.execute(update(ran).where(ran.c.rater_id.is_not(None)).values(snapshot="ab12"))
    reply |= {"text": "secret reply", "tokens_in": 3, "requests": 1, "created_at": BEGAN}
    connection.execute(insert(table_of(ReplyRow)).values(**reply))


def study_pair(folder: Path, conditions: Collection[str] = ("blind", "own-test")) -> tuple[Path, Path]:
    """Two workspaces: in the second is everything that is hidden from ana, in the first nothing of it.

    Where a condition reveals, both have the agents' labels and ben's label of the items that it reveals.
    """
    bare = study_workspace(folder / "bare", conditions)
    hidden: list[int] | None = None
    if any("revealed" in words for words in conditions):
        with Workspace.open(bare) as workspace:
            scope = ana(workspace)
            hidden = items_of(workspace, scope, "blind", "own-test")
            revealed = items_of(workspace, scope, "revealed")
            run_of_agents(workspace, revealed)
            desk = Desk(workspace, "ben")
            for item in revealed:
                desk.judge(item, 1.0, **_under(workspace, ana(workspace, rater="ben"), item))
    busy = folder / "busy"
    shutil.copytree(bare.parent, busy)
    hide(busy / FILE, only=hidden)
    return bare, busy / FILE


_VARYING = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+\d\d:\d\d|Z)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "TIME"),
    (re.compile(r"\b\d+\.\d s\b"), "SECONDS"),
)


def plain(text: str, path: Path) -> str:
    """A text without what is another one each time: the folder, ids of new records, times."""
    text = text.replace(str(path.parent), "FOLDER")
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def session_of(workspace: Workspace, name: str | None = None) -> Any:
    """The session of ana."""
    with workspace.reading() as connection:
        return study_session(connection, find_rater(connection, "ana"), name)
