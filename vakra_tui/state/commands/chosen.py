"""The keys that commands have now, as every text names them.

A process has one person at its keyboard, so what that person chose is one value of the process, like a locale: the
application puts it here when it has read the config file, and texts on every floor of the screen read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from vakra_tui.state.commands import COMMANDS
from vakra_tui.state.commands.model import key_words

_DEFAULT: Mapping[str, tuple[str, ...]] = MappingProxyType({each.id: each.key_list for each in COMMANDS})

_NAMES: Mapping[str, str] = MappingProxyType({each.id: each.name for each in COMMANDS})

_keys: Mapping[str, tuple[str, ...]] = _DEFAULT


def choose(keymap: Mapping[str, Sequence[str]]) -> None:
    """From now on the keys of ``keymap`` (id -> key names) are named, for all other commands the default ones."""
    global _keys
    _keys = MappingProxyType({**_DEFAULT, **{id_: tuple(keys) for id_, keys in keymap.items()}})


def key(id_: str) -> str:
    """The first key of a command as people read it: ``v`` of ``debugger.evaluate``; without any, where to find it.

    Raises ``KeyError`` where there is no such command.
    """
    keys = _keys[id_][:1]
    return key_words(keys) if keys else f"\u201c{_NAMES[id_]}\u201d in the palette"


def tells(id_: str, words: str) -> str:
    """A part of a sentence: ``v evaluates`` of ``("debugger.evaluate", "evaluates")``."""
    return f"{key(id_)} {words}"
