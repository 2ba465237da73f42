"""What a command of the screen is, and how its keys are written for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One row: ``id`` is ``CONTEXT.NAME`` with hyphens between words, and never changes: config files name it.

    ``keys``: key names of the screen library (or single characters), separated by commas; may be empty where a command
    is reached by the palette alone. ``action``: what the library runs, ``action_`` left away, arguments and ``app.``
    allowed. ``title``: one sentence for the help. ``group``: the heading in the help, empty for the context's own.
    ``footer``: a short word where it stands in the footer. ``panes``: the panes for which the help lists it first.
    ``priority``: taken before the focused widget gets the key. ``palette``: whether it makes sense without its key.
    """

    id: str
    keys: str
    action: str
    title: str
    group: str = ""
    footer: str = ""
    panes: tuple[str, ...] = ()
    priority: bool = False
    palette: bool = True

    @property
    def context(self) -> str:
        """Where the command works: ``debugger`` of ``debugger.step``."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The command in a few words, as the palette shows it: ``go to`` of ``debugger.go-to``."""
        return self.id.partition(".")[2].replace("-", " ")

    @property
    def key_list(self) -> tuple[str, ...]:
        """Its default keys, one by one."""
        return tuple(key.strip() for key in self.keys.split(",") if key.strip())


_SHORT = {
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "space": "Space",
    "backspace": "Backspace",
    "insert": "Ins",
    "up": "\u2191",
    "down": "\u2193",
    "left": "\u2190",
    "right": "\u2192",
    "question_mark": "?",
    "apostrophe": "'",
    "slash": "/",
    "full_stop": ".",
    "comma": ",",
    "colon": ":",
    "semicolon": ";",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "number_sign": "#",
    "asterisk": "*",
    "ampersand": "&",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "delete": "Del",
    "home": "Home",
    "end": "End",
}


def key_words(keys: tuple[str, ...]) -> str:
    """Keys as people read them on a keyboard: ``? F1`` of ``question_mark``, ``f1``; ``Esc``, ``^p`` of ``ctrl+p``."""
    return " ".join(_key_word(key) for key in keys)


def _key_word(key: str) -> str:
    *modifiers, last = key.split("+") if key != "+" else ["+"]
    short = _SHORT.get(last, last)
    if len(last) > 1 and last[0] == "f" and last[1:].isdecimal():
        short = last.upper()
    if modifiers == ["ctrl"]:
        return f"^{short}"
    return "+".join([*(each.capitalize() for each in modifiers), short])
