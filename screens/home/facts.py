"""The facts on Home, read in a thread."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.pipelines.registry import kinds_with_agents
from store.kinds.counting import joined
from store.kinds.spec import task_kinds
from store.policy.scope import FIRST_PHASES, REVIEW, Scope, Shows
from store.record.session import load_session, session_key

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from store.analysis.agreement import PairAgreement
    from store.queries.home import Activity, LabelTable
    from store.queries.progress import Progress
    from store.workspace.duckdb import Workspace

REVIEW_SESSION = "review"
TITLE_CELLS = 48
RUNS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Resume:
    """The item at which a rater goes on.

    Attributes:
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
        resume: Where to go on; None when nothing is left to judge and no session was kept.
        sample: Whether the workspace holds the sample data.
        runs: Names of the runs whose labels are counted; none in a blind review.
        corpus: How many queries and codes there are, where there are no items.
    """

    progress: Progress
    resume: Resume | None
    sample: bool
    runs: tuple[str, ...] = ()
    corpus: tuple[int, int] = (0, 0)


def read_facts(workspace: Workspace, scope: Scope, *, sample: bool) -> HomeFacts:
    """Read what Home shows.

    Args:
        sample: Whether the workspace holds the sample data.
    """
    from store.queries.corpus import corpus_size
    from store.queries.progress import progress
    from store.queries.runs import shown_by_kind

    with workspace.reading() as connection:
        counts = progress(connection, scope)
        runs = shown_by_kind(connection, scope) if scope.may(Shows.LISTS) else {}
        texts = (0, 0) if counts.total else corpus_size(connection)
    names = tuple(dict.fromkeys(run.name for run in runs.values()))
    return HomeFacts(counts, _resume(workspace, scope, counts.left), sample, names, texts)


def _resume(workspace: Workspace, scope: Scope, left: int) -> Resume | None:
    from screens.queue.query import QueueQuery
    from screens.review.next_item import resumed_item
    from store.queries.queue import queue_rows

    key = session_key(REVIEW_SESSION, scope)
    session = load_session(workspace, scope.rater_id, key) if scope.rater_id else {}
    query = QueueQuery.of(session.get("queue"), scope)
    item = resumed_item(workspace, scope, session, query)
    rows = queue_rows(workspace, scope, [item] if item is not None else [])
    left_off = item is not None and item == session.get("item")
    if not rows or not (left or left_off):
        return None
    return Resume(rows[0].external_id, rows[0].title, left_off, begun="item" in session)


def for_agents(counts: Progress) -> Progress:
    """Return the counts of the kinds on which agents can work."""
    return counts.only(kinds_with_agents())


def _asks_of_responses(kinds: Collection[str]) -> bool:
    known = (task_kinds().get(kind) for kind in kinds)
    return any(spec.of_responses for kind in known if kind is not None for spec in kind.questions)


def hidden_from_blind(counts: Progress) -> str:
    """Return what a blind review does not read, in words; empty where there is nothing to hide."""
    hidden = ["the agents' labels"] if for_agents(counts).total else []
    return joined([*hidden, *(["judges' scores"] if _asks_of_responses(counts.items) else [])])


# -- what is read after the counts ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run of the agents.

    Attributes:
        state: Its state, as on the Jobs screen.
    """

    id: UUID
    name: str
    state: str
    labelled: int
    total: int
    failed: int


@dataclass(frozen=True, slots=True)
class StudyLine:
    """A study with what is left in it: of all its raters, and of the one who looks."""

    name: str
    state: str
    total: int
    left: int
    yours: int


@dataclass(frozen=True, slots=True)
class HomeDetails:
    """The figures of Home beside the counts. Each part is empty until it is read.

    Attributes:
        activity: What the rater judged lately.
        labels: The rater's labels against the agents'.
        tokens: The tokens of the latest run, in parts of its last hour.
        raters: The agreement of every two raters.
        open_study: A study that is open, whose labels are left out of the agreement.
    """

    activity: Activity | None = None
    labels: LabelTable | None = None
    runs: tuple[RunLine, ...] = ()
    tokens: Sequence[float] = ()
    studies: tuple[StudyLine, ...] = ()
    raters: tuple[PairAgreement, ...] = ()
    open_study: str = ""


def read_details(workspace: Workspace, scope: Scope) -> Iterator[dict[str, Any]]:
    """Read what Home shows beside the counts, one part after the other.

    Yields:
        Parts of `HomeDetails` by their names, the quickest first.
    """
    from store.analysis.agreement import rater_agreement
    from store.analysis.labels import question_of_items
    from store.queries.home import activity, label_table

    with workspace.reading() as connection:
        if scope.rater_id:
            yield {"activity": activity(connection, scope)}
        if scope.may(Shows.LISTS):
            yield {"labels": label_table(connection, scope)}
            yield _runs(connection)
        studies = tuple(_studies(connection, scope))
        open_study = next((one.name for one in studies if one.state == "open"), "")
        yield {"studies": studies, "open_study": open_study}
        if scope.may(Shows.LISTS):
            # Labels of an open study are compared by its planned looks alone.
            phases = (REVIEW,) if open_study else FIRST_PHASES
            pairs = rater_agreement(connection, question_of_items(connection), phases)
            yield {"raters": tuple(pairs)}


def _runs(connection: Connection) -> dict[str, Any]:
    from store.queries.run_figures import listed_runs, run_figures
    from store.queries.run_pace import run_pace

    listed = listed_runs(connection)[:RUNS_SHOWN]
    lines = tuple(
        RunLine(
            one.run.id,
            one.run.name,
            one.run.state,
            one.labelled,
            one.run.total,
            run_figures(connection, one.run.id).failed,
        )
        for one in listed
    )
    pace = run_pace(connection, listed[0].run.id) if listed else None
    return {"runs": lines, "tokens": () if pace is None else pace.tokens}


def _studies(connection: Connection, scope: Scope) -> Iterator[StudyLine]:
    from store.studies.dashboard import list_dashboards

    for one in list_dashboards(connection, scope.rater):
        own = (rater.left for rater in one.raters if scope.rater and rater.member.rater == scope.rater)
        total = sum(rater.whole.total for rater in one.raters if not rater.member.withdrawn_at)
        yield StudyLine(one.study.name, one.study.state, total, one.left, sum(own))
