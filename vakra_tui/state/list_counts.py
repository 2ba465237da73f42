"""What the list of instances says of all its rows: honest counts, and how wide the words of its verdicts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from eval.model import Verdict
from vakra_tui.state.columns import LONGEST_RUN_NAME, VerdictWords
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.entry import Entry
from vakra_tui.state.lines import plain
from vakra_tui.state.panes.waterfall import BRIEF_BELOW, BRIEFEST_BELOW, short_verdict
from vakra_tui.text import count_words, one_line

NOT_EVALUATED = "\u00b7 not evaluated"
NO_PREDICTION = "no prediction"
WIDEST = 200
"""Cells of a verdict in all its words."""


AS_WIDE_AS_ANY = VerdictWords()


@dataclass(frozen=True)
class RunCounts:
    """One run: verdicts that count, those that passed, those read from the store, predictions without a verdict, all
    verdicts, and how wide their words are."""

    name: str
    counted: int = 0
    passed: int = 0
    kept: int = 0
    waiting: int = 0
    verdicts: int = 0
    words: VerdictWords = AS_WIDE_AS_ANY


@dataclass(frozen=True)
class Counts:
    """All rows, and each run."""

    total: int = 0
    marked: int = 0
    unread: int = 0
    failed: int = 0
    extras: int = 0
    runs: tuple[RunCounts, ...] = ()

    def of_run(self, name: str) -> RunCounts:
        """The counts of one run."""
        return next((run for run in self.runs if run.name == name), RunCounts(name))


def counted(entries: Sequence[Entry], runs: Sequence[str]) -> Counts:
    """Go through all rows once; for thousands of them this belongs beside the event loop."""
    return Counts(
        total=len(entries),
        marked=sum(entry.marked for entry in entries),
        unread=sum(not entry.read for entry in entries),
        failed=sum(bool(entry.problem) for entry in entries),
        extras=sum(entry.extra for entry in entries),
        runs=tuple(_of_run(entries, run) for run in runs),
    )


def _of_run(entries: Sequence[Entry], run: str) -> RunCounts:
    kinds: dict[tuple[str, bool | None, str | None, str | None, str | None], Verdict] = {}
    verdicts = right = right_or_not = kept = waiting = 0
    absent = False
    for entry in entries:
        verdict = entry.verdicts.get(run)
        if verdict is not None:
            verdicts += 1
            kept += run in entry.kept
            if verdict.status in ("scored", "missing"):
                right_or_not += 1
                right += bool(verdict.passed)
            kinds[verdict.status, verdict.passed, verdict.failed_stage, verdict.sieve, verdict.reason] = verdict
        elif not entry.extra:
            here = run in entry.predictions
            waiting += here
            absent = absent or not here
    others = [words for words, there in ((NO_PREDICTION, absent), (NOT_EVALUATED, waiting)) if there]
    words = _words(list(kinds.values()), run, others)
    return RunCounts(run, right_or_not, right, kept, waiting, verdicts, words)


def _words(verdicts: Sequence[Verdict], run: str, others: Sequence[str]) -> VerdictWords:
    def widest(cells: int, *more: str) -> int:
        said = [plain(short_verdict(verdict, cells)) for verdict in verdicts]
        return max((cell_len(words) for words in (*said, *more)), default=0)

    return VerdictWords(
        whole=widest(WIDEST, *others),
        brief=widest(BRIEF_BELOW - 1, *others),
        briefest=widest(BRIEFEST_BELOW - 1),
        name=min(cell_len(one_line(run, WIDEST)) + 1, LONGEST_RUN_NAME),
    )


def words_of_counts(counts: Counts, shown: int, source: str) -> str:
    """The last line of the list; ``source`` says by which profile and judge, empty where that need not be said."""
    words = [count_words(counts.total - counts.extras, "instance")]
    if counts.extras:
        words[0] += f" and {counts.extras:,} extra"
    if shown != counts.total:
        words[0] = f"showing {shown:,} of {words[0]}"
    parts = (
        (counts.marked, "marked"),
        (counts.unread, "not read"),
        (counts.failed, "cannot be read"),
    )
    words += [f"{number:,} {said}" for number, said in parts if number]
    scored = [run for run in counts.runs if run.counted]
    words += [f"{one_line(run.name, 24)}: {run.passed:,} of {run.counted:,} scored passed" for run in scored]
    waiting = sum(run.waiting for run in counts.runs)
    if waiting:
        evaluates = key("instances.evaluate-all")
        words.append(f"{count_words(waiting, 'prediction')} not evaluated ({evaluates} evaluates all shown)")
    if source and (scored or not source.startswith("profile paper")):
        words.append(f"verdicts by the {source}")
    kept = sum(run.kept for run in counts.runs)
    if kept:
        words.append(f"{count_words(kept, 'verdict')} read from the store")
    return " \u00b7 ".join(words)
