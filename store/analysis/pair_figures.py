"""The figures of a benchmark of query-code pairs: Table II and Figures 3, 4 and 7 of CoSQA+."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Subquery, case, false, func, select, true, union_all

from store.analysis.pair_runs import share_of
from store.errors import UnknownName
from store.json_fields import fields_of
from store.kinds.pair import MATCH, PAIR
from store.measures.intervals import wilson
from store.policy.scope import RunRef, Scope
from store.queries.current import current_verdicts, first_values
from store.queries.runs import all_runs, named_run, shown_by_kind
from store.record.raters import find_rater
from store.tables.columns import table_of
from store.tables.imported import Code, Pair, Query, Similarity
from store.tables.people import Rater

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import CTE, ColumnElement, Connection, FromClause, Select

_DIGITS = 12
"""Decimals to which mean similarities are compared: sums of the same numbers may differ after these."""


@dataclass(frozen=True, slots=True)
class QueriesByMatches:
    """Queries with the same number of matching codes (Figure 3).

    Attributes:
        matches: Different codes that match a query, as far as its candidates are labelled.
        queries: Queries of which every candidate is labelled.
        partly_labelled: Queries of which some candidates have no label, so that there may be more matches.
    """

    matches: int
    queries: int
    partly_labelled: int


WORTH_SHARES = (0.8, 0.9, 0.95)
"""Shares of the expected matches for which it is said how many candidates hold them."""


@dataclass(frozen=True, slots=True)
class RankMatches:
    """The candidates at one rank (Figure 4).

    Attributes:
        rank: The rank.
        pairs: Pairs at that rank.
        labelled: Those with a label.
        matches: Those that match.
        probability: matches / labelled; None without a labelled pair.
        ci_low: The lower end of Wilson's 95 % interval of the probability.
        ci_high: Its upper end.
        expected_matches: The sum of the probabilities up to this rank, which is the expected number of
            matches among so many candidates; None from the first rank on that has no labelled pair.
    """

    rank: int
    pairs: int
    labelled: int
    matches: int
    probability: float | None
    ci_low: float | None
    ci_high: float | None
    expected_matches: float | None


@dataclass(frozen=True, slots=True)
class CodesByQueries:
    """Codes that answer the same number of queries, which is at least one (Figure 7)."""

    queries: int
    codes: int


@dataclass(frozen=True, slots=True)
class BenchmarkFigures:
    """The figures of a benchmark of pairs.

    Attributes:
        queries: Different queries among the pairs.
        codes: Different codes among them.
        pairs: All pairs, labelled or not.
        labelled: Those with a label.
        matches: Those whose label is 1.
        code_mean_length: Characters of a code, on average, each code counted once; None without pairs.
        query_mean_length: Likewise of a query.
        unlabelled_queries: Queries without any labelled candidate.
        by_matches: Queries that have a labelled candidate, by their number of matches, rising.
        by_rank: Pairs by their rank, rising.
        similarity_ranks: Pairs whose rank is that of their mean similarity, since no pair of their query has
            one in the imported file.
        shared_ranks: Pairs whose rank or mean similarity another pair of the same query has, too. Given ranks
            stay so; of equal similarities the pair that was imported first comes first.
        without_rank: Pairs that have no rank and, with the other pairs of their query, no similarities by
            the same models.
        by_queries: Codes that answer a query, by the number of queries, rising.
    """

    queries: int
    codes: int
    pairs: int
    labelled: int
    matches: int
    code_mean_length: float | None
    query_mean_length: float | None
    unlabelled_queries: int
    by_matches: tuple[QueriesByMatches, ...]
    by_rank: tuple[RankMatches, ...]
    similarity_ranks: int
    shared_ranks: int
    without_rank: int
    by_queries: tuple[CodesByQueries, ...]

    def worth_labelling(self, share: float) -> int | None:
        """Return how many candidates of a query are worth labelling, by the expected matches (Figure 4).

        Args:
            share: Which share of the matches that are expected among all candidates is to be found.

        Returns:
            The lowest rank up to which they are; None where a rank has no label, or nothing matches.
        """
        expected = [row.expected_matches for row in self.by_rank]
        if not expected or not (whole := expected[-1]):
            return None
        enough = share * whole - 1e-9
        return next(row.rank for row in self.by_rank if (row.expected_matches or 0) >= enough)

    @property
    def match_share(self) -> float | None:
        """The share of the labelled pairs that match; None without any."""
        return share_of(self.matches, self.labelled)

    @property
    def labelled_queries(self) -> int:
        """Queries of which every candidate is labelled."""
        return sum(group.queries for group in self.by_matches)

    @property
    def partly_labelled_queries(self) -> int:
        """Queries of which some candidates are labelled and some are not."""
        return sum(group.partly_labelled for group in self.by_matches)

    @property
    def mean_matches(self) -> float | None:
        """Matching codes of a query, on average over those of which every candidate is labelled."""
        return share_of(
            sum(group.matches * group.queries for group in self.by_matches), self.labelled_queries
        )

    @property
    def answering_codes(self) -> int:
        """Codes that answer at least one query."""
        return sum(group.codes for group in self.by_queries)

    @property
    def codes_of_several(self) -> int:
        """Codes that answer two queries or more."""
        return sum(group.codes for group in self.by_queries if group.queries > 1)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields, a part for the table and for each figure."""
        lengths = ("code_mean_length", "query_mean_length")
        return {
            "table_2": fields_of(
                self, "queries", "codes", "pairs", "labelled", "matches", "match_share", *lengths
            ),
            "figure_3": {
                "queries": self.labelled_queries,
                **fields_of(self, "mean_matches", "partly_labelled_queries", "unlabelled_queries"),
                "groups": [asdict(group) for group in self.by_matches],
            },
            "figure_4": {
                **fields_of(self, "similarity_ranks", "shared_ranks", "without_rank"),
                "ranks": [asdict(rank) for rank in self.by_rank],
                "worth_labelling": {f"{share:.2f}": self.worth_labelling(share) for share in WORTH_SHARES},
            },
            "figure_7": {
                "codes": self.answering_codes,
                "of_several_queries": self.codes_of_several,
                "several_share": share_of(self.codes_of_several, self.answering_codes),
                "groups": [asdict(group) for group in self.by_queries],
            },
        }


def worth_sentence(found: BenchmarkFigures) -> str:
    """Return how many candidates of a query are worth labelling; empty where that is not known."""
    ranks = {found.worth_labelling(share): share for share in WORTH_SHARES}
    if None in ranks:
        return ""
    first, *others = (f"{rank} for {100 * share:.0f} %" for rank, share in ranks.items())
    first = first.replace(" for", " candidates for", 1) + " of the matches"
    return f"Worth labelling: {', '.join([first, *others])}."


@dataclass(frozen=True, slots=True)
class PairLabels:
    """Whose labels the figures are made of.

    Attributes:
        name: The name of the rater or the run; empty where no run has labelled pairs yet.
        kind: `agent`, `human` or `import`.
        run_id: The run, for `agent`.
        labels: The labels, as (item_id, value).
    """

    name: str
    kind: str
    run_id: UUID | None
    labels: FromClause

    @property
    def phrase(self) -> str:
        """Whose they are, in words."""
        if not self.name:
            return "nobody: no agents have labelled pairs yet"
        return {"agent": "the agents' run ", "import": "imported rater "}.get(self.kind, "") + self.name


def pair_labels(connection: Connection, rater: str | None = None, run: RunRef | None = None) -> PairLabels:
    """Return whose labels are asked for.

    Args:
        connection: A reading connection.
        rater: The name of a rater, or of a run; None for the agents.
        run: The run; None for the one that is shown by default.

    Raises:
        UnknownName: No rater is called so, or the run has not worked on pairs.
    """
    if rater is not None:
        found = find_rater(connection, rater.strip())
        if found.kind != "agent":
            return PairLabels(found.name, found.kind, None, rater_labels(found.id))
        named = named_run(all_runs(connection), found.name)
        run = RunRef(named.id, named.name)
    scope = Scope(run=run)
    shown = shown_by_kind(connection, scope).get(PAIR.name)
    if run is not None and shown != run:
        raise UnknownName(
            "Unknown run",
            f"{run.name} has not worked on pairs.",
            "Leave --run out, or name another one.",
        )
    if shown is None:
        return PairLabels("", "agent", None, agents_labels(scope))
    return PairLabels(shown.name, "agent", shown.id, agents_labels(scope))


def pair_labellers(connection: Connection) -> list[str]:
    """Return the names of the people and imported raters with labels of pairs."""
    rater, values = table_of(Rater), first_values(questions=[MATCH.name])
    with_labels = rater.c.id.in_(select(values.c.rater_id)) & (rater.c.kind != "agent")
    return list(connection.execute(select(rater.c.name).where(with_labels).order_by(rater.c.name)).scalars())


def agents_labels(scope: Scope) -> Subquery:
    """Return the agents' labels of items, as (item_id, value): those of the run that a scope shows."""
    verdicts = current_verdicts(scope)
    return select(verdicts.c.item_id, verdicts.c.value).subquery("labels")


def rater_labels(rater_id: int) -> Subquery:
    """Return the current labels of pairs by a person or an imported rater, as (item_id, value).

    Of several assignments of a pair to the rater the first presentation counts.
    """
    values = first_values(questions=[MATCH.name])
    own = select(values.c.item_id, values.c.value).where(values.c.rater_id == rater_id)
    return own.subquery("labels")


def benchmark_figures(connection: Connection, labels: FromClause) -> BenchmarkFigures:
    """Compute the figures of all pairs of a workspace.

    Args:
        connection: A reading connection.
        labels: Columns item_id and value, which is 1 for a match and 0 for no match: `agents_labels`,
            `rater_labels`, or a table of labels made in any other way. An item has at most one row; rows of
            other items than pairs do not count.
    """
    labelled = _labelled(labels)
    queries = _queries(connection, labelled)
    ranks, by_similarity, shared = _ranks(connection, labelled)
    codes, code_length = _texts(connection, Code, "code_id")
    different_queries, query_length = _texts(connection, Query, "query_id")
    pairs = sum(row.pairs for row in queries)
    return BenchmarkFigures(
        queries=different_queries,
        codes=codes,
        pairs=pairs,
        labelled=sum(row.labelled for row in queries),
        matches=sum(row.matches for row in queries),
        code_mean_length=code_length,
        query_mean_length=query_length,
        unlabelled_queries=sum(row.queries for row in queries if row.state == "unlabelled"),
        by_matches=_by_matches(queries),
        by_rank=ranks,
        similarity_ranks=by_similarity,
        shared_ranks=shared,
        without_rank=pairs - sum(rank.pairs for rank in ranks),
        by_queries=_codes(connection, labelled),
    )


def pairs_by_matches(labels: FromClause, matches: int) -> Select[int]:
    """Select the pairs of the queries with so many matching codes and a labelled candidate (Figure 3)."""
    labelled = _labelled(labels)
    of_query = (
        select(labelled.c.query_id)
        .group_by(labelled.c.query_id)
        .having(func.count(labelled.c.value) > 0, _matching_codes(labelled) == matches)
    )
    return select(labelled.c.item_id).where(labelled.c.query_id.in_(of_query)).order_by(labelled.c.item_id)


def pairs_at_rank(labels: FromClause, rank: int, *, matching: bool = False) -> Select[int]:
    """Select the labelled pairs at a rank (Figure 4), or only those that match."""
    labelled, ranked = _labelled(labels), _ranked()
    wanted = labelled.c.value == 1 if matching else labelled.c.value.is_not(None)
    return (
        select(labelled.c.item_id)
        .join(ranked, ranked.c.item_id == labelled.c.item_id)
        .where(ranked.c.rank == rank, wanted)
        .order_by(labelled.c.item_id)
    )


def pairs_by_queries(labels: FromClause, queries: int) -> Select[int]:
    """Select the matching pairs of the codes that answer so many queries (Figure 7)."""
    labelled = _labelled(labels)
    matching = labelled.c.value == 1
    of_code = (
        select(labelled.c.code_id)
        .where(matching)
        .group_by(labelled.c.code_id)
        .having(func.count(labelled.c.query_id.distinct()) == queries)
    )
    found = select(labelled.c.item_id).where(matching, labelled.c.code_id.in_(of_code))
    return found.order_by(labelled.c.item_id)


def _labelled(labels: FromClause) -> CTE:
    """Return (item_id, query_id, code_id, value) of every pair; no value for one without a label."""
    pair = table_of(Pair)
    return (
        select(pair.c.item_id, pair.c.query_id, pair.c.code_id, labels.c.value)
        .outerjoin(labels, labels.c.item_id == pair.c.item_id)
        .cte("labelled_pair")
    )


def _matching_codes(labelled: CTE) -> ColumnElement[int]:
    """Count the different codes that match a query: a file may name the same pair under two ids."""
    return func.count(case((labelled.c.value == 1, labelled.c.code_id)).distinct())


def _queries(connection: Connection, labelled: CTE) -> list[Any]:
    """Return (state, codes, queries, matches, pairs, labelled) by state and number of matching codes."""
    of_query = (
        select(
            func.count().label("pairs"),
            func.count(labelled.c.value).label("labelled"),
            func.count(case((labelled.c.value == 1, 1))).label("matches"),
            _matching_codes(labelled).label("codes"),
        )
        .group_by(labelled.c.query_id)
        .subquery("of_query")
    )
    state = case(
        (of_query.c.labelled == 0, "unlabelled"),
        (of_query.c.labelled == of_query.c.pairs, "labelled"),
        else_="partly_labelled",
    ).label("state")
    groups = select(
        state,
        of_query.c.codes,
        func.count().label("queries"),
        func.sum(of_query.c.matches).label("matches"),
        func.sum(of_query.c.pairs).label("pairs"),
        func.sum(of_query.c.labelled).label("labelled"),
    ).group_by(state, of_query.c.codes)
    return list(connection.execute(groups))


def _by_matches(queries: list[Any]) -> tuple[QueriesByMatches, ...]:
    counts = {(row.state, row.codes): row.queries for row in queries}
    return tuple(
        QueriesByMatches(
            matches, counts.get(("labelled", matches), 0), counts.get(("partly_labelled", matches), 0)
        )
        for matches in sorted({row.codes for row in queries if row.state != "unlabelled"})
    )


def _ranks(connection: Connection, labelled: CTE) -> tuple[tuple[RankMatches, ...], int, int]:
    """Return the pairs by rank, how many of them are ranked by similarity, and how many share their rank."""
    ranked = _ranked()
    rows = connection.execute(
        select(
            ranked.c.rank,
            func.count().label("pairs"),
            func.count(labelled.c.value).label("labelled"),
            func.count(case((labelled.c.value == 1, 1))).label("matches"),
            func.count(case((ranked.c.by_similarity, 1))).label("by_similarity"),
            func.count(case((ranked.c.alike > 1, 1))).label("shared"),
        )
        .join(labelled, labelled.c.item_id == ranked.c.item_id)
        .group_by(ranked.c.rank)
        .order_by(ranked.c.rank)
    ).all()
    found = []
    # Ranks count from 0 or from 1; what a missing rank would add to the sum is not known.
    expected: float | None = 0.0 if rows and rows[0].rank in (0, 1) else None
    previous = None
    for row in rows:
        probability = share_of(row.matches, row.labelled)
        gap = previous is not None and row.rank != previous + 1
        expected = None if expected is None or probability is None or gap else expected + probability
        low, high = wilson(row.matches, row.labelled) if row.labelled else (None, None)
        found.append(
            RankMatches(row.rank, row.pairs, row.labelled, row.matches, probability, low, high, expected)
        )
        previous = row.rank
    return tuple(found), sum(row.by_similarity for row in rows), sum(row.shared for row in rows)


def _ranked() -> Subquery:
    """Return (item_id, rank, by_similarity, alike) of the pairs that have a rank."""
    return union_all(select(_given_ranks()), select(_similarity_ranks())).subquery("ranked")


def _given_ranks() -> Subquery:
    """Return (item_id, rank, by_similarity, alike) of the pairs whose file gave them a rank."""
    pair = table_of(Pair)
    alike = func.count().over(partition_by=[pair.c.query_id, pair.c.rank])
    return (
        select(pair.c.item_id, pair.c.rank, false().label("by_similarity"), alike.label("alike"))
        .where(pair.c.rank.is_not(None))
        .subquery("given_rank")
    )


def _similarity_ranks() -> Subquery:
    """Return (item_id, rank, by_similarity, alike) of the pairs of queries without a rank in any file.

    Only where every pair of the query has a similarity by each of the query's models: means over different
    models are not compared.
    """
    pair, similarity = table_of(Pair), table_of(Similarity)
    given = select(pair.c.query_id).where(pair.c.rank.is_not(None))
    unranked = pair.c.query_id.not_in(given)
    sizes = (
        select(pair.c.query_id, func.count().label("pairs"))
        .where(unranked)
        .group_by(pair.c.query_id)
        .subquery("size")
    )
    scored = (
        select(pair.c.query_id)
        .join(similarity, similarity.c.item_id == pair.c.item_id)
        .join(sizes, sizes.c.query_id == pair.c.query_id)
        .group_by(pair.c.query_id, sizes.c.pairs)
        .having(func.count() == sizes.c.pairs * func.count(similarity.c.model.distinct()))
    )
    mean = func.round(func.avg(similarity.c.value), _DIGITS).label("mean")
    means = (
        select(pair.c.item_id, pair.c.query_id, mean)
        .join(similarity, similarity.c.item_id == pair.c.item_id)
        .where(pair.c.query_id.in_(scored))
        .group_by(pair.c.item_id, pair.c.query_id)
        .subquery("mean_similarity")
    )
    place = func.row_number().over(
        partition_by=means.c.query_id, order_by=[means.c.mean.desc(), means.c.item_id]
    )
    alike = func.count().over(partition_by=[means.c.query_id, means.c.mean])
    return select(
        means.c.item_id, place.label("rank"), true().label("by_similarity"), alike.label("alike")
    ).subquery("similarity_rank")


def _codes(connection: Connection, labelled: CTE) -> tuple[CodesByQueries, ...]:
    answered = (
        select(func.count(labelled.c.query_id.distinct()).label("queries"))
        .where(labelled.c.value == 1)
        .group_by(labelled.c.code_id)
        .subquery("of_code")
    )
    groups = select(answered.c.queries, func.count()).group_by(answered.c.queries)
    return tuple(CodesByQueries(*row) for row in connection.execute(groups.order_by(answered.c.queries)))


def _texts(connection: Connection, model: type[Code | Query], key: str) -> tuple[int, float | None]:
    """Return how many texts the pairs have, and their mean length in characters, each counted once."""
    text, pair = table_of(model), table_of(Pair)
    used = select(func.count(), func.avg(func.length(text.c.text))).where(text.c.id.in_(select(pair.c[key])))
    number, length = connection.execute(used).one()
    return int(number), None if length is None else float(length)
