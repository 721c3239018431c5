"""`workbench report WORKSPACE confusion`, `labels` and `time`."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import WorkbenchError, blind_review

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from store.measures.intervals import Bootstrap
    from store.queries.confusion import Confusion
    from store.queries.label_counts import LabelCounts
    from store.queries.times import TimeBin, TimesReport


def report_confusion(
    path: Path,
    question: str | None,
    *,
    raters: Sequence[str] | None,
    study: str | None,
    run: str | None,
    bootstrap: Bootstrap,
    blind: bool,
    as_json: bool,
) -> None:
    """Print how often each label of one rater goes with each label of another.

    Args:
        path: The workspace.
        question: The question; None for that of the first kind in the workspace.
        raters: The two raters; None for the first two, of different kinds where there are.
        study: The study whose assignments count; None for all labels.
        run: The run of the agents that alone is compared; None for all.
        bootstrap: How the interval of kappa is drawn.
        blind: Whether the review is blind, so that there is no report.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind, a name is unknown, or there are not two raters.
    """
    from store.queries.confusion import confusion
    from store.queries.labels import question_of_items
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    if blind:
        raise blind_review("A confusion matrix uses")
    with _reading(path) as connection:
        found = confusion(
            connection,
            question or question_of_items(connection),
            raters=raters,
            study=study,
            run=chosen_run(connection, run, blind=blind),
            bootstrap=bootstrap,
        )
    if as_json:
        print_json({"report": "confusion", **found.to_dict()})
    else:
        _print_confusion(path.name, found)


def report_labels(
    path: Path,
    question: str | None,
    *,
    raters: Sequence[str] | None,
    study: str | None,
    run: str | None,
    own: str | None,
    as_json: bool,
) -> None:
    """Print how often each rater gave each label of a question.

    Args:
        path: The workspace.
        question: The question; None for that of the first kind in the workspace.
        raters: The only raters; None for all.
        study: The study whose assignments count; None for all labels.
        run: The run of the agents that alone counts; None for all.
        own: The rater of a blind review, whose labels alone are counted; None where it is not blind.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind and others are named, or a name is unknown.
    """
    from store.queries.label_counts import label_counts
    from store.queries.labels import question_of_items
    from workbench.output import print_json
    from workbench.run_option import chosen_run

    _check_own(own, raters, "The report on labels uses")
    with _reading(path) as connection:
        found = label_counts(
            connection,
            question or question_of_items(connection),
            raters=raters if own is None else None,
            study=study,
            run=chosen_run(connection, run, blind=own is not None),
            own=own,
        )
    if as_json:
        print_json({"report": "labels", **found.to_dict()})
    else:
        _print_labels(path.name, found)


def report_time(
    path: Path,
    kind: str | None,
    *,
    raters: Sequence[str] | None,
    study: str | None,
    own: str | None,
    as_json: bool,
) -> None:
    """Print how long raters took for an item, and how that changes in a session.

    Args:
        path: The workspace.
        kind: The kind of the items; None for the first one in the workspace.
        raters: The only raters; None for all.
        study: The study whose assignments count; None for all labels.
        own: The rater of a blind review, whose times alone are read; None where it is not blind.
        as_json: Whether it is printed as JSON.

    Raises:
        WorkbenchError: The review is blind and others are named, or a name is unknown.
    """
    from store.kinds.spec import task_kinds
    from store.queries.labels import kinds_of_items
    from store.queries.times import times_report
    from workbench.output import print_json

    _check_own(own, raters, "The report on times uses")
    with _reading(path) as connection:
        here = kinds_of_items(connection) or list(task_kinds().values())
        given = raters if own is None else None
        found = times_report(connection, kind or here[0].name, raters=given, study=study, own=own)
    if as_json:
        print_json({"report": "time", **found.to_dict()})
    else:
        _print_times(path.name, found)


@contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    from store.workspace.duckdb import Workspace

    with Workspace.open(path) as opened:
        opened.share_cores()
        with opened.reading() as connection:
            yield connection


def _check_own(own: str | None, raters: Sequence[str] | None, subject: str) -> None:
    """Refuse the labels of others in a blind review, and those of nobody.

    Raises:
        WorkbenchError: Others are named, or nobody judges.
    """
    if own is None:
        return
    if not own:
        raise WorkbenchError(
            "No rater",
            "A blind review reports on your own labels alone.",
            "Set rater in the configuration.",
        )
    if raters is not None and set(raters) != {own}:
        raise blind_review(subject)


def _word(question: str, value: float) -> str:
    from store.kinds.spec import question_named

    spec = question_named(question.partition("@")[0])
    return f"{value:g}" if spec is None else spec.scale.word(value)


def _print_confusion(name: str, found: Confusion) -> None:
    from workbench.output import note, print_facts, print_table, say

    labels, (first, second), figures = found.labels, found.raters, found.pair.figures
    kappa = f"none: {figures.why}" if figures.cohen is None else f"{figures.cohen:.3f}"
    if figures.ci_low is not None:
        kappa += f"   95 % interval {figures.ci_low:.3f} to {figures.ci_high:.3f}"
    print_facts(
        name,
        [
            ("question", labels.question),
            ("study", labels.study),
            ("lines", first),
            ("columns", second),
            ("labels of both", figures.units),
            ("equal texts", labels.ties),
            ("percent agreement", None if figures.percent is None else f"{figures.percent:.1f} %"),
            ("Cohen's kappa", kappa),
            ("judged blind", found.pair.blind or None),
            ("judged revealed", found.pair.revealed or None),
        ],
    )
    if not figures.units:
        say("No item has a label of both.")
        return
    say("")
    rows = [
        (_word(labels.question, value), *map(int, counts), int(counts.sum()))
        for value, counts in zip(found.values, found.counts, strict=True)
    ]
    sums = found.counts.sum(axis=0)
    print_table(
        ("", *(f"{value:g}" for value in found.values), "all"),
        [*rows, ("all", *map(int, sums), int(sums.sum()))],
    )
    if found.rounded:
        note("Labels are rounded to whole numbers in the table, not in kappa.")


def _print_labels(name: str, found: LabelCounts) -> None:
    from workbench.output import harmless, print_bars, print_facts, say

    labels = found.labels
    print_facts(
        name,
        [
            ("question", labels.question),
            ("study", labels.study),
            ("items", labels.items),
            ("responses", labels.responses),
            ("equal texts", labels.ties),
        ],
    )
    if not found.raters:
        say("This question has no label yet.")
    for one in found.raters:
        counts = [found.count(one, value) for value in found.values]
        say("", harmless(f"{one.name} ({one.kind}): {one.labelled:,}", style="bold underline"))
        print_bars(
            ("label", "n", "share"),
            [
                (_word(labels.question, value), count, f"{100 * count / max(one.labelled, 1):.1f} %")
                for value, count in zip(found.values, counts, strict=True)
            ],
            counts,
        )


def _print_times(name: str, found: TimesReport) -> None:
    from store.queries.times import PAUSE
    from workbench.output import harmless, print_bars, print_facts, say

    print_facts(
        name,
        [
            ("kind", found.kind),
            ("study", found.study),
            ("raters", ", ".join(found.raters) or None),
            ("times", len(found.times)),
            ("median", None if found.median is None else f"{found.median:.1f} s"),
            ("mean", None if found.mean is None else f"{found.mean:.1f} s"),
            ("sessions", found.sessions or None),
        ],
    )
    if not found.times:
        say("No times yet: they are measured when items are judged in the app.")
        return
    say("", harmless("Time for each item, seconds", style="bold underline"))
    print_bars(
        ("seconds", "n", "share"),
        [(one.span(), one.n, f"{100 * one.n / len(found.times):.1f} %") for one in found.histogram],
        [one.n for one in found.histogram],
    )
    say("", harmless("Median by place in the session", style="bold underline"))
    print_bars(
        ("place", "n", "median s", "half of them"),
        [
            (one.span(places=True), one.n, None if one.median is None else f"{one.median:.1f}", _half(one))
            for one in found.by_place
        ],
        [one.median for one in found.by_place],
    )
    say(f"A session ends with a pause of {PAUSE.seconds // 60} minutes.")


def _half(one: TimeBin) -> str:
    if one.quarter is None or one.three_quarters is None:
        return ""
    return f"{one.quarter:.1f} to {one.three_quarters:.1f}"
