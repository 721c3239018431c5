"""`workbench annotate --estimate`: what a run would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.estimate import Estimate
    from agents.settings import AnnotationSettings
    from store.workspace import Workspace


def print_estimates(
    opened: Workspace, jobs: Sequence[AnnotationSettings], asked: Mapping[str, Any], *, as_json: bool
) -> None:
    """Print what some jobs would take.

    Args:
        opened: The open workspace.
        jobs: What each job is told.
        asked: Which items were asked for, for programs.
        as_json: Whether a program reads it.
    """
    from agents.estimate import estimate
    from workbench.output import print_json

    found = [estimate(opened, job) for job in jobs]
    if as_json:
        told = [{**each.as_json(), "asked": asked} for each in found]
        print_json({"runs": told} if len(told) > 1 else told[0])
        return
    for each in found:
        _print(each)


def _print(found: Estimate) -> None:
    from workbench.output import print_facts, print_table, say

    print_facts(
        f"Estimate: {found.configuration}",
        [
            ("pairs to do", f"{found.pairs:,}"),
            ("unclear", None if found.unclear_share is None else f"{found.unclear_share:.1%}"),
            ("requests", f"{found.total('requests'):,}"),
            ("tokens", f"{found.total('tokens_in'):,} in, {found.total('tokens_out'):,} out"),
            ("cost", "unknown: models.prices says no price" if found.money is None else _cost(found)),
        ],
    )
    say("")
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
                None if role.money is None else f"${role.money:,.4f}",
            )
            for role in found.roles
        ],
        wide=("model",),
    )
    say("", "Based on:", *(f"- {sentence}" for sentence in found.based_on))


def _cost(found: Estimate) -> str:
    money = found.money or 0.0
    return f"${money:,.4f}" + (f", ${money / found.pairs:,.5f} a pair" if found.pairs else "")
