"""The one configuration of completing models, as data."""

from __future__ import annotations

from agents.pipelines.spec import Configuration
from store.kinds.completion_settings import GREEDY, IN_FILE

COMPLETER = "completer"
SETTING, DECODING, FILL_IN = "setting", "decoding", "fim"
"""The options of a run: which context models get, how they decode, and whether they see what follows."""

CONFIGURATIONS = (
    Configuration(
        "complete",
        "complete",
        "A model continues each file at its cursor, with or without context of other files.",
        {COMPLETER: "completer"},
        options={SETTING: IN_FILE, DECODING: GREEDY, FILL_IN: ""},
    ),
)
