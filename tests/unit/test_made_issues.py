"""Issue threads as repository questions, without a user name in them."""

import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made import check, spoilt, strings, taken

from store.formats.issues import Issues
from store.formats.protocol import FileContext
from store.formats.questions import Questions, write_question
from store.formats.threads import names_users
from store.formats.user_names import UserNames, code_spans, without_mentions
from store.formats.values import Refused

CAB = {
    "number": 3,
    "title": "The till of Ada-Till stays shut",
    "created_at": "2026-01-02T03:04:05Z",
    "closed_at": None,
    "commit_id": "1a2b3c",
    "labels": ["bug", "ask bo-smith"],
    "url": "https://github.com/ada-till/till/issues/3",
    "body": None,
    "comments_url": "https://api.github.com/repos/ada-till/till/issues/3/comments",
    "author": "ada-till",
    "comments": [
        {
            "user": "bo-smith",
            "created_at": "2026-01-03T03:04:05Z",
            "body": "@Ada-Till oil it, like @carol_x said",
        },
        {"user": "ADA-TILL", "created_at": None, "body": "Thanks @bo-smith!\n```\n@bo-smith\n@carol\n```"},
        {"user": "ghost", "created_at": None, "body": "mail x@carol.example, `@dora`"},
    ],
    "satisfaction_conditions": ["Tells @bo-smith and @dora what to do"],
    "dockerfile": "USER ada-till",
    "_classification": {"by": "BO-SMITH", "ada-till": 1},
    "language": "python",
}
ISSUE = {
    "url": "https://api.github.com/repos/shop/till/issues/3",
    "repository_url": "https://api.github.com/repos/shop/till",
    "html_url": "https://github.com/shop/till/issues/3",
    "id": 900,
    "number": 3,
    "title": "Shut",
    "user": {"login": "ada", "id": 7, "html_url": "https://github.com/ada"},
    "labels": [{"name": "bug", "color": "red"}],
    "state": "closed",
    "assignee": {"login": "eve-assigned"},
    "assignees": [{"login": "eve-assigned"}],
    "closed_by": {"login": "finn-closed"},
    "author_association": "OWNER",
    "timeline": [{"closedBy": "ida-closed", "why": "IDA-CLOSED did"}],
    "milestone": {"title": "one", "creator": {"login": "gil-made"}},
    "comments": 2,
    "created_at": "2026-01-02T03:04:05Z",
    "closed_at": "2026-01-04T03:04:05Z",
    "body": "Ask eve-assigned, (finn-closed) or gil-made/x; not eve-assigned2.",
    "reactions": {"url": "https://api.github.com/x", "total_count": 3, "+1": 2, "-1": 0, "eyes": 1},
}
COMMENTS = [
    {
        "issue_url": "https://api.github.com/repos/shop/till/issues/3",
        "html_url": "https://github.com/shop/till/issues/3#issuecomment-1",
        "id": 1,
        "user": {"login": name},
        "created_at": "2026-01-03T03:04:05Z",
        "body": f"{name}: @ada and @hal",
        "reactions": {"heart": 1, "total_count": 1},
    }
    for name in ("hal", "ada")
]
COMMENTS[1]["id"] = 2


def made(*records, converter=None):
    converter = converter or Issues(FileContext("issues"))
    for record in records:
        converter.scan(record)
    found = [one for number, record in enumerate(records, 1) for one in converter.convert(record, number)]
    check(found)
    return found, converter.counts


def whole_word(names):
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)


def texts_of(found):
    return [text for one in found for part in (one.fields, one.extra) for text in strings(dict(part))]


def test_a_thread_of_codeassistbench():
    (one,), counts = made(CAB)
    assert one.fields == {
        "external_id": "user/till#3",
        "repository": "ada-till/till",
        "revision": "1a2b3c",
        "language": "python",
        "url": "https://github.com/ada-till/till/issues/3",
        "question": "The till of user stays shut",
        "reference": "",
        "issue_number": 3,
        "issue_title": "The till of user stays shut",
        "issue_body": None,
        "comments": [
            {
                "by": "participant 2",
                "created_at": "2026-01-03T03:04:05Z",
                "body": "@author oil it, like @user said",
                "reactions": {},
            },
            {
                "by": "author",
                "created_at": None,
                "body": "Thanks @participant 2!\n```\n@user\n@carol\n```",
                "reactions": {},
            },
            {"by": "someone", "created_at": None, "body": "mail x@carol.example, `@dora`", "reactions": {}},
        ],
        "labels": ["bug", "ask user"],
        "created_at": "2026-01-02T03:04:05Z",
        "closed_at": None,
    }
    assert one.extra == {
        "comments_url": "https://api.github.com/repos/user/till/issues/3/comments",
        "satisfaction_conditions": ["Tells @participant 2 and @user what to do"],
        "dockerfile": "USER user",
        "_classification": {"by": "user", "user": 1},
    }
    assert counts == {"mentions of users replaced": 5}
    # All but what the question is about and where it stands.
    told = texts_of([replace(one, fields={**one.fields, "repository": "", "url": ""})])
    assert not [text for text in told if whole_word(["ada-till", "bo-smith"]).search(text)]
    assert Questions(FileContext("x")).convert(write_question(one, []), 1) == [one]


def test_a_rest_issue_and_its_comments_that_stand_apart_in_another_file():
    known = FileContext("comments")
    converters = [Issues(known), Issues(FileContext("issues", shared=known.shared))]
    for comment in (*COMMENTS, COMMENTS[0]):
        converters[0].scan(comment)
    converters[1].scan(ISSUE)
    assert [converters[0].convert(comment, 1) for comment in COMMENTS] == [[], []]
    (one,) = converters[1].convert(ISSUE, 1)
    assert converters[0].counts == {}
    assert one.fields["external_id"] == "shop/till#3"
    assert one.fields["issue_body"] == "Ask user, (user) or user/x; not eve-assigned2."
    assert [(comment["by"], comment["body"]) for comment in one.fields["comments"]] == [
        ("participant 2", "user: @author and @participant 2"),
        ("author", "user: @author and @participant 2"),
    ]
    assert one.fields["comments"][0]["reactions"] == {"heart": 1}
    assert one.extra["reactions"] == {"+1": 2, "eyes": 1}
    assert one.extra["labels"] == [{"color": "red"}]
    assert one.extra["timeline"] == [{"why": "user did"}]
    assert one.extra["milestone"] == {"title": "one"}
    assert (one.extra["github_id"], one.extra["author_association"]) == (900, "OWNER")
    assert [left["id"] for left in one.extra["comments"]] == [1, 2]
    assert not [text for text in texts_of([one]) if re.search(r"\b(ada|hal|7)\b", text)]
    assert Questions(FileContext("x")).convert(write_question(one, []), 1) == [one]


def test_pull_requests_and_comments_without_an_issue_are_left_out_and_counted():
    pull = {**CAB, "url": "https://github.com/ada-till/till/pull/4"}
    marked = {**ISSUE, "pull_request": {}, "html_url": "https://github.com/shop/till/issues/5"}
    of_pull = {**COMMENTS[0], "html_url": "https://github.com/shop/till/pull/5#issuecomment-1"}
    found, counts = made(pull, marked, of_pull, COMMENTS[1], {**CAB, "pull_request": None})
    assert len(found) == 1
    assert counts == {
        "pull requests left out": 2,
        "comments of pull requests left out": 1,
        "comments without an issue left out": 1,
        "mentions of users replaced": 5,
    }


def test_another_issue_and_another_record_of_one_have_ids_of_their_own():
    other = {**CAB, "author": "zoe", "url": "https://github.com/zoe/till/issues/3"}
    found, _ = made(CAB, CAB, {**CAB, "language": "rust"}, other)
    assert [one.fields["external_id"] for one in found] == [
        "user/till#3",
        "user/till#3",
        "user/till#3~2",
        "user/till#3~3",
    ]


def test_an_issue_without_an_address_is_called_after_its_file():
    (one,), _ = made({"number": 8, "title": "Why?"})
    assert (one.fields["external_id"], one.fields["repository"]) == ("issues#8", None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"title": None}, "no value in 'title'"),
        ({"title": ""}, "'title' is empty"),
        ({"author": 7}, "'author' is a number (7) where a name, or an object with a login, is expected"),
        ({"author": {"login": 7}}, "'author.login' is a number (7) where text is expected"),
        ({"comments": "none"}, "'comments' is text ('none') where a list is expected"),
        ({"comments": [{"body": 7}]}, "'comments[0].body' is a number (7) where text is expected"),
        (
            {"comments": [{"reactions": {"+1": -1}}]},
            "'comments[0].reactions.+1' is a number (-1) where a count from 0 is expected",
        ),
        ({"labels": [{"color": "red"}]}, "missing field 'labels[0].name'"),
        ({"number": None, "url": None, "comments_url": None}, "missing field 'number'"),
    ],
)
def test_a_reason_names_the_field(change, reason):
    with pytest.raises(Refused) as refusal:
        made({**CAB, **change})
    assert str(refusal.value) == reason


@settings(deadline=None)
@given(st.lists(st.sampled_from([CAB, ISSUE, *COMMENTS]).flatmap(spoilt), min_size=1, max_size=3))
def test_records_are_refused_with_a_reason_or_come_back_as_questions(records):
    converter = Issues(FileContext("issues"))
    for record in records:
        converter.scan(record)
    for record in records:
        for one in taken(converter, record):
            assert Questions(FileContext("x")).convert(write_question(one, []), 1) == [one]


NAME = st.from_regex(r"[a-zA-Z0-9](?:[a-zA-Z0-9]|-(?=[a-z0-9])){2,8}", fullmatch=True).filter(
    lambda name: name.lower() not in {"user", "author", "participant", "ghost", "someone", "comments", "body"}
)
JOIN = st.sampled_from(
    ["", " ", "@", "/", "-", "_", ".", "`", "\n", "\n```\n", "%40", "%", "é", "中", "a", "7", "https://"]
)


@settings(deadline=None)
@given(st.lists(NAME, min_size=1, max_size=4, unique_by=str.lower), st.data())
@example(["abc"], None)
def test_no_user_name_is_left_as_a_word_anywhere(names, data):
    if data is None:
        body = "50%abc abc_abc %40abc"
    else:
        pieces = data.draw(
            st.lists(
                st.one_of(JOIN, st.sampled_from(names), st.sampled_from(names).map(str.swapcase)), max_size=12
            )
        )
        body = "".join(pieces)
    asker, *others = names
    record = {
        "number": 1,
        "title": f"{body} ",
        "body": body,
        "author": asker,
        "repository": f"{asker}/{body}",
        "comments": [{"user": {"login": other}, "body": body, "n": [body]} for other in others],
        "x": {"y": body, "z": {body: 1}},
    }
    found, _ = made(record)
    fixed = {"number", "x", "y", "z", "n", "by", "reactions", "created_at", *found[0].fields}
    pattern = whole_word(names)
    told = texts_of([replace(found[0], fields={**found[0].fields, "repository": ""}), *found[1:]])
    assert not [text for text in told if text not in fixed and pattern.search(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab: the ab of it", "ab: the ab of it"),
        (
            "https://github.com/ab/x and https://api.github.com/users/AB",
            "https://github.com/user/x and https://api.github.com/users/user",
        ),
        ("ab/x#3", "user/x#3"),
        ("see ab/x@1a2b, a/b and x/ab", "see user/x@1a2b, a/b and x/ab"),
        ("田中太郎さんに", "userさんに"),
        ("İstanbul bobo", "İstanbul user"),
        ("bot[bot] bo-bo bo-bobo", "user user bo-user"),
        (
            "\x1b[01;32mbobo@host\x1b[0m \x1b[mbobo [31mbobo ^[[Kbobo",
            "\x1b[01;32muser@host\x1b[0m \x1b[muser [31muser ^[[Kuser",
        ),
        (
            r"a\nbobo\tbobo\\nbobo \u001b[1mbobo \033[mbobo \x1bbobo \u0040bobo",
            r"a\nuser\tuser\\nuser \u001b[1muser \033[muser \x1buser \u0040user",
        ),
        ("%40bobo%2Fbobo%2540bobo [nbobo nbobo", "%40user%2Fuser%2540user [nbobo nbobo"),
        (r"\U0001F600bobo" + " \x9b31mbobo", r"\U0001F600user" + " \x9b31muser"),
    ],
)
def test_where_names_are_replaced(text, expected):
    names = UserNames()
    for name in ("ab", "bot[bot]", "田中太郎", " BO-BO ", "bobo", ""):
        names.add(name)
    assert names.replaced(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@a, @b-c.\n你好@d", "@?, @?.\n你好@?"),
        ("x@a.b @types/node @a-b/c a@b", "x@a.b @types/node @a-b/c a@b"),
        ("`@a` ``@b ` @c`` @d `@e", "`@a` ``@b ` @c`` @? `@?"),
        ("`@a\n\n@b`", "`@?\n\n@?`"),
        ("```\n@a\n~~~\n@b\n````\n@c", "```\n@a\n~~~\n@b\n````\n@?"),
        ("> ```\n> @a\n\n@b", "> ```\n> @a\n\n@?"),
        ("- ~~~ py\n  @a\n  ~~~\n@b", "- ~~~ py\n  @a\n  ~~~\n@?"),
        ("``` `@a` ```\n@b", "``` `@a` ```\n@?"),
        ("```\n@a", "```\n@a"),
        ("@dependabot[bot] and @a_b_", "@? and @?_"),
        ("since @0.5.1, @a", "since @0.5.1, @?"),
        ("the @tool decorator, @a", "the @tool decorator, @?"),
        ("decorated with @cache by @a", "decorated with @cache by @?"),
    ],
)
def test_mentions_outside_code(text, expected):
    found, count = without_mentions(text, lambda name: "?")
    assert found == expected
    assert count == expected.count("@?")


@given(st.text(alphabet="`~> \n@ax-", max_size=40))
def test_code_spans_are_in_order_and_within_the_text(text):
    spans = code_spans(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(text) for start, end in spans)


def test_which_fields_name_users():
    naming = ("user", "closed_by", "last_editedBy", "modified-by", "written_by", "assigned_to", "editor")
    assert [name for name in naming if not names_users(name)] == []
    others = (
        "sorted_by",
        "required_by",
        "name",
        "title",
        "by",
        "standby",
        "nearby",
        "triggered_by",
        "handle",
    )
    assert [name for name in others if names_users(name)] == []


def test_every_name_of_a_user_is_replaced_and_no_other_word():
    asker = {"login": "alice", "display_name": "Wonder Alice", "nickname": "liddelly", "id": 3}
    labels = [{"name": "bug", "display_name": "Bug"}]
    body = "A bug, says Wonder Alice (liddelly): see the file."
    issue = {**ISSUE, "user": asker, "labels": labels, "body": body, "attachment": {"handle": "file"}}
    (one,), _ = made(issue)
    assert one.fields["issue_body"] == "A bug, says user (user): see the file."
    assert not whole_word(("alice", "liddelly")).search(" ".join(texts_of([one])))
