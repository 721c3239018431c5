"""The task kind `answer`: how good are the answers to a question about a repository (CoReQA, III.C)?"""

from __future__ import annotations

from store.kinds.spec import EditSpec, QuestionSpec, QueueSpec, RecordSpec, TaskKind
from store.record.scales import Scale, ScaleValue

Bands = tuple[str, str, str, str, str]
"""The meaning of two points each, from 1 and 2 up to 9 and 10."""

ACCURACY: Bands = (
    "mostly wrong",
    "serious errors of fact",
    "some errors, mainly right",
    "small inaccuracies, right as a whole",
    "right, without errors",
)
COMPLETENESS: Bands = (
    "misses nearly everything asked",
    "misses most key points",
    "covers about half",
    "misses only minor points",
    "covers every key point",
)
RELEVANCE: Bands = (
    "about something else",
    "touches the question only",
    "partly answers, much beside the point",
    "answers it, little beside the point",
    "answers just what was asked",
)
CLARITY: Bands = (
    "cannot be followed",
    "hard to follow",
    "can be followed with effort",
    "clear, with rough places",
    "clear and to the point",
)


def _ten(bands: Bands) -> Scale:
    """Return a scale from 1 to 10; its keys are the digits, 0 for ten. A judge's mean may be a half point."""
    values = (ScaleValue(number, bands[(number - 1) // 2], str(number % 10)) for number in range(1, 11))
    return Scale("interval", tuple(values), step=0.5)


def _asked(title: str, text: str, bands: Bands) -> QuestionSpec:
    return QuestionSpec(name=f"answer.{title}", text=text, scale=_ten(bands), of_responses=True)


QUESTIONS = (
    _asked("accuracy", "How right is what it says?", ACCURACY),
    _asked("completeness", "How much of what the question asks for does it cover?", COMPLETENESS),
    _asked("relevance", "How far does it keep to the core of the question?", RELEVANCE),
    _asked("clarity", "How easily is it understood?", CLARITY),
)
"""The four dimensions of the paper, each from 1 to 10 in five bands of two points."""

RATING = QuestionSpec(
    name="answer.rating",
    text="How good is it, all in all?",
    scale=_ten(("bad", "poor", "fair", "good", "excellent")),
    of_responses=True,
    only_scored=True,
)
"""The overall rating of MT-bench, asked where a judge gave one."""


def _bands(question: QuestionSpec) -> str:
    values = question.scale.values
    pairs = zip(values[::2], values[1::2], strict=True)
    return "".join(f"{low.value:g}-{high.value:g}  {low.word}\n" for low, high in pairs)


GUIDELINE = (
    "Score each answer from 1 to 10 on four counts. Hold it against the reference answer, and against the "
    "issue and the code where the reference itself is in doubt. Where no model has answered, score the "
    "reference answer itself, or the best answer in the issue's comments.\n"
    "\n"
    "First find the band of two points that fits, then the point: the higher one where nothing is missing "
    "of what the band says.\n"
    "\n"
    + "\n".join(
        f"{question.name.rpartition('.')[2].capitalize()}: {question.text}\n{_bands(question)}"
        for question in QUESTIONS
    )
    + "\n"
    "The counts are independent: an answer can be clear and wrong, or right and beside the point. Length is "
    "no merit. Who wrote an answer does not count.\n"
    "\n"
    "Rating: where a judge gave an answer one overall rating, give yours from 1 bad to 10 excellent.\n"
)


ANSWER = TaskKind(
    name="answer",
    plural="repository questions",
    singular="repository question",
    questions=(*QUESTIONS, RATING),
    guideline_version="2",
    guideline=GUIDELINE,
    record=RecordSpec(
        table="repository_question",
        columns={
            "repository": "text",
            "revision": "text",
            "language": "text",
            "url": "text",
            "question": "text",
            "reference": "text",
            "issue_number": "integer",
            "issue_title": "text",
            "issue_body": "text",
            "comments": "list",
            "labels": "list",
            "created_at": "text",
            "closed_at": "text",
        },
        identity=("question", "reference", "issue_title", "issue_body", "comments"),
        texts=("question", "reference", "issue_title", "issue_body", "comments", "repository", "url"),
        judged_columns=("reference", "comments"),
    ),
    queue=QueueSpec(
        title="question",
        detail="repository",
        detail_word="repository",
        searched=("question", "reference", "issue_title", "issue_body", "comments", "repository"),
        label="",
    ),
    editing=EditSpec({"question": "question", "reference": "reference answer"}, never_empty=("question",)),
    order=3,
)
