"""`workbench report WORKSPACE preference` and `workbench measure preference FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.options import blind_review
from workbench.cli.report_agreement import named

if TYPE_CHECKING:
    from store.measures.preference_report import Options, PreferenceReport

EloK = Annotated[
    float | None,
    typer.Option(
        "--elo-k", min=0.001, max=1000, metavar="K", help="How far a battle moves an Elo rating; default 4."
    ),
]
Prior = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1000,
        metavar="T",
        help="Rate by a regularised fit: every two candidates are taken to have tied T times besides.",
    ),
]
Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="Score the others against this candidate (PCE of CoReQA).")
]
Judges = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Raters that are models, where the files do not show it."),
]

_PAIRS_PRINTED = 20
_RATERS_PRINTED = 20
_MATRICES_PRINTED = 3
_LEVELS = ("much better", "better", "same", "worse", "much worse")


def preference_options(
    *,
    elo_k: float | None,
    prior: float | None,
    baseline: str | None,
    raters: str | None,
    judges: str | None,
    bootstrap: int | None,
    seed: int | None,
) -> Options:
    """Return the options of a report as they are given on the command line."""
    from store.measures.preference_report import Options

    return Options(
        raters=None if raters is None else named(raters),
        judges=() if judges is None else named(judges),
        baseline=baseline,
        elo_k=4.0 if elo_k is None else elo_k,
        prior=prior or 0.0,
        resamples=1000 if bootstrap is None else bootstrap,
        seed=seed or 0,
    )


def report_preference(
    path: Path,
    options: Options,
    *,
    study: str | None,
    run: str | None,
    blind: bool,
    as_json: bool,
) -> None:
    """Print ratings, win rates and biases of the votes on the comparisons of a workspace.

    Args:
        path: The workspace.
        options: How they are computed.
        study: The study whose assignments count; None for all labels.
        run: The run of the agents that alone counts; None for all.
        blind: Whether the review is blind, so that there is no report.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind, or a name is unknown.
    """
    from store.measures.preference_report import preference_report
    from store.queries.preferences import preference_votes
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    if blind:
        raise blind_review("Preference rests")
    with Workspace.open(path) as opened, opened.reading() as connection:
        votes = preference_votes(connection, study=study, run=chosen_run(connection, run, blind=blind))
    found = preference_report(votes, options)
    if as_json:
        print_json({"report": "preference", "study": study, **found.to_dict()})
    else:
        print_preference(path.name, found)


def measure_preference(
    files: Sequence[Path], format_: str | None, options: Options, *, as_json: bool
) -> None:
    """Print the same of files of comparisons."""
    from store.ingest.votes import read_votes
    from store.measures.preference_report import preference_report
    from workbench.output import print_json

    found = preference_report(read_votes(files, format_), options)
    if as_json:
        print_json({"measure": "preference", "files": [str(one) for one in files], **found.to_dict()})
    else:
        print_preference(", ".join(one.name for one in files), found)


def print_preference(name: str, found: PreferenceReport) -> None:
    """Print a report on preference as tables."""
    from workbench.output import note, print_facts, print_table, say

    n = found.n
    print_facts(
        name,
        [
            ("comparisons", f"{n['items']:,} of {n['candidates']:,} candidates on {n['prompts']:,} prompts"),
            ("votes", f"{n['votes']:,} of {n['raters']:,}: {found.rated_by}"),
            ("battles", f"{n['battles']:,}, one for each comparison; without a majority: "
                        f"{n['without_majority']:,}"),
            ("both bad", n["both_bad"] or None),
            ("alpha, nominal", _number(found.alpha, 4)),
            ("Fleiss' kappa", _number(found.fleiss, 4)),
            ("Cohen's kappa", ", ".join(f"{pair} {_number(value, 4)}" for pair, value in found.cohen.items())
             if 0 < len(found.cohen) <= 3 else None),
        ],
    )  # fmt: skip
    if not n["battles"]:
        say("No comparison has a vote with a majority.")
        return
    say("")
    rating = "Bradley-Terry" + (f", prior {found.prior:g}" if found.prior else "")
    print_table(
        (
            *("candidate", rating, "95 % interval", "rank", "sandwich", f"Elo, K {found.elo_k:g}", "range"),
            *("won", "lost", "tied"),
        ),
        [
            (
                one.candidate,
                _number(one.bradley_terry),
                _interval(one.ci_low, one.ci_high, 1),
                one.rank,
                one.rank_sandwich,
                _number(one.elo),
                _interval(one.elo_low, one.elo_high, 1),
                one.wins,
                one.losses,
                one.ties,
            )
            for one in found.ratings
        ],
        wide=("candidate",),
    )
    if found.why_no_rating:
        say(f"No Bradley-Terry rating: {found.why_no_rating}. A regularised fit: --prior 1")
    say(
        "rank: one more than those whose bootstrap interval is above its own, as FastChat; sandwich: with "
        "the sandwich variance, as arena-rank. Elo depends on the order of the votes; its range is over "
        "shuffled orders."
    )
    _print_pairs(found)
    _print_raters(found)
    _print_agreement(found)
    _print_length(found)
    _print_scores(found)
    if found.warning:
        note(f"The intervals: {found.warning}.")


def _print_pairs(found: PreferenceReport) -> None:
    from workbench.output import print_table, say

    pairs = found.win_rate["pairs"]
    say("")
    print_table(
        ("candidate", "against", "win rate", "95 % interval", "items", "won", "lost", "tied", "p, sign test"),
        [
            (
                one["first"],
                one["second"],
                _percent(one["rate"]),
                _interval(one["low"], one["high"], 1, 100),
                one["sign_test"]["items"],
                one["sign_test"]["wins"],
                one["sign_test"]["losses"],
                one["sign_test"]["ties"],
                _p(one["sign_test"]["p_value"]),
            )
            for one in pairs[:_PAIRS_PRINTED]
        ],
        wide=("candidate", "against"),
    )
    if len(pairs) > _PAIRS_PRINTED:
        say(f"{len(pairs) - _PAIRS_PRINTED:,} more pairs: --json gives all of them.")


def _print_raters(found: PreferenceReport) -> None:
    from workbench.output import print_table, say

    if not found.position:
        return
    say("")
    print_table(
        ("rater", "group", "with a winner", "left", "95 % interval", "p", "both orders", "consistent"),
        [
            (
                one["rater"],
                one["group"],
                one["judgments"],
                _percent(one["share_left"]),
                _interval(one["low"], one["high"], 1, 100),
                _p(one["p_value"]),
                one["both_orders"] or None,
                _percent(one["consistency"]),
            )
            for one in found.position[:_RATERS_PRINTED]
        ],
        wide=("rater",),
    )
    if len(found.position) > _RATERS_PRINTED:
        say(f"{len(found.position) - _RATERS_PRINTED:,} more raters: --json gives up to 200.")
    say("left: verdicts for the candidate on the left; 50 % without a bias.")
    for one in [one for one in found.position if one["both_orders"]][:_MATRICES_PRINTED]:
        say("", f"{one['rater']} in both orders: the first one on the left, and (columns) on the right.")
        print_table(
            ("", *_LEVELS), [(level, *row) for level, row in zip(_LEVELS, one["matrix"], strict=True)]
        )


def _print_agreement(found: PreferenceReport) -> None:
    from workbench.output import print_table, say

    between = found.agreement["between"]
    if not between:
        return
    say("")
    print_table(
        ("votes of", "and of", "pairs of votes", "equal", "without ties"),
        [
            (
                one["of"],
                one["and"],
                one["with_ties"]["pairs"],
                _percent(one["with_ties"]["share"]),
                _percent(one["without_ties"]["share"]),
            )
            for one in between
        ],
    )


def _print_length(found: PreferenceReport) -> None:
    from workbench.output import say

    if found.length["rate"] is None:
        return
    thirds = ", ".join(_percent(one) or "-" for one in found.length["thirds"])
    say(
        "",
        f"The longer text wins {_percent(found.length['rate'])}; by thirds of the difference, the smallest "
        f"first: {thirds}.",
    )


def _print_scores(found: PreferenceReport) -> None:
    from workbench.output import print_table, say

    if found.score_against is None:
        return
    say("")
    print_table(
        ("candidate", f"score against {found.score_against['baseline']}", "verdicts", "rater"),
        [
            (one["candidate"], _number(one["score"]), one["verdicts"], one["rater"])
            for one in found.score_against["scores"][:_PAIRS_PRINTED]
        ],
        wide=("candidate", "rater"),
    )
    say("50 is as good as the baseline; much better and much worse count three times, ties half.")


def _number(value: float | None, places: int = 1) -> str | None:
    return None if value is None else f"{value:.{places}f}"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _interval(low: float | None, high: float | None, places: int, times: int = 1) -> str | None:
    if low is None or high is None:
        return None
    return f"{times * low:.{places}f} to {times * high:.{places}f}"
