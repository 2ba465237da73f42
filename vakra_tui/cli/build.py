"""``vakra-tui build``: make a dataset from a database and questions with SQL, or check the ground truths of one."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING

from toolenv.errors import DataError
from vakra_tui.cli.parser import Parser, add_environment, was_given
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.options import Options
from vakra_tui.text import sanitize

if TYPE_CHECKING:
    from eval.checks import CheckReport
    from toolenv.build.build_plan import BuildPlan
    from toolenv.build.builder import Built
    from toolenv.build.generate import BuildSettings
    from toolenv.build.source import Passage
    from toolenv.openai_compat import Client

DONE, UNFIT, UNREACHABLE = 0, 4, 3
_MOST_SHOWN = 5
_OF_ONE_DOMAIN = (
    "db",
    "questions",
    "domain",
    "documents",
    "distractors",
    "tasks",
    "topic",
    "seed",
    "chains",
    "multi_source",
    "hop_weights",
    "train_share",
    "lookups",
    "strict",
)
"""Options that a plan says for each of its domains."""


def main(argv: Sequence[str]) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.check is not None:
        return _run(_check(arguments))
    if arguments.plan is not None:
        given = [name for name in _OF_ONE_DOMAIN if was_given(getattr(arguments, name))]
        if given:
            parser.error(f"--{given[0].replace('_', '-')} cannot go with --plan; say it in the plan")
    wanted = ("plan", "out") if arguments.plan is not None else ("db", "questions", "domain", "out")
    missing = [f"--{name}" for name in wanted if getattr(arguments, name) is None]
    if missing:
        parser.error(f"{', '.join(missing)} must be given, or --check DATA")
    if arguments.wording_base_url is not None and arguments.wording_model is None:
        parser.error("--wording-base-url needs --wording-model")
    return _run(_build(arguments))


def _run(work: Coroutine[object, object, int]) -> int:
    """The exit code of a build or a check, which an interrupt ends at once: most of it is one long computation."""
    from toolenv.build.stopping import stopping_on

    asked = Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        asked.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt) if current_thread() is main_thread() else None
    try:
        with stopping_on(asked):
            return asyncio.run(work)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _parser() -> Parser:
    parser = Parser(
        prog="vakra-tui build",
        description="Make a dataset from a database and questions with SQL, or check the ground truths of one. "
        "What the files hold and what comes of them: docs/build.md.",
    )
    make = parser.add_argument_group("make a dataset")
    make.add_argument("--db", metavar="FILE", help="SQLite database; it is copied and never written to")
    make.add_argument("--questions", metavar="FILE", help='JSON array of {"question", "SQL"}, JSON lines or YAML')
    make.add_argument("--domain", metavar="NAME", help="name of the domain, an identifier")
    make.add_argument("--documents", metavar="FILE", help='JSON array of {"doc_id", "text"}, for multi-source tasks')
    make.add_argument(
        "--distractors",
        action="append",
        metavar="FILE",
        help="another collection of documents, named after its file (repeatable; default: those of the sample)",
    )
    make.add_argument("--tasks", metavar="FILE", help="instances stated in full: paths, dialogues, policies")
    make.add_argument("--plan", metavar="FILE", help="several domains at once, each with its files and settings")
    make.add_argument("--out", metavar="DIR", help="where the dataset goes: a folder that is absent or empty")
    make.add_argument("--topic", metavar="TEXT", help="topic group that policies name for the domain")
    make.add_argument("--seed", type=int, metavar="N", help="equal seeds make equal bytes (0)")
    make.add_argument("--chains", type=_count, metavar="N", help="multi-hop instances (240)")
    make.add_argument("--multi-source", type=_count, metavar="N", help="multi-source instances (60)")
    make.add_argument(
        "--hop-weights", type=_weights, metavar="W,W,...", help="shares of 1, 2, 3 ... hops (0.1,0.6,0.3; up to five)"
    )
    make.add_argument("--train-share", type=_share, metavar="X", help="share of the templates kept for training (0.2)")
    make.add_argument("--lookups", type=_count, metavar="N", help="look-ups of the schema fill up to N endpoints (0)")
    make.add_argument("--strict", action="store_true", help="end where anything asked for cannot be made")
    make.add_argument("--wording-model", metavar="NAME", help="a model that words merged questions and summaries")
    make.add_argument("--wording-base-url", metavar="URL", help="OpenAI-compatible endpoint of that model")
    check = parser.add_argument_group("check a dataset")
    check.add_argument("--check", metavar="DATA", help="execute and check every ground truth of a dataset")
    check.add_argument("--report", metavar="FILE", help="write all findings as JSON")
    check.add_argument(
        "--runs-out", metavar="DIR", help="also write two runs of a split: its oracle, and the same calls shuffled"
    )
    check.add_argument("--split", action="append", metavar="NAME", help="only this split (default: all there are)")
    add_environment(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


async def _build(arguments: argparse.Namespace) -> int:
    from toolenv.build.builder import build_plan
    from toolenv.build.rewording import Rewording

    plan = _plan(arguments)
    out = Path(arguments.out)
    client = _wording_client(arguments)
    try:
        built = await build_plan(
            plan,
            out,
            distractors=_sample_passages() if any(d.files.documents is not None for d in plan.domains) else None,
            rewording=Rewording(client) if client is not None else None,
            progress=(lambda _: None) if arguments.quiet else narrate,
        )
    finally:
        if client is not None:
            await client.aclose()
    with stdout() as stream:
        lines = [line for name in built.generated for line in _told(name, built, out, alone=len(plan.domains) == 1)]
        stream.write("\n".join(sanitize(line) for line in lines).encode() + b"\n")
    return DONE


def _told(name: str, built: Built, out: Path, *, alone: bool) -> Iterator[str]:
    """What was made of one domain, a line each."""
    from toolenv.build.card import by_kind

    made = built.generated[name]
    rejections = [r for r in built.rejections if r.domain == name]
    if not alone:
        yield f"{name}:"
    yield f"{made.accepted} of {made.asked} questions became endpoints"
    yield f"{built.report.instances[name]} instances and {built.report.endpoints[name]} endpoints in {out}"
    yield (
        f"{len(rejections)} rejections, {built.report.passages_removed(name)} passages removed; see {out / 'CARD.md'}"
    )
    if name in built.wording:
        worded = built.wording[name]
        yield (
            f"{worded.model} worded {worded.questions.taken} of {worded.questions.asked} merged questions and "
            f"{worded.summaries.taken} of {worded.summaries.asked} summaries"
        )
    for leak in built.report.removed[name][:_MOST_SHOWN]:
        yield f"  passage {leak.doc_id} of {leak.collection}: it answers {leak.hop!r}"
    for (stage, kind), found in by_kind(rejections).items():
        yield f"  {stage}: {len(found)} × {kind}"


def _plan(arguments: argparse.Namespace) -> BuildPlan:
    """The plan of the file, or that of the one domain that the options describe."""
    from toolenv.build.build_plan import BuildFiles, BuildPlan, DomainPlan, read_plan_file

    if arguments.plan is not None:
        return read_plan_file(Path(arguments.plan))
    files = BuildFiles(
        database=Path(arguments.db),
        questions=Path(arguments.questions),
        domain=arguments.domain,
        documents=Path(arguments.documents) if arguments.documents else None,
        distractors=tuple(Path(name) for name in arguments.distractors or ()),
        tasks=Path(arguments.tasks) if arguments.tasks else None,
    )
    return BuildPlan(domains=(DomainPlan(files=files, settings=_settings(arguments)),), strict=arguments.strict)


def _settings(arguments: argparse.Namespace) -> BuildSettings:
    from toolenv.build.generate import BuildSettings

    given = {name: getattr(arguments, name) for name in BuildSettings.__struct_fields__}
    return BuildSettings(**{name: value for name, value in given.items() if value is not None})


def _wording_client(arguments: argparse.Namespace) -> Client | None:
    if arguments.wording_model is None:
        return None
    from toolenv.openai_compat import Client, EndpointSettings
    from toolenv.openai_compat.settings import DEFAULT_BASE_URL, dialect_from_environment, key_from_environment

    return Client(
        EndpointSettings(
            model=arguments.wording_model,
            base_url=arguments.wording_base_url or DEFAULT_BASE_URL,
            api_key=key_from_environment("wording"),
            dialect=dialect_from_environment("wording"),
        )
    )


def _sample_passages() -> Mapping[str, Sequence[Passage]]:
    """The documents of the built-in sample, as collections about other things."""
    from toolenv.build.source import Passage
    from vakra_tui.sample.sources import domains, load_passages

    return {d: tuple(Passage(doc_id=key, text=text) for key, text in load_passages(d)) for d in domains()}


async def _check(arguments: argparse.Namespace) -> int:
    from eval.checks import check_dataset
    from vakra_tui.wiring import Wiring

    data = Path(arguments.check)
    splits = arguments.split or [s for s in ("test", "train") if (data / s).is_dir()] or ["test"]
    if arguments.runs_out is not None:
        from toolenv.build.reference_runs import write_reference_runs

        write_reference_runs(data, Path(arguments.runs_out), splits[0])
    reports = {}
    for split in splits:
        wiring = Wiring(Options(data=arguments.check, split=split, environments=tuple(arguments.env or ("native",))))
        try:
            reports[split] = await check_dataset(
                wiring.dataset, wiring.environments, progress=_progress(split, quiet=arguments.quiet)
            )
        finally:
            await wiring.close()
    if arguments.report:
        _write_report(Path(arguments.report), reports)
    with stdout() as stream:
        for split, report in reports.items():
            stream.write("\n".join(sanitize(line) for line in _lines(split, report)).encode() + b"\n")
    if all(r.executed == 0 and r.counts.get("cannot be executed") for r in reports.values()):
        return UNREACHABLE
    return DONE if all(report.holds for report in reports.values()) else UNFIT


def _lines(split: str, report: CheckReport) -> list[str]:
    from eval.checks import ERROR_KINDS

    lines = [
        f"{split}: {report.instances} instances, {report.executed} ground truths executed, "
        f"{report.passed} pass the waterfall with the oracle: {'holds' if report.holds else 'does not hold'}"
    ]
    for kind, number in sorted(report.counts.items(), key=lambda item: (item[0] not in ERROR_KINDS, -item[1])):
        lines.append(f"  {'error' if kind in ERROR_KINDS else 'note'}: {kind}: {number}")
        if kind in ERROR_KINDS:
            alike: dict[str, list[str]] = {}
            for finding in (f for f in report.findings if f.kind == kind):
                alike.setdefault(finding.detail, []).append(finding.uuid or finding.domain)
            for detail, subjects in list(alike.items())[:_MOST_SHOWN]:
                more = f" and {len(subjects) - 1} more" if len(subjects) > 1 else ""
                lines.append(f"    {subjects[0]}{more}: {detail}")
            left = sum(map(len, list(alike.values())[_MOST_SHOWN:]))
            if left:
                lines.append(f"    {left} others; --report FILE writes them all")
    return lines


def _write_report(path: Path, reports: Mapping[str, CheckReport]) -> None:
    import msgspec

    from eval.scored import encoded

    content = msgspec.json.format(encoded(dict(reports)), indent=1)
    try:
        path.write_bytes(content + b"\n")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error


def _progress(split: str, *, quiet: bool) -> Callable[[int, int], None]:
    from toolenv.build.stopping import end_if_asked

    def show(done: int, of: int) -> None:
        end_if_asked()
        if not quiet and (done % 100 == 0 or done == of):
            narrate(f"{split}: {done} of {of}")

    return show


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to below 1")
    return number


def _weights(text: str) -> tuple[float, ...]:
    try:
        weights = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 0.1,0.6,0.3") from error
    if not 1 <= len(weights) <= 5 or any(w < 0 for w in weights) or sum(weights) <= 0:
        raise argparse.ArgumentTypeError("give one to five shares that are not negative, not all zero")
    return weights
