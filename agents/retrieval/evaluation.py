"""Retrieval benchmarks: reads a BEIR folder, and has retrievers rank its codes for its judged queries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.jobs.work_progress import ReportWork, ignore_progress
from agents.retrieval.retriever import Ranking, Retriever
from agents.retrieval.stored_texts import StoredTexts
from store.errors import EmptyFile, ImportFailed
from store.formats.trec import read_qrels

MOST_BYTES = 64 * 1024 * 1024
"""The bytes of a line of a corpus."""


@dataclass(frozen=True, slots=True)
class NamedTexts:
    """The texts of a JSON lines file of BEIR.

    Attributes:
        ids: The id of each text, in the order of the file.
    """

    ids: Sequence[str]
    texts: StoredTexts


def read_texts(path: Path, *, titles: bool) -> NamedTexts:
    """Read a file of texts.

    Args:
        path: The file.
        titles: Whether a text begins with its title, as BEIR's own programs have it.

    Raises:
        ImportFailed: It cannot be read, a line is no text with an id, an id is there twice, or it is empty.
    """
    found: dict[str, None] = {}
    texts = StoredTexts()

    def refused(number: int, why: str) -> ImportFailed:
        return ImportFailed("Not a BEIR folder", f"{path}:{number}: {why}", "Correct the line.")

    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MOST_BYTES + 1):
                number += 1
                if not line.strip():
                    continue
                if len(line) > MOST_BYTES:
                    raise refused(number, f"the line has more than {MOST_BYTES:,} bytes")
                try:
                    record: Any = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise refused(number, f"the line is no JSON object ({error})") from error
                fields = record if isinstance(record, dict) else {}
                name, text, title = (fields.get(key) for key in ("_id", "text", "title"))
                if not isinstance(name, str) or not isinstance(text, str):
                    raise refused(number, "the line is no object with the texts _id and text")
                if name in found:
                    raise refused(number, f"the id {name!r} is there already")
                found[name] = None
                texts.append(f"{title} {text}" if titles and isinstance(title, str) and title else text)
    except OSError as error:
        why = error.strerror or error
        raise ImportFailed(
            "Cannot read file", f"{path}: {why}", "A BEIR folder has corpus.jsonl, queries.jsonl and qrels."
        ) from error
    if not found:
        raise EmptyFile("Empty file", f"{path} holds no texts.", "Check where it came from.")
    return NamedTexts(tuple(found), texts)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A retrieval benchmark.

    Attributes:
        queries: The judged queries: the text of each id.
        qrels: The grades of the part that is evaluated.
        part: The name of that part.
    """

    queries: Mapping[str, str]
    codes: NamedTexts
    qrels: Mapping[str, Mapping[str, float]]
    part: str


def read_beir(folder: Path, *, part: str | None = None, titles: bool = True) -> Benchmark:
    """Read a BEIR folder: corpus.jsonl, queries.jsonl and qrels/PART.tsv.

    Args:
        folder: The folder.
        part: The part of the judgments; None for `test`, or the only one.
        titles: Whether titles of codes are searched, too.

    Raises:
        ImportFailed: A file cannot be read, or a judged query or code is not there.
    """
    parts = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    chosen = part or (next(iter(parts)) if len(parts) == 1 else "test")
    if chosen not in parts:
        raise ImportFailed(
            "No judgments",
            f"{folder} has no qrels/{chosen}.tsv.",
            f"Parts: {', '.join(parts)}; choose one: --part NAME."
            if parts
            else "BEIR has one for each part.",
        )
    qrels = read_qrels(parts[chosen])
    asked = read_texts(folder / "queries.jsonl", titles=False)
    queries = {name: text for name, text in zip(asked.ids, asked.texts, strict=True) if name in qrels}
    codes = read_texts(folder / "corpus.jsonl", titles=titles)
    known = set(codes.ids)
    lost = [query for query in qrels if query not in queries]
    gone = [code for grades in qrels.values() for code in grades if code not in known]
    for what, file, names in (("query", "queries", lost), ("code", "corpus", gone)):
        if names:
            raise ImportFailed(
                "Judged, but not there",
                f"{parts[chosen]} judges the {what} {names[0]!r}, which {file}.jsonl does not have "
                f"({len(names):,} in all).",
                "Every judged query and code needs its text.",
            )
    return Benchmark(queries, codes, qrels, chosen)


def rank_codes(
    benchmark: Benchmark, retriever: Retriever, top: int, report: ReportWork = ignore_progress
) -> Ranking:
    """Return the best codes of each judged query, in the order of the queries, by a retriever."""
    codes = benchmark.codes
    return retriever.search(list(benchmark.queries.values()), codes.texts, min(top, len(codes.ids)), report)


def run_of(benchmark: Benchmark, ranking: Ranking) -> dict[str, list[str]]:
    """Return the codes that a retriever found for each judged query, as ids."""
    return dict(zip(benchmark.queries, _named(ranking, benchmark.codes.ids), strict=True))


def _named(ranking: Ranking, ids: Sequence[str]) -> Iterator[list[str]]:
    for row in ranking.codes:
        yield [ids[place] for place in row.tolist() if place >= 0]
