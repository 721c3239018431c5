"""The report on answers to questions: Tables III to VI, Figures 5 and 6 of CoReQA (section IV)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from store.analysis.answers import (
    DIMENSIONS,
    AgainstExperts,
    AnswerScores,
    Group,
    Part,
    Steadiness,
    against_experts,
    answer_figures,
    answer_scores,
    bleu_of,
    by_length,
    by_time,
    grouped,
    in_every_context,
    preference_scores,
    steadiness,
)
from store.errors import WorkbenchError
from store.formatting import language_name, pluralize
from store.json_fields import json_fields
from store.measures.intervals import LEAST_CLUSTERS
from store.reports.options import Options
from store.reports.value import NONE, Cell, Report, Row, Table, counted, filled, number, share

if TYPE_CHECKING:
    from sqlalchemy import Connection

SHORT = {"accuracy": "Acc.", "completeness": "Cmpt.", "relevance": "Rel.", "clarity": "Clarity"}
"""The dimensions as headings, as the paper has them."""


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """The scores of the answers of a workspace.

    Attributes:
        judge: Whose scores these are; empty for none.
        judges: The answers that each judge scored.
        answers: All answers, and those that the judge scored.
        overall: Of each context and model (Table III).
        languages: The same by language (Table IV).
        contexts: Of the same questions in every context (Table V).
        steadiness: How steady the judge is, and BLEU (Table VI).
        times: By the time of the issue (Figure 5).
        lengths: By the length of the question (Figure 6).
        experts: The judge against people.
        baseline: The model that others are scored against; None for none.
        equal: Answers that equal an earlier one to the same question.
    """

    judge: str
    judges: Mapping[str, int]
    answers: int
    scored: int
    overall: Sequence[AnswerScores]
    languages: Sequence[AnswerScores]
    contexts: Sequence[AnswerScores]
    steadiness: Sequence[Steadiness]
    times: Sequence[Part]
    lengths: Sequence[Part]
    experts: Sequence[AgainstExperts]
    baseline: str | None = None
    equal: int = 0


def read_answers(connection: Connection, options: Options) -> AnswersReport:
    """Read the answers of a workspace with their scores.

    Raises:
        WorkbenchError: There are no answers.
        UnknownName: No judge, or no candidate of comparisons, is called so.
    """
    found = answer_figures(connection, options.rater)
    if not found.answers:
        raise WorkbenchError(
            "No answers",
            "No model has answered a question.",
            "Have one answer, or import answers: workbench answer WORKSPACE --model PROVIDER:NAME",
        )
    pce = {} if options.baseline is None else preference_scores(connection, options.baseline)
    overall, by_language = grouped(found.answers), grouped(found.answers, languages=True)
    same = grouped(in_every_context(found.answers))
    bleu = bleu_of(overall)

    def scores(groups: Mapping[Group, Any]) -> list[AnswerScores]:
        return [
            answer_scores(group, own, options.resampling, pce.get(group)) for group, own in groups.items()
        ]

    return AnswersReport(
        found.judge,
        found.judges,
        len(found.answers),
        sum(bool(one.scores) for one in found.answers),
        scores(overall),
        scores(by_language),
        scores(same),
        [steadiness(group, own, bleu[group]) for group, own in overall.items()],
        [part for group, own in overall.items() for part in by_time(group, own)],
        [part for group, own in overall.items() for part in by_length(group, own)],
        against_experts(found.answers),
        options.baseline,
        len(found.answers) - len({(one.item_id, one.text) for one in found.answers}),
    )


def answers_fields(found: AnswersReport, options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""

    def of_scores(some: Sequence[AnswerScores]) -> list[dict[str, Any]]:
        return [
            {
                **_group_fields(one.group),
                "n": one.n,
                **one.means,
                "intervals": {
                    name: {"low": each.low, "high": each.high} for name, each in one.intervals.items()
                },
                "deviation_over_trials": dict(one.trials),
                "pce": one.pce,
            }
            for one in some
        ]

    return {
        "judge": found.judge or None,
        "judges": dict(found.judges),
        "answers": found.answers,
        "scored": found.scored,
        "baseline": found.baseline,
        "equal": found.equal,
        "scores": of_scores((*found.overall, *found.languages)),
        "averages": [
            {"context": context, "language": language or None, **means}
            for (context, language), means in _averages(found.languages).items()
        ],
        "same_questions": of_scores(found.contexts),
        "steadiness": [
            {
                **_group_fields(one.group),
                "n": one.n,
                **one.means,
                "deviations": dict(one.deviations),
                "bleu": one.bleu,
                "signature": one.signature or None,
            }
            for one in found.steadiness
        ],
        "times": [_part_fields(one) for one in found.times],
        "lengths": [_part_fields(one) for one in found.lengths],
        "experts": [json_fields(one) for one in found.experts],
    }


def _group_fields(group: Group) -> dict[str, str | None]:
    return {"model": group.model, "context": group.context, "language": group.language or None}


def _part_fields(one: Part) -> dict[str, Any]:
    return {**_group_fields(one.group), "part": one.name, "n": one.n, **one.means, "deviation": one.deviation}


def answers_report(found: AnswersReport, options: Options) -> Report:
    """Return the report as tables."""
    judged = (
        f"scored by {found.judge}: {found.scored:,}" if found.judge else "not scored: workbench judge-answers"
    )
    others = [f"{name} {count:,}" for name, count in found.judges.items() if name != found.judge]
    signatures = sorted({one.signature for one in found.steadiness if one.signature})
    caption = [f"{pluralize(found.answers, 'answer')} · {judged}"]
    caption += [f"other judges, with --rater: {', '.join(others)}"] if others else []
    caption.append(
        "From 1 to 10, means over questions; 95 % intervals over questions, by bootstrap, "
        f"from {LEAST_CLUSTERS} questions on"
    )
    if found.equal:
        caption.append(
            f"{pluralize(found.equal, 'answer')} equal to another one to the same question: judges are asked "
            "about both once, but for --no-cache"
        )
    if found.baseline:
        caption.append(f"PCE: against {found.baseline}, which has 50")
    caption += [f"BLEU: {one}" for one in signatures]
    return Report(
        caption=tuple(caption),
        command=("answers", *options.arguments()),
        tables=filled(
            _scores(found.overall, "Answers (Table III)", found.baseline),
            *(
                _of_language(found.languages, language, found.baseline)
                for language in dict.fromkeys(one.group.language for one in found.languages)
            ),
            _scores(found.contexts, "The same questions in every context (Table V)", None),
            _steadiness(found.steadiness),
            _parts(found.times, "quarter", "By the time of the issue (Figure 5)"),
            _parts(found.lengths, "tokens", "By the length of the question (Figure 6)"),
            _experts(found.experts),
        ),
    )


def _averages(some: Sequence[AnswerScores]) -> dict[tuple[str, str], dict[str, float | None]]:
    """Return the averages of the models in each context and language, where there are several."""
    by_place = defaultdict[tuple[str, str], list[AnswerScores]](list)
    for one in some:
        by_place[one.group.context, one.group.language].append(one)
    return {
        place: {
            name: fmean(means)
            if (means := [m for one in own if (m := one.means[name]) is not None])
            else None
            for name in DIMENSIONS
        }
        for place, own in by_place.items()
        if len(own) > 1
    }


def _scores(some: Sequence[AnswerScores], title: str, baseline: str | None) -> Table:
    """Return a row for each context and model, with the accuracy drawn with its interval."""
    rows = []
    for one in some:
        cells = [number(one.means[name]) for name in DIMENSIONS]
        pce = [number(one.pce, 1)] if baseline else []
        of = one.intervals["accuracy"]
        drawn = (of.low, one.means["accuracy"], of.high)
        rows.append(Row((one.group.context, one.group.model, counted(one.n), *cells, *pce), drawn))
    columns = ("context", "model", "n", *SHORT.values(), *(["PCE"] if baseline else []))
    return Table(columns, tuple(rows), title, names=2, scale=(1.0, 10.0), drawn="accuracy, from 1 to 10")


def _of_language(some: Sequence[AnswerScores], language: str, baseline: str | None) -> Table:
    """Return the scores in a language, with the averages of the models in each context (Table IV)."""
    own = [one for one in some if one.group.language == language]
    rows: list[Row] = []
    for context in dict.fromkeys(one.group.context for one in own):
        of_context = [one for one in own if one.group.context == context]
        rows += _scores(of_context, "", baseline).rows
        means = _averages(own).get((context, language))
        if means is not None:
            cells = [number(means[name]) for name in DIMENSIONS]
            last = [Cell("/")] if baseline else []
            rows.append(Row((context, "average", "", *cells, *last)))
    columns = ("context", "model", "n", *SHORT.values(), *(["PCE"] if baseline else []))
    name = language_name(language) or "language not known"
    return Table(
        columns,
        tuple(rows),
        f"{name} (Table IV)",
        names=2,
        scale=(1.0, 10.0),
        drawn="accuracy, from 1 to 10",
    )


def _steadiness(some: Sequence[Steadiness]) -> Table:
    rows = []
    for one in some:
        cells = [_with_deviation(one.means[name], one.deviations[name]) for name in DIMENSIONS]
        if one.n or one.bleu is not None:
            rows.append(
                Row((one.group.context, one.group.model, counted(one.n), *cells, number(one.bleu, 1)))
            )
    columns = ("context", "model", "judged again", *SHORT.values(), "BLEU")
    note = "± is the standard deviation of the scores of an answer, as the root of the mean variance."
    return Table(columns, tuple(rows), "Judged again, and BLEU (Table VI)", names=2, notes=(note,))


def _with_deviation(mean: float | None, deviation: float | None) -> Cell:
    if mean is None or deviation is None:
        return Cell(NONE)
    return Cell(f"{mean:.2f} ±{deviation:.2f}", mean)


def _parts(some: Sequence[Part], heading: str, title: str) -> Table:
    rows = []
    for one in some:
        means = [mean for mean in one.means.values() if mean is not None]
        drawn = (fmean(means) - 1) / 9 if means else None
        cells = [number(one.means[name]) for name in DIMENSIONS]
        words = (one.group.context, one.group.model, one.name)
        rows.append(Row((*words, counted(one.n), *cells, number(one.deviation)), drawn))
    columns = ("context", "model", heading, "n", *SHORT.values(), "±")
    note = "The bar is the mean of the four, from 1 to 10, and ± its standard deviation over questions."
    what = "mean of the four, from 1 to 10"
    return Table(columns, tuple(rows), title, names=3, drawn=what, notes=(note,))


def _experts(some: Sequence[AgainstExperts]) -> Table:
    rows = tuple(
        Row(
            (
                one.dimension,
                counted(one.n),
                *(number(one.judge), number(one.experts), number(one.apart)),
                *(share(one.near), number(one.correlation)),
            ),
            one.near,
        )
        for one in some
    )
    columns = ("dimension", "answers", "judge", "people", "apart", "within 1", "Spearman")
    note = "The bar is the share of answers on which both are at most one point apart."
    return Table(columns, rows, "Judge and people", drawn="share within one point", notes=(note,))
