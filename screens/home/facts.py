"""The facts on Home: read in a thread, put into sentences here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.pipelines.registry import kinds_with_agents
from screens.widgets.text.sanitize import one_line, shortened
from store.formatting import dollars, pluralize
from store.kinds.counting import counted_kinds, joined, unknown_kinds_note
from store.kinds.spec import task_kinds
from store.record.scope import Scope
from store.record.session import load_session, session_key

if TYPE_CHECKING:
    from store.queries.progress import Progress
    from store.workspace.duckdb import Workspace

REVIEW_SESSION = "review"
TITLE_CELLS = 48
SOURCES_NAMED = 3
RUN_CELLS = 32
"""Cells of a run's name."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The item at which a rater goes on.

    Attributes:
        external_id: What it is called.
        title: Its query or title.
        left_off: Whether a session ended there; otherwise it has no label yet.
        begun: Whether there was a session before.
    """

    external_id: str
    title: str
    left_off: bool
    begun: bool


@dataclass(frozen=True, slots=True)
class HomeFacts:
    """The contents of a workspace, and where the rater goes on.

    Attributes:
        progress: The counts.
        resume: Where to go on; None when nothing is left to judge and no session was kept.
        sample: Whether the workspace holds the sample data.
        runs: Names of the runs whose labels are counted; none in a blind review.
    """

    progress: Progress
    resume: Resume | None
    sample: bool
    runs: tuple[str, ...] = ()


def read_facts(workspace: Workspace, scope: Scope, *, sample: bool) -> HomeFacts:
    """Read what Home shows.

    Args:
        workspace: The open workspace.
        scope: Who judges, and what of others' work is shown.
        sample: Whether the workspace holds the sample data.
    """
    from store.queries.progress import progress
    from store.queries.runs import shown_by_kind

    with workspace.reading() as connection:
        counts = progress(connection, scope)
        runs = {} if scope.hides_lists else shown_by_kind(connection, scope)
    names = tuple(dict.fromkeys(run.name for run in runs.values()))
    return HomeFacts(counts, _resume(workspace, scope, counts.left), sample, names)


def _resume(workspace: Workspace, scope: Scope, left: int) -> Resume | None:
    from screens.queue.query import QueueQuery
    from screens.review.next_item import resumed_item
    from store.queries.queue import queue_rows

    key = session_key(REVIEW_SESSION, scope.sitting)
    session = load_session(workspace, scope.rater_id, key) if scope.rater_id else {}
    query = QueueQuery.of(session.get("queue"), blind=scope.hides_lists)
    item = resumed_item(workspace, scope, session, query)
    rows = queue_rows(workspace, scope, [item] if item is not None else [])
    left_off = item is not None and item == session.get("item")
    if not rows or not (left or left_off):
        return None
    return Resume(rows[0].external_id, rows[0].title, left_off, begun="item" in session)


def paragraph(facts: HomeFacts, *, judges: bool) -> list[str]:
    """Return the workspace in a few sentences.

    Args:
        facts: Its contents.
        judges: Whether there is a rater.

    Returns:
        The sentences; names from files are made harmless.
    """
    counts = facts.progress
    named = ", ".join(one_line(name, 30) for name in counts.sources[:SOURCES_NAMED])
    more = len(counts.sources) - SOURCES_NAMED
    source = f" from {named}{f' and {more:,} more' if more > 0 else ''}" if named else ""
    sentences = [f"{counted_kinds(counts.items)}{source}."]
    if unknown := unknown_kinds_note(counts.items):
        sentences.append(unknown)
    if judges:
        own = f"You judged {counts.judged:,}"
        own += f" ({counts.today:,} today)" if counts.today else ""
        own += f", cannot decide {counts.cannot_decide:,}" if counts.cannot_decide else ""
        own += f", skipped {counts.skipped:,}" if counts.skipped else ""
        own += f", flagged {counts.flagged:,}" if counts.flagged else ""
        sentences.append(f"{own}; {counts.left:,} left.")
    others = [
        rater
        for rater in counts.raters
        if rater.kind != "agent" and rater.name != counts.rater and rater.labelled
    ]
    if others:
        names = ", ".join(f"{one_line(rater.name, 20)} {rater.labelled:,}" for rater in others[:4])
        sentences.append(f"Labels of others: {names}{' …' if len(others) > 4 else ''}.")
    sentences += _of_agents(counts, facts.runs)
    if counts.tokens:
        money = f", {dollars(counts.money)}" if counts.money is not None else "; their price is not known"
        if counts.money is not None and counts.unpriced:
            money += f", and what {pluralize(counts.unpriced, 'step')} cost, which is unknown"
        sentences.append(f"Spent: {pluralize(counts.tokens, 'token')}{money}.")
    return sentences


def for_agents(counts: Progress) -> Progress:
    """Return the counts of the kinds on which agents can work."""
    return counts.only(kinds_with_agents())


def _asks_of_responses(kinds: Collection[str]) -> bool:
    known = (task_kinds().get(kind) for kind in kinds)
    return any(spec.of_responses for kind in known if kind is not None for spec in kind.questions)


def _of_agents(counts: Progress, runs: Sequence[str]) -> list[str]:
    """Return what agents and judges have done, as far as it may be seen."""
    theirs = for_agents(counts)
    if counts.agent_labelled is None:
        hidden = ["the agents' labels"] if theirs.total else []
        hidden += ["judges' scores"] if _asks_of_responses(counts.items) else []
        return [f"You judge blind: {joined(hidden) or 'labels of others'} are not read."]
    sentences = []
    if counts.agent_labelled and theirs.total:
        # Of other kinds the runs that are named have not labelled anything.
        begun = theirs.only([one.kind for one in theirs.kinds if one.agent_labelled])
        labelled = begun.agent_labelled or 0
        share = f"{labelled:,} of {counted_kinds(begun.items)} ({labelled / begun.total:.0%})"
        names = ", ".join(shortened(name, RUN_CELLS) for name in runs)
        sentences.append(f"◆ {names or 'The agents'} labelled {share}.")
        if counts.compared:
            agreed = f"{(counts.agreed or 0) / counts.compared:.0%}"
            both = pluralize(counts.compared, "item")
            sentences.append(f"You agree with it on {agreed} (n = {both} that both labelled).")
    elif theirs.total:
        sentences.append("The agents have labelled nothing yet.")
    if counts.scored:
        sentences.append(f"◆ Judges scored {pluralize(counts.scored, 'response')}.")
    return sentences
