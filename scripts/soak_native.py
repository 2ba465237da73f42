"""Many native sessions at once over one database, each checked against its own replay; memory and files are watched.

    python scripts/soak_native.py [DATABASE] [--sessions N] [--seconds S] [--tables A B --joins A.id=B.a_id]

Every session makes a chain of random calls (switches, forks, filters, sorts, ...), is closed, and its chain is made
again in an environment of its own where nothing else runs: the texts must be the same. Exit code 1 when one was not,
when RSS at the end is more than 1.05 times that after ten seconds, or when a file stayed open.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import os
import random
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolenv.model import Instance, ToolResult, ToolStyle, Turn, Universe, UniverseTable
from toolenv.native import NativeEnvironment

HERE = Path(__file__).resolve().parent.parent
CALLS_A_CHAIN = 25


class World:
    """One database; a universe for each table and one for the join, in both styles."""

    def __init__(self, database: Path, tables: list[str], join: list[tuple[str, str]]) -> None:
        self._database = database
        self._universes: dict[str, Universe] = {}
        for style in ("slot", "sel"):
            for table in tables:
                self._add(f"{table}-{style}", style, [table], [])
            self._add(f"join-{style}", style, tables, join)

    def _add(self, name: str, style: ToolStyle, tables: list[str], join: list[tuple[str, str]]) -> None:
        self._universes[name] = Universe(
            id=name,
            domain="d",
            style=style,
            tables=tuple(UniverseTable(alias=table, original_name=table, modified_name=table) for table in tables),
            conditions=tuple((left, right, "INNER") for left, right in join),
        )

    def database(self, domain: str) -> Path:
        return self._database

    def universe(self, uuid: str) -> Universe | None:
        return self._universes.get(uuid)

    def universes(self, domain: str) -> Mapping[str, Universe]:
        return self._universes

    def has_universes(self, domain: str) -> bool:
        return bool(self.universes(domain))

    def endpoints(self, domain: str) -> None:
        return None


def random_call(chance: random.Random, style: str, handles: list[str], columns: list[str], universes: list[str]) -> Any:
    """A call that mostly makes sense: (name, arguments)."""
    if not handles or chance.random() < 0.06:
        return "get_data", {"tool_universe_id": chance.choice([*universes, *universes, "unknown"])}
    label, key = chance.choice(handles[-6:]), chance.choice(columns)
    value = chance.choice(["a", "Bat", "1", 3, 2.5, 180, None, "%man%", "c", "(a+)+b"])
    kind = chance.choice(
        ["filter", "filter", "sort", "sort", "aggregate", "retrieve", "concatenate", "transform", "list"]
    )
    base: dict[str, Any] = {"data_label": label, "key_name": key}
    condition = chance.choice(["equal_to", "not_equal_to", "greater_than", "less_than", "contains", "like"])
    operation = chance.choice(["count", "min", "max", "sum", "argmin", "argmax"])
    if kind == "concatenate":
        return "concatenate_data", {"data_label_1": label, "data_label_2": chance.choice(handles[-3:])}
    if style == "slot":
        return {
            "filter": ("filter_data", {**base, "value": value, "condition": condition}),
            "sort": ("sort_data", {**base, "ascending": chance.random() < 0.5}),
            "aggregate": ("aggregate_data", {**base, "aggregation_operation": operation}),
            "transform": ("transform_data", {**base, "operation_type": "substring"}),
        }.get(kind, ("retrieve_data", {**base, "distinct": chance.random() < 0.3, "limit": chance.choice([-1, 3])}))
    return {
        "filter": (f"select_data_{condition}", {**base, "value": value}),
        "sort": (f"sort_data_{chance.choice(['ascending', 'descending'])}", base),
        "aggregate": (f"compute_data_{operation}", base),
        "list": (f"get_{key}s", {"data_label": label}),
    }.get(kind, ("truncate", {"truncate_array": label, "n": 5}))


async def chain(environment: NativeEnvironment, world: World, seed: int) -> str:
    """Digest of the texts of one random chain."""
    chance = random.Random(seed)
    universes = sorted(world.universes("d"))
    first = chance.choice(universes)
    turns = (Turn(turn_id=0, query=""),)
    session = await environment.open(Instance(uuid=first, capability=1, domain="d", turns=turns, universe_id=first))
    digest = hashlib.sha256()
    handles: list[str] = []
    columns: list[str] = []
    style = "slot"
    for _ in range(CALLS_A_CHAIN):
        if chance.random() < 0.05:
            parent, session = session, await session.fork()
            await parent.close()
        name, arguments = random_call(chance, style, handles, columns, universes)
        result: ToolResult = await session.call(name, arguments)
        digest.update(result.text.encode("utf-8", "surrogatepass"))
        if name == "get_data" and not result.failed:
            universe = world.universe(arguments["tool_universe_id"])
            assert universe is not None
            style, handles = universe.style, [handle for handle in handles if await session.table(handle)]
        if result.handle is not None:
            handles.append(result.handle)
            view = await session.table(result.handle)
            columns = [column.name for column in view.columns] if view is not None else columns
    await session.close()
    return digest.hexdigest()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def soak(world: World, sessions: int, seconds: float, memory_limit: int) -> int:
    busy = NativeEnvironment(world, offload=True, memory_limit=memory_limit)  # type: ignore[arg-type]
    quiet = NativeEnvironment(world, memory_limit=memory_limit)  # type: ignore[arg-type]
    await chain(quiet, world, 0)
    files = open_files()
    started = time.monotonic()
    counts = {"chains": 0, "wrong": 0}
    readings: dict[str, int] = {}

    async def worker(number: int) -> None:
        turn = 0
        while time.monotonic() - started < seconds:
            seed = number * 1_000_000 + turn
            turn += 1
            one = await chain(busy, world, seed)
            counts["chains"] += 1
            if one != await chain(quiet, world, seed):
                counts["wrong"] += 1
                print(f"chain {seed} differs from its replay", flush=True)

    async def watch() -> None:
        for after in (*(float(second) for second in range(10, int(seconds), 10)), seconds - 0.5):
            await asyncio.sleep(max(0.0, started + after - time.monotonic()))
            readings[f"{after:g} s"] = resident()

    await asyncio.gather(watch(), *(worker(number) for number in range(sessions)))
    await busy.close()
    await quiet.close()
    gc.collect()
    early, *_, late = readings.values()
    growth = late / early
    left = open_files() - files
    shown = ", ".join(f"{size / 1e6:.1f} MB at {when}" for when, size in readings.items())
    print(f"{sessions} sessions at once, {counts['chains']} chains of {CALLS_A_CHAIN} calls, {counts['wrong']} wrong")
    print(f"RSS {shown}: {growth:.3f} times; files left open: {max(0, left)}")
    return int(counts["wrong"] > 0 or growth > 1.05 or left > 0)


def main() -> int:
    default = HERE.parent / "shared" / "data" / "bird" / "superhero" / "superhero.sqlite"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", nargs="?", type=Path, default=default)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0, help="at least 20")
    parser.add_argument("--tables", nargs="+", default=["superhero", "hero_power", "superpower"])
    parser.add_argument(
        "--joins", nargs="*", default=["superhero.id=hero_power.hero_id", "hero_power.power_id=superpower.id"]
    )
    parser.add_argument("--memory", type=int, default=64_000_000, help="bytes that each environment's rows may take")
    options = parser.parse_args()
    joins = [(left, right) for left, _, right in (join.partition("=") for join in options.joins)]
    world = World(options.database, options.tables, joins)
    return asyncio.run(soak(world, options.sessions, options.seconds, options.memory))


if __name__ == "__main__":
    sys.exit(main())
