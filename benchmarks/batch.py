"""Measure the batch: against a slow judge, against a plain loop over MCP, and its memory.

    python benchmarks/batch.py [SHARED] [--count N] [--baseline N] [--memory N] [--json FILE]

``SHARED`` holds ``data/mini`` with its real databases. Instances of capability 1 are multiplied (new uuids, questions
that differ) to ``--count`` trajectories of five calls each, and scored

- with a model judge that takes 200 ms a ruling (a server of its own, started here), at concurrency 32, beside a plain
  sequential loop: one call and one ruling after the other;
- with the offline rules, beside the same loop with the tools behind MCP on stdio (``pandas_server.py``).

The loops are measured over ``--baseline`` trajectories and counted up; the batch is the whole command, from its start
to its report. Both are measured ``--repeat`` times in turn, and the fastest of each counts: other work on the machine
then costs neither side. Memory is the peak of the command's process for 1,000 and for ten times as many instances.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]  # toolenv.py here is no package

import yaml  # noqa: E402

from eval.environments import EnvironmentChain  # noqa: E402
from eval.judge import Judge  # noqa: E402
from eval.judges import OpenAIJudge, judge_settings  # noqa: E402
from eval.offline import OfflineJudge  # noqa: E402
from eval.paper import PaperProfile  # noqa: E402
from eval.profile import Item, ScoringContext, Unit  # noqa: E402
from eval.truths import GroundTruths  # noqa: E402
from sessions.submissions import Run  # noqa: E402
from toolenv.dataset import Dataset  # noqa: E402
from toolenv.environment import TableView, ToolEnvironment, ToolSession  # noqa: E402
from toolenv.model import Instance, Json, ToolResult, ToolSpec  # noqa: E402
from toolenv.native import NativeEnvironment  # noqa: E402

CALLS = 5
LATENCY_S = 0.2
CONCURRENCY = 32
FOLDER = "capability_1_bi_apis"
PANDAS_TOOLS = {"get_data", "filter_data", "sort_data", "retrieve_data", "aggregate_data"}
TARGETS = {"judge": 20.0, "offline": 8.0, "memory": 1.3}


# --- the material ----------------------------------------------------------------------------------------------------


class Material:
    """A dataset of ``count`` instances and a run with a prediction of five calls for each."""

    def __init__(self, mini: Path, root: Path, count: int) -> None:
        self.data, self.run = root / "data", root / "run"
        originals = [record for domain in domains_of(mini) for record in usable(mini, domain)]
        mapping = yaml.load((mini / "configs" / "mcp_tool_universe_id_mapping.yaml").read_bytes(), yaml.CSafeLoader)
        files: dict[str, tuple[list[Any], list[Any], list[Any]]] = {}
        universes: list[str] = []
        for number in range(count):
            record = originals[number % len(originals)]
            uuid, domain = f"{record['uuid']}-{number}", record["domain"]
            made = multiplied(record, uuid, number)
            for records, one in zip(files.setdefault(domain, ([], [], [])), made, strict=True):
                records.append(one)
            universes.append(block({uuid: mapping[record["uuid"]]}))
        for domain, (inputs, outputs, predictions) in files.items():
            write_json(self.data / "test" / FOLDER / "input" / f"{domain}.json", inputs)
            write_json(self.data / "test" / FOLDER / "output" / f"{domain}.json", outputs)
            write_json(self.run / FOLDER / f"{domain}.json", predictions)
        (self.data / "configs").mkdir()
        (self.data / "configs" / "mcp_tool_universe_id_mapping.yaml").write_text("".join(universes))
        (self.data / "databases").symlink_to(mini / "databases")


def block(universe: dict[str, Any]) -> str:
    """A universe as published mappings write it."""
    text: str = yaml.dump(universe, Dumper=yaml.CSafeDumper, default_flow_style=False)
    return text


def domains_of(mini: Path) -> list[str]:
    return sorted(path.stem for path in (mini / "test" / FOLDER / "output").glob("*.json"))


def usable(mini: Path, domain: str) -> list[dict[str, Any]]:
    """Ground truths of at most five calls that both sides can execute and whose first call can be repeated."""
    records = json.loads((mini / "test" / FOLDER / "output" / f"{domain}.json").read_bytes())
    found = []
    for record in records:
        calls = record["output"][-1]["sequence"]["tool_call"]
        known = {call["name"] for call in calls} <= PANDAS_TOOLS
        if (
            known
            and 2 <= len(calls) <= CALLS
            and calls[0]["name"] == "get_data"
            and "key_name" in calls[1]["arguments"]
        ):
            found.append(record)
    return found


def multiplied(record: dict[str, Any], uuid: str, number: int) -> tuple[Any, Any, Any]:
    turn = record["output"][-1]
    domain, query = record["domain"], f"{turn['query']} (asked as number {number})"
    calls = [dict(call) for call in turn["sequence"]["tool_call"]]
    calls[0] = {"name": "get_data", "arguments": {"tool_universe_id": uuid}}
    first = calls[1]["arguments"]
    look = {"data_label": first["data_label"], "key_name": first["key_name"], "distinct": False}
    more = [{"name": "retrieve_data", "arguments": {**look, "limit": 1 + n}} for n in range(CALLS - len(calls))]
    answer = ", ".join(str(item) for item in turn["answer"]) if isinstance(turn["answer"], list) else turn["answer"]
    given = {
        "uuid": uuid,
        "domain": domain,
        "num_turns": 1,
        "dialogue": {"turns": [{"turn_id": 0, "query": query}]},
        "tools": [],
        "additional_instructions": "",
    }

    def output(calls: list[Any], answer: Any) -> list[Any]:
        return [{"turn_id": 0, "query": query, "answer": answer, "sequence": {"tool_call": calls}}]

    truth = {"uuid": uuid, "domain": domain, "output": output(calls, turn["answer"])}
    predicted = {
        "uuid": uuid,
        "domain": domain,
        "status": "success",
        "error": "",
        "duration_s": 1.0,
        "output": output([*calls, *more], f"The answer is {answer}."),
    }
    return given, truth, predicted


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


# --- the batch -------------------------------------------------------------------------------------------------------


def batch(material: Material, scratch: Path, name: str, *more: str) -> tuple[float, float, dict[str, Any]]:
    """(seconds, peak MiB, report) of the whole command."""
    out, store = scratch / f"{name}.json", scratch / f"{name}.sqlite"
    command = [sys.executable, "-m", "vakra_tui", "--batch", str(material.data), "--run", str(material.run)]
    command += ["--db", f"sqlite:///{store}", "--out", str(out), "--quiet", *more]
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment(scratch))
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    report = json.loads(out.read_bytes())
    return seconds, usage.ru_maxrss / 1024, report


def environment(scratch: Path) -> dict[str, str]:
    """The environment of the command: bytecode is kept between runs, as on a user's machine."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}


# --- the plain loops -------------------------------------------------------------------------------------------------


async def loop_seconds(
    material: Material, environment: ToolEnvironment, judge: Judge, dataset: Dataset, count: int
) -> float:
    """Seconds a trajectory of a plain loop, over the first ``count``: the same verdicts, one thing after the other."""
    run = Run.open(material.run, dataset)
    context = ScoringContext(
        dataset=dataset,
        run=run,
        environments=EnvironmentChain([environment]),
        judge=judge,
        truths=GroundTruths(kept=1),
    )
    profile = PaperProfile()
    refs = dataset.refs()
    step = max(1, len(refs) // count)
    chosen = refs[::step][:count]
    started = time.perf_counter()
    for position, ref in enumerate(chosen):
        item = Item(position=position, instance=ref, prediction=run.get(ref))
        (verdict,) = await profile.score(Unit(items=(item,)), context)
        if verdict.status != "scored":
            raise SystemExit(f"{verdict.uuid} is not scored: {verdict.detail}")
    return (time.perf_counter() - started) / len(chosen)


class McpSession:
    """The tools of one instance behind an MCP server that knows one database."""

    forks_by_copy = False

    def __init__(self, client: Any, tools: Sequence[ToolSpec]) -> None:
        self._client = client
        self._tools = tools

    async def list_tools(self) -> Sequence[ToolSpec]:
        return self._tools

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        result = await self._client.call_tool(name, dict(arguments))
        return ToolResult(text=str(result.content[0].text))

    async def table(self, handle: str) -> TableView | None:
        return None

    async def fork(self) -> ToolSession:
        raise NotImplementedError

    async def close(self) -> None:
        return None

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        return None


class McpEnvironment:
    """One MCP server on stdio a domain."""

    kind = name = "mcp"

    def __init__(self, clients: Mapping[str, Any], tools: Sequence[ToolSpec]) -> None:
        self._clients = clients
        self._tools = tools

    def fingerprint(self) -> str | None:
        return None

    def serves(self, capability: int, domain: str) -> bool:
        return domain in self._clients

    async def open(self, instance: Instance) -> ToolSession:
        return McpSession(self._clients[instance.domain], self._tools)

    async def close(self) -> None:
        return None


@contextlib.asynccontextmanager
async def mcp_environment(dataset: Dataset, scratch: Path) -> AsyncIterator[McpEnvironment]:
    """Starts a server for every domain of the dataset."""
    import sqlite3

    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    from toolenv.native.queries import plan_of

    native = await NativeEnvironment(dataset).open(dataset.load(dataset.refs()[0]))
    tools = [tool for tool in await native.list_tools() if tool.name in PANDAS_TOOLS]
    async with contextlib.AsyncExitStack() as stack:
        clients = {}
        for domain in sorted({ref.domain for ref in dataset.refs()}):
            database = dataset.database(domain)
            with contextlib.closing(sqlite3.connect(database)) as connection:
                plans = {}
                for uuid, universe in dataset.universes(domain).items():
                    plan = plan_of(connection, universe)
                    plans[uuid] = {"sql": plan.sql, "names": plan.names}
            file = scratch / f"{domain}.universes.json"
            write_json(file, plans)
            arguments = [str(HERE / "pandas_server.py"), str(database), str(file)]
            server = stdio_client(StdioServerParameters(command=sys.executable, args=arguments))
            clients[domain] = await stack.enter_async_context(Client(server))
        yield McpEnvironment(clients, tools)


# --- the judge -------------------------------------------------------------------------------------------------------


async def serve_judge() -> None:
    """An OpenAI-compatible endpoint whose every reply takes ``LATENCY_S``; prints its port."""
    content = json.dumps({"verdict": "pass", "reason": "as asked"})
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 500, "completion_tokens": 10, "total_tokens": 510}
    body = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    reply = (head + body).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(header.split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                await asyncio.sleep(LATENCY_S)
                writer.write(reply)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def slow_judge() -> Any:
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


# --- measuring -------------------------------------------------------------------------------------------------------


async def measure_judge(material: Material, scratch: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    one, many, loops = [], [], []
    with slow_judge() as url:
        judged = ["--judge", "openai", "--judge-model", "m", "--judge-base-url", url]
        judged += ["--judge-concurrency", str(CONCURRENCY), "--concurrency", str(CONCURRENCY)]
        dataset = Dataset.open(material.data)
        for number in range(options.repeat):
            one.append(batch(material, scratch, f"judge{number}", *judged))
            many.append(batch(material, scratch, f"judges{number}", *judged, "--workers", str(options.workers)))
            judge = OpenAIJudge(judge_settings(model="m", base_url=url, concurrency=1))
            try:
                environment = NativeEnvironment(dataset)
                loops.append(await loop_seconds(material, environment, judge, dataset, options.baseline))
            finally:
                await judge.aclose()
    decided = one[0][2]["decided"]
    rulings = sum(decided[gate]["judge"] for gate in decided)
    what = f"judge of {LATENCY_S * 1e3:.0f} ms, concurrency {CONCURRENCY}, {rulings} rulings"
    single = compared("judge", f"{what}, 1 process", one, loops, options.count)
    return [
        single,
        {**compared("judge", f"{what}, {options.workers} workers", many, loops, options.count), "target": None},
    ]


async def measure_offline(material: Material, scratch: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    one, bare, many, loops = [], [], [], []
    dataset = Dataset.open(material.data)
    for number in range(options.repeat):
        one.append(batch(material, scratch, f"one{number}", "--workers", "1"))
        bare.append(batch(material, scratch, f"bare{number}", "--workers", "1", "--no-sessions"))
        many.append(batch(material, scratch, f"many{number}", "--workers", str(options.workers)))
        async with mcp_environment(dataset, scratch) as environment:
            loops.append(await loop_seconds(material, environment, OfflineJudge(), dataset, options.baseline))
    scored = one[0][2]["counts"]["scored"]
    what = f"offline rules, {scored} scored, against MCP on stdio"
    kept = compared("offline", f"{what}, 1 process, sessions kept", one, loops, options.count)
    alike = compared("offline", f"{what}, 1 process, nothing kept, as in the loop", bare, loops, options.count)
    workers = compared("offline", f"{what}, {options.workers} workers, sessions kept", many, loops, options.count)
    return [{**kept, "target": None}, alike, {**workers, "target": None}]


def compared(
    name: str, what: str, batches: list[tuple[float, float, dict[str, Any]]], loops: list[float], count: int
) -> dict[str, Any]:
    seconds, peak, _ = min(batches, key=lambda measured: measured[0])
    plain = min(loops) * count
    return {
        "what": what,
        "batch_s": seconds,
        "loop_s": plain,
        "ratio": plain / seconds,
        "peak_mib": peak,
        "target": TARGETS[name],
    }


def measure_memory(mini: Path, scratch: Path, few: int) -> dict[str, Any]:
    peaks, times = [], []
    for count in (few, 10 * few):
        material = Material(mini, scratch / f"memory{count}", count)
        seconds, peak, report = batch(material, scratch, f"memory{count}")
        if report["counts"]["scored"] != count:
            raise SystemExit(f"{report['counts']} where {count} are due")
        peaks.append(peak)
        times.append(seconds)
    return {
        "what": f"peak memory of {10 * few:,} instances against {few:,}",
        "few_mib": peaks[0],
        "many_mib": peaks[1],
        "few_s": times[0],
        "many_s": times[1],
        "ratio": peaks[1] / peaks[0],
        "target": TARGETS["memory"],
    }


def show(line: dict[str, Any]) -> bool:
    """Print one figure; whether it meets its target."""
    memory, target = "few_mib" in line, line["target"]
    met = target is None or (line["ratio"] <= target if memory else line["ratio"] >= target)
    if memory:
        sides = f"{line['few_mib']:.0f} MiB, {line['many_mib']:.0f} MiB ({line['few_s']:.1f} s, {line['many_s']:.1f} s)"
    else:
        sides = f"loop {line['loop_s']:.1f} s, batch {line['batch_s']:.1f} s, peak {line['peak_mib']:.0f} MiB"
    wanted = "" if target is None else f" ({'<=' if memory else '>='} {target:g}: {'ok' if met else 'MISSED'})"
    print(f"{line['what']}: {sides}, ratio {line['ratio']:.2f}{wanted}", flush=True)
    return met


def main() -> int:
    if sys.argv[1:2] == ["--serve"]:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve_judge())
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", nargs="?", type=Path, default=HERE.parent.parent / "shared")
    parser.add_argument("--count", type=int, default=1000, help="trajectories (1000)")
    parser.add_argument("--baseline", type=int, default=50, help="trajectories of the plain loops (50)")
    parser.add_argument("--repeat", type=int, default=3, help="how often each side is measured (3)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="worker processes (one a core)")
    parser.add_argument("--memory", type=int, default=1000, help="instances of the smaller memory run (1000), 0: none")
    parser.add_argument("--only", choices=tuple(TARGETS), action="append", help="only this measurement (repeatable)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    options = parser.parse_args()
    only = options.only or list(TARGETS)
    mini = options.shared.resolve() / "data" / "mini"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        material = Material(mini, scratch / "material", options.count)
        batch(material, scratch, "first", "--limit", "1")
        if "judge" in only:
            lines += asyncio.run(measure_judge(material, scratch, options))
        if "offline" in only:
            lines += asyncio.run(measure_offline(material, scratch, options))
        if "memory" in only and options.memory:
            lines.append(measure_memory(mini, scratch, options.memory))
    met = [show(line) for line in lines]
    if options.json:
        options.json.write_text(json.dumps(lines, indent=1) + "\n")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
