"""``vakra-tui build``: a whole dataset from databases, their questions, and documents where there are any."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from toolenv.build import layout
from toolenv.build.build_plan import BuildFiles, BuildPlan, DomainPlan
from toolenv.build.card import kind_of, write_card
from toolenv.build.connectivity import MOST_HOPS
from toolenv.build.database import copy_database
from toolenv.build.descriptions import read_descriptions
from toolenv.build.generate import BuildSettings, DomainInput, Generated, Generator
from toolenv.build.questions import read_documents, read_questions
from toolenv.build.rewording import Rewording, Wording, WordingCount
from toolenv.build.source import Passage, Rejection
from toolenv.build.stated_tasks import read_tasks
from toolenv.build.stopping import end_if_asked
from toolenv.build.writer import BuildReport, Progress, build_dataset
from toolenv.errors import DataError
from toolenv.model import Value

_WORK = ".building"
_CARDS = ("card.json", "CARD.md")
_MOST_TOLD = 5

Distractors = Mapping[str, Sequence[Passage]]


class Built(Value, frozen=True):
    """What a build did, by domain: what was generated from the files and what a model worded; what was written."""

    generated: Mapping[str, Generated]
    report: BuildReport
    wording: Mapping[str, Wording] = {}

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        return (*(r for made in self.generated.values() for r in made.rejections), *self.report.rejections)


async def build(
    files: BuildFiles,
    out: Path,
    settings: BuildSettings,
    *,
    distractors: Distractors | None = None,
    rewording: Rewording | None = None,
    progress: Progress = lambda _: None,
) -> Built:
    """Make a dataset of one domain in ``out``; see ``build_plan``."""
    plan = BuildPlan(domains=(DomainPlan(files=files, settings=settings),))
    return await build_plan(plan, out, distractors=distractors, rewording=rewording, progress=progress)


async def build_plan(
    plan: BuildPlan,
    out: Path,
    *,
    distractors: Distractors | None = None,
    rewording: Rewording | None = None,
    progress: Progress = lambda _: None,
) -> Built:
    """Make a dataset in ``out``, which must be absent or empty. Nothing is written anywhere else.

    Each domain that has documents is offered those of the other domains and of its distractor files with its own;
    ``distractors`` are the collections offered where there are neither. With ``rewording`` a model words what can be
    worded. Raises ``DataError`` for files and names that cannot be used and for what a strict plan forbids, and
    ``EnvironmentFailure`` for a model that cannot be asked; then ``out`` is as it was before.
    """
    _refuse_unfit(plan)
    given = [_read(domain) for domain in plan.domains]
    given = [_offered(domain, given, distractors or {}) for domain in given]
    if rewording is not None:
        await rewording.ready()
    with _workplace(out) as work:
        generated: dict[str, Generated] = {}
        for domain, asked in zip(plan.domains, given, strict=True):
            generated[asked.name] = _generate(domain, asked, work, progress, strict=plan.strict)
        worded = await _worded(generated, rewording, progress) if rewording is not None else {}
        for name, made in generated.items():
            progress(f"{name}: {len(made.source.tasks)} tasks to execute")
        sources = [made.source for made in generated.values()]
        report = await build_dataset(sources, work, strict=plan.strict, progress=progress)
        wording = {}
        if rewording is not None:
            for name, made in generated.items():
                progress(f"{name}: {rewording.model} words the summaries")
                summaries = await rewording.summaries(work, made.source)
                wording[name] = Wording(model=rewording.model, questions=worded[name], summaries=summaries)
        built = Built(generated=generated, report=report, wording=wording)
        write_card(work, plan, built)
        end_if_asked()
    return built


async def _worded(generated: dict[str, Generated], rewording: Rewording, progress: Progress) -> dict[str, WordingCount]:
    """Put a model's words into the questions of every domain, and count what it was asked and what was taken."""
    counts = {}
    for name, made in generated.items():
        progress(f"{name}: {rewording.model} words the questions")
        source, counts[name] = await rewording.questions(made.source)
        generated[name] = msgspec.structs.replace(made, source=source)
    return counts


def _refuse_unfit(plan: BuildPlan) -> None:
    names = Counter(domain.files.domain for domain in plan.domains)
    if not names:
        raise DataError("the plan names no domain")
    for name, number in names.items():
        check_domain_name(name)
        if number > 1:
            raise DataError(f"the plan has two domains of the name {name!r}")
    for domain in plan.domains:
        refuse_settings(domain.settings)


def _read(plan: DomainPlan) -> DomainInput:
    """What the files of a domain hold; its database is where the source lies."""
    files = plan.files
    questions = read_questions(files.questions)
    passages, facts = read_documents(files.documents) if files.documents is not None else ([], [])
    tasks = read_tasks(files.tasks, {p.doc_id for p in passages}) if files.tasks is not None else []
    others = {_collection(path): tuple(read_documents(path)[0]) for path in files.distractors}
    return DomainInput(
        name=files.domain,
        database=files.database,
        questions=tuple(questions),
        tasks=tuple(tasks),
        passages=tuple(passages),
        facts=tuple(facts),
        distractors=others,
        described=read_descriptions(files.database),
    )


def _offered(domain: DomainInput, every: Sequence[DomainInput], default: Distractors) -> DomainInput:
    """A domain with the collections that are offered beside its own. Raises ``DataError`` for names that clash."""
    clash = next((d.name for d in every if d.passages and d.name in domain.distractors), None)
    if clash is not None or domain.name in domain.distractors:
        raise DataError(f"a distractor collection cannot have a domain's own name {clash or domain.name!r}")
    others = tuple(d.name for d in every if d.passages and d.name != domain.name)
    if not domain.passages or others or domain.distractors:
        return msgspec.structs.replace(domain, offered=others if domain.passages else ())
    found = {name: tuple(passages) for name, passages in default.items() if name != domain.name}
    return msgspec.structs.replace(domain, distractors=found)


def _generate(plan: DomainPlan, given: DomainInput, work: Path, progress: Progress, *, strict: bool) -> Generated:
    """The source of one domain, on the copy of its database that the dataset will hold."""
    database = layout.database_path(work, given.name)
    copy_database(given.database, database)
    progress(f"{given.name}: {len(given.questions)} questions")
    made = Generator(msgspec.structs.replace(given, database=database), plan.settings).make()
    if strict and made.rejections:
        told = "; ".join(f"{r.stage} {r.subject!r}: {r.reason}" for r in made.rejections[:_MOST_TOLD])
        raise DataError(f"the plan is strict, and {len(made.rejections)} things of {given.name} cannot be: {told}")
    if not made.source.tasks:
        reasons = Counter(kind_of(r.reason) for r in made.rejections)
        why = "; ".join(f"{number} × {kind}" for kind, number in reasons.most_common(3))
        raise DataError(f"nothing of {plan.files.questions} can become an instance: {why}")
    if not strict:
        return made
    return msgspec.structs.replace(made, source=msgspec.structs.replace(made.source, distinct_queries=True))


def refuse_settings(settings: BuildSettings) -> None:
    """Raise ``DataError`` for settings that no build can follow."""
    weights = settings.hop_weights
    if not 1 <= len(weights) <= MOST_HOPS or any(w < 0 for w in weights) or sum(weights) <= 0:
        raise DataError(f"hop weights are one to {MOST_HOPS} shares that are not negative, not all zero")
    if not 0 <= settings.train_share < 1:
        raise DataError("the share for training is from 0 to below 1")
    if min(settings.chains, settings.multi_source, settings.lookups) < 0:
        raise DataError("numbers of instances and endpoints are not below 0")


def check_domain_name(name: str) -> None:
    """Raise ``DataError`` for a name that cannot be a folder, a path in a URL and part of a tool's name."""
    if not name.isidentifier() or not name.isascii() or len(name) > 60:
        raise DataError(f"the domain name {name!r} must be an identifier: letters, digits and _, not a digit first")


@contextmanager
def _workplace(out: Path) -> Iterator[Path]:
    """A folder inside ``out`` to build in; its content moves up when all went well, and goes when not."""
    made = [path for path in (out, *out.parents) if not path.exists()]
    existed = not made
    try:
        if existed and out.is_dir() and [path.name for path in out.iterdir()] == [_WORK]:
            raise DataError(
                f"{out} holds only {_WORK}: a build is at work there, or was broken off; remove it when none is"
            )
        if existed and (not out.is_dir() or any(out.iterdir())):
            raise DataError(f"{out} exists and is not an empty folder; build into a new one")
        work = out / _WORK
        work.mkdir(parents=True)
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror}") from error
    done = False
    try:
        yield work
        # The card comes last: where it lies, the dataset is whole.
        for item in sorted(work.iterdir(), key=lambda path: (path.name in _CARDS, path.name)):
            item.replace(out / item.name)
        done = True
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if not done:
            for path in made:
                # A folder that stays empty behind a failed build harms nobody; the failure is what is told.
                with suppress(OSError):
                    path.rmdir()


def _collection(path: Path) -> str:
    name = path.stem.removesuffix("_docs")
    check_domain_name(name)
    return name
