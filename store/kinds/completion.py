"""The task kind `completion`: is this a good example of completing code across files (CrossCodeEval)?"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from store.kinds.protocol import QuestionSpec, TaskKind
from store.scales import Scale, ScaleValue

if TYPE_CHECKING:
    from sqlalchemy import Select


def _abc(first: str, second: str, third: str) -> Scale:
    words = (first, second, third)
    values = (
        ScaleValue(number, word, sign.lower(), sign)
        for number, (sign, word) in enumerate(zip("ABC", words, strict=True), start=1)
    )
    return Scale("ordinal", tuple(values))


CROSS_FILE = QuestionSpec(
    name="completion.cross_file",
    text="Is there a name in the reference about which the other files tell more?",
    scale=_abc("yes", "all names known here", "no such name"),
)
PREDICTABLE = QuestionSpec(
    name="completion.predictable",
    text="Could you predict the reference from this file alone?",
    scale=_abc("no", "perhaps, not exactly", "yes"),
)
KEEP = QuestionSpec(
    name="completion.keep",
    text="Should the example be taken out of the dataset?",
    scale=_abc("no, keep", "maybe", "yes, drop"),
)
"""The three questions of the paper's annotation (Appendix B), in its order."""

GUIDELINE = (
    "Judge whether the example is good enough for a benchmark of completion across files. The cursor stands "
    "where a model has to go on; the reference is what stood there.\n"
    "\n"
    "1. Names from other files. Read the reference with the pieces of other files beside it.\n"
    "A yes: for at least one name of the reference, the other files tell something that this file does not.\n"
    "B all names known here: what this file shows is enough to know every name of the reference.\n"
    "C no such name: the reference holds no name that could stand in another file.\n"
    "\n"
    "2. Prediction. Leave the other files aside, read this one up to the cursor, and guess.\n"
    "A no: you could not have predicted the reference.\n"
    "B perhaps, not exactly: you might come near it, but not to the letter.\n"
    "C yes: you could have written it.\n"
    "\n"
    "3. The dataset. Should the example be taken out?\n"
    "A no, keep: a model that knows the repository can be expected to write the reference.\n"
    "B maybe: you hesitate; say why in a comment.\n"
    "C yes, drop: it asks for something that nobody could know, such as a long message in quotes, or it is "
    "broken.\n"
    "\n"
    "Completions of models are shown to help you see what can go wrong. They are not what is judged here.\n"
)
"""One line a paragraph: how wide the pane is that shows it is not known here."""


def _summary(item_ids: Collection[int] | None) -> Select[Any]:
    # Imported when a list is read, not when one asks what a completion is.
    from store.kinds.listing import summary_of
    from store.tables.columns import table_of
    from store.tables.imported import Completion

    table = table_of(Completion)
    return summary_of(table, table.c.reference, table.c.path, item_ids)


def _texts(item_ids: Collection[int]) -> Select[Any]:
    from store.kinds.listing import texts_of
    from store.tables.columns import table_of
    from store.tables.imported import Completion

    names = ("prompt", "reference", "right_context", "language", "repository", "path")
    return texts_of(table_of(Completion), {name: name for name in names}, item_ids)


def _containing(text: str) -> Select[Any]:
    from store.kinds.listing import containing_of
    from store.tables.columns import table_of
    from store.tables.imported import Completion

    columns = ("prompt", "reference", "right_context", "repository", "path")
    return containing_of(table_of(Completion), columns, text)


COMPLETION = TaskKind(
    name="completion",
    plural="completions",
    questions=(CROSS_FILE, PREDICTABLE, KEEP),
    guideline_version="1",
    guideline=GUIDELINE,
    summary=_summary,
    texts=_texts,
    containing=_containing,
    detail_word="file",
    label=KEEP.name,
    label_words={1: "keep", 2: "maybe", 3: "drop"},
    table="completion",
    content={
        "language": "text",
        "repository": "text",
        "path": "text",
        "prompt": "text",
        "reference": "text",
        "right_context": "text",
        "prompt_line": "integer",
        "reference_line": "integer",
        "right_context_line": "integer",
    },
    known_by=("prompt", "reference", "right_context"),
    joined_by="reference",
    joined_within="language",
    place=2,
)
