"""The plan of a study, as a person gives it: checked, previewed in numbers, and stored as a draft."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import Connection, select

from store.errors import UnknownName, WorkbenchError
from store.json_fields import SPREAD
from store.kinds.spec import task_kinds
from store.policy.scope import REVEAL
from store.queries.questions import required_count
from store.queries.studies import ChosenItem, StudyDetails, study_items
from store.record.protocol import StudyProtocol
from store.studies.choosing import ItemChoice, choose_items, read_answers, read_names, read_text
from store.studies.design import PlannedAssignment, RaterBalance, balance
from store.studies.pace import Pace, paces
from store.studies.studies import make_design, new_study, sittings, store_guideline
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The plan of a study.

    Attributes:
        choice: How the items are chosen.
        protocol: Everything else that is no file.
        items: The file that names the items, one a line; None where they are chosen otherwise.
        gold: The file of items with known answers; None for none.
        training: The file of items to practise on; None for none.
        guideline: The file of the guideline; None for the kind's own.
        consent: The file of the text that raters agree to; None for none.
    """

    name: str
    raters: tuple[str, ...]
    choice: ItemChoice
    protocol: StudyProtocol
    items: Path | None = None
    gold: Path | None = None
    training: Path | None = None
    guideline: Path | None = None
    consent: Path | None = None


@dataclass(frozen=True, slots=True)
class RaterPlan:
    """What a study asks of one rater.

    Attributes:
        balance: The rater's items by condition, repeats, gold and training items.
        assignments: How many assignments that makes, a reveal included.
        hours: How long they are taken to need.
    """

    balance: RaterBalance = field(metadata=SPREAD)
    assignments: int
    sittings: int
    hours: float


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """A plan in numbers.

    Attributes:
        sample: How the items are chosen, as a phrase.
        items: How many items of the study there are; gold and training items are not counted.
        raters: What it asks of each rater.
        shared: The fewest and the most items that two raters share; None for one rater.
        paces: The paces that the hours rest on, one for each condition.
        asked: What is timed, with its article: "an item", or "a question" where an item has several.
    """

    JSON: ClassVar = ("raters", "shared", "paces")

    sample: str
    items: int
    raters: tuple[RaterPlan, ...]
    shared: tuple[int, int] | None
    paces: tuple[Pace, ...]
    asked: str

    @property
    def assignments(self) -> tuple[int, int]:
        """The fewest and the most assignments of a rater."""
        numbers = [one.assignments for one in self.raters]
        return min(numbers), max(numbers)

    @property
    def sittings(self) -> int:
        """The most sittings of a rater."""
        return max(one.sittings for one in self.raters)

    @property
    def hours(self) -> float:
        """The hours of the rater who needs the most."""
        return max(one.hours for one in self.raters)


def names(text: str | None) -> list[str]:
    """Return the names of a list with commas."""
    return [one.strip() for one in (text or "").split(",") if one.strip()]


def people(text: str | None) -> list[str]:
    """Return the names of people of a list with commas.

    Raises:
        WorkbenchError: It has blanks and no comma: one person, or several?
    """
    found = names(text)
    words = (text or "").split()
    if len(words) > 1 and "," not in (text or ""):
        raise WorkbenchError(
            "One name or several?",
            f"{found[0]!r} has blanks and no comma.",
            f"Put commas between several people: {','.join(words)}. Put one after the name of a single "
            f"person: '{found[0]},'",
        )
    return found


def numbers(text: str | None) -> tuple[int, ...]:
    """Return the numbers of judgments of a list with commas.

    Raises:
        WorkbenchError: One is no number.
    """
    for one in names(text):
        if not one.isdecimal() or len(one) > 9:
            raise WorkbenchError("No number", f"{one!r} is no number of judgments.", "Such as: 300,600")
    return tuple(int(one) for one in names(text))


def preview_plan(connection: Connection, plan: StudyPlan) -> PlanPreview:
    """Return a plan in numbers; nothing is stored.

    Raises:
        WorkbenchError: It cannot be carried out; it says why.
    """
    protocol, items = _chosen(connection, plan)
    return _preview(connection, protocol.checked(), items, plan.raters)


def preview_draft(connection: Connection, study: StudyDetails) -> PlanPreview:
    """Return the plan of a draft in numbers."""
    raters = [one.rater.name for one in study.members]
    return _preview(connection, study.protocol, study_items(connection, study.id), raters)


def _preview(
    connection: Connection, protocol: StudyProtocol, items: Sequence[ChosenItem], raters: Sequence[str]
) -> PlanPreview:
    design = make_design(protocol, items, raters)
    found = balance(design)
    questions = _questions(connection, [one.item_id for one in items])
    presented = [(one, False) for one in protocol.conditions]
    presented += [] if protocol.reveal is None else [(protocol.reveal, True)]
    pace = paces(connection, protocol.kind, presented)

    def needed(one: PlannedAssignment) -> float:
        return pace[one.condition, one.phase == REVEAL].seconds * questions[one.item]

    return PlanPreview(
        protocol.sample,
        Counter(item.role for item in items)["item"],
        tuple(
            RaterPlan(one, len(own), max(sittings(own), default=0), sum(map(needed, own)) / 3600)
            for one, own in zip(found.raters, design.values(), strict=True)
        ),
        None
        if found.least_shared is None or found.most_shared is None
        else (found.least_shared, found.most_shared),
        # Conditions that differ in the names of models alone have one pace.
        tuple(dict.fromkeys(pace.values())),
        "an item" if len(task_kinds()[protocol.kind].questions) == 1 else "a question",
    )


def save_plan(workspace: Workspace, plan: StudyPlan) -> StudyDetails:
    """Store a plan as a draft, which can be made again under its name until it is frozen.

    Raises:
        WorkbenchError: It cannot be carried out, or a study of that name is frozen.
    """
    with workspace.reading() as connection:
        protocol, items = _chosen(connection, plan)
    if plan.guideline is not None:
        text = read_text(plan.guideline)
        protocol = replace(protocol, guideline=store_guideline(workspace, protocol.kind, text))
    return new_study(workspace, plan.name, protocol, items, plan.raters)


def _chosen(connection: Connection, plan: StudyPlan) -> tuple[StudyProtocol, list[ChosenItem]]:
    """Return the protocol with its sample and consent, and the items of all roles."""
    kind = plan.protocol.kind
    apart: list[ChosenItem] = []
    for path, role in ((plan.gold, "gold"), (plan.training, "training")):
        apart += [] if path is None else read_answers(connection, kind, path, role)
    choice = plan.choice if plan.items is None else replace(plan.choice, names=read_names(plan.items))
    chosen, how = choose_items(connection, choice, {one.item_id for one in apart})
    consent = "" if plan.consent is None else read_text(plan.consent)
    protocol = replace(
        plan.protocol,
        sample=how,
        consent=consent,
        questions=tuple(_question(kind, one) for one in plan.protocol.questions),
    )
    return protocol, [*chosen, *apart]


def _question(kind: str, name: str) -> str:
    """Return the whole name of a question of a kind.

    Raises:
        UnknownName: The kind has no such question.
    """
    spec = task_kinds()[kind]
    found = spec.question(name) or spec.question(f"{kind}.{name}")
    if found is None or found in spec.imported:
        known = ", ".join(one.name for one in spec.questions)
        raise UnknownName(
            "Unknown question", f"No question of {spec.plural} is called {name!r}.", f"Questions: {known}."
        )
    return found.name


def _questions(connection: Connection, item_ids: Collection[int]) -> dict[Any, int]:
    """Return how many questions each of some items is asked."""
    item = table_of(Item)
    required, responses = required_count(item, item_ids)
    statement = select(item.c.id, required).where(among(item.c.id, item_ids))
    if responses is not None:
        statement = statement.outerjoin(responses, responses.c.item_id == item.c.id)
    return dict(connection.execute(statement).all())
