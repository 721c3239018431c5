"""GitHub's REST interface on the loopback interface: repositories with issues and comments, made here."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


@dataclass(frozen=True)
class Answer:
    """An answer in place of the usual one; `cut` sends only so many bytes of the usual body."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    cut: int | None = None


@dataclass
class GitHubHere:
    """What the service holds, and what it was asked.

    Attributes:
        url: Its address.
        repositories: Objects by their full names.
        issues: Issues by the names of repositories.
        comments: Comments by repository and number.
        languages: Bytes by language, by repository.
        before: Answers that come before the usual one, by path.
        asked: The path and query of each request, its status, and whether it came with a token.
        pages: The most pages of a list; more are refused with 422.
        delay: Seconds before each answer, as on a network.
    """

    url: str = ""
    repositories: dict[str, dict[str, Any]] = field(default_factory=dict)
    issues: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    comments: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=dict)
    languages: dict[str, dict[str, int]] = field(default_factory=dict)
    before: dict[str, deque[Answer]] = field(default_factory=lambda: defaultdict(deque))
    asked: list[tuple[str, int, bool]] = field(default_factory=list)
    pages: int = 1000
    delay: float = 0.0

    def add(
        self, name: str, issues: list[dict[str, Any]], comments: Mapping[int, list[dict[str, Any]]]
    ) -> None:
        """Add a repository; what an issue or a comment lacks is filled in."""
        self.repositories[name] = {"full_name": name, "language": "Python", "stargazers_count": 5}
        self.issues[name] = [
            {
                "number": number,
                "html_url": f"https://github.com/{name}/issues/{number}",
                "state": "closed",
                "user": {"login": f"asker{number}", "type": "User"},
                "labels": [],
                "created_at": "2024-01-01T00:00:00Z",
                "closed_at": "2024-02-01T00:00:00Z",
                "updated_at": f"2024-02-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z",
                "comments": len(comments.get(number, ())),
                **issue,
            }
            for number, issue in enumerate(issues, start=1)
        ]
        for number, said in comments.items():
            self.comments[name, number] = [
                {
                    "id": number * 10_000 + at,
                    "user": {"login": f"writer{at}", "type": "User"},
                    "created_at": "2024-01-02T00:00:00Z",
                    **comment,
                }
                for at, comment in enumerate(said)
            ]

    def asked_for(self, part: str, status: int = 200) -> list[str]:
        """Return the requests that have a text in them and were answered with a status."""
        return [path for path, answered, _ in self.asked if part in path and answered == status]


def helpful(count: int, body: str = "It is the drawer.") -> list[dict[str, Any]]:
    """Return comments with one positive reaction each."""
    return [{"body": body, "reactions": {"+1": 1, "total_count": 1}} for _ in range(count)]


def issue(title: str, **fields: Any) -> dict[str, Any]:
    """Return an issue with code in its description."""
    return {"title": title, "body": f"{title}\n```python\nopen_drawer()\n```", **fields}


@contextmanager
def github_here() -> Iterator[GitHubHere]:
    """Serve repositories and their issues."""
    here = GitHubHere()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(where.query).items()}
            time.sleep(here.delay)
            with lock:
                waiting = here.before.get(where.path)
                first = waiting.popleft() if waiting else None
            if first is not None and first.cut is None:
                self._send(first.status, first.body, dict(first.headers))
                return
            found, headers = self._found(where.path, query)
            if found is None:
                self._send(404, b'{"message": "Not Found"}', {})
                return
            if found == "pages end":
                self._send(422, b'{"message": "In order to keep the API fast, pagination is limited"}', {})
                return
            body = json.dumps(found).encode()
            headers["etag"] = f'"{hashlib.sha256(body + self.path.encode()).hexdigest()}"'
            if self.headers.get("if-none-match") == headers["etag"]:
                self._send(304, b"", headers)
            else:
                self._send(200, body, headers, cut=None if first is None else first.cut)

        def _found(self, path: str, query: dict[str, str]) -> tuple[Any, dict[str, str]]:
            parts = path.strip("/").split("/")
            if parts[:2] == ["search", "repositories"]:
                stars = sorted(here.repositories.values(), key=lambda one: -one["stargazers_count"])
                page, headers = self._page(path, query, stars)
                return {"total_count": len(stars), "items": page}, headers
            name = "/".join(parts[1:3])
            if parts[0] != "repos" or name not in here.repositories:
                return None, {}
            match parts[3:]:
                case []:
                    return here.repositories[name], {}
                case ["languages"]:
                    return here.languages.get(name, {}), {}
                case ["issues"]:
                    found = sorted(here.issues[name], key=lambda one: one["updated_at"])
                    found = [one for one in found if one["state"] == query.get("state", "open")]
                    found = [one for one in found if one["updated_at"] >= query.get("since", "")]
                    return self._page(path, query, found)
                case ["issues", number, "comments"]:
                    return self._page(path, query, here.comments.get((name, int(number)), []))
            return None, {}

        def _page(self, path: str, query: dict[str, str], found: list[Any]) -> tuple[Any, dict[str, str]]:
            size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
            if number > here.pages:
                return "pages end", {}
            last = max(1, -(-len(found) // size))
            links = []
            if number < last:
                for rel, other in (("next", number + 1), ("last", last)):
                    address = f"{here.url}{path}?{urlencode({**query, 'page': other})}"
                    links.append(f'<{address}>; rel="{rel}"')
            return found[(number - 1) * size : number * size], {"link": ", ".join(links)} if links else {}

        def _send(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None) -> None:
            with lock:
                here.asked.append((self.path, status, "authorization" in self.headers))
            self.send_response(status)
            for name, value in {"content-type": "application/json; charset=utf-8", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:cut])
            if cut is not None:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
