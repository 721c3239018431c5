"""A chat-completions service that answers every request at once with the same reply: `model_server.py`.

It prints its address. Written on the event loop's own protocol, so that what it costs the processors, which it
shares with what is measured, is as little as can be.
"""

from __future__ import annotations

import asyncio
import json
import time

REPLY = {"assessment": "clear_match", "justification": "It does what was asked for. " * 8}


def body() -> bytes:
    """Return a chat completion whose content is the reply of a screener."""
    completion = {
        "id": "chatcmpl-benchmark",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "benchmark-2026-01-01",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": json.dumps(REPLY), "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 700, "completion_tokens": 60, "total_tokens": 760},
    }
    content = json.dumps(completion).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    return head.encode() + content


class Service(asyncio.Protocol):
    """One connection, kept open."""

    answer = body()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to listen."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._heard = bytearray()

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self._heard += data
        while (end := self._heard.find(b"\r\n\r\n")) >= 0:
            length = 0
            for line in bytes(self._heard[:end]).split(b"\r\n"):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            whole = end + 4 + length
            if len(self._heard) < whole:
                return
            del self._heard[:whole]
            self._transport.write(self.answer)


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Service, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
