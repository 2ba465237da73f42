"""The endpoint file of a domain, ``vakra-tui/endpoints@1``.

One JSON object::

    {"format": "vakra-tui/endpoints@1", "domain": "waters",
     "endpoints": [
       {"operation_id": "get_length_by_river", "path": "/v1/waters/length_by_river", "method": "get",
        "summary": "Length in kilometres of the river with a given name",
        "parameters": [{"name": "river", "in": "query", "type": "string", "description": "...", "required": true}],
        "sql": "SELECT length_km FROM river WHERE name = :river",
        "response": {"key": "length_km", "shape": "scalar"},
        "aliases": ["get_length"]}]}

``sql`` is one read-only SELECT whose named binds are exactly the parameters. ``shape`` says how rows become the
value under ``key``: ``scalar`` (first column of the first row), ``list`` (first column of every row), ``objects``
(one object a row, named after the columns), ``rows`` (one list a row). ``aliases`` are further names of the tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from toolenv.decoding import decoded_file, what_is_wrong
from toolenv.errors import DataError
from toolenv.model import Value

FORMAT = "vakra-tui/endpoints@1"

Shape = Literal["scalar", "list", "objects", "rows"]
ParameterType = Literal["string", "integer", "number"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|\Z)"""
    r"""|(?P<bind>[:@$][A-Za-z_][A-Za-z0-9_]*)|(?P<positional>\?\d*)""",
    re.DOTALL,
)
_PATH = re.compile(r"(/[A-Za-z0-9_.{}-]+)+\Z")


class EndpointParameter(Value, frozen=True, rename={"location": "in"}):
    """One parameter of an endpoint; its name is also the name of the bind in the SQL."""

    name: str
    type: ParameterType = "string"
    description: str = ""
    required: bool = True
    location: Literal["query", "path"] = "query"


class Envelope(Value, frozen=True):
    """How the rows of an endpoint's SQL become its JSON body."""

    key: str
    shape: Shape


class Endpoint(Value, frozen=True):
    """One read-only dashboard endpoint."""

    operation_id: str
    path: str
    sql: str
    response: Envelope
    method: Literal["get"] = "get"
    summary: str = ""
    parameters: tuple[EndpointParameter, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def long_operation_id(self) -> str:
        """The id that FastAPI makes up where none is declared: function name, path and method, joined by ``_``."""
        return re.sub(r"\W", "_", f"{self.operation_id}{self.path}") + f"_{self.method}"


class EndpointFile(Value, frozen=True):
    """All endpoints of a domain, in the order in which they are listed as tools."""

    format: str
    domain: str
    endpoints: tuple[Endpoint, ...]


def load_endpoints(path: Path) -> EndpointFile:
    """Read and check an endpoint file. Raises ``DataError`` that names the file and the endpoint at fault."""
    try:
        content = msgspec.convert(decoded_file(path.read_bytes()), EndpointFile)
    except OSError as error:
        raise DataError(f"endpoint file {path} cannot be read ({error.strerror}); check the path.") from error
    except msgspec.ValidationError as error:
        raise DataError(f"endpoint file {path} is not valid {FORMAT}: {error}.") from error
    except ValueError as error:
        raise DataError(f"endpoint file {path} {what_is_wrong(error)}.") from error
    if content.format != FORMAT:
        raise DataError(f"endpoint file {path} has format {content.format!r}; only {FORMAT!r} can be read.")
    problem = _problem(content.endpoints)
    if problem:
        raise DataError(f"endpoint file {path}: {problem}.")
    return content


def dump_endpoints(content: EndpointFile) -> str:
    """The file's text: one endpoint a line, so that two versions can be compared line by line."""
    lines = ",\n".join(json.dumps(msgspec.to_builtins(e), ensure_ascii=False) for e in content.endpoints)
    head = f'{{"format": {json.dumps(content.format)}, "domain": {json.dumps(content.domain)}, "endpoints": ['
    return f"{head}\n{lines}\n]}}\n"


def _binds(sql: str) -> list[str]:
    """The named binds of a SELECT (``:name``, ``@name``, ``$name``), outside quotes and comments; ``?`` as itself."""
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(sql):
        bind = match["bind"] or match["positional"]
        if bind:
            found[bind.lstrip(":@$")] = None
    return list(found)


def _problem(endpoints: Sequence[Endpoint]) -> str | None:
    names: set[str] = set()
    paths: set[str] = set()
    for endpoint in endpoints:
        name = endpoint.operation_id
        if not _IDENTIFIER.match(name):
            return f"operation_id {name!r} is not an identifier (letters, digits and _)"
        if name in names:
            return f"operation_id {name!r} stands twice"
        if not _PATH.match(endpoint.path):
            return f"endpoint {name!r} has the path {endpoint.path!r}, which is not a plain URL path"
        if endpoint.path in paths:
            return f"endpoint {name!r} has the path {endpoint.path!r}, which another endpoint has"
        seen = [p.name for p in endpoint.parameters]
        bad = next((p for p in seen if not _IDENTIFIER.match(p) or seen.count(p) > 1), None)
        if bad is not None:
            return f"endpoint {name!r} has the parameter {bad!r}, which is not an identifier or stands twice"
        unbound = next(
            (p.name for p in endpoint.parameters if (p.location == "path") != (f"{{{p.name}}}" in endpoint.path)), None
        )
        if unbound is not None:
            return f"parameter {unbound!r} of endpoint {name!r} must be in the path exactly when it is declared there"
        binds = _binds(endpoint.sql)
        odd = next((b for b in (*binds, *seen) if (b in binds) != (b in seen)), None)
        if odd is not None:
            side = "its SQL binds" if odd in binds else "it declares"
            return f"endpoint {name!r}: {side} {odd!r}, but the other does not; binds and parameters must be the same"
        names.add(name)
        paths.add(endpoint.path)
    return None
