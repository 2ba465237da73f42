"""What repair search costs over many failed trajectories, counted at the environment.

    python benchmarks/repair.py MATERIAL [--count 1000]

Ground truths of ``MATERIAL/data/mini`` are broken in a fixed way (a value, a tool, an argument, a missing call, the
answer, two of these at once) until ``--count`` trajectories fail; each is searched. Every tool call that reaches an
environment is counted by a wrapper around it: those of judging (both sides once), and those of the search, which must
be the calls that the search says it ran. Calls of one session of a search that repeat an earlier one of that session,
arguments and all, are counted too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

# A benchmark beside this one is named like a package; the folder of a script must not come first.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

import msgspec  # noqa: E402

from eval.case import Case  # noqa: E402
from eval.environments import EnvironmentChain  # noqa: E402
from eval.offline import OfflineJudge  # noqa: E402
from eval.paper import execute_prediction, execute_truth  # noqa: E402
from eval.repair import search  # noqa: E402
from eval.waterfall import evaluate  # noqa: E402
from sessions.drivers.ground_truth import answer_text  # noqa: E402
from toolenv.dataset import Dataset  # noqa: E402
from toolenv.environment import TableView, ToolEnvironment, ToolSession  # noqa: E402
from toolenv.errors import EnvironmentFailure  # noqa: E402
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult, ToolSpec  # noqa: E402
from toolenv.native import NativeEnvironment  # noqa: E402
from toolenv.recorded import RecordedEnvironment  # noqa: E402


class Counting:
    """An environment that counts the calls of its sessions."""

    def __init__(self, inner: ToolEnvironment) -> None:
        self.inner = inner
        self.kind, self.name = inner.kind, inner.name
        self.calls = 0
        self.repeated = 0

    def fingerprint(self) -> str | None:
        return self.inner.fingerprint()

    def serves(self, capability: int, domain: str) -> bool:
        return self.inner.serves(capability, domain)

    async def open(self, instance: Instance) -> ToolSession:
        return _Session(await self.inner.open(instance), self)

    async def close(self) -> None:
        await self.inner.close()


class _Session:
    def __init__(self, inner: ToolSession, counts: Counting) -> None:
        self._inner, self._counts = inner, counts
        self._seen: set[str] = set()

    async def list_tools(self) -> Sequence[ToolSpec]:
        return await self._inner.list_tools()

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        self._counts.calls += 1
        written = json.dumps([name, arguments], sort_keys=True, default=str)
        self._counts.repeated += written in self._seen
        self._seen.add(written)
        return await self._inner.call(name, arguments)

    async def table(self, handle: str) -> TableView | None:
        return await self._inner.table(handle)

    async def fork(self) -> ToolSession:
        return _Session(await self._inner.fork(), self._counts)

    async def close(self) -> None:
        await self._inner.close()

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        self._inner.on_tools_changed(listener)


def broken(instance: Instance, tools: Sequence[ToolSpec], choice: random.Random) -> Prediction:
    """The ground truth of an instance with one or two things changed."""
    assert instance.ground_truth is not None
    turn = instance.ground_truth.evaluated
    calls = list(turn.calls)
    answer = answer_text(turn.answer)
    for _ in range(choice.choice((1, 1, 1, 2))):
        where = [index for index, call in enumerate(calls) if call.name != "get_data"]
        kind = choice.choice(("value", "tool", "argument", "drop", "answer"))
        if kind == "answer" or not where:
            answer = choice.choice(("", "I don't know.", "17.25", answer[::-1] + "x"))
            continue
        index = choice.choice(where)
        call = calls[index]
        answer = answer[::-1] + "x"
        if kind == "drop":
            del calls[index]
        elif kind == "tool":
            calls[index] = msgspec.structs.replace(call, name=choice.choice(tools).name)
        elif call.arguments:
            name = choice.choice(sorted(call.arguments))
            arguments = dict(call.arguments)
            if kind == "argument":
                arguments[f"{name}_x"] = arguments.pop(name)
            else:
                arguments[name] = _other(arguments[name], choice)
            calls[index] = ToolCall(name=call.name, arguments=arguments)
    return Prediction(
        uuid=instance.uuid,
        domain=instance.domain,
        query=instance.query,
        answer=answer,
        calls=tuple(calls),
        capability=instance.capability,
        turn_id=turn.turn_id,
    )


def _other(value: Json, choice: random.Random) -> Json:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + choice.randint(1, 9)
    return f"{value}{choice.randint(0, 9)}"


async def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of repair search.")
    parser.add_argument("material", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    folder = options.material / "data"
    dataset = Dataset.open(folder / "mini")
    counting = [Counting(RecordedEnvironment(folder / "recorded")), Counting(NativeEnvironment(dataset))]
    chain = EnvironmentChain(counting)
    judge = OfflineJudge()
    outcomes: Counter[str] = Counter()
    spent: list[int] = []
    ratios: list[float] = []
    reused = tried = left_out = judging = disagreeing = repeated = seconds = 0.0
    for instance, choice in _instances(dataset):
        if len(spent) >= options.count:
            break
        environment = chain.serving(instance)
        try:
            truth = await execute_truth(instance, environment)
            prediction = broken(instance, truth.tools, choice)
            executed = await execute_prediction(instance, prediction, environment)
        except EnvironmentFailure:
            left_out += 1
            continue
        judging += len(truth.executed.trajectory.steps) + len(executed.trajectory.steps) - 2
        case = Case(
            run="broken",
            instance=instance,
            truth=truth.executed,
            prediction=executed,
            tools=truth.tools,
            truth_analysis=truth.analysis,
        )
        verdict = await evaluate(case, judge=judge)
        if verdict.passed is not False:
            continue
        calls = sum(each.calls for each in counting)
        again = sum(each.repeated for each in counting)
        started = time.perf_counter()
        found = await search(case, environment, judge=judge, verdict=verdict)
        seconds += time.perf_counter() - started
        counted = sum(each.calls for each in counting) - calls
        repeated += sum(each.repeated for each in counting) - again
        disagreeing += counted != found.spent.executions
        outcomes[found.outcome] += 1
        spent.append(counted)
        sides = len(prediction.calls) + len(instance.ground_truth.evaluated.calls if instance.ground_truth else ())
        ratios.append(counted / max(1, sides))
        reused += found.spent.reused
        tried += found.spent.tried
    await chain.close()
    n = len(spent)
    print(f"{n} failed trajectories searched: {dict(outcomes.most_common())}")
    print(f"  left out because a broken call is not recorded: {left_out:.0f}")
    print(f"  judging ran {judging:.0f} calls, searching {sum(spent)} more ({sum(spent) / n:.2f} an instance)")
    print(
        f"  an instance: median {statistics.median(spent):g}, 95 % at most {sorted(spent)[int(0.95 * n)]}, "
        f"most {max(spent)}"
    )
    print(f"  for each call of both sides: mean {statistics.mean(ratios):.2f}, most {max(ratios):.2f}")
    print(f"  calls needed and known: {reused:.0f}; repeated within a session: {repeated:.0f}")
    print(f"  searches whose own count is not the environment's: {disagreeing:.0f}")
    print(f"  judged {tried / n:.2f} trajectories an instance, {1000 * seconds / n:.1f} ms a search")


def _instances(dataset: Dataset) -> Iterator[tuple[Instance, random.Random]]:
    """Every instance with a ground truth, over and over, each time to be broken in another way."""
    refs = dataset.refs()
    for attempt in range(20):
        for number, ref in enumerate(refs):
            instance = dataset.load(ref)
            if instance.ground_truth is not None and instance.ground_truth.evaluated.calls:
                yield instance, random.Random(1000 * number + attempt)


if __name__ == "__main__":
    asyncio.run(main())
