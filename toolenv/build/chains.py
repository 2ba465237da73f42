"""A relational plan as a chain of BI tool calls, in the slot-filling and in the selection style.

A chain does not know handle names or numbers in advance: its arguments may hold a ``Ref`` to what an earlier step gave,
which is filled in when the chain is executed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, Literal

from toolenv.build.plan import (
    Aggregate,
    ColumnRef,
    Condition,
    Conjunction,
    Number,
    Scalar,
    SelectPlan,
)
from toolenv.build.source import NotBuildable, Style
from toolenv.model import Universe, UniverseTable, Value

LONGEST_PREFIX = 40
"""Characters of a table's part in the names of its columns, so that ``get_<table>_<column>s`` has 64 at most with a
column of ordinary length."""


class Ref(Value, frozen=True):
    """What step ``step`` gave: the handle of its table, or its value (a number or a list). Step -1 is the opening."""

    step: int
    what: Literal["handle", "value"] = "handle"


class ChainStep(Value, frozen=True):
    """One call to be; arguments are JSON values or ``Ref``."""

    name: str
    arguments: Mapping[str, Any]


class Chain(Value, frozen=True):
    """A tool universe and the steps after its opening. ``columns`` is how many last steps give one column each."""

    universe: Universe
    steps: tuple[ChainStep, ...]
    columns: int = 1


def make_chain(plan: SelectPlan, style: Style, *, uuid: str, domain: str, query: str) -> Chain:
    """The chain of a plan. Raises ``NotBuildable`` where no sequence of the tools does it."""
    universe = make_universe(plan, style, uuid=uuid, domain=domain, query=query)
    writer = _SlotWriter(universe) if style == "slot" else _SelWriter(universe)
    columns = writer.write(plan)
    return Chain(universe=universe, steps=tuple(writer.steps), columns=columns)


def make_universe(plan: SelectPlan, style: Style, *, uuid: str, domain: str, query: str) -> Universe:
    """The tool universe that joins the plan's tables; one table alone gets the empty alias and bare column names.

    The names of getters are made of table and column (contract, section 1.4). A column's own part is fixed; a table's
    is chosen so that an endpoint of a model takes the name: ASCII, not long, and another for each table.
    """
    taken: set[str] = set()
    tables = []
    for table in plan.tables:
        name = _free_prefix(table.table, taken)
        taken.add(name)
        tables.append(
            UniverseTable(
                alias=table.alias if len(plan.tables) > 1 else "", original_name=table.table, modified_name=name
            )
        )
    conditions = tuple((_written(j.left), _written(j.right), "INNER") for j in plan.joins)
    if len(plan.tables) > 1 and len(conditions) != len(plan.tables) - 1:
        raise NotBuildable("every joined table needs exactly one condition")
    return Universe(id=uuid, domain=domain, style=style, tables=tuple(tables), conditions=conditions, query=query)


def _free_prefix(table: str, taken: Collection[str]) -> str:
    """What stands before the columns of a table; ``taken`` are those of the tables before it."""
    prefix = re.sub(r"[^A-Za-z0-9_]", "_", table)[:LONGEST_PREFIX]
    if not prefix.strip("_"):
        prefix = "table"
    name, number = prefix, 1
    while name in taken:
        name, number = f"{prefix}_{number}", number + 1
    return name


def safe_name(column: str) -> str:
    """A column's name as the tools show it (contract, section 1.1)."""
    return re.sub(r"[/-]", "_", column.strip().replace(" ", "_").replace("(", "").replace(")", ""))


def _written(column: ColumnRef) -> str:
    return f"{column.alias}.{column.column}"


class _Writer(ABC):
    """Writes steps; the subclasses know how one style spells an operation."""

    def __init__(self, universe: Universe) -> None:
        self.steps: list[ChainStep] = []
        self._prefix = {t.alias: t.modified_name for t in universe.tables}

    def write(self, plan: SelectPlan) -> int:
        """All steps of the plan; returns how many last steps give one column each."""
        data = self._rows(Ref(step=-1), plan.filters)
        for ordering in reversed(plan.order):
            data = self.sort(data, self.key(ordering.column), ordering.ascending)
        if plan.scalar is None:
            return self.columns(data, [self.key(c) for c in plan.columns], plan.distinct, plan.limit)
        if plan.limit not in (None, 1):
            raise NotBuildable("a limit on one aggregate")
        value = self._scalar(data, plan.scalar)
        if not isinstance(value, Ref):
            raise NotBuildable("the SELECT reads no column")
        return 1

    def key(self, column: ColumnRef) -> str:
        prefix = self._prefix.get(column.alias)
        return safe_name(f"{prefix}_{column.column}") if prefix is not None else safe_name(column.column)

    def add(self, name: str, what: Literal["handle", "value"], **arguments: Any) -> Ref:
        self.steps.append(ChainStep(name=name, arguments=arguments))
        return Ref(step=len(self.steps) - 1, what=what)

    def _rows(self, data: Ref, filters: tuple[Conjunction, ...]) -> Ref:
        parts = [self._filtered(data, conjunction) for conjunction in filters]
        joined = parts[0]
        for part in parts[1:]:
            joined = self.add("concatenate_data", "handle", data_label_1=joined, data_label_2=part)
        return joined

    def _filtered(self, data: Ref, conjunction: Conjunction) -> Ref:
        for one in conjunction:
            if one.date_part is not None:
                data = self.date_part(data, self.key(one.column), one.date_part)
            if one.substring is not None:
                data = self.substring(data, self.key(one.column), *one.substring)
            value = one.value
            if isinstance(value, Aggregate):
                value = self.aggregate(self._filtered(Ref(step=-1), value.where), value)
            data = self.filter(data, self.key(one.column), one.condition, value)
        return data

    def _scalar(self, data: Ref, scalar: Scalar) -> Ref | int | float:
        if isinstance(scalar, Number):
            return scalar.value
        if isinstance(scalar, Aggregate):
            rows = self._filtered(data, scalar.where)
            return self.aggregate(rows, scalar)
        left, right = self._scalar(data, scalar.left), self._scalar(data, scalar.right)
        return self.add("Calculator", "value", input_1=left, input_2=right, operation=scalar.operation)

    @abstractmethod
    def filter(self, data: Ref, key: str, condition: Condition, value: Any) -> Ref: ...

    @abstractmethod
    def substring(self, data: Ref, key: str, start: int, end: int) -> Ref: ...

    @abstractmethod
    def date_part(self, data: Ref, key: str, pattern: str) -> Ref: ...

    @abstractmethod
    def sort(self, data: Ref, key: str, ascending: bool) -> Ref: ...

    @abstractmethod
    def aggregate(self, data: Ref, aggregate: Aggregate) -> Ref: ...

    @abstractmethod
    def columns(self, data: Ref, keys: list[str], distinct: bool, limit: int | None) -> int: ...


class _SlotWriter(_Writer):
    def filter(self, data: Ref, key: str, condition: Condition, value: Any) -> Ref:
        return self.add("filter_data", "handle", data_label=data, key_name=key, value=value, condition=condition)

    def substring(self, data: Ref, key: str, start: int, end: int) -> Ref:
        return self.add(
            "transform_data",
            "handle",
            data_label=data,
            key_name=key,
            operation_type="substring",
            operation_args={"start_index": start, "end_index": end},
        )

    def date_part(self, data: Ref, key: str, pattern: str) -> Ref:
        return self.add(
            "transform_data",
            "handle",
            data_label=data,
            key_name=key,
            operation_type="datetime",
            operation_args={"pattern": pattern},
        )

    def sort(self, data: Ref, key: str, ascending: bool) -> Ref:
        return self.add("sort_data", "handle", data_label=data, key_name=key, ascending=ascending)

    def aggregate(self, data: Ref, aggregate: Aggregate) -> Ref:
        arguments: dict[str, Any] = {"data_label": data, "aggregation_operation": aggregate.function}
        if aggregate.column is not None:
            arguments["key_name"] = self.key(aggregate.column)
        if aggregate.distinct:
            arguments["distinct"] = True
        return self.add("aggregate_data", "value", **arguments)

    def columns(self, data: Ref, keys: list[str], distinct: bool, limit: int | None) -> int:
        if distinct and len(keys) > 1:
            raise NotBuildable("distinct rows of several columns")
        arguments: dict[str, Any] = {"data_label": data, "key_name": keys[0] if len(keys) == 1 else keys}
        if distinct:
            arguments["distinct"] = True
        if limit is not None:
            arguments["limit"] = limit
        self.add("retrieve_data", "handle", **arguments)
        return 1


class _SelWriter(_Writer):
    def filter(self, data: Ref, key: str, condition: Condition, value: Any) -> Ref:
        return self.add(f"select_data_{condition}", "handle", data_label=data, key_name=key, value=value)

    def substring(self, data: Ref, key: str, start: int, end: int) -> Ref:
        return self.add(
            "transform_data_to_substring", "handle", data_label=data, key_name=key, start_index=start, end_index=end
        )

    def date_part(self, data: Ref, key: str, pattern: str) -> Ref:
        return self.add(
            "transform_data_to_datetime_part", "handle", data_label=data, key_name=key, datetime_pattern=pattern
        )

    def sort(self, data: Ref, key: str, ascending: bool) -> Ref:
        name = "sort_data_ascending" if ascending else "sort_data_descending"
        return self.add(name, "handle", data_label=data, key_name=key)

    def aggregate(self, data: Ref, aggregate: Aggregate) -> Ref:
        arguments: dict[str, Any] = {"data_label": data}
        if aggregate.column is not None:
            arguments["key_name"] = self.key(aggregate.column)
        if aggregate.distinct:
            arguments["distinct"] = True
        return self.add(f"compute_data_{aggregate.function}", "value", **arguments)

    def columns(self, data: Ref, keys: list[str], distinct: bool, limit: int | None) -> int:
        if len(keys) > 1 and (distinct or limit is not None):
            raise NotBuildable("distinct or limited rows of several columns")
        for key in keys:
            last = self.add(f"get_{key}s", "value", data_label=data)
        if distinct:
            last = self.add("select_unique_values", "value", unique_array=last)
        if limit is not None:
            self.add("truncate", "value", truncate_array=last, n=limit)
        return len(keys)
