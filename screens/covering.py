"""Screens that are laid out once when they are shown, and rest while another one covers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator


class CoveredScreen(Screen[None]):
    """A screen over which others may lie. Only modals let it shine through; under the others it rests.

    Textual keeps painting the screen below the one shown, and paints the whole terminal anew for every
    change on it: under a judgment that takes as long as painting the next item.

    Args:
        context: What it works with.
        navigator: Opens other screens.
    """

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__()
        self.context = context
        self.navigator = navigator

    def on_mount(self) -> None:
        """Take the class of the terminal's width before the first layout; Textual gives it after that."""
        width = self.app.size.width
        names = [name for least, name in self.app.HORIZONTAL_BREAKPOINTS or () if least <= width]
        self.add_class(*names[-1:])

    @property
    def is_current(self) -> bool:
        """Whether the screen can be seen."""
        return super().is_current and all(
            screen.is_modal for screen in self.app.screen_stack[self.app.screen_stack.index(self) + 1 :]
        )
