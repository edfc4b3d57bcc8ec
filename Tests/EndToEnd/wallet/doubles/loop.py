"""One asyncio loop on a thread of its own, so that tests stay plain functions."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

from support.patience import PATIENCE

Answer = TypeVar("Answer")


class Loop:
    """Runs coroutines for plain functions."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine: Coroutine[None, None, Answer], seconds: float = 60) -> Answer:
        """Return the coroutine's result or raise its error; after `seconds`, cancel it and raise TimeoutError."""
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, seconds * PATIENCE), self.loop).result()

    def start(self, coroutine: Coroutine):
        """Start a coroutine; return a concurrent.futures.Future of its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self):
        async def cancel_the_rest():
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        self.start(cancel_the_rest()).result(10 * PATIENCE)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10 * PATIENCE)
        self.loop.close()
