"""Accuracy of people, imported raters, agents' runs and judges against the labels of a rater or a panel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import select

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.measures.accuracy import Accuracy, Average, Comparison, accuracy, compare, holm_adjusted
from store.measures.alternative_test import Alignment, AlternativeTest, alternative_test
from store.measures.intervals import INTERVALS, Bootstrap
from store.measures.sample_estimates import SampleEstimates, Stratum, sample_estimates
from store.measures.truth import LEAST_RATERS, POLICIES, Policy, Truth, truth
from store.queries.conditions import ConditionRow, by_condition
from store.queries.current import all_marks, on_label
from store.queries.labels import QuestionLabels, RaterLabels, question_labels
from store.queries.pair_runs import executed_programs
from store.record.scope import RunRef
from store.tables.columns import table_of
from store.tables.people import Question, Rater
from store.tables.record import JudgmentRow
from store.tables.runs import Run, StepRow, VerdictRow

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class TruthSource:
    """The labels that count as true.

    Attributes:
        against: A rater's name, or a policy.
        panel: The raters whose labels these are.
        units: Units with a true label.
        undecided: Units with labels of the panel and no true one: ties and disagreements.
        single: Units whose true label rests on one rater alone.
        blind: Labels of the panel that were judged in a blind review.
        revealed: Those that were judged with a label of agents or a judge on the screen; left out, unless
            they were asked for.
        accepted: Those of these that were accepted.
        other: All others: imported ones, and those judged where there was nothing to see.
        with_revealed: Whether labels judged with others in sight count.
        rulings: Units whose true label is an adjudicator's ruling.
        rulings_revealed: Rulings that were made beside the agents' label; left out, unless they were asked
            for.
        warnings: Why not to rely on it, a sentence each.
    """

    against: str
    panel: tuple[str, ...]
    units: int
    undecided: int
    single: int
    blind: int
    revealed: int
    accepted: int
    other: int
    with_revealed: bool
    rulings: int
    rulings_revealed: int
    warnings: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class RaterAccuracy:
    """One rater of the report.

    Attributes:
        name: The rater's name; an agents' run has its own.
        kind: `human`, `import`, `agent` or `judge`.
        figures: The rater's accuracy.
        left_out: Whether the rater is of the panel or an adjudicator, and was left out for this.
        tied: Units without a true label since the panel without the rater is not decided.
        executable_rate: Of a run: the share of its executed programs that were executable; None without any.
        replaces: Of agents and judges: the alternative annotator test against the panel.
        population: Of agents, where asked for: estimates over all units that the run labelled.
        anchoring: Of people with labels from before and after they saw the agents'; None for others.
    """

    name: str
    kind: str
    figures: Accuracy
    left_out: bool
    tied: int
    executable_rate: float | None
    replaces: AlternativeTest | None
    population: SampleEstimates | None
    anchoring: Anchoring | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        fields = asdict(self)
        del fields["figures"]
        return {
            "rater": fields.pop("name"),
            "kind": fields.pop("kind"),
            **self.figures.to_dict(),
            **fields,
        }


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
            "question": self.labels.question,
            "phases": list(self.labels.phases),
            "study": self.labels.study,
            "level": self.labels.level,
            "cluster": self.labels.cluster,
            "truth": asdict(self.truth),
            "raters": [one.to_dict() for one in self.raters],
            "comparisons": [asdict(one) for one in self.comparisons],
            "by_condition": [asdict(one) for one in self.by_condition],
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
    labels = question_labels(connection, question, study=study, run=run)
    ruled = None
    if against == "adjudicated":
        ruled = question_labels(connection, question, study=study, people_only=True, rulings=True)
        # Adjudicators rule, too, where nobody could decide.
        labels = labels.over_units_of(ruled)
    source = _Source(labels, against, panel=panel, with_revealed=with_revealed, ruled=ruled)
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
            "Leave this rater out, or choose another truth with --against.",
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
    conditions = by_condition(connection, question, study, source.count_right) if study is not None else []
    return AccuracyReport(
        labels,
        source.described(connection),
        found,
        tuple(holm_adjusted(comparisons)),
        tuple(conditions),
    )


class _Source:
    """Whose labels are true.

    Attributes:
        policy: The policy; None where one rater's labels are true.
        places: The raters of the panel.
    """

    def __init__(
        self,
        labels: QuestionLabels,
        against: str,
        *,
        panel: Sequence[str] | None,
        with_revealed: bool,
        ruled: QuestionLabels | None,
    ) -> None:
        self.labels = labels
        self.against = against
        self.with_revealed = with_revealed
        self.policy: Policy | None = next((policy for policy in POLICIES if policy == against), None)
        self._check(panel)
        if self.policy is None:
            self.places = labels.places([against])
            self.against = labels.raters[self.places[0]].name
        elif panel is None:
            self.places = [place for place, one in enumerate(labels.raters) if one.kind == "human"]
        else:
            self.places = labels.places(panel)
        rulings = [] if ruled is None else [one.over(labels.units) for one in ruled.raters]
        self._ruled = {one.name: self._counted(one) for one in rulings}
        self._revealed_rulings = sum(int(one.revealed.sum()) for one in rulings)
        self._found: dict[tuple[tuple[int, ...], frozenset[str]], Truth] = {}
        if not self.places and ruled is None:
            raise WorkbenchError(
                "No true labels",
                "No person has labels of this question.",
                "Name whose labels are true: --against RATER, or --panel A,B,C with a policy. With labels: "
                f"{', '.join(one.name for one in labels.raters) or 'nobody yet'}.",
            )
        if not self.without(()).units:
            revealed = sum(int(labels.raters[place].revealed.sum()) for place in self.places)
            hint = "Label some items, or choose another policy with --against."
            if revealed and not with_revealed:
                hint = "All of them were judged with other labels on the screen: --with-revealed counts them."
            raise WorkbenchError("No true labels", f"{against} gives no item a label.", hint)

    def _check(self, panel: Sequence[str] | None) -> None:
        if panel is not None and self.policy is None:
            raise WorkbenchError(
                "No panel",
                f"{self.against!r} is a rater, whose labels are true as they are.",
                f"A panel belongs to a policy: --against {' or '.join(POLICIES[:3])}.",
            )
        if self.policy in ("mean", "median") and self.labels.level == "nominal":
            raise WorkbenchError(
                "No mean of labels",
                f"The labels of {self.labels.question} have no order.",
                "Use --against majority.",
            )

    def rules(self, place: int) -> bool:
        """Return whether a rater is an adjudicator whose rulings are true."""
        return self.labels.raters[place].name in self._ruled

    def leaves_out(self, place: int) -> bool:
        """Return whether a rater's own labels are left out of the truth that they are compared with."""
        return self.policy is not None and (place in self.places or self.rules(place))

    def count_right(self, one: RaterLabels) -> tuple[int, int]:
        """Return how many of a rater's labels are right, and of how many it is known."""
        import numpy

        own = [(each.name, each.kind) for each in self.labels.raters]
        if (one.name, one.kind) not in own:
            return 0, 0
        place = own.index((one.name, one.kind))
        if self.policy is None and place in self.places:
            return 0, 0
        true = self.without([place] if self.leaves_out(place) else []).values
        values = one.over(self.labels.units).values
        both = ~numpy.isnan(true) & ~numpy.isnan(values)
        return int((true == values)[both].sum()), int(both.sum())

    def _rulings(self, without: frozenset[str]) -> Array | None:
        """Return the rulings of adjudicators but some; none where two of them ruled differently."""
        import numpy

        given = [values for name, values in self._ruled.items() if name not in without]
        if not given:
            return None
        lowest, highest = numpy.fmin.reduce(given), numpy.fmax.reduce(given)
        return numpy.where(lowest == highest, lowest, numpy.nan)

    def _differing(self) -> int:
        """Return on how many units adjudicators ruled differently."""
        import numpy

        given = list(self._ruled.values())
        return int((numpy.fmin.reduce(given) < numpy.fmax.reduce(given)).sum()) if given else 0

    def _counted(self, one: RaterLabels) -> Array:
        """Return the values of a rater that count; those given beside the agents' labels are left out."""
        import numpy

        return one.values if self.with_revealed else numpy.where(one.revealed, numpy.nan, one.values)

    def values(self, place: int) -> Array:
        """Return the labels of a rater of the panel that count."""
        return self._counted(self.labels.raters[place])

    def without(self, places: Sequence[int]) -> Truth:
        """Return the truth of the panel without some raters."""
        import numpy

        rest = tuple(place for place in self.places if place not in places)
        out = frozenset(self.labels.raters[place].name for place in places if self.rules(place))
        if (rest, out) not in self._found:
            nothing = [numpy.full(len(self.labels.units), numpy.nan)]
            values = [self.values(place) for place in rest] or nothing
            self._found[rest, out] = truth(self.policy or "majority", values, self._rulings(out))
        return self._found[rest, out]

    def described(self, connection: Connection) -> TruthSource:
        """Return what the truth rests on."""
        import numpy

        found = self.without(())
        panel = [self.labels.raters[place] for place in self.places]
        blind, revealed, accepted = (
            sum(int(getattr(one, name).sum()) for one in panel) for name in ("blind", "revealed", "accepted")
        )
        both = sum(int((one.blind & one.revealed).sum()) for one in panel)
        labelled = sum(one.labelled for one in panel)
        rulings = self._rulings(frozenset())
        return TruthSource(
            self.against,
            tuple(one.name for one in panel),
            found.units,
            found.undecided,
            found.single,
            blind,
            revealed,
            accepted,
            labelled - blind - revealed + both,
            self.with_revealed,
            0 if rulings is None else int((~numpy.isnan(rulings)).sum()),
            self._revealed_rulings,
            tuple(self._warnings(connection, panel)),
        )

    def _warnings(self, connection: Connection, panel: Sequence[RaterLabels]) -> list[str]:
        found = []
        if any(one.name == self.policy for one in self.labels.raters):
            found.append(f"A rater is called {self.policy}, too; the true labels are those of the policy.")
        if differ := self._differing():
            found.append(
                f"Adjudicators ruled differently on {pluralize(differ, 'unit')}; these rulings do not count."
            )
        if self.policy != "dawid-skene":
            return found
        if len(panel) < LEAST_RATERS:
            found.append(f"Under {LEAST_RATERS} raters, errors cannot be separated from the truth.")
        run = table_of(Run)
        of_panel = select(run.c.model).where(run.c.id.in_([one.run_id for one in panel if one.run_id]))
        models = connection.execute(of_panel).scalars().all()
        if len(set(models)) < len(models):
            found.append("Agents that share a model err alike, which the model takes for agreement.")
        return found


def _row(
    connection: Connection,
    source: _Source,
    place: int,
    population: Sequence[str] | None,
    bootstrap: Bootstrap,
) -> RaterAccuracy:
    import numpy

    labels = source.labels
    one = labels.raters[place]
    left_out = source.leaves_out(place)
    found = source.without([place] if left_out else [])
    whole = source.without(())
    given = _given(connection, labels, one)
    figures = accuracy(
        found.values,
        one.values,
        given=given,
        clusters=labels.groups,
        average=_average(labels),
        bootstrap=bootstrap,
    )
    tied = 0
    if left_out:
        lost = ~numpy.isnan(whole.values) & numpy.isnan(found.values) & ~numpy.isnan(one.values)
        tied = int(lost.sum())
    executable = None
    if one.run_id is not None:
        executed, done = executed_programs(connection, one.run_id)
        executable = done / executed if executed else None
    return RaterAccuracy(
        one.name,
        one.kind,
        figures,
        left_out,
        tied,
        executable,
        _replaces(source, place),
        _population(connection, labels, one, found.values, population),
        _anchoring(connection, source, place, bootstrap) if one.kind == "human" else None,
    )


def _average(labels: QuestionLabels) -> Average:
    """Return the labels that precision and recall are computed for on the question's scale."""
    if labels.level == "interval":
        return "none"
    spec = labels.kind.question(labels.question.partition("@")[0])
    values = {known.value for known in spec.scale.values} if spec else set()
    return "binary" if values == {0.0, 1.0} else "macro"


def _given(connection: Connection, labels: QuestionLabels, one: RaterLabels) -> Array:
    """Return which units a rater was given: of a run those with a step, of a person those not decided."""
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
        return numpy.ones(len(labels.units), dtype=bool)
    there = numpy.array(connection.execute(items).scalars().all(), dtype=numpy.int64)
    return numpy.isin(labels.item_ids, there) | ~numpy.isnan(one.values)


def _replaces(source: _Source, place: int) -> AlternativeTest | None:
    """Test whether an agent or a judge may replace a rater of the panel; None without three raters."""
    one = source.labels.raters[place]
    others = [each for each in source.places if each != place]
    if one.kind not in ("agent", "judge") or source.policy is None or len(others) < LEAST_RATERS:
        return None
    alignment: Alignment = "rmse" if source.labels.level == "interval" else "accuracy"
    return alternative_test(one.values, [source.values(each) for each in others], alignment)


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


def _anchoring(connection: Connection, source: _Source, place: int, bootstrap: Bootstrap) -> Anchoring | None:
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
    return first, last, shown
