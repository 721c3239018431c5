"""The sizes of terminal in which screens are pictured: each screen in both, each of its states in one."""

from collections.abc import Collection, Iterable

import pytest

NARROW, MEDIUM, WIDE = (80, 24), (100, 30), (120, 40)


def at(*sizes: tuple[int, int]) -> pytest.MarkDecorator:
    """Picture what a test shows in some sizes."""
    return pytest.mark.parametrize("size", sizes, ids=[f"{width}x{height}" for width, height in sizes])


def states(
    names: Iterable[str], *, in_both: Collection[str], otherwise: tuple[int, int] = WIDE
) -> pytest.MarkDecorator:
    """Picture states of a screen: some in both sizes, the others in one."""
    return pytest.mark.parametrize(
        ("state", "size"),
        [
            pytest.param(name, (width, height), id=f"{name}-{width}x{height}")
            for name in names
            for width, height in ((NARROW, WIDE) if name in in_both else (otherwise,))
        ],
    )
