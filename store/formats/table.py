"""Plain tables of pairs: JSON lines, CSV, Parquet and spreadsheets.

CSV, Parquet and spreadsheets are written with a row for each pair and who decided its label: the imported
file with its own columns, where one is kept. JSON lines hold the full record without a rater
(store.export.records.RECORD_COLUMNS), which the format `judgments` reads back; with one, that rater's current
labels, which this format reads back.
CSV is written as RFC 4180 has it: nothing is put before a text that begins with `=`, so a spreadsheet may
take such a cell for a formula; open it as text there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, LABEL_CHOICES, Export, Format, WriteResult
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


def write_lines(export: Export) -> WriteResult:
    """Write the full record, or one rater's labels, as JSON lines."""
    rows = export.record() if export.rater_id is None else export.labels(PAIR.name)
    return rows.copy("jsonl")


def write_table(form: Literal["csv", "parquet", "xlsx"], export: Export) -> WriteResult:
    """Write the pairs with their labels as a table."""
    return export.table(form)


JSONL = Format(
    name="jsonl",
    description="JSON, an object a line: id, query, code, and name, language, rank, label, similarity...",
    containers=JSON,
    layouts=(TABLE,),
    unless=frozenset({"record", "action", "_server_id", "_task_hash", "annotation_id"}),
    write=write_lines,
    carries="Every judgment and mark of all raters, with its item; or one rater's labels of pairs.",
    choices=frozenset({"rater", "policy", "sample", "study", "withdrawn", "split"}),
)
CSV = replace(
    JSONL,
    name="csv",
    description="CSV with a header: the same columns",
    containers=frozenset({"CSV"}),
    write=partial(write_table, "csv"),
    carries="Your own table, with the label of each pair and who decided it.",
    choices=LABEL_CHOICES | {"comments", "file"},
    holds=("row", "rows"),
    leaves_out=("pair that is not in the file", "pairs that are not in the file"),
    suffix=".csv",
)
PARQUET = replace(
    CSV,
    name="parquet",
    description="Parquet: the same columns",
    containers=frozenset({"Parquet"}),
    write=partial(write_table, "parquet"),
    suffix=".parquet",
)
XLSX = replace(
    CSV,
    name="xlsx",
    description="a spreadsheet: the same columns; .xlsx and .ods files are read as csv",
    layouts=(),
    write=partial(write_table, "xlsx"),
    suffix=".xlsx",
    opened_by="workbench import NEW.duckdb {path}",
)

_ENDINGS: dict[str, Literal["jsonl", "csv", "parquet"]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".csv": "csv",
}


def form_of(name: str, default: Literal["jsonl", "csv", "parquet"]) -> Literal["jsonl", "csv", "parquet"]:
    """Return how records are stored in a file of a name, by its ending."""
    return next((form for end, form in _ENDINGS.items() if name.lower().endswith(end)), default)
