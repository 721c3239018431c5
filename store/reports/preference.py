"""Reports on comparisons: ratings with intervals, win rates, position bias, agreement, length."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from store.analysis.preferences import preference_votes
from store.formatting import pluralize
from store.json_fields import SPREAD
from store.measures import preference_report as measured
from store.measures.battles import MOST_CANDIDATES
from store.measures.preference import SideVerdict, in_both_orders, side_verdicts
from store.measures.preference_report import PreferenceReport, by_side, preference_report, rated_by_whom
from store.measures.votes import Votes
from store.reports.options import Options
from store.reports.value import (
    Cell,
    ItemsOf,
    Report,
    Row,
    Table,
    counted,
    ends_of,
    facts,
    filled,
    interval,
    number,
    probability,
    share,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

Orders = Mapping[Hashable, tuple[int, int]]
"""The levels of comparisons that were judged in both orders."""

OF_ONE, OF_TWO = "comparisons of one candidate", "comparisons of two candidates"
"""What lists are called: names of candidates stay away from where comparisons are judged."""

LEVELS = ("much better", "better", "same", "worse", "much worse")
"""What the first candidate is, by level."""
SIGNS = ("++", "+", "=", "-", "--")
"""The same in a heading."""
MATRICES = 3
"""Raters whose verdicts in both orders are shown as a matrix; JSON has all."""
COHENS = 3
"""Pairs of raters whose kappa is named among the facts."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """The votes on comparisons, and their report.

    Attributes:
        study: The study whose assignments count; None for all votes.
        notes: What was left out or changed when files were read, and how often.
    """

    JSON: ClassVar = ("study", "found")

    found: PreferenceReport = field(metadata=SPREAD)
    votes: Votes
    study: str | None = None
    notes: Mapping[str, int] = field(default_factory=dict)


def measured_as(options: Options) -> measured.Options:
    """Return how a report is computed."""
    return measured.Options(
        raters=options.raters or None,
        judges=options.judges,
        baseline=options.baseline,
        elo_k=4.0 if options.elo_k is None else options.elo_k,
        prior=options.prior or 0.0,
        resamples=options.resampling.resamples,
        seed=options.resampling.seed,
        group_by=options.group_by,
    )


def read_preference(connection: Connection, options: Options) -> Preferences:
    """Read the votes on comparisons, and their report.

    Raises:
        UnknownName: There is no such study, run, rater, candidate or field.
    """
    votes = preference_votes(
        connection, study=options.study, run=options.run_of(connection), group_by=options.group_by
    )
    return Preferences(preference_report(votes, measured_as(options)), votes, options.study)


# -- votes ----------------------------------------------------------------------------------------------


def votes_tables(read: Preferences) -> Sequence[Table]:
    """Return what the votes are, how far raters agree, and whether longer texts win."""
    found, n = read.found, read.found.n
    without = f"; without a majority: {n['without_majority']:,}" if n["without_majority"] else ""
    unvoted = f"; without a vote: {n['without_vote']:,}" if n["without_vote"] else ""
    equal = f"{pluralize(n['equal_texts'], 'comparison')}, whose votes count as ties"
    cohen = [
        (f"Cohen's kappa of winners, {pair}", value)
        for pair, value in found.cohen.items()
        if value is not None
    ]
    told = facts(
        [
            ("comparisons", f"{n['items']:,} of {n['candidates']:,} candidates on "
                            f"{pluralize(n['prompts'], 'prompt')}{unvoted}"),
            ("votes", f"{n['votes']:,} of {pluralize(n['raters'], 'rater')}: {found.rated_by}"
                      if n["votes"] else "none yet"),
            ("battles", f"{n['battles']:,}, one for each comparison{without}"),
            ("equal texts", equal if n["equal_texts"] else None),
            ("both bad", n["both_bad"] or None),
            ("revealed", f"{n['revealed']:,}, with a judge's verdict shown: agreement is not independent"
                         if n["revealed"] else None),
            ("alpha of winners, nominal", None if found.alpha is None else number(found.alpha, 4)),
            ("Fleiss' kappa of winners", None if found.fleiss is None else number(found.fleiss, 4)),
            *((name, number(value, 4)) for name, value in cohen if len(cohen) <= COHENS),
            *((f"when read: {what}", times) for what, times in read.notes.items()),
        ],
        "Votes",
    )  # fmt: skip
    return (told, *([_agreement(found), _length(found)] if n["battles"] else []))


def _agreement(found: PreferenceReport) -> Table:
    return Table(
        ("votes of", "and of", "pairs", "same winner", "pairs without ties", "same without ties"),
        tuple(
            Row(
                (
                    *(one["of"], one["and"]),
                    *(counted(one["with_ties"]["pairs"]), share(one["with_ties"]["share"])),
                    *(counted(one["without_ties"]["pairs"]), share(one["without_ties"]["share"])),
                ),
                one["with_ties"]["share"],
            )
            for one in found.agreement["between"]
        ),
        "Agreement on winners: of two raters' votes on a comparison",
        names=2,
        drawn="share with the same winner",
    )


def _length(found: PreferenceReport) -> Table:
    length = found.length
    if length["rate"] is None:
        return facts([])
    thirds = ", ".join(
        f"{share(rate).text} of {each:,}"
        for rate, each in zip(length["thirds"], length["battles"], strict=True)
    )
    battles = pluralize(sum(length["battles"]), "battle")
    return Table(
        ("candidate", "against", "win rate", "at equal lengths"),
        tuple(
            Row((one["first"], one["second"], share(one["raw"]), share(one["controlled"])))
            for one in length["pairs"]
        ),
        "Length",
        names=2,
        notes=(
            f"The longer text wins {share(length['rate']).text} of {battles} with different lengths;",
            f"by thirds of the difference, the smallest first: {thirds}.",
        ),
    )


# -- ratings --------------------------------------------------------------------------------------------


def ratings_tables(read: Preferences) -> Sequence[Table]:
    """Return the rating of each candidate with its interval, Elo, and how ratings settled."""
    found, votes = read.found, read.votes
    fit = f"a regularised fit with a prior of {found.prior:g}" if found.prior else "maximum likelihood"
    notes = [
        "rank: one more than those whose interval is above, as FastChat; sandwich: with the sandwich "
        "variance, as arena-rank.",
        "W-L-T: won, lost, tied; 95 % intervals: bootstrap over prompts.",
    ]
    if found.why_no_rating:
        notes.append(f"No rating: {found.why_no_rating}.")
        if len(found.ratings) <= MOST_CANDIDATES:
            notes.append("A regularised fit: --prior 1")
    elif found.why_no_interval:
        notes.append(f"No interval: {found.why_no_interval}.")
    rows = tuple(
        Row(
            (
                one.candidate,
                number(one.bradley_terry, 1),
                interval(one.ci_low, one.ci_high, 1, 1),
                number(one.rank, 0),
                number(one.rank_sandwich, 0),
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
    ends = ends_of(rows)
    rated = Table(
        ("candidate", "rating", "interval", "rank", "sandwich", "W-L-T"),
        rows,
        f"Bradley-Terry ratings by {fit}, ties half",
        scale=(min(ends), max(ends)) if ends else (0.0, 1.0),
        drawn="rating",
        notes=tuple(notes),
    )
    ranked = sorted(found.ratings, key=lambda one: -one.elo)
    elo = Table(
        ("candidate", "Elo", "in shuffled orders", "won", "lost", "tied"),
        tuple(
            Row(
                (
                    *(one.candidate, number(one.elo, 1), interval(one.elo_low, one.elo_high, places=1)),
                    *map(counted, (one.wins, one.losses, one.ties)),
                )
            )
            for one in ranked
        ),
        f"Online Elo, K {found.elo_k:g}: depends on the order of the votes",
        notes=(f"No shuffled orders: {found.why_no_elo_range}.",) if found.why_no_elo_range else (),
    )
    return rated, elo, _settled(found)


def _settled(found: PreferenceReport) -> Table:
    if len(found.settled) < 2:
        return facts([])
    name, of = ("Elo", "elo") if found.why_no_rating else ("Bradley-Terry", "bradley_terry")
    lacking = any(one[of].get(each.candidate) is None for one in found.settled for each in found.ratings)
    return Table(
        ("candidate", *(f"{100 * one['share']:.0f}" for one in found.settled)),
        tuple(
            Row((each.candidate, *(number(one[of].get(each.candidate), 0) for one in found.settled)))
            for each in found.ratings
        ),
        f"{name} after the first 10 %, 20 % ... of the battles",
        notes=("–: the battles until then give no rating.",) if lacking else (),
    )


# -- wins -----------------------------------------------------------------------------------------------


def wins_tables(read: Preferences) -> Sequence[Table]:
    """Return how often each candidate is preferred to each other one, with tests, by whom and by group."""
    found, votes = read.found, read.votes
    pairs = found.win_rate["pairs"]
    rates: dict[tuple[str, str], float] = {}
    for one in pairs:
        if one["rate"] is not None:
            rates[one["first"], one["second"]] = one["rate"]
            rates[one["second"], one["first"]] = 1 - one["rate"]
    names = [one.candidate for one in found.ratings]
    matrix = Table(
        ("candidate", *(f"{place}" for place in range(1, len(names) + 1))),
        tuple(
            Row(
                (
                    f"{place:>2} {name}",
                    *(_win(votes, rates.get((name, other)), name, other) for other in names),
                )
            )
            for place, name in enumerate(names, start=1)
        ),
        "Share of battles won, ties half",
        axes=("wins, %", "against"),
        notes=("How often the candidate of the row wins against that of the column, in percent; ties half.",),
    )
    return (
        matrix,
        _rates(
            ("candidate", "against"), [(one, (one["first"], one["second"])) for one in pairs], "Win rates"
        ),
        _signs(pairs),
        *_rates_by(found),
        _scores(found),
    )


def _win(votes: Votes, rate: float | None, name: str, other: str) -> Cell | str:
    if rate is None:
        return ""
    return Cell(f"{100 * rate:.0f}", rate, _compared(votes, [name, other]), OF_TWO, rate)


def _rates(
    heads: tuple[str, ...], rates: Sequence[tuple[Mapping[str, Any], tuple[str, ...]]], title: str
) -> Table:
    """Return win rates with their intervals, each after the names that it is of."""
    return Table(
        (*heads, "win rate", "95 % interval"),
        tuple(
            Row(
                (*names, share(one["rate"]), interval(one["low"], one["high"], 100, 1)),
                (one["low"], one["rate"], one["high"]),
            )
            for one, names in rates
        ),
        f"{title}, ties half",
        names=len(heads),
        middle=0.5,
        drawn="win rate",
    )


def _signs(pairs: Sequence[Mapping[str, Any]]) -> Table:
    several = len(pairs) > 1
    return Table(
        ("candidate", "against", "won", "lost", "tied", "no majority", "p", *(["Holm"] if several else [])),
        tuple(
            Row(
                (
                    *(one["first"], one["second"]),
                    *(counted(one["sign_test"][each]) for each in ("wins", "losses", "ties", "undecided")),
                    probability(one["sign_test"]["p_value"]),
                    *([probability(one["p_adjusted"])] if several else []),
                )
            )
            for one in pairs
        ),
        "Sign test over comparisons, each with the majority of its votes",
        names=2,
        notes=("Holm: p corrected for all of these pairs.",) if several else (),
    )


def _rates_by(found: PreferenceReport) -> list[Table]:
    """Return the win rates by group, by rater and by the values of a field, where there are several."""
    rates = found.win_rate
    groups = [{"name": name, **one} for name, one in rates["by_group"].items()]
    parts = [("group", groups), ("rater", [{"name": one["rater"], **one} for one in rates["by_rater"]])]
    if (by_field := rates["by_field"]) is not None:
        parts.append((by_field["field"], [{"name": one["value"], **one} for one in by_field["values"]]))
    tables = []
    for head, entries in parts:
        if len(entries) < 2 and head in ("group", "rater"):
            continue
        # Of two candidates one rate says what the other is.
        rows = [
            (one, (entry["name"] or "(none)", one["candidate"]))
            for entry in entries
            for one in (entry["candidates"][:1] if len(entry["candidates"]) == 2 else entry["candidates"])
        ]
        tables.append(_rates((head, "candidate"), rows, f"Win rates by {head}"))
    return tables


def _scores(found: PreferenceReport) -> Table:
    against = found.score_against
    if against is None:
        return facts([])
    by_field = against["by_field"]
    rows = [(one["candidate"], one["group"], "", one) for one in against["by_group"]]
    rows += [(one["candidate"], one["rater"], "", one) for one in against["scores"]]
    if by_field is not None:
        rows += [(one["candidate"], one["group"], one["value"], one) for one in by_field["scores"]]
    fields = [by_field["field"]] if by_field else []
    return Table(
        ("candidate", "by", *fields, "score", "verdicts"),
        tuple(
            Row(
                (
                    *(candidate, by, *([value or ""] if fields else [])),
                    *(number(one["score"]), counted(one["verdicts"])),
                )
            )
            for candidate, by, value, one in rows
        ),
        f"Score against {against['baseline']}: 50 is as good, much better counts three",
        names=2 + len(fields),
    )


# -- position -------------------------------------------------------------------------------------------


def position_tables(read: Preferences) -> Sequence[Table]:
    """Return how verdicts depend on the side, and those in both orders as matrices."""
    found, votes = read.found, read.votes
    sides = by_side(votes)
    several = len(found.position) > 1
    notes = [
        "won: verdicts with a winner, on pairs of candidates seen on both sides, which weigh alike.",
        "interval: Wilson's, by prompt; p: by prompt, so that of two orders only what changed counts.",
    ]
    if several:
        notes.append("Holm: p corrected for all of these raters.")
    if one_sided := sum(one["one_sided"] for one in found.position):
        notes.append(f"Left out: {pluralize(one_sided, 'verdict')} on pairs seen on the same sides only.")
    table = Table(
        ("rater", "won", "left", "interval, %", "p", *(["Holm"] if several else [])),
        tuple(
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
                    probability(one["p_value"]),
                    *([probability(one["p_adjusted"])] if several else []),
                ),
                (one["low"], one["share_left"], one["high"]),
            )
            for one in found.position
        ),
        "Verdicts for the left side; 50 % without a bias",
        middle=0.5,
        drawn="share of verdicts for the left side",
        notes=tuple(notes),
    )
    twice = [one for one in found.position if one["both_orders"]][:MATRICES]
    return (table, *(_orders(one, in_both_orders(sides[one["rater"]])) for one in twice))


def _orders(of_rater: Mapping[str, Any], orders: Orders) -> Table:
    matrix, name = of_rater["matrix"], of_rater["rater"]
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
        f"Both orders: {name}",
        axes=("the first on the left", "on the right"),
        notes=(
            "Rows: what the first candidate is on the left; columns: on the right.",
            f"The same winner {of_rater['consistent']:,} of {of_rater['both_orders']:,} times "
            f"({share(of_rater['consistency']).text}); left won twice {of_rater['favours_first']:,}, right "
            f"{of_rater['favours_second']:,}.",
        ),
    )


WHOLE = (votes_tables, ratings_tables, wins_tables, position_tables)
"""What makes all tables."""

# -- the report -----------------------------------------------------------------------------------------


def preference_of(
    name: str, *parts: Callable[[Preferences], Sequence[Table]]
) -> Callable[[Preferences, Options], Report]:
    """Return what makes the report of some tables."""

    def report(read: Preferences, options: Options) -> Report:
        found, n = read.found, read.found.n
        cast = f"{pluralize(n['votes'], 'vote')} of {found.rated_by} ({pluralize(n['raters'], 'rater')})"
        equal = pluralize(n["equal_texts"], "comparison")
        shown = sum(one.revealed for one in read.votes.of(rated_by_whom(read.votes)[1]))
        empty = "" if n["battles"] else "No comparison has a vote with a majority yet."
        shows = [part for part in parts if not empty or part is votes_tables]
        return Report(
            caption=(
                *([f"study: {read.study}"] if read.study else []),
                *([f"Equal texts: {equal}, whose votes count as ties."] if n["equal_texts"] else []),
                f"{pluralize(n['items'], 'comparison')} of {n['candidates']:,} candidates · {cast} · "
                f"{pluralize(n['battles'], 'battle')}",
                f"{shown:,} of the votes revealed: with a judge's verdict on the screen",
            ),
            command=(name, *options.arguments()),
            tables=filled(*(table for part in shows for table in part(read))),
            empty=empty,
            warnings=(f"The intervals: {found.warning}.",) if found.warning and not empty else (),
        )

    return report


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
