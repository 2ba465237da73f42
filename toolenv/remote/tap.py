"""The messages of a connection, sorted by the request that they belong to; bounded, and without secrets.

The transport reports what it sends and receives; which call a message belongs to follows from its request id, or from
the progress token, which is the id of the request too.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, Literal

from toolenv.exchange import KEPT_MESSAGES, KEPT_TEXT, RawMessage, WireExchange
from toolenv.remote.log import ServerLog

Id = int | str
OPEN: Final = 200
"""Requests whose messages are looked for; what comes later for older ones is not kept."""


class Tap:
    """The messages of one request."""

    def __init__(self, server: str, tool: str, log: ServerLog | None) -> None:
        self._server = server
        self._tool = tool
        self._log = log
        self._started = time.monotonic()
        self._messages: list[RawMessage] = []
        self._dropped = 0

    def note(self, direction: Literal["sent", "received"], text: str, size: int, head: str = "") -> None:
        """Keep one message, of which ``text`` may be the beginning."""
        if len(self._messages) == KEPT_MESSAGES:
            # The last message is the answer, which tells more than what came before it.
            self._messages.pop()
            self._dropped += 1
        at_s = time.monotonic() - self._started
        self._messages.append(RawMessage(direction=direction, text=text[:KEPT_TEXT], size=size, at_s=at_s, head=head))

    def exchange(self) -> WireExchange:
        """What is kept now; the server's stderr as it stands now."""
        stderr = tuple(self._log.tail()) if self._log is not None else None
        return WireExchange(
            server=self._server, tool=self._tool, messages=tuple(self._messages), dropped=self._dropped, stderr=stderr
        )


class Wire:
    """The open taps of one connection. ``log`` is that of a server process, set once it runs."""

    def __init__(self) -> None:
        self.log: ServerLog | None = None
        self._taps: OrderedDict[str, Tap] = OrderedDict()

    def open(self, identity: Id, server: str, tool: str) -> Tap:
        """Collect the messages of a request from now on."""
        tap = self._taps[str(identity)] = Tap(server, tool, self.log)
        while len(self._taps) > OPEN:
            self._taps.popitem(last=False)
        return tap

    def close(self, identity: Id) -> None:
        """The request is over."""
        self._taps.pop(str(identity), None)

    def tap_of(self, message: Mapping[str, Any]) -> Tap | None:
        """The tap of a decoded message, None where it belongs to no request that is collected."""
        identity = message.get("id")
        if identity is None:
            params = message.get("params")
            if isinstance(params, Mapping):
                identity = params.get("progressToken", params.get("requestId"))
        return self._taps.get(str(identity)) if isinstance(identity, int | str) else None

    def sent(self, message: Mapping[str, Any], text: str) -> None:
        """A message went out on a pipe."""
        tap = self.tap_of(message)
        if tap is not None:
            tap.note("sent", text, len(text))

    def received(self, message: Mapping[str, Any], line: bytes) -> None:
        """A message came in on a pipe, as the line ``line``."""
        tap = self.tap_of(message)
        if tap is not None:
            tap.note("received", line[: 4 * KEPT_TEXT].decode("utf-8", "replace"), len(line))
