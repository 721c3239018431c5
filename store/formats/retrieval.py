"""Retrieval benchmarks of pairs: the BEIR folder, CoIR's two data sets, and qrels as TREC has them.

A query and a code are named by the MD5 of their texts, so that the ids are the same in every export. A judged
pair that does not match is in the qrels with 0; what nobody judged is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, Export, Format, Rows, WriteResult

WHOLE = "test"
"""The name of the only part of an export without a split: what evaluation libraries look for."""
PROVENANCE = "provenance.jsonl"
"""The file with every person's label of the pairs, which no evaluation library reads."""


def write_beir(export: Export) -> WriteResult:
    """Write corpus.jsonl, queries.jsonl, qrels/PART.tsv, provenance.jsonl, and the card that MTEB reads."""
    pairs, parts = export.graded(), _parts(export)
    (export.target / "qrels").mkdir()
    for name, part in parts.items():
        with _text(export.target / "qrels" / f"{name}.tsv") as file:
            file.write("query-id\tcorpus-id\tscore\n")
            for query, code, label in _qrels(pairs, part):
                file.write(f"{query}\t{code}\t{label}\n")
        # A data set of the hub has one sort of files, so MTEB gets them as JSON, too.
        with _text(export.target / "qrels" / f"{name}.jsonl") as file:
            for query, code, label in _qrels(pairs, part):
                file.write(_line({"query-id": query, "corpus-id": code, "score": label}))
    with _text(export.target / "queries.jsonl") as file:
        for batch in export.query_texts():
            for key, text, _ in batch:
                file.write(_line({"_id": key, "text": text}))
    with _text(export.target / "corpus.jsonl") as file:
        for batch in export.corpus_texts():
            for key, text, title in batch:
                file.write(_line({"_id": key, "title": title, "text": text}))
    _readme(
        export.target,
        {
            "default": {name: f"qrels/{name}.jsonl" for name in parts},
            "queries": {"queries": "queries.jsonl"},
            "corpus": {"corpus": "corpus.jsonl"},
        },
    )
    export.graded_provenance().copy("jsonl", file=export.target / PROVENANCE)
    return pairs.written


def write_coir(export: Export) -> WriteResult:
    """Write queries-corpus and qrels, each a data set of the Hugging Face hub, and provenance.jsonl."""
    pairs, parts = export.graded(), _parts(export)
    texts, graded = export.target / "queries-corpus", export.target / "qrels"
    for folder in (texts, graded):
        folder.mkdir()
    for name, part in parts.items():
        with _text(graded / f"{name}.jsonl") as file:
            for query, code, label in _qrels(pairs, part):
                file.write(_line({"query_id": query, "corpus_id": code, "score": label}))
    with _text(texts / "queries.jsonl") as file:
        for batch in export.query_texts():
            for key, text, part in batch:
                file.write(_line(_entry(key, text, part or WHOLE)))
    with _text(texts / "corpus.jsonl") as file:
        for batch in export.corpus_texts():
            for key, text, title in batch:
                file.write(_line(_entry(key, text, "", title)))
    _readme(texts, {"default": {name: f"{name}.jsonl" for name in ("queries", "corpus")}})
    _readme(graded, {"default": {name: f"{name}.jsonl" for name in parts}})
    export.graded_provenance().copy("jsonl", file=export.target / PROVENANCE)
    return pairs.written


def write_trec_qrels(export: Export) -> WriteResult:
    """Write the labels as `query 0 code label`, of all parts that are wanted."""
    pairs = export.graded()
    with _text(export.target) as file:
        for part in _parts(export).values():
            for query, code, label in _qrels(pairs, part):
                file.write(f"{query} 0 {code} {label}\n")
    return pairs.written


def _parts(export: Export) -> dict[str, str | None]:
    """Return the names of the parts that are written, with the part of the split that each is."""
    return {part: part for part in export.parts} or {WHOLE: None}


def _qrels(pairs: Rows, part: str | None) -> Iterator[tuple[str, str, int]]:
    """Yield the pairs of a part: query, code and label."""
    for batch in pairs.of("query", "code", "label", part=part):
        yield from batch


def _entry(key: str, text: str, part: str, title: str = "") -> dict[str, Any]:
    """Return a query or a code as CoIR has it."""
    return {
        "_id": key,
        "title": title,
        "partition": part,
        "text": text,
        "language": "",
        "meta_information": {},
    }


def _readme(folder: Path, files: Mapping[str, Mapping[str, str]]) -> None:
    """Write the card that says which file is which split of which configuration."""
    lines = ["---", "configs:"]
    for name, splits in files.items():
        lines += [f"- config_name: {name}", "  data_files:"]
        for split, path in splits.items():
            # Quoted, since `no`, `null` and `1` are no texts in YAML.
            lines += [f'  - split: "{split}"', f"    path: {path}"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")


def _text(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


BEIR = Format(
    name="beir",
    description="BEIR and MTEB: corpus.jsonl, queries.jsonl, qrels/PART.tsv",
    containers=JSON | {"CSV"},
    layouts=(
        Layout(
            "pair",
            (
                Field("query_ref", ("query-id",), "id", required=True),
                Field("code_ref", ("corpus-id",), "id", required=True),
                Field("relevance", ("score",), "number", required=True),
            ),
            joined_id=("query_ref", "code_ref"),
        ),
        Layout(
            "query",
            (
                Field("ref", ("_id",), "id", required=True),
                Field("query", ("text",), required=True, filled=True),
            ),
            extra=False,
            file="queries.",
        ),
        Layout(
            "code",
            (
                Field("ref", ("_id",), "id", required=True),
                Field("code", ("text",), required=True, filled=True),
            ),
            extra=False,
            file="corpus.",
        ),
    ),
    write=write_beir,
    carries="A retrieval benchmark for BEIR and MTEB: queries, codes and graded pairs.",
    suffix="",
    opened_by='datasets.load_dataset("{path}", "queries")',
    needs_rater=True,
    folder=True,
    choices=frozenset({"rater", "policy", "question", "sample", "study", "split", "corpus", "comments"}),
    holds=("graded pair", "graded pairs"),
    published=True,
)
COIR = replace(
    BEIR,
    name="coir",
    layouts=(),
    description="CoIR: the data sets queries-corpus and qrels",
    write=write_coir,
    carries="A retrieval benchmark for CoIR: queries, codes and graded pairs.",
    opened_by='datasets.load_dataset("{path}/queries-corpus", "queries")',
)
TREC_QRELS = replace(
    BEIR,
    name="trec-qrels",
    layouts=(),
    description="TREC: query 0 code label, a line for each graded pair",
    write=write_trec_qrels,
    carries="Graded pairs, one a line, for TREC's tools.",
    suffix=".txt",
    opened_by='ir_measures.read_trec_qrels("{path}")',
    folder=False,
    choices=BEIR.choices - {"corpus", "comments"},
    published=False,
)
