"""What the report of a run says besides its results, and what decides whether a kept verdict is still right."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolenv.errors import DataError

if TYPE_CHECKING:
    from eval.report import ReportInfo
    from sessions.submissions import Run
    from vakra_tui.options import Options
    from vakra_tui.wiring import Wiring


def report_info(wiring: Wiring, index: int) -> ReportInfo:
    """The head of the report of a run, by its index. Raises ``DataError`` where a part cannot be used."""
    from eval.report import EnvironmentInfo, JudgeInfo, ReportInfo

    run = wiring.runs[index]
    judge: Any = wiring.judge
    return ReportInfo(
        profile=wiring.profile.name,
        judge=JudgeInfo(
            kind=judge.kind,
            model=getattr(judge, "model", None),
            prompt_version=getattr(judge, "prompt_version", None),
        ),
        dataset_path=str(wiring.data_path.resolve()),
        dataset_fingerprint=wiring.dataset.fingerprint(),
        environments=tuple(
            EnvironmentInfo(kind="native")
            if environment.kind == "native"
            else EnvironmentInfo(kind=environment.kind, name=environment.name, fingerprint=environment.fingerprint())
            for environment in wiring.environments.environments
        ),
        run_name=wiring.run_names[index],
        run_fingerprint=run.fingerprint(),
        duplicates=_duplicates(wiring, run),
        notes=tuple(_notes(wiring, run)),
    )


def decisive(options: Options) -> dict[str, str]:
    """Settings besides those of the report's head that decide a verdict; part of what ``--resume`` goes by.

    Raises ``DataError`` for recorded rulings that cannot be read.
    """
    repair = {"repair": "yes"} if options.repair else {}
    return repair | _decisive_of_judge(options)


def judge_identity(judge: Any, options: Options) -> str:
    """A judge with all that decides what it rules, in words: verdicts that two identities gave are not compared.

    Raises ``DataError`` for recorded rulings that cannot be read.
    """
    from eval.resume import RULES_VERSION

    parts = [judge.kind, getattr(judge, "model", None), getattr(judge, "prompt_version", None)]
    parts += [f"{name} {value}" for name, value in _decisive_of_judge(options).items() if value]
    return " ".join([*(str(part) for part in parts if part), f"rules {RULES_VERSION}"])


def _decisive_of_judge(options: Options) -> dict[str, str]:
    kind, _, argument = options.judge.partition(":")
    if kind == "recorded":
        return {"rulings": file_digest(Path(argument))}
    return {"endpoint": options.judge_base_url or ""} if kind == "openai" else {}


def _duplicates(wiring: Wiring, run: Run) -> int:
    """Records of the run that a later one replaced; with selectors, the selected lines that this concerns."""
    if not wiring.selected:
        return run.duplicates
    return sum(item.prediction is not None and item.prediction.duplicate for item in wiring.items(run))


def _notes(wiring: Wiring, run: Run) -> Iterator[str]:
    judge: Any = wiring.judge
    dataset = wiring.dataset
    found = (*dataset.problems, *dataset.notes, *run.problems, *run.notes, *getattr(judge, "problems", ()))
    for text in found:
        yield _relative(text, wiring.data_path, run)
    if run.duplicates:
        yield f"{run.duplicates} duplicate records in the run: of each uuid the last one counts"
    if dataset.duplicates:
        yield f"{dataset.duplicates} duplicate records in the ground truth: of each uuid the last one counts"


def _relative(text: str, data_path: Path, run: Run) -> str:
    """A sentence without the folders of this machine: a report holds no absolute path but the dataset's."""
    for folder, short in ((data_path, ""), (run.path, run.name)):
        for spelling in dict.fromkeys((str(folder), str(folder.resolve()))):
            text = without_folder(text, spelling, short)
    return text


def without_folder(text: str, folder: str, short: str) -> str:
    """``text`` with ``short`` for a folder's name where a whole path begins with it, and nowhere inside a word."""
    place = re.compile(rf"(?<![\w./-]){re.escape(folder)}(/|(?![\w.-]))")
    return place.sub(lambda found: (short + "/" if short else "") if found[1] else short or ".", text)


def file_digest(path: Path) -> str:
    """Raises ``DataError`` for a file that cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
