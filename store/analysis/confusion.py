"""The confusion of two raters: how often each label of one goes with each label of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.analysis.agreement import PairRow, compare_pairs
from store.analysis.labels import QuestionLabels, question_labels
from store.errors import WorkbenchError
from store.json_fields import fields_of
from store.measures.intervals import INTERVALS, Bootstrap
from store.policy.scope import RunRef

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection

    Array = numpy.ndarray[Any, Any]

MOST_LABELS = 15
"""Different labels beyond which they are rounded to whole numbers: means of scores have very many."""


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """The confusion of two raters, on the units that both labelled.

    Attributes:
        labels: Everybody's labels of the question.
        raters: The names of the two.
        values: The different labels, rising.
        counts: How often each label of the first rater (rows) goes with each of the second one (columns), of
            shape (values, values).
        rounded: Whether labels are rounded to whole numbers in `values` and `counts`.
        pair: How far the two agree, on labels that are not rounded.
    """

    labels: QuestionLabels
    raters: tuple[str, str]
    values: tuple[float, ...]
    counts: Array
    rounded: bool
    pair: PairRow
    _first: Array
    _second: Array

    def items(self, row: float | None, column: float | None) -> list[int]:
        """Return the items of a cell, of a row, of a column, or of all.

        Args:
            row: The first rater's label; None for any.
            column: The second rater's label; None for any.
        """
        import numpy

        there = ~numpy.isnan(self._first) & ~numpy.isnan(self._second)
        there &= True if row is None else self._first == row
        there &= True if column is None else self._second == column
        return self.labels.items_of(there)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            **fields_of(self.labels, "question", "study", "equal_texts"),
            "values": list(self.values),
            "counts": self.counts.tolist(),
            "rounded": self.rounded,
            **self.pair.to_dict(),
        }


def confusion(
    connection: Connection,
    question: str,
    *,
    raters: Sequence[str] | None = None,
    study: str | None = None,
    run: RunRef | None = None,
    bootstrap: Bootstrap = INTERVALS,
) -> Confusion:
    """Compute the confusion of two raters on a question.

    Args:
        connection: A reading connection.
        question: The question's name.
        raters: The two, by name, or by how a name begins or ends; by default the first two with labels in the
            order people, agents' runs, judges, imported raters, of different kinds where there are.
        study: The study whose assignments count; None for all labels.
        run: The only run of the agents that counts; None for all of them.
        bootstrap: How the interval of kappa is drawn.

    Raises:
        UnknownName: A name is unknown.
        WorkbenchError: There are not two raters.
    """
    import numpy

    labels = question_labels(connection, question, study=study, run=run)
    places = _first_two(labels) if raters is None else labels.places(raters)
    if len(places) != 2:
        known = ", ".join(one.name for one in labels.raters) or "nobody yet"
        raise WorkbenchError(
            "Two raters",
            f"Two raters with labels of {question} are compared.",
            f"Those with labels: {known}.",
        )
    pair = compare_pairs(labels, labels.table().only(places), places, bootstrap)[0]
    one, other = (labels.raters[place] for place in places)
    first, second = one.values, other.values
    both = ~numpy.isnan(first) & ~numpy.isnan(second)
    rounded = len(numpy.union1d(first[both], second[both])) > MOST_LABELS
    if rounded:
        first, second = numpy.rint(first), numpy.rint(second)
    values = numpy.union1d(first[both], second[both])
    cells = numpy.searchsorted(values, first[both]) * len(values) + numpy.searchsorted(values, second[both])
    counts = numpy.bincount(cells, minlength=len(values) ** 2).reshape(len(values), len(values))
    names = one.name, other.name
    return Confusion(labels, names, tuple(values.tolist()), counts, rounded, pair, first, second)


def _first_two(labels: QuestionLabels) -> list[int]:
    """Return the places of two raters, of different kinds where there are."""
    order = ("human", "agent", "judge", "import")
    places = sorted(range(len(labels.raters)), key=lambda place: order.index(labels.raters[place].kind))
    others = [place for place in places if labels.raters[place].kind != labels.raters[places[0]].kind]
    return [*places[:1], *others[:1]] if others else places[:2]
