"""Builds the records of rulings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from screens.items.views import ItemView
from screens.judging.judgment_builder import JudgmentBuilder, Stopwatch
from store.record.actions import Action
from store.record.evidence import Citation


@dataclass(frozen=True, slots=True)
class RulingBuilder(JudgmentBuilder):
    """Builds rulings: judgments of their own origin, with the note that was written on the question.

    Attributes:
        note: Returns the note on the question that an item is asked.
    """

    note: Callable[[ItemView], str]

    def label(
        self,
        item: ItemView,
        value: float,
        watch: Stopwatch,
        reason: str = "",
        cited: Iterable[Citation] = (),
        *,
        execution: UUID | None = None,
    ) -> Action:
        """Return the action of ruling on the question that is asked (see JudgmentBuilder)."""
        action = JudgmentBuilder.label(self, item, value, watch, reason, cited, execution=execution)
        ruling = {"origin": "ruling", "comment": self.note(item)}
        return Action(action.id, tuple(record.model_copy(update=ruling) for record in action.records))
