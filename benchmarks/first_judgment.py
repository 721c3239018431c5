"""Measures how soon a newcomer judges: seconds and keys from `workbench demo` to the first judgment.

    python benchmarks/first_judgment.py [--repeat 5] [--json FILE]

Each run starts `workbench demo` in a pseudo-terminal with a folder of its own, presses Enter as soon as Home offers
the first item, and a label as soon as that item is on the screen; it ends when the label is said to be recorded. Then
it goes back and opens all completions from Home. The goals are 3 s and 2 keys, and 2 keys. The processor seconds tell
how far the others come from a machine that does something else as well.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from terminal import Terminal

GOAL_SECONDS, GOAL_KEYS = 3.0, 2
ENTER, TAB = "\r", "\t"
READ_SECONDS = 0.2
"""Seconds for which a person reads the item before the key; they are part of no figure but the whole."""


def main() -> None:
    """Run it as often as asked, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    runs = [measure() for _ in range(options.repeat)]
    figures = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    print(f"from `workbench demo` to the first judgment, median of {len(runs)}:")
    print(f"  home    {figures['home']:5.2f} s")
    print(f"  item    {figures['item']:5.2f} s  1 key")
    print(
        f"  judged  {figures['judged']:5.2f} s  {figures['keys']:.0f} keys  (goal: {GOAL_SECONDS:g} s, {GOAL_KEYS} keys)"
    )
    print(f"          {figures['processor']:5.2f} s of a processor until then")
    print(
        f"from Home to all completions: {figures['completions_keys']:.0f} keys, {figures['completions']:.2f} s"
    )
    if options.json is not None:
        options.json.write_text(json.dumps({"median": figures, "runs": runs}, indent=2) + "\n")


def processor_seconds(pid: int) -> float:
    """Return how long a process has had a processor, its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure() -> dict[str, float]:
    """Start the demo once; the seconds are counted from its start, and those for the list from the first key."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder, "HOME": folder}
        command = [sys.executable, "-m", "workbench", "demo", "--rater", "dana"]
        terminal = Terminal(command, env=env)
        try:
            found = {"home": terminal.wait_for("judge empty-file/1") - terminal.started}
            terminal.send(ENTER)
            found["item"] = terminal.wait_for("def is_blank_file") - terminal.started
            # A label of an item that was not on the screen yet is refused.
            time.sleep(READ_SECONDS)
            terminal.send("0")
            found["judged"] = terminal.wait_for("0 no match · ") - terminal.started
            found["processor"] = processor_seconds(terminal.pid)
            found["keys"] = 2
            terminal.drain()
            terminal.send("q")
            terminal.wait_for("completions")
            terminal.drain()
            terminal.send(TAB)
            terminal.wait_for("118")
            terminal.drain()
            second = terminal.send("2")
            found["completions"] = terminal.wait_for("completions · 12 of 118") - second
            found["completions_keys"] = 2
        finally:
            terminal.close()
    return found


if __name__ == "__main__":
    main()
