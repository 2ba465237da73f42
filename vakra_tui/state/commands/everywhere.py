"""The commands that work on every screen, and those of every list and text."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

EVERYWHERE: tuple[Command, ...] = (
    Command("app.help", "question_mark,f1", "help", "the keys that work here, and what the signs mean", footer="help"),
    Command("app.palette", "ctrl+p,colon", "command_palette", "find a command by its name and run it", palette=False),
    Command("app.problems", "", "problems", "files and records that could not be used"),
    Command("app.jump", "semicolon", "jump", "jump mode: a letter over each part of the screen goes there"),
    Command("app.stop", "X", "stop", "stop what is running; what was done so far stays"),
    Command("app.theme", "", "theme", "choose the theme: dark, light, high contrast"),
    Command("app.light-or-dark", "", "toggle_dark", "change between light and dark colours"),
    Command("app.quit", "q,ctrl+q", "quit", "leave vakra-tui"),
    Command("list.up", "up,k", "move(-1)", "one row up", palette=False),
    Command("list.down", "down,j", "move(1)", "one row down", palette=False),
    Command("list.page-up", "pageup", "move_page(-1)", "one page up", palette=False),
    Command("list.page-down", "pagedown,space", "move_page(1)", "one page down", palette=False),
    Command("list.first", "home", "first", "the first row", palette=False),
    Command("list.last", "end", "last", "the last row", palette=False),
    Command("list.choose", "enter", "choose", "open or choose the row; on a JSON node fold or unfold", palette=False),
    Command("text.up", "up,k", "scroll_up", "one line up", palette=False),
    Command("text.down", "down,j", "scroll_down", "one line down", palette=False),
    Command("text.page-up", "pageup", "page_up", "one page up", palette=False),
    Command("text.page-down", "pagedown,space", "page_down", "one page down", palette=False),
    Command("text.top", "home", "scroll_home", "the first line", palette=False),
    Command("text.bottom", "end", "scroll_end", "the last line", palette=False),
)
