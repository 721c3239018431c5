"""The screen part of the task kind `completion`: the file with its cursor, other files, completions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from screens.items.history import history
from screens.items.responses import context, named
from screens.items.views import ItemView, PaneText, QuestionPrompt, ReviewPart
from screens.widgets.text.differences import Differences, differences
from screens.widgets.text.overlay import Span
from store.formatting import pluralize
from store.kinds.completion import COMPLETION, GUIDELINE
from store.measures.completion import LANGUAGES, CompletionScores, score_completion
from store.policy.scope import Scope
from store.queries.item import ItemDetails, load_item
from store.queries.responses import ResponseView
from store.tables.record import QuestionTarget

HEAD = 3
"""Lines of each completion shown side by side in the comparison; its own pane has all of them."""

_NO_CONTEXT = "This task has no context from other files."
_SIGNS = "Lines: = same · ~ changed · + added."
_COVERED = "▒▒▒▒▒▒▒▒"
"""Stands for each line of a covered reference, so that lines keep their numbers and lengths are not shown."""

_PROMPT_COVER = "reference covered · {review.cover} shows it"
_PART_COVER = "Covered with the reference, which it may repeat; {review.cover} shows both."
_NO_COMPLETIONS = "No model has completed this task. Import predictions: workbench import WORKSPACE FILE"


def load(connection: Connection, scope: Scope, item_id: int) -> ItemView:
    """Read a completion task for review (see ReviewPart)."""
    return view(load_item(connection, scope, COMPLETION, item_id))


def view(entry: ItemDetails) -> ItemView:
    """Lay out a task in panes."""
    fields = entry.fields
    reference = fields["reference"]
    questions = tuple(
        QuestionPrompt(spec, QuestionTarget(entry.question_ids[spec.name])) for spec in COMPLETION.questions
    )
    compared = [
        Compared(one, differences(reference, one.text), _scores(entry, one)) for one in entry.responses
    ]
    return ItemView(
        item_id=entry.item_id,
        external_id=entry.external_id,
        kind=COMPLETION.name,
        prompt=reference,
        prompt_word="reference",
        prompt_cover=_PROMPT_COVER if reference else "",
        subject=_file(entry),
        subject_word="File",
        case=(
            context(entry.chunks, fields, _NO_CONTEXT),
            _covered(_comparison(reference, compared, hides_models=entry.hides_models)),
            *(_covered(_completion(one, fields["language"] or None)) for one in compared),
            _covered(history(entry, questions)),
            PaneText("guideline", "Guide", GUIDELINE),
        ),
        questions=questions,
        own=entry.own,
        blind=entry.blind,
        assignment_id=entry.assignment_id,
        phase=entry.phase,
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """A completion beside the reference; its scores are None where they are hidden or there are none."""

    response: ResponseView
    found: Differences
    scores: CompletionScores | None

    @property
    def scored(self) -> str:
        """Its scores in a few words; empty without any."""
        one = self.scores
        if one is None:
            return ""
        return f"{'exact' if one.em else 'not exact'} · ES {one.es} · {_identifiers(one)}"

    @property
    def scored_in_full(self) -> str:
        """The same with all three edit similarities, as a sentence; empty without any."""
        one = self.scores
        if one is None:
            return ""
        similar = f"ES {one.es} difflib, {one.es_levenshtein} Levenshtein, {one.es_rapidfuzz:.2f} RapidFuzz"
        return f"{'Exact' if one.em else 'Not exact'} · {similar} · {_identifiers(one)}."


def _identifiers(scores: CompletionScores) -> str:
    return f"identifiers {'exact' if scores.id_em else f'F1 {scores.id_f1:.2f}'}"


def _scores(entry: ItemDetails, response: ResponseView) -> CompletionScores | None:
    fields = entry.fields
    if entry.blind or fields["language"] not in LANGUAGES:
        return None
    return score_completion(fields["language"], fields["prompt"], fields["reference"], response.text)


def _covered(part: PaneText) -> PaneText:
    """Return a part that shows a sentence in place of its text while the reference is covered."""
    if not part.text:
        return part
    return replace(part, cover=PaneText(part.id, part.title, "", empty=_PART_COVER, heading=part.heading))


def _file(entry: ItemDetails) -> PaneText:
    """Return the file as it was, with a cover in which bars stand for the lines of the reference."""
    reference = entry.fields["reference"]
    shown = _file_with(entry, reference, "reference underlined" if reference else "")
    bars = re.sub(r"[^\r\n]+", _COVERED, reference)
    return replace(shown, cover=_file_with(entry, bars, "reference covered"))


def _file_with(entry: ItemDetails, reference: str, state: str) -> PaneText:
    """Return the file: the prompt up to the cursor, a text for the reference, and what comes after it."""
    fields = entry.fields
    prompt = fields["prompt"]
    cursor, end = len(prompt), len(prompt) + len(reference)
    first = prompt.count("\n") + 1
    last = first + reference.count("\n")
    return PaneText(
        "file",
        _heading(entry, first, state),
        prompt + reference + fields["right_context"],
        language=fields["language"] or None,
        kind="code",
        landmarks=(first,),
        part="code",
        spans=(Span(cursor, cursor, "cursor"), Span(cursor, end, "reference")),
        gutter={first: "▸"} | dict.fromkeys(range(first + 1, last + 1), "│"),
        start=first,
        compared=True,
    )


def _heading(entry: ItemDetails, line: int, state: str) -> str:
    fields = entry.fields
    return " · ".join(
        part
        for part in (
            fields["path"] or "file",
            f"▮ line {line:,}",
            state,
            fields["repository"],
        )
        if part
    )


def _comparison(reference: str, compared: list[Compared], *, hides_models: bool) -> PaneText:
    """Return the head of every completion below that of the reference, each line under what it is."""
    lines: list[str] = []
    spans: list[Span] = []
    gutter: dict[int, str] = {}
    place = 0

    def add(line: str) -> None:
        nonlocal place
        lines.append(line)
        place += len(line) + 1

    def heading(text: str) -> None:
        spans.append(Span(place, place + len(text), "heading"))
        add(text)

    if compared:
        heading(f"Reference · {pluralize(reference.count(chr(10)) + 1, 'line')}")
        for line in reference.split("\n")[:HEAD]:
            add(line)
    for one in compared:
        response, found = one.response, one.found
        add("")
        heading(named(response))
        add(f"({found.sentence})")
        if one.scored:
            add(one.scored)
        begun, start = place, 0
        shown = found.text.split("\n")[:HEAD] if found.text else []
        for number, line in enumerate(shown, start=1):
            gutter[len(lines) + 1] = found.gutter.get(number, " ")
            add(line)
            start += len(line) + 1
        spans += _within(found, begun, start)
        rest = found.text.count("\n") + 1 - HEAD
        if rest > 0:
            add(f"… {pluralize(rest, 'line')} more under [{response.letter}]")
    words = [f"{pluralize(len(compared), 'completion')} beside the reference"] if compared else []
    words += ["models hidden"] if words and hides_models else []
    return PaneText(
        "comparison",
        "Compare",
        "\n".join(lines),
        kind="log",
        empty=_NO_COMPLETIONS,
        spans=tuple(spans),
        gutter=gutter,
        heading=" · ".join(words),
        above=_SIGNS if gutter else "",
    )


def _within(found: Differences, begun: int, length: int) -> Iterator[Span]:
    """Yield the marks of the first characters of a completion, at their places in another text."""
    for span in found.spans:
        if span.start < length:
            yield Span(begun + span.start, begun + min(span.end, length - 1), span.style)


def _completion(one: Compared, language: str | None) -> PaneText:
    response, found = one.response, one.found
    said = f"{found.sentence[:1].upper()}{found.sentence[1:]}. {_SIGNS}" if found.text else ""
    if one.scored:
        said = said.replace(" from the reference", "")  # three lines have room for it without the scores
    return PaneText(
        f"response-{response.letter}",
        response.letter,
        found.text,
        language=language,
        kind="code",
        empty="An empty completion.",
        part="completion",
        spans=found.spans,
        gutter=found.gutter,
        heading=f"Completion {named(response)}",
        above=" ".join(filter(None, (one.scored_in_full, said))),
        compared=True,
    )


COMPLETION_PART = ReviewPart(
    kind=COMPLETION.name,
    load=load,
    undecided={
        "w": "example unclear",
        "h": "needs missing context",
        "i": "beyond my knowledge",
        "l": "other",
    },
)
