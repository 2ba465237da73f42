"""Retrieval: FTS5, vectors, ChromaDB folders (case RET-01)."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.data.conftest import TURNS, question
from toolenv.dataset import Dataset
from toolenv.documents import DocumentTools, embedder_from_environment, has_documents
from toolenv.documents.index import Hit, PassageIndex, index_of, words_of
from toolenv.documents.passages import DocumentFile, Passage
from toolenv.documents.vectors import VectorIndex, fused
from toolenv.errors import EnvironmentFailure
from toolenv.native import NativeEnvironment

Write = Callable[[Mapping[str, Any]], Path]
DOCS = [
    {"doc_id": "d3", "text": "Gamma text about the mountains of the north."},
    {"doc_id": "d1", "text": "Alpha text about medals. Medals are won in the Olympic games."},
    {"doc_id": "d2", "text": "Beta text about rivers and Caf\u00e9 Z\u00fcrich."},
]


def dataset(write: Write, files: Mapping[str, Any]) -> Dataset:
    base = {
        f"data/test/{TURNS}/input/hockey.json": [question("a", "one", "two")],
        "data/configs/retriever_domains.json": {"hockey": ["hockey", "movie"]},
    }
    return Dataset.open(write({**base, **files}) / "data")


@pytest.fixture
def tools(write: Write) -> DocumentTools:
    return DocumentTools(dataset(write, {"data/documents/hockey_docs.json": DOCS}), "hockey")


async def ids(tools: DocumentTools, **arguments: Any) -> list[str]:
    result = await tools.call("query_hockey", arguments)
    assert not result.failed, result.text
    return [found["id"] for found in json.loads(result.text)["results"]]


def test_the_tools_of_a_domain_and_its_neighbours(tools: DocumentTools) -> None:
    specs = tools.specs()
    assert [spec.name for spec in specs] == ["query_hockey", "query_movie"]
    assert all(spec.source == "RAG" for spec in specs)
    assert specs[0].input_schema["required"] == ["question"]
    assert specs[0].input_schema["properties"]["n_results"]["default"] == 10


async def test_the_envelope(tools: DocumentTools) -> None:
    result = await tools.call("query_hockey", {"question": "Who won medals in Z\u00fcrich?", "n_results": 2})
    value = json.loads(result.text)
    assert result.text == json.dumps(value, indent=2)
    assert [list(found) for found in value["results"]] == [["id", "text", "score"]] * 2
    assert [found["score"] for found in value["results"]] == sorted(
        (f["score"] for f in value["results"]), reverse=True
    )
    assert result.handle is None


@pytest.mark.parametrize("n_results", [3, 10, 10**30])
async def test_more_results_than_documents_gives_each_once(tools: DocumentTools, n_results: int) -> None:
    assert await ids(tools, question="medals", n_results=n_results) == ["d1", "d2", "d3"]


async def test_the_best_come_first_and_ties_are_ordered_by_id(tools: DocumentTools) -> None:
    assert await ids(tools, question="Tell me about rivers", n_results=1) == ["d2"]
    assert await ids(tools, question="mountains") == ["d3", "d1", "d2"]
    assert await ids(tools, question="nothing of this kind") == ["d1", "d2", "d3"]
    assert await ids(tools, question="cafe zurich", n_results=1) == ["d2"], "accents do not matter"


@pytest.mark.parametrize("n_results", [0, -1, -(10**30)])
async def test_no_result_at_all_cannot_be_asked_for(tools: DocumentTools, n_results: int) -> None:
    result = await tools.call("query_hockey", {"question": "medals", "n_results": n_results})
    assert (result.failed, result.error_kind, result.is_error) == (True, "tool_failed", False)
    assert str(n_results) in result.text


@pytest.mark.parametrize(
    "arguments", [{}, {"question": 5}, {"question": "x", "n_results": "3"}, {"question": "x", "n_results": 1.5}]
)
async def test_arguments_that_the_schema_refuses(tools: DocumentTools, arguments: dict[str, Any]) -> None:
    result = await tools.call("query_hockey", arguments)
    assert (result.failed, result.error_kind, result.is_error) == (True, "refused_arguments", True)


async def test_a_collection_that_is_not_offered(tools: DocumentTools) -> None:
    result = await tools.call("query_nobody", {"question": "x"})
    assert (result.failed, result.error_kind) == (True, "unknown_tool")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no documents for the collection movie"),
        ([], "holds no documents"),
        ("", "is empty"),
        ('[{"doc_id": "a", "text": "cut', "cut off"),
        ({"docs": 5}, "not a list"),
        ([{"doc_id": "a"}], "has no text"),
        ([5], "has no text"),
    ],
)
async def test_a_missing_or_damaged_index_is_never_no_match(write: Write, content: Any, sentence: str) -> None:
    files = {} if content is None else {"data/documents/movie_docs.json": content}
    tools = DocumentTools(dataset(write, files), "hockey")
    for _ in range(2):
        with pytest.raises(EnvironmentFailure, match=sentence):
            await tools.call("query_movie", {"question": "x"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.text(max_size=60)
    | st.sampled_from(
        ['"', "medals OR", "NEAR(a b)", "text:*", "a AND NOT b", "^x", "{a}:b", "\x00", "'; DROP TABLE passages; --"]
    )
)
def test_a_question_is_never_interpreted(tools: DocumentTools, text: str) -> None:
    assert sorted(asyncio.run(ids(tools, question=text))) == ["d1", "d2", "d3"]


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert words_of("Who was the founder of Marvel, who?") == ["founder", "marvel"]
    assert words_of("who is it") == ["who", "is", "it"]
    assert words_of("Stra\u00dfe \uff11\uff12") == ["strasse", "12"]
    assert len(words_of(" ".join(f"word{number}" for number in range(10_000)))) == 256
    assert words_of("?!") == []


async def test_documents_in_odd_form(write: Write) -> None:
    docs = [
        {"doc_id": 7, "text": "seven"},
        {"id": "x", "text": "ex"},
        {"text": "nameless"},
        {"doc_id": "x", "text": "twice"},
    ]
    tools = DocumentTools(dataset(write, {"data/documents/hockey_docs.json": docs}), "hockey")
    assert await ids(tools, question="seven") == ["7", "000003", "x"]


async def test_a_changed_file_is_indexed_anew(write: Write) -> None:
    world = dataset(write, {"data/documents/hockey_docs.json": DOCS})
    tools = DocumentTools(world, "hockey")
    assert len(await ids(tools, question="medals")) == 3
    write({"data/documents/hockey_docs.json": [*DOCS, {"doc_id": "d4", "text": "more medals"}]})
    assert len(await ids(tools, question="medals")) == 4


def large(tmp_path: Path) -> Path:
    path = tmp_path / "large_docs.json"
    filler = "filler " * 600
    docs = [{"doc_id": f"d{number:05d}", "text": f"passage number{number} {filler}"} for number in range(1200)]
    path.write_text(json.dumps(docs))
    return path


def test_a_large_collection_is_kept_in_the_cache_and_never_beside_the_data(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = large(tmp_path)
    index = index_of(DocumentFile(path), cache)
    assert [hit.id for hit in index.search("where is number77?", 1)] == ["d00077"]
    assert index.size == 1200
    kept = list(cache.iterdir())
    assert len(kept) == 1
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["large_docs.json"]
    os.utime(path, ns=(1, 1))
    again = index_of(DocumentFile(path), cache)
    assert again is not index
    assert list(cache.iterdir()) == kept, "the cache goes by content"
    kept[0].write_bytes(b"damaged")
    os.utime(path, ns=(2, 2))
    assert index_of(DocumentFile(path), cache).size == 1200


def test_damage_inside_a_kept_index_is_a_failure_of_the_environment(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = large(tmp_path)
    index = index_of(DocumentFile(path), cache)
    (kept,) = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:8192])
    with pytest.raises(EnvironmentFailure, match=f"remove .*{kept.name}"):
        index.search("where is number77?", 5)
    with pytest.raises(EnvironmentFailure, match="cannot be read"):
        index.passages()


def test_searches_from_many_threads(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "hockey_docs.json"
    path.write_text(json.dumps(DOCS))
    index = index_of(DocumentFile(path))
    expected = index.search("medals rivers", 3)
    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(lambda _: index.search("medals rivers", 3), range(200)))


# --- ChromaDB --------------------------------------------------------------------------------------------------------


def chroma(folder: Path, collections: Mapping[str, Mapping[str, str]]) -> None:
    """The tables of a ChromaDB folder that hold its documents, as version 1.5 lays them out."""
    folder.mkdir(parents=True)
    connection = sqlite3.connect(folder / "chroma.sqlite3")
    connection.executescript(
        "CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL);"
        "CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT);"
        "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB);"
        "CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER);"
    )
    number = 0
    for name, docs in collections.items():
        connection.execute("INSERT INTO collections VALUES (?, ?)", (f"c-{name}", name))
        connection.execute("INSERT INTO segments VALUES (?, 'metadata', 'METADATA', ?)", (f"s-{name}", f"c-{name}"))
        for identity, text in docs.items():
            number += 1
            connection.execute("INSERT INTO embeddings VALUES (?, ?, ?, NULL)", (number, f"s-{name}", identity))
            connection.execute("INSERT INTO embedding_metadata VALUES (?, 'chroma:document', ?, NULL)", (number, text))
            connection.execute("INSERT INTO embedding_metadata VALUES (?, 'page', NULL, 3)", (number,))
    connection.commit()
    connection.close()


async def test_a_chroma_folder_is_read_and_not_written(write: Write, tmp_path: Path) -> None:
    world = dataset(write, {})
    folder = tmp_path / "data" / "indexed_documents"
    chroma(folder, {"hockey": {"h1": "medals", "h2": "rivers"}, "world": {"w1": "medals of the world"}, "movie": {}})
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*")}
    tools = DocumentTools(world, "hockey")
    assert [has_documents(world, name) for name in ("hockey", "nobody")] == [True, False]
    assert not NativeEnvironment(world).serves(4, "hockey"), "its endpoints are missing"
    assert await ids(tools, question="rivers") == ["h2", "h1"]
    with pytest.raises(EnvironmentFailure, match="holds no documents"):
        await tools.call("query_movie", {"question": "x"})
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*")} == before


async def test_a_folder_that_is_no_chroma(write: Write, tmp_path: Path) -> None:
    world = dataset(write, {"data/indexed_documents/chroma.sqlite3": b"not a database"})
    with pytest.raises(EnvironmentFailure, match="no documents for the collection hockey"):
        await DocumentTools(world, "hockey").call("query_hockey", {"question": "x"})
    connection = sqlite3.connect(tmp_path / "data" / "other.sqlite3")
    connection.execute("CREATE TABLE collections (name TEXT)")
    connection.execute("INSERT INTO collections VALUES ('hockey')")
    connection.commit()
    connection.close()
    (tmp_path / "data" / "other.sqlite3").replace(tmp_path / "data" / "indexed_documents" / "chroma.sqlite3")
    with pytest.raises(EnvironmentFailure, match="cannot be read as a ChromaDB folder"):
        await DocumentTools(world, "hockey").call("query_hockey", {"question": "x"})


# --- vectors ---------------------------------------------------------------------------------------------------------


class Topics:
    """An embedder that knows two topics by their words; it counts what it is asked."""

    model = "topics"

    def __init__(self, numbers: int = 3) -> None:
        self.asked: list[str] = []
        self.numbers = numbers

    async def embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.extend(texts)
        return [
            [float("medal" in text or "trophies" in text), float("river" in text or "streams" in text), 0.1][
                : self.numbers
            ]
            for text in texts
        ]


async def test_vectors_find_what_words_do_not(write: Write, tmp_path: Path) -> None:
    world = dataset(write, {"data/documents/hockey_docs.json": DOCS})
    embedder = Topics()
    tools = DocumentTools(world, "hockey", embedder=embedder, cache=tmp_path / "cache")
    assert await ids(tools, question="streams", n_results=1) == ["d2"]
    assert (await ids(tools, question="trophies"))[0] == "d1"
    asked = len(embedder.asked)
    assert asked == 5
    again = DocumentTools(world, "hockey", embedder=embedder, cache=tmp_path / "cache")
    assert await ids(again, question="streams", n_results=1) == ["d2"]
    assert len(embedder.asked) == asked, "no text is asked for twice, in another session either"


async def test_vectors_of_different_lengths_are_refused(write: Write, tmp_path: Path) -> None:
    world = dataset(write, {"data/documents/hockey_docs.json": DOCS})
    tools = DocumentTools(world, "hockey", embedder=Topics(), cache=tmp_path / "cache")
    await tools.call("query_hockey", {"question": "streams"})
    other = DocumentTools(world, "hockey", embedder=Topics(2), cache=tmp_path / "cache")
    with pytest.raises(EnvironmentFailure, match="vector of 2 numbers"):
        await other.call("query_hockey", {"question": "unseen"})


class Silent(Topics):
    async def embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        return []


async def test_an_endpoint_that_leaves_texts_out(write: Write, tmp_path: Path) -> None:
    world = dataset(write, {"data/documents/hockey_docs.json": DOCS})
    tools = DocumentTools(world, "hockey", embedder=Silent(), cache=tmp_path / "cache")
    with pytest.raises(EnvironmentFailure, match="0 vectors for 3 texts"):
        await tools.call("query_hockey", {"question": "x"})


async def test_a_cache_that_cannot_be_written_only_costs_asking_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE VIRTUAL TABLE passages USING fts5(id UNINDEXED, text)")
    connection.execute("INSERT INTO passages VALUES ('a', 'medals')")
    vectors = VectorIndex(Topics(), tmp_path / "file")
    await vectors.load(PassageIndex(connection, "x"))
    assert [hit.id for hit in await vectors.search("trophies", 5)] == ["a"]


RANKINGS = st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6), min_size=1, max_size=3)


@given(RANKINGS)
def test_fusion_keeps_every_passage_once_and_what_all_agree_on_first(rankings: list[list[str]]) -> None:
    hits = [[Hit(id=name, text=name, score=0.0) for name in ranking] for ranking in rankings]
    found = [hit.id for hit in fused(hits, 99)]
    assert sorted(found) == sorted({name for ranking in rankings for name in ranking})
    if all(ranking and ranking[0] == rankings[0][0] for ranking in rankings):
        assert found[0] == rankings[0][0]
    assert found == [hit.id for hit in fused(hits[::-1], 99)]


def test_passages_are_values() -> None:
    assert Passage(id="a", text="b") == Passage(id="a", text="b")


# --- an endpoint -----------------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint() -> Iterator[str]:
    """A real server that makes vectors as ``Topics`` does, and refuses the model ``broken``. Gives its address."""
    import threading

    import uvicorn
    from fastapi import FastAPI, HTTPException

    application = FastAPI()

    @application.post("/v1/embeddings")
    async def embeddings(body: dict[str, Any]) -> dict[str, Any]:
        if body["model"] == "broken":
            raise HTTPException(status_code=400, detail="no such model")
        vectors = await Topics().embeddings(body["input"])
        data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
        return {
            "object": "list",
            "model": body["model"],
            "data": data,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }

    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    server = Server(uvicorn.Config(application, port=0, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert started.wait(60)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/v1"
    server.should_exit = True
    thread.join()


async def test_vectors_from_an_endpoint(write: Write, tmp_path: Path, endpoint: str) -> None:
    world = dataset(write, {"data/documents/hockey_docs.json": DOCS})
    variables = {"VAKRA_TUI_EMBEDDINGS_MODEL": "topics", "VAKRA_TUI_EMBEDDINGS_BASE_URL": endpoint}
    tools = DocumentTools(world, "hockey", embedder=embedder_from_environment(variables), cache=tmp_path / "cache")
    assert await ids(tools, question="streams", n_results=1) == ["d2"]
    assert (await ids(tools, question="trophies"))[0] == "d1"
    broken = embedder_from_environment({**variables, "VAKRA_TUI_EMBEDDINGS_MODEL": "broken"})
    with pytest.raises(EnvironmentFailure, match="embeddings endpoint gave no vectors"):
        await DocumentTools(world, "hockey", embedder=broken, cache=tmp_path / "cache").call(
            "query_hockey", {"question": "x"}
        )


def test_without_a_model_there_are_no_vectors() -> None:
    assert embedder_from_environment({"VAKRA_TUI_EMBEDDINGS_BASE_URL": "http://127.0.0.1:9"}) is None
