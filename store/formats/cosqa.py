"""CoSQA: a JSON array of `idx`, `doc` (the web query), `code`, tokens of both, and mostly `label`."""

from __future__ import annotations

import json

from store.events import Progress
from store.formats.columns import LABEL_COLUMNS, labels, written_labels
from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, Export, Format, Written
from store.formats.table import LABEL_VALUES

_OWN = ("idx", "doc", "code", "label")
_BATCH = 5_000


def write_cosqa(export: Export) -> Written:
    """Write one rater's current labels as CoSQA records, with the fields that an import kept."""
    assert export.rater_id is not None
    cursor = export.cursor
    selected = labels(cursor, export.rater_id)
    told = written_labels(cursor)
    places = [LABEL_COLUMNS.index(name) for name in ("id", "query", "code", "label", "extra")]
    rows = cursor.execute(selected)
    written = 0
    with export.target.open("w", encoding="utf-8", newline="\n") as file:
        while batch := rows.fetchmany(_BATCH):
            for row in batch:
                idx, doc, code, label, extra = (row[place] for place in places)
                kept = {name: value for name, value in json.loads(extra).items() if name not in _OWN}
                record = {"idx": idx, "doc": doc, "code": code, **kept, "label": label}
                file.write(("[\n " if written == 0 else ",\n ") + json.dumps(record, ensure_ascii=False))
                written += 1
            export.progress(Progress("writing", written, told.records))
        file.write("\n]\n")
    return told


COSQA = Format(
    name="cosqa",
    description="CoSQA: JSON array of idx, doc, code, code_tokens, docstring_tokens, label",
    containers=JSON,
    layouts=(
        Layout(
            "pair",
            (
                Field("external_id", ("idx",), "id", required=True),
                Field("query", ("doc",), required=True, filled=True),
                Field("code", ("code",), required=True, filled=True),
                Field("label", ("label",), "number", values=LABEL_VALUES),
            ),
        ),
    ),
    write=write_cosqa,
    needs_rater=True,
)
