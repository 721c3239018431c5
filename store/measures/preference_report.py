"""The report on preference: ratings, win rates, biases and agreement of the votes on comparisons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import comb
from typing import TYPE_CHECKING, Any

from store.errors import UnknownName
from store.measures.agreement import alpha_of_patterns
from store.measures.battles import Battle, Battles, majority
from store.measures.bradley_terry import rate, rate_by_sandwich
from store.measures.coefficients import Patterns
from store.measures.elo import MOST_UPDATES, elo, elo_after
from store.measures.intervals import LEAST_CLUSTERS, Bootstrap, of_proportion
from store.measures.preference import (
    LEVELS,
    Shown,
    SignTest,
    few_prompts,
    length_bias,
    position_bias,
    score_of_levels,
    sign_test,
    win_rates,
)
from store.measures.rating_table import RatingTable
from store.measures.significance import holm
from store.measures.table_agreement import rater_pairs, table_agreement
from store.measures.votes import Group, Vote, Votes

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

GROUPS: tuple[Group, ...] = ("people", "judges")
TENTHS = 10
"""Parts of the battles after each of which ratings are computed again."""
MOST_RATERS = 200
"""Raters beyond which those with the fewest votes are not listed one by one."""
MOST_VALUES = 50
"""Values of a field beyond which those with the fewest votes are left out."""
_FEW_RATERS = 20
"""Raters up to whom the win rates of each one get bootstrap intervals."""
_MOST_CELLS = 20_000_000
"""Raters times comparisons beyond which no coefficients of agreement are computed."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a report is computed.

    Attributes:
        raters: Whose votes make the ratings; None for people, or for judges where no person voted.
        judges: Raters that are models, beside those that are known to be.
        baseline: The candidate against which the others are scored; None for none.
        elo_k: How far one battle moves an Elo rating.
        prior: Ties that every two candidates are taken to have had besides, for a regularised fit; 0 for
            maximum likelihood.
        resamples: Resamples of prompts for intervals; 0 for none.
        shuffles: Random orders for the range of Elo ratings.
        seed: The seed of both.
        group_by: The field by which the comparisons are grouped; None for none.
    """

    raters: Collection[str] | None = None
    judges: Collection[str] = ()
    baseline: str | None = None
    elo_k: float = 4.0
    prior: float = 0.0
    resamples: int = 1000
    shuffles: int = 1000
    seed: int = 0
    group_by: str | None = None


@dataclass(frozen=True, slots=True)
class Rating:
    """The ratings of a candidate.

    Attributes:
        bradley_terry: By Bradley and Terry's model; None without one.
        ci_low: The lower end of its bootstrap interval over prompts.
        ci_high: The upper end.
        elo: By online Elo, which depends on the order of the battles.
        elo_low: The lowest Elo rating over shuffled orders; None without these.
        elo_high: The highest.
        wins: Battles won.
        losses: Battles lost.
        ties: Battles without a winner.
        rank: One more than those whose bootstrap interval is above its own (FastChat).
        rank_sandwich: The same with intervals by the sandwich variance (arena-rank).
    """

    candidate: str
    bradley_terry: float | None
    ci_low: float | None
    ci_high: float | None
    elo: float
    elo_low: float | None
    elo_high: float | None
    wins: int
    losses: int
    ties: int
    rank: int | None
    rank_sandwich: int | None


@dataclass(frozen=True, slots=True)
class PreferenceReport:
    """The report on preference.

    Attributes:
        rated_by: Whose votes make the ratings.
        ratings: Of each candidate, the best first.
        why_no_rating: Why there is no Bradley-Terry rating; empty where there is one.
        why_no_interval: Why there is a rating without its interval; empty otherwise.
        why_no_elo_range: Why there is no range of Elo ratings; empty where there is one.
        prior: The prior of the ratings; 0 for maximum likelihood.
        elo_k: How far one battle moved an Elo rating.
        warning: Why not to rely on intervals; empty for no reason.
        win_rate: Win rates of candidates and pairs: of all, by rater and by group.
        position: How verdicts depend on the side, by rater.
        agreement: Of people, of people with judges, and of judges.
        alpha: Krippendorff's alpha of the winners, nominal, over those whose votes make the ratings.
        fleiss: Fleiss' kappa of the same.
        cohen: Cohen's kappa of every two of them, by their names, joined by `-`.
        length: How far longer texts are preferred.
        settled: The ratings after each tenth of the battles.
        score_against: The scores of candidates against the baseline, by rater; None without a baseline.
        n: How much it was computed from.
    """

    rated_by: str
    ratings: Sequence[Rating]
    why_no_rating: str
    why_no_interval: str
    why_no_elo_range: str
    prior: float
    elo_k: float
    warning: str
    win_rate: Mapping[str, Any]
    position: Sequence[Mapping[str, Any]]
    agreement: Mapping[str, Any]
    alpha: float | None
    fleiss: float | None
    cohen: Mapping[str, float | None]
    length: Mapping[str, Any]
    settled: Sequence[Mapping[str, Any]]
    score_against: Mapping[str, Any] | None
    n: Mapping[str, int]
    ranks: Mapping[str, str] = field(
        default_factory=lambda: {
            "rank": "intervals by bootstrap over prompts, as FastChat",
            "rank_sandwich": "intervals by the sandwich variance, as arena-rank",
            "elo": "in the order of the votes, on which it depends; the range is over shuffled orders",
        }
    )


def preference_report(votes: Votes, options: Options = Options()) -> PreferenceReport:
    """Compute the report of some votes.

    Raises:
        UnknownName: A rater or the baseline is none of those that there are.
    """
    judges = votes.judges | frozenset(votes.named(options.judges))
    votes = replace(votes, judges=judges)
    # Of two equal texts, the one that is preferred shows a bias of position all the same.
    position = _position(votes)
    votes = votes.tied()
    groups = {group: [one for one in votes.raters if votes.group(one) == group] for group in GROUPS}
    rated_by, chosen = rated_by_whom(votes, options.raters)
    counted = votes.of(chosen)
    given, undecided = votes.battles(counted)
    battles = Battles.of(given)
    ratings, why_none = _ratings(battles, options)
    coefficients = _coefficients(votes, chosen, counted)
    return PreferenceReport(
        rated_by=rated_by,
        ratings=ratings,
        why_no_rating=why_none["why_no_rating"],
        why_no_interval=why_none["why_no_interval"],
        why_no_elo_range=why_none["why_no_elo_range"],
        prior=options.prior,
        elo_k=options.elo_k,
        warning=few_prompts(battles) if len(battles) else "",
        win_rate=_win_rates(votes, chosen, groups, options),
        position=position,
        agreement={
            "between": _between(votes, groups, Bootstrap(options.resamples, options.seed)),
            **coefficients.pop("beside"),
        },
        **coefficients,
        length=_length(votes, counted),
        settled=_settled(given, options),
        score_against=None if options.baseline is None else _scores(votes, options),
        n={
            "items": len(votes.items),
            "prompts": len({one.prompt for one in votes.items.values()}),
            "candidates": len(_candidates(votes)),
            "votes": len(counted),
            "raters": len(chosen),
            "people": len(groups["people"]),
            "judges": len(groups["judges"]),
            "battles": len(battles),
            "without_majority": len(undecided),
            "both_bad": sum(one.both_bad for one in counted),
            "revealed": sum(one.revealed for one in counted),
            "equal_texts": sum(one.alike for one in votes.items.values()),
            "without_vote": len(votes.items) - len({one.item for one in counted}),
        },
    )


def rated_by_whom(votes: Votes, raters: Collection[str] | None = None) -> tuple[str, list[str]]:
    """Return whose votes make the ratings: in a word or by name, and their names.

    Args:
        votes: The votes.
        raters: The raters that are named; None for people, or for judges where no person voted.

    Raises:
        UnknownName: Nobody of a name has a vote.
    """
    if raters is not None:
        chosen = votes.named(raters)
        return ", ".join(chosen), chosen
    people = [one for one in votes.raters if votes.group(one) == "people"]
    return "people" if votes.of(people) else "judges", people or votes.raters


def _candidates(votes: Votes) -> list[str]:
    return sorted({name for one in votes.items.values() for name in (one.first, one.second)})


def _ratings(battles: Battles, options: Options) -> tuple[list[Rating], dict[str, str]]:
    """Return the rating of each candidate, and why there is none, or no interval."""
    reasons = {"why_no_rating": "", "why_no_interval": "", "why_no_elo_range": ""}
    if not len(battles):
        return [], dict.fromkeys(reasons, "no comparison has a vote with a majority")
    fitted = rate(battles, resamples=options.resamples, seed=options.seed, prior=options.prior)
    sandwich = rate_by_sandwich(battles)
    online = elo(battles, k=options.elo_k, shuffles=options.shuffles, seed=options.seed)
    nothing = (None,) * len(battles.candidates)
    found = [
        Rating(name, value, low, high, now, lowest, highest, wins, losses, ties, rank, other)
        for name, value, low, high, now, lowest, highest, (wins, losses, ties), rank, other in zip(
            battles.candidates,
            fitted.values,
            fitted.low or nothing,
            fitted.high or nothing,
            online.values,
            online.low or nothing,
            online.high or nothing,
            battles.tallies(),
            fitted.ranks or nothing,
            sandwich.ranks or nothing,
            strict=True,
        )
    ]
    found.sort(key=lambda one: (-(one.bradley_terry or 0.0), -one.elo, one.candidate))
    reasons["why_no_rating"] = fitted.why
    if not fitted.why and not fitted.low:
        reasons["why_no_interval"] = (
            "no resamples"
            if not options.resamples
            else f"there are under {LEAST_CLUSTERS} prompts"
            if battles.prompts < LEAST_CLUSTERS
            else "all resamples agree"
            if fitted.resamples
            else "in no resample do the wins connect all candidates"
        )
    if not online.low:
        reasons["why_no_elo_range"] = (
            f"more than {MOST_UPDATES:,} battles" if options.shuffles else "no shuffled orders"
        )
    return found, reasons


def _win_rates(
    votes: Votes, chosen: Collection[str], groups: Mapping[Group, list[str]], options: Options
) -> dict[str, Any]:
    whole = _rates_of(votes, votes.of(chosen), options)
    by_group = {
        group: whole if set(raters) == set(chosen) else _rates_of(votes, votes.of(raters), options)
        for group, raters in groups.items()
        if raters
    }
    of_rater: dict[str, list[Vote]] = defaultdict(list)
    for one in votes.labels:
        of_rater[one.rater].append(one)
    listed = sorted(of_rater, key=lambda name: -len(of_rater[name]))[:MOST_RATERS]
    # Few votes of each of many raters: an interval of each would take the longest, and say the least.
    of_one = options if len(listed) <= _FEW_RATERS else replace(options, resamples=0)
    return {
        **whole,
        "by_rater": [
            {
                "rater": name,
                "group": votes.group(name),
                "votes": len(of_rater[name]),
                **(whole if [name] == list(chosen) else _rates_of(votes, of_rater[name], of_one)),
            }
            for name in sorted(listed)
        ],
        "raters_left_out": len(of_rater) - len(listed),
        "by_group": by_group,
        "by_field": None if options.group_by is None else _by_field(votes, votes.of(chosen), options),
    }


def _by_field(votes: Votes, some: Sequence[Vote], options: Options) -> dict[str, Any]:
    """Return the win rates among the comparisons with each value of a field, those with most votes first."""
    of_value: dict[str, list[Vote]] = defaultdict(list)
    for one in some:
        of_value[votes.items[one.item].group].append(one)
    listed = sorted(of_value, key=lambda value: (-len(of_value[value]), value))[:MOST_VALUES]
    return {
        "field": options.group_by,
        "values": [
            {
                "value": value,
                "votes": len(of_value[value]),
                "items": len({one.item for one in of_value[value]}),
                **_rates_of(votes, of_value[value], options),
            }
            for value in listed
        ],
        "values_left_out": len(of_value) - len(listed),
    }


def _rates_of(votes: Votes, some: Sequence[Vote], options: Options) -> dict[str, Any]:
    """Return the win rates of candidates and pairs by some votes, each comparison counted once."""
    given, _ = votes.battles(some)
    rates = win_rates(Battles.of(given), resamples=options.resamples, seed=options.seed)
    of_pair: dict[tuple[str, str], list[Battle]] = defaultdict(list)
    for one in given:
        of_pair[min(one.first, one.second), max(one.first, one.second)].append(one)
    ballots: dict[tuple[str, str], list[tuple[Hashable, float]]] = defaultdict(list)
    for vote in some:
        pairing = votes.items[vote.item]
        first, second = sorted((pairing.first, pairing.second))
        score = vote.score if pairing.first == first else 1 - vote.score
        ballots[first, second].append((vote.item, score))
    tests = {names: sign_test(ballots[names]) for names in sorted(ballots)}
    pairs = [_pair(names, of_pair.get(names, []), test, options) for names, test in tests.items()]
    _adjust(pairs, [test.p_value if test.wins + test.losses else None for test in tests.values()])
    return {"candidates": [asdict(one) for one in rates], "pairs": pairs}


def _pair(
    names: tuple[str, str], battles: Sequence[Battle], test: SignTest, options: Options
) -> dict[str, Any]:
    """Return how often the first of two candidates is preferred to the second, and the sign test of it."""
    rate_ = low = high = None
    if battles:
        found = win_rates(Battles.of(battles), resamples=options.resamples, seed=options.seed)
        own = next(one for one in found if one.candidate == names[0])
        rate_, low, high = own.rate, own.low, own.high
    return {
        "first": names[0],
        "second": names[1],
        "rate": rate_,
        "low": low,
        "high": high,
        "sign_test": asdict(test),
    }


def by_side(votes: Votes) -> dict[str, list[Shown]]:
    """Return the verdicts of each rater where it is known who was on which side."""
    of_rater: dict[str, list[Shown]] = defaultdict(list)
    for some in (votes.orders, votes.labels):
        for one in some:
            if one.first_left is not None:
                of_rater[one.rater].append((one.item, round(2 - one.value), one.first_left))
    return of_rater


def _position(votes: Votes) -> list[dict[str, Any]]:
    """Return how the verdicts of each rater depend on the side, where it is known."""
    of_rater = by_side(votes)
    listed = sorted(of_rater, key=lambda name: -len(of_rater[name]))[:MOST_RATERS]
    found: list[dict[str, Any]] = []
    for name in sorted(listed, key=lambda name: (name in votes.judges, name)):
        bias = position_bias(of_rater[name], votes.items)
        consistency = bias.consistent / bias.both_orders if bias.both_orders else None
        found.append({"rater": name, "group": votes.group(name), **asdict(bias), "consistency": consistency})
    _adjust(found, [one["p_value"] for one in found])
    return found


def _adjust(tested: Sequence[dict[str, Any]], p_values: Sequence[float | None]) -> None:
    """Add to each of some tests its p-value with Holm's correction over all of them.

    A p-value is None where there was nothing to test.
    """
    adjusted = iter(holm([value for value in p_values if value is not None]))
    for one, value in zip(tested, p_values, strict=True):
        one["p_adjusted"] = None if value is None else next(adjusted)


def _between(votes: Votes, groups: Mapping[Group, list[str]], bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """Return the share of equal votes over all pairs of votes on one comparison, as MT-bench has it.

    All ties are equal to each other. Without ties, only pairs count of which neither is a tie. The pairs of a
    prompt are not independent, so that intervals are over prompts.
    """
    import numpy

    winners: dict[Group, dict[Hashable, Counter[int]]] = {group: defaultdict(Counter) for group in groups}
    for one in votes.labels:
        winners[votes.group(one.rater)][one.item][one.winner] += 1
    found = []
    pairs_of_groups: tuple[tuple[Group, Group], ...] = (
        ("people", "people"),
        ("people", "judges"),
        ("judges", "judges"),
    )
    for one_group, other_group in pairs_of_groups:
        totals: dict[bool, dict[Hashable, list[int]]] = {True: {}, False: {}}
        for item, ours in winners[one_group].items():
            theirs = winners[other_group].get(item)
            if theirs is None:
                continue
            for ties, by_prompt in totals.items():
                equal, pairs = _equal(ours, None if one_group == other_group else theirs, ties=ties)
                if pairs:
                    total = by_prompt.setdefault(votes.items[item].prompt, [0, 0])
                    total[0] += equal
                    total[1] += pairs
        if not totals[True]:
            continue
        entry: dict[str, Any] = {"of": one_group, "and": other_group}
        for ties, by_prompt in totals.items():
            above, below = numpy.array([*by_prompt.values()], dtype=float).reshape(-1, 2).T
            equal, pairs = int(above.sum()), int(below.sum())
            share = equal / pairs if pairs else None
            interval = bootstrap.of_ratio(above, below)
            if bootstrap.resamples:
                interval = of_proportion(interval, share)
            entry["with_ties" if ties else "without_ties"] = {
                "pairs": pairs,
                "equal": equal,
                "share": share,
                "low": interval.low,
                "high": interval.high,
                "prompts": len(by_prompt),
            }
        found.append(entry)
    return found


def _equal(ours: Counter[int], theirs: Counter[int] | None, *, ties: bool) -> tuple[int, int]:
    """Return how many pairs of votes are equal, and how many there are; within one group without others."""
    mine = {winner: number for winner, number in ours.items() if ties or winner}
    if theirs is None:
        return sum(comb(number, 2) for number in mine.values()), comb(sum(mine.values()), 2)
    other = {winner: number for winner, number in theirs.items() if ties or winner}
    equal = sum(number * other.get(winner, 0) for winner, number in mine.items())
    return equal, sum(mine.values()) * sum(other.values())


def _coefficients(votes: Votes, chosen: Sequence[str], counted: Sequence[Vote]) -> dict[str, Any]:
    """Return alpha, Fleiss' and Cohen's kappas of the winners, and beside them what else there is."""
    import numpy

    nothing: dict[str, Any] = {"alpha": None, "fleiss": None, "cohen": {}}
    voted = {one.rater for one in counted}
    names = [name for name in chosen if name in voted]
    items = list(dict.fromkeys(one.item for one in counted))
    if len(names) < 2 or len(names) * len(items) > _MOST_CELLS:
        why = "fewer than two raters" if len(names) < 2 else "too many raters"
        return {**nothing, "beside": {"raters": names[:MOST_RATERS], "why_none": why}}
    row = {name: place for place, name in enumerate(names)}
    column = {item: place for place, item in enumerate(items)}
    winner = numpy.full((len(names), len(items)), numpy.nan)
    level = numpy.full((len(names), len(items)), numpy.nan)
    for one in counted:
        place = row[one.rater], column[one.item]
        sign = -1 if votes.items[one.item].flipped else 1
        winner[place] = sign * one.winner
        if not one.both_bad:
            level[place] = sign * one.value
    prompt: dict[Hashable, int] = {}
    clusters = numpy.array([prompt.setdefault(votes.items[item].prompt, len(prompt)) for item in items])

    def table(values: Array) -> RatingTable:
        return RatingTable("wide", tuple(names), Patterns.of_ratings(list(values)), (), clusters)

    whole = table_agreement(table(winner), level="nominal", pairs=False)
    decided = table(numpy.where(winner == 0, numpy.nan, winner))
    pairs = rater_pairs(table(winner))
    return {
        "alpha": whole.alpha["nominal"],
        "fleiss": whole.fleiss,
        "cohen": {"-".join(pair.raters): pair.cohen for pair in pairs},
        "beside": {
            "raters": names,
            "why_none": whole.why,
            "percent": whole.percent,
            "alpha_ordinal": alpha_of_patterns(Patterns.of_ratings(list(level)), "ordinal").value,
            "alpha_without_ties": alpha_of_patterns(decided.patterns, "nominal").value,
            "pairs": [
                {"raters": pair.raters, "units": pair.units, "percent": pair.percent, "cohen": pair.cohen}
                for pair in pairs
            ],
        },
    }


def _length(votes: Votes, counted: Sequence[Vote]) -> dict[str, Any]:
    """Return how far longer texts are preferred, and each pair's win rate at equal lengths."""
    scores: dict[Hashable, list[float]] = defaultdict(list)
    for one in counted:
        scores[one.item].append(one.score)
    of_pair: dict[tuple[str, str], list[tuple[float, int, int]]] = defaultdict(list)
    every: list[tuple[float, int, int]] = []
    for item, given in scores.items():
        pairing = votes.items[item]
        lengths = pairing.lengths
        if lengths is None:
            continue
        score = majority(given)
        if score is None:
            continue
        every.append((score, *lengths))
        names = min(pairing.first, pairing.second), max(pairing.first, pairing.second)
        swapped = names[0] != pairing.first
        of_pair[names].append((1 - score, lengths[1], lengths[0]) if swapped else (score, *lengths))
    if not every:
        return {"battles": [], "rate": None, "thirds": [], "pairs": [], "why_none": "no texts"}
    whole = length_bias(*zip(*every, strict=True))
    pairs = []
    for (first, second), some in sorted(of_pair.items()):
        bias = length_bias(*zip(*some, strict=True))
        pairs.append(
            {
                "first": first,
                "second": second,
                "n": len(some),
                "raw": bias.raw,
                "controlled": bias.controlled,
                "why_none": "" if bias.controlled is not None else "lengths or wins leave no maximum",
            }
        )
    return {
        "battles": whole.battles,
        "rate": whole.rate,
        "thirds": whole.thirds,
        "pairs": pairs,
        "why_none": "",
    }


def _settled(given: Sequence[Battle], options: Options) -> list[dict[str, Any]]:
    """Return the ratings after each tenth of the battles, of the candidates that were in one of them."""
    sizes = {len(given) * tenth // TENTHS: tenth / TENTHS for tenth in range(TENTHS, 0, -1)}
    numbers = sorted(size for size in sizes if size)
    every = Battles.of(given)
    online = elo_after(every, numbers, k=options.elo_k)
    found = []
    for size, ratings in zip(numbers, online, strict=True):
        battles = Battles.of(given[:size])
        fitted = rate(battles, resamples=0, prior=options.prior)
        by_name = dict(zip(every.candidates, ratings, strict=True))
        found.append(
            {
                "share": sizes[size],
                "battles": size,
                "bradley_terry": dict(zip(battles.candidates, fitted.values, strict=True)),
                "elo": {name: by_name[name] for name in battles.candidates},
                "why_no_rating": fitted.why,
            }
        )
    return found


def _scores(votes: Votes, options: Options) -> dict[str, Any]:
    """Return the scores of the other candidates against a baseline (PCE of CoReQA).

    They are by rater, by group (people, judges), and by the values of a field in each group. Verdicts in both
    orders, and those of several raters, are pooled.

    Raises:
        UnknownName: No candidate is called so.
    """
    candidates, baseline = _candidates(votes), options.baseline
    if baseline not in candidates:
        raise UnknownName(
            "Unknown candidate",
            f"No candidate is called {baseline!r}.",
            f"Candidates: {', '.join(candidates[:20])}.",
        )
    in_orders = {one.rater for one in votes.orders}
    verdicts = [*votes.orders, *(one for one in votes.labels if one.rater not in in_orders)]
    of_rater: dict[tuple[str, str], list[tuple[Vote, int]]] = defaultdict(list)
    of_group: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    of_value: dict[tuple[str, str, str], Counter[int]] = defaultdict(Counter)
    for one in verdicts:
        pairing = votes.items[one.item]
        if baseline in (pairing.first, pairing.second):
            of_first = pairing.second == baseline
            candidate = pairing.first if of_first else pairing.second
            level = round(2 - one.value if of_first else 2 + one.value)
            of_rater[one.rater, candidate].append((one, level))
            of_group[votes.group(one.rater), candidate][level] += 1
            of_value[pairing.group, votes.group(one.rater), candidate][level] += 1
    by_field = None
    if options.group_by is not None:
        by_field = {
            "field": options.group_by,
            "scores": [
                {"value": value, "group": group, "candidate": candidate, **_score(levels)}
                for (value, group, candidate), levels in sorted(of_value.items())[: MOST_RATERS * 10]
            ],
        }
    return {
        "baseline": baseline,
        "scores": [
            {
                "rater": rater,
                "group": votes.group(rater),
                "candidate": candidate,
                **_score(Counter(level for _, level in some)),
                "matrix": _both_orders(votes, some, candidate) if rater in in_orders else None,
            }
            for (rater, candidate), some in sorted(of_rater.items())[: MOST_RATERS * 10]
        ],
        "by_group": [
            {"group": group, "candidate": candidate, **_score(levels)}
            for (group, candidate), levels in sorted(of_group.items())
        ],
        "by_field": by_field,
    }


def _score(levels: Counter[int]) -> dict[str, Any]:
    """Return the score of verdicts, counted by their level."""
    return {
        "score": score_of_levels([levels[level] for level in range(LEVELS)]),
        "verdicts": levels.total(),
    }


def _both_orders(votes: Votes, some: Sequence[tuple[Vote, int]], candidate: str) -> list[list[int]]:
    """Return how often each level with the candidate on the left (rows) came with each on the right."""
    orders: dict[Hashable, dict[bool, int]] = defaultdict(dict)
    for one, level in some:
        if one.first_left is not None:
            is_first = votes.items[one.item].first == candidate
            orders[one.item].setdefault(one.first_left == is_first, level)
    matrix = [[0] * LEVELS for _ in range(LEVELS)]
    for levels in orders.values():
        if len(levels) == 2:
            matrix[levels[True]][levels[False]] += 1
    return matrix
