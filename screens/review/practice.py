"""Practice: which key to try on each item, whether the answer is the known one, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from screens.help import with_keys
from screens.widgets.text.sanitize import one_line
from store.tables.record import Judgment

if TYPE_CHECKING:
    from screens.items.views import ItemView
    from screens.judging.context import JudgingContext
    from screens.judging.order import ReviewOrder
    from store.record.actions import Action

RIGHT, WRONG = "✓", "✗"


class PracticeLines(Static):
    """The key to try on the item shown, under the outcome of the last answer."""

    DEFAULT_CSS = """
    PracticeLines {
        width: 1fr; height: 4; padding: 0 1; background: $boost;
        .-wide & { height: 3; }
    }
    """


class Practice:
    """Follows the answers to the items of a practice; without lessons it does nothing.

    Args:
        shared: The context shared by the screen's components; it has the lines where there are lessons.
    """

    def __init__(self, shared: JudgingContext, order: ReviewOrder) -> None:
        self._shared = shared
        self._order = order
        self._lessons = {one.item: one for one in shared.context.program.lessons}
        self._outcome = Content("")
        self._hint = ""

    @property
    def is_on(self) -> bool:
        """Whether this is a practice."""
        return bool(self._lessons)

    @property
    def is_over(self) -> bool:
        """Whether it is at its end."""
        return self.is_on and self._order.at_end

    def arrive(self, item: ItemView) -> None:
        """Say which key to try on an item that has just come."""
        if (lesson := self._lessons.get(item.external_id)) is not None:
            self._hint = f"Try: {with_keys(self._shared.context.settings, lesson.hint)}"
            self._lay_out()

    def recorded(self, action: Action) -> None:
        """Say whether answers are the known ones, and why those are."""
        item = self._shared.item
        lesson = self._lessons.get(item.external_id) if item is not None else None
        given = [one for one in action.records if isinstance(one, Judgment) and one.value is not None]
        if item is None or lesson is None or not given:
            return
        said, all_right = [], True
        for record in given:
            place = item.place_of(record.target)
            question = item.questions[item.at if place is None else place]
            known = lesson.gold[question.spec.name]
            from store.studies.practice import is_right

            right = is_right(question.spec.name, record.value or 0, known)
            all_right = all_right and right
            word = question.spec.scale.word(record.value)
            outcome = (
                "is right" if right else f"is wrong; the known answer is {question.spec.scale.word(known)}"
            )
            about = question.title if item.has_several else one_line(item.external_id, 24)
            said.append(f"{RIGHT if right else WRONG} {about}: {word} {outcome}.")
        if len(said) > 1:
            # Of several at once only what is to be learned.
            wrong = [one for one in said if one.startswith(WRONG)]
            said = wrong or [f"{RIGHT} {len(said)} answers are right."]
        is_last = item.next_open(-1) is None
        why = f" {lesson.why}" if is_last or not all_right else ""
        style = "bold $text-success" if all_right else "bold $text-error"
        self._outcome = Content.assemble((" ".join(said), style), why)
        self._lay_out()

    def forget(self) -> None:
        """Leave out the outcome of an answer that was taken back."""
        self._outcome = Content("")
        self._lay_out()

    def end(self) -> None:
        """Leave out the key to try, since no item follows."""
        self._hint = ""
        self._lay_out()

    def _lay_out(self) -> None:
        if self.is_on:
            lines = [one for one in (self._outcome, Content.styled(self._hint, "$text-accent")) if one.plain]
            self._shared.screen.query_one(PracticeLines).update(Content("\n").join(lines))
