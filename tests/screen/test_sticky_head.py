"""The names of a table's columns stay in view while its rows scroll."""

from __future__ import annotations

from screen_reading import rows
from textual.app import App, ComposeResult

from toolenv.dataset.browsing import PAGE
from vakra_tui.state.database import RowsSource
from vakra_tui.widgets.line_view import LineView


class TableApp(App[None]):
    def compose(self) -> ComposeResult:
        def fetch(start: int) -> None:
            source.put(start, [(number, f"name {number}") for number in range(start, min(start + PAGE, 300))])

        source = RowsSource(["id", "label"], 300, fetch, at_once=True)
        yield LineView(source, id="rows")


async def test_the_names_stay_and_every_row_can_be_reached() -> None:
    app = TableApp()
    async with app.run_test(size=(50, 12)) as pilot:
        await pilot.pause()
        assert "label" in rows(app)[0]  # type: ignore[arg-type]
        assert "name 0" in rows(app)[1]  # type: ignore[arg-type]
        app.query_one(LineView).scroll_to(y=100, animate=False)
        await pilot.pause()
        shown = rows(app)  # type: ignore[arg-type]
        assert "label" in shown[0]
        assert "101  100" in shown[1]
        app.query_one(LineView).scroll_end(animate=False)
        await pilot.pause()
        assert any("300  299" in row for row in rows(app))  # type: ignore[arg-type]
