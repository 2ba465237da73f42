"""Running a tool server until its client leaves or the process is told to end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import Instance

if TYPE_CHECKING:
    from toolenv.environment import ToolEnvironment

PATH = "/mcp"
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


async def serve_stdio(environment: ToolEnvironment, capability: int, domain: str, version: str) -> None:
    """Serve one client on this process's stdin and stdout until it closes them, or until SIGTERM or SIGINT."""
    from toolenv.serve.lines import LineServer, Wire

    instance = Instance(uuid="", capability=capability, domain=domain, turns=())
    wire = Wire()
    try:
        opening = await LineServer(environment, instance, wire, version).run()
        if opening is not None:
            from toolenv.serve.server import ToolServer

            await ToolServer(environment, capability, domain, http=False, version=version).on_wire(wire, opening)
    finally:
        wire.close()


async def serve_http(
    environment: ToolEnvironment,
    capability: int,
    domain: str,
    version: str,
    address: str,
    ready: Callable[[str], None],
) -> None:
    """Serve any number of clients at ``http://HOST:PORT/mcp`` until SIGINT or SIGTERM.

    ``address`` is ``HOST:PORT`` (port 0 takes a free one); ``ready`` hears the URL once requests are answered. Raises
    ``DataError`` for an address of another form, ``EnvironmentFailure`` where it cannot be listened on.
    """
    import uvicorn

    from toolenv.serve.server import ToolServer

    host, port = host_and_port(address)
    listener = _listening(host, port)
    server = ToolServer(environment, capability, domain, http=True, version=version)
    app = server.mcp.streamable_http_app(streamable_http_path=PATH, host=host)
    runner = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2))
    try:
        running = asyncio.ensure_future(runner.serve(sockets=[listener]))
        while not runner.started and not running.done():  # noqa: ASYNC110 - uvicorn has no event to wait for
            await asyncio.sleep(0.01)
        if runner.started:
            name = f"[{host}]" if ":" in host else host
            ready(f"http://{name}:{listener.getsockname()[1]}{PATH}")
        with suppress(KeyboardInterrupt):
            await running
    finally:
        listener.close()
        await server.close()


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of ``HOST:PORT`` (``[HOST]:PORT`` for IPv6). Raises ``DataError``."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise DataError(f"--http {address!r} is no HOST:PORT, such as 127.0.0.1:8000.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        raise EnvironmentFailure(f"{host}:{port} cannot be listened on: {error.strerror or error}.") from error
    return listener


def is_local(address: str) -> bool:
    """Whether only this machine can reach the address; the tools have no access control of their own."""
    return host_and_port(address)[0] in _LOCAL


def end_on_termination() -> None:
    """Have SIGTERM end the process as SIGINT does, so that what is open is closed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
