"""Whose session a command is, and what it may see: that of a rater of an open study is sealed.

A sealed session sees the items of its sitting, each as its assignment says. What rests on the work of others
is refused, in words that are the same whatever that work is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from store.errors import UnknownName
from store.policy.refusal import refuse
from store.policy.scope import Scope, Shows, Visibility
from store.record.rater_ref import RaterRef
from workbench.rater import rater_name

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.studies.session import StudySession
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
    from store.policy.sealing import packet_of
    from store.record.raters import find_rater

    if (packet := packet_of(connection)) is not None:
        return find_rater(connection, packet.check_rater(given))
    own = known_rater(connection, rater_name(None, config))
    if given is None or given.strip() == own.name:
        return own
    refuse(connection, Scope(own), Shows.RATER, given)
    return known_rater(connection, rater_name(given, config))


def configured_viewer(config: Config | LazyConfig) -> Scope:
    """Return the viewer of the configuration, as far as it is known before a workspace is open."""
    return Scope(
        RaterRef(0, "human", rater_name(None, config) or ""), visibility=Visibility(config.screens.blind)
    )


def viewer(connection: Connection, config: Config | LazyConfig, given: str | None = None) -> Scope:
    """Return who asks a command for what rests on others' work.

    Args:
        connection: A reading connection.
        config: The configuration.
        given: The rater's name on the command line; None for none.

    Raises:
        HiddenData: The configured rater is in an open study, and somebody else was named.
    """
    from store.policy.sealing import is_sealed

    rater = session_rater(connection, config, given)
    return Scope(rater, visibility=Visibility(config.screens.blind), sealed=is_sealed(connection, rater))


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
    from store.policy.sealing import open_studies
    from store.studies.session import study_session
    from workbench.run_option import chosen_run

    rater = session_rater(connection, config, given)
    study = study_session(connection, rater, name)
    if study is not None:
        refuse(connection, study.scope, Shows.RUN, run)
        others = tuple(one for one in open_studies(connection, rater.id) if one != study.study.name)
        return Session(study.scope, study, others)
    found = Scope(rater, visibility=Visibility(config.screens.blind))
    return Session(replace(found, run=chosen_run(connection, found, run)))
