"""Gold SQL as parameterised dashboard endpoints: literals become typed parameters, equal templates merge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolenv.build.database_schema import Column, DatabaseSchema
from toolenv.build.plan import date_part, literal_value, parse_select
from toolenv.build.source import NotBuildable, Question
from toolenv.dashboards.definition import Endpoint, EndpointParameter, Envelope, ParameterType
from toolenv.model import Json, Value

_GENERIC_NAMES = {"id", "name", "code", "type", "title", "date", "value", "kind", "number"}


class Template(Value, frozen=True):
    """A SELECT without its literals, and the arguments with which it is the SELECT that it was made from.

    ``order`` says in words what a LIMIT keeps (``highest_length_km``); templates with equal ``key`` are one endpoint.
    """

    sql: str
    parameters: tuple[EndpointParameter, ...]
    response: Envelope
    arguments: Mapping[str, Json]
    subject: str
    table: str
    order: str
    key: str


class EndpointCatalogue:
    """The endpoints of a domain: each template once, with a name of its own."""

    def __init__(self, domain: str, schema: DatabaseSchema) -> None:
        self._domain = domain
        self._schema = schema
        self._by_key: dict[str, Endpoint] = {}
        self._names: set[str] = set()

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(self._by_key.values())

    def add(self, question: Question) -> tuple[Endpoint, Mapping[str, Json]]:
        """The endpoint that answers a question's SQL, made if it is new, and the question's own arguments.

        Raises ``NotBuildable`` with the reason when the SQL cannot become an endpoint.
        """
        template = make_template(question.sql, self._schema)
        known = self._by_key.get(template.key)
        if known is not None:
            return known, template.arguments
        name = self._free_name(question.operation_id or _operation_id(template))
        endpoint = Endpoint(
            operation_id=name,
            path=f"/v1/{self._domain}/{name.removeprefix('get_')}",
            sql=template.sql,
            response=template.response,
            summary=_summary(template),
            parameters=template.parameters,
        )
        self._by_key[template.key] = endpoint
        return endpoint, template.arguments

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._names:
            name, number = f"{wanted}_{number}", number + 1
        self._names.add(name)
        return name


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
        self._parameters: dict[str, EndpointParameter] = {}
        self._arguments: dict[str, Json] = {}

    def make(self) -> Template:
        exp = self._exp
        unique = self._selects_one_row()
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
            response=Envelope(key=key, shape=shape),  # type: ignore[arg-type]
            arguments=self._arguments,
            subject="_and_".join(names[:3]),
            table=next(iter(self._tables.values())),
            order=self._order(),
            key=self._key(),
        )

    def _order(self) -> str:
        """What ORDER BY and LIMIT pick, in words; empty where they pick nothing."""
        exp, order, limit = self._exp, self._tree.args.get("order"), self._tree.args.get("limit")
        if order is None or limit is None:
            return ""
        first = order.expressions[0]
        column = next(iter(first.find_all(exp.Column)), None)
        name = _plain(column.name) if column is not None else "order"
        if first.find(exp.Count):
            name = "count"
        number = limit.expression.name
        return ("highest_" if first.args.get("desc") else "lowest_") + (f"{number}_" if number != "1" else "") + name

    def _key(self) -> str:
        """The template's text without quotes around identifiers and with aliases numbered, in lower case."""
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
        table, known = found
        kind = _literal_type(literal, known.type if part is None else "string")
        wanted = prefix + (_PARTS[part[0]] + "_" if part else "") + _plain(_qualified(table, known.name))
        name, number = wanted, 2
        while name in self._parameters:
            name, number = f"{wanted}_{number}", number + 1
        self._parameters[name] = EndpointParameter(
            name=name, type=kind, description=_describe(table, known.name, prefix, part[0] if part else None)
        )
        self._arguments[name] = float(literal) if kind == "number" and not isinstance(literal, float) else literal
        value.replace(exp.Placeholder(this=name))

    def _schema_column(self, node: Any) -> tuple[str, Column] | None:
        for alias, table in self._tables.items():
            if node.table and node.table.lower() != alias.lower():
                continue
            column = self._schema.table(table).column(node.name)
            if column is not None:
                return table, column
        return None

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
            return _plain(_qualified(found[0], found[1].name)) if found else _plain(node.name)
        if isinstance(node, exp.Count):
            return "count"
        word = words.get(type(node))
        inner = next(iter(node.find_all(exp.Column)), None)
        if word and inner is not None and not node.find(exp.Case):
            return f"{word}_{_plain(inner.name)}"
        if node.find(exp.Div):
            return "percentage" if any(lit.this in ("100", "100.0") for lit in node.find_all(exp.Literal)) else "ratio"
        return "value"

    def _envelope(self, names: Sequence[str], unique: bool) -> tuple[str, str]:
        exp, tree = self._exp, self._tree
        if len(names) > 1 or isinstance(tree.expressions[0], exp.Star):
            return _plural(_plain(next(iter(self._tables.values())))), "objects"
        limit = tree.args.get("limit")
        one = limit is not None and limit.expression.name == "1"
        aggregated = not tree.args.get("group") and all(p.find(exp.AggFunc) is not None for p in tree.expressions)
        if one or aggregated or unique:
            return names[0], "scalar"
        return _plural(names[0]), "list"

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


_PREFIXES = {"GT": "min_", "GTE": "min_", "LT": "max_", "LTE": "max_", "NEQ": "not_"}
_MIRRORED = {"GT": "max_", "GTE": "max_", "LT": "min_", "LTE": "min_", "NEQ": "not_"}
_PARTS = {"%Y": "year", "%m": "month", "%d": "day"}


def _literal_type(literal: Json, declared: ParameterType) -> ParameterType:
    if isinstance(literal, str):
        return "string"
    if declared == "number" or isinstance(literal, float):
        return "number"
    return "integer"


def _plain(name: str) -> str:
    """A name as a lower-case identifier."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    plain = re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")
    return plain if plain and not plain[0].isdigit() else f"c_{plain}"


def _qualified(table: str, column: str) -> str:
    """A column's name; a generic one is preceded by its table's."""
    return f"{table}_{column}" if column.lower() in _GENERIC_NAMES else column


def _plural(name: str) -> str:
    if name.endswith("y") and not name.endswith(("ay", "ey", "oy")):
        return name[:-1] + "ies"
    return name if name.endswith("s") else name + "s"


def _operation_id(template: Template) -> str:
    subject = f"{template.subject}_of_{_plain(template.table)}" if template.subject == "count" else template.subject
    if template.order:
        subject = f"{subject}_with_{template.order}"
    parameters = "_and_".join(p.name for p in template.parameters[:3])
    return f"get_{_plain(subject)}" + (f"_by_{parameters}" if parameters else "")


def _summary(template: Template) -> str:
    subject = template.subject.replace("_and_", ", ").replace("_", " ").capitalize()
    if template.order:
        subject += f" with the {template.order.replace('_', ' ')}"
    given = ", ".join(p.description.split(" (")[0].lower() for p in template.parameters)
    table = template.table.replace("_", " ")
    of = "" if table.lower() in subject.lower().split() else f" of {table}"
    return f"{subject}{of}" + (f" for a given {given}" if given else "")


def _describe(table: str, column: str, prefix: str, part: str | None) -> str:
    words = {"min_": "Lower bound for ", "max_": "Upper bound for ", "not_": "Anything but this "}.get(prefix, "")
    inner = column if table.lower() in column.lower() else f"{table} {column}"
    inner = inner.replace("_", " ")
    if part is not None:
        inner = f"{_PARTS[part]} of {inner}"
    text = words + inner
    return text[0].upper() + text[1:] + f" ({table}.{column})"


def catalogue_of(domain: str, schema: DatabaseSchema, questions: Iterable[Question]) -> EndpointCatalogue:
    """A catalogue of the endpoints of some questions. Raises ``NotBuildable`` at the first that cannot be one."""
    catalogue = EndpointCatalogue(domain, schema)
    for question in questions:
        catalogue.add(question)
    return catalogue
