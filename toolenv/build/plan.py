"""The small relational plan that the BI tools can carry out."""

from __future__ import annotations

from typing import Any, Literal

from toolenv.model import Value

Condition = Literal[
    "equal_to", "not_equal_to", "greater_than", "less_than", "greater_than_equal_to", "less_than_equal_to", "like"
]
AggregateFunction = Literal["min", "max", "sum", "mean", "count"]
ArithmeticOperation = Literal["add", "subtract", "multiply", "divide"]


class ColumnRef(Value, frozen=True):
    """A column of an aliased table, both spelled as in the schema."""

    alias: str
    column: str


class Filter(Value, frozen=True):
    """Rows whose column meets a condition; with ``date_part`` (``%Y``, ``%m``, ``%d``) that part of a date does, with
    ``substring`` the characters from one position up to another. ``value`` is a JSON value or an ``Aggregate`` of
    all rows.
    """

    column: ColumnRef
    condition: Condition
    value: Any
    date_part: str | None = None
    substring: tuple[int, int] | None = None


Conjunction = tuple[Filter, ...]


class Aggregate(Value, frozen=True):
    """One number from the rows that also meet ``where``; without a column the number of rows."""

    function: AggregateFunction
    column: ColumnRef | None = None
    distinct: bool = False
    where: Conjunction = ()


class Number(Value, frozen=True):
    value: int | float


class Arithmetic(Value, frozen=True):
    operation: ArithmeticOperation
    left: Scalar
    right: Scalar


Scalar = Aggregate | Number | Arithmetic


class PlanTable(Value, frozen=True):
    alias: str
    table: str


class Join(Value, frozen=True):
    left: ColumnRef
    right: ColumnRef


class Ordering(Value, frozen=True):
    column: ColumnRef
    ascending: bool


class SelectPlan(Value, frozen=True):
    """A SELECT without grouping: inner joins, filters (a disjunction of conjunctions), then columns or one scalar."""

    tables: tuple[PlanTable, ...]
    joins: tuple[Join, ...]
    filters: tuple[Conjunction, ...]
    columns: tuple[ColumnRef, ...] = ()
    scalar: Scalar | None = None
    distinct: bool = False
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
