"""The methods table of a frozen study, as Markdown: what a paper says of how its labels were made."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.comparison_texts import CHANGES
from store.kinds.spec import task_kinds
from store.queries.sent_back import sent_back
from store.queries.sources import rejected_records, rejected_sentence
from store.queries.studies import StudyDetails, study_items
from store.record.protocol import condition_words
from store.tables.columns import table_of
from store.tables.people import Assignment, StudyLook
from store.tables.record import JudgmentRow

if TYPE_CHECKING:
    from datetime import datetime


def methods_table(connection: Connection, study: StudyDetails) -> str:
    """Return the methods of a study as a table of Markdown (see `methods_rows`)."""
    codes = [f"SHA-256 of {what}" for what in _HASHED]
    lines = [
        f"| {name} | {f'`{value}`' if name in codes else _cell(value)} |"
        for name, value in methods_rows(connection, study)
    ]
    return "\n".join(["| Method | Value |", "|---|---|", *lines]) + "\n"


def methods_rows(connection: Connection, study: StudyDetails) -> list[tuple[str, str]]:
    """Return the methods of a study, each with its value. Raters are named by their pseudonyms.

    Raises:
        WorkbenchError: It is a draft.
    """
    if study.frozen_at is None:
        raise WorkbenchError(
            "Not frozen",
            f"{study.name} is a draft, whose methods can still change.",
            f"Freeze it first: workbench study freeze WORKSPACE {shlex.quote(study.name)}",
        )
    rows = [("Study", study.name), *_items(connection, study), *_raters(study), *_design(study)]
    rows += [*_known(study), *_texts(study), *_stopping(connection, study)]
    rows += [*_sent_back(connection, study), *_dates(connection, study)]
    return [*rows, *((f"SHA-256 of {what}", study.manifest[f"{what}_sha256"]) for what in _HASHED)]


_HASHED = ("items", "assignments", "guideline")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _items(connection: Connection, study: StudyDetails) -> Iterator[tuple[str, str]]:
    kind = task_kinds().get(study.protocol.kind)
    number = study.items.get("item", 0)
    word = kind.plural if kind else study.protocol.kind
    yield "Items", f"{number:,} {word}"
    yield "Sampling", study.protocol.sample or "all"
    if rejected := rejected_records(connection, named=True):
        yield "Records", rejected_sentence(rejected)
    chosen = [one for one in study_items(connection, study.id) if one.role == "item"]
    strata = dict.fromkeys(one.stratum for one in chosen if one.stratum is not None)
    if strata:
        counts = (
            f"{stratum}: {sum(one.stratum == stratum for one in chosen):,} (inclusion probability "
            f"{next(one.inclusion for one in chosen if one.stratum == stratum):.3g})"
            for stratum in strata
        )
        yield "Strata", "; ".join(counts)
    elif chosen and chosen[0].inclusion < 1:
        yield "Inclusion probability", f"{chosen[0].inclusion:.3g}"
    questions = study.protocol.questions or tuple(spec.name for spec in (kind.questions if kind else ()))
    yield "Questions", ", ".join(questions)


def _raters(study: StudyDetails) -> Iterator[tuple[str, str]]:
    gone = [one for one in study.members if one.withdrawn_at is not None]
    withdrawn = f"; withdrawn and left out: {', '.join(one.pseudonym for one in gone)}" if gone else ""
    yield "Raters", f"{len(study.members):,}{withdrawn}"
    told = [f"{one.pseudonym}: {one.experience}" for one in study.members if one.experience]
    yield "Experience", "; ".join(told) or "not recorded"
    if study.protocol.consent:
        agreed = sum(one.consented_at is not None for one in study.members)
        yield "Consent", f"version {study.protocol.consent_version}, agreed to by {agreed:,}"


def _design(study: StudyDetails) -> Iterator[tuple[str, str]]:
    protocol, balance = study.protocol, study.manifest.get("balance", {})
    overlap = protocol.overlap or len(study.members)
    shared = balance.get("least_shared"), balance.get("most_shared")
    between = "" if None in shared else f"; two raters share {_range(*shared)} items"
    yield "Raters of each item", f"{overlap:,}{between}"
    of_each = [one["items"] for one in balance.get("raters", ())]
    if of_each:
        yield "Items of each rater", _range(min(of_each), max(of_each))
    named = ", ".join(condition_words(one) for one in protocol.conditions)
    alone = len(protocol.conditions) == 1
    yield (
        "Conditions",
        named if alone else f"{named}; drawn at random, balanced within raters and within items",
    )
    if not alone:
        yield "Blocks", f"{protocol.block_size or len(protocol.conditions):,} items with each equally often"
    if protocol.scale:
        yield "Scale", protocol.scale
    if protocol.texts:
        said = ", ".join(CHANGES[one] for one in protocol.texts)
        yield "Texts", f"{said}; what was done to both sides of an item is recorded with each judgment"
    if protocol.reveal:
        yield "Reveal", f"all items again at the end as {condition_words(protocol.reveal)}"
    if protocol.repeats:
        apart = f"at least {protocol.repeat_distance:.0%} of the list later"
        yield "Repeats", f"{pluralize(protocol.repeats, 'item')} of each rater, unannounced, {apart}"
    yield "Order", f"random for each rater, seed {protocol.seed}"


def _range(least: int | None, most: int | None) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _known(study: StudyDetails) -> Iterator[tuple[str, str]]:
    gold, training = study.items.get("gold", 0), study.items.get("training", 0)
    yield "Gold items", f"{gold:,}, mixed in" if gold else "none"
    yield "Training", f"{pluralize(training, 'item')} before the others" if training else "none"


def _texts(study: StudyDetails) -> Iterator[tuple[str, str]]:
    yield "Guideline", f"version {study.protocol.guideline or 'of the task kind'}"
    limits = study.protocol
    yield (
        "Time",
        f"pauses over {limits.idle_minutes:g} min left out; under {limits.fast_seconds:g} s too fast",
    )


def _stopping(connection: Connection, study: StudyDetails) -> Iterator[tuple[str, str]]:
    yield "Stopping rule", study.protocol.stops
    look = table_of(StudyLook)
    looks = connection.execute(
        select(look).where(look.c.study_id == study.id).order_by(look.c.looked_at, look.c.id)
    ).all()
    said = [
        f"{one.judgments:,} judgments: alpha {'none' if one.alpha is None else f'{one.alpha:.3f}'}"
        + ("" if one.ci_low is None else f" ({one.ci_low:.3f} to {one.ci_high:.3f})")
        + ("" if one.planned else ", not planned")
        for one in looks
    ]
    yield "Looks", "; ".join(said) or "none"


def _sent_back(connection: Connection, study: StudyDetails) -> Iterator[tuple[str, str]]:
    number = len(sent_back(connection, study.id))
    if number:
        again = "judged again by their raters; these labels count in no measure"
        yield "Sent back by an adjudicator", f"{pluralize(number, 'item')}, {again}"


def _dates(connection: Connection, study: StudyDetails) -> Iterator[tuple[str, str]]:
    judgment, assignment = table_of(JudgmentRow), table_of(Assignment)
    found = (
        select(func.min(judgment.c.created_at), func.max(judgment.c.created_at), func.count())
        .join(assignment, assignment.c.id == judgment.c.assignment_id)
        .where(assignment.c.study_id == study.id)
    )
    first, last, number = connection.execute(found).one()
    yield "Frozen", _day(study.frozen_at)
    yield "Judged", f"{_day(first)} to {_day(last)}" if number else "not yet"
    yield "Closed", _day(study.closed_at) if study.closed_at else "not yet"


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"
