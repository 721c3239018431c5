"""The status of a search for candidate pairs in a few lines, and its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from screens.jobs.job_line import STATE_GLYPHS, bar, search_words, share_done
from screens.jobs.jobs import LogLine
from screens.widgets.text.sanitize import one_line

if TYPE_CHECKING:
    from agents.retrieval.candidate_search import CandidateSearch
    from screens.jobs.run_status import Key


def search_status(search: CandidateSearch, key: Key, width: int) -> list[str]:
    """Return the status of a search in a few lines.

    Args:
        search: The search.
        key: The keys of the Jobs screen.
        width: Cells of the bar.
    """
    state, error, request = search.state, search.error, search.request
    words = " · ".join([f"{STATE_GLYPHS[state]} {state}", *search_words(search)])
    # With rate and time left it may be longer than a line: then it breaks between two of them.
    lines = [bar(*share_done(search), width), *_broken(words, width)]
    if error is not None:
        lines += [f"! {one_line(error.title, 60)}: {one_line(error.message, 400)}"]
        lines += [one_line(error.hint, 300)] if error.hint else []
    if state == "paused":
        lines.append(f"Paused. {key('pause')} continues, {key('stop')} stops.")
    elif state == "stopping":
        lines.append("Stopping: what is under way ends first.")
    elif state in ("stopped", "failed"):
        lines.append(f"No pair was added. With the same settings {key('candidates')} goes on.")
    elif state == "done" and search.added is not None and search.added.source is not None:
        lines.append(f"Source: {one_line(search.added.source, 100)}. {key('home.queue')} on Home lists them.")
    elif state == "running":
        several = f", combined by {request.combine}" if len(request.models) > 1 else ""
        lines.append(f"The best {request.top:,} codes of each query{several}. You can go on judging.")
    return lines


def _broken(words: str, width: int) -> list[str]:
    if len(words) <= width:
        return [words]
    parts = words.split(" · ")
    return [" · ".join(parts[:-2]), " · ".join(parts[-2:])]


def search_log(search: CandidateSearch) -> list[LogLine]:
    """Return the lines of its log."""
    return [LogLine(line.level, line.text) for line in search.log]
