"""The status of a run in a few lines: progress, spending, errors, and what its keys do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agents.jobs.errors import BudgetReached
from agents.pipelines.registry import done_word
from screens.jobs.job_line import STATE_GLYPHS, bar, progress_words
from screens.jobs.pace_lines import budget_end, rate_line, spend_line
from screens.jobs.run_tables import spent_of
from screens.widgets.text.sanitize import one_line
from store.record.ids import now

if TYPE_CHECKING:
    from agents.jobs.runner import Job
    from screens.jobs.jobs import JobStatus
    from store.queries.run_figures import ListedRun, RoleFigures
    from store.queries.run_pace import RunPace

Key = Callable[[str], str]
"""Returns the key of a command of the screen by its verb."""

_FORMS_SHOWN = 2
"""Models that are asked in a weaker form and named in the status; the log names all."""

NOT_READ = "The agents' results are safe; the runs are read again with the next event."


def read_error_status(failure: Exception) -> list[str]:
    """Return the message for runs that could not be read."""
    return ["! The runs could not be read.", one_line(str(failure), 300), NOT_READ]


def job_status(
    job: Job,
    listed: ListedRun,
    status: JobStatus,
    stages: Sequence[RoleFigures],
    pace: RunPace | None,
    *,
    key: Key,
    width: int,
) -> list[str]:
    """Return the status of a job's run.

    Args:
        job: The job, at work or ended in this session.
        listed: Its run.
        status: The state that its events reported.
        stages: The figures of the run's roles.
        pace: The run's pace; None before it is read, or without one.
        key: The screen's keys.
        width: Cells of the bar.
    """
    labelled = listed.labelled if job.progress is None else max(job.progress.labelled, listed.labelled)
    total = listed.run.total
    done = f"{labelled:,} of {total:,} {done_word(listed.run.kind)}"
    words = [f"{STATE_GLYPHS[job.state]} {job.state}", done]
    # The progress of the job itself is in the line at the foot of every screen.
    words += progress_words(job.state, job.progress, pace=False)[1:]
    if job.state == "running" and status.waits_until is not None and status.waits_until > now():
        words.insert(1, f"waits for the service until {status.waits_until.astimezone():%H:%M:%S}")
    lines = [bar(labelled, total, width), " · ".join(words)]
    lines += [one_line(text, width) for text in status.weaker_forms[:_FORMS_SHOWN]]
    spent, end = spent_of(stages) if job.progress is None else job.progress.spent, ""
    if job.state == "running" and job.progress is not None:
        end = budget_end(spent, pace, job.budget, job.progress, now())
    error = job.error or status.paused_for
    # What went wrong needs the room more than the rate before it.
    lines.append(rate_line(pace, job.progress, width) if error is None else "")
    lines.append(spend_line(spent, pace, width, budget=job.budget, labelled=labelled, end=end))
    lines = list(filter(None, lines))
    if error is not None:
        lines += [f"! {one_line(error.title, 60)}: {one_line(error.message, 400)}"]
        # The hint is for the command line; the screen itself offers more budget.
        lines += [one_line(error.hint, 300)] if error.hint and not isinstance(error, BudgetReached) else []
    if job.state == "paused":
        on = "raises the budget and continues" if job.used_up is not None else "continues"
        lines.append(
            f"Paused: requests under way still end and are kept. {key('pause')} {on}, {key('stop')} stops."
        )
    elif job.state == "stopping":
        lines.append("Stopping: requests under way may end; finished work is kept.")
    elif job.state in ("stopped", "failed"):
        lines.append(f"Finished work is kept. {key('start')} continues the run.")
    elif job.state == "done" and job.progress is not None and job.progress.failed:
        lines.append(f"{key('retry')} runs the failed items again; {key('items')} lists them.")
    return lines


def past_run_status(
    listed: ListedRun, stages: Sequence[RoleFigures], pace: RunPace | None, width: int
) -> list[str]:
    """Return the status of a run of an earlier session."""
    run = listed.run
    done = f"{listed.labelled:,} of {run.total:,} {done_word(run.kind)}"
    words = [f"{STATE_GLYPHS[run.state]} {run.state}", done]
    if run.ended_at is not None:
        words.append(f"ended {run.ended_at.astimezone():%Y-%m-%d %H:%M}")
    paces = [rate_line(pace, None, width), spend_line(spent_of(stages), pace, width)]
    return [bar(listed.labelled, run.total, width), " · ".join(words), *filter(None, paces)]


def no_runs_status(job: Job | None, problem: Sequence[str], key: Key, *, has_items: bool = True) -> list[str]:
    """Return the message for a workspace without runs.

    Args:
        job: The job of this session; None without one.
        problem: Why none can be started; empty when one can.
        key: Names the key of a command.
        has_items: Whether there are items on which agents can work.
    """
    if job is not None and job.state in ("starting", "running"):
        return ["… starting"]
    if job is not None and job.error is not None:
        error = job.error
        return [f"! {one_line(error.title, 60)}", one_line(error.message, 400), one_line(error.hint, 300)]
    can = f"{key('start')} lets them label items while you go on judging."
    # Whoever has nothing for agents needs no model either.
    why = [*(problem or [can])] if has_items else ["No items here that agents can label."]
    search = f"{key('candidates')} searches candidate pairs of queries and codes."
    return ["No job has run in this workspace yet.", "", *why, search]
