"""A language-model service on the loopback interface, for driving the real SDKs without a network.

It speaks OpenAI's chat completions (`POST /v1/chat/completions`), completions (`POST /v1/completions`) and
embeddings (`POST /v1/embeddings`), and
Anthropic's messages (`POST /v1/messages`), refuses what those services refuse, and answers by the schema it was sent:

    with LoopbackModels(replies={"ScreenerReply": {"verdict": "unclear", "reason": "needs a run"}}) as server:
        settings = server.settings()
        model = open_model("openai:gpt-4o-mini", settings)

Without a reply for a schema's name, the smallest value that fits the schema is made up. A `script` decides
instead, request by request: it is called with what came in and its number (from 1), and returns one of the
outcomes below, a dict or string to answer with, or None for the ordinary answer.

    def script(seen, number):
        return {1: Status(429, retry_after=0.01), 3: Status(500, retry_after=0.01), 5: "not json"}.get(number)
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import pytest
from loopback_wire import (
    Body,
    Filtered,
    HangUp,
    NotHttp,
    Outcome,
    Raw,
    Refusal,
    Reply,
    Seen,
    Slow,
    Status,
    Texts,
    Truncated,
    WebPage,
    anthropic_error,
    anthropic_refuses,
    completion,
    embeddings,
    message_body,
    openai_error,
    openai_refuses,
    smallest,
)

from agents.llm.settings import ModelSettings

__all__ = [
    "Body",
    "Filtered",
    "HangUp",
    "LoopbackModels",
    "NotHttp",
    "Outcome",
    "Raw",
    "Refusal",
    "Reply",
    "Script",
    "Seen",
    "Slow",
    "Status",
    "Texts",
    "Truncated",
    "WebPage",
    "smallest",
]

Script = Callable[[Seen, int], Outcome]


class LoopbackModels:
    """The server; a context manager. `requests` holds what came in, in order of arrival."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        replies: Mapping[str, dict[str, Any] | str | Callable[[Seen], Outcome]] | None = None,
        key: str = "loopback-key",
    ) -> None:
        self.script = script
        self.replies = dict(replies or {})
        self.key = key
        self.requests: list[Seen] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.loopback = self
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="loopback-models",
            daemon=True,
        )

    def __enter__(self) -> LoopbackModels:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop answering and cut every connection, also those kept alive."""
        if self.stopping.is_set():
            return
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self._lock:
            for connection in self._sockets:
                with contextlib.suppress(OSError):  # the client was quicker
                    connection.shutdown(socket.SHUT_RDWR)

    @property
    def anthropic_url(self) -> str:
        """The address to give to the anthropic SDK."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The address to give to the openai SDK."""
        return f"{self.anthropic_url}/v1"

    def is_the_service(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have commands take it for both services, and give up after one attempt."""
        for name, value in {
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "ANTHROPIC_API_KEY": self.key,
            "WORKBENCH_MODELS__MAX_RETRIES": "0",
        }.items():
            monkeypatch.setenv(name, value)

    def settings(self, **others: Any) -> ModelSettings:
        """Settings that lead both SDKs here, with the right key."""
        return ModelSettings(
            **{
                "openai_base_url": self.openai_url,
                "openai_api_key": self.key,
                "anthropic_base_url": self.anthropic_url,
                "anthropic_api_key": self.key,
                "timeout_seconds": 30.0,
                **others,
            }
        )

    def record(
        self, api: Literal["openai", "anthropic"], headers: Mapping[str, str], body: dict[str, Any]
    ) -> Seen:
        """Number a request and keep it."""
        with self._lock:
            seen = Seen(len(self.requests) + 1, api, headers, body)
            self.requests.append(seen)
            return seen

    def decide(self, seen: Seen) -> Outcome:
        """Choose the outcome for a request: the script's, or a reply that fits the schema."""
        outcome = self.script(seen, seen.number) if self.script else None
        if outcome is None and "input" in seen.body:
            return Body(embeddings(seen))
        if outcome is None and "prompt" in seen.body:
            return Texts([("pass", -0.5)] * seen.body.get("n", 1))
        return self.fitting(seen) if outcome is None else outcome

    def fitting(self, seen: Seen) -> Outcome:
        """Answer as `replies` says for this schema, or with the smallest value that fits it."""
        known = self.replies.get(seen.schema_name)
        if callable(known):
            return known(seen)
        return smallest(seen.schema) if known is None else known

    def connected(self, connection: socket.socket) -> None:
        """Remember a connection, to be able to cut it."""
        with self._lock:
            self._sockets.add(connection)

    def disconnected(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self._lock:
            self._sockets.discard(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # or a client of many connections waits for a second, for no reason of the test
    loopback: LoopbackModels

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that left; anything else is a mistake of this file."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.loopback.connected(self.connection)

    def finish(self) -> None:
        self.server.loopback.disconnected(self.connection)
        super().finish()

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        loopback = self.server.loopback
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        api: Literal["openai", "anthropic"]
        match self.path:
            case "/v1/chat/completions" | "/v1/completions" | "/v1/embeddings":
                api = "openai"
            case "/v1/messages":
                api = "anthropic"
            case _:
                self._send(404, {"detail": "Not Found"})
                return
        seen = loopback.record(api, headers, json.loads(raw))
        refused = (openai_refuses if api == "openai" else anthropic_refuses)(seen, loopback.key)
        self._carry_out(seen, refused or loopback.decide(seen))

    def _carry_out(self, seen: Seen, outcome: Outcome) -> None:
        match outcome:
            case Slow(seconds=seconds, outcome=after):
                self.server.loopback.stopping.wait(seconds)
                self._carry_out(seen, self.server.loopback.fitting(seen) if after is None else after)
            case HangUp():
                self.close_connection = True
            case NotHttp():
                self.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
                self.close_connection = True
            case WebPage():
                self._send(200, "<!doctype html><title>Welcome</title>")
            case Raw(code=code, headers=headers, pieces=pieces):
                self.send_response(code)
                for name, value in {**headers, "connection": "close"}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.close_connection = True
                for piece in pieces:
                    self.wfile.write(piece)
            case Body(content=content):
                self._send(200, content)
            case Status(code=code, retry_after=wait):
                error = openai_error(outcome) if seen.api == "openai" else anthropic_error(outcome)
                self._send(code, error, {} if wait is None else {"retry-after": f"{wait:g}"})
            case dict() | str():
                self._carry_out(seen, Reply(outcome))
            case _:
                self._send(200, (completion if seen.api == "openai" else message_body)(seen, outcome))

    def _send(self, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
        html = isinstance(content, str)
        body = content if isinstance(content, bytes) else (content if html else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("content-type", "text/html" if html else "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("x-request-id", f"req_{uuid.uuid4().hex}")
        self.send_header("request-id", f"req_{uuid.uuid4().hex[:24]}")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
