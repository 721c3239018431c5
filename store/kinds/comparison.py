"""The task kind `comparison`: which of two candidates is better (CoSQA+, RQ1; CoReQA, pairwise evaluation)?

The first candidate is one of the two in an order that tells nothing of where it comes from (see
`in_canonical_order`); a stored value is always from its view, on whichever side it was shown. Files of
labels, and coefficients that depend on the order, have that of the file which the comparison comes from (see
`listed_second_first`).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from typing import Literal, TypeVar

from store.errors import WorkbenchError
from store.kinds.spec import QuestionSpec, QueueSpec, RecordSpec, SharedText, TaskKind
from store.record.scales import Scale, ScaleValue, scale_value

T = TypeVar("T")

MUCH_BETTER, BETTER, SAME, WORSE, MUCH_WORSE = 2.0, 1.0, 0.0, -1.0, -2.0
"""The values, from the view of the first candidate."""

PREFERENCE = QuestionSpec(
    name="comparison.preference",
    text="Which one satisfies more of the query?",
    scale=Scale(
        "ordinal",
        (
            ScaleValue(MUCH_BETTER, "first much better", "1"),
            ScaleValue(BETTER, "first better", "2"),
            ScaleValue(SAME, "same", "3"),
            ScaleValue(WORSE, "second better", "4"),
            ScaleValue(MUCH_WORSE, "second much better", "5"),
        ),
    ),
)
"""The one question, with all its values."""

BOTH_BAD = "both-bad"
"""The reason of a value of 0 where neither is any good: a tie in ratings, off the ordinal scale."""
BOTH_BAD_WORD = "both bad"
"""What screens call it."""

AS_LISTED = "as-listed"
"""The word in `Judgment.shown_as` for a comparison whose first candidate was on the left."""
SWAPPED = "swapped"
"""The word for one whose second candidate was on the left; it is in the condition of an assignment, too."""
JUDGE = "judge"
"""The phase of a judge's verdict in one order alone, where it is not known which one."""
ORDERS = (AS_LISTED, SWAPPED, JUDGE)
"""The phases of imported judges' verdicts in one order alone; whoever has labels in one of them is a judge.

The verdicts of agents' runs in one order are about the responses `as-listed` and `swapped` of the comparison.
"""
FIRST_LEFT = {AS_LISTED: True, SWAPPED: False}
"""Whether the first candidate is on the left, by the word for the order."""

ScaleName = Literal["forced", "tie", "five"]

SCALES: dict[str, tuple[float, ...]] = {
    "forced": (BETTER, WORSE),
    "tie": (BETTER, SAME, WORSE),
    "five": (MUCH_BETTER, BETTER, SAME, WORSE, MUCH_WORSE),
}
"""The values that raters may give, by the name of a study's scale."""

COMPLETIONS = "completions"
ABOUT = ("codes", "answers", COMPLETIONS)
"""What candidates can be."""

GUIDELINE = (
    "Choose the one that satisfies more of the query. The order of the two says nothing about where they "
    "come from.\n"
    "\n"
    "Read the query first, then both to the end. A wrong result matters more than style, names or a missing "
    "comment. Do not reward length: choose the one that you would rather use.\n"
    "\n"
    "Same: you could use either. If neither is any good, answer that both are bad.\n"
)
"""One line a paragraph: how wide the pane is that shows it is not known here."""

COMPARISON = TaskKind(
    name="comparison",
    plural="comparisons",
    questions=(PREFERENCE,),
    guideline_version="2",
    guideline=GUIDELINE,
    record=RecordSpec(
        table="comparison",
        columns={
            "prompt": "text",
            "language": "text",
            "first": "text",
            "second": "text",
            "first_name": "text",
            "second_name": "text",
            "first_ref": "text",
            "second_ref": "text",
            "reference": "text",
            "about": "text",
            "made_from": "text",
            "file_order": "text",
        },
        # Names are left out, so that no hash tells them.
        identity=("prompt", "first", "second"),
        texts=("prompt", "first", "second", "reference", "language", "about"),
        shared=(SharedText("prompt", "prompt"),),
        group="prompt",
        responses=False,
        hidden=("first_name", "second_name", "first_ref", "second_ref", "file_order"),
    ),
    # Nothing here tells of the sets: neither in lists, nor by what a search finds.
    queue=QueueSpec(
        title="prompt",
        detail="about",
        detail_word="compares",
        searched=("prompt", "first", "second"),
    ),
    order=4,
    two_sided=True,
)


def in_canonical_order(seed: int | str, prompt: str, one: tuple[str, T], other: tuple[str, T]) -> bool:
    """Return whether the first of two candidates comes first in canonical order.

    The order follows from hashes of the seed, the prompt and each text, so that neither sets nor the order of
    a file show in it. Where the texts are equal the names decide, which then tell nothing.

    Args:
        seed: The seed of the comparisons; the same for all of a set.
        prompt: The prompt.
        one: The text of the first candidate, and its name.
        other: Those of the second one.
    """

    def key(candidate: tuple[str, T]) -> tuple[str, str]:
        text, name = candidate
        return _digest(seed, prompt, text), _digest(seed, prompt, text, name)

    return key(one) <= key(other)


def listed_second_first(file_order: str, first_name: str, second_name: str) -> bool:
    """Return whether the second candidate is listed first where a comparison comes from.

    Args:
        file_order: `AS_LISTED` or `SWAPPED`, how its file lists both; empty where it comes from none, or that
            is not known. Then the name that sorts first is listed first.
        first_name: The name of the first candidate.
        second_name: That of the second one.
    """
    return file_order == SWAPPED or (not file_order and second_name < first_name)


def listed_second_first_sql(row: str) -> str:
    """Return the same of a row of the table `comparison`, as SQL; null where there is no row."""
    return (
        f"({row}.file_order = '{SWAPPED}' OR {row}.file_order = '' AND {row}.second_name < {row}.first_name)"
    )


def comparison_id(*parts: object) -> str:
    """Return an id that tells nothing of its parts: the first digits of their hash."""
    return _digest(*parts)[:16]


def drawn_order(rater: str, comparison: str) -> str:
    """Return the order in which a rater sees a comparison outside a study, always the same.

    Returns:
        `AS_LISTED` or `SWAPPED`.
    """
    return SWAPPED if int(_digest("sides", rater, comparison)[-1], 16) % 2 else AS_LISTED


@cache
def shown_scale(order: str, name: str = "") -> Scale:
    """Return a scale in the words of the screen: left and right, with the keys in the order of the sides.

    Args:
        order: `AS_LISTED` or `SWAPPED`; the values stay those from the view of the first candidate.
        name: The name of a study's scale; empty for all values.

    Raises:
        WorkbenchError: There is no such scale.
    """
    given = scale_values(name)
    values = SCALES["five"] if FIRST_LEFT[order] else SCALES["five"][::-1]
    words = ("left much", "left", "same", "right", "right much")
    return Scale(
        "ordinal",
        tuple(
            ScaleValue(value, word, key, sign=key)
            for key, value, word in zip("12345", values, words, strict=True)
            if value in given
        ),
    )


@cache
def canonical_scale(name: str = "") -> Scale:
    """Return the values of a study's scale in the words of an adjudication: first and second.

    Values of the first have a plus before them, since the keys are numbers, too.

    Args:
        name: The name of a study's scale; empty for all values.

    Raises:
        WorkbenchError: There is no such scale.
    """
    given, whole = scale_values(name), PREFERENCE.scale
    signed = (
        replace(known, sign=f"{known.value:+g}") if known.value else known
        for known in whole.values
        if known.value in given
    )
    return Scale(whole.level, tuple(signed))


def shown_order(shown_as: str) -> str | None:
    """Return the word for the order among those of `Judgment.shown_as`; None where it is not known."""
    return next((word for word in shown_as.split() if word in FIRST_LEFT), None)


def shown_word(value: float, reason: str, shown_as: str) -> str:
    """Return a value in the words of the screen: "left", "both bad"; without known sides "first better"."""
    if value == SAME and reason == BOTH_BAD:
        return BOTH_BAD_WORD
    order = shown_order(shown_as)
    scale = PREFERENCE.scale if order is None else shown_scale(order)
    return next((known.word for known in scale.values if known.value == value), f"{value:g}")


def given_value(scale: Scale, text: str) -> tuple[float, str]:
    """Return the value of a comparison that a number or a word means, and the reason that comes with it.

    "both bad" is one where the scale has a tie.

    Raises:
        JudgmentRefused: It is neither a value of the scale nor one of its words.
    """
    if SAME in scale.allowed and text.strip().lower().replace("-", " ") == BOTH_BAD_WORD:
        return SAME, BOTH_BAD
    return scale_value(scale, text), ""


def _digest(*parts: object) -> str:
    found = hashlib.sha256()
    for part in parts:
        encoded = str(part).encode("utf-8", "surrogatepass")
        found.update(f"{len(encoded)}:".encode() + encoded)
    return found.hexdigest()


def scale_values(name: str) -> tuple[float, ...]:
    """Return the values of a study's scale by its name; all of them where it has none.

    Raises:
        WorkbenchError: There is no such scale.
    """
    if name and name not in SCALES:
        raise WorkbenchError(
            "Unknown scale", f"No scale is called {name!r}.", f"Scales: {', '.join(SCALES)}."
        )
    return SCALES[name or "five"]
