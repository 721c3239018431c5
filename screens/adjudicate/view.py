"""A disputed item as an adjudicator sees it: what is judged on the left, why raters differ on the right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from screens.items.pair import run_panes
from screens.items.runs import results
from screens.items.views import ItemView, PaneText, TestRunView
from screens.widgets.text.overlay import Span
from screens.widgets.text.sanitize import one_line
from store.formatting import pluralize
from store.record.evidence import Citation
from store.studies.disputes import Dispute, DisputedLabel, RatersTest, goes_against

DIFFER = "differ"
"""The pane that says why raters differ."""

_CITED_CELLS = 60
"""Cells of what a cited line says."""
_CODES = 2
"""Raters whose codes are written beside a line; of more the first one, and how many others."""


def with_tests(view: ItemView, dispute: Dispute, *, names: bool) -> ItemView:
    """Return an item with the raters' own tests beside what is shown of the agents'.

    Args:
        view: The item; tests of raters that are on it already are replaced.
        names: Whether raters have their own names.
    """
    if not dispute.tests:
        return view
    theirs = tuple(_run_of(one, names=names) for one in dispute.tests)
    others = {None, *(one.execution for one in theirs)}
    runs = (*(one for one in view.runs if one.execution not in others), *theirs)
    at = next((place for place, one in enumerate(runs) if one.execution == view.execution), 0)
    if not any(part.id == "test" for part in view.case):
        view = replace(view, tests="own", case=(*runs[0].panes, *view.case))
    return replace(view, runs=runs, run=at).with_run(at)


def _run_of(test: RatersTest, *, names: bool) -> TestRunView:
    whose = f"{one_line(test.name, 24) if names else test.rater}'s test"
    heading = " · ".join([f"{whose}, run again by you" if test.again else whose, *results(test.execution)])
    panes = tuple(replace(pane, heading=heading) for pane in run_panes(test.execution))
    return TestRunView(test.execution.id, panes)


def of_disputes(view: ItemView, disputes: Sequence[Dispute]) -> ItemView:
    """Return an item that is asked only what raters disagree about."""
    disputed = {one.target for one in disputes}
    questions = tuple(one for one in view.questions if one.target in disputed)
    # The history names raters, and what they said is told under their pseudonyms.
    case = tuple(part for part in view.case if part.id != "history")
    return replace(view, questions=questions, case=case, at=0)


def laid_out(view: ItemView, dispute: Dispute, adjudicator: str, *, names: bool) -> ItemView:
    """Return an item with the judged text on the left, and what raters said of it on the right.

    Args:
        view: The item, asked the question of the dispute.
        adjudicator: Whose rulings are not listed, since they are shown above.
        names: Whether raters have their own names.
    """
    plain = view.with_swapped("")
    case = tuple(_marked(part, dispute) for part in plain.case if part.id != DIFFER)
    plain = replace(
        plain,
        subject=_marked(plain.subject, dispute),
        case=(_why_they_differ(dispute, adjudicator, names=names), *case),
    )
    return plain.with_swapped(view.current.pane)


def _marked(part: PaneText, dispute: Dispute) -> PaneText:
    """Return a part with the codes of the raters beside the lines that they cite."""
    by_line: dict[int, dict[str, None]] = defaultdict(dict)
    for label in dispute.labels:
        for one in label.citations:
            if one.part == part.part and one.fits(part.text):
                for number in range(one.first, min(one.last, part.text.count("\n") + 1) + 1):
                    by_line[number][label.rater] = None
    # Those of another question, which was asked before, are taken away; glyphs of the part itself stay.
    gutter = {number: glyph[0] for number, glyph in part.gutter.items() if glyph[0] != " "}
    gutter |= {number: gutter.get(number, " ") + _codes([*raters]) for number, raters in by_line.items()}
    start = min(by_line) if by_line and part.start is None else part.start
    return replace(part, cited=frozenset(), recorded=True, gutter=gutter, start=start)


def _codes(raters: Sequence[str]) -> str:
    """Return the codes of raters in few cells: "R1", "R1R3", "R1+2"."""
    return "".join(raters) if len(raters) <= _CODES else f"{raters[0]}+{len(raters) - 1}"


def name_of(label: DisputedLabel, *, names: bool) -> str:
    """Return a rater's own name or pseudonym."""
    return one_line(label.name, 24) if names else label.rater


def _why_they_differ(dispute: Dispute, adjudicator: str, *, names: bool) -> PaneText:
    scale, lines, spans, place = dispute.spec.scale, [], [], 0

    def add(texts: Iterable[str], *, heading: bool = False) -> None:
        nonlocal place
        for text in texts:
            if heading:
                spans.append(Span(place, place + len(text), "heading"))
            lines.append(text)
            place += len(text) + 1

    groups: dict[float, list[DisputedLabel]] = defaultdict(list)
    for label in dispute.labels:
        groups[label.value].append(label)
    # Scores in their order, other values the most frequent first.
    order = sorted(groups, key=lambda value: (0 if scale.level == "interval" else -len(groups[value]), value))
    for value in order:
        labels = groups[value]
        add([""] if lines else [])
        add(
            [f"{scale.word(value)} · {len(labels)} of {pluralize(len(dispute.labels), 'rater')}"],
            heading=True,
        )
        for label in labels:
            add(_said(label, dispute, names=names))
    if dispute.sent_back is not None:
        waiting = [one.rater for one in dispute.labels if one.again is None]
        add([""])
        add(["Sent back to the raters"], heading=True)
        add(_indented(dispute.sent_back))
        add([f"    not judged again yet: {', '.join(waiting)}"] if waiting else [])
    if not dispute.hidden:
        add([""])
        add(["◆ the agents"], heading=True)
        add(
            line
            for one in dispute.agents
            for line in (f"{scale.word(one.value)} · {one.name}", *_indented(one.reason))
        )
        add([] if dispute.agents else ["no label"])
    others = [one for one in dispute.rulings if one.adjudicator != adjudicator]
    if others:
        add([""])
        add(["Other rulings"], heading=True)
        add(
            line
            for one in others
            for line in (f"{one.adjudicator}: {scale.word(one.value)}", *_indented(one.comment))
        )
    return PaneText(
        DIFFER, "Why they differ", "\n".join(lines), spans=tuple(spans), heading="Why they differ"
    )


def _said(label: DisputedLabel, dispute: Dispute, *, names: bool) -> Iterator[str]:
    """Yield what a rater said: how, how long, why."""
    seen = "agents' label shown" if label.revealed else "blind" if label.blind else ""
    words = [
        f"{name_of(label, names=True)} ({label.rater})" if names else label.rater,
        "" if label.seconds is None else f"{label.seconds:.1f} s",
        seen,
        "" if label.later is None else f"after the reveal {dispute.spec.scale.word(label.later)}",
        "" if label.again is None else f"asked again {dispute.spec.scale.word(label.again)}",
    ]
    yield " · ".join(word for word in words if word)
    yield from _indented(label.comment)
    if label.again_comment:
        yield "    asked again:"
        yield from _indented(label.again_comment)
    if label.reason:
        yield f"    reason: {label.reason}"
    for one in label.citations:
        yield f"    cites {one.place}{_quoted(one)}"


def _quoted(citation: Citation) -> str:
    text = one_line(citation.text.strip(), _CITED_CELLS)
    return f": {text}" if text else ""


def _indented(text: str) -> Iterator[str]:
    return (f"    {line}" for line in text.split("\n")) if text else iter(())


def labels_in_a_row(dispute: Dispute, *, names: bool) -> str:
    """Return the labels in a row: `R1 0 ●  R2 0 ●  R3 1 ○`; a ring: a ruling for it needs a reason."""
    scale, values = dispute.spec.scale, dispute.values
    words = [
        f"{name_of(one, names=names)} {dispute.sign(one.value)}"
        f"{'' if one.again is None else f'→{dispute.sign(one.again)}'} "
        f"{'○' if goes_against(scale, values, one.value) else '●'}"
        for one in dispute.labels
    ]
    if not dispute.hidden:
        words.append(f"◆ {', '.join(dispute.sign(one.value) for one in dispute.agents) or '–'}")
    return "   ".join(words)
