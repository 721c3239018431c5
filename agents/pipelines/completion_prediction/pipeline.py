"""Completes tasks of cross-file completion by a model (CrossCodeEval, section 3.3 and appendix D.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agents.jobs.outcome import Response
from agents.llm.plain_text import Continuations, cut
from agents.llm.protocol import PlainText
from agents.pipelines.completion_prediction.configurations import (
    COMPLETER,
    DECODING,
    FILL_IN,
    SETTING,
)
from agents.pipelines.spec import ExpectedRole, Workload
from store.errors import UnknownName, WorkbenchError
from store.formats.crosscodeeval import context_text
from store.kinds.completion_settings import IN_FILE, NUCLEUS, OWN, response_setting
from store.queries.completion_tasks import context_settings, tasks_with
from store.record.response_names import ResponseName

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.jobs.step_recorder import StepRecorder
    from agents.pipelines.spec import Configuration
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings
    from store.queries.completion_tasks import CompletionTask

SAMPLES, TEMPERATURE, TOP_P = 5, 0.2, 0.95
"""Nucleus sampling: the most probable of so many samples is taken (appendix D.2)."""

CONTEXT_CHARACTERS = 1500
"""Of 512 tokens."""

LENGTHS = {"codegen": 2048, "gpt-3.5": 4096}
LONGEST = 8192
"""Tokens that models read and write, by what their names contain; others as many as StarCoder."""


def longest_of(model: str) -> int:
    """Return how many tokens a model reads and writes, by its name."""
    return next((size for part, size in LENGTHS.items() if part in model.casefold()), LONGEST)


def check_setting(connection: Connection, configuration: Configuration) -> None:
    """Refuse a setting under which no task has context.

    Raises:
        UnknownName: There is none.
    """
    wanted = configuration.options[SETTING]
    known = context_settings(connection)
    if wanted != IN_FILE and wanted not in known:
        raise UnknownName(
            "No such context",
            f"No task has context under {wanted!r}.",
            f"Settings: {', '.join(filter(None, (IN_FILE, *known)))}. Retrieve context: workbench retrieve",
        )


def eligible(connection: Connection, configuration: Configuration) -> Sequence[int]:
    """Return the tasks that have context under the setting and, with `--fim`, something after the gap.

    Raises:
        UnknownName: No task has context under the setting.
    """
    check_setting(connection, configuration)
    setting = configuration.options[SETTING]
    context = None if setting == IN_FILE else setting
    return tasks_with(connection, context, followed=bool(configuration.options[FILL_IN]))


def workload(connection: Connection, configuration: Configuration, models: Mapping[str, str]) -> Workload:
    """Return the expected work: a short reply for each item, or as many as samples are drawn."""
    samples = SAMPLES if configuration.options[DECODING] == NUCLEUS else 1
    without = len("none")
    places = {
        "context": without if configuration.options[SETTING] == IN_FILE else CONTEXT_CHARACTERS,
        "after": CONTEXT_CHARACTERS if configuration.options[FILL_IN] else without,
    }
    return Workload({COMPLETER: ExpectedRole(reply_characters=200 * samples)}, places=places)


class CompletionPrediction:
    """Completes tasks, one after another or many at a time.

    Args:
        configuration: The prompt, and the options: setting, decoding, fill in the middle.
        sandbox: Not used; nothing is executed.
        settings: Not used.
    """

    def __init__(
        self, configuration: Configuration, sandbox: Sandbox | None, settings: SandboxSettings
    ) -> None:
        self._prompts = configuration.load_prompts()
        self._options = dict(configuration.options)

    async def run(self, item: CompletionTask, recorder: StepRecorder) -> tuple[Response]:
        """Complete a task; see `agents.pipelines.spec.Pipeline`.

        Returns:
            The response of the model, in the setting of the context with the decoding behind it.

        Raises:
            WorkbenchError: The task has no context under the setting, or nothing follows the cursor.
        """
        name = recorder.model_of(COMPLETER)
        self._refuse_mixing(item, recorder, name)
        plain = self._plain(item, name)
        context, code, after = cut(plain)
        messages = self._prompts[COMPLETER].messages(
            context=context or "none", code=code, after=after or "none"
        )
        found = await recorder.ask(COMPLETER, messages, Continuations, plain=plain)
        setting = self._setting(OWN if found.own else self._options[DECODING])
        return (Response(ResponseName(name, setting), found.best.text),)

    def _setting(self, decoding: str) -> str:
        return response_setting(self._options[SETTING], decoding, fim=bool(self._options[FILL_IN]))

    def _refuse_mixing(self, item: CompletionTask, recorder: StepRecorder, name: str) -> None:
        """Refuse to go on with what another run made, before anything is paid for.

        Raises:
            WorkbenchError: Completions of the model in the setting are there.
        """
        setting = self._setting(OWN if recorder.decodes_itself(COMPLETER) else self._options[DECODING])
        if item.made.get((name, setting), frozenset()) - {recorder.run_id}:
            raise WorkbenchError(
                "Completed by another run",
                f"Completions of {name} in {setting} are there, imported or of a run with another service, "
                "model, prompt or setting: those of two runs are not mixed.",
                "Complete in a copy of the workspace (workbench copy), or as that run did.",
            )

    def _plain(self, item: CompletionTask, model: str) -> PlainText:
        setting, context = self._options[SETTING], ""
        if setting != IN_FILE:
            pieces = item.pieces.get(setting)
            if not pieces:
                raise WorkbenchError(
                    "No context",
                    f"{item.external_id} has no context under {setting!r}.",
                    "Retrieve it: workbench retrieve. Its settings are listed under Context in the review.",
                )
            context = context_text(item.language, pieces)
        if self._options[FILL_IN] and not item.suffix.strip():
            raise WorkbenchError(
                "Nothing follows",
                f"Nothing follows the cursor in {item.external_id}, so there is no gap to fill in.",
                "Complete it without --fim.",
            )
        sampled = self._options[DECODING] == NUCLEUS
        return PlainText(
            item.prompt,
            context=context,
            suffix=item.suffix if self._options[FILL_IN] else "",
            longest=longest_of(model),
            n=SAMPLES if sampled else 1,
            temperature=TEMPERATURE if sampled else 0.0,
            top_p=TOP_P if sampled else None,
        )
