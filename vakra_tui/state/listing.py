"""The instances of a dataset and what each run made of them, as rows of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from vakra_tui.state import columns
from vakra_tui.state.cells import cell
from vakra_tui.state.columns import Key
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.entry import Entry, EntryKey, entries_of
from vakra_tui.state.finding import rank, words_of
from vakra_tui.state.lines import Line, Role, Span
from vakra_tui.state.list_counts import NO_PREDICTION, NOT_EVALUATED, Counts, counted, words_of_counts
from vakra_tui.state.panes.waterfall import short_verdict
from vakra_tui.text import one_line
from vakra_tui.wrap import crop

__all__ = ["Entry", "EntryKey", "Found", "Listing", "Only", "Order", "entries_of"]

AT_ONCE = 300
"""Rows up to which a search is done while a key is answered; more of them are searched beside it."""

MARK = "*"
UP, DOWN = "\u25b4", "\u25be"
RUN = "run "
FLAG = " \u2691"


@dataclass(frozen=True)
class Order:
    """By which column the list is sorted: a column's name, or ``run NAME`` for a run's verdicts."""

    by: str
    reverse: bool = False


@dataclass(frozen=True)
class Only:
    """A choice of rows that something else made, and in which words."""

    keys: frozenset[EntryKey]
    words: str


@dataclass(frozen=True)
class Found:
    """What a search gave: the rows in their order, or why it cannot be read."""

    search: str
    entries: tuple[Entry, ...]
    problem: str = ""


class Listing:
    """All entries and those that the present search shows. Rows are made into lines only when looked at.

    ``source`` says by which profile and judge the verdicts are made, ``others`` by which other settings the store holds
    some of a run (in words), ``busy`` which files are being written, ``gone`` which were taken away.
    """

    def __init__(self, entries: Sequence[Entry], runs: Sequence[str]) -> None:
        self.entries = list(entries)
        self.runs = tuple(runs)
        self.search = ""
        self.shown: list[Entry] = list(entries)
        self.profile = "paper"
        self.source = ""
        self.others: dict[str, list[str]] = {}
        self.problem = ""
        self.order: Order | None = None
        self.only: Only | None = None
        self.busy: tuple[str, ...] = ()
        self.gone: tuple[str, ...] = ()
        self.counted = Counts(total=len(self.entries))
        self.first_run = 0
        self._width = 80
        self._capabilities = frozenset(entry.capability for entry in entries)
        self._longest_domain = max((cell_len(domain) for domain in {entry.domain for entry in entries}), default=0)

    # --- what is shown -----------------------------------------------------------------------------------------------

    @property
    def is_long(self) -> bool:
        """Whether a search takes longer than a key may."""
        return len(self.entries) > AT_ONCE

    def find(self, text: str) -> None:
        """Search now; see ``found``."""
        self.take(self.found(text))

    def found(self, text: str) -> Found:
        """The rows that an expression (``~cap 4``) matches, or that hold every word of ``text``, best first.

        In words brackets and other signs mean themselves. Changes nothing, so that it can run beside the screen.
        """
        among = self._among()
        if "~" in text:
            from sessions.filters import FilterError
            from vakra_tui.state.entry_filter import ENTRY_FILTERS

            try:
                wanted = ENTRY_FILTERS.parse(text)
            except FilterError as error:
                return Found(text, (), str(error))
            return Found(text, tuple(self._sorted([entry for entry in among if wanted.matches(entry)])))
        words = words_of(text)
        return Found(text, tuple(self._sorted(_ranked(words, among) if words else among)))

    def take(self, found: Found) -> None:
        """Show what was found. Rows stay where an expression cannot be read; ``problem`` says why."""
        self.search = found.search
        self.problem = found.problem
        if not found.problem:
            self.shown = list(found.entries)
            self._capabilities = frozenset(entry.capability for entry in self.shown or self.entries)

    def _among(self) -> list[Entry]:
        only = self.only
        return self.entries if only is None else [entry for entry in self.entries if entry.key in only.keys]

    def _sorted(self, entries: list[Entry]) -> list[Entry]:
        if self.order is None:
            return entries
        return columns.ordered(entries, self._key(self.order.by), reverse=self.order.reverse)

    def _key(self, by: str) -> Callable[[Entry], Key]:
        if by.startswith(RUN):
            run = by.removeprefix(RUN)
            return lambda entry: columns.verdict_key(entry.verdicts.get(run))
        return next(column.key for column in columns.SORTED if column.name == by)

    def orders(self) -> list[tuple[str, str]]:
        """(name, meaning) of everything that the list can be sorted by."""
        found = [(column.name, columns.MEANINGS[column.name]) for column in columns.SORTED]
        return found + [(f"{RUN}{run}", "its verdict: failed ones by gate and sieve class first") for run in self.runs]

    def sort(self, by: str | None) -> None:
        """Sort by a column, by the one in use in the other direction, or (None) not at all."""
        if by is None:
            self.order = None
        else:
            again = self.order is not None and self.order.by == by
            self.order = Order(by, reverse=again and self.order is not None and not self.order.reverse)

    def index_of(self, key: EntryKey | None) -> int | None:
        """Where a row is shown, None where it is not."""
        return next((index for index, entry in enumerate(self.shown) if entry.key == key), None)

    # --- rows --------------------------------------------------------------------------------------------------------

    def layout(self, width: int) -> int:
        self._width = width
        return len(self.shown)

    @property
    def cells(self) -> int:
        return 0

    def line(self, index: int) -> Line:
        return self._row(self.shown[index])

    def _layout(self) -> columns.Layout:
        said = tuple(self.counted.of_run(run).words for run in self.runs[self._start() :])
        return columns.layout(self._width - 1, said, self._capabilities, self._longest_domain)

    def _beside(self) -> int:
        """How many runs there is room for."""
        domain = columns.domain_column(self._width - 1, self._longest_domain)
        return columns.runs_beside(self._width - 1, len(self.runs), domain)

    def _start(self) -> int:
        """The first run that is shown."""
        return max(min(self.first_run, len(self.runs) - self._beside()), 0)

    def runs_shown(self) -> tuple[str, ...]:
        """The runs whose verdicts there is room for, from the one that was turned to."""
        return self.runs[self._start() :][: self._beside()]

    def turn_runs(self, steps: int) -> None:
        """Turn to other runs where not all fit beside each other."""
        self.first_run = max(0, min(self.first_run + steps, len(self.runs) - self._beside()))

    def head(self, width: int) -> Line:
        """The names of the columns; a sign at the one that the list is sorted by."""
        self._width = width
        shape = self._layout()
        parts = [Span(" ")]
        parts += [Span(cell(self._titled(c.title, c.name), c.cells) + " ", "label") for c in shape.columns]
        parts.append(Span(cell(self._titled("query", "query", "uuid"), shape.query), "label"))
        shown = self.runs_shown()
        named = zip(shown, shape.verdicts, strict=True)
        parts += [Span(" " + cell(self._titled(run, f"{RUN}{run}"), cells), "label") for run, cells in named]
        return tuple(parts)

    def _titled(self, title: str, *names: str) -> str:
        if self.order is None or self.order.by not in names:
            return title
        sign = DOWN if self.order.reverse else UP
        return f"{sign}{self.order.by if len(names) > 1 else title}"

    def column_at(self, x: int) -> str | None:
        """What to sort by when the head is clicked at cell ``x``."""
        shape, at = self._layout(), 1
        for column in shape.columns:
            at += column.cells + 1
            if x < at:
                return column.name
        at += shape.query + 1
        if x < at:
            return "query"
        for run, cells in zip(self.runs_shown(), shape.verdicts, strict=True):
            at += cells + 1
            if x < at:
                return f"{RUN}{run}"
        return None

    def _row(self, entry: Entry) -> Line:
        shape = self._layout()
        parts = [Span(MARK if entry.marked else " ", "accent")]
        for column in shape.columns:
            said, role = column.text(entry)
            parts.append(Span(cell(said, column.cells) + " ", role))
        parts += self._query(entry, shape)
        for run, cells in zip(self.runs_shown(), shape.verdicts, strict=True):
            parts.append(Span(" "))
            cut = crop(self._verdict(entry, run, shape.words, cells), cells)
            parts += list(cut)
            parts.append(Span(" " * (cells - sum(cell_len(span.text) for span in cut))))
        return tuple(parts)

    def _query(self, entry: Entry, shape: columns.Layout) -> list[Span]:
        """The query, and behind it what has no column of its own at this width."""
        text, role = _query_words(entry)
        behind = f" ({entry.turns} turns)" if entry.turns > 1 and columns.TURNS not in shape.columns else ""
        if entry.policy and not {columns.POLICY, columns.POLICY_SHORT} & set(shape.columns):
            behind += FLAG
        if shape.query - len(behind) <= 20 and behind.endswith(FLAG):
            behind = FLAG  # Narrow as it is, that there is a policy stays.
        room = shape.query - len(behind)
        if behind and room > 12:
            return [Span(cell(text, room), role), Span(behind, "dim")]
        return [Span(cell(text, shape.query), role)]

    def _verdict(self, entry: Entry, run: str, words: int, cells: int) -> Line:
        """What a run made of a row, in words for so many cells, or why nothing is known of it."""
        verdict = entry.verdicts.get(run)
        if verdict is not None:
            return short_verdict(verdict, words)
        if entry.extra:
            return (Span("extra" if run in entry.predictions else "", "dim"),)
        if run not in entry.predictions:
            return (Span(NO_PREDICTION if cells >= len(NO_PREDICTION) else "none", "dim"),)
        return (Span(NOT_EVALUATED if cells >= len(NOT_EVALUATED) else NOT_EVALUATED[0], "dim"),)

    # --- words about it ----------------------------------------------------------------------------------------------

    def title_words(self) -> str:
        """By what the list is narrowed and sorted, besides the search line."""
        words = []
        if self.only is not None:
            words.append(f"only {one_line(self.only.words, 80)} ({key('instances.clear')} shows all)")
        if self.order is not None:
            words.append(f"sorted by {one_line(self.order.by, 40)}{', reversed' if self.order.reverse else ''}")
        hidden = len(self.runs) - len(self.runs_shown())
        if hidden > 0:
            words.append(f"{hidden} more {'run' if hidden == 1 else 'runs'} (left, right)")
        return " \u00b7 ".join(words)

    def count(self) -> Counts:
        """Count all rows. Changes nothing, so that it can run beside the screen."""
        return counted(tuple(self.entries), self.runs)

    def counts(self) -> str:
        """Honest counts: what is shown of what there is, what was not read yet, where the verdicts are from.

        Those of a long list are as ``counted`` has them, which whoever changes rows keeps up to date.
        """
        if not self.is_long:
            self.counted = self.count()
        return words_of_counts(self.counted, len(self.shown), self.source or f"profile {self.profile}")

    def others_words(self) -> str:
        """Of which runs the store holds verdicts by other settings alone; empty where there are none."""
        found = [
            f"{one_line(run, 24)} by {' or by '.join(words)}"
            for run, words in self.others.items()
            if not any(run in entry.verdicts for entry in self.entries)
        ]
        return f"scored before with other options: {'; '.join(found)}" if found else ""


def _ranked(words: Sequence[str], entries: Sequence[Entry]) -> list[Entry]:
    """The entries in which every word is found, best first; a word that no text holds is looked for in the verdicts."""
    found: list[tuple[int, Entry]] = []
    for entry in entries:
        text = entry.folded()
        if entry.verdicts:
            text += "\n" + " ".join(columns.verdict_words(verdict) for verdict in entry.verdicts.values())
        fits = rank(words, text, len(entry.query or ""))
        if fits:
            found.append((fits, entry))
    found.sort(key=lambda pair: -pair[0])
    return [entry for _, entry in found]


def _query_words(entry: Entry) -> tuple[str, Role]:
    if entry.problem:
        return f"cannot be read: {entry.problem}", "warn"
    if entry.query is None:
        return entry.uuid, "dim"
    return entry.query or "(no query)", ""
