"""`workbench collect`: repositories and issues of GitHub, from a service in its form and from stored JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from loopback_github import Answer, GitHubHere, github_here, helpful, issue

from agents.collection.rules import (
    AGAIN,
    ELSEWHERE,
    GONE,
    IMAGE,
    IMAGE_IN_COMMENT,
    LABELLED,
    NO_CODE,
    NO_REACTIONS,
    NOT_LABELLED,
    OPEN,
    PULL_REQUEST,
    IssueRules,
)
from agents.github.kept_pages import KeptPages
from agents.github.markdown import code_blocks, has_image, points_elsewhere

FEW = IssueRules().too_few
SECRET = "ghp-not-a-real-token"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHubHere]:
    monkeypatch.setenv("WORKBENCH_GITHUB__PAGES", str(tmp_path / "pages"))
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    with github_here() as here:
        monkeypatch.setenv("WORKBENCH_GITHUB__URL", here.url)
        yield here


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits that were asked for; none is waited for."""
    waits: list[float] = []

    async def sleep(self: Any, seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("agents.github.client.GitHub.sleep", sleep)
    return waits


def questions(path: Path, workbench: Any) -> list[dict[str, Any]]:
    out = path.with_suffix(".questions.jsonl")
    out.unlink(missing_ok=True)
    assert workbench("export", path, out, "--format", "questions").code == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def everything(path: Path) -> str:
    """All texts of a workspace."""
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        return "\n".join(str(connection.execute(f'FROM "{name}"').fetchall()) for (name,) in tables)


# -- which issues -----------------------------------------------------------------------------------------

LABELS = [{"name": "type: bugfix", "color": "red"}]
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str]] = {
    "taken": (issue("Taken"), helpful(3), ""),
    "every positive reaction": (
        issue("Hearts"),
        [{"body": "a", "reactions": {name: 1}} for name in ("laugh", "hooray", "heart", "rocket")],
        "",
    ),
    "pull request": (issue("Pull", pull_request={"url": "x"}), helpful(3), PULL_REQUEST),
    "open": (issue("Open", state="open", closed_at=None), helpful(3), OPEN),
    "label": (issue("Label", labels=LABELS), helpful(3), LABELLED),
    "other label": (issue("Other", labels=[{"name": "question"}]), helpful(3), ""),
    "image": (issue("Image") | {"body": "```\nx\n```\n![shot](https://x.example/y)"}, helpful(3), IMAGE),
    "no code": (issue("Prose") | {"body": "`open_drawer()` fails"}, helpful(3), NO_CODE),
    "no body": (issue("Empty") | {"body": None}, helpful(3), NO_CODE),
    "few": (issue("Few"), helpful(2), FEW),
    "other reactions": (
        issue("Eyes"),
        [{"body": "a", "reactions": {"eyes": 1, "-1": 2, "confused": 1, "+1": 0}}] * 4,
        FEW,
    ),
    "image in a comment": (
        issue("Shot"),
        [*helpful(3), {"body": '<img src="x">', "reactions": {}}],
        IMAGE_IN_COMMENT,
    ),
    "elsewhere": (issue("Elsewhere"), [*helpful(2), *helpful(1, "Fixed by #9999")], ELSEWHERE),
    "an own number": (
        issue("Own"),
        [*helpful(2), *helpful(1, "As in https://github.com/shop/till/issues/14")],
        "",
    ),
    "elsewhere, unmarked": (issue("Unmarked"), [*helpful(3), {"body": "see #9999", "reactions": {}}], ""),
}


@pytest.mark.parametrize("source", ["github", "one file", "two files"])
def test_each_condition_decides_alone(
    source: str, service: GitHubHere, tmp_path: Path, workbench: Any
) -> None:
    comments = {number: said for number, (_, said, _) in enumerate(CASES.values(), start=1)}
    service.add("shop/till", [one for one, _, _ in CASES.values()], comments)
    issues = service.issues["shop/till"]
    for number, one in enumerate(issues, start=1):
        for comment in service.comments["shop/till", number]:
            comment["issue_url"] = f"https://api.github.com/repos/shop/till/issues/{number}"
        one["comments"] = len(comments[number])
    if source == "github":
        sources = ["shop/till"]
    elif source == "one file":
        whole = [{**one, "comments": service.comments["shop/till", one["number"]]} for one in issues]
        (tmp_path / "issues.json").write_text(json.dumps(whole))
        sources = [str(tmp_path / "issues.json")]
    else:
        (tmp_path / "issues.json").write_text(json.dumps(issues))
        said = [comment for found in service.comments.values() for comment in found]
        (tmp_path / "comments.json").write_text(json.dumps(said))
        sources = [str(tmp_path / name) for name in ("issues.json", "comments.json")]
    told = workbench("collect", "issues", tmp_path / "a.duckdb", *sources, "--json").json()
    reasons = [why for _, _, why in CASES.values()]
    # GitHub is asked for closed issues alone.
    missing = {OPEN} if source == "github" else set()
    assert told["left_out"] == {why: reasons.count(why) for why in reasons if why and why not in missing}, (
        told
    )
    taken = [number for number, why in enumerate(reasons, start=1) if not why]
    found = questions(tmp_path / "a.duckdb", workbench)
    assert sorted(one["issue"]["number"] for one in found) == taken
    assert told["questions"] == told["added"] == len(taken)
    again = workbench("collect", "issues", tmp_path / "a.duckdb", *sources, "--json").json()
    assert (again["added"], again["known"]) == (0, len(taken))


def test_labels_are_left_out_required_or_nothing(tmp_path: Path, workbench: Any) -> None:
    records = [
        {**issue(title, labels=labels), "number": number, "url": f"https://github.com/a/b/issues/{number}"}
        for number, (title, labels) in enumerate([("x", ["Feature"]), ("y", ["help"]), ("z", [])], start=1)
    ]
    path = tmp_path / "issues.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))

    def told(rule: str) -> tuple[int, dict[str, int]]:
        workspace = tmp_path / f"{rule}.duckdb"
        told = workbench(
            "collect", "issues", workspace, path, "--labels", rule, "--positive", "0", "--json"
        ).json()
        return told["questions"], told["left_out"]

    assert told("leave-out") == (2, {LABELLED: 1})
    assert told("require") == (1, {NOT_LABELLED: 2})
    assert told("any") == (3, {})


def test_a_file_without_reactions_says_so(tmp_path: Path, workbench: Any) -> None:
    one = {**issue("x"), "number": 1, "url": "https://github.com/a/b/issues/1"}
    one["comments"] = [{"user": "u", "body": "y"}] * 3
    (tmp_path / "issues.json").write_text(json.dumps([one, one]))
    collect = ("collect", "issues", tmp_path / "a.duckdb", tmp_path / "issues.json")
    told = workbench(*collect)
    assert "issues.json has no reactions" in told.out
    assert workbench(*collect, "--json").json()["left_out"] == {AGAIN: 1, NO_REACTIONS: 1}
    report = workbench("report", tmp_path / "a.duckdb", "collection", "--json").json()
    assert report["silent"] == ["issues.json"]
    assert workbench(*collect, "--positive", "0", "--json").json()["added"] == 1


def test_at_most_so_many_of_a_repository_are_drawn(
    service: GitHubHere, tmp_path: Path, workbench: Any
) -> None:
    for name in ("shop/till", "shop/drawer"):
        service.add(
            name, [issue(f"{name} {at}") for at in range(12)], {at: helpful(3) for at in range(1, 13)}
        )
    collect = ("collect", "issues")

    def drawn(name: str, seed: int) -> list[str]:
        path = tmp_path / f"{name}.duckdb"
        told = workbench(
            *collect, path, "shop/till", "shop/drawer", "--most", 5, "--seed", seed, "--json"
        ).json()
        assert told["left_out"] == {IssueRules(most=5).too_many: 14}
        return sorted(one["id"] for one in questions(path, workbench))

    first = drawn("a", 1)
    assert [sum(name in one for one in first) for name in ("till", "drawer")] == [5, 5]
    assert first == drawn("b", 1)
    assert first != drawn("c", 2)


@pytest.mark.parametrize(
    ("text", "points"),
    [
        *((text, True) for text in ("see #12", "GH-12", "a/b#3", "fixed in 1a2b3c4", "(#7).")),
        *(
            (text, False)
            for text in ("see #3", "shop/till#3", "`#12`", "```\n#12\n```", "C#12", "v1.2-4567abc")
        ),
        *(
            (text, False)
            for text in ("<!-- #12 -->", "deadbeef", "1234567", "# 12", "&#123;", "colour #ffeedd")
        ),
        ("https://github.com/shop/till/issues/3#issuecomment-1", False),
        ("[there](https://github.com/shop/till/pull/9)", True),
        ("https://github.com/shop/till/issues/31.", True),
        ("https://github.com/a/b/commit/0123456789abcdef0123456789abcdef01234567", True),
        ('<a href="https://github.com/a/b/pull/9/files">there</a>', True),
    ],
)
def test_what_a_comment_points_to(text: str, points: bool) -> None:
    assert points_elsewhere(text, "Shop/Till", 3) is points


@pytest.mark.parametrize(
    ("text", "image"),
    [
        *(
            (text, True)
            for text in ("![a](b)", "![a][r]\n\n[r]: c", "<p><img src=x></p>", "https://x.example/y.PNG")
        ),
        *(
            (text, True)
            for text in ("[shot](https://x.example/y.gif)", "https://github.com/user-attachments/assets/1f")
        ),
        *(
            (text, False)
            for text in ("`![a](b)`", "<!-- <img> -->", "a.png", "```\n![a](b)\n```", "https://x.example/png")
        ),
    ],
)
def test_what_shows_an_image(text: str, image: bool) -> None:
    assert has_image(text) is image


def test_blocks_of_code_are_taken_unchanged() -> None:
    text = "a\n\n```py\nx  = 1\n\n```\n\n    indented\n\n> ```\n> quoted\n> ```\n\n- one\n  ~~~sh\n  a ``` b\n  ~~~\n"
    assert [*code_blocks(text)] == [
        "```py\nx  = 1\n```",
        "```\nindented\n```",
        "```\nquoted\n```",
        "````sh\na ``` b\n````",
    ]


def test_an_issue_of_100_000_characters_takes_a_moment(tmp_path: Path, workbench: Any) -> None:
    bodies = ["![" * 50_000, "`a" * 50_000, "[" * 100_000, "> " * 50_000, "#1 " * 33_000, "a" * 100_000, None]
    records = [
        {**issue("x"), "body": body, "number": number, "url": f"https://github.com/a/b/issues/{number}"}
        for number, body in enumerate(bodies, start=1)
    ]
    (tmp_path / "issues.json").write_text(json.dumps(records))
    told = workbench(
        "collect", "issues", tmp_path / "a.duckdb", tmp_path / "issues.json", "--positive", "0", "--json"
    ).json()
    assert told["left_out"] == {NO_CODE: len(bodies)}


# -- the service -----------------------------------------------------------------------------------------


def test_no_user_name_and_no_token_is_in_the_workspace(
    service: GitHubHere, tmp_path: Path, workbench: Any
) -> None:
    said = [
        {"body": "@asker1 ask Writer1, he knows; carla-till too", "reactions": {"+1": 1}},
        {"body": "writer0 is right. @someone-else", "reactions": {"heart": 2}},
        {"body": "Thanks.", "reactions": {"rocket": 1}, "user": {"login": "carla-till"}},
    ]
    service.add("shop/till", [issue("asker2 says: shut"), issue("Other") | {"body": "no code"}], {1: said})
    assert workbench("collect", "issues", tmp_path / "a.duckdb", "shop/till").code == 0
    texts = everything(tmp_path / "a.duckdb").lower()
    assert "he knows" in texts
    for name in ("asker1", "asker2", "writer0", "writer1", "carla-till", "someone-else", SECRET):
        assert name not in texts, name
    assert all(token for _, _, token in service.asked)


def test_pages_are_read_to_the_end_and_nothing_twice(
    service: GitHubHere, tmp_path: Path, workbench: Any
) -> None:
    # 350 issues of which 230 changed in the same second, and at most two pages of a list.
    issues = [issue(f"Number {number}") for number in range(350)]
    for one in issues[50:280]:
        one["updated_at"] = "2024-03-01T00:00:00Z"
    for number, one in enumerate(issues[280:]):
        one["updated_at"] = f"2024-04-01T00:00:{number % 60:02}Z"
    service.add("shop/till", issues, {7: helpful(3), 300: helpful(1000)})
    service.pages = 20
    told = workbench("collect", "issues", tmp_path / "a.duckdb", "shop/till", "--json").json()
    assert (told["issues"], told["questions"]) == (350, 2)
    found = {one["issue"]["number"]: one for one in questions(tmp_path / "a.duckdb", workbench)}
    assert len(found[300]["issue"]["comments"]) == 1000
    # Comments are asked for where there are enough of them.
    assert len(service.asked_for("/comments")) == 11


def test_lists_that_end_early_go_on_by_time(service: GitHubHere, tmp_path: Path, workbench: Any) -> None:
    service.add("shop/till", [issue(f"Number {at}") for at in range(450)], {})
    service.pages = 1
    told = workbench("collect", "issues", tmp_path / "a.duckdb", "shop/till", "--json").json()
    assert told["issues"] == 450


def test_what_is_unchanged_is_not_sent_again(service: GitHubHere, tmp_path: Path, workbench: Any) -> None:
    service.add("shop/till", [issue(f"Number {at}") for at in range(250)], {1: helpful(3), 2: helpful(3)})
    collect = ("collect", "issues", tmp_path / "a.duckdb", "shop/till", "--json")
    workbench(*collect)
    asked = len(service.asked_for("/issues?state=closed&sort")) + len(service.asked_for("/comments"))
    service.asked.clear()
    told = workbench(*collect, "--labels", "any").json()
    assert (told["added"], told["known"]) == (0, 2)
    assert (
        len(service.asked_for("/issues?state=closed&sort", 304)) + len(service.asked_for("/comments", 304))
        == asked
    )
    assert not service.asked_for("/comments")
    # Another token may see other things.
    service.asked.clear()
    kept = KeptPages(tmp_path / "pages", "somebody")
    with pytest.raises(KeyError):
        kept[f"{service.url}/repos/shop/till"]


def test_limits_are_waited_out(
    service: GitHubHere, tmp_path: Path, workbench: Any, no_waits: list[float]
) -> None:
    service.add("shop/till", [issue("One")], {1: helpful(3)})
    reset = str(int(time.time()) + 100)
    limited = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    service.before["/repos/shop/till"].append(Answer(403, limited, b'{"message": "API rate limit exceeded"}'))
    service.before["/repos/shop/till"].append(Answer(429, {"retry-after": "7"}))
    service.before["/repos/shop/till/issues"].append(
        Answer(403, {}, b'{"message": "You have exceeded a secondary rate limit"}')
    )
    told = workbench("collect", "issues", tmp_path / "a.duckdb", "shop/till", "--json").json()
    assert told["questions"] == 1
    assert 90 <= no_waits[0] <= 101
    assert no_waits[1:] == [7, 60]


def test_faults_of_the_line_are_tried_again(
    service: GitHubHere, tmp_path: Path, workbench: Any, no_waits: list[float]
) -> None:
    service.add("shop/till", [issue("One")], {1: helpful(3)})
    service.before["/repos/shop/till/issues"].extend(
        [Answer(500), Answer(cut=40), Answer(body=b"[{"), Answer(502)]
    )
    told = workbench("collect", "issues", tmp_path / "a.duckdb", "shop/till", "--json").json()
    assert told["questions"] == 1
    assert no_waits == [1, 2, 4, 8]


@pytest.mark.parametrize("status", [404, 410, 451])
def test_a_repository_that_cannot_be_read_is_said(
    status: int, service: GitHubHere, tmp_path: Path, workbench: Any
) -> None:
    service.add("shop/till", [issue("One"), issue("Two")], {1: helpful(3), 2: helpful(3)})
    service.add("shop/gone", [issue("One")], {1: helpful(3)})
    service.before["/repos/shop/gone/issues"].append(Answer(status, {}, b'{"message": "Not to be seen"}'))
    service.before["/repos/shop/till/issues/2/comments"].append(Answer(status))
    collect = ("collect", "issues", tmp_path / "a.duckdb", "shop/gone", "shop/nowhere", "shop/till")
    told = workbench(*collect, "--json").json()
    assert (told["questions"], told["left_out"]) == (1, {GONE: 1})
    assert all(told["sources"][name]["why"] for name in ("shop/gone", "shop/nowhere"))
    assert f"answers {status}" in told["sources"]["shop/gone"]["said"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(401, {}, b'{"message": "Bad credentials"}'), "GITHUB_TOKEN"),
        (Answer(403, {}, b'{"message": "Resource not accessible"}'), "what the token may read"),
        (Answer(body=b'"a text"'), "Check github.url"),
        (Answer(301, {"location": "https://elsewhere.example/"}), "gets no token of yours"),
        (Answer(body=b"[" + b" " * (17 << 20) + b"]"), "more than 16 MiB"),
        (Answer(429, {"retry-after": "90000"}), "asks to wait 25.0 hours"),
    ],
)
def test_what_cannot_go_on_says_why(
    answer: Answer, words: str, service: GitHubHere, tmp_path: Path, workbench: Any
) -> None:
    service.add("shop/till", [issue("One")], {1: helpful(3)})
    service.before["/repos/shop/till"].append(answer)
    told = workbench("collect", "issues", tmp_path / "a.duckdb", "shop/till")
    assert told.code == 2
    assert told.says(words)


def test_a_service_that_fails_for_long_ends_it_and_it_goes_on_later(
    service: GitHubHere, tmp_path: Path, workbench: Any, no_waits: list[float]
) -> None:
    for name in ("shop/till", "shop/drawer"):
        service.add(name, [issue(name)], {1: helpful(3)})
    service.before["/repos/shop/drawer/issues"].extend([Answer(500)] * 5)
    collect = ("collect", "issues", tmp_path / "a.duckdb", "shop/till", "shop/drawer")
    first = workbench(*collect, "--json")
    assert first.code == 2
    assert first.json()["added"] == 1
    service.asked.clear()
    assert workbench(*collect, "--json").json()["added"] == 2
    assert not service.asked_for("shop/till")


def test_a_token_is_not_sent_over_an_open_line(
    tmp_path: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_GITHUB__URL", "http://github.example/api/v3")
    monkeypatch.setenv("WORKBENCH_GITHUB__PAGES", str(tmp_path / "pages"))
    monkeypatch.setenv("GH_TOKEN", SECRET)
    told = workbench("collect", "issues", tmp_path / "a.duckdb", "shop/till")
    assert told.code == 2
    assert told.says("not https")
    assert SECRET not in told.out + told.err


def test_kept_pages_stay_within_their_bound(tmp_path: Path) -> None:
    pages = KeptPages(tmp_path / "pages", "me", most=10_000)
    for number in range(40):
        pages[f"page {number}"] = ("etag", None, "x" * 1000, None)
    files = list((tmp_path / "pages").iterdir())
    assert sum(one.stat().st_size for one in files) <= 10_000
    assert len(pages) == len(files)
    assert pages["page 39"] == ("etag", None, "x" * 1000, None)
    next(iter(files)).write_text("{")
    assert len([1 for number in range(40) if f"page {number}" in pages]) == len(files) - 1


# -- repositories ----------------------------------------------------------------------------------------


@pytest.fixture
def stars(service: GitHubHere) -> GitHubHere:
    """Twelve repositories: two without a licence, two that are too quiet, one too busy, three small ones."""
    for number in range(12):
        name = f"owner{number}/shop"
        service.add(name, [], {})
        closed = {2: 3, 3: 0, 4: 40}.get(number, 10)
        service.issues[name] = [{"state": "closed", "updated_at": "2024"}] * closed
        service.repositories[name] |= {
            "stargazers_count": 100 - number,
            "license": None if number == 0 else {"spdx_id": "NOASSERTION" if number == 1 else "MIT"},
        }
        service.languages[name] = {"Python": 300 if number in (5, 6, 7) else 900, "Shell": 100}
    return service


def collect_repositories(out: Path, *more: object) -> Callable[[Any], Any]:
    command = (
        "collect",
        "repositories",
        out,
        "--language",
        "python",
        "--fewest-closed",
        5,
        "--most-closed",
        20,
    )
    return lambda workbench: workbench(*command, "--tokens", 200, *more)


def test_repositories_are_found_and_drawn(stars: GitHubHere, tmp_path: Path, workbench: Any) -> None:
    out = tmp_path / "repositories.jsonl"
    told = collect_repositories(out, "--above", 3, "--below", 2, "--json")(workbench).json()
    assert told["looked_at"] == 12
    assert told["left_out"] == {
        "without a licence": 2,
        "fewer than 5 closed": 2,
        "more than 20 closed": 1,
        "not drawn, with at least 200 tokens": 1,
        "not drawn, with fewer than 200 tokens": 1,
    }
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["full_name"] for one in written] == told["repositories"]
    sizes = [one["collected"]["tokens"] for one in written]
    assert sorted(sizes) == [100, 100, 250, 250, 250]
    assert told["sizes"] == {"GitHub's bytes by language": 5}
    assert {path.name for path in tmp_path.iterdir()} >= {"repositories.jsonl"}
    assert not (tmp_path / "repositories.jsonl.part").exists()
    # A file is never replaced.
    assert collect_repositories(out)(workbench).code == 2
    # The file stands for its repositories.
    told = workbench("collect", "issues", tmp_path / "a.duckdb", out, "--json").json()
    assert list(told["sources"]) == [one["full_name"] for one in written]


def test_files_at_hand_are_counted(stars: GitHubHere, tmp_path: Path, workbench: Any) -> None:
    folder = tmp_path / "checkouts" / "owner8" / "shop"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("ä" * 100)
    out = tmp_path / "r.jsonl"
    told = collect_repositories(out, "--repositories", tmp_path / "checkouts", "--json")(workbench).json()
    assert told["sizes"] == {"GitHub's bytes by language": 6, "its files": 1}
    found = {one["full_name"]: one["collected"] for one in map(json.loads, out.read_text().splitlines())}
    assert found["owner8/shop"]["tokens"] == 25


def test_what_was_counted_is_not_asked_again(
    stars: GitHubHere, tmp_path: Path, workbench: Any, no_waits: list[float]
) -> None:
    out = tmp_path / "r.jsonl"
    stars.before["/repos/owner9/shop/languages"].extend([Answer(500)] * 5)
    assert collect_repositories(out)(workbench).code == 2
    assert not out.exists()
    stars.asked.clear()
    assert collect_repositories(out, "--json")(workbench).json()["looked_at"] == 12
    assert {path.split("/")[2] for path in stars.asked_for("/languages")} <= {"owner9", "owner10", "owner11"}
