"""Names of columns from descriptions beside a database, and merged phrases that say a thing once."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolenv.build.descriptions import FOLDER, read_descriptions
from toolenv.build.words import Vocabulary, filled

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
            "How many heroes are there whose publisher is the publisher of Blue Beetle?",
        ),
        (
            "How many atoms are there whose element is {0}?",
            "the most common element among the atoms of TR001",
            "How many atoms are there with the most common element among the atoms of TR001?",
        ),
        ("Who owns {0}'s brewery?", "the oldest beer", "Who owns the brewery of the oldest beer?"),
    ],
)
def test_a_thing_is_named_once(text: str, phrase: str, whole: str) -> None:
    assert filled(text, phrase) == whole
