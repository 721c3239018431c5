"""Verdicts of judging models on a comparison, in the words of its sides: a claim, and both orders as text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from agents.pipelines.pairwise_judging.configurations import INCONSISTENT, JUDGE, JUDGE_SWAPPED, LEVELS
from screens.items.steps import describe_steps
from screens.items.views import Claim
from store.kinds.comparison import (
    AS_LISTED,
    BETTER,
    FIRST_LEFT,
    MUCH_BETTER,
    MUCH_WORSE,
    ORDERS,
    SAME,
    SWAPPED,
    WORSE,
)
from store.queries.agent_case import AgentCase, StepView
from store.queries.judged_comparisons import ImportedVerdict
from store.record.scales import Scale

DIFFER = "≠ the order decides"
"""Marks a verdict whose winner is not the same in both orders."""

_LETTERS = re.compile(r"\b[AB]\b")
"""The names under which a judge is asked about the candidates."""

_ROLES = {JUDGE: AS_LISTED, JUDGE_SWAPPED: SWAPPED}
"""The order in which each role is asked."""


def judges_claim(
    case: AgentCase | None,
    imported: Sequence[ImportedVerdict],
    order: str,
    words: Scale,
    allowed: Collection[float],
    *,
    sides: tuple[str, str],
) -> Claim | None:
    """Return the verdict that is shown: that of the run that is shown, or of an imported judge.

    A judge always has five levels. Where the rater has none, its verdict is the winner. One that is off the
    rater's scale all the same, a tie where one has to be better, is shown and cannot be accepted.

    Args:
        case: The work of the run; None where it is hidden.
        imported: The verdicts of imported judges.
        order: The order in which the rater sees the candidates.
        words: All values in the words of the screen.
        allowed: The values that the rater may give.
        sides: What the screen calls the first candidate and the second.
    """
    verdict = None if case is None else case.verdict
    if case is not None and verdict is not None:
        key, execution, value = verdict.id, verdict.execution_id, verdict.value
        role = next(role for role, asked in _ROLES.items() if asked == order)
        reason = _placed(str(case.reply_of(role).get("reason") or ""), order, sides)
        # Without replies there is what was said in both orders, of the first and the second.
        reason = reason or f"{sides[0]} is the first: {verdict.reason}"
        judge, differs = "", verdict.path == INCONSISTENT
    else:
        found = next((one for one in imported if one.value is not None and one.id is not None), None)
        if found is None or found.value is None or found.id is None:
            return None
        key, execution, value = found.id, None, found.value
        reason = _placed(found.orders[order][1], order, sides) if order in found.orders else ""
        judge, differs = f"{found.judge}: ", _differs(found)
    if value not in allowed:
        value = float(_winner(value))
    said = (f"◆ {judge}{words.word(value)}", DIFFER if differs else "", reason)
    return Claim(key, execution, value, " · ".join(filter(None, said)))


def _placed(reason: str, order: str, sides: tuple[str, str]) -> str:
    """Return a reason that speaks of A or B after the words for where these are on the screen."""
    a, b = sides if order == AS_LISTED else sides[::-1]
    return f"A is {a}, B is {b}: {reason}" if _LETTERS.search(reason) else reason


def describe_judges(
    case: AgentCase | None, imported: Sequence[ImportedVerdict], sides: tuple[str, str]
) -> str:
    """Return what judges said in each order: the replies of the run that is shown, and imported verdicts.

    Args:
        case: The work of the run; None where it is hidden.
        imported: The verdicts of imported judges.
        sides: What the screen calls the first candidate and the second.
    """
    first, second = sides
    asked = {AS_LISTED: f"{first} as A, {second} as B", SWAPPED: f"{second} as A, {first} as B"}
    words = {
        MUCH_BETTER: f"{first} much better",
        BETTER: f"{first} better",
        SAME: "the same",
        WORSE: f"{second} better",
        MUCH_WORSE: f"{second} much better",
    }
    parts: list[str] = []
    if case is not None and case.steps:
        if summary := _in_both(case.steps, words, sides):
            parts.append(summary)
        roles = {role: f"Judge, {asked[order]}" for role, order in _ROLES.items()}
        parts.append(describe_steps(case.steps, roles))
    for one in imported:
        parts.append("\n".join(_imported(one, asked, words)))
    return "\n\n".join(parts)


def _in_both(steps: Sequence[StepView], words: Mapping[float, str], sides: tuple[str, str]) -> str:
    """Return the verdicts of a run in both orders in a line; empty while one is missing."""
    values: dict[str, float] = {}
    for step in steps:
        level = LEVELS.get(str(step.reply.get("verdict")))
        if step.role in _ROLES and step.outcome == "ok" and level is not None:
            values[_ROLES[step.role]] = level if FIRST_LEFT[_ROLES[step.role]] else 0.0 - level
    if len(values) < 2:
        return ""
    listed, swapped = values[AS_LISTED], values[SWAPPED]
    if _winner(listed) == _winner(swapped):
        return f"In both orders {words[min(listed, swapped, key=abs)]}."
    return f"{DIFFER}: {sides[0]} as A, {words[listed]}; {sides[1]} as A, {words[swapped]}."


def _imported(one: ImportedVerdict, asked: Mapping[str, str], words: Mapping[float, str]) -> Iterator[str]:
    whole = "no verdict of both orders" if one.value is None else words[one.value]
    yield f"{one.judge}, imported: {whole}{f' · {DIFFER}' if _differs(one) else ''}"
    for order in ORDERS:
        if order in one.orders:
            value, said = one.orders[order]
            yield f"   {asked.get(order, 'order not known')}: {words[value]}"
            yield from (f"   │ {line}" for line in said.splitlines())


def _differs(one: ImportedVerdict) -> bool:
    return len({_winner(value) for value, _ in one.orders.values()}) > 1


def _winner(value: float) -> int:
    return (value > 0) - (value < 0)
