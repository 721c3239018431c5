"""Who agrees with whom: people, imported raters, agents' runs and judges, by their labels that stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from store.errors import UnknownName
from store.kinds.counting import in_order
from store.kinds.instances import Instance
from store.kinds.protocol import QuestionSpec, TaskKind, task_kinds
from store.measures.agreement import Agreement, Level, cohen_kappa, krippendorff_alpha, raw_agreement
from store.queries.current import REVIEW, current_values
from store.queries.due import response_names
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Question, Rater
from store.tables.responses import Response, Score
from store.tables.runs import Run, VerdictRow

if TYPE_CHECKING:
    from sqlalchemy import Connection


Unit = tuple[int, str]
"""What has a label: an item, and which of its responses, as the name of the question says it after `@`; empty
for the item itself."""


@dataclass(frozen=True, slots=True)
class RaterLabels:
    """One rater's standing labels of one question.

    Attributes:
        name: The rater's name; an agents' run has its own.
        kind: `human`, `import`, `agent`, or `judge` for whom files name as the judge of responses.
        labels: The label of each unit that has one.
        blind: Units that were judged in a blind review.
        revealed: Units that were judged with a label of agents or a judge on the screen.
    """

    name: str
    kind: str
    labels: Mapping[Unit, float]
    blind: frozenset[Unit] = frozenset()
    revealed: frozenset[Unit] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Return the rater and how many labels there are, as JSON-able fields."""
        return {
            "name": self.name,
            "kind": self.kind,
            "labelled": len(self.labels),
            "blind": len(self.blind),
            "revealed": len(self.revealed),
        }


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two raters agree.

    Attributes:
        raters: Their names.
        n: Units with a label of both: items, or responses.
        dropped: Units with a label of only one of them.
        agreed: Units of `n` to which both gave the same label.
        blind: Units of `n` that one of them, or both, judged in a blind review.
        revealed: Units of `n` that one of them, or both, judged with what agents or a judge said in
            sight.
        share: agreed / n; None without units.
        kappa: Cohen's kappa, not weighted.
    """

    raters: tuple[str, str]
    n: int
    dropped: int
    agreed: int
    blind: int
    revealed: int
    share: float | None
    kappa: Agreement

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        told = asdict(self)
        told["percent_agreement"] = None if self.share is None else 100 * self.share
        told["cohen_kappa"] = self.kappa.value
        told["why_no_kappa"] = self.kappa.why_none
        del told["share"], told["kappa"]
        return told


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """The agreement among everybody who labelled.

    Attributes:
        question: What was asked.
        phase: The phase whose labels these are.
        level: The level of measurement of the question's scale.
        items: Items in the workspace that are asked it.
        responses: Their responses, where it is asked of these; None otherwise.
        raters: Everybody with a label: humans, imported raters, runs, judges.
        pairs: Every two of them.
        alpha: Krippendorff's alpha over all of them.
    """

    question: str
    phase: str
    level: Level
    items: int
    responses: int | None
    raters: tuple[RaterLabels, ...]
    pairs: tuple[PairAgreement, ...]
    alpha: Agreement

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            "question": self.question,
            "phase": self.phase,
            "items": self.items,
            "responses": self.responses,
            "raters": [rater.to_dict() for rater in self.raters],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "krippendorff_alpha": {
                **self.alpha.to_dict(),
                "level": self.level,
                "raters": [rater.name for rater in self.raters],
            },
        }


def agreement(connection: Connection, question: str, *, phase: str = REVIEW) -> AgreementReport:
    """Compute the agreement of every two raters on a question, and of all of them.

    Args:
        connection: A reading connection.
        question: The question's name. One that is asked of responses is compared over all of them; with the
            name of one response after it, over the items that have that one.
        phase: The phase whose labels count.

    Raises:
        UnknownName: No registered kind asks it, or no item has the response that it names.
    """
    kind, spec = _asked(question)
    base, _, only = question.partition("@")
    if only and not any(only in names for names in _responses(connection).values()):
        raise UnknownName(
            "Unknown question",
            f"No item has a response that {question!r} names.",
            f"After @ stands the model, [its setting] and #its trial. Over all responses: {base}.",
        )
    item, response = table_of(Item), table_of(Response)
    of_kind = select(func.count()).select_from(item).where(item.c.kind == kind.name)
    over_responses = spec.of_responses and question == question.partition("@")[0]
    raters = [*_people(connection, question, phase, over_responses=over_responses)]
    if question == (kind.label_question.name if kind.label_question else None):
        raters += _runs(connection, kind.name)
    if spec.of_responses:
        raters += _judges(connection, kind.name, question, spec.title)
    units = sorted(set().union(*(rater.labels for rater in raters)))
    ratings = {str(place): [rater.labels.get(unit) for unit in units] for place, rater in enumerate(raters)}
    responses = None
    if over_responses:
        joined = of_kind.join(response, response.c.item_id == item.c.id)
        responses = connection.execute(joined).scalar_one()
    return AgreementReport(
        question=question,
        phase=phase,
        level=spec.scale.level,
        items=connection.execute(of_kind).scalar_one(),
        responses=responses,
        raters=tuple(raters),
        pairs=tuple(_pair(one, other) for one, other in combinations(raters, 2)),
        alpha=krippendorff_alpha(ratings, spec.scale.level),
    )


def question_of_items(connection: Connection) -> str:
    """Return the question that tells most of the items of a workspace: that of their first kind."""
    item = table_of(Item)
    there = list(connection.execute(select(item.c.kind).distinct()).scalars())
    known = [task_kinds()[name] for name in in_order(there) if name in task_kinds()]
    first = (known or list(task_kinds().values()))[0]
    return (first.label_question or first.questions[0]).name


def _asked(question: str) -> tuple[TaskKind, QuestionSpec]:
    for kind in task_kinds().values():
        spec = kind.question(question)
        if spec is not None:
            return kind, spec
    known = ", ".join(spec.name for kind in task_kinds().values() for spec in kind.questions)
    raise UnknownName("Unknown question", f"No question is called {question!r}.", f"Questions: {known}.")


def _people(
    connection: Connection, question: str, phase: str, *, over_responses: bool
) -> Sequence[RaterLabels]:
    """Return the standing labels of humans and imported raters, by name."""
    people, asked = table_of(Rater), table_of(Question)
    names: tuple[str, ...] = (question,)
    if over_responses:
        about = select(asked.c.name).where(asked.c.name.startswith(f"{question}@", autoescape=True))
        names = (question, *connection.execute(about).scalars())
    labels = current_values(None, phase, questions=names)
    rows = connection.execute(
        select(
            people.c.name,
            people.c.kind,
            labels.c.item_id,
            asked.c.name.label("question"),
            labels.c.value,
            labels.c.blind,
            labels.c.shown_verdict.is_not(None).label("revealed"),
        )
        .join(people, people.c.id == labels.c.rater_id)
        .join(asked, asked.c.id == labels.c.question_id)
        .where(people.c.kind != "agent")
        # The latest of several assignments stands.
        .order_by(people.c.name, labels.c.id)
    )
    found: dict[tuple[str, str], dict[Unit, tuple[float, bool, bool]]] = {}
    there = _responses(connection) if over_responses else {}
    for name, kind, item_id, about_it, value, blind, revealed in rows:
        unit = (item_id, about_it.partition("@")[2])
        if over_responses and unit[1] not in there.get(item_id, {""}):
            # Of a response that is not here, or of an item to which responses came later.
            continue
        found.setdefault((name, kind), {})[unit] = (value, blind, revealed)
    return [
        RaterLabels(
            name,
            kind,
            {unit: value for unit, (value, _, _) in given.items()},
            frozenset(unit for unit, (_, blind, _) in given.items() if blind),
            frozenset(unit for unit, (_, _, revealed) in given.items() if revealed),
        )
        for (name, kind), given in found.items()
    ]


def _responses(connection: Connection) -> dict[int, set[str]]:
    """Return which responses items have, as the names of questions say it; items without any are left out."""
    names = response_names(None)
    found: dict[int, set[str]] = {}
    for item_id, place in connection.execute(select(names.c.item_id, names.c.place)):
        found.setdefault(item_id, set()).add(place.removeprefix("@"))
    return found


def _runs(connection: Connection, kind: str) -> Sequence[RaterLabels]:
    """Return the verdicts of every run over items of a kind, in the order of the runs."""
    run, verdict = table_of(Run), table_of(VerdictRow)
    rows = connection.execute(
        select(run.c.id, run.c.name, verdict.c.item_id, verdict.c.value)
        .join(verdict, verdict.c.run_id == run.c.id)
        .where(run.c.kind == kind)
        .order_by(run.c.id)
    )
    found: dict[tuple[Any, str], dict[Unit, float]] = {}
    for number, name, item_id, value in rows:
        found.setdefault((number, name), {})[item_id, ""] = value
    return [RaterLabels(name, "agent", labels) for (_, name), labels in found.items()]


def _judges(connection: Connection, kind: str, question: str, measure: str) -> Sequence[RaterLabels]:
    """Return what judges said last under a measure of the responses of a kind, by the judges' names."""
    item, response, score = (table_of(model) for model in (Item, Response, Score))
    rows = connection.execute(
        select(
            score.c.judge,
            response.c.item_id,
            response.c.model,
            response.c.setting,
            response.c.trial,
            score.c.value,
        )
        .join(response, response.c.id == score.c.response_id)
        .join(item, item.c.id == response.c.item_id)
        .where(item.c.kind == kind, score.c.measure == measure)
        .order_by(score.c.judge, score.c.sequence)
    )
    base, _, only = question.partition("@")
    found: dict[str, dict[Unit, float | None]] = {}
    for judge, item_id, model, setting, trial, value in rows:
        place = Instance(base, model, setting, trial).name.partition("@")[2]
        if only in ("", place):
            found.setdefault(judge, {})[item_id, place] = value
    return [
        RaterLabels(judge, "judge", {unit: value for unit, value in scores.items() if value is not None})
        for judge, scores in found.items()
    ]


def _pair(one: RaterLabels, other: RaterLabels) -> PairAgreement:
    shared = sorted(one.labels.keys() & other.labels.keys())
    both = [(one.labels[unit], other.labels[unit]) for unit in shared]
    return PairAgreement(
        raters=(one.name, other.name),
        n=len(shared),
        dropped=len(one.labels) + len(other.labels) - 2 * len(shared),
        agreed=sum(first == second for first, second in both),
        blind=len((one.blind | other.blind).intersection(shared)),
        revealed=len((one.revealed | other.revealed).intersection(shared)),
        share=raw_agreement(both).value,
        kappa=cohen_kappa(both),
    )
