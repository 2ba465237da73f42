"""Tool universes of capability 1 from a mapping file (YAML, one top-level key a universe).

The file may hold thousands of universes. It is cut at its top-level keys by a line scanner, and only the entries that
are asked for are parsed. A file that cannot be cut so (flow style, anchors shared between entries) is parsed as a
whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolenv.decoding import YAML_CONSTRUCTION
from toolenv.errors import DataError
from toolenv.model import Json, ToolCall, ToolStyle, Universe, UniverseTable

_KEY_LINE = re.compile(
    rb"""(?:'((?:[^']|'')+)'|"([^"\\]+)"|([^\s#'"\-?&*!|>%@`\[\]{},:][^\r\n#]*?)):[ \t]*(?:\#.*)?\r?\n?$"""
)
_DOMAIN_LINE = re.compile(
    rb"""^[ \t]+domain:[ \t]*(?:'([^']*)'|"([^"]*)"|([^\s#'"]+))[ \t]*(?:\#.*)?\r?$""", re.MULTILINE
)
_PARSED_KEPT: Final = 512
"""Universes kept parsed, so that memory does not grow with the length of a batch."""

_STYLES: Final[Mapping[str, ToolStyle]] = {"slot_filling": "slot", "slot": "slot", "selection": "sel", "sel": "sel"}


class UniverseFile:
    """The universes of one mapping file, found by id and parsed when asked for; in the file's order."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        self.problems: list[str] = []
        self._spans: dict[str, tuple[int, int]] = {}
        self._domains: dict[str, list[str]] = {}
        self._parsed: dict[str, Universe | None] = {}
        self._whole: dict[str, Any] | None = None
        try:
            self._scan()
        except OSError as error:
            self.problems.append(f"{label} cannot be read: {error.strerror or error}.")

    def ids(self, domain: str | None = None) -> tuple[str, ...]:
        """The ids of all universes, or of one domain's, in the file's order."""
        return tuple(self._spans) if domain is None else tuple(self._domains.get(domain, ()))

    def get(self, uuid: str) -> Universe | None:
        """One universe, or None where the file has none of this id. Raises DataError for an entry of odd form."""
        if uuid not in self._spans:
            return None
        if uuid not in self._parsed:
            if len(self._parsed) >= _PARSED_KEPT:
                del self._parsed[next(iter(self._parsed))]
            self._parsed[uuid] = self._universe(uuid, self._entry(uuid))
        return self._parsed[uuid]

    # --- the scanner --------------------------------------------------------------------------------------------------

    def _scan(self) -> None:
        position, key, start = 0, None, 0
        domain: str | None = None
        clean = True
        with self.path.open("rb") as stream:
            for line in stream:
                if position == 0 and line.startswith(b"\xef\xbb\xbf"):
                    position, line = 3, line[3:]
                if line[:1] not in b" \t\r\n#-" or line[:3] == b"---":
                    found = _KEY_LINE.match(line)
                    if found is not None:
                        if key is not None:
                            self._note(key, start, position, domain)
                        key, start, domain = _scalar(found), position, None
                    elif line.strip() not in (b"---", b"...", b"{}"):
                        clean = False
                        break
                elif domain is None and key is not None and (named := _DOMAIN_LINE.match(line)) is not None:
                    domain = _scalar(named)
                position += len(line)
        if not clean:
            self._parse_whole()
        elif key is not None:
            self._note(key, start, position, domain)

    def _note(self, key: str, start: int, end: int, domain: str | None) -> None:
        if key in self._spans:
            self.problems.append(f"{self.label} names the universe {key} twice; the last entry counts.")
        self._spans[key] = (start, end)
        members = self._domains.setdefault(domain or "", [])
        if key not in members:
            members.append(key)

    def _entry(self, uuid: str) -> Json:
        if self._whole is not None:
            return self._whole[uuid]
        start, end = self._spans[uuid]
        try:
            with self.path.open("rb") as stream:
                stream.seek(start)
                text = stream.read(end - start)
            parsed = _parsed(text)
        except OSError as error:
            raise DataError(f"{self.label} cannot be read: {error.strerror or error}.") from error
        except ValueError as error:
            whole = self._parse_whole() if b"*" in text else {}
            if uuid in whole:
                return whole[uuid]
            raise DataError(f"{self.label}: the entry {uuid} is not valid YAML ({error}).") from error
        return next(iter(parsed.values())) if isinstance(parsed, dict) and parsed else None

    def _parse_whole(self) -> Mapping[str, Any]:
        """Parse everything at once; the cut entries are forgotten. Empty where the file cannot be parsed."""
        self._spans, self._domains, self._whole = {}, {}, None
        try:
            parsed = _parsed(self.path.read_bytes())
        except OSError as error:
            self.problems.append(f"{self.label} cannot be read: {error.strerror or error}.")
            return {}
        except ValueError as error:
            self.problems.append(f"{self.label} is not valid YAML ({error}).")
            return {}
        if not isinstance(parsed, dict):
            self.problems.append(f"{self.label} is not a mapping of universe ids.")
            return {}
        self._whole = {str(key): entry for key, entry in parsed.items()}
        for key, entry in self._whole.items():
            domain = entry.get("domain") if isinstance(entry, dict) else None
            self._note(key, 0, 0, domain if isinstance(domain, str) else None)
        return self._whole

    def _universe(self, uuid: str, entry: Json) -> Universe:
        if not isinstance(entry, dict) or not isinstance(entry.get("init_args"), dict):
            raise DataError(f"{self.label}: the entry {uuid} has no init_args.")
        universe = universe_from(
            uuid, str(entry.get("domain") or ""), entry["init_args"], entry.get("server_type"), entry.get("query")
        )
        if isinstance(universe, str):
            raise DataError(f"{self.label}: the entry {uuid} {universe}.")
        return universe


def universe_from(
    uuid: str, domain: str, init_args: Mapping[str, Json], style: Json, query: Json = None
) -> Universe | str:
    """A universe from the arguments that open it, or what is wrong with them (the end of a sentence).

    The path in ``database_path`` is never read: the domain's own database is opened (contract, section 1.1).
    """
    tables = init_args.get("alias_to_table_dict")
    conditions = init_args.get("condition_sequence")
    if not isinstance(tables, dict) or not tables:
        return "names no tables (alias_to_table_dict)"
    made = []
    for alias, table in tables.items():
        if not isinstance(table, dict) or not isinstance(table.get("original_table_name"), str):
            return f"names no table for the alias {alias!r}"
        original = table["original_table_name"]
        modified = table.get("modified_table_name")
        made.append(
            UniverseTable(
                alias="" if alias is None else str(alias),
                original_name=original,
                modified_name=modified if isinstance(modified, str) else original,
            )
        )
    joins = []
    for condition in conditions if isinstance(conditions, list) else ():
        if not isinstance(condition, list) or len(condition) < 2:
            return "has a join condition that is no pair of columns"
        parts = (*condition[:2], condition[2] if len(condition) > 2 else "INNER")
        if any(isinstance(part, list | dict) for part in parts):
            return "has a join condition with a list in place of a column"
        joins.append((str(parts[0]), str(parts[1]), str(parts[2])))
    known = _STYLES.get(style.strip().lower()) if isinstance(style, str) else "slot"
    if known is None:
        return f"has the unknown server_type {style!r}"
    return Universe(
        id=uuid,
        domain=domain,
        style=known,
        tables=tuple(made),
        conditions=tuple(joins),
        query=query if isinstance(query, str) else "",
    )


def style_of_calls(calls: Iterator[ToolCall]) -> ToolStyle:
    """The tool style that a path is written for: selection tools and getters, or slot filling."""
    for call in calls:
        if call.name.startswith(("select_data_", "sort_data_", "compute_data_", "transform_data_to_")):
            return "sel"
        if call.name in ("filter_data", "aggregate_data", "retrieve_data", "sort_data", "transform_data"):
            return "slot"
    return "slot"


class ListedUniverses(Mapping[str, Universe]):
    """The universes of some ids, each parsed when it is asked for and none kept; ids that are unusable are left out.

    Whether it is empty is told by the ids alone, so that a mapping of thousands need not be parsed for it.
    """

    def __init__(self, ids: Sequence[str], usable: Callable[[str], Universe | None]) -> None:
        self._ids = ids
        self._listed = frozenset(ids)
        self._usable = usable

    def __getitem__(self, uuid: str) -> Universe:
        universe = self._usable(uuid) if uuid in self._listed else None
        if universe is None:
            raise KeyError(uuid)
        return universe

    def __iter__(self) -> Iterator[str]:
        return (uuid for uuid in self._ids if self._usable(uuid) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self._ids)


def _parsed(text: bytes) -> Any:
    """The content of a YAML text, by PyYAML's safe loader in C where the library has it.

    Raises ValueError for a text that is none.
    """
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except (yaml.YAMLError, *YAML_CONSTRUCTION) as error:
        raise ValueError(_where(error)) from error


def _scalar(found: re.Match[bytes]) -> str:
    single, double, bare = found.groups()
    text = (single.replace(b"''", b"'") if single is not None else double if double is not None else bare) or b""
    return text.decode("utf-8", "replace").strip()


def _where(error: Exception) -> str:
    """What is wrong and at which line."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = " ".join(str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).split())[:160]
    return said if mark is None else f"{said}, line {mark.line + 1}, column {mark.column + 1}"
