"""Recall of ground-truth tools in shortlists of 128, 64 and 32.

    python scripts/measure_shortlist.py MATERIAL [--out FILE] [--embeddings MODEL --embeddings-url URL]

MATERIAL holds ``data/mini`` with its recordings (``data/recorded``) and the databases of ``data/bird``. Measured over
capabilities 2-4 of mini, over the same questions with the tools of all its domains in one list, and over a domain that
is generated from the databases of ``data/bird`` merged into one. Questions and tool lists decide; nothing else is read.
With ``--embeddings`` the vectors of that model are joined to the words, as the agent's ``embeddings_model`` does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from sessions.agent.shortlist import shortlisted
from sessions.agent.vectors import Nearness
from toolenv.build.build_plan import BuildFiles
from toolenv.build.builder import build
from toolenv.build.generate import BuildSettings
from toolenv.dataset import Dataset
from toolenv.environment import ToolEnvironment
from toolenv.model import Instance, ToolSpec
from toolenv.native import NativeEnvironment
from toolenv.openai_compat import Client, EndpointSettings
from toolenv.recorded import RecordedEnvironment

LIMITS = (128, 64, 32)
MERGED = "merged"
CHAINS = 60
"""Multi-hop questions to generate; more of them take minutes and change little."""

Pairs = list[tuple[Instance, Sequence[ToolSpec]]]


async def listed(dataset: Dataset, environment: ToolEnvironment) -> Pairs:
    """Every instance of capabilities 2-4 that has a reference path, with the tools that it is offered."""
    tools: dict[tuple[int, str], tuple[ToolSpec, ...]] = {}
    pairs: Pairs = []
    for ref in dataset.refs():
        if ref.capability == 1:
            continue
        instance = dataset.load(ref)
        key = (ref.capability, ref.domain)
        if key not in tools:
            session = await environment.open(instance)
            tools[key] = tuple(await session.list_tools())
            await session.close()
        if instance.ground_truth is not None and instance.ground_truth.evaluated.calls:
            pairs.append((instance, tools[key]))
    return pairs


def in_one_list(pairs: Pairs) -> Pairs:
    """The same instances with the tools of all domains of their capability."""
    union: dict[int, dict[str, ToolSpec]] = defaultdict(dict)
    for instance, tools in pairs:
        union[instance.capability].update({tool.name: tool for tool in tools})
    return [(instance, tuple(union[instance.capability].values())) for instance, _ in pairs]


def merged_database(folder: Path, sources: Iterable[Path]) -> list[dict[str, object]]:
    """Copy all tables into one database; the questions of those whose table names were still free."""
    questions: list[dict[str, object]] = []
    target = sqlite3.connect(folder / f"{MERGED}.sqlite")
    for source in sources:
        database = next(source.glob("*.sqlite"))
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as origin:
            tables = origin.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            ).fetchall()
            there = {row[0].lower() for row in target.execute("SELECT name FROM sqlite_master")}
            if any(name.lower() in there for name, _ in tables):
                continue
            for name, sql in tables:
                target.execute(sql)
                quoted = '"' + name.replace('"', '""') + '"'
                for row in origin.execute(f"SELECT * FROM {quoted}"):
                    target.execute(f"INSERT INTO {quoted} VALUES ({', '.join('?' * len(row))})", row)
        for question in json.loads((source / "questions.json").read_text()):
            questions.append({**question, "question_id": len(questions), "db_id": MERGED})
    target.commit()
    target.close()
    return questions


async def generated(material: Path, folder: Path) -> Pairs:
    sources = sorted(path for path in (material / "data" / "bird").iterdir() if path.is_dir())
    questions = merged_database(folder, sources)
    (folder / "questions.json").write_text(json.dumps(questions))
    files = BuildFiles(database=folder / f"{MERGED}.sqlite", questions=folder / "questions.json", domain=MERGED)
    await build(files, folder / "built", BuildSettings(chains=CHAINS))
    dataset = Dataset.open(folder / "built")
    return await listed(dataset, NativeEnvironment(dataset))


async def rows(title: str, pairs: Pairs, nearness: Nearness | None) -> list[str]:
    """Lines of the table: recall of tools, and the share of instances whose tools are all there, by capability."""
    lines = []
    for capability in sorted({instance.capability for instance, _ in pairs}):
        own = [(instance, tools) for instance, tools in pairs if instance.capability == capability]
        sizes = sorted({len(tools) for _, tools in own})
        size = f"{sizes[0]}-{sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
        near = {id(i): await nearness.of(i, tools) for i, tools in own} if nearness is not None else {}
        cells = []
        for limit in LIMITS:
            needed = found = whole = 0
            for instance, tools in own:
                assert instance.ground_truth is not None
                names = {call.name for call in instance.ground_truth.evaluated.calls} & {tool.name for tool in tools}
                sent = {tool.name for tool in shortlisted(instance, tools, limit, near.get(id(instance)))}
                needed, found, whole = needed + len(names), found + len(names & sent), whole + (names <= sent)
            cells.append(f"{found / needed:.1%} ({whole / len(own):.1%})")
        lines.append(f"| {title} | {capability} | {len(own)} | {size} | {' | '.join(cells)} |")
    return lines


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--embeddings", metavar="MODEL")
    parser.add_argument("--embeddings-url", metavar="URL", default="http://127.0.0.1:8000/v1")
    arguments = parser.parse_args()
    material: Path = arguments.material
    nearness: Nearness | None = None
    if arguments.embeddings:
        patient = EndpointSettings(model=arguments.embeddings, base_url=arguments.embeddings_url, timeout_s=600)
        nearness = Nearness(Client(patient))
    mini = await listed(Dataset.open(material / "data" / "mini"), RecordedEnvironment(material / "data" / "recorded"))
    with tempfile.TemporaryDirectory() as folder:
        made = await generated(material, Path(folder))
    lines = [
        "| tools of | capability | instances | tools listed | at 128 | at 64 | at 32 |",
        "|---|---|---|---|---|---|---|",
        *await rows("mini", mini, nearness),
        *await rows("mini, all domains in one list", in_one_list(mini), nearness),
        *await rows("generated domain", made, nearness),
    ]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if arguments.out is not None:
        arguments.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
