"""What is marked of a completion is just what its reference does not have."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.text import differences as module
from screens.widgets.text.differences import differences
from screens.widgets.text.document import Document

LINES = st.lists(
    st.sampled_from(["", "    ", "return a", "return b + 1", "x = f(a, b)", "漢字 = 12", "}", "\r"])
)
TEXTS = LINES.map("\n".join) | st.text("ab 1(\n", max_size=30)


def is_part(part: str, whole: str) -> bool:
    """Say whether a text is left of another one when characters are taken away."""
    rest = iter(whole)
    return all(character in rest for character in part)


@pytest.mark.parametrize("limit", [None, "LINES_PRODUCT", "LIKE_PRODUCT", "TOKENS_PRODUCT"])
@given(TEXTS, TEXTS)
def test_marks_cover_what_the_reference_does_not_have(
    limit: str | None, reference: str, completion: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if limit:
            patch.setattr(module, limit, 2)
        found = differences(reference, completion)
    assert found.text == completion
    assert all(
        before.end < after.start or before.end <= after.start < after.end
        for before, after in pairwise(found.spans)
    )
    assert all(0 <= span.start <= span.end <= len(completion) for span in found.spans)
    assert all((span.style == "missing") == (span.start == span.end) for span in found.spans)
    kept, place = "", 0
    for span in found.spans:
        kept += completion[place : span.start]
        place = span.end
    kept += completion[place:]
    assert is_part(kept, reference)
    assert (not found.spans) == (completion in (reference, ""))
    equal = completion == reference or (completion.strip() == reference.strip() and bool(completion.strip()))
    assert found.sentence.startswith("equals the reference") == equal
    lines = (
        Document(completion).lines if "\r" not in completion else completion.removesuffix("\n").split("\n")
    )
    assert list(found.gutter) == (list(range(1, len(lines) + 1)) if completion else [])
    for number, glyph in found.gutter.items():
        assert (glyph == "=") <= (lines[number - 1] in reference.split("\n"))


@pytest.mark.parametrize(
    ("reference", "completion", "shown", "gutter", "sentence"),
    [
        ("", "", "", "", "equals the reference: both are empty"),
        ("x", "", "", "", "empty completion"),
        ("x", "\n  ", "[\n  ]", "++", "only blanks"),
        ("x", "x", "x", "=", "equals the reference"),
        ("x = 1", "x = 1\n", "x = 1[\n]", "=", "equals the reference except for outer blanks"),
        ("a(b)\nc", "a(b)\nc\nd\n", "a(b)\nc[\nd\n]", "==+", "the whole reference, then 1 more line"),
        ("a(b)", "a(b).c", "a(b)[.c]", "~", "the whole reference, then more in the same line"),
        ("a(b).c", "a(b)", "a(b)‸", "~", "only the beginning of the reference"),
        (
            "a\nb\nc d",
            "a\nb\nc e",
            "a\nb\nc [e]",
            "==~",
            "the reference's first 2 lines, then differs",
        ),
        ("get(x, 1)", "get(y, 2)", "get([y], [2])", "~", "differs from the reference in 2 places"),
        ("f(a)", "# note\nf(a, b)", "[# note\n]f(a[, b])", "+~", "differs from the reference in 2 places"),
        ("f(a, b)\ng(a)", "f(b)\ng(a)", "f(‸b)\ng(a)", "~=", "differs from the reference in 1 place"),
        ("a\nb\nc", "x\nc", "[x]\nc", "+=", "differs from the reference in 1 place"),
        ("abc", "x = 1", "[x = 1]", "+", "nothing in common with the reference"),
    ],
)
def test_what_is_said_of_a_completion(
    reference: str, completion: str, shown: str, gutter: str, sentence: str
) -> None:
    found = differences(reference, completion)
    text = completion
    for span in reversed(found.spans):
        marked = f"[{text[span.start : span.end]}]" if span.end > span.start else "‸"
        text = text[: span.start] + marked + text[span.end :]
    assert (text, "".join(found.gutter.values()), found.sentence) == (shown, gutter, sentence)
