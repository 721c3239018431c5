"""`workbench adjudicate` and `workbench rule`: what raters disagree about, and rulings by command."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from store.policy.scope import Shows
from workbench.cli.options import (
    Answer,
    ConfigFile,
    RaterName,
    RunName,
    Workspace,
    command,
    given_rater,
    session,
    settings,
)

if TYPE_CHECKING:
    from store.studies.adjudication import Adjudication
    from store.studies.disputes import Dispute, DisputedLabel

StudyOption = Annotated[
    str | None, typer.Option("--study", metavar="STUDY", help="Labels of this study; all labels by default.")
]
QuestionOption = Annotated[
    str | None, typer.Option(metavar="QUESTION", help="Only this question, such as answer.accuracy.")
]

MOST_FOR_PEOPLE = 500
"""Lines of a list that somebody may want to read; the true count is printed below it."""


@command
def adjudicate_command(
    workspace: Workspace,
    *,
    study: StudyOption = None,
    question: QuestionOption = None,
    agents: Annotated[
        bool,
        typer.Option(
            "--agents",
            help="Show the agents' labels too; your rulings on these items are revealed from then on.",
        ),
    ] = False,
    names: Annotated[bool, typer.Option("--names", help="Show the raters' names.")] = False,
    back: Annotated[
        str | None,
        typer.Option(
            "--send-back", metavar="ITEM", help="Have the raters of an open study judge this item again."
        ),
    ] = None,
    remark: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="The note to the raters; do not name a label.")
    ] = "",
    run: RunName = None,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """List what raters disagree about, the largest disagreement first: `workbench adjudicate WS --study rq2`.

    Raters have pseudonyms, and the agents' labels stay hidden unless they are asked for. An item is sent back
    by: `workbench adjudicate WS --study rq2 --send-back q-0042 --note "what does an empty list give?"`.
    """
    from store.queries.item import find_item
    from store.record.raters import ensure_rater, register_kinds
    from store.studies.adjudication import open_adjudication
    from store.studies.discussion import send_back
    from workbench.cli.items import reader
    from workbench.rater import rater_name
    from workbench.run_option import chosen_run
    from workbench.study_session import viewer

    loaded = settings(config)
    name = rater_name(given_rater(rater), loaded)
    with session(workspace, loaded, Shows.OTHERS, "Adjudication shows", rater) as opened:
        register_kinds(opened)
        if agents or back is not None:
            who = ensure_rater(opened, name or "")
        with opened.reading() as connection:
            who = who if agents or back is not None else reader(connection, None, name)
            chosen = chosen_run(connection, viewer(connection, loaded, given_rater(rater)), run)
        found, disputes = open_adjudication(opened, who, study, question=question, run=chosen, assign=agents)
        if agents and disputes:
            found.reveal(opened, {one.item_id for one in disputes})
            disputes = found.read(opened)
        if back is not None:
            with opened.reading() as connection:
                number = find_item(connection, back)
            asked = send_back(opened, found, number, remark)
    if back is not None:
        return Answer(
            {"study": study, "item": back, "raters": asked, "note": remark},
            f"↩ {back}: sent back to {', '.join(asked)}, who find it at the end of their lists.",
        )
    open_still = sum(not one.rulings for one in disputes)
    fields = {
        "study": study,
        "question": found.question,
        "disputes": len(disputes),
        "without_ruling": open_still,
        "warnings": list(found.warnings),
        "items": [one.to_dict(names=names) for one in disputes],
    }
    return Answer(fields, partial(_print, found, disputes, open_still, agents=agents, names=names))


def _print(
    found: Adjudication, disputes: list[Dispute], open_still: int, *, agents: bool, names: bool
) -> None:
    from workbench.output import note, print_table, say

    if disputes:
        print_table(
            ("item", "question", "labels", "ruling", *(["agents"] if agents else []), "title"),
            [
                (
                    one.external_id,
                    one.spec.name + (f" · {one.response}" if one.response else ""),
                    " ".join(f"{_name(label, names=names)} {one.sign(label.value)}" for label in one.labels),
                    ", ".join(f"{one.sign(ruling.value)} {ruling.adjudicator}" for ruling in one.rulings),
                    *([", ".join(one.sign(label.value) for label in one.agents)] if agents else []),
                    one.title.replace("\n", "⏎"),
                )
                for one in disputes[:MOST_FOR_PEOPLE]
            ],
            wide=("title",),
        )
    say(_counts(found, disputes, open_still))
    for warning in found.warnings:
        note(warning)


def _name(label: DisputedLabel, *, names: bool) -> str:
    return label.name if names else label.rater


def _counts(found: Adjudication, disputes: list[Dispute], open_still: int) -> str:
    from store.formatting import pluralize

    where = f"of {found.study.name}" if found.study is not None else "of this workspace"
    if not disputes:
        return f"The raters {where} disagree about nothing."
    listed = f"{min(len(disputes), MOST_FOR_PEOPLE):,} of " if len(disputes) > MOST_FOR_PEOPLE else ""
    return f"{listed}{pluralize(len(disputes), 'dispute')} {where}, {open_still:,} without a ruling."


@command
def rule_command(
    workspace: Workspace,
    item: Annotated[str, typer.Argument(help="The item: its id in the imported file, or its number.")],
    value: Annotated[str, typer.Argument(help="The ruling: a value of the scale, its word or its sign.")],
    *,
    study: StudyOption = None,
    question: QuestionOption = None,
    response: Annotated[
        str | None,
        typer.Option(metavar="LETTER", help="The response, by its letter in the list of disputes."),
    ] = None,
    comment: Annotated[
        str, typer.Option(help="Why; required where the ruling goes against the raters.")
    ] = "",
    run: RunName = None,
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Record a ruling: `workbench rule WS q-0042 match --study rq2 --comment "the 3 is lost"`.

    A ruling is a record of its own: no label changes. A later ruling of yours replaces it.
    """
    from store.kinds.comparison import BOTH_BAD, BOTH_BAD_WORD, given_value
    from store.kinds.spec import task_kinds
    from store.queries.item import find_item
    from store.record.raters import ensure_rater, register_kinds
    from store.record.scales import scale_value
    from store.studies.adjudication import open_adjudication, rule
    from store.studies.disputes import find_dispute
    from workbench.output import note
    from workbench.rater import rater_name
    from workbench.run_option import chosen_run
    from workbench.study_session import viewer

    loaded = settings(config)
    with session(workspace, loaded, Shows.OTHERS, "Adjudication shows", rater) as opened:
        register_kinds(opened)
        with opened.reading() as connection:
            number = find_item(connection, item)
            chosen = chosen_run(connection, viewer(connection, loaded, given_rater(rater)), run)
        who = ensure_rater(opened, rater_name(given_rater(rater), loaded) or "")
        found, disputes = open_adjudication(opened, who, study, run=chosen)
        dispute = find_dispute(disputes, number, question, response)
        scale = dispute.spec.scale
        if task_kinds()[dispute.kind].two_sided:
            given, reason = given_value(scale, value)
        else:
            given, reason = scale_value(scale, value), ""
        made = rule(opened, found, dispute, given, comment, reason=reason)
    word = BOTH_BAD_WORD if made.reason == BOTH_BAD else scale.word(made.value)
    return Answer(
        {
            "judgment": made.id,
            "item": dispute.external_id,
            "number": number,
            "question": dispute.spec.name,
            "response": dispute.response or None,
            "study": study,
            "value": made.value,
            "word": word,
            "adjudicator": who.name,
            "comment": made.comment,
            "blind": made.blind,
            "supersedes": made.supersedes,
            "created_at": made.created_at,
            "warnings": list(found.warnings),
        },
        f"● {dispute.external_id}: {word} · {dispute.spec.name} · ruling of {who.name}",
        *(partial(note, warning) for warning in found.warnings),
    )
