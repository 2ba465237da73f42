"""What went over the wire for one call, as an environment over servers keeps it for a person to read.

A ``ToolSession`` that keeps such exchanges says so by ``calls`` and ``exchange``. Sessions that call tools in this
process, or answer from a recording, have nothing to keep and have neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol, runtime_checkable

from toolenv.model import Json, Value

KEPT_TEXT: Final = 64 * 1024
"""Characters of one message that are kept."""

KEPT_MESSAGES: Final = 40
"""Messages of one call that are kept: the first ones, and always the last."""

KEPT_CALLS: Final = 100
"""Calls of one session whose messages are kept, the newest."""


class RawMessage(Value, frozen=True):
    """One message as it was sent or received; ``size`` is that of the whole text, ``at_s`` seconds into the call.

    ``head`` is the request line or the status of an HTTP message, empty for a line of a pipe.
    """

    direction: Literal["sent", "received"]
    text: str
    size: int
    at_s: float = 0.0
    head: str = ""


class WireExchange(Value, frozen=True):
    """The messages of one call in their order, and the last lines of the server's stderr.

    ``dropped`` counts the messages that were not kept; ``stderr`` is None for a server without one (over HTTP).
    """

    server: str
    tool: str
    messages: tuple[RawMessage, ...] = ()
    dropped: int = 0
    stderr: tuple[str, ...] | None = None


@runtime_checkable
class KeepsExchanges(Protocol):
    """A session that keeps what went over the wire."""

    @property
    def calls(self) -> Sequence[tuple[str, Mapping[str, Json]]]:
        """Name and arguments of every call that was made of the session, in order."""
        ...

    def exchange(self, number: int) -> WireExchange | None:
        """The exchange of the session's ``number``-th call (from 1), None where it is not kept (any more)."""
        ...


def kept_by(session: object) -> KeepsExchanges | None:
    """What keeps a session's exchanges: the session itself or one that it wraps, else None."""
    while session is not None and not isinstance(session, KeepsExchanges):
        session = getattr(session, "behind", None)
    return session
