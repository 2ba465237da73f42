"""One file of a recorded environment, indexed by offset; responses are decoded when they are asked for.

First line ``{"tools": [...]}``; then a line a distinct call, ``{"name", "arguments", "response_text", "is_error"}``.
For capability 1 a call's line carries ``"universe"`` too, and lines ``{"universes": [ids], "tools": [...]}`` give the
tools of these universes. ``"table"`` names the table behind the call's handle (``toolenv.recorded.tables``),
``"notes"`` are sentences about quirks of the answer. Other keys are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolenv.decoding import TooDeep, decoded, is_too_deep
from toolenv.errors import EnvironmentFailure
from toolenv.model import Json, ToolSpec, Value
from toolenv.policy import source_of
from toolenv.recorded.chains import call_key, read
from toolenv.recorded.tables import TableFile, tables_path

_DECODER = json.JSONDecoder()
_HEAD = re.compile(
    r'\s*\{\s*(?:"universe"\s*:\s*("(?:[^"\\]|\\.)*"|null)\s*,\s*)?"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*'
)


class Answer:
    """Where the response to one distinct call lies."""

    __slots__ = ("length", "start")

    def __init__(self, start: int, length: int) -> None:
        self.start = start
        self.length = length


class Response(Value, frozen=True):
    """What was recorded of an answer; ``table`` is the digest of the table behind its handle."""

    text: str
    is_error: bool = False
    table: str | None = None
    notes: tuple[str, ...] = ()


class Recording:
    """The index of one file. Raises EnvironmentFailure when it cannot be read or does not begin with a tool list.

    ``problems`` are sentences about lines that could not be used. ``label`` is how sentences name the file.
    """

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        self.problems: list[str] = []
        self.tools: tuple[ToolSpec, ...] = ()
        self.tables = TableFile(tables_path(path))
        self.tools_by_universe: dict[str, tuple[ToolSpec, ...]] = {}
        self._answers: dict[tuple[str | None, str], Answer] = {}
        try:
            with path.open("rb") as stream:
                self._index(stream)
        except OSError as error:
            raise EnvironmentFailure(f"{label} cannot be read: {error.strerror or error}.") from error

    def find(self, universe: str | None, key: str) -> Answer | None:
        """The answer to a call, by ``chains.call_key``; None where it is not recorded."""
        return self._answers.get((universe, key))

    def response(self, answer: Answer) -> Response:
        """Raises EnvironmentFailure when the line is damaged."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(answer.start)
                line = decoded(stream.read(answer.length))
            table, notes = line.get("table"), line.get("notes")
            return Response(
                text=_text(line["response_text"]),
                is_error=line.get("is_error") is True,
                table=table if isinstance(table, str) else None,
                notes=tuple(str(note) for note in notes) if isinstance(notes, list) else (),
            )
        except OSError as error:
            raise EnvironmentFailure(f"{self.label} cannot be read: {error.strerror or error}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EnvironmentFailure(
                f"{self.label} has a damaged answer at byte {answer.start}, or has changed since it was opened."
            ) from error

    def tools_of(self, universe: str | None) -> tuple[ToolSpec, ...] | None:
        """The tools of a universe (of the domain for None); None where the universe is not recorded."""
        return self.tools if universe is None else self.tools_by_universe.get(universe)

    def _index(self, stream: Any) -> None:
        offset = 0
        for number, line in enumerate(stream, start=1):
            body = line.strip().removeprefix(b"\xef\xbb\xbf")
            if number == 1:
                self._first(body)
            elif body:
                try:
                    self._line(body, offset + line.index(body))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    self.problems.append(f"{self.label}, line {number} is no recorded call and was left out.")
            offset += len(line)
        if not offset:
            raise EnvironmentFailure(f"{self.label} is empty; a recording begins with its tool list.")

    def _first(self, body: bytes) -> None:
        try:
            value = decoded(body)
        except ValueError:
            value = None
        if not isinstance(value, dict) or not isinstance(value.get("tools"), list):
            raise EnvironmentFailure(f'{self.label} does not begin with a line {{"tools": [...]}}.')
        self.tools = self._specs(value["tools"], 1)

    def _line(self, body: bytes, start: int) -> None:
        text = body.decode("utf-8")
        head = _HEAD.match(text)
        if head is not None:
            universe, name = json.loads(head[1] or "null"), json.loads(head[2])
            arguments, end = _DECODER.raw_decode(text, head.end())
            if is_too_deep(arguments):
                raise TooDeep
            if not text.endswith("}") or '"response_text"' not in text[end:]:
                raise ValueError("incomplete")
        else:
            value = decoded(text)
            if "tools" in value:
                tools = self._specs(value["tools"], start)
                for identity in value.get("universes") or [value["universe"]]:
                    self.tools_by_universe[identity] = tools
                return
            universe, name, arguments = value.get("universe"), value["name"], value["arguments"]
            if "response_text" not in value:
                raise ValueError("no response")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise TypeError("no call")
        key = call_key(name, read(arguments))
        self._answers.setdefault((universe, key), Answer(start, len(body)))

    def _specs(self, tools: list[Json], place: int) -> tuple[ToolSpec, ...]:
        specs = []
        for tool in tools:
            if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
                self.problems.append(f"{self.label} lists a tool without a name.")
                continue
            schema = tool.get("inputSchema")
            description = tool.get("description")
            specs.append(
                ToolSpec(
                    name=tool["name"],
                    input_schema=schema if isinstance(schema, Mapping) else {},
                    description=description if isinstance(description, str) else "",
                    source=source_of(tool["name"]),
                )
            )
        return tuple(specs)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("a response is text")
    return value
