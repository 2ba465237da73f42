"""Names of keys as a person may write them in the config file."""

from __future__ import annotations

import string
import unicodedata

_RENAMED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Unicode names that the screen library shortens."""

_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "period": "full_stop",
    "dot": "full_stop",
}

_NAMED = frozenset(
    [
        "escape",
        "enter",
        "tab",
        "space",
        "backspace",
        "delete",
        "insert",
        "home",
        "end",
        "pageup",
        "pagedown",
        "up",
        "down",
        "left",
        "right",
    ]
) | {f"f{number}" for number in range(1, 25)}

_MODIFIERS = ("ctrl", "shift", "alt")


def key_name(written: str) -> str | None:
    """The screen library's name of a key: ``question_mark`` of ``?``, ``ctrl+x`` of ``Ctrl+X``; None where none is."""
    text = written.strip()
    if not text:
        return None
    *modifiers, last = [text] if len(text) == 1 else text.split("+")
    modifiers = [modifier.strip().lower() for modifier in modifiers]
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return None
    key = _single(last.strip(), lower="ctrl" in modifiers)
    return "+".join([*modifiers, key]) if key is not None else None


def _single(text: str, *, lower: bool) -> str | None:
    if len(text) == 1:
        if text.isalnum():
            return text.lower() if lower else text
        return _of_character(text)
    name = _ALIASES.get(text.lower(), text.lower())
    if name in _NAMED or name in _PUNCTUATION:
        return name
    try:
        return _of_character(unicodedata.lookup(name.replace("_", " ")))
    except KeyError:
        return None


def _of_character(character: str) -> str | None:
    if character == " ":
        return "space"
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _RENAMED.get(name, name) or None


_PUNCTUATION = frozenset(_of_character(character) for character in string.punctuation)
