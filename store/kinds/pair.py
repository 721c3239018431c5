"""The task kind `pair`: does this code do what this web query asks (CoSQA+, section IV)?"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from store.kinds.protocol import QuestionSpec, TaskKind
from store.scales import Scale, ScaleValue

if TYPE_CHECKING:
    from sqlalchemy import Select

MATCH = QuestionSpec(
    name="pair.match",
    text="Does the code do what the query asks?",
    scale=Scale("nominal", (ScaleValue(1, "match", "1"), ScaleValue(0, "no match", "0"))),
)

GUIDELINE = (
    "Judge whether the code does what the query asks.\n"
    "\n"
    "1 match: Somebody who typed this query could use the code as it stands: it does what was asked, perhaps "
    "more, under at least one plausible reading of the query.\n"
    "\n"
    "0 no match: It does something else, only a part of it, or does it wrongly.\n"
    "\n"
    "A vague query is read kindly: one sensible reading that the code meets is enough. Names, style and a "
    "missing import do not count against the code; a wrong result does. When the query cannot be understood, "
    "or the code cannot be judged without what is missing around it, say that you cannot decide, and why.\n"
)
"""One line a paragraph: how wide the pane is that shows it is not known here."""


def _summary(item_ids: Collection[int] | None) -> Select[Any]:
    # Imported when a list is read, not when one asks what a pair is.
    from store.kinds.pair_listing import summary

    return summary(item_ids)


def _texts(item_ids: Collection[int]) -> Select[Any]:
    from store.kinds.pair_listing import texts

    return texts(item_ids)


def _containing(text: str) -> Select[Any]:
    from store.kinds.pair_listing import containing

    return containing(text)


PAIR = TaskKind(
    name="pair",
    plural="pairs",
    questions=(MATCH,),
    guideline_version="1",
    guideline=GUIDELINE,
    summary=_summary,
    texts=_texts,
    containing=_containing,
    detail_word="code",
    place=1,
    ranked=True,
)
