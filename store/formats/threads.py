"""The participants of issue threads: called author and participant 2, never by name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from store.formats import values
from store.formats.user_names import SOMEBODY, UserNames, without_mentions
from store.formats.values import wrong

_USER_FIELDS = frozenset(
    (
        *("actor", "assignedto", "assignee", "assignees", "author", "authorid", "authorlogin"),
        *("authorname", "authors", "avatarurl", "collaborators", "commenter", "committer"),
        *("contributor", "contributors", "creator", "editor", "email", "gravatarid", "login", "member"),
        *("mentions", "participants", "poster", "reporter", "requestedreviewers", "reviewer"),
        *("reviewers", "sender", "user", "userid", "userlogin", "username", "users"),
    )
)

_DONE_BY = re.compile(
    "(?:last)?(?:(?:add|answer|approv|assign|author|chang|clos|comment|committ|creat|delet|dismiss|edit|lock|"
    "merg|modifi|open|pinn|post|rais|remov|reopen|report|request|resolv|review|submitt|transferr|updat)edby"
    "|(?:writt|chos)enby)"
)
"""Fields for who did something, such as `assigned_by`; `sorted_by` or `triggered_by` often name no one."""

UNKNOWN = "someone"
"""The name of a poster whose account is deleted or unknown."""

_OF_A_USER = frozenset(
    (
        *("login", "name", "username", "email", "displayname", "fullname", "handle", "nickname"),
        *("realname", "screenname"),
    )
)
"""The name fields of an object that is a user: elsewhere they name other things as well."""

_ISSUE = re.compile(
    r"https?://[^/\s]+/(?:api/v3/)?(?:repos/)?([^/\s]+/[^/\s]+)/(?:issues|pulls?)/(\d+)(?![^/?#\s])"
)
_REPOSITORY = re.compile(r"https?://[^/\s]+/(?:api/v3/)?repos/([^/\s]+/[^/\s?#]+)")
_PULL = re.compile(r"/pulls?/\d+(?![^/?#\s])")


def _plain(field: str) -> str:
    return field.replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=4096)
def names_users(field: str) -> bool:
    """Return whether a field names users, as `closed_by`, `closedBy` and `last_edited_by` do.

    None of them is kept, and each name in them is looked for everywhere else.
    """
    name = _plain(field)
    return name in _USER_FIELDS or _DONE_BY.fullmatch(name) is not None


def poster(record: Mapping[str, Any], path: str = "") -> str | None:
    """Return the lower-cased name of an issue's or comment's writer; None for an unknown one.

    Raises:
        Refused: It is neither a text nor an object with a login.
    """
    name = next((name for name in ("user", "author") if record.get(name) is not None), None)
    if name is None:
        return None
    value, named = record[name], f"{path}.{name}" if path else name
    if isinstance(value, dict):
        value, named = value.get("login"), f"{named}.login"
    elif not isinstance(value, str):
        raise wrong(value, named, "a name, or an object with a login,")
    found = "" if value is None else values.text(value, named).strip().lower()
    return found if found and found != "ghost" else None


def is_pull_request(record: Mapping[str, Any]) -> bool:
    """Return whether an issue object, or the thread of a comment, is a pull request's."""
    urls = [record.get(name) for name in ("html_url", "url", "pull_request_url")]
    marked = record.get("pull_request") not in (None, False)
    return marked or any(isinstance(url, str) and _PULL.search(url) for url in urls)


def is_of_issue(url: str | None) -> bool:
    """Return whether an address is one of an issue or a pull request."""
    return url is not None and _ISSUE.match(url) is not None


def place(record: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the repository (OWNER/NAME) and the number in a record; None where there is none."""
    for name in ("html_url", "issue_url", "url", "comments_url"):
        if isinstance(url := record.get(name), str) and (found := _ISSUE.match(url)):
            return found[1], int(found[2])
    number, repository = record.get("number"), record.get("repository")
    if isinstance(repository, dict):
        repository = repository.get("full_name")
    if isinstance(url := record.get("repository_url"), str) and (found := _REPOSITORY.match(url)):
        repository = found[1]
    if isinstance(number, int) and isinstance(repository, str) and repository:
        return repository, number
    return None


@dataclass(slots=True)
class Thread:
    """One issue's thread: its author, the other participants in order, and comments in separate records."""

    asker: str | None = None
    posters: dict[str, None] = field(default_factory=dict)
    comments: list[Mapping[str, Any]] = field(default_factory=list)
    issue: bool = False
    pull_request: bool = False

    def called(self, name: str | None) -> str | None:
        """Return the public name of a participant; None for anyone else."""
        if name is None:
            return UNKNOWN
        if name == self.asker:
            return "author"
        others = [other for other in self.posters if other != self.asker]
        return f"participant {others.index(name) + 2}" if name in self.posters else None


class Threads:
    """The threads and the user names of all files of an import."""

    def __init__(self) -> None:
        self.names = UserNames()
        self._threads: dict[str, Thread] = {}
        self._ids: dict[str, str] = {}
        self._public: set[str] = set()

    def of(self, key: str) -> Thread:
        """Return the thread of an issue, by OWNER/NAME#NUMBER in any case."""
        return self._threads.setdefault(key.lower(), Thread())

    def gather(self, record: Mapping[str, Any]) -> None:
        """Collect every user name in a record, at any depth."""
        left: list[Any] = [record]
        while left:
            value = left.pop()
            if isinstance(value, list):
                left += value
            elif isinstance(value, dict):
                for name, found in value.items():
                    if names_users(name) or (name == "owner" and _is_user(found)):
                        self._add(found)
                    else:
                        left.append(found)

    def _add(self, value: Any) -> None:
        for one in value if isinstance(value, list) else [value]:
            named = [one]
            if isinstance(one, dict):
                named = [called for field, called in one.items() if _plain(field) in _OF_A_USER]
            for name in named:
                if isinstance(name, str):
                    self.names.add(name)

    def public(self, key: str, record: Mapping[str, Any]) -> str:
        """Return an id without user names for the record of an issue.

        Another issue has another id, and so has another record of one issue: `~2` is put after it.
        """
        digest = sha256(json.dumps(record, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
        record_of = f"{key.lower()} {digest}"
        if (known := self._ids.get(record_of)) is not None:
            return known
        found, again = self.names.replaced(key), 1
        public = found
        while public in self._public:
            again += 1
            public = f"{found}~{again}"
        self._public.add(public)
        self._ids[record_of] = public
        return public

    def text(self, text: str, thread: Thread) -> tuple[str, int]:
        """Return a text of a thread without user names, and how many mentions were replaced."""
        found, mentions = without_mentions(text, lambda name: thread.called(name) or SOMEBODY)
        return self.names.replaced(found), mentions

    def scrubbed(self, value: Any) -> Any:
        """Return a JSON value without user names: neither in its texts nor in the names of its fields."""
        if isinstance(value, str):
            return self.names.replaced(value)
        if isinstance(value, list):
            return [self.scrubbed(one) for one in value]
        if not isinstance(value, dict):
            return value
        found: dict[str, Any] = {}
        for name, one in value.items():
            public, again = self.names.replaced(name), 1
            while (distinct := public if again == 1 else f"{public} {again}") in found:
                again += 1
            found[distinct] = self.scrubbed(one)
        return found


def without_users(value: Any) -> Any:
    """Return a JSON value without the fields that name users."""
    if isinstance(value, list):
        return [without_users(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_users(found)
        for name, found in value.items()
        if not names_users(name) and not (name == "owner" and isinstance(found, dict))
    }


def _is_user(owner: Any) -> bool:
    return isinstance(owner, dict) and owner.get("type") != "Organization"
