"""The thread with a loop of its own, when it is closed."""

import asyncio
import threading

from agents.jobs.loop_thread import LoopThread
from agents.sandbox.child_process import finish


def test_closing_cancels_what_was_submitted_and_lets_it_finish_what_it_must():
    thread, begun, finished = LoopThread("closed"), threading.Event(), []

    async def start():
        begun.set()
        await asyncio.sleep(0.01)
        finished.append("started")

    async def work():
        try:
            await finish(start())
        except asyncio.CancelledError:
            finished.append("cancelled")
            raise

    future = thread.submit(work())
    assert begun.wait(60)
    thread.close()
    assert finished == ["started", "cancelled"]
    assert future.cancelled()
