"""Answers that the order of rows decides, seen in the calls of a ground truth: a limit through rows of equal rank."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from sessions.dataflow.calls import MadeCall, MadeCalls
from toolenv.dashboards.database import open_read_only
from toolenv.dashboards.definition import Endpoint, load_endpoints
from toolenv.dataset import Dataset
from toolenv.environment import TableView
from toolenv.errors import VakraError
from toolenv.values import key, keys_equal

_NO_LIMIT = -1


def order_decided(calls: MadeCalls) -> Iterator[str]:
    """A sentence for every limit in a chain of BI tools that cuts through rows of equal rank, or through unsorted ones.

    A limit counts only where the rows that it parts differ in what is read of them.
    """
    made = {call.result.handle: call for call in calls.calls if call.result is not None and call.result.handle}
    getters: list[tuple[MadeCall, str, str]] = []
    for call in calls.calls:
        handle = str(call.arguments.get("data_label", ""))
        if call.call.name == "retrieve_data":
            limit = call.arguments.get("limit", _NO_LIMIT)
            columns = call.arguments.get("key_name")
            names = columns if isinstance(columns, list) else [columns]
            if isinstance(limit, int) and limit >= 0 and not call.arguments.get("distinct"):
                yield from _cut(call, made, handle, limit, [str(n) for n in names])
        elif call.call.name.startswith("get_") and call.call.name != "get_data":
            getters.append((call, handle, call.call.name.removeprefix("get_").removesuffix("s")))
        elif call.call.name == "truncate" and getters:
            limit = call.arguments.get("n")
            source, handle, column = getters[-1]
            if isinstance(limit, int) and source.number == call.number - 1:
                yield from _cut(call, made, handle, limit, [column])


def _cut(call: MadeCall, made: Mapping[str, MadeCall], handle: str, limit: int, columns: list[str]) -> Iterator[str]:
    producer = made.get(handle)
    table = producer.table if producer is not None else None
    if table is None or limit < 1 or table.num_records <= limit:
        return
    keys = []
    while producer is not None and producer.call.name.startswith("sort_data") and producer.arguments.get("key_name"):
        keys.append(str(producer.arguments["key_name"]))
        producer = made.get(str(producer.arguments.get("data_label", "")))
    kept, dropped = table.rows(limit - 1, limit)[0], table.rows(limit, limit + 1)[0]
    if not _same(table, kept, dropped, keys) or _same(table, kept, dropped, columns):
        return
    how = f"rows with equal {', '.join(keys)}" if keys else "rows that nothing sorts"
    yield f"call {call.number} ({call.call.name}) keeps {limit} of {how}"


def _same(table: TableView, one: tuple[object, ...], other: tuple[object, ...], columns: list[str]) -> bool:
    places = {column.name: index for index, column in enumerate(table.columns)}
    return all(
        keys_equal(key(one[places[c]]), key(other[places[c]]))  # type: ignore[arg-type]
        for c in columns
        if c in places
    )


class EndpointTies:
    """Whether an endpoint's SQL, with the arguments of a call, keeps a part of rows of equal rank."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._endpoints: dict[str, Mapping[str, Endpoint]] = {}
        self._connections: dict[str, sqlite3.Connection | None] = {}

    def close(self) -> None:
        for connection in self._connections.values():
            if connection is not None:
                connection.close()

    def found(self, domain: str, calls: MadeCalls) -> Iterator[str]:
        """A sentence for every call whose answer the data do not determine; none where the SQL is not known."""
        from toolenv.build.source import NotBuildable
        from toolenv.build.ties import refuse_tie

        endpoints, connection = self._of(domain), self._connections.get(domain)
        for call in calls.calls:
            endpoint = endpoints.get(call.call.name)
            if endpoint is None or connection is None or call.failed:
                continue
            try:
                refuse_tie(connection, endpoint.sql, call.arguments)
            except NotBuildable as error:
                yield f"call {call.number} ({call.call.name}): {error}"
            except sqlite3.Error:
                continue

    def _of(self, domain: str) -> Mapping[str, Endpoint]:
        if domain not in self._endpoints:
            path = self._dataset.endpoints(domain)
            try:
                found = load_endpoints(path).endpoints if path is not None else ()
                self._connections[domain] = open_read_only(self._dataset.database(domain)) if found else None
            except VakraError:
                found = ()
            self._endpoints[domain] = {endpoint.operation_id: endpoint for endpoint in found}
        return self._endpoints[domain]
