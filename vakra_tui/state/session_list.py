"""The stored sessions as rows of a list: newest first a page at a time, or the steps that a search found."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len

from sessions.store.records import Hit, SessionCounts, SessionKind, SessionSummary
from toolenv.errors import StoreError
from vakra_tui.state.cells import cell
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Line, Role, Span, line
from vakra_tui.text import count_words, one_line

if TYPE_CHECKING:
    from sessions.store import AsyncStore
    from vakra_tui.state.keeping import Keeping

PAGE = 100
"""Rows that are asked of the store at once."""

AHEAD = 30
"""Rows before the end of what was read at which the next page is asked for."""

WIDE = 110
"""Cells from which on the run has a column and times are written in full."""

KIND_WORDS: dict[SessionKind, str] = {"person": "of the debugger", "batch": "of batches"}
_PASSED: dict[bool | None, tuple[str, Role]] = {
    True: ("\u2713 passed", "ok"),
    False: ("\u2717 failed", "fail"),
    None: ("\u00b7", "dim"),
}
OF_ANY = " *"
"""Behind the verdict of a session with several branches: the last one given, of whichever branch."""

VERDICT_CELLS = 12
PLACE_CELLS = 10

Row = SessionSummary | Hit

NOT_COUNTED = SessionCounts(total=0, worked=0)


@dataclass(frozen=True)
class Asked:
    """What is listed: sessions of a person or of batches, all of them or the steps that hold the words of a query.

    ``everything`` lists sessions of a person that were merely looked at, too.
    """

    kind: SessionKind = "person"
    query: str = ""
    everything: bool = False


@dataclass(frozen=True)
class Part:
    """Some rows; ``more`` where there are further ones behind them. ``counts`` are of all of the kind."""

    rows: tuple[Row, ...]
    more: bool
    counts: SessionCounts = NOT_COUNTED


def session_of(row: Row) -> SessionSummary:
    """The session that a row is about."""
    return row.session if isinstance(row, Hit) else row


def place_of(row: Row) -> tuple[int, int] | None:
    """(branch, steps behind) of a step that a search found; None for a session."""
    return (row.branch, row.position + 1) if isinstance(row, Hit) else None


async def read_part(keeping: Keeping, asked: Asked, after: Row | None) -> Part:
    """The rows behind ``after``, or the first ones. Raises ``StoreError``.

    Sessions that were merely looked at are left out where they were not asked for, unless there are no others.
    """
    store = keeping.ready()
    if store is None:
        raise StoreError(keeping.problem)
    counts = await store.session_counts(asked.kind)
    if asked.query.strip():
        hits = await _found(store, asked, after, worked=leaves_out(asked, counts))
        return Part(hits[:PAGE], len(hits) > PAGE, counts)
    summary = session_of(after) if after is not None else None
    before = (summary.updated_at, summary.id) if summary is not None else None
    page = await store.sessions(asked.kind, PAGE, before, worked=leaves_out(asked, counts))
    return Part(page.items, page.next is not None, counts)


async def _found(store: AsyncStore, asked: Asked, after: Row | None, *, worked: bool) -> tuple[Hit, ...]:
    """The steps behind ``after`` that hold the words, one more than a page; ``worked``: of sessions worked in alone."""
    found: list[Hit] = []
    before = after.id if after is not None else None
    while len(found) <= PAGE:
        hits = await store.search(asked.query, asked.kind, PAGE + 1, before)
        found += [hit for hit in hits if hit.session.worked or not worked]
        if len(hits) <= PAGE:
            break
        before = hits[-1].id
    return tuple(found[: PAGE + 1])


def leaves_out(asked: Asked, counts: SessionCounts) -> bool:
    """Whether sessions are left out that were merely looked at."""
    return asked.kind == "person" and not asked.everything and bool(counts.worked)


def done_words(session: SessionSummary) -> str:
    """What was done in a session, in few words: forks, steps of its own, notes, marks, rulings, flags."""
    found = {
        "fork": session.branches - 1,
        "step": session.own_steps,
        "note": session.notes,
        "ruling": session.rulings,
        "flag": session.flags,
        "mark": session.marks,
    }
    told = [count_words(number, word) for word, number in found.items() if number > 0]
    return ", ".join(told) or "looked at"


class SessionList:
    """A source of lines. ``here`` is the fingerprint of the dataset that is open."""

    def __init__(self, here: str, asked: Asked | None = None) -> None:
        self.here = here
        self.asked = asked or Asked()
        self.rows: list[Row] = []
        self.more = True
        self.problem = ""
        self.counted = NOT_COUNTED
        self._width = 80
        self._needed = {name: len(name) for name in ("done here", "domain", "run")}

    def add(self, part: Part) -> None:
        """Take rows that were read behind those that are there."""
        self._measure(part.rows)
        self.rows += part.rows
        self.more = part.more
        self.counted = part.counts

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
        if self.asked.query.strip():
            named = [("place", PLACE_CELLS), ("tool", self._tool_cells() + 1), ("found", 10)]
        else:
            named = [(name, cells) for name, cells in self._columns() if cells]
        return tuple(Span(cell(*each), "label") for each in [("", 2), ("changed", self._when_cells()), *named])

    def _columns(self) -> tuple[tuple[str, int], ...]:
        """Names and cells of the columns behind the time, 0 where there is no room; the query takes what is left."""
        wide = self._width >= WIDE
        batch = self.asked.kind == "batch"
        needed = self._needed
        columns = (
            ("steps", 7 if wide or batch else 0),
            ("done here", 0 if batch else min(needed["done here"], 30 if wide else 14) + 1),
            ("verdict", VERDICT_CELLS),
            ("cap", 4),
            ("domain", min(needed["domain"], 18 if wide else 12) + 1),
            ("run", min(needed["run"], 18) + 1 if wide else 0),
        )
        left = self._width - 2 - self._when_cells() - sum(cells for _, cells in columns)
        return (*columns, ("query", max(left, 10)))

    def _measure(self, rows: Sequence[Row]) -> None:
        """How wide the columns must be for these rows, too; never narrower than their names."""
        for session in map(session_of, rows):
            said = {"done here": done_words(session), "domain": session.domain, "run": session.run or "\u2013"}
            for name, words in said.items():
                self._needed[name] = max(self._needed[name], cell_len(one_line(words, 40)))

    def _when_cells(self) -> int:
        return 17 if self._width >= WIDE else 12

    def _tool_cells(self) -> int:
        return 30 if self._width >= WIDE else 18

    def line(self, index: int) -> Line:
        row = self.rows[index]
        session = session_of(row)
        sign = Span("  " if session.dataset == self.here else "\u2260 ", "warn")
        told = when_words(session.updated_at, brief=self._width < WIDE)
        when = Span(cell(told, self._when_cells()), "dim")
        if isinstance(row, Hit):
            place = Span(cell(_place_words(row), PLACE_CELLS), "accent")
            tool = Span(cell(row.tool or row.kind, self._tool_cells()) + " ")
            room = self._width - 2 - self._when_cells() - PLACE_CELLS - self._tool_cells() - 1
            return sign, when, place, tool, Span(cell(row.excerpt, max(room, 10)), "dim")
        verdict, role = _PASSED[session.passed]
        verdict += OF_ANY if session.branches > 1 and session.passed is not None else ""
        said: dict[str, tuple[str, Role]] = {
            "steps": (f"{session.steps:,}", ""),
            "done here": (done_words(session), "strong" if session.worked else "dim"),
            "verdict": (verdict, role),
            "cap": (str(session.capability or "?"), "accent"),
            "domain": (session.domain, "dim"),
            "run": (session.run or "\u2013", "dim"),
            "query": (session.query or session.title, ""),
        }
        parts = [Span(cell(said[name][0], cells - 1) + " ", said[name][1]) for name, cells in self._columns() if cells]
        return sign, when, *parts

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
            if self.asked.query.strip():
                return " \u00b7 ".join(["no step of a stored session matches", *self._about_looking()])
            return f"no session {of} is stored"
        words = [f"{number} {of}", *self._about_looking()]
        others = sum(session_of(row).dataset != self.here for row in self.rows)
        words += [f"{others:,} of another dataset (\u2260)"] if others else []
        return " \u00b7 ".join(words)

    def _about_looking(self) -> list[str]:
        """How many sessions were merely looked at, and whether they are listed."""
        looked = self.counted.total - self.counted.worked
        if self.asked.kind != "person" or not looked:
            return []
        if not self.counted.worked:
            return ["nothing was done but looking"]
        searched = bool(self.asked.query.strip())
        adds, omits = ("searches them too", "leaves them out") if searched else ("lists them", "leaves them out")
        how = adds if leaves_out(self.asked, self.counted) else omits
        return [f"{looked:,} merely looked at ({key('sessions.everything')} {how})"]


def _place_words(hit: Hit) -> str:
    """The step as the debugger numbers it: the opening of capability 1 is none."""
    number = hit.position + (hit.session.capability != 1)
    return f"step {number}" if number else "opening"


def when_words(seconds: float, *, brief: bool = False) -> str:
    """A time of this machine's clock; ``brief`` in eleven cells, without the year where it is this one."""
    try:
        then = datetime.fromtimestamp(seconds)
    except (OverflowError, ValueError, OSError):
        return "at no time"
    if not brief:
        return then.strftime("%Y-%m-%d %H:%M")
    return then.strftime("%m-%d %H:%M" if then.year == datetime.now().year else "%Y-%m-%d")


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
    of_sample = not made or _is_sample(Path(made))
    if of_sample and data_path is None:
        return f"It was made on the built-in sample of another version. {written}"
    if made and Path(made) == data_path:
        return (
            "The files of this dataset have changed since the session was made. "
            f"vakra-tui replay {session.key} runs its calls again and says which answers differ."
        )
    again = f"--instance {shlex.quote(session.uuid)}"
    if of_sample:
        run = f" --run {shlex.quote(session.run)}" if session.run else ""
        return f"It was made on the built-in sample. Leave and start: vakra-tui {again}{run}"
    # Of a run a session keeps the name and what it holds, not the folder.
    run = f" --run DIR, where DIR is the folder of the run {session.run}" if session.run else ""
    if not exists(Path(made)):
        return f"It was made on the dataset {made}, which is not there now. Where it is: vakra-tui DATA {again}{run}"
    return f"It was made on another dataset. Leave and start: vakra-tui {shlex.quote(made)} {again}{run}"


def _is_sample(dataset: Path) -> bool:
    """Whether a folder is where the built-in sample is built."""
    return dataset.parent.name.startswith("sample-") and dataset.parent.parent.name == "vakra-tui"


def index_of(rows: Sequence[Row], row: Row | None) -> int | None:
    """Where a row stands, None where it does not."""
    return next((index for index, each in enumerate(rows) if row is not None and each.id == row.id), None)
