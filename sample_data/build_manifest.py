"""Rewrites manifest.json from the data files beside it: `python sample_data/build_manifest.py`.

The manifest names the data files with their SHA-256, and the test programs that the plain `process` sandbox
may run without being asked to. A program is known by the SHA-256 of the candidate's source, a NUL byte and
the test's source, as `agents.sandbox.protocol.TestProgram.digest` computes it: change one character of either
and it is unknown. Standard library only, so that it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ABOUT = (
    "SHA-256 of the sample's test programs: candidate source, a NUL byte, test source, in UTF-8. "
    "Written by build_manifest.py; the process sandbox runs these and no others unless told to. "
    "SHA-256 of the sample's data files."
)
DATA_FILES = (
    *("pairs.jsonl", "replies.jsonl", "search-replies.jsonl", "labels.csv"),
    *("completions.jsonl", "predictions.jsonl", "questions.jsonl", "answers.jsonl"),
    *("comparisons.jsonl", "comparison-labels.csv", "study.json", "study-labels.csv"),
    *("practice.json", "corpus.jsonl", "queries.txt", "issues.json", "question-replies.jsonl"),
)


def digest(candidate: str, test: str) -> str:
    """Give the SHA-256 in hex of a candidate and its test program."""
    return hashlib.sha256(candidate.encode("utf-8") + b"\0" + test.encode("utf-8")).hexdigest()


def records(path: Path) -> list[dict[str, object]]:
    """Read a file of one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def programs(folder: Path) -> dict[str, str]:
    """Find the test programs of a folder: digest to the pair's id, in the order of the replies."""
    code = {str(pair["id"]): str(pair["code"]) for pair in records(folder / "pairs.jsonl")}
    found = {}
    for record in records(folder / "replies.jsonl"):
        reply, subject = record["reply"], str(record["subject"])
        if record["role"] in ("test_writer", "test_correction") and isinstance(reply, dict):
            found[digest(code[subject], reply["test_program"])] = subject
    return found


def files(folder: Path) -> dict[str, str]:
    """Give the SHA-256 in hex of each data file and each wheel, by its name."""
    wheels = sorted(f"wheels/{path.name}" for path in (folder / "wheels").glob("*.whl"))
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (*DATA_FILES, *wheels)}


def main() -> None:
    """Write manifest.json beside this file and say how many files and programs it names."""
    found = {"about": ABOUT, "files": files(FOLDER), "programs": programs(FOLDER)}
    text = json.dumps(found, indent=2) + "\n"
    (FOLDER / "manifest.json").write_text(text, encoding="utf-8", newline="\n")
    print(f"manifest.json: {len(found['files'])} files, {len(found['programs'])} programs")


if __name__ == "__main__":
    main()
