"""The retrieval report: measures of stored rankings against the labels of now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from store.formatting import pluralize
from store.measures.intervals import INTERVALS, Bootstrap, Interval
from store.measures.ranking import PRESETS, LeftOut, Preset, RankingScores, left_out_of_pool
from store.measures.ranking_differences import RankingDifference, ranking_differences
from store.rankings.labels import LabelSource, read_grades
from store.rankings.rankings import StoredRanking, count_codes, list_rankings, no_rankings, read_judged

if TYPE_CHECKING:
    from sqlalchemy import Connection

POOL = 20
"""The first codes of each method that are in the pool, as `evaluate retrieval` has it."""
DEFAULT_PRESET = "cosqa-plus"
CURVE_RANKS = (1, 5, 10, 20, 100)
"""The ranks at which it is measured what was found until there."""
CURVE = tuple(f"{kind}@{rank}" for kind in ("success", "recall") for rank in CURVE_RANKS)


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """The measures of stored rankings.

    Attributes:
        source: Whose labels count as true.
        part: The part that is measured.
        preset: How it is measured.
        codes: The different codes that the workspace has now.
        rankings: The rankings, of methods that ranked a query that counts.
        unused: Those of methods that ranked none.
        scores: The measures of each method.
        curves: The measures of `CURVE` of each method.
        intervals: The interval of the first measure of each method.
        left_out: What each has without the labels that only it brought into the pool; empty for one method.
        differences: Every two methods compared.
    """

    source: LabelSource
    part: str
    preset: Preset
    codes: int
    rankings: tuple[StoredRanking, ...]
    unused: tuple[StoredRanking, ...]
    scores: Mapping[str, RankingScores]
    curves: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, Interval]
    left_out: Mapping[str, LeftOut]
    differences: Sequence[RankingDifference]

    @property
    def measure(self) -> str:
        """The measure in which methods are compared."""
        return self.preset.measures[0]

    @property
    def best_first(self) -> list[str]:
        """The methods, the best in that measure first."""
        return sorted(self.scores, key=lambda name: -self.scores[name].means()[self.measure])

    def notes(self) -> list[str]:
        """Return what is to be known of the rankings, as sentences."""
        notes = []
        for one in self.rankings:
            if since := self.codes - one.codes:
                notes.append(
                    f"The ranking of {one.method} is older than the corpus: "
                    f"{pluralize(since, 'code was', 'codes were')} added since. Rank again."
                )
            if lacking := self.scores[one.method].not_ranked:
                queries = pluralize(lacking, "judged query", "judged queries")
                notes.append(
                    f"{one.method} has not ranked codes for {queries}, left out of its measures. Rank again."
                )
        if self.unused:
            names = ", ".join(one.method for one in self.unused)
            notes.append(f"Not shown, since they ranked none of these queries: {names}.")
        return notes


def retrieval_report(
    connection: Connection,
    source: LabelSource,
    preset: str = DEFAULT_PRESET,
    bootstrap: Bootstrap = INTERVALS,
) -> RetrievalReport | None:
    """Measure the stored rankings of all methods against labels.

    Returns:
        The report; None where no query counts.

    Raises:
        WorkbenchError: There is no ranking, or no such label.
        UnknownName: There is no such rater, policy, split or part.
    """
    stored = list_rankings(connection)
    if not stored:
        raise no_rankings()
    grades = read_grades(connection, source)
    rules = PRESETS[preset]
    wanted = replace(rules, measures=tuple(dict.fromkeys((*rules.measures, *CURVE))))
    used: list[StoredRanking] = []
    scores: dict[str, RankingScores] = {}
    curves: dict[str, dict[str, float]] = {}
    runs = read_judged(connection, stored, grades.qrels)
    for one in stored:
        measured = wanted.scores(grades.qrels, runs[one.method], complete=False)
        if not measured.queries:
            continue
        used.append(one)
        scores[one.method] = measured
        means = measured.means()
        curves[one.method] = {name: means[name] for name in CURVE}
    if not used:
        return None
    scores = {
        name: replace(found, values={measure: found.values[measure] for measure in rules.measures})
        for name, found in scores.items()
    }
    pools = {name: {query: ranking.first(POOL) for query, ranking in runs[name].items()} for name in scores}
    left_out = {
        name: left_out_of_pool(
            name,
            scores[name],
            grades.qrels,
            pools=pools,
            depth=POOL,
            scores_of=partial(rules.scores, run=runs[name], complete=False),
        )
        for name in scores
        if len(scores) > 1
    }
    measure = rules.measures[0]
    return RetrievalReport(
        source,
        grades.part,
        rules,
        count_codes(connection),
        tuple(used),
        tuple(one for one in stored if one not in used),
        scores,
        curves,
        {name: bootstrap.of_mean(found.values[measure]) for name, found in scores.items()},
        left_out,
        ranking_differences(scores, [measure], bootstrap),
    )
