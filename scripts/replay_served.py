"""Replay VAKRA's recorded calls through ``vakra-tui serve`` over MCP stdio, with the protocol's reference client.

    python scripts/replay_served.py [GOLDEN] [--bird BIRD] [--only FOLDER] [--show N]

Counts as ``replay_golden.py`` does, which replays the same calls in process: the two must print the same figures. One
server a domain; before each sequence it is switched away from the sequence's universe, as when the calls were recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from replay_golden import HERE, by_design, judged, recorded_kind, sequences, show, universes_of

from toolenv.failures import result_of


def dataset(root: Path, golden: Path, databases: Path, domains: set[str]) -> Path:
    """A dataset with the universes and databases of the recordings and no instances."""
    (root / "configs").mkdir(parents=True)
    (root / "test" / "capability_1_bi_apis" / "input").mkdir(parents=True)
    mapping = root / "configs" / "mcp_tool_universe_id_mapping.yaml"
    mapping.write_bytes((golden / "universes.yaml").read_bytes())
    for domain in domains:
        (root / "databases" / domain).mkdir(parents=True)
        target = root / "databases" / domain / f"{domain}.sqlite"
        target.symlink_to((databases / domain / f"{domain}.sqlite").resolve())
    return root


async def replay(data: Path, folder: Path, pandas: str, shown: int, universes: dict[str, Any]) -> Counter[str]:
    counts: Counter[str] = Counter()
    by_domain: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for path, sequence in sequences(folder):
        by_domain.setdefault(sequence["domain"], []).append((path, sequence))
    for domain, found in by_domain.items():
        command = [str(data), "--capability", "1", "--domain", domain, "--pandas", pandas]
        program = Path(sys.executable).with_name("vakra-tui")
        server = StdioServerParameters(command=str(program), args=["serve", *command])
        async with Client(server) as client:
            for path, sequence in found:
                other = next(key for key in universes if key != sequence["universe_id"])
                await client.call_tool("get_data", {"tool_universe_id": other})
                failed_switch = False
                for number, call in enumerate(sequence["calls"], 1):
                    kind = recorded_kind(call["response_text"], call["is_error"])
                    answer = await client.call_tool(call["name"], call["arguments"])
                    result = result_of(answer.content[0].text, answer.is_error)
                    outcome = judged(call, result, kind)
                    if outcome == "different" and (reason := by_design(call, result, kind, failed_switch)):
                        outcome = f"by design {reason}"
                    counts[outcome] += 1
                    failed_switch = failed_switch or call["response_text"].startswith('{"error": "Error switching')
                    if outcome == "different" and shown > 0:
                        shown -= 1
                        show(path, sequence, number, call, result)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", nargs="?", type=Path, default=HERE.parent / "shared" / "golden")
    parser.add_argument("--bird", type=Path, help="folder of the BIRD databases (GOLDEN/../data/bird)")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="print the first N differences")
    parser.add_argument("--only", metavar="FOLDER", help="real, synthetic or synthetic_pandas2 (default: all)")
    options = parser.parse_args()
    universes = universes_of(options.golden / "universes.yaml")
    bird = options.bird or options.golden.parent / "data" / "bird"
    different = 0
    for name, databases, pandas in (
        ("real", bird, "3"),
        ("synthetic", options.golden / "db", "3"),
        ("synthetic_pandas2", options.golden / "db", "2"),
    ):
        if options.only not in (None, name):
            continue
        folder = options.golden / name
        domains = {sequence["domain"] for _, sequence in sequences(folder)}
        with tempfile.TemporaryDirectory() as root:
            data = dataset(Path(root) / "data", options.golden, databases, domains)
            counts = asyncio.run(replay(data, folder, pandas, options.show, universes))
        different += counts["different"]
        figures = ", ".join(f"{outcome}: {count}" for outcome, count in sorted(counts.items()))
        print(f"{name}: {counts.total()} calls; {figures}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
