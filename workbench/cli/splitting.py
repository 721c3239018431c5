"""`workbench split` and `workbench splits`: parts of the ground truth, and what they share."""

from __future__ import annotations

import csv
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from store.errors import WorkbenchError
from store.policy.scope import Shows
from workbench.cli.options import (
    Answer,
    ConfigFile,
    Workspace,
    command,
    in_shell,
    named,
    reading_session,
    session,
    settings,
)
from workbench.cli.rejected import says_rejected
from workbench.cli.study_options import Policy, TrueRater

if TYPE_CHECKING:
    from store.splits.grouping import Disjoint
    from store.splits.splits import SplitChanges, SplitDetails


class DisjointBy(StrEnum):
    """What no two parts of a split share."""

    query = "query"
    query_code = "query,code"
    repository = "repository"


_MOST_LINES = 1_000_000
"""Lines of a file with the part of each item."""


@command
@says_rejected
def split_command(
    workspace: Workspace,
    name: Annotated[str | None, typer.Argument(help="The name of the new split.", show_default=False)] = None,
    *,
    old_name: Annotated[str | None, typer.Option("--name", hidden=True)] = None,
    ratios: Annotated[
        str,
        typer.Option(metavar="R", help="Shares of train, dev and test; or named: train=8,test=2."),
    ] = "8:1:1",
    seed: Annotated[int, typer.Option(metavar="S", help="The seed.")] = 0,
    rater: TrueRater = None,
    policy: Policy = None,
    disjoint: Annotated[
        DisjointBy | None,
        typer.Option(help="What no two parts share; by default queries, or repositories without queries."),
    ] = None,
    stratify: Annotated[
        bool, typer.Option("--stratify", help="Give each part its share of every label.")
    ] = False,
    question: Annotated[
        str | None, typer.Option(metavar="Q", help="The question; that of the first kind by default.")
    ] = None,
    panel: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="The raters of the policy; people by default.")
    ] = None,
    study: Annotated[str | None, typer.Option(metavar="NAME", help="Only labels of this study.")] = None,
    with_revealed: Annotated[
        bool, typer.Option("--with-revealed", help="Count labels that were judged beside the agents', too.")
    ] = False,
    parts_from: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Take each item's part from a CSV file, item,part, and check it for leaks."
        ),
    ] = None,
    config: ConfigFile = None,
) -> Answer:
    """Split the ground truth: `workbench split WS v1 --ratios 8:1:1 --policy majority`.

    Near-duplicate queries stay in one part. A split stores its items and their current labels; export it with
    workbench export WS OUT --split NAME.
    """
    from store.analysis.labels import question_of_items
    from store.splits.allocation import parse_ratios
    from store.splits.grouping import DISJOINT
    from store.splits.splits import SplitPlan, default_disjoint, make_split

    if (name is None) == (old_name is None):
        raise WorkbenchError(
            "Which split?",
            "A new split needs a name."
            if name is None
            else f"The split has two names, {name} and {old_name}.",
            f"Name it after the workspace: {in_shell('split', workspace, 'v1')} --policy majority",
        )
    name = name or old_name or ""
    if (rater is None) == (policy is None):
        raise WorkbenchError(
            "Whose labels?",
            "A split needs true labels: of one rater, or by a policy of several raters.",
            "Give one: --rater NAME or --policy majority.",
        )
    given = None if parts_from is None else _read_parts(parts_from)
    parts = parse_ratios(ratios if given is None else _ratios_of(given))
    with session(workspace, settings(config), Shows.OTHERS, "A split uses") as opened:
        opened.share_cores()
        with opened.reading() as connection:
            asked = question or question_of_items(connection)
        by: Literal[Disjoint, "given"] = default_disjoint(asked)
        if given is not None:
            by = "given"
        elif disjoint is not None:
            by = next(one for one in DISJOINT if one == disjoint.value)
        plan = SplitPlan(
            question=asked,
            against=_source(rater, policy),
            parts=parts,
            disjoint=by,
            seed=seed,
            stratified=stratify,
            panel=tuple(named(panel)) if panel else None,
            study=study,
            with_revealed=with_revealed,
        )
        found = make_split(opened, name, plan, given=given)
    return Answer(
        {"workspace": workspace, **found.to_dict()},
        partial(_print_split, found),
        *_where_leaks_are(workspace, found),
        "",
        f"Export it: {in_shell('export', workspace, 'OUT', '--split', name, '--format', 'F')}",
    )


@command
@says_rejected
def splits_command(
    workspace: Workspace,
    name: Annotated[
        str | None, typer.Argument(help="The split to show; all are listed without one.", show_default=False)
    ] = None,
    *,
    now: Annotated[
        bool, typer.Option("--now", help="List the true labels that changed since the split.")
    ] = False,
    leaks: Annotated[bool, typer.Option("--leaks", help="Print what parts share, one by one.")] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the split; items and labels stay.")
    ] = False,
    config: ConfigFile = None,
) -> Answer:
    """List the splits of a workspace, or show one: sizes, balance, agreement and leakage of its parts."""
    from store.splits.changes_text import change_lines
    from store.splits.splits import delete_split, find_split, list_splits, split_changes

    if name is None and (now or leaks or delete):
        raise WorkbenchError(
            "Which split?", "--now, --leaks and --delete are about one split.", "Name it after the workspace."
        )
    changes = None
    with reading_session(workspace, settings(config), Shows.OTHERS, "A split uses") as (opened, _):
        with opened.reading() as connection:
            if name is None:
                every = list_splits(connection)
            elif not delete:
                found = find_split(connection, name)
                changes = split_changes(connection, found) if now else None
        if name is not None and delete:
            delete_split(opened, name)
    if name is None:
        fields = {"workspace": workspace, "splits": [one.to_dict() for one in every]}
        return Answer(fields, partial(_print_list, every))
    if delete:
        return Answer(
            {"workspace": workspace, "split": name, "deleted": True},
            f"The split {name} was deleted; its items and labels stay.",
        )
    return Answer(
        {
            "workspace": workspace,
            **found.to_dict(),
            **({} if changes is None else {"now": _changes_as_json(changes)}),
        },
        partial(_print_split, found),
        *([partial(_print_leaks, found)] if leaks else _where_leaks_are(workspace, found)),
        *([] if changes is None else ["", *change_lines(changes)]),
    )


def _where_leaks_are(workspace: Path, found: SplitDetails) -> list[str]:
    """Return the line that says how to see the leaks; none without leaks."""
    see = in_shell("splits", workspace, found.name, "--leaks")
    return [f"See them: {see}"] if found.report.leakage else []


def _source(rater: str | None, policy: str | None) -> str:
    """Return whose labels are true, a rater or a policy.

    Raises:
        WorkbenchError: There is no such policy.
    """
    from store.measures.truth import POLICIES

    if rater is not None:
        return rater
    assert policy is not None
    if policy not in POLICIES:
        raise WorkbenchError(
            "Unknown policy", f"No policy is called {policy!r}.", f"Policies: {', '.join(POLICIES)}."
        )
    return policy


def _read_parts(path: Path) -> dict[str, str]:
    """Read which item is in which part: a CSV file with the columns item and part."""
    found: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if not {"item", "part"} <= {*(rows.fieldnames or ())}:
                raise WorkbenchError(
                    "Columns missing", f"{path} has no columns item and part.", "Its first line is: item,part"
                )
            for number, row in enumerate(rows, 2):
                item, part = row["item"], row["part"]
                if not item or not part or item in found or number > _MOST_LINES:
                    raise WorkbenchError(
                        "Not understood",
                        f"{path}, line {number}: an item with its part is missing, or the item comes twice.",
                        "Give each item once.",
                    )
                found[item] = part
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WorkbenchError("Cannot read", f"{path}: {error}", "Name a CSV file: item,part") from error
    if len(set(found.values())) < 2:
        raise WorkbenchError("One part", f"{path} names less than two parts.", "Name two or more.")
    return found


def _ratios_of(given: dict[str, str]) -> str:
    """Return the ratios that given parts have, in the order in which they first occur."""
    numbers: dict[str, int] = {}
    for part in given.values():
        numbers[part] = numbers.get(part, 0) + 1
    return ",".join(f"{part}={number}" for part, number in numbers.items())


def _print_list(every: list[SplitDetails]) -> None:
    from workbench.output import print_table, say

    if not every:
        say("No split yet. Make one: workbench split WORKSPACE v1 --policy majority")
        return
    print_table(
        ("split", "labels of", "parts", "items", "leaks", "made"),
        [
            (
                one.name,
                one.plan.against,
                ", ".join(f"{part.part} {part.items:,}" for part in one.report.parts),
                sum(part.items for part in one.report.parts),
                one.leaks,
                f"{one.created_at:%Y-%m-%d}",
            )
            for one in every
        ],
        wide=("split", "parts"),
    )


def _print_split(found: SplitDetails) -> None:
    from store.formatting import pluralize
    from store.splits.grouping import COUNTED, DISJOINT_WORDS
    from store.splits.leakage import PROMISED
    from store.splits.splits import agreement_words
    from workbench.output import print_facts, print_table, say

    plan, report = found.plan, found.report
    true = report.truth
    whose = true.against if true.panel == (true.against,) else f"{true.against} of {', '.join(true.panel)}"
    largest = f", the largest with {100 * report.largest:.1f} % of the {COUNTED[plan.disjoint]}"
    left = pluralize(report.left_out, "item")
    print_facts(
        found.name,
        [
            ("question", plan.question),
            ("study", plan.study),
            ("true labels", f"{whose}: {true.units:,}"),
            ("undecided", f"{true.undecided:,}, in no part" if true.undecided else None),
            ("by one rater", f"{true.single:,} of the true labels" if true.single else None),
            ("parts", DISJOINT_WORDS[plan.disjoint]),
            ("kept together", f"{pluralize(report.groups, 'group')}{largest}" if report.groups else None),
            (
                "left out",
                f"{left} whose query and code came into different parts" if report.left_out else None,
            ),
            ("seed", f"{plan.seed}{', stratified by label' if plan.stratified else ''}"),
            ("made", f"{found.created_at:%Y-%m-%d %H:%M} UTC"),
            ("SHA-256", f"{found.digest[:16]}… of items, parts and labels"),
        ],
    )
    say("")
    queries = [one for one in report.parts if one.queries != one.items]
    values = sorted({float(value) for one in report.parts for value in one.labels})
    few = len(values) <= 5
    print_table(
        (
            *("part", "wanted", "achieved"),
            *(["queries"] if queries else []),
            "items",
            *([f"label {value:g}" for value in values] if few else []),
            *("agreement", "raters"),
        ),
        [
            (
                one.part,
                f"{100 * one.share:.1f} %",
                f"{100 * one.achieved:.1f} %",
                *([one.queries] if queries else []),
                one.items,
                *([one.labels.get(f"{value:g}", 0) for value in values] if few else []),
                "–" if one.agreement["alpha"] is None else f"α {one.agreement['alpha']:.3f}",
                one.agreement["raters"],
            )
            for one in report.parts
        ],
    )
    say(f"Wanted, achieved: shares of the {COUNTED[plan.disjoint]}.")
    say(*agreement_words(report), "")
    if not report.leakage:
        say("No leak found: no query, near-duplicate, code or repository in two parts.")
        return
    promised = PROMISED[plan.disjoint]
    print_table(
        ("shared", "between", "number", ""),
        [
            (
                sort,
                " and ".join(one.parts),
                one.number,
                "leak" if sort in promised else "not kept apart",
            )
            for sort, numbers in report.leakage.items()
            for one in numbers
        ],
    )
    say("", "This is looked for more strictly than parts are made.")


def _print_leaks(found: SplitDetails) -> None:
    from workbench.output import say

    if found.report.leaks:
        say("")
    for leak in found.report.leaks:
        similar = f", {leak.similarity:.2f}" if leak.sort == "near query" else ""
        say(f"{leak.sort}, {' and '.join(leak.parts)}{similar}:")
        if leak.sort != "same code":
            say(*(f"  {text}" for text in dict.fromkeys(leak.texts)))
        say(f"  items {leak.items[0]} and {leak.items[1]}")


def _changes_as_json(changes: SplitChanges) -> dict[str, object]:
    return {
        "changed": [{"item": item, "then": then, "now": today} for item, then, today in changes.changed],
        "gone": list(changes.gone),
        "new": list(changes.new),
    }
