"""What an undo or redo was about, in words: what it was, where it came from, and what stands now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from screens.widgets.visible import one_line
from store.kinds.protocol import task_kinds
from store.recording import Action
from store.tables.record import Judgment, Mark

_MARKS = {"cannot_decide": "cannot decide", "skip": "skip", "flag": "flag", "comment": "comment"}
_ORIGINS = {"accept": ", accepts ◆", "override": ", overrides ◆"}
REASON_CELLS = 40


def undone_in_words(action: Action, questions: Mapping[str, int], *, blind: bool, since: datetime) -> str:
    """Return what an undo took back or a redo brought again: "1 match, accepts ◆ · now no label".

    Args:
        action: The undo or redo as it was stored; an action that never was, for one that was dropped.
        questions: The keys of the questions by their names; empty where they are not at hand.
        blind: Leave out whatever tells of the agents' label.
        since: When the session began; of what is older the time is told.
    """
    about = action.about or action.records
    given = [
        record
        for record in about
        if isinstance(record, Judgment) and record.value is not None and record.origin != "withdraw"
    ]
    record = given[-1] if given else next((one for one in about if isinstance(one, Mark)), about[0])
    what = _said(record, questions, blind=blind)
    if isinstance(record, Judgment) and record.elapsed_ms is None:
        # Only what was judged on a screen has a time that it took.
        what += ", given by a command"
    if record.created_at < since:
        what += f", of {record.created_at.astimezone():%Y-%m-%d %H:%M}"
    stands = [one for one in action.records if isinstance(one, Judgment)] if action.about else []
    if not stands or _undoes_nothing(stands[-1], record):
        return what
    return f"{what} · now {_label(stands[-1], questions)}"


def _undoes_nothing(stands: Judgment, record: Judgment | Mark) -> bool:
    """Return whether what stands is what was named already, as after a redo."""
    return isinstance(record, Judgment) and (stands.value, stands.reason) == (record.value, record.reason)


def _said(record: Judgment | Mark, questions: Mapping[str, int], *, blind: bool) -> str:
    if isinstance(record, Judgment):
        return _label(record, questions) + ("" if blind else _ORIGINS.get(record.origin, ""))
    word = _MARKS.get(record.kind, record.kind)
    if not record.active:
        return f"{word} taken away"
    return f"{word}: {one_line(record.text, REASON_CELLS)}" if record.text else word


def _label(judgment: Judgment, questions: Mapping[str, int]) -> str:
    """Return a label with its reason, "no label" where there is none."""
    if judgment.value is None:
        return "no label"
    known = [question for kind in task_kinds().values() for question in kind.questions]
    if questions or len(known) > 1:
        known = [question for question in known if questions.get(question.name) == judgment.question_id]
    words = known[0].scale.word(judgment.value) if known else f"{judgment.value:g}"
    return words + (f" ({one_line(judgment.reason, REASON_CELLS)})" if judgment.reason else "")
