"""`workbench replies`: the replies that a workspace keeps, what they cost, and what they have saved."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from store.formatting import dollars, pluralize
from workbench.cli.options import Answer, ConfigFile, Workspace, command, reading_session, settings

if TYPE_CHECKING:
    from store.queries.replies import ListedReply, ReplyTotals


@command
def replies_command(
    workspace: Workspace,
    *,
    limit: Annotated[int, typer.Option(min=0, help="How many to list, the latest first.")] = 20,
    config: ConfigFile = None,
) -> Answer:
    """List the cached replies of models, the latest first.

    Whatever run asks the same again is answered from them at no cost. The totals are those of all of them.
    A blind review has no list, since whose turns they were tells what was found unclear.
    """
    from store.policy.scope import Shows
    from store.queries.replies import list_replies, reply_totals
    from workbench.study_session import configured_viewer

    needs = (Shows.WHOLE, "The list of replies shows")
    with (
        reading_session(workspace, settings(config), *needs) as (opened, loaded),
        opened.reading() as connection,
    ):
        blind = not configured_viewer(loaded).may(Shows.AGENTS)
        totals, listed = reply_totals(connection), [] if blind else list_replies(connection, limit)
    return Answer(
        {**_totals_as_json(totals), "blind": blind, "listed": [_as_json(one) for one in listed]},
        partial(_print, workspace.name, totals, listed),
        *(["", "You review blind: the replies are not listed."] if blind else []),
    )


def _totals_as_json(totals: ReplyTotals) -> dict[str, object]:
    fields = asdict(totals)
    fields["cost"], fields["cost_unknown"] = fields.pop("money"), fields.pop("unpriced")
    fields["saved_cost"], fields["saved_cost_unknown"] = (
        fields.pop("saved_money"),
        fields.pop("saved_unpriced"),
    )
    return fields


def _as_json(one: ListedReply) -> dict[str, object]:
    fields = asdict(one)
    fields["cost"] = fields.pop("money")
    return fields


def _print(name: str, totals: ReplyTotals, listed: list[ListedReply]) -> None:
    from store.formatting import cost
    from workbench.output import print_facts, print_table, say

    print_facts(
        name,
        [
            ("replies", f"{totals.replies:,}"),
            ("tokens", f"{totals.tokens:,}"),
            ("cost", cost(totals.money, totals.unpriced, "reply", "replies")),
            ("used again", pluralize(totals.used, "time")),
            (
                "saved",
                None
                if not totals.used
                else f"{pluralize(totals.saved_requests, 'request')}, "
                f"{pluralize(totals.saved_tokens, 'token')}, "
                f"cost: {cost(totals.saved_money, totals.saved_unpriced)}",
            ),
        ],
    )
    if not listed:
        return
    say("")
    print_table(
        ("role", "model", "when", "tokens in", "cached", "out", "cost", "used"),
        [
            (
                one.role,
                one.snapshot,
                f"{one.created_at.astimezone():%Y-%m-%d %H:%M}",
                one.tokens_in,
                one.tokens_cached,
                one.tokens_out,
                None if one.money is None else dollars(one.money),
                one.used,
            )
            for one in listed
        ],
        wide=("model",),
    )
