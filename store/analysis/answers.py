"""Answers to questions about repositories with their scores (CoReQA, sections III.C and IV)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from statistics import fmean, variance
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from store.analysis.labels import question_labels
from store.analysis.preferences import preference_votes
from store.child import yielded_by_child
from store.errors import UnknownName
from store.kinds.answer import CHARACTERS_OF_TOKEN, NO_CONTEXT, QUESTIONS
from store.measures.preference import score_of_levels
from store.queries.repository_answers import dropped_questions
from store.record.revisions import current_texts
from store.tables.columns import table_of
from store.tables.imported import Comparison, Item, RepositoryQuestion
from store.tables.responses import Response, ResponseRef, Score

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.measures.intervals import Bootstrap, Interval

DIMENSIONS = tuple(question.title for question in QUESTIONS)
"""Accuracy, completeness, relevance and clarity."""
PARTS = 5
"""Parts into which questions are divided by their length (Figure 6)."""
APART = 500
"""Answers from which on BLEU is computed in a process of its own: in a thread, keys would wait."""
_LEVELS = 5


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer with its scores.

    Attributes:
        created_at: When its issue was; empty where that is not known.
        tokens: The estimated tokens of the question.
        context: The setting of its context.
        scores: The judge's scores by dimension, one for each time that it was judged.
        experts: The means of people's scores, by dimension.
    """

    item_id: int
    item: str
    language: str
    created_at: str
    tokens: float
    model: str
    context: str
    trial: int
    text: str
    reference: str
    scores: Mapping[str, tuple[float, ...]]
    experts: Mapping[str, float]

    def value(self, dimension: str) -> float | None:
        """Return the mean of the judge's scores on a dimension; None without any."""
        scores = self.scores.get(dimension)
        return fmean(scores) if scores else None


class Group(NamedTuple):
    """Answers that are averaged together; an empty language stands for all of them."""

    context: str
    model: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """The scores of a group of answers.

    Attributes:
        n: The questions that have a score.
        means: By dimension, of the means of each question over trials and repeats; None without any.
        intervals: Of these, over questions.
        trials: The standard deviations of the means of each trial, by dimension; None with less than two.
        pce: The score against the baseline; None where nothing is compared.
    """

    group: Group
    n: int
    means: Mapping[str, float | None]
    intervals: Mapping[str, Interval]
    trials: Mapping[str, float | None]
    pce: float | None = None


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The spread of the scores of an answer over its repeats (Table VI).

    Attributes:
        n: The answers that were judged more than once.
        means: By dimension.
        deviations: The roots of the mean variances of the scores of an answer, by dimension.
        bleu: BLEU of the corpus of all answers, from 0 to 100; None without reference answers.
        signature: How that was computed.
    """

    group: Group
    n: int
    means: Mapping[str, float | None]
    deviations: Mapping[str, float | None]
    bleu: float | None
    signature: str


@dataclass(frozen=True, slots=True)
class Part:
    """The scores of some of the questions: of a time (Figure 5), or of a length (Figure 6).

    Attributes:
        name: Which questions these are.
        deviation: The standard deviation of the mean of all dimensions over questions; None of one question.
    """

    group: Group
    name: str
    n: int
    means: Mapping[str, float | None]
    deviation: float | None


@dataclass(frozen=True, slots=True)
class AgainstExperts:
    """A judge's scores and people's on one dimension.

    Attributes:
        n: The answers that both scored.
        judge: The mean of the judge's scores.
        experts: The mean of people's.
        apart: The mean distance between both.
        near: The share of answers where it is at most one point.
        correlation: Spearman's rank correlation; None where one side is constant.
    """

    dimension: str
    n: int
    judge: float
    experts: float
    apart: float
    near: float
    correlation: float | None


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """All answers of a workspace.

    Attributes:
        judge: The judge whose scores these are; empty for none.
        judges: The answers that each judge scored, by name.
    """

    answers: Sequence[JudgedAnswer]
    judge: str
    judges: Mapping[str, int] = field(default_factory=dict)


def answer_figures(connection: Connection, judge: str | None = None) -> AnswerFigures:
    """Read the answers of a workspace, with the scores of one judge and those of people.

    Args:
        connection: A reading connection.
        judge: The judge; the one who scored the most answers by default.

    Raises:
        UnknownName: No judge is called so.
    """
    ref, response, score = table_of(ResponseRef), table_of(Response), table_of(Score)
    question, item = table_of(RepositoryQuestion), table_of(Item)
    dropped = dropped_questions()
    asked = (
        select(score.c.response_ref_id, score.c.judge, score.c.measure, score.c.value)
        .join(ref, ref.c.id == score.c.response_ref_id)
        .join(question, question.c.item_id == ref.c.item_id)
        .where(score.c.measure.in_(DIMENSIONS), score.c.value.is_not(None), ref.c.item_id.not_in(dropped))
        .order_by(score.c.sequence, score.c.id)
    )
    by_judge = defaultdict[str, dict[int, dict[str, list[float]]]](dict)
    for number, name, measure, value in connection.execute(asked):
        by_judge[name].setdefault(number, {}).setdefault(measure, []).append(value)
    counts = {name: len(found) for name, found in sorted(by_judge.items())}
    if judge is not None and judge not in counts:
        known = ", ".join(counts) or "none"
        raise UnknownName("Unknown judge", f"No answer was scored by {judge!r}.", f"Judges: {known}.")
    chosen = judge or max(counts, key=lambda name: (counts[name], name), default="")
    scores = by_judge.get(chosen, {})
    experts = _experts(connection)
    columns = ("language", "created_at", "question", "reference")
    rows = connection.execute(
        select(
            ref.c.id,
            ref.c.item_id,
            item.c.external_id,
            *(question.c[name] for name in columns),
            *(ref.c[name] for name in ("model", "setting", "trial")),
            response.c.text,
        )
        .join(response, response.c.id == ref.c.id)
        .join(question, question.c.item_id == ref.c.item_id)
        .join(item, item.c.id == ref.c.item_id)
        .where(ref.c.item_id.not_in(dropped))
        .order_by(ref.c.item_id, ref.c.model, ref.c.setting, ref.c.trial)
    ).all()
    revised = current_texts(connection, {row.item_id for row in rows})
    answers = []
    for row in rows:
        texts = {"question": row.question, "reference": row.reference, **revised.get(row.item_id, {})}
        answers.append(
            JudgedAnswer(
                row.item_id,
                row.external_id,
                (row.language or "").lower(),
                row.created_at or "",
                len(texts["question"]) / CHARACTERS_OF_TOKEN,
                row.model,
                row.setting or NO_CONTEXT,
                row.trial,
                row.text,
                texts["reference"] or "",
                {name: tuple(values) for name, values in scores.get(row.id, {}).items()},
                experts.get(row.id, {}),
            )
        )
    return AnswerFigures(answers, chosen, counts)


def _experts(connection: Connection) -> dict[int, dict[str, float]]:
    """Return the means of people's scores, by response and dimension."""
    import numpy

    found = defaultdict[int, dict[str, float]](dict)
    for question in QUESTIONS:
        labels = question_labels(connection, question.name, people_only=True)
        if not labels.raters:
            continue
        values = numpy.array([one.values for one in labels.raters])
        counts = (~numpy.isnan(values)).sum(axis=0)
        sums = numpy.nansum(values, axis=0)
        for unit, total, count in zip(labels.units.tolist(), sums.tolist(), counts.tolist(), strict=True):
            # Items without a model's answer are asked about their reference.
            if unit < 0 and count:
                found[-unit][question.title] = total / count
    return found


def by_question(answers: Iterable[JudgedAnswer], dimension: str) -> dict[int, float]:
    """Return the mean score of each question on a dimension, over its answers."""
    values = defaultdict[int, list[float]](list)
    for one in answers:
        if (value := one.value(dimension)) is not None:
            values[one.item_id].append(value)
    return {item_id: fmean(own) for item_id, own in values.items()}


def grouped(answers: Iterable[JudgedAnswer], *, languages: bool = False) -> dict[Group, list[JudgedAnswer]]:
    """Return the answers of each context and model, without context first; on request of each language."""
    found = defaultdict[Group, list[JudgedAnswer]](list)
    for one in answers:
        found[Group(one.context, one.model, one.language if languages else "")].append(one)
    return dict(
        sorted(found.items(), key=lambda pair: (pair[0].language, pair[0].context != NO_CONTEXT, pair[0]))
    )


def means_of(answers: Sequence[JudgedAnswer]) -> dict[str, float | None]:
    """Return the mean of the means of questions, by dimension."""
    found = {name: by_question(answers, name) for name in DIMENSIONS}
    return {name: fmean(values.values()) if values else None for name, values in found.items()}


def answer_scores(
    group: Group, answers: Sequence[JudgedAnswer], bootstrap: Bootstrap, pce: float | None = None
) -> AnswerScores:
    """Return the scores of a group."""
    import numpy

    intervals, trials = {}, {}
    scored = set[int]()
    by_trial = defaultdict[int, list[JudgedAnswer]](list)
    for one in answers:
        by_trial[one.trial].append(one)
    of_trials = [means_of(own) for own in by_trial.values()]
    for name in DIMENSIONS:
        values = by_question(answers, name)
        scored |= values.keys()
        intervals[name] = bootstrap.of_mean(numpy.array([*values.values()]))
        means = [mean for each in of_trials if (mean := each[name]) is not None]
        trials[name] = math.sqrt(variance(means)) if len(means) > 1 else None
    return AnswerScores(group, len(scored), means_of(answers), intervals, trials, pce)


def in_every_context(answers: Sequence[JudgedAnswer]) -> list[JudgedAnswer]:
    """Return the answers of models with several contexts to the questions that have scores in all of them."""
    contexts = defaultdict[str, set[str]](set)
    of_question = defaultdict[tuple[str, int], set[str]](set)
    for one in answers:
        if one.scores:
            contexts[one.model].add(one.context)
            of_question[one.model, one.item_id].add(one.context)
    return [
        one
        for one in answers
        if len(contexts[one.model]) > 1 and of_question[one.model, one.item_id] == contexts[one.model]
    ]


def steadiness(group: Group, answers: Sequence[JudgedAnswer], bleu: tuple[float | None, str]) -> Steadiness:
    """Return how much the scores of answers that were judged again differ."""
    again = [one for one in answers if any(len(scores) > 1 for scores in one.scores.values())]
    deviations: dict[str, float | None] = {}
    for name in DIMENSIONS:
        variances = [variance(scores) for one in again if len(scores := one.scores.get(name, ())) > 1]
        deviations[name] = math.sqrt(fmean(variances)) if variances else None
    return Steadiness(group, len(again), means_of(again), deviations, *bleu)


def bleu_of(groups: Mapping[Group, Sequence[JudgedAnswer]]) -> dict[Group, tuple[float | None, str]]:
    """Return BLEU of the answers of each group against their reference answers, and how it was computed."""
    texts = [[(one.text, one.reference) for one in own if one.reference.strip()] for own in groups.values()]
    if sum(map(len, texts)) > APART:
        with yielded_by_child(partial(_bleus, texts), "computes BLEU", "Nothing was computed.") as found:
            return dict(zip(groups, found, strict=True))
    return dict(zip(groups, _bleus(texts), strict=True))


def _bleus(groups: Sequence[Sequence[tuple[str, str]]]) -> Iterator[tuple[float | None, str]]:
    from sacrebleu.metrics.bleu import BLEU

    for pairs in groups:
        if not pairs:
            yield None, ""
            continue
        metric = BLEU()
        score = metric.corpus_score([text for text, _ in pairs], [[reference for _, reference in pairs]])
        yield score.score, str(metric.get_signature())


def by_time(group: Group, answers: Sequence[JudgedAnswer]) -> list[Part]:
    """Return the scores of questions by the quarter of their issue (Figure 5), of those with a date."""
    found = defaultdict[str, list[JudgedAnswer]](list)
    for one in answers:
        if (quarter := _quarter(one.created_at)) and one.scores:
            found[quarter].append(one)
    return [_part(group, name, own) for name, own in sorted(found.items())]


def _quarter(moment: str) -> str:
    year, _, rest = moment.partition("-")
    month = rest[:2]
    if len(year) != 4 or not year.isdigit() or not month.isdigit() or not 1 <= int(month) <= 12:
        return ""
    return f"{year} Q{(int(month) + 2) // 3}"


def by_length(group: Group, answers: Sequence[JudgedAnswer]) -> list[Part]:
    """Return the scores of questions by the quintile of their length (Figure 6).

    Questions of equal length are in one part, so with ties parts differ in size, and there can be fewer.
    """
    scored = [one for one in answers if one.scores]
    lengths = sorted({one.item_id: one.tokens for one in scored}.values())
    if not lengths:
        return []
    ends = [lengths[-(-len(lengths) * part // PARTS) - 1] for part in range(1, PARTS + 1)]
    found = []
    for low, high in pairwise([-1.0, *dict.fromkeys(ends)]):
        own = [one for one in scored if low < one.tokens <= high]
        there = sorted(one.tokens for one in own)
        # Lengths are quarters of a token, which tell parts apart that whole tokens do not.
        found.append(_part(group, f"{there[0]:,g} to {there[-1]:,g}", own))
    return found


def _part(group: Group, name: str, answers: Sequence[JudgedAnswer]) -> Part:
    of_all = defaultdict[int, list[float]](list)
    for dimension in DIMENSIONS:
        for item_id, value in by_question(answers, dimension).items():
            of_all[item_id].append(value)
    values = [fmean(own) for own in of_all.values()]
    deviation = math.sqrt(variance(values)) if len(values) > 1 else None
    return Part(group, name, len(values), means_of(answers), deviation)


def against_experts(answers: Sequence[JudgedAnswer]) -> list[AgainstExperts]:
    """Return how near the judge is to people, by dimension; those that nobody scored are left out."""
    found = []
    for name in DIMENSIONS:
        both = [
            (value, one.experts[name])
            for one in answers
            if name in one.experts and (value := one.value(name)) is not None
        ]
        if both:
            apart = [abs(judge - expert) for judge, expert in both]
            found.append(
                AgainstExperts(
                    name,
                    len(both),
                    fmean(judge for judge, _ in both),
                    fmean(expert for _, expert in both),
                    fmean(apart),
                    fmean(float(one <= 1) for one in apart),
                    _spearman(both),
                )
            )
    return found


def _spearman(both: Sequence[tuple[float, float]]) -> float | None:
    if any(len(set(side)) < 2 for side in zip(*both, strict=True)):
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(*zip(*both, strict=True)).statistic)


def preference_scores(connection: Connection, baseline: str) -> dict[Group, float]:
    """Return the scores of models against a baseline, in percent (PCE): by context, and by language, too.

    Both orders of a judge, and all judges and people, are pooled; the baseline itself has 50.

    Raises:
        UnknownName: No candidate is called so.
    """
    votes = preference_votes(connection).tied()
    table, ref = table_of(Comparison), table_of(ResponseRef)
    settings = dict(connection.execute(select(ref.c.id, ref.c.setting)).all())
    places = {
        row.item_id: (
            settings.get(_response_of(row.first_ref), "") or NO_CONTEXT,
            (row.language or "").lower(),
        )
        for row in connection.execute(
            select(table.c.item_id, table.c.first_ref, table.c.language).where(table.c.about == "answers")
        )
    }
    candidates = {
        name for item, one in votes.items.items() if item in places for name in (one.first, one.second)
    }
    if baseline not in candidates:
        raise UnknownName(
            "Unknown candidate",
            f"No comparison of answers has a candidate called {baseline!r}.",
            f"Candidates: {', '.join(sorted(candidates)[:20]) or 'none'}. Answers are compared by "
            "workbench compare new, then workbench judge-pairs.",
        )
    in_orders = {one.rater for one in votes.orders}
    levels = defaultdict[Group, Counter[int]](Counter)
    for vote in [*votes.orders, *(one for one in votes.labels if one.rater not in in_orders)]:
        pairing = votes.items[vote.item]
        if vote.item not in places or baseline not in (pairing.first, pairing.second):
            continue
        of_first = pairing.second == baseline
        candidate = pairing.first if of_first else pairing.second
        context, language = places[vote.item]
        level = round(2 - vote.value if of_first else 2 + vote.value)
        for group in {Group(context, candidate), Group(context, candidate, language)}:
            levels[group][level] += 1
    found: dict[Group, float] = {}
    for group, counts in levels.items():
        score = score_of_levels([counts[level] for level in range(_LEVELS)])
        if score is not None:
            found[group] = score
            found[group._replace(model=baseline)] = 50.0
    return found


def _response_of(reference: str) -> int:
    """Return the key of the response that a candidate is; 0 for none."""
    number = (reference or "").rpartition(":")[2]
    return int(number) if number.isdigit() else 0
