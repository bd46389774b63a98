"""A client on a library of these environments, `client.py KIND`: carries out plans, one line of JSON each, and reports what it saw."""

import asyncio
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any

sys.path.append(str(pathlib.Path(__file__).parents[2] / "eras" / "sdks" / "python"))

from lines import orders, words_of  # noqa: E402

# Standard output is for reports, whatever a library prints.
reports = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

STEP_S_MAX = 15


def tell(**members: Any) -> None:
    print(json.dumps(members), file=reports, flush=True)


def plain(value: Any) -> Any:
    """As JSON, without what is not there."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


class Connection:
    """What a library offers; a step that it does not have is a lack of the library."""

    version: str | None = None
    #: Whether it answers questions to the user.
    answers = True

    def __init__(self, plan: dict[str, Any]) -> None:
        self.reports: list[Any] = []
        self.answer = plan.get("answer") or {}
        self.url = plan["url"]
        self.headers = {"authorization": f"Bearer {plan['token']}"} if plan.get("token") else {}

    async def on_progress(self, progress: float, total: float | None = None, message: str | None = None, *_: Any) -> None:
        self.reports.append([progress, total, message])

    def taken(self, name: str) -> Any:
        if name == "ask":
            return getattr(self, "call") if self.answers else None
        return getattr(self, name, None)

    async def step(self, name: str, *words: Any) -> Any:
        self.reports.clear()
        result = plain(await self.taken(name)(*words))
        return [result, list(self.reports)] if name == "progress" else result


class Session(Connection):
    """The official SDK's session, of either version."""

    session: Any

    async def pages(self, method: str, member: str) -> list[Any]:
        found, cursor = [], None
        while True:
            page = await getattr(self.session, method)(**({"cursor": cursor} if cursor else {}))
            found += getattr(page, member)
            cursor = getattr(page, "nextCursor", None) or getattr(page, "next_cursor", None)
            if not cursor:
                return found

    async def tools(self) -> Any:
        return await self.pages("list_tools", "tools")

    async def prompts(self) -> Any:
        return await self.pages("list_prompts", "prompts")

    async def resources(self) -> Any:
        return await self.pages("list_resources", "resources")

    async def call(self, name: str, arguments: Any) -> Any:
        return await self.session.call_tool(name, arguments)

    async def prompt(self, name: str, arguments: Any) -> Any:
        return await self.session.get_prompt(name, arguments)

    async def read(self, uri: str) -> Any:
        return await self.session.read_resource(uri)


class Progressing(Session):
    async def templates(self) -> Any:
        listed = await self.session.list_resource_templates()
        return getattr(listed, "resourceTemplates", None) or getattr(listed, "resource_templates", [])

    async def progress(self, name: str, arguments: Any) -> Any:
        return await self.session.call_tool(name, arguments, progress_callback=self.on_progress)


def elicited(connection: Connection) -> Any:
    from mcp import types

    async def answer(*_: Any) -> Any:
        return types.ElicitResult(action="accept", content=connection.answer)

    return answer


@asynccontextmanager
async def mcp1(plan: dict[str, Any]) -> AsyncIterator[Connection]:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    is_old = importlib.metadata.version("mcp").startswith("1.8.")
    connection = (Session if is_old else Progressing)(plan)
    connection.answers = not is_old
    options = {} if is_old else {"elicitation_callback": elicited(connection)}
    async with streamablehttp_client(connection.url, headers=connection.headers) as (read, write, _):
        async with ClientSession(read, write, **options) as session:
            connection.version = str((await session.initialize()).protocolVersion)
            connection.session = session
            yield connection


@asynccontextmanager
async def mcp2(plan: dict[str, Any]) -> AsyncIterator[Connection]:
    import httpx2
    import mcp_types
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    connection = Progressing(plan)

    async def answer(*_: Any) -> Any:
        return mcp_types.ElicitResult(action="accept", content=connection.answer)

    async with httpx2.AsyncClient(headers=connection.headers, timeout=httpx2.Timeout(30, read=300)) as http:
        transport = streamable_http_client(connection.url, http_client=http)
        async with Client(transport, elicitation_callback=answer) as client:
            connection.session, connection.version = client, client.protocol_version
            yield connection


class FastMcp(Connection):
    client: Any

    async def tools(self) -> Any:
        return await self.client.list_tools()

    async def prompts(self) -> Any:
        return await self.client.list_prompts()

    async def resources(self) -> Any:
        return await self.client.list_resources()

    async def templates(self) -> Any:
        return await self.client.list_resource_templates()

    async def call(self, name: str, arguments: Any) -> Any:
        return await self.client.call_tool(name, arguments, raise_on_error=False)

    async def progress(self, name: str, arguments: Any) -> Any:
        return await self.client.call_tool(name, arguments, progress_handler=self.on_progress)

    async def prompt(self, name: str, arguments: Any) -> Any:
        return await self.client.get_prompt(name, arguments)

    async def read(self, uri: str) -> Any:
        return await self.client.read_resource(uri)


@asynccontextmanager
async def fastmcp(plan: dict[str, Any]) -> AsyncIterator[Connection]:
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    connection = FastMcp(plan)

    async def answer(*_: Any) -> Any:
        return connection.answer

    transport = StreamableHttpTransport(connection.url, headers=connection.headers)
    async with Client(transport, elicitation_handler=answer) as client:
        connection.client = client
        yield connection


class LangChain(Connection):
    """Its tools, as a chain has them; the rest is what it reads by itself."""

    session: Any

    async def listed(self) -> dict[str, Any]:
        from langchain_mcp_adapters.tools import load_mcp_tools

        return {tool.name: tool for tool in await load_mcp_tools(self.session)}

    async def tools(self) -> Any:
        return [
            {"name": name, "description": tool.description, "schema": tool.args_schema, "metadata": tool.metadata}
            for name, tool in (await self.listed()).items()
        ]

    async def call(self, name: str, arguments: Any) -> Any:
        tool = (await self.listed())[name]
        message = await tool.ainvoke({"name": name, "args": arguments, "id": "1", "type": "tool_call"})
        return {"content": message.content, "artifact": message.artifact, "status": message.status}

    async def prompt(self, name: str, arguments: Any) -> Any:
        from langchain_mcp_adapters.prompts import load_mcp_prompt

        messages = await load_mcp_prompt(self.session, name, arguments=arguments)
        return [[message.type, message.content] for message in messages]

    async def read(self, uri: str) -> Any:
        from langchain_mcp_adapters.resources import load_mcp_resources

        return [[blob.metadata, blob.data] for blob in await load_mcp_resources(self.session, uris=uri)]


@asynccontextmanager
async def langchain(plan: dict[str, Any]) -> AsyncIterator[Connection]:
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.callbacks import Callbacks

    connection = LangChain(plan)
    server = {"transport": "streamable_http", "url": connection.url, "headers": connection.headers}
    client = MultiServerMCPClient({"one": server}, callbacks=Callbacks(on_elicitation=elicited(connection)))
    async with client.session("one") as session:
        connection.session = session
        yield connection


@asynccontextmanager
async def openai_agents(plan: dict[str, Any]) -> AsyncIterator[Connection]:
    from agents.mcp import MCPServerStreamableHttp

    class Agents(Session):
        answers = False

        async def tools(self) -> Any:
            return await self.session.list_tools()

    connection = Agents(plan)
    params = {"url": connection.url, "headers": connection.headers, "timeout": STEP_S_MAX}
    async with MCPServerStreamableHttp(params, client_session_timeout_seconds=STEP_S_MAX) as server:
        connection.session = server
        yield connection


@asynccontextmanager
async def pydantic_ai(plan: dict[str, Any]) -> AsyncIterator[Connection]:
    from pydantic_ai.mcp import MCPToolset

    class Toolset(FastMcp):
        async def call(self, name: str, arguments: Any) -> Any:
            return await self.client.direct_call_tool(name, arguments)

        progress = None  # type: ignore[assignment]

    connection = Toolset(plan)

    async def answer(*_: Any) -> Any:
        return connection.answer

    async with MCPToolset(connection.url, headers=connection.headers, elicitation_handler=answer) as toolset:
        connection.client = toolset
        yield connection


@asynccontextmanager
async def mcp_use(plan: dict[str, Any]) -> AsyncIterator[Connection]:
    from mcp_use import MCPClient

    class Use(Session):
        async def pages(self, method: str, member: str) -> list[Any]:
            return await getattr(self.session, method)()

        async def read(self, uri: str) -> Any:
            from pydantic import AnyUrl

            return await self.session.read_resource(AnyUrl(uri))

    connection = Use(plan)
    servers = {"one": {"url": connection.url, "headers": connection.headers}}
    client = MCPClient.from_dict({"mcpServers": servers}, elicitation_callback=elicited(connection))
    try:
        connection.session = await client.create_session("one")
        yield connection
    finally:
        await client.close_all_sessions()


async def carry_out(connect: Any, plan: dict[str, Any], seen: list[Any]) -> str | None:
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(STEP_S_MAX):
            connection = await stack.enter_async_context(connect(plan))
        for step, *words in plan["steps"]:
            if connection.taken(step) is None:
                seen.append({"lacks": step})
                continue
            try:
                async with asyncio.timeout(STEP_S_MAX):
                    seen.append({"value": await connection.step(step, *words)})
            except Exception as error:
                seen.append({"error": words_of(error)})
        return connection.version


async def main(connect: Any) -> None:
    tell(event="ready")
    async for order in orders():
        seen: list[Any] = []
        report: dict[str, Any] = {"steps": seen}
        try:
            report["version"] = await carry_out(connect, json.loads(order["name"]), seen)
        except (Exception, asyncio.CancelledError) as error:
            report["ended"] = words_of(error)
        tell(id=order["id"], text=json.dumps(report))


asyncio.run(main(globals()[sys.argv[1]]))
