"""The recipes of CONTRIBUTING.md, applied as a contributor would: a package beside ours, or a change of a copy of the code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
FLOORS = ("workbench", "screens", "agents", "store")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that its first line names, and its text."""

    language: str
    path: str
    text: str


def blocks(title: str) -> list[Block]:
    """Return the blocks of a recipe, by its heading."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^### {re.escape(title)}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    found = []
    for language, body in re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        named = re.match(
            r"(?:#|--|\+\+\+) (?:b/)?(\S+\.\w+)\n", body.split("\n", 1)[1] if language == "diff" else body
        )
        assert named, f"{title}: a block names no file:\n{body}"
        found.append(Block(language, named[1], body))
    assert found, title
    return found


def install(title: str, folder: Path) -> None:
    """Put the package of a recipe where a path entry finds it, as an installer would."""
    for block in blocks(title):
        if block.path == "pyproject.toml":
            groups = tomllib.loads(block.text)["project"]["entry-points"]
            lines = [
                line
                for group, entries in groups.items()
                for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
            ]
            info = folder / "recipe-1.0.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recipe\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text("\n".join(lines))
        else:
            _write(folder / block.path, block.text)


def change(title: str, folder: Path) -> None:
    """Copy our code into a folder, and change the copy as a recipe says."""
    for floor in FLOORS:
        shutil.copytree(REPOSITORY / floor, folder / floor, ignore=shutil.ignore_patterns("__pycache__"))
    for block in blocks(title):
        if block.language == "diff":
            target = folder / block.path
            if not target.exists():
                # A test of ours.
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(REPOSITORY / block.path, target)
            _apply(block, target)
        else:
            _write(folder / block.path, block.text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".py":
        (path.parent / "__init__.py").touch()
    path.write_text(text, encoding="utf-8")


def _apply(block: Block, path: Path) -> None:
    """Add the lines of a diff to a file; what stands around them must be there, once."""
    text = path.read_text(encoding="utf-8")
    _, *hunks = re.split(r"^@@.*\n", block.text, flags=re.MULTILINE)
    assert hunks, block.text
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        assert all(line[0] in " +" for line in lines), f"a recipe only adds lines:\n{hunk}"
        before = "".join(line[1:] for line in lines if line[0] == " ")
        assert text.count(before) == 1, f"{block.path} has not once:\n{before}"
        text = text.replace(before, "".join(line[1:] for line in lines))
    path.write_text(text, encoding="utf-8")


def run(folder: Path, program: str, *arguments: object) -> str:
    """Run a program in a process that finds what is in a folder before our own code; return what it prints."""
    path = os.pathsep.join(map(str, (folder, REPOSITORY / "tests", REPOSITORY)))
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
