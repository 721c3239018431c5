"""Writes the generated files: the documents' tables of keys, settings and views; statements of a start.

`python -m workbench.reference` updates docs/keys.md, docs/configuration.md, docs/sql.md and store/first_look;
a test fails where they are out of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from screens.commands import WHERE, Command, all_commands
from store.first_look import compiling
from store.sql_views.views import views
from workbench.config import Config, fields, is_table, variable

_KEY_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
}


def key_names(command: Command) -> str:
    """Return the default keys of an action as a keyboard labels them: "`Ctrl+Q` or `Ctrl+C`"."""
    names = [_key_name(key.strip()) for key in command.key.split(",")]
    return " or ".join(f"`{name}`" for name in names)


def _key_name(key: str) -> str:
    *modifiers, name = key.split("+")
    word = _KEY_NAMES.get(name, name.upper() if modifiers or len(name) > 1 else name)
    return "+".join((*(modifier.capitalize() for modifier in modifiers), word))


def keys_tables() -> str:
    """Return a table of keys for each screen, part and dialog, a row for each action."""
    commands = sorted(all_commands(), key=lambda command: list(WHERE).index(command.scope))
    sections = []
    for scope, group in groupby(commands, key=lambda command: command.scope):
        lines = [f"## {WHERE[scope]}", "", "| key | what it does | action |", "|---|---|---|"]
        lines += [f"| {key_names(command)} | {command.help} | `{command.id}` |" for command in group]
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def views_tables() -> str:
    """Return a table of columns for each view."""
    sections = []
    for view in views().values():
        lines = [f"### {view.name}", "", view.about, "", "| column | type | |", "|---|---|---|"]
        lines += [f"| `{column.name}` | {column.type} | {column.about} |" for column in view.columns]
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def settings_reference() -> str:
    """Return every setting with its default, its variable and its docstring, a section a table."""
    return "\n".join(_section(Config, ()))


def _section(model: type, place: tuple[str, ...]) -> Iterator[str]:
    inner: list[tuple[str, type, str]] = []
    for name, field in fields(model).items():
        text = " ".join((field.description or "").split())
        if isinstance(field.annotation, type) and is_table(field.annotation):
            inner.append((name, field.annotation, text))
            continue
        default = _default(field.get_default(call_default_factory=True))
        yield f"- **`{name}`** ({default}; `{variable((*place, name))}`): {text}"
    for name, section, text in inner:
        yield from ("", f"### `[{'.'.join((*place, name))}]`", "", text, "")
        yield from _section(section, (*place, name))


def _default(value: Any) -> str:
    if value is None or isinstance(value, SecretStr):
        return "unset"
    if isinstance(value, dict):
        # An inline table, as it would appear in the file.
        inside = ", ".join(f"{key} = {json.dumps(each)}" for key, each in value.items())
        return f"default `{{ {inside} }}`" if value else "empty"
    return f"default `{json.dumps(value)}`"


def filled(text: str, name: str, content: str) -> str:
    """Return a document with the content between its markers `<!-- NAME -->` and `<!-- /NAME -->` replaced.

    Raises:
        ValueError: The document lacks the markers.
    """
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers for {name}")
    return pattern.sub(lambda found: f"{found[1]}{content}\n{found[2]}", text)


def documents(root: Path) -> dict[Path, str]:
    """Return the documents that hold generated parts, and the statements of a start, as they should read."""
    keys, configuration = root / "docs" / "keys.md", root / "docs" / "configuration.md"
    sql = root / "docs" / "sql.md"
    return {
        sql: filled(sql.read_text(encoding="utf-8"), "views", views_tables()),
        keys: filled(keys.read_text(encoding="utf-8"), "keys", keys_tables()),
        configuration: filled(configuration.read_text(encoding="utf-8"), "settings", settings_reference()),
        **compiling.statements(),
    }


def main() -> None:
    """Bring the documents up to date in the current folder, and the statements where they are."""
    for path, text in documents(Path()).items():
        path.write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
