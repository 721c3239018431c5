"""The report on collected issues: Table I and Figure 4 of CoReQA (section III.A)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from store.errors import WorkbenchError
from store.formatting import language_name, pluralize
from store.json_fields import json_fields
from store.kinds.answer import COLLECTION, DROPPED, NO_SOLUTION, UNSUITABLE
from store.queries.repository_answers import dropped_questions, inspections
from store.record.revisions import current_texts
from store.reports.options import Options
from store.reports.value import NONE, Cell, Report, Row, Table, counted, filled, share
from store.tables.columns import table_of
from store.tables.imported import Item, RepositoryQuestion, Source
from store.tables.runs import WorkRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

PUBLISHED: Mapping[str, tuple[int, int]] = {
    "python": (46, 439),
    "java": (33, 209),
    "go": (48, 371),
    "typescript": (49, 544),
}
"""Table I of the paper: repositories and question-answer pairs, by language."""
PULL_REQUEST = "a pull request"
INSPECTED = "dropped by people"
_SAID = 20
"""Sources of which it is told why they gave nothing."""


@dataclass(frozen=True, slots=True)
class LanguageQuestions:
    """The questions of a language.

    Attributes:
        language: Its name; empty where it is not known.
        repositories: The repositories that they are about.
        questions: The questions.
        answered: Those with a reference answer.
    """

    language: str
    repositories: int
    questions: int
    answered: int


@dataclass(frozen=True, slots=True)
class Collection:
    """The issues that were collected, and how many were left out.

    Attributes:
        languages: The questions by language, the paper's first.
        sources: Repositories and files that were collected.
        issues: Issues that were looked at.
        labelled: Those with a label.
        named: Those with a label that asks for a change.
        code: Those with code in their description.
        pull_requests: Pull requests, which are no issues here.
        left_out: How many were left out, by why, in the order in which it was decided.
        collected: The issues that became questions.
        dropped: How many of these were dropped since, by why: by the agents that write them, or by people.
        silent: Sources without reactions.
        without: Why sources gave nothing, by their names: the reason, and what was said.
    """

    languages: Sequence[LanguageQuestions]
    sources: int
    issues: int
    labelled: int
    named: int
    code: int
    pull_requests: int
    left_out: Mapping[str, int]
    collected: int
    dropped: Mapping[str, int]
    silent: Sequence[str]
    without: Mapping[str, tuple[str, str]]


def read_collection(connection: Connection, options: Options) -> Collection:
    """Read what was collected; of what was collected twice the last time counts.

    Raises:
        WorkbenchError: There are no repository questions.
    """
    work = table_of(WorkRow)
    asked = select(work.c.kept).where(work.c.kind == COLLECTION).order_by(work.c.started_at)
    kept = [json.loads(text) for text in connection.execute(asked).scalars() if text and text != "{}"]
    languages = _languages(connection)
    if not kept and not languages:
        raise WorkbenchError(
            "Nothing collected",
            "No issues were collected in this workspace, and it has no repository questions.",
            "Collect some: workbench collect issues WORKSPACE OWNER/REPO",
        )
    sources = {name: one for each in kept for name, one in each["sources"].items()}
    left_out = Counter[str]()
    for one in sources.values():
        left_out.update(one["left_out"])
    pull_requests = left_out.pop(PULL_REQUEST, 0)
    order = dict.fromkeys(why for each in kept for why in each["reasons"])

    def total(name: str) -> int:
        return sum(one[name] for one in sources.values())

    return Collection(
        languages,
        len(sources),
        total("issues"),
        total("labelled"),
        total("named"),
        total("code"),
        pull_requests,
        {why: left_out[why] for why in order if why in left_out},
        total("questions"),
        _dropped(connection, [f"issues of {one['name']}" for one in sources.values()]),
        [one["name"] for one in sources.values() if one["issues"] and not one["reactions"]],
        {one["name"]: (one["why"], one["said"]) for one in sources.values() if one["why"]},
    )


def _dropped(connection: Connection, sources: Sequence[str]) -> dict[str, int]:
    """Return how many of the questions of some sources were dropped, by why."""
    inspected, item, source = inspections().subquery("inspected"), table_of(Item), table_of(Source)
    collected = (
        select(item.c.id).join(source, source.c.id == item.c.source_id).where(source.c.name.in_(sources))
    )
    rows = connection.execute(
        select(inspected.c.path, inspected.c.agents).where(
            inspected.c.dropped, inspected.c.item_id.in_(collected)
        )
    ).all()
    counts = Counter(row.path if row.agents == DROPPED else INSPECTED for row in rows)
    return {why: counts[why] for why in (UNSUITABLE, NO_SOLUTION, INSPECTED) if counts[why]}


def _languages(connection: Connection) -> list[LanguageQuestions]:
    question = table_of(RepositoryQuestion)
    columns = (question.c[name] for name in ("item_id", "language", "repository", "reference"))
    stays = question.c.item_id.not_in(dropped_questions())
    rows = connection.execute(select(*columns).where(stays)).all()
    revised = current_texts(connection, [row.item_id for row in rows])
    by_language = defaultdict[str, list[Any]](list)
    for row in rows:
        by_language[str(row.language or "").lower()].append(row)
    found = {
        name: LanguageQuestions(
            str(some[0].language or ""),
            len({row.repository for row in some}),
            len(some),
            sum(bool(revised.get(row.item_id, {}).get("reference", row.reference)) for row in some),
        )
        for name, some in by_language.items()
    }
    order = [*PUBLISHED, *sorted(found.keys() - PUBLISHED.keys())]
    return [found[name] for name in order if name in found]


def collection_fields(found: Collection, options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""
    fields: dict[str, Any] = json_fields(found)
    fields["questions"] = sum(one.questions for one in found.languages)
    fields["left"] = {why: left for why, _, left in _steps(found)}
    fields["without"] = {name: {"why": why, "said": said} for name, (why, said) in found.without.items()}
    fields["published"] = {
        name: {"repositories": repositories, "questions": questions}
        for name, (repositories, questions) in PUBLISHED.items()
    }
    return fields


def collection_report(found: Collection, options: Options) -> Report:
    """Return the report as tables."""
    questions = sum(one.questions for one in found.languages)
    answered = sum(one.answered for one in found.languages)
    lines = [f"{pluralize(questions, 'question')}, {answered:,} with a reference answer"]
    if found.sources:
        of = pluralize(found.sources, "source")
        lines += [
            f"{pluralize(found.issues, 'issue')} looked at in {of}, "
            f"{pluralize(found.pull_requests, 'pull request')} not",
            f"{found.labelled:,} have a label, that of {found.named:,} with feat, bug, fix or error in it; "
            f"{found.code:,} have code",
        ]
    lines += [f"{name} has no reactions: no comment in it is known to be positive" for name in found.silent]
    return Report(
        caption=tuple(lines),
        command=("collection", *options.arguments()),
        tables=filled(_statistics(found), _funnel(found), _without(found)),
    )


def _statistics(found: Collection) -> Table:
    """Return Table I, with the paper's figures beside those here."""
    rows = []
    for one in found.languages:
        published = PUBLISHED.get(one.language.lower())
        paper = [counted(count) for count in published] if published else [Cell(NONE), Cell(NONE)]
        of_repositories, of_questions = paper
        name = language_name(one.language) or "not known"
        rows.append(
            Row(
                (
                    name,
                    *(counted(one.repositories), of_repositories),
                    *(counted(one.questions), of_questions, counted(one.answered)),
                )
            )
        )
    columns = ("language", "repositories", "in paper", "questions", "in paper", "answered")
    return Table(columns, tuple(rows), "Questions (Table I)")


def _steps(found: Collection) -> Iterator[tuple[str, int, int]]:
    """Yield each condition with how many issues it left out, and how many were left."""
    left = found.issues
    for why, count in (*found.left_out.items(), *found.dropped.items()):
        left -= count
        yield why, count, left


def _funnel(found: Collection) -> Table:
    """Return what was left of the issues after each condition (Figure 4)."""
    rows = []
    if found.issues:
        rows.append(Row(("all issues", "", counted(found.issues), share(1.0)), 1.0))
    for why, count, left in _steps(found):
        part = left / found.issues
        rows.append(Row((why, counted(count), counted(left), share(part)), part))
    return Table(
        ("without", "left out", "left", "share"),
        tuple(rows),
        "What became of the issues (Figure 4)",
        drawn="share that is left",
    )


def _without(found: Collection) -> Table:
    rows = [Row((name, why, said)) for name, (why, said) in list(found.without.items())[:_SAID]]
    if len(found.without) > _SAID:
        rows.append(Row((f"and {len(found.without) - _SAID:,} more", "", "")))
    return Table(("source", "why", "said"), tuple(rows), "Sources that gave nothing")
