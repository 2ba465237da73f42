"""Build datasets from the five BIRD databases of the material folder, check and score them, and time it.

    .venv/bin/python benchmarks/build.py /path/to/shared [--out DIR] [--write] [--sample FILE]

Each database is built and checked in a process of its own, so that its peak memory is its own. ``--write`` puts the
tables into docs/measurements/build.md, between its markers; ``--sample`` writes fifty multi-hop questions, ten a
database, for reading. The seed is 0 and nothing but the times and the memory depends on the machine.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import multiprocessing
import pstats
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

# A benchmark beside this one is named like a package; the folder of a script must not come first.
_HERE = Path(__file__).resolve().parent
sys.path = [str(_HERE.parent), *(p for p in sys.path if Path(p).resolve() != _HERE)]

from eval.checks import check_dataset  # noqa: E402
from eval.environments import EnvironmentChain  # noqa: E402
from eval.offline import OfflineJudge  # noqa: E402
from eval.paper import PaperProfile  # noqa: E402
from eval.profile import Item, ScoringContext  # noqa: E402
from eval.truths import GroundTruths  # noqa: E402
from sessions.submissions import Run  # noqa: E402
from toolenv.build.build_plan import BuildFiles  # noqa: E402
from toolenv.build.builder import build  # noqa: E402
from toolenv.build.card import by_kind  # noqa: E402
from toolenv.build.generate import BuildSettings  # noqa: E402
from toolenv.build.layout import write_json  # noqa: E402
from toolenv.build.reference_runs import shuffled  # noqa: E402
from toolenv.build.truth import GOLD_BUT_HIDDEN  # noqa: E402
from toolenv.dataset import Dataset  # noqa: E402
from toolenv.model import CAPABILITY_DIRS  # noqa: E402
from toolenv.native import NativeEnvironment  # noqa: E402

DOMAINS = ("beer_factory", "student_club", "student_loan", "superhero", "toxicology")
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "measurements" / "build.md"
START, END = "<!-- tables made by benchmarks/build.py -->", "<!-- end of the tables -->"
READ_A_DOMAIN = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("shared", type=Path, help="the material folder")
    parser.add_argument("--out", type=Path, help="keep the datasets here (default: a temporary folder)")
    parser.add_argument("--jobs", type=int, default=1, help="databases at a time (1)")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/measurements/build.md")
    parser.add_argument("--sample", type=Path, help="write fifty multi-hop questions to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = arguments.out or Path(folder)
        results = []
        context = multiprocessing.get_context("spawn")
        # Each domain has a process of its own, so that its peak memory is its own.
        with ProcessPoolExecutor(arguments.jobs, mp_context=context, max_tasks_per_child=1) as pool:
            for result in pool.map(measure, *zip(*((arguments.shared, out, d) for d in DOMAINS), strict=True)):
                results.append(result)
                print(json.dumps({k: v for k, v in result.items() if k not in ("rejections", "read")}), flush=True)
    text = "\n".join(tables(results))
    if arguments.write:
        write_tables(text)
    else:
        print(text)
    if arguments.sample:
        lines = [f"{r['domain']}: {line}" for r in results for line in r["read"]]
        arguments.sample.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(shared: Path, out: Path, domain: str) -> dict[str, Any]:
    """Build, check and score one domain."""
    return asyncio.run(_measure(shared, out / domain, domain))


async def _measure(shared: Path, out: Path, domain: str) -> dict[str, Any]:
    folder = shared / "data" / "bird" / domain
    files = BuildFiles(database=folder / f"{domain}.sqlite", questions=folder / "questions.json", domain=domain)
    profile = cProfile.Profile()
    started, used = time.perf_counter(), time.process_time()
    built = await build(files, out, BuildSettings())
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as again:
        profile.enable()
        await build(files, Path(again) / "out", BuildSettings())
        profile.disable()
        same = _bytes(out) == _bytes(Path(again) / "out")
    scores = []
    findings: Counter[str] = Counter()
    for split in ("test", "train"):
        report = await check_dataset(
            Dataset.open(out, split), EnvironmentChain([NativeEnvironment(Dataset.open(out, split))])
        )
        scores.append((report.passed, report.instances, report.holds))
        findings.update(report.counts)
    converted = {
        stage: sum(r.stage == f"{stage} chain" and r.reason.startswith(GOLD_BUT_HIDDEN) for r in built.rejections)
        for stage in ("slot", "sel")
    }
    written = Counter(key.split("/")[0] for key in built.report.written[domain])
    hops = Counter(
        len(record["output"][-1]["hops"]) for split in ("test", "train") for record in _records(out, split, 3, domain)
    )
    return {
        "domain": domain,
        "asked": built.generated[domain].asked,
        "endpoints": built.generated[domain].accepted,
        "slot": written["slot"] + converted["slot"],
        "sel": written["sel"] + converted["sel"],
        "slot_written": written["slot"],
        "sel_written": written["sel"],
        "instances": built.report.instances[domain],
        "hops": {str(n): hops[n] for n in sorted(hops)},
        "edges": built.generated[domain].edges,
        "checks": scores,
        "findings": dict(findings),
        "shuffled": await _shuffled(out, domain),
        "same_bytes": same,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "memory_mib": memory,
        "cost": _largest_cost(profile),
        "rejections": [
            (stage, kind, len(found), found[0].subject) for (stage, kind), found in by_kind(built.rejections).items()
        ],
        "read": _reading(out, domain),
    }


async def _shuffled(out: Path, domain: str) -> dict[str, Any]:
    """The oracle's calls with all argument values of a kind dealt out anew, scored."""
    dataset = Dataset.open(out)
    with tempfile.TemporaryDirectory() as folder:
        for capability, name in CAPABILITY_DIRS.items():
            records = _records(out, "test", capability, domain)
            if records:
                write_json(Path(folder) / name / f"{domain}.json", shuffled(records, random.Random(0)))
        run = Run.open(Path(folder), dataset)
        context = ScoringContext(
            dataset=dataset,
            run=run,
            environments=EnvironmentChain([NativeEnvironment(dataset)]),
            judge=OfflineJudge(),
            truths=GroundTruths(),
        )
        profile = PaperProfile()
        items = [Item(position=n, instance=ref, prediction=run.get(ref)) for n, ref in enumerate(dataset.refs())]
        verdicts = [v for unit in profile.units(items) for v in await profile.score(unit, context)]
    return {
        "passed": sum(v.passed is True for v in verdicts),
        "of": len(verdicts),
        "sieve": dict(Counter(v.sieve for v in verdicts if v.passed is not True)),
    }


def _records(out: Path, split: str, capability: int, domain: str) -> list[dict[str, Any]]:
    path = out / split / CAPABILITY_DIRS[capability] / "output" / f"{domain}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def _reading(out: Path, domain: str) -> list[str]:
    records = [r for r in _records(out, "test", 3, domain) if len(r["output"][-1]["hops"]) > 1]
    chosen = random.Random(domain).sample(records, READ_A_DOMAIN)
    return [
        f"{r['output'][-1]['query']} || " + " -> ".join(f"{h['query']} {h['answer']}" for h in r["output"][-1]["hops"])
        for r in chosen
    ]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _largest_cost(profile: cProfile.Profile) -> str:
    """The function of this project that most of the time is spent under, below the build's own two stages."""
    stats: Any = pstats.Stats(profile)
    entries = [
        (cumulative, f"{Path(file).parent.name}/{Path(file).name}:{function}")
        for (file, _, function), (_, _, _, cumulative, _) in stats.stats.items()
        if function in ("call", "determined", "make_template", "add", "read_plan", "execute", "_load", "open")
        and "/toolenv/" in file
    ]
    total = stats.total_tt
    return "; ".join(f"{name} {100 * spent / total:.0f} %" for spent, name in sorted(entries, reverse=True)[:4])


def tables(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """All tables as Markdown."""
    lines = [
        "| database | questions | endpoints with the gold answer | SLOT chains with it | SEL chains with it | written SLOT / SEL"
        " | multi-hop 1 / 2 / 3 hops | edges | instances |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        hops = " / ".join(str(r["hops"].get(n, 0)) for n in ("1", "2", "3"))
        lines.append(
            f"| {r['domain']} | {r['asked']} | {_share(r['endpoints'], r['asked'])} | {_share(r['slot'], r['asked'])} | "
            f"{_share(r['sel'], r['asked'])} | {r['slot_written']} / {r['sel_written']} | {hops} | {r['edges']} | "
            f"{r['instances']} |"
        )
    asked = sum(r["asked"] for r in results)
    totals = [
        sum(r[k] for r in results) for k in ("endpoints", "slot", "sel", "slot_written", "sel_written", "instances")
    ]
    lines.append(
        f"| **all** | {asked} | {_share(totals[0], asked)} | {_share(totals[1], asked)} | {_share(totals[2], asked)} | "
        f"{totals[3]} / {totals[4]} | | | {totals[5]} |"
    )
    lines += [
        "",
        "| database | oracle, test | oracle, train | `--check` | shuffled arguments pass | their sieve classes | same bytes twice |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in results:
        (passed, of, holds), (passed2, of2, holds2) = r["checks"]
        sieve = ", ".join(f"{k} {v}" for k, v in sorted(r["shuffled"]["sieve"].items()))
        lines.append(
            f"| {r['domain']} | {passed} of {of} | {passed2} of {of2} | {'holds' if holds and holds2 else 'does not hold'} "
            f"| {r['shuffled']['passed']} of {r['shuffled']['of']} | {sieve} | {'yes' if r['same_bytes'] else 'no'} |"
        )
    lines += [
        "",
        "| database | CPU seconds | seconds | questions per CPU second | instances per CPU second | peak memory, MiB"
        " | share of the time under (profiled) |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in results:
        lines.append(
            f"| {r['domain']} | {r['cpu_seconds']:.1f} | {r['seconds']:.1f} | {r['asked'] / r['cpu_seconds']:.1f} | "
            f"{r['instances'] / r['cpu_seconds']:.0f} | {r['memory_mib']:.0f} | {r['cost']} |"
        )
    lines += ["", "| database | was to be | how many | why | for example |", "|---|---|---|---|---|"]
    for r in results:
        for stage, kind, number, example in r["rejections"]:
            lines.append(f"| {r['domain']} | {stage} | {number} | {_cell(kind)} | {_cell(example)} |")
    return lines


def write_tables(text: str) -> None:
    """Put the tables between the document's markers."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def _share(part: int, of: int) -> str:
    return f"{part} ({100 * part / of:.1f} %)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
