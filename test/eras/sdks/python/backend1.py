"""A backend on version 1 of the SDK, which has sessions only: `backend1.py legacy`."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any

import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.routing import Mount

from lines import RESOURCE, orders, tell

TOOLS = ["echo", "count", "ask_user", "ask_model", "wait"]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}

server: Server[Any, Any] = Server("python-1", version="1.0.0")
subscribed: set[ServerSession] = set()


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [types.Tool(name=name, description=f"For the matrix: {name}", inputSchema={"type": "object"}) for name in TOOLS]


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.ContentBlock]:
    context = server.request_context
    text = "done"
    match name:
        case "count":
            token = context.meta.progressToken if context.meta else None
            for progress in (1, 2, 3):
                if token is not None:
                    ident = str(context.request_id)
                    await context.session.send_progress_notification(token, progress, related_request_id=ident)
        case "ask_user":
            asked = await context.session.elicit("Really?", SCHEMA, related_request_id=context.request_id)
            text = str((asked.content or {}).get("answer"))
        case "ask_model":
            message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say it"))
            said = await context.session.create_message(
                [message], max_tokens=10, related_request_id=context.request_id
            )
            text = said.content.model_dump_json(include={"type", "text"})
        case "wait":
            tell(event="waiting")
            try:
                await asyncio.Event().wait()
            finally:
                tell(event="cancelled")
    tell(event="done", tool=name)
    return [types.TextContent(type="text", text=text)]


@server.list_resources()
async def list_resources() -> list[types.Resource]:
    return [types.Resource(uri=AnyUrl(RESOURCE), name="doc")]


@server.read_resource()
async def read_resource(uri: AnyUrl) -> Iterable[ReadResourceContents]:
    return [ReadResourceContents(content="the document", mime_type="text/plain")]


@server.subscribe_resource()
async def subscribe(uri: AnyUrl) -> None:
    subscribed.add(server.request_context.session)


@server.unsubscribe_resource()
async def unsubscribe(uri: AnyUrl) -> None:
    subscribed.discard(server.request_context.session)


@server.list_prompts()
async def list_prompts() -> list[types.Prompt]:
    return [types.Prompt(name="greet")]


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text="hello"))
    return types.GetPromptResult(messages=[message])


async def main() -> None:
    manager = StreamableHTTPSessionManager(server)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    http = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    serving = asyncio.create_task(http.serve(sockets=[listener]))
    tell(event="listening", url=f"http://127.0.0.1:{listener.getsockname()[1]}/mcp/")
    async for _ in orders():
        for session in list(subscribed):
            with contextlib.suppress(Exception):
                await session.send_resource_updated(AnyUrl(RESOURCE))
    serving.cancel()


if len(sys.argv) != 2 or sys.argv[1] != "legacy":
    sys.exit("this version of the SDK has sessions only")
asyncio.run(main())
