"""The plan of a study, as a person gives it: checked, previewed in numbers, and stored as a draft."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, func, select

from store.errors import UnknownName, WorkbenchError
from store.kinds.spec import task_kinds
from store.record.scope import TRAIN
from store.studies.choosing import ItemChoice, choose_items, read_answers, read_text
from store.studies.design import balance
from store.studies.protocol import StudyProtocol
from store.studies.studies import ChosenItem, StudyDetails, make_design, new_study, sittings, store_guideline
from store.tables.columns import table_of
from store.tables.people import OWN_TEST, Question
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

ITEM_SECONDS = 60.0
"""Seconds that an item is taken to need where the workspace has too few labels of its kind to tell."""
OWN_TEST_SECONDS = 300.0
"""Seconds that an item with a test program of the rater's own is taken to need."""
TIMED_FROM = 20
"""Labels with a time from which the workspace's own median counts."""


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The plan of a study.

    Attributes:
        name: The study's name.
        raters: The raters' names.
        choice: How the items are chosen.
        protocol: Everything else that is no file.
        gold: The file of items with known answers; None for none.
        training: The file of items to practise on; None for none.
        guideline: The file of the guideline; None for the kind's own.
        consent: The file of the text that raters agree to; None for none.
    """

    name: str
    raters: tuple[str, ...]
    choice: ItemChoice
    protocol: StudyProtocol
    gold: Path | None = None
    training: Path | None = None
    guideline: Path | None = None
    consent: Path | None = None


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """A plan in numbers.

    Attributes:
        sample: How the items are chosen, as a phrase.
        items: How many items of the study there are; gold and training items are not counted.
        assignments: The fewest and the most assignments of a rater.
        shared: The fewest and the most items that two raters share; None for one rater.
        sittings: The most sittings of a rater.
        hours: The hours of the rater with the most assignments.
        seconds: The seconds of an item that these rest on.
        is_measured: Whether they are the median of the workspace's labels.
    """

    sample: str
    items: int
    assignments: tuple[int, int]
    shared: tuple[int, int] | None
    sittings: int
    hours: float
    seconds: float
    is_measured: bool


def names(text: str | None) -> list[str]:
    """Return the names of a list with commas."""
    return [one.strip() for one in (text or "").split(",") if one.strip()]


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
    design = make_design(protocol.checked(), items, plan.raters)
    found = balance(design)
    lengths = [len(own) for own in design.values()]
    measured = _seconds(connection, protocol.kind)
    seconds = measured or ITEM_SECONDS
    slow = OWN_TEST_SECONDS
    times = [
        sum(slow if OWN_TEST in one.condition.split() and one.phase != TRAIN else seconds for one in own)
        for own in design.values()
    ]
    return PlanPreview(
        protocol.sample,
        Counter(item.role for item in items)["item"],
        (min(lengths), max(lengths)),
        None
        if found.least_shared is None or found.most_shared is None
        else (found.least_shared, found.most_shared),
        max(max(sittings(own), default=0) for own in design.values()),
        max(times) / 3600,
        seconds,
        measured is not None,
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
    chosen, how = choose_items(connection, plan.choice)
    apart: list[ChosenItem] = []
    for path, role in ((plan.gold, "gold"), (plan.training, "training")):
        apart += [] if path is None else read_answers(connection, kind, path, role)
    taken = {one.item_id for one in apart}
    consent = "" if plan.consent is None else read_text(plan.consent)
    if both := sum(one.item_id in taken for one in chosen):
        how = f"{how}; {both:,} of them for gold or training"
    protocol = replace(
        plan.protocol,
        sample=how,
        consent=consent,
        questions=tuple(_question(kind, one) for one in plan.protocol.questions),
    )
    return protocol, [*(one for one in chosen if one.item_id not in taken), *apart]


def _question(kind: str, name: str) -> str:
    """Return the whole name of a question of a kind.

    Raises:
        UnknownName: The kind has no such question.
    """
    spec = task_kinds()[kind]
    found = spec.question(name) or spec.question(f"{kind}.{name}")
    if found is None:
        known = ", ".join(one.name for one in spec.questions)
        raise UnknownName(
            "Unknown question", f"No question of {spec.plural} is called {name!r}.", f"Questions: {known}."
        )
    return found.name


def _seconds(connection: Connection, kind: str) -> float | None:
    """Return the median seconds of work on an item of a kind; None where too little is known."""
    judgment, question = table_of(JudgmentRow), table_of(Question)
    spec = task_kinds()[kind]
    item = ("item_id", "rater_id", "assignment_id")
    # A label that is given again has the time of the one before in its own.
    asked = (
        select(*(judgment.c[name] for name in item), func.max(judgment.c.active_ms).label("milliseconds"))
        .join(question, question.c.id == judgment.c.question_id)
        .where(
            question.c.name.in_([one.name for one in spec.questions]),
            judgment.c.active_ms.is_not(None),
            judgment.c.value.is_not(None),
        )
        .group_by(*(judgment.c[name] for name in (*item, "question_id", "response_ref_id")))
        .subquery("asked")
    )
    spent = (
        select(func.sum(asked.c.milliseconds).label("milliseconds"))
        .group_by(*(asked.c[name] for name in item))
        .subquery("spent")
    )
    number, median = connection.execute(
        select(func.count(), func.percentile_cont(0.5).within_group(spent.c.milliseconds))
    ).one()
    return median / 1000 if number >= TIMED_FROM else None
