"""Finds names in TypeScript files that only another file explains: tsc (CrossCodeEval, A.3)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, NamedTuple

from agents.construction.places import NO_IMPORT, Found, Place, name_ending_at
from agents.construction.tools import Reading, blanked, missing, of_utf16, read_all, why_unread, written
from agents.repositories.syntax import TYPESCRIPT, imports_in, parsed, text_of
from agents.sandbox.bubblewrap.tool import ToolLimits, run_tool

if TYPE_CHECKING:
    from tree_sitter import Node

    from agents.sandbox.output_capture import ProcessResult
    from agents.sandbox.settings import SandboxSettings


_ERRORS = Path(__file__).with_name("TypeScriptErrors.js")
_PACKAGE, _LISTS, _PROGRAM = "/typescript", "/lists", "/program"
_NODE = ("--max-old-space-size=1024",)
# The interpreter of JavaScript reserves far more addresses than it uses.
_LIMITS = ToolLimits(wall_seconds=600.0, cpu_seconds=600, address_bytes=None)
_WITHOUT = frozenset({"2304", "2552"})
"""Unknown names, where an import is left out."""
_EMPTY, _NOT_CALLED = frozenset({"2339", "2551", "2348"}), "2348"
"""Unknown members of empty classes, and calls of those that were functions."""
_WORD = re.compile(r"[\w$]+")


class TypeScriptFinder:
    """Finds places in TypeScript files; see `Finder`."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings

    @cached_property
    def _package(self) -> Path:
        """The folder of the package typescript.

        Raises:
            SandboxError: There is none.
        """
        found = shutil.which("tsc")
        folder = None if found is None else Path(found).resolve().parent.parent
        if folder is None or not (folder / "lib" / "typescript.js").is_file():
            raise missing("tsc", "Names in TypeScript files", "npm install --global typescript@5.9.3")
        return folder

    @cached_property
    def _node(self) -> Path:
        """The interpreter of JavaScript.

        Raises:
            SandboxError: There is none.
        """
        found = shutil.which("node")
        if found is None:
            raise missing("node", "Names in TypeScript files", "apt install nodejs")
        return Path(found).resolve()

    @property
    def program(self) -> str:
        """The program and its version."""
        told = json.loads((self._package / "package.json").read_text())
        return f"tsc {told.get('version', '')}".strip()

    async def find(self, files: Mapping[str, str]) -> Found:
        """Return the places; a file is checked as it is, without its imports, and with empty classes."""
        found = Found()
        versions: dict[str, _Versions] = {}
        for path, text in files.items():
            made = _versions(path, text.encode(), files)
            if made is None:
                found.left_out[NO_IMPORT] += 1
            else:
                versions[path] = made
        readings = await self._errors(files, versions)
        for path, made in versions.items():
            of_file = [readings[path, which] for which in range(len(made))]
            if why := why_unread(of_file, "tsc"):
                found.left_out[why] += 1
            else:
                found.places += _places(path, made.as_it_is, [one.errors for one in of_file])
        return found

    async def _errors(
        self, files: Mapping[str, str], versions: Mapping[str, _Versions]
    ) -> dict[tuple[str, int], Reading]:
        """Return the errors of the versions of files, by path and number."""
        named = {f"/{path}": text for path, text in files.items()}

        async def run(waiting: Sequence[tuple[str, int]]) -> ProcessResult:
            texts = [(f"/{path}", versions[path][which].decode()) for path, which in waiting]
            with written({"given.json": json.dumps({"files": named, "versions": texts}).encode()}) as lists:
                return await run_tool(
                    self._settings,
                    self._node,
                    [*_NODE, f"{_PROGRAM}/{_ERRORS.name}", _PACKAGE, f"{_LISTS}/given.json"],
                    folders={
                        _PACKAGE: self._package,
                        _LISTS: lists,
                        f"{_PROGRAM}/{_ERRORS.name}": _ERRORS,
                        **self._shown(),
                    },
                    limits=_LIMITS,
                )

        return await read_all([(path, which) for path in versions for which in range(3)], run)

    def _shown(self) -> dict[str, Path]:
        """Return the interpreter where it is no part of the system."""
        folder = self._node.parent.parent
        return {} if self._node.is_relative_to("/usr") else {str(folder): folder}


class _Versions(NamedTuple):
    """A file as it is, without its imports of the repository, and with empty classes in their place."""

    as_it_is: bytes
    without: bytes
    empty: bytes


def _versions(path: str, code: bytes, files: Iterable[str]) -> _Versions | None:
    """Return the versions of a file; None where it imports no name of the repository."""
    spans, names = [], list[str]()
    for node in imports_in(TYPESCRIPT, path, parsed(TYPESCRIPT, path, code)):
        bound = _bound(node)
        if bound and _is_ours(path, node, files):
            spans.append((node.start_byte, node.end_byte))
            names += bound
    if not spans:
        return None
    # Without an import it would be no module any more, and its names would be global.
    without = blanked(code, spans) + b"\nexport {};\n"
    classes = "\n".join(
        f"class {name}<A = any, B = any, C = any, D = any> {{}}" for name in dict.fromkeys(names)
    )
    return _Versions(code, without, without + classes.encode() + b"\n")


def _is_ours(path: str, node: Node, files: Iterable[str]) -> bool:
    """Return whether an import is of a file of the repository."""
    source = node.child_by_field_name("source")
    if source is None:  # import name = require("./file")
        source = next((one for each in node.children for one in each.children if one.type == "string"), None)
    module = b"" if source is None else (source.text or b"").strip(b"'\"")
    if not module.startswith(b"."):
        return False
    place = normpath(PurePosixPath(path).parent / module.decode(errors="replace"))
    stem = re.sub(r"\.(?:js|jsx|ts|tsx)$", "", place)
    return any(f"{one}{ending}" in files for one in (stem, f"{place}/index") for ending in (".ts", ".tsx"))


def _bound(node: Node) -> list[str]:
    """Return the names that an import binds."""
    found, waiting = (
        [],
        [one for one in node.children if one.type in ("import_clause", "import_require_clause")],
    )
    while waiting:
        one = waiting.pop(0)
        if one.type == "identifier":
            found.append(one)
        elif one.type == "import_specifier":
            bound = one.child_by_field_name("alias") or one.child_by_field_name("name")
            found += [] if bound is None else [bound]
        else:
            waiting += one.named_children
    names = (text_of(one) for one in found)
    return [name for name in names if name.isidentifier() or "$" in name]


def _places(path: str, code: bytes, errors: Sequence[Sequence[tuple[str, int, int]]]) -> list[Place]:
    """Return the unknown names that the file as it is does not have."""
    before, without, empty = errors
    known = set(before)
    wanted = [one for one in without if one[0] in _WITHOUT] + [one for one in empty if one[0] in _EMPTY]
    found = set()
    for code_of_error, start, end in wanted:
        if (code_of_error, start, end) in known:
            continue
        at = of_utf16(code, end)
        if code_of_error == _NOT_CALLED and (begin := of_utf16(code, start)) is not None:
            word = _WORD.match(code[begin:].decode(errors="replace"))
            at = begin + len(word[0].encode()) if word else None
        if at is not None and (name := name_ending_at(code, at)):
            found.add(Place(path, *name))
    return sorted(found)
