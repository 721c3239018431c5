"""Issue threads: CodeAssistBench's records, and GitHub's REST objects of issues and of their comments.

No user name is kept. Who asked is called "author", the others "participant 2" and so on by thread; where a
text mentions somebody, or a user's name occurs anywhere as a word, that is replaced (store.formats.threads).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, FileContext, Format
from store.formats.questions import reactions
from store.formats.record_reader import RecordReader, add_count
from store.formats.threads import Thread, Threads, is_of_issue, is_pull_request, place, poster, without_users
from store.formats.values import Refused, wrong

PULL_REQUESTS = "pull requests left out"
OF_PULL_REQUESTS = "comments of pull requests left out"
MENTIONS = "mentions of users replaced"
WITHOUT_ISSUE = "comments without an issue left out"

_REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
# What our own file of questions calls something else.
_TAKEN = ("id", "repository", "commit", "language", "question", "answer", "issue", "chunks")
# Sentences about the thread, where a mention is one.
_PROSE = "satisfaction_conditions"


class Issues:
    """Makes a repository question of every issue, with its comments, also those of separate records."""

    def __init__(self, known: FileContext) -> None:
        self.counts: dict[str, int] = {}
        self._stem = known.stem
        self._threads: Threads = known.shared.setdefault("issue threads", Threads())

    def scan(self, record: Mapping[str, Any]) -> None:
        """Collect the user names of a record, the writers of its thread, and a comment's issue."""
        self._threads.gather(record)
        try:
            thread = self._threads.of(self._key(record))
            writer = poster(record)
            if _is_comment(record):
                part = RecordReader(without_users(record))
                _comment(part)
                part.rest()
                thread.comments.append(record)
                thread.pull_request |= is_pull_request(record)
            else:
                thread.issue, thread.asker = True, writer
                thread.pull_request |= is_pull_request(record)
            if writer:
                thread.posters[writer] = None
            comments = record.get("comments")
            for comment in comments if isinstance(comments, list) else ():
                if found := poster(comment):
                    thread.posters[found] = None
        except (Refused, AttributeError, RecursionError):
            # Its faults are reported when it is converted.
            return

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the question of an issue; nothing for a pull request, nor for a comment, which is joined.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        try:
            if _is_comment(record):
                return self._apart(record)
            if is_pull_request(record):
                add_count(self.counts, PULL_REQUESTS)
                return []
            return [self._issue(record)]
        except RecursionError as error:
            raise Refused("JSON nested too deeply") from error

    def _apart(self, record: Mapping[str, Any]) -> list[Entity]:
        if place(record) is None:
            raise Refused("'issue_url' names no issue")
        poster(record)
        comment = RecordReader(without_users(record))
        _comment(comment)
        comment.rest()
        thread = self._threads.of(self._key(record))
        if thread.pull_request or is_pull_request(record):
            add_count(self.counts, OF_PULL_REQUESTS)
        elif not thread.issue:
            add_count(self.counts, WITHOUT_ISSUE)
        return []

    def _issue(self, record: Mapping[str, Any]) -> Entity:
        key = self._key(record)
        thread = self._threads.of(key)
        poster(record)
        whole = RecordReader(without_users(record))
        title = whole.text("title", required=True, filled=True)
        body = whole.text("body")
        found = place(record)
        number = whole.whole("number")
        if number is None and found is None:
            raise Refused("missing field 'number'")
        address = whole.text("html_url" if whole.has("html_url") else "url")
        fields: dict[str, Any] = {
            "external_id": self._threads.public(key, record),
            # As they are, since a question is about this repository, and a link is of use as a whole.
            "repository": found[0] if found else None,
            "revision": self._public(whole.text("commit_id")),
            "language": self._public(whole.text("language", short=True)),
            "url": address if is_of_issue(address) else self._public(address),
            "question": self._text(title, thread),
            "reference": "",
            "issue_number": found[1] if found and number is None else number,
            "issue_title": self._text(title, thread, count=False),
            "issue_body": None if body is None else self._text(body, thread),
        }
        comments, left = self._comments(record, whole, thread)
        fields["comments"] = comments
        labels, of_labels = _labels(whole)
        fields["labels"] = [self._threads.names.replaced(name) for name in labels]
        fields["created_at"] = self._moment(whole.text("created_at"))
        fields["closed_at"] = self._moment(whole.text("closed_at"))
        counted = _reactions(whole)
        extra = whole.rest()
        extra |= {"comments": left} if left else {}
        extra |= {"labels": of_labels} if of_labels else {}
        extra |= {"reactions": counted} if counted else {}
        return Entity("answer", fields, self._extra(extra, thread))

    def _comments(
        self, record: Mapping[str, Any], whole: RecordReader, thread: Thread
    ) -> tuple[list[dict[str, Any]], Any]:
        """Return the comments of an issue, also those of separate records, and their extra fields."""
        own = record.get("comments")
        if isinstance(own, int):
            count: Any = whole.whole("comments")
            parts: list[RecordReader] = []
        else:
            count, parts = None, whole.objects("comments")
        raw = [*(own if isinstance(own, list) else ()), *thread.comments]
        known: set[Any] = set()
        comments, left = [], []
        for at, given in enumerate(raw):
            part = parts[at] if at < len(parts) else RecordReader(without_users(given))
            by = thread.called(poster(given, part.path))
            comment = _comment(part)
            rest = part.take_rest()
            if (identity := given.get("id")) is not None:
                if repr(identity) in known:
                    continue
                known.add(repr(identity))
            comments.append(
                {
                    "by": by,
                    "created_at": self._moment(comment["created_at"]),
                    "body": self._text(comment["body"], thread),
                    "reactions": comment["reactions"],
                }
            )
            left.append(rest)
        return comments, left if any(left) else count

    def _key(self, record: Mapping[str, Any]) -> str:
        found = place(record)
        return f"{found[0]}#{found[1]}" if found else f"{self._stem}#{record.get('number')}"

    def _text(self, text: str, thread: Thread, *, count: bool = True) -> str:
        found, mentions = self._threads.text(text, thread)
        if count:
            add_count(self.counts, MENTIONS, mentions)
        return found

    def _public(self, text: str | None) -> str | None:
        return None if text is None else self._threads.names.replaced(text)

    def _moment(self, text: str | None) -> str | None:
        """Return a time unchanged, and any other value as a text."""
        try:
            datetime.fromisoformat(text or "")
        except ValueError:
            return self._public(text)
        return text

    def _extra(self, extra: Mapping[str, Any], thread: Thread) -> dict[str, Any]:
        prose = extra.get(_PROSE)
        named = {f"github_{name}" if name in _TAKEN else name: value for name, value in extra.items()}
        if isinstance(prose, list):
            named[_PROSE] = [self._text(one, thread) if isinstance(one, str) else one for one in prose]
        found: dict[str, Any] = self._threads.scrubbed(named)
        return found


def _is_comment(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a comment that is a record of its own."""
    if "title" in record or "body" not in record:
        return False
    html = record.get("html_url")
    return "issue_url" in record or (isinstance(html, str) and "#issuecomment-" in html)


def _comment(comment: RecordReader) -> dict[str, Any]:
    return {
        "created_at": comment.text("created_at"),
        "body": comment.text("body") or "",
        "reactions": _reactions(comment),
    }


def _reactions(part: RecordReader) -> dict[str, int]:
    """Take the reactions of an issue or a comment: how many of each that GitHub has; totals are dropped."""
    given = part.there("reactions") if part.has("reactions") else {}
    if not isinstance(given, dict):
        raise wrong(given, part.named("reactions"), "an object")
    counts = {name: value for name, value in given.items() if name in _REACTIONS}
    return reactions(RecordReader({"reactions": counts}, part.path))


def _labels(whole: RecordReader) -> tuple[list[str], list[dict[str, Any]]]:
    """Take labels, which are texts or objects with a name: their names, and their other fields."""
    given = whole.there("labels") if whole.has("labels") else []
    if not isinstance(given, list):
        raise wrong(given, "labels", "a list")
    names, left = [], []
    for at, label in enumerate(given):
        part = RecordReader(label if isinstance(label, dict) else {"name": label}, f"labels[{at}]")
        names.append(part.text("name", required=True))
        left.append(part.take_rest())
    return names, left if any(left) else []


ISSUES = Format(
    name="issues",
    description="issue threads: GitHub's REST objects, CodeAssistBench; user names are dropped",
    containers=JSON,
    layouts=(
        recognized_by("answer", number="integer", title="text"),
        recognized_by("answer", body="text", issue_url="text"),
    ),
    converter=Issues,
    may_be_empty=True,
)
