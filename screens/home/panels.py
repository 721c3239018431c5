"""The panels of Home as lines: yours, next, you and the agents, runs, raters, studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from screens.home.facts import HomeFacts, for_agents, hidden_from_blind
from screens.home.panel import Line, Piece, plain
from screens.jobs.job_line import STATE_GLYPHS, drawn_bar
from screens.widgets.text.sanitize import one_line, shortened
from store.formatting import (
    coefficient,
    compact,
    dollars,
    format_duration,
    pluralize,
    progress_bar,
    sparkline,
)
from store.kinds.counting import counted_kinds, unknown_kinds_note
from store.kinds.spec import task_kinds
from store.queries.rows import QueueFilter, label_words

if TYPE_CHECKING:
    from uuid import UUID

    from screens.home.facts import HomeDetails, RunLine
    from store.analysis.agreement import PairAgreement
    from store.queries.home import LabelTable
    from store.queries.progress import Progress

NAME_CELLS = 20
"""Cells of the name of a kind."""
MOST_BAR_CELLS = 24
SOURCES_NAMED = 2
PAIRS_SHOWN = 6
STUDIES_SHOWN = 4
MOST_VALUES = 3
"""Different labels of which a table is drawn; of more the share that is equal says enough."""


def _figure(text: str | Content, key: str, opens: QueueFilter | str | Callable[[], None]) -> Piece:
    return Piece(text if isinstance(text, Content) else Content(text), opens, key)


def _fitting(pieces: Sequence[Piece], width: int) -> Line:
    """Return those of some pieces that fit on a line, with dots between them."""
    line: list[Piece] = []
    left = width
    for number, piece in enumerate(pieces):
        if not number and piece.text.cell_length >= width:
            return [replace(piece, text=Content(one_line(piece.text.plain, width - 1)))]
        needed = piece.text.cell_length + (piece.opens is not None) + (3 if line else 0)
        if needed > left:
            break
        line += [plain(" · ", "$foreground-muted"), piece] if line else [piece]
        left -= needed
    return line


# -- yours ---------------------------------------------------------------------------------------------


def yours(facts: HomeFacts, details: HomeDetails, width: int, *, judges: bool) -> list[Line]:
    """Return how far the rater is with each kind, today and lately.

    Args:
        details: The activity, once it is read.
        width: Cells of a line.
        judges: Whether there is a rater.
    """
    counts = facts.progress
    lines: list[Line] = []
    for one in counts.kinds:
        kind = task_kinds().get(one.kind)
        name = one_line(kind.plural if kind else one.kind, NAME_CELLS)
        opens = QueueFilter(kind=one.kind)
        if not judges:
            lines.append([_figure(f"{name:<{NAME_CELLS}} {one.items:,}", f"kind:{one.kind}", opens)])
            continue
        number = f"{one.items - one.left:,}/{one.items:,}"
        cells = max(4, min(width - NAME_CELLS - len(number) - 4, MOST_BAR_CELLS))
        bar = drawn_bar(one.items - one.left, one.items, cells)
        words = Content.assemble(f"{name:<{NAME_CELLS}} ", bar, f"  {number}")
        lines.append([_figure(words, f"kind:{one.kind}", opens)])
    if judges:
        lines.append(_lately(facts, details, width))
        marks = [
            _figure(f"{words} {number:,}", f"mark:{words}", wanted)
            for words, number, wanted in (
                ("cannot decide", counts.cannot_decide, QueueFilter(status="cannot_decide")),
                ("skipped", counts.skipped, QueueFilter(status="skipped")),
                ("⚑ flagged", counts.flagged, QueueFilter(flagged=True)),
            )
            if number
        ]
        lines += [_fitting(marks, width)] if marks else []
    else:
        lines.append([plain("! No rater. Start with --rater NAME.", "$text-warning")])
    if unknown := unknown_kinds_note(counts.items):
        lines.append([plain(one_line(unknown, width))])
    named = ", ".join(one_line(name, 24) for name in counts.sources[:SOURCES_NAMED])
    more = len(counts.sources) - SOURCES_NAMED
    source = f"from {named}{f' and {more:,} more' if more > 0 else ''}" if named else ""
    lines += [[plain(one_line(source, width), "$foreground-muted")]] if source else []
    if rejected := sum(one.rejected for one in counts.rejected):
        lines.append([plain(one_line(f"! {pluralize(rejected, 'record')} rejected by imports", width))])
    if counts.agent_labelled is None and (hidden := hidden_from_blind(counts)):
        lines.append([plain(one_line(f"blind: {hidden} not read", width), "$foreground-muted")])
    return lines


def _lately(facts: HomeFacts, details: HomeDetails, width: int) -> Line:
    found, words = details.activity, [f"today {facts.progress.today:,}"]
    if found is not None and found.seconds is not None:
        about = f"about {format_duration(found.seconds)}" if round(found.seconds) else "under 1 s"
        words.append(f"{about} an item")
    text = " · ".join(words)
    drawn = sparkline(found.days, len(found.days)) if found is not None else ""
    if drawn.strip() and len(text) + len(drawn) + 4 <= width:
        # A frame, since days without judgments are blank.
        return [
            plain(f" {text}  "),
            plain("▕", "$foreground-muted"),
            plain(drawn, "$text-accent"),
            plain("▏", "$foreground-muted"),
        ]
    return [plain(f" {text}")]


# -- next ----------------------------------------------------------------------------------------------

NextLine = tuple[str, str, str]
"""The id of a command, its key and what it does now."""


def following(steps: Sequence[NextLine], width: int) -> list[Line]:
    """Return what to do next, a key and a phrase on each line."""
    return [
        [
            _figure(
                Content.assemble((f"{key:<6}", "bold $text-accent"), one_line(words, max(10, width - 7))),
                command.split(".")[-1],
                command,
            )
        ]
        for command, key, words in steps
    ]


# -- you and the agents --------------------------------------------------------------------------------


def with_agents(facts: HomeFacts, details: HomeDetails, width: int, *, short: bool) -> list[Line]:
    """Return how the rater's labels meet the agents'; none in a blind review."""
    counts = facts.progress
    theirs = for_agents(counts)
    if counts.agent_labelled is None or not (theirs.total or counts.scored):
        return []
    # Of kinds whose items agents do not all label, such as questions that they wrote, none is missing.
    labelled = theirs.agent_labelled
    hidden = theirs.agent_hidden or 0
    done: list[Piece] = []
    if theirs.total and labelled:
        done.append(plain(f" ◆ {labelled:,} of {theirs.total:,} labelled"))
        done += _without_label(theirs)
    elif theirs.total:
        done.append(plain(" ◆ no label yet"))
    if hidden:
        done.append(plain(f"{'' if done else ' ◆ '}{hidden:,} hidden by a study"))
    if counts.scored:
        done.append(plain(f"{'' if done else ' ◆ '}{counts.scored:,} scores of judges"))
    done += [plain(shortened(name, 24), "$foreground-muted") for name in facts.runs]
    table = details.labels
    if table is None:
        return [_fitting(done, width)]
    agreement = _agreement(table)
    if short:
        return [[plain(" you × ◆  ", "bold"), *_fitting(agreement, width - 10)]]
    drawn = _label_table(table) if len(table.values) <= MOST_VALUES else []
    return [_fitting(done, width), *drawn, _fitting(agreement, width)]


def _without_label(counts: Progress) -> list[Piece]:
    """Return how many items of each kind have no label of the agents."""
    found = []
    for one in counts.kinds:
        if number := one.items - (one.agent_labelled or 0) - (one.agent_hidden or 0):
            what = (
                f"{counted_kinds({one.kind: number})} without"
                if len(counts.kinds) > 1
                else f"{number:,} without"
            )
            found.append(_figure(what, f"agents:none:{one.kind}", QueueFilter(kind=one.kind, agent="none")))
    return found


def _agreement(table: LabelTable) -> list[Piece]:
    differ = table.items - table.agreed
    pieces = [
        plain(f" {table.agreed / table.items:.0%} agree"),
        plain(f"κ {coefficient(table.kappa)}"),
        plain(f"n = {table.items:,}"),
    ]
    if differ:
        wanted = QueueFilter(kind=table.kind, agreement="disagree")
        pieces.append(_figure(f"▲ {differ:,} differ", "agents:differ", wanted))
    return pieces


def _label_table(table: LabelTable) -> list[Line]:
    """Return how often each own label meets each of the agents', as the rows of a table."""
    words = label_words((table.kind,), whole=True)
    names = {value: one_line(words.get(value, f"{value:g}"), 14) for value in table.values}
    first = max(len(name) for name in names.values()) + 5
    cells = max(max(len(name) for name in names.values()) + 3, 9)
    heading = "".join(f"{f'◆ {names[value]}':>{cells}}" for value in table.values)
    lines: list[Line] = [[plain(f"{'':<{first}}{heading}", "$foreground-muted")]]
    for own in table.values:
        row: list[Piece] = [plain(f" {f'you {names[own]}':<{first - 1}}", "$foreground-muted")]
        for theirs in table.values:
            number = table.counts.get((own, theirs), 0)
            shown = f"{number:,}" + (" ▲" if own != theirs and number else "")
            if number:
                wanted = QueueFilter(kind=table.kind, label=own, agent=f"{theirs:g}")
                row.append(_figure(f"{shown:>{cells - 1}}", f"cell:{own:g}:{theirs:g}", wanted))
            else:
                row.append(plain(f"{shown:>{cells}}", "$foreground-muted"))
        lines.append(row)
    return lines


# -- runs ----------------------------------------------------------------------------------------------


def runs(
    details: HomeDetails, facts: HomeFacts, width: int, *, short: bool, opens: Callable[[UUID], None]
) -> list[Line]:
    """Return the latest runs of the agents with their bars, and what they cost.

    Args:
        width: Cells of a line.
        short: Whether one line is wanted.
        opens: Shows a run on the Jobs screen.
    """
    if not details.runs:
        return []
    counts = facts.progress
    of_all = " in all" if len(details.runs) > 1 else ""
    spent = [f"{compact(counts.tokens)} tokens{of_all}"] if counts.tokens else []
    if counts.tokens and counts.money is not None:
        spent.append(dollars(counts.money) + (" and more" if counts.unpriced else ""))
    if short:
        return [
            [
                plain(" runs     ", "bold"),
                *_run(details.runs[0], width - 34 - len(of_all), opens),
                plain(f"  {' · '.join(spent)}"),
            ]
        ]
    lines: list[Line] = [_run(run, width, opens) for run in details.runs]
    drawn = sparkline(details.tokens, len(details.tokens))
    tail = [plain(f"  {drawn}", "$text-accent")] if drawn.strip() and len(drawn) + 30 <= width else []
    return [*lines, [plain(f" {' · '.join(spent)}"), *tail]] if spent else lines


def _run(run: RunLine, width: int, opens: Callable[[UUID], None]) -> Line:
    number = f"{run.labelled:,}/{run.total:,}"
    failed = f" · {run.failed:,} failed" if run.failed else ""
    cells = 10 if width < 50 else 16
    name = max(10, width - cells - len(number) - len(failed) - 6)
    words = Content.assemble(
        f"{STATE_GLYPHS.get(run.state, '·')} {shortened(run.name, name):<{min(name, 32)}} ",
        drawn_bar(run.labelled, run.total, cells),
        f" {number}{failed}",
    )
    return [_figure(words, f"run:{run.id}", partial(opens, run.id))]


# -- raters and studies --------------------------------------------------------------------------------


def raters(
    details: HomeDetails, width: int, *, short: bool, you: str, opens: Callable[[PairAgreement], None]
) -> list[Line]:
    """Return the agreement of every two raters on the main question.

    Args:
        width: Cells of a line.
        short: Whether one line is wanted.
        you: The rater's own name.
        opens: Opens the items on which two of them differ.
    """
    if not details.raters:
        return []
    shown = details.raters[:PAIRS_SHOWN]
    most = 9 if short else max(6, (width - 28) // 2)
    named = [
        "–".join("you" if each == you else one_line(each, most) for each in pair.figures.raters)
        for pair in shown
    ]
    cells = 0 if short else max(map(len, named))
    pieces = []
    for pair, names in zip(shown, named, strict=True):
        figures = pair.figures
        bar = "" if short else progress_bar(max(figures.cohen or 0.0, 0.0), 8) + " "
        text = f"{names:<{cells}} {bar}κ {coefficient(figures.cohen)} (n {figures.units:,})"

        def open_pair(pair: PairAgreement = pair) -> None:
            opens(pair)

        pieces.append(_figure(text, f"raters:{'/'.join(figures.raters)}", open_pair))
    if short:
        return [[plain(" raters   ", "bold"), *_fitting(pieces, width - 10)]]
    lines: list[Line] = []
    if details.open_study:
        words = f" without study {one_line(details.open_study, 20)}, which is open"
        lines.append([plain(one_line(words, width), "$foreground-muted")])
    while pieces:
        line = _fitting(pieces, width) or pieces[:1]
        pieces = pieces[(len(line) + 1) // 2 :]
        lines.append(line)
    more = len(details.raters) - PAIRS_SHOWN
    return [*lines, [plain(f" {more:,} more pairs of raters", "$foreground-muted")]] if more > 0 else lines


def studies(details: HomeDetails, width: int, *, short: bool, opens: Callable[[str], None]) -> list[Line]:
    """Return the studies with how much is left in each."""
    if not details.studies:
        return []
    lines: list[Line] = []
    for study in details.studies[: 1 if short else STUDIES_SHOWN]:
        number = f"{study.total - study.left:,}/{study.total:,}" if study.total else ""
        bar = drawn_bar(study.total - study.left, study.total, 12) if study.total else Content("")
        own = f" · {study.yours:,} left for you" if study.yours else ""
        name = min(20, max(8, width - len(number) - len(own) - 25))
        words = Content.assemble(
            f"{one_line(study.name, name):<{name}} {study.state:<7} ", bar, f" {number}{own}"
        )

        def open_study(name: str = study.name) -> None:
            opens(name)

        lines.append([_figure(words, f"study:{study.name}", open_study)])
    if short:
        more = len(details.studies) - 1
        return [[plain(" studies  ", "bold"), *lines[0], plain(f"  {more:,} more" if more else "")]]
    more = len(details.studies) - STUDIES_SHOWN
    return [*lines, [plain(f" {more:,} more", "$foreground-muted")]] if more > 0 else lines
