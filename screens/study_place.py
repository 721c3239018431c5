"""The study that a rater works in, and the sitting that is on the screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.record.scope import Scope

if TYPE_CHECKING:
    from store.record.rater_ref import RaterRef
    from store.studies.session import StudySession
    from store.workspace.duckdb import Workspace


class StudyPlace:
    """The place of a rater in a study.

    Args:
        workspace: The open workspace.
        session: Where the rater is, as it was read at the start.

    Attributes:
        session: Where the rater is, as it was read last; its sitting is the one that all screens show.
    """

    def __init__(self, workspace: Workspace, session: StudySession) -> None:
        self._workspace = workspace
        self.session = session

    @property
    def rater(self) -> RaterRef:
        """The rater."""
        return self.session.rater

    @property
    def scope(self) -> Scope:
        """The scope of the sitting."""
        return self.session.scope

    @property
    def idle_seconds(self) -> float:
        """The longest pause between two keys that does not count as time away."""
        return self.session.study.protocol.idle_minutes * 60

    def refresh(self) -> StudySession:
        """Read again where the rater is, and go to the first sitting in which something is left.

        A sitting that is done stays until this is called, so that its last judgment can be taken back. It
        reads the workspace, so it is called in a thread.
        """
        from store.studies.session import study_session

        with self._workspace.reading() as connection:
            found = study_session(connection, self.rater, self.session.study.name)
        assert found is not None
        self.session = found
        return found
