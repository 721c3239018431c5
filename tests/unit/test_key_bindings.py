"""Every key of ours comes from the catalogue: it has an id, says what it does, and can be changed."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from textual.binding import Binding
from textual.dom import DOMNode

import screens
from screens.commands import BEFORE_A_WORKSPACE, WHERE, WITHIN, all_commands, commands_of, label_key
from screens.help import first_key, hint, with_keys
from screens.keys_screen import columned, lines, sections, wrap
from screens.settings import ScreenSettings
from store.kinds.answer import ANSWER


def bound() -> Iterator[tuple[type, Binding]]:
    """The bindings of every class of the screens."""
    for module in pkgutil.walk_packages(screens.__path__, "screens."):
        for kind in vars(importlib.import_module(module.name)).values():
            if (
                isinstance(kind, type)
                and issubclass(kind, DOMNode)
                and kind.__module__.startswith("screens.")
            ):
                for binding in vars(kind).get("BINDINGS", ()):
                    assert isinstance(binding, Binding)
                    yield kind, binding


def test_every_binding_is_a_command_of_the_catalogue() -> None:
    known = {command.id: command for command in all_commands()}
    found = list(bound())
    assert {binding.id for _, binding in found} == set(known)
    for kind, binding in found:
        assert binding.tooltip == known[str(binding.id)].help, kind


def test_each_command_has_an_id_of_its_own_and_keys_of_its_own_on_its_screen() -> None:
    ids = Counter(command.id for command in all_commands())
    assert [name for name, count in ids.items() if count > 1] == []
    keys = Counter(
        (command.scope, key.strip())
        for command in all_commands()
        # The key of a value is that of another action where the question that is asked has no such value.
        if label_key(command) is None
        for key in command.key.split(",")
    )
    assert [both for both, count in keys.items() if count > 1] == []


def test_every_command_is_listed_by_the_help_of_a_screen() -> None:
    listed = {
        scope: "\n".join(lines(sections(scope, ScreenSettings())))
        for scope in (
            "welcome",
            "home",
            "sitting",
            "queue",
            "review",
            "adjudicate",
            "file",
            "jobs",
            "outcomes",
            "studies",
            "study",
            "new_study",
            "splits",
            "new_split",
            "export",
            "sql",
            "search",
            "reports",
            "by_query",
            "ranked",
        )
    }
    for command in all_commands():
        if label_key(command) is not None:
            continue  # the question on the screen tells of these
        on = [scope for scope in listed if command.scope in (scope, "app", *WITHIN["app"], *WITHIN[scope])]
        if command.scope == "app" and command.id not in BEFORE_A_WORKSPACE:
            assert command.help not in listed["welcome"]
            on.remove("welcome")
        if command.scope == "palette":
            on.remove("welcome")
        assert on, command.id
        assert all(command.help in listed[scope] for scope in on), command.id


def test_words_that_need_further_rows_stand_below_each_other() -> None:
    for line in lines(sections("review", ScreenSettings())):
        rows = wrap(line, 40)
        assert " ".join(row.strip() for row in rows).split() == line.split()
        assert max(map(len, rows)) <= 40
        assert all(row.startswith(" " * 14) == line.startswith(" ") for row in rows[1:])


def test_the_values_of_a_scale_are_listed_in_its_order() -> None:
    accuracy = next(spec for spec in ANSWER.questions if spec.title == "accuracy")
    answer = next(sections("review", ScreenSettings(), accuracy.scale))
    assert answer.title == "Judging"
    assert [key for key, _ in answer.rows[:10]] == ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"]
    assert answer.rows[9][1].startswith("Answer 10 ")


def test_keys_of_which_the_same_is_said_share_a_line() -> None:
    found = lines(section.matching("this number") for section in sections("queue", ScreenSettings()))
    assert found == ["Queue", " 1-5          List only the kind that has this number above the list."]


def test_a_filter_lists_what_contains_it_with_its_title() -> None:
    found = lines(section.matching("wrap") for section in sections("review", ScreenSettings()))
    assert found == ["Panes", " W            Wrap long lines, or do not."]
    copying = lines(section.matching("COPY") for section in sections("review", ScreenSettings()))
    assert copying[:2] == ["Item", " y            Copy the selection, or the whole pane."]
    assert copying[3:] == ["Everywhere", copying[4]]
    assert copying[4].startswith(" ^c           Copy the selection, else cancel")


def test_groups_of_keys_stay_whole_in_columns_of_about_the_same_height() -> None:
    listed = lines(sections("review", ScreenSettings()))
    for columns in (1, 2, 3):
        found = columned(listed, columns, 56)
        assert len(found) == columns
        # Nothing is lost, and every column begins with the title of a group.
        assert [row for column in found for row in column if row] == [
            row for line in listed if line for row in wrap(line, 56)
        ]
        assert all(not column[0].startswith(" ") for column in found)
        assert max(map(len, found)) <= 1.5 * sum(map(len, found)) / columns


def test_every_screen_has_a_legend_of_its_signs() -> None:
    for scope in ("home", "queue", "review", "splits", "export"):
        legend = next(each for each in sections(scope, ScreenSettings()) if each.title.startswith("Signs"))
        assert {"●  ○", "◆"} <= {sign for sign, _ in legend.rows}


def test_the_scopes_are_named() -> None:
    assert {command.scope for command in all_commands()} == set(WHERE)
    assert [command.id for command in commands_of("value")] == ["value.next", "value.back"]


def test_hints_name_the_keys_that_are_configured() -> None:
    changed = ScreenSettings(keys={"filter.up": "ctrl+u", "filter.leave": "f2,f3"})
    assert (
        hint(changed, ("filter.up filter.down", "line"), ("filter.leave", "cancel")) == "^u↓ line · F2 cancel"
    )


def test_the_key_that_one_expects_is_named_while_it_is_one_of_the_commands() -> None:
    assert first_key(ScreenSettings(), "review.back", rather="escape") == "Esc"
    assert first_key(ScreenSettings(keys={"review.back": "f2,f3"}), "review.back", rather="escape") == "F2"


def test_sentences_name_the_key_of_a_command_and_leave_other_braces_alone() -> None:
    assert with_keys(ScreenSettings(), "{app.jobs} or {app.none} {x}") == "J or {app.none} {x}"
    assert with_keys(ScreenSettings(keys={"app.jobs": "f4"}), "{app.jobs} shows") == "F4 shows"


def test_no_sentence_names_a_key_that_can_be_another_one(repository: Path) -> None:
    key = re.compile(r"\b(Esc|Tab|PgUp|PgDn)\b|\b[JUNWLYV] \w+s\b|[↑↓←→] ?[↑↓←→]")
    for file in sorted((repository / "screens").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
                if file.name == "help.py" and len(node.value) < 5:  # the names of keys themselves
                    continue
                assert not key.search(node.value), f"{file.name}:{node.lineno} {node.value!r}"
