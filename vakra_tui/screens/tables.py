"""The domain's tables, read-only: schema beside rows, read page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from toolenv.dataset.browsing import Database, Table
from toolenv.errors import VakraError
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.database import RowsSource, schema_lines
from vakra_tui.state.lines import BLANK, Lines, line
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import Screen

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp


class TablesScreen(Screen[None]):
    """Shows the tables of one database; ``sql`` are gold queries of the instance, where its dataset has them."""

    CSS_PATH = "tables.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    CONTEXT: ClassVar[str] = "tables"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(self, database: Database, tables: Sequence[Table], domain: str, sql: Sequence[str] = ()) -> None:
        super().__init__()
        self._database = database
        self._tables = tuple(tables)
        self._domain = domain
        self._sql = tuple(sql)
        self._shown = -1

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=1, cut=True)
        with Horizontal(id="columns"):
            with Vertical(id="left"):
                yield PickList(id="tables")
                yield LineView(id="schema")
            yield LineView(id="rows")

    def on_mount(self) -> None:
        note = f"read-only; {key('tables.next-pane')} moves to the rows, {key('tables.leave')} leaves"
        self.query_one("#title", Banner).show_lines(
            [line((f" tables of {one_line(self._domain, 60)}", "title"), (f"   {note}", "dim"))]
        )
        rows = [
            line(table.name, (f"  {table.rows:,}" if table.rows is not None else "  ?", "dim"))
            for table in self._tables
        ]
        listed = self.query_one("#tables", PickList)
        listed.show(Lines(rows, wrapped=False))
        listed.focus()
        self._show(0)

    def _show(self, index: int) -> None:
        if not self._tables or index == self._shown:
            return
        self._shown = index
        table = self._tables[index]
        lines = schema_lines(table)
        if self._sql:
            lines += [BLANK, line(("gold SQL of this instance", "label")), *[line((sql, "code")) for sql in self._sql]]
        self.query_one("#schema", LineView).show(Lines(lines))
        source = RowsSource(
            [column.name for column in table.columns], table.rows or 0, lambda start: self._fetch(table, source, start)
        )
        self.query_one("#rows", LineView).show(source)

    def _fetch(self, table: Table, source: RowsSource, start: int) -> None:
        self.run_worker(self._read(table, source, start), group="pages")

    async def _read(self, table: Table, source: RowsSource, start: int) -> None:
        try:
            rows = await self.app.engine.call(self._database.page, table.name, start)
        except VakraError as error:
            self.app.report(str(error))
            rows = [("! cannot be read",)]
        source.put(start, rows)
        view = self.query_one("#rows", LineView)
        if view.source is source:
            view.reload()

    @on(PickList.Moved, "#tables")
    def _moved(self, message: PickList.Moved) -> None:
        self._show(message.index)

    @on(PickList.Chosen, "#tables")
    def _chosen(self) -> None:
        self.query_one("#rows").focus()

    def action_leave(self) -> None:
        self.dismiss(None)
