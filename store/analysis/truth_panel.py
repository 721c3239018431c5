"""Labels that count as true: one rater's, or those that a policy makes of a panel's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from store.analysis.labels import QuestionLabels, RaterLabels, question_labels
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.measures.truth import LEAST_RATERS, POLICIES, Policy, Truth, truth
from store.policy.scope import RunRef
from store.tables.columns import table_of
from store.tables.runs import Run

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


def truth_panel(
    connection: Connection,
    question: str,
    against: str,
    *,
    study: str | None = None,
    panel: Sequence[str] | None = None,
    run: RunRef | None = None,
    with_revealed: bool = False,
) -> TruthPanel:
    """Read the labels of a question that count as true.

    Args:
        connection: A reading connection.
        question: The question's name.
        against: The name of a rater, or a policy.
        study: The study whose assignments count; None for all labels.
        panel: The raters that a policy is of; people by default.
        run: The only run of the agents that counts; None for all of them.
        with_revealed: Whether labels that were judged with others in sight count as true.

    Raises:
        UnknownName: A name is unknown.
        WorkbenchError: Nobody's labels can count as true.
    """
    labels = question_labels(connection, question, study=study, run=run)
    ruled = None
    if against == "adjudicated":
        ruled = question_labels(connection, question, study=study, people_only=True, rulings=True)
        # Adjudicators rule, too, where nobody could decide.
        labels = labels.over_units_of(ruled)
    return TruthPanel(labels, against, panel=panel, with_revealed=with_revealed, ruled=ruled)


class TruthPanel:
    """Whose labels are true.

    Attributes:
        policy: The policy; None where one rater's labels are true.
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
                "Name a rater whose labels are true, or a policy with a --panel A,B,C. With labels: "
                f"{', '.join(one.name for one in labels.raters) or 'nobody yet'}.",
            )
        if not self.without(()).units:
            revealed = sum(int(labels.raters[place].revealed.sum()) for place in self.places)
            hint = "Label some items, or choose another policy."
            if revealed and not with_revealed:
                hint = "All of them were judged with other labels on the screen: --with-revealed counts them."
            raise WorkbenchError("No true labels", f"{against} gives no item a label.", hint)

    def _check(self, panel: Sequence[str] | None) -> None:
        if panel is not None and self.policy is None:
            raise WorkbenchError(
                "No panel",
                f"{self.against!r} is a rater, whose labels are true as they are.",
                f"A panel belongs to a policy: {', '.join(POLICIES)}.",
            )
        if self.policy in ("mean", "median") and self.labels.level == "nominal":
            raise WorkbenchError(
                "No mean of labels",
                f"The labels of {self.labels.question} have no order.",
                "Choose another policy, such as majority.",
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
