"""The verdict explained on a screen of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from toolenv.errors import VakraError
from vakra_tui.state.lines import Lines, LineSource, Span
from vakra_tui.state.panes import head
from vakra_tui.state.panes.verdict import verdict_lines
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.turns import Screen
from vakra_tui.working import work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vakra_tui.app import VakraApp
    from vakra_tui.state.inspecting import Asked
    from vakra_tui.state.scene import Scene
    from vakra_tui.state.session import DebugSession


class VerdictScreen(Screen[bool]):
    """Shows the gates of a scene's verdict and what a judge saw; gives True where the evidence is to be shown."""

    DEFAULT_CSS = """
    VerdictScreen { layout: vertical; background: $background; }
    VerdictScreen #verdict { height: 1fr; padding: 0 1; }
    VerdictScreen #title { background: $panel; }
    """
    CONTEXT: ClassVar[str] = "verdict"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(self, session: DebugSession, scene: Scene) -> None:
        super().__init__()
        self._session = session
        self._scene = scene

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=1, cut=True)
        yield Banner(id="asked", tallest=4)
        yield LineView(id="verdict")
        yield self.app.footer()

    def on_mount(self) -> None:
        title = (Span(" the verdict explained ", "title"), *head.header(self._scene)[1:])
        self.query_one("#title", Banner).show_lines([title])
        self.query_one("#asked", Banner).show_lines(head.question(self._scene, context=False))
        view = self.query_one("#verdict", LineView)
        view.show(Lines(verdict_lines(self._scene, None)))
        view.focus()
        self._look_up()

    @work(exclusive=True, group="inspecting")
    async def _look_up(self) -> None:
        """What a judge saw and said, asked for in the engine, laid out away from the event loop."""
        asked: Sequence[Asked] = ()
        if self._scene.verdict is not None:
            try:
                asked = await self.app.engine.run(self._session.in_turn(self._session.asked))
            except VakraError as error:
                self.app.report(str(error), title="What the judge saw cannot be shown")
        view = self.query_one("#verdict", LineView)

        def made(scene: Scene, asked: Sequence[Asked]) -> LineSource:
            return Lines(verdict_lines(scene, asked))

        view.show(await self.app.read(made, self._scene, asked, view.text_width()), keep=True)

    def action_leave(self) -> None:
        self.dismiss(False)

    def action_evidence(self) -> None:
        self.dismiss(True)
