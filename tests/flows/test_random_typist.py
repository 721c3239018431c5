"""Random keys on all screens record what was on the screen when each was pressed, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typist import type_at_random

from screens.judging.judgment_builder import JudgmentBuilder
from screens.recorder import Recorder
from store.record.actions import Action

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
    of_item = JudgmentBuilder._key

    def next_one(builder: JudgmentBuilder, item: Any) -> dict[str, Any]:
        found = of_item(builder, item)
        return found | {"item_id": found["item_id"] % 6 + 1}

    monkeypatch.setattr(JudgmentBuilder, "_key", next_one)
    typed = await type_at_random(tmp_path, *JUDGING)
    assert any("stands for item" in one.why for one in typed.findings)


async def test_a_key_that_is_lost_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def lose(recorder: Recorder, action: Action) -> None:
        """Record nothing."""

    monkeypatch.setattr(Recorder, "submit", lose)
    typed = await type_at_random(tmp_path, *JUDGING)
    assert any("nothing is recorded" in one.why for one in typed.findings)
