"""Labels in long form: one line for each item, question and rater, on items of any kind."""

from __future__ import annotations

from store.errors import ExportFailed
from store.events import Progress
from store.export.standing import STANDING, put_standing
from store.formats.columns import QUESTION_NAME, copy_to, count, put_words, whole_numbers
from store.formats.fields import Field, Layout
from store.formats.protocol import ANY, Export, Format, Written

LONG_COLUMNS: tuple[str, ...] = ("item", "kind", "question", "rater", "value", "word", "comment")
"""The columns of labels in long form, in order."""

_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"}


def write_labels(export: Export) -> Written:
    """Write the labels that stand, of one rater or of all; as JSON or Parquet where the file's name says so.

    Raises:
        ExportFailed: There is none.
    """
    cursor = export.cursor
    put_standing(cursor, export.rater_id)
    put_words(cursor)
    total = count(cursor, f"SELECT count(*) FROM {STANDING}")
    if not total:
        raise ExportFailed(
            "Nothing to export",
            "No label stands." if export.rater_id is None else "This rater has no label that stands.",
            "See what is there: workbench items WORKSPACE",
        )
    export.progress(Progress("writing", 0, total))
    ending = next((form for end, form in _ENDINGS.items() if export.name.lower().endswith(end)), "csv")
    value = "CAST(s.value AS BIGINT)" if whole_numbers(cursor, STANDING) else "s.value"
    selected = f"""
        SELECT {", ".join(LONG_COLUMNS)} FROM (
            SELECT i.external_id AS item, i.kind, {QUESTION_NAME} AS question, a.name AS rater, {value}
                AS value, coalesce(w.word, '') AS word, j.comment, i.id AS place, asks.id AS asked,
                ref.model, ref.setting, ref.trial
            FROM {STANDING} s JOIN judgment j ON j.id = s.id JOIN item i ON i.id = s.item_id
            JOIN question asks ON asks.id = s.question_id JOIN rater a ON a.id = s.rater_id
            LEFT JOIN response_ref ref ON ref.id = s.response_ref_id
            LEFT JOIN word w ON w.question_id = s.question_id AND w.value = s.value
        ) ORDER BY place, model NULLS FIRST, setting, trial, asked, rater"""
    copy_to(cursor, selected, export.target, ending)
    export.progress(Progress("writing", total, total))
    return Written(total)


LABELS = Format(
    name="labels",
    description="labels of items of any kind: item, rater, value, and kind, question, word, comment",
    containers=ANY,
    layouts=(
        Layout(
            "label",
            (
                Field("external_id", ("item",), "id", required=True),
                Field("rater", ("rater",), required=True, filled=True),
                Field("value", ("value",), "number", required=True),
                Field("kind", ("kind",)),
                Field("question", ("question",)),
                Field("word", ("word",)),
                Field("comment", ("comment",)),
            ),
            extra=False,
        ),
    ),
    unless=frozenset({"record", "action"}),
    write=write_labels,
    holds=("label", "labels"),
)
