"""Asks GitHub's REST interface: within its limits, again where a request fails, and never for too much."""

from __future__ import annotations

import asyncio
import hashlib
import http
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
from gidgethub import GitHubBroken, GitHubException, HTTPException
from gidgethub.abc import GitHubAPI

from agents.github.kept_pages import ONE, KeptPages
from agents.github.settings import GitHubSettings
from store.errors import WorkbenchError
from store.record.ids import now

MOST_BYTES = 16 << 20
"""Bytes of one answer."""
PER_PAGE = 100
LONGEST_WAIT = 3_660.0
"""Seconds that a limit is waited for; GitHub's are of an hour."""
_SILENCE, _CONNECT = 60.0, 30.0
_ATTEMPTS, _FIRST_WAIT = 5, 1.0
"""Times that a request is sent, and the seconds before the second time; twice as long each further time."""
_LIMITED = 10
"""Answers in a row that say that the limit is reached."""
_SECONDARY = 60.0
"""Seconds to wait where GitHub says nothing, as it asks for."""
_REDIRECTIONS = 5
_AGENT = "workbench"
_LAST = re.compile(r'<([^>]+)>;\s*rel="last"')
_PAGE = re.compile(r"[?&]page=(\d+)")
_HERE = ("localhost", "127.0.0.1", "::1")


class GitHubFailed(WorkbenchError):
    """GitHub did not answer a request.

    Attributes:
        status: The HTTP status; None where there was no usable answer.
    """

    def __init__(self, title: str, message: str, hint: str = "", *, status: int | None = None) -> None:
        super().__init__(title, message, hint)
        self.status = status

    @property
    def is_of_one(self) -> bool:
        """Whether it concerns one repository or issue: it is not there, switched off, or not to be shown."""
        return self.status in (404, 410, 451)


class _TooLarge(Exception):
    pass


class GitHub(GitHubAPI):
    """A connection to GitHub's REST interface.

    Args:
        session: The HTTP session.
        settings: The address, the token and the kept pages.
        said: Called with a sentence before a limit is waited for.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        settings: GitHubSettings,
        said: Callable[[str], object],
    ) -> None:
        token = settings.given_token()
        where = urlsplit(settings.url)
        if token is not None and where.scheme != "https" and where.hostname not in _HERE:
            raise WorkbenchError(
                "Token over an open line",
                f"{settings.url} is not https: anybody on the way could read the token.",
                "Give github.url with https://.",
            )
        reader = hashlib.sha256((token or "").encode()).hexdigest()
        super().__init__(
            _AGENT,
            oauth_token=token,
            cache=KeptPages(settings.folder, reader),
            base_url=settings.url.rstrip("/"),
        )
        self._session, self._said = session, said
        self._origin = where[:2]
        self._last_pages: dict[str, int | None] = {}

    # -- what is asked ----------------------------------------------------------------------------------

    async def object(self, path: str) -> dict[str, Any]:
        """Return a JSON object.

        Raises:
            GitHubFailed: There is none.
        """
        found, _ = await self._asked(path)
        if not isinstance(found, dict):
            raise self._not_github(path)
        return found

    async def page(self, path: str) -> tuple[list[dict[str, Any]], str | None]:
        """Return the objects of a page, and the address of the next one.

        Raises:
            GitHubFailed: There is no such page.
        """
        found, following = await self._asked(path)
        if isinstance(found, dict) and isinstance(found.get("items"), list):
            found = found["items"]
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self._not_github(path)
        return found, following

    async def count(self, path: str) -> int | None:
        """Return how many objects a list has, by its last page of one object; None where GitHub says not.

        Raises:
            GitHubFailed: There is no such list.
        """
        path = f"{path}{'&' if '?' in path else '?'}{ONE}"
        found, following = await self.page(path)
        last = self._last_pages.pop(f"{self.base_url}/{path.lstrip('/')}", None)
        return last if following is not None else len(found)

    # -- what gidgethub asks for -------------------------------------------------------------------------

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        asked = url
        for _ in range(_REDIRECTIONS + 1):
            if urlsplit(url)[:2] != self._origin:
                raise GitHubFailed(
                    "Led elsewhere",
                    f"{self.base_url} points to {urlsplit(url).netloc or url}, which gets no token of yours.",
                    "Check github.url.",
                )
            async with self._session.request(
                method, url, headers=headers, data=body or None, allow_redirects=False
            ) as response:
                content = bytearray()
                async for piece in response.content.iter_any():
                    content += piece
                    if len(content) > MOST_BYTES:
                        raise _TooLarge
                if response.status not in (301, 302, 307, 308) or "location" not in response.headers:
                    last = _LAST.search(response.headers.get("link", ""))
                    if asked.endswith(ONE) and last is not None:
                        number = _PAGE.search(last[1])
                        self._last_pages[asked] = int(number[1]) if number else None
                    return response.status, response.headers, bytes(content)
                url = urljoin(url, response.headers["location"])
        raise GitHubFailed("Led in a circle", f"{asked} leads on and on.", "Check github.url.")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def manage_rate_limit(self, *, method: str, url: str) -> None:
        """Wait where no request is left until the limit is raised again."""
        limit = self.rate_limit
        if limit is not None and limit.remaining < 0:
            self.rate_limit = None
            await self._wait((limit.reset_datetime - now()).total_seconds() + 1)

    async def handle_rate_limit_error(
        self, *, method: str, url: str, exception: HTTPException, attempt: int
    ) -> bool:
        """Wait for as long as GitHub asks, where a limit is why it did not answer."""
        headers = exception.headers or {}
        limited = exception.status_code == http.HTTPStatus.TOO_MANY_REQUESTS
        forbidden = exception.status_code == http.HTTPStatus.FORBIDDEN
        if not (limited or forbidden) or attempt >= _LIMITED:
            return False
        # What it counts down is of an answer that came before.
        self.rate_limit = None
        if (after := _seconds(headers.get("retry-after"))) is not None:
            await self._wait(after)
        elif headers.get("x-ratelimit-remaining") == "0":
            reset = _seconds(headers.get("x-ratelimit-reset"))
            await self._wait(_SECONDARY if reset is None else reset - now().timestamp() + 1)
        elif limited or "rate limit" in str(exception).lower():
            await self._wait(_SECONDARY * attempt)
        else:
            return False
        return True

    # -- behind these ------------------------------------------------------------------------------------

    async def _asked(self, path: str) -> tuple[Any, str | None]:
        """Ask, again where the service or the line fails."""
        wait = _FIRST_WAIT
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                found, following, _ = await self._make_request("GET", path, {}, b"", _ACCEPT)
                return found, following
            except HTTPException as error:
                if attempt < _ATTEMPTS and isinstance(error, GitHubBroken):
                    why = f"it answers {error.status_code.value}"
                else:
                    raise self._refused(path, error) from error
            except _TooLarge as error:
                raise GitHubFailed(
                    "Too much", f"{self._named(path)} sends more than {MOST_BYTES >> 20} MiB.", ""
                ) from error
            # An answer that was cut off is no JSON; gidgethub says nothing else of it either.
            except (aiohttp.ClientError, TimeoutError, ValueError, LookupError, GitHubException) as error:
                why = str(error) or type(error).__name__
                if attempt == _ATTEMPTS:
                    raise GitHubFailed(
                        "GitHub not reached",
                        f"{self._named(path)}: {why}.",
                        "Check the network and github.url, then run it again: it goes on.",
                    ) from error
            await self.sleep(wait)
            wait *= 2
        raise AssertionError(why)

    def _refused(self, path: str, error: HTTPException) -> GitHubFailed:
        status = error.status_code.value
        said = {
            401: ("Token refused", "Check github.token, GITHUB_TOKEN or GH_TOKEN."),
            403: ("GitHub forbids it", "Check what the token may read."),
            404: ("Not on GitHub", "Check OWNER/REPO; a private one needs a token that may read it."),
            410: ("No issues", "Its issues are switched off."),
            429: ("GitHub's limit", "Run it again later: it goes on."),
            451: ("Not available for legal reasons", ""),
        }
        title, hint = said.get(status, ("GitHub does not answer", "Run it again later: it goes on."))
        message = str(error).strip() or error.status_code.phrase
        return GitHubFailed(title, f"{self._named(path)} answers {status}: {message}", hint, status=status)

    def _not_github(self, path: str) -> GitHubFailed:
        return GitHubFailed(
            "Not GitHub's form", f"{self._named(path)} sends something else.", "Check github.url."
        )

    def _named(self, path: str) -> str:
        return path if "://" in path else f"{self.base_url}/{path.lstrip('/')}"

    async def _wait(self, seconds: float) -> None:
        if seconds > LONGEST_WAIT:
            raise GitHubFailed(
                "GitHub's limit",
                f"{self.base_url} asks to wait {seconds / 3600:.1f} hours.",
                "Run it again later: it goes on.",
            )
        if seconds > 0:
            until = (datetime.now() + timedelta(seconds=seconds)).strftime("%H:%M:%S")
            self._said(f"GitHub's limit is reached: waiting until {until}.")
            await self.sleep(seconds)


_ACCEPT = "application/vnd.github.v3+json"


def _seconds(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


@asynccontextmanager
async def github(settings: GitHubSettings, said: Callable[[str], object]) -> AsyncIterator[GitHub]:
    """Open a connection to GitHub; `said` is called with a sentence before a limit is waited for.

    Raises:
        WorkbenchError: The token would go over an open line.
    """
    timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT, sock_read=_SILENCE)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        yield GitHub(session, settings, said)
