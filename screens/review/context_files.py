"""Opens the repository's file behind a piece of context."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView, PaneText, Piece
from screens.judging.context import JudgingContext
from screens.navigator import LoadedText, Navigator
from screens.review.panes import SUBJECT, PaneController

_NO_FOLDER = "Start with --repositories DIR, or set screens.repositories, to open files of repositories."


class ContextFiles:
    """Opens the file of the piece at the cursor of the pane, or else at its top."""

    def __init__(self, shared: JudgingContext, panes: PaneController, navigator: Navigator) -> None:
        self._shared = shared
        self._panes = panes
        self._navigator = navigator

    def handlers(self) -> Handlers:
        """Return the handler of the command that opens the file."""
        return {"review.open_file": Handler(self.open, self._is_possible, of_item=True)}

    def _is_possible(self) -> bool:
        item = self._shared.item
        has_folder = self._shared.context.settings.repositories is not None
        return has_folder and item is not None and _with_pieces(item) is not None

    def open(self) -> None:
        """Open the file; where the pieces are out of sight, show them first."""
        item, show = self._shared.item, self._shared.show_message
        repositories = self._shared.context.settings.repositories
        if item is None or self._shared.guard.missing_at(self._shared.context.last_key.time):
            show("The item was not on the screen when you pressed. Press again.")
        elif (part := _with_pieces(item)) is None:
            show("This item has no pieces of other files.")
        elif repositories is None:
            show(_NO_FOLDER)
        elif (pane := self._panes.pane_in_sight(item, part.id)) is None:
            self._panes.show_pane(SUBJECT if part is item.subject else part.id)
            key, cite = self._shared.key("open_file"), self._shared.key("cite")
            show(f"{key} opens the file of the piece at the top, or at the cursor of {cite}.")
        else:
            lines = pane.selected_lines or pane.cursor_lines
            line = lines[0] if lines is not None else pane.first_line
            above = [piece for piece in part.pieces if piece.line <= line]
            piece = above[-1] if above else part.pieces[0]
            load = partial(_load, repositories, piece)
            self._navigator.open_text("file of the repository", _title(piece), load)


def _title(piece: Piece, *words: str) -> str:
    return " · ".join(word for word in (piece.path, *words, piece.repository) if word)


def _load(repositories: Path, piece: Piece) -> LoadedText:
    """Read the file of a piece, at the lines of the piece."""
    from agents.repositories.files import read_file

    file = read_file(repositories, piece.repository, piece.path, piece.text, piece.revision)
    found = [] if file.lines is not None else ["piece not found in it"]
    return LoadedText(file.text, piece.language, _title(piece, file.state, *found), file.lines)


def _with_pieces(item: ItemView) -> PaneText | None:
    """Return the part of an item that consists of pieces of files; None where there is none."""
    return next((part for part in (item.subject, *item.case) if part.pieces), None)
