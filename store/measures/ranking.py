"""Measures of ranked retrieval: NDCG, reciprocal rank, average precision, recall and others, query by query.

A measure is named as in `ndcg@10`: what it is, and how many of the best codes it looks at. All are computed
from a matrix of grades, queries by ranks, and agree with trec_eval where trec_eval has them. `_condensed`
after a name (`ndcg_condensed@10`) leaves out what nobody judged before ranks are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from store.errors import UnknownName

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Qrels = Mapping[str, Mapping[str, float]]
"""The grade of each judged code of each query."""
Run = Mapping[str, Sequence[str]]
"""The codes that a method found for each query, best first, none twice."""


@dataclass(frozen=True, slots=True)
class JudgedPlaces:
    """The ranking of a query of which only the judged codes are known: all that a measure needs.

    Attributes:
        length: How many codes are ranked.
        codes: The judged ones among them, best first; others may be there as well.
        places: Where each of these is in the ranking, from 0.
    """

    length: int
    codes: Sequence[str]
    places: Sequence[int]

    def __len__(self) -> int:
        """Return how many codes are ranked."""
        return self.length

    def first(self, depth: int) -> list[str]:
        """Return the judged ones among the first codes."""
        return [code for code, place in zip(self.codes, self.places, strict=True) if place < depth]

    def without(self, code: str) -> JudgedPlaces:
        """Return the ranking without a code, which is one of the codes where it is ranked."""
        if code not in self.codes:
            return self
        gone = self.places[self.codes.index(code)]
        kept = [(one, place) for one, place in zip(self.codes, self.places, strict=True) if place != gone]
        return JudgedPlaces(
            self.length - 1, [one for one, _ in kept], [place - (place > gone) for _, place in kept]
        )


Ranking = Sequence[str] | JudgedPlaces
"""The codes of a query, best first, or the places of the judged ones."""

MOST_RANKS = 1_000_000
_CELLS = 2_000_000
"""Grades that are in memory at once."""
_NAME = re.compile(r"([a-z_]+?)(_condensed)?(?:@(\d{1,7}))?")


@dataclass(frozen=True, slots=True)
class Preset:
    """How a benchmark measures.

    Attributes:
        measures: The measures, the most important first: methods are compared by that one.
        top: How many codes of each query a method is asked for.
        zero_ideal: What becomes of queries without a grade above 0: they count as 0, or are left out.
        own_code: Whether a code that has the id of the query stays in its ranking.
    """

    name: str
    measures: tuple[str, ...]
    top: int = 1000
    zero_ideal: Literal["zero", "leave out"] = "zero"
    own_code: bool = True

    def scores(
        self, qrels: Qrels, run: Mapping[str, Ranking], *, level: float = 1, complete: bool
    ) -> RankingScores:
        """Return the measures of a run; see `evaluate_run`."""
        return evaluate_run(
            qrels,
            run if self.own_code else without_own_codes(run),
            self.measures,
            level=level,
            complete=complete,
            zero_ideal=self.zero_ideal,
        )


def _at(names: str, cuts: str) -> tuple[str, ...]:
    return tuple(f"{name}@{cut}" for name in names.split() for cut in cuts.split())


_TREC_CUTS = "5 10 15 20 30 100 200 500 1000"
_OF_JUDGED = ("judged@10", "ndcg_condensed@10", "map_condensed")
"""What tells how much the plain numbers owe to codes that nobody judged."""
_STANDARD = (
    "ndcg@10 ndcg_exp@10 mrr mrr@10 map map@10 map_min@10 mmrr recall@10 recall@100 precision@10 success@1 "
    "success@10"
)
PRESETS = {
    preset.name: preset
    for preset in (
        Preset("standard", (*_STANDARD.split(), *_OF_JUDGED)),
        Preset(
            "cosqa-plus",
            (
                *_at("ndcg mrr map map_min recall precision success mmrr ndcg_exp", "10"),
                *_at("judged ndcg_condensed map_condensed", "10"),
            ),
            zero_ideal="leave out",
        ),
        Preset(
            "trec",
            (
                *("map", "mrr", "ndcg"),
                *_at("precision recall ndcg map", _TREC_CUTS),
                *_at("success", "1 5 10"),
                *_OF_JUDGED,
            ),
        ),
        Preset(
            "coir",
            (*_at("ndcg map recall precision mrr", "1 3 5 10 100 1000"), *_OF_JUDGED),
            own_code=False,
        ),
        Preset(
            "csn",
            ("ndcg_exp_condensed", "ndcg_exp", "ndcg_condensed", "ndcg", "mrr", "judged@10"),
            zero_ideal="leave out",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a ranking.

    Attributes:
        kind: What it is, such as `ndcg`.
        cut: How many of the best codes it looks at; None for all.
        condensed: Whether unjudged codes are left out before ranks are counted.
    """

    kind: str
    cut: int | None = None
    condensed: bool = False


@dataclass(frozen=True, slots=True)
class RankingScores:
    """The measures of a run.

    Attributes:
        queries: The queries that count.
        values: The value of each of these queries, by the name of the measure.
        relevant: Their relevant codes.
        not_ranked: Judged queries that the run lacks.
        not_judged: Queries of the run that nobody judged, which never count.
        zero_ideal: Queries without a grade above 0.
    """

    queries: tuple[str, ...]
    values: Mapping[str, Array]
    relevant: int
    not_ranked: int
    not_judged: int
    zero_ideal: int

    def means(self, queries: Collection[str] | None = None) -> dict[str, float]:
        """Return the mean of each measure over all or some queries; empty without any."""
        kept = None if queries is None else set(queries)
        places = [place for place, query in enumerate(self.queries) if kept is None or query in kept]
        return {name: float(values[places].mean()) for name, values in self.values.items() if places}


def measure_named(name: str) -> Measure:
    """Return the measure of a name such as `ndcg@10`, `map` or `ndcg_condensed@10`.

    Raises:
        UnknownName: There is no such measure.
    """
    found = _NAME.fullmatch(name)
    cut = int(found[3]) if found and found[3] else None
    if not found or found[1] not in _KINDS or (cut is not None and not 1 <= cut <= MOST_RANKS):
        raise UnknownName(
            "Unknown measure",
            f"There is no measure {name!r}.",
            f"Measures: {', '.join(_KINDS)}; each with @K for the best K codes, and with _condensed before "
            "that for judged codes only, such as ndcg_condensed@10.",
        )
    return Measure(found[1], cut, condensed=bool(found[2]))


def evaluate_run(
    qrels: Qrels,
    run: Mapping[str, Ranking],
    measures: Sequence[str],
    *,
    level: float = 1,
    complete: bool = False,
    zero_ideal: Literal["zero", "leave out"] = "zero",
) -> RankingScores:
    """Compute measures of a run, query by query.

    Args:
        qrels: The grades. An unjudged code is not relevant, a grade below 0 gains nothing.
        run: The rankings.
        measures: The names of the measures.
        level: The least grade of a relevant code; NDCG takes the grades themselves.
        complete: Whether judged queries that the run lacks count as 0, and are not left out.
        zero_ideal: What becomes of queries without a grade above 0.

    Raises:
        UnknownName: There is no such measure.
    """
    import numpy

    asked = {name: measure_named(name) for name in measures}
    judged = [query for query, grades in qrels.items() if grades and (complete or query in run)]
    hopeless = {query for query in judged if max(qrels[query].values()) <= 0}
    queries = [query for query in judged if zero_ideal == "zero" or query not in hopeless]
    parts: dict[str, list[Array]] = {name: [] for name in asked}
    relevant = 0
    # Grades behind the last rank that a measure looks at need no room.
    deepest = max((one.cut or MOST_RANKS for one in asked.values() if not one.condensed), default=1)
    for block in _blocks(queries, qrels, run):
        judged_of, ranked_of = [qrels[query] for query in block], [run.get(query, ()) for query in block]
        ranked, condensed = _ranked(judged_of, ranked_of, level, deepest)
        relevant += int(ranked.relevant.sum())
        for name, one in asked.items():
            parts[name].append(_KINDS[one.kind](condensed if one.condensed else ranked, one.cut))
    return RankingScores(
        tuple(queries),
        {name: numpy.concatenate(found) if found else numpy.zeros(0) for name, found in parts.items()},
        relevant,
        not_ranked=sum(query not in run for query in qrels),
        not_judged=sum(not qrels.get(query) for query in run),
        zero_ideal=len(hopeless),
    )


def without_own_codes(run: Mapping[str, Ranking]) -> dict[str, Ranking]:
    """Return a run without the codes that have the id of their query."""
    return {
        query: codes.without(query)
        if isinstance(codes, JudgedPlaces)
        else [code for code in codes if code != query]
        for query, codes in run.items()
    }


def qrels_without(
    qrels: Qrels, runs: Mapping[str, Run], name: str, depth: int
) -> dict[str, dict[str, float]]:
    """Return the judgments as they would be had a run not been in the pool (J. Zobel, SIGIR 1998).

    Without the pairs that this run has among its first codes, and no other run has among its own.

    Args:
        qrels: The grades.
        runs: The runs whose first codes were judged, by name.
        name: The run that is left out.
        depth: How many codes of each query a run brought into the pool.
    """
    kept = {}
    for query, grades in qrels.items():
        own = set(runs[name].get(query, ())[:depth])
        for other, run in runs.items():
            if other != name:
                own.difference_update(run.get(query, ())[:depth])
        kept[query] = {code: grade for code, grade in grades.items() if code not in own}
    return kept


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The measures of a method as they are, and as they would be had it not been in the pool.

    Attributes:
        queries: The queries that still have labels without it.
        all_labels: The mean of each measure over these queries, with all labels.
        left_out: The same without the labels of pairs that only this method brought into the pool.
    """

    queries: int
    all_labels: Mapping[str, float]
    left_out: Mapping[str, float]


def left_out_of_pool(
    name: str,
    scores: RankingScores,
    qrels: Qrels,
    *,
    pools: Mapping[str, Run],
    depth: int,
    scores_of: Callable[[Qrels], RankingScores],
) -> LeftOut:
    """Return the measures of a method without the labels that it alone owes to the pool.

    Args:
        name: The method.
        scores: Its measures with all labels.
        qrels: The grades.
        pools: The first codes of every method, at least so many as are in the pool.
        depth: How many codes of each query are in the pool.
        scores_of: Measures the method with other grades.
    """
    rest = scores_of(qrels_without(qrels, pools, name, depth))
    return LeftOut(len(rest.queries), scores.means(rest.queries), rest.means())


def _blocks(queries: Sequence[str], qrels: Qrels, run: Mapping[str, Ranking]) -> Iterator[Sequence[str]]:
    """Yield the queries, so many at a time that their matrix of grades is not too large."""
    longest = max((max(len(run.get(query, ())), len(qrels[query])) for query in queries), default=1)
    at_once = max(1, _CELLS // max(1, longest))
    for start in range(0, len(queries), at_once):
        yield queries[start : start + at_once]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The grades of ranked codes.

    Attributes:
        grades: Of the code at each rank, of shape (queries, ranks); NaN where it is not judged.
        lengths: How many codes each query has.
        ideal: All grades of each query, the highest first, below 0 as 0.
        relevant: How many relevant codes each query has.
        level: The least grade of a relevant code.
    """

    grades: Array
    lengths: Array
    ideal: Array
    relevant: Array
    level: float

    def hits(self, cut: int | None) -> Array:
        """Return where there is a relevant code among the first."""
        # A comparison with NaN is false.
        return self.grades[:, :cut] >= self.level

    def ranks(self, cut: int | None) -> Array:
        """Return the ranks of the first codes, from 1."""
        import numpy

        return numpy.arange(1, self.grades[:, :cut].shape[1] + 1)


def _ranked(
    judged: Sequence[Mapping[str, float]], rankings: Sequence[Ranking], level: float, deepest: int
) -> tuple[_Ranked, _Ranked]:
    """Return the grades of ranked codes, and the same without unjudged codes.

    Args:
        judged: What is judged for each query.
        rankings: What is ranked for each.
        level: The least grade of a relevant code.
        deepest: The last rank whose grade is needed; the condensed one has all.
    """
    import numpy

    found = [
        (row, place, known[code])
        for row, (known, ranking) in enumerate(zip(judged, rankings, strict=True))
        for place, code in _placed(ranking)
        if code in known
    ]
    rows, places = (numpy.array([one[at] for one in found], dtype=int) for at in (0, 1))
    grades = numpy.array([one[2] for one in found], dtype=float)
    numbers = numpy.bincount(rows, minlength=len(judged))
    lengths = numpy.array([len(ranking) for ranking in rankings])
    ideal = numpy.zeros((len(judged), max(1, *map(len, judged))))
    for row, known in enumerate(judged):
        ideal[row, : len(known)] = sorted(known.values(), reverse=True)
    relevant = numpy.array([sum(grade >= level for grade in known.values()) for known in judged])

    def ranked(places: Array, lengths: Array, width: int) -> _Ranked:
        matrix = numpy.full((len(judged), max(1, width)), numpy.nan)
        near = places < width
        matrix[rows[near], places[near]] = grades[near]
        return _Ranked(matrix, lengths, ideal.clip(0), relevant, level)

    # Without unjudged codes, the first judged one of a query is at place 0.
    condensed = numpy.arange(len(found)) - numpy.repeat(numbers.cumsum() - numbers, numbers)
    return (
        ranked(places, lengths, min(int(lengths.max()), deepest)),
        ranked(condensed, numbers, int(numbers.max())),
    )


def _placed(ranking: Ranking) -> Iterable[tuple[int, str]]:
    """Return the places of codes, from 0, best first."""
    if isinstance(ranking, JudgedPlaces):
        return zip(ranking.places, ranking.codes, strict=True)
    return enumerate(ranking)


def _linear(grades: Array) -> Array:
    return grades


def _exponential(grades: Array) -> Array:
    return 2.0**grades - 1


def _ndcg(gain: Callable[[Array], Array]) -> Callable[[_Ranked, int | None], Array]:
    """Return NDCG with a gain of grades, and the discount 1 / log2(rank + 1)."""

    def compute(ranked: _Ranked, cut: int | None) -> Array:
        import numpy

        def total(grades: Array) -> Array:
            return gain(grades) @ (1 / numpy.log2(numpy.arange(2, grades.shape[1] + 2)))

        found = total(numpy.nan_to_num(ranked.grades[:, :cut]).clip(0))
        return _divided(found, total(ranked.ideal[:, :cut]))

    return compute


def _reciprocal_rank(ranked: _Ranked, cut: int | None) -> Array:
    hits = ranked.hits(cut)
    found: Array = hits.any(axis=1) / (hits.argmax(axis=1) + 1)
    return found


def _precision_sums(ranked: _Ranked, cut: int | None) -> Array:
    hits = ranked.hits(cut)
    sums: Array = (hits.cumsum(axis=1) * hits / ranked.ranks(cut)).sum(axis=1)
    return sums


def _average_precision(ranked: _Ranked, cut: int | None) -> Array:
    return _divided(_precision_sums(ranked, cut), ranked.relevant)


def _average_precision_min(ranked: _Ranked, cut: int | None) -> Array:
    most = ranked.relevant if cut is None else ranked.relevant.clip(max=cut)
    return _divided(_precision_sums(ranked, cut), most)


def _multi_choice_reciprocal_rank(ranked: _Ranked, cut: int | None) -> Array:
    """Return the mean over relevant codes of 1 / (rank - relevant codes before it); 0 for those not found."""
    hits = ranked.hits(cut)
    places = ranked.ranks(cut) - hits.cumsum(axis=1) + 1
    return _divided((hits / places).sum(axis=1), ranked.relevant)


def _recall(ranked: _Ranked, cut: int | None) -> Array:
    return _divided(ranked.hits(cut).sum(axis=1), ranked.relevant)


def _precision(ranked: _Ranked, cut: int | None) -> Array:
    return _divided(ranked.hits(cut).sum(axis=1), ranked.lengths if cut is None else cut)


def _success(ranked: _Ranked, cut: int | None) -> Array:
    return ranked.hits(cut).any(axis=1).astype(float)


def _judged(ranked: _Ranked, cut: int | None) -> Array:
    import numpy

    judged = (~numpy.isnan(ranked.grades[:, :cut])).sum(axis=1)
    return _divided(judged, ranked.lengths if cut is None else ranked.lengths.clip(max=cut))


def _divided(numbers: Array, by: Array | int) -> Array:
    """Return a quotient, 0 where the divisor is."""
    import numpy

    by = numpy.broadcast_to(by, numbers.shape)
    found: Array = numpy.divide(numbers, by, out=numpy.zeros(len(numbers)), where=by > 0)
    return found


_KINDS: dict[str, Callable[[_Ranked, int | None], Array]] = {
    "ndcg": _ndcg(_linear),
    "ndcg_exp": _ndcg(_exponential),
    "mrr": _reciprocal_rank,
    "map": _average_precision,
    "map_min": _average_precision_min,
    "recall": _recall,
    "precision": _precision,
    "success": _success,
    "mmrr": _multi_choice_reciprocal_rank,
    "judged": _judged,
}
