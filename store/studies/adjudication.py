"""Adjudication: what raters disagree about, and the rulings that settle it.

A ruling is a judgment of origin `ruling` in the phase `adjudicate`. It changes no rater's label. In a study
it has an assignment of the adjudicator in sitting 0, whose condition says whether the agents' work on the
item was shown; outside one it has no assignment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from sqlalchemy import CTE, Connection, Select, func, insert, or_, select, update

from store.analysis.labels import named_question
from store.errors import JudgmentRefused, UnknownName, WorkbenchError
from store.kinds.comparison import canonical_scale
from store.kinds.listing import relation
from store.kinds.spec import QuestionSpec, question_named, task_kinds
from store.policy.refusal import refuse
from store.policy.rows import shown_by
from store.policy.scope import ADJUDICATE, DISCUSS, REVEAL, RunRef, Scope, Shows, Sitting, Visibility
from store.policy.words import BLIND, REVEALED, TESTS, condition_of
from store.queries.current import all_values, current_verdicts, first_values, not_withdrawn, ruling_values
from store.queries.executions import load_executions
from store.queries.item import item_access
from store.queries.questions import refs_with_text
from store.queries.repository_answers import of_no_dropped
from store.queries.responses import letter, load_responses, summarize_scores
from store.queries.sent_back import sent_back
from store.queries.shown_ids import shown_id
from store.queries.studies import StudyDetails, find_study
from store.record.actions import Action, Recorder, new_record
from store.record.evidence import Citation, readable_citations
from store.record.rater_ref import RaterRef
from store.record.session import load_session, save_session
from store.studies.disputes import (
    AgentsLabel,
    Dispute,
    DisputedLabel,
    RatersTest,
    Ruling,
    goes_against,
    summary,
)
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Question, Rater, Study
from store.tables.record import Judgment, JudgmentRow, MarkRow, QuestionTarget
from store.tables.runs import ExecutionRow, Run
from store.workspace.duckdb import Workspace

SESSION = "adjudicate"
"""The key under which is kept on which items an adjudicator saw the agents' work, outside a study."""


@dataclass(frozen=True, slots=True)
class Adjudication:
    """An adjudicator at work on what raters of a study or of the whole workspace disagree about.

    Attributes:
        study: The study; None for all labels of the workspace.
        run: The run of the agents that is shown where they are; None for the default one of each kind.
        question: The only question that is ruled on, by its readable name; None for all.
        warnings: What speaks against this adjudicator or this moment, a sentence each.
    """

    adjudicator: RaterRef
    study: StudyDetails | None
    run: RunRef | None = None
    question: str | None = None
    warnings: tuple[str, ...] = ()

    def scope(self, *, revealed: bool) -> Scope:
        """Return the scope of rulings.

        Args:
            revealed: Whether the agents' work is shown. In a study the assignment of each item says that.
        """
        if self.study is not None:
            return Scope(self.adjudicator, Sitting(self.study.id, 0), run=self.run)
        return Scope(self.adjudicator, phase=ADJUDICATE, visibility=Visibility(not revealed), run=self.run)

    def revealed_items(self, workspace: Workspace) -> frozenset[int]:
        """Return the items on which the adjudicator saw the agents' work."""
        if self.study is None:
            kept = load_session(workspace, self.adjudicator.id, SESSION).get("revealed")
            return frozenset(kept if isinstance(kept, list) else ())
        found = _own_assignments(self).where(shown_by(Shows.AGENTS))
        with workspace.reading() as connection:
            return frozenset(row.item_id for row in connection.execute(found))

    def reveal(self, workspace: Workspace, item_ids: Collection[int]) -> None:
        """Show the agents' work on some items from now on; it is not taken back, since it was seen."""
        if self.study is None:
            seen = sorted(self.revealed_items(workspace) | set(item_ids))
            save_session(workspace, self.adjudicator.id, SESSION, {"revealed": seen}).result()
            return
        assignment = table_of(Assignment)
        of_items = among(assignment.c.item_id, list(item_ids))
        condition = condition_of(f"{REVEALED} {TESTS}")
        shown = update(assignment).where(*_of(self), of_items).values(condition._asdict())
        workspace.lane.submit(lambda connection: connection.execute(shown), urgent=True).result()

    def read(self, workspace: Workspace, items: Collection[int] | None = None) -> list[Dispute]:
        """Return the disputes, of some items or of all, the largest first, those with a ruling last."""
        shown = self.revealed_items(workspace)
        with workspace.reading() as connection:
            return read_disputes(connection, self, shown, items)


def open_adjudication(
    workspace: Workspace,
    adjudicator: RaterRef,
    study: str | None = None,
    *,
    question: str | None = None,
    run: RunRef | None = None,
    assign: bool = True,
) -> tuple[Adjudication, list[Dispute]]:
    """Begin or go on with an adjudication; in a study each disputed item is assigned to the adjudicator.

    Args:
        workspace: The open workspace.
        adjudicator: Who rules.
        study: The study's name; None for all labels of the workspace.
        question: The only question that is ruled on, by its readable name; None for all.
        run: The run of the agents that is shown where they are.
        assign: Whether assignments are made; otherwise disputes can be read and not ruled on.

    Returns:
        The adjudication and its disputes, the largest first, those with a ruling last.

    Raises:
        HiddenData: The adjudicator is a rater of an open study.
        UnknownName: There is no such study or question.
        WorkbenchError: The study is a draft.
    """
    with workspace.reading() as connection:
        refuse(connection, Scope(adjudicator), Shows.WHOLE, "Adjudication shows")
        if question is not None:
            named = named_question(question)
            question = named.spec.name
            if named.spec in named.kind.imported:
                raise UnknownName(
                    "Not asked here",
                    f"The labels of {question} are imported, and nobody is asked it here.",
                    "Make true labels of them: workbench split WORKSPACE NAME --panel A,B,C",
                )
        found = None if study is None else find_study(connection, study)
        if found is not None and found.state == "draft":
            raise WorkbenchError(
                "A draft", f"{found.name} is a draft, and nobody has labels under it.", "Freeze it first."
            )
        warnings = tuple(_warnings(connection, adjudicator, found))
    adjudication = Adjudication(adjudicator, found, run, question, warnings)
    disputes = adjudication.read(workspace)
    if found is not None and assign:
        _assign(workspace, adjudication, dict.fromkeys(one.item_id for one in disputes))
    return adjudication, disputes


def disputed_studies(connection: Connection) -> tuple[str, ...]:
    """Return the names of the studies whose labels can be adjudicated, the one frozen last first."""
    study = table_of(Study)
    found = select(study.c.name).where(study.c.frozen_at.is_not(None))
    return tuple(connection.execute(found.order_by(study.c.frozen_at.desc(), study.c.id.desc())).scalars())


def has_rulings(connection: Connection, study_id: int) -> bool:
    """Return whether an adjudicator has ruled on an item of a study."""
    judgment, assignment = table_of(JudgmentRow), table_of(Assignment)
    ruled = (
        select(judgment.c.id)
        .join(assignment, assignment.c.id == judgment.c.assignment_id)
        .where(judgment.c.phase == ADJUDICATE, assignment.c.study_id == study_id)
    )
    return connection.execute(ruled.limit(1)).first() is not None


def _warnings(connection: Connection, adjudicator: RaterRef, study: StudyDetails | None) -> Iterable[str]:
    if study is None:
        judgment = table_of(JudgmentRow)
        own = select(judgment.c.id).where(
            judgment.c.rater_id == adjudicator.id, judgment.c.phase != ADJUDICATE
        )
        if connection.execute(own.limit(1)).first() is not None:
            yield f"{adjudicator.name} has labels of their own here, and rules on them too."
        return
    if any(one.rater.id == adjudicator.id for one in study.members):
        yield f"{adjudicator.name} was a rater of {study.name}, and rules on their own labels too."
    if study.state == "open":
        yield f"{study.name} is open: its raters may still add and change labels."


def _of(adjudication: Adjudication) -> tuple[Any, ...]:
    assert adjudication.study is not None
    assignment = table_of(Assignment)
    return (
        assignment.c.study_id == adjudication.study.id,
        assignment.c.rater_id == adjudication.adjudicator.id,
        assignment.c.sitting == 0,
    )


def _own_assignments(adjudication: Adjudication) -> Select[tuple[int]]:
    """Select the items that are assigned to an adjudicator."""
    return select(table_of(Assignment).c.item_id).where(*_of(adjudication))


def _assign(workspace: Workspace, adjudication: Adjudication, item_ids: Iterable[int]) -> None:
    """Make the assignments of an adjudicator that are missing, without the agents' work."""
    study = adjudication.study
    assert study is not None

    def write(connection: Connection) -> None:
        known = {row.item_id for row in connection.execute(_own_assignments(adjudication))}
        rows = [
            {
                "id": uuid4(),
                "study_id": study.id,
                "rater_id": adjudication.adjudicator.id,
                "item_id": item_id,
                "phase": ADJUDICATE,
                "position": place,
                **condition_of(BLIND)._asdict(),
                "seed": study.protocol.seed,
                "sitting": 0,
            }
            for place, item_id in enumerate((one for one in item_ids if one not in known), len(known) + 1)
        ]
        if rows:
            connection.execute(insert(table_of(Assignment)), rows)

    workspace.lane.submit(write, urgent=True).result()


# -- reading ------------------------------------------------------------------------------------------


def read_disputes(
    connection: Connection,
    adjudication: Adjudication,
    shown: Collection[int] = (),
    only: Collection[int] | None = None,
) -> list[Dispute]:
    """Return what raters disagree about, the largest disagreement first, those with a ruling last.

    People's labels count, and those of imported raters; of each rater those of the first presentation.

    Args:
        connection: A reading connection.
        adjudication: Whose labels, of which question.
        shown: The items on which the agents' labels are shown. On others is left out what tells of them: the
            reasons of labels that were given beside them, and what cited lines of tests and logs say.
        only: The items that are read; None for all.
    """
    study = None if adjudication.study is None else adjudication.study.id
    units = _units(connection, adjudication, study, only)
    if not units:
        return []
    items = sorted({item_id for item_id, _ in units})
    names = _pseudonyms(connection, adjudication.study)
    comments, later = _comments(connection, items), _later(connection, items, study, REVEAL)
    again = _later(connection, items, study, DISCUSS)
    notes = {} if study is None else sent_back(connection, study)
    rulings = _rulings(connection, items, study)
    tests = _tests(connection, adjudication, units, names, shown)
    facts = {row.id: row for row in _items(connection, items)}
    specs = _asked(connection, adjudication.study)
    letters: dict[int, str] = {}
    agents: dict[tuple[int, QuestionTarget], tuple[AgentsLabel, ...]] = {}
    of_responses = {item_id for item_id, target in units if target.response_ref_id is not None}
    for item_id in sorted(of_responses | set(shown).intersection(items)):
        revealed = item_id in shown
        scope = adjudication.scope(revealed=revealed)
        responses = load_responses(connection, item_id, scope, blind=not revealed, hidden=not revealed)
        letters |= {one.id: one.letter for one in responses}
        if revealed:
            agents |= _agents(connection, scope, item_id, responses, specs)
    found = []
    for (item_id, target), rows in units.items():
        spec, row = specs.get(target.question_id), facts.get(item_id)
        if spec is None or row is None:
            continue
        labels = tuple(
            DisputedLabel(
                rater=names[one.rater_id][0],
                name=names[one.rater_id][1],
                value=one.value,
                seconds=None if one.milliseconds is None else one.milliseconds / 1000,
                comment=_said(one, comments),
                reason=one.reason if item_id in shown or one.shown_verdict is None else "",
                citations=_citations(one.evidence, hidden=item_id not in shown),
                blind=one.blind,
                revealed=one.shown_verdict is not None,
                later=_value(later.get((item_id, target, one.rater_id))),
                again=_value(answer := again.get((item_id, target, one.rater_id))),
                again_comment="" if answer is None else _said(answer, comments),
            )
            for one in sorted(rows, key=lambda one: _natural(names[one.rater_id][0]))
        )
        found.append(
            Dispute(
                item_id=item_id,
                external_id=row.external_id,
                kind=row.kind,
                title=row.title,
                spec=spec,
                target=target,
                response=letters.get(target.response_ref_id or 0, ""),
                labels=labels,
                rulings=tuple(rulings.get((item_id, target), ())),
                agents=agents.get((item_id, target), ()),
                hidden=item_id not in shown,
                tests=tuple(tests.get(item_id, ())),
                sent_back=notes.get(item_id),
            )
        )
    found.sort(key=lambda one: (bool(one.rulings), -one.size, -one.spread, one.item_id))
    return found


def _tests(
    connection: Connection,
    adjudication: Adjudication,
    units: Mapping[tuple[int, QuestionTarget], Sequence[Any]],
    names: Mapping[int, tuple[str, str]],
    shown: Collection[int],
) -> dict[int, list[RatersTest]]:
    """Return by item the raters' own tests that their labels rest on, and the adjudicator's runs of these.

    Where the agents' work is shown, the adjudicator's runs are among its own.
    """
    execution = table_of(ExecutionRow)
    cited = {
        one.shown_execution: one.rater_id
        for rows in units.values()
        for one in rows
        if one.shown_execution is not None
    }
    ran = (execution.c.id, execution.c.item_id, execution.c.rater_id, execution.c.program)
    rows = connection.execute(select(*ran).where(among(execution.c.id, list(cited)))) if cited else ()
    own = {row.id: row for row in rows if row.rater_id == cited[row.id]}
    if not own:
        return {}
    wrote = {(row.item_id, row.program): row.rater_id for row in own.values()}
    items = sorted({item_id for item_id, _ in wrote} - set(shown))
    mine = select(*ran).where(
        execution.c.rater_id == adjudication.adjudicator.id, among(execution.c.item_id, items)
    )
    again = {
        row.id: row
        for row in (connection.execute(mine) if items else ())
        if row.id not in own and (row.item_id, row.program) in wrote
    }
    found: dict[int, list[RatersTest]] = defaultdict(list)
    for one in load_executions(connection, among(execution.c.id, [*own, *again])):
        row = own.get(one.id) or again[one.id]
        by = row.rater_id if one.id in own else wrote[row.item_id, row.program]
        found[row.item_id].append(RatersTest(*names[by], one, again=one.id in again))
    for tests in found.values():
        tests.sort(key=lambda test: (test.again, _natural(test.rater), test.execution.id))
    return found


def _citations(evidence: str, *, hidden: bool) -> tuple[Citation, ...]:
    """Return the lines that a label cites; what lines of tests and logs say can be hidden."""
    return tuple(
        replace(one, text="") if hidden and one.part in ("test", "log") else one
        for one in readable_citations(evidence)
    )


def _units(
    connection: Connection, adjudication: Adjudication, study: int | None, only: Collection[int] | None
) -> dict[tuple[int, QuestionTarget], list[Any]]:
    """Return the labels of each item, question and response that has different ones."""
    counted = _counted(adjudication, study, only)
    key = ("item_id", "question_id", "response_ref_id")
    columns = [counted.c[name] for name in key]
    differing = (
        select(*columns)
        .group_by(*columns)
        .having(func.min(counted.c.value) < func.max(counted.c.value))
        .subquery("differing")
    )
    same = [counted.c[name].is_not_distinct_from(differing.c[name]) for name in key]
    rows = connection.execute(
        select(counted).join(differing, same[0] & same[1] & same[2]).order_by(counted.c.id)
    )
    units: dict[tuple[int, QuestionTarget], list[Any]] = defaultdict(list)
    for row in rows:
        units[row.item_id, QuestionTarget(row.question_id, row.response_ref_id)].append(row)
    # In the order of the items, and of the questions of each.
    order = {name: place for place, name in enumerate(_question_order(connection))}
    by_place = sorted(
        units,
        key=lambda one: (one[0], one[1].response_ref_id or 0, order.get(one[1].question_id, len(order))),
    )
    return {unit: units[unit] for unit in by_place}


def _counted(adjudication: Adjudication, study: int | None, only: Collection[int] | None) -> CTE:
    """Select the labels that count: of people and imported raters, of what is still asked."""
    asked = tuple(spec.name for kind in task_kinds().values() for spec in kind.questions)
    names = (adjudication.study.protocol.questions if adjudication.study is not None else ()) or asked
    if adjudication.question is not None:
        names = (adjudication.question,)
    labels, rater, question = (
        first_values(only, names, study=study), table_of(Rater), table_of(Question)
    )  # fmt: skip
    of_responses = [
        spec.name for kind in task_kinds().values() for spec in kind.questions if spec.of_responses
    ]
    refs = refs_with_text(None).subquery("refs")
    no_response = labels.c.response_ref_id.is_(None)
    return (
        select(
            *labels.c,
            func.coalesce(labels.c.active_ms, labels.c.elapsed_ms).label("milliseconds"),
        )
        .join(rater, rater.c.id == labels.c.rater_id)
        .join(question, question.c.id == labels.c.question_id)
        .where(
            rater.c.kind != "agent",
            labels.c.origin != "ruling",
            not_withdrawn(labels),
            of_no_dropped(question.c.name, labels.c.item_id),
            # Labels of deleted responses, and of items that got responses since, are left out.
            or_(
                labels.c.response_ref_id.in_(select(refs.c.id)),
                no_response & question.c.name.not_in(of_responses),
                no_response & labels.c.item_id.not_in(select(refs.c.item_id)),
            ),
        )
        .cte("counted")
    )


def _question_order(connection: Connection) -> list[int]:
    """Return the keys of the questions in the order in which their kinds ask them."""
    specs = _specs(connection)
    order = {
        spec.name: place for kind in task_kinds().values() for place, spec in enumerate(kind.every_question)
    }
    return sorted(specs, key=lambda number: order[specs[number].name])


def _specs(connection: Connection) -> dict[int, QuestionSpec]:
    """Return the questions of the installed kinds by their keys."""
    question = table_of(Question)
    rows = connection.execute(select(question.c.id, question.c.name))
    return {row.id: spec for row in rows if (spec := question_named(row.name)) is not None}


def _asked(connection: Connection, study: StudyDetails | None) -> dict[int, QuestionSpec]:
    """Return the questions by their keys, that of comparisons with the scale of the study."""
    scale = canonical_scale("" if study is None else study.protocol.scale)
    return {
        number: replace(spec, scale=scale) if named_question(spec.name).kind.two_sided else spec
        for number, spec in _specs(connection).items()
    }


def _pseudonyms(connection: Connection, study: StudyDetails | None) -> dict[int, tuple[str, str]]:
    """Return the anonymous and the own name of each rater.

    Raters of the study have those of the study; others have letters, which stay theirs.
    """
    rater = table_of(Rater)
    rows = connection.execute(
        select(rater.c.id, rater.c.name).where(rater.c.kind != "agent").order_by(rater.c.id)
    ).all()
    of_study = {} if study is None else {one.rater.id: one.pseudonym for one in study.members}
    return {row.id: (of_study.get(row.id, letter(place)), row.name) for place, row in enumerate(rows)}


def _natural(name: str) -> tuple[int, str]:
    """Return the key by which R2 comes before R10."""
    return len(name), name


def _comments(connection: Connection, items: list[int]) -> dict[tuple[Any, ...], str]:
    """Return the current comments on items, by item, rater, assignment and phase."""
    mark = table_of(MarkRow)
    rows = connection.execute(
        select(mark).where(mark.c.kind == "comment", among(mark.c.item_id, items)).order_by(mark.c.id)
    )
    return {
        (row.item_id, row.rater_id, row.assignment_id, row.phase): row.text if row.active else ""
        for row in rows
    }


def _said(label: Any, comments: Mapping[tuple[Any, ...], str]) -> str:
    """Return what a rater wrote with a label, and about its item."""
    about = comments.get((label.item_id, label.rater_id, label.assignment_id, label.phase), "")
    return "\n".join(text for text in (label.comment, about) if text)


def _value(label: Any) -> float | None:
    return None if label is None else label.value


def _later(
    connection: Connection, items: list[int], study: int | None, phase: str
) -> dict[tuple[Any, ...], Any]:
    """Return raters' labels of a later phase, by item, question and rater."""
    values, assignment = all_values((phase,), items), table_of(Assignment)
    found = select(values).order_by(values.c.id)
    if study is not None:
        of_study = select(assignment.c.id).where(assignment.c.study_id == study)
        found = found.where(values.c.assignment_id.in_(of_study))
    return {
        (row.item_id, QuestionTarget(row.question_id, row.response_ref_id), row.rater_id): row
        for row in connection.execute(found)
    }


def _rulings(
    connection: Connection, items: list[int], study: int | None
) -> dict[tuple[int, QuestionTarget], list[Ruling]]:
    """Return the current rulings by item and question, those of each adjudicator once."""
    values, rater = ruling_values(items, study=study), table_of(Rater)
    rows = connection.execute(
        select(values, rater.c.name).join(rater, rater.c.id == values.c.rater_id).order_by(values.c.id)
    )
    found: dict[tuple[int, QuestionTarget], dict[str, Ruling]] = defaultdict(dict)
    for row in rows:
        target = QuestionTarget(row.question_id, row.response_ref_id)
        ruling = Ruling(row.name, row.value, row.comment, row.shown_verdict is not None)
        found[row.item_id, target][row.name] = ruling
    return {unit: list(by_name.values()) for unit, by_name in found.items()}


def _items(connection: Connection, items: list[int]) -> Iterable[Any]:
    """Yield (id, external_id, kind, title) of items."""
    item = table_of(Item)
    for kind in task_kinds().values():
        own = relation(kind)
        title = own.columns[kind.queue.title].label("title")
        yield from connection.execute(
            select(item.c.id, shown_id().label("external_id"), item.c.kind, title)
            .select_from(own.source.join(item, item.c.id == own.item_id))
            .where(among(item.c.id, items), item.c.kind == kind.name)
        )


def _agents(
    connection: Connection,
    scope: Scope,
    item_id: int,
    responses: Sequence[Any],
    specs: Mapping[int, QuestionSpec],
) -> dict[tuple[int, QuestionTarget], tuple[AgentsLabel, ...]]:
    """Return the agents' label of an item, and the means of judges' scores of its responses."""
    verdict, run = current_verdicts(scope, [item_id]), table_of(Run)
    found: dict[tuple[int, QuestionTarget], tuple[AgentsLabel, ...]] = {}
    for row in connection.execute(select(verdict, run.c.name).join(run, run.c.id == verdict.c.run_id)):
        label = AgentsLabel(row.id, row.name, row.value, row.reason)
        found[item_id, QuestionTarget(row.question_id)] = (label,)
    for response in responses:
        for number, spec in specs.items():
            given = [one for one in response.scores if one.measure == spec.title]
            if not spec.of_responses or not given:
                continue
            last = {one.judge: one for one in given}
            means = {one.judge: one.mean for one in summarize_scores(given)}
            found[item_id, QuestionTarget(number, response.id)] = tuple(
                AgentsLabel(last[judge].id, judge, mean, last[judge].reason)
                for judge, mean in means.items()
                if mean is not None
            )
    return found


# -- ruling -------------------------------------------------------------------------------------------


def rule(
    workspace: Workspace,
    adjudication: Adjudication,
    dispute: Dispute,
    value: float,
    comment: str = "",
    *,
    reason: str = "",
) -> Judgment:
    """Record a ruling.

    A reason comes with some values, such as that both candidates are bad.

    Raises:
        JudgmentRefused: The value is off the scale, or goes against the raters without a comment.
    """
    scale = dispute.spec.scale
    scale.check(value)
    if not comment.strip() and goes_against(scale, dispute.values, value):
        raise JudgmentRefused(
            "Reason needed",
            f"{scale.word(value)} goes against the raters: {summary(dispute)}.",
            "Say why: --comment TEXT",
        )
    scope = adjudication.scope(revealed=not dispute.hidden)
    with workspace.reading() as connection:
        access = item_access(connection, scope, dispute.item_id)
    record = new_record(
        Judgment,
        workspace.ids,
        item_id=dispute.item_id,
        **dispute.target._asdict(),
        rater_id=adjudication.adjudicator.id,
        assignment_id=access.assignment_id,
        phase=ADJUDICATE,
        value=value,
        origin="ruling",
        shown_verdict=dispute.agents[-1].id if dispute.agents else None,
        blind=access.blind,
        reason=reason,
        comment=comment.strip(),
    )
    written = Recorder(workspace, adjudication.adjudicator).submit(Action.of(record)).result()
    return next(one for one in written.records if isinstance(one, Judgment))
