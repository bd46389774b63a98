"""A backend on version 2 of the SDK: `backend2.py dual`, which is what the SDK serves; `backend2.py modern` lets no sessions in."""

import asyncio
import contextlib
import json
import socket
import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from lines import RESOURCE, orders, tell

MODERN = "2026-07-28"
TOOLS = ["echo", "count", "ask_user", "ask_model", "wait"]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
ORDER = [types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say it"))]

bus = InMemorySubscriptionBus()
subscribed: set[ServerSession] = set()

Context = ServerRequestContext[Any, Any]


async def list_tools(context: Context, params: Any) -> types.ListToolsResult:
    tools = [types.Tool(name=name, description=f"For the matrix: {name}", input_schema={"type": "object"}) for name in TOOLS]
    return types.ListToolsResult(tools=tools)


async def call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    given = params.input_responses or {}
    is_modern = context.protocol_version == MODERN
    text = "done"
    match params.name:
        case "count":
            for progress in (1, 2, 3):
                await context.session.report_progress(progress)
        case "ask_user":
            if is_modern and "user" not in given:
                asked = types.ElicitRequestFormParams(message="Really?", requested_schema=SCHEMA)
                return types.InputRequiredResult(input_requests={"user": types.ElicitRequest(params=asked)})
            answer = given["user"] if is_modern else await context.session.elicit_form(
                "Really?", SCHEMA, context.request_id
            )
            text = str((getattr(answer, "content", None) or {}).get("answer"))
        case "ask_model":
            if is_modern and "model" not in given:
                wanted = types.CreateMessageRequestParams(messages=ORDER, max_tokens=10)
                return types.InputRequiredResult(input_requests={"model": types.CreateMessageRequest(params=wanted)})
            said = given["model"] if is_modern else await context.session.create_message(
                ORDER, max_tokens=10, related_request_id=context.request_id
            )
            text = said.content.model_dump_json(include={"type", "text"})
        case "wait":
            tell(event="waiting")
            try:
                await asyncio.Event().wait()
            finally:
                tell(event="cancelled")
    tell(event="done", tool=params.name)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def list_resources(context: Context, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri=RESOURCE, name="doc")])


async def read_resource(context: Context, params: Any) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=RESOURCE, text="the document")])


async def subscribe(context: Context, params: Any) -> types.EmptyResult:
    subscribed.add(context.session)
    return types.EmptyResult()


async def unsubscribe(context: Context, params: Any) -> types.EmptyResult:
    subscribed.clear()
    return types.EmptyResult()


async def list_prompts(context: Context, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet")])


async def get_prompt(context: Context, params: Any) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text="hello"))
    return types.GetPromptResult(messages=[message])


server: Server[Any] = Server(
    "python-2",
    version="1.0.0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_subscriptions_listen=ListenHandler(bus),
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
)


def modern_alone(app: Any) -> Any:
    """What has another version or none is told which one is spoken: the SDK itself has no such mode."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        named = dict(scope.get("headers") or []).get(b"mcp-protocol-version")
        if scope["type"] != "http" or named == MODERN.encode():
            return await app(scope, receive, send)
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        asked = json.loads(body or b"{}")
        error = {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": [MODERN]}}
        answer = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 400 if body else 405, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return serve


async def main(era: str) -> None:
    app: Any = server.streamable_http_app()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    http = uvicorn.Server(uvicorn.Config(modern_alone(app) if era == "modern" else app, log_level="error"))
    serving = asyncio.create_task(http.serve(sockets=[listener]))
    tell(event="listening", url=f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
    async for _ in orders():
        await bus.publish(ResourceUpdated(uri=RESOURCE))
        for session in list(subscribed):
            with contextlib.suppress(Exception):
                await session.send_resource_updated(RESOURCE)
    serving.cancel()


asyncio.run(main(sys.argv[1]))
