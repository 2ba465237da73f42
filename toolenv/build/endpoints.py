"""The endpoints of a domain: every question's SQL as a template, equal templates merged."""

from __future__ import annotations

from collections.abc import Mapping

from toolenv.build.database_schema import DatabaseSchema
from toolenv.build.source import Question
from toolenv.build.template import make_template
from toolenv.build.wording import operation_id, summary
from toolenv.dashboards.definition import Endpoint
from toolenv.model import Json


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
        words = (template.subject, template.table, template.order, template.parameters)
        name = self._free_name(question.operation_id or operation_id(*words))
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

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._names:
            name, number = f"{wanted}_{number}", number + 1
        self._names.add(name)
        return name
