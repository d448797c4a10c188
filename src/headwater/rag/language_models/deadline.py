"""A total time limit for a streamed answer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from headwater.errors import LanguageModelError


async def iter_until(parts: AsyncGenerator[str, None], seconds: float) -> AsyncGenerator[str, None]:
    """Yield the parts; raise `LanguageModelError` if they are not complete after `seconds`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    async with aclosing(parts):
        while True:
            try:
                part = await asyncio.wait_for(anext(parts), deadline - loop.time())
            except StopAsyncIteration:
                return
            except asyncio.TimeoutError as error:
                raise LanguageModelError(f"no complete answer within {seconds:g} s") from error
            yield part
