"""The seam to everything that runs tools: environments, their sessions, and views of the tables behind handles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from toolenv.model import Instance, Json, ToolResult, ToolSpec, Value


class ColumnInfo(Value, frozen=True):
    """Name and printed dtype of one column."""

    name: str
    dtype: str


@runtime_checkable
class TableView(Protocol):
    """A read-only view of a table behind a handle; cheap to hold, cells are read on demand.

    Two views with equal ``fingerprint`` have equal content; different fingerprints say nothing.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def num_records(self) -> int: ...

    @property
    def columns(self) -> Sequence[ColumnInfo]: ...

    def rows(self, start: int, stop: int) -> Sequence[tuple[Json, ...]]:
        """Rows ``start`` to ``stop`` (excluded), None for NULL."""
        ...

    def column(self, index: int) -> Iterator[Json]:
        """All values of one column by position, in row order, None for NULL."""
        ...


class ToolSession(Protocol):
    """One agent's view of the tools of one instance. Not safe for concurrent calls unless an implementation says so."""

    async def list_tools(self) -> Sequence[ToolSpec]: ...

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Run one tool. A tool's own failure is a result with ``failed``; only an environment that cannot answer
        raises (``EnvironmentFailure``, ``NotRecorded``)."""
        ...

    async def table(self, handle: str) -> TableView | None:
        """The table behind a handle of this session, or None where it is unknown or cannot be shown."""
        ...

    async def fork(self) -> ToolSession:
        """An independent session in the same state; what happens in one is never seen by the other."""
        ...

    async def close(self) -> None: ...

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        """Have ``listener`` called whenever ``list_tools`` would answer differently than before."""
        ...


class ToolEnvironment(Protocol):
    """Opens sessions for instances. ``kind`` is ``native``, ``recorded``, ``config`` or ``vakra``."""

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...

    def fingerprint(self) -> str | None:
        """A digest of what decides its answers (``sha256:...``), or None where it cannot be known."""
        ...

    def serves(self, capability: int, domain: str) -> bool: ...

    async def open(self, instance: Instance) -> ToolSession:
        """A fresh session. Raises ``EnvironmentFailure`` when it cannot be opened."""
        ...

    async def close(self) -> None: ...
