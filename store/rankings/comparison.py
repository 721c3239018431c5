"""Two methods compared query by query, and their rankings of one query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from store.formatting import in_list
from store.measures.ranking import PRESETS, RankingScores
from store.rankings.labels import Grades, LabelSource, read_grades
from store.rankings.rankings import list_rankings, rankings_named, read_judged
from store.tables.columns import among, table_of
from store.tables.imported import Code, Pair, Query
from store.tables.retrieval import RetrievalHit

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

_HEAD = 1_000
"""Characters of a code in which its first line is looked for."""
LEVEL = 1
"""The least grade of a relevant code."""


@dataclass(frozen=True, slots=True)
class MethodPair:
    """Which two methods are compared, and how.

    Attributes:
        source: Whose labels count as true.
        preset: The name of how a benchmark measures.
        methods: The two.
    """

    source: LabelSource
    preset: str
    methods: tuple[str, str]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of `workbench report WORKSPACE` that print the comparison."""
        compared = in_list(self.methods)
        return ("retrieval", *self.source.arguments, "--preset", self.preset, "--compare", compared)


@dataclass(frozen=True, slots=True)
class QueryScore:
    """What two methods have of a query.

    Attributes:
        query: The MD5 of its text.
        text: Its text.
        first: The measure of the first method.
        second: That of the second.
    """

    query: str
    text: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """The first less the second."""
        return self.first - self.second


@dataclass(frozen=True, slots=True)
class Tally:
    """On how many queries each of two methods is better.

    Attributes:
        first_better: On how many the first is better.
        second_better: On how many the second is.
        equal: On how many neither is.
        difference: The mean of the first less the second; 0 without queries.
    """

    first_better: int
    second_better: int
    equal: int
    difference: float


def tally(rows: Sequence[QueryScore]) -> Tally:
    """Count on how many queries each of two methods is better."""
    first, second = (sum(sign * row.difference > 0 for row in rows) for sign in (1, -1))
    mean = sum(row.difference for row in rows) / max(len(rows), 1)
    return Tally(first, second, len(rows) - first - second, mean)


@dataclass(frozen=True, slots=True)
class QueryComparison:
    """Two methods, query by query.

    Attributes:
        asked: Which two, and how.
        stored: All methods with a ranking.
        texts: The text of each query that counts for both.
        scores: The measures of the two.
    """

    asked: MethodPair
    stored: tuple[str, ...]
    texts: Mapping[str, str]
    scores: tuple[RankingScores, RankingScores]
    grades: Grades

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that there are."""
        return PRESETS[self.asked.preset].measures

    def by_query(self, measure: str) -> list[QueryScore]:
        """Return what both have of each query in a measure, where the first is better at first."""
        first, second = (
            dict(zip(one.queries, one.values[measure].tolist(), strict=True)) for one in self.scores
        )
        rows = [QueryScore(query, text, first[query], second[query]) for query, text in self.texts.items()]
        return sorted(rows, key=lambda row: -row.difference)


@dataclass(frozen=True, slots=True)
class ComparedQueries:
    """Queries in an order in which they are gone through.

    Attributes:
        comparison: The two methods.
    """

    comparison: QueryComparison
    measure: str
    rows: Sequence[QueryScore]


def compare_by_query(connection: Connection, asked: MethodPair) -> QueryComparison:
    """Measure the rankings of two methods query by query.

    Raises:
        WorkbenchError: There is no ranking, or no such label.
        UnknownName: There is no ranking of a method, or no such rater, policy, split or part.
    """
    rankings = rankings_named(connection, asked.methods)
    grades = read_grades(connection, asked.source)
    rules = PRESETS[asked.preset]
    runs = read_judged(connection, rankings, grades.qrels)
    first, second = (
        rules.scores(grades.qrels, runs[method], level=LEVEL, complete=False) for method in asked.methods
    )
    both = set(second.queries)
    kept = [query for query in first.queries if query in both]
    return QueryComparison(
        asked,
        tuple(one.method for one in list_rankings(connection)),
        _texts(connection, kept),
        (first, second),
        grades,
    )


def _texts(connection: Connection, queries: list[str]) -> dict[str, str]:
    """Return the texts of queries, in their order."""
    query = table_of(Query)
    found = select(query.c.text_hash, func.min(query.c.text)).group_by(query.c.text_hash)
    known = {row[0]: row[1] for row in connection.execute(found)}
    return {name: known[name] for name in queries}


@dataclass(frozen=True, slots=True)
class RankedCode:
    """A code in the ranking of a method, or a relevant one that the ranking lacks.

    Attributes:
        rank: Its rank, from 1; None where the ranking lacks it.
        code: The MD5 of its text.
        title: Its name, else its first line with anything on it.
        score: What the method gave it; None likewise.
        other: Its rank in the ranking of the other method; None where that lacks it.
        item: The pair of the query and the code; None where there is none.
    """

    rank: int | None
    code: str
    title: str
    score: float | None
    other: int | None
    item: int | None


def ranked_codes(
    connection: Connection, query: str, methods: tuple[str, str], relevant: Collection[str]
) -> tuple[list[RankedCode], list[RankedCode]]:
    """Return the codes that each of two methods has for a query, best first, then what it lacks.

    The query and the relevant codes are the MD5 of their texts.

    Raises:
        UnknownName: There is no ranking of a method.
    """
    keys = [one.id for one in rankings_named(connection, methods)]
    hit, asked, code = (table_of(one) for one in (RetrievalHit, Query, Code))
    number = select(func.min(asked.c.id)).where(asked.c.text_hash == query).scalar_subquery()
    wanted = select(hit.c.retrieval_id, hit.c.rank, hit.c.code_id, hit.c.score).where(
        hit.c.retrieval_id.in_(keys), hit.c.query_id == number
    )
    hits: dict[int, list[tuple[int, int, float]]] = {key: [] for key in keys}
    for key, *one in connection.execute(wanted.order_by(hit.c.rank)):
        hits[key].append((one[0], one[1], one[2]))
    lacking = select(func.min(code.c.id)).where(code.c.text_hash.in_(relevant)).group_by(code.c.text_hash)
    judged = set(connection.execute(lacking).scalars()) if relevant else set()
    found = {code_id for rows in hits.values() for _, code_id, _ in rows}
    shown = _codes(connection, query, found | judged)
    ranks = {key: {code_id: rank for rank, code_id, _ in rows} for key, rows in hits.items()}
    lists = []
    for own, other in (keys, keys[::-1]):
        rows = [
            RankedCode(rank, *shown[code_id][:2], score, ranks[other].get(code_id), shown[code_id][2])
            for rank, code_id, score in hits[own]
        ]
        rows += [
            RankedCode(None, *shown[code_id][:2], None, ranks[other].get(code_id), shown[code_id][2])
            for code_id in sorted(judged - ranks[own].keys())
        ]
        lists.append(rows)
    first, second = lists
    return first, second


def _codes(
    connection: Connection, query: str, codes: Collection[int]
) -> dict[int, tuple[str, str, int | None]]:
    """Return the MD5, the title and the pair with a query of each code."""
    asked, code, pair = (table_of(one) for one in (Query, Code, Pair))
    same = code.alias("same")
    items = (
        select(same.c.text_hash, func.min(pair.c.item_id).label("item"))
        .select_from(pair.join(asked, asked.c.id == pair.c.query_id).join(same, same.c.id == pair.c.code_id))
        .where(asked.c.text_hash == query)
        .group_by(same.c.text_hash)
        .subquery("items")
    )
    rows = connection.execute(
        select(code.c.id, code.c.text_hash, code.c.name, func.substr(code.c.text, 1, _HEAD), items.c.item)
        .select_from(code.outerjoin(items, items.c.text_hash == code.c.text_hash))
        .where(among(code.c.id, codes))
    )
    return {key: (md5, name or _first_line(head), item) for key, md5, name, head, item in rows}


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def code_text(connection: Connection, code: str) -> tuple[str, str]:
    """Return the text of a code and its language.

    `code` is the MD5 of the text.
    """
    table = table_of(Code)
    row = connection.execute(select(table.c.text, table.c.language).where(table.c.text_hash == code)).first()
    return ("", "") if row is None else (row.text, row.language)
