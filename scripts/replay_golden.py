"""Replay VAKRA's recorded calls on the native environment and count what is equal, byte for byte.

    python scripts/replay_golden.py [GOLDEN] [--bird BIRD] [--show N]

``GOLDEN`` is the folder of recordings (see its README). A call that succeeded in the recording must give the same text;
one that failed must fail with the same kind and flag. Differences by design (contract: S1 to S4, S13, S17) are counted
apart. Exit code 1 when anything else differs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from toolenv.errors import EnvironmentFailure
from toolenv.model import CAPABILITY_DIRS, Instance, ToolResult, Turn, Universe, UniverseTable
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment

HERE = Path(__file__).resolve().parent.parent


class Material:
    """What the environment needs of a dataset: databases and universes of the recordings."""

    def __init__(self, universes: Mapping[str, Universe], folder: Path) -> None:
        self._universes = universes
        self._folder = folder

    def database(self, domain: str) -> Path:
        return self._folder / domain / f"{domain}.sqlite"

    def universe(self, uuid: str) -> Universe | None:
        return self._universes.get(uuid)

    def universes(self, domain: str) -> Mapping[str, Universe]:
        return {key: universe for key, universe in self._universes.items() if universe.domain == domain}

    def has_universes(self, domain: str) -> bool:
        return bool(self.universes(domain))

    def endpoints(self, domain: str) -> Path | None:
        return None

    def documents(self, domain: str) -> Path | None:
        return None

    def fingerprint(self) -> str:
        return "golden"


def universes_of(path: Path) -> dict[str, Universe]:
    found = {}
    for key, entry in yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader).items():
        arguments = entry["init_args"]
        found[str(key)] = Universe(
            id=str(key),
            domain=entry["domain"],
            style="sel" if entry.get("server_type") == "selection" else "slot",
            tables=tuple(
                UniverseTable(
                    alias=alias, original_name=table["original_table_name"], modified_name=table["modified_table_name"]
                )
                for alias, table in arguments["alias_to_table_dict"].items()
            ),
            conditions=tuple((str(c[0]), str(c[1]), str(c[2])) for c in arguments["condition_sequence"]),
        )
    return found


def sequences(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob("*.jsonl")):
        if not path.name.endswith(".rest.jsonl"):
            for line in path.read_text("utf-8").splitlines():
                yield path, json.loads(line)


def recorded_kind(text: str, is_error: bool) -> str | None:
    """The kind of failure that a recorded answer is (contract, section 1.5), None for a success."""
    if is_error and text.startswith("Input validation error:"):
        return "refused_arguments"
    if is_error and (text.startswith("Unknown tool:") or text.endswith(" not found")):
        return "unknown_tool"
    if is_error or text.startswith(("Input validation error:", '{"error"', "Error calling API:")):
        return "tool_failed"
    return None


def by_design(call: dict[str, Any], result: ToolResult, kind: str | None, failed_switch: bool) -> str | None:
    """Which deliberate difference explains an answer that is not the recorded one."""
    name = call["name"]
    if name in ("truncate", "select_unique_values") and kind == "refused_arguments" and not result.failed:
        return "S13"
    if name == "initialize_active_data" and result.error_kind == "unknown_tool":
        return "S17"
    if name.startswith("get_") and name != "get_data" and result.error_kind == "unknown_tool" and kind == "tool_failed":
        return "S3"
    return "S1" if failed_switch else None


async def replay_rest(golden: Path, recorded: Path) -> Counter[str]:
    """Endpoint calls by way of the recorded environment: the recordings become a folder of its form first."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / CAPABILITY_DIRS[2]
        folder.mkdir()
        calls: dict[str, list[dict[str, Any]]] = {}
        for path in sorted((golden / "real").glob("*.rest.jsonl")):
            domain = path.name.removesuffix(".rest.jsonl")
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            calls[domain] = [call for line in lines for call in line["calls"]]
            with (folder / f"{domain}.jsonl").open("w", encoding="utf-8") as out:
                for line in ({"tools": rest_tools(golden, recorded, domain, calls[domain])}, *calls[domain]):
                    out.write(json.dumps(line) + "\n")
        environment = RecordedEnvironment(Path(scratch))
        for domain, wanted in calls.items():
            instance = Instance(uuid="golden", capability=2, domain=domain, turns=(Turn(turn_id=0, query=""),))
            session = await environment.open(instance)
            for call in wanted:
                kind = recorded_kind(call["response_text"], call["is_error"])
                counts[judged(call, await session.call(call["name"], call["arguments"]), kind)] += 1
    return counts


def rest_tools(golden: Path, recorded: Path, domain: str, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The domain's published tools; where there is no list, the names that answered, with any arguments."""
    for path in (golden / f"tools_list_rest_{domain}.json", recorded / CAPABILITY_DIRS[2] / f"{domain}.jsonl"):
        if path.is_file():
            if path.suffix == ".json":
                return list(json.loads(path.read_text("utf-8")))
            with path.open(encoding="utf-8") as lines:
                return list(json.loads(next(lines))["tools"])
    known = {call["name"] for call in calls if recorded_kind(call["response_text"], call["is_error"]) != "unknown_tool"}
    return [{"name": name, "inputSchema": {"type": "object"}} for name in sorted(known)]


async def replay(folder: Path, material: Material, pandas2: bool, shown: int) -> Counter[str]:
    environment = NativeEnvironment(material, pandas2=pandas2)  # type: ignore[arg-type]
    counts: Counter[str] = Counter()
    for path, sequence in sequences(folder):
        instance = Instance(
            uuid=sequence["universe_id"],
            capability=1,
            domain=sequence["domain"],
            turns=(Turn(turn_id=0, query=""),),
            universe_id=sequence["universe_id"],
        )
        session = await environment.open(instance)
        failed_switch = False
        for number, call in enumerate(sequence["calls"], 1):
            kind = recorded_kind(call["response_text"], call["is_error"])
            try:
                result = await session.call(call["name"], call["arguments"])
            except EnvironmentFailure as failure:
                result = ToolResult(text=str(failure), failed=True)
            outcome = judged(call, result, kind)
            if outcome == "different" and (reason := by_design(call, result, kind, failed_switch)):
                outcome = f"by design {reason}"
            counts[outcome] += 1
            failed_switch = failed_switch or call["response_text"].startswith('{"error": "Error switching')
            if outcome == "different" and shown > 0:
                shown -= 1
                show(path, sequence, number, call, result)
        await session.close()
    await environment.close()
    return counts


def judged(call: dict[str, Any], result: ToolResult, kind: str | None) -> str:
    if kind is None:
        return "equal text" if result.text == call["response_text"] and not result.failed else "different"
    same = result.failed and result.error_kind == kind and result.is_error == call["is_error"]
    return "failed alike" if same else "different"


def show(path: Path, sequence: dict[str, Any], number: int, call: dict[str, Any], result: ToolResult) -> None:
    place = SimpleNamespace(**{key: sequence[key] for key in ("seq", "universe_id", "tag")})
    print(f"--- {path.name} sequence {place.seq} ({place.universe_id}, {place.tag}) call {number}")
    print(f"    {call['name']} {json.dumps(call['arguments'])[:300]}")
    recorded, ours = call["response_text"], result.text
    start = next((i for i, (a, b) in enumerate(zip(recorded, ours, strict=False)) if a != b), 0)
    start = max(0, start - 120)
    print(f"    recorded: {recorded[start : start + 300]!r} is_error={call['is_error']}")
    print(f"    native:   {ours[start : start + 300]!r} is_error={result.is_error} kind={result.error_kind}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", nargs="?", type=Path, default=HERE.parent / "shared" / "golden")
    parser.add_argument("--bird", type=Path, help="folder of the BIRD databases (GOLDEN/../data/bird)")
    parser.add_argument(
        "--show", type=int, default=10, metavar="N", help="print the first N differences of each folder"
    )
    options = parser.parse_args()
    universes = universes_of(options.golden / "universes.yaml")
    bird = options.bird or options.golden.parent / "data" / "bird"
    different = 0
    for name, folder, pandas2 in (
        ("real", bird, False),
        ("synthetic", options.golden / "db", False),
        ("synthetic_pandas2", options.golden / "db", True),
    ):
        counts = asyncio.run(replay(options.golden / name, Material(universes, folder), pandas2, options.show))
        different += counts["different"]
        figures = ", ".join(f"{outcome}: {count}" for outcome, count in sorted(counts.items()))
        print(f"{name}: {counts.total()} calls; {figures}")
    counts = asyncio.run(replay_rest(options.golden, options.golden.parent / "data" / "recorded"))
    different += counts["different"]
    figures = ", ".join(f"{outcome}: {count}" for outcome, count in sorted(counts.items()))
    print(f"rest, recorded: {counts.total()} calls; {figures}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
