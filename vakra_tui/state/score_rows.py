"""The rows of the scores screen: figures of several sources as bars with numbers, each with what stands behind it.

Rows are made for a width and drawn when they are looked at; every number in them comes from ``Figures``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eval.figures import Behind, Group
from eval.intervals import wilson
from eval.scored import SLICES
from eval.scores import SIEVE_CLASSES, SIEVE_LEVELS
from vakra_tui.state.cells import cell
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Line, Role, Span, line
from vakra_tui.state.panes.waterfall import SIEVE_WORDS
from vakra_tui.state.plots import BLOCKS, Signs, bar, legend
from vakra_tui.state.score_texts import (
    Row,
    counted_rows,
    decider_rows,
    heading,
    meeting_rows,
    published_rows,
    text_rows,
)
from vakra_tui.state.scores import Meeting, Source
from vakra_tui.text import one_line

SLICE_WORDS = {
    "hop_pattern": "Hop pattern",
    "hops": "Hop depth",
    "source": "Source of the ground truth",
    "policy": "Policy",
    "effect": "What the policy does to the answer",
    "style": "Tool style (capability 1)",
    "domain": "Domain",
    "model": "Model",
}
LEVEL_WORDS = {"tool": "tool", "argument_names": "names", "argument_values": "values"}
REPAIR_WORDS = {
    "outcomes": ("Repair search", "what it found, of the failed trajectories that were searched"),
    "steps": ("Broken at step", "the step that one replacement would have saved"),
    "tools": ("Broken at tool", "the tool that this step called or should have called"),
}
REPAIR_OUTCOMES = {
    "replacement": "one step saves it",
    "prefix": "only its first steps",
    "plan": "the plan is wrong",
    "reference": "reference fails too",
    "missing": "no prediction",
}
"""Outcome of a search in few words, where its name does not say it."""

ORDER = ("hops", *(name for name in SLICES if name != "hops"))


class _Cells(NamedTuple):
    """Cells of the columns: label, source's name (0 for one source), bar."""

    label: int
    name: int
    plot: int


NUMBERS = 27
"""Cells right of a bar: share, interval, how many of how many."""


def columns(width: int, sources: int) -> _Cells:
    """What fits: numbers are never cut, the bar takes what the names leave."""
    label = 20 if width < 100 else 28
    name = 0 if sources < 2 else 10 if width < 100 else 18
    return _Cells(label, name, max(width - label - name - (1 if name else 0) - NUMBERS - 2, 8))


class ScoreRows:
    """The rows of some sources, as a line source; made anew for every width."""

    def __init__(self, sources: Sequence[Source], met: Sequence[Meeting] = (), signs: Signs = BLOCKS) -> None:
        self._sources = tuple(sources)
        self._met = tuple(met)
        self._signs = signs
        self._width = -1
        self._labelled = ""
        self.rows: list[Row] = []

    def layout(self, width: int) -> int:
        if width != self._width:
            self._width = width
            self.rows = list(self._made(width))
        return len(self.rows)

    def line(self, index: int) -> Line:
        return self.rows[index].content

    @property
    def cells(self) -> int:
        return 0

    def heading_after(self, index: int, step: int) -> int:
        """Index of the next (``step`` 1) or previous (-1) heading; ``index`` itself where there is none."""
        place = index + step
        while 0 <= place < len(self.rows):
            if self.rows[place].heading:
                return place
            place += step
        return index

    # --- sections ----------------------------------------------------------------------------------------------------

    def _made(self, width: int) -> Iterator[Row]:
        if not any(source.lines or source.counted for source in self._sources):
            evaluates, opens = key("scores.evaluate"), key("scores.open-report")
            yield from text_rows(
                width, f"Nothing is scored yet: {evaluates} evaluates, {opens} opens a report.", "warn"
            )
            return
        yield from self._scores(width)
        yield from published_rows(width, self._sources)
        yield from self._sieve(width)
        yield from self._still(width)
        for name in ORDER:
            yield from self._slice(width, name)
        for name in REPAIR_WORDS:
            yield from self._repair(width, name)
        yield from meeting_rows(width, self._met)
        yield from counted_rows(width, self._sources)
        yield from decider_rows(width, self._sources)

    def _scores(self, width: int) -> Iterator[Row]:
        yield Row(
            line(("Scores", "title"), (f"   {legend(self._signs)}", "dim")),
            heading=True,
        )
        for index, source in enumerate(self._sources):
            board = source.figures.scores.leaderboard
            label = "leaderboard (mean)"
            if board.score is None:
                yield self._empty(width, label, index, "none counted")
                continue
            yield self._bar(width, label, index, board.score, board.ci95, "", Behind(kind="everything"), "ok")
            yield from _reach(width, board.range)
        for name in sorted({name for source in self._sources for name in source.figures.scores.capabilities}):
            weighted = []
            for index, source in enumerate(self._sources):
                score = source.figures.scores.capabilities.get(name)
                if score is None:
                    yield self._empty(width, f"capability {name}", index, "none counted")
                    continue
                doubled = score.weighted_total != score.n
                counts = (
                    f"{score.weighted_correct}/{score.weighted_total} w" if doubled else f"{score.correct}/{score.n}"
                )
                figure = Behind(kind="capability", name=name)
                yield self._bar(width, f"capability {name}", index, score.score, score.ci95, counts, figure)
                yield from _reach(width, score.range)
                if doubled:
                    who = f"{one_line(source.name, 30)} " if len(self._sources) > 1 else ""
                    weighted.append(f"{who}{score.correct}/{score.n}")
            if weighted:
                words = f"  w: an instance with API and RAG counts twice; each once: {', '.join(weighted)}"
                yield from text_rows(width, words, "dim")

    def _sieve(self, width: int) -> Iterator[Row]:
        yield from self._headed(
            width, "Failure sieve", "the first stage that broke, as a share of the capability's instances"
        )
        for name in self._capabilities():
            for kind in SIEVE_CLASSES:
                counts = [source.figures.sieve.get(name, {}).get(kind, 0) for source in self._sources]
                if kind == "undecided" and not any(counts):
                    continue
                for index, source in enumerate(self._sources):
                    classes = source.figures.sieve.get(name)
                    n = sum(classes.values()) if classes else 0
                    if not n:
                        continue
                    words = "right" if kind == "none" else SIEVE_WORDS[kind]
                    label = f"{name}: {words}"
                    role: Role = "ok" if kind == "none" else "warn" if kind == "undecided" else "fail"
                    figure = Behind(kind="sieve", name=name, group=kind)
                    told = f"capability {name}, {words if kind in ('none', 'undecided') else f'broke at {words}'}"
                    counted = f"{counts[index]}/{n}"
                    ends = wilson(counts[index], n)
                    yield self._bar(width, label, index, counts[index] / n, ends, counted, figure, role, told)

    def _still(self, width: int) -> Iterator[Row]:
        yield from self._headed(width, "Cumulative sieve", "the share still right after each stage")
        for name in self._capabilities():
            for level in (*SIEVE_LEVELS, "answer"):
                for index, source in enumerate(self._sources):
                    shares, classes = source.figures.sieve_cumulative.get(name), source.figures.sieve.get(name)
                    n = sum(classes.values()) if classes else 0
                    if not shares or not n or level not in shares:
                        continue
                    figure = Behind(kind="still", name=name, group=level)
                    label = f"{name}: after {LEVEL_WORDS.get(level, level)}"
                    right = round(shares[level] * n)
                    told = f"capability {name}, still right after {level.replace('_', ' ')}"
                    ends = wilson(right, n)
                    yield self._bar(width, label, index, shares[level], ends, f"{right}/{n}", figure, "ok", told)

    def _slice(self, width: int, name: str) -> Iterator[Row]:
        groups = {group for source in self._sources for group in source.figures.slices.get(name, {})}
        if not groups:
            return
        yield from self._headed(width, SLICE_WORDS[name], "each instance counts once")
        for group in sorted(groups, key=_natural):
            for index, source in enumerate(self._sources):
                found = source.figures.slices.get(name, {}).get(group)
                label = _group_label(name, group)
                if found is None or not found.n:
                    yield self._empty(width, label, index, "none counted")
                    continue
                figure = Behind(kind="slice", name=name, group=group)
                counted, told = f"{found.correct}/{found.n}", f"{SLICE_WORDS[name].lower()} {label}"
                yield self._bar(width, label, index, _share(found), found.ci95, counted, figure, "accent", told)

    def _repair(self, width: int, name: str) -> Iterator[Row]:
        """Where repair search found the trajectories to break, as shares of those that were searched."""
        known = [source.figures.repair for source in self._sources]
        groups = {group for found in known if found is not None for group in found.groups(name)}
        if not groups:
            return
        yield from self._headed(width, *REPAIR_WORDS[name])
        total = {
            group: sum(found.groups(name).get(group, 0) for found in known if found is not None) for group in groups
        }
        ordered = (
            sorted(groups, key=_natural) if name == "steps" else sorted(groups, key=lambda one: (-total[one], one))
        )
        for group in ordered:
            for index, found in enumerate(known):
                if found is None or not found.searched:
                    continue
                count = found.groups(name).get(group, 0)
                figure = Behind(kind="repair", name=name, group=group)
                label = f"step {group}" if group.isdecimal() else one_line(group, 60).replace("_", " ")
                label = REPAIR_OUTCOMES.get(group, label) if name == "outcomes" else label
                label = one_line(group, 60) if name == "tools" else label
                told, counted = f"repair search: {label}", f"{count}/{found.searched}"
                share = min(count / found.searched, 1.0)
                ends = wilson(min(count, found.searched), found.searched)
                yield self._bar(width, label, index, share, ends, counted, figure, "warn", told)

    def _headed(self, width: int, text: str, note: str) -> Iterator[Row]:
        self._labelled = ""
        yield from heading(text, note, width)

    # --- one row -----------------------------------------------------------------------------------------------------

    def _capabilities(self) -> list[str]:
        return sorted({name for source in self._sources for name in source.figures.sieve})

    def _bar(
        self,
        width: int,
        label: str,
        index: int,
        share: float | None,
        ends: tuple[float, float] | None,
        counts: str,
        figure: Behind,
        role: Role = "accent",
        told: str = "",
    ) -> Row:
        """A bar with its numbers; ``told`` names it where its label is not enough."""
        cells = columns(width, len(self._sources))
        source = self._sources[index]
        percent = "" if share is None else f"{100 * share:.1f}%"
        interval = _ends(ends) if ends is not None else ""
        parts = [*self._labels(cells, label, index), *bar(share, ends, cells.plot, self._signs, role)]
        parts += [Span(f" {percent:>6}", "strong"), Span(f" {interval:<8}", "dim"), Span(f" {counts}", "")]
        told = told or label
        named = f"{one_line(source.name, 30)}, {told}" if len(self._sources) > 1 else told
        return Row(tuple(parts), figure, index, named)

    def _empty(self, width: int, label: str, index: int, words: str) -> Row:
        cells = columns(width, len(self._sources))
        return Row((*self._labels(cells, label, index), Span(words, "dim")))

    def _labels(self, cells: _Cells, label: str, index: int) -> list[Span]:
        """The label, on the first of its rows alone, and the source's name where there are several."""
        again, self._labelled = label == self._labelled, label
        parts = [Span(cell("" if again else label, cells.label) + " ", "label")]
        if cells.name:
            parts.append(Span(cell(self._sources[index].name, cells.name) + " ", "dim"))
        return parts


def _reach(width: int, ends: tuple[float, float] | None) -> Iterator[Row]:
    """What undecided instances leave open, where there are any."""
    if ends is not None and ends[0] != ends[1]:
        words = f"  undecided ones leave it open: from {100 * ends[0]:.1f}% to {100 * ends[1]:.1f}%"
        yield from text_rows(width, words, "warn")


def _share(group: Group) -> float:
    return group.correct / group.n


def _ends(ends: tuple[float, float]) -> str:
    return f"{100 * ends[0]:.0f}-{100 * ends[1]:.0f}%"


def _natural(group: str) -> tuple[int, str]:
    """Numbers by size, words after them."""
    return (int(group), "") if group.isdecimal() and len(group) < 9 else (10**9, group)


def _group_label(name: str, group: str) -> str:
    if name == "hops":
        return f"{group} hop" if group == "1" else f"{group} hops"
    if group == "none":
        return {"policy": "no policy", "source": "no calls", "effect": "no effect"}.get(name, group)
    return one_line(group, 60).replace("_", " ") if name in ("policy", "effect") else one_line(group, 60)
