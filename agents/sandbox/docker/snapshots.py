"""Repaired environments as images: listing and removal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.sandbox.docker.engine import connect, one_line
from agents.sandbox.errors import SandboxError
from agents.sandbox.repair import StoredSnapshot

if TYPE_CHECKING:
    from agents.sandbox.settings import SandboxSettings


SNAPSHOT_LABEL = "workbench.snapshot"
"""On an image that a repair left: the snapshot's name."""


def snapshot_image(settings: SandboxSettings, name: str) -> str:
    """Name the image of a snapshot."""
    repository, colon, tag = settings.image.rpartition(":")
    base = repository if colon and "/" not in tag else settings.image
    return f"{base}-repaired:{name}"


class DockerSnapshots:
    """The snapshots that the configured engine stores for the configured image.

    Raises:
        SandboxError: The engine cannot be reached.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._client = connect(settings)

    def close(self) -> None:
        """Let the engine go."""
        self._client.close()

    def stored(self) -> list[StoredSnapshot]:
        """List the snapshots that are there.

        Raises:
            SandboxError: The engine does not say.
        """
        from docker.errors import DockerException

        try:
            found = self._client.api.images(filters={"label": SNAPSHOT_LABEL})
            return [self._read(image) for image in found if self._is_ours(image)]
        except (DockerException, OSError) as error:
            raise SandboxError("Snapshots cannot be listed", one_line(error), "") from error

    def remove(self, name: str) -> None:
        """Remove a snapshot; one that is gone already is well.

        Raises:
            SandboxError: It is in use, or the engine refuses.
        """
        from docker.errors import DockerException, ImageNotFound

        try:
            self._client.api.remove_image(snapshot_image(self._settings, name))
        except ImageNotFound:
            return
        except (DockerException, OSError) as error:
            hint = "One in which a program is running stays; try again when no agents are at work."
            raise SandboxError("A snapshot could not be removed", one_line(error), hint) from error

    def _is_ours(self, image: dict[str, Any]) -> bool:
        """Tell whether an image is a snapshot of the configured image, rather than of another workbench's."""
        named = snapshot_image(self._settings, image["Labels"][SNAPSHOT_LABEL])
        # podman puts a registry before the name.
        return any(tag == named or tag.endswith(f"/{named}") for tag in image.get("RepoTags") or ())

    def _read(self, image: dict[str, Any]) -> StoredSnapshot:
        layers = self._client.api.history(image["Id"])
        return StoredSnapshot(
            "docker",
            image["Labels"][SNAPSHOT_LABEL],
            int(layers[0]["Size"]) if layers else 0,
            datetime.fromtimestamp(int(image["Created"]), UTC),
        )
