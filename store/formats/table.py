"""Plain tables of pairs: JSON lines, CSV and Parquet with the columns id, query, code and optional ones.

Written without a rater they hold the full record (store.formats.columns.RECORD_COLUMNS), which the format
`judgments` reads back; with one, that rater's current labels (LABEL_COLUMNS), which this format reads back.
CSV is written as RFC 4180 has it: nothing is put before a text that begins with `=`, so a spreadsheet may
take such a cell for a formula; open it as text there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from store.events import Progress
from store.formats.columns import copy_to, count, labels, records, written_labels
from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, Export, Format, Written
from store.kinds.pair import MATCH

LABEL_VALUES = tuple(value.value for value in MATCH.scale.values)

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
        Field("label", ("label",), "number", values=LABEL_VALUES),
        Field("scores", ("similarity",), "scores"),
        Field("extra", ("extra",), "object"),
    ),
)


def write_table(form: str, export: Export) -> Written:
    """Write the full record, or one rater's labels, as a table.

    Args:
        form: `jsonl`, `csv` or `parquet`.
        export: What to write, and where.
    """
    cursor = export.cursor
    if export.rater_id is None:
        selected = records(cursor)
        written = Written(
            count(cursor, "SELECT (SELECT count(*) FROM judgment) + (SELECT count(*) FROM mark)")
        )
    else:
        selected = labels(cursor, export.rater_id)
        written = written_labels(cursor)
    export.progress(Progress("writing", 0, written.records))
    copy_to(cursor, selected, export.target, form)
    export.progress(Progress("writing", written.records, written.records))
    return written


JSONL = Format(
    name="jsonl",
    description="JSON, an object a line: id, query, code, and name, language, rank, label, similarity...",
    containers=JSON,
    layouts=(TABLE,),
    unless=frozenset({"record", "action"}),
    write=partial(write_table, "jsonl"),
)
CSV = replace(
    JSONL,
    name="csv",
    description="CSV with a header: the same columns",
    containers=frozenset({"CSV"}),
    write=partial(write_table, "csv"),
)
PARQUET = replace(
    JSONL,
    name="parquet",
    description="Parquet: the same columns",
    containers=frozenset({"Parquet"}),
    write=partial(write_table, "parquet"),
)
