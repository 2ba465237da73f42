"""``vakra-tui build``: a whole dataset from one database, its questions, and documents where there are any."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from toolenv.build import layout
from toolenv.build.card import kind_of, write_card
from toolenv.build.database import copy_database
from toolenv.build.descriptions import read_descriptions
from toolenv.build.generate import BuildSettings, DomainInput, Generated, Generator
from toolenv.build.questions import read_documents, read_questions
from toolenv.build.rewording import Rewording, Wording
from toolenv.build.source import Passage, Rejection
from toolenv.build.writer import BuildReport, Progress, build_dataset
from toolenv.errors import DataError
from toolenv.model import Value

_WORK = ".building"


class BuildFiles(Value, frozen=True):
    """The files of one domain. ``distractors`` are further document files, each a collection named after its file."""

    database: Path
    questions: Path
    domain: str
    documents: Path | None = None
    distractors: tuple[Path, ...] = ()


class Built(Value, frozen=True):
    """What a build did: what was generated from the files, what of it was written, and what a model worded."""

    generated: Generated
    report: BuildReport
    wording: Wording | None = None

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        return (*self.generated.rejections, *self.report.rejections)


async def build(
    files: BuildFiles,
    out: Path,
    settings: BuildSettings,
    *,
    distractors: Mapping[str, Sequence[Passage]] | None = None,
    rewording: Rewording | None = None,
    progress: Progress = lambda _: None,
) -> Built:
    """Make a dataset in ``out``, which must be absent or empty. Nothing is written anywhere else.

    ``distractors`` are collections that are offered where no file of them is given. With ``rewording`` a model words
    what can be worded. Raises ``DataError`` for files and names that cannot be used and ``EnvironmentFailure`` for a
    model that cannot be asked; then ``out`` is as it was before.
    """
    check_domain_name(files.domain)
    questions = read_questions(files.questions)
    passages, facts = read_documents(files.documents) if files.documents is not None else ([], [])
    others = {_collection(path): tuple(read_documents(path)[0]) for path in files.distractors}
    if passages and not others and distractors is not None:
        others = {name: tuple(found) for name, found in distractors.items() if name != files.domain}
    if files.domain in others:
        raise DataError(f"a distractor collection cannot have the domain's own name {files.domain!r}")
    if rewording is not None:
        await rewording.ready()
    with _workplace(out) as work:
        database = layout.database_path(work, files.domain)
        copy_database(files.database, database)
        progress(f"{files.domain}: {len(questions)} questions")
        given = DomainInput(
            name=files.domain,
            database=database,
            questions=tuple(questions),
            passages=tuple(passages),
            facts=tuple(facts),
            distractors=others,
            described=read_descriptions(files.database),
        )
        generated = Generator(given, settings).make()
        if not generated.source.tasks:
            reasons = Counter(kind_of(r.reason) for r in generated.rejections)
            why = "; ".join(f"{number} × {kind}" for kind, number in reasons.most_common(3))
            raise DataError(f"nothing of {files.questions} can become an instance: {why}")
        asked = None
        if rewording is not None:
            progress(f"{files.domain}: {rewording.model} words the questions")
            source, asked = await rewording.questions(generated.source)
            generated = msgspec.structs.replace(generated, source=source)
        progress(f"{files.domain}: {len(generated.source.tasks)} tasks to execute")
        report = await build_dataset([generated.source], work, strict=False, progress=progress)
        wording = None
        if rewording is not None and asked is not None:
            progress(f"{files.domain}: {rewording.model} words the summaries")
            summaries = await rewording.summaries(work, generated.source)
            wording = Wording(model=rewording.model, questions=asked, summaries=summaries)
        built = Built(generated=generated, report=report, wording=wording)
        write_card(work, files, settings, built)
    return built


def check_domain_name(name: str) -> None:
    """Raise ``DataError`` for a name that cannot be a folder, a path in a URL and part of a tool's name."""
    if not name.isidentifier() or not name.isascii() or len(name) > 60:
        raise DataError(f"the domain name {name!r} must be an identifier: letters, digits and _, not a digit first")


@contextmanager
def _workplace(out: Path) -> Iterator[Path]:
    """A folder inside ``out`` to build in; its content moves up when all went well, and goes when not."""
    existed = out.exists()
    try:
        if existed and (not out.is_dir() or any(out.iterdir())):
            raise DataError(f"{out} exists and is not an empty folder; build into a new one")
        work = out / _WORK
        work.mkdir(parents=True)
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror}") from error
    done = False
    try:
        yield work
        for item in sorted(work.iterdir()):
            item.replace(out / item.name)
        done = True
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if not done and not existed:
            shutil.rmtree(out, ignore_errors=True)


def _collection(path: Path) -> str:
    name = path.stem.removesuffix("_docs")
    check_domain_name(name)
    return name
