"""Plain tables of pairs: JSON lines, CSV and Parquet with the columns id, query, code and optional ones.

Written without a rater they hold the full record (store.export.records.RECORD_COLUMNS), which the format
`judgments` reads back; with one, that rater's current labels, which this format reads back.
CSV is written as RFC 4180 has it: nothing is put before a text that begins with `=`, so a spreadsheet may
take such a cell for a formula; open it as text there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, Export, Format, WriteResult
from store.kinds.pair import MATCH, PAIR

LABEL_VALUES = tuple(value.value for value in MATCH.scale.values)
LABEL_WORDS: dict[str, float] = {
    **{value.word: value.value for value in MATCH.scale.values},
    **{f"{value:g}": value for value in LABEL_VALUES},
    **{"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0},
}
"""The words of the scale, its numbers as texts, and what people write for it."""
_WORDS = tuple(LABEL_WORDS.items())
_GRADES = "; grades are no labels: --map relevance={name}"

TABLE = Layout(
    "pair",
    (
        Field("external_id", ("id",), "id", required=True),
        Field("query", ("query",), required=True, filled=True),
        Field("code", ("code",), required=True, filled=True),
        Field("name", ("name",)),
        Field("language", ("language",)),
        Field("repository", ("repository",)),
        Field("path", ("path",)),
        Field("licence", ("licence",)),
        Field("rank", ("rank",), "integer"),
        Field("label", ("label",), "number", values=LABEL_VALUES, words=_WORDS, hint=_GRADES),
        Field("relevance", ("relevance",), "number"),
        Field("scores", ("similarity",), "scores"),
        Field("extra", ("extra",), "object"),
    ),
)


def write_table(form: Literal["jsonl", "csv", "parquet"], export: Export) -> WriteResult:
    """Write the full record, or one rater's labels, as a table.

    Args:
        form: The format.
        export: The content, and the target.
    """
    rows = export.record() if export.rater_id is None else export.labels(PAIR.name)
    return rows.copy(form)


JSONL = Format(
    name="jsonl",
    description="JSON, an object a line: id, query, code, and name, language, rank, label, similarity...",
    containers=JSON,
    layouts=(TABLE,),
    unless=frozenset({"record", "action", "_server_id", "_task_hash", "annotation_id"}),
    write=partial(write_table, "jsonl"),
    carries="Every judgment and mark of all raters, with its item; or one rater's labels of pairs.",
    choices=frozenset({"rater", "policy", "sample", "study", "withdrawn", "split"}),
)
CSV = replace(
    JSONL,
    name="csv",
    description="CSV with a header: the same columns",
    containers=frozenset({"CSV"}),
    write=partial(write_table, "csv"),
    suffix=".csv",
)
PARQUET = replace(
    JSONL,
    name="parquet",
    description="Parquet: the same columns",
    containers=frozenset({"Parquet"}),
    write=partial(write_table, "parquet"),
    suffix=".parquet",
)
