"""The figures of one run in one form, whether they are computed from lines or read from a report file.

The numbers are those of ``eval.scores.Tally``; nothing is computed here a second time. What is added is the way back:
which lines stand behind a figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from eval.compare import InstanceKey, Origin, Passed
from eval.repair.tally import groups_of
from eval.report import FORMAT, origin_of
from eval.scored import Scored
from eval.scores import SIEVE_LEVELS, Tally
from toolenv.errors import DataError
from toolenv.files import read_input
from toolenv.model import Value

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Ends = tuple[Share, Share]


class Score(msgspec.Struct, frozen=True):
    """A share with the range that undecided instances leave open, and its interval of 95 %; None: nothing counted."""

    score: Share | None
    range: Ends | None
    ci95: Ends | None


class CapabilityScore(msgspec.Struct, frozen=True):
    """The score of one capability; ``weighted_*`` count a multi-source instance of capability 4 twice."""

    score: Share
    range: Ends
    ci95: Ends | None
    n: Count
    correct: Count
    weighted_correct: Count
    weighted_total: Count
    undecided: Count


class Group(msgspec.Struct, frozen=True):
    """One group of a slice: ``correct`` of ``n`` instances, each counted once."""

    n: Count
    correct: Count
    ci95: Ends | None

    def __post_init__(self) -> None:
        if self.correct > self.n:
            raise ValueError(f"{self.correct} of {self.n} cannot be correct")


class RepairGroup(msgspec.Struct, frozen=True):
    """How many trajectories broke at one step, or at calls of one tool."""

    n: Count


class Repairs(msgspec.Struct, frozen=True):
    """What repair search found of ``searched`` trajectories that failed."""

    searched: Count
    outcomes: dict[str, Count] = {}
    steps: dict[str, RepairGroup] = {}
    tools: dict[str, RepairGroup] = {}

    def groups(self, name: str) -> dict[str, int]:
        """The counts of ``outcomes``, ``steps`` or ``tools``."""
        if name == "outcomes":
            return dict(self.outcomes)
        return {group: found.n for group, found in (self.steps if name == "steps" else self.tools).items()}


class Agreed(msgspec.Struct, frozen=True):
    """How far a person agrees with the judge on one gate: share and kappa of ``n`` pairs, None without any."""

    n: Count
    agreement: Share | None = None
    kappa: float | None = None


class Scores(msgspec.Struct, frozen=True):
    leaderboard: Score
    capabilities: dict[Literal["1", "2", "3", "4"], CapabilityScore]


class Figures(msgspec.Struct, frozen=True):
    """What a report says besides its head and its lines; the keys are those of the report."""

    scores: Scores
    counts: dict[str, Count]
    decided: dict[str, dict[str, Count]]
    sieve: dict[str, dict[str, Count]]
    sieve_cumulative: dict[str, dict[str, Share]]
    slices: dict[str, dict[str, Group]]
    agreement: dict[str, Agreed] = {}
    repair: Repairs | None = None
    notes: list[str] = []


def figures(tally: Tally, notes: Sequence[str] = ()) -> Figures:
    """The figures of some lines."""
    form = {
        "scores": {"leaderboard": tally.leaderboard(), "capabilities": tally.capabilities()},
        "counts": tally.counts(0),
        "decided": tally.decided(),
        "sieve": tally.sieve(),
        "sieve_cumulative": tally.sieve_cumulative(),
        "slices": tally.slices(),
        "agreement": tally.agreement(),
        "repair": tally.repairs() or None,
        "notes": list(notes),
    }
    return msgspec.convert(form, Figures)


class FigureLine(Value, frozen=True):
    """One line as far as figures go by it; ``slices`` is None where it is not known to which groups it belongs.

    ``repair`` are the groups of ``eval.repair.tally.groups_of``, empty where no repair was searched.
    """

    key: InstanceKey
    status: str
    passed: bool | None
    sieve: str | None
    slices: Mapping[str, str] | None = None
    repair: Mapping[str, str] = {}

    @property
    def counted(self) -> bool:
        """Whether the line counts for the scores."""
        return self.status in ("scored", "missing")

    @property
    def broke_at(self) -> str:
        """The class of the sieve that the line is counted in."""
        return self.sieve or ("undecided" if self.passed is None else "none")


def line_of(scored: Scored) -> FigureLine:
    verdict = scored.verdict
    return FigureLine(
        key=(verdict.capability, verdict.domain, verdict.uuid),
        status=verdict.status,
        passed=verdict.passed,
        sieve=verdict.sieve,
        slices=scored.slices,
        repair=groups_of(verdict.repair) if verdict.repair is not None else {},
    )


class Behind(Value, frozen=True):
    """What a figure counts: a capability's lines, those of a class of its sieve, those still right after a level,
    the lines of a slice's or a repair's group, or all (``everything``, ``status``)."""

    kind: Literal["everything", "status", "capability", "sieve", "still", "slice", "repair"]
    name: str = ""
    group: str = ""


def behind(lines: Iterable[FigureLine], figure: Behind) -> list[FigureLine]:
    """The lines that a figure counts, in their order."""
    if figure.kind == "status":
        return [line for line in lines if line.status == figure.name]
    if figure.kind == "repair":
        return [line for line in lines if line.repair.get(figure.name) == figure.group]
    counted = [line for line in lines if line.counted]
    if figure.kind == "everything":
        return counted
    if figure.kind == "slice":
        return [line for line in counted if (line.slices or {}).get(figure.name) == figure.group]
    of_capability = [line for line in counted if str(line.key[0]) == figure.name]
    if figure.kind == "sieve":
        return [line for line in of_capability if line.broke_at == figure.group]
    if figure.kind == "still":
        if figure.group == "answer":
            return [line for line in of_capability if line.broke_at == "none"]
        levels = list(SIEVE_LEVELS)
        broken = {SIEVE_LEVELS[level] for level in levels[: levels.index(figure.group) + 1]}
        return [line for line in of_capability if line.broke_at not in broken]
    return of_capability


def passed_of(lines: Iterable[FigureLine]) -> Passed:
    """``passed`` of the counted lines, for ``eval.compare``."""
    return {line.key: line.passed for line in lines if line.counted}


class _Line(msgspec.Struct):
    uuid: str
    capability: int
    domain: str
    status: Literal["scored", "missing", "unscored", "extra"]
    passed: bool | None = None
    sieve: str | None = None
    repair: dict[str, Any] | None = None


class ReportFile(msgspec.Struct):
    """A report as it is read back for its figures and its lines; other keys are ignored."""

    format: str
    profile: str
    judge: dict[str, Any]
    dataset: dict[str, Any]
    run: dict[str, Any]
    scores: Scores
    counts: dict[str, Count]
    decided: dict[str, dict[str, Count]]
    sieve: dict[str, dict[str, Count]]
    sieve_cumulative: dict[str, dict[str, Share]]
    slices: dict[str, dict[str, Group]]
    instances: list[_Line]
    agreement: dict[str, Agreed] = {}
    repair: Repairs | None = None
    notes: list[str] = []

    @property
    def name(self) -> str:
        return str(self.run.get("name"))

    @property
    def origin(self) -> Origin:
        """Where the verdicts come from."""
        return origin_of(self.dataset, self.profile, self.judge)

    @property
    def figures(self) -> Figures:
        return Figures(
            scores=self.scores,
            counts=self.counts,
            decided=self.decided,
            sieve=self.sieve,
            sieve_cumulative=self.sieve_cumulative,
            slices=self.slices,
            agreement=self.agreement,
            repair=self.repair,
            notes=self.notes,
        )

    def lines(self, slices: Mapping[InstanceKey, Mapping[str, str]]) -> list[FigureLine]:
        """The lines, with the groups that ``slices`` knows of them; of a uuid that is listed twice the last counts."""
        found = {(entry.capability, entry.domain, entry.uuid): entry for entry in self.instances}
        return [
            FigureLine(
                key=key,
                status=entry.status,
                passed=entry.passed,
                sieve=entry.sieve,
                slices=slices.get(key),
                repair=groups_of(entry.repair) if entry.repair else {},
            )
            for key, entry in found.items()
        ]


class _Format(msgspec.Struct):
    format: str | None = None


def read_report(path: Path) -> ReportFile:
    """Read a report for its figures. Raises ``DataError`` with one sentence that names the file and what is wrong."""
    payload = read_input(path, "the report")
    try:
        known = msgspec.json.decode(payload, type=_Format).format
        if known != FORMAT:
            said = "no format" if known is None else f"the format {known!r}"
            raise DataError(f"{path} has {said}; this version reads reports of the format {FORMAT}")
        return msgspec.json.decode(payload, type=ReportFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path} is not a report of this program: {error}") from error
