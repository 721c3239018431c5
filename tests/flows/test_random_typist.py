"""Random keys on all screens record what was on the screen when each was pressed, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typist import type_at_random

from screens.judging import judgment_builder
from screens.session_recorder import SessionRecorder
from store.record.actions import Action, new_record

KEYS = 1000
SEED = 36
JUDGING = 5, 90
"""A seed with which some of so many keys judge."""


async def test_random_keys_record_what_was_on_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = await type_at_random(tmp_path, SEED, KEYS)
    assert not typed.findings, "\n\n".join(map(str, typed.findings[:3]))
    assert typed.keys >= KEYS
    assert typed.recorded > KEYS // 10
    assert {"ReviewScreen", "QueueScreen", "HomeScreen", "StudyHomeScreen"} <= typed.screens.keys()


async def test_a_record_of_another_item_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def next_one(*given: Any, item_id: int, **fields: Any) -> Any:
        return new_record(*given, item_id=item_id % 6 + 1, **fields)

    monkeypatch.setattr(judgment_builder, "new_record", next_one)
    typed = await type_at_random(tmp_path, *JUDGING)
    assert any("stands for item" in one.why for one in typed.findings)


async def test_a_key_that_is_lost_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def lose(recorder: SessionRecorder, action: Action) -> None:
        """Record nothing."""

    monkeypatch.setattr(SessionRecorder, "submit", lose)
    typed = await type_at_random(tmp_path, *JUDGING)
    assert any("nothing is recorded" in one.why for one in typed.findings)
