"""Descriptions of undone and redone actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from screens.widgets.text.sanitize import one_line
from store.kinds.comparison import shown_word
from store.kinds.spec import NamedQuestion, part_title
from store.record.actions import Action
from store.record.revisions import REVISION
from store.tables.record import Judgment, Mark, QuestionTarget

_MARKS = {"cannot_decide": "cannot decide", "skip": "skip", "flag": "flag", "comment": "comment"}
_ORIGINS = {"accept": ", accepts ◆", "override": ", overrides ◆"}
REASON_CELLS = 40


def describe_undo(
    action: Action, questions: Mapping[int, str], *, blind: bool, since: datetime, of: str = ""
) -> str:
    """Return what an undo took back or a redo brought again: "1 match, accepts ◆ · now no label".

    Args:
        action: The undo or redo as it was stored; an action that never was, for one that was dropped.
        questions: The names of the questions by their keys.
        blind: Leave out whatever reveals the agents' label.
        since: When the session began; older records are described with their time.
        of: The subject of the question, as named on the screen: "answer B"; empty without a name.
    """
    about = action.about or action.records
    given = _given(about)
    record = given[-1] if given else next((one for one in about if isinstance(one, Mark)), about[0])
    several = _values_in_row(given)
    what = _describe(record, questions, of, blind=blind)
    if several:
        what = f"{several} for {of}" if of else several
    if isinstance(record, Judgment) and record.elapsed_ms is None:
        # Only what was judged on a screen has a time that it took.
        what += ", given by a command"
    if record.created_at < since:
        what += f", of {record.created_at.astimezone():%Y-%m-%d %H:%M}"
    current = [one for one in action.records if isinstance(one, Judgment)] if action.about else []
    if several:
        now = _values_in_row(current)
        return what if now in ("", several) else f"{what} · now {now}"
    if not current or _is_unchanged(current[-1], record):
        return what
    return f"{what} · now {_label(current[-1], questions)}"


def target_of(action: Action) -> QuestionTarget | None:
    """Return the question that an undo or redo is about; None where it is about none."""
    given = _given(action.about or action.records)
    return given[0].target if given else None


def _values_in_row(judgments: Sequence[Judgment]) -> str:
    """Return the values of several questions, in order: "7 8 9 9"; empty for those of one."""
    values = {judgment.target: judgment.value for judgment in judgments}
    if len(values) < 2:
        return ""
    if all(value is None for value in values.values()):
        return "no label"
    return " ".join("none" if value is None else f"{value:g}" for value in values.values())


def _given(records: Sequence[Judgment | Mark]) -> list[Judgment]:
    return [
        record
        for record in records
        if isinstance(record, Judgment) and record.value is not None and record.origin != "withdraw"
    ]


def _is_unchanged(current: Judgment, record: Judgment | Mark) -> bool:
    """Return whether the current label equals the one described, as after a redo."""
    return isinstance(record, Judgment) and (current.value, current.reason) == (record.value, record.reason)


def _describe(record: Judgment | Mark, questions: Mapping[int, str], of: str, *, blind: bool) -> str:
    if isinstance(record, Judgment):
        return _label(record, questions, of) + ("" if blind else _ORIGINS.get(record.origin, ""))
    if record.kind.startswith(REVISION):
        return f"revision of the {part_title(record.kind.removeprefix(REVISION))}"
    word = _MARKS.get(record.kind, record.kind)
    if not record.active:
        return f"{word} removed"
    return f"{word}: {one_line(record.text, REASON_CELLS)}" if record.text else word


def _label(judgment: Judgment, questions: Mapping[int, str], of: str = "") -> str:
    """Return a label with its reason, "no label" where there is none.

    Args:
        questions: The names of the questions by their keys.
        of: The subject of the question; empty where it needs no name.
    """
    if judgment.value is None:
        return "no label"
    asked = NamedQuestion.parse(questions.get(judgment.question_id, ""))
    if asked is not None and asked.kind.two_sided:
        return shown_word(judgment.value, judgment.reason, judgment.shown_as)
    words = f"{judgment.value:g}" if asked is None else asked.spec.scale.word(judgment.value)
    if asked is not None and (len(asked.kind.questions) > 1 or asked.kind.questions[0].of_responses):
        # Its items are asked others too.
        words = f"{asked.spec.title} of {of}: {words}" if of else f"{asked.spec.title} {words}"
    return words + (f" ({one_line(judgment.reason, REASON_CELLS)})" if judgment.reason else "")
