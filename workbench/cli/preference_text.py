"""The report on preference as text: tables with drawn intervals, readable from 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from store.formatting import Drawn, interval_line, pluralize
from store.measures.battles import MOST_CANDIDATES
from workbench.output import note, print_facts, print_table, say, terminal_width

if TYPE_CHECKING:
    from store.measures.preference_report import PreferenceReport

_ROWS = 20
"""Rows of a table beyond which --json has the others."""
_MATRICES = 3
_LEVELS = ("much better", "better", "same", "worse", "much worse")
_NARROWEST, _WIDEST = 12, 40
"""The least and the most cells of a drawn interval."""


def print_preference(name: str, found: PreferenceReport, notes: Mapping[str, int] | None = None) -> None:
    """Print a report on preference as tables.

    Args:
        name: What it is of.
        found: The report.
        notes: What was left out or changed when files were read, and how often.
    """
    n = found.n
    without = f"; without a majority: {n['without_majority']:,}" if n["without_majority"] else ""
    unvoted = f"; without a vote: {n['without_vote']:,}" if n["without_vote"] else ""
    equal = f"{pluralize(n['equal_texts'], 'comparison')}, whose votes count as ties"
    cohen = [f"{pair} {value:.4f}" for pair, value in found.cohen.items() if value is not None]
    print_facts(
        name,
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
            ("alpha, nominal", _number(found.alpha, 4)),
            ("Fleiss' kappa", _number(found.fleiss, 4)),
            ("Cohen's kappa", "\n".join(cohen) if 0 < len(cohen) <= 3 else None),
            ("when read", "\n".join(f"{what}: {number:,}" for what, number in (notes or {}).items())),
        ],
    )  # fmt: skip
    if not n["battles"]:
        if n["votes"]:
            say("No comparison has a vote with a majority.")
        return
    _print_ratings(found)
    _print_elo(found)
    _print_pairs(found)
    _print_rates_by(found)
    _print_position(found)
    _print_agreement(found)
    _print_length(found)
    _print_settled(found)
    _print_scores(found)
    if found.warning:
        note(f"The intervals: {found.warning}.")


def _print_ratings(found: PreferenceReport) -> None:
    fit = f"a regularised fit with a prior of {found.prior:g}" if found.prior else "maximum likelihood"
    _title(f"Bradley-Terry ratings by {fit}, ties half")
    if found.why_no_rating:
        say(f"none: {found.why_no_rating}.")
        if len(found.ratings) <= MOST_CANDIDATES:
            say("A regularised fit: --prior 1")
        return
    intervals: list[Drawn] = [(one.ci_low, one.bradley_terry, one.ci_high) for one in found.ratings]
    known = [at for interval in intervals for at in interval if at is not None]
    _print_drawn(
        ("candidate", "rating", "95 % interval", "rank", "sandwich"),
        [
            (
                _name(one.candidate),
                _number(one.bradley_terry),
                _interval(one.ci_low, one.ci_high, 1),
                one.rank,
                one.rank_sandwich,
            )
            for one in found.ratings
        ],
        intervals,
        (min(known), max(known)),
        wide=("candidate",),
    )
    if found.why_no_interval:
        say(f"No interval: {found.why_no_interval}.")
    say(
        "rank: one more than those whose bootstrap interval is above, as FastChat;",
        "sandwich: the same with the sandwich variance, as arena-rank.",
    )


def _print_elo(found: PreferenceReport) -> None:
    _title(f"Online Elo, K {found.elo_k:g}: depends on the order of the votes")
    ranked = sorted(found.ratings, key=lambda one: -one.elo)
    print_table(
        ("candidate", "Elo", "in shuffled orders", "won", "lost", "tied"),
        [
            (
                _name(one.candidate),
                _number(one.elo),
                _interval(one.elo_low, one.elo_high, 1),
                one.wins,
                one.losses,
                one.ties,
            )
            for one in ranked[:_ROWS]
        ],
        wide=("candidate",),
    )
    _more(len(ranked), "candidate")
    if found.why_no_elo_range:
        say(f"No shuffled orders: {found.why_no_elo_range}.")


def _print_pairs(found: PreferenceReport) -> None:
    pairs = found.win_rate["pairs"]
    _title("Win rates, ties half")
    _print_rates(("candidate", "against"), [(one, (one["first"], one["second"])) for one in pairs])
    _title("Sign test over comparisons, each with the majority of its votes")
    print_table(
        ("candidate", "against", "won", "lost", "tied", "no majority", "p", *_holm(pairs)),
        [
            (
                _name(one["first"]),
                _name(one["second"]),
                one["sign_test"]["wins"],
                one["sign_test"]["losses"],
                one["sign_test"]["ties"],
                one["sign_test"]["undecided"],
                _p(one["sign_test"]["p_value"]),
                *(_p(one[name]) for name in _holm(pairs).values()),
            )
            for one in pairs[:_ROWS]
        ],
        wide=("candidate", "against"),
    )
    _more(len(pairs), "pair")
    if _holm(pairs):
        say("Holm: p corrected for all of these pairs.")


def _holm(tests: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the heading of the column of corrected p-values with its field; empty for a single test."""
    return {"Holm": "p_adjusted"} if len(tests) > 1 else {}


def _print_rates(heads: tuple[str, ...], rates: Sequence[tuple[Mapping[str, Any], tuple[str, ...]]]) -> None:
    """Print win rates with their intervals, each after the names that it is of."""
    _print_drawn(
        (*heads, "rate", "95 % interval"),
        [
            (*map(_name, names), _percent(one["rate"]), _interval(one["low"], one["high"], 1, 100))
            for one, names in rates
        ],
        [(one["low"], one["rate"], one["high"]) for one, _ in rates],
        (0.0, 1.0),
        middle=0.5,
        wide=heads,
    )


def _print_rates_by(found: PreferenceReport) -> None:
    """Print the win rates by group, by rater and by the values of a field, where there are several."""
    rates = found.win_rate
    groups = [{"name": name, **one} for name, one in rates["by_group"].items()]
    parts = [("group", groups), ("rater", [{"name": one["rater"], **one} for one in rates["by_rater"]])]
    if (by_field := rates["by_field"]) is not None:
        parts.append((by_field["field"], [{"name": one["value"], **one} for one in by_field["values"]]))
    for head, entries in parts:
        if len(entries) < 2 and head in ("group", "rater"):
            continue
        # Of two candidates one rate says what the other is.
        rows = [
            (one, (entry["name"] or "(none)", one["candidate"]))
            for entry in entries
            for one in (entry["candidates"][:1] if len(entry["candidates"]) == 2 else entry["candidates"])
        ]
        _title(f"Win rates by {head}")
        _print_rates((head, "candidate"), rows)


def _print_position(found: PreferenceReport) -> None:
    if not found.position:
        return
    _title("Verdicts for the left side; 50 % without a bias")
    _print_drawn(
        ("rater", "won", "left", "95 % interval", "p", *_holm(found.position)),
        [
            (
                _name(one["rater"]),
                one["judgments"],
                _percent(one["share_left"]),
                _interval(one["low"], one["high"], 1, 100),
                _p(one["p_value"]),
                *(_p(one[name]) for name in _holm(found.position).values()),
            )
            for one in found.position
        ],
        [(one["low"], one["share_left"], one["high"]) for one in found.position],
        (0.0, 1.0),
        middle=0.5,
        wide=("rater",),
    )
    say(
        "won: verdicts with a winner, on pairs of candidates seen on both sides, which weigh alike;",
        "interval: Wilson's, by prompt; p: by prompt, so that of two orders only what changed counts.",
    )
    if _holm(found.position):
        say("Holm: p corrected for all of these raters.")
    if one_sided := sum(one["one_sided"] for one in found.position):
        say(f"Left out: {pluralize(one_sided, 'verdict')} on pairs seen on the same sides only.")
    for one in [one for one in found.position if one["both_orders"]][:_MATRICES]:
        _title(f"Both orders: {_name(one['rater'])}")
        print_table(
            ("left \\ right", *_LEVELS),
            [(level, *row) for level, row in zip(_LEVELS, one["matrix"], strict=True)],
        )
        say(
            "rows: what the first candidate is on the left; columns: on the right.",
            f"same winner {one['consistent']:,} of {one['both_orders']:,} ({_percent(one['consistency'])}); "
            f"left won twice {one['favours_first']:,}, right {one['favours_second']:,}",
        )


def _print_agreement(found: PreferenceReport) -> None:
    between = found.agreement["between"]
    if not between:
        return
    _title("Agreement: equal votes of two raters on a comparison")
    print_table(
        ("votes of", "and of", "pairs", "equal", "pairs without ties", "equal"),
        [
            (
                one["of"],
                one["and"],
                one["with_ties"]["pairs"],
                _percent(one["with_ties"]["share"]),
                one["without_ties"]["pairs"],
                _percent(one["without_ties"]["share"]),
            )
            for one in between
        ],
    )


def _print_length(found: PreferenceReport) -> None:
    length = found.length
    if length["rate"] is None:
        return
    battles = sum(length["battles"])
    thirds = ", ".join(
        f"{_percent(rate) or '-'} of {number:,}"
        for rate, number in zip(length["thirds"], length["battles"], strict=True)
    )
    _title("Length")
    say(
        f"The longer text wins {_percent(length['rate'])} of {pluralize(battles, 'battle')} "
        "with different lengths;",
        f"by thirds of the difference, the smallest first: {thirds}.",
    )
    print_table(
        ("candidate", "against", "win rate", "at equal lengths"),
        [
            (_name(one["first"]), _name(one["second"]), _percent(one["raw"]), _percent(one["controlled"]))
            for one in length["pairs"][:_ROWS]
        ],
        wide=("candidate", "against"),
    )
    _more(len(length["pairs"]), "pair")


def _print_settled(found: PreferenceReport) -> None:
    if len(found.settled) < 2:
        return
    name = "Elo" if found.why_no_rating else "Bradley-Terry"
    field = "elo" if found.why_no_rating else "bradley_terry"
    _title(f"{name} after the first 10 %, 20 % ... of the battles")
    best = [one.candidate for one in found.ratings][:_ROWS]
    print_table(
        ("candidate", *(f"{100 * one['share']:.0f}" for one in found.settled)),
        [
            (_name(candidate), *(_number(one[field].get(candidate), 0) for one in found.settled))
            for candidate in best
        ],
        wide=("candidate",),
    )
    if any(one[field].get(candidate) is None for one in found.settled for candidate in best):
        say("empty: the battles until then give no rating.")


def _print_scores(found: PreferenceReport) -> None:
    if found.score_against is None:
        return
    against = found.score_against
    _title(f"Score against {_name(against['baseline'])}: 50 is as good, much better counts three")
    by_field = against["by_field"]
    rows = [(one["candidate"], one["group"], "", one) for one in against["by_group"]]
    rows += [(one["candidate"], one["rater"], "", one) for one in against["scores"]]
    if by_field is not None:
        rows += [(one["candidate"], one["group"], one["value"], one) for one in by_field["scores"]]
    print_table(
        ("candidate", "by", *([by_field["field"]] if by_field else []), "score", "verdicts"),
        [
            (
                *(_name(candidate), _name(by)),
                *([_name(value)] if by_field else []),
                *(_number(one["score"], 2), one["verdicts"]),
            )
            for candidate, by, value, one in rows[:_ROWS]
        ],
        wide=("candidate", "by", *([by_field["field"]] if by_field else [])),
    )
    _more(len(rows), "score")


def _print_drawn(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    intervals: Sequence[Drawn],
    scale: tuple[float, float],
    *,
    wide: Sequence[str],
    middle: float | None = None,
) -> None:
    """Print the first rows of a table, each with its interval drawn at its end."""
    cells = zip(columns, *rows[:_ROWS], strict=True)
    beside = sum(2 + max(cell_len(str(cell)) for cell in column) for column in cells)
    width = min(max(terminal_width() - beside - 2, _NARROWEST), _WIDEST)
    print_table(
        (*columns, ""),
        [
            (*row, interval_line(interval, *scale, width, middle))
            for row, interval in zip(rows[:_ROWS], intervals[:_ROWS], strict=True)
        ],
        wide=wide,
    )
    _more(len(rows), "row")


def _more(number: int, what: str) -> None:
    if number > _ROWS:
        say(f"{pluralize(number - _ROWS, f'more {what}')}: --json has them.")


def _title(words: str) -> None:
    say("", words, "─" * min(len(words), terminal_width()))


def _name(text: object) -> str:
    """Return a name in one line."""
    return " ".join(str(text).split())


def _number(value: float | None, places: int = 1) -> str | None:
    return None if value is None else f"{value:.{places}f}"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"


def _p(value: float | None) -> str | None:
    if value is None:
        return None
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _interval(low: float | None, high: float | None, places: int, times: int = 1) -> str | None:
    if low is None or high is None:
        return None
    return f"{times * low:.{places}f} to {times * high:.{places}f}"
