"""The task kind `answer`: how good are the answers to a question about a repository (CoReQA, III.C)?"""

from __future__ import annotations

from collections.abc import Mapping

from store.kinds.spec import EditSpec, QuestionSpec, QueueSpec, RecordSpec, TaskKind
from store.record.scales import Scale, ScaleValue

COLLECTION = "issue-collection"
"""The work that collects issues as questions."""

POSITIVE = ("+1", "laugh", "hooray", "heart", "rocket")
"""The reactions that make a comment of an issue positive (CoReQA, III.A)."""


def positive_reactions(reactions: Mapping[str, object]) -> int:
    """Return how many reactions of a comment are positive."""
    counts = (reactions.get(name) for name in POSITIVE)
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool))


Bands = tuple[str, str, str, str, str]
"""The meaning of two points each, from 1 and 2 up to 9 and 10."""

ACCURACY: Bands = (
    "mostly wrong",
    "serious errors",
    "some errors, mostly correct",
    "small errors only",
    "no errors",
)
COMPLETENESS: Bands = (
    "misses nearly everything",
    "misses most key points",
    "covers about half",
    "misses only minor points",
    "covers every key point",
)
RELEVANCE: Bands = (
    "off topic",
    "mostly off topic",
    "partly on topic",
    "mostly on topic",
    "fully on topic",
)
CLARITY: Bands = (
    "cannot be followed",
    "hard to follow",
    "takes effort to follow",
    "mostly clear",
    "clear and concise",
)


def _ten(bands: Bands) -> Scale:
    """Return a scale from 1 to 10; its keys are the digits, 0 for ten. A judge's mean may be a half point."""
    values = (ScaleValue(number, bands[(number - 1) // 2], str(number % 10)) for number in range(1, 11))
    return Scale("interval", tuple(values), step=0.5)


def _asked(title: str, text: str, bands: Bands) -> QuestionSpec:
    return QuestionSpec(name=f"answer.{title}", text=text, scale=_ten(bands), of_responses=True)


QUESTIONS = (
    _asked("accuracy", "Accuracy: are the facts correct?", ACCURACY),
    _asked("completeness", "Completeness: are all parts of the question answered?", COMPLETENESS),
    _asked("relevance", "Relevance: does it keep to the question?", RELEVANCE),
    _asked("clarity", "Clarity: is it easy to understand?", CLARITY),
)
"""The four dimensions of the paper, each from 1 to 10 in five bands of two points."""

KEEP = QuestionSpec(
    name="answer.keep",
    text="Keep this question and its reference answer?",
    scale=Scale(
        "nominal", (ScaleValue(1, "keep", "1"), ScaleValue(2, "mend", "2"), ScaleValue(3, "drop", "3"))
    ),
    only_claimed=True,
    last_value=3,
)
"""The human inspection of the paper, asked of questions that agents wrote."""
KEPT, MENDED, DROPPED = (one.value for one in KEEP.scale.values)

CHARACTERS_OF_TOKEN = 4
"""Characters of an estimated token (CoReQA, III.A)."""

NO_CONTEXT = "none"
"""The setting of answers for which a model was shown nothing of the repository."""

WRITTEN, UNSUITABLE, NO_SOLUTION = "written", "unsuitable", "no solution"
"""The paths to the agents' verdict on it."""

RATING = QuestionSpec(
    name="answer.rating",
    text="Rating: how good is it overall?",
    scale=_ten(("bad", "poor", "fair", "good", "excellent")),
    of_responses=True,
    only_scored=True,
)
"""The overall rating of MT-bench, asked where a judge gave one."""


def _bands(question: QuestionSpec) -> str:
    values = question.scale.values
    pairs = zip(values[::2], values[1::2], strict=True)
    return "".join(f"{low.value:g}-{high.value:g}  {low.word}\n" for low, high in pairs)


SCORING = (
    "Score each answer from 1 to 10 on four questions. Compare it with the reference answer, and with the "
    "issue and the code where the reference is in doubt. If no model has answered, score the reference "
    "answer, or the best answer in the issue's comments.\n"
    "\n"
    "First choose the description that fits, then one of its two points: the higher one if it fits fully.\n"
    "\n" + "\n".join(f"{question.text}\n{_bands(question)}" for question in QUESTIONS) + "\n"
    "The four scores are independent: an answer can be clear but wrong, or correct but off topic. Do "
    "not reward length. It does not matter who wrote the answer.\n"
    "\n"
    "Rating: asked only if a judge gave the answer an overall rating; from 1 bad to 10 excellent.\n"
)
INSPECTION = (
    "Keep, mend or drop: asked first, and only of questions that agents wrote from an issue. Read the issue, "
    "then the question and the reference answer.\n"
    "1 keep: the repository can answer the question, and the issue supports the reference answer.\n"
    "2 mend: it can be kept once its text is corrected. Rewrite what is wrong.\n"
    "3 drop: it asks for a change, depends on what nobody can know, or has no answer in the issue. "
    "Its answers are not scored.\n"
)
GUIDELINE = f"{SCORING}\n{INSPECTION}"


ANSWER = TaskKind(
    name="answer",
    plural="repository questions",
    singular="repository question",
    questions=(*QUESTIONS, RATING, KEEP),
    guideline_version="5",
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
        label=KEEP.name,
        label_words={one.value: one.word for one in KEEP.scale.values},
    ),
    editing=EditSpec({"question": "question", "reference": "reference answer"}, never_empty=("question",)),
    order=3,
)
