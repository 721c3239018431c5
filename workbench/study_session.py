"""Whose session a command is, and what it may see: that of a rater of an open study is sealed.

A sealed session sees the items of its sitting, each as its assignment says. What rests on the work of others
is refused, in words that are the same whatever that work is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import HiddenData, UnknownName
from store.record.rater_ref import RaterRef
from workbench.rater import rater_name

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.record.scope import Scope
    from store.studies.session import StudySession
    from store.workspace.duckdb import Workspace
    from workbench.config import Config
    from workbench.lazy_config import LazyConfig


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a command.

    Attributes:
        scope: What it sees, and whose labels are its own.
        study: The place of its rater in an open study; None outside one.
        others: The rater's other open studies.
    """

    scope: Scope
    study: StudySession | None = None
    others: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Which study it is, where the rater has several; else empty."""
        if self.study is None or not self.others:
            return ""
        return f"study {self.study.study.name} (also open: {', '.join(self.others)})"


def known_rater(connection: Connection, name: str | None) -> RaterRef:
    """Return the rater of a name; one who has judged nothing yet need not be stored, and has the key 0."""
    from store.record.raters import find_rater

    try:
        return find_rater(connection, name or "")
    except UnknownName:
        return RaterRef(0, "human", name or "")


def session_rater(connection: Connection, config: Config | LazyConfig, given: str | None) -> RaterRef:
    """Return whose session a command is: of the rater named on the command line, or the configured one.

    Args:
        connection: A reading connection.
        config: The configuration.
        given: The rater's name on the command line; None for none.

    Raises:
        HiddenData: The configured rater is in an open study, and somebody else was named.
    """
    from store.record.raters import find_rater
    from store.studies.session import is_sealed
    from store.workspace.packet_fact import packet_of

    if (packet := packet_of(connection)) is not None:
        return find_rater(connection, packet.check_rater(given))
    own = known_rater(connection, rater_name(None, config))
    if given is None or given.strip() == own.name:
        return own
    if is_sealed(connection, own):
        raise another_rater()
    return known_rater(connection, rater_name(given, config))


def another_rater() -> HiddenData:
    """Return the refusal of another rater's name in a sealed session."""
    return HiddenData(
        "Sealed session",
        "A rater of an open study sees their own work alone.",
        "Leave --rater out, or give your own name.",
    )


def refuse_in_study(
    connection: Connection, config: Config | LazyConfig, subject: str, given: str | None = None
) -> None:
    """Refuse what tells of others' work in the session of a rater of an open study.

    Args:
        connection: A reading connection.
        config: The configuration.
        subject: What is refused, with its verb: "Agreement uses".
        given: The rater's name on the command line; None for none.

    Raises:
        HiddenData: The session is sealed.
    """
    from store.studies.session import refuse_sealed

    refuse_sealed(connection, session_rater(connection, config, given), subject)


@contextmanager
def open_unsealed(
    path: Path, config: Config | LazyConfig, subject: str, given: str | None = None
) -> Iterator[Workspace]:
    """Open a workspace for what tells of others' work (see `refuse_in_study`).

    Raises:
        HiddenData: The session is sealed.
    """
    from store.workspace.duckdb import Workspace

    with Workspace.open(path) as opened:
        with opened.reading() as connection:
            refuse_in_study(connection, config, subject, given)
        yield opened


def open_session(
    connection: Connection,
    config: Config | LazyConfig,
    given: str | None,
    run: str | None = None,
    name: str | None = None,
) -> Session:
    """Return the session of a command that lists or judges items.

    Args:
        connection: A reading connection.
        config: The configuration.
        given: The rater's name on the command line; None for none.
        run: What names the run of the agents whose labels are shown; None for the default one.
        name: Which of the rater's open studies; None for the first one in which something is left to do.

    Raises:
        HiddenData: The session is sealed, and another rater or a run was named; or the review is blind, and
            a run was.
        UnknownName: No run, or more than one, is called so; or the study is not open for the rater.
    """
    from store.record.scope import Scope, Visibility
    from store.studies.session import open_studies, study_session
    from workbench.run_option import chosen_run

    rater = session_rater(connection, config, given)
    study = study_session(connection, rater, name)
    if study is not None:
        refuse_run(run)
        others = tuple(one for one in open_studies(connection, rater.id) if one != study.study.name)
        return Session(study.scope, study, others)
    blind = config.screens.blind
    return Session(Scope(rater, visibility=Visibility(blind), run=chosen_run(connection, run, blind=blind)))


def refuse_run(run: str | None) -> None:
    """Refuse the choice of a run in a study, whether there is such a run or not.

    Raises:
        HiddenData: A run was named.
    """
    if run is not None:
        raise HiddenData(
            "Sealed session",
            "--run chooses whose labels of the agents are shown, and in a study its conditions say that.",
            "Leave --run out.",
        )
