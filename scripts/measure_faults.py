"""The whole sample by the ReAct agent while its endpoint does wrong: how every instance ends, kind by kind.

    python scripts/measure_faults.py [--rate 0.1] [--seed 1] [--write]

A server on real HTTP answers as an oracle would and replaces a share of its answers by one kind of fault (seeded); each
kind has a run over the whole sample, with completions whole and streamed, and one run has all kinds at once. Exit code
1 where an instance was lost or ended without a known status. ``--write`` puts the table into
``docs/measurements/agent.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "agent"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from agent_faults import FAULTS, Injected
from agent_oracle import Oracle
from endpoint_server import Server

from eval.agents import Production
from eval.environments import EnvironmentChain
from sessions.agent import AgentSettings, AgentStatus
from sessions.agent.agent import ReactAgent
from sessions.agent.status import FAILURES
from toolenv.dataset import Dataset
from toolenv.native import NativeEnvironment
from toolenv.openai_compat import Client, EndpointSettings, RetryPolicy
from vakra_tui.sample import sample_dataset

PAGE = Path(__file__).resolve().parent.parent / "docs" / "measurements" / "agent.md"
START, END = "<!-- table made by scripts/measure_faults.py -->", "<!-- end of the table -->"
QUICK = RetryPolicy(first_wait_s=0.01, longest_backoff_s=0.05)
KNOWN = frozenset(get_args(AgentStatus)) - {"unfinished"}


@dataclass(frozen=True)
class Measured:
    """One run over the sample."""

    instances: int
    answers: int
    faults: int
    ended: Counter[str]

    @property
    def lost(self) -> int:
        """Instances without a status, or with one that says nothing."""
        return self.instances - sum(count for status, count in self.ended.items() if status in KNOWN)


async def measured(server: Server, kinds: Sequence[str], rate: float, seed: str, stream: bool) -> Measured:
    dataset = Dataset.open(sample_dataset())
    endpoint = server.endpoint()
    endpoint.default = injected = Injected(Oracle(dataset.load(ref) for ref in dataset.refs()), kinds, rate, seed)
    agent = ReactAgent("m", endpoint.base_url, AgentSettings(stream=stream))
    agent.client = Client(EndpointSettings(model="m", base_url=endpoint.base_url, concurrency=8, retries=QUICK))
    production = Production(agent, dataset, EnvironmentChain([NativeEnvironment(dataset)]))
    refs = list(dataset.refs())
    await production.run(refs, asyncio.Event())
    await agent.aclose()
    return Measured(
        instances=len(refs), answers=injected.answers, faults=injected.counts.total(), ended=production.counts
    )


def row(name: str, case: str, runs: Sequence[Measured]) -> str:
    """One line of the table; figures of the whole and the streamed run are added up."""
    ended: Counter[str] = sum((run.ended for run in runs), Counter())
    around = sum(count for status, count in ended.items() if status in FAILURES)
    others = sorted((s, c) for s, c in ended.items() if s != "answered" and s not in FAILURES)
    cells = (
        name,
        case,
        sum(run.answers for run in runs),
        sum(run.faults for run in runs),
        sum(run.instances for run in runs),
        ended["answered"],
        ", ".join(f"{count} {status}" for status, count in others) or "-",
        around,
        sum(run.lost for run in runs),
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


async def table(rate: float, seed: str) -> tuple[list[str], int]:
    """The lines of the table, and how many instances were lost."""
    server = Server()
    lines = [
        "| fault | case | answers | faulty | instances | answered | ended otherwise | endpoint failed | lost |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lost = 0
    kinds = [(kind, fault.case, (kind,), rate) for kind, fault in FAULTS.items()]
    for name, case, chosen, share in (*kinds, ("all of them at once", "", tuple(FAULTS), 3 * rate)):
        started = time.perf_counter()
        runs = [await measured(server, chosen, share, seed, stream) for stream in (False, True)]
        lines.append(row(name, case, runs))
        lost += sum(run.lost for run in runs)
        print(f"{lines[-1]}  {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    server.close()
    return lines, lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    for name in ("VAKRA_TUI_AGENT_API_KEY", "OPENAI_API_KEY", "VAKRA_TUI_AGENT_DIALECT"):
        os.environ.pop(name, None)
    lines, lost = asyncio.run(table(arguments.rate, arguments.seed))
    print("\n".join(lines))
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(START)[0], page.split(END)[1]
        PAGE.write_text("\n".join([f"{before}{START}", "", *lines, "", f"{END}{after}"]), encoding="utf-8")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
