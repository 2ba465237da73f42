"""A SELECT without its literals: the template that an endpoint answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from toolenv.build.database_schema import Column, DatabaseSchema
from toolenv.build.expressions import date_part, literal_value, parse_select
from toolenv.build.source import NotBuildable
from toolenv.build.wording import DATE_PARTS, describe, plain, plural, qualified
from toolenv.dashboards.definition import EndpointParameter, Envelope, ParameterType, Shape
from toolenv.model import Json, Value

_EXACT = 2**53

_PREFIXES = {"GT": "min_", "GTE": "min_", "LT": "max_", "LTE": "max_", "NEQ": "not_"}
_MIRRORED = {"GT": "max_", "GTE": "max_", "LT": "min_", "LTE": "min_", "NEQ": "not_"}


class SourceColumn(Value, frozen=True):
    """A column of a table, both spelled as in the schema."""

    table: str
    column: str


class Bound(Value, frozen=True):
    """What a parameter is compared with. ``equality`` holds for a plain ``=`` with the bare column."""

    source: SourceColumn
    equality: bool


class Template(Value, frozen=True):
    """A SELECT without its literals, and the arguments with which it is the SELECT that it was made from.

    ``order`` says in words what a LIMIT keeps (``highest_length_km``); templates with equal ``key`` are one endpoint.
    ``bounds`` holds for every parameter the column that it is compared with, ``outputs`` the column behind every
    part of
    the projection, None where it is computed.
    """

    sql: str
    parameters: tuple[EndpointParameter, ...]
    response: Envelope
    arguments: Mapping[str, Json]
    subject: str
    table: str
    order: str
    key: str
    bounds: Mapping[str, Bound]
    outputs: tuple[SourceColumn | None, ...]


def make_template(sql: str, schema: DatabaseSchema) -> Template:
    """One SELECT with every compared literal turned into a bind. Raises ``NotBuildable``."""
    return _TemplateMaker(parse_select(sql), schema).make()


class _TemplateMaker:
    def __init__(self, tree: Any, schema: DatabaseSchema) -> None:
        from sqlglot import exp

        self._exp = exp
        self._tree = tree.copy()
        self._schema = schema
        self._tables: dict[str, str] = {}
        for table in self._tree.find_all(exp.Table):
            self._tables.setdefault(table.alias or table.name, schema.table(table.name).name)
        if not self._tables:
            raise NotBuildable("the SELECT reads no table")
        self._roles = self._find_roles()
        self._parameters: dict[str, EndpointParameter] = {}
        self._arguments: dict[str, Json] = {}
        self._bounds: dict[str, Bound] = {}

    def make(self) -> Template:
        exp = self._exp
        unique = self._selects_one_row()
        outputs = tuple(self._output(projection) for projection in self._tree.expressions)
        for comparison in list(
            self._tree.find_all(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, bfs=False)
        ):
            self._bind(comparison.left, comparison, "expression", _PREFIXES.get(type(comparison).__name__, ""))
            self._bind(comparison.right, comparison, "this", _MIRRORED.get(type(comparison).__name__, ""))
        for between in list(self._tree.find_all(exp.Between)):
            self._bind(between.this, between, "low", "min_")
            self._bind(between.this, between, "high", "max_")
        for member in list(self._tree.find_all(exp.In)):
            for value in list(member.expressions):
                self._bind_node(member.this, value, "")
        names = self._output_names()
        key, shape = self._envelope(names, unique)
        return Template(
            sql=self._tree.sql("sqlite"),
            parameters=tuple(self._parameters.values()),
            response=Envelope(key=key, shape=shape),
            arguments=self._arguments,
            subject=self._counted() or "_and_".join(names[:3]),
            table=next(iter(self._tables.values())),
            order=self._order(),
            key=self._key(),
            bounds=self._bounds,
            outputs=outputs,
        )

    def _find_roles(self) -> dict[str, str]:
        """The part of each alias: its table's name; for a table that stands twice, the key that is joined to it."""
        exp = self._exp
        names = list(self._tables.values())
        roles = {alias.lower(): table for alias, table in self._tables.items()}
        for join in self._tree.args.get("joins") or ():
            on = join.args.get("on")
            if not isinstance(on, exp.EQ):
                continue
            for key, target in ((on.left, on.right), (on.right, on.left)):
                alias = self._alias_if_unique(target)
                if alias is not None and isinstance(key, exp.Column) and names.count(roles[alias]) > 1:
                    role = plain(key.name)
                    roles[alias] = role.removesuffix("_id").removesuffix("_code") if role != "id" else roles[alias]
        return roles

    def _owner(self, node: Any) -> str:
        alias = self._alias(node)
        return self._roles[alias] if alias is not None else ""

    def _order(self) -> str:
        """What ORDER BY and LIMIT pick, in words; empty where they pick nothing."""
        exp, order, limit = self._exp, self._tree.args.get("order"), self._tree.args.get("limit")
        if order is None or limit is None:
            return ""
        first = order.expressions[0]
        column = next(iter(first.find_all(exp.Column)), None)
        name = plain(column.name) if column is not None else "order"
        if first.find(exp.Count):
            name = "count"
        number = limit.expression.name
        return ("highest_" if first.args.get("desc") else "lowest_") + (f"{number}_" if number != "1" else "") + name

    def _key(self) -> str:
        """The template's text without quotes around identifiers, with aliases numbered and the sides of joins in order,
        in lower case."""
        exp, tree = self._exp, self._tree.copy()
        aliases = {alias.lower(): f"t{number}" for number, alias in enumerate(self._tables, 1)}
        for table in tree.find_all(exp.Table):
            table.set("alias", exp.TableAlias(this=exp.to_identifier(aliases[(table.alias or table.name).lower()])))
        for column in tree.find_all(exp.Column):
            found = self._alias(column)
            if found is not None:
                column.set("table", exp.to_identifier(aliases[found]))
        for identifier in tree.find_all(exp.Identifier):
            identifier.set("quoted", False)
        for join in tree.find_all(exp.Join):
            if (join.args.get("kind") or "").upper() == "INNER":
                join.set("kind", None)
            on = join.args.get("on")
            if isinstance(on, exp.EQ) and on.right.sql("sqlite").lower() < on.left.sql("sqlite").lower():
                left, right = on.left.copy(), on.right.copy()
                on.set("this", right)
                on.set("expression", left)
        return str(tree.sql("sqlite")).lower()

    def _bind(self, column: Any, comparison: Any, side: str, prefix: str) -> None:
        value = comparison.args.get(side)
        if value is not None:
            self._bind_node(column, value, prefix)

    def _bind_node(self, column: Any, value: Any, prefix: str) -> None:
        exp = self._exp
        part = date_part(column)
        node = part[1] if part is not None else column
        while isinstance(node, exp.Cast | exp.Paren | exp.Lower | exp.Upper | exp.Abs):
            node = node.this
        if not isinstance(node, exp.Column):
            return
        try:
            literal = literal_value(value)
        except NotBuildable:
            return
        found = self._schema_column(node)
        if found is None:
            return
        owner, known = self._owner(node), found[1]
        kind = _literal_type(literal, known.type if part is None else "string")
        wanted = prefix + (DATE_PARTS[part[0]] + "_" if part else "") + plain(qualified(owner, known.name))
        if not _is_bindable(wanted):
            wanted += "_value"
        name, number = wanted, 2
        while name in self._parameters:
            name, number = f"{wanted}_{number}", number + 1
        self._parameters[name] = EndpointParameter(
            name=name, type=kind, description=describe(owner, known.name, prefix, part[0] if part else None)
        )
        self._bounds[name] = Bound(
            source=SourceColumn(table=found[0], column=known.name),
            equality=column is node and isinstance(value.parent, exp.EQ),
        )
        self._arguments[name] = float(literal) if kind == "number" and not isinstance(literal, float) else literal
        value.replace(exp.Placeholder(this=name))

    def _output(self, projection: Any) -> SourceColumn | None:
        node = projection.this if isinstance(projection, self._exp.Alias) else projection
        found = self._schema_column(node) if isinstance(node, self._exp.Column) else None
        return SourceColumn(table=found[0], column=found[1].name) if found is not None else None

    def _schema_column(self, node: Any) -> tuple[str, Column] | None:
        for alias, table in self._tables.items():
            if node.table and node.table.lower() != alias.lower():
                continue
            column = self._schema.table(table).column(node.name)
            if column is not None:
                return table, column
        return None

    def _counted(self) -> str | None:
        """What a SELECT counts, where it counts different values of one column."""
        exp = self._exp
        (first, *more) = self._tree.expressions
        node = first.this if isinstance(first, exp.Alias) else first
        if more or not isinstance(node, exp.Count) or not isinstance(node.this, exp.Distinct):
            return None
        (column, *others) = node.this.expressions
        if others or not isinstance(column, exp.Column):
            return None
        return f"number_of_different_{plural(self._name_of(column))}"

    def _output_names(self) -> list[str]:
        """Names of the projection's columns; columns without an alias get one, so that the JSON keys are readable."""
        exp = self._exp
        names = []
        for index, projection in enumerate(self._tree.expressions):
            if isinstance(projection, exp.Alias):
                names.append(projection.alias)
                continue
            if isinstance(projection, exp.Star):
                names.append("records")
                continue
            name = self._name_of(projection)
            while name in names:
                name = f"{name}_{index + 1}"
            names.append(name)
            if not (isinstance(projection, exp.Column) and projection.name == name):
                projection.replace(exp.alias_(projection.copy(), name, quoted=not name.isidentifier()))
        return names

    def _name_of(self, node: Any) -> str:
        exp = self._exp
        words = {exp.Count: "count", exp.Avg: "average", exp.Sum: "total", exp.Max: "maximum", exp.Min: "minimum"}
        if isinstance(node, exp.Column):
            found = self._schema_column(node)
            return plain(qualified(self._owner(node), found[1].name)) if found else plain(node.name)
        if isinstance(node, exp.Count):
            return "count"
        word = words.get(type(node))
        inner = next(iter(node.find_all(exp.Column)), None)
        if word and inner is not None and not node.find(exp.Case):
            return f"{word}_{plain(inner.name)}"
        if node.find(exp.Div):
            return "percentage" if any(lit.this in ("100", "100.0") for lit in node.find_all(exp.Literal)) else "ratio"
        return "value"

    def _envelope(self, names: Sequence[str], unique: bool) -> tuple[str, Shape]:
        exp, tree = self._exp, self._tree
        if len(names) > 1 or isinstance(tree.expressions[0], exp.Star):
            return plural(plain(next(iter(self._tables.values())))), "objects"
        limit = tree.args.get("limit")
        one = limit is not None and limit.expression.name == "1"
        aggregated = not tree.args.get("group") and all(p.find(exp.AggFunc) is not None for p in tree.expressions)
        if one or aggregated or unique:
            return names[0], "scalar"
        return plural(names[0]), "list"

    def _selects_one_row(self) -> bool:
        """Whether a key of a table is fixed and every other table is its parent, so that there is at most one row."""
        exp, tree = self._exp, self._tree
        where = tree.args.get("where")
        if where is None or where.find(exp.Or) or tree.args.get("group"):
            return False
        fixed: set[str] = set()
        for equal in where.find_all(exp.EQ):
            if isinstance(equal.left, exp.Column) and isinstance(equal.right, exp.Literal):
                alias = self._alias_if_unique(equal.left)
                if alias is not None:
                    fixed.add(alias)
        joins = [j.args.get("on") for j in tree.args.get("joins") or ()]
        grown = True
        while grown:
            grown = False
            for on in joins:
                if not isinstance(on, exp.EQ):
                    continue
                for one, other in ((on.left, on.right), (on.right, on.left)):
                    target = self._alias_if_unique(other)
                    if self._alias(one) in fixed and target is not None and target not in fixed:
                        fixed.add(target)
                        grown = True
        return fixed == {alias.lower() for alias in self._tables}

    def _alias(self, node: Any) -> str | None:
        for alias, table in self._tables.items():
            if (node.table and node.table.lower() == alias.lower()) or (
                not node.table and self._schema.table(table).column(node.name) is not None
            ):
                return alias.lower()
        return None

    def _alias_if_unique(self, node: Any) -> str | None:
        if not isinstance(node, self._exp.Column):
            return None
        found = self._schema_column(node)
        return self._alias(node) if found is not None and found[1].unique else None


@lru_cache(maxsize=4096)
def _is_bindable(name: str) -> bool:
    """Whether a name can stand after a colon: some reserved words cannot be read back."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        sqlglot.parse_one(f"SELECT 1 WHERE a = :{name}", read="sqlite")
    except SqlglotError:
        return False
    return True


def _literal_type(literal: Json, declared: ParameterType) -> ParameterType:
    if isinstance(literal, str):
        return "string"
    if isinstance(literal, float):
        return "number"
    # A whole number that a float cannot hold would change on its way through a number parameter.
    return "number" if declared == "number" and abs(literal) <= _EXACT else "integer"
