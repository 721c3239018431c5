"""Adds pairs that methods find and nobody judged to a workspace, to be labelled (CoSQA+, section VI.A)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from store.ingest.candidates import CandidatePairs, add_candidates
from store.queries.corpus import ids_by_hash
from store.queries.sources import pairs_of_source

if TYPE_CHECKING:
    from agents.retrieval.retriever import Ranking
    from store.measures.ranking import Qrels
    from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class UnjudgedAdded:
    """The number of unjudged pairs, and of those that were added.

    Attributes:
        pairs: How many such pairs there are.
        added: Those of them that are items now, and were none.
        known: Those that were items already.
        source: The name of the source of what is added, now or by the same call before.
        of_source: Those of the pairs that are items of this source; the others came in otherwise.
    """

    pairs: int
    added: int
    known: int
    source: str
    of_source: int


def add_unjudged(
    workspace: Workspace,
    qrels: Qrels,
    rankings: Mapping[str, Ranking],
    *,
    queries: Sequence[str],
    codes: Sequence[str],
    depth: int,
) -> UnjudgedAdded:
    """Add the pairs without a label among the first codes of each method, as items of the kind `pair`.

    A pair has the best rank that a method gave it, and the score of each method that ranked it as a
    similarity. Queries and codes are named by the MD5 of their texts, as in exports.

    Queries are in the order of the rankings' rows, codes in that of their places.

    Raises:
        WorkspaceError: The workspace is a packet or could not be written.
    """
    import numpy

    best: dict[tuple[int, int], int] = {}
    for ranking in rankings.values():
        for query, row in enumerate(ranking.codes[:, :depth].tolist()):
            judged = qrels.get(queries[query], {})
            for rank, code in enumerate(row, start=1):
                if code >= 0 and codes[code] not in judged:
                    best[query, code] = min(rank, best.get((query, code), rank))
    pairs = sorted(best, key=lambda pair: (pair[0], best[pair], pair[1]))
    similarities = numpy.full((len(pairs), len(rankings)), numpy.nan)
    of_query: dict[int, list[int]] = defaultdict(list)
    for place, (query, _) in enumerate(pairs):
        of_query[query].append(place)
    for query, places in of_query.items():
        wanted = numpy.array([pairs[place][1] for place in places])
        for method, ranking in enumerate(rankings.values()):
            number, column = numpy.nonzero(wanted[:, None] == ranking.codes[query])
            similarities[places[0] + number, method] = ranking.scores[query, column]
    source = f"unjudged in the first {depth} of {', '.join(rankings)}"
    query_ids = ids_by_hash(workspace, "query", {queries[query] for query, _ in pairs})
    code_ids = ids_by_hash(workspace, "code", {codes[code] for _, code in pairs})
    ids = [(query_ids[queries[query]], code_ids[codes[code]]) for query, code in pairs]
    both = numpy.array(ids, dtype=numpy.int64).reshape(-1, 2)
    given = CandidatePairs(
        both[:, 0].copy(),
        both[:, 1].copy(),
        numpy.array([best[pair] for pair in pairs], dtype=numpy.int64),
        similarities,
        list(rankings),
    )
    added = add_candidates(workspace, given, source)
    with workspace.reading() as connection:
        of_source = len(pairs_of_source(connection, source).intersection(ids))
    return UnjudgedAdded(len(pairs), added.added, added.known, source, of_source)
