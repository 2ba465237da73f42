"""Gold SQL read into the plan of the BI tools."""

from __future__ import annotations

from typing import Any

from toolenv.build.database_schema import DatabaseSchema
from toolenv.build.expressions import date_part, literal_value, parse_select, substring
from toolenv.build.plan import (
    Aggregate,
    AggregateFunction,
    Arithmetic,
    ArithmeticOperation,
    ColumnRef,
    Condition,
    Conjunction,
    Filter,
    Join,
    Number,
    Ordering,
    PlanTable,
    Scalar,
    SelectPlan,
)
from toolenv.build.source import NotBuildable


def read_plan(sql: str, schema: DatabaseSchema) -> SelectPlan:
    """The plan of one SELECT. Raises ``NotBuildable`` that names what the BI tools cannot do."""
    return _Reader(parse_select(sql), schema).plan()


class _Reader:
    def __init__(self, tree: Any, schema: DatabaseSchema) -> None:
        from sqlglot import exp

        self._exp = exp
        self._tree = tree
        self._schema = schema
        self._tables: dict[str, str] = {}

    def plan(self) -> SelectPlan:
        exp, tree = self._exp, self._tree
        for part, name in (("group", "GROUP BY"), ("having", "HAVING"), ("with_", "WITH"), ("windows", "WINDOW")):
            if tree.args.get(part):
                raise NotBuildable(f"{name} is not among what the BI tools can do")
        if any(s is not tree and not self._is_one_aggregate(s) for s in tree.find_all(exp.Select)):
            raise NotBuildable("a sub-select is not among what the BI tools can do")
        source = tree.args.get("from_") or tree.args.get("from")
        if source is None:
            raise NotBuildable("the SELECT reads no table")
        self._add_table(source.this)
        joins = [self._join(join) for join in tree.args.get("joins") or ()]
        where = tree.args.get("where")
        filters = self._disjunction(where.this) if where is not None else ((),)
        projections = [p.this if isinstance(p, exp.Alias) else p for p in tree.expressions]
        columns: tuple[ColumnRef, ...] = ()
        scalar = None
        if all(isinstance(p, exp.Column) for p in projections):
            columns = tuple(self._column(p) for p in projections)
        elif len(projections) == 1:
            scalar = self._scalar(projections[0])
        else:
            raise NotBuildable("several aggregates in one SELECT cannot be one chain")
        return SelectPlan(
            tables=tuple(PlanTable(alias=a, table=t) for a, t in self._tables.items()),
            joins=tuple(joins),
            filters=filters,
            columns=columns,
            scalar=scalar,
            distinct=tree.args.get("distinct") is not None,
            order=self._order(),
            limit=self._limit(),
        )

    def _is_one_aggregate(self, select: Any) -> bool:
        """Whether a sub-select is one aggregate of a column of one table that the SELECT reads, compared with a
        column.
        """
        exp = self._exp
        parent = select.parent.parent if isinstance(select.parent, exp.Subquery) else None
        compared = isinstance(parent, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE)
        parts = ("where", "joins", "group", "having", "order", "limit", "distinct", "with_")
        source = select.args.get("from_") or select.args.get("from")
        read = {t.name.lower() for t in self._tree.find_all(exp.Table) if t.find_ancestor(exp.Select) is self._tree}
        return (
            compared
            and not any(select.args.get(part) for part in parts)
            and isinstance(source.this, exp.Table)
            and source.this.name.lower() in read
            and len(select.expressions) == 1
            and isinstance(select.expressions[0], exp.AggFunc)
        )

    def _add_table(self, node: Any) -> str:
        if not isinstance(node, self._exp.Table):
            raise NotBuildable("only tables can be joined")
        table = self._schema.table(node.name)
        alias = node.alias or table.name
        self._tables[alias] = table.name
        return alias

    def _join(self, join: Any) -> Join:
        exp = self._exp
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        if side or kind not in ("", "INNER"):
            raise NotBuildable(f"only inner joins can be made, not {' '.join(filter(None, (side, kind)))} JOIN")
        self._add_table(join.this)
        condition = join.args.get("on")
        if not isinstance(condition, exp.EQ) or not all(
            isinstance(s, exp.Column) for s in (condition.left, condition.right)
        ):
            raise NotBuildable("a join needs one equality of two columns")
        return Join(left=self._column(condition.left), right=self._column(condition.right))

    def _column(self, node: Any) -> ColumnRef:
        name, qualifier = node.name, node.table
        for alias, table in self._tables.items():
            if qualifier and qualifier.lower() != alias.lower():
                continue
            column = self._schema.table(table).column(name)
            if column is not None:
                return ColumnRef(alias=alias, column=column.name)
        raise NotBuildable(f"column {name!r} is not in the tables of the SELECT")

    def _disjunction(self, node: Any) -> tuple[Conjunction, ...]:
        exp = self._exp
        node = node.unnest()
        if isinstance(node, exp.Or):
            return (*self._disjunction(node.left), *self._disjunction(node.right))
        if isinstance(node, exp.And):
            left, right = self._disjunction(node.left), self._disjunction(node.right)
            return tuple((*a, *b) for a in left for b in right)
        if isinstance(node, exp.In) and node.expressions:
            return tuple((self._comparison(node.this, "equal_to", value),) for value in node.expressions)
        return (self._atom(node),)

    def _conjunction(self, node: Any) -> Conjunction:
        found = self._disjunction(node)
        if len(found) != 1:
            raise NotBuildable("OR inside a CASE is not among what the BI tools can do")
        return found[0]

    def _atom(self, node: Any) -> Conjunction:
        exp = self._exp
        conditions: dict[type, Condition] = {
            exp.EQ: "equal_to",
            exp.NEQ: "not_equal_to",
            exp.GT: "greater_than",
            exp.LT: "less_than",
            exp.GTE: "greater_than_equal_to",
            exp.LTE: "less_than_equal_to",
            exp.Like: "like",
        }
        if type(node) in conditions:
            return (self._comparison(node.left, conditions[type(node)], node.right),)
        if isinstance(node, exp.Between):
            return (
                self._comparison(node.this, "greater_than_equal_to", node.args["low"]),
                self._comparison(node.this, "less_than_equal_to", node.args["high"]),
            )
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return (Filter(column=self._column_of(node.this), condition="equal_to", value=None),)
        if isinstance(node, exp.Not):
            inner = node.this.unnest()
            if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
                return (Filter(column=self._column_of(inner.this), condition="not_equal_to", value=None),)
        raise NotBuildable(f"the condition {node.sql('sqlite')} is not among what the BI tools can do")

    def _column_of(self, node: Any) -> ColumnRef:
        if not isinstance(node, self._exp.Column):
            raise NotBuildable(f"the expression {node.sql('sqlite')} is not a column")
        return self._column(node)

    def _comparison(self, left: Any, condition: Condition, right: Any) -> Filter:
        part = date_part(left)
        if part is not None:
            pattern, column = part
            value = literal_value(right)
            if not str(value).isdigit():
                raise NotBuildable("a part of a date can be compared with a number only")
            return Filter(column=self._column_of(column), condition=condition, value=int(value), date_part=pattern)
        cut = substring(left)
        if cut is not None:
            return Filter(
                column=self._column_of(cut[0]), condition=condition, value=literal_value(right), substring=cut[1]
            )
        if isinstance(right, self._exp.Subquery):
            aggregate = self._aggregate(right.this.expressions[0])
            return Filter(column=self._column_of(left), condition=condition, value=aggregate)
        return Filter(column=self._column_of(left), condition=condition, value=literal_value(right))

    def _scalar(self, node: Any) -> Scalar:
        exp = self._exp
        node = node.unnest()
        operations: dict[type, ArithmeticOperation] = {
            exp.Add: "add",
            exp.Sub: "subtract",
            exp.Mul: "multiply",
            exp.Div: "divide",
        }
        if type(node) in operations:
            return Arithmetic(
                operation=operations[type(node)], left=self._scalar(node.left), right=self._scalar(node.right)
            )
        if isinstance(node, exp.Cast):
            return self._scalar(node.this)
        if isinstance(node, exp.Literal) and not node.is_string:
            return Number(value=literal_value(node))
        return self._aggregate(node)

    def _aggregate(self, node: Any) -> Aggregate:
        exp = self._exp
        functions: dict[type, AggregateFunction] = {
            exp.Min: "min",
            exp.Max: "max",
            exp.Sum: "sum",
            exp.Avg: "mean",
            exp.Count: "count",
        }
        function = functions.get(type(node))
        if function is None:
            raise NotBuildable(f"the expression {node.sql('sqlite')} is not among what the BI tools can do")
        inner, distinct = node.this, False
        if isinstance(inner, exp.Distinct):
            inner, distinct = inner.expressions[0], True
        if isinstance(inner, exp.Star):
            return Aggregate(function=function)
        if isinstance(inner, exp.If):
            inner = exp.Case(ifs=[exp.If(this=inner.this, true=inner.args["true"])], default=inner.args.get("false"))
        if isinstance(inner, exp.Case):
            return self._counting_case(function, inner)
        column = self._column_of(inner)
        where: Conjunction = ()
        if function == "count" and self._schema.table(self._tables[column.alias]).column(column.column).nullable:  # type: ignore[union-attr]
            # The tool counts NULLs (quirk S10), SQL does not.
            where = (Filter(column=column, condition="not_equal_to", value=None),)
        return Aggregate(function=function, column=column, distinct=distinct, where=where)

    def _counting_case(self, function: AggregateFunction, case: Any) -> Aggregate:
        branches: Any = case.args.get("ifs") or ()
        if len(branches) != 1 or case.this is not None:
            raise NotBuildable("only a CASE with one WHEN can be one filter")
        then, otherwise = branches[0].args["true"], case.args.get("default")
        none = otherwise is None or isinstance(otherwise, self._exp.Null)
        where = self._conjunction(branches[0].this)
        if isinstance(then, self._exp.Column) and (none or (function == "sum" and literal_value(otherwise) == 0)):
            return Aggregate(function=function, column=self._column(then), where=where)
        counts = function == "count" and none
        sums = function == "sum" and literal_value(then) == 1 and (none or literal_value(otherwise) == 0)
        if counts or sums:
            return Aggregate(function="count", where=where)
        raise NotBuildable(f"the expression {case.sql('sqlite')} is not a count or a sum under a condition")

    def _order(self) -> tuple[Ordering, ...]:
        order = self._tree.args.get("order")
        if order is None:
            return ()
        return tuple(
            Ordering(column=self._column_of(o.this), ascending=not o.args.get("desc")) for o in order.expressions
        )

    def _limit(self) -> int | None:
        limit = self._tree.args.get("limit")
        if self._tree.args.get("offset") is not None:
            raise NotBuildable("OFFSET is not among what the BI tools can do")
        return None if limit is None else int(literal_value(limit.expression))
