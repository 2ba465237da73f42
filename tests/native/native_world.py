"""Small databases and the parts of a dataset that a native environment needs."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from toolenv.model import Instance, ToolStyle, Turn, Universe, UniverseTable
from toolenv.native import NativeEnvironment, NativeSession

DOMAIN = "d"


def universe(
    name: str,
    tables: Mapping[str, str | tuple[str, str]],
    conditions: Sequence[tuple[str, ...]] = (),
    *,
    style: ToolStyle = "slot",
    domain: str = DOMAIN,
) -> Universe:
    """``tables`` maps an alias to a table name, or to (table name, name in columns)."""
    pairs = {alias: (given, given) if isinstance(given, str) else given for alias, given in tables.items()}
    return Universe(
        id=name,
        domain=domain,
        style=style,
        tables=tuple(
            UniverseTable(alias=alias, original_name=original, modified_name=modified)
            for alias, (original, modified) in pairs.items()
        ),
        conditions=tuple((condition[0], condition[1], (*condition, "INNER")[2]) for condition in conditions),
    )


class World:
    """A dataset of one database and the given universes."""

    def __init__(self, path: Path, *universes: Universe) -> None:
        self.path = path
        self._universes = {item.id: item for item in universes}

    def database(self, domain: str) -> Path:
        return self.path if domain == DOMAIN else self.path.with_name(f"{domain}.sqlite")

    def universe(self, uuid: str) -> Universe | None:
        return self._universes.get(uuid)

    def universes(self, domain: str) -> Mapping[str, Universe]:
        return {key: item for key, item in self._universes.items() if item.domain == domain}

    def has_universes(self, domain: str) -> bool:
        return bool(self.universes(domain))

    def endpoints(self, domain: str) -> Path | None:
        return None

    def documents(self, domain: str) -> Path | None:
        return None

    def fingerprint(self) -> str:
        return "sha256:world"

    def environment(self, **settings: Any) -> NativeEnvironment:
        return NativeEnvironment(self, **settings)  # type: ignore[arg-type]

    def instance(self, universe_id: str | None = None, *, capability: int = 1, domain: str = DOMAIN) -> Instance:
        turns = (Turn(turn_id=0, query=""),)
        return Instance(uuid="i", capability=capability, domain=domain, turns=turns, universe_id=universe_id)

    async def session(self, universe_id: str | None = None, **settings: Any) -> NativeSession:
        opened = await self.environment(**settings).open(self.instance(universe_id))
        assert isinstance(opened, NativeSession)
        return opened


def make_database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        connection.commit()
    return path
