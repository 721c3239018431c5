"""How often each rater gave each label of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.analysis.labels import QuestionLabels, RaterLabels, question_labels
from store.json_fields import fields_of
from store.policy.scope import RunRef

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True, eq=False)
class LabelCounts:
    """The labels of a question, counted.

    Attributes:
        values: The named values of the scale, of imported grades up to the highest, and all others that were
            given, rising.
    """

    labels: QuestionLabels
    values: tuple[float, ...]
    raters: tuple[RaterLabels, ...]

    def count(self, rater: RaterLabels, value: float) -> int:
        """Return how often a rater gave a value."""
        return int((rater.values == value).sum())

    @property
    def people(self) -> tuple[RaterLabels, ...]:
        """The raters that are people."""
        return tuple(one for one in self.raters if one.kind == "human")

    @property
    def of_people(self) -> list[int]:
        """The number of labels of all people for each value."""
        return [sum(self.count(one, value) for one in self.people) for value in self.values]

    def items(self, rater: RaterLabels, value: float) -> list[int]:
        """Return the items to which a rater gave a value."""
        return self.labels.items_of(rater.values == value)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            **fields_of(self.labels, "question", "study", "items", "responses", "equal_texts"),
            "values": list(self.values),
            "people": self.of_people,
            "raters": [
                {
                    "rater": one.name,
                    "kind": one.kind,
                    "labelled": one.labelled,
                    "blind": int(one.blind.sum()),
                    "revealed": int(one.revealed.sum()),
                    "counts": [self.count(one, value) for value in self.values],
                }
                for one in self.raters
            ],
        }


def label_counts(
    connection: Connection,
    question: str,
    *,
    raters: Sequence[str] | None = None,
    study: str | None = None,
    run: RunRef | None = None,
    own: str | None = None,
) -> LabelCounts:
    """Count the labels of a question by rater; those of several responses to an item one by one.

    Args:
        connection: A reading connection.
        question: The question's name.
        raters: The only raters, by name, or by how a name begins or ends; None for all.
        study: The study whose assignments count; None for all labels.
        run: The only run of the agents that counts; None for all of them.
        own: The person whose labels alone are read, who may have none; None for everybody's.

    Raises:
        UnknownName: A name is unknown.
    """
    import numpy

    labels = question_labels(connection, question, study=study, run=run, people_only=own is not None)
    counted = labels.raters if raters is None else [labels.raters[place] for place in labels.places(raters)]
    if own is not None:
        counted = [one for one in labels.raters if (one.name, one.kind) == (own, "human")]
    spec = labels.kind.question(question.partition("@")[0])
    given = numpy.concatenate([[], *(one.values[~numpy.isnan(one.values)] for one in counted)])
    highest = float(given.max(initial=0))
    scale = [] if spec is None else [one.value for one in labels.kind.values_up_to(spec, highest)]
    values = numpy.unique(numpy.concatenate([scale, given]))
    return LabelCounts(labels, tuple(values.tolist()), tuple(counted))
