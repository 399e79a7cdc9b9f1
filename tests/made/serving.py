"""A real server on a loopback port, in a thread of the test process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from lodestar.engine.recipes import Recipe, read_recipe
from lodestar.engine.serving.server import ServerOptions, bind_socket, make_application, make_server
from lodestar.engine.settings import Settings


@contextmanager
def serving(settings: Settings, options: ServerOptions | None = None, recipe: Recipe | None = None) -> Iterator[str]:
    """Serve while the block runs; the address without a slash at its end."""
    listening = bind_socket("127.0.0.1", 0)
    given = options or ServerOptions(token="")
    served = recipe or read_recipe("similarity")
    server = make_server(make_application(settings, served, given))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        for _ in range(600):
            try:
                httpx.get(f"{url}/healthz", timeout=5.0, trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
