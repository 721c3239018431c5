"""The history of an item as text: who recorded what, and the lines that were cited, which can be followed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from screens.review.part import Link, PaneText
from screens.review.runs import run_in_words
from store.counted import counted
from store.evidence import TEXT_MOST, Citation
from store.kinds.protocol import QuestionSpec
from store.queries.expert_runs import ExpertRunSeen
from store.queries.item import RecordSeen

CITED_ROWS = 8
"""Lines of one citation that are shown; Enter goes to all of them."""


def history(
    records: Sequence[RecordSeen], question: QuestionSpec, empty: str, runs: Sequence[ExpertRunSeen] = ()
) -> PaneText:
    """Return who recorded what, oldest first, undone things included.

    Args:
        records: What was recorded of the item.
        question: The question whose labels have words.
        empty: What is said when nothing was.
        runs: The tests that experts ran on it.
    """
    lines: list[str] = []
    links: list[Link] = []
    every: list[RecordSeen | ExpertRunSeen] = [*records, *runs]
    for record in sorted(every, key=_place):
        if isinstance(record, ExpertRunSeen):
            lines.append(f"{local(record.execution.created_at)}  {run_in_words(record)}")
            continue
        value = f" {question.scale.word(record.value)}" if record.what == question.name else ""
        what = "label" if record.what == question.name else record.what.replace("_", " ")
        seconds = f" · {record.elapsed_ms / 1000:.1f} s" if record.elapsed_ms is not None else ""
        lines.append(f"{local(record.created_at)}  {record.rater}  {what}{value} · {record.origin}{seconds}")
        lines += [f"    reason: {record.reason}"] if record.reason else []
        # A comment of several lines takes several: links count them.
        lines += f"    {record.text}".split("\n") if record.text else []
        for citation in record.citations:
            first = len(lines) + 1
            lines.append(f"    cites {citation.place}")
            if record.origin not in ("undo", "redo"):
                lines += _quoted(citation)
            links.append(Link(first, len(lines), citation))
    return PaneText(
        "history",
        "History",
        "\n".join(lines),
        empty=empty,
        landmarks=tuple(link.first for link in links),
        links=tuple(links),
    )


def _place(record: RecordSeen | ExpertRunSeen) -> int:
    """Return the place of a record in time: keys are of one clock."""
    return (record.execution.id if isinstance(record, ExpertRunSeen) else record.id).int


def _quoted(citation: Citation) -> list[str]:
    """Return the cited lines with their numbers, the first of them where they are many."""
    cited = citation.text.split("\n")
    rows = [f"      {number:>4}  {text}" for number, text in enumerate(cited, start=citation.first)]
    left = citation.last - citation.first + 1 - min(len(rows), CITED_ROWS)
    rows = rows[:CITED_ROWS]
    if left:
        rows.append(f"            … {counted(left, 'line')} more")
    elif len(citation.text) >= TEXT_MOST:
        rows.append("            … the rest of the line is not kept here")
    return rows


def local(moment: datetime) -> str:
    """Return a moment as a person here reads it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
