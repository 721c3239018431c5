"""The one configuration of completing models, as data."""

from __future__ import annotations

from agents.pipelines.spec import Configuration

COMPLETER = "completer"
SETTING, DECODING, FIM = "setting", "decoding", "fim"
"""The options of a run: which context models get, how they decode, and whether they see what follows."""
IN_FILE = "in-file"
"""The setting without context of other files."""
GREEDY, NUCLEUS = "greedy", "nucleus"
DECODINGS = (GREEDY, NUCLEUS)

CONFIGURATIONS = (
    Configuration(
        "complete",
        "complete",
        "A model continues each file at its cursor, with or without context of other files.",
        {COMPLETER: "completer"},
        options={SETTING: IN_FILE, DECODING: GREEDY, FIM: ""},
    ),
)


def response_setting(options: dict[str, str]) -> str:
    """Return the setting of responses: that of the context, with how they were decoded behind it."""
    parts = [options[SETTING]]
    parts += [options[DECODING]] if options[DECODING] != GREEDY else []
    return "+".join([*parts, *([FIM] if options[FIM] else [])])
