"""`workbench annotate --estimate`: the expected cost of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from store.formatting import dollars
from workbench.cli.options import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.jobs.estimate import Estimate
    from agents.settings import JobSettings
    from store.workspace.duckdb import Workspace


def estimates(
    opened: Workspace,
    jobs: Sequence[JobSettings],
    asked: Mapping[str, Any],
    blind: bool,
) -> Answer:
    """Return the estimates of some jobs.

    Args:
        opened: The open workspace.
        jobs: The settings of each job.
        asked: Which items were asked for, for programs.
        blind: Leave out what tells how earlier items were assessed.
    """
    from agents.jobs.estimate import estimate

    found = [estimate(opened, job) for job in jobs]
    fields = [{**each.to_dict(blind=blind), "asked": asked} for each in found]
    return Answer(
        {"runs": fields} if len(fields) > 1 else fields[0],
        *(partial(_print, each, blind=blind) for each in found),
        *([partial(_print_sum, found)] if len(found) > 1 else []),
    )


_UNKNOWN = "unknown: set the models' prices in models.prices of the configuration"


def _print_sum(found: Sequence[Estimate]) -> None:
    from workbench.output import print_facts

    known = [each.money for each in found if each.money is not None]
    sums = {what: sum(each.total(what) for each in found) for what in ("requests", "tokens_in", "tokens_out")}
    print_facts(
        "All together",
        [
            ("requests", f"{sums['requests']:,}"),
            ("tokens", f"{sums['tokens_in']:,} in, {sums['tokens_out']:,} out"),
            ("cost", dollars(sum(known)) if len(known) == len(found) else _UNKNOWN),
        ],
    )


def _print(found: Estimate, *, blind: bool) -> None:
    from workbench.output import print_facts, print_table, say

    print_facts(
        f"Estimate: {found.configuration}",
        [
            ("items to do", f"{found.items:,}"),
            *(
                (name.removesuffix("_share"), None if share is None else f"{100 * share:.1f} %")
                for name, share in ({} if blind else found.facts).items()
            ),
            ("requests", f"{found.total('requests'):,}"),
            ("tokens", f"{found.total('tokens_in'):,} in, {found.total('tokens_out'):,} out"),
            ("cost", _UNKNOWN if found.money is None else _cost(found)),
        ],
    )
    say("")
    if blind:
        say("You review blind: the parts of the estimate by role are left out.", "")
        return
    print_table(
        ("role", "model", "kept", "requests", "tokens in", "tokens out", "cost"),
        [
            (
                role.role,
                role.model,
                round(role.kept),
                round(role.requests),
                round(role.tokens_in),
                round(role.tokens_out),
                None if role.money is None else dollars(role.money),
            )
            for role in found.roles
        ],
        wide=("model",),
    )
    say("", "Based on:", *(f"- {sentence}" for sentence in found.based_on), "")


def _cost(found: Estimate) -> str:
    money = found.money or 0.0
    return dollars(money) + (f", {dollars(money / found.items)} an item" if found.items else "")
