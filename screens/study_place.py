"""The study that a rater works in, and the sitting that is on the screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.policy.scope import Scope

if TYPE_CHECKING:
    from store.record.rater_ref import RaterRef
    from store.studies.session import StudySession
    from store.workspace.duckdb import Workspace


class StudyPlace:
    """The place of a rater in a study.

    Args:
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
    def name(self) -> str:
        """The study's name."""
        return self.session.study.name

    @property
    def idle_seconds(self) -> float:
        """The longest pause between two keys that does not count as time away."""
        return self.session.study.protocol.idle_minutes * 60

    def read(self, name: str | None = None) -> StudySession:
        """Return where the rater is, at the first sitting in which something is left; for a thread.

        A sitting that is done stays on the screens until `take` is called, so that its last judgment can be
        taken back.

        Args:
            name: Another open study of the rater; None for the same one.

        Raises:
            UnknownName: The study is not open any more.
        """
        from store.studies.session import study_session

        with self._workspace.reading() as connection:
            found = study_session(connection, self.rater, name or self.name)
        assert found is not None
        return found

    def take(self, session: StudySession) -> None:
        """Go to the sitting of a session that was read."""
        self.session = session
