"""Measure the native environment against pandas behind an MCP server, and print medians and ratios.

    python benchmarks/toolenv.py [BIRD] [--repeat N] [--calls N] [--json FILE]

``BIRD`` is a folder with ``<domain>/<domain>.sqlite`` (toxicology and superhero). Both sides answer the same calls on
the same join of 24,758 rows, and their texts are compared. The yardstick (``pandas_server.py``) is a plain, quick
pandas program; what it pays for and the native environment does not is its own process and the protocol between.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]  # this file is named as the package

from toolenv.model import Instance, Turn, Universe, UniverseTable  # noqa: E402
from toolenv.native import NativeEnvironment, NativeSession  # noqa: E402

ROWS = 24_758
Answer = Callable[..., Awaitable[str]]


class Folder:
    """What a native environment needs of a dataset: databases by domain and the universes below."""

    def __init__(self, bird: Path) -> None:
        self._bird = bird
        self._universes = {universe.id: universe for universe in universes()}

    def database(self, domain: str) -> Path:
        return self._bird / domain / f"{domain}.sqlite"

    def universe(self, uuid: str) -> Universe | None:
        return self._universes.get(uuid)

    def universes(self, domain: str) -> Mapping[str, Universe]:
        return {key: universe for key, universe in self._universes.items() if universe.domain == domain}

    def has_universes(self, domain: str) -> bool:
        return bool(self.universes(domain))

    def endpoints(self, domain: str) -> None:
        return None


def joined(name: str, domain: str, style: Any, tables: str, *conditions: tuple[str, str]) -> Universe:
    return Universe(
        id=name,
        domain=domain,
        style=style,
        tables=tuple(
            UniverseTable(alias=f"T{number}", original_name=table, modified_name=table)
            for number, table in enumerate(tables.split(), 1)
        ),
        conditions=tuple((left, right, "INNER") for left, right in conditions),
    )


def universes() -> list[Universe]:
    to_atom = ("T2.atom_id", "T3.atom_id")
    return [
        joined("join", "toxicology", "slot", "bond connected atom", ("T1.bond_id", "T2.bond_id"), to_atom),
        joined("join-sel", "toxicology", "sel", "bond connected atom", ("T1.bond_id", "T2.bond_id"), to_atom),
        joined("small", "toxicology", "slot", "molecule"),
        joined("numbers", "superhero", "slot", "superhero hero_power", ("T1.id", "T2.hero_id")),
    ]


def instance_of(universe: Universe) -> Instance:
    turns = (Turn(turn_id=0, query=""),)
    return Instance(uuid=universe.id, capability=1, domain=universe.domain, turns=turns, universe_id=universe.id)


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = await work()
    return time.perf_counter() - started, result


class Report:
    """Lines of (what, yardstick, native, target ratio); times in seconds."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def add(self, what: str, yardstick: list[float], native: list[float], target: float | None) -> None:
        slow, fast = statistics.median(yardstick), statistics.median(native)
        line = {
            "what": what,
            "yardstick_ms": slow * 1e3,
            "native_ms": fast * 1e3,
            "ratio": slow / fast,
            "target": target,
        }
        self.lines.append(line)
        met = "" if target is None else ("ok" if slow / fast >= target else "MISSED")
        wanted = "" if target is None else f">= {target:g}"
        print(f"{what:<58} {slow * 1e3:10.3f} {fast * 1e3:10.3f} {slow / fast:9.1f} {wanted:>8} {met}", flush=True)


# --- the calls -------------------------------------------------------------------------------------------------------

TEXT_CALLS: dict[str, tuple[float | None, int, list[tuple[str, dict[str, Any]]]]] = {
    # what is measured: (target ratio, how often on one table, calls)
    "filter (first use of a column)": (
        4,
        1,
        [
            ("filter_data", {"key_name": "bond_bond_type", "value": "=", "condition": "equal_to"}),
            ("filter_data", {"key_name": "atom_element", "value": "c", "condition": "not_equal_to"}),
            ("filter_data", {"key_name": "bond_molecule_id", "value": "TR100", "condition": "greater_than"}),
            ("filter_data", {"key_name": "connected_atom_id", "value": "TR1", "condition": "less_than_equal_to"}),
            ("filter_data", {"key_name": "bond_bond_id", "value": "TR000_1_2", "condition": "equal_to"}),
            ("filter_data", {"key_name": "atom_atom_id", "value": "tr00", "condition": "contains"}),
            ("filter_data", {"key_name": "atom_molecule_id", "value": "TR09", "condition": "contains"}),
        ],
    ),
    "filter contains, a regular expression": (
        None,
        1,
        [("filter_data", {"key_name": "atom_atom_id", "value": "tr.*_1$", "condition": "contains"})],
    ),
    "sort (first use of a column)": (
        4,
        1,
        [
            ("sort_data", {"key_name": "bond_bond_id"}),
            ("sort_data", {"key_name": "bond_bond_type", "ascending": True}),
            ("sort_data", {"key_name": "atom_element"}),
            ("sort_data", {"key_name": "atom_atom_id", "ascending": True}),
            ("sort_data", {"key_name": "connected_atom_id2"}),
        ],
    ),
    "aggregate (count)": (
        15,
        10,
        [("aggregate_data", {"key_name": "bond_bond_id", "aggregation_operation": "count"})],
    ),
    "retrieve": (
        100,
        10,
        [
            ("retrieve_data", {"key_name": "bond_bond_type"}),
            ("retrieve_data", {"key_name": "atom_element", "limit": 5}),
            ("retrieve_data", {"key_name": ["bond_bond_id", "atom_element"]}),
        ],
    ),
}

NUMBER_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("aggregate_data", {"key_name": "superhero_height_cm", "aggregation_operation": operation})
    for operation in ("sum", "mean", "std", "min", "max")
]


async def opened(folder: Folder, universe: str) -> tuple[NativeSession, Answer]:
    """A session of a fresh environment: no column has been used."""
    wanted = folder.universe(universe)
    assert wanted is not None
    session: Any = await NativeEnvironment(folder).open(instance_of(wanted))  # type: ignore[arg-type]

    async def answer(name: str, arguments: dict[str, Any]) -> str:
        return (await session.call(name, arguments)).text

    return session, answer


async def call_times(
    answer: Answer, calls: list[tuple[str, dict[str, Any]]], handle: str
) -> tuple[list[float], list[str]]:
    times, texts = [], []
    for name, arguments in calls:
        spent, text = await timed(lambda name=name, given={**arguments, "data_label": handle}: answer(name, given))  # type: ignore[misc]
        times.append(spent)
        texts.append(text)
    return times, texts


async def compare_calls(folder: Folder, yardstick: Answer, report: Report, repeat: int) -> None:
    for what, (target, times_each, chosen) in TEXT_CALLS.items():
        calls = chosen * times_each
        slow, fast = [], []
        for _ in range(repeat):
            await yardstick("get_data", {"tool_universe_id": "small"})
            await yardstick("get_data", {"tool_universe_id": "join"})
            times, wanted = await call_times(yardstick, calls, "retrieved_bond_1")
            slow += times
            _, answer = await opened(folder, "join")
            await answer("get_data", {})
            times, texts = await call_times(answer, calls, "retrieved_bond_1")
            fast += times
            if texts != wanted:
                raise SystemExit(f"{what}: the two sides do not agree:\n{texts}\n{wanted}")
        report.add(what, slow, fast, target)


async def compare_numbers(folder: Folder, yardstick: Answer, report: Report, repeat: int) -> None:
    slow, first, again = [], [], []
    for _ in range(repeat):
        await yardstick("get_data", {"tool_universe_id": "numbers"})
        times, wanted = await call_times(yardstick, NUMBER_CALLS, "retrieved_superhero_1")
        slow += times
        _, answer = await opened(folder, "numbers")
        await answer("get_data", {})
        times, texts = await call_times(answer, NUMBER_CALLS, "retrieved_superhero_1")
        first.append(times[0])
        again += times[1:]
        if texts != wanted:
            raise SystemExit(f"aggregates differ: {texts} {wanted}")
    report.add("aggregate numbers, first use (5,825 rows)", slow, first, None)
    report.add("aggregate numbers, later (5,825 rows)", slow, again, 15)


async def compare_loading(folder: Folder, yardstick: Answer, report: Report, repeat: int) -> None:
    slow, cold, warm = [], [], []
    for _ in range(repeat):
        await yardstick("get_data", {"tool_universe_id": "small"})
        slow.append((await timed(lambda: yardstick("get_data", {"tool_universe_id": "join"})))[0])
        session, answer = await opened(folder, "join")
        cold.append((await timed(lambda: answer("get_data", {})))[0])  # noqa: B023
        assert f'"num_records": {ROWS}' in await answer("get_data", {})
        await answer("get_data", {"tool_universe_id": "small"})
        warm.append((await timed(lambda: answer("get_data", {"tool_universe_id": "join"})))[0])  # noqa: B023
        await session.close()
    report.add("universe, cold", slow, cold, 0.9)
    report.add("universe, warm (against the yardstick's load)", slow, warm, 100)


# --- sessions and forks ----------------------------------------------------------------------------------------------


async def session_times(folder: Folder, universe: str, repeat: int) -> list[float]:
    wanted = folder.universe(universe)
    assert wanted is not None
    times = []
    for _ in range(repeat):
        environment = NativeEnvironment(folder)  # type: ignore[arg-type]

        async def start(environment: NativeEnvironment = environment) -> None:
            session = await environment.open(instance_of(wanted))
            await session.list_tools()

        times.append((await timed(start))[0])
    return times


async def fork_costs(folder: Folder, universe: str, key: str) -> tuple[float, float]:
    """(seconds, bytes) for each of 1,000 forks of a session that holds 100 handles."""
    session, answer = await opened(folder, universe)
    handle = json.loads(await answer("get_data", {}))["handle"]
    for _ in range(99):
        await answer("sort_data", {"data_label": handle, "key_name": key})
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    forks = [await session.fork() for _ in range(1000)]
    size = (tracemalloc.get_traced_memory()[0] - before) / len(forks)
    tracemalloc.stop()
    del forks
    spent = []
    for _ in range(5):
        started = time.perf_counter()
        forks = [await session.fork() for _ in range(1000)]
        spent.append((time.perf_counter() - started) / len(forks))
        del forks
    return statistics.median(spent), size


# --- endpoints -------------------------------------------------------------------------------------------------------


def endpoint_file(folder: Path) -> Path:
    endpoint = {
        "operation_id": "get_height",
        "path": "/v1/superhero/height",
        "method": "get",
        "summary": "Height of a superhero",
        "parameters": [{"name": "name", "in": "query", "type": "string", "description": "", "required": True}],
        "sql": "SELECT height_cm FROM superhero WHERE superhero_name = :name",
        "response": {"key": "height_cm", "shape": "scalar"},
    }
    path = folder / "superhero.json"
    content = {"format": "vakra-tui/endpoints@1", "domain": "superhero", "endpoints": [endpoint]}
    path.write_text(json.dumps(content), "utf-8")
    return path


def serve(endpoints: Path, database: Path) -> None:
    """Serve the endpoints over HTTP on a free port and print it."""
    import socket

    import uvicorn

    from toolenv.dashboards.tools import dashboard_tools

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        print(listening.getsockname()[1], flush=True)
        app: Any = dashboard_tools(endpoints, database).app
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


async def compare_endpoints(folder: Folder, report: Report, calls: int) -> None:
    import httpx2

    from toolenv.dashboards.tools import dashboard_tools

    database = folder.database("superhero")
    with tempfile.TemporaryDirectory() as scratch:
        endpoints = endpoint_file(Path(scratch))
        tools = dashboard_tools(endpoints, database)
        fast, slow = [], []
        for _ in range(calls):
            spent, result = await timed(lambda: tools.call("get_height", {"name": "Abe Sapien"}))
            fast.append(spent)
        command = [sys.executable, str(HERE / "toolenv.py"), "--serve", str(endpoints), str(database)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: ASYNC220
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1/superhero/height"

            async def through_new_client() -> Any:
                async with httpx2.AsyncClient() as client:
                    return (await client.get(url, params={"name": "Abe Sapien"})).json()

            try:
                for _ in range(calls):
                    spent, body = await timed(through_new_client)
                    slow.append(spent)
            finally:
                server.terminate()
        assert json.loads(result.text) == body
    report.add(f"{calls} endpoint calls, one new HTTP client a call", slow, fast, 20)


# --- everything ------------------------------------------------------------------------------------------------------


async def measure(folder: Folder, report: Report, repeat: int, calls: int) -> None:
    from mcp import Client, StdioServerParameters

    from toolenv.dashboards.database import open_read_only
    from toolenv.native.queries import plan_of

    with tempfile.TemporaryDirectory() as scratch:
        plans = {}
        for universe in universes():
            with closing(open_read_only(folder.database(universe.domain))) as connection:
                plan = plan_of(connection, universe)
            plans[universe.id] = {"sql": plan.sql, "names": plan.names}
        path = Path(scratch) / "universes.json"
        path.write_text(json.dumps(plans), "utf-8")

        def server(domain: str) -> StdioServerParameters:
            arguments = [str(HERE / "pandas_server.py"), str(folder.database(domain)), str(path)]
            return StdioServerParameters(command=sys.executable, args=arguments)

        spawns = []
        for _ in range(3):
            started = time.perf_counter()
            async with Client(server("toxicology")) as client:
                await client.list_tools()
                spawns.append(time.perf_counter() - started)
        print(f"{'':<58} {'pandas ms':>10} {'native ms':>10} {'ratio':>9}")
        report.add("session with its tool list, slot", spawns, await session_times(folder, "join", 50), 50)
        report.add("session with its tool list, selection", spawns, await session_times(folder, "join-sel", 50), 50)
        async with Client(server("toxicology")) as client:

            async def yardstick(name: str, arguments: dict[str, Any]) -> str:
                result: Any = await client.call_tool(name, arguments)
                return str(result.content[0].text)

            await compare_loading(folder, yardstick, report, repeat)
            await compare_calls(folder, yardstick, report, repeat)
        async with Client(server("superhero")) as client:

            async def numbers(name: str, arguments: dict[str, Any]) -> str:
                result: Any = await client.call_tool(name, arguments)
                return str(result.content[0].text)

            await compare_numbers(folder, numbers, report, repeat)
    for universe, key in (("small", "molecule_label"), ("join", "bond_bond_id")):
        seconds, size = await fork_costs(folder, universe, key)
        report.lines.append({"what": f"fork, {universe}", "native_ms": seconds * 1e3, "bytes": size})
        print(f"fork of a session with 100 handles, {universe:<23} {'':>10} {seconds * 1e3:10.4f} {size:8.0f} bytes")
    if calls:
        await compare_endpoints(folder, report, calls)


def main() -> int:
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]), Path(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bird", nargs="?", type=Path, default=HERE.parent.parent / "shared" / "data" / "bird")
    parser.add_argument("--repeat", type=int, default=7, help="rounds of every comparison (7)")
    parser.add_argument("--calls", type=int, default=2000, help="endpoint calls, 0 leaves them out (2000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    options = parser.parse_args()
    report = Report()
    asyncio.run(measure(Folder(options.bird), report, options.repeat, options.calls))
    if options.json:
        options.json.write_text(json.dumps(report.lines, indent=1), "utf-8")
    missed = [line["what"] for line in report.lines if line.get("target") and line["ratio"] < line["target"]]
    print(f"below target: {', '.join(missed)}" if missed else "every target is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
