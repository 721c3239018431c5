"""Texts of comparisons whose style is not to betray their set: masked, without docstrings, formatted alike."""

import json

import pytest

from store.errors import WorkbenchError
from store.kinds.comparison_texts import (
    CHANGES,
    FORMATTED,
    MASK,
    MASKED_NAMES,
    NO_DOCSTRINGS,
    changed_texts,
    formatted_python,
    normalised,
    without_docstrings,
)
from store.record.protocol import StudyProtocol
from store.workspace.duckdb import Workspace


def rows(path, sql):
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        return connection.exec_driver_sql(sql).fetchall()


def changed(first, second="", wanted=tuple(CHANGES), *, names=(), language="python", about="codes"):
    return changed_texts(first, second, wanted, names=names, language=language, about=about)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("As ChatGPT, I would use gpt-4-turbo.", f"As {MASK}, I would use {MASK}2."),
        ("# claude-3-opus-20240229 wrote it", f"# {MASK} wrote it"),
        ("Llama 2, llama-2-70b-chat-hf, CodeLlama", f"{MASK}, {MASK}2, {MASK}3"),
        ("from CoSQA+ or cosqa_plus, not CoSQA+", f"from {MASK} or {MASK}2, not {MASK}"),
        ("falcon-40b-instruct beside falcon.API()", f"{MASK} beside falcon.API()"),
        ("a bloom filter, phi = 1, an option", "a bloom filter, phi = 1, an option"),
        ("adapt egypt gptx scripted", "adapt egypt gptx scripted"),
        ("The My-Model and MY MODEL", f"The {MASK} and {MASK}2"),
        (
            "```python\nreturn sin(phi-1)  # like phi-2\n```",
            f"```python\nreturn sin(phi-1)  # like {MASK}\n```",
        ),
    ],
)
def test_names_of_both_sets_and_of_models_are_masked_as_whole_words(text, masked):
    names = ("cosqa-plus", "my-model", "a", "42")
    found = changed(text, wanted=(MASKED_NAMES,), names=names, about="answers")
    assert (found.first, found.changes) == (masked, (MASKED_NAMES,))
    assert changed(masked, wanted=(MASKED_NAMES,), about="answers").first == masked


@pytest.mark.parametrize(
    ("language", "text", "masked"),
    [
        ("python", "def my_gpt4_call(): import openai", f"def my_{MASK}_call(): import {MASK}2"),
        ("python", "a = 42 # a and 42 are no names", "a = 42 # a and 42 are no names"),
        # Two identifiers stay two, and the same one stays the same.
        ("python", "fit(x_train, y_train); score(x_test)", f"fit(x_{MASK}, y_{MASK}); score(x_{MASK}2)"),
        ("python", "class Llama: pass\nllama = Llama()", f"class {MASK}: pass\n{MASK}2 = {MASK}()"),
        ("python", "MASKED = gpt", "MASKED = MASKED2"),
        # A difference is none of a name's hyphens, a sum none of its plus signs.
        ("python", "s += (xi-1)*(yi-1) + opt-2", "s += (xi-1)*(yi-1) + opt-2"),
        ("python", "x = gemini-max(cosqa+(1), 2)", f"x = {MASK}-max({MASK}2+(1), 2)"),
        ("java", "for (;;) llama++; // by gpt-4", f"for (;;) {MASK}++; // by {MASK}2"),
        ("python", "phi1, phi2 = 'phi-2', falcon_40b", f"phi1, phi2 = '{MASK}', {MASK}2"),
        ("python", "gpt-4-turbo, falcon-40b, my-model", f"{MASK}, {MASK}2, {MASK}3"),
        ("python", "print(f'{yi-1} of gpt')", f"print(f'{{yi-1}} of {MASK}')"),
        # A set can be called like a keyword.
        (
            "typescript",
            "const a = new Old(`new`) /* old */",
            f"const a = new {MASK}(`{MASK}2`) /* {MASK}3 */",
        ),
        ("c#", 'var s = "// gpt-4"; gpt--; // it"s', f'var s = "// {MASK}"; {MASK}2--; // it"s'),
    ],
)
def test_code_means_the_same_with_masked_names(language, text, masked):
    names = ("train", "test", "new", "old", "cosqa", "my-model", "a", "42")
    found = changed(text, wanted=(MASKED_NAMES,), names=names, language=language)
    assert found.first == masked
    assert changed(masked, wanted=(MASKED_NAMES,), language=language).first == masked


@pytest.mark.parametrize("text", ["'hello'\n", '"""All\nof it"""\n\n# and why\n'])
def test_a_text_of_nothing_but_a_string_stays(text):
    assert changed(text, text, (NO_DOCSTRINGS,)).first == text
    assert changed(text, text, (NO_DOCSTRINGS, FORMATTED)).first == formatted_python(text)


def test_docstrings_go_up_to_a_string_that_does_not_end():
    text = "def f():\n    'gone'\n    return 1\nx = 'no end\ndef g():\n    'stays'\n    return 2\n"
    assert without_docstrings(text) == text.replace("    'gone'\n", "")


def test_docstrings_go_and_comments_stay_also_of_what_does_not_parse():
    python2 = (
        '"""Of the module."""\n'
        "# a comment\n"
        "class A:\n"
        '    """All of its body."""\n'
        "def f(x):  # why\n"
        '    r"""Two\n'
        '    lines."""\n'
        "    'and another'\n"
        '    print "kept", x\n'
        "    'no docstring'\n"
        "if True:\n"
        "    'nor this'\n"
    )
    assert without_docstrings(python2) == (
        "# a comment\n"
        "class A:\n"
        "    pass\n"
        "def f(x):  # why\n"
        '    print "kept", x\n'
        "    'no docstring'\n"
        "if True:\n"
        "    'nor this'\n"
    )
    # What follows after the end of Python stays.
    broken = 'def f():\n    "gone"\n    return 1\n  ((("""\n'
    assert without_docstrings(broken) == 'def f():\n    return 1\n  ((("""\n'
    found = changed("const a = '1'", "'use strict'\n", (NO_DOCSTRINGS,), language="javascript")
    assert (found.first, found.second, found.changes) == ("const a = '1'", "'use strict'\n", ())


def test_both_are_formatted_or_neither():
    tabs, blanks = "def f( x ):\n\treturn  x # tab\n", "def f(y):\n  'doc'\n  return y\n"
    found = changed(tabs, blanks, (FORMATTED,))
    assert found.changes == (FORMATTED,)
    assert found.first == "def f(x):\n    return x\n"
    assert found.second == 'def f(y):\n    """doc"""\n    return y\n'
    found = changed(tabs, "print 'old'", (FORMATTED,))
    assert (found.first, found.second, found.changes) == (tabs, "print 'old'", ())
    found = changed("{\r\n\tif (x)  \r\n\r\n\r\n}\r\n\r\n", "a", (FORMATTED,), language="java")
    assert (found.first, found.second, found.changes) == ("{\n    if (x)\n\n}\n", "a\n", (FORMATTED,))
    # Answers are Markdown: what they hold is not taken for Python.
    assert changed("x = ( 1 )", "b", (FORMATTED,), about="answers").first == "x = ( 1 )\n"
    assert normalised("\n\n") == ""
    assert formatted_python("x = " + "(" * 5000) is None
    assert formatted_python("a\x00b") is None


@pytest.mark.parametrize(
    "code",
    [
        "def f(): 'doc'\n",
        "def f():\n    'one'\n    'two'\n",
        "'''module'''\nclass A:\n    'a'\n    def f(self):\n        'b'\n",
        "print 'two' # gpt-4\n",
        "x = f'{1}'\n",
        "",
    ],
)
@pytest.mark.parametrize(
    "wanted", [tuple(CHANGES), (NO_DOCSTRINGS,), (FORMATTED,), (MASKED_NAMES, FORMATTED)]
)
def test_changed_again_nothing_changes(code, wanted):
    """A packet holds changed texts, and shows them by the same protocol."""
    once = changed(code, "def g():\n    'x'\n    return 1\n", wanted, names=("cosqa",))
    assert changed(once.first, once.second, wanted) == once


def _study(tmp_path, workbench, *options):
    """A study of two comparisons of sets whose codes betray them by names, docstrings and format."""
    path = tmp_path / "w.duckdb"
    for name, code in (
        ("cosqa", 'def f{n}(x):\n    """From CoSQA, see GPT-4."""\n    return  x+{n} # secret\n'),
        ("corpus", "def f{n}( y ):\n\treturn y - {n} # cosqa-plus\n"),
    ):
        lines = [
            {"id": f"{name}/{n}", "query": f"query {n}", "code": code.format(n=n), "label": 1} for n in (0, 1)
        ]
        if name == "corpus":
            lines[1]["code"] = "print 'cosqa'\n"
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        assert workbench("import", path, tmp_path / f"{name}.jsonl").code == 0
    new = ("compare", "new", path, "rq1", "--codes-from", "cosqa:corpus", "--raters", "ana")
    done = workbench("--rater", "eva", *new, *options)
    assert done.code == 0, done.err
    assert workbench("--rater", "eva", "study", "freeze", path, "rq1").code == 0
    return path


ALL = ("--mask-names", "--strip-docstrings", "--format-alike")


def test_a_rater_is_shown_changed_texts_by_every_command_and_in_a_packet(tmp_path, workbench):
    path = _study(tmp_path, workbench, *ALL)
    listed = json.loads(workbench("items", path, "--rater", "ana", "--json").out)["items"]
    shown = {one["title"]: {one["first"], one["second"]} for one in listed}
    assert shown["query 0"] == {"def f0(x):\n    return x + 0\n", "def f0(y):\n    return y - 0\n"}
    # The other one of the second query is no Python 3, so both stay as they are but for their names.
    assert shown["query 1"] == {"def f1(x):\n    return  x+1 # secret\n", "print 'MASKED'\n"}
    for text in ("secret", "gpt", "corpus"):
        found = json.loads(workbench("items", path, "--rater", "ana", "--json", "--text", text).out)
        assert found["total"] == 0, text
    judge = ("judge", path, listed[0]["item"], "--rater", "ana", "--json")
    assert json.loads(workbench(*judge, "first much better").out)["error"]["title"] == "Value off the scale"
    made = json.loads(workbench(*judge, "both bad").out)
    assert (made["word"], made["item"], made["number"]) == ("both bad", listed[0]["item"], None)
    ((value, reason, shown_as),) = rows(
        path, "SELECT value, reason, shown_as FROM judgment WHERE origin = 'independent'"
    )
    assert (value, reason) == (0.0, "both-bad")
    assert shown_as.startswith("as-listed masked-names no-docstrings")
    record = tmp_path / "record.jsonl"
    assert workbench("export", path, record, "--format", "jsonl").code == 0
    exported = [json.loads(line) for line in record.read_text().splitlines()]
    assert shown_as in {one.get("shown_as") for one in exported}
    packet = tmp_path / "ana.duckdb"
    assert workbench("--rater", "eva", "packet", "make", path, "rq1", "ana", packet).code == 0
    whole = packet.read_bytes()
    assert not [word for word in (b"CoSQA", b"cosqa", b"GPT", b"corpus") if word in whole]
    del shown[listed[0]["title"]]
    held = rows(packet, "SELECT p.text, first, second FROM comparison JOIN prompt p ON p.id = prompt_id")
    assert {query: {first, second} for query, first, second in held} == shown
    hashes = {one for (one,) in rows(path, "SELECT content_hash FROM item")}
    assert not hashes & {one for (one,) in rows(packet, "SELECT content_hash FROM item")}
    (protocol,) = rows(packet, "SELECT protocol FROM study")[0]
    assert StudyProtocol.from_json(protocol).texts == tuple(CHANGES)
    # The packet's own commands show what it holds.
    again = json.loads(workbench("items", packet, "--json").out)["items"]
    assert {one["title"]: {one["first"], one["second"]} for one in again} == shown
    table = workbench("--rater", "eva", "study", "manifest", path, "rq1").out
    assert "| Texts | names masked, docstrings removed, formatted alike;" in table
    # Outside the study they are as they were imported.
    everything = json.loads(workbench("items", path, "--json", "--kind", "comparison").out)
    assert "GPT-4" in json.dumps(everything)


def test_an_unknown_change_is_refused():
    with pytest.raises(WorkbenchError, match="No change of texts is called 'shorter'"):
        StudyProtocol("comparison", texts=("shorter",)).checked()
