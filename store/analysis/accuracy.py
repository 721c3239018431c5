"""Accuracy of people, imported raters, agents' runs and judges against the labels of a rater or a panel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import select

from store.analysis.conditions import ConditionRow, by_condition
from store.analysis.labels import QuestionLabels, RaterLabels, of_study, to_file_order
from store.analysis.pair_runs import executed_programs
from store.analysis.truth_panel import TruthPanel, TruthSource, truth_panel
from store.errors import WorkbenchError
from store.json_fields import NOT_IN_JSON, SPREAD, fields_of, json_name
from store.measures.accuracy import Accuracy, Average, Comparison, accuracy, compare, holm_adjusted
from store.measures.alternative_test import Alignment, AlternativeTest, alternative_test
from store.measures.intervals import INTERVALS, Bootstrap
from store.measures.sample_estimates import SampleEstimates, Stratum, sample_estimates
from store.measures.truth import LEAST_RATERS
from store.policy.scope import RunRef
from store.queries.current import all_marks, on_label
from store.tables.columns import table_of
from store.tables.people import Question, Rater
from store.tables.record import JudgmentRow
from store.tables.runs import StepRow, VerdictRow

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Anchoring:
    """How a rater's labels moved when they saw those of the agents.

    Attributes:
        n: Units that the rater labelled without and then with the agents' label on the screen.
        differed: Those where the first label was not the agents'.
        switched_to_right: Those of these with the agents' label in the end, where that is true.
        switched_to_wrong: The same where it is not true.
        switched_unknown: The same where there is no true label.
        switched_away: Units where the first label was the agents' and the last one is not.
        blind_accuracy: The accuracy of the first labels; None without true labels.
        revealed_accuracy: That of the last ones, on the same units.
        difference: The second less the first.
        ci_low: The lower end of the interval of the difference.
        ci_high: The upper end.
    """

    n: int
    differed: int
    switched_to_right: int
    switched_to_wrong: int
    switched_unknown: int
    switched_away: int
    blind_accuracy: float | None
    revealed_accuracy: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True, eq=False)
class RaterAccuracy:
    """One rater of the report.

    Attributes:
        name: The rater's name; an agents' run has its own.
        kind: `human`, `import`, `agent` or `judge`.
        left_out: Whether the rater is of the panel or an adjudicator, and was left out for this.
        true_units: Units with a true label; where the rater is left out, with one of the others.
        tied: Units that the rater and others labelled, and on which the others are not decided.
        alone: Units that only the rater labelled.
        executable_rate: Of a run: the share of its executed programs that were executable; None without any.
        replaces: Of agents and judges: the alternative annotator test against the panel.
        population: Of agents, where asked for: estimates over all units that the run labelled.
        anchoring: Of people with labels from before and after they saw the agents'; None for others.
        known: Which units have a true label and one of the rater, of shape (n,).
        wrong: Which of these labels are not the true one.
    """

    name: str = field(metadata=json_name("rater"))
    kind: str
    figures: Accuracy = field(metadata=SPREAD)
    left_out: bool
    true_units: int
    tied: int
    alone: int
    executable_rate: float | None
    replaces: AlternativeTest | None
    population: SampleEstimates | None
    anchoring: Anchoring | None
    known: Array = field(repr=False, metadata=NOT_IN_JSON)
    wrong: Array = field(repr=False, metadata=NOT_IN_JSON)


@dataclass(frozen=True, slots=True)
class AccuracyReport:
    """The accuracy on a question.

    Attributes:
        labels: Everybody's labels.
        truth: The labels that count as true.
        raters: A row for each rater.
        comparisons: Every two of the raters that were to be compared.
        by_condition: People's labels under each condition of the study; none without a study.
    """

    labels: QuestionLabels
    truth: TruthSource
    raters: tuple[RaterAccuracy, ...]
    comparisons: tuple[Comparison, ...]
    by_condition: tuple[ConditionRow, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            **fields_of(self.labels, "question", "phases", "study", "level", "cluster", "equal_texts"),
            **fields_of(self, "truth", "raters", "comparisons", "by_condition"),
        }


def accuracy_report(
    connection: Connection,
    question: str,
    against: str,
    *,
    study: str | None = None,
    panel: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    compared: Sequence[str] = (),
    run: RunRef | None = None,
    with_revealed: bool = False,
    population: Sequence[str] | None = None,
    bootstrap: Bootstrap = INTERVALS,
) -> AccuracyReport:
    """Compute the accuracy of raters on a question against the labels of one rater, or of a panel's policy.

    Args:
        connection: A reading connection.
        question: The question's name.
        against: The name of a rater, or a policy.
        study: The study whose assignments count; None for all labels.
        panel: The raters that a policy is of; people by default.
        raters: The raters to report; everybody by default.
        compared: The raters whose accuracies are compared, every two of them: the family of Holm's
            correction.
        run: The only run of the agents that counts; None for all of them.
        with_revealed: Whether labels that were judged with others in sight count as true.
        population: What the experts' sample was stratified by, for estimates over all units that a run
            labelled: `label`, `path`, both, or nothing for a simple random sample; None for no estimates.
        bootstrap: How intervals are drawn.

    Raises:
        UnknownName: A name is unknown.
        WorkbenchError: Nobody's labels can count as true, or the sample cannot stand for all units.
    """
    source = truth_panel(
        connection, question, against, study=study, panel=panel, run=run, with_revealed=with_revealed
    )
    labels = source.labels
    places = list(range(len(labels.raters))) if raters is None else labels.places(raters)
    if source.policy is None and raters is None:
        places = [place for place in places if place not in source.places]
    family = labels.places(compared)
    if compared and len(family) < 2:
        raise WorkbenchError(
            "One rater",
            f"{' and '.join(compared)} are names of one rater, {labels.raters[family[0]].name}.",
            "Name two raters or more to compare.",
        )
    if source.policy is None and set(source.places) & {*places, *family}:
        raise WorkbenchError(
            "Nothing to compare",
            f"{source.against}'s labels are the true ones, so that they are always right.",
            "Leave this rater out, or choose another truth with --policy.",
        )
    found = tuple(
        _row(connection, source, place, population, bootstrap) for place in dict.fromkeys((*places, *family))
    )
    comparisons = []
    for pair in combinations(family, 2):
        one, other = (labels.raters[place] for place in pair)
        comparisons.append(
            compare(
                (one.name, other.name),
                source.without(pair).values,
                one.values,
                other.values,
                clusters=labels.groups,
                bootstrap=bootstrap,
            )
        )
    truth = source.described(connection)
    rest = len(source.places) - 1
    if (
        source.policy == "dawid-skene"
        and rest < LEAST_RATERS <= rest + 1
        and any(one.left_out for one in found)
    ):
        warning = f"A rater of the panel is compared with the other {rest}, whose errors cannot be separated."
        truth = replace(truth, warnings=(*truth.warnings, warning))
    conditions = by_condition(connection, question, study, source.count_right) if study is not None else []
    return AccuracyReport(
        labels,
        truth,
        found,
        tuple(holm_adjusted(comparisons)),
        tuple(conditions),
    )


def _row(
    connection: Connection,
    source: TruthPanel,
    place: int,
    population: Sequence[str] | None,
    bootstrap: Bootstrap,
) -> RaterAccuracy:
    import numpy

    labels = source.labels
    one = labels.raters[place]
    left_out = source.leaves_out(place)
    found = source.without([place] if left_out else [])
    given = _given(connection, labels, one)
    figures = accuracy(
        found.values,
        one.values,
        given=given,
        clusters=labels.groups,
        average=_average(labels),
        bootstrap=bootstrap,
    )
    tied = alone = 0
    if left_out:
        lost = numpy.isnan(found.values) & ~numpy.isnan(one.values)
        others = [source.values(each) for each in source.places if each != place]
        judged = ~numpy.isnan(numpy.array(others).reshape(-1, len(one.values))).all(axis=0)
        tied, alone = int((lost & judged).sum()), int((lost & ~judged).sum())
    executable = None
    if one.run_id is not None:
        executed, done = executed_programs(connection, one.run_id, partial(of_study, connection, labels))
        executable = done / executed if executed else None
    known = ~numpy.isnan(found.values) & ~numpy.isnan(one.values)
    return RaterAccuracy(
        one.name,
        one.kind,
        figures,
        left_out,
        int((~numpy.isnan(found.values)).sum()),
        tied,
        alone,
        executable,
        _replaces(source, place),
        _population(connection, labels, one, found.values, population),
        _anchoring(connection, source, place, bootstrap) if one.kind == "human" else None,
        known,
        known & (found.values != one.values),
    )


def _average(labels: QuestionLabels) -> Average:
    """Return the labels that precision and recall are computed for on the question's scale."""
    if labels.level == "interval":
        return "none"
    spec = labels.kind.question(labels.question.partition("@")[0])
    values = {known.value for known in spec.scale.values} if spec else set()
    return "binary" if values == {0.0, 1.0} else "macro"


def _given(connection: Connection, labels: QuestionLabels, one: RaterLabels) -> Array | None:
    """Return which units a rater was given: of a run those with a step, of a person those not decided.

    Imported raters and judges have no list.
    """
    import numpy

    if one.kind == "agent":
        step = table_of(StepRow)
        items = select(step.c.item_id).where(step.c.run_id == one.run_id).distinct()
    elif one.kind == "human":
        rater = table_of(Rater)
        marks = all_marks("cannot_decide", labels.phases, labels.study)
        items = select(marks.c.item_id).join(rater, rater.c.id == marks.c.rater_id)
        items = items.where(rater.c.name == one.name, rater.c.kind == one.kind)
    else:
        return None
    there = numpy.array(connection.execute(items).scalars().all(), dtype=numpy.int64)
    return numpy.isin(labels.item_ids, there) | ~numpy.isnan(one.values)


def _replaces(source: TruthPanel, place: int) -> AlternativeTest | None:
    """Test whether an agent or a judge may replace a rater of the panel; None without three raters."""
    import numpy

    one = source.labels.raters[place]
    others = [each for each in source.places if each != place]
    if one.kind not in ("agent", "judge") or source.policy is None or len(others) < LEAST_RATERS:
        return None
    alignment: Alignment = "rmse" if source.labels.level == "interval" else "accuracy"
    found = alternative_test(one.values, [source.values(each) for each in others], alignment)
    there = source.labels.groups[~numpy.isnan(one.values)]
    several = len(there) - len(numpy.unique(there))
    if not several:
        return found
    cluster = source.labels.cluster
    return replace(found, warning=f"a {cluster} has several items, which the test takes to be independent")


def _population(
    connection: Connection,
    labels: QuestionLabels,
    one: RaterLabels,
    true: Array,
    by: Sequence[str] | None,
) -> SampleEstimates | None:
    """Estimate the accuracy of a run over all units that it labelled from those with a true label."""
    import numpy

    if by is None or one.run_id is None:
        return None
    if _average(labels) != "binary":
        raise WorkbenchError(
            "No population", f"{labels.question} is no question with two answers.", "Leave --population out."
        )
    verdict = table_of(VerdictRow)
    rows = connection.execute(
        select(verdict.c.item_id, verdict.c.path).where(verdict.c.run_id == one.run_id, on_label(verdict))
    )
    path_of = {row.item_id: row.path for row in rows} if "path" in by else {}
    labelled = ~numpy.isnan(one.values)
    names = numpy.array(
        [
            " ".join(
                ([f"label {value:g}"] if "label" in by else [])
                + ([path_of.get(int(item), "")] if "path" in by else [])
            )
            or "all"
            for value, item in zip(one.values[labelled], labels.item_ids[labelled], strict=True)
        ]
    )
    kinds, stratum = numpy.unique(names, return_inverse=True)
    matches = one.values[labelled] == 1
    strata = [
        Stratum(str(name), int((stratum == place).sum()), int(matches[stratum == place].sum()))
        for place, name in enumerate(kinds)
    ]
    sampled = ~numpy.isnan(true[labelled])
    return sample_estimates(strata, stratum[sampled], matches[sampled], true[labelled][sampled] == 1)


def _anchoring(
    connection: Connection, source: TruthPanel, place: int, bootstrap: Bootstrap
) -> Anchoring | None:
    """Compare a person's labels from before and after the agents' label was on the screen."""
    import numpy

    labels = source.labels
    if labels.responses is not None or "@" in labels.question:
        return None
    first, last, shown = _before_and_after(connection, labels, labels.raters[place])
    both = ~numpy.isnan(first) & ~numpy.isnan(last)
    if not both.any():
        return None
    true = source.without([place] if source.policy is not None else ()).values
    if source.policy is None and place in source.places:
        true = numpy.full(len(true), numpy.nan)
    moved = both & (first != shown) & (last == shown)
    known = both & ~numpy.isnan(true)
    change = compare(("revealed", "blind"), true, last, first, clusters=labels.groups, bootstrap=bootstrap)
    blind = float((first == true)[known].mean()) if known.any() else None
    revealed = float((last == true)[known].mean()) if known.any() else None
    return Anchoring(
        int(both.sum()),
        int((both & (first != shown)).sum()),
        int((moved & (shown == true)).sum()),
        int((moved & known & (shown != true)).sum()),
        int((moved & ~known).sum()),
        int((both & (first == shown) & (last != shown)).sum()),
        blind,
        revealed,
        change.difference,
        change.ci_low,
        change.ci_high,
    )


def _before_and_after(
    connection: Connection, labels: QuestionLabels, one: RaterLabels
) -> tuple[Array, Array, Array]:
    """Return a person's last labels without and with a verdict on the screen, and that verdict's value.

    Labels of all phases count, since a study reveals in a phase of its own; those taken back do not.
    """
    import numpy

    judgment, verdict, rater = table_of(JudgmentRow), table_of(VerdictRow), table_of(Rater)
    seen, question = judgment.alias("seen"), table_of(Question)
    given = (
        select(
            *(judgment.c.id, judgment.c.action, judgment.c.target_action, judgment.c.origin),
            *(judgment.c.item_id, judgment.c.assignment_id, judgment.c.phase),
            *(judgment.c.value, judgment.c.shown_verdict, verdict.c.value.label("label_shown")),
        )
        .join(rater, rater.c.id == judgment.c.rater_id)
        .outerjoin(verdict, verdict.c.id == judgment.c.shown_verdict)
        .where(
            rater.c.name == one.name,
            rater.c.kind == one.kind,
            judgment.c.question_id.in_(select(question.c.id).where(question.c.name == labels.question)),
            judgment.c.response_ref_id.is_(None),
            # Of most raters nothing was judged beside the agents.
            judgment.c.item_id.in_(select(seen.c.item_id).where(seen.c.shown_verdict.is_not(None))),
            judgment.c.origin.not_in(("ruling", "import")),
        )
        .order_by(judgment.c.id)
    )
    rows = connection.execute(given).all()
    # An action is taken back where the last change of it is an undo, and not a redo.
    changed = {row.target_action: row.origin for row in rows if row.target_action is not None}
    of_key: dict[tuple[int, UUID | None, str], list[Any]] = defaultdict(list)
    for row in rows:
        if row.origin in ("undo", "redo") or changed.get(row.action) == "undo":
            continue
        kept = of_key[row.item_id, row.assignment_id, row.phase]
        if row.value is not None:
            kept.append(row)
        elif kept:
            # Withdrawn: the rater cannot decide after all.
            kept.pop()
    of_item: dict[int, list[Any]] = defaultdict(list)
    for (item_id, _, _), kept in of_key.items():
        of_item[item_id] += kept
    first, last, shown = (numpy.full(len(labels.units), numpy.nan) for _ in range(3))
    place_of = {item: place for place, item in enumerate(labels.units.tolist())}
    for item_id, kept in of_item.items():
        kept.sort(key=lambda row: row.id)
        after = next((row for row in reversed(kept) if row.shown_verdict is not None), None)
        if after is None or after.label_shown is None or item_id not in place_of:
            continue
        before = [row.value for row in kept if row.shown_verdict is None and row.id < after.id]
        if before:
            place = place_of[item_id]
            first[place], last[place], shown[place] = before[-1], after.value, after.label_shown
    if labels.kind.two_sided:
        first, last, shown = to_file_order(connection, labels.item_ids, (first, last, shown))
    return first, last, shown
