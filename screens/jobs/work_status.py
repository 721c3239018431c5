"""The status of a work that is no run of the agents, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from screens.jobs.job_line import STATE_GLYPHS, bar, progress_words
from screens.widgets.text.sanitize import one_line

if TYPE_CHECKING:
    from screens.jobs.entries import Entry
    from screens.jobs.run_status import Key


def work_status(entry: Entry, key: Key, width: int) -> list[str]:
    """Return the status of a work in a few lines.

    Args:
        key: The keys of the Jobs screen.
        width: Cells of the bar.
    """
    state, job, row = entry.state, entry.job, entry.work
    assert row is not None
    error = None if job is None else job.error
    said = row.said if job is None else job.said
    told = [said] if state == "done" else progress_words(state, None if job is None else job.progress)
    if job is None and state != "done":
        told = [f"{row.done:,} of {row.total:,}"] if row.total else []
        told += [said[:1].lower() + said[1:]] if state == "stopped" and said else []
    words = " · ".join([f"{STATE_GLYPHS[state]} {state}", *(one_line(one, 300) for one in told if one)])
    # With rate and time left it may be longer than a line: then it breaks between two of them.
    lines = [bar(*entry.share, width), *_broken(words, width)]
    if error is not None:
        lines += [f"! {one_line(error.title, 60)}: {one_line(error.message, 400)}"]
        lines += [one_line(error.hint, 300)] if error.hint else []
    elif state == "failed":
        lines += [f"! {one_line(said, 400)}"]
    if state == "paused":
        lines.append(f"Paused. {key('pause')} continues, {key('stop')} stops.")
    elif state == "stopping":
        lines.append("Stopping: what is under way ends first.")
    elif state in ("stopped", "failed"):
        lines.append(f"{key('pause')} goes on; what it kept is not done again.")
    elif state == "running":
        lines.append("You can go on judging.")
    return lines


def _broken(words: str, width: int) -> list[str]:
    if len(words) <= width:
        return [words]
    parts = words.split(" · ")
    return [" · ".join(parts[:-2]), " · ".join(parts[-2:])]
