"""Names of columns from descriptions beside a database, and merged phrases that say a thing once."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolenv.build.descriptions import FOLDER, read_descriptions
from toolenv.build.grammar import amount, is_sound, names_one, superlatives, without_name
from toolenv.build.merging import filled, same_role
from toolenv.build.readability import burden, choose
from toolenv.build.words import Vocabulary

HEAD = "original_column_name,column_name,column_description\n"


def test_columns_are_called_as_they_are_described(tmp_path: Path) -> None:
    database, folder = tmp_path / "bank.sqlite", tmp_path / FOLDER
    assert read_descriptions(database) == {}
    folder.mkdir()
    (folder / "district.csv").write_text(
        HEAD + "A11,average salary,in crowns\nA12,,\nA13,\x1b[2J {0},\nname,district name,\n", encoding="utf-8-sig"
    )
    (folder / "client.csv").write_bytes((HEAD + "name,client name,\nsex,Sexe déclaré,\n").encode("cp1252"))
    (folder / "broken.csv").write_bytes(b"\x00\xff" * 50)
    (folder / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    described = read_descriptions(database)
    assert described == {"A11": "average salary", "sex": "sexe déclaré"}
    words = Vocabulary(["What is the sex of the client?"], ["A11", "sex", "A12"], described)
    assert words.column("A11") == "average salary"
    assert words.column("sex") == "sex"
    assert words.column("A12") == "a12"


@pytest.mark.parametrize(
    ("text", "phrase", "whole"),
    [
        (
            "the most common element among the atoms whose molecule is {0}",
            "the molecule with the most bonds",
            "the most common element among the atoms of the molecule with the most bonds",
        ),
        (
            "How many atoms are there whose molecule is {0}?",
            "the molecule with the most bonds",
            "How many atoms belong to the molecule with the most bonds?",
        ),
        (
            "How many heroes are there whose publisher is {0}?",
            "the publisher of Blue Beetle",
            "How many heroes have the same publisher as Blue Beetle?",
        ),
        (
            "How many atoms are there whose element is {0}?",
            "the most common element among the atoms of TR001",
            "How many atoms have the most common element among the atoms of TR001?",
        ),
        ("Who owns {0}'s brewery?", "the oldest beer", "Who owns the brewery of the oldest beer?"),
    ],
)
def test_a_thing_is_named_once(text: str, phrase: str, whole: str) -> None:
    assert filled(text, phrase) == whole


@pytest.mark.parametrize(
    ("question", "sound"),
    [
        ("Which location sold more bottles?", False),
        ("Which location sold more bottles than the union?", True),
        ("How many students are enlisted in the navy are enrolled in occ?", False),
        ("How many students that are enlisted in the navy are enrolled in occ?", True),
        ("Who is the publisher of Killer Frost?", True),
    ],
)
def test_unclear_questions_are_not_built_upon(question: str, sound: bool) -> None:
    assert is_sound(question) is sound


@pytest.mark.parametrize(
    ("phrase", "one"),
    [
        ("the position of members who joined", False),
        ("the element of the atom in molecule that is heavy", False),
        ("the element of the atom in the molecule that is heavy", True),
        ("the publisher of Killer Frost", True),
    ],
)
def test_a_phrase_speaks_of_one_thing(phrase: str, one: bool) -> None:
    assert names_one(phrase, ["molecule", "atom"]) is one


def test_measures_in_words() -> None:
    assert superlatives("height in centimetres") == ("tallest", "shortest")
    assert superlatives("milliseconds") == ("longest", "shortest")
    assert superlatives("rating") is None
    assert amount("bytes") == "size in bytes"
    assert [amount(w) for w in ("remaining", "spent", "rating", "unit cost", "paid")] == [
        "remaining amount", "spent amount", "rating", "unit cost", "paid amount"
    ]  # fmt: skip
    assert without_name("How many members of the Student_Club like tea?", "student_club", ["member"]) == (
        "How many members like tea?"
    )
    assert (
        without_name("the race of the superhero Ajax", "superhero", ["superhero"]) == "the race of the superhero Ajax"
    )


def test_short_names_take_the_word_that_questions_speak() -> None:
    words = Vocabulary(["Which organizations do they join?", "What is the organization's part?"], ["organ", "part"])
    assert words.words("organ") == "organization"
    assert words.words("part") == "part"


@pytest.mark.parametrize(
    ("text", "phrase", "same"),
    [
        ("heroes whose skin colour is {0}", "the eye colour of Ajax", False),
        ("heroes whose eye colour is {0}", "the eyes colour of Ajax", True),
        ("heroes whose home city is {0}", "the city of the oldest shop", True),
        ("the brand of {0}", "the eye colour of Ajax", True),
    ],
)
def test_a_value_keeps_its_role(text: str, phrase: str, same: bool) -> None:
    assert same_role(text, phrase) is same


def test_easy_questions_are_chosen_and_not_all_alike() -> None:
    assert burden("How many atoms does the molecule with the most bonds have?") < burden(
        "How many atoms have the most common element among the atoms of the molecule with the most bonds?"
    )
    chosen = choose("aaab", 3, 2, lambda c: 0.0, lambda c: [(c, 1.0)])
    assert chosen == ["a", "a", "b"]
