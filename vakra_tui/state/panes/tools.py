"""A tool in a list, and a tool in full: what it is for and what its arguments are."""

from __future__ import annotations

from collections.abc import Sequence

from toolenv.model import ToolSpec
from toolenv.policy import source_of
from vakra_tui.state.form import Field, fields_of
from vakra_tui.state.lines import BLANK, HANG, Line, Role, Span, line
from vakra_tui.state.panes.truth import short_json
from vakra_tui.text import one_line


class ToolsSource:
    """The rows of a list of tools."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tuple(tools)

    def layout(self, width: int) -> int:
        return len(self.tools)

    def line(self, index: int) -> Line:
        tool = self.tools[index]
        source = source_of(tool.name)
        role: Role = "rag" if source == "RAG" else "dim" if source == "neutral" else "api"
        shown = "\u00b7" if source == "neutral" else source
        return (
            Span(f"{shown:<4}", role),
            Span(one_line(tool.name, 120)),
            Span(f"  {one_line(tool.description, 200)}" if tool.description else "", "dim"),
        )

    @property
    def cells(self) -> int:
        return 0


def tool_lines(tool: ToolSpec, warning: str = "") -> list[Line]:
    """Name, source, ``warning`` (why a call of it breaks the policy), description and arguments of a tool."""
    source = source_of(tool.name)
    lines: list[Line] = [line((tool.name, "title")), line(("source ", "label"), source)]
    if warning:
        lines.append(line(("! POLICY  ", "fail"), HANG, warning))
    if tool.description:
        lines += [BLANK, line(tool.description)]
    lines += [BLANK, line(("arguments", "label"))]
    fields = fields_of(tool)
    for field in fields:
        lines.append(field_line(field))
        if field.description:
            lines.append(line(("      ", ""), HANG, (field.description, "dim")))
    if not fields:
        lines.append(line(("  none", "dim")))
    return lines


def field_line(field: Field) -> Line:
    """Name, type, whether it is required, what may be chosen, the default."""
    parts = [
        Span("  * " if field.required else "    ", "warn"),
        HANG,
        Span(one_line(field.name, 80), "key"),
        Span(f"  {field.kind}", "dim"),
    ]
    if field.closed and field.choices:
        shown = ", ".join(one_line(choice, 40) for choice in field.choices[:12])
        more = len(field.choices) - 12
        parts.append(Span(f"  one of {shown}" + (f" and {more} more" if more > 0 else ""), "string"))
    if field.has_default and not field.constant:
        parts.append(Span(f"  default {short_json(field.default)}", "dim"))
    return tuple(parts)
