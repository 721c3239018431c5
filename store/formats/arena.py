"""Battles of FastChat's arena and of MT-bench's human judgments: two models, a winner, two conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store.formats.comparisons import (
    ASSISTANT,
    USER,
    Candidate,
    Labels,
    compared,
    take_judge,
    unknown_prompt,
)
from store.formats.fields import recognized_by
from store.formats.protocol import ANY, Entity, FileContext, Format
from store.formats.record_reader import RecordReader
from store.formats.values import Refused, short
from store.kinds.comparison import BETTER, BOTH_BAD, SAME, WORSE, comparison_id

_WINNERS = {
    "model_a": (BETTER, ""),
    "model_b": (WORSE, ""),
    "tie": (SAME, ""),
    "tie (bothbad)": (SAME, BOTH_BAD),
    "tie (inconsistent)": (SAME, ""),
}


class Battle:
    """Makes a comparison and a label of each battle."""

    def __init__(self, known: FileContext) -> None:
        self._labels = Labels(known)
        self.counts = self._labels.counts
        self._votes = f"{known.stem} votes"
        files: list[str] = known.shared.setdefault("arena files", [])
        files.append(known.stem)
        self._file = comparison_id(known.stem, files.count(known.stem))[:6]

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the comparison of a battle, and who won it.

        Raises:
            Refused: A field is missing or of the wrong type, or the winner is unknown.
        """
        whole = RecordReader(record)
        own_question = whole.identity("question_id")
        question = own_question or str(number)
        models = [whole.text(f"model_{side}", required=True, filled=True, short=True) for side in "ab"]
        winner = whole.text("winner", required=True)
        if winner not in _WINNERS:
            raise Refused(f"'winner' is {short(winner)}, and none of {', '.join(_WINNERS)}")
        value, reason = _WINNERS[winner]
        judge, is_model = take_judge(whole)
        turn = _turn(whole)
        talks = [_talk(whole, f"conversation_{side}", turn) for side in "ab"]
        # A question without its text is one of its own, and so is every battle of a file without a question.
        unknown = unknown_prompt(own_question or f"{number} of file {self._file}", turn)
        asked = next((questions for questions, _ in talks if any(questions)), [unknown])
        one, other = (
            Candidate(name, "\n\n".join(said), f"model_{side}")
            for name, (_, said), side in zip(models, talks, "ab", strict=True)
        )
        extra = {**whole.rest(), "question_id": question} | ({} if turn is None else {"turn": turn})
        made = compared(
            self._labels.known,
            next(filter(None, asked)),
            one,
            other,
            made_from="arena",
            extra=extra,
            formerly=("\n\n".join(asked), _unmarked(talks[0][1]), _unmarked(talks[1][1])),
        )
        rater = judge or self._votes
        labels = (
            self._labels.of_orders(made.id, rater, {made.order(True): (made.value(value), "")})
            if is_model
            else self._labels.of(made.id, rater, made.value(value), shown_as=made.order(True), reason=reason)
        )
        return [made.item, *labels]


def _turn(record: RecordReader) -> int | None:
    """Take the number of turns that were judged."""
    found = record.identity("turn")
    if found is None:
        return None
    if not found.isdecimal() or not 0 < int(found) < 1000:
        raise Refused(f"'turn' is {short(found)} where a number from 1 is expected")
    return int(found)


def _talk(record: RecordReader, name: str, turns: int | None) -> tuple[list[str], list[str]]:
    """Take a conversation: what was asked, and what came after the first question, with marks from there on.

    Raises:
        Refused: It is no list of messages, each with a role and its content.
    """
    messages = record.objects(name)
    asked: list[str] = []
    said: list[str] = []
    for message in messages:
        role = message.text("role", required=True)
        content = message.text("content") or ""
        if role == "user":
            if turns is not None and len(asked) == turns:
                break
            if asked:
                said.append(f"{USER}{content}")
            asked.append(content)
        elif asked:
            said.append(f"{ASSISTANT}{content}" if len(asked) > 1 else content)
        message.take_rest()
    for message in messages:
        message.take_rest()
    return asked, said


def _unmarked(said: list[str]) -> str:
    """Return what came after the first question without the marks before answers."""
    return "\n\n".join(one.removeprefix(ASSISTANT) for one in said)


ARENA = Format(
    name="arena",
    description="FastChat's battles: question_id, model_a, model_b, winner, judge, turn, "
    "conversation_a, conversation_b",
    containers=ANY,
    layouts=(recognized_by("comparison", model_a="text", model_b="text", winner="text"),),
    converter=Battle,
)
