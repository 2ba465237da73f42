"""The report ``vakra-tui/report@1``: its head, its lines, and how both become bytes.

Lines go to a spool file in any order and are read back in report order, so a report of any length takes no memory and
the same verdicts give the same bytes. A file is replaced only by a complete one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from eval.compare import Origin
from eval.model import Ruling, StageResult, Verdict
from eval.scored import GATES, Scored, encoded
from eval.scores import Tally
from toolenv.errors import DataError
from toolenv.files import read_input, written_whole
from toolenv.model import Value

FORMAT = "vakra-tui/report@1"


class JudgeInfo(Value, frozen=True):
    """Which judge ruled: its kind, and for a model its name and the version of the prompts."""

    kind: str
    model: str | None = None
    prompt_version: str | None = None


class EnvironmentInfo(Value, frozen=True, omit_defaults=True):
    """One environment of the chain; keys that say nothing are left out."""

    kind: str
    name: str | None = None
    fingerprint: str | None = None


class ReportInfo(Value, frozen=True):
    """What a report says besides its results. ``duplicates`` are records of the run that a later one replaced."""

    profile: str
    judge: JudgeInfo
    dataset_path: str
    dataset_fingerprint: str
    environments: tuple[EnvironmentInfo, ...]
    run_name: str
    run_fingerprint: str | None
    duplicates: int = 0
    notes: tuple[str, ...] = ()


def head(info: ReportInfo, tally: Tally, judge_notes: Sequence[str] = ()) -> dict[str, Any]:
    """Everything of a report but its ``instances``, in the order of the format.

    ``judge_notes`` are what the judge said about the whole while it ruled.
    """
    return {
        "format": FORMAT,
        "profile": info.profile,
        "judge": msgspec.to_builtins(info.judge),
        "dataset": {"path": info.dataset_path, "fingerprint": info.dataset_fingerprint},
        "environments": [msgspec.to_builtins(environment) for environment in info.environments],
        "run": {"name": info.run_name, "fingerprint": info.run_fingerprint},
        "scores": {"leaderboard": tally.leaderboard(), "capabilities": tally.capabilities()},
        "counts": tally.counts(info.duplicates),
        "decided": tally.decided(),
        "notes": [*info.notes, *judge_notes, *_score_notes(tally)],
        "sieve": tally.sieve(),
        "sieve_cumulative": tally.sieve_cumulative(),
        "slices": tally.slices(),
        "agreement": tally.agreement(),
        **({"repair": repairs} if (repairs := tally.repairs()) else {}),
    }


def line(verdict: Verdict) -> dict[str, Any]:
    """The report's form of one verdict."""
    return {
        "uuid": verdict.uuid,
        "capability": verdict.capability,
        "domain": verdict.domain,
        "status": verdict.status,
        "passed": verdict.passed,
        "failed_stage": verdict.failed_stage,
        "sieve": verdict.sieve,
        "reason": verdict.reason,
        "marks": list(verdict.marks),
        "stages": [_stage(stage) for stage in verdict.stages],
        **({"repair": verdict.repair} if verdict.repair is not None else {}),
    }


def _stage(stage: StageResult) -> dict[str, Any]:
    form: dict[str, Any] = {
        "stage": stage.stage,
        "outcome": stage.outcome,
        "decided_by": stage.decided_by,
        "reason": stage.reason,
        "evidence": list(stage.evidence),
    }
    if stage.stage == "final_response":
        rulings = stage.rulings or {}
        form["rulings"] = {gate: _ruling(rulings.get(gate)) for gate in GATES[2:]}
    return form


def _ruling(ruling: Ruling | None) -> dict[str, Any] | None:
    if ruling is None:
        return None
    return {"outcome": ruling.outcome, "decided_by": ruling.decided_by, "reason": ruling.reason}


def _score_notes(tally: Tally) -> list[str]:
    notes = []
    left_out = tally.left_out()
    if len(left_out) == 4:
        notes.append("there is no score: no instance was scored and none is missing a prediction")
    elif left_out:
        names = ", ".join(str(capability) for capability in left_out)
        notes.append(f"the leaderboard score leaves out capability {names}: no instance of it was counted")
    for reason, count in sorted(tally.unscored.items()):
        notes.append(f"{count} unscored and not counted: {reason}")
    return notes


def write(stream: IO[bytes], report_head: Mapping[str, Any], lines: Iterable[Scored]) -> None:
    """Write a whole report: a key of the head a line, then an instance a line."""
    stream.write(b"{\n")
    for key, value in report_head.items():
        stream.write(b" " + encoded(key) + b": " + encoded(value) + b",\n")
    stream.write(b' "instances": [')
    separator = b"\n  "
    for scored in lines:
        stream.write(separator + encoded(line(scored.verdict)))
        separator = b",\n  "
    stream.write(b"]\n}\n")


def write_lines(stream: IO[bytes], lines: Iterable[Scored]) -> None:
    """JSON lines: the report's ``instances``, one a line."""
    for scored in lines:
        stream.write(encoded(line(scored.verdict)) + b"\n")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` when the block ends well, and leaves it untouched otherwise.

    Raises ``DataError`` where it cannot be written.
    """
    if not path.parent.is_dir():
        raise DataError(f"cannot write {path}: its folder is not there; choose another --out")
    try:
        with written_whole(path) as stream:
            yield stream
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}; choose another --out") from error


class _Instance(msgspec.Struct):
    uuid: str
    capability: int
    domain: str
    status: str
    passed: bool | None = None


def origin_of(dataset: Mapping[str, Any], profile: str, judge: Mapping[str, Any]) -> Origin:
    """The origin that a report's head tells."""
    fingerprint = dataset.get("fingerprint")
    return Origin(dataset=None if fingerprint is None else str(fingerprint), profile=profile, judge=judge)


class Summary(msgspec.Struct):
    """The parts of a report that a comparison reads; other keys are ignored."""

    format: str
    run: dict[str, Any]
    dataset: dict[str, Any]
    profile: str
    judge: dict[str, Any]
    instances: list[_Instance]

    @property
    def origin(self) -> Origin:
        """Where the verdicts come from."""
        return origin_of(self.dataset, self.profile, self.judge)

    def passed(self) -> dict[tuple[int, str, str], bool | None]:
        """``passed`` of the counted instances; of a uuid that is listed twice the last counts."""
        counted = (entry for entry in self.instances if entry.status in ("scored", "missing"))
        return {(entry.capability, entry.domain, entry.uuid): entry.passed for entry in counted}


def read(path: Path) -> Summary:
    """Read a report back. Raises ``DataError`` naming the file and what is wrong with it."""
    payload = read_input(path, "the report")
    try:
        report = msgspec.json.decode(payload, type=Summary)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path} is not a report of this program: {error}") from error
    if report.format != FORMAT:
        raise DataError(f"{path} has the format {report.format!r}; this version reads {FORMAT}")
    return report


def named_for_run(path: Path, run: str, runs: Sequence[str]) -> Path:
    """The report file of a run: ``path`` itself, or with ``-<run name>`` before its ending when there are several."""
    if len(runs) < 2:
        return path
    safe = "".join("_" if character in "/\\\0" else character for character in run)
    return path.with_name(f"{path.stem}-{safe}{path.suffix}")
