"""Presses random keys on all screens, and compares what they record with what was on the screen at each.

    python benchmarks/random_typist.py [--keys 20000] [--seed 36]

The rater, the kinds of items, and what goes on meanwhile are those of `tests/typist.py`, of which the tests press
fewer keys. A difference is printed with its key's number, both screens and the records; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
for _folder in (REPOSITORY / "tests", REPOSITORY):
    sys.path.insert(0, str(_folder))

from typist import type_at_random  # noqa: E402 - found by the lines above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=36)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        typed = asyncio.run(type_at_random(Path(folder), asked.seed, asked.keys))
        os.chdir(REPOSITORY)
    for finding in typed.findings:
        print(finding, end="\n\n")
    screens = ", ".join(f"{name} {count:,}" for name, count in typed.screens.most_common())
    print(
        f"{typed.keys:,} keys, {typed.recorded:,} records, {len(typed.findings)} differences; keys on {screens}"
    )
    sys.exit(bool(typed.findings))


if __name__ == "__main__":
    main()
