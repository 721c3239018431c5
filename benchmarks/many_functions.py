"""Time and memory of a search by words in a repository of 200,000 functions, in a process of its own.

    python benchmarks/many_functions.py [--functions 200000] [--files 20000]

The functions are of six lines, in Python, and take their words at random. The last line is what the same command takes for
a repository of one function: the start of Python and of its packages.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

NAMES = [
    "_".join(words) for words in product(("load", "save", "count", "merge"), ("item", "file", "page", "user"))
]


def write(folder: Path, functions: int, files: int) -> None:
    """Write so many functions into as many files."""
    drawn = random.Random(0)
    texts = []
    for number in range(functions):
        name, given, other = drawn.choices(NAMES, k=3)
        texts.append(
            f'def {name}_{number}({given}, {other}):\n    """Calls {other} of {given}."""\n'
            f"    total = {given}.{other}({number})\n    return total + {name}({other})\n\n\n"
        )
    for number in range(files):
        (folder / f"module_{number}.py").write_text("".join(texts[number::files]))


def measured(folder: Path) -> str:
    """Search; return its seconds, those of a processor, and its memory at the peak."""
    command = [
        sys.executable,
        "-m",
        "workbench",
        "search",
        folder,
        "count the pages of a user",
        "--encoder",
        "bm25",
    ]
    began = time.perf_counter()
    child = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    assert status == 0
    return f"{seconds:6.1f} s, {used.ru_utime + used.ru_stime:6.1f} s of processors, {used.ru_maxrss / 1024:,.0f} MB"


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--functions", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=20_000)
    options = parser.parse_args()
    for functions, files in ((options.functions, options.files), (1, 1)):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), functions, files)
            print(f"{functions:9,} functions in {files:6,} files: {measured(Path(folder))}")


if __name__ == "__main__":
    main()
