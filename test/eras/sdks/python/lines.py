"""How the programs of the matrix are told what to do, and tell what has happened: a line of JSON each."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

RESOURCE = "test://doc"


def tell(**members: Any) -> None:
    print(json.dumps(members), flush=True)


async def orders() -> AsyncIterator[dict[str, Any]]:
    """What the matrix wants, until it wants no more."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)


def words_of(error: BaseException) -> str:
    """Of what went wrong, the first of the causes that tasks have wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


class Work:
    """The client's orders, each carried out in a task of its own, so that one can be given up."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        async for order in orders():
            if order["do"] == "cancel":
                self._tasks[order["of"]].cancel()
            else:
                self._tasks[order["id"]] = asyncio.create_task(self._carry_out(order))
        for task in self._tasks.values():
            task.cancel()

    async def _carry_out(self, order: dict[str, Any]) -> None:
        ident = order["id"]
        try:
            text = await getattr(self._client, order["do"])(order["name"], lambda: tell(event="progress", id=ident))
            tell(id=ident, text=text)
        except asyncio.CancelledError:
            tell(id=ident, why="given up")
            raise
        except Exception as error:
            tell(id=ident, why=words_of(error))


async def run_client(connected: Any, version_of: Any) -> None:
    """@param connected: a context manager whose value has `call`, `read`, `prompt` and `watch`."""
    try:
        async with connected as client:
            tell(event="connected", version=version_of(client))
            await Work(client).run()
    except Exception as error:
        tell(event="failed", why=words_of(error))
