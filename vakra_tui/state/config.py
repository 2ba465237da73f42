"""The config file: keys of commands and the theme, read once at the start. A bad entry is a sentence, never an error.

``config.toml`` in the user's config folder::

    theme = "high-contrast"

    [keys]
    "debugger.step" = "s,space"
    "debugger.evaluate" = ["v", "f5"]
    "debugger.export" = ""

Ids are those of ``vakra_tui/state/commands``; an empty text leaves a command to the palette. Keys are separated by
commas and written as characters or names (``?``, ``question_mark``, ``ctrl+e``, ``f5``, ``comma``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from toolenv.values import shortened
from vakra_tui.state.commands import COMMANDS, Command, commands_of, key_words
from vakra_tui.state.key_names import key_name

NAME = "config.toml"

THEMES = ("dark", "light", "high-contrast")

SETTINGS = ("theme", "keys")

NO_KEY = "no_key"
"""The name of a key that no keyboard has: where a command is to have none."""

LARGEST = 100_000
"""Bytes of a config file that are read at most."""

MOST_PROBLEMS = 20
"""Problems that are told one by one; the others are counted."""

IN_PANES = ("list", "text")
"""Contexts of what has the keyboard inside a screen: its keys never reach the screen."""


@dataclass(frozen=True, slots=True)
class Config:
    """What the file at ``path`` says. ``keys``: id -> chosen keys, and what is left to those that lost theirs.

    ``problems`` are sentences about what was left out; ``used`` is false where nothing of the file could be read.
    """

    path: Path | None = None
    theme: str | None = None
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    used: bool = True

    @classmethod
    def of_user(cls) -> Config:
        """What this user's file says."""
        return read_config(config_path())

    @property
    def keymap(self) -> dict[str, str]:
        """The chosen keys as the screen library takes them."""
        return {id_: ",".join(keys) or NO_KEY for id_, keys in self.keys.items()}


def config_path() -> Path:
    """Where this user's config file is, or would be."""
    import platformdirs

    return Path(platformdirs.user_config_dir("vakra-tui")) / NAME


def read_config(path: Path) -> Config:
    """Read a config file; one that is not there says nothing."""
    try:
        if not path.exists():
            return Config(path)
        if not path.is_file():
            return _unread(path, "it is not a file")
        if path.stat().st_size > LARGEST:
            return _unread(path, f"it is larger than {LARGEST:,} bytes")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return _unread(path, "it is not UTF-8 text")
    except OSError as error:
        return _unread(path, error.strerror or "it cannot be opened")
    import tomllib

    try:
        return parse_config(tomllib.loads(text), path)
    except RecursionError:
        return _unread(path, "it is no TOML: it is nested too deeply")
    except ValueError as error:
        # Not every fault of a number or a date comes as the parser's own error.
        return _unread(path, f"it is no TOML: {shortened(str(error), 200)}")


def _unread(path: Path, why: str) -> Config:
    return Config(path, problems=(f"The config file {path} is not used: {why}.",), used=False)


def parse_config(given: Mapping[str, Any], path: Path | None = None) -> Config:
    """The settings in a parsed file, without those that cannot be used."""
    problems = [
        f"There is no setting {_quoted(name)}{_like(name, SETTINGS)}; known: {', '.join(SETTINGS)}."
        for name in islice((name for name in given if name not in SETTINGS), MOST_PROBLEMS + 1)
    ]
    theme = given.get("theme")
    if theme is not None and theme not in THEMES:
        problems.append(f"There is no theme {_quoted(theme)}; known: {', '.join(THEMES)}.")
        theme = None
    keys: dict[str, tuple[str, ...]] = {}
    table = given.get("keys", {})
    if not isinstance(table, Mapping):
        problems.append('"keys" is no table; write a line [keys] and below it lines like "debugger.step" = "s".')
        table = {}
    for id_, value in _flat(table):
        chosen = _chosen(id_, value, alike=len(problems) < MOST_PROBLEMS)
        if isinstance(chosen, str):
            problems.append(chosen)
        else:
            keys[id_] = chosen
    problems += conflicts(keys)
    more = len(problems) - MOST_PROBLEMS
    told = problems[:MOST_PROBLEMS] + ([f"The config file has {more:,} more such faults."] if more > 0 else [])
    return Config(path, theme, {**keys, **_without(keys)}, tuple(told))


def _quoted(value: Any) -> str:
    """A value of the file in a sentence: on one line, cut where it is long."""
    return shortened(repr(value))


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Entries by their id, whether it was quoted (one key) or not (a table in a table)."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            for rest, inner in value.items():
                yield f"{name}.{rest}", inner
        else:
            yield name, value


def _chosen(id_: str, value: Any, *, alike: bool) -> tuple[str, ...] | str:
    """The keys that an entry chooses, else a sentence; ``alike`` looks for the id that may have been meant."""
    ids = [command.id for command in COMMANDS]
    if id_ not in ids:
        return f"There is no command {_quoted(id_)}{_like(id_, ids) if alike else ''}."
    if isinstance(value, str):
        parts = ["comma"] if value.strip() == "," else [part for part in value.split(",") if part.strip()]
    elif isinstance(value, list) and all(isinstance(part, str) for part in value):
        parts = value
    else:
        return f'The keys of {id_} are no text; write "{id_}" = "s" or ["s", "space"].'
    keys = []
    for part in parts:
        key = key_name(part)
        if key is None:
            return f"There is no key {_quoted(part.strip())}, so {id_} keeps its own."
        keys.append(key)
    return tuple(dict.fromkeys(keys))


def _like(name: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f" (perhaps {near[0]!r})" if near else ""


def conflicts(chosen: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences about chosen keys that something else has where the command works, and which of them gets the key."""
    found: list[str] = []
    for command in COMMANDS:
        for key in chosen.get(command.id, ()):
            found += [_conflict(command, other, key, chosen) for other in _rivals(command, key, chosen)]
    return list(dict.fromkeys(found))


def _without(chosen: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """What is left to the commands whose default keys were given to others of their context."""
    left: dict[str, tuple[str, ...]] = {}
    for command in COMMANDS:
        if command.id in chosen:
            continue
        taken = {key for id_, keys in chosen.items() if id_.partition(".")[0] == command.context for key in keys}
        rest = tuple(key for key in command.key_list if key not in taken)
        if rest != command.key_list:
            left[command.id] = rest
    return left


def _rivals(command: Command, key: str, chosen: Mapping[str, Sequence[str]]) -> list[Command]:
    near = {command.context, "app"}
    if command.context in ("debugger", "instances", "compare", "scores", "sessions"):
        near.update(IN_PANES)
    if command.context == "app":
        near.update(("debugger", "instances"))
    return [
        other for other in commands_of(*near) if other.id != command.id and key in chosen.get(other.id, other.key_list)
    ]


def _conflict(command: Command, other: Command, key: str, chosen: Mapping[str, Sequence[str]]) -> str:
    if other.context in IN_PANES:
        gets = f"{other.id} gets it while a list or text has the keyboard"
    elif other.context != command.context:
        inner = command if other.context == "app" else other
        gets = f"{inner.id} gets it on its screen"
    elif other.id in chosen:
        first, second = sorted((command, other), key=lambda each: list(chosen).index(each.id))
        return f"The keys of {first.id} and {second.id} are both {key_words((key,))}; give one of them another."
    else:
        gets = f"{other.id} is now without it"
    return f"{key_words((key,))} is the key of {command.id} and of {other.id}; {gets}."
