"""Find free ports of this machine."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Container

from ..errors import EmbeddedServerError, PortTakenError
from .home import LOOPBACK


def is_free(port: int) -> bool:
    """Return whether a server may listen at the port of the loopback address.

    Raises `EmbeddedServerError` if this user may not listen at the port.
    """
    with socket.socket() as probe:
        if os.name == "posix":  # on Windows the option would let two servers share the port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):
                raise EmbeddedServerError(
                    f"port {port}: this user may not listen there: give one above 1023"
                ) from error
            return False
    return True


def choose_port(given: int | None, remembered: int | None, usual: int, option: str, avoid: Container[int]) -> int:
    """Return the port to listen at: the given one, else the remembered, the usual, or any free one.

    `avoid` are reserved ports. Raises `PortTakenError` if the given port is not free.
    """
    if given is not None:
        if not is_free(given):
            raise PortTakenError(
                f"port {given} is taken by another process: give another with {option}, or leave it out to have a "
                "free one chosen"
            )
        return given
    for port in (remembered, usual):
        if port and port not in avoid and is_free(port):
            return port
    return free_port(avoid)


def free_port(avoid: Container[int] = ()) -> int:
    """Return a port that is free now and not among those to avoid."""
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        if port not in avoid:
            return port
