"""Finds names in Java files that only another file explains: javac's unknown symbols (CrossCodeEval, A.2)."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from agents.construction.places import NO_IMPORT, Found, Place, name_ending_at
from agents.construction.tools import Reading, blanked, missing, of_utf16, read_all, why_unread, written
from agents.repositories.syntax import JAVA, imports_in, parsed, text_of
from agents.sandbox.bubblewrap.tool import ToolLimits, run_tool

if TYPE_CHECKING:
    from tree_sitter import Node

    from agents.sandbox.output_capture import ProcessResult
    from agents.sandbox.settings import SandboxSettings


_ERRORS = Path(__file__).with_name("JavaErrors.java")
_FILES, _CHANGED, _LISTS, _PROGRAM = "/files", "/changed", "/lists", "/program"
# A virtual machine takes about a gigabyte of addresses beside its heap.
_JAVA = (
    *("-Xmx512m", "-Xss4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
    *("-XX:CompressedClassSpaceSize=64m", "-XX:ReservedCodeCacheSize=64m"),
)
_LIMITS = ToolLimits(wall_seconds=600.0, cpu_seconds=600)
_UNKNOWN = "compiler.err.cant.resolve"
_WORD = re.compile(rb"[A-Za-z_$][\w$]*")
_KINDS = {
    "class_declaration": "class",
    "enum_declaration": "class",
    "record_declaration": "class",
    "interface_declaration": "interface",
    "annotation_type_declaration": "@interface",
}


class JavaFinder:
    """Finds places in Java files; see `Finder`."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings

    @cached_property
    def _home(self) -> Path:
        """The folder of the JDK.

        Raises:
            SandboxError: There is none.
        """
        found = shutil.which("javac")
        if found is None:
            raise missing("javac", "Names in Java files", "apt install openjdk-17-jdk-headless")
        return Path(found).resolve().parent.parent

    @property
    def program(self) -> str:
        """The program and its version."""
        try:
            said = re.search(r'JAVA_VERSION="(.*?)"', (self._home / "release").read_text())
        except OSError:
            said = None
        return f"javac {said[1]}" if said else "javac"

    async def find(self, files: Mapping[str, str]) -> Found:
        """Return the places; each file is compiled as it is and emptied, beside the others as they are."""
        found = Found()
        codes = {path: text.encode() for path, text in files.items()}
        types = _Types(codes)
        emptied = {}
        for path, code in codes.items():
            changed = types.empty_imports(path, code)
            if changed is None:
                found.left_out[NO_IMPORT] += 1
            else:
                emptied[path] = changed
        errors = await self._errors(codes, emptied, types.roots)
        for path in emptied:
            before, after = errors[f"{_FILES}/{path}"], errors[f"{_CHANGED}/{path}"]
            if why := why_unread((before, after), "javac"):
                found.left_out[why] += 1
            else:
                found.places += _places(path, codes[path], before.errors, after.errors)
        return found

    async def _errors(
        self, codes: Mapping[str, bytes], emptied: Mapping[str, bytes], roots: Sequence[str]
    ) -> dict[str, Reading]:
        """Return the errors of files as they are and emptied, by their paths inside."""
        source = ":".join(f"{_FILES}/{root}".rstrip("/") for root in roots if ":" not in root)
        with written(codes) as folder, written(emptied) as changed:

            async def run(waiting: Sequence[str]) -> ProcessResult:
                with written({"paths": "\n".join(waiting).encode()}) as lists:
                    return await run_tool(
                        self._settings,
                        self._home / "bin" / "java",
                        [*_JAVA, f"{_PROGRAM}/{_ERRORS.name}", source, f"{_LISTS}/paths"],
                        folders={
                            _FILES: folder,
                            _CHANGED: changed,
                            _LISTS: lists,
                            f"{_PROGRAM}/{_ERRORS.name}": _ERRORS,
                            **self._shown(),
                        },
                        limits=_LIMITS,
                    )

            return await read_all([f"{at}/{path}" for path in emptied for at in (_FILES, _CHANGED)], run)

    def _shown(self) -> dict[str, Path]:
        """Return the JDK where it is no part of the system, and its settings, which Debian has elsewhere."""
        home = {} if self._home.is_relative_to("/usr") else {str(self._home): self._home}
        return home | {str(place): place for place in Path("/etc").glob("java*")}


def _places(
    path: str,
    code: bytes,
    before: Sequence[tuple[str, int, int]],
    after: Sequence[tuple[str, int, int]],
) -> list[Place]:
    """Return the unknown names that the file as it is does not have."""
    known, found = set(before), set()
    for error in after:
        key, _, end = error
        if key.startswith(_UNKNOWN) and error not in known:
            at = of_utf16(code, end)
            if at is not None and (name := name_ending_at(code, at)):
                found.add(Place(path, *name))
    return sorted(found)


class _Type(NamedTuple):
    """A class or an interface of the repository.

    Attributes:
        kind: The word that declares it.
        parameters: How many type parameters it has.
        above: The simple name of the class that it extends; empty for none.
    """

    kind: str
    parameters: int
    above: str

    def declared(self, name: str, *, thrown: bool) -> str:
        """Return the empty declaration of it."""
        letters = ", ".join(f"T{number}" for number in range(self.parameters))
        generic = f"<{letters}>" if letters else ""
        above = " extends RuntimeException" if thrown else ""
        return f"{self.kind} {name}{generic}{above} {{}}"


@dataclass(frozen=True, slots=True)
class _Imported:
    """An import statement.

    Attributes:
        star: Whether it ends with `*`.
    """

    node: Node
    name: str
    static: bool
    star: bool


class _Types:
    """The types of a repository, by their names with packages.

    Attributes:
        roots: The folders in which packages begin.
    """

    def __init__(self, codes: Mapping[str, bytes]) -> None:
        self._types: dict[str, _Type] = {}
        self._packages = defaultdict[str, list[str]](list)
        roots = set[str]()
        for path, code in codes.items():
            root = parsed(JAVA, path, code)
            package = _package(root)
            folder = str(PurePosixPath(path).parent)
            below = package.replace(".", "/")
            if not below:
                roots.add(folder)
            elif folder == below or folder.endswith(f"/{below}"):
                roots.add(folder[: len(folder) - len(below)].rstrip("/"))
            for name, found in _declared(root):
                self._types[f"{package}.{name}" if package else name] = found
                self._packages[package].append(name)
        self.roots = sorted("" if root == "." else root for root in roots)
        self._simple = {name.rpartition(".")[2]: one for name, one in self._types.items()}

    def empty_imports(self, path: str, code: bytes) -> bytes | None:
        """Return a file in which types of the repository that it imports are empty; None without such."""
        words = {word.decode() for word in _WORD.findall(code)}
        empty: dict[str, str] = {}
        spans = []
        for one in _imports(path, code):
            types = list(self._of(one, words))
            if types or (one.static and self._owner(one.name, star=one.star)):
                spans.append((one.node.start_byte, one.node.end_byte))
                empty |= {name: found.declared(name, thrown=self._thrown(found)) for name, found in types}
        if not spans:
            return None
        return blanked(code, spans) + "\n".join(["", *empty.values(), ""]).encode()

    def _of(self, one: _Imported, words: set[str]) -> Iterator[tuple[str, _Type]]:
        """Yield the types that an import names."""
        if one.static:
            return
        if one.star:
            for name in self._packages.get(one.name, ()):
                if name in words:
                    yield name, self._types[f"{one.name}.{name}"]
        elif one.name in self._types:
            yield one.name.rpartition(".")[2], self._types[one.name]
        elif self._owner(one.name, star=False):
            yield one.name.rpartition(".")[2], _Type("class", 0, "")

    def _owner(self, name: str, *, star: bool) -> bool:
        """Return whether what is imported is in a type of the repository."""
        return (name if star else name.rpartition(".")[0]) in self._types

    def _thrown(self, found: _Type) -> bool:
        """Return whether a class is an exception, which an empty one would not be."""
        for _ in range(_ABOVE):
            if found.above in self._simple:
                found = self._simple[found.above]
            else:
                return found.above.endswith(("Exception", "Error", "Throwable"))
        return False


_ABOVE = 20
"""Classes of the repository above a class."""


def _package(root: Node) -> str:
    found = next((one for one in root.children if one.type == "package_declaration"), None)
    return "" if found is None else _name(found)


def _name(node: Node) -> str:
    """Return the name with dots in a statement."""
    found = next(
        (one for one in node.named_children if one.type in ("scoped_identifier", "identifier")), None
    )
    return "" if found is None else "".join(text_of(found).split())


def _imports(path: str, code: bytes) -> Iterator[_Imported]:
    for node in imports_in(JAVA, path, parsed(JAVA, path, code)):
        types = {one.type for one in node.children}
        yield _Imported(node, _name(node), "static" in types, "asterisk" in types)


def _declared(root: Node) -> Iterator[tuple[str, _Type]]:
    """Yield the types that a file declares, with their names."""
    for node in root.children:
        if (kind := _KINDS.get(node.type)) and (name := node.child_by_field_name("name")):
            parameters = node.child_by_field_name("type_parameters")
            above = node.child_by_field_name("superclass")
            words = _WORD.findall(b"" if above is None else (above.text or b"").split(b"<")[0])
            yield (
                text_of(name),
                _Type(
                    kind,
                    0 if parameters is None else parameters.named_child_count,
                    words[-1].decode() if words else "",
                ),
            )
