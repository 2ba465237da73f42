"""The rows of the scores screen: figures of several sources as bars with numbers, each with what stands behind it.

Rows are made for a width and drawn when they are looked at; every number in them comes from ``Figures``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eval.figures import Behind, Group
from eval.published import PUBLISHED, TEST_SPLIT
from eval.scored import SLICES
from eval.scores import SIEVE_CLASSES, SIEVE_LEVELS
from vakra_tui.state.cells import cell
from vakra_tui.state.lines import BLANK, HANG, Line, Role, Span, line
from vakra_tui.state.panes.waterfall import SIEVE_WORDS
from vakra_tui.state.plots import BLOCKS, Signs, bar, legend
from vakra_tui.state.scores import Meeting, Source
from vakra_tui.text import count_words, one_line
from vakra_tui.wrap import wrap

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
ORDER = ("hops", *(name for name in SLICES if name != "hops"))

STATUS_WORDS = {
    "missing": "no prediction: counted as wrong",
    "unscored": "could not be scored: not counted",
    "extra": "a prediction for no instance: not counted",
}


class Row(NamedTuple):
    """One row. ``figure`` is what it counts, of the source with this index; ``words`` name it for the list."""

    content: Line
    figure: Behind | None = None
    source: int = 0
    words: str = ""
    heading: bool = False
    keys: frozenset[tuple[int, str, str]] | None = None


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
            yield from _text(width, "Nothing is scored yet: v evaluates, o opens a report.", "warn")
            return
        yield from self._scores(width)
        yield from self._published(width)
        yield from self._sieve(width)
        yield from self._still(width)
        for name in ORDER:
            yield from self._slice(width, name)
        yield from self._met_rows(width)
        yield from self._not_counted(width)
        yield from self._deciders(width)

    def _heading(self, text: str, note: str = "") -> Iterator[Row]:
        yield Row(BLANK)
        yield Row(line((text, "title"), (f"   {note}" if note else "", "dim")), heading=True)

    def _scores(self, width: int) -> Iterator[Row]:
        yield Row(
            line(("Scores", "title"), (f"   {legend(self._signs)}", "dim")),
            heading=True,
        )
        for index, source in enumerate(self._sources):
            board = source.figures.scores.leaderboard
            numbers = "nothing counted" if board.score is None else ""
            label = "leaderboard (mean)"
            yield self._bar(width, label, index, board.score, board.ci95, numbers, Behind(kind="everything"), "ok")
            yield from _reach(width, board.range)
        for name in sorted({name for source in self._sources for name in source.figures.scores.capabilities}):
            weighted = []
            for index, source in enumerate(self._sources):
                score = source.figures.scores.capabilities.get(name)
                if score is None:
                    yield self._empty(width, f"capability {name}", index, "none counted")
                    continue
                counts = f"{score.correct}/{score.n}"
                figure = Behind(kind="capability", name=name)
                yield self._bar(width, f"capability {name}", index, score.score, score.ci95, counts, figure)
                yield from _reach(width, score.range)
                if score.weighted_total != score.n:
                    who = f"{one_line(source.name, 30)} " if len(self._sources) > 1 else ""
                    weighted.append(f"{who}{score.weighted_correct}/{score.weighted_total}")
            if weighted:
                words = f"  weighted {', '.join(weighted)}: an instance with API and RAG counts twice"
                yield from _text(width, words, "dim")

    def _published(self, width: int) -> Iterator[Row]:
        yield from self._heading(
            "Published results", "the leaderboard's, on VAKRA's test split; behind them yours - theirs"
        )
        heads = ("cap 1", "cap 2", "cap 3", "cap 4", "mean")
        room = 20 if width < 100 else 24
        yield Row(line((cell("", room), ""), *((f"{head:>12}", "label") for head in heads)))
        for entry in PUBLISHED:
            shares = (*entry.shares, entry.leaderboard)
            single = len(self._sources) == 1
            first = self._sources[0] if single else None
            parts: list[tuple[str, Role]] = [(cell(entry.model, room), "strong")]
            for place, share in enumerate(shares):
                difference = _difference(first, place, share) if first is not None else ""
                parts.append((f"{100 * share:>6.1f}{difference:>6}", ""))
            yield Row(line(*parts))
            if single:
                continue
            for source in self._sources:
                told = [f"{_difference(source, place, share) or '-':>12}" for place, share in enumerate(shares)]
                yield Row(line(("  " + cell(source.name, room - 2), "dim"), ("".join(told), "dim")))
        others = [source for source in self._sources if not _is_test_split(source)]
        if others:
            counted = ", ".join(f"{one_line(source.name, 30)} {source.counted:,}" for source in others)
            words = f"  ! counted here: {counted}; the test split has {sum(TEST_SPLIT):,}. A difference says little"
            yield from _text(width, words, "warn")

    def _sieve(self, width: int) -> Iterator[Row]:
        yield from self._heading(
            "Failure sieve", "the first stage that broke, as a share of the capability's instances"
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
                    yield self._bar(width, label, index, counts[index] / n, None, counted, figure, role, told)

    def _still(self, width: int) -> Iterator[Row]:
        yield from self._heading("Cumulative sieve", "the share still right after each stage")
        for name in self._capabilities():
            for level in (*SIEVE_LEVELS, "answer"):
                for index, source in enumerate(self._sources):
                    shares, classes = source.figures.sieve_cumulative.get(name), source.figures.sieve.get(name)
                    n = sum(classes.values()) if classes else 0
                    if not shares or not n or level not in shares:
                        continue
                    figure = Behind(kind="still", name=name, group=level)
                    label = f"{name}: after {LEVEL_WORDS.get(level, level)}"
                    counted = f"{round(shares[level] * n)}/{n}"
                    told = f"capability {name}, still right after {level.replace('_', ' ')}"
                    yield self._bar(width, label, index, shares[level], None, counted, figure, "ok", told)

    def _slice(self, width: int, name: str) -> Iterator[Row]:
        groups = {group for source in self._sources for group in source.figures.slices.get(name, {})}
        if not groups:
            return
        yield from self._heading(SLICE_WORDS[name], "each instance counts once")
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

    def _met_rows(self, width: int) -> Iterator[Row]:
        for met in self._met:
            first, second = one_line(met.first.name, 30), one_line(met.second.name, 30)
            yield from self._heading(f"{second} against {first}", "McNemar, on the instances that both count")
            for doubt in met.doubts:
                yield from _text(width, f"  ! {doubt}", "warn")
            pairs, result = met.result.pairs, met.result
            if result.difference is None or result.ci95 is None:
                yield from _text(width, "  no instance is counted in both", "warn")
                continue
            low, high = (100 * end for end in result.ci95)
            tested = "they differ on no instance" if result.p_value is None else f"p = {result.p_value:.4g}"
            yield Row(
                line(
                    ("  difference  ", "label"),
                    (f"{100 * result.difference:+.1f} points", "strong"),
                    (f"  (95% {low:+.1f} to {high:+.1f})  McNemar: {tested}", ""),
                )
            )
            yield Row(
                line(
                    ("  both right  ", "label"),
                    (f"{pairs.both:>6}", ""),
                    ("   neither  ", "label"),
                    f"{pairs.neither:>6}",
                )
            )
            for words, keys in ((f"only {second} right", result.gained), (f"only {first} right", result.lost)):
                yield Row(
                    line((f"  {words}  ", "label"), (str(len(keys)), "strong")),
                    words=words,
                    keys=frozenset(keys),
                )
            if pairs.only_in_first or pairs.only_in_second:
                only = f"{pairs.only_in_first} are counted in {first} alone, {pairs.only_in_second} in {second} alone"
                yield from _text(width, f"  not compared: {only}", "dim")

    def _not_counted(self, width: int) -> Iterator[Row]:
        yield from self._heading("Counted and not counted")
        for index, source in enumerate(self._sources):
            counts = source.figures.counts
            name = f"{one_line(source.name, 30)}: " if len(self._sources) > 1 else ""
            judge = f"profile {source.origin.profile}, judge {_judge(source)}"
            yield from _text(width, f"  {name}{count_words(source.counted, 'instance')} counted; {judge}", "")
            for status, words in STATUS_WORDS.items():
                if count := counts.get(status, 0):
                    content = line((f"    {count:>6} ", "strong"), HANG, (words, "warn"))
                    yield Row(content, Behind(kind="status", name=status), index, f"{name}{status}")
            if undecided := counts.get("undecided", 0):
                words = "undecided: counted as not right, the range says what they could still become"
                yield from _text(width, f"    {undecided:>6} {words}", "warn")
            if source.waiting:
                yield from _text(
                    width, f"    {source.waiting:>6} not scored yet: no figure counts them (v evaluates)", "warn"
                )
            if source.elsewhere:
                words = (
                    "of the report are not in the dataset that is open: figures count them, the list cannot show them"
                )
                yield from _text(width, f"    {source.elsewhere:>6} {words}", "warn")
            for note in source.figures.notes:
                yield from _text(width, f"           {note}", "dim")

    def _deciders(self, width: int) -> Iterator[Row]:
        yield from self._heading("Who decided", "rulings by gate")
        for source in self._sources:
            name = f"{one_line(source.name, 30)}  " if len(self._sources) > 1 else ""
            for gate, deciders in source.figures.decided.items():
                told = ", ".join(f"{who} {count:,}" for who, count in deciders.items() if count) or "nobody"
                yield from _text(width, f"  {name}{gate.replace('_', ' ')}: {told}", "")

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
        """The label, before the first source alone, and the source's name where there are several."""
        parts = [Span(cell(label if index == 0 else "", cells.label) + " ", "label")]
        if cells.name:
            parts.append(Span(cell(self._sources[index].name, cells.name) + " ", "dim"))
        return parts


def _text(width: int, words: str, role: Role) -> Iterator[Row]:
    lead = len(words) - len(words.lstrip(" "))
    for part in wrap(line((" " * lead, ""), HANG, (words[lead:], role)), max(width, 20)):
        yield Row(part)


def _is_test_split(source: Source) -> bool:
    """Whether a source counts as many instances of every capability as the test split has."""
    found = source.figures.scores.capabilities
    return tuple(found[name].n if name in found else 0 for name in ("1", "2", "3", "4")) == TEST_SPLIT


def _reach(width: int, ends: tuple[float, float] | None) -> Iterator[Row]:
    """What undecided instances leave open, where there are any."""
    if ends is not None and ends[0] != ends[1]:
        words = f"  undecided ones leave it open: from {100 * ends[0]:.1f}% to {100 * ends[1]:.1f}%"
        yield from _text(width, words, "warn")


def _share(group: Group) -> float:
    return group.correct / group.n


def _ends(ends: tuple[float, float]) -> str:
    return f"{100 * ends[0]:.0f}-{100 * ends[1]:.0f}%"


def _difference(source: Source, place: int, share: float) -> str:
    """A source's score minus a published share, in points; empty where there is no score."""
    scores = source.figures.scores
    if place == len(TEST_SPLIT):
        complete = len(scores.capabilities) == len(TEST_SPLIT)
        own = scores.leaderboard.score if complete else None
    else:
        found = scores.capabilities.get(str(place + 1))  # type: ignore[call-overload]
        own = found.score if found is not None else None
    return "" if own is None else f"{100 * (own - share):+.1f}"


def _judge(source: Source) -> str:
    from eval.compare import judge_words

    return one_line(judge_words(source.origin.judge), 60)


def _natural(group: str) -> tuple[int, str]:
    """Numbers by size, words after them."""
    return (int(group), "") if group.isdecimal() and len(group) < 9 else (10**9, group)


def _group_label(name: str, group: str) -> str:
    if name == "hops":
        return f"{group} hop" if group == "1" else f"{group} hops"
    if group == "none":
        return {"policy": "no policy", "source": "no calls", "effect": "no effect"}.get(name, group)
    return one_line(group, 60).replace("_", " ") if name in ("policy", "effect") else one_line(group, 60)
