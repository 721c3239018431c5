"""Records spoilt in every way, and what every neutral record has to hold."""

import copy
import json

from hypothesis import strategies as st

from store.formats.values import Refused

TEXT, MAYBE, WHOLE, NUMBER = (str,), (str, type(None)), (int, type(None)), (float, type(None))
FIELDS = {
    "completion": {
        "external_id": TEXT,
        "language": MAYBE,
        "repository": MAYBE,
        "path": MAYBE,
        "prompt": TEXT,
        "reference": TEXT,
        "right_context": TEXT,
        "prompt_line": WHOLE,
        "reference_line": WHOLE,
        "right_context_line": WHOLE,
    },
    "answer": {
        "external_id": TEXT,
        "repository": MAYBE,
        "revision": MAYBE,
        "language": MAYBE,
        "url": MAYBE,
        "question": TEXT,
        "reference": TEXT,
        "issue_number": WHOLE,
        "issue_title": MAYBE,
        "issue_body": MAYBE,
        "comments": (list,),
        "labels": (list,),
        "created_at": MAYBE,
        "closed_at": MAYBE,
    },
    "chunk": {
        "kind": TEXT,
        "item": TEXT,
        "setting": TEXT,
        "rank": (int,),
        "path": MAYBE,
        "text": TEXT,
        "score": NUMBER,
    },
    "response": {
        "kind": TEXT,
        "item": MAYBE,
        "reference": MAYBE,
        "model": TEXT,
        "setting": TEXT,
        "trial": TEXT,
        "text": TEXT,
    },
    "score": {
        "kind": TEXT,
        "item": TEXT,
        "model": TEXT,
        "setting": TEXT,
        "trial": TEXT,
        "judge": TEXT,
        "measure": TEXT,
        "value": NUMBER,
        "raw": TEXT,
        "reason": TEXT,
    },
}
COMMENT = {"by": TEXT, "created_at": MAYBE, "body": TEXT, "reactions": (dict,)}

_HALF = "\ud800"
_ANY = st.one_of(
    st.sampled_from(
        [
            None,
            True,
            False,
            0,
            -1,
            1,
            1 << 70,
            0.5,
            1e308,
            float("inf"),
            "",
            " ",
            "x",
            _HALF,
            [],
            {},
            [[]],
            [None],
        ]
    ),
    st.text(max_size=8),
    st.lists(
        st.one_of(st.none(), st.text(max_size=3), st.dictionaries(st.text(max_size=3), st.integers())),
        max_size=3,
    ),
    st.dictionaries(
        st.sampled_from(["login", "list", "text", "name", "x", _HALF]),
        st.one_of(st.none(), st.text()),
        max_size=3,
    ),
)
# Copied, since what is drawn is spoilt further.
_VALUES = _ANY.map(copy.deepcopy)


def _places(value, path=()):
    yield path
    if isinstance(value, dict):
        for name, found in value.items():
            yield from _places(found, (*path, name))
    if isinstance(value, list):
        for at, found in enumerate(value):
            yield from _places(found, (*path, at))


@st.composite
def spoilt(draw, record):
    """A record with up to three of its values lost, put wrong, or given a field beside them."""
    record = copy.deepcopy(record)
    for _ in range(draw(st.integers(0, 3))):
        *path, last = draw(st.sampled_from([path for path in _places(record) if path] or [("x",)]))
        within = record
        for step in path:
            within = within[step]
        how = draw(st.sampled_from(["lost", "wrong", "beside"]))
        if how == "wrong":
            within[last] = draw(_VALUES)
        elif isinstance(within, dict):
            if how == "lost":
                within.pop(last, None)
            else:
                within[draw(st.sampled_from(["x", "id", "extra", "setting", "trial", "text", "number"]))] = (
                    draw(_VALUES)
                )
    return record


def taken(converter, record):
    """What a record makes, all of it sound; nothing where it is refused with a reason that names a field."""
    try:
        made = converter.convert(record, 1)
    except Refused as refusal:
        if "'" not in str(refusal) and "an extra field" not in str(refusal):
            raise AssertionError(f"no field is named: {refusal}") from refusal
        return []
    check(made)
    return made


def check(made):
    """Every field is there and of its type, and all of it can be kept as text."""
    for one in made:
        for fields, types in [(one.fields, FIELDS[one.sort])] + [
            (comment, COMMENT) for comment in one.fields.get("comments", ())
        ]:
            assert fields.keys() == types.keys()
            for name, value in fields.items():
                assert type(value) in types[name], (name, value)
        json.dumps([one.fields, one.extra], ensure_ascii=False, allow_nan=False).encode("utf-8")


def strings(value):
    """Every text in a JSON value, the names of its fields as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, found in value.items():
            yield name
            yield from strings(found)
    elif isinstance(value, list):
        for found in value:
            yield from strings(found)
