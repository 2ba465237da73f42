"""The commands of the list of stored sessions."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

SESSIONS: tuple[Command, ...] = (
    Command("sessions.open", "enter", "open", "open the session where it was left", footer="open"),
    Command("sessions.find", "slash", "find", "find steps by what calls, responses and answers hold", footer="find"),
    Command("sessions.batch", "b", "batch", "those of batches, or those of the debugger again", footer="batches"),
    Command(
        "sessions.everything",
        "a",
        "everything",
        "those that were merely looked at too, or only those in which something was done",
        footer="all",
    ),
    Command("sessions.delete", "d,delete", "delete", "delete the session, after asking", footer="delete"),
    Command("sessions.leave", "escape,q,L", "leave", "take the search away, then back to the list", footer="back"),
)
