"""A database with documents: every pattern, dialogues, policies of every sort, and sources that are kept apart."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eval.checks import check_dataset
from eval.environments import EnvironmentChain
from toolenv.build.build_plan import BuildFiles
from toolenv.build.builder import Built, build
from toolenv.build.generate import BuildSettings
from toolenv.build.policies import PolicyDeck
from toolenv.dataset import Dataset
from toolenv.native import NativeEnvironment

PASSAGES = {
    "voss": "Mirela Voss was born in Trieste. Mirela Voss was taught by Anton Keller. She sings in three languages.",
    "kettles": "The Tin Kettles was founded in 1994 by Rosa Lindqvist. The band toured for a decade.",
    "lights": "Harbour Lights was founded in 2003 by Ewan Baird. It took its name from a café in Aberdeen.",
    "brandt": "Ola Brandt was born in 1971 in Bergen. Ola Brandt was discovered by Nils Aas in a church choir.",
    "nandu": "Señor Ñandú was founded in 1988 by Pilar Otero and Luz Vega. It plays at fairs.",
    "engines": "Quiet Engines was founded in 2011 by Tom Hale. They build their own instruments.",
    "jazz": "Jazz was shaped by Buddy Bolden. It grew up in New Orleans.",
    "opera": "Opera was invented in 1597 in Florence. The first one is lost.",
    "leak": "Copper Moon is an album by Ola Brandt that sold well.",
    "rain": "Rain falls when warm air rises and cools.",
}
OTHERS = {
    "fog": "Fog is a cloud that touches the ground.",
    "other-leak": "Song 17, Folk at its best, is about a foggy morning; Copper Moon by Ola Brandt is another.",
}


def _write(path: Path, passages: dict[str, str]) -> Path:
    path.write_text(json.dumps([{"doc_id": k, "text": v} for k, v in passages.items()]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def told(music: BuildFiles, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    folder = tmp_path_factory.mktemp("documents")
    files = BuildFiles(
        database=music.database,
        questions=music.questions,
        domain="music",
        documents=_write(folder / "music_docs.json", PASSAGES),
        distractors=(_write(folder / "weather_docs.json", OTHERS),),
    )
    out = folder / "out"
    return out, asyncio.run(build(files, out, BuildSettings(chains=10, multi_source=90)))


@pytest.fixture(scope="module")
def records(told: tuple[Path, Built]) -> list[dict[str, Any]]:
    path = told[0] / "test" / "capability_4_multiturn" / "output" / "music.json"
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


async def test_it_holds(told: tuple[Path, Built]) -> None:
    dataset = Dataset.open(told[0])
    environments = EnvironmentChain([NativeEnvironment(dataset)])
    report = await check_dataset(dataset, environments)
    await environments.close()
    assert report.holds, [f for f in report.findings if f.is_error]


def test_paths_of_every_pattern_and_dialogues(records: list[dict[str, Any]], told: tuple[Path, Built]) -> None:
    assert {r["hop_pattern"] for r in records} == {"API", "RAG", "API-RAG", "RAG-API", "API-RAG-API", "NONE"}
    inputs = json.loads((told[0] / "test/capability_4_multiturn/input/music.json").read_text(encoding="utf-8"))
    turns = [i["dialogue"]["turns"] for i in inputs]
    assert {len(t) for t in turns} == {1, 2, 3}
    assert all("answer" in turn for t in turns for turn in t[:-1])
    assert all("answer" not in t[-1] for t in turns)


def test_policies_of_every_sort_and_effect(records: list[dict[str, Any]]) -> None:
    notes = [r["policy"] for r in records if r.get("policy")]
    seen = Counter((n["kind"], n["applies"], n["effect"]) for n in notes)
    kinds = ("only_rag", "only_api", "first_rag", "first_api")
    wanted = {(kind, applies, "none") for kind in kinds for applies in (True, False)}
    wanted |= {(kind, True, "source_changed") for kind in kinds}
    wanted |= {(kind, True, "unanswerable") for kind in ("only_rag", "only_api")}
    assert set(seen) == wanted
    scopes = {(n["kind"], n["topic"] is not None, n["applies"]) for n in notes}
    assert scopes == {(kind, *rest) for kind in kinds for rest in ((True, True), (True, False), (False, True))}


def test_a_name_among_several_is_no_answer(records: list[dict[str, Any]]) -> None:
    answers = {str(h["answer"][0]) for r in records for h in r["output"][-1]["hops"] if h["source"] == "RAG"}
    assert "Rosa Lindqvist" in answers
    assert not answers & {"Pilar Otero", "Luz Vega"}


def test_the_card_says_which_passages_were_left_out(told: tuple[Path, Built]) -> None:
    card = json.loads((told[0] / "card.json").read_text(encoding="utf-8"))["domains"]["music"]
    gone = {(leak["collection"], leak["doc_id"]) for leak in card["removed_passages"]}
    assert ("weather", "other-leak") in gone
    assert card["collections"]["offered"] == ["music", "weather"]
    assert card["collections"]["passages"]["weather"] == {"given": 2, "left out": 1}
    for collection, doc_id in gone:
        left = json.loads((told[0] / "documents" / f"{collection}_docs.json").read_text(encoding="utf-8"))
        assert doc_id not in {p["doc_id"] for p in left}
    assert "| weather | other-leak |" in (told[0] / "CARD.md").read_text(encoding="utf-8")


def test_the_deck_gives_every_sort_in_ever_new_words() -> None:
    deck = PolicyDeck("music", "Shops")
    assert len({p.sort for p in deck.each()}) == len(deck.each()) == 12
    first = next(p for p in deck.each() if p.sort == ("only_rag", True, False))
    assert deck.take(first) is first
    second = next(p for p in deck.each() if p.sort == first.sort)
    assert second is not first
    assert second.text != first.text
