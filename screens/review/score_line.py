"""The line in which all scores of an answer are typed at once, such as `7 8 9 9`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.widgets import Input

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView, QuestionPrompt
from screens.judging.context import JudgingContext
from screens.judging.controller import JudgingController
from screens.review.ruler import JUDGE, is_long
from store.formatting import pluralize
from store.record.scales import Scale

SCORES = "scores"
"""The id of the line."""


class NoScore(ValueError):
    """What was typed is no score of the scale; the message says what is."""


def parse_scores(text: str, scales: Sequence[Scale]) -> list[float]:
    """Return the scores that a text says so far.

    Args:
        text: Digits in a row, one a score, as the keys of the scale: `7890`; or numbers with spaces or commas
            between them: `7 8 9 10`.
        scales: The scales in the order in which their scores are typed.

    Raises:
        NoScore: One of them is not on its scale, or there are too many.
    """
    words = text.replace(",", " ").split()
    if len(words) == 1 and not text.endswith(" "):
        words = list(words[0])
    if len(words) > len(scales):
        raise NoScore(f"{pluralize(len(scales), 'score')} are needed, not {len(words)}")
    return [_score(word, scale) for word, scale in zip(words, scales, strict=False)]


def _score(word: str, scale: Scale) -> float:
    for known in scale.values:
        if word in (known.key, f"{known.value:g}"):
            return known.value
    keys = [known.key for known in scale.values]
    raise NoScore(f"{word!r} is no score: {scale.values[0].value:g} to {scale.values[-1].value:g}, "
                  f"{keys[-1]} for {scale.values[-1].value:g}")  # fmt: skip


class ScoreLine:
    """Takes all scores of the answer that is asked about, and has them recorded as one action.

    The screen has the line, an `Input` with the id `scores`.

    Args:
        leave: Gives the focus back when the line is closed.
    """

    def __init__(
        self, shared: JudgingContext, judging: JudgingController, leave: Callable[[], object]
    ) -> None:
        self._shared = shared
        self._judging = judging
        self._leave = leave
        # The item and the place of its first question that the open line is about; None while it is closed.
        self._about: tuple[int, int] | None = None

    def handlers(self) -> Handlers:
        """Return what the command does."""
        return {"review.scores": Handler(self.open, self._has_scores, of_item=True)}

    @property
    def _box(self) -> Input:
        return self._shared.screen.query_one(f"#{SCORES}", Input)

    def _has_scores(self) -> bool:
        return self._shared.item is None or len(_places(self._shared.item)) > 1

    def open(self) -> None:
        """Open the line, with the judge's scores in sight."""
        item = self._shared.item
        if not self._judging.can_judge() or item is None:
            return
        if not self._has_scores():
            self._shared.show_message("Only the scores of an answer are typed together.")
            return
        if item.current.nothing:
            self._shared.show_message(f"Not recorded: {item.current.nothing}.", alarm=True)
            return
        self._judging.reasons.drop()
        self._about = item.item_id, _places(item)[0]
        box = self._box
        box.value, box.display = "", True
        box.focus()
        self._show_typed(item, [])
        # Nothing is recorded before the scores of the judge, which it accepts or overrides, are seen.
        self._shared.guard.await_paint("line of scores")
        self._shared.guard.notify_when_painted()

    def edited(self, text: str) -> None:
        """Show what the text means, or what is wrong with it."""
        item = self._shared.item
        if item is None or not self._is_about(item):
            return
        try:
            self._show_typed(item, parse_scores(text, _scales(item)))
        except NoScore as wrong:
            self._shared.show_message(str(wrong), alarm=True, choices=self._choices())

    def given(self, text: str) -> None:
        """Record the scores, unless some are missing or wrong."""
        item = self._shared.item
        if item is None or not self._is_about(item):
            self.close()
            self._shared.show_message("Not recorded: the question is about another answer now.", alarm=True)
            return
        try:
            scores = parse_scores(text, _scales(item))
        except NoScore as wrong:
            self._shared.show_message(f"Not recorded: {wrong}.", alarm=True, choices=self._choices())
            return
        places = _places(item)
        if missing := [item.questions[place].spec.title for place in places[len(scores) :]]:
            named = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
            message = f"Not recorded: {named} {'has' if len(missing) == 1 else 'have'} no score yet."
            self._shared.show_message(message, alarm=True, choices=self._choices())
        elif self._judging.can_judge(from_line=True):
            self.close()
            self._judging.give_scores(dict(zip(places, scores, strict=True)))

    def close(self, *, focus: bool = True) -> bool:
        """Close the line; return whether it was open."""
        if self._about is None:
            return False
        self._about = None
        self._box.display = False
        self._shared.show_message("")
        if focus:
            self._leave()
        return True

    def _is_about(self, item: ItemView) -> bool:
        return self._about == (item.item_id, _places(item)[0])

    def _choices(self) -> list[tuple[str, str]]:
        return [("Enter", "save all"), (self._shared.key("line.close"), "cancel")]

    def _show_typed(self, item: ItemView, scores: Sequence[float]) -> None:
        words = []
        for number, place in enumerate(_places(item)):
            question = item.questions[place]
            score = f"{scores[number]:g}" if number < len(scores) else "_"
            words.append(f"{question.spec.title} {score}{_judged(question)}")
        self._shared.show_message(" · ".join(words), choices=self._choices())


def _places(item: ItemView) -> list[int]:
    """Return the questions on the answer that is asked about whose scores are typed together."""
    about = item.current.target.response_ref_id
    return [
        place
        for place, question in enumerate(item.questions)
        if question.target.response_ref_id == about and is_long(question.spec.scale)
    ] or [item.at]


def _scales(item: ItemView) -> list[Scale]:
    return [item.questions[place].spec.scale for place in _places(item)]


def _judged(question: QuestionPrompt) -> str:
    """Return the judge's score, where it is shown."""
    return "" if question.claim is None else f" {JUDGE}{question.claim.value:g}"
