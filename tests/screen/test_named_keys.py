"""Every text that names a key names the one that a person has: none is written into a sentence of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import SMALL, opened
from screen_reading import squeezed, until_shown

import vakra_tui
from sessions.store import Store
from vakra_tui.state.commands import COMMANDS, chosen
from vakra_tui.state.config import config_path

PACKAGE = Path(vakra_tui.__file__).parent

ELSEWHERE = ("cli", "sample")
"""Parts of the package that have no screen."""

KEY = r"(?:[A-Za-z0-9&',.]|[Ee]sc|escape|[Tt]ab|Space|F\d\d?|\^[a-z])"

NAMED = re.compile(
    rf"(?:^|[(:;,\u2014] ){KEY} (?:and {KEY} )?(?!is |was |has |as |its |this )[a-z]+s\b"  # ``v evaluates``
    rf"|\bpress {KEY}\b|\bescape (?:leaves|closes)|\barrows\b"
    rf"|\(F\d\)|\(esc\)"
)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The string constants of a module that are no docstrings."""
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.lineno, node.value


def test_no_sentence_of_the_program_names_a_key_itself() -> None:
    named = [
        f"{path.relative_to(PACKAGE)}:{number}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in ELSEWHERE
        for number, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        if NAMED.search(text)
    ]
    assert named == []


@pytest.mark.parametrize(
    "sentence",
    ["v evaluates this branch.", "at the wheel: n calls a tool", "press v to go on", "Back (esc)", "escape leaves"],
)
def test_the_ban_finds_what_it_bans(sentence: str) -> None:
    assert NAMED.search(sentence)


def test_the_keys_that_were_chosen_are_named() -> None:
    try:
        chosen.choose({"debugger.evaluate": ("f5", "v"), "debugger.go-to": ()})
        assert chosen.key("debugger.evaluate") == "F5"
        assert chosen.key("debugger.go-to") == "\u201cgo to\u201d in the palette"
        assert chosen.key("debugger.step") == "s"
        with pytest.raises(KeyError):
            chosen.key("debugger.nothing")
    finally:
        chosen.choose({})


def test_every_command_that_a_text_names_is_one() -> None:
    known = {command.id for command in COMMANDS}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "commands.chosen import" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "key":
                told = node.args[0]
                assert isinstance(told, ast.Constant) and told.value in known, f"{path}: {ast.unparse(node)}"


async def test_messages_of_the_debugger_name_keys_that_were_changed(tmp_path: Path) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text(
        '[keys]\n"debugger.evidence" = "f6"\n"debugger.evaluate" = "f7"\n"debugger.call-a-tool" = "f8"\n'
        '"debugger.earlier-turns" = "f9"\n"debugger.mark" = "f10"\n',
        encoding="utf-8",
    )
    store = Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        text = squeezed(app)
        assert "F6 goes there" in text
        assert "(F9 shows the context)" in text
        await pilot.press("apostrophe")
        await until_shown(pilot, "F10 marks")
        await pilot.press("w")
        await until_shown(pilot, "Who is at the wheel?")
        await pilot.press("escape")
    async with opened(toy.wiring(instance="u-1", store=store, runs=[]), SMALL) as (_, pilot):
        await until_shown(pilot, "no step yet: F8 calls a tool")
