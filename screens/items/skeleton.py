"""The beginning of an expert's own test of a candidate: imports, signature, and calls to fill in."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from keyword import iskeyword

from store.parsing import parse_python

_MOST_CHARACTERS = 20_000
"""Characters of a candidate up to which it is parsed; of longer ones only the name is looked for."""
_LONGEST = 100
"""Characters of a line of the signature."""
_METHODS = 8
"""Methods of a class that are listed."""
_DEFINED = re.compile(r"^(?:(?:async )?def|class) (\w+)", re.MULTILINE)

# Names under which these modules are known; those of the standard library go by their own.
_MODULES = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "pd": "import pandas as pd",
    "pandas": "import pandas",
    "plt": "import matplotlib.pyplot as plt",
    "tf": "import tensorflow as tf",
    "torch": "import torch",
    "requests": "import requests",
    "six": "import six",
    "yaml": "import yaml",
    "dt": "import datetime as dt",
    "defaultdict": "from collections import defaultdict",
    "OrderedDict": "from collections import OrderedDict",
    "Counter": "from collections import Counter",
    "deque": "from collections import deque",
    "namedtuple": "from collections import namedtuple",
    "timedelta": "from datetime import timedelta",
    "partial": "from functools import partial",
    "wraps": "from functools import wraps",
    "reduce": "from functools import reduce",
    "chain": "from itertools import chain",
    "Path": "from pathlib import Path",
    "StringIO": "from io import StringIO",
    "BytesIO": "from io import BytesIO",
    "sqrt": "from math import sqrt",
    "deepcopy": "from copy import deepcopy",
    "urlparse": "from urllib.parse import urlparse",
}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def skeleton(code: str, name: str) -> str:
    """Return a test program that imports a candidate, and lacks the arguments and what must come of them.

    Args:
        code: The candidate, which may be no Python of today.
        name: The name that the item gives it; that of the first definition where the code has none of it.

    Returns:
        A program that compiles: the signature as a comment, two tests with an assert each to fill in. What
        the candidate uses and lacks is in a scaffold before them: modules as imports, others in a comment.
    """
    defined = _definitions(code)
    # What cannot be parsed may be Python 2, whose definitions look alike.
    names = [*defined] if defined is not None else _DEFINED.findall(code[:_MOST_CHARACTERS])
    chosen = name if name in names else next((each for each in names if not iskeyword(each)), "")
    if not chosen:
        lines = ["import candidate", "", "", *_tests("candidate", ["candidate.NAME(...)"])]
    else:
        lines = [*_of_definition(chosen, (defined or {}).get(chosen))]
    return "\n".join([*(_scaffold(code) if defined else []), *lines]) + "\n"


def _definitions(code: str) -> dict[str, ast.stmt] | None:
    """Return the functions and classes of a candidate by their names; None where it cannot be parsed."""
    if len(code) > _MOST_CHARACTERS:
        return None
    try:
        tree = parse_python(code.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return {each.name: each for each in tree.body if isinstance(each, (*_FUNCTIONS, ast.ClassDef))}


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _of_definition(name: str, defined: ast.stmt | None) -> Iterator[str]:
    """Yield the lines of tests of a function or a class."""
    above, calls = list[str](), [f"{name}(...)"]
    if isinstance(defined, ast.ClassDef):
        above, calls = _class_lines(defined)
    elif isinstance(defined, _FUNCTIONS):
        above, calls = _comment(_signature(defined)), [_call(defined)]
        if (first := _first_parameter(defined)) in ("self", "cls"):
            calls.insert(0, f"{first} = SimpleNamespace()  # {_uses(defined)}")
    text = "\n".join(calls)
    imports = ["import asyncio"] if "asyncio.run" in text else []
    imports += ["from types import SimpleNamespace"] if "SimpleNamespace" in text else []
    yield from [*imports, ""] if imports else []
    yield f"from candidate import {name}"
    yield from ["", *above] if above else []
    yield from ["", ""]
    yield from _tests(name.lower(), calls)


def _call(defined: _Function, before: str = "", *, own: bool = False) -> str:
    """Return an expression for what a function returns, with placeholders for its arguments."""
    call = f"{before}{defined.name}({_arguments(defined, own=own)})"
    if isinstance(defined, ast.AsyncFunctionDef):
        return f"asyncio.run({call})"
    return f"list({call})" if _is_generator(defined) else call


def _class_lines(defined: ast.ClassDef) -> tuple[list[str], list[str]]:
    """Return the signatures of a class and its methods, and the lines of a test."""
    methods = [each for each in defined.body if isinstance(each, _FUNCTIONS)]
    made = next((each for each in methods if each.name == "__init__"), None)
    above = _comment(_signature(made, defined.name, own=True) if made else f"{defined.name}()")
    public = [each for each in methods if not each.name.startswith("_")]
    for each in public[:_METHODS]:
        above += _comment("  ." + _signature(each, own=not _is_static(each)))
    if len(public) > _METHODS:
        above.append(f"#   and {len(public) - _METHODS} more methods")
    needed = f"{defined.name}({_arguments(made, own=True) if made else ''})"
    called = public[0] if public else None
    if called is None:
        return above, [needed]
    return above, [f"made = {needed}", _call(called, "made.", own=not _is_static(called))]


def _tests(name: str, calls: list[str]) -> Iterator[str]:
    """Yield two tests, whose last line asserts what the last call returns."""
    *before, call = calls
    for title, remark in (
        ("usual", "what the query asks for"),
        ("edge", "an empty, smallest or unusual input"),
    ):
        yield from ["", ""] if title == "edge" else []
        yield f"def test_{name}_{title}():"
        yield f"    # {remark}"
        yield from (f"    {line}" for line in before)
        yield f"    assert {call} == ..."


def _signature(defined: _Function, name: str = "", *, own: bool = False) -> str:
    """Return a signature with annotations and defaults; that of a bound method where `own` is set."""
    arguments = defined.args
    if own:
        arguments = _without_first(arguments)
    result = f" -> {ast.unparse(defined.returns)}" if defined.returns is not None else ""
    return f"{name or defined.name}({ast.unparse(arguments)}){result}"


def _without_first(arguments: ast.arguments) -> ast.arguments:
    positional, rest = list(arguments.posonlyargs), list(arguments.args)
    if given := positional or rest:
        given.pop(0)
    defaults = arguments.defaults[-len(positional + rest) :] if positional or rest else []
    return ast.arguments(
        posonlyargs=positional,
        args=rest,
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=arguments.kw_defaults,
        kwarg=arguments.kwarg,
        defaults=defaults,
    )


def _arguments(defined: _Function, *, own: bool = False) -> str:
    """Return placeholders for the arguments that a call needs: `self, ..., key=...`."""
    given = [*defined.args.posonlyargs, *defined.args.args]
    needed = [each.arg for each in given[: len(given) - len(defined.args.defaults)]][1 if own else 0 :]
    first = _first_parameter(defined)
    named = [one if one == first and one in ("self", "cls") else "..." for one in needed]
    pairs = zip(defined.args.kwonlyargs, defined.args.kw_defaults, strict=True)
    named += [f"{each.arg}=..." for each, default in pairs if default is None]
    return ", ".join(named or (["..."] if given[1 if own else 0 :] or defined.args.vararg else []))


def _first_parameter(defined: _Function) -> str:
    first = next(iter([*defined.args.posonlyargs, *defined.args.args]), None)
    return "" if first is None else first.arg


def _is_static(defined: _Function) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in defined.decorator_list)


def _is_generator(defined: _Function) -> bool:
    inner = [each for each in ast.walk(defined) if isinstance(each, (*_FUNCTIONS, ast.Lambda))][1:]
    nested = {id(part) for one in inner for part in ast.walk(one)}
    return any(
        isinstance(each, ast.Yield | ast.YieldFrom) and id(each) not in nested for each in ast.walk(defined)
    )


def _uses(defined: _Function) -> str:
    """Say which attributes a method uses of its object."""
    own = _first_parameter(defined)
    names = [
        each.attr
        for each in ast.walk(defined)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == own
    ]
    return f"give it: {', '.join(dict.fromkeys(names))}"[:_LONGEST] if names else "a method without its class"


def _comment(text: str) -> list[str]:
    line = "".join(one if one.isprintable() else " " for one in text)
    return [f"# {line[: _LONGEST - 1]}…" if len(line) > _LONGEST else f"# {line}"]


def _scaffold(code: str) -> list[str]:
    """Return the cell that gives the candidate what it uses and lacks; nothing where it lacks nothing."""
    # pyflakes is loaded only for a candidate that can be parsed.
    from agents.pipelines.pair_annotation.snippet import read_snippet

    names = read_snippet(code).undefined_names
    imports = [_MODULES.get(name) or f"import {name}" for name in names if _is_module(name)]
    others = [name for name in names if not _is_module(name)]
    if not imports and not others:
        return []
    lacking = [*_comment(f"The code also uses, and does not define: {', '.join(others)}")] if others else []
    return ["# %% scaffold", *imports, *lacking, "# %% tests"]


def _is_module(name: str) -> bool:
    return name in _MODULES or name in sys.stdlib_module_names
