"""The tables of commands: what is bound, listed and offered is the same everywhere."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import until_shown

import vakra_tui
import vakra_tui.screens
import vakra_tui.widgets
from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.state.commands import COMMANDS, CONTEXTS, FOOTER_AT_MOST, Command, commands_of, key_words
from vakra_tui.state.keys import help_lines, sections
from vakra_tui.state.lines import plain
from vakra_tui.widgets.bound import bindings

SOURCES = sorted(Path(vakra_tui.__file__).parent.rglob("*.py"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def bound_classes() -> list[type[Any]]:
    """Every screen and widget of the app that names a context."""
    found: list[type[Any]] = [VakraApp]
    for package in (vakra_tui.screens, vakra_tui.widgets):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if kind.__module__ == module.name and "CONTEXT" in vars(kind):
                    found.append(kind)
    return found


def test_ids_are_unique_and_their_contexts_are_named() -> None:
    assert not [id_ for id_, count in Counter(command.id for command in COMMANDS).items() if count > 1]
    assert {command.context for command in COMMANDS} == set(CONTEXTS)
    for command in COMMANDS:
        assert command.id == command.id.lower() and "_" not in command.id, command.id


def test_a_key_occurs_once_in_a_context() -> None:
    for context in CONTEXTS:
        keys = Counter(key for command in commands_of(context) for key in command.key_list)
        assert not [key for key, count in keys.items() if count > 1], context


def test_a_screen_takes_no_key_of_every_screen_or_of_its_lists() -> None:
    """Dialogs may: they close by the keys that elsewhere ask for help or leave."""
    everywhere = {key for command in commands_of("app") for key in command.key_list}
    listed = {key for command in commands_of("list") for key in command.key_list} - {"enter"}
    for context in ("debugger", "instances"):
        own = {key for command in commands_of(context) for key in command.key_list}
        assert not own & everywhere, context
        assert not own & listed, context


def test_footers_hold_at_most_eight_short_entries() -> None:
    shared = [command for command in commands_of("app") if command.footer]
    for context in CONTEXTS:
        shown = [command for command in commands_of(context) if command.footer]
        assert len(shown) + (context != "app") * len(shared) <= FOOTER_AT_MOST, context
        assert all(len(command.footer) <= 16 for command in shown), context


@pytest.mark.parametrize("kind", bound_classes(), ids=lambda kind: kind.__name__)
def test_every_command_has_its_action(kind: type[Any]) -> None:
    context = kind.CONTEXT if kind is not VakraApp else "app"
    assert bindings(context) == kind.BINDINGS
    for command in commands_of(context):
        action = command.action.partition("(")[0]
        target: Any = VakraApp if action.startswith("app.") else kind
        assert callable(getattr(target, f"action_{action.removeprefix('app.')}", None)), command.id


def test_every_context_is_bound_by_someone() -> None:
    assert {getattr(kind, "CONTEXT", "app") for kind in bound_classes()} >= set(CONTEXTS)


def test_no_key_is_bound_past_the_tables() -> None:
    for path in SOURCES:
        if path.name == "bound.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "Binding", f"{path}:{node.lineno}"


def test_the_help_tells_every_command_of_the_screen_once() -> None:
    text = "\n".join(plain(each) for each in help_lines(("debugger", "list", "app")))
    for command in commands_of("debugger", "list", "app"):
        assert text.count(command.title) >= 1, command.id
    rows = [row for _, rows in sections(("debugger", "list", "app"), "steps", {}) for row in rows]
    assert len(rows) == len(commands_of("debugger", "list", "app", "instances"))


def test_the_help_begins_with_the_focused_pane() -> None:
    heading, rows = sections(("debugger",), "ground truth", {})[0]
    assert heading == "Here: ground truth"
    assert ("o", "oracle hint: one more hop of the reference path") in rows


def test_the_help_tells_chosen_keys_and_commands_without_keys() -> None:
    found = dict(
        row for _, rows in sections(("debugger", "app"), "", {"debugger.step": ("s", "space")}) for row in rows
    )
    assert found["s Space"].startswith("one step forth")
    assert "files and records that could not be used" in found["palette"] or "palette" in found


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("question_mark", "f1"), "? F1"),
        (("ctrl+p",), "^p"),
        (("shift+tab",), "Shift+Tab"),
        (("escape",), "Esc"),
        (("enter", "pagedown", "up"), "Enter PgDn \u2191"),
        (("less_than_sign",), "<"),
        (("+",), "+"),
        ((), ""),
    ],
)
def test_keys_are_written_as_people_read_them(keys: tuple[str, ...], words: str) -> None:
    assert key_words(keys) == words


def test_a_command_names_its_context_and_itself() -> None:
    command = Command("debugger.go-to", "g, G", "go_to", "go to a step")
    assert (command.context, command.name, command.key_list) == ("debugger", "go to", ("g", "G"))


async def test_the_palette_opens_by_a_printable_key_and_runs_a_command(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (_, pilot):
        await pilot.press("colon")
        await pilot.press(*"waterfall")
        await until_shown(pilot, "all reasons of the waterfall")


async def test_help_in_a_pane_begins_with_what_the_pane_can(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (_, pilot):
        await pilot.press("3", "question_mark")
        await until_shown(pilot, "Here: ground truth")
        await until_shown(pilot, "one more hop of the reference path")


def test_no_command_has_only_keys_that_a_terminal_or_a_browser_takes_for_itself() -> None:
    """``textual serve`` shows the screen in a browser, tmux has a prefix of its own, and not every terminal has Alt."""
    taken = ("ctrl+", "alt+", "super+", "f5", "f11")
    lost = [each.id for each in COMMANDS if each.keys and all(key.startswith(taken) for key in each.keys.split(","))]
    assert lost == []
