"""Writers of the formats of completions, repository questions and what models made of either: JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from store.errors import ExportFailed
from store.events import Progress
from store.export.standing import values_of
from store.export.stored import aside, stored
from store.formats.answers import write_answer
from store.formats.columns import count
from store.formats.crosscodeeval import write_prediction, write_task
from store.formats.making import Made
from store.formats.mt_bench import write_judgment
from store.formats.protocol import Export, Written
from store.formats.swe_qa import write_question
from store.ingest.files import bare_name
from store.kinds.answer import ANSWER
from store.kinds.completion import COMPLETION, KEEP
from store.kinds.protocol import TaskKind
from store.rewritten import standing_texts

_BATCH = 1_000
_KEPT = 1.0
"""The answer to `completion.keep` that an example stays in the dataset."""

Records = Iterator[Mapping[str, Any] | None]
"""What goes into a file in order, and None for each that is left out."""


def _write(export: Export, total: int, records: Records, nothing: str) -> Written:
    written = left_out = 0
    with export.target.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            if record is None:
                left_out += 1
                continue
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            written += 1
            if written % _BATCH == 0:
                export.progress(Progress("writing", written, max(total, written)))
    if not written:
        raise ExportFailed("Nothing to export", nothing, "See what is there: workbench items WORKSPACE")
    export.progress(Progress("writing", written, written))
    return Written(written, left_out)


def write_tasks(export: Export) -> Written:
    """Write completion tasks as CrossCodeEval has them, each with the context of one setting.

    With a rater, each has that rater's answers under `annotation`: the sign of the value by what was asked.
    """
    _refuse_two_contexts(export)
    said = values_of(export.cursor, export.rater_id, COMPLETION) if export.rater_id is not None else {}
    kept = " that the rater keeps" if export.only_kept else ""
    return _write(
        export, _many(export, "completion"), _tasks(export, said), f"There are no completions{kept}."
    )


def _tasks(export: Export, said: Mapping[int, Mapping[str, float]]) -> Records:
    stem = bare_name(export.name)
    titles = {spec.name: (spec.name.rpartition(".")[2], spec.scale) for spec in COMPLETION.questions}
    for entry in stored(export.cursor, COMPLETION, chunks=True):
        values = said.get(entry.item_id, {})
        if export.only_kept and values.get(KEEP.name) != _KEPT:
            yield None
            continue
        task = write_task(entry.item, _under(export, entry.chunks), stem)
        if export.rater_id is not None:
            signs = {
                word: next((each.sign for each in scale.values if each.value == values.get(name)), None)
                for name, (word, scale) in titles.items()
            }
            task["annotation"] = {word: sign for word, sign in signs.items() if sign is not None}
        yield task


def _refuse_two_contexts(export: Export) -> None:
    settings = _contexts(export, COMPLETION)
    if export.setting is None and len(settings) > 1:
        named = ", ".join(repr(name) for name in settings)
        raise ExportFailed(
            "Which context?",
            f"A task holds the context of one setting, and there are {len(settings)}: {named}.",
            "Name one: --setting NAME",
        )


def _contexts(export: Export, kind: TaskKind) -> list[str]:
    """Return the settings under which items of a kind have context.

    Raises:
        ExportFailed: The one that is wanted is none of them.
    """
    found = export.cursor.execute(
        "SELECT DISTINCT setting FROM context_chunk c JOIN item i ON i.id = c.item_id "
        "WHERE i.kind = ? ORDER BY setting",
        [kind.name],
    )
    settings = [str(name) for (name,) in found.fetchall()]
    if export.setting is not None and export.setting not in settings:
        known = ", ".join(repr(name) for name in settings) or f"none, for any of the {kind.plural}"
        raise ExportFailed(
            "No such context",
            f"There is no context under the setting {export.setting!r}. There is: {known}.",
            "Name one of these, or leave --setting away where there is one or none.",
        )
    return settings


def write_predictions(export: Export) -> Written:
    """Write models' completions, those whose task is not here at the end."""
    stem = bare_name(export.name)

    def records() -> Records:
        for response, _ in _responses(export, COMPLETION):
            yield write_prediction(response, stem)

    return _write(export, _many(export, "response"), records(), _nothing(export, "completions by models"))


def write_questions(export: Export) -> Written:
    """Write repository questions, each with its context; what was rewritten as it stands.

    The text that was imported stands beside it under `imported`.
    """
    _contexts(export, ANSWER)
    rewritten = standing_texts(export.cursor)

    def records() -> Records:
        for entry in stored(export.cursor, ANSWER, chunks=True):
            chunks = _under(export, entry.chunks)
            yield write_question(entry.item, chunks, rewritten.get(entry.item_id, {}))

    return _write(
        export, _many(export, "repository_question"), records(), "There are no repository questions."
    )


def write_answers(export: Export) -> Written:
    """Write models' answers with judges' scores, those whose question is not here at the end."""

    def records() -> Records:
        for response, scores in _responses(export, ANSWER):
            yield write_answer(response, scores)

    return _write(export, _many(export, "response"), records(), _nothing(export, "answers by models"))


def write_judgments(export: Export) -> Written:
    """Write judges' scores of answers as MT-bench has them; answers that nobody scored are left out."""

    def records() -> Records:
        for entry in stored(export.cursor, ANSWER, responses=True):
            for response, scores in entry.responses:
                if not _wanted(export, response):
                    continue
                if not scores:
                    yield None
                for score in scores:
                    yield write_judgment(entry.item, response, score)

    return _write(export, _many(export, "score"), records(), _nothing(export, "scores of answers"))


def _responses(export: Export, kind: TaskKind) -> Iterator[tuple[Made, list[Made]]]:
    for entry in stored(export.cursor, kind, responses=True):
        yield from (found for found in entry.responses if _wanted(export, found[0]))
    yield from (found for found in aside(export.cursor, kind) if _wanted(export, found[0]))


def _wanted(export: Export, made: Made) -> bool:
    return export.setting is None or made.fields["setting"] == export.setting


def _under(export: Export, chunks: list[Made]) -> list[Made]:
    return [chunk for chunk in chunks if _wanted(export, chunk)]


def _nothing(export: Export, what: str) -> str:
    under = "" if export.setting is None else f" under the setting {export.setting!r}"
    return f"There are no {what}{under}."


def _many(export: Export, table: str) -> int:
    return count(export.cursor, f"SELECT count(*) FROM {table}")
