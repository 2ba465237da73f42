"""The parts of the scores that are no bars: published results, two sources compared, what counts, who decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eval.compare import judge_words
from eval.figures import Behind
from eval.published import PUBLISHED, TEST_SPLIT
from vakra_tui.state.cells import cell
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import BLANK, HANG, Line, Role, line
from vakra_tui.state.scores import Meeting, Source
from vakra_tui.text import count_words, one_line
from vakra_tui.wrap import wrap

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


def heading(text: str, note: str, width: int) -> Iterator[Row]:
    """A blank line and the name of a group of figures; a note that does not fit behind it stands below."""
    beside = len(text) + 3 + len(note) <= width
    yield Row(BLANK)
    yield Row(line((text, "title"), (f"   {note}" if note and beside else "", "dim")), heading=True)
    if not beside:
        yield from text_rows(width, f"  {note}", "dim")


def text_rows(width: int, words: str, role: Role) -> Iterator[Row]:
    """Words, wrapped."""
    lead = len(words) - len(words.lstrip(" "))
    for part in wrap(line((" " * lead, ""), HANG, (words[lead:], role)), max(width, 20)):
        yield Row(part)


def published_rows(width: int, sources: Sequence[Source]) -> Iterator[Row]:
    """The published results, and how far each source is from them."""
    single = len(sources) == 1
    where = "behind" if single else "below"
    note = f"the leaderboard's, on VAKRA's test split; {where} them yours minus theirs, in points"
    yield from heading("Published results", note, width)
    heads = ("cap 1", "cap 2", "cap 3", "cap 4", "mean")
    room = 20 if width < 100 else 24
    each = 11 if width < 100 else 12
    # A difference stands behind each result, or in a row of its own for each of several sources.
    yield Row(
        line(
            (cell("", room), ""),
            *((f"{f'{head:>6}':<{each}}" if single else f"{head:>{each}}", "label") for head in heads),
        )
    )
    for entry in PUBLISHED:
        shares = (*entry.shares, entry.leaderboard)
        first = sources[0] if single else None
        parts: list[tuple[str, Role]] = [(cell(entry.model, room), "strong")]
        for place, share in enumerate(shares):
            difference = _difference(first, place, share) if first is not None else ""
            theirs = f"{100 * share:.1f}"
            parts.append((f"{theirs:>6}{difference:>{each - 6}}" if single else f"{theirs:>{each}}", ""))
        yield Row(line(*parts))
        if single:
            continue
        for source in sources:
            told = [f"{_difference(source, place, share) or '-':>{each}}" for place, share in enumerate(shares)]
            yield Row(line(("  " + cell(source.name, room - 2), "dim"), ("".join(told), "dim")))
    others = [source for source in sources if not _is_test_split(source)]
    if others:
        counted = ", ".join(f"{one_line(source.name, 30)} {source.counted:,}" for source in others)
        words = f"  ! counted here: {counted}; the test split has {sum(TEST_SPLIT):,}. A difference says little"
        yield from text_rows(width, words, "warn")


def _is_test_split(source: Source) -> bool:
    """Whether a source counts as many instances of every capability as the test split has."""
    found = source.figures.scores.capabilities
    return tuple(found[name].n if name in found else 0 for name in ("1", "2", "3", "4")) == TEST_SPLIT


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


def meeting_rows(width: int, meetings: Sequence[Meeting]) -> Iterator[Row]:
    """Every two sources against each other."""
    for met in meetings:
        first, second = one_line(met.first.name, 30), one_line(met.second.name, 30)
        yield from heading(f"{second} against {first}", "McNemar, on the instances that both count", width)
        for doubt in met.doubts:
            yield from text_rows(width, f"  ! {doubt}", "warn")
        pairs, result = met.result.pairs, met.result
        if result.difference is None or result.ci95 is None:
            yield from text_rows(width, "  no instance is counted in both", "warn")
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
            yield from text_rows(width, f"  not compared: {only}", "dim")


def counted_rows(width: int, sources: Sequence[Source]) -> Iterator[Row]:
    """What each source counts, what not, and why."""
    yield from heading("Counted and not counted", "", width)
    for index, source in enumerate(sources):
        counts = source.figures.counts
        name = f"{one_line(source.name, 30)}: " if len(sources) > 1 else ""
        judge = f"profile {source.origin.profile}, judge {one_line(judge_words(source.origin.judge), 60)}"
        yield from text_rows(width, f"  {name}{count_words(source.counted, 'instance')} counted; {judge}", "")
        for status, words in STATUS_WORDS.items():
            if count := counts.get(status, 0):
                content = line((f"    {count:>6} ", "strong"), HANG, (words, "warn"))
                yield Row(content, Behind(kind="status", name=status), index, f"{name}{status}")
        if undecided := counts.get("undecided", 0):
            words = "undecided: counted as not right, the range says what they could still become"
            yield from counted_row(width, undecided, words, index, f"{name}undecided", source.undecided)
        if source.waiting:
            words = f"not scored yet: no figure counts them ({key('scores.evaluate')} evaluates)"
            yield from counted_row(width, source.waiting, words, index, f"{name}not scored yet", source.waits)
        if source.elsewhere:
            words = "of the report are not in the dataset that is open: figures count them, the list cannot show them"
            yield from text_rows(width, f"    {source.elsewhere:>6} {words}", "warn")
        for note in source.figures.notes:
            yield from text_rows(width, f"           {note}", "dim")


def counted_row(
    width: int, number: int, words: str, index: int, named: str, keys: frozenset[tuple[int, str, str]]
) -> Iterator[Row]:
    """A count in words, wrapped; its first row leads to the instances behind it."""
    rows = list(text_rows(width, f"    {number:>6} {words}", "warn"))
    yield rows[0]._replace(source=index, words=named, keys=keys)
    yield from rows[1:]


def decider_rows(width: int, sources: Sequence[Source]) -> Iterator[Row]:
    """Who ruled how often, and how far a person agrees with the judge."""
    yield from heading("Who decided", "rulings by gate", width)
    for source in sources:
        name = f"{one_line(source.name, 30)}  " if len(sources) > 1 else ""
        for gate, deciders in source.figures.decided.items():
            told = ", ".join(f"{who} {count:,}" for who, count in deciders.items() if count) or "nobody"
            yield from text_rows(width, f"  {name}{gate.replace('_', ' ')}: {told}", "")
        for gate, agreed in source.figures.agreement.items():
            if agreed.n:
                kappa = "" if agreed.kappa is None else f", kappa {agreed.kappa:.2f}"
                share = f"{100 * agreed.agreement:.1f}%" if agreed.agreement is not None else "not known"
                told = f"a person and the judge agree on {share} of {count_words(agreed.n, 'ruling')}{kappa}"
                yield from text_rows(width, f"  {name}{gate.replace('_', ' ')}: {told}", "accent")
