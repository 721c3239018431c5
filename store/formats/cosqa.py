"""CoSQA: a JSON array of `idx`, `doc` (the web query), `code`, tokens of both, and mostly `label`."""

from __future__ import annotations

import json

from store.events import Progress
from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, Export, Format, WriteResult
from store.formats.table import LABEL_VALUES
from store.kinds.pair import PAIR

_OWN = ("idx", "doc", "code", "label")


def write_cosqa(export: Export) -> WriteResult:
    """Write one rater's current labels as CoSQA records, with their extra fields."""
    labels = export.labels(PAIR.name)
    written = 0
    with export.target.open("w", encoding="utf-8", newline="\n") as file:
        for batch in labels.of("id", "query", "code", "label", "extra"):
            for idx, doc, code, label, extra in batch:
                kept = {name: value for name, value in json.loads(extra).items() if name not in _OWN}
                record = {"idx": idx, "doc": doc, "code": code, **kept, "label": label}
                file.write(("[\n " if written == 0 else ",\n ") + json.dumps(record, ensure_ascii=False))
                written += 1
            export.progress(Progress("writing", written, labels.written.records))
        file.write("\n]\n")
    return labels.written


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
    carries="Pairs with one rater's labels, as CoSQA's JSON.",
    suffix=".json",
    needs_rater=True,
)
