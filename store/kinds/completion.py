"""The task kind `completion`: is this a good example of completing code across files (CrossCodeEval)?"""

from __future__ import annotations

from typing import Literal

from store.kinds.spec import QuestionSpec, QueueSpec, RecordSpec, TaskKind
from store.record.scales import Scale, ScaleValue


def _abc(first: str, second: str, third: str, *, level: Literal["nominal", "ordinal"] = "ordinal") -> Scale:
    words = (first, second, third)
    values = (
        ScaleValue(number, word, sign.lower(), sign)
        for number, (sign, word) in enumerate(zip("ABC", words, strict=True), start=1)
    )
    return Scale(level, tuple(values))


CROSS_FILE = QuestionSpec(
    name="completion.cross_file",
    text="Does the reference use a name that is explained in another file?",
    scale=_abc("yes", "this file is enough", "no such name", level="nominal"),
)
PREDICTABLE = QuestionSpec(
    name="completion.predictable",
    text="Could you write the reference from this file alone?",
    scale=_abc("no", "nearly", "yes"),
)
KEEP = QuestionSpec(
    name="completion.keep",
    text="Keep this example?",
    scale=_abc("keep", "unsure", "drop"),
)
"""The three questions of the paper's annotation (Appendix B), in its order."""

GUIDELINE = (
    "Judge whether the example is good enough for a benchmark of code completion across files. A model has "
    "to continue the file at the cursor; the reference is the code that was there.\n"
    "\n"
    "1. Does the reference use a name that is explained in another file? Read it with the pieces of other "
    "files beside it.\n"
    "A yes: the other files explain at least one name of the reference that this file does not.\n"
    "B this file is enough: this file explains every name of the reference.\n"
    "C no such name: the reference has no name that another file could define.\n"
    "\n"
    "2. Could you write the reference from this file alone? Ignore the other files, read this one up to the "
    "cursor, and guess.\n"
    "A no: you could not have written the reference.\n"
    "B nearly: you would come close, but not exactly.\n"
    "C yes: you could have written it.\n"
    "\n"
    "3. Keep this example in the dataset?\n"
    "A keep: a model that knows the repository can write the reference.\n"
    "B unsure: say why in a comment.\n"
    "C drop: nobody could know the reference, such as a long message in quotes, or the example is broken.\n"
    "\n"
    "Completions of models are shown as examples of what can go wrong. Do not judge them here.\n"
)
"""One line a paragraph: how wide the pane is that shows it is not known here."""


COMPLETION = TaskKind(
    name="completion",
    plural="completions",
    questions=(CROSS_FILE, PREDICTABLE, KEEP),
    guideline_version="2",
    guideline=GUIDELINE,
    record=RecordSpec(
        table="completion",
        columns={
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
        identity=("prompt", "reference", "right_context"),
        texts=("prompt", "reference", "right_context", "language", "repository", "path"),
        joined_by="reference",
        joined_within="language",
        # A model may have been given a part of it, or context before it.
        joined_ends="prompt",
    ),
    queue=QueueSpec(
        title="reference",
        detail="path",
        detail_word="file",
        searched=("prompt", "reference", "right_context", "repository", "path"),
        label=KEEP.name,
        label_words={1: "keep", 2: "unsure", 3: "drop"},
    ),
    order=2,
)
