"""Who agrees with whom: people, imported raters and agents' runs, by their labels that stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from store.measures.agreement import Agreement, Level, cohen_kappa, krippendorff_alpha, raw_agreement
from store.queries.current import REVIEW, current_values
from store.scales import Scale
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Question, Rater
from store.tables.runs import Run, VerdictRow

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class RaterLabels:
    """One rater's standing labels of one question.

    Attributes:
        name: The rater's name; an agents' run has its own.
        kind: `human`, `import` or `agent`.
        labels: The label of each item that has one.
        blind: Items that were judged in a blind review.
        revealed: Items that were judged with an agents' label on the screen.
    """

    name: str
    kind: str
    labels: Mapping[int, float]
    blind: frozenset[int] = frozenset()
    revealed: frozenset[int] = frozenset()

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
        n: Items with a label of both.
        dropped: Items with a label of only one of them.
        agreed: Items of `n` to which both gave the same label.
        blind: Items of `n` that one of them, or both, judged in a blind review.
        revealed: Items of `n` that one of them, or both, judged with an agents' label on the screen.
        share: agreed / n; None without items.
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
        items: Items in the workspace.
        raters: Everybody with a label: humans, imported raters, runs.
        pairs: Every two of them.
        alpha: Krippendorff's alpha over all of them.
    """

    question: str
    phase: str
    level: Level
    items: int
    raters: tuple[RaterLabels, ...]
    pairs: tuple[PairAgreement, ...]
    alpha: Agreement

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            "question": self.question,
            "phase": self.phase,
            "items": self.items,
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
        question: The question's name.
        phase: The phase whose labels count.
    """
    asked, item = table_of(Question), table_of(Item)
    found = connection.execute(select(asked.c.scale, asked.c.task_kind).where(asked.c.name == question)).one()
    items = connection.execute(
        select(func.count()).select_from(item).where(item.c.kind == found.task_kind)
    ).scalar_one()
    raters = (*_people(connection, question, phase), *_runs(connection, found.task_kind))
    level = Scale.from_json(found.scale).level
    units = sorted(set().union(*(rater.labels for rater in raters)))
    ratings = {str(place): [rater.labels.get(unit) for unit in units] for place, rater in enumerate(raters)}
    return AgreementReport(
        question=question,
        phase=phase,
        level=level,
        items=items,
        raters=raters,
        pairs=tuple(_pair(one, other) for one, other in combinations(raters, 2)),
        alpha=krippendorff_alpha(ratings, level),
    )


def _people(connection: Connection, question: str, phase: str) -> Sequence[RaterLabels]:
    """Return the standing labels of humans and imported raters, by name."""
    labels, people = current_values(None, phase, questions=(question,)), table_of(Rater)
    rows = connection.execute(
        select(
            people.c.name,
            people.c.kind,
            labels.c.item_id,
            labels.c.value,
            labels.c.blind,
            labels.c.shown_verdict.is_not(None).label("revealed"),
        )
        .join(people, people.c.id == labels.c.rater_id)
        .where(people.c.kind != "agent")
        # The latest of several assignments stands.
        .order_by(people.c.name, labels.c.id)
    )
    found: dict[tuple[str, str], dict[int, tuple[float, bool, bool]]] = {}
    for name, kind, item_id, value, blind, revealed in rows:
        found.setdefault((name, kind), {})[item_id] = (value, blind, revealed)
    return [
        RaterLabels(
            name,
            kind,
            {item_id: value for item_id, (value, _, _) in given.items()},
            frozenset(item_id for item_id, (_, blind, _) in given.items() if blind),
            frozenset(item_id for item_id, (_, _, revealed) in given.items() if revealed),
        )
        for (name, kind), given in found.items()
    ]


def _runs(connection: Connection, kind: str) -> Sequence[RaterLabels]:
    """Return the verdicts of every run over items of a kind, in the order of the runs."""
    run, verdict = table_of(Run), table_of(VerdictRow)
    rows = connection.execute(
        select(run.c.id, run.c.name, verdict.c.item_id, verdict.c.value)
        .join(verdict, verdict.c.run_id == run.c.id)
        .where(run.c.kind == kind)
        .order_by(run.c.id)
    )
    found: dict[tuple[Any, str], dict[int, float]] = {}
    for number, name, item_id, value in rows:
        found.setdefault((number, name), {})[item_id] = value
    return [RaterLabels(name, "agent", labels) for (_, name), labels in found.items()]


def _pair(one: RaterLabels, other: RaterLabels) -> PairAgreement:
    shared = sorted(one.labels.keys() & other.labels.keys())
    both = [(one.labels[item_id], other.labels[item_id]) for item_id in shared]
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
