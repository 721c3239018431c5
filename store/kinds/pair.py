"""The task kind `pair`: does this code do what this web query asks (CoSQA+, section IV)?"""

from __future__ import annotations

from store.kinds.spec import QuestionSpec, QueueSpec, RecordSpec, SharedText, TaskKind
from store.record.scales import Scale, ScaleValue

MATCH = QuestionSpec(
    name="pair.match",
    text="Does the code do what the query asks?",
    scale=Scale("nominal", (ScaleValue(1, "match", "1"), ScaleValue(0, "no match", "0"))),
)

RELEVANCE = QuestionSpec(
    name="pair.relevance",
    text="How relevant is the code for the query?",
    scale=Scale("ordinal", tuple(ScaleValue(grade, "", "") for grade in range(11))),
)
"""Grades of other annotations: from 0 up to the highest grade of theirs, such as 3 of CodeSearchNet's."""

GUIDELINE = (
    "Judge whether the code does what the query asks.\n"
    "\n"
    "1 match: whoever typed this query could use the code as it is. It does what was asked, perhaps more, "
    "under at least one plausible reading of the query.\n"
    "\n"
    "0 no match: it does something else, only a part of it, or does it wrongly.\n"
    "\n"
    "If the query is vague, one sensible reading that the code satisfies is enough. Names, style and a "
    "missing import do not count against the code; a wrong result does. If the query cannot be understood, "
    "or the code cannot be judged without the code around it, answer that you cannot decide, and why.\n"
)
"""One line a paragraph: how wide the pane is that shows it is not known here."""

FIRST_NAME = r"(?m)^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+([\p{L}_][\p{L}\p{N}_]*)"
"""The first function or class of a Python snippet, which names the code when the file does not."""

PAIR = TaskKind(
    name="pair",
    plural="pairs",
    questions=(MATCH,),
    imported=(RELEVANCE,),
    guideline_version="2",
    guideline=GUIDELINE,
    record=RecordSpec(
        table="pair",
        columns={
            "query": "text",
            "code": "text",
            "name": "text",
            "language": "text",
            "repository": "text",
            "path": "text",
            "licence": "text",
            "rank": "integer",
        },
        identity=("query", "code"),
        texts=("query", "code", "language", "name", "repository", "path", "licence"),
        shared=(
            SharedText("query", "query"),
            SharedText(
                "code",
                "code",
                {
                    "language": "'python'",
                    "name": f"regexp_extract(text, '{FIRST_NAME}', 1)",
                    "repository": "''",
                    "path": "''",
                    "licence": "''",
                },
            ),
        ),
        group="query",
        ranked=True,
        responses=False,
        flat=True,
    ),
    queue=QueueSpec(title="query", detail="name", detail_word="code", searched=("query", "code", "name")),
    order=1,
    own_tests=True,
)
