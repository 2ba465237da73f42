"""The config file: what it may say, and how what it may not say is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import screen_toy as toy
from hypothesis import given
from hypothesis import strategies as st
from screen_opening import opened
from screen_reading import shown, squeezed, until_shown
from textual.keys import _character_to_key

from sessions.store import Store
from vakra_tui.state.commands import COMMANDS
from vakra_tui.state.config import Config, config_path, parse_config, read_config
from vakra_tui.state.key_names import key_name
from vakra_tui.state.keys import sections


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def wrote(text: str) -> Path:
    """The user's config file with this text."""
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_keys_and_theme_are_read() -> None:
    path = wrote('theme = "light"\n[keys]\n"debugger.step" = "Q, f5"\ndebugger.back = ["b", "?"]\n')
    config = Config.of_user()
    assert config == Config(
        path, "light", {"debugger.step": ("Q", "f5"), "debugger.back": ("b", "question_mark")}, config.problems
    )
    assert config.problems == ("? is the key of debugger.back and of app.help; debugger.back gets it on its screen.",)
    assert config.keymap == {"debugger.step": "Q,f5", "debugger.back": "b,question_mark"}


def test_the_example_of_the_docs_can_be_used_as_it_stands() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "keys.md"
    example = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    config = read_config(wrote(example))
    assert config.problems == ()
    assert config.theme and config.keys["debugger.step"] and config.keys["debugger.export"] == ()


def test_no_file_says_nothing() -> None:
    assert Config.of_user() == Config(config_path())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("theme = ", "is not used: it is no TOML"),
        ('theme = "pink"', "There is no theme 'pink'; known: dark, light, high-contrast."),
        ('teme = "dark"', "There is no setting 'teme' (perhaps 'theme'); known: theme, keys."),
        ("keys = 3", '"keys" is no table'),
        ('[keys]\n"debugger.stp" = "s"', "There is no command 'debugger.stp' (perhaps 'debugger.step')."),
        ('[keys]\n"debugger.step" = 3', "The keys of debugger.step are no text"),
        ('[keys]\n"debugger.step" = "hyper+s"', "There is no key 'hyper+s', so debugger.step keeps its own."),
        (
            '[keys]\n"debugger.step" = "v"',
            "v is the key of debugger.step and of debugger.evaluate; debugger.evaluate is now",
        ),
        ('[keys]\n"debugger.step" = "j"', "j is the key of debugger.step and of list.down; list.down gets it"),
        (
            '[keys]\n"debugger.step" = "Z"\n"debugger.back" = "Z"',
            "The keys of debugger.step and debugger.back are both Z; give one of them another.",
        ),
        ("a = " + "[" * 3000, "is not used: it is no TOML"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(text: str, sentence: str) -> None:
    config = read_config(wrote(text))
    problems = config.problems
    assert any(sentence in problem for problem in problems), problems
    assert config.used == ("is not used" not in sentence)
    assert all("\n" not in problem for problem in problems)


def test_bytes_and_folders_are_no_config(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in read_config(tmp_path / "a.toml").problems[0]
    assert "not a file" in read_config(tmp_path).problems[0]


def test_two_commands_may_change_their_keys() -> None:
    assert parse_config({"keys": {"debugger.step": "b", "debugger.back": "s"}}).problems == ()


def test_a_key_that_another_command_took_is_no_longer_told() -> None:
    config = parse_config({"keys": {"debugger.step": "v", "app.help": "f1"}})
    assert config.keys["debugger.evaluate"] == ()
    rows = [row for _, rows in sections(("debugger", "app"), "", config.keys) for row in rows]
    assert next(title for keys, title in rows if keys == "v").startswith("one step forth")
    assert ("palette", "evaluate this branch: policy, tool sequence, final response") in rows


def test_a_command_may_have_no_key() -> None:
    config = parse_config({"keys": {"debugger.step": ""}})
    assert config.keys == {"debugger.step": ()} and config.keymap == {"debugger.step": "no_key"}


@given(st.characters(min_codepoint=33, max_codepoint=126))
def test_characters_have_the_names_of_the_screen_library(character: str) -> None:
    assert key_name(character) == _character_to_key(character)


def test_default_keys_are_keys() -> None:
    for command in COMMANDS:
        for key in command.key_list:
            assert key_name(key) == key, command.id


@given(
    st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=4))
)
def test_any_table_of_keys_is_read_without_an_error(table: dict[str, object]) -> None:
    config = parse_config({"keys": table})
    assert set(config.keys) <= {command.id for command in COMMANDS}


async def test_a_chosen_key_works_and_is_shown(store: Store) -> None:
    wrote('[keys]\n"debugger.earlier-turns" = "Q"\n"debugger.step" = "f5"\n"debugger.waterfall" = ""')
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        assert "F5 step" in shown(app) or "f5 step" in shown(app)
        context = squeezed(app)
        await pilot.press("h")
        assert squeezed(app) == context
        await pilot.press("Q")
        assert squeezed(app) != context
        await pilot.press("question_mark")
        await until_shown(pilot, "F5 one step forth")


async def test_a_bad_config_is_a_dialog(store: Store) -> None:
    wrote('theme = "pink"\n')
    async with opened(toy.wiring(instance="u-1", store=store)) as (_, pilot):
        await until_shown(pilot, "There is no theme 'pink'")
        await pilot.press("escape")
        await until_shown(pilot, "root beer")


HOSTILE: dict[str, bytes] = {
    "thousands of unknown ids": b"[keys]\n" + b"".join(b'"a%d" = "s"\n' % number for number in range(8000)),
    "a long id": b'[keys]\n"' + b"a" * 90_000 + b'" = "s"\n',
    "a long theme": b'theme = "' + b"a" * 90_000 + b'"\n',
    "a long setting": b"b" * 90_000 + b" = 1\n",
    "a long key": b'[keys]\n"debugger.step" = "' + b"a" * 90_000 + b'"\n',
    "many settings": b"".join(b"s%d = 1\n" % number for number in range(9000)),
    "a number of many digits": b"theme = " + b"9" * 10_000,
    "a date that is none": b"theme = 2026-02-31",
    "deep": b"a = " + b"[" * 5000 + b"]" * 5000,
    "deep tables": b"[" + b".".join([b"a"] * 5000) + b"]\n",
    "larger than is read": b"#" * 200_000,
    "binary": bytes(range(256)) * 9,
    "escapes": b'theme = "\\u001b[31m"\n"\\u001b[2J" = 1\n[keys]\n"\\u202e" = "\\u0007"\n"debugger.step" = "\\u001b"\n',
    "other types": b"theme = nan\nkeys = [1979-05-27]\n",
    "one key for everything": b"[keys]\n" + b"".join(f'"{command.id}" = "x"\n'.encode() for command in COMMANDS),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_the_file_holds_is_told_in_a_few_short_sentences(name: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(HOSTILE[name])
    config = read_config(path)
    assert 1 <= len(config.problems) <= 21
    assert all(sentence.endswith(".") and sentence.isprintable() for sentence in config.problems)
    assert all(len(sentence) < 400 + len(str(path)) for sentence in config.problems)


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "pipe", tmp_path / ("n" * 300), tmp_path / "file" / "config.toml"):
        config = read_config(path)
        assert config.keys == {} and config.theme is None
        assert all("is not used" in sentence for sentence in config.problems)
