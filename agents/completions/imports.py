"""Which files of its repository a file imports (section 3.5)."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from agents.repositories.syntax import PYTHON, imported_modules, imports_in, module_folders, parsed

_JAVA = re.compile(r"^[ \t]*import[ \t]+(static[ \t]+)?([\w.]+?)(\.\*)?[ \t]*;", re.MULTILINE)
_TYPESCRIPT = re.compile(r"""(?:\bfrom|\bimport|\brequire\()[ \t]*['"](\.{1,2}/[^'"\n]+)['"]""")
_USING = re.compile(r"^[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?([\w.]+)[ \t]*;", re.MULTILINE)
_NAMESPACE = re.compile(r"^[ \t]*namespace[ \t]+([\w.]+)", re.MULTILINE)


class Imports:
    """The imports among the files of a repository in one language.

    Args:
        files: Their texts, by path.
        language: The language.
    """

    def __init__(self, files: Mapping[str, str], language: str) -> None:
        self._files, self._language = files, language
        self._known: dict[str, frozenset[str]] = {}
        self._by_name = defaultdict[str, list[str]](list)
        for path in files:
            self._by_name[PurePosixPath(path).name].append(path)
        self._namespaces = defaultdict[str, list[str]](list)
        if language == "csharp":
            for path, text in files.items():
                for found in _NAMESPACE.finditer(text):
                    self._namespaces[found[1]].append(path)

    def of(self, path: str) -> frozenset[str]:
        """Return the paths of the files that a file imports."""
        if path not in self._known:
            text = self._files.get(path, "")
            of_language = {"csharp": self._csharp, "java": self._java, "python": self._python}
            found = of_language.get(self._language, self._typescript)(path, text)
            self._known[path] = frozenset(found) - {path}
        return self._known[path]

    def _ending(self, place: str) -> list[str]:
        """Return the files at a place, from the root of the repository or of a folder in it."""
        there = self._by_name.get(PurePosixPath(place).name, [])
        return [path for path in there if path == place or path.endswith(f"/{place}")]

    def _python(self, path: str, text: str) -> Iterator[str]:
        code = text.encode("utf-8", "replace")
        for node in imports_in(PYTHON, path, parsed(PYTHON, path, code)):
            for module, names in imported_modules(node):
                name = module.lstrip(".")
                folders = module_folders(path, self._files)
                if dots := len(module) - len(name):
                    folders = [PurePosixPath(path).parents[min(dots - 1, path.count("/"))]]
                for place in (folder / name.replace(".", "/") for folder in folders):
                    found = [
                        file
                        for one in (place, *(place / part for part in names))
                        for file in (f"{one}.py", str(one / "__init__.py"))
                        if file in self._files
                    ]
                    yield from found
                    if found:  # it is that of the nearest folder
                        break

    def _java(self, _path: str, text: str) -> Iterator[str]:
        for found in _JAVA.finditer(text):
            place = found[2].replace(".", "/")
            if found[1] and not found[3]:
                place = place.rpartition("/")[0]
            if found[3] and not found[1]:
                folders = (str(PurePosixPath(path).parent) for path in self._files)
                yield from (
                    path
                    for path, folder in zip(self._files, folders, strict=True)
                    if folder == place or folder.endswith(f"/{place}")
                )
            else:
                yield from self._ending(f"{place}.java")

    def _typescript(self, path: str, text: str) -> Iterator[str]:
        for found in _TYPESCRIPT.finditer(text):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1]))
            stem = re.sub(r"\.(?:js|jsx|ts|tsx)$", "", place)
            for file in (f"{stem}.ts", f"{stem}.tsx", f"{place}/index.ts", f"{place}/index.tsx"):
                if file in self._files:
                    yield file

    def _csharp(self, _path: str, text: str) -> Iterator[str]:
        for found in _USING.finditer(text):
            yield from self._namespaces.get(found[1], [])
