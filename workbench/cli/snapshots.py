"""`workbench sandbox snapshots`: lists and removes the environments that repairs made."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from workbench.cli.options import Answer, ConfigFile, command, given_rater, settings

if TYPE_CHECKING:
    from agents.sandbox.repair import StoredSnapshot
    from agents.sandbox.settings import SandboxSettings

_NAME_SHOWN = 12


class _Place(Protocol):
    """The store of a sandbox's snapshots."""

    def stored(self) -> list[StoredSnapshot]: ...

    def remove(self, name: str) -> None: ...


@command
def snapshots_command(
    workspaces: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Workspaces whose use of them counts; what none used can go.", show_default=False
        ),
    ] = None,
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", metavar="DAYS", min=0, help="What is older than this can go."),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove what can go; without this nothing is removed.")
    ] = False,
    config: ConfigFile = None,
) -> Answer:
    """List the repaired environments that are kept, and remove those that can go.

    What can go was used by no execution of the given workspaces, and is older than --older-than days, where
    both are given. With neither nothing can.
    """
    from store.errors import WorkbenchError
    from store.policy.refusal import refuse
    from store.policy.scope import Shows
    from store.queries.executions import snapshot_uses
    from store.workspace.duckdb import Workspace
    from workbench.study_session import viewer

    if remove and not workspaces and older_than is None:
        raise WorkbenchError(
            "Nothing chosen",
            "--remove needs to know which snapshots can go.",
            "Name the workspaces that may need them, or give --older-than DAYS (0: all of them).",
        )
    configured = settings(config)
    loaded = configured.sandbox
    uses: Counter[str] = Counter()
    unread: dict[str, str] = {}
    lines: list[dict[str, Any]] = []
    with ExitStack() as open_ones:
        # Held open to the end, so that no agents begin to use what is about to go.
        for path in workspaces or ():
            opened = open_ones.enter_context(Workspace.open(path))
            with opened.reading() as connection:
                asking = viewer(connection, configured, given_rater(None))
                refuse(connection, asking, Shows.WHOLE, "The list of snapshots uses")
                uses.update(snapshot_uses(connection))
        before = None if older_than is None else datetime.now(UTC) - timedelta(days=older_than)
        for name, place in _places(loaded, open_ones, unread).items():
            try:
                kept = sorted(place.stored(), key=lambda one: one.made_at)
            except WorkbenchError as error:
                unread[name] = str(error)
                continue
            for one in kept:
                used = uses[one.name] if workspaces else None
                can_go = bool(workspaces or older_than is not None) and not used
                can_go = can_go and (before is None or one.made_at < before)
                failure = _removed(place, one.name) if can_go and remove else None
                lines.append(
                    {
                        **asdict(one),
                        "used": used,
                        "can_go": can_go,
                        "removed": can_go and remove and failure is None,
                        "failure": failure,
                    }
                )
    return Answer(
        {"snapshots": lines, "not_listed": unread},
        partial(_print, lines, unread, remove=remove),
        code=1 if any(line["failure"] for line in lines) else 0,
    )


def _places(loaded: SandboxSettings, open_ones: ExitStack, unread: dict[str, str]) -> dict[str, _Place]:
    from agents.sandbox.bubblewrap.snapshots import SnapshotFolder
    from agents.sandbox.docker.snapshots import DockerSnapshots
    from agents.sandbox.errors import SandboxError

    places: dict[str, _Place] = {"bubblewrap": SnapshotFolder(loaded.snapshots)}
    try:
        places["docker"] = open_ones.enter_context(closing(DockerSnapshots(loaded)))
    except SandboxError as error:
        unread["docker"] = str(error)
    return places


def _removed(place: _Place, name: str) -> str | None:
    """Remove a snapshot; why that failed, None where it did not."""
    from agents.sandbox.errors import SandboxError

    try:
        place.remove(name)
    except SandboxError as error:
        return str(error)
    return None


def _print(lines: list[dict[str, Any]], unread: dict[str, str], *, remove: bool) -> None:
    from store.formatting import pluralize
    from workbench.output import note, print_table, say

    if lines:
        print_table(
            ("snapshot", "sandbox", "MB", "made", "used by", ""),
            [
                (
                    line["name"][:_NAME_SHOWN],
                    line["sandbox"],
                    round(line["bytes"] / 1e6, 1),
                    line["made_at"].astimezone().strftime("%Y-%m-%d %H:%M"),
                    "" if line["used"] is None else pluralize(line["used"], "execution"),
                    _fate(line),
                )
                for line in lines
            ],
        )
    going = [line for line in lines if (line["removed"] if remove else line["can_go"])]
    size = sum(line["bytes"] for line in going) / 1e6
    text = f"{pluralize(len(lines), 'snapshot')}, {sum(line['bytes'] for line in lines) / 1e6:,.1f} MB"
    if remove:
        text += f" · removed {len(going):,}, {size:,.1f} MB"
    elif going:
        text += f" · --remove would remove {len(going):,}, {size:,.1f} MB"
    say(text)
    for sandbox, why in unread.items():
        note(f"Not listed: {sandbox}: {why}")


def _fate(line: dict[str, Any]) -> str:
    if line["failure"]:
        return f"! {line['failure']}"
    if line["removed"]:
        return "removed"
    return "can go" if line["can_go"] else ""
