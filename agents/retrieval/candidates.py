"""Candidate pairs: the best codes of each query by models or a lexical method (CoSQA+, section IV.B)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.jobs.work_progress import Pace, ReportWork, ignore_progress
from agents.retrieval.apart import search_apart
from agents.retrieval.mixed import read_by_members
from agents.retrieval.stored_texts import StoredTexts
from store.errors import WorkbenchError
from store.ingest.candidates import CandidatePairs
from store.queries.corpus import corpus_replaced, corpus_size, corpus_texts

if TYPE_CHECKING:
    import numpy

    from agents.retrieval.encoder import Encoder
    from agents.retrieval.lexical import LexicalRetriever
    from agents.retrieval.retriever import Retriever
    from agents.retrieval.vectors import VectorCache
    from store.workspace.duckdb import Workspace

    Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True)
class CorpusTexts:
    """The queries and codes of a workspace, apart from it, so that nothing keeps it open meanwhile.

    Attributes:
        query_ids: The ids of the queries, int64.
        queries: Their texts.
        code_ids: The ids of the codes, int64.
        codes: Their texts.
    """

    query_ids: Array
    queries: Sequence[str]
    code_ids: Array
    codes: Sequence[str]


def check_corpus(queries: int, codes: int) -> None:
    """Refuse to search without queries or codes.

    Raises:
        WorkbenchError: There are none.
    """
    for number, what in ((queries, "queries"), (codes, "codes")):
        if not number:
            raise WorkbenchError(
                f"No {what}",
                f"The workspace has no {what}.",
                "Import a corpus and queries first: workbench import WORKSPACE FILE",
            )


def corpus_apart(workspace: Workspace, report: ReportWork = ignore_progress) -> CorpusTexts:
    """Copy the queries and codes of a workspace to temporary files.

    Raises:
        WorkbenchError: There are no queries, or no codes.
    """
    import numpy

    with workspace.reading() as connection:
        numbers = corpus_size(connection)
    check_corpus(*numbers)
    ids: dict[str, list[int]] = {"query": [], "code": []}
    texts = {name: StoredTexts() for name in ids}
    pace = Pace("reading texts", sum(numbers), report)
    for table in ("query", "code"):
        for rows in corpus_texts(workspace, table):
            for number, text in rows:
                ids[table].append(number)
                texts[table].append(text)
            pace.add(len(rows))
    return CorpusTexts(numpy.array(ids["query"]), texts["query"], numpy.array(ids["code"]), texts["code"])


def refuse_other_corpus(workspace: Workspace, corpus: CorpusTexts) -> None:
    """Refuse a workspace in which ids stand for other texts than those that were compared.

    Raises:
        WorkspaceError: Its file was replaced meanwhile.
    """
    compared = {"query": (corpus.query_ids, corpus.queries), "code": (corpus.code_ids, corpus.codes)}
    cursor = workspace.native()
    try:
        for table, (ids, texts) in compared.items():
            known = dict(cursor.execute(f"SELECT id, text_hash FROM {table}").fetchall())
            for number, text in zip(ids.tolist(), texts, strict=True):
                if known.get(number) != hashlib.md5(text.encode(), usedforsecurity=False).hexdigest():
                    raise corpus_replaced()
    finally:
        cursor.close()


@dataclass(frozen=True)
class Candidates:
    """The candidates of all queries.

    Attributes:
        pairs: The pairs, with ranks and similarities.
        overlaps: For each model the share of the ensemble's codes of a query that are among its own, as a
            mean over the queries (Table I); empty where there is one model only.
        truncated: How many queries and codes were longer than each model reads.
    """

    pairs: CandidatePairs
    overlaps: dict[str, float]
    truncated: dict[str, tuple[int, int]]


def find_candidates(
    corpus: CorpusTexts,
    members: Sequence[Encoder | LexicalRetriever],
    cache: VectorCache,
    *,
    top: int = 20,
    combine: str = "mean",
    report: ReportWork = ignore_progress,
) -> Candidates:
    """Return for each query the best codes by the mean of the methods' similarities, or of their z-scores.

    Args:
        corpus: The texts.
        members: The models and lexical methods.
        cache: The vectors that are known; those that are not are encoded and added.
        top: Codes of each query.
        combine: "mean" or "z".
        report: Receives the progress.

    Raises:
        WorkbenchError: See `agents.retrieval.dense.encode_corpus`.
    """
    encoded = read_by_members(members, cache, corpus.queries, corpus.codes, report)
    overlaps = {}
    if len(members) == 1:
        found = encoded.search(top, combine, report)
    else:
        found, each = encoded.search_each(top, combine, report)
        for name, own in zip(encoded.models, each, strict=True):
            overlaps[name] = overlap(own, found.ranking.codes)
    return Candidates(
        _pairs(corpus, found.ranking.codes, found.similarities, encoded.models),
        overlaps,
        dict(zip(encoded.models, encoded.truncated, strict=True)),
    )


def find_by_method(
    corpus: CorpusTexts, retriever: Retriever, *, top: int = 20, report: ReportWork = ignore_progress
) -> Candidates:
    """Return for each query the best codes by a lexical method, whose scores are the similarities."""
    found = search_apart(retriever, corpus.queries, corpus.codes, top, report)
    return Candidates(_pairs(corpus, found.codes, found.scores[:, :, None], [retriever.name]), {}, {})


def overlap(own: Array, ensemble: Array) -> float:
    """Return the share of the ensemble's codes that are among a model's own, as a mean over the queries.

    Args:
        own: The model's codes, of shape (queries, top); -1 for none.
        ensemble: The ensemble's codes, of the same shape.
    """
    import numpy

    # Each query's codes apart from those of all others, so that all can be looked up at once.
    apart = numpy.arange(len(ensemble))[:, None] * (int(max(own.max(), ensemble.max())) + 1)
    shared = numpy.isin((ensemble + apart)[ensemble >= 0], (own + apart)[own >= 0])
    return float(shared.sum() / max(1, (ensemble >= 0).sum()))


def _pairs(corpus: CorpusTexts, codes: Array, similarities: Array, models: Sequence[str]) -> CandidatePairs:
    import numpy

    rows, columns = numpy.nonzero(codes >= 0)
    return CandidatePairs(
        corpus.query_ids[rows],
        corpus.code_ids[codes[rows, columns]],
        columns + 1,
        similarities[rows, columns],
        models,
    )
