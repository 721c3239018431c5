"""Finds names in Python files that only another file explains: pylint's E1101 (CrossCodeEval, A.1)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.construction.places import NO_IMPORT, Found, Place, line_starts, name_ending_at
from agents.construction.tools import MOST_SECONDS, missing, written
from agents.repositories.syntax import PYTHON, imports_in, module_folders, parsed, text_of
from agents.sandbox.bubblewrap.tool import ToolLimits, run_tool
from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from tree_sitter import Node

    from agents.sandbox.settings import SandboxSettings

NOT_PARSED = "not parsed by pylint"
NOT_ENDED = "on which pylint did not end"

FILES_AT_ONCE = 100
"""Files that one run of pylint reads; its memory grows with them."""

_PACKAGES = ("pylint", "astroid", "isort", "mccabe", "dill", "tomlkit", "platformdirs", "typing_extensions")
"""All that pylint imports. It sees no other package, so that what it finds is the same everywhere."""
_OF_PYTHON = frozenset(f"__{name}__" for name in ("file", "loader", "members", "package", "path", "spec"))
"""Names of modules and enumerations that no file explains."""
_TOOLS, _FILES = "/tools", "/files"
_AS_IT_IS, _EMPTIED = "as_it_is", "emptied"
_START = f"import sys; sys.path.insert(0, {_TOOLS!r}); from pylint import run_pylint; run_pylint()"
_OPTIONS = (
    *("--rcfile=/dev/null", "--disable=all", "--enable=E1101,E0001,F0002", "--output-format=json2"),
    *("--persistent=no", "--missing-member-hint=no", "--load-plugins=", "--jobs=1"),
)
# What a file tells pylint, and Python about its encoding, is not followed: the text keeps its length.
_ORDERS = re.compile(rb"(#[^\n]*?(?:\bpylint|coding)[ \t]*)[:=]")
# Python ends a line there, and nothing else does.
_LONE_RETURN = re.compile(rb"\r(?!\n)")
MOST_PLAIN = 200
"""Times that a file imports a module by its whole name: classes for all of them stand in place of each."""
TOO_MANY = f"with more than {MOST_PLAIN} imports of modules"
_LONGEST_RUN = ToolLimits(wall_seconds=600.0, cpu_seconds=600)
_OF_ONE_FILE = ToolLimits(wall_seconds=60.0, cpu_seconds=60)


class _TooMany(Exception):
    pass


class _Emptied(NamedTuple):
    """A file whose imports of the repository are empty classes.

    Attributes:
        lines: Of each of its lines the number in the file as it is, from 0.
    """

    code: bytes
    lines: Sequence[int]


class PythonFinder:
    """Finds places in Python files; see `Finder`."""

    def __init__(self, settings: SandboxSettings) -> None:
        # Pylint runs with the interpreter for which it was installed.
        self._settings = settings.model_copy(update={"python": ""})

    @cached_property
    def program(self) -> str:
        """The program and its version.

        Raises:
            SandboxError: It is not installed.
        """
        try:
            return f"pylint {version('pylint')}"
        except PackageNotFoundError as error:
            raise missing("pylint", "Names in Python files", "pip install 'workbench[construct]'") from error

    async def find(self, files: Mapping[str, str]) -> Found:
        """Return the places; both versions of every file are checked in one run."""
        found = Found()
        modules = Modules(files)
        given: dict[str, tuple[bytes, _Emptied]] = {}
        for path, text in files.items():
            code = text.encode()
            try:
                emptied = empty_imports(code, path, modules)
            except RecursionError:
                found.left_out[NOT_PARSED] += 1
                continue
            except _TooMany:
                found.left_out[TOO_MANY] += 1
                continue
            if emptied is None:
                found.left_out[NO_IMPORT] += 1
            else:
                given[path] = code, emptied
        messages: dict[str, tuple[list[_Message], list[_Message]]] = {}
        paths = list(given)
        for start in range(0, len(paths), FILES_AT_ONCE):
            some = {path: given[path] for path in paths[start : start + FILES_AT_ONCE]}
            messages |= await self._checked(some, found)
        for path, (code, emptied) in given.items():
            before, after = messages.get(path, ((), ()))
            found.places += _places(path, code, emptied, before, after)
        return found

    async def _checked(
        self, given: Mapping[str, tuple[bytes, _Emptied]], found: Found
    ) -> dict[str, tuple[list[_Message], list[_Message]]]:
        """Return what pylint says of the files that it can read, as they are and emptied, by path."""
        told = await self._run(given, _LONGEST_RUN)
        if told is None and len(given) > 1:
            # One of them keeps it from an end.
            told = {}
            ends = monotonic() + MOST_SECONDS
            for path in given:
                if monotonic() > ends:
                    found.left_out[NOT_ENDED] += 1
                    continue
                of_file = await self._run({path: given[path]}, _OF_ONE_FILE)
                if of_file is None:
                    found.left_out[NOT_ENDED] += 1
                else:
                    told |= of_file
        elif told is None:
            found.left_out[NOT_ENDED] += 1
        kept = {}
        for path, messages in (told or {}).items():
            if any(one.fatal for version in messages for one in version):
                found.left_out[NOT_PARSED] += 1
            else:
                kept[path] = messages
        return kept

    async def _run(
        self, given: Mapping[str, tuple[bytes, _Emptied]], limits: ToolLimits
    ) -> dict[str, tuple[list[_Message], list[_Message]]] | None:
        """Return the messages of files, as they are and emptied, by path; None where it came to no end."""
        paths, files = list(given), dict[str, bytes]()
        for number, (code, emptied) in enumerate(given.values()):
            # Modules of these names are imported nowhere.
            for kind, text in ((_AS_IT_IS, code), (_EMPTIED, emptied.code)):
                files[f"file_{number:06}_{kind}.py"] = _without_orders(text)
        with written(files) as folder:
            result = await run_tool(
                self._settings,
                None,
                ["-I", "-c", _START, *_OPTIONS, *(f"{_FILES}/{name}" for name in files)],
                folders={_FILES: folder, **_shown()},
                limits=limits,
            )
        try:
            messages = json.loads(result.stdout)["messages"]
        except (ValueError, TypeError, KeyError):
            if result.code is None and not result.stopped:
                raise SandboxError(
                    "pylint was not started", result.stderr.decode(errors="replace")[-1000:]
                ) from None
            return None
        told: dict[str, tuple[list[_Message], list[_Message]]] = {path: ([], []) for path in paths}
        for one in map(_Message.of, messages):
            of_file = told[paths[int(one.file.split("_")[1])]]
            of_file[one.file.endswith(f"{_EMPTIED}.py")].append(one)
        return told


def _without_orders(code: bytes) -> bytes:
    """Return a file of the same length in which nothing tells pylint or Python what to do."""
    code, found = _LONE_RETURN.sub(b" ", code), 1
    while found:
        code, found = _ORDERS.subn(rb"\1 ", code)
    return code


class _Message(NamedTuple):
    """A message of pylint: where what it is about ends.

    Attributes:
        line: From 0.
        column: In bytes.
        fatal: Whether it is that the file cannot be read.
    """

    file: str
    line: int
    column: int
    fatal: bool

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> _Message:
        line, column = told["endLine"] or told["line"], told["endColumn"] or 0
        return cls(PurePosixPath(told["path"]).name, line - 1, column, told["messageId"] != "E1101")


def _shown() -> dict[str, Path]:
    """Return the packages that pylint needs, by their paths inside."""
    found = {}
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin:
            place = Path(spec.origin)
            place = place.parent if place.name == "__init__.py" else place
            found[f"{_TOOLS}/{place.name}"] = place.resolve()
    return found


def _places(
    path: str, code: bytes, emptied: _Emptied, before: Iterable[_Message], after: Iterable[_Message]
) -> list[Place]:
    """Return the names with errors that the file as it is does not have, in order."""
    starts = line_starts(code)
    known = {(one.line, one.column) for one in before}
    found = set()
    for one in after:
        if not 0 <= one.line < len(emptied.lines):
            continue
        line = emptied.lines[one.line]
        name = name_ending_at(code, starts[line] + one.column)
        if (line, one.column) not in known and name and name[1] not in _OF_PYTHON:
            found.add(Place(path, *name))
    return sorted(found)


class Modules:
    """Which modules a repository has, by their places in its tree."""

    def __init__(self, files: Iterable[str]) -> None:
        self._places = set[str]()
        self._files = set(files)
        for path in self._files:
            place = path.removesuffix(".py")
            while place:
                self._places.add(place)
                place = place.rpartition("/")[0]

    def has(self, path: str, module: str) -> bool:
        """Return whether a file finds a module in the repository: from its folder or one above, or `src`."""
        place = module.replace(".", "/")
        return any(str(folder / place) in self._places for folder in module_folders(path, self._files))


def empty_imports(code: bytes, path: str, modules: Modules) -> _Emptied | None:
    """Return a file in which every import of the repository is an empty class; None where it has none.

    Raises:
        _TooMany: It has more than `MOST_PLAIN`.
    """
    root = parsed(PYTHON, path, code)
    lines = code.split(b"\n")
    imports = [_Import(node, path, modules) for node in imports_in(PYTHON, path, root)]
    plain = [each for one in imports for each in one.plain]
    if len(plain) > MOST_PLAIN:
        raise _TooMany
    replaced: dict[int, tuple[int, list[bytes]]] = {}
    for one in imports:
        (first, column), (last, end) = one.node.start_point, one.node.end_point
        alone = not lines[first][:column].strip() and not lines[last][end:].split(b"#")[0].strip()
        if alone and (new := one.lines(plain)):
            replaced[first] = last, [lines[first][:column] + line for line in new]
    if not replaced:
        return None
    result, numbers, at = list[bytes](), list[int](), 0
    while at < len(lines):
        last, new = replaced.get(at, (at, [lines[at]]))
        result += new
        numbers += [at] * len(new)
        at = last + 1
    return _Emptied(b"\n".join(result), numbers)


class _Import:
    """An import statement, and what of it is of the repository.

    Attributes:
        plain: The modules that `import a.b` names without `as`, in parts.
    """

    def __init__(self, node: Node, path: str, modules: Modules) -> None:
        self.node = node
        self.plain: list[list[str]] = []
        self._bound: list[str] = []
        self._others: list[bytes] = []
        module = node.child_by_field_name("module_name")
        if module is not None:
            star = any(each.type == "wildcard_import" for each in node.named_children)
            ours = module.type == "relative_import" or modules.has(path, text_of(module))
            if ours and not star:
                self._bound = [_bound(each) for each in node.children_by_field_name("name")]
            return
        for each in node.children_by_field_name("name"):
            name = each.child_by_field_name("name") if each.type == "aliased_import" else each
            if name is None or not modules.has(path, text_of(name)):
                self._others.append(each.text or b"")
            elif each.type == "aliased_import":
                self._bound.append(_bound(each))
            else:
                self.plain.append(text_of(name).split("."))

    def lines(self, plain: Collection[list[str]]) -> list[bytes]:
        """Return the lines that stand for the statement; none where it imports nothing of the repository.

        `import a.b` binds `a`, of which the file knows all that it imports below it.
        """
        if not self._bound and not self.plain:
            return []
        lines = [b"import " + b", ".join(self._others)] if self._others else []
        lines += [f"class {name}: pass".encode() for name in self._bound]
        for first in dict.fromkeys(parts[0] for parts in self.plain):
            lines += _nested(first, [parts[1:] for parts in plain if parts[0] == first], 0)
        return lines


def _nested(name: str, below: Collection[Sequence[str]], depth: int) -> list[bytes]:
    """Return an empty class with those in it that are imported below it."""
    inner = defaultdict[str, list[Sequence[str]]](list)
    for parts in below:
        if parts:
            inner[parts[0]].append(parts[1:])
    head = f"{' ' * depth}class {name}:"
    if not inner:
        return [f"{head} pass".encode()]
    nested = [line for each, further in inner.items() for line in _nested(each, further, depth + 1)]
    return [head.encode(), *nested]


def _bound(node: Node) -> str:
    """Return the name that an imported name is bound to."""
    return text_of(node.child_by_field_name("alias") or node)
