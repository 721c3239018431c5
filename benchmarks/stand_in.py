"""A model that writes simple test programs without thinking: `stand_in.py`.

It finds every pair unclear. Its program has a scaffold for those of the names that the code lacks which mean the
same in nearly every file (`np`, `os`, `List`), and one call of each function and method with simple arguments: any
result is one, since what is measured is whether programs are executed and not what they find. Asked for a
correction, it gives every other missing name and module a stand-in. The same question gets the same reply.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from agents.llm.protocol import ModelReply, ModelRequest, Usage

_ALIASES = {
    **{"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "nx": "networkx", "tf": "tensorflow"},
    **{"sns": "seaborn", "bs": "bs4", "sp": "scipy", "ET": "xml.etree.ElementTree", "mpl": "matplotlib"},
}
_MODULES = """
argparse array base64 binascii bisect boto3 calendar codecs collections copy csv ctypes datetime decimal difflib errno
fcntl fnmatch fractions functools gc getpass glob gzip hashlib heapq hmac html http importlib inspect io itertools json
locale logging lxml math matplotlib mimetypes multiprocessing networkx numbers numpy operator os pandas pathlib pickle
pkgutil platform pprint psutil psycopg2 queue random re requests scipy select shlex shutil signal six socket sqlite3
ssl stat string struct subprocess sys tempfile textwrap threading time timeit traceback types typing unicodedata
unittest urllib uuid warnings weakref yaml zipfile zlib
"""
_FROM = {
    "typing": "Any Callable Dict Generator Iterable Iterator List Mapping Optional Sequence Set Tuple Type Union",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "datetime": "timedelta timezone",
    "decimal": "Decimal",
    "bisect": "bisect bisect_left bisect_right",
    "functools": "partial reduce wraps",
    "itertools": "chain islice",
    "io": "BytesIO StringIO",
    "math": "ceil floor log log10 pi sqrt",
    "os.path": "dirname exists expanduser isdir isfile join",
    "pathlib": "Path PurePath",
    "urllib.parse": "quote urlencode urljoin urlparse",
    "contextlib": "contextmanager",
    "string": "punctuation",
    "pandas": "DataFrame Series",
    "PIL": "Image",
    "bs4": "BeautifulSoup",
    "time": "sleep",
}
_PYTHON_2 = {"unicode": "str", "xrange": "range", "basestring": "str", "long": "int", "unichr": "chr"}
_KNOWN = {
    **{name: f"import {name}" for name in _MODULES.split()},
    **{name: f"import {module} as {name}" for name, module in _ALIASES.items()},
    **{name: f"from {module} import {name}" for module, names in _FROM.items() for name in names.split()},
    **{name: f"{name} = {other}" for name, other in _PYTHON_2.items()},
}
_MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")
_MISSING_NAME = re.compile(r"name '(\w+)' is not defined")


class StandIn:
    """The model; see above."""

    name = "stand-in:1"
    address = ""
    knows_subjects = False

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer in the form that is asked for."""
        fields = answer(request.reply_type.__name__, request.messages[-1].content)
        text = json.dumps(fields)
        value = request.reply_type.model_validate_json(text)
        return ModelReply(value, text, Usage(1, 1), self.name, 0.0, 1, "none")

    async def close(self) -> None:
        """Nothing is open."""


def answer(form: str, prompt: str) -> dict[str, Any]:
    """Answer a prompt in a form, by the name of the reply's type."""
    if form == "ScreenerReply":
        return {"assessment": "unclear", "justification": "It is to be tested."}
    if form == "TestWriterReply":
        names = [name for name in part(prompt, "undefined_names").split(", ") if name in _KNOWN]
        return {"interpretation": "It can be called.", "test_program": program(part(prompt, "code"), names)}
    if form == "TestCorrectionReply":
        return {"explanation": "What was missing has a stand-in.", "test_program": corrected(prompt)}
    if form == "BugFixerReply":
        return {"explanation": "It is not known what would help.", "commands": []}
    return {"label": 1, "reason": "Nothing was judged."}


def part(prompt: str, place: str) -> str:
    """Return the piece of data in a place of a prompt."""
    found = re.search(
        rf"^----- begin {place} (\w+) -----\n(.*?)\n----- end {place} \1 -----$", prompt, re.S | re.M
    )
    return found[2] if found else ""


def program(code: str, names: list[str]) -> str:
    """Write a program: imports of some names, and a call of each function of a code."""
    scaffold = "\n".join(_KNOWN[name] for name in names)
    return f"# %% scaffold\n{scaffold}\n# %% tests\nimport types\n\nimport candidate\n{calls(code)}"


def calls(code: str) -> str:
    """Write a test for each function and method of a code; one that only loads it where there is none."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        tree = ast.Module([], [])
    tests: list[str] = []
    for node in tree.body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"candidate.{node.name}." if isinstance(node, ast.ClassDef) else "candidate."
        for each in members:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                tests.append(
                    f"def test_{len(tests) + 1}():\n    {owner}{each.name}({arguments(each.args)})\n"
                )
    return "\n\n".join(["", *(tests or ["def test_1():\n    assert candidate\n"])])


def arguments(of: ast.arguments) -> str:
    """Write simple values for the arguments that have no default value."""
    plain = [*of.posonlyargs, *of.args]
    needed = plain[: len(plain) - len(of.defaults)]
    values = ["types.SimpleNamespace()" if each.arg in ("self", "cls") else "'1'" for each in needed]
    named = [
        f"{each.arg}='1'" for each, value in zip(of.kwonlyargs, of.kw_defaults, strict=True) if value is None
    ]
    return ", ".join(values + named)


def corrected(prompt: str) -> str:
    """Give every name and module that is missing a stand-in, at the end of the scaffold."""
    old, failure = part(prompt, "test_program"), part(prompt, "failure")
    modules = dict.fromkeys(_MISSING_MODULE.findall(failure))
    lost = [*part(prompt, "undefined_names").split(", "), *_MISSING_NAME.findall(failure)]
    names = [
        name for name in dict.fromkeys(lost) if name.isidentifier() and name not in _KNOWN and name != "none"
    ]
    lines = ["import sys", "from unittest import mock"]
    for module in modules:
        parts = module.split(".")
        lines += [
            f"sys.modules[{'.'.join(parts[:end])!r}] = mock.MagicMock()" for end in range(1, len(parts) + 1)
        ]
    lines += [f"{name} = mock.MagicMock()" for name in names]
    return old.replace("\n# %% tests\n", "\n" + "\n".join(lines) + "\n# %% tests\n", 1)
