"""Files of GitHub's objects: an array, what its search answers, or one object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from store.errors import ImportFailed

MOST_BYTES = 1 << 30


def read_text(path: str) -> str:
    """Return a file's text.

    Raises:
        ImportFailed: It cannot be read, or is too large.
    """
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ImportFailed("Not read", f"{path}: {error.strerror or error}.") from error
    if len(content) > MOST_BYTES:
        raise ImportFailed("Too large", f"{path} has more than {MOST_BYTES >> 30} GiB.", "Split it.")
    return content.decode("utf-8", "replace")


def read_repositories(path: str) -> list[Mapping[str, Any]]:
    """Return the repository objects of a file, which have a `full_name`.

    Raises:
        ImportFailed: It cannot be read, or has none.
    """
    text = read_text(path)
    try:
        whole: Any = json.loads(text)
    except (ValueError, RecursionError):
        try:
            whole = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError) as error:
            raise ImportFailed(
                "No JSON", f"{path}: {error}.", "Give repository objects as GitHub's REST interface has them."
            ) from error
    if isinstance(whole, dict):
        whole = whole["items"] if isinstance(whole.get("items"), list) else [whole]
    found: list[Mapping[str, Any]] = [
        one
        for one in (whole if isinstance(whole, list) else [])
        if isinstance(one, dict) and one.get("full_name")
    ]
    if not found:
        raise ImportFailed(
            "No repositories", f"{path}: it holds no repository objects.", "Each has a full_name."
        )
    return found
