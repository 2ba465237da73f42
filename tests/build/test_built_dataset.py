"""A dataset built from a database that the builder has never seen."""

# ruff: noqa: ASYNC240
from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from eval.checks import check_dataset
from eval.environments import EnvironmentChain
from tests.build.conftest import DISTRACTORS, SETTINGS
from tests.build.music_shop import QUESTIONS
from toolenv.build.build_plan import BuildFiles
from toolenv.build.builder import Built, build
from toolenv.build.generate import BuildSettings
from toolenv.build.stopping import stopping_on
from toolenv.build.template import make_template
from toolenv.dashboards.definition import load_endpoints
from toolenv.dataset import Dataset
from toolenv.errors import DataError
from toolenv.native import NativeEnvironment
from toolenv.policy import applicability_of, is_refusal, policy_of


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def card_of(out: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads((out / "card.json").read_text(encoding="utf-8"))["domains"]["music"]
    return card


@pytest.mark.parametrize("split", ["test", "train"])
async def test_every_ground_truth_passes_the_check(built: tuple[Path, Built], split: str) -> None:
    dataset = Dataset.open(built[0], split)
    environments = EnvironmentChain([NativeEnvironment(dataset)])
    report = await check_dataset(dataset, environments)
    await environments.close()
    assert report.holds, [f for f in report.findings if f.is_error]
    assert report.instances == report.executed == report.passed > 10
    assert not dataset.problems


def test_every_kind_of_instance_is_there(built: tuple[Path, Built]) -> None:
    dataset = Dataset.open(built[0])
    instances = [dataset.load(ref) for ref in dataset.refs()]
    assert {i.capability for i in instances} == {1, 2, 3, 4}
    assert {i.author_keys.get("server_type") for i in instances if i.capability == 1} == {"slot_filling", "selection"}
    hops = Counter(len(i.ground_truth.evaluated.calls) for i in instances if i.capability == 3 and i.ground_truth)
    assert hops.keys() == {1, 2, 3}
    patterns = {i.author_keys["hop_pattern"] for i in instances if i.capability == 4}
    assert {"API", "RAG", "API-RAG", "RAG-API", "API-RAG-API"} <= patterns
    assert {len(i.turns) for i in instances if i.capability == 4} >= {1, 2}
    assert all(turn.answer for i in instances for turn in i.turns[:-1])
    assert set(dataset.collections("music")) == {"music", "weather"}


def test_policies_are_what_their_notes_say(built: tuple[Path, Built]) -> None:
    dataset = Dataset.open(built[0])
    seen = Counter()
    for ref in dataset.refs(4):
        instance = dataset.load(ref)
        note = instance.author_keys.get("policy")
        truth = instance.ground_truth
        assert truth is not None
        if not note:
            assert instance.policy == "" and not is_refusal(truth.evaluated.answer)
            continue
        policy = policy_of(instance)
        assert policy.kind not in ("unknown", "none") and not policy.unrecognised
        assert (applicability_of(instance) == "applies") is note["applies"]
        assert is_refusal(truth.evaluated.answer) is (note["effect"] == "unanswerable") is (not truth.evaluated.calls)
        seen[note["effect"]] += 1
    assert seen["none"] >= 2


def test_what_is_left_out_is_told_with_its_reason(built: tuple[Path, Built]) -> None:
    card = card_of(built[0])
    reasons = {r["subject"]: r["reason"] for r in card["rejections"] if r["stage"] == "endpoint"}
    assert set(reasons) == {
        "How long is nothing?",
        "Is this SQL?",
        "What is the title of the employee Ada Berg?",
    }
    assert card["questions"] == {
        "read": len(QUESTIONS),
        "became endpoints": len(QUESTIONS) - len(reasons),
        "merged with an equal template": 2,
    }
    tasks = {r["subject"]: r["reason"] for r in card["rejections"] if r["stage"] == "endpoint task"}
    assert "LIMIT without ORDER BY" in tasks["Name one customer."]
    chains = {(r["stage"], r["subject"]): r["reason"] for r in card["rejections"]}
    assert "GROUP BY" in chains[("slot chain", "Which genres have more than 20 tracks?")]
    assert "three rows" in chains[("slot chain", "List the tracks of the album Copper Moon.")]
    text = (built[0] / "CARD.md").read_text(encoding="utf-8")
    assert "GROUP BY is not among what the BI tools can do" in text


def test_no_template_is_in_both_splits(built: tuple[Path, Built]) -> None:
    used: dict[str, set[str]] = {}
    for split in ("test", "train"):
        dataset = Dataset.open(built[0], split)
        truths = [dataset.load(ref).ground_truth for ref in dataset.refs()]
        used[split] = {
            call.name
            for truth in truths
            if truth is not None
            for turn in truth.turns
            for call in turn.calls
            if call.name.startswith("get_") and call.name != "get_data" and "data_label" not in call.arguments
        }
    assert used["test"] and used["train"]
    assert not used["test"] & used["train"]


def test_endpoints_say_what_they_are(built: tuple[Path, Built]) -> None:
    endpoints = load_endpoints(built[0] / "endpoints" / "music.json").endpoints
    assert len(endpoints) == built[1].report.endpoints["music"] > 20
    assert all(e.summary and all(p.description for p in e.parameters) for e in endpoints)
    assert len({e.sql for e in endpoints}) == len(endpoints)
    merged = [
        e for e in endpoints if e.sql.startswith("SELECT COUNT(*)") and [p.name for p in e.parameters] == ["country"]
    ]
    assert len(merged) == 1, [e.sql for e in merged]


async def test_equal_seeds_make_equal_bytes(built: tuple[Path, Built], music: BuildFiles, tmp_path: Path) -> None:
    await build(music, tmp_path / "again", SETTINGS, distractors=DISTRACTORS)
    assert all_bytes(tmp_path / "again") == all_bytes(built[0])
    await build(music, tmp_path / "other", BuildSettings(chains=40, multi_source=20, seed=1), distractors=DISTRACTORS)
    assert all_bytes(tmp_path / "other") != all_bytes(built[0])


async def test_the_source_is_untouched_and_nothing_else_is_written(music: BuildFiles, tmp_path: Path) -> None:
    folder = tmp_path / "source"
    shutil.copytree(music.database.parent, folder)
    before = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    files = BuildFiles(database=folder / "music.sqlite", questions=folder / "questions.json", domain="music")
    try:
        await build(files, tmp_path / "out", BuildSettings(chains=6))
    finally:
        folder.chmod(0o755)
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "source"]
    assert not list((tmp_path / "out").rglob(".*"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"domain": "../music"}, "must be an identifier"),
        ({"domain": "9music"}, "must be an identifier"),
        ({"database": Path("nowhere.sqlite")}, "cannot be read"),
        ({"questions": Path("nowhere.json")}, "cannot be read"),
        ({"documents": Path("nowhere.json")}, "cannot be read"),
        ({"distractors": (Path("music_docs.json"),)}, "cannot be read"),
    ],
)
async def test_files_that_cannot_be_used(music: BuildFiles, tmp_path: Path, change: dict[str, Any], words: str) -> None:
    import msgspec

    with pytest.raises(DataError, match=words):
        await build(msgspec.structs.replace(music, **change), tmp_path / "out", SETTINGS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '[{"question": "?"}]', "[]", '[{"question": "", "SQL": "SELECT 1"}]']
)
async def test_questions_that_are_none(music: BuildFiles, tmp_path: Path, content: str) -> None:
    import msgspec

    path = tmp_path / "questions.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"questions\.json"):
        await build(msgspec.structs.replace(music, questions=path), tmp_path / "out", SETTINGS)
    assert not (tmp_path / "out").exists()


async def test_a_folder_that_holds_something_is_left_alone(music: BuildFiles, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(DataError, match="not an empty folder"):
        await build(music, tmp_path, SETTINGS)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


async def test_what_a_killed_build_left_is_no_dataset(music: BuildFiles, tmp_path: Path) -> None:
    (tmp_path / "out" / ".building" / "test").mkdir(parents=True)
    with pytest.raises(DataError, match=r"holds only \.building"):
        await build(music, tmp_path / "out", SETTINGS)


async def test_a_build_that_is_asked_to_end_leaves_nothing(music: BuildFiles, tmp_path: Path) -> None:
    asked = Event()

    def after_a_while(told: str) -> None:
        if "tasks to execute" in told:
            asked.set()

    with stopping_on(asked), pytest.raises(KeyboardInterrupt):
        await build(music, tmp_path / "out", SETTINGS, progress=after_a_while)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_is_no_database(music: BuildFiles, tmp_path: Path) -> None:
    import msgspec

    path = tmp_path / "text.sqlite"
    path.write_text("this is text, and long enough to be read as a header of something", encoding="utf-8")
    with pytest.raises(DataError, match="is not a SQLite database"):
        await build(msgspec.structs.replace(music, database=path), tmp_path / "out", SETTINGS)


def test_a_template_knows_what_its_parameters_are_compared_with(music: BuildFiles) -> None:
    import sqlite3

    from toolenv.build.database_schema import read_schema

    connection = sqlite3.connect(music.database)
    schema = read_schema(connection)
    connection.close()
    template = make_template(
        "SELECT Name, Milliseconds + 1 FROM Track WHERE Composer = 'Voss' AND UnitPrice > 1", schema
    )
    assert {n: (b.source.column, b.equality) for n, b in template.bounds.items()} == {
        "composer": ("Composer", True),
        "min_unit_price": ("UnitPrice", False),
    }
    assert [o.column if o else None for o in template.outputs] == ["Name", None]
