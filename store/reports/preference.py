"""Reports on comparisons: ratings with intervals, win rates of every two candidates, position bias."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from store.formatting import pluralize
from store.measures.preference import SideVerdict, in_both_orders, side_verdicts
from store.measures.preference_report import PreferenceReport, by_side, preference_report, rated_by_whom
from store.measures.votes import Votes
from store.queries.preferences import preference_votes
from store.reports.value import (
    Cell,
    Choice,
    ItemsOf,
    Options,
    Page,
    Row,
    Table,
    counted,
    interval,
    number,
    share,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

Read = tuple[PreferenceReport, Votes]
"""The report, and the votes that it is of."""

Orders = Mapping[Hashable, tuple[int, int]]
"""The levels of comparisons that were judged in both orders."""

OF_ONE, OF_TWO = "comparisons of one candidate", "comparisons of two candidates"
"""What lists are called: names of candidates stay away from where comparisons are judged."""

LEVELS = ("much better", "better", "same", "worse", "much worse")
"""What the first candidate is, by level."""
SIGNS = ("++", "+", "=", "-", "--")
"""The same in a heading."""


def read_preference(connection: Connection, choice: Choice) -> Read:
    """Read the votes on comparisons, and their report."""
    votes = preference_votes(connection)
    return preference_report(votes), votes


def ratings_page(read: Read, choice: Choice) -> Page:
    """Return the rating of each candidate with its interval."""
    found, votes = read
    ends = [
        end
        for one in found.ratings
        for end in (one.ci_low, one.bradley_terry, one.ci_high)
        if end is not None
    ]
    rows = tuple(
        Row(
            (
                one.candidate,
                number(one.bradley_terry, 1),
                interval(one.ci_low, one.ci_high, 1, 0),
                number(one.rank, 0),
                number(one.elo, 0),
                Cell(
                    f"{one.wins}-{one.losses}-{one.ties}",
                    items=_compared(votes, [one.candidate]),
                    named=OF_ONE,
                ),
            ),
            (one.ci_low, one.bradley_terry, one.ci_high),
        )
        for one in found.ratings
    )
    notes = ["rank: one more than those whose interval is above; W-L-T: won, lost, tied."]
    if found.why_no_rating:
        notes.append(f"No rating: {found.why_no_rating}. A regularised fit: --prior 1 on the command line.")
    elif found.why_no_interval:
        notes.append(f"No interval: {found.why_no_interval}.")
    scale = (min(ends), max(ends)) if ends else (0.0, 1.0)
    columns = ("candidate", "rating", "interval", "rank", "Elo", "W-L-T")
    table = Table(columns, rows, scale=scale, drawn="rating", notes=tuple(notes))
    fit = "Bradley-Terry ratings, ties half; 95 % intervals: bootstrap over prompts"
    return _page(read, (fit,), (table,))


def wins_page(read: Read, choice: Choice) -> Page:
    """Return how often each candidate is preferred to each other one."""
    found, votes = read
    rates: dict[tuple[str, str], float] = {}
    for one in found.win_rate["pairs"]:
        if one["rate"] is not None:
            rates[one["first"], one["second"]] = one["rate"]
            rates[one["second"], one["first"]] = 1 - one["rate"]
    names = [one.candidate for one in found.ratings]
    rows = tuple(
        Row(
            (
                f"{place:>2} {name}",
                *(_win(votes, rates.get((name, other)), name, other) for other in names),
            )
        )
        for place, name in enumerate(names, start=1)
    )
    columns = ("candidate", *(f"{place}" for place in range(1, len(names) + 1)))
    notes = ("How often the candidate of the row wins against that of the column, in percent; ties half.",)
    return _page(read, (), (Table(columns, rows, axes=("wins, %", "against"), notes=notes),))


def _win(votes: Votes, rate: float | None, name: str, other: str) -> Cell | str:
    if rate is None:
        return ""
    return Cell(f"{100 * rate:.0f}", rate, _compared(votes, [name, other]), OF_TWO, rate)


def position_page(read: Read, choice: Choice) -> Page:
    """Return how verdicts depend on the side, and those in both orders of one rater as a matrix."""
    found, votes = read
    sides = by_side(votes)
    rows = tuple(
        Row(
            (
                one["rater"],
                counted(
                    one["judgments"],
                    _counted(side_verdicts(sides[one["rater"]], votes.items)),
                    f"{one['rater']}: verdicts with a winner",
                ),
                share(one["share_left"]),
                interval(one["low"], one["high"], 100, 1),
            ),
            (one["low"], one["share_left"], one["high"]),
        )
        for one in found.position
    )
    notes = ["Only pairs of candidates that a rater saw on both sides, which weigh the same."]
    if one_sided := sum(one["one_sided"] for one in found.position):
        notes.append(f"Left out: {pluralize(one_sided, 'verdict')} on pairs seen on the same sides only.")
    tables = [
        Table(
            ("rater", "won", "left", "interval, %"),
            rows,
            title="Verdicts for the left side; 50 % without a bias",
            middle=0.5,
            drawn="share of verdicts for the left side",
            notes=tuple(notes),
        )
    ]
    twice = {one["rater"]: one for one in found.position if one["both_orders"]}
    options: dict[str, Options] = {}
    if twice:
        name = next((one for one in twice if one == choice.first), next(iter(twice)))
        tables.append(_orders_table(name, twice[name], in_both_orders(sides[name])))
        options["first"] = Options("rater", tuple(twice), name)
    page = _page(read, ("95 % intervals: Wilson's, by prompt",), tuple(tables if rows else []))
    return replace(page, options=options)


def _orders_table(name: str, of_rater: Mapping[str, Any], orders: Orders) -> Table:
    matrix = of_rater["matrix"]
    most = max(max(row) for row in matrix) or 1
    rows = tuple(
        Row(
            (
                f"{SIGNS[left]:<2} {LEVELS[left]}",
                *(
                    counted(
                        count,
                        _with_levels(orders, (left, right)),
                        f"{name}: left {LEVELS[left]}, right {LEVELS[right]}",
                        count / most,
                    )
                    for right, count in enumerate(row)
                ),
            )
        )
        for left, row in enumerate(matrix)
    )
    return Table(
        ("left \\ right", *SIGNS),
        rows,
        title=f"Both orders: {name}",
        axes=("the first on the left", "on the right"),
        notes=(
            "Rows: the first candidate on the left; columns: on the right.",
            f"The same winner {of_rater['consistent']:,} of {of_rater['both_orders']:,} times "
            f"({share(of_rater['consistency']).text}).",
        ),
    )


def _page(read: Read, said: tuple[str, ...], tables: tuple[Table, ...]) -> Page:
    found, votes = read
    n = found.n
    shown = sum(one.revealed for one in votes.of(rated_by_whom(votes)[1]))
    cast = f"{pluralize(n['votes'], 'vote')} of {found.rated_by} ({pluralize(n['raters'], 'rater')})"
    equal = pluralize(n["equal_texts"], "comparison")
    empty = "" if n["battles"] else "No comparison has a vote with a majority yet."
    return Page(
        caption=(
            *([f"Equal texts: {equal}, whose votes count as ties."] if n["equal_texts"] else []),
            f"{pluralize(n['items'], 'comparison')} of {n['candidates']:,} candidates · {cast} · "
            f"{pluralize(n['battles'], 'battle')}",
            f"{shown:,} of the votes revealed: with a judge's verdict on the screen",
            *said,
            *([f"The intervals: {found.warning}."] if found.warning else []),
        ),
        command=("preference",),
        tables=() if empty else tables,
        empty=empty,
    )


def _compared(votes: Votes, names: Collection[str]) -> ItemsOf:
    """Return what gives the comparisons of some candidates that have a vote."""
    return partial(_comparisons, votes, frozenset(names))


def _comparisons(votes: Votes, names: frozenset[str], _: Connection) -> list[int]:
    voters = rated_by_whom(votes)[1]
    voted = {one.item for one in votes.of(voters)}
    pairings = votes.items.items()
    return _numbers(item for item, one in pairings if item in voted and names <= {one.first, one.second})


def _counted(verdicts: Iterable[SideVerdict]) -> ItemsOf:
    """Return what gives the comparisons with a verdict for one of the sides that has a weight."""
    return lambda _: _numbers({one.item for one in verdicts if one.weight})


def _with_levels(orders: Orders, levels: tuple[int, int]) -> ItemsOf:
    """Return what gives the comparisons with these levels in both orders."""
    return lambda _: _numbers(item for item, both in orders.items() if both == levels)


def _numbers(items: Iterable[Hashable]) -> list[int]:
    """Return comparisons by their keys, in order; those of a workspace are whole numbers."""
    return sorted(item for item in items if isinstance(item, int))
