"""The instances of a dataset and what each run made of them, as rows of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len

from eval.model import Verdict
from vakra_tui.state.cells import cell
from vakra_tui.state.lines import Line, Role, Span, plain
from vakra_tui.state.panes.waterfall import short_verdict
from vakra_tui.text import count_words, one_line
from vakra_tui.wrap import crop


@dataclass(slots=True)
class Entry:
    """One row: an instance of the dataset, or an extra prediction (``instance`` None) of one run.

    ``instance`` and ``predictions`` are references (of the dataset, of the runs by name); ``query`` is None until the
    record was read. ``verdicts`` are those known so far, by run.
    """

    uuid: str
    capability: int
    domain: str
    instance: Any = None
    predictions: dict[str, Any] = field(default_factory=dict)
    query: str | None = None
    turns: int = 1
    policy: bool = False
    applies: str = "none"
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    problem: str = ""

    @property
    def extra(self) -> bool:
        """Whether this is a prediction for no instance."""
        return self.instance is None


def matches(entry: Entry, words: Sequence[str]) -> bool:
    """Whether every word occurs somewhere in the row: query, domain, uuid, ``cap 4``, verdicts."""
    text = f"{entry.query or ''}\n{entry.domain}\n{entry.uuid}\ncap {entry.capability} cap{entry.capability}".casefold()
    verdicts = " ".join(plain(short_verdict(verdict)) for verdict in entry.verdicts.values()).casefold()
    return all(word in text or word in verdicts for word in words)


class Listing:
    """All entries and those that the present search shows. Rows are made into lines only when looked at."""

    def __init__(self, entries: Sequence[Entry], runs: Sequence[str]) -> None:
        self.entries = list(entries)
        self.runs = tuple(runs)
        self.search = ""
        self.shown: list[Entry] = list(entries)
        self.profile = "paper"
        self.problem = ""
        self._width = 80

    def find(self, text: str) -> None:
        """Show the rows that an expression (``~cap 4``) matches, or that hold every word of ``text``.

        In words brackets and other signs mean themselves. ``problem`` says why an expression cannot be read; the rows
        stay then.
        """
        self.search = text
        self.problem = ""
        if "~" in text:
            from sessions.filters import FilterError
            from vakra_tui.state.entry_filter import ENTRY_FILTERS

            try:
                wanted = ENTRY_FILTERS.parse(text)
            except FilterError as error:
                self.problem = str(error)
                return
            self.shown = [entry for entry in self.entries if wanted.matches(entry)]
            return
        words = text.casefold().split()
        self.shown = [entry for entry in self.entries if matches(entry, words)] if words else list(self.entries)

    def layout(self, width: int) -> int:
        self._width = width
        return len(self.shown)

    @property
    def cells(self) -> int:
        return 0

    def line(self, index: int) -> Line:
        return self._row(self.shown[index])

    def _columns(self) -> tuple[int, int, int]:
        """Cells of domain, query and each run's verdict."""
        runs = len(self.runs)
        narrow = self._width < 100
        domain = 12 if narrow else 20
        verdict = (20 if narrow else 34) if runs else 0
        if runs > 1:
            verdict = max(8, min(verdict, (self._width - domain) // 2 // runs))
        query = max(self._width - 5 - domain - 1 - (verdict + 1) * runs, 10)
        return domain, query, verdict

    def head(self, width: int) -> Line:
        """The names of the columns."""
        self._width = width
        domain, query, verdict = self._columns()
        parts = [
            Span("cap  ", "label"),
            Span(cell("domain", domain) + " ", "label"),
            Span(cell("query", query), "label"),
        ]
        parts += [Span(" " + cell(run, verdict), "label") for run in self.runs]
        return tuple(parts)

    def _row(self, entry: Entry) -> Line:
        domain, query, verdict = self._columns()
        capability = str(entry.capability) if entry.capability else "?"
        parts = [Span(f" {capability}   ", "accent"), Span(cell(entry.domain, domain) + " ", "dim")]
        text, role = _query_words(entry)
        marks = f" ({entry.turns} turns)" if entry.turns > 1 else ""
        marks += " \u2691" if entry.policy else ""
        room = query - len(marks)
        if room > 20 and marks:
            parts += [Span(cell(text, room), role), Span(marks, "dim")]
        else:
            parts.append(Span(cell(text, query), role))
        for run in self.runs:
            parts.append(Span(" "))
            shown = self._verdict(entry, run, verdict)
            cut = crop(shown, verdict)
            parts += list(cut)
            parts.append(Span(" " * (verdict - sum(cell_len(span.text) for span in cut))))
        return tuple(parts)

    def _verdict(self, entry: Entry, run: str, cells: int) -> Line:
        if run in entry.verdicts:
            return short_verdict(entry.verdicts[run], cells)
        if entry.extra:
            return (Span("extra" if run in entry.predictions else "", "dim"),)
        if run not in entry.predictions:
            return (Span("no prediction", "dim"),)
        return (Span("\u00b7", "dim"),)

    def counts(self) -> str:
        """Honest counts: what is shown of what there is, and what was not read or evaluated yet."""
        total = len(self.entries)
        words = [count_words(total, "instance")]
        if len(self.shown) != total:
            words = [f"{len(self.shown):,} of {count_words(total, 'instance')}"]
        unread = sum(entry.query is None and not entry.problem for entry in self.entries)
        if unread:
            words.append(f"reading {total - unread:,}/{total:,} queries")
        extras = sum(entry.extra for entry in self.entries)
        if extras:
            words.append(f"{extras} extra")
        if self.profile != "paper":
            words.append(f"verdicts by the profile {self.profile}")
        for run in self.runs:
            known = [entry.verdicts[run] for entry in self.entries if run in entry.verdicts]
            counted = [verdict for verdict in known if verdict.status in ("scored", "missing")]
            if counted:
                passed = sum(bool(verdict.passed) for verdict in counted)
                words.append(f"{one_line(run, 24)}: {passed} of {len(counted)} scored passed")
        return " \u00b7 ".join(words)


def _query_words(entry: Entry) -> tuple[str, Role]:
    if entry.problem:
        return f"cannot be read: {entry.problem}", "warn"
    if entry.query is None:
        return entry.uuid, "dim"
    return entry.query or "(no query)", ""


def entries_of(refs: Sequence[Any], runs: Mapping[str, Sequence[Any]]) -> list[Entry]:
    """One entry an instance in file order, then one for each prediction of no instance.

    ``refs`` have ``uuid``, ``capability`` and ``domain``; a run's references have ``uuid`` and ``domain``.
    """
    entries = [Entry(uuid=ref.uuid, capability=ref.capability, domain=ref.domain, instance=ref) for ref in refs]
    known = {(entry.capability, entry.domain, entry.uuid): entry for entry in entries}
    extras: dict[tuple[int, str, str], Entry] = {}
    for run, predictions in runs.items():
        for prediction in predictions:
            key = (prediction.capability or 0, prediction.domain, prediction.uuid)
            entry = known.get(key) or extras.get(key)
            if entry is None:
                entry = Entry(uuid=prediction.uuid, capability=prediction.capability or 0, domain=prediction.domain)
                extras[key] = entry
            entry.predictions[run] = prediction
    return entries + list(extras.values())
