"""The debugger's verbs that make steps or decide who makes them, and those that leave something behind."""

from __future__ import annotations

from sessions.trajectory import Answer, CallTool, Decision
from toolenv.errors import VakraError
from toolenv.model import ToolCall, ToolSpec
from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.answering import Offered, offered
from vakra_tui.state.lines import plain
from vakra_tui.state.panes.branch_tree import branch_words
from vakra_tui.state.panes.waterfall import short_verdict
from vakra_tui.state.scene import StepRow, columns_of, gold_sql
from vakra_tui.widgets.step_view import StepView
from vakra_tui.working import work


class PlayingVerbs(DebugBase):
    """Calls and answers by hand, the wheel, branches, other runs, tables, and the flag."""

    @work(exclusive=True, group="doing")
    async def action_new_call(self) -> None:
        """Choose a tool, fill its form, run it as a step; in the past this makes a branch."""
        await self._call_a_tool(None)

    @work(exclusive=True, group="doing")
    async def action_edit(self) -> None:
        """The call or answer under the cursor in its form; given again it makes a branch from the step before."""
        row = self.row
        if row is not None and row.call is None and row.answer is not None:
            await self._give_answer(offered(row))
            return
        if row is None or row.call is None or row.call.raw_arguments is not None:
            self.app.toast("The cursor is not on a call that can be edited.", warn=True)
            return
        await self._call_a_tool(row)

    async def _call_a_tool(self, edited: StepRow | None) -> None:
        from vakra_tui.screens.call import CallScreen
        from vakra_tui.screens.tools import tools_screen
        from vakra_tui.state.panes.call_form import due_arguments, field_notes, first_field, form_lines

        if self.scene is None:
            return
        # The cursor follows new steps while a dialog is open; what is done is done where it was asked for.
        cursor, behind = self.cursor, self.behind
        led = self.argument_led if edited is not None else ""
        try:
            tools = await self.app.engine.run(self.session.in_turn(self.session.tools))
        except VakraError as error:
            self.app.report(str(error))
            return
        spec: ToolSpec | None = None
        if edited is not None and edited.call is not None:
            name = edited.call.name
            spec = next((tool for tool in tools if tool.name == name), None)
        call: ToolCall | None = None
        sought, chosen = "", ""
        while call is None:
            if spec is None:
                choice = tools_screen(tools, self.scene, behind, sought=sought, chosen=chosen)
                picked = await self.app.push_screen_wait(choice)
                if picked is None:
                    return
                if isinstance(picked, ToolCall):
                    call = picked
                    break
                spec = picked
                sought, chosen = choice.sought, spec.name
            values = edited.call.arguments if edited is not None and edited.call is not None else {}
            at = cursor if edited is not None else behind
            notes = field_notes(self.scene, edited)
            screen = CallScreen(
                self.session,
                spec,
                at,
                values=values,
                handles=self.session.handles(),
                columns=columns_of(self.scene),
                said=form_lines(self.scene, at, spec, values),
                notes=notes,
                due=due_arguments(self.scene, edited),
                first=first_field(edited, led, notes, spec),
            )
            call = await self.app.push_screen_wait(screen)
            if call is None and edited is not None:
                return
            spec = None
        if edited is None:
            await self._play(CallTool(call=call), behind)
        else:
            self._follow = True
            await self._do(self.session.edit, cursor + 1, call)

    async def _play(self, decision: Decision, behind: int) -> None:
        """A decision of the person after so many steps: at the tip the next one, in the past the first of a branch."""
        self._follow = True
        await self._do(self.session.play, decision, behind)

    @work(exclusive=True, group="doing")
    async def action_branches(self) -> None:
        """Look at another branch of this session."""
        from vakra_tui.screens.choice import ChoiceScreen

        scene = self.scene
        if scene is None or not scene.tree:
            self.app.report(scene.problem if scene is not None and scene.problem else "The session is not open yet.")
            return
        choices = [(f"{branch.number}", branch_words(branch, scene.on_branch)) for branch in scene.tree]
        here = f"{scene.on_branch}"
        picked = await self.app.push_screen_wait(ChoiceScreen("Branches of this session", choices, chosen=here))
        if picked is not None:
            self._follow = True
            await self._do(self.session.look_at, int(picked))

    @work(exclusive=True, group="doing")
    async def action_answer(self) -> None:
        """Give the final answer; what a person looks at is in the field, and typing replaces it."""
        value, where = self.query_one("#step", StepView).looked_at
        await self._give_answer(offered(self.row, value, where))

    async def _give_answer(self, offer: Offered) -> None:
        """The form of the final answer, which begins with what is offered; in the past it makes a branch."""
        from vakra_tui.screens.ask import AskScreen

        behind = self.behind
        note = f"{offer.source}; typing replaces it, Enter answers" if offer.source else ""
        written = await self.app.push_screen_wait(AskScreen("The final answer", value=offer.text, note=note))
        if written is not None:
            await self._play(Answer(text=written), behind)

    @work(exclusive=True, group="doing")
    async def action_decline(self) -> None:
        """Answer that it cannot be answered, in the wording that the policy asks for."""
        from vakra_tui.screens.ask import AskScreen

        if self.scene is None:
            return
        behind = self.behind
        wording = self.scene.policy.refusal or "I'm unable to answer."
        note = "the wording of the policy; Enter declines with it" if self.scene.policy.refusal else ""
        written = await self.app.push_screen_wait(AskScreen("Decline to answer", value=wording, note=note))
        if written:
            await self._play(Answer(text=written), behind)

    def action_reference(self) -> None:
        """Show or hide the reference path."""
        self._verb(self.session.toggle_reference)

    def action_hint(self) -> None:
        self._verb(self.session.hint)

    @work(exclusive=True, group="doing")
    async def action_wheel(self) -> None:
        """Choose who decides the next steps."""
        from vakra_tui.screens.choice import ChoiceScreen
        from vakra_tui.state.wheel import default, offers, warning

        scene, cursor = self.scene, self.cursor
        if scene is None:
            return
        offered = {offer.name: offer for offer in offers(scene, cursor, self.session.agent_name)}
        question = "\n".join(part for part in ("Who is at the wheel?", warning(scene, cursor)) if part)
        choices = [(offer.name, offer.words) for offer in offered.values()]
        picked = await self.app.push_screen_wait(ChoiceScreen(question, choices, chosen=default(scene, cursor)))
        if picked is None:
            return
        self._follow = True
        taken = offered[picked]
        await self._do(self.session.take_wheel, taken.wheel, taken.at, taken.left_out)

    @work(exclusive=True, group="doing")
    async def action_other_run(self) -> None:
        """Another run's prediction of this instance."""
        from vakra_tui.screens.choice import ChoiceScreen

        entry = self.session.entry
        runs = self.app.world.runs_of(entry) if entry is not None else ()
        if self.scene is None or entry is None or len(runs) < 2:
            self.app.toast("No other run has a prediction of this instance.")
            return
        choices = [(run, plain(short_verdict(entry.verdicts.get(run)))) for run in runs]
        picked = await self.app.push_screen_wait(ChoiceScreen("Which run?", choices, chosen=self.scene.run))
        if picked is not None:
            self.app.open_other_run(picked)

    @work(exclusive=True, group="doing")
    async def action_tables(self) -> None:
        """The domain's database, read-only."""
        from vakra_tui.screens.tables import TablesScreen

        if self.scene is None:
            return
        instance = self.scene.instance
        try:
            database, tables = await self.app.engine.call(self.app.world.tables_of, instance.domain)
        except VakraError as error:
            self.app.report(str(error), title="No tables to show")
            return
        try:
            await self.app.push_screen_wait(TablesScreen(database, tables, instance.domain, gold_sql(instance)))
        finally:
            # Not awaited: whoever leaves the debugger meanwhile cancels this.
            self.app.engine.post(self.app.engine.loop, database.close)

    @work(exclusive=True, group="doing")
    async def action_flag(self) -> None:
        """Say that the ground truth of this instance is suspect, with a note; an empty note takes the flag away."""
        from vakra_tui.screens.ask import AskScreen

        if self.scene is None:
            return
        note = "an empty note takes the flag away" if self.scene.flagged else "what is wrong with it?"
        written = await self.app.push_screen_wait(
            AskScreen("Flag the ground truth as suspect", value=self.scene.flagged, note=note)
        )
        if written is not None and await self._do(self.session.flag, written):
            self.app.toast("The ground truth is flagged." if written else "The flag is taken away.")
