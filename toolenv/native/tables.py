"""Tables behind handles: how each was made, its rows while they fit in memory, and a read-only view of them.

A ``Table`` remembers the step that made it, so its rows (a ``Frame``) can be dropped when memory runs short and made
again when they are asked for. A ``Budget`` holds what all tables of an environment may keep at once.
"""

from __future__ import annotations

import threading
import weakref
from array import array
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from toolenv.environment import ColumnInfo
from toolenv.model import Json
from toolenv.native.columns import Rows, Series, digest, null, take


class Frame(NamedTuple):
    """The columns of a table; all series have ``size`` cells."""

    series: tuple[Series, ...]
    size: int

    def taken(self, positions: Rows[int]) -> Frame:
        """The frame's rows at ``positions``; index vectors that columns share stay shared."""
        composed: dict[int, Rows[int]] = {}
        series = []
        for column, rows, base in self.series:
            selected = composed.get(id(rows))
            if selected is None:
                selected = composed[id(rows)] = take(rows, positions)
            series.append(Series(column, selected, base))
        return Frame(tuple(series), len(positions))

    def selected(self, positions: Rows[int]) -> Frame:
        """Like ``taken`` for ascending positions: nothing changes where every row is kept."""
        return self if len(positions) == self.size else self.taken(positions)


Recipe = Callable[[], Frame]
"""Makes a table's rows again from what does not go away: its parents and the step's arguments."""


class Budget:
    """Bytes that rows of tables may occupy; the least recently used are dropped. Safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._held: OrderedDict[int, tuple[weakref.ref[Table], int]] = OrderedDict()
        self._lock = threading.RLock()

    def admit(self, table: Table, cost: int) -> None:
        """Count a table's rows; drop those of tables that were not used for longest until all fit."""
        identity = id(table)
        with self._lock:
            self._forget(identity)
            self._held[identity] = (weakref.ref(table, lambda _: self.forget(identity)), cost)
            self.used += cost
            while self.used > self.limit and len(self._held) > 1:
                oldest, (reference, freed) = next(iter(self._held.items()))
                if oldest == identity:
                    self._held.move_to_end(oldest)
                    continue
                del self._held[oldest]
                self.used -= freed
                dropped = reference()
                if dropped is not None:
                    dropped.drop()

    def touch(self, table: Table) -> None:
        with self._lock:
            if id(table) in self._held:
                self._held.move_to_end(id(table))

    def forget(self, identity: int) -> None:
        with self._lock:
            self._forget(identity)

    def _forget(self, identity: int) -> None:
        held = self._held.pop(identity, None)
        if held is not None:
            self.used -= held[1]


class Table:
    """A table behind a handle. ``dtypes`` are the printed type names, None where a step prints Python's names.

    ``notes`` are those of the step that made it.
    """

    __slots__ = (
        "__weakref__",
        "_budget",
        "_derived",
        "_fingerprint",
        "_firsts",
        "_frame",
        "_recipe",
        "count",
        "dtypes",
        "names",
        "notes",
        "parents",
    )

    def __init__(
        self,
        names: tuple[str, ...],
        dtypes: tuple[str, ...] | None,
        count: int,
        recipe: Recipe,
        budget: Budget,
        parents: tuple[Table, ...] = (),
        frame: Frame | None = None,
        firsts: tuple[list[Any], ...] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.names = names
        self.dtypes = dtypes
        self.count = count
        self.parents = parents
        self._recipe = recipe
        self._budget = budget
        self._fingerprint: str | None = None
        self._frame = frame
        self._firsts = firsts
        self.notes = notes
        self._derived: weakref.WeakValueDictionary[Hashable, Table] | None = None
        if frame is not None:
            budget.admit(self, self._cost(frame))

    def derived(self, step: Hashable) -> Table | None:
        """The table that a step made of this one alone, while anybody still holds it."""
        return None if self._derived is None else self._derived.get(step)

    def keep_derived(self, step: Hashable, table: Table) -> None:
        """Let whoever takes the same step find its table; this one does not keep it."""
        if self._derived is None:
            self._derived = weakref.WeakValueDictionary()
        self._derived[step] = table

    def firsts(self) -> Sequence[list[Any]]:
        """The first three cells of each column."""
        return self._firsts if self._firsts is not None else [series.first(3) for series in self.frame().series]

    def frame(self) -> Frame:
        """The rows, made again where they were dropped: oldest ancestor first, so that long chains do not recurse."""
        frame = self._frame
        if frame is not None:
            self._budget.touch(self)
            return frame
        missing = [self]
        seen = {id(self)}
        for table in missing:
            for parent in table.parents:
                if parent._frame is None and id(parent) not in seen:
                    seen.add(id(parent))
                    missing.append(parent)
        for table in sorted(missing, key=_depth(missing), reverse=True):
            frame = table._frame or table._recipe()
            if table._frame is None:
                table._frame = frame
                table._budget.admit(table, table._cost(frame))
        assert frame is not None
        return frame

    def _cost(self, frame: Frame) -> int:
        """Estimated bytes that the rows add to those of the parents: index vectors and columns of their own."""
        shared: set[int] = set()
        for parent in self.parents:
            held = parent._frame
            if held is not None:
                shared.update(map(id, chain.from_iterable(held.series)))
        vectors = {
            id(vector): len(vector) * vector.itemsize
            for _, rows, base in frame.series
            for vector in (rows, base)
            if vector is not None
        }
        own = {id(series.column): series.column.cost for series in frame.series if id(series.column) not in shared}
        kept = sum(size for identity, size in vectors.items() if identity not in shared)
        return 512 + 80 * len(frame.series) + kept + sum(own.values())

    def drop(self) -> None:
        self._frame = None

    def position(self, name: str) -> int:
        return self.names.index(name)

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            frame = self.frame()
            parts = [
                digest(name.encode("utf-8", "surrogatepass"), series.key)
                for name, series in zip(self.names, frame.series, strict=True)
            ]
            self._fingerprint = digest(str(self.count).encode(), *parts).hex()
        return self._fingerprint


def _depth(tables: Sequence[Table]) -> Callable[[Table], int]:
    """How far each table is from the first one, so that parents can be made before their children."""
    depth = {id(tables[0]): 0}
    queue = [tables[0]]
    inside = {id(table) for table in tables}
    for table in queue:
        for parent in table.parents:
            if id(parent) in inside and depth.get(id(parent), -1) < depth[id(table)] + 1:
                depth[id(parent)] = depth[id(table)] + 1
                queue.append(parent)
    return lambda table: depth[id(table)]


class HandleView:
    """``TableView`` of a table behind a handle; cells are read when asked for."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @property
    def fingerprint(self) -> str:
        return self._table.fingerprint

    @property
    def num_records(self) -> int:
        return self._table.count

    @property
    def columns(self) -> Sequence[ColumnInfo]:
        names, dtypes = self._table.names, self._table.dtypes
        if dtypes is None:
            dtypes = printed_types(self._table)
        return [ColumnInfo(name=name, dtype=dtype) for name, dtype in zip(names, dtypes, strict=True)]

    def rows(self, start: int, stop: int) -> Sequence[tuple[Json, ...]]:
        frame = self._table.frame()
        window = range(frame.size)[max(0, start) : max(0, stop)]
        positions = array("I", window)
        columns = [map(json_cell, series.iterate()) for series in frame.taken(positions).series]
        return list(zip(*columns, strict=True)) if columns else [() for _ in window]

    def column(self, index: int) -> Iterator[Json]:
        return map(json_cell, self._table.frame().series[index].iterate())


def printed_types(table: Table) -> tuple[str, ...]:
    """Python's name of each column's first value: what retrieve_data and the transforms print."""
    return tuple(type(cells[0]).__name__ if cells else "unknown" for cells in table.firsts())


def json_cell(cell: Any) -> Json:
    """A cell as a JSON value: None for NULL, ``{"$base64": ...}`` for bytes."""
    if isinstance(cell, bytes):
        return {"$base64": b64encode(cell).decode("ascii")}
    return None if null(cell) else cell
