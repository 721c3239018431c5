"""Compiles modules for an image; run by the interpreter that will import them.

Standard library only, Python 3.8 or newer. Stdin holds the paths of modules, one a line. Stdout gets, for
each, eight bytes of length and so many bytes: the content of its `.pyc`, empty where it cannot be compiled.
The same files give the same bytes: code that the installation has compiled is reused where it belongs to the
source, and the rest is compiled in the given order. The head makes Python trust it without the source (PEP
552).
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys

HEAD = 16


def main() -> None:
    """Compile the modules that stdin names."""
    for line in sys.stdin.buffer.read().splitlines():
        compiled = compile_module(os.fsdecode(line))
        sys.stdout.buffer.write(len(compiled).to_bytes(8, "big") + compiled)


def compile_module(path: str) -> bytes:
    """Return the content of a module's `.pyc`; empty where it cannot be compiled."""
    with open(path, "rb") as file:
        source = file.read()
    code = read_installed_code(path)
    if not code:
        try:
            code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):  # some are there to be wrong
            return b""
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source) + code


def read_installed_code(path: str) -> bytes:
    """Return the installation's compiled code of a module; empty where it has none of this source."""
    try:
        with open(importlib.util.cache_from_source(path), "rb") as file:
            head, code = file.read(HEAD), file.read()
        facts = os.stat(path)
    except OSError:
        return b""
    stamp = [int(number) & 0xFFFFFFFF for number in (0, facts.st_mtime, facts.st_size)]
    expected = importlib.util.MAGIC_NUMBER + b"".join(number.to_bytes(4, "little") for number in stamp)
    return code if head == expected else b""


if __name__ == "__main__":
    main()
