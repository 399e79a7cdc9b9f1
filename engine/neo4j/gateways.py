"""Open the gateways to one database when they are needed: a blocking one, and one for each event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from .connection import Connection

if TYPE_CHECKING:
    from .gateway import AsyncGateway, Gateway


class Gateways:
    """The gateways of one connection, each opened and its server checked at the first use.

    Connections of asyncio belong to the event loop that opened them.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._opening = threading.Lock()
        self._blocking: Gateway | None = None
        self._of_loops: dict[asyncio.AbstractEventLoop, AsyncGateway] = {}
        self._opening_in: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    def blocking(self) -> Gateway:
        """Return the blocking gateway. Raises `DatabaseError` if the server does not answer or is too old."""
        with self._opening:
            if self._blocking is None:
                from .gateway import Gateway

                gateway = Gateway(self.connection)
                try:
                    gateway.version()
                except BaseException:
                    gateway.close()
                    raise
                self._blocking = gateway
            return self._blocking

    async def of_loop(self) -> AsyncGateway:
        """Return the gateway of the running event loop; raise as `blocking`."""
        loop = asyncio.get_running_loop()
        async with self._opening_in.setdefault(loop, asyncio.Lock()):
            if loop not in self._of_loops:
                from .gateway import AsyncGateway

                gateway = AsyncGateway(self.connection)
                try:
                    await gateway.version()
                except BaseException:
                    await gateway.close()
                    raise
                self._of_loops[loop] = gateway
            return self._of_loops[loop]

    def close(self) -> None:
        """Close the blocking gateway."""
        if self._blocking is not None:
            self._blocking.close()
            self._blocking = None

    async def aclose(self) -> None:
        """Close the gateway of the running event loop, and the blocking one."""
        loop = asyncio.get_running_loop()
        self._opening_in.pop(loop, None)
        gateway = self._of_loops.pop(loop, None)
        if gateway is not None:
            await gateway.close()
        self.close()
