"""Check that repair search names the step that one known change broke.

    python scripts/check_repair.py MATERIAL [--run NAME] [--judge offline|recorded] [--sample] [--list] [--verbose]

``MATERIAL`` is laid out as for ``check_labels.py``. Of every failing prediction of the run the expected step is found
by comparing its calls with the ground truth's as they are written, without any of the search's own code: the first call
that differs, or the answer where no call does. Kinds that make one change are checked strictly; of the others the
outcomes are counted. ``--sample`` takes the ``flawed`` run of the built-in sample, whose changes stand in its labels.
Exit code 1 where a strictly checked step is not the one found, or a failing trajectory has no explanation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.environments import EnvironmentChain
from eval.judge import Judge
from eval.judges.recorded import RecordedJudge
from eval.offline import OfflineJudge
from eval.paper import PaperProfile
from eval.profile import Item, ScoringContext, Unit
from eval.repair import RepairResult
from eval.truths import GroundTruths
from sessions.submissions import Run
from toolenv.dataset import Dataset
from toolenv.model import Instance, Prediction, ToolCall
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment

ONE_CHANGE = frozenset(
    {
        "wrong_value",
        "wrong_tool",
        "missing_hop",
        "hallucinated_argument",
        "missing_argument",
        "wrong_case_value",
        "stale_handle",
        "right_calls_wrong_answer",
        "refusal_answerable",
        "empty_answer",
        "truncated_answer",
        "list_incomplete",
        "list_extra",
        "number_off_format",
        "flawed",
    }
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Check repair search against known changes.")
    parser.add_argument("material", type=Path, nargs="?")
    parser.add_argument("--run", default="r1")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--judge", choices=("offline", "recorded"), default="offline")
    parser.add_argument("--list", action="store_true", help="print every explanation as a Markdown table")
    parser.add_argument(
        "--verbose", action="store_true", help="print every trajectory that is not as expected, or loose"
    )
    return asyncio.run(check(parser.parse_args()))


async def check(options: argparse.Namespace) -> int:
    kinds: dict[str, str]
    if options.sample:
        from vakra_tui.sample import sample_dataset, sample_runs

        dataset = Dataset.open(sample_dataset())
        run = Run.open(sample_runs()["flawed"], dataset)
        chain = EnvironmentChain([NativeEnvironment(dataset)])
        kinds = {}
    else:
        folder = options.material / "data"
        dataset = Dataset.open(folder / "mini")
        run = Run.open(folder / "runs" / options.run, dataset)
        chain = EnvironmentChain([RecordedEnvironment(folder / "recorded"), NativeEnvironment(dataset)])
        labels = [json.loads(line) for line in (folder / "runs" / "labels.jsonl").read_text("utf-8").splitlines()]
        kinds = {label["uuid"]: label["kind"] for label in labels if label["run"] == options.run}
    judge: Judge = (
        RecordedJudge(options.material / "data" / "runs" / "rulings.jsonl", options.run)
        if options.judge == "recorded"
        else OfflineJudge()
    )
    found: dict[str, RepairResult] = {}
    profile = PaperProfile(on_repair=lambda item, result: found.update({item.uuid: result}))
    context = ScoringContext(dataset=dataset, run=run, environments=chain, judge=judge, truths=GroundTruths())
    started = time.perf_counter()
    rows: list[tuple[str, Instance, Prediction, RepairResult]] = []
    unexplained = 0
    for position, ref in enumerate(dataset.refs()):
        prediction = run.get(ref)
        if prediction is None:
            continue
        (verdict,) = await profile.score(
            Unit(items=(Item(position=position, instance=ref, prediction=prediction),)), context
        )
        if verdict.passed is not False:
            continue
        if ref.uuid not in found:
            unexplained += 1
            print("UNEXPLAINED", ref.uuid, verdict.repair)
            continue
        kind = kinds.get(ref.uuid, "flawed" if options.sample else "-")
        rows.append((kind, dataset.load(ref), run.load(prediction), found[ref.uuid]))
    elapsed = time.perf_counter() - started
    wrong = report(rows, options)
    print(f"{elapsed:.1f} s in all, judging included")
    return 1 if wrong or unexplained else 0


def report(rows: list[tuple[str, Instance, Prediction, RepairResult]], options: argparse.Namespace) -> int:
    strict: Counter[str] = Counter()
    right: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, instance, prediction, result in rows:
        outcomes[kind][result.outcome] += 1
        expected, changes = expected_step(instance, prediction)
        agrees = result.step == expected and result.outcome in ("replacement", "reference")
        if kind in ONE_CHANGE and changes == 1:
            strict[kind] += 1
            right[kind] += agrees
        loose = kind not in ONE_CHANGE or changes != 1
        if options.list:
            print(
                f"| `{instance.uuid}` | {kind} | {result.outcome} | {cell(result.sentence)} "
                f"| {result.spent.executions} |"
            )
        elif (not agrees and not loose) or (options.verbose and loose):
            print(
                f"{'loose' if loose else 'WRONG'} {kind} {instance.uuid}: expected step {expected}, found {result.step}"
            )
            print(f"    {result.outcome}: {result.sentence}")
    print(f"\n{len(rows)} failing trajectories; outcomes {dict(Counter(r.outcome for *_, r in rows))}")
    for kind in sorted(outcomes):
        checked = f", step as expected {right[kind]} of {strict[kind]}" if strict[kind] else ""
        print(f"  {kind}: {dict(outcomes[kind])}{checked}")
    print(f"strictly checked: {sum(right.values())} of {sum(strict.values())} as expected")
    spent = [result.spent.executions for *_, result in rows] or [0]
    ratios = [
        result.spent.executions / max(1, len(prediction.calls) + hops(instance))
        for _, instance, prediction, result in rows
    ] or [0.0]
    print(
        f"executions an instance: mean {statistics.mean(spent):.2f}, median {statistics.median(spent):g}, "
        f"most {max(spent)}; for each call of both sides: mean {statistics.mean(ratios):.2f}, most {max(ratios):.2f}; "
        f"judged trajectories: mean {statistics.mean([r.spent.tried for *_, r in rows] or [0]):.1f}, "
        f"calls not run because known {sum(r.spent.reused for *_, r in rows)}"
    )
    return sum(strict.values()) - sum(right.values())


def hops(instance: Instance) -> int:
    return len(instance.ground_truth.evaluated.calls) if instance.ground_truth is not None else 0


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def expected_step(instance: Instance, prediction: Prediction) -> tuple[int, int]:
    """(number of the first call that is not as in the ground truth, 1 where one change explains it; else 2).

    The answer's place comes after the calls. Later calls may differ in what flows (handles, values), so one change is
    told by the tools alone: the same tools but one, one tool fewer, or the same ones throughout.
    """
    assert instance.ground_truth is not None
    given = scored(prediction.calls)
    due = scored(instance.ground_truth.evaluated.calls)
    same = 0
    while same < min(len(given), len(due)) and written(given[same]) == written(due[same]):
        same += 1
    if len(given) == len(due):
        others = sum(one.name != other.name for one, other in zip(given, due, strict=True))
        return same + 1, 1 if others <= 1 else 2
    names, wanted = [call.name for call in given], [call.name for call in due]
    one_fewer = len(due) == len(given) + 1 and any(names == [*wanted[:at], *wanted[at + 1 :]] for at in range(len(due)))
    return same + 1, 1 if one_fewer else 2


def scored(calls: tuple[ToolCall, ...]) -> list[ToolCall]:
    return [call for call in calls if call.name not in ("get_data", "initialize_active_data")]


def written(call: ToolCall) -> tuple[str, Any]:
    arguments: Mapping[str, Any] = call.arguments
    return call.name, json.dumps(arguments, sort_keys=True)


if __name__ == "__main__":
    raise SystemExit(main())
