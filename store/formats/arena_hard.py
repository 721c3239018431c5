"""Judgments of Arena-Hard: a model against a baseline, in both orders, on five levels.

In the first game the baseline's answer is Assistant A's, in the second the model's. Some versions keep the
judge's prompt with both answers, others only its reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from store.formats.comparisons import INVALID, Candidate, Labels, compared, take_judge, unknown_prompt
from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, FileContext, Format
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused
from store.kinds.comparison import BETTER, MUCH_BETTER, MUCH_WORSE, SAME, WORSE

BASELINE = "baseline"
"""The name of a baseline that a file does not name."""

_SCORES = {
    "A>>B": MUCH_BETTER,
    "A>B": BETTER,
    "A=B": SAME,
    "B=A": SAME,
    "B>A": WORSE,
    "A<B": WORSE,
    "B>>A": MUCH_WORSE,
    "A<<B": MUCH_WORSE,
}
_PROMPT = re.compile(
    r"<\|User Prompt\|>\n(?P<question>.*?)\n\n"
    r"<\|The Start of Assistant A's Answer\|>\n(?P<a>.*)\n<\|The End of Assistant A's Answer\|>\n\n"
    r"<\|The Start of Assistant B's Answer\|>\n(?P<b>.*)\n<\|The End of Assistant B's Answer\|>\s*\Z",
    re.DOTALL,
)


class Games:
    """Makes a comparison of each judgment, a label of each game, and one of both."""

    def __init__(self, known: FileContext) -> None:
        self._labels = Labels(known)
        self.counts = self._labels.counts

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the comparison and the labels of a judgment.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        whole = RecordReader(record)
        question = whole.identity("uid") or whole.identity("question_id", required=True)
        model = whole.text("model", required=True, filled=True, short=True)
        baseline = whole.text("baseline", filled=True, short=True) or BASELINE
        judge, _ = take_judge(whole)
        if judge is None:
            raise Refused("missing field 'judge'")
        games = whole.objects("games")
        if len(games) > 2:
            raise Refused(f"'games' has {len(games)} games where two are expected, one in each order")
        scores = [game.text("score") for game in games]
        replies = [_reply(game) for game in games]
        prompts = [_PROMPT.search(game.text("user_prompt") or "") for game in games]
        for game in games:
            game.take_rest()
        found = prompts[0] if prompts else None
        asked, ours, theirs = (
            (unknown_prompt(question), "", "")
            if found is None
            else (found["question"], found["b"], found["a"])
        )
        extra = {**whole.rest(), "question_id": question}
        made = compared(
            self._labels.known,
            asked,
            Candidate(model, ours, "model"),
            Candidate(baseline, theirs, "baseline"),
            made_from="arena-hard",
            extra=extra,
        )
        orders = {}
        for place, (score, reply) in enumerate(zip(scores, replies, strict=True)):
            value = _SCORES.get((score or "").replace(" ", ""))
            if value is None:
                add_count(self.counts, INVALID)
                continue
            # The model is on the right in the first game, and on the left in the second.
            model_left = place == 1
            orders[made.order(model_left)] = (made.value(value if model_left else 0.0 - value), reply)
        return [
            made.item, *self._labels.of_orders(made.id, judge, orders, complete=len(orders) == len(games))
        ]  # fmt: skip


def _reply(game: RecordReader) -> str:
    """Take the judge's reply: a text, or an object with the answer."""
    if not game.has("judgment"):
        return ""
    value = game.there("judgment")
    if isinstance(value, dict):
        value = value.get("answer") or value.get("judgment")
    return value if isinstance(value, str) else ""


ARENA_HARD = Format(
    name="arena-hard",
    description="Arena-Hard's judgments: uid or question_id, model, baseline, judge, games with a score each",
    containers=JSON,
    layouts=(recognized_by("comparison", model="text", judge="text", games="list"),),
    converter=Games,
)
