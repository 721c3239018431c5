"""Another package adds a kind with two questions, and no file of this one is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fourth_kind import install


def test_a_kind_of_another_package_is_imported_judged_counted_and_exported(
    tmp_path: Path, repository: Path
) -> None:
    install(tmp_path / "site")
    path = os.pathsep.join(map(str, (tmp_path / "site", repository / "tests", repository)))
    done = subprocess.run(
        [sys.executable, "-m", "fourth_kind", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
