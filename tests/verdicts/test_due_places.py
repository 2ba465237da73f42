"""Where due texts stand: the quick search finds what looking everywhere for each of them finds."""

from __future__ import annotations

import random

from eval.offline.due import DueIndex, due_values, text_places

PARTS = [
    "tr000",
    "tr000_1",
    "non-carcinogenic",
    "carcinogenic",
    "a",
    "i",
    "o'neil",
    "o",
    "neil",
    "(a",
    "+b",
    "é",
    "b.c",
    "'",
]
JOINS = [" ", ", ", "-", "'", "\n", "_", "", ". "]


def test_the_index_finds_what_a_search_everywhere_finds() -> None:
    rng = random.Random(0)
    for _ in range(400):
        text = "".join(rng.choice(PARTS) + rng.choice(JOINS) for _ in range(rng.randint(1, 30)))
        wanted = [rng.choice(PARTS) + rng.choice(["", " ", "-"]) + rng.choice(PARTS) for _ in range(4)]
        due = [d for d in due_values([*wanted, *PARTS]) if d.kind == "text"]
        found = {(p.start, p.end, p.due.needle) for p in DueIndex(due).places(text)}
        flat = text.replace("\n", " ")
        assert found == {(start, end, d.needle) for d in due for start, end in text_places(d.needle, flat)}


def test_a_long_answer_of_like_texts() -> None:
    names = [f"TR{number:03}" for number in range(3000)]
    index = DueIndex(due_values(names))
    assert len(index.given(", ".join(names).lower())) == 3000
