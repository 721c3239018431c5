"""Finds names in C# files that only another file explains: mcs's unknown members (CrossCodeEval, A.4).

The whole project is compiled again with the types of one file emptied; the errors that are new in the other
files are at names that this file explains. Mono's compiler looks into methods only where all declarations are
in order, so types of packages that are not there are declared in a file of our own, which also has an error
within a method: where that is reported, methods were looked into.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from agents.construction.places import Found, Place, line_starts
from agents.construction.tools import MOST_SECONDS, blanked, missing, written
from agents.repositories.syntax import CSHARP, parsed, text_of
from agents.sandbox.bubblewrap.tool import ToolLimits, run_tool
from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from tree_sitter import Node

    from agents.sandbox.settings import SandboxSettings

NOT_PARSED = "not parsed by mcs"
NOT_COMPILED = "without whose classes mcs does not look into methods"
BEYOND = "beyond the first that are emptied"
NO_TYPE = "without a class"

ROUNDS = 5
"""Times that what is missing is declared, and the project compiled again."""
MOST_EMPTIED = 200
"""Files whose types are emptied: the project is compiled for each."""

_FILES, _OURS = "/files", "/ours"
_OURS_NAME = "declared.cs"
_PROBE = "workbench_probe"
_OPTIONS = (
    *("-target:library", "-out:/tmp/out.dll", "-nologo", "-langversion:latest", "-unsafe", "-warn:0"),
    *("-nowarn:1", "-debug-"),
)
_LIMITS = ToolLimits(wall_seconds=120.0, cpu_seconds=120)
_ERROR = re.compile(r"^(.+?)\((\d+),(\d+)[^()]*\): error (CS\d+): (.*)$", re.MULTILINE)
_QUOTED = re.compile(r"`([^']*)'")
_INTERNAL = "CS0584"
_UNKNOWN_TYPE, _UNKNOWN_IN, _NO_OVERRIDE = "CS0246", "CS0234", "CS0115"
_UNKNOWN_NAMES = frozenset({"CS0103", "CS0117", "CS1061"})
_LINE = re.compile(rb"(?m)^[ \t]*#[ \t]*line\b[^\r\n]*")
_MEMBER = re.compile(r"(?:definition for|The name) `([^'<(]+)")
"""The name in an error of `_UNKNOWN_NAMES`."""
_TYPES = frozenset(
    {"class_declaration", "struct_declaration", "interface_declaration", "enum_declaration"}
) | {"record_declaration"}
_SPACES = frozenset({"namespace_declaration", "declaration_list", "file_scoped_namespace_declaration"})


class _Error(NamedTuple):
    """An error of the compiler; line and column from 0."""

    path: str
    line: int
    column: int
    code: str
    said: str


class CSharpFinder:
    """Finds places in C# files; see `Finder`."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings

    @cached_property
    def _compiler(self) -> tuple[Path, Path]:
        """Mono, and its compiler.

        Raises:
            SandboxError: One of them is not there.
        """
        mono = shutil.which("mono")
        compiler = Path("/usr/lib/mono/4.5/mcs.exe")
        if mono is None or not compiler.is_file():
            raise missing("mcs", "Names in C# files", "apt install mono-mcs")
        return Path(mono).resolve(), compiler

    @cached_property
    def program(self) -> str:
        """The program and its version."""
        mono, compiler = self._compiler
        told = subprocess.run(
            [mono, compiler, "--version"], capture_output=True, text=True, check=False, timeout=60
        ).stdout
        return f"mcs {told.split()[-1]}" if told.split() else "mcs"

    async def find(self, files: Mapping[str, str]) -> Found:
        """Return the places; the project is compiled once for each file with its types emptied."""
        # What a file says of its lines is not followed.
        codes = {
            path: _LINE.sub(lambda one: b" " * len(one[0]), text.encode()) for path, text in files.items()
        }
        with written(codes) as folder:
            return await self._find(_Project(dict(codes), codes, folder))

    async def _find(self, project: _Project) -> Found:
        found = Found()
        for error in await self._compiled(project, "--parse"):
            if project.codes.pop(error.path, None) is not None:
                found.left_out[NOT_PARSED] += 1
        before = await self._in_order(project)
        if before is None:
            found.problem = project.problem
            return found
        known = {error[:4] for error in before}
        places = set[Place]()
        emptied, ends = 0, monotonic() + MOST_SECONDS
        for path, code in project.codes.items():
            changed = empty_types(path, code)
            if changed is None:
                found.left_out[NO_TYPE] += 1
                continue
            emptied += 1
            if emptied > MOST_EMPTIED or monotonic() > ends:
                found.left_out[BEYOND] += 1
                continue
            after = await self._in_order(project.with_file(path, changed), declares=False)
            if after is None:
                found.left_out[NOT_COMPILED] += 1
                continue
            for error in after:
                new = error.code in _UNKNOWN_NAMES and error[:4] not in known
                if new and error.path != path and (place := project.place(error)):
                    places.add(place)
        found.places = sorted(places)
        return found

    async def _in_order(self, project: _Project, *, declares: bool = True) -> list[_Error] | None:
        """Return the errors within methods; None where declarations cannot be brought in order.

        Args:
            project: The project; what is missing is declared in it.
            declares: Whether types that are missing are declared.
        """
        errors: list[_Error] = []
        for _ in range(ROUNDS + 1):
            errors = await self._compiled(project)
            if any(_PROBE in error.said for error in errors):
                return [error for error in errors if error.path in project.codes]
            if not project.mend(errors, declares=declares):
                break
        first = next((error for error in errors if error.path in project.codes), None)
        project.problem = (
            "mcs did not end"
            if first is None
            else f"{first.path}:{first.line + 1}: {first.code} {first.said}"
        )
        return None

    async def _compiled(self, project: _Project, *options: str) -> list[_Error]:
        """Compile, and return the errors.

        Raises:
            SandboxError: The compiler could not be started.
        """
        mono, compiler = self._compiler
        ours = {_OURS_NAME: project.declared(), "files": project.listed()}
        changed = project.changed()
        with written(changed) as over, written(ours) as own:
            result = await run_tool(
                self._settings,
                mono,
                [str(compiler), *_OPTIONS, *options, f"@{_OURS}/files"],
                folders={
                    _FILES: project.folder,
                    **{f"{_FILES}/{path}": over / path for path in changed},
                    _OURS: own,
                    "/etc/mono": Path("/etc/mono"),
                },
                limits=_LIMITS,
            )
        said = (result.stderr + b"\n" + result.stdout).decode(errors="replace")
        if result.code not in (0, 1) and not result.stopped and "error CS" not in said:
            raise SandboxError("mcs was not started", said.strip()[-1000:])
        if result.stopped or result.code not in (0, 1) or f"error {_INTERNAL}" in said:
            # What comes after is not known.
            return []
        return [
            _Error(path.removeprefix(f"{_FILES}/"), int(line) - 1, int(column) - 1, code, message)
            for path, line, column, code, message in _ERROR.findall(said)
        ]


@dataclass
class _Project:
    """The files of a project, and what is declared beside them.

    Attributes:
        codes: The files, by path.
        written: The files as they are in a folder, and that folder.
        spaces: Namespaces that are declared.
        types: The declarations of types, by namespace and by name with the number of type parameters.
        problem: What the compiler said first, where declarations are not in order.
    """

    codes: dict[str, bytes]
    written: Mapping[str, bytes]
    folder: Path
    spaces: set[str] = field(default_factory=set)
    types: dict[tuple[str, str], str] = field(default_factory=dict)
    problem: str = ""

    def with_file(self, path: str, code: bytes) -> _Project:
        """Return the project with another text of a file."""
        codes = {**self.codes, path: code}
        return _Project(codes, self.written, self.folder, self.spaces, self.types)

    def changed(self) -> dict[str, bytes]:
        """Return the files that are other than in the folder."""
        return {path: code for path, code in self.codes.items() if code is not self.written[path]}

    def listed(self) -> bytes:
        """Return the paths of all files, as the compiler reads them from a file."""
        paths = [f"{_OURS}/{_OURS_NAME}", *(f"{_FILES}/{path}" for path in self.codes)]
        return "\n".join(f'"{path}"' for path in paths if '"' not in path).encode()

    def declared(self) -> bytes:
        """Return the file of our own."""
        lines = [f"class {_PROBE}_class {{ static void M() {{ new object().{_PROBE}(); }} }}"]
        lines += [f"namespace {space} {{ }}" for space in sorted(self.spaces)]
        for (space, _), declaration in sorted(self.types.items()):
            lines.append(f"namespace {space} {{ {declaration} }}" if space else declaration)
        return "\n".join(lines).encode()

    def mend(self, errors: Iterable[_Error], *, declares: bool) -> bool:
        """Declare what is missing, leave out each `override` of nothing; return whether any was."""
        changed = False
        overrides = defaultdict[str, list[tuple[int, int]]](list)
        for error in errors:
            if error.path not in self.codes:
                continue
            at = self._at(error)
            if declares and error.code in (_UNKNOWN_TYPE, _UNKNOWN_IN):
                changed |= self._declare(error, at)
            elif error.code == _NO_OVERRIDE:
                overrides[error.path] += _override_before(self.codes[error.path], at)
        for path, spans in overrides.items():
            self.codes[path] = blanked(self.codes[path], spans)
            changed |= bool(spans)
        return changed

    def _declare(self, error: _Error, at: int) -> bool:
        """Declare the type or the namespace that an error names; return whether it is new."""
        root = parsed(CSHARP, error.path, self.codes[error.path])
        node = root.descendant_for_byte_range(at, at + 1)
        quoted = _QUOTED.findall(error.said)
        before = len(self.spaces) + len(self.types)
        if node is not None and quoted:
            within = quoted[1] if error.code == _UNKNOWN_IN and len(quoted) > 1 else ""
            self._declare_at(node, within)
        return len(self.spaces) + len(self.types) > before

    def _declare_at(self, node: Node, within: str) -> None:
        using = _above(node, "using_directive")
        if using is not None:
            name = _using_name(using)
            words = (using.text or b"").split(b"=")[0].split()
            if b"static" in words or b"=" in (using.text or b""):
                space, _, simple = name.rpartition(".")
                self.types[space, simple] = f"public class {simple} {{ }}"
            elif name:
                self.spaces.add(name)
            return
        whole = node
        while whole.parent is not None and whole.parent.type in ("qualified_name", "generic_name"):
            whole = whole.parent
        qualified = "".join(text_of(whole).split()).split("<", maxsplit=1)[0]
        # What is before the last of several names is a namespace.
        space, _, name = qualified.rpartition(".")
        space, arity = space if space else within, _arity(whole)
        self.types[space, f"{name}`{arity}"] = _declaration(name, arity, whole)

    def _at(self, error: _Error) -> int:
        """Return the place of an error in its file, in bytes; columns are counted in units of UTF-16."""
        code = self.codes[error.path]
        starts = line_starts(code)
        start = starts[min(error.line, len(starts) - 1)]
        line = code[start : code.find(b"\n", start) if b"\n" in code[start:] else len(code)]
        before = line.decode(errors="replace").encode("utf-16-le")[: 2 * max(error.column, 0)]
        return start + len(before.decode("utf-16-le", errors="ignore").encode())

    def place(self, error: _Error) -> Place | None:
        """Return the place of the name in an error; None where its line has none.

        Within an interpolated string the compiler counts columns from elsewhere, and mostly too many.
        """
        found = _MEMBER.search(error.said)
        if found is None:
            return None
        name, code, at = found[1], self.codes[error.path], self._at(error)
        begin = code.rfind(b"\n", 0, at) + 1
        end = code.find(b"\n", begin)
        line = code[begin : len(code) if end < 0 else end].decode(errors="replace")
        places = [
            begin + len(line[: one.start()].encode())
            for one in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", line)
        ]
        before = [place for place in places if place <= at]
        nearest = before[-1:] or places[:1]
        return Place(error.path, nearest[0], name) if nearest else None


def _above(node: Node, kind: str) -> Node | None:
    above: Node | None = node
    while above is not None and above.type != kind:
        above = above.parent
    return above


def _using_name(using: Node) -> str:
    """Return the namespace or type that a directive names."""
    names = [one for one in using.named_children if one.type in ("identifier", "qualified_name")]
    return "" if not names else "".join(text_of(names[-1]).split())


def _arity(name: Node) -> int:
    """Return how many type arguments the last part of a name has."""
    last = (name.child_by_field_name("name") or name) if name.type == "qualified_name" else name
    if last.type != "generic_name":
        return 0
    arguments = next((one for one in last.children if one.type == "type_argument_list"), None)
    return 1 if arguments is None else 1 + sum(one.type == "," for one in arguments.children)


def _declaration(name: str, arity: int, node: Node) -> str:
    """Return a declaration of a type, by where it is named."""
    letters = ", ".join(f"T{number}" for number in range(arity))
    generic = f"<{letters}>" if letters else ""
    if _above(node, "attribute_list") is not None and _above(node, "attribute_argument_list") is None:
        name = name if name.endswith("Attribute") else f"{name}Attribute"
        given = "".join(f"public object {one}; " for one in _named_arguments(node))
        return (
            "[System.AttributeUsage(System.AttributeTargets.All, AllowMultiple = true)] "
            f"public class {name} : System.Attribute {{ public {name}(params object[] given) {{ }} {given}}}"
        )
    if _above(node, "base_list") is not None and re.match(r"I[A-Z]", name):
        return f"public interface {name}{generic} {{ }}"
    if name.endswith("Exception"):
        return f"public class {name} : System.Exception {{ }}"
    return f"public class {name}{generic} {{ }}"


def _named_arguments(node: Node) -> list[str]:
    attribute = _above(node, "attribute")
    text = b"" if attribute is None else attribute.text or b""
    return sorted({found.decode() for found in re.findall(rb"[(,]\s*([A-Za-z_]\w*)\s*=[^=]", text)})


def _override_before(code: bytes, at: int) -> list[tuple[int, int]]:
    """Return where the word `override` is in the declaration before a place."""
    start = max(code.rfind(sign, 0, at) for sign in (b";", b"{", b"}"))
    found = re.compile(rb"\boverride\b").finditer(code, max(start, 0), at)
    return [one.span() for one in found]


def empty_types(path: str, code: bytes) -> bytes | None:
    """Return a file with its types emptied, nested ones too; None where it has none."""
    changed, at = [], 0
    for node in _outer_types(parsed(CSHARP, path, code)):
        changed += [code[at : node.start_byte], _emptied(node, code)]
        at = node.end_byte
    return b"".join([*changed, code[at:]]) if changed else None


def _outer_types(node: Node) -> Iterator[Node]:
    for one in node.children:
        if one.type in _TYPES:
            yield one
        elif one.type in _SPACES:
            yield from _outer_types(one)


def _emptied(node: Node, code: bytes) -> bytes:
    """Return a type without members and bases, but for those that make it an exception."""
    body = node.child_by_field_name("body")
    if body is None:
        return code[node.start_byte : node.end_byte]
    bases = next((one for one in node.children if one.type == "base_list"), None)
    head = code[node.start_byte : body.start_byte]
    if bases is not None and not (node.type == "enum_declaration" or b"Exception" in (bases.text or b"")):
        head = code[node.start_byte : bases.start_byte] + b" " + code[bases.end_byte : body.start_byte]
    nested = b" ".join(_emptied(one, code) for one in body.children if one.type in _TYPES)
    return head + b"{ " + nested + b" }"
