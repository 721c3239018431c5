"""Pictures of screens, and the sizes of terminal in which they are taken: each screen in both, each state in one."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any

import pytest
from settling import settled
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.app import App
from textual.pilot import Pilot

Sizes = tuple[tuple[int, int], ...]

NARROW, MEDIUM, WIDE = (80, 24), (100, 30), (120, 40)


def at(*sizes: tuple[int, int]) -> pytest.MarkDecorator:
    """Picture what a test shows in some sizes, of one app that is resized."""
    return pytest.mark.parametrize("sizes", [sizes], ids=[named(sizes)])


def states(
    names: Iterable[str], *, in_both: Collection[str], otherwise: tuple[int, int] = WIDE
) -> pytest.MarkDecorator:
    """Picture states of a screen: some in both sizes, the others in one."""
    shown = [(name, (NARROW, WIDE) if name in in_both else (otherwise,)) for name in names]
    return pytest.mark.parametrize(
        ("state", "sizes"), shown, ids=[f"{name}-{named(sizes)}" for name, sizes in shown]
    )


def named(sizes: Sizes) -> str:
    """The sizes in the name of a test."""
    return "-".join(f"{width}x{height}" for width, height in sizes)


def of_one_size(test: str, size: str) -> str:
    """The name of the picture of a test in one of its sizes."""
    return re.sub(r"\d+x\d+(-\d+x\d+)+", size, test)


def sizes_of(test: str) -> list[str]:
    """The sizes in which a test takes pictures, as its name says."""
    found = re.search(r"\d+x\d+(-\d+x\d+)*", test)
    return found[0].split("-") if found else []


class Picture(SingleFileSnapshotExtension):
    """A file with what a terminal shows, as SVG; the names in it are the same each time."""

    _file_extension = "svg"
    _write_mode = WriteMode.TEXT

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
        """Name the file like the test, with one of its sizes."""
        name = super().get_snapshot_name(test_location=test_location)
        return of_one_size(name, index)

    def serialize(self, data: Any, **_: Any) -> str:
        """Take out what Rich makes anew for each picture."""
        return re.sub(r"\bterminal-\d+-([\w-]+)", r"terminal-\1", data)


def take(app: App[Any], sizes: Sizes, steps: Callable[[Pilot[Any]], Awaitable[Any]] | None) -> dict[str, str]:
    """Run an app, and picture it in one size after the other: by size, as SVG."""

    async def run() -> dict[str, str]:
        taken = {}
        async with app.run_test(size=sizes[0]) as pilot:
            if steps is not None:
                await steps(pilot)
            for size in sizes:
                if size != app.size:
                    await pilot.resize_terminal(*size)
                await settled(app)
                taken[named((size,))] = app.export_screenshot(title=app.title, simplify=True)
        return taken

    return asyncio.run(run())


def same_as_before(
    snapshot: SnapshotAssertion,
    app: App[Any],
    *,
    sizes: Sizes,
    run_before: Callable[[Pilot[Any]], Awaitable[Any]] | None = None,
) -> bool:
    """Compare what an app shows with its pictures; where it differs, `--snapshot-update` takes new ones."""
    snapshot = snapshot.use_extension(Picture)
    # Each is compared, so that an update takes them all.
    same = [snapshot(name=size) == picture for size, picture in take(app, sizes, run_before).items()]
    return all(same)
