"""Styles that the apps of one test process share, since each of hundreds of apps would work out the same ones.

Textual parses the style sheets for every app, and looks through all rules for every widget whenever a class changes:
two thirds of the time of a small test. Here what is parsed is kept by its source, and which values a widget gets by
its place: its own and its ancestors' types, ids, classes and states. Rules that ask for more are worked out each time.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widget import Widget

_parse, _apply = Stylesheet.parse, Stylesheet.apply

_COUNTED = Stylesheet._EXCLUDE_PSEUDO_CLASSES_FROM_CACHE
"""States of a widget that are not in the key of its place."""


class Selected(Stylesheet):
    """The rules of a sheet whose last selectors have some names."""

    def __init__(self, sheet: Sheet, names: frozenset[str]) -> None:
        super().__init__()
        self._whole = sheet.whole
        self._rules_map = {name: sheet.whole.rules_map[name] for name in names}
        found = {rule for rules in self._rules_map.values() for rule in rules}
        self._rules = [rule for rule in sheet.whole.rules if rule in found]
        states = set[str]().union(*(rule.pseudo_classes for rule in self._rules))
        self.is_by_place = states.isdisjoint(_COUNTED)
        self.has_hover = "hover" in states

    def _process_component_classes(self, node: DOMNode) -> None:
        self._whole._process_component_classes(node)


class Sheet:
    """What was parsed of some sources, and the values by place."""

    def __init__(self, rules: list[RuleSet]) -> None:
        self.whole = Stylesheet()
        self.whole._rules = rules
        self.names = self.whole.rules_map.keys()
        self.selected: dict[frozenset[str], Selected] = {}
        self.values: dict[tuple[Any, ...], Any] = {}


_sheets: dict[tuple[Any, ...], Sheet] = {}
_sheet_of_rules: dict[int, Sheet] = {}


def parse(self: Stylesheet) -> None:
    """Parse the sources, unless another app has."""
    key = (tuple(self.source.items()), tuple(self._variables.items()))
    sheet = _sheets.get(key)
    if sheet is None:
        _parse(self)
        sheet = _sheets[key] = Sheet(self._rules)
        _sheet_of_rules[id(self._rules)] = sheet
    self._rules, self._rules_map = sheet.whole._rules, sheet.whole._rules_map
    self._require_parse = False


def apply(self: Stylesheet, node: DOMNode, *, animate: bool = False, cache: Any = None) -> None:
    """Give a node its values, those that another one at such a place got where there was one."""
    sheet = _sheet_of_rules.get(id(self.rules))
    if sheet is None:
        _apply(self, node, animate=animate, cache=cache)
        return
    names = frozenset(sheet.names & node._selector_names)
    selected = sheet.selected.get(names)
    if selected is None:
        selected = sheet.selected[names] = Selected(sheet, names)
    if not selected.is_by_place:
        for each in (node, node._parent):
            if each is not None:
                _styled.pop(each, None)
        _apply(selected, node, animate=animate)
        return
    place = _place(node, {} if cache is None else cache.setdefault(None, {}))
    values = sheet.values.get(place)
    if values is None:
        found: dict[tuple[Any, ...], Any] = {}
        _styled[node] = sheet, place
        _apply(selected, node, animate=animate, cache=found)
        if found:
            (sheet.values[place],) = found.values()
        return
    node._has_hover_style, node._has_focus_within = selected.has_hover, False
    node._has_order_style = node._has_odd_or_even = False
    if _styled.get(node) == (sheet, place) and node.styles.base._rules == values:
        node.notify_style_update()
        return
    _styled[node] = sheet, place
    self.replace_rules(node, values, animate=animate)
    self._process_component_classes(node)


_styled: WeakKeyDictionary[Any, tuple[Sheet, tuple[Any, ...]]] = WeakKeyDictionary()
"""With what, and at which place, a node was styled last."""


def _place(node: Any, known: dict[DOMNode, tuple[Any, ...]]) -> tuple[Any, ...]:
    """All that the rules of a sheet ask of a node and those above it; `known` is that of one look at all nodes."""
    found = known.get(node)
    if found is None:
        states: tuple[Any, ...] = ()
        if isinstance(node, Widget):
            states = (*node._pseudo_classes_cache_key, node.allow_focus())
        elif isinstance(node, App):
            states = (node.app_focus, node.theme, node.is_inline, node.native_ansi_color, node.no_color)
        above = node._parent
        up = _place(above, known) if isinstance(above, DOMNode) else None
        found = known[node] = (up, type(node), node._id, node.classes, states)
    return found


Stylesheet.parse, Stylesheet.apply = parse, apply  # type: ignore[method-assign]
