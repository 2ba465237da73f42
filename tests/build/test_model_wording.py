"""A model's wording of questions and summaries, from a real server on the loopback interface."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st

from toolenv.build.build_plan import BuildFiles
from toolenv.build.rewording import EMPTY, LOST, NOT_ONE_LINE, SAME, TOLD, TOO_LONG, TURNED, UNLIKE, Values, refusal
from vakra_tui.cli import main

KEY = "sk-wording-0123456789abcdef"
Speaker = Callable[[str], str]


class Model:
    """A model that words each text as ``speaks`` says; ``asked`` keeps the requests that are not probes."""

    def __init__(self) -> None:
        self.speaks: Speaker = lambda text: f"Kindly: {text}"
        self.asked: list[dict[str, Any]] = []
        self.authorizations: set[str | None] = set()
        app = FastAPI()

        @app.post("/v1/chat/completions")
        async def complete(request: Request) -> dict[str, Any]:
            body = await request.json()
            self.authorizations.add(request.headers.get("authorization"))
            said = '{"ok": true}'
            if len(body["messages"]) > 1:
                self.asked.append(body)
                said = self.speaks(json.loads(body["messages"][-1]["content"])["text"])
            choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._listener.close()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    monkeypatch.setenv("VAKRA_TUI_WORDING_API_KEY", KEY)
    running = Model()
    yield running
    running.close()


def _build(music: BuildFiles, out: Path, url: str) -> int:
    assert music.documents is not None
    files = ["--db", str(music.database), "--questions", str(music.questions), "--documents", str(music.documents)]
    size = ["--chains", "12", "--multi-source", "4", "--train-share", "0", "--hop-weights", "0,1", "--quiet"]
    wording = ["--wording-model", "wordsmith", "--wording-base-url", url]
    return main(["build", *files, "--domain", "music", "--out", str(out), *size, *wording])


def _questions(out: Path) -> list[str]:
    path = out / "test" / "capability_3_multihop_reasoning" / "input" / "music.json"
    return [record["dialogue"]["turns"][-1]["query"] for record in json.loads(path.read_text(encoding="utf-8"))]


def _card(out: Path) -> Any:
    return json.loads((out / "card.json").read_text(encoding="utf-8"))["domains"]["music"]["wording"]


@pytest.fixture(scope="module")
def plain(music: BuildFiles, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The questions of the dataset whose model says every text again as it is."""
    running, out = Model(), tmp_path_factory.mktemp("plain") / "out"
    running.speaks = lambda text: text
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAKRA_TUI_WORDING_API_KEY", KEY)
        assert _build(music, out, running.url) == 0
    running.close()
    assert _card(out)["questions"]["taken"] == 0
    return _questions(out)


def test_wording_is_taken_and_the_dataset_holds(
    music: BuildFiles, model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    assert _build(music, out, model.url) == 0
    assert "wordsmith worded" in capsys.readouterr().out
    assert all(question.startswith("Kindly: ") for question in _questions(out))
    card = _card(out)
    assert card["model"] == "wordsmith"
    for what in ("questions", "summaries"):
        assert card[what]["taken"] == card[what]["asked"] > 10
    endpoints = json.loads((out / "endpoints" / "music.json").read_text(encoding="utf-8"))["endpoints"]
    assert all(endpoint["summary"].startswith("Kindly: ") for endpoint in endpoints)
    assert main(["build", "--check", str(out), "--quiet"]) == 0
    assert model.authorizations == {f"Bearer {KEY}"}
    assert KEY not in json.dumps(model.asked)
    assert _build(music, again, model.url) == 0
    files = [path.relative_to(out) for path in sorted(out.rglob("*")) if path.is_file()]
    assert all((out / name).read_bytes() == (again / name).read_bytes() for name in files)
    assert not any(KEY.encode() in (out / name).read_bytes() for name in files)
    assert not any(model.url.encode() in (out / name).read_bytes() for name in files)


@pytest.mark.parametrize(
    ("speaks", "why"),
    [
        (lambda text: "", EMPTY),
        (lambda text: "Shall we dance?", None),
        (lambda text: f"{text} It is number 86420.", TOLD),
        (lambda text: f"{text}\nSure!", NOT_ONE_LINE),
    ],
)
def test_wording_that_says_something_else_is_refused(
    music: BuildFiles, model: Model, plain: list[str], tmp_path: Path, speaks: Speaker, why: str | None
) -> None:
    out = tmp_path / "out"
    model.speaks = speaks
    assert _build(music, out, model.url) == 0
    assert _questions(out) == plain
    count = _card(out)["questions"]
    assert count["taken"] == 0
    assert sum(count["refused"].values()) == count["asked"]
    assert set(count["refused"]) == ({LOST, UNLIKE} if why is None else {why})
    assert all(f"kept because {said}" in (out / "CARD.md").read_text(encoding="utf-8") for said in count["refused"])
    assert _card(out)["summaries"]["taken"] == 0


def test_an_endpoint_that_is_not_there_leaves_nothing(
    music: BuildFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert _build(music, tmp_path / "out", f"http://127.0.0.1:{port}/v1") == 3
    assert "the model for the wording cannot be asked" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_address_without_a_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--db", "a", "--questions", "b", "--domain", "c", "--out", "d", "--wording-base-url", "http://e/v1"]
    with pytest.raises(SystemExit) as stop:
        main(["build", *words])
    assert stop.value.code == 2
    assert "--wording-base-url needs --wording-model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wording", "why"),
    [
        ("Where does the artist of Copper Moon live, of 3 albums?", None),
        ("", EMPTY),
        ("Where does the artist of Copper live, of 3 albums?", LOST),
        ("Where does the artist of Copper Moon live, of three albums?", LOST),
        ("Where does Ola Brandt, the artist of Copper Moon, live, of 3 albums?", TOLD),
        ("Does the artist of Copper Moon with 3 albums live in Oslo?", TOLD),
        ("Where does the artist of Copper Moon live, of 3 albums and 12 tracks?", TOLD),
        ("Where does the artist of Copper Moon live, of 3 albums? " + "Do tell. " * 30, TOO_LONG),
        ("Where is the artist of Copper Moon, of 3 albums, from?", SAME),
        ("Where does the artist of Copper Moon not live, of 3 albums?", TURNED),
        ("Where does the artist of Copper Moon\x1b[2J live, of 3 albums?", NOT_ONE_LINE),
    ],
)
def test_what_a_wording_may_say(wording: str, why: str | None) -> None:
    template = "Where is the artist of Copper Moon, of 3 albums, from?"
    values = Values(literals=("Copper Moon", 3, "Ola Brandt"), hidden=("Oslo", "Ola Brandt"))
    assert refusal(template, wording, values) == why


@pytest.mark.parametrize(
    ("template", "wording", "why"),
    [
        ("Which artist has the most albums?", "Which artist has the fewest albums?", TURNED),
        ("Which artist has the most albums?", "Which artist made the largest number of albums?", None),
        ("Length of track with the lowest price", "Length of the track with the highest price", TURNED),
        ("Count of albums for a given artist", "Shall we dance?", UNLIKE),
        ("Which track has the label '+'?", "Which track is labelled so?", LOST),
    ],
)
def test_a_wording_keeps_the_sense(template: str, wording: str, why: str | None) -> None:
    assert refusal(template, wording, Values(literals=("+",))) == why


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=2, max_size=12))
def test_an_answer_never_comes_in(answer: str) -> None:
    template = "Which city does the artist of Copper Moon come from?"
    wording = f"Which city, {answer}, does the artist of Copper Moon come from?"
    if refusal(template, wording, Values(hidden=(answer,))) is None:
        assert answer.lower() in template.lower()
