"""The stored sessions as rows of a list: newest first a page at a time, or the steps that a search found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sessions.store.records import Hit, SessionKind, SessionSummary
from toolenv.errors import StoreError
from vakra_tui.state.cells import cell
from vakra_tui.state.lines import Line, Role, Span, line
from vakra_tui.text import count_words, one_line

if TYPE_CHECKING:
    from vakra_tui.state.keeping import Keeping

PAGE = 100
"""Rows that are asked of the store at once."""

AHEAD = 30
"""Rows before the end of what was read at which the next page is asked for."""

WHEN_CELLS = 17
KIND_WORDS: dict[SessionKind, str] = {"person": "of the debugger", "batch": "of batches"}
_PASSED: dict[bool | None, tuple[str, Role]] = {
    True: ("\u2713 passed", "ok"),
    False: ("\u2717 failed", "fail"),
    None: ("\u00b7", "dim"),
}
OF_ANY = " *"
"""Behind the verdict of a session with several branches: the last one given, of whichever branch."""

VERDICT_CELLS = 11

Row = SessionSummary | Hit


@dataclass(frozen=True)
class Asked:
    """What is listed: sessions of a person or of batches, all of them or the steps that hold the words of a query."""

    kind: SessionKind = "person"
    query: str = ""


@dataclass(frozen=True)
class Part:
    """Some rows; ``more`` where there are further ones behind them."""

    rows: tuple[Row, ...]
    more: bool


def session_of(row: Row) -> SessionSummary:
    """The session that a row is about."""
    return row.session if isinstance(row, Hit) else row


def place_of(row: Row) -> tuple[int, int] | None:
    """(branch, steps behind) of a step that a search found; None for a session."""
    return (row.branch, row.position + 1) if isinstance(row, Hit) else None


async def read_part(keeping: Keeping, asked: Asked, after: Row | None) -> Part:
    """The rows behind ``after``, or the first ones. Raises ``StoreError``."""
    store = keeping.ready()
    if store is None:
        raise StoreError(keeping.problem)
    if asked.query.strip():
        hits = await store.search(asked.query, asked.kind, PAGE + 1, after.id if after is not None else None)
        return Part(hits[:PAGE], len(hits) > PAGE)
    summary = session_of(after) if after is not None else None
    page = await store.sessions(asked.kind, PAGE, (summary.updated_at, summary.id) if summary is not None else None)
    return Part(page.items, page.next is not None)


class SessionList:
    """A source of lines. ``here`` is the fingerprint of the dataset that is open."""

    def __init__(self, here: str, asked: Asked | None = None) -> None:
        self.here = here
        self.asked = asked or Asked()
        self.rows: list[Row] = []
        self.more = True
        self.problem = ""
        self._width = 80

    def add(self, part: Part) -> None:
        """Take rows that were read behind those that are there."""
        self.rows += part.rows
        self.more = part.more

    def remove(self, session_id: int) -> None:
        """Take away what is about a session."""
        self.rows = [row for row in self.rows if session_of(row).id != session_id]

    def wants_more(self, index: int) -> bool:
        """Whether the next page is due when row ``index`` is in sight."""
        return self.more and index + AHEAD >= len(self.rows)

    def layout(self, width: int) -> int:
        self._width = width
        return len(self.rows)

    @property
    def cells(self) -> int:
        return 0

    def head(self, width: int) -> Line:
        """The names of the columns."""
        self._width = width
        named = [("", 2), ("changed", WHEN_CELLS)]
        if self.asked.query.strip():
            named += [("place", 10), ("tool", self._tool_cells() + 1), ("found", 10)]
        else:
            named += [("steps", 7), ("verdict", VERDICT_CELLS), ("cap", 4), ("domain", self._domain_cells() + 1)]
            named += [("run", self._run_cells() + 1)] if self._run_cells() else []
            named.append(("query", 10))
        return tuple(Span(cell(name, cells), "label") for name, cells in named)

    def _domain_cells(self) -> int:
        return 16 if self._width >= 110 else 12

    def _run_cells(self) -> int:
        return 14 if self._width >= 110 else 0

    def _tool_cells(self) -> int:
        return 30 if self._width >= 110 else 18

    def line(self, index: int) -> Line:
        row = self.rows[index]
        session = session_of(row)
        sign = Span("  " if session.dataset == self.here else "\u2260 ", "warn")
        when = Span(cell(when_words(session.updated_at), WHEN_CELLS), "dim")
        if isinstance(row, Hit):
            parts = [
                Span(cell(_place_words(row), 10), "accent"),
                Span(cell(row.tool or row.kind, self._tool_cells()) + " "),
            ]
            room = self._width - WHEN_CELLS - 13 - self._tool_cells()
            return sign, when, *parts, Span(cell(row.excerpt, max(room, 10)), "dim")
        words, role = _PASSED[session.passed]
        words += OF_ANY if session.branches > 1 and session.passed is not None else ""
        parts = [
            Span(cell(f"{session.steps:,}", 7)),
            Span(cell(words, VERDICT_CELLS), role),
            Span(f"{session.capability or '?'}   ", "accent"),
            Span(cell(session.domain, self._domain_cells()) + " ", "dim"),
        ]
        if self._run_cells():
            parts.append(Span(cell(session.run or "\u2013", self._run_cells()) + " ", "dim"))
        used = (
            WHEN_CELLS
            + 2
            + 7
            + VERDICT_CELLS
            + 4
            + self._domain_cells()
            + 1
            + (self._run_cells() + 1 if self._run_cells() else 0)
        )
        return sign, when, *parts, Span(cell(session.query or session.title, max(self._width - used, 10)))

    def counts(self) -> str:
        """How many there are, as far as was read."""
        of = KIND_WORDS[self.asked.kind]
        found = "step" if self.asked.query.strip() else "session"
        number = count_words(len(self.rows), found)
        if found == "step":
            number += " found in sessions"
        if self.more and self.rows:
            number = f"more than {number}"
        if not self.rows and not self.more:
            if self.asked.query.lstrip().startswith("~"):
                return "no step matches: filters with ~ are for the list of instances; here words are looked for"
            return "no step of a stored session matches" if self.asked.query.strip() else f"no session {of} is stored"
        others = sum(session_of(row).dataset != self.here for row in self.rows)
        return f"{number} {of}" + (f" \u00b7 {others:,} of another dataset (\u2260)" if others else "")


def _place_words(hit: Hit) -> str:
    """The step as the debugger numbers it: the opening of capability 1 is none."""
    number = hit.position + (hit.session.capability != 1)
    return f"step {number}" if number else "opening"


def when_words(seconds: float) -> str:
    """A time of this machine's clock."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def about(session: SessionSummary) -> Line:
    """One line about the session under the cursor."""
    parts = [
        f"{count_words(session.branches, 'branch', 'branches')}",
        f"run {session.run}" if session.run else "no run",
    ]
    if session.branches > 1 and session.passed is not None:
        parts.insert(1, "* the last verdict given, of whichever branch")
    parts += [f"tools by {session.environment}"] if session.environment else []
    return line((f" {session.key} ", "accent"), (one_line(" \u00b7 ".join([*parts, session.uuid]), 200), "dim"))


def needed(
    session: SessionSummary, here: str, data_path: Path | None, exists: Callable[[Path], bool] = Path.is_dir
) -> str:
    """What opening a session needs that is not open now; empty where nothing is missing.

    ``here`` is the fingerprint of the open dataset and ``data_path`` its folder with links followed, None for the
    built-in sample. ``exists`` may look at the disk.
    """
    if session.dataset == here:
        return ""
    written = f"vakra-tui export {session.key} --to markdown writes it in a form that can be read."
    if not session.dataset:
        return (
            f"This session was made without a dataset, so there is nothing that its calls could run against. {written}"
        )
    made = session.dataset_path
    of_sample = not made or "sample-" in Path(made).parent.name
    if of_sample and data_path is None:
        return f"It was made on the built-in sample of another version. {written}"
    if made and Path(made) == data_path:
        return (
            "The files of this dataset have changed since the session was made. "
            f"vakra-tui replay {session.key} runs its calls again and says which answers differ."
        )
    again = f"--instance {session.uuid}" + (f" --run {session.run}" if session.run else "")
    if of_sample:
        return f"It was made on the built-in sample. Leave and start: vakra-tui {again}"
    if not exists(Path(made)):
        return f"It was made on the dataset {made}, which is not there now. Where it is: vakra-tui DATA {again}"
    return f"It was made on another dataset. Leave and start: vakra-tui {made} {again}"


def index_of(rows: Sequence[Row], row: Row | None) -> int | None:
    """Where a row stands, None where it does not."""
    return next((index for index, each in enumerate(rows) if row is not None and each.id == row.id), None)
