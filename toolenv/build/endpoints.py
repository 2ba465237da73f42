"""The endpoints of a domain: every question's SQL as a template, equal templates merged."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from toolenv.build.database_schema import DatabaseSchema
from toolenv.build.distinctions import distinction
from toolenv.build.source import NotBuildable, Question
from toolenv.build.template import make_template
from toolenv.build.truth import Rows, envelope_rows, same_rows
from toolenv.build.wording import operation_id, summary
from toolenv.dashboards.application import body
from toolenv.dashboards.database import cell
from toolenv.dashboards.definition import Endpoint
from toolenv.model import Json

LONGEST_NAME = 64
"""Characters that a tool's name may have for the endpoints of models."""


def refuse_other_answer(
    connection: sqlite3.Connection, endpoint: Endpoint, arguments: Mapping[str, Json], gold: Rows
) -> None:
    """Raise ``NotBuildable`` when the endpoint's SQL with the arguments, in its envelope, is not the gold answer."""
    try:
        cursor = connection.execute(endpoint.sql, arguments)
        rows = [tuple(cell(value) for value in row) for row in cursor.fetchall()]
    except (sqlite3.Error, OverflowError) as error:
        raise NotBuildable(f"the parameterised SQL fails: {error}") from error
    given = envelope_rows(body(endpoint, [c[0] for c in cursor.description or ()], rows))
    if not same_rows(given, [tuple(cell(value) for value in row) for row in gold]):
        raise NotBuildable(
            f"the endpoint answers {len(given)} rows that are not the {len(gold)} of the gold SQL"
            if len(given) != len(gold)
            else "the endpoint's answer is not that of the gold SQL"
        )


def _told(endpoint: Endpoint) -> tuple[str, ...]:
    """What an endpoint says of itself."""
    return (endpoint.summary, *(parameter.description for parameter in endpoint.parameters))


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

    def told_apart(self) -> tuple[Endpoint, ...]:
        """The endpoints, where several have one summary each with what sets it apart."""
        alike = Counter(_told(endpoint) for endpoint in self.endpoints)
        return tuple(
            msgspec.structs.replace(endpoint, summary=f"{endpoint.summary} ({apart})")
            if alike[_told(endpoint)] > 1 and (apart := distinction(endpoint.sql))
            else endpoint
            for endpoint in self.endpoints
        )

    def add(self, question: Question) -> tuple[Endpoint, Mapping[str, Json]]:
        """The endpoint that answers a question's SQL, made if it is new, and the question's own arguments.

        Raises ``NotBuildable`` with the reason when the SQL cannot become an endpoint.
        """
        template = make_template(question.sql, self._schema)
        known = self._by_key.get(template.key)
        if known is not None:
            return known, template.arguments
        words = (template.subject, template.table, template.order, template.parameters)
        if question.operation_id is not None:
            name = self._free_name(lambda ending: f"{question.operation_id}{ending}")
        else:
            made = operation_id(*words)
            name = self._free_name(lambda ending: _fitting(made, ending))
        endpoint = Endpoint(
            operation_id=name,
            path=f"/v1/{self._domain}/{name.removeprefix('get_')}",
            sql=template.sql,
            response=template.response,
            summary=summary(*words),
            parameters=template.parameters,
        )
        self._by_key[template.key] = endpoint
        return endpoint, template.arguments

    def remove(self, endpoint: Endpoint) -> None:
        """Take an endpoint out again."""
        self._by_key = {key: known for key, known in self._by_key.items() if known is not endpoint}
        self._names.discard(endpoint.operation_id)

    def _free_name(self, with_ending: Callable[[str], str]) -> str:
        """The first name that no endpoint has: without an ending, else with a number."""
        name, number = with_ending(""), 2
        while name in self._names:
            name, number = with_ending(f"_{number}"), number + 1
        self._names.add(name)
        return name


def _fitting(name: str, ending: str) -> str:
    """A made name and its ending, cut between two words where it is longer than an endpoint of a model takes."""
    room = LONGEST_NAME - len(ending)
    if len(name) > room:
        name = name[: room + 1].rpartition("_")[0] or name[:room]
    return name + ending
