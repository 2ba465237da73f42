"""The writer refuses what would make a bad dataset: ties, twins, leaks, answers in two sources, broken keys."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.sample.shop import make_shop
from toolenv.build.database import create_database, rows_from_text
from toolenv.build.decontamination import AskedFact, leaks
from toolenv.build.source import DocumentHop, DomainSource, NotBuildable, Passage, SqlHop, Task, TaskTurn
from toolenv.build.ties import refuse_tie
from toolenv.build.truth import same_rows
from toolenv.build.writer import build_dataset, instance_uuid, query_shape
from toolenv.dataset import Dataset

CHIEF = SqlHop(query="Who is the chief of Zoë?", sql=(
    "SELECT b.name FROM person a JOIN person b ON a.chief = b.id WHERE a.name = 'Zoë'"
))  # fmt: skip
COLOUR = DocumentHop(query="Which colour does O'Neil like?", answer="vermilion", doc_id="colour")
PASSAGES = (
    Passage(doc_id="colour", text="O'Neil likes vermilion above all."),
    Passage(doc_id="leak", text="The chief of Zoë is called O'Neil."),
    Passage(doc_id="other", text="Snow falls in winter."),
)


def task(key: str, *hops: SqlHop | DocumentHop, query: str = "?", capability: int = 4) -> Task:
    return Task(key=key, capability=capability, turns=(TaskTurn(query=query, hops=hops),))


def source(tmp_path: Path, *tasks: Task, passages: tuple[Passage, ...] = PASSAGES) -> DomainSource:
    path = make_shop(tmp_path / "shop.sqlite")
    return DomainSource(name="shop", database=path, topic="Shops & Trade", tasks=tasks, passages=passages)


async def test_a_dataset_from_one_source(tmp_path: Path) -> None:
    before = source(tmp_path, task("one", CHIEF, COLOUR, query="Which colour does the chief of Zoë like?"))
    digest = before.database.read_bytes()
    report = await build_dataset([before], tmp_path / "out")
    dataset = Dataset.open(tmp_path / "out")
    (ref,) = dataset.refs()
    instance = dataset.load(ref)
    assert ref.uuid == instance_uuid("shop", "one")
    assert instance.author_keys["hop_pattern"] == "API-RAG"
    assert instance.ground_truth is not None
    assert instance.ground_truth.evaluated.answer == ["vermilion"]
    assert [c.name for c in instance.ground_truth.evaluated.calls] == ["get_chief_name_by_person_name", "query_shop"]
    assert [(leak.doc_id, leak.answer) for leak in report.removed["shop"]] == [("leak", "O'Neil")]
    documents = dataset.documents("shop")
    assert documents is not None
    assert [p["doc_id"] for p in json.loads(documents.read_text("utf-8"))] == ["colour", "other"]
    assert before.database.read_bytes() == digest


@pytest.mark.parametrize(
    ("tasks", "passages", "words"),
    [
        ((task("a", CHIEF, query="Chief of Zoë?"), task("b", CHIEF, query="Chief of Zoë?")), PASSAGES, "ask the same"),
        ((task("a", CHIEF, DocumentHop(query="?", answer="x", doc_id="leak")),), PASSAGES, "passage leak is needed"),
        ((task("a", DocumentHop(query="Who?", answer="Ann", doc_id="colour")),), PASSAGES, "is in the database too"),
        ((task("a", DocumentHop(query="winter snow", answer="rime", doc_id="nowhere")),), PASSAGES, "does not find"),
        ((task("a", SqlHop(query="?", sql="SELECT name FROM person WHERE id = 77")),), PASSAGES, "answers nothing"),
        ((task("a", SqlHop(query="?", sql="SELECT nam FROM person")),), PASSAGES, "gold SQL fails"),
        ((task("a", SqlHop(query="?", sql='SELECT id FROM person ORDER BY chief LIMIT 2')),), PASSAGES, "equal sort"),
        ((task("a", SqlHop(query="?", sql="SELECT id FROM person GROUP BY id"), capability=1),), PASSAGES, "GROUP BY"),
    ],
)  # fmt: skip
async def test_what_is_refused(
    tmp_path: Path, tasks: tuple[Task, ...], passages: tuple[Passage, ...], words: str
) -> None:
    with pytest.raises(NotBuildable, match="domain shop") as caught:
        await build_dataset([source(tmp_path, *tasks, passages=passages)], tmp_path / "out")
    assert words in str(caught.value)


def test_only_a_cut_through_equal_keys_is_a_tie(tmp_path: Path) -> None:
    connection = sqlite3.connect(make_shop(tmp_path / "shop.sqlite"))
    refuse_tie(connection, 'SELECT id FROM "order" ORDER BY "unit price" DESC LIMIT 1')
    refuse_tie(connection, 'SELECT id FROM "order" ORDER BY "group" LIMIT 10')
    refuse_tie(connection, "SELECT MAX(id) FROM person LIMIT 1")
    for sql in ("SELECT id FROM person LIMIT 1", "SELECT id FROM person ORDER BY chief DESC LIMIT 1"):
        with pytest.raises(NotBuildable):
            refuse_tie(connection, sql)
    connection.close()


def test_broken_keys_and_rows_are_refused(tmp_path: Path) -> None:
    script = "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a(id));"
    create_database(tmp_path / "good.sqlite", script, {"a": [("1",)], "b": [("1",), (None,)]})
    with pytest.raises(NotBuildable, match="refers to no row of 'a'"):
        create_database(tmp_path / "x.sqlite", script, {"a": [("1",)], "b": [("2",)]})
    with pytest.raises(NotBuildable, match="cannot be made"):
        create_database(tmp_path / "y.sqlite", script, {"a": [("1", "2")]})


def test_rows_of_text() -> None:
    assert rows_from_text("id\tname\n1\tÅ\n2\t\\N\n") == [("1", "Å"), ("2", None)]


@pytest.mark.parametrize(
    ("text", "leaking"),
    [
        ("Zoë is led by O'Neil.", True),
        ("zoë  IS LED BY o'neil", True),
        ("Zoë met Ann.", False),
        ("O'Neil runs the shop.", False),
        ("Zoëlle is led by O'Neil.", False),
        ("Zoë is led by O'Neilson.", False),
    ],
)
def test_a_passage_leaks_when_it_joins_entity_and_answer(text: str, leaking: bool) -> None:
    fact = AskedFact(hop="?", entities=("Zoë",), answers=("O'Neil",))
    assert bool(leaks([Passage(doc_id="p", text=text)], [fact])) is leaking


def test_rows_are_compared_whatever_their_order() -> None:
    assert same_rows([(1, "a"), (2.0, "B")], [("2", "b"), (1.0, "A")])
    assert same_rows([(0.1 + 0.2,)], [(0.3,)])
    assert not same_rows([(1,), (1,)], [(1,), (2,)])
    assert not same_rows([(1,)], [(1,), (1,)])
    assert not same_rows([(None,)], [(0,)])


def test_the_shape_of_a_query() -> None:
    one = query_shape("How long is the Rhine in 2020?", ["Rhine"])
    assert one == query_shape("How long is the Danube in 1,999?", ["Danube"])
    assert one != query_shape("How deep is the Rhine in 2020?", ["Rhine"])
