"""What tests of flows have: the workspace in which reviews are driven, unless they make one of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from review_bench import bench

from store.workspace.duckdb import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """The cases of the bench."""
    with bench(tmp_path) as made:
        yield made
