"""The report on constructed tasks: Table 1 of CrossCodeEval, and what was left out (sections 2.1 to 2.4)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from store.errors import WorkbenchError
from store.formatting import language_name, pluralize
from store.kinds.completion_settings import CONSTRUCTED, CONSTRUCTION
from store.measures.completion import LANGUAGES
from store.reports.options import Options
from store.reports.value import NONE, Cell, Report, Row, Table, counted, filled, number, share
from store.tables.columns import table_of
from store.tables.imported import Completion, Item
from store.tables.runs import WorkRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

PUBLISHED: Mapping[str, tuple[float, ...]] = {
    "python": (471, 1368, 2665, 90.6, 938.9, 1.0, 13.2),
    "java": (239, 745, 2139, 106.7, 995.3, 1.1, 14.5),
    "typescript": (193, 779, 3356, 116.5, 944.9, 1.7, 17.4),
    "csharp": (99, 642, 1768, 71.1, 584.1, 1.7, 12.5),
}
"""Table 1 of the paper, by language; tokens by StarCoder's tokenizer."""

FEATURES = {
    "repositories": "repositories",
    "files": "files",
    "tasks": "tasks",
    "prompt_lines": "lines of a prompt",
    "prompt_tokens": "tokens of a prompt",
    "reference_lines": "lines of a reference",
    "reference_tokens": "tokens of a reference",
}
"""The rows of Table 1, the last four as means."""

_SAID = 20
"""Repositories of which it is told why they gave nothing."""


@dataclass(frozen=True, slots=True)
class LanguageTasks:
    """The constructed tasks of a language.

    Attributes:
        figures: By `FEATURES`; None where there are no tasks.
        tried: Repositories that were tried; `source_files` all of their files in the language.
        places: Places that were found.
        left_out: How many of them gave no task, by why.
        files_left_out: How many files were left out, by why.
        without: Why repositories gave nothing, by their names: the reason, and what was said.
        programs: What found the places, and what counted tokens.
        cursors: How cursors were placed.
        predictors: The models that were to complete tasks without context.
    """

    language: str
    figures: Mapping[str, float | None]
    tried: int
    source_files: int
    places: int
    left_out: Mapping[str, int]
    files_left_out: Mapping[str, int]
    without: Mapping[str, tuple[str, str]]
    programs: Sequence[str]
    tokenizers: Sequence[str]
    cursors: Sequence[str]
    predictors: Sequence[str]


def read_construction(connection: Connection, options: Options) -> list[LanguageTasks]:
    """Read what was constructed, by language; of what was constructed twice the last time counts.

    Raises:
        WorkbenchError: Nothing was.
    """
    work = table_of(WorkRow)
    asked = select(work.c.kept).where(work.c.kind == CONSTRUCTION).order_by(work.c.started_at)
    kept = [json.loads(text) for text in connection.execute(asked).scalars() if text and text != "{}"]
    figures = _figures(connection)
    if not kept and not figures:
        raise WorkbenchError(
            "Nothing constructed",
            "No tasks were constructed in this workspace.",
            "Construct some: workbench construct WORKSPACE REPO... --language L",
        )
    # Tasks may have been constructed elsewhere, and imported.
    names = [name for name in LANGUAGES if name in figures or any(one["language"] == name for one in kept)]
    return [_of_language(name, [one for one in kept if one["language"] == name], figures) for name in names]


def _of_language(
    language: str, kept: Sequence[Mapping[str, Any]], figures: Mapping[str, Mapping[str, float | None]]
) -> LanguageTasks:
    by_name = {one["name"]: one for work in kept for one in work["repositories"].values()}
    left_out, files_left_out = Counter[str](), Counter[str]()
    for one in by_name.values():
        left_out.update(one["left_out"])
        files_left_out.update(one["files_left_out"])

    def each(name: str) -> list[str]:
        return list(dict.fromkeys(str(work[name]) for work in kept))

    cursors = [
        f"{work['cursor']}, seed {work['seed']}" if work["cursor"] == "drawn" else "before the name"
        for work in kept
    ]
    return LanguageTasks(
        language,
        figures.get(language, dict.fromkeys(FEATURES)),
        len(by_name),
        sum(one["files"] for one in by_name.values()),
        sum(one["places"] for one in by_name.values()),
        dict(left_out.most_common()),
        dict(files_left_out.most_common()),
        {name: (one["why"], one["said"]) for name, one in by_name.items() if one["why"]},
        each("program"),
        each("tokenizer"),
        list(dict.fromkeys(cursors)),
        list(filter(None, each("predictor"))),
    )


class _Made(NamedTuple):
    """A constructed task: its place, and the lines and tokens of prompt and reference."""

    repository: str
    path: str
    lines: tuple[int, int]
    tokens: Sequence[int]


def _figures(connection: Connection) -> dict[str, dict[str, float | None]]:
    """Return the figures of Table 1 of the constructed tasks, by language."""
    task, item = table_of(Completion), table_of(Item)
    columns = (task.c[name] for name in ("language", "repository", "path", "prompt", "reference"))
    asked = select(*columns, item.c.extra).join(item, item.c.id == task.c.item_id)
    rows = defaultdict[str, list[_Made]](list)
    for row in connection.execute(asked):
        made = json.loads(row.extra or "{}").get(CONSTRUCTED)
        if isinstance(made, dict):
            lines = (_lines(row.prompt), _lines(row.reference))
            rows[row.language].append(_Made(row.repository, row.path, lines, made["tokens"]))
    return {
        language: {
            "repositories": len({one.repository for one in own}),
            "files": len({one[:2] for one in own}),
            "tasks": len(own),
            "prompt_lines": fmean(one.lines[0] for one in own),
            "prompt_tokens": fmean(one.tokens[0] for one in own),
            "reference_lines": fmean(one.lines[1] for one in own),
            "reference_tokens": fmean(one.tokens[1] for one in own),
        }
        for language, own in rows.items()
    }


def _lines(text: str) -> int:
    return text.count("\n") + 1


def construction_fields(found: Sequence[LanguageTasks], options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""
    return {
        "languages": [
            {
                "language": one.language,
                **one.figures,
                "published": dict(zip(FEATURES, PUBLISHED[one.language], strict=True)),
                "tried": one.tried,
                "source_files": one.source_files,
                "places": one.places,
                "left_out": dict(one.left_out),
                "files_left_out": dict(one.files_left_out),
                "without": {name: {"why": why, "said": said} for name, (why, said) in one.without.items()},
                "programs": list(one.programs),
                "tokenizers": list(one.tokenizers),
                "cursors": list(one.cursors),
                "predictors": list(one.predictors),
            }
            for one in found
        ]
    }


def construction_report(found: Sequence[LanguageTasks], options: Options) -> Report:
    """Return the report as tables."""
    tasks = int(sum(one.figures["tasks"] or 0 for one in found))
    return Report(
        caption=(
            f"{pluralize(tasks, 'task')} · the last construction of each repository made "
            f"{sum(map(_made, found)):,} of {pluralize(sum(one.places for one in found), 'place')}"
            if any(one.tried for one in found)
            else f"{pluralize(tasks, 'task')}, constructed elsewhere",
            *(
                f"{language_name(one.language)}: found by {', '.join(one.programs)} · "
                f"cursor {'; '.join(one.cursors)} · tokens: {', '.join(one.tokenizers)}"
                + (f" · predictable to {', '.join(one.predictors)} left out" if one.predictors else "")
                for one in found
                if one.tried
            ),
            "In the paper tokens are those of StarCoder's tokenizer",
        ),
        command=("construction", *options.arguments()),
        tables=filled(_statistics(found), *map(_places, found), *map(_files, found), *map(_without, found)),
    )


def _statistics(found: Sequence[LanguageTasks]) -> Table:
    """Return Table 1, with the paper's figures beside those here."""
    columns = [name for one in found for name in (language_name(one.language), "in the paper")]
    rows = []
    for place, (name, words) in enumerate(FEATURES.items()):
        cells: list[Cell] = []
        for one in found:
            for value in (one.figures[name], PUBLISHED[one.language][place]):
                cells.append(counted(int(value or 0)) if place < _COUNTS else number(value, 1))
        rows.append(Row((words, *cells)))
    return Table(("", *columns), tuple(rows), "Tasks (Table 1)")


_COUNTS = 3


def _made(one: LanguageTasks) -> int:
    """Return how many places became tasks; others may have been constructed elsewhere, and imported."""
    return one.places - sum(one.left_out.values())


def _places(one: LanguageTasks) -> Table:
    made = _made(one)
    rows = [Row(("task", counted(made), _share(made, one.places)), _part(made, one.places))]
    rows += [
        Row((f"none: {why}", counted(count), _share(count, one.places)), _part(count, one.places))
        for why, count in one.left_out.items()
    ]
    shown = rows if one.places else []
    return Table(
        ("", "places", "share"),
        tuple(shown),
        f"Places in {language_name(one.language)}",
        drawn="share of the places",
    )


def _share(count: int, of: int) -> Cell:
    return share(count / of) if of else Cell(NONE)


def _part(count: int, of: int) -> float | None:
    return count / of if of else None


def _files(one: LanguageTasks) -> Table:
    rows = [Row(("source files", counted(one.source_files)))] if one.tried else []
    rows += [Row((f"left out: {why}", counted(count))) for why, count in one.files_left_out.items()]
    return Table(("", "files"), tuple(rows), f"Files in {language_name(one.language)}")


def _without(one: LanguageTasks) -> Table:
    rows = [Row((name, why, said)) for name, (why, said) in list(one.without.items())[:_SAID]]
    if len(one.without) > _SAID:
        rows.append(Row((f"and {len(one.without) - _SAID:,} more", "", "")))
    of = pluralize(one.tried, "repository", "repositories")
    return Table(
        ("repository", "why", "said"), tuple(rows), f"Left out of {of}, {language_name(one.language)}"
    )
