"""The palette, and its part that comes from the catalogue of actions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider

from screens.commands import Command, CommandScope, commands_of
from screens.help import help_on, key_name, keys_of
from screens.workbench_screen import WorkbenchScreen


class Palette(CommandPalette):
    """The palette, whose list takes no key before it is laid out: a page key would end the app."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key means an action now."""
        is_laid_out = action != "command_list" or self.query_one(CommandList).size.height > 0
        return is_laid_out and super().check_action(action, parameters)


class CatalogueProvider(Provider):
    """Finds the actions of the screen below the palette by their names and their help."""

    def _known(self) -> Iterable[Command]:
        screen = self.screen
        scope: CommandScope = getattr(screen, "SCOPE", "app")
        scopes: tuple[CommandScope, ...] = ("app",) if scope == "app" else (scope, "app")
        for command in commands_of(*scopes):
            # All of them: commands without an effect now show why when run. A value that the
            # question does not have is none.
            if command.action != "command_palette" and self._name(command):
                yield command

    def _name(self, command: Command) -> str:
        """Return what a command does; of one that gives a label, which one the question that is asked has."""
        scale = self.screen.command_state.scale if isinstance(self.screen, WorkbenchScreen) else None
        return command.help if scale is None else help_on(command, scale)

    def _about(self, command: Command) -> str:
        settings, screen = cast(Any, self.app).context.settings, self.screen
        label = (
            screen.command_state.label_now(command) if isinstance(screen, WorkbenchScreen) else command.label
        )
        return f"{label} · key {key_name(keys_of(command, settings))}"

    async def _do(self, command: Command) -> None:
        await self.app.run_action(command.action, self.app if command.scope == "app" else self.screen)

    async def discover(self) -> Hits:
        """List every action of the screen before anything is typed."""
        for command in self._known():
            yield DiscoveryHit(self._name(command), partial(self._do, command), help=self._about(command))

    async def search(self, query: str) -> Hits:
        """Find actions by their help, their label or their name in the configuration."""
        matcher = self.matcher(query)
        for command in self._known():
            name = self._name(command)
            score = max(matcher.match(text) for text in (name, command.label, command.id))
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(name),
                    partial(self._do, command),
                    text=name,
                    help=self._about(command),
                )
