"""The screen part of the task kind `comparison`: a prompt, and two candidates side by side without names."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from screens.items.history import history
from screens.items.judges import describe_judges, judges_claim
from screens.items.views import ItemView, PaneText, QuestionPrompt, ReviewPart
from screens.widgets.text.differences import differences
from screens.widgets.text.document import TextKind
from store.kinds.comparison import (
    AS_LISTED,
    COMPARISON,
    FIRST_LEFT,
    GUIDELINE,
    PREFERENCE,
    SAME,
    SWAPPED,
    canonical_scale,
    drawn_order,
    shown_scale,
)
from store.policy.rows import assignment_of
from store.policy.scope import Scope
from store.queries.agent_case import load_case
from store.queries.item import ItemDetails, load_item
from store.queries.judged_comparisons import imported_verdicts
from store.queries.shown_texts import protocol_of
from store.tables.record import QuestionTarget

RIGHT = "right"
"""The pane of the candidate on the right; the one on the left is the subject."""

_PROMPTS = {"codes": "query", "answers": "question", "completions": "prompt"}
"""The word for the prompt, by what the candidates are."""

_KINDS: dict[str, TextKind] = {"codes": "code", "answers": "markdown", "completions": "code"}


def load(connection: Connection, scope: Scope, item_id: int) -> ItemView:
    """Read a comparison for review (see ReviewPart)."""
    entry = load_item(connection, scope, COMPARISON, item_id)
    order, scale, named = _protocol(connection, scope, entry)
    case = None if entry.blind else load_case(connection, scope, item_id)
    imported = [] if entry.blind else imported_verdicts(connection, item_id)
    words, spoken = shown_scale(order, scale), shown_scale(order)
    sides = ("left", "right") if FIRST_LEFT[order] else ("right", "left")
    if scope.adjudicates:
        # Raters may have seen other sides, so labels are those of the first candidate.
        words, spoken = canonical_scale(scale), canonical_scale()
        sides = ("first", "second")
    question = QuestionPrompt(
        replace(PREFERENCE, scale=words),
        QuestionTarget(entry.question_ids[PREFERENCE.name]),
        claim=judges_claim(case, imported, order, spoken, words.allowed, sides=sides),
        pane="" if scope.adjudicates else RIGHT,
        both_bad=SAME in words.allowed,
    )
    judges = PaneText("steps", "Judge", describe_judges(case, imported, sides))
    others = () if case is None else tuple(one.run for one in case.others)
    found = view(entry, question, order, named=named, sides=not scope.adjudicates)
    if not judges.text:
        return replace(found, others=others)
    case_panes = [*found.case]
    case_panes.insert(len(case_panes) - 2, judges)
    return replace(found, case=tuple(case_panes), others=others)


def _protocol(connection: Connection, scope: Scope, entry: ItemDetails) -> tuple[str, str, bool]:
    """Return the order of a rater's sides, the scale of the study, and whether names are shown.

    Names are shown of what is revealed, once the rater has answered.
    """
    protocol = protocol_of(connection, scope)
    scale = "" if protocol is None else protocol.scale
    if scope.adjudicates:
        return AS_LISTED, scale, False
    assigned = assignment_of(connection, scope, entry.item_id)
    if assigned is None:
        return drawn_order("" if scope.rater is None else scope.rater.name, entry.external_id), scale, False
    order = SWAPPED if assigned.swapped else AS_LISTED
    named = not entry.blind and not entry.hides_models and bool(entry.own.labels)
    return order, scale, named


def view(
    entry: ItemDetails, question: QuestionPrompt, order: str, *, named: bool = False, sides: bool = True
) -> ItemView:
    """Lay out a comparison in panes.

    Args:
        order: The word for its order.
        named: Whether the names of the sets are shown.
        sides: Whether the candidates stand side by side; otherwise the second has a tab.
    """
    left, right = ("first", "second") if FIRST_LEFT[order] else ("second", "first")
    if not sides:
        subject, other = (_candidate(entry, part, part.capitalize(), named=named) for part in (left, right))
    else:
        subject, other = (
            replace(_candidate(entry, part, word.capitalize(), named=named), side=word)
            for part, word in ((left, "left"), (right, RIGHT))
        )
        subject, other = _compared(subject, other), _compared(other, subject)
    reference = PaneText(
        "reference",
        "Reference",
        entry.fields["reference"],
        kind=_kind(entry),
        part="reference",
        compared=True,
    )
    return ItemView(
        item_id=entry.item_id,
        external_id=entry.external_id,
        kind=COMPARISON.name,
        prompt=entry.fields["prompt"],
        # A completion goes on where its prompt ends.
        prompt_start=entry.fields["prompt"].count("\n") + 1
        if entry.fields["about"] == "completions"
        else None,
        prompt_word=_PROMPTS.get(entry.fields["about"], "prompt"),
        subject=subject,
        subject_word=subject.title,
        case=(
            replace(other, id=RIGHT),
            *([reference] if reference.text else []),
            PaneText("guideline", "Guide", GUIDELINE),
            history(entry, (question,), {left: "left", right: "right"} if sides else {}),
        ),
        questions=(question,),
        own=entry.own,
        blind=entry.blind,
        assignment_id=entry.assignment_id,
        phase=entry.phase,
        shown_as=" ".join((*((order,) if sides else ()), *(("named",) if named else ()), *entry.changes)),
        changes=entry.changes,
    )


def _kind(entry: ItemDetails) -> TextKind:
    return _KINDS.get(entry.fields["about"], "reply")


def _candidate(entry: ItemDetails, part: str, title: str, *, named: bool) -> PaneText:
    name = entry.fields[f"{part}_name"] if named else ""
    return PaneText(
        "candidate",
        title,
        entry.fields[part],
        language=(entry.fields["language"] or None) if _kind(entry) == "code" else None,
        kind=_kind(entry),
        empty="This candidate is empty.",
        part="first" if part == "first" else "second",
        heading=f"{title} · {name}" if name else "",
        compared=True,
    )


def _compared(ours: PaneText, theirs: PaneText) -> PaneText:
    """Return a candidate with the marks of what the other one does not have."""
    found = differences(theirs.text, ours.text)
    # What is left out here is marked on the other side.
    return replace(
        ours, differing=(tuple(one for one in found.spans if one.style == "changed"), found.gutter)
    )


COMPARISON_PART = ReviewPart(
    kind=COMPARISON.name,
    load=load,
    undecided={
        "w": "prompt unclear",
        "h": "needs missing context",
        "i": "beyond my knowledge",
        "l": "other",
    },
)
