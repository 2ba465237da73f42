"""Key bindings of a screen or a widget, made from the tables of commands."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from vakra_tui.state.commands import commands_of


def bindings(*contexts: str) -> list[BindingType]:
    """What ``BINDINGS`` holds: one binding with an id for each command of the contexts that has keys."""
    return [
        Binding(
            ",".join(command.key_list),
            command.action,
            command.footer or command.name,
            show=bool(command.footer),
            priority=command.priority,
            id=command.id,
        )
        for command in commands_of(*contexts)
        if command.key_list
    ]
