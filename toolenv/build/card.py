"""The dataset card: what a dataset holds, how it is distributed, what was left out and why.

``card.json`` is for programs, ``CARD.md`` the same for a reader. Both hold no clock time and no path.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolenv.build import layout
from toolenv.build.descriptions import read_descriptions
from toolenv.build.source import Rejection
from toolenv.model import CAPABILITY_DIRS, Json

if TYPE_CHECKING:
    from toolenv.build.build_plan import BuildPlan, DomainPlan
    from toolenv.build.builder import Built
    from toolenv.build.generate import Generated

FORMAT = "vakra-tui/card@2"
_MOST_EXAMPLES = 3


def write_card(root: Path, plan: BuildPlan, built: Built) -> None:
    """Write ``card.json`` and ``CARD.md`` of a dataset that lies in ``root``."""
    card = {"format": FORMAT, "domains": {d.files.domain: _domain_card(root, d, built) for d in plan.domains}}
    layout.write_json(root / "card.json", card)
    (root / "CARD.md").write_text("\n".join(_lines(card, built)) + "\n", encoding="utf-8")


def _domain_card(root: Path, plan: DomainPlan, built: Built) -> dict[str, Any]:
    files, name = plan.files, plan.files.domain
    generated = built.generated[name]
    sources = {"database": files.database, "questions": files.questions}
    optional = {"tasks": files.tasks, "documents": files.documents}
    card = {
        "sources": {
            **{what: _digest(path) for what, path in sources.items()},
            **{what: _digest(path) if path is not None else None for what, path in optional.items()},
            "described columns": dict(read_descriptions(files.database)),
        },
        "settings": msgspec.to_builtins(plan.settings),
        "questions": {
            "read": generated.asked,
            "became endpoints": generated.accepted,
            "merged with an equal template": generated.merged_away,
        },
        "stated tasks": generated.stated,
        "endpoints": built.report.endpoints[name],
        "graph": {"hop templates": generated.hop_templates, "edges": generated.edges},
        "instances": {split: counts(root, name, split) for split in layout.SPLITS},
        "collections": _collections(generated, built),
        "removed_passages": [msgspec.to_builtins(leak) for leak in built.report.removed.get(name, ())],
        "rejections": [
            {"stage": r.stage, "subject": r.subject, "reason": r.reason} for r in built.rejections if r.domain == name
        ],
    }
    if name in built.wording:
        card["wording"] = msgspec.to_builtins(built.wording[name])
    return card


def _collections(generated: Generated, built: Built) -> dict[str, Json]:
    """Passages of the domain and of the collections offered beside its own, and how many of each were left out."""
    source = generated.source
    if not source.passages:
        return {}
    given = {source.name: source.passages, **source.distractors}
    counts = {name: [len(found), built.report.passages_removed(source.name, name)] for name, found in given.items()}
    return {
        "offered": [source.name, *source.offered],
        "passages": {name: {"given": number, "left out": gone} for name, (number, gone) in counts.items()},
    }


def counts(root: Path, domain: str, split: Any) -> dict[str, Json]:
    """Instances of a split by capability, and how their calls, hops, patterns, turns, styles and policies fall."""
    found: dict[str, Json] = {}
    for capability, folder in CAPABILITY_DIRS.items():
        path = layout.instance_path(root, capability, "output", domain, split)
        if not path.is_file():
            continue
        records = json.loads(path.read_text(encoding="utf-8"))
        turns = [record["output"][-1] for record in records]
        calls = Counter(len(turn["sequence"]["tool_call"]) - (capability == 1) for turn in turns)
        shares: dict[str, Counter[Any]] = {"calls": calls}
        if capability == 1:
            shares["style"] = Counter(record["server_type"] for record in records)
        if capability in (3, 4):
            shares["hops"] = Counter(len(turn.get("hops", ())) for turn in turns)
        if capability == 4:
            shares["pattern"] = Counter(record["hop_pattern"] for record in records)
            shares["turns"] = Counter(len(record["output"]) for record in records)
            shares["policy"] = Counter(
                f"{p['kind']}, {'applies' if p['applies'] else 'does not apply'}, {p['effect']}"
                if (p := record.get("policy"))
                else "none"
                for record in records
            )
        found[folder] = {
            "instances": len(records),
            **{name: {str(k): share[k] for k in sorted(share)} for name, share in shares.items()},
        }
    return found


def kind_of(reason: str) -> str:
    """A reason without its values, so that equal kinds can be counted."""
    kind = re.sub(
        r"^(the (?:condition|expression)) .* (is not (?:among|a column|a literal|a count))", r"\1 … \2", reason
    )
    kind = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|\b\d[\d.,]*\b|\[.*\]", "…", kind)
    return re.sub(r"^call … \(\w+\) fails.*", "a call fails", kind)[:140]


def by_kind(rejections: Sequence[Rejection]) -> dict[tuple[str, str], list[Rejection]]:
    """Rejections by stage and kind of reason, the most frequent first."""
    found: dict[tuple[str, str], list[Rejection]] = {}
    for rejection in rejections:
        found.setdefault((rejection.stage, kind_of(rejection.reason)), []).append(rejection)
    return dict(sorted(found.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1])))


def _lines(card: Mapping[str, Any], built: Built) -> Iterator[str]:
    for number, (name, content) in enumerate(card["domains"].items()):
        if number:
            yield ""
        yield f"# Dataset card: {name}"
        yield ""
        yield from _domain_lines(content, [r for r in built.rejections if r.domain == name])


def _domain_lines(card: Mapping[str, Any], rejections: Sequence[Rejection]) -> Iterator[str]:
    questions = card["questions"]
    stated = f" {card['stated tasks']} tasks were stated in full." if card["stated tasks"] else ""
    yield (
        f"{questions['read']} questions were read, {questions['became endpoints']} became endpoints "
        f"({questions['merged with an equal template']} merged with an equal template); "
        f"{card['endpoints']} endpoints in all.{stated} The connectivity graph has "
        f"{card['graph']['hop templates']} hop templates and {card['graph']['edges']} edges. "
        f"Seed {card['settings']['seed']}."
    )
    if card["collections"]:
        yield ""
        yield f"Collections offered: {', '.join(card['collections']['offered'])}."
        for collection, count in card["collections"]["passages"].items():
            yield f"{collection}: {count['given']} passages, {count['left out']} of them left out."
    wording = card.get("wording", {})
    for what in ("questions", "summaries") if wording else ():
        count = wording[what]
        refused = "".join(f"; {number} kept because {why}" for why, number in count["refused"].items())
        yield ""
        yield f"{_cell(wording['model'])} worded {count['taken']} of {count['asked']} {what}{refused}."
    for split, capabilities in card["instances"].items():
        yield from _split_lines(split, capabilities)
    yield ""
    yield "## Left out"
    yield ""
    yield "| what it was to be | how many | why | for example |"
    yield "|---|---|---|---|"
    for (stage, kind), found in by_kind(rejections).items():
        examples = "; ".join(_cell(r.subject) for r in found[:_MOST_EXAMPLES])
        yield f"| {stage} | {len(found)} | {_cell(kind)} | {examples} |"
    if card["removed_passages"]:
        yield ""
        yield "## Passages left out because they answer an endpoint's hop"
        yield ""
        yield "| collection | passage | hop | answer |"
        yield "|---|---|---|---|"
        for leak in card["removed_passages"]:
            cells = (leak["collection"], leak["doc_id"], leak["hop"], leak["answer"])
            yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _split_lines(split: str, capabilities: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"## Split `{split}`"
    yield ""
    yield "| capability | instances | distribution |"
    yield "|---|---|---|"
    for name, content in capabilities.items():
        parts = [
            f"{what}: " + ", ".join(f"{value} × {number}" for value, number in share.items())
            for what, share in content.items()
            if what != "instances"
        ]
        yield f"| {name} | {content['instances']} | {'; '.join(parts)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
