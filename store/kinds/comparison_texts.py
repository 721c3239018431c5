"""Changes of the texts of comparisons, on request, so that their style does not betray their set.

Names of models and sets are masked, docstrings are removed, and both candidates are formatted alike. Each
change done again changes nothing, so that a packet, whose texts are changed already, is shown as the
workspace would show it.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, dropwhile

from store.parsing import parse_python

MASKED_NAMES = "masked-names"
NO_DOCSTRINGS = "no-docstrings"
FORMATTED = "formatted"
"""The changes, as a study's protocol and `Judgment.shown_as` name them."""

CHANGES = {
    MASKED_NAMES: "names masked",
    NO_DOCSTRINGS: "docstrings removed",
    FORMATTED: "formatted alike",
}
"""The words of each change on screens and in the methods table."""

MASK = "MASKED"
"""The word in place of a name, with a number behind for every further name of a text: `MASKED2`.

Code in which a name was an identifier can still be read and parsed, and means the same.
"""

_TELLING = """
    alpaca anthropic baichuan chatglm chatgpt claude codegen codellama codex codesearchnet codet5 copilot
    cosqa deepseek fastchat gemini gemma gpt incoder koala llama magicoder mistral mixtral mpnet oasst openai
    openassistant pandalm qwen santacoder stablelm starchat starcoder staqc tulu vicuna wizardcoder wizardlm
    zephyr
"""
"""Families of models, and data sets, that mean nothing else in a text about code."""
_WITH_NUMBER = "bard bloom bloomz dolly falcon glm granite grok mpt opt palm phi yi"
"""Families whose names are words of their own, and names only with a number: `falcon-40b`."""

_WORDS = (
    r"(?:base|chat|coder|flash|haiku|hf|instruct|it|large|latest|long|max|medium|mini|nano|opus|plus|preview|pro|"
    r"python|small|sonnet|turbo|ultra)"
)
_SUFFIX = rf"(?:\d+(?:[.x]\d+)*[a-z]{{0,2}}|{_WORDS})(?![^\W_])"
_LEAST_LETTERS = 3
"""Letters that a name needs to be masked: `a` and `42` are too much else."""
_OTHER_KEYWORDS = """
    abstract base boolean byte catch char const decimal default delegate do double enum event explicit export
    extends extern final fixed float foreach function get goto implements implicit instanceof int interface
    internal let lock long namespace native new null object operator out override package params private
    protected public readonly record ref require sealed set short static string struct super switch this
    synchronized throw throws transient true typeof undefined unsafe using var virtual void volatile when
    where
"""
_KEYWORDS = {*keyword.kwlist, *keyword.softkwlist, *_OTHER_KEYWORDS.split()}
"""Words of programming languages, which a set can be called like, too; they stay where they are code."""

_HASH_COMMENTS = ("python", "python3", "py", "ruby", "r", "perl", "shell", "bash", "sh")
_STRINGS = "|".join(
    rf"{mark * 3}[\s\S]*?(?:{mark * 3}|\Z)|{mark}(?:\\.|[^{mark}\\\n])*{mark}?" for mark in "\"'"
)
_PROSE = {
    True: re.compile(rf"#[^\n]*|{_STRINGS}"),
    False: re.compile(rf"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|{_STRINGS}|`(?:\\.|[^`\\])*`?"),
}
"""Comments and strings of code, by whether its comments begin with `#`; those not closed go to the end."""
_FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<code>[\s\S]*?)^```", re.MULTILINE)
"""Code within an answer."""


@dataclass(frozen=True, slots=True)
class ChangedTexts:
    """The texts of both candidates as they are shown.

    Attributes:
        first: The text of the first candidate.
        second: That of the second one.
        changes: The changes that were made; those that could not be made of both are left out.
    """

    first: str
    second: str
    changes: tuple[str, ...] = ()


def changed_texts(
    first: str, second: str, wanted: Iterable[str], *, names: Iterable[str], language: str, about: str
) -> ChangedTexts:
    """Return the texts of both candidates with some changes.

    Args:
        first: The text of the first candidate.
        second: That of the second one.
        wanted: The changes, of `CHANGES`.
        names: The names of the sets or models of both.
        language: The programming language.
        about: What they are: codes, answers or completions.
    """
    texts, done = [first, second], []
    python = about != "answers" and language.casefold() in ("python", "python3", "py")
    if MASKED_NAMES in wanted:
        texts = [_masked(text, [*names], language, is_code=about != "answers") for text in texts]
        done.append(MASKED_NAMES)
    if NO_DOCSTRINGS in wanted and python:
        texts = [without_docstrings(text) for text in texts]
        done.append(NO_DOCSTRINGS)
    if FORMATTED in wanted:
        alike = [formatted_python(text, docstrings=NO_DOCSTRINGS not in wanted) for text in texts]
        if not python:
            texts = [normalised(text) for text in texts]
            done.append(FORMATTED)
        elif None not in alike:
            texts = [text or "" for text in alike]
            done.append(FORMATTED)
    return ChangedTexts(texts[0], texts[1], tuple(done))


def _masked(text: str, names: Sequence[str], language: str, *, is_code: bool) -> str:
    """Return a text with a mask in place of each name; the same spelling has the same mask, and no other one.

    So two identifiers do not become one. A mask is none that stands in the text already.
    """
    masks: dict[str, str] = {}
    numbered = (f"{MASK}{number}" for number in count(2))
    free = (mask for mask in chain((MASK,), numbered) if mask not in text)
    prose, code = _pattern(names, code=False), _pattern(names, code=True)

    def mask(found: re.Match[str]) -> str:
        name = found[0]
        if re.fullmatch(rf"{MASK}\d*", name) or (found.re is code and name in _KEYWORDS):
            return name
        if name not in masks:
            masks[name] = next(free)
        return masks[name]

    parts = _parts(text, language, is_code=is_code)
    return "".join((code if inside else prose).sub(mask, part) for part, inside in parts)


def _parts(text: str, language: str, *, is_code: bool) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, and whether each is code: comments and strings are none."""
    # A model's text about its code is prose, too.
    is_code = is_code and _FENCE.search(text) is None
    prose = _PROSE[language.casefold() in _HASH_COMMENTS] if is_code else None
    at = 0
    for found in (prose or _FENCE).finditer(text):
        yield text[at : found.start()], is_code
        if prose:
            # A string can hold code: f"{yi-1}".
            yield found[0], found[0][0] in "\"'`" and "{" in found[0]
        else:
            yield text[found.start() : found.start("code")], False
            yield from _parts(found["code"], found["language"], is_code=True)
            yield text[found.end("code") : found.end()], False
        at = found.end()
    yield text[at:], is_code


def _pattern(names: Iterable[str], *, code: bool) -> re.Pattern[str]:
    """Return what finds the names of both sets, and of known families, as whole words in any case.

    An underscore ends a word: code has names in its identifiers. A hyphen, a dot or a plus sign belong to a
    name in prose, and are operators in code.
    """
    known = {name for name in names if len(re.findall(r"[^\W\d_]", name)) >= _LEAST_LETTERS}
    # Longest first: of `cosqa` and `cosqa-plus` the whole one is to be found.
    given = sorted(known, key=lambda name: (-len(name), name))
    joint = "_" if code else "[-_ .+/]"
    own = [f"{joint}?".join(map(re.escape, re.findall(r"[^\W_]+", name))) for name in given]
    families, numbered = (f"(?:{'|'.join(words.split())})" for words in (_TELLING, _WITH_NUMBER))
    if code:
        # `yi-1`, `phi1` and `gemini-max` are variables; `yi-34b` and `gpt-4-turbo` are not.
        own += map(re.escape, given)
        chain_ = rf"(?:-(?:v?\d+(?:\.\d+)*[a-z]{{0,2}}|{_WORDS})(?![^\W_])){{2,}}"
        families += rf"(?:{chain_}|(?:_?v?\d+[a-z]{{0,2}}(?![^\W_]))?(?:_{_SUFFIX})*)"
        numbered += rf"[-_]?\d+(?:\.\d+)*b(?:[-_]{_SUFFIX})*"
    else:
        families += rf"(?:{joint}?v?\d+(?:\.\d+)*[a-z]{{0,2}}(?![^\W_]))?(?:[-_]{_SUFFIX})*"
        numbered += rf"[-_ ]?v?\d+(?:\.\d+)*[a-z]?(?:[-_]{_SUFFIX})*"
    plus = "" if code else r"(?:\+(?!\w))?"
    return re.compile(
        rf"(?<![^\W_])(?:{'|'.join((*own, families, numbered))})(?![^\W_]){plus}", re.IGNORECASE
    )


def without_docstrings(code: str) -> str:
    """Return Python code without the docstrings of its module, classes and functions; comments stay.

    It goes by tokens, so that code of Python 2 and pieces of code lose theirs, too. Where tokens end, at what
    is no Python, the rest stays as it is.
    """
    lines = io.StringIO(code).readlines()
    # From behind, so that the numbers of lines before stay right.
    for first, last, replacement in reversed([*_docstrings(code)]):
        lines[first - 1 : last] = [replacement] if replacement else []
    return "".join(lines)


def _docstrings(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, replacement) of each docstring; a body of nothing else becomes `pass`."""
    line: list[tokenize.TokenInfo] = []
    # The docstrings of the body that begins here, until another statement comes; the module's has no header.
    opens, is_header, column = True, False, ""
    held: list[tuple[int, int]] = []
    for token in _tokens(code):
        if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT):
            continue
        if token.type in (tokenize.DEDENT, tokenize.ENDMARKER):
            if held and column:
                first, last = held.pop()
                yield from ((*one, "") for one in held)
                yield first, last, f"{column}pass\n"
            # A text of nothing but a string is no docstring of something: it stays.
            held, opens = [], False
        elif token.type != tokenize.NEWLINE:
            line.append(token)
        elif line:
            if opens and all(_is_plain(one) for one in line):
                column = line[0].line[: line[0].start[1]]
                held.append((line[0].start[0], line[-1].end[0]))
            else:
                yield from ((*one, "") for one in held)
                held = []
                is_header = line[0].string in ("def", "class", "async") and line[-1].string == ":"
                opens = is_header
            line = []
    yield from ((*one, "") for one in held)


def _is_plain(token: tokenize.TokenInfo) -> bool:
    """Return whether a token is a string of text, neither of bytes nor with values in it."""
    prefix = re.match("[a-zA-Z]*", token.string)
    return token.type == tokenize.STRING and not set("bf") & set(prefix[0].lower() if prefix else "")


def _tokens(code: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of code up to what is no Python."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            # Python 3.11 goes on behind a quote that is not closed; for a line of them that takes too long.
            if token.type == tokenize.ERRORTOKEN and token.string[:1] in ("'", '"'):
                return
            yield token
    except (tokenize.TokenError, SyntaxError):
        return


def formatted_python(code: str, *, docstrings: bool = True) -> str | None:
    """Return Python code as `ast.unparse` writes it, without comments; None where it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parse_python(code)
        for node in () if docstrings else ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                _drop_docstrings(node)
        return ast.unparse(tree) + "\n"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _drop_docstrings(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    rest = [*dropwhile(_is_string, node.body)]
    if rest or not isinstance(node, ast.Module):
        node.body = rest or [ast.Pass()]


def _is_string(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def normalised(text: str) -> str:
    """Return a text with its white space normalised.

    Lines end alike and without blanks, a tab at their beginning is four blanks, empty lines follow each other
    no more, and there is none at either end.
    """
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        indented = len(line) - len(line.lstrip())
        shown = (line[:indented].expandtabs(4) + line[indented:]).rstrip()
        if shown or (lines and lines[-1]):
            lines.append(shown)
    return "\n".join(lines).rstrip("\n") + "\n" if any(lines) else ""
