"""Compiles modules for an image; run by the interpreter that will import them.

Standard library only, Python 3.8 or newer. On stdin stand paths of modules, one a line. On stdout go, for
each, eight bytes of length and so many bytes: the content of its `.pyc`, or nothing where it cannot be
compiled. The same files give the same bytes: what an installation has compiled already is taken over where it
belongs to its source, and the rest is compiled in the given order. Its head says that the source need not be
looked at (PEP 552).
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys

HEAD = 16


def main() -> None:
    """Compile what stdin names."""
    for line in sys.stdin.buffer.read().splitlines():
        compiled = of(os.fsdecode(line))
        sys.stdout.buffer.write(len(compiled).to_bytes(8, "big") + compiled)


def of(path: str) -> bytes:
    """Return the content of a module's `.pyc`; nothing where it cannot be compiled."""
    with open(path, "rb") as file:
        source = file.read()
    code = installed(path)
    if not code:
        try:
            code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):  # some are there to be wrong
            return b""
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source) + code


def installed(path: str) -> bytes:
    """Return the code that the installation has for a module; nothing where it has none of this source."""
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
