"""An environment that answers from recordings and from nothing else.

A tool that is not listed, or arguments that its schema refuses, make a failed call; a valid call that is not in the
recording raises ``NotRecorded``. Handles get the numbers that the session's own history gives them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from toolenv.dataset.fingerprint import fingerprint_of
from toolenv.dataset.layout import capability_folders, is_domain_name
from toolenv.errors import DataError, NoEnvironment, NotRecorded
from toolenv.failures import result_of
from toolenv.files import followed
from toolenv.model import Instance, Json, ToolResult, ToolSpec
from toolenv.recorded.aliases import own_name
from toolenv.recorded.chains import Chain, call_key, replaced, universe_asked_for, with_handles
from toolenv.recorded.recording import Answer, Recording
from toolenv.recorded.tables import RecordedTable
from toolenv.schema import arguments_of, refusal

_LARGE: Final = 1 << 17
_SHOWN: Final = 300
_HANDLE = re.compile(r'\A\{"handle": "([^"\\]+)"')
_NUMBERED = re.compile(r"(?P<prefix>[^_]+)(?P<middle>_.*)?_(?P<number>\d+)")


class RecordedEnvironment:
    """A ``ToolEnvironment`` over a folder of recordings, ``<capability folder>/<domain>.jsonl``.

    Raises ``DataError`` when the folder is not there or holds no recording. A domain's file is read when its first
    session opens; ``problems`` are sentences about its lines that could not be used.
    """

    kind = "recorded"

    def __init__(self, directory: Path | str) -> None:
        self.path = Path(directory)
        self.name = followed(self.path).name
        self.problems: list[str] = []
        if not self.path.is_dir():
            raise DataError(f"{self.path} is not there; --env recorded: takes a folder of recordings.")
        self._files: dict[tuple[int, str], Path] = {}
        for capability, folder in capability_folders(self.path, self.name).items():
            for path in sorted(folder.iterdir()):
                if path.suffix.lower() == ".jsonl" and is_domain_name(path.stem) and not path.name.startswith("."):
                    self._files[(capability, path.stem)] = path
        if not self._files:
            raise DataError(f"{self.path} holds no recordings (<capability folder>/<domain>.jsonl).")
        self._recordings: dict[tuple[int, str], Recording] = {}
        self._fingerprint: str | None = None

    def fingerprint(self) -> str | None:
        if self._fingerprint is None:
            self._fingerprint = fingerprint_of(self.path, self._files.values())
        return self._fingerprint

    def serves(self, capability: int, domain: str) -> bool:
        return (capability, domain) in self._files

    async def open(self, instance: Instance) -> RecordedSession:
        place = (instance.capability, instance.domain)
        path = self._files.get(place)
        if path is None:
            raise NoEnvironment(
                f"the recordings in {self.path} have no domain {instance.domain} of capability {instance.capability}."
            )
        recording = self._recordings.get(place)
        if recording is None:
            recording = await asyncio.to_thread(Recording, path, f"{path.parent.name}/{path.name}")
            if place not in self._recordings:
                self._recordings[place] = recording
                self.problems.extend(recording.problems)
        universe = (instance.universe_id or instance.uuid) if instance.capability == 1 else None
        return RecordedSession(recording, instance.domain, universe)

    async def close(self) -> None:
        """Forget the indexes; a session that is still open keeps its own."""
        self._recordings.clear()


class RecordedSession:
    """A ``ToolSession`` over one recording."""

    forks_by_copy = True

    def __init__(self, recording: Recording, domain: str, universe: str | None) -> None:
        self._recording = recording
        self._domain = domain
        self._universe = universe
        self._chains: dict[str, Chain] = {}
        self._counters: dict[str, int] = {}
        self._tables: dict[str, str] = {}
        self._listeners: list[Callable[[], None]] = []

    async def list_tools(self) -> Sequence[ToolSpec]:
        tools = self._recording.tools_of(self._universe)
        if tools is None:
            raise NotRecorded(f"{self._recording.label} does not hold the tools of the universe {self._universe}.")
        return tools

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Answer a call from the recording. Raises ``NotRecorded`` for a valid call that it does not hold."""
        tools = await self.list_tools()
        specs = {spec.name: spec for spec in tools}
        spec = specs.get(own_name(name, self._domain, specs))
        if name == "get_data" and self._universe is None and spec is None:
            return _neutral(self._domain, len(tools))
        written: Mapping[str, Json] = with_handles(arguments, self._chains)
        universe = self._universe
        if universe is not None and name == "get_data":
            wanted = universe_asked_for(arguments, universe)
            if wanted is not None:
                universe, written = wanted, {"tool_universe_id": wanted}
        answer = self._find(universe, spec.name if spec is not None else name, written, spec, arguments)
        if answer is None:
            if spec is None:
                return result_of(f"Unknown tool: {name}; it is not among the {len(tools)} tools of this domain", True)
            problem = refusal(spec, arguments)
            if problem is not None:
                return result_of(problem, True)
            stale = self._stale_handle(arguments)
            if stale is not None:
                return result_of(f"Input validation error: no table of this session is named {stale!r}", False)
            raise NotRecorded(
                f"{self._recording.label} does not hold an answer to {name}({_shown(arguments)}); "
                "record it, or give another environment before this one."
            )
        if answer.length > _LARGE:
            response = await asyncio.to_thread(self._recording.response, answer)
        else:
            response = self._recording.response(answer)
        result = result_of(response.text, response.is_error)
        if response.notes:
            result = msgspec.structs.replace(result, notes=response.notes)
        return result if result.failed else self._succeeded(name, written, universe, result, response.table)

    async def table(self, handle: str) -> RecordedTable | None:
        """The table behind a handle, where one was recorded. Raises EnvironmentFailure for a damaged one."""
        digest = self._tables.get(handle)
        return None if digest is None else await asyncio.to_thread(self._recording.tables.view, digest)

    async def fork(self) -> RecordedSession:
        copy = RecordedSession(self._recording, self._domain, self._universe)
        copy._chains = self._chains.copy()
        copy._counters = self._counters.copy()
        copy._tables = self._tables.copy()
        return copy

    async def close(self) -> None:
        self._chains.clear()
        self._tables.clear()
        self._listeners.clear()

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    # --- looking up ---------------------------------------------------------------------------------------------------

    def _find(
        self,
        universe: str | None,
        name: str,
        written: Mapping[str, Json],
        spec: ToolSpec | None,
        arguments: Mapping[str, Json],
    ) -> Answer | None:
        """The answer to exactly this call; else to the one without the arguments that a tool ignores."""
        found = self._recording.find(universe, call_key(name, written))
        if found is not None or spec is None or refusal(spec, arguments) is not None:
            return found
        names = arguments_of(spec)
        if names.open and any(given not in names.known for given in written):
            known = {given: value for given, value in written.items() if given in names.known}
            return self._recording.find(universe, call_key(name, known))
        return None

    def _stale_handle(self, arguments: Mapping[str, Json]) -> str | None:
        """A name where a table's handle is due and that is none; every environment fails such a call."""
        if self._universe is None:
            return None
        named = (value for name, value in arguments.items() if name.startswith("data_label"))
        return next((name for name in named if isinstance(name, str) and name not in self._chains), None)

    def _succeeded(
        self, name: str, written: Mapping[str, Json], universe: str | None, result: ToolResult, table: str | None
    ) -> ToolResult:
        """Keep what a successful call changes: the universe, and the handle under a name of this session's own."""
        if universe != self._universe:
            self._universe = universe
            self._chains.clear()
            self._counters.clear()
            self._tables.clear()
            for listener in tuple(self._listeners):
                listener()
        found = _HANDLE.match(result.text) if universe is not None else None
        if found is None:
            return result
        handle = self._named(found[1])
        self._chains[handle] = Chain(name, written)
        if table is not None:
            self._tables[handle] = table
        return msgspec.structs.replace(result, text=with_handle(result.text, name=handle), handle=handle)

    def _named(self, recorded: str) -> str:
        """The name that a handle gets here: numbers count per prefix, as in the release (contract, section 1.2)."""
        parts = _NUMBERED.fullmatch(recorded)
        if parts is None:
            return recorded
        prefix = parts["prefix"]
        self._counters[prefix] = self._counters.get(prefix, 0) + 1
        return numbered(recorded, self._counters[prefix])


def numbered(handle: str, number: int) -> str:
    """A handle's name with another number, or as it is where it has none."""
    parts = _NUMBERED.fullmatch(handle)
    return handle if parts is None else f"{parts['prefix']}{parts['middle'] or ''}_{number}"


def with_handle(text: str, *, name: str | None = None) -> str:
    """A response that begins with a handle, with that handle's name replaced; without a name, its number becomes 1."""
    found = _HANDLE.match(text)
    if found is None:
        return text
    new = name if name is not None else numbered(found[1], 1)
    return text if new == found[1] else f'{{"handle": "{new}"{text[found.end() :]}'


def _neutral(domain: str, tools: int) -> ToolResult:
    text = json.dumps({"domain": domain, "tools": tools})
    return ToolResult(text=text, notes=("get_data opens nothing here; it is neutral for every gate",))


def _shown(arguments: Mapping[str, Json]) -> str:
    written = json.dumps(replaced(dict(arguments), lambda chain: chain.name), ensure_ascii=False)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."
