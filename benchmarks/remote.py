"""Measure tools behind MCP: pooled servers beside a server for each instance, and how soon a server answers.

    python benchmarks/remote.py [SHARED] [--count N] [--single N] [--concurrency N] [--json FILE]

Ground truths of capability 1 from ``SHARED/data/mini`` are executed, ``--count`` instances and then twice as many:

- natively, in process;
- over ``vakra-tui serve`` on stdio, at most four servers a domain, each used again and again;
- over the same servers, one started and ended for each instance (the first ``--single`` of them, counted up), as many
  at a time as above.

All answers are compared with the native ones. Then a server's start is timed, from the start of the process to its
answers to ``initialize`` and to ``tools/list``, beside what importing the protocol's library takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]  # toolenv.py here is no package

import yaml  # noqa: E402

from sessions.drivers import GroundTruthDriver  # noqa: E402
from sessions.execution import execute  # noqa: E402
from toolenv.dataset import Dataset  # noqa: E402
from toolenv.environment import ToolEnvironment  # noqa: E402
from toolenv.model import Instance  # noqa: E402
from toolenv.native import NativeEnvironment  # noqa: E402
from toolenv.remote import RemoteEnvironment  # noqa: E402

PROGRAM = Path(sys.executable).with_name("vakra-tui")
LIMIT = 4
STARTS = 7
IMPORTS = {
    "python alone": "pass",
    "our packages for serving": "import vakra_tui.cli.serve, toolenv.native, toolenv.dataset",
    "mcp's server": "from mcp.server.lowlevel import Server",
}

Answers = dict[str, list[tuple[str, bool]]]


async def executed(environment: ToolEnvironment, instances: Sequence[Instance], concurrency: int) -> Answers:
    """The answers to every ground truth's calls, by uuid."""
    answers: Answers = {}
    gate = asyncio.Semaphore(concurrency)

    async def one(instance: Instance) -> None:
        async with gate:
            done = await execute(instance, GroundTruthDriver(instance), environment)
        answers[instance.uuid] = [
            (step.result.text, step.result.failed) for step in done.trajectory.steps if step.result is not None
        ]

    await asyncio.gather(*(one(instance) for instance in instances))
    return answers


async def timed(make: Callable[[], ToolEnvironment], instances: Sequence[Instance], concurrency: int) -> Any:
    """(seconds from nothing to the last answer and all servers gone, answers, servers started)."""
    started = time.perf_counter()
    environment = make()
    try:
        answers = await executed(environment, instances, concurrency)
    finally:
        await environment.close()
    return time.perf_counter() - started, answers, getattr(environment, "starts", 0)


async def one_each(make: Callable[[], RemoteEnvironment], instances: Sequence[Instance], concurrency: int) -> Any:
    """The same with an environment, and so a server, for each instance."""
    started = time.perf_counter()
    answers: Answers = {}
    gate = asyncio.Semaphore(concurrency)

    async def one(instance: Instance) -> None:
        async with gate:
            _, found, _ = await timed(make, [instance], 1)
        answers.update(found)

    await asyncio.gather(*(one(instance) for instance in instances))
    return time.perf_counter() - started, answers


def start_times(data: Path, domain: str) -> tuple[list[float], list[float]]:
    """Seconds to the answers to ``initialize`` and to ``tools/list``, of several starts."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "0"}}
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests).encode()
    first, second = [], []
    for _ in range(STARTS):
        command = [str(PROGRAM), "serve", str(data), "--capability", "1", "--domain", domain]
        started = time.perf_counter()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(text)
            process.stdin.flush()
            process.stdout.readline()
            first.append(time.perf_counter() - started)
            process.stdout.readline()
            second.append(time.perf_counter() - started)
            process.stdin.close()
            process.wait()
    return first, second


def cpu_of(statement: str) -> float:
    """Median seconds of processor time that a fresh interpreter takes to run a statement."""
    found = []
    for _ in range(STARTS):
        before = os.times()
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = os.times()
        found.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(found)


async def measured(data: Path, options: argparse.Namespace) -> dict[str, Any]:
    dataset = Dataset.open(data)
    refs = [ref for ref in dataset.refs(capability=1) if ref.domain == options.domain][: 2 * options.count]
    instances = [dataset.load(ref) for ref in refs]
    results: dict[str, Any] = {"instances": len(instances), "concurrency": options.concurrency}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "connections.yaml"
        entry = {"mode": "stdio", "command": str(PROGRAM), "args": ["serve", str(data)]}
        path.write_text(yaml.safe_dump({"tasks": {1: entry}}))

        def remote() -> RemoteEnvironment:
            return RemoteEnvironment(path, dataset, limit=LIMIT, logs=Path(folder) / "logs")

        native_s, expected, _ = await timed(lambda: NativeEnvironment(dataset), instances, options.concurrency)
        results["native"] = {"seconds": native_s}
        for count in (len(instances) // 2, len(instances)):
            seconds, answers, starts = await timed(remote, instances[:count], options.concurrency)
            same = sum(answers[uuid] == expected[uuid] for uuid in answers)
            results[f"pooled {count}"] = {"seconds": seconds, "starts": starts, "same": same, "of": len(answers)}
        single = instances[: options.single]
        seconds, answers = await one_each(remote, single, options.concurrency)
        same = sum(answers[uuid] == expected[uuid] for uuid in answers)
        results["one server an instance"] = {
            "seconds for each": seconds / len(single),
            "starts": len(single),
            "same": same,
            "of": len(single),
        }
        pooled = results[f"pooled {len(instances)}"]["seconds"]
        results["ratio"] = seconds / len(single) * len(instances) / pooled
    first, second = start_times(data, options.domain)
    results["start"] = {
        "initialize": statistics.median(first),
        "tools/list": statistics.median(second),
        "fastest tools/list": min(second),
        "processor seconds": {name: cpu_of(statement) for name, statement in IMPORTS.items()},
    }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", nargs="?", type=Path, default=HERE.parent.parent / "shared")
    parser.add_argument("--domain", default="superhero")
    parser.add_argument("--count", type=int, default=50, help="instances of the smaller pooled run (50)")
    parser.add_argument("--single", type=int, default=40, help="instances with a server each (40)")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    results = asyncio.run(measured(options.shared / "data" / "mini", options))
    text = json.dumps(results, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
