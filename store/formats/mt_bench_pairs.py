"""MT-bench's pair form (FastChat): a judge's verdict on two models' answers, in both orders.

In the first game the answer of `model_1` is Assistant A's, in the second that of `model_2`; the winners of
both are named by model. The question and the answers stand only within the judge's prompts, and are taken out
of the first one where the marks of FastChat's templates are found: for one turn and for two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from store.formats.comparisons import (
    ASSISTANT,
    INVALID,
    USER,
    Candidate,
    Labels,
    compared,
    take_judge,
    unknown_prompt,
)
from store.formats.fields import recognized_by
from store.formats.mt_bench import KEPT_WHOLE
from store.formats.protocol import JSON, Entity, FileContext, Format
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused, short
from store.kinds.comparison import BETTER, SAME, WORSE

_WINNERS = {"model_1": BETTER, "model_2": WORSE, "tie": SAME, "error": None}
_TURN = re.compile(
    r"\[User Question\]\n(?P<question>.*?)\n\n"
    r"(?:\[The Start of Reference Answer\]\n(?P<reference>.*?)\n\[The End of Reference Answer\]\n\n)?"
    r"\[The Start of Assistant A's Answer\]\n(?P<a>.*)\n\[The End of Assistant A's Answer\]\n\n"
    r"\[The Start of Assistant B's Answer\]\n(?P<b>.*)\n\[The End of Assistant B's Answer\]\s*\Z",
    re.DOTALL,
)
_TALK = re.compile(
    r"<\|The Start of Assistant (?P<who>[AB])'s Conversation with User\|>\n\n"
    r"(?P<talk>.*?)\n\n<\|The End of Assistant (?P=who)'s Conversation with User\|>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a judge was given.

    Attributes:
        question: The question, of two turns the first one.
        reference: The reference answer; empty for none.
        answers: Both answers; of two turns, the conversation after the first question as the judge saw it.
        formerly: Of two turns, the prompt and both answers as earlier versions stored them: the prompt with
            all questions, the answers without marks. None for one turn.
    """

    question: str
    reference: str
    answers: tuple[str, str]
    formerly: tuple[str, str, str] | None = None


def parts(prompt: str) -> Parts | None:
    """Return what a judge was given, taken out of its prompt; None where no template is recognized."""
    if (found := _TURN.search(prompt)) is not None:
        return Parts(found["question"], found["reference"] or "", (found["a"], found["b"]))
    talks = {found["who"]: found["talk"] for found in _TALK.finditer(prompt)}
    if talks.keys() != {"A", "B"}:
        return None
    asked: list[str] = []
    answers: list[list[str]] = []
    for who in "AB":
        # The names of the sides would tell where each was shown.
        question, *said = talks[who].removeprefix(USER).split(f"\n\n### Assistant {who}:\n")
        asked.append(question)
        answers.append(said)
    if not all(answers) or asked[0] != asked[1]:
        return None
    one, other = answers
    later = [said.rpartition(f"\n\n{USER}")[2] for said in one[:-1]]
    return Parts(
        asked[0],
        "",
        (f"\n\n{ASSISTANT}".join(one), f"\n\n{ASSISTANT}".join(other)),
        ("\n\n".join((asked[0], *later)), "\n\n".join(one), "\n\n".join(other)),
    )


class Pairs:
    """Makes a comparison of each judgment, a label of each order, and one of both."""

    def __init__(self, known: FileContext) -> None:
        self._labels = Labels(known)
        self.counts = self._labels.counts

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the comparison and the labels of a judgment.

        Raises:
            Refused: A field is missing or of the wrong type, or a winner is unknown.
        """
        whole = RecordReader(record)
        question = whole.identity("question_id", required=True)
        models = [whole.text(f"model_{place}", required=True, filled=True, short=True) for place in "12"]
        judge, _ = take_judge(whole)
        if judge is None:
            raise Refused("missing field 'judge'")
        turn = whole.whole("turn")
        games = []
        for name in ("g1", "g2"):
            winner = whole.text(f"{name}_winner", required=True)
            if winner not in _WINNERS:
                raise Refused(f"'{name}_winner' is {short(winner)}, and none of {', '.join(_WINNERS)}")
            games.append((_WINNERS[winner], whole.text(f"{name}_judgment") or ""))
        prompts = [whole.text(f"g{place}_user_prompt") or "" for place in "12"]
        found = parts(prompts[0])
        if found is None:
            add_count(self.counts, KEPT_WHOLE, of=bool(prompts[0]))
            found = Parts(prompts[0] or unknown_prompt(question, turn), "", ("", ""))
        one, other = (
            Candidate(name, said, f"model_{place}")
            for name, said, place in zip(models, found.answers, "12", strict=True)
        )
        extra = {**whole.rest(), "question_id": question} | ({} if turn is None else {"turn": turn})
        made = compared(
            self._labels.known,
            found.question,
            one,
            other,
            made_from="mt-bench-pairs",
            extra=extra,
            reference=found.reference,
            formerly=found.formerly,
        )
        orders = {
            made.order(left): (made.value(value), text)
            for (value, text), left in zip(games, (True, False), strict=True)
            if value is not None
        }
        add_count(self.counts, INVALID, of=2 - len(orders))
        return [made.item, *self._labels.of_orders(made.id, judge, orders, complete=len(orders) == 2)]


MT_BENCH_PAIRS = Format(
    name="mt-bench-pairs",
    description="MT-bench's pair form: question_id, model_1, model_2, g1_winner, g2_winner, judge, "
    "g1_user_prompt, g1_judgment, g2_user_prompt, g2_judgment, turn",
    containers=JSON,
    layouts=(
        recognized_by("comparison", model_1="text", model_2="text", g1_winner="text", g2_winner="text"),
    ),
    converter=Pairs,
)
