"""Pictures that no test looks at any more: syrupy tells of them only where one process runs every test."""

import os
import subprocess
import sys
from pathlib import Path

from pictures import of_one_size, sizes_of

FOLDER = Path(__file__).parent
PICTURES = FOLDER / "__snapshots__"


def test_every_picture_is_one_of_a_test():
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(FOLDER)]
    # Options of the developer's own, such as -v, would change the form of the list.
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        collect, cwd=FOLDER.parents[1], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tests = [line.partition("::") for line in done.stdout.splitlines() if "::" in line]
    known = {
        f"{Path(file).stem}/{of_one_size(name, size)}.svg"
        for file, _, name in tests
        for size in sizes_of(name) or [""]
    }

    left = {path.relative_to(PICTURES).as_posix() for path in PICTURES.rglob("*.svg")} - known
    assert left == set(), "delete them, or bring back the tests that look at them"
