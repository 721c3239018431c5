"""Repository questions as JSON lines of ours, of which SWE-QA's `question, answer` is the smallest form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from store.errors import ExportFailed
from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, Entity, Export, FileContext, Format, WriteResult
from store.formats.record_reader import RecordReader, put_back
from store.formats.values import wrong
from store.kinds.answer import ANSWER, KEEP, KEPT, MENDED

_ISSUE = {
    "issue_number": "number",
    "issue_title": "title",
    "issue_body": "body",
    "url": "url",
    "created_at": "created_at",
    "closed_at": "closed_at",
}

_TEXTS = {"question": "question", "reference": "answer"}


class Questions:
    """Makes repository questions and their chunks."""

    def __init__(self, known: FileContext) -> None:
        self.counts: dict[str, int] = {}
        self._known = known

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return a question and its chunks; without an id it is called after the file and its number.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        whole = RecordReader(record)
        external_id = whole.identity("id") or f"{self._known.stem}-{number}"
        question = whole.text("question", required=True, filled=True)
        issue = whole.object("issue")
        fields = {
            "external_id": external_id,
            "repository": whole.text("repository", short=True),
            "revision": whole.text("commit"),
            "language": whole.text("language", short=True),
            "url": issue.text("url"),
            "question": question,
            "reference": whole.text("answer") or "",
            "issue_number": issue.whole("number"),
            "issue_title": issue.text("title"),
            "issue_body": issue.text("body"),
            "comments": [_comment(comment) for comment in issue.objects("comments")],
            "labels": issue.texts("labels"),
            "created_at": issue.text("created_at"),
            "closed_at": issue.text("closed_at"),
        }
        ranks: dict[str, int] = {}
        chunks = []
        for chunk in whole.objects("chunks"):
            own = chunk.text("setting", short=True)
            setting = self._known.setting if own is None else own
            ranks[setting] = ranks.get(setting, 0) + 1
            of_chunk = {
                "kind": "answer",
                "item": external_id,
                "setting": setting,
                "rank": ranks[setting],
                "path": chunk.text("file"),
                "text": chunk.text("text", required=True),
                "score": chunk.number("score"),
            }
            chunks.append(Entity("chunk", of_chunk, chunk.take_rest()))
        return [Entity("answer", fields, whole.rest()), *chunks]


def _comment(comment: RecordReader) -> dict[str, Any]:
    return {
        "by": comment.text("by") or "",
        "created_at": comment.text("created_at"),
        "body": comment.text("body") or "",
        "reactions": reactions(comment),
    }


def reactions(comment: RecordReader) -> dict[str, int]:
    """Take the reactions of a comment: an object of names and how many there are.

    Raises:
        Refused: They are something else.
    """
    found = comment.object("reactions")
    counts = {name: found.whole(name) for name in found.names()}
    for name, count in counts.items():
        if count is not None and count < 0:
            raise wrong(count, found.named(name), "a count from 0")
    return {name: count for name, count in counts.items() if count}


def write_question(
    item: Entity, chunks: Sequence[Entity], revised: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the record of a repository question.

    Chunks are by rank within their setting. Imported texts of revised fields are written under `imported`.
    """
    fields = {**item.fields, **(revised or {})}
    record: dict[str, Any] = {
        "id": fields["external_id"],
        "repository": fields["repository"],
        "commit": fields["revision"],
        "language": fields["language"],
        "question": fields["question"],
        "answer": fields["reference"],
    }
    issue = {name: fields[ours] for ours, name in _ISSUE.items()}
    issue |= {
        "labels": fields["labels"] or None,
        "comments": [*map(_comment_record, fields["comments"])] or None,
    }
    record["issue"] = {name: value for name, value in issue.items() if value is not None} or None
    record["chunks"] = [_chunk(chunk) for chunk in chunks] or None
    imported = {name: item.fields[ours] for ours, name in _TEXTS.items() if ours in (revised or {})}
    extra = dict(item.extra)
    if imported and isinstance(before := extra.get("imported"), dict):
        # Of what was revised, written, imported and revised again, the oldest text is what was imported.
        imported |= before
        del extra["imported"]
    record["imported"] = imported or None
    return put_back({name: value for name, value in record.items() if value is not None}, extra)


def _comment_record(comment: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in comment.items() if value is not None and value != {}}


def _chunk(chunk: Entity) -> dict[str, Any]:
    named = {"file": "path", "text": "text", "score": "score", "setting": "setting"}
    found = {ours: chunk.fields[name] for ours, name in named.items() if chunk.fields[name] is not None}
    return put_back(found, chunk.extra)


def write_questions(export: Export) -> WriteResult:
    """Write repository questions, each with its context; revised ones with the imported text beside."""
    export.settings("answer")
    revised = export.revised()
    answers = export.answers("answer") if export.rater_id is not None else {}
    mended = export.mended() if export.only_kept else frozenset()
    written_by_agents = export.claimed(KEEP.name) if export.only_kept else frozenset()
    left_out = Counter[str]()

    def why_not(item_id: int, said: float | None, record: Mapping[str, Any]) -> str:
        if said is None:
            return "not inspected" if item_id in written_by_agents else "not written by agents"
        if said not in (KEPT, MENDED):
            return "dropped"
        if said == MENDED and item_id not in mended:
            return "to be mended and not rewritten"
        # A question without a reference answer is no pair of both.
        return "" if record.get("answer") else "without a reference answer"

    def records() -> Iterator[Mapping[str, Any] | None]:
        for entry in export.items("answer", chunks=True):
            said = answers.get(entry.item_id, {}).get(KEEP.name)
            chunks = [*filter(export.wanted, entry.chunks)]
            record = write_question(entry.item, chunks, revised.get(entry.item_id, {}))
            if export.only_kept and (why := why_not(entry.item_id, said, record)):
                left_out[why] += 1
                yield None
                continue
            if said is not None:
                record["annotation"] = {"keep": ANSWER.label_word(said)}
            yield record

    which = " that are kept" if export.only_kept else ""
    nothing = f"There are no repository questions{which}."
    try:
        written = export.write_lines(records(), "repository_question", nothing)
    except ExportFailed as error:
        if error.message != nothing or not left_out:
            raise
        why = ", ".join(f"{count:,} {one}" for one, count in sorted(left_out.items()))
        raise ExportFailed(error.title, f"Every question was left out: {why}.", error.hint) from error
    return replace(written, why=dict(sorted(left_out.items())))


QUESTIONS = Format(
    name="questions",
    description="repository questions: question, answer (SWE-QA); and id, repository, commit, issue, chunks",
    containers=JSON,
    layouts=(
        Layout(
            "answer",
            (
                Field("question", ("question",), required=True),
                Field("external_id", ("id",), "id"),
                Field("reference", ("answer",)),
                Field("repository", ("repository",)),
                Field("revision", ("commit",)),
                Field("language", ("language",)),
            ),
        ),
    ),
    unless=frozenset(
        {
            *("question_id", "rater", "query", "model", "record", "value", "_server_id", "_task_hash"),
            *("code", "snippet", "answer_code"),  # a table of pairs
        }
    ),
    converter=Questions,
    write=write_questions,
    carries="Repository questions with their context and reference answers.",
    kept=KEEP.name,
    choices=frozenset({"setting", "split", "rater", "policy", "only_kept"}),
    holds=("repository question", "repository questions"),
    leaves_out=("question", "questions"),
)
