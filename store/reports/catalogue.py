"""The list of reports."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from store.analysis.labels import kinds_of_items, question_of_items, questions_of_items
from store.analysis.pair_figures import pair_labellers, pair_labels
from store.kinds.pair import PAIR
from store.measures.truth import POLICIES
from store.plugins import registered
from store.policy.refusal import refuse
from store.policy.scope import FIRST_PHASES, Scope, Shows, Visibility
from store.queries.runs import run_names
from store.queries.studies import list_studies
from store.reports.accuracy import POLICY, accuracy_of, read_accuracy
from store.reports.answers import answers_fields, answers_report, read_answers
from store.reports.collection import collection_fields, collection_report, read_collection
from store.reports.completion import completion_fields, completion_report, read_completion
from store.reports.construction import construction_fields, construction_report, read_construction
from store.reports.labels import (
    ALL,
    agreement_report,
    confusion_report,
    labels_report,
    read_agreement,
    read_confusion,
    read_labels,
)
from store.reports.options import Options
from store.reports.pairs import (
    benchmark_table,
    codes_table,
    figures_report,
    matches_table,
    ranks_table,
    read_figures,
)
from store.reports.plan import plan_of, read_plan
from store.reports.preference import (
    WHOLE,
    position_tables,
    preference_of,
    ratings_tables,
    read_preference,
    votes_tables,
    wins_tables,
)
from store.reports.raters import raters_of, read_raters
from store.reports.retrieval import (
    read_retrieval,
    retrieval_choices,
    retrieval_fields,
    retrieval_of,
    with_labels,
)
from store.reports.spec import Choice, Choices, ReportSpec
from store.reports.times import read_times, times_of
from store.reports.training import read_training, training_fields, training_report
from store.splits.splits import list_splits

if TYPE_CHECKING:
    from sqlalchemy import Connection

GROUP = "workbench.reports"
"""The entry points of reports of other packages, and of the agents."""

EVERY = "all"
"""The choice of every study, phase, split or rater."""

Chooses = Callable[["Connection", Options, Any], Choice]


def _setting(name: str) -> Callable[[Options, str], Options]:
    """Return what sets an option; `all` sets none."""

    def sets(options: Options, value: str) -> Options:
        change: dict[str, Any] = {name: None if value == EVERY else value}
        return replace(options, **change)

    return sets


def _set_question(options: Options, value: str) -> Options:
    # Raters and runs may have no label of another question.
    policy = options.policy if options.policy in POLICIES else None
    return replace(options, question=value, raters=(), rater=None, run=None, policy=policy)


def _set_rater(options: Options, value: str) -> Options:
    return replace(options, raters=() if value == EVERY else (value,))


def _raters_of(found: Any) -> tuple[str, ...]:
    return () if found is None else tuple(one.name for one in found.labels.raters)


def _question(connection: Connection, options: Options, found: Any) -> Choice:
    chosen = options.question or question_of_items(connection)
    return Choice("question", questions_of_items(connection), chosen, _set_question)


def _question_or_all(connection: Connection, options: Options, found: Any) -> Choice:
    every = _question(connection, options, found)
    return replace(every, values=(ALL, *every.values))


def _study(connection: Connection, options: Options, found: Any) -> Choice:
    names = tuple(one.name for one in list_studies(connection))
    return Choice("study", (EVERY, *names), options.study or EVERY, _setting("study"))


def _a_study(connection: Connection, options: Options, found: Any) -> Choice:
    names = tuple(one.name for one in list_studies(connection))
    return Choice("study", names, options.study or "", _setting("study"))


def _phase(connection: Connection, options: Options, found: Any) -> Choice:
    return Choice("phase", (EVERY, *FIRST_PHASES), options.phase or EVERY, _setting("phase"))


def _split(connection: Connection, options: Options, found: Any) -> Choice:
    names = tuple(one.name for one in list_splits(connection))
    return Choice("split", (EVERY, *names), options.split or EVERY, _setting("split"))


def _kind(connection: Connection, options: Options, found: Any) -> Choice:
    kinds = tuple(kind.name for kind in kinds_of_items(connection))
    return Choice("kind", kinds, options.kind or next(iter(kinds), ""), _setting("kind"))


def _one_of(found_names: Callable[[Any], tuple[str, ...]]) -> Chooses:
    def choose(connection: Connection, options: Options, found: Any) -> Choice:
        names = tuple(dict.fromkeys((*options.raters, *(() if found is None else found_names(found)))))
        return Choice("rater", (EVERY, *names), options.raters[0] if options.raters else EVERY, _set_rater)

    return choose


def _two_of(place: int) -> Chooses:
    def choose(connection: Connection, options: Options, found: Any) -> Choice:
        two = () if found is None else found.raters

        def sets(asked: Options, value: str) -> Options:
            # Two raters are compared: one with itself says nothing.
            other = two[1 - place] if value != two[1 - place] else two[place]
            return replace(asked, raters=(value, other) if place == 0 else (other, value))

        return Choice(("rater", "other rater")[place], _raters_of(found), two[place] if two else "", sets)

    return choose


def _truth(connection: Connection, options: Options, found: Any) -> Choice:
    names = (*POLICIES, *_raters_of(found), *([options.policy] if options.policy else []))
    values = tuple(dict.fromkeys(names))
    return Choice("truth", values, options.policy or POLICY, _setting("policy"))


def _labeller(connection: Connection, options: Options, found: Any) -> Choice:
    chosen = options.rater or ("" if found is None else found.whose.name)
    values = (*run_names(connection, PAIR.name), *pair_labellers(connection))
    return Choice("labels of", values, chosen, _setting("rater"))


def _choices(**chooses: Chooses) -> Callable[[Connection, Options, Any | None], Choices]:
    """Return what reads the choices of a report."""

    def choices(connection: Connection, options: Options, found: Any | None) -> Choices:
        return {name: choose(connection, options, found) for name, choose in chooses.items()}

    return choices


def _of_every_question(connection: Connection, options: Options) -> Options:
    return options if options.question is not None else replace(options, question=ALL)


def _of_somebody(connection: Connection, options: Options) -> Options:
    """Return the options with a person whose labels there are, where no agents have labelled pairs."""
    if options.rater is None and not pair_labels(connection).name:
        return replace(options, rater=next(iter(pair_labellers(connection)), None))
    return options


def _of_a_study(connection: Connection, options: Options) -> Options:
    if options.study is None:
        return replace(options, study=next((one.name for one in list_studies(connection)), None))
    return options


_LABELS = ("question", "study", "raters", "run")
_DRAWN = ("bootstrap", "seed")
_VOTES = (
    *("study", "raters", "run", "elo_k", "prior", "baseline", "judges", "group_by"),
    *_DRAWN,
)
_PLANNED = (
    *("half_width", "per_query", "rater_count", "alpha", "prevalence", "accuracy", "correlation"),
    *("items", "p10", "p01", "power", "significance"),
)
_FIGURES = _choices(first=_labeller)
_PREFERENCE = _choices(study=_study)

OURS = (
    ReportSpec(
        "agreement",
        "Agreement of people",
        "alpha of people; every two raters",
        read_agreement,
        agreement_report,
        options=(
            *(*_LABELS, "phase", "rater", "split", "part"),
            *("by_item", "blocks", *_DRAWN, "bootstrap_units"),
        ),
        start=_of_every_question,
        choices=_choices(subject=_question_or_all, study=_study, phase=_phase, split=_split),
    ),
    ReportSpec(
        "confusion",
        "Confusion of two raters",
        "which labels occur together",
        read_confusion,
        confusion_report,
        options=(*_LABELS, *_DRAWN),
        choices=_choices(subject=_question, first=_two_of(0), second=_two_of(1), study=_study),
    ),
    ReportSpec(
        "accuracy",
        "Accuracy",
        "how often people and runs are right",
        read_accuracy,
        accuracy_of,
        options=(
            *(*_LABELS, "rater", "policy", "panel", "with_revealed", "compare", "population"),
            *(*_DRAWN, "bootstrap_units"),
        ),
        choices=_choices(subject=_question, first=_truth, study=_study),
    ),
    ReportSpec(
        "labels",
        "Labels of each rater",
        "how often each rater gave each label",
        read_labels,
        labels_report,
        options=(*_LABELS, "rater"),
        own=True,
        choices=_choices(
            subject=_question,
            first=_one_of(lambda found: tuple(one.name for one in found.labels.raters)),
            study=_study,
        ),
    ),
    ReportSpec(
        "time",
        "Time for each item",
        "seconds, and by place in a session",
        read_times,
        times_of,
        options=("kind", "study", "raters", "rater"),
        own=True,
        choices=_choices(subject=_kind, first=_one_of(lambda found: found.raters), study=_study),
    ),
    ReportSpec(
        "raters",
        "Work of the raters of a study",
        "time, known answers, repeats, drift",
        read_raters,
        raters_of,
        options=("study", "question", "rater"),
        start=_of_a_study,
        choices=_choices(subject=_a_study),
    ),
    ReportSpec(
        "figures",
        "The benchmark in figures",
        "pairs, queries and codes as CoSQA+ counts them",
        read_figures,
        figures_report("figures", benchmark_table, matches_table, ranks_table, codes_table),
        options=("rater", "run"),
        source="Table II and Figures 3, 4 and 7 of CoSQA+",
        kind="pair",
        parts=("table-2", "figure-3", "figure-4", "figure-7"),
    ),
    *(
        ReportSpec(
            name,
            title,
            about,
            read_figures,
            figures_report(name, table),
            options=("rater", "run"),
            source=f"{name.replace('-', ' ').capitalize().replace('2', 'II')} of CoSQA+",
            kind="pair",
            start=_of_somebody,
            choices=_FIGURES,
        )
        for name, title, about, table in (
            (
                "table-2",
                "The benchmark in numbers",
                "queries, codes, pairs and their labels",
                benchmark_table,
            ),
            ("figure-3", "How many codes match each query", "queries by their matching codes", matches_table),
            (
                "figure-4",
                "How often each rank matches",
                "matches among candidates at a rank",
                ranks_table,
            ),
            (
                "figure-7",
                "How many queries a code answers",
                "codes by the queries they answer",
                codes_table,
            ),
        )
    ),
    ReportSpec(
        "retrieval",
        "Retrieval",
        "how well methods find codes",
        read_retrieval,
        retrieval_of,
        retrieval_fields,
        options=("rater", "policy", "split", "part", "preset", "compare", *_DRAWN),
        kind="pair",
        start=with_labels,
        choices=retrieval_choices,
    ),
    ReportSpec(
        "training",
        "Training",
        "what corpora are worth to train on",
        read_training,
        training_report,
        training_fields,
        options=("bootstrap", "seed"),
        source="Table III of CoSQA+",
        kind="pair",
    ),
    ReportSpec(
        "completion",
        "Completions",
        "scores of completions, by context",
        read_completion,
        completion_report,
        completion_fields,
        options=_DRAWN,
        source="Tables 2 to 4 and 7 to 9, Figures 4 and 5 of CrossCodeEval",
        kind="completion",
    ),
    ReportSpec(
        "construction",
        "Constructed tasks",
        "tasks made from repositories",
        read_construction,
        construction_report,
        construction_fields,
        source="Table 1 of CrossCodeEval",
        kind="completion",
    ),
    ReportSpec(
        "collection",
        "Collected issues",
        "what became of issues, by condition",
        read_collection,
        collection_report,
        collection_fields,
        source="Table I and Figure 4 of CoReQA",
        kind="answer",
    ),
    ReportSpec(
        "answers",
        "Answers",
        "scores of answers, by context",
        read_answers,
        answers_report,
        answers_fields,
        options=("rater", "baseline", "bootstrap", "seed"),
        source="Tables III to VI of CoReQA",
        kind="answer",
    ),
    ReportSpec(
        "preference",
        "Preference",
        "ratings, wins and biases of votes",
        read_preference,
        preference_of("preference", *WHOLE),
        options=_VOTES,
        kind="comparison",
        parts=("votes", "ratings", "wins", "position"),
    ),
    *(
        ReportSpec(
            name,
            title,
            about,
            read_preference,
            preference_of(name, tables),
            options=_VOTES,
            kind="comparison",
            choices=_PREFERENCE,
        )
        for name, title, about, tables in (
            ("ratings", "Ratings of candidates", "Bradley-Terry with intervals, and Elo", ratings_tables),
            ("wins", "Who wins against whom", "win rates of every two, with tests", wins_tables),
            ("position", "Whether the left side wins", "how verdicts depend on the side", position_tables),
            ("votes", "Votes and their agreement", "who voted, how far they agree, length", votes_tables),
        )
    ),
    ReportSpec(
        "plan",
        "How many queries a study needs",
        "for intervals, or to compare methods",
        read_plan,
        plan_of,
        options=("question", "raters", "run", "seed", *_PLANNED),
        own=True,
        of_paper=False,
    ),
)
"""The reports of the store."""


@cache
def reports() -> dict[str, ReportSpec]:
    """Return every report by its name, those of the store first.

    Raises:
        WorkbenchError: A report of another package cannot be used.
    """
    return {one.name: one for one in (*OURS, *registered(GROUP, ReportSpec))}


def offered_reports(kinds: Collection[str], *, blind: bool, named: bool) -> list[ReportSpec]:
    """Return the reports that the app lists of a workspace; in place of one with parts these.

    Args:
        kinds: The kinds of its items.
        blind: Whether only a rater's own labels may be seen.
        named: Whether there is a rater.
    """
    if not kinds or (blind and not named):
        return []
    shown = [one for one in reports().values() if not one.parts and (not one.kind or one.kind in kinds)]
    return [one for one in shown if one.own or not blind]


def check_blind(spec: ReportSpec, options: Options) -> None:
    """Refuse, in a blind review, a report of the labels of others.

    Raises:
        HiddenData: It is one.
    """
    others = options.own is not None and options.raters and set(options.raters) != {options.own}
    if not spec.own or others:
        asking = Scope(visibility=Visibility(options.blind))
        refuse(None, asking, Shows.OTHERS, f"The report {spec.name} uses")
