"""The history of an item as text: who recorded what, and the lines that were cited, which can be followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from screens.items.runs import describe_run
from screens.items.views import Link, PaneText, QuestionPrompt
from store.formatting import pluralize
from store.kinds.spec import part_title, question_named
from store.queries.expert_runs import ExpertRunView
from store.queries.item import ItemDetails, RecordView
from store.record.evidence import TEXT_MOST, Citation, lines_in_words
from store.record.revisions import REVISION

_EMPTY = "Nobody has recorded anything here yet."
_EMPTY_BLIND = "You have recorded nothing here yet."

NO_WORDS: Mapping[str, str] = MappingProxyType({})

CITED_ROWS = 8
"""Lines of one citation that are shown; Enter goes to all of them."""


def history(
    item: ItemDetails,
    questions: Sequence[QuestionPrompt],
    words: Mapping[str, str] = NO_WORDS,
    runs: Sequence[ExpertRunView] = (),
) -> PaneText:
    """Return who recorded what, oldest first, undone things included; `●` leads what counts now.

    Args:
        words: What the screen calls parts of the item whose lines are cited, where it has another word.
        runs: The tests that experts ran on it.
    """
    lines: list[str] = []
    links: list[Link] = []
    every: list[RecordView | ExpertRunView] = [*item.history, *runs]
    for record in sorted(every, key=_place):
        if isinstance(record, ExpertRunView):
            lines.append(f"  {local(record.execution.created_at)}  {describe_run(record)}")
            continue
        seconds = f" · {record.elapsed_ms / 1000:.1f} s" if record.elapsed_ms is not None else ""
        what = f"{_what(record, questions)} · {record.origin}{seconds}"
        lines.append(f"{'●' if record.holds else ' '} {local(record.created_at)}  {record.rater}  {what}")
        lines += [f"    reason: {record.reason}"] if record.reason else []
        # A comment of several lines takes several: links count them. A revision has a pane of its own.
        is_revision = record.what.startswith(REVISION)
        lines += f"    {record.text}".split("\n") if record.text and not is_revision else []
        for citation in record.citations:
            first = len(lines) + 1
            place = lines_in_words(citation.first, citation.last)
            lines.append(f"    cites {words.get(citation.part, citation.part)} {place}")
            if record.origin not in ("undo", "redo"):
                lines += _quoted(citation)
            links.append(Link(first, len(lines), citation))
    return PaneText(
        "history",
        "History",
        "\n".join(lines),
        empty=_EMPTY_BLIND if item.blind else _EMPTY,
        heading="History · ● counts now" if lines else "",
        landmarks=tuple(link.first for link in links),
        links=tuple(links),
    )


def _what(record: RecordView, questions: Sequence[QuestionPrompt]) -> str:
    """Return what was recorded: "label 1 match", where several things are asked "accuracy 8"; "flag"."""
    asked = next((question for question in questions if question.target == record.target), None)
    if asked is not None:
        title = asked.title if len(questions) > 1 else "label"
        return f"{title} {'none' if record.value is None else asked.word(record.value, record.reason)}"
    if (is_none := record.what.startswith(f"no {REVISION}")) or record.what.startswith(REVISION):
        title = part_title(record.what.removeprefix("no ").removeprefix(REVISION))
        return f"took back the revision of the {title}" if is_none else f"revised the {title}"
    # A question no longer asked, such as one from before there were responses, keeps its words; the response
    # is left out, since the names of models may have to stay hidden.
    spec = question_named(record.what)
    return f"{spec.title} {spec.scale.word(record.value)}" if spec else record.what.replace("_", " ")


def _place(record: RecordView | ExpertRunView) -> tuple[datetime, int]:
    """Return the place of a record in time, of several at one time in the order of their keys."""
    made = record.execution if isinstance(record, ExpertRunView) else record
    return made.created_at, made.id.int


def _quoted(citation: Citation) -> list[str]:
    """Return the cited lines with their numbers, the first of them where they are many."""
    cited = citation.text.split("\n")
    rows = [f"      {number:>4}  {text}" for number, text in enumerate(cited, start=citation.first)]
    left = citation.last - citation.first + 1 - min(len(rows), CITED_ROWS)
    rows = rows[:CITED_ROWS]
    if left:
        rows.append(f"            … {pluralize(left, 'line')} more")
    elif len(citation.text) >= TEXT_MOST:
        rows.append("            … the rest of the line is not kept here")
    return rows


def local(moment: datetime) -> str:
    """Return a moment as a person here reads it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
