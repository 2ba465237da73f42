"""What the scores screen shows figures of: the runs that are open and reports that were opened; no screen library.

Figures are computed by ``eval.scores`` from the verdicts known so far, or taken from a report as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from eval.compare import Comparison, Origin, compare, differences
from eval.figures import Behind, FigureLine, Figures, behind, figures, line_of, passed_of, read_report
from eval.scored import Scored, grouping
from eval.scores import tally
from toolenv.files import path_of

if TYPE_CHECKING:
    from vakra_tui.state.entry import Entry, EntryKey
    from vakra_tui.state.world import World

READ_AT_ONCE = 100
"""Records whose groups are read between two looks at other work."""


@dataclass(frozen=True)
class Source:
    """One run or one report: its figures, and the lines that they count.

    ``waits`` are instances of the dataset that were not scored yet; ``elsewhere`` are counted lines of a report whose
    instance the open dataset does not have, so that it is not known to which groups they belong.
    """

    name: str
    kind: Literal["run", "report"]
    origin: Origin
    figures: Figures
    lines: tuple[FigureLine, ...]
    waits: frozenset[EntryKey] = frozenset()
    elsewhere: int = 0

    @property
    def waiting(self) -> int:
        """How many instances were not scored yet."""
        return len(self.waits)

    @property
    def undecided(self) -> frozenset[EntryKey]:
        """The instances that count and are neither right nor wrong."""
        return frozenset(line.key for line in self.lines if line.counted and line.passed is None)

    @property
    def counted(self) -> int:
        """Instances that count for the scores."""
        return self.figures.counts.get("scored", 0) + self.figures.counts.get("missing", 0)


@dataclass(frozen=True)
class Meeting:
    """Two sources compared on the instances that both count; ``doubts`` say what makes them hard to compare."""

    first: Source
    second: Source
    result: Comparison
    doubts: tuple[str, ...] = ()


def read_groups(world: World, entries: Sequence[Entry]) -> None:
    """Find out for some rows by what a report counts them."""
    dataset = world.wiring.dataset
    for entry in entries:
        if entry.slices is None and entry.instance is not None:
            found = grouping(entry.instance, dataset, dataset.load)
            entry.slices, entry.weight = found.slices, found.weight


def run_source(world: World, run: str, entries: Sequence[Entry] | None = None) -> Source:
    """What is known of a run now, on all rows or on some of them; ``read_groups`` comes first."""
    scored: list[Scored] = []
    waits: list[EntryKey] = []
    for entry in world.listing.entries if entries is None else entries:
        verdict = entry.verdicts.get(run)
        if verdict is not None:
            scored.append(Scored(verdict=verdict, weight=entry.weight or 1, slices=entry.slices or {}))
        elif not entry.extra:
            waits.append(entry.key)
    origin = Origin(
        dataset=world.dataset_fingerprint,
        profile=world.profile,
        judge={
            "kind": world.judge_kind,
            "model": getattr(world.judge, "model", None),
            "prompt_version": getattr(world.judge, "prompt_version", None),
        },
    )
    lines = tuple(line_of(each) for each in scored)
    return Source(run, "run", origin, figures(tally(scored)), lines, waits=frozenset(waits))


def report_source(
    written: str, known: Mapping[EntryKey, Mapping[str, str] | None], taken: Iterable[str] = ()
) -> Source:
    """A report file; ``known`` are the groups of the open dataset's instances. Raises ``DataError`` in one sentence.

    Its name is the run's, with a number behind it where ``taken`` has that name already.
    """
    # Absolute, so that a lone hyphen is a name and not the terminal that the screen itself reads from.
    report = read_report(path_of(written).absolute())
    lines = report.lines({key: slices for key, slices in known.items() if slices is not None})
    name, number = report.name, 2
    while name in taken:
        name, number = f"{report.name} ({number})", number + 1
    elsewhere = sum(line.counted and line.key not in known for line in lines)
    return Source(name, "report", report.origin, report.figures, tuple(lines), elsewhere=elsewhere)


def groups_of(world: World) -> dict[EntryKey, Mapping[str, str] | None]:
    """The groups of every instance of the dataset, None where its record was not read."""
    return {entry.key: entry.slices for entry in world.listing.entries if entry.instance is not None}


def meetings(sources: Sequence[Source]) -> list[Meeting]:
    """Every two sources beside each other, the later one against the earlier."""
    return [
        Meeting(
            first,
            second,
            compare(passed_of(first.lines), passed_of(second.lines)),
            tuple(differences(first.origin, second.origin)),
        )
        for place, first in enumerate(sources)
        for second in sources[place + 1 :]
    ]


def keys_behind(source: Source, figure: Behind, *, failed: bool = False) -> frozenset[EntryKey]:
    """The instances that a figure counts; ``failed``: those of them that are not right."""
    return frozenset(line.key for line in behind(source.lines, figure) if not (failed and line.passed is True))


def counted_by(source: Source, figure: Behind) -> int:
    """How many instances a figure says that it counts; of a report, whose lines may not be known, its own number."""
    found = source.figures
    if figure.kind == "status":
        return found.counts.get(figure.name, 0)
    if figure.kind == "capability":
        return found.scores.capabilities[figure.name].n  # type: ignore[index]
    if figure.kind == "slice":
        return found.slices[figure.name][figure.group].n
    if figure.kind == "repair":
        return found.repair.groups(figure.name).get(figure.group, 0) if found.repair is not None else 0
    if figure.kind == "sieve":
        return found.sieve[figure.name].get(figure.group, 0)
    if figure.kind == "still":
        return round(found.sieve_cumulative[figure.name][figure.group] * sum(found.sieve[figure.name].values()))
    return source.counted
