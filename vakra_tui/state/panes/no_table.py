"""The table tab where the rows behind a handle stay with the server: what is known of them, and how to see more."""

from __future__ import annotations

from vakra_tui.state import response as responses
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import BLANK, HANG, Lines, line
from vakra_tui.state.scene import Scene, StepRow
from vakra_tui.text import one_line

PEEK_READ = 200_000
"""Characters up to which a peek is read."""


def no_table(row: StepRow, scene: Scene) -> Lines:
    """Why a step's table cannot be shown, the values that its peek holds, what to do; or that there is no table."""
    result = row.step.result if row.step is not None else None
    if result is None or not result.handle:
        return Lines([line(("this step made no table that can be shown", "dim"))])
    where = one_line(scene.environment or "this environment", 80)
    told = f"The rows behind {one_line(result.handle, 80)} stay with the server: "
    calls, scratch = key("debugger.call-a-tool"), key("call.scratch")
    lines = [
        line((told, "warn"), f"{where} hands out their peek only."),
        line(("more of them  ", "label"), HANG, (calls, "accent"), " and a tool that reads a handle, then ")
        + line((scratch, "accent"), ": the answer is shown and leaves no trace."),
        line(
            ("all of them   ", "label"), HANG, "--env native shows whole tables, where the dataset has its databases."
        ),
    ]
    shape = responses.read(result.text) if len(result.text) <= PEEK_READ else None
    if shape is not None and shape.kind == "table":
        lines += [BLANK, line(("the peek, up to three values of each column", "label"))]
        lines += responses.peek_lines(shape.value)
    return Lines(lines)
