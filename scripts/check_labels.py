"""Compare the verdicts of ``--profile paper`` with labelled predictions.

    python scripts/check_labels.py MATERIAL [--judge offline|recorded|none] [--run NAME ...] [--verbose]

``MATERIAL`` is a folder with ``data/mini`` (a dataset), ``data/recorded`` (a recorded environment) and ``data/runs``
(runs, ``labels.jsonl``, ``rulings.jsonl``). Prints agreement on ``passed``, ``failed_stage`` and ``sieve`` over labels
without an ``ambiguous`` text, the share that stayed undecided, and every disagreement. Exit code 1 where a label
without an ``ambiguous`` text is contradicted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from eval.environments import EnvironmentChain
from eval.judge import Judge
from eval.judges.none import NoJudge
from eval.judges.recorded import RecordedJudge
from eval.model import Verdict
from eval.offline import OfflineJudge
from eval.paper import PaperProfile
from eval.profile import Item, ScoringContext, Unit
from eval.truths import GroundTruths
from sessions.submissions import Run
from toolenv.dataset import Dataset
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment

COMPARED = ("passed", "failed_stage", "sieve")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare verdicts with labels.")
    parser.add_argument("material", type=Path)
    parser.add_argument("--judge", choices=("offline", "recorded", "none"), default="offline")
    parser.add_argument("--run", action="append", dest="runs", help="only these runs")
    parser.add_argument("--data", type=Path, help="another dataset in place of MATERIAL/data/mini")
    parser.add_argument("--verbose", action="store_true", help="also what stayed undecided and what is ambiguous")
    options = parser.parse_args()
    return asyncio.run(check(options))


async def check(options: argparse.Namespace) -> int:
    folder = options.material / "data"
    labels = [json.loads(line) for line in (folder / "runs" / "labels.jsonl").read_text("utf-8").splitlines()]
    if options.runs:
        labels = [label for label in labels if label["run"] in options.runs]
    dataset = Dataset.open(options.data or folder / "mini")
    chain = EnvironmentChain([RecordedEnvironment(folder / "recorded"), NativeEnvironment(dataset)])
    rulings = RecordedJudge(folder / "runs" / "rulings.jsonl") if options.judge == "recorded" else None
    judge: Judge = rulings or (OfflineJudge() if options.judge == "offline" else NoJudge())
    truths = GroundTruths(kept=2000)
    started = time.perf_counter()
    pairs: list[tuple[dict[str, Any], Verdict]] = []
    for name in sorted({label["run"] for label in labels}):
        run = Run.open(folder / "runs" / name, dataset)
        context = ScoringContext(dataset=dataset, run=run, environments=chain, judge=judge, truths=truths)
        wanted = [label for label in labels if label["run"] == name]
        for label, item in zip(wanted, items(wanted, dataset, run), strict=True):
            (verdict,) = await PaperProfile().score(Unit(items=(item,)), context)
            pairs.append((label, verdict))
    await truths.close()
    await chain.close()
    print(f"{len(pairs)} labels, judge {options.judge}, {time.perf_counter() - started:.1f} s")
    return report(pairs, verbose=options.verbose)


def items(labels: Sequence[dict[str, Any]], dataset: Dataset, run: Run) -> Iterable[Item]:
    """The item of each label: an instance with its prediction, or one of the two."""
    instances = {ref.uuid: ref for ref in dataset.refs()}
    predictions = {ref.uuid: ref for ref in run.refs()}
    for position, label in enumerate(labels):
        instance = instances.get(label["uuid"])
        prediction = run.get(instance) if instance is not None else predictions.get(label["uuid"])
        yield Item(position=position, instance=instance, prediction=prediction)


def agreement(label: dict[str, Any], verdict: Verdict) -> list[str]:
    """What the verdict says otherwise than the label; empty where they agree."""
    expected = label["expected"]
    if label["kind"] == "extra_uuid":
        return [] if verdict.status == "extra" else [f"status {verdict.status}, expected extra"]
    if label["kind"] == "missing_prediction" and verdict.status != "missing":
        return [f"status {verdict.status}, expected missing"]
    compared = ("passed", "sieve") if label["kind"] == "missing_prediction" else COMPARED
    return [
        f"{name} {getattr(verdict, name)!r}, expected {expected[name]!r}"
        for name in compared
        if getattr(verdict, name) != expected[name]
    ]


def report(pairs: Sequence[tuple[dict[str, Any], Verdict]], *, verbose: bool) -> int:
    strict = [(label, verdict) for label, verdict in pairs if not label.get("ambiguous")]
    undecided = [(label, verdict) for label, verdict in strict if verdict.sieve == "undecided"]
    unscored = [(label, verdict) for label, verdict in strict if verdict.status == "unscored"]
    decided = [(label, verdict) for label, verdict in strict if verdict.sieve != "undecided"]
    wrong = [(label, verdict, agreement(label, verdict)) for label, verdict in decided if agreement(label, verdict)]
    share = 100 * len(undecided) / len(strict)
    print(f"without an ambiguous text: {len(strict)}; unscored: {len(unscored)}")
    print(f"  undecided: {len(undecided)} ({share:.1f} %)")
    for name in COMPARED:
        agreeing = sum(
            not any(line.startswith(name) for line in agreement(label, verdict)) for label, verdict in decided
        )
        print(f"  {name}: {agreeing} of {len(decided)} decided agree ({100 * agreeing / max(1, len(decided)):.2f} %)")
    for label, verdict, differences in wrong:
        show("DISAGREES", label, verdict, differences)
    if verbose:
        for label, verdict in undecided:
            show("undecided", label, verdict, [])
        for label, verdict in pairs:
            if label.get("ambiguous"):
                differences = agreement(label, verdict)
                show("ambiguous", label, verdict, differences or ["agrees"])
    kinds = Counter(label["kind"] for label, _ in undecided)
    print("undecided by kind:", ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none")
    return 1 if wrong else 0


def show(word: str, label: dict[str, Any], verdict: Verdict, differences: Sequence[str]) -> None:
    reasons = [
        f"{stage.stage} {stage.outcome}: {stage.reason}" for stage in verdict.stages if stage.outcome != "skipped"
    ]
    print(f"{word} {label['run']} {label['uuid']} ({label['kind']}: {label['why']})")
    print(f"    {'; '.join(differences)} | passed={verdict.passed} {verdict.failed_stage} {verdict.sieve}")
    print(f"    {' | '.join(reasons) or verdict.detail}"[:600])


if __name__ == "__main__":
    raise SystemExit(main())
