"""The screen part of the task kind `answer`: a question, its reference answer, its issue, models' answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from screens.items.history import history
from screens.items.responses import RULE, context, named
from screens.items.revisions import editable_of, revisions
from screens.items.signs import sign_spans
from screens.items.steps import step_lines
from screens.items.views import Claim, ItemView, PaneText, QuestionPrompt, ReviewPart
from screens.widgets.text.overlay import Span
from store.formatting import pluralize
from store.kinds.answer import (
    ANSWER,
    GUIDELINE,
    INSPECTION,
    KEEP,
    QUESTIONS,
    RATING,
    SCORING,
    positive_reactions,
)
from store.kinds.spec import QuestionSpec
from store.policy.scope import Scope
from store.queries.agent_case import AgentCase, VerdictView, load_case
from store.queries.item import ItemDetails, load_item
from store.queries.questions import is_asked_of_item
from store.queries.repository_answers import writing_run
from store.queries.responses import ResponseView, ScoreView, summarize_scores
from store.tables.record import QuestionTarget

_REACTIONS = {
    "+1": "+1",
    "-1": "-1",
    "laugh": "laugh",
    "confused": "confused",
    "heart": "heart",
    "hooray": "hooray",
    "rocket": "rocket",
    "eyes": "eyes",
}
_NO_REFERENCE = "No reference answer yet. {review.edit} writes one."
_NO_ISSUE = "This question has no issue."
_NO_CONTEXT = "This question has no context from the repository."
_NOTHING_TO_SCORE = "nothing to score: no answer, reference or comment"
_NO_CASE = AgentCase(None, (), None)
_KEEP_REASONS = {
    "w": "answer is wrong",
    "i": "several questions in one",
    "h": "not in the code",
    "c": "issue does answer it",
    "l": "other",
}
_NO_SCORES = "No judge has scored these answers."


def load(connection: Connection, scope: Scope, item_id: int) -> ItemView:
    """Read a repository question for review (see ReviewPart)."""
    entry = load_item(connection, scope, ANSWER, item_id)
    if not is_asked_of_item(connection, KEEP, item_id, scope):
        return view(entry)
    if entry.blind:
        return view(entry, _NO_CASE)
    case = load_case(connection, scope, item_id)
    # Another run, which is shown elsewhere, may have written this one.
    if case.verdict is None and (run := writing_run(connection, item_id)) is not None:
        case = load_case(connection, replace(scope, run=run), item_id)
    return view(entry, case)


def view(entry: ItemDetails, case: AgentCase | None = None) -> ItemView:
    """Lay out a question in panes: the reference answer beside the one that is scored.

    Args:
        case: How agents wrote it; None where they did not, and nobody is asked whether to keep it.
    """
    fields, blind = entry.fields, entry.blind
    questions = tuple(_questions(entry, case))
    issue = _issue(fields)
    editable = editable_of(ANSWER, fields, entry.revisions, blind=blind)
    revised = {one.part: one.revised for one in editable}
    reference = _reference(fields, revised["reference"])
    panes = [
        *(_answer(one) for one in entry.responses),
        *([issue] if issue.text and reference.text else []),
        *([_judges(entry.responses)] if entry.responses and not blind else []),
        context(entry.chunks, fields, _NO_CONTEXT),
        *([_steps(case)] if case is not None and case.steps else []),
        *revisions(ANSWER, entry.revisions, blind=blind),
        history(entry, questions),
        PaneText("guideline", "Guide", GUIDELINE if case is None else f"{INSPECTION}\n{SCORING}"),
    ]
    thread_first = bool(issue.text) and not reference.text
    return ItemView(
        item_id=entry.item_id,
        external_id=entry.external_id,
        kind=ANSWER.name,
        prompt=fields["question"],
        prompt_word=" · ".join(word for word in ("question", revised["question"]) if word),
        subject=issue if thread_first else reference,
        subject_word="Issue" if thread_first else "Reference",
        case=tuple(panes),
        questions=questions,
        own=entry.own,
        # The texts of a study stay as they were when it was frozen.
        editable=editable if entry.assignment_id is None else (),
        blind=blind,
        assignment_id=entry.assignment_id,
        phase=entry.phase,
    )


def _questions(entry: ItemDetails, case: AgentCase | None) -> Iterator[QuestionPrompt]:
    """Yield the questions answer by answer; of the reference or the thread where nobody has answered.

    Whether to keep a question that agents wrote comes first.
    """
    if case is not None:
        verdict = case.verdict
        yield QuestionPrompt(
            KEEP,
            QuestionTarget(entry.question_ids[KEEP.name]),
            claim=None if verdict is None else _kept(verdict),
            # The issue of a question that agents dropped stands in the subject's place.
            pane="issue" if entry.fields["reference"] else "",
            unclaimed="blind: the agents' label is not shown" if entry.blind else "",
            reasons=_KEEP_REASONS,
        )
    if not entry.responses:
        judged = ANSWER.record.judged_column(entry.fields)
        about = {"reference": "the reference", "comments": "the thread"}.get(judged or "", "")
        nothing = _NOTHING_TO_SCORE if judged is None else ""
        for spec in QUESTIONS:
            target = QuestionTarget(entry.question_ids[spec.name])
            yield QuestionPrompt(spec, target, about, unclaimed=nothing, nothing=nothing)
    for response in entry.responses:
        for spec in (*QUESTIONS, RATING):
            if spec.only_scored and spec.title not in response.measures:
                continue
            claim, unclaimed = _claim(spec, response.scores)
            yield QuestionPrompt(
                spec,
                QuestionTarget(entry.question_ids[spec.name], response.id),
                about=f"answer {response.letter}",
                claim=claim,
                pane=f"response-{response.letter}",
                unclaimed="blind: the judges' scores are not shown" if entry.blind else unclaimed,
            )


def _kept(verdict: VerdictView) -> Claim:
    """Return the verdict of the agents on a question that they wrote, or could not write."""
    words = (f"◆ {KEEP.scale.word(verdict.value)}", verdict.path, verdict.reason)
    return Claim(verdict.id, verdict.execution_id, verdict.value, " · ".join(filter(None, words)))


def _steps(case: AgentCase) -> PaneText:
    lines, signed = step_lines(case.steps)
    return PaneText("steps", "Steps", "\n".join(lines), spans=tuple(sign_spans(lines, signed)))


def _claim(spec: QuestionSpec, scores: Sequence[ScoreView]) -> tuple[Claim | None, str]:
    """Return the last judge's score of one measure as a claim, or why it is none; one of both is empty.

    Of several scores of that judge it is the mean. It is never rounded: off the scale nobody can accept it.
    """
    given = [one for one in scores if one.measure == spec.title]
    if not given and scores:
        other = scores[-1]
        stated = f"{other.value:g}" if other.value is not None else _not_parsed(other)
        return None, f"no judge's score of it · {other.judge}: {other.measure} {stated}"
    if not given:
        return None, "no judge's score"
    last = given[-1]
    own = [one for one in given if one.judge == last.judge]
    (summed,) = summarize_scores(own)
    if summed.mean is None:
        rest = [f"scored {pluralize(len(own), 'time')}"] if len(own) > 1 else []
        rest += [last.reason] if last.reason else []
        return None, " · ".join([f"◆ {last.judge}: {_not_parsed(last)}", *rest])
    value = summed.mean
    rest = [summed.sentence] if len(own) > 1 else []
    rest += [last.reason] if last.reason else []
    word = spec.scale.word(value) if value in spec.scale.allowed else f"{value:.4g}"
    summary = " · ".join([f"◆ {last.judge}: {word}", *rest])
    if value not in spec.scale.allowed:
        # Nobody can accept what is not on the scale.
        return None, f"{summary} · no point of this scale"
    return Claim(last.id, None, value, summary), ""


def _not_parsed(score: ScoreView) -> str:
    """Return that the judge's score could not be read, with its word for it; a number such as -1 is none."""
    try:
        float(score.raw or 0)
    except ValueError:
        return f"not parsed (“{score.raw}”)"
    return "not parsed"


def _reference(fields: Mapping[str, Any], revised: str) -> PaneText:
    place = "/".join(part for part in (fields["repository"], fields["revision"][:12]) if part)
    words = ["Reference answer", revised, place]
    return PaneText(
        "reference",
        " · ".join(part for part in words if part),
        fields["reference"],
        kind="markdown",
        empty=_NO_REFERENCE,
        part="reference",
    )


def _answer(response: ResponseView) -> PaneText:
    return PaneText(
        f"response-{response.letter}",
        f"Answer {response.letter}",
        response.text,
        kind="markdown",
        empty="An empty answer.",
        part="answer",
        heading=f"Answer {named(response)}",
    )


def _issue(fields: Mapping[str, Any]) -> PaneText:
    """Return the issue and its comments one below the other, each under who wrote it when."""
    text, spans = "", []
    comments = json.loads(fields["comments"])
    if _has_issue(fields):
        number = f"issue #{fields['issue_number']}" if fields["issue_number"] is not None else "issue"
        heading = [number, *_written("author", fields["created_at"], {})]
        if labels := json.loads(fields["labels"]):
            heading.append(", ".join(map(str, labels)))
        title = [f"# {fields['issue_title']}", ""] if fields["issue_title"] else []
        parts = [(heading, "\n".join([*title, fields["issue_body"] or "*The issue has no text.*"]))]
        for comment in comments:
            by, when = str(comment.get("by") or "somebody"), str(comment.get("created_at") or "")
            reactions = comment.get("reactions")
            liked = isinstance(reactions, dict) and positive_reactions(reactions) > 0
            word = "positive comment" if liked else "comment"
            parts.append(([word, *_written(by, when, comment)], str(comment.get("body") or "")))
        for heading, body in parts:
            between = f"{RULE} {' · '.join(heading)} {RULE}"
            text += "\n\n" if text else ""
            spans.append(Span(len(text), len(text) + len(between), "rule"))
            text += f"{between}\n{body}"
    return PaneText(
        "issue",
        "Issue",
        text,
        kind="markdown",
        empty=_NO_ISSUE,
        part="issue",
        spans=tuple(spans),
        heading=f"Issue · {pluralize(len(comments), 'comment')}" if text else "",
    )


def _has_issue(fields: Mapping[str, Any]) -> bool:
    return bool(fields["issue_title"] or fields["issue_body"] or json.loads(fields["comments"]))


def _written(by: str, when: str, comment: Mapping[str, Any]) -> Iterator[str]:
    yield by
    if when:
        yield when[:16].replace("T", " ")
    given = comment.get("reactions")
    for name, count in (given if isinstance(given, dict) else {}).items():
        if count:
            yield f"{_REACTIONS.get(name, name)} ×{count:,}"


def _judges(responses: Sequence[ResponseView]) -> PaneText:
    """Return the scores of each answer by judge, with their reasons."""
    lines: list[str] = []
    landmarks: list[int] = []
    places: dict[str, int] = {}
    words = {spec.title: spec.scale for spec in ANSWER.questions}
    # In the order in which they are asked; those that are not come last.
    order = {title: place for place, title in enumerate(words)}
    for response in responses:
        lines += [""] if lines and response.scores else []
        for judge in dict.fromkeys(one.judge for one in response.scores):
            landmarks.append(len(lines) + 1)
            places.setdefault(f"response-{response.letter}", landmarks[-1])
            lines.append(f"{RULE} answer {named(response)} · {judge} {RULE}")
            given = [one for one in response.scores if one.judge == judge]
            repeated = [one for one in summarize_scores(given) if one.scores + one.not_parsed > 1]
            lines += [f"{one.measure}: {one.sentence}" for one in repeated]
            for one in sorted(given, key=lambda one: order.get(one.measure, len(order))):
                scale = words.get(one.measure)
                if one.value is None:
                    score = _not_parsed(one)
                else:
                    score = scale.word(one.value) if scale else f"{one.value:g}"
                lines.append(f"{one.measure}: {score}")
                lines += [f"    {line}" for line in one.reason.split("\n")] if one.reason else []
    return PaneText(
        "judges", "Judge", "\n".join(lines), empty=_NO_SCORES, landmarks=tuple(landmarks), places=places
    )


ANSWER_PART = ReviewPart(
    kind=ANSWER.name,
    load=load,
    reasons={
        "w": "judge overlooks an error",
        "i": "judge sees a false error",
        "h": "judge relies on reference only",
        "c": "reason and score disagree",
        "l": "other",
    },
    undecided={
        "w": "question unclear",
        "h": "needs missing context",
        "i": "beyond my knowledge",
        "l": "other",
    },
)
