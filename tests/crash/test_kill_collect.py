"""kill -9 in the middle of `workbench collect issues`: the questions are those of a run that nobody killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from loopback_github import github_here, helpful, issue

pytestmark = pytest.mark.crash

# The process kills itself before a request, by its number.
KILLED = """
import os, signal, sys
from agents.github.client import GitHub

asked, request = [], GitHub._request

async def counted(self, method, url, headers, body=b""):
    if len(asked) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    asked.append(url)
    return await request(self, method, url, headers, body)

GitHub._request = counted
import workbench.cli
workbench.cli.main(sys.argv[2:])
"""


@pytest.mark.parametrize("after", [0, 4, 9, 14])
def test_the_questions_are_the_same(
    after: int, tmp_path: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_GITHUB__PAGES", str(tmp_path / "pages"))
    names = ["shop/till", "shop/drawer"]
    with github_here() as service:
        monkeypatch.setenv("WORKBENCH_GITHUB__URL", service.url)
        for name in names:
            service.add(
                name, [issue(f"{name} {at}") for at in range(250)], {at: helpful(3) for at in (1, 120, 250)}
            )

        def exported(name: str) -> str:
            out = tmp_path / f"{name}.jsonl"
            assert workbench("export", tmp_path / f"{name}.duckdb", out, "--format", "questions").code == 0
            return out.read_text()

        killed = ["collect", "issues", str(tmp_path / "killed.duckdb"), *names]
        run = subprocess.run([sys.executable, "-c", KILLED, str(after), *killed], check=False)
        assert run.returncode == -signal.SIGKILL
        told = workbench(*killed, "--json").json()
        # No page was sent twice.
        pages = Counter(path for path in service.asked_for("") if not path.endswith("per_page=1"))
        assert max(pages.values()) == 1
        whole = workbench("collect", "issues", tmp_path / "whole.duckdb", *names, "--json").json()
        # Killed between what it added and its note of that, it finds the questions there.
        same = ("issues", "code", "questions", "left_out")
        assert [told[name] for name in same] == [whole[name] for name in same]
        assert told["added"] + told["known"] == told["questions"] == 6
        assert exported("killed") == exported("whole")
