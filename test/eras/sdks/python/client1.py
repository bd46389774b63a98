"""A client on version 1 of the SDK, which has sessions only: `client1.py legacy URL TOKEN`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

from lines import run_client, tell


async def answer_user(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"answer": "yes"})


async def answer_model(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="text")
    return types.CreateMessageResult(role="assistant", model="m", content=content)


async def hear(message: Any) -> None:
    root = getattr(message, "root", None)
    if isinstance(root, types.ResourceUpdatedNotification):
        tell(event="updated", uri=str(root.params.uri))


class Client:
    def __init__(self, session: ClientSession, version: str) -> None:
        self._session = session
        self.version = version

    async def call(self, name: str, report: Callable[[], None]) -> str:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            report()

        result = await self._session.call_tool(name, {}, progress_callback=on_progress)
        content = result.content[0]
        if not isinstance(content, types.TextContent) or result.isError:
            raise RuntimeError(str(content))
        return content.text

    async def read(self, name: str, report: Callable[[], None]) -> str:
        result = await self._session.read_resource(AnyUrl(name))
        return getattr(result.contents[0], "text")

    async def prompt(self, name: str, report: Callable[[], None]) -> str:
        result = await self._session.get_prompt(name)
        return getattr(result.messages[0].content, "text")

    async def watch(self, name: str, report: Callable[[], None]) -> str:
        await self._session.subscribe_resource(AnyUrl(name))
        return ""


@asynccontextmanager
async def connect(url: str, token: str) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    timeout = httpx.Timeout(30, read=300)
    async with httpx.AsyncClient(headers=headers, timeout=timeout) as http:
        async with streamable_http_client(url, http_client=http) as (read, write, _):
            async with ClientSession(
                read,
                write,
                sampling_callback=answer_model,
                elicitation_callback=answer_user,
                message_handler=hear,
            ) as session:
                result = await session.initialize()
                yield Client(session, str(result.protocolVersion))


asyncio.run(run_client(connect(sys.argv[2], sys.argv[3]), lambda client: client.version))
