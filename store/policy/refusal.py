"""The one refusal of what a viewer may not see, and that of what belongs elsewhere than into a packet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from store.errors import HiddenData, WorkspaceError
from store.policy.scope import Scope, Shows
from store.policy.sealing import is_sealed, packet_in

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.workspace.duckdb import Workspace

_OF_OTHERS = (
    "Sealed session",
    "{subject} the work of others, which an open study hides from its raters.",
    "Ask the coordinator, or wait until the study is closed.",
)
_LISTS = (
    "Hidden labels",
    "{subject} the agents' labels, which a blind review and an open study hide.",
    "Choose another view.",
)
_SEALED = {
    Shows.WHOLE: _OF_OTHERS,
    Shows.OTHERS: _OF_OTHERS,
    Shows.LISTS: _LISTS,
    Shows.RUN: (
        "Sealed session",
        "--run chooses whose labels of the agents are shown, and in a study its conditions say that.",
        "Leave --run out.",
    ),
    Shows.RATER: (
        "Sealed session",
        "A rater of an open study sees their own work alone.",
        "Leave --rater out, or give your own name.",
    ),
}
"""Title, message and hint in a sealed session: the same whatever is hidden."""
_BLIND = {
    Shows.OTHERS: (
        "Blind review",
        "{subject} the labels of others, which a blind review hides.",
        "After the review, set screens.blind = false.",
    ),
    Shows.LISTS: _LISTS,
    Shows.RUN: (
        "Blind review",
        "--run chooses whose labels of the agents are shown, and a blind review shows none.",
        "Leave --run out. After the review, set screens.blind = false, or leave --blind out.",
    ),
    Shows.RATER: (
        "Blind review",
        "{subject} is not {rater}: a blind review hides the labels of others.",
        "Leave --rater out to see your own labels; if this is you, set rater in the configuration. After "
        "the review, set screens.blind = false.",
    ),
}
"""Title, message and hint in a blind review."""


def refuse(connection: Connection | None, viewer: Scope, shows: Shows, subject: str | None) -> None:
    """Refuse what a viewer may not see.

    Args:
        connection: A reading connection, which is asked whether the viewer is sealed; None before the
            workspace is open.
        viewer: Who asks.
        shows: What is asked for.
        subject: What is refused, with its verb: "Agreement uses". For `RUN` and `RATER` the name that was
            given; None where none was, and then nothing is refused.

    Raises:
        HiddenData: The viewer may not see it.
    """
    own = viewer.rater.name if viewer.rater is not None else ""
    if subject is None or (shows is Shows.RATER and subject.strip() == own):
        return
    if connection is not None and is_sealed(connection, viewer.rater):
        viewer = replace(viewer, sealed=True)
    if viewer.may(shows):
        return
    words = (_SEALED if viewer.sealed else _BLIND)[shows]
    names = {"subject": subject.strip(), "rater": own or "the rater of this session"}
    raise HiddenData(*(text.format(**names) for text in words))


def refuse_packet(workspace: Workspace, what: str) -> None:
    """Refuse in a packet what belongs into the workspace that it was made of.

    Args:
        workspace: The open workspace.
        what: What is refused, with its verb: "Files are imported".

    Raises:
        WorkspaceError: The workspace is a packet.
    """
    packet = packet_in(workspace)
    if packet is not None:
        raise WorkspaceError(
            "This is a packet",
            f"{what} in the workspace of {packet.study}, not in a packet of it.",
            f"In a packet {packet.rater} judges: workbench {workspace.path.name}",
        )
