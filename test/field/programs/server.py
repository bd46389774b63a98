"""A server as its author would write it, on a framework of these environments: `server.py mcp|mcp2|fastmcp sse|streamable-http PORT`."""

import asyncio
import importlib
import sys
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

kind, transport, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
framework = importlib.import_module({"mcp": "mcp.server.fastmcp", "mcp2": "mcp.server.mcpserver", "fastmcp": "fastmcp"}[kind])
Context = framework.Context
is_old = kind == "mcp"
make: Any = framework.MCPServer if kind == "mcp2" else framework.FastMCP
app = make("field", instructions="Count, and say it.", **({"host": "127.0.0.1", "port": port} if is_old else {}))
counts: dict[Any, int] = {}


class Inner(BaseModel):
    name: str
    kind: Literal["städtisch", "rural"] = "rural"


class Place(BaseModel):
    """Somewhere."""

    name: str
    inner: Inner | None = None


class Answer(BaseModel):
    answer: str


def session_of(ctx: Any) -> Any:
    """What the frameworks have that is a session's own; a request without a session has none."""
    request = getattr(ctx.request_context, "request", None)
    named = request.headers.get("mcp-session-id") if request is not None else None
    return named or (ctx.session if is_old else None)


@app.tool()
def add(a: Annotated[float, Field(description="The first, “left” one")], b: float = 0.5) -> str:
    """Adds two numbers — naïvely."""
    return str(a + b)


@app.tool()
def find(places: list[Place], limit: Annotated[int, Field(ge=1, le=100)] = 10) -> dict[str, Any]:
    """Says what it was given."""
    return {"places": [place.model_dump() for place in places], "limit": limit}


@app.tool()
async def counter(ctx: Context) -> str:
    """Counts the calls of a session."""
    session = session_of(ctx)
    if session is None:
        return "no session"
    counts[session] = counts.get(session, 0) + 1
    return str(counts[session])


@app.tool()
async def steps(ctx: Context) -> str:
    """Reports its progress three times."""
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3)
        # Some versions report on a stream of their own, which the result would overtake.
        await asyncio.sleep(0.05)
    return "done"


if hasattr(Context, "elicit"):

    @app.tool()
    async def ask(ctx: Context) -> str:
        """Asks the user."""
        if kind == "fastmcp":
            given = await ctx.elicit("Really?", response_type=Answer)
        else:
            given = await ctx.elicit("Really?", schema=Answer)
        return f"{given.action}: {getattr(getattr(given, 'data', None), 'answer', None)}"


@app.prompt()
def greet(name: str) -> str:
    """Greets."""
    return f"Greet {name} — kindly"


@app.resource("field://doc")
def doc() -> str:
    """The document"""
    return "the document"


@app.resource("field://places/{name}")
def place(name: str) -> str:
    """A place"""
    return f"the place {name}"


app.run(transport, **({} if is_old else {"host": "127.0.0.1", "port": port}))
