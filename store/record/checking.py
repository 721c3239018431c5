"""Checks the records of packets and journals: their fields must hold what the program itself writes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from store.errors import JudgmentRefused
from store.record.evidence import BadEvidence, citations_of
from store.record.ids import id_fault, time_fault
from store.record.rater_ref import LONGEST_NAME, has_unseen
from store.record.revisions import REVISION, refused_mark
from store.record.scales import Scale
from store.tables.record import MARK_KINDS, ORIGINS, Judgment, Mark
from store.tables.runs import EXIT_REASONS, TEST_OUTCOMES, Execution, TestOutcomeRow

LONGEST_TEXT = 1 << 24
"""Characters of a text in a record: a comment, a revision, the output of a test."""

_NAMES = frozenset(
    {"origin", "phase", "kind", "shown_as", "sandbox", "environment", "exit_reason", "outcome"}
)
"""Fields that hold a name, which has a limit of its own."""

Record = Judgment | Mark | Execution


def record_fault(
    record: Record, kind: str, scale: Scale | None = None, outcomes: Sequence[TestOutcomeRow] = ()
) -> str:
    """Return the fault of a record, as "is off the scale"; empty for a good one.

    A judgment needs the scale of its question, an execution its tests.
    """
    faults = [_time_fault(record), *(_form_fault(one) for one in (record, *outcomes))]
    if isinstance(record, Judgment):
        faults.append(_judgment_fault(record, scale))
    elif isinstance(record, Mark):
        faults.append(_mark_fault(record, kind))
    elif record.exit_reason not in EXIT_REASONS:
        faults.append(f"ended for an unknown reason, {record.exit_reason[:40]!a}")
    elif not all(one.outcome in TEST_OUTCOMES for one in outcomes):
        faults.append("has a test of an unknown outcome")
    elif len({one.position for one in outcomes}) < len(outcomes):
        faults.append("has two tests in one place")
    return next(filter(None, faults), "")


def _time_fault(record: Record) -> str:
    ids = [record.id]
    if not isinstance(record, Execution):
        ids += [record.action, *filter(None, (record.supersedes, record.target_action, record.restores))]
    return next(filter(None, (*map(id_fault, ids), time_fault(record.created_at))), "")


def _form_fault(record: Record | TestOutcomeRow) -> str:
    """Return the fault of a value that no program of ours would have written."""
    for name, value in record:
        if isinstance(value, str) and len(value) > (most := LONGEST_NAME if name in _NAMES else LONGEST_TEXT):
            return f"has {len(value):,} characters in {name}, where at most {most:,} can be"
        # A reason may have several lines.
        shown = " ".join(value.split()) if name == "reason" else value
        if isinstance(value, str) and (name in _NAMES or name == "reason") and has_unseen(shown):
            return f"has characters in {name} that cannot be seen"
        if isinstance(value, float) and not math.isfinite(value):
            return f"has no number in {name}"
        if isinstance(value, int) and value < 0 and name != "exit_code":
            return f"has a number below zero in {name}"
    return ""


def _judgment_fault(record: Judgment, scale: Scale | None) -> str:
    if record.origin not in ORIGINS:
        return f"is of the origin {record.origin!r}"
    if scale is None:
        return "answers no question that is asked here"
    try:
        if record.value is not None:
            scale.check(record.value)
        citations_of(record.evidence)
    except JudgmentRefused as refused:
        return f"is off the scale: {refused.message}"
    except BadEvidence as bad:
        return f"has no evidence that can be read: {bad}"
    return ""


def _mark_fault(record: Mark, kind: str) -> str:
    if record.origin not in ORIGINS:
        return f"is of the origin {record.origin!r}"
    if not record.kind.startswith(REVISION):
        return "" if record.kind in MARK_KINDS else f"is an unknown mark {record.kind!r}"
    why = refused_mark(kind, record.kind, record.text) if record.active else ""
    return f"is no revision: {why}" if why else ""


def with_followers(
    records: Sequence[Record], faults: Mapping[UUID, str], actions: Iterable[UUID] = ()
) -> dict[UUID, str]:
    """Return which records are left out, and why: those with a fault, and with them what rests on them.

    A record takes its action with it, and what supersedes, restores, takes back or cites it.

    Args:
        records: The records.
        faults: Why some are left out, those among them and others, by their ids.
        actions: The actions of those others.
    """
    left_out, ahead = dict(faults), [*faults]
    own = {one.id: one.action for one in records if not isinstance(one, Execution)}
    of_action: dict[UUID, list[UUID]] = defaultdict(list)
    resting: dict[UUID, list[UUID]] = defaultdict(list)
    for one in records:
        if not isinstance(one, Execution) and one.id not in left_out:
            of_action[one.action].append(one.id)
            for named in _named(one):
                resting[named].append(one.id)
    gone: set[UUID] = set()
    further = [*actions]
    while ahead or further:
        if ahead:
            number = ahead.pop()
            follow, action = resting.pop(number, []), own.get(number)
            further += [action] if action is not None and action not in gone else []
        else:
            action = further.pop()
            gone.add(action)
            follow = of_action.pop(action, []) + resting.pop(action, [])
        for one_id in follow:
            if one_id not in left_out:
                left_out[one_id] = "rests on a record that is left out"
                ahead.append(one_id)
    return left_out


def _named(record: Judgment | Mark) -> Iterable[UUID]:
    """Return the records and the action that a record rests on."""
    named = {record.supersedes, record.restores, record.target_action}
    if isinstance(record, Judgment):
        named |= {record.shown_execution, *(one.execution for one in citations_of(record.evidence))}
    return filter(None, named)
