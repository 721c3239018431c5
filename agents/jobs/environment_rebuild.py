"""Rebuilds a repaired environment that is missing on this machine, from the recorded repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.jobs.recorded_reports import action_of, repair_of
from agents.sandbox.repair import RepairAction, SnapshotMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.sandbox.protocol import Sandbox
    from store.tables.runs import Step


def actions_behind(snapshot: str, steps: Sequence[Step]) -> list[RepairAction]:
    """Find what was done to make a snapshot.

    Args:
        snapshot: Its name.
        steps: The repairs recorded for its item; each is named by what it did and what it began with.

    Returns:
        The actions, in order; none when the record is incomplete.
    """
    reports = [(repair_of(action_of(step), step), step.request_hash) for step in steps]
    known = {report.snapshot: (report.action, name) for report, name in reports if report.outcome == "done"}
    found: list[RepairAction] = []
    wanted = snapshot
    while wanted:
        if wanted not in known or len(found) > len(known):
            return []
        action, name = known[wanted]
        before = [each for each in ("", *known) if action.snapshot(each) == name]
        if not before:
            return []
        found.insert(0, action)
        wanted = before[0]
    return found


async def make_again(snapshot: str, steps: Sequence[Step], sandbox: Sandbox) -> str:
    """Repeat the repairs behind a snapshot.

    Args:
        snapshot: Its name.
        steps: The repairs that were recorded for its item.
        sandbox: Where it is made.

    Returns:
        The name of what was made; the same one, unless the sandbox's own environment is another one by now.

    Raises:
        SnapshotMissing: The record does not contain its repairs, or they failed.
        SandboxError: A repair could not begin.
    """
    actions = actions_behind(snapshot, steps)
    if not actions:
        raise SnapshotMissing(snapshot)
    made = ""
    for action in actions:
        report = await sandbox.repair(action, made)
        if report.outcome != "done":
            raise SnapshotMissing(snapshot, f"To make it again failed: {report.error}")
        made = report.snapshot
    return made
