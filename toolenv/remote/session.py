"""A session over remote servers: in capability 1 one that can be rebuilt anywhere, else a share in a server.

In capability 1 calls build on each other, and a server holds one universe at a time. A session enters its universe when
it is opened; its first ``get_data`` is answered with what that gave. A session whose server was taken or has died makes
its calls again on another one before it goes on, and says so where an answer differs.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import msgspec

from toolenv.errors import EnvironmentFailure
from toolenv.exchange import KEPT_CALLS, WireExchange
from toolenv.failures import result_of
from toolenv.model import ErrorKind, Instance, Json, ToolResult, ToolSpec
from toolenv.recorded.aliases import own_name
from toolenv.recorded.chains import universe_asked_for
from toolenv.remote.bundle import Bundle
from toolenv.remote.connection import Refused, ServerGone, Unanswered
from toolenv.remote.content import result_from
from toolenv.remote.pool import Pool
from toolenv.remote.tap import Tap

_HANDLE = re.compile(r'\s*\{\s*"handle"\s*:\s*"([^"\\]+)"')
_REFUSED: Final = -32602
_NO_METHOD: Final = -32601
_RAISED: Final = 0
"""The code under which a server of mcp 2.x passes on what its handler raised."""

GET_DATA: Final = "get_data"

T = TypeVar("T")


class RemoteSession:
    """A ``ToolSession``. ``drift`` are sentences about answers that differed when calls were made again."""

    def __init__(self, pool: Pool, instance: Instance) -> None:
        self._pool = pool
        self._instance = instance
        self._start_universe = (instance.universe_id or instance.uuid) if instance.capability == 1 else None
        self._bundle: Bundle | None = None
        self._entered: ToolResult | None = None
        self._opened = False
        self._history: list[tuple[int, str, Mapping[str, Json], ToolResult]] = []
        self._listeners: list[Callable[[], None]] = []
        self._turn = asyncio.Lock()
        self._closed = False
        self.drift: list[str] = []
        self._taps: OrderedDict[int, Tap] = OrderedDict()
        self._entered_tap: Tap | None = None
        self._calls: list[tuple[str, Mapping[str, Json]]] = []

    async def start(self) -> None:
        """Take a server and enter the universe. Raises ``EnvironmentFailure``."""
        await self._server()

    async def list_tools(self) -> Sequence[ToolSpec]:
        async with self._turn:
            bundle = await self._server()
            return await self._guarded(bundle, bundle.tools())

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        async with self._turn:
            started = time.perf_counter()
            known = len(self.drift)
            bundle = await self._server()
            self._calls.append((name, dict(arguments)))
            result = await self._answer(bundle, name, arguments)
            notes = (*result.notes, *self.drift[known:])
            return msgspec.structs.replace(result, duration_s=time.perf_counter() - started, notes=notes)

    async def table(self, handle: str) -> None:
        return None

    @property
    def calls(self) -> Sequence[tuple[str, Mapping[str, Json]]]:
        """Name and arguments of every call that was made of this session, in order."""
        return self._calls

    def exchange(self, number: int) -> WireExchange | None:
        """What went over the wire for the session's ``number``-th call; the newest of these calls are kept."""
        tap = self._taps.get(number)
        return tap.exchange() if tap is not None else None

    def _keep(self, number: int, tap: Tap) -> None:
        self._taps[number] = tap
        while len(self._taps) > KEPT_CALLS:
            self._taps.popitem(last=False)

    async def fork(self) -> RemoteSession:
        """A session on a server of its own with the same calls made again; ``drift`` says what came out differently."""
        copy = RemoteSession(self._pool, self._instance)
        copy._history = list(self._history)
        copy._opened = self._opened
        copy._calls = list(self._calls)
        try:
            await copy.start()
        except BaseException:
            await copy.close()
            raise
        return copy

    async def close(self) -> None:
        self._closed = True
        self._listeners.clear()
        bundle, self._bundle = self._bundle, None
        if bundle is not None:
            bundle.sessions.discard(self)
            await self._pool.release(bundle, self)

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def tools_changed(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def lost(self, bundle: Bundle) -> None:
        """The server was given to another session."""
        if self._bundle is bundle:
            bundle.sessions.discard(self)
            self._bundle = None

    # --- the server --------------------------------------------------------------------------------------------------

    async def _server(self) -> Bundle:
        """The session's server in the session's state."""
        if self._closed:
            raise EnvironmentFailure("the session is closed.")
        bundle = self._bundle
        if bundle is not None and bundle.alive:
            bundle.last_used = time.monotonic()
            return bundle
        if bundle is not None:
            bundle.sessions.discard(self)
            self._bundle = None
        if self._start_universe is None:
            bundle = await self._pool.share()
        else:
            bundle = await self._pool.lease(self, self._start_universe)
        self._bundle = bundle
        bundle.sessions.add(self)
        if self._start_universe is not None:
            bundle = await self._in_universe(bundle, self._start_universe)
            await self._again(bundle)
        return bundle

    async def _in_universe(self, bundle: Bundle, universe: str) -> Bundle:
        """Switch a leased server to the universe and keep what that gave; a server that does not switch is replaced."""
        reused = bundle.used
        if universe in bundle.universes and not await self._away(bundle, universe):
            bundle, reused = await self._replaced(bundle), False
        result = await self._switch(bundle, universe)
        if reused and not self._as_expected(universe, result):
            bundle = await self._replaced(bundle)
            result = await self._switch(bundle, universe)
        self._entered = result
        if not result.failed:
            self._pool.peeks.setdefault(universe, result.text)
        self._pool.universes.setdefault(universe)
        return bundle

    def _as_expected(self, universe: str, result: ToolResult) -> bool:
        """Whether a switch began afresh: the first handle is number 1, and the peek is the one seen before."""
        if result.failed:
            return True
        if result.handle is not None and not result.handle.endswith("_1"):
            return False
        return self._pool.peeks.get(universe, result.text) == result.text

    async def _away(self, bundle: Bundle, universe: str) -> bool:
        """Leave the universe for any other, so that entering it is a switch; False where no other is known."""
        for other in self._pool.universes:
            if other != universe and other not in bundle.universes:
                result = await self._switch(bundle, other)
                return not ("universe" in result.text[:80].lower() and "unknown" in result.text[:80].lower())
        return False

    async def _switch(self, bundle: Bundle, universe: str) -> ToolResult:
        def tapped(tap: Tap) -> None:
            self._entered_tap = tap

        return await self._raw(bundle, GET_DATA, {"tool_universe_id": universe}, tapped)

    async def _replaced(self, bundle: Bundle) -> Bundle:
        self._bundle = None
        await self._pool.discard(bundle)
        self._bundle = bundle = await self._pool.lease(self, None)
        bundle.sessions.add(self)
        return bundle

    async def _again(self, bundle: Bundle) -> None:
        """Make the calls of the session once more, comparing each answer."""
        for position, (number, name, arguments, before) in enumerate(self._history, start=1):
            if position == 1 and self._entered is not None and self._is_opening(name, arguments):
                now = self._entered
            else:
                now = await self._raw(bundle, name, arguments, partial(self._keep, number))
            if (now.text, now.failed) != (before.text, before.failed):
                again = "was made again on another server and was answered differently than before"
                self.drift.append(f"call {position} ({name}) {again}")

    # --- calls -------------------------------------------------------------------------------------------------------

    async def _answer(self, bundle: Bundle, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        if self._start_universe is None:
            tools = await self._guarded(bundle, bundle.tools())
            names = {tool.name for tool in tools}
            name = own_name(name, self._instance.domain, names)
            if name == GET_DATA and name not in names:
                text = json.dumps({"domain": self._instance.domain, "tools": len(tools)})
                return ToolResult(text=text, notes=("get_data opens nothing here; it is neutral for every gate",))
            return await self._raw(bundle, name, arguments, partial(self._keep, len(self._calls)))
        if not self._opened and self._entered is not None:
            if self._is_opening(name, arguments):
                self._opened = True
                self._history.append((len(self._calls), name, dict(arguments), self._entered))
                if self._entered_tap is not None:
                    self._keep(len(self._calls), self._entered_tap)
                return self._entered
            handle = self._entered.handle
            if name != GET_DATA and handle is not None and handle in arguments.values():
                return result_of(f"Input validation error: there is no table {handle!r}; call get_data first", False)
        result = await self._raw(bundle, name, arguments, partial(self._keep, len(self._calls)))
        if name == GET_DATA and not result.failed:
            self._opened = True
            wanted = arguments.get("tool_universe_id")
            if isinstance(wanted, str) and wanted != self._start_universe:
                # Nothing of what was before a switch is there after it, so that a rebuilding begins here.
                self._start_universe, self._entered = wanted, result
                self._history.clear()
        self._history.append((len(self._calls), name, dict(arguments), result))
        return result

    def _is_opening(self, name: str, arguments: Mapping[str, Json]) -> bool:
        start = self._start_universe
        return name == GET_DATA and start is not None and universe_asked_for(arguments, start) == start

    async def _raw(
        self, bundle: Bundle, name: str, arguments: Mapping[str, Json], tapped: Callable[[Tap], None]
    ) -> ToolResult:
        """Call a tool on the server as it stands, and follow what the call does to the universe that it is in."""
        try:
            answer = await self._guarded(bundle, bundle.call(name, arguments, tapped))
        except Refused as error:
            if error.code not in (_REFUSED, _NO_METHOD, _RAISED):
                raise
            result = _failed(error)
        else:
            result = result_from(answer)
        if self._start_universe is None:
            return result
        found = None if result.failed else _HANDLE.match(result.text)
        if found is not None:
            result = msgspec.structs.replace(result, handle=found[1])
        wanted = arguments.get("tool_universe_id")
        if name == GET_DATA and isinstance(wanted, str):
            switched = wanted not in bundle.universes or len(bundle.universes) > 1
            bundle.universes = {wanted} if not result.failed else {*bundle.universes, wanted}
            if switched:
                bundle.forget_tools()
        return result

    async def _guarded(self, bundle: Bundle, awaited: Awaitable[T]) -> T:
        """Wait for a server, and give it up where its state is unknown afterwards: it died, or was left waiting."""
        try:
            return await awaited
        except ServerGone as error:
            await self._gave_up(bundle, failed=str(error))
            raise
        except (Unanswered, asyncio.CancelledError):
            if self._start_universe is not None:
                await asyncio.shield(self._gave_up(bundle))
            raise

    async def _gave_up(self, bundle: Bundle, *, failed: str | None = None) -> None:
        bundle.sessions.discard(self)
        if self._bundle is bundle:
            self._bundle = None
        await self._pool.discard(bundle, failed=failed)


def _failed(error: Refused) -> ToolResult:
    """A protocol error that is the answer to this call: an unknown tool, refused arguments, or what the tool raised."""
    known = result_of(error.message, True)
    if known.error_kind == "tool_failed" and error.code == _REFUSED:
        kind: ErrorKind = (
            "unknown_tool" if re.search(r"(?i)unknown tool|tool\b.*\bnot found", error.message) else "refused_arguments"
        )
        return ToolResult(text=error.message, is_error=True, failed=True, error_kind=kind)
    return known
