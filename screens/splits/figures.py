"""The figures of a split as lines: its parts, what changed since, what its parts share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.content import Content

from screens.jobs.job_line import drawn_bar
from screens.studies.dashboard import joined
from screens.widgets.text.sanitize import one_line
from store.analysis.labels import named_question
from store.formatting import coefficient, pluralize
from store.splits.grouping import COUNTED, DISJOINT_WORDS
from store.splits.leakage import PROMISED, Leak
from store.splits.splits import PartFigures, SplitChanges, SplitDetails
from store.studies.dashboard_text import moment

PART_CELLS = 11
MOST_BAR_CELLS = 24
MOST_LABELS = 12
"""Different labels that have a bar each; of more, their mean is named."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with the items behind it.

    Attributes:
        lines: Its lines; the cursor goes before the first one.
        part: The part that the items are; None where they are named.
        items: The items by their ids in their files.
    """

    lines: tuple[Content, ...]
    part: str | None = None
    items: tuple[str, ...] = ()


def facts(split: SplitDetails, cells: int) -> list[Content]:
    """Return how a split was made, as lines of so many cells."""
    plan, report = split.plan, split.report
    true = report.truth
    whose = true.against if true.panel == (true.against,) else f"{true.against} of {', '.join(true.panel)}"
    words = [f"{pluralize(true.units, 'true label')} of {plan.question}", one_line(whose, 60)]
    words += [f"study {one_line(plan.study, 40)}"] if plan.study else []
    words += [f"{true.undecided:,} undecided, in no part"] if true.undecided else []
    words += [f"{true.single:,} by one rater"] if true.single else []
    words.append(f"parts {DISJOINT_WORDS[plan.disjoint]}")
    if report.groups:
        words.append(f"{pluralize(report.groups, 'group')}, the largest {100 * report.largest:.1f} %")
    if report.left_out:
        words.append(f"{pluralize(report.left_out, 'item')} left out between parts")
    words.append(f"seed {plan.seed}{', stratified by label' if plan.stratified else ''}")
    words.append(f"made {moment(split.created_at)}")
    return [Content(f"  {line}") for line in joined(words, cells - 2)]


def figures(split: SplitDetails, changes: SplitChanges | None, cells: int) -> list[Content | Figure]:
    """Return the figures of a split, between titles.

    Args:
        changes: What changed since; None where nobody asked.
    """
    return [
        *_parts(split, cells),
        *([] if changes is None else _changes(changes, cells)),
        *_shared(split, cells),
    ]


# -- parts --------------------------------------------------------------------------------------------


def _parts(split: SplitDetails, cells: int) -> Iterator[Content | Figure]:
    # Beside the bars: the cursor, the name, two shares, three numbers.
    room = max(4, min((cells - 2 - PART_CELLS - 2 * 10 - 8 - 8 - 7) // 2, MOST_BAR_CELLS))
    yield Content("")
    shares = f"{'wanted':<{room + 10}}{'achieved':<{room + 10}}"
    yield Content.styled(f"  {'part':<{PART_CELLS}}{shares}{'queries':>8}{'items':>8}{'alpha':>7}", "bold")
    for part in split.report.parts:
        drawn = [
            Content.assemble(drawn_bar(round(1000 * share), 1000, room), f" {100 * share:5.1f} %  ")
            for share in (part.share, part.achieved)
        ]
        alpha = coefficient(part.agreement["alpha"])
        name = f"{one_line(part.part, PART_CELLS - 1):<{PART_CELLS}}"
        numbers = f"{part.queries:>8,}{part.items:>8,}{alpha:>7}"
        yield Figure((Content.assemble(name, *drawn, numbers), *_balance(split, part, cells)), part=part.part)
    report = split.report
    whom = "the panel" if len(report.truth.panel) > 1 else "people"
    of_all = (
        f", undecided items too; {coefficient(report.agreement['alpha'])} in all" if report.agreement else ""
    )
    what = f"wanted, achieved: shares of the {COUNTED[split.plan.disjoint]}"
    for line in joined([what, f"Krippendorff's alpha of {whom}{of_all}"], cells - 2):
        yield Content.styled(f"  {line}", "$foreground-muted")


def _balance(split: SplitDetails, part: PartFigures, cells: int) -> list[Content]:
    """Return how many items have each label, with a bar each."""
    spec = named_question(split.plan.question).spec
    counts = {float(value): count for value, count in part.labels.items()}
    total = sum(counts.values())
    values = {known.value for known in spec.scale.values} if len(spec.scale.values) <= 5 else set()
    values |= counts.keys()
    if len(values) > MOST_LABELS:
        mean = sum(value * count for value, count in counts.items()) / total
        return [Content(f"    {len(counts):,} different labels, {mean:.2f} in the mean")]
    words = {value: spec.scale.word(value) for value in sorted(values, reverse=True)}
    # As wide in each part, so that bars of a label stand below each other.
    of_word = max(map(len, words.values()))
    of_count = len(f"{max(count for each in split.report.parts for count in each.labels.values()):,}")
    bars = [
        Content.assemble(
            f"{word:<{of_word}} ",
            drawn_bar(counts.get(value, 0), total, min(MOST_BAR_CELLS, cells // 8)),
            f" {counts.get(value, 0):>{of_count},}",
        )
        for value, word in words.items()
    ]
    lines: list[Content] = []
    for bar in bars:
        if lines and lines[-1].cell_length + 3 + bar.cell_length <= cells:
            lines[-1] = Content.assemble(lines[-1], "   ", bar)
        else:
            lines.append(Content.assemble("    ", bar))
    return lines


# -- what changed -------------------------------------------------------------------------------------


def _changes(changes: SplitChanges, cells: int) -> Iterator[Content | Figure]:
    yield Content("")
    yield Content.styled("  Changed since", "bold")
    if not changes:
        yield Content("  Nothing: the true labels are the same.")
    words = [f"{item} {then:g} → {today:g}" for item, then, today in changes.changed]
    for names, sentence, shown in (
        (
            tuple(item for item, _, _ in changes.changed),
            f"{pluralize(len(changes.changed), 'label')} changed",
            words,
        ),
        (changes.gone, f"{pluralize(len(changes.gone), 'item')} without a true label now", changes.gone),
        (changes.new, f"{pluralize(len(changes.new), 'item')} labelled since, in no part", changes.new),
    ):
        if names:
            # More than fit in a line are not joined.
            listed = one_line(", ".join(shown[:100]), max(cells - 4 - len(sentence), 1))
            yield Figure((Content(f"{sentence}: {listed}"),), items=tuple(dict.fromkeys(names)))


# -- what parts share ---------------------------------------------------------------------------------


def _shared(split: SplitDetails, cells: int) -> Iterator[Content | Figure]:
    report, promised = split.report, PROMISED[split.plan.disjoint]
    yield Content("")
    if not report.leakage:
        yield Content("  No leak found: no query, near-duplicate, code or repository in two parts.")
        return
    yield Content.styled("  What parts share", "bold")
    for sort in sorted(report.leakage, key=lambda sort: sort not in promised):
        for one in report.leakage[sort]:
            found = [leak for leak in report.leaks if (leak.sort, leak.parts) == (sort, one.parts)]
            mark, verdict = ("!", "leak") if sort in promised else ("·", "not kept apart")
            kept = f"{pluralize(len(found), 'example')} kept" if len(found) < one.number else ""
            words = f"{mark} {verdict:<16}{sort:<16}{one.number:>7,}  {_between(one.parts)}  {kept}"
            items = tuple(dict.fromkeys(item for leak in found for item in leak.items))
            yield Figure((Content(one_line(words, cells - 2)),), items=items)
    yield Content("")
    yield Content.styled("  One by one", "bold")
    yield from (
        _leak(leak, cells) for leak in sorted(report.leaks, key=lambda leak: leak.sort not in promised)
    )


def _between(parts: tuple[str, str]) -> str:
    return " and ".join(one_line(part, PART_CELLS - 1) for part in parts)


def _leak(leak: Leak, cells: int) -> Figure:
    """Return one thing that two parts share; of codes only the items are known."""
    texts: Sequence[str] = leak.items if leak.sort == "same code" else tuple(dict.fromkeys(leak.texts))
    head = f"{_between(leak.parts)}  {leak.sort} {leak.similarity:.2f}  "
    each = (cells - 2 - len(head) - 3 * (len(texts) - 1)) // len(texts)
    shown = " / ".join(one_line(text, each) for text in texts)
    return Figure((Content(f"{head}{shown}"),), items=tuple(dict.fromkeys(leak.items)))
