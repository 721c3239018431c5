"""Loading of entry points, of this package and of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from store.errors import WorkbenchError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def registered(group: str, expected: type[T], ending: str = "") -> list[T]:
    """Load every entry point of a group.

    Args:
        group: The group.
        expected: The type that each must have.
        ending: The end of the names of those that are wanted.

    Raises:
        WorkbenchError: One cannot be loaded, or is something else; it is named.
    """
    # A slow import, which help and version need not wait for.
    from importlib.metadata import entry_points

    entries = (entry for entry in entry_points(group=group) if entry.name.endswith(ending))
    return [_loaded(entry, expected) for entry in entries]


def usable(group: str, expected: type[T]) -> list[T]:
    """Load the entry points of a group that can be used; `workbench doctor` names the others."""
    from importlib.metadata import entry_points

    return [entry.load() for entry in entry_points(group=group) if not fault(entry, expected)]


def fault(entry: EntryPoint, expected: type = object) -> str:
    """Return why an entry point cannot be used, empty when it can."""
    try:
        found = entry.load()
    except Exception as problem:  # noqa: BLE001 - other people's packages may fail in any way, and are named
        return f"{type(problem).__name__}: {problem}"
    if isinstance(found, expected):
        return ""
    return f"it is a {type(found).__name__}, and must be a {expected.__name__}"


def _loaded(entry: EntryPoint, expected: type[T]) -> T:
    problem = fault(entry, expected)
    if problem:
        package = f" of the package {entry.dist.name} {entry.dist.version}" if entry.dist else ""
        raise WorkbenchError(
            "Plug-in cannot be used",
            f"{entry.name} ({entry.value}){package}, registered under {entry.group}: {problem}.",
            "Update or uninstall that package; see: workbench doctor",
        )
    found: T = entry.load()
    return found
