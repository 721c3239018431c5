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

from store.errors import ExportFailed
from store.events import Progress
from store.formats.protocol import JSON, Export, Format, WriteResult

WHOLE = "test"
"""The name of the only part of an export without a split: what evaluation libraries look for."""


def write_beir(export: Export) -> WriteResult:
    """Write corpus.jsonl, queries.jsonl, qrels/PART.tsv, and the card by which MTEB finds them."""
    qrels = _Qrels(export)
    (export.target / "qrels").mkdir()
    for part in qrels.parts:
        with _text(export.target / "qrels" / f"{part}.tsv") as file:
            file.write("query-id\tcorpus-id\tscore\n")
            for query, code, label in qrels.of(part):
                file.write(f"{query}\t{code}\t{label}\n")
        # A data set of the hub has one sort of files, so MTEB gets them as JSON, too.
        with _text(export.target / "qrels" / f"{part}.jsonl") as file:
            for query, code, label in qrels.of(part):
                file.write(_line({"query-id": query, "corpus-id": code, "score": label}))
    with _text(export.target / "queries.jsonl") as file:
        for key, text, _ in qrels.queries():
            file.write(_line({"_id": key, "text": text}))
    with _text(export.target / "corpus.jsonl") as file:
        for batch in export.corpus_texts():
            for key, text, title in batch:
                file.write(_line({"_id": key, "title": title, "text": text}))
    _readme(
        export.target,
        {
            "default": {part: f"qrels/{part}.jsonl" for part in qrels.parts},
            "queries": {"queries": "queries.jsonl"},
            "corpus": {"corpus": "corpus.jsonl"},
        },
    )
    return WriteResult(qrels.written)


def write_coir(export: Export) -> WriteResult:
    """Write the folders queries-corpus and qrels, each a data set of the Hugging Face hub."""
    qrels = _Qrels(export)
    texts, graded = export.target / "queries-corpus", export.target / "qrels"
    for folder in (texts, graded):
        folder.mkdir()
    for part in qrels.parts:
        with _text(graded / f"{part}.jsonl") as file:
            for query, code, label in qrels.of(part):
                file.write(_line({"query_id": query, "corpus_id": code, "score": label}))
    with _text(texts / "queries.jsonl") as file:
        for key, text, part in qrels.queries():
            file.write(_line(_entry(key, text, part)))
    with _text(texts / "corpus.jsonl") as file:
        for batch in export.corpus_texts():
            for key, text, title in batch:
                file.write(_line(_entry(key, text, "", title)))
    _readme(texts, {"default": {name: f"{name}.jsonl" for name in ("queries", "corpus")}})
    _readme(graded, {"default": {part: f"{part}.jsonl" for part in qrels.parts}})
    return WriteResult(qrels.written)


def write_trec_qrels(export: Export) -> WriteResult:
    """Write the labels as `query 0 code label`, of all parts that are wanted."""
    qrels = _Qrels(export)
    with _text(export.target) as file:
        for part in qrels.parts:
            for query, code, label in qrels.of(part):
                file.write(f"{query} 0 {code} {label}\n")
    return WriteResult(qrels.written)


class _Qrels:
    """The graded pairs of an export, by part.

    Of pairs with the same query and code the highest label counts.

    Args:
        export: The export.

    Raises:
        ExportFailed: The labels are not of pairs, or are no whole numbers.
    """

    def __init__(self, export: Export) -> None:
        self.parts = tuple(export.parts) or (WHOLE,)
        self.written = 0
        self._labels: dict[str, dict[tuple[str, str], int]] = {part: {} for part in self.parts}
        self._texts: dict[str, tuple[str, str]] = {}
        rows = export.labelled(provenance=False)
        kind = export.described()["kind"]
        if kind != "pair":
            raise ExportFailed(
                "No pairs",
                f"A retrieval benchmark holds pairs; the labels are of {export.described()['plural']}.",
                "Use --format hugging-face, or --question pair.match.",
            )
        done = 0
        for batch in rows.of("query_key", "query", "code_key", "label", "part"):
            for query, text, code, label, part in batch:
                if label != int(label):
                    raise ExportFailed(
                        "Not whole", f"A qrel is a whole number, and not {label:g}.", "Use --policy majority."
                    )
                graded = self._labels[part or WHOLE]
                graded[query, code] = max(graded.get((query, code), int(label)), int(label))
                self._texts.setdefault(query, (text, part or WHOLE))
            done += len(batch)
            export.progress(Progress("reading", done, rows.written.records))
        self.written = sum(map(len, self._labels.values()))

    def of(self, part: str) -> Iterator[tuple[str, str, int]]:
        """Yield the pairs of a part: query, code and label."""
        for (query, code), label in self._labels[part].items():
            yield query, code, label

    def queries(self) -> Iterator[tuple[str, str, str]]:
        """Yield the queries: key, text and part."""
        for key, (text, part) in self._texts.items():
            yield key, text, part


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
    containers=JSON,
    layouts=(),
    write=write_beir,
    needs_rater=True,
    folder=True,
    choices=frozenset({"rater", "policy", "sample", "study", "split", "corpus"}),
    holds=("graded pair", "graded pairs"),
)
COIR = replace(
    BEIR, name="coir", description="CoIR: the data sets queries-corpus and qrels", write=write_coir
)
TREC_QRELS = replace(
    BEIR,
    name="trec-qrels",
    description="TREC: query 0 code label, a line for each graded pair",
    write=write_trec_qrels,
    folder=False,
    choices=BEIR.choices - {"corpus"},
)
