"""A client on version 2 of the SDK: `client2.py legacy|modern|auto URL TOKEN`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client as SdkClient
from mcp.client.streamable_http import streamable_http_client

from lines import run_client, tell

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


async def answer_user(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"answer": "yes"})


async def answer_model(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="text")
    return types.CreateMessageResult(role="assistant", model="m", content=content)


async def hear(message: Any) -> None:
    if isinstance(message, types.ResourceUpdatedNotification):
        tell(event="updated", uri=message.params.uri)


class Client:
    def __init__(self, client: SdkClient) -> None:
        self._client = client
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def version(self) -> str:
        return self._client.protocol_version

    async def call(self, name: str, report: Callable[[], None]) -> str:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            report()

        result = await self._client.call_tool(name, {}, progress_callback=on_progress)
        content = result.content[0]
        if not isinstance(content, types.TextContent) or result.is_error:
            raise RuntimeError(str(content))
        return content.text

    async def read(self, name: str, report: Callable[[], None]) -> str:
        result = await self._client.read_resource(name)
        return getattr(result.contents[0], "text")

    async def prompt(self, name: str, report: Callable[[], None]) -> str:
        result = await self._client.get_prompt(name)
        return getattr(result.messages[0].content, "text")

    async def watch(self, name: str, report: Callable[[], None]) -> str:
        if self.version != MODES["modern"]:
            await self._client.subscribe_resource(name)
            return ""
        acknowledged = asyncio.Event()
        listening = asyncio.create_task(self._listen(name, acknowledged))
        self._tasks.append(listening)
        waiting = asyncio.create_task(acknowledged.wait())
        await asyncio.wait([listening, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if listening.done():
            listening.result()
        return ""

    async def _listen(self, uri: str, acknowledged: asyncio.Event) -> None:
        async with self._client.listen(resource_subscriptions=[uri]) as subscription:
            if uri not in (subscription.honored.resource_subscriptions or []):
                raise RuntimeError("the subscription was not granted")
            acknowledged.set()
            async for event in subscription:
                tell(event="updated", uri=getattr(event, "uri", ""))

    async def stop_listening(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def connect(era: str, url: str, token: str) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    timeout = httpx2.Timeout(30, read=300)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout) as http:
        async with SdkClient(
            streamable_http_client(url, http_client=http),
            mode=MODES[era],
            elicitation_callback=answer_user,
            sampling_callback=answer_model,
            message_handler=hear,
        ) as sdk:
            client = Client(sdk)
            try:
                yield client
            finally:
                await client.stop_listening()


asyncio.run(run_client(connect(*sys.argv[1:4]), lambda client: client.version))
