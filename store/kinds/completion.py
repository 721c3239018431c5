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
    text="Is there a name in the reference about which the other files tell more?",
    scale=_abc("yes", "all names known here", "no such name", level="nominal"),
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


COMPLETION = TaskKind(
    name="completion",
    plural="completions",
    questions=(CROSS_FILE, PREDICTABLE, KEEP),
    guideline_version="1",
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
    ),
    queue=QueueSpec(
        title="reference",
        detail="path",
        detail_word="file",
        searched=("prompt", "reference", "right_context", "repository", "path"),
        label=KEEP.name,
        label_words={1: "keep", 2: "maybe", 3: "drop"},
    ),
    order=2,
)
