"""A headless Chromium spoken to over its debugging protocol, and the terminal in a page of ``textual serve``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_S = 90.0
SIZE = (1500, 900)

KEEP_TERMINAL = """
Object.defineProperty(Object.prototype, 'terminal', {
  configurable: true,
  set(value) {
    if (value && value.buffer) window.shown = value;
    Object.defineProperty(this, 'terminal', {value, writable: true, configurable: true, enumerable: true});
  },
});
"""
"""Before the page's own script: keep its terminal where it can be read."""

READ_TERMINAL = """
(() => {
  if (!window.shown) return '';
  const buffer = window.shown.buffer.active, rows = [];
  for (let i = 0; i < window.shown.rows; i++) rows.push(buffer.getLine(buffer.viewportY + i).translateToString(true));
  return rows.join('\\n');
})()
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Page:
    """One page of the browser."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        self._connection = connection
        self._numbers = count(1)

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its answer; events in between are left out."""
        number = next(self._numbers)
        await self._connection.send_json({"id": number, "method": method, "params": parameters})
        while True:
            said = await self._connection.receive_json(timeout=PATIENCE_S)
            if said.get("id") == number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result

    async def open(self, address: str) -> None:
        await self.ask("Page.enable")
        await self.ask("Page.addScriptToEvaluateOnNewDocument", source=KEEP_TERMINAL)
        await self.ask("Page.navigate", url=address)

    async def shown(self) -> str:
        """The rows of the page's terminal."""
        answer = await self.ask("Runtime.evaluate", expression=READ_TERMINAL)
        return str(answer["result"].get("value", ""))

    async def until(self, holds: Callable[[str], bool], what: str) -> str:
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            text = await self.shown()
            if holds(text):
                return text
            await asyncio.sleep(0.05)
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"waited for: {what}\n{text}")

    async def until_shown(self, *texts: str) -> str:
        return await self.until(lambda shown: all(text in shown for text in texts), ", ".join(texts))

    async def press(self, key: str, code: str, *, text: str = "") -> None:
        """A key as the browser gets it from a keyboard; ``text`` where it writes a sign."""
        virtual = {"Escape": 27, "Enter": 13, "ArrowDown": 40}.get(key, ord(key.upper()[0]))
        common = {"key": key, "code": code, "windowsVirtualKeyCode": virtual}
        down = "keyDown" if text else "rawKeyDown"
        await self.ask("Input.dispatchKeyEvent", type=down, text=text, **common)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    async def focus(self) -> None:
        """Give the keyboard to the page's terminal."""
        await self.ask("Runtime.evaluate", expression="window.shown.focus()")


@contextlib.contextmanager
def running(*command: str, environment: dict[str, str] | None = None) -> Any:
    """A program in a session of its own; all of it is ended at the end."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Page]:
    """A page of a fresh browser whose profile lies in ``folder``; names of other hosts are not resolved."""
    assert CHROMIUM is not None
    command = (
        CHROMIUM,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        f"--window-size={SIZE[0]},{SIZE[1]}",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={folder / 'profile'}",
        "--remote-debugging-port=0",
        "about:blank",
    )
    told = folder / "profile" / "DevToolsActivePort"
    with running(*command):
        async with aiohttp.ClientSession() as session, asyncio.timeout(2 * PATIENCE_S):
            port, address = "", ""
            while not address:
                await asyncio.sleep(0.05)
                # The file is there before it is filled, and the address is answered before the page is there.
                port, whole, _ = told.read_text().partition("\n") if told.exists() else ("", "", "")
                if whole:
                    async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                        pages = [page for page in await answer.json() if page["type"] == "page"]
                        address = pages[0]["webSocketDebuggerUrl"] if pages else ""
            async with session.ws_connect(address, max_msg_size=0) as connection:
                yield Page(connection)


@asynccontextmanager
async def served(command: str, environment: dict[str, str]) -> AsyncIterator[str]:
    """``textual serve`` with a command; gives its address once it answers."""
    port = free_port()
    program = f"from textual_serve.server import Server; Server({command!r}, host='127.0.0.1', port={port}).serve()"
    address = f"http://127.0.0.1:{port}"
    with running(sys.executable, "-c", program, environment=environment):
        async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    async with session.get(address) as answer:
                        if answer.status == 200:
                            break
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)
        yield address
