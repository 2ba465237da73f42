"""Plans of several domains, stated tasks and what a question is to become: the built-in sample's own way too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolenv.build.build_plan import BuildFiles, read_plan_file
from toolenv.build.questions import read_questions
from toolenv.build.stated_tasks import read_tasks
from toolenv.dataset import Dataset
from toolenv.errors import DataError
from vakra_tui.cli import main
from vakra_tui.sample import sample_dataset
from vakra_tui.sample.sources import write_sources

SMALL = {"chains": 6, "multi_source": 0, "train_share": 0}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def write_plan(folder: Path, *domains: dict[str, Any], **more: Any) -> Path:
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump({"format": "vakra-tui/plan@1", "domains": list(domains), **more}), encoding="utf-8")
    return path


def entry(music: BuildFiles, domain: str = "music", **more: Any) -> dict[str, Any]:
    return {"domain": domain, "db": str(music.database), "questions": str(music.questions), **SMALL, **more}


def fails(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        code = main(["build", *words])
    except SystemExit as stop:
        code = int(str(stop.code))
    assert code == 2
    return capsys.readouterr().err


def test_the_sample_is_what_the_command_makes_of_its_sources(tmp_path: Path) -> None:
    plan = write_sources(tmp_path / "sources")
    command = [sys.executable, "-m", "vakra_tui", "build", "--plan", str(plan), "--out", str(tmp_path / "made")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "34 instances and 140 endpoints" in done.stdout
    assert files_of(tmp_path / "made") == files_of(sample_dataset())


def test_two_domains_are_offered_each_other_s_documents(music: BuildFiles, tmp_path: Path) -> None:
    documents = str(music.documents)
    domains = [entry(music, "music", documents=documents), entry(music, "songs", documents=documents)]
    plan = write_plan(tmp_path, *domains, entry(music, "bare"))
    assert main(["build", "--plan", str(plan), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    dataset = Dataset.open(tmp_path / "out")
    assert {ref.domain for ref in dataset.refs()} == {"music", "songs", "bare"}
    assert set(dataset.collections("music")) == {"music", "songs"}
    assert not dataset.problems
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    assert list(card["domains"]) == ["music", "songs", "bare"]
    assert card["domains"]["bare"]["collections"] == {}
    text = (tmp_path / "out" / "CARD.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        "# Dataset card: music",
        "# Dataset card: songs",
        "# Dataset card: bare",
    ]


def test_questions_become_what_they_are_to_become(music: BuildFiles, tmp_path: Path) -> None:
    questions = tmp_path / "questions.yaml"
    given = json.loads(music.questions.read_text(encoding="utf-8"))
    wanted = [
        {"key": "mine", "become": ["slot"], **given[0]},
        {"key": "both", "become": ["sel", "endpoint"], **given[1]},
        {"become": ["tool"], **given[4]},
    ]
    questions.write_text(yaml.safe_dump(wanted), encoding="utf-8")
    plan = write_plan(tmp_path, entry(music, questions=str(questions)) | {"chains": 0})
    assert main(["build", "--plan", str(plan), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    dataset = Dataset.open(tmp_path / "out")
    queries = {(ref.capability, dataset.load(ref).turns[-1].query) for ref in dataset.refs()}
    assert queries == {(1, given[0]["question"]), (1, given[1]["question"]), (2, given[1]["question"])}
    tools = json.loads((tmp_path / "out" / "endpoints" / "music.json").read_text(encoding="utf-8"))["endpoints"]
    assert len(tools) == 2


def test_a_strict_plan_ends_where_something_cannot_be(
    music: BuildFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path, entry(music), strict=True)
    told = fails(["--plan", str(plan), "--out", str(tmp_path / "out"), "--quiet"], capsys)
    assert "the plan is strict" in told and "of music cannot be" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: [", "is not YAML (line"),
        ("a: 2001-99-99", "is not YAML"),
        ("[]", "is not a plan"),
        ("format: other\ndomains: []", "has the format 'other'"),
        ("format: vakra-tui/plan@1\ndomains: []", "names no domain"),
        ("format: vakra-tui/plan@1\ndomains: [{domain: a, db: a, questions: b, chain: 1}]", "chain"),
        ("format: vakra-tui/plan@1\ndomains: [{domain: a, db: a, questions: b, chains: -1}]", "not below 0"),
        ("format: vakra-tui/plan@1\ndomains: [{domain: a, db: a, questions: b, hop_weights: []}]", "one to 5"),
        ("format: vakra-tui/plan@1\ndomains: [{domain: a, db: a, questions: b, train_share: 1}]", "below 1"),
        (
            "format: vakra-tui/plan@1\ndomains: [{domain: a, db: a, questions: b}, {domain: a, db: a, questions: b}]",
            "two domains of the name 'a'",
        ),
    ],
)
def test_plans_that_are_none(content: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(content, encoding="utf-8")
    assert words in fails(["--plan", str(path), "--out", str(tmp_path / "out")], capsys)
    assert not (tmp_path / "out").exists()


def test_a_plan_says_everything_of_its_domains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--db cannot go with --plan" in fails(["--plan", "p", "--db", "d", "--out", "o"], capsys)
    assert "--seed cannot go with --plan" in fails(["--plan", "p", "--seed", "0", "--out", "o"], capsys)
    assert "--out must be given" in fails(["--plan", "p"], capsys)
    assert "cannot be read" in fails(["--plan", str(tmp_path / "p"), "--out", str(tmp_path / "o")], capsys)


HOP = {"query": "Where is Ann?", "sql": "SELECT 1"}
PASSAGE = {"query": "Who?", "answer": "Ann", "doc_id": "d1"}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"capability": 3, "query": "?", "hops": [HOP]}, "key"),
        ({"key": "a", "capability": 5, "query": "?", "hops": [HOP]}, "capability is one of 1, 2, 3, 4"),
        ({"key": "a", "capability": 3, "query": "?"}, "needs its answer"),
        ({"key": "a", "capability": 3, "query": "?", "hops": [PASSAGE]}, "documents are of capability 4"),
        ({"key": "a", "capability": 2, "query": "?", "hops": [HOP, HOP]}, "has one hop"),
        ({"key": "a", "capability": 2, "query": "?", "sql": "SELECT 1", "style": "slot"}, "style is for capability 1"),
        ({"key": "a", "capability": 1, "query": "?", "sql": "SELECT 1"}, "style is for capability 1"),
        ({"key": "a", "capability": 4, "query": "?", "hops": [PASSAGE | {"doc_id": "d2"}]}, "no document 'd2'"),
        ({"key": "a", "capability": 4, "turns": []}, "no turn"),
        ({"key": "a", "capability": 4, "turns": ["?"]}, "cannot be a task"),
        ({"key": "a", "capability": 3, "query": "?", "hops": [HOP], "polcy": "x"}, "nothing is known of polcy"),
        ({"key": "a", "capability": 3, "query": 7, "hops": [HOP]}, "str"),
    ],
)
def test_stated_tasks_that_are_none(record: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([record]), encoding="utf-8")
    with pytest.raises(DataError, match="record 1") as caught:
        read_tasks(path, {"d1"})
    assert words in str(caught.value)


@pytest.mark.parametrize("more", [{"become": "slot"}, {"become": ["screen"]}, {"key": 7}, {"key": ""}])
def test_what_no_question_can_become(more: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([{"question": "?", "SQL": "SELECT 1", **more}]), encoding="utf-8")
    with pytest.raises(DataError, match="record 1"):
        read_questions(path)


def test_paths_of_a_plan_are_relative_to_it(tmp_path: Path) -> None:
    plan = read_plan_file(write_sources(tmp_path))
    assert [d.files.database for d in plan.domains] == [
        tmp_path / f"{d}.sqlite" for d in ("elements", "missions", "waters")
    ]


def test_two_tasks_of_one_key(music: BuildFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = tmp_path / "tasks.json"
    given = json.loads(music.questions.read_text(encoding="utf-8"))[0]
    record = {"key": "endpoint/0", "capability": 2, "query": given["question"], "sql": given["SQL"]}
    tasks.write_text(json.dumps([record]), encoding="utf-8")
    words = ["--db", str(music.database), "--questions", str(music.questions), "--domain", "music", "--chains", "0"]
    told = fails([*words, "--tasks", str(tasks), "--out", str(tmp_path / "out"), "--quiet"], capsys)
    assert "have the key 'endpoint/0'" in told


def _stated(folder: Path, *tasks: dict[str, Any]) -> str:
    path = folder / "tasks.json"
    path.write_text(json.dumps(list(tasks)), encoding="utf-8")
    return str(path)


def test_a_stated_split_holds_for_all_that_share_its_template(
    music: BuildFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT COUNT(*) FROM Customer WHERE Country = 'France'"
    mine = {"key": "mine", "capability": 2, "query": "How many of them live in France?", "sql": sql}
    words = ["--db", str(music.database), "--questions", str(music.questions), "--domain", "music", "--chains", "12"]
    for split, other in (("train", "test"), ("test", "train")):
        tasks = _stated(tmp_path, {**mine, "split": split})
        out = tmp_path / split
        assert main(["build", *words, "--tasks", tasks, "--out", str(out), "--quiet"]) == 0
        name = "get_count_of_customer_by_country"
        assert name in (out / split / "capability_2_dashboard_apis" / "output" / "music.json").read_text("utf-8")
        assert all(name not in path.read_text("utf-8") for path in (out / other).rglob("output/*.json"))
    capsys.readouterr()
    tasks = _stated(tmp_path, {**mine, "split": "train"}, {**mine, "key": "yours", "query": "And how many in France?"})
    told = fails([*words, "--tasks", tasks, "--out", str(tmp_path / "both"), "--quiet"], capsys)
    assert "another split uses its" in told


def _documents(folder: Path, name: str, passages: dict[str, str], shared: str = "") -> str:
    path = folder / f"{name}_docs.json"
    records = [{"doc_id": k, "text": v, **({"shared": True} if k == shared else {})} for k, v in passages.items()]
    path.write_text(json.dumps(records), encoding="utf-8")
    return str(path)


def test_a_collection_offered_twice_lacks_what_answers_either_domain(music: BuildFiles, tmp_path: Path) -> None:
    joined = "Album JOIN Artist ON Album.ArtistId = Artist.ArtistId"
    sql = f"SELECT Artist.Name FROM {joined} WHERE Album.Title = 'Copper Moon'"
    told = {"leak": "Copper Moon is an album by Ola Brandt.", "fog": "Fog is a cloud that touches the ground."}
    own = {"voss": "Mirela Voss was taught by Anton Keller."}
    weather = _documents(tmp_path, "weather", told)
    asked = {"key": "mine", "capability": 4, "query": "Whose album is Copper Moon?", "sql": sql}
    first = entry(music, "music", documents=_documents(tmp_path, "music", own), distractors=[weather])
    other = {**told, "kept": "Harbour Lights was founded by Ewan Baird, after Copper Moon by Ola Brandt."}
    taught = {"query": "By whom was Harbour Lights founded?", "answer": "Ewan Baird", "doc_id": "kept"}
    needs = {"key": "needs", "capability": 4, "query": "Who founded Harbour Lights?", "hops": [taught]}
    second = entry(music, "songs", documents=_documents(tmp_path, "songs", other), distractors=[weather])
    plan = write_plan(
        tmp_path,
        {**first, "chains": 0, "tasks": _stated(tmp_path, asked)},
        {**second, "chains": 0},
    )
    out = tmp_path / "out"
    assert main(["build", "--plan", str(plan), "--out", str(out), "--quiet"]) == 0
    left = {name: [p["doc_id"] for p in json.loads((out / f"documents/{name}_docs.json").read_text("utf-8"))]
            for name in ("music", "songs", "weather")}  # fmt: skip
    assert left == {"music": ["voss"], "songs": ["fog"], "weather": ["fog"]}
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))["domains"]
    gone = {(leak["collection"], leak["doc_id"]) for leak in card["music"]["removed_passages"]}
    assert gone == {("songs", "leak"), ("songs", "kept"), ("weather", "leak")}
    (tmp_path / "songs").mkdir()
    plan = write_plan(
        tmp_path,
        {**first, "chains": 0, "tasks": _stated(tmp_path, asked)},
        {**second, "chains": 0, "tasks": _stated(tmp_path / "songs", needs)},
    )
    assert main(["build", "--plan", str(plan), "--out", str(tmp_path / "needed"), "--quiet"]) == 0
    card = json.loads((tmp_path / "needed" / "card.json").read_text(encoding="utf-8"))["domains"]
    refused = {r["subject"]: r["reason"] for r in card["music"]["rejections"]}
    assert "passage kept of songs gives 'Ola Brandt' too" in refused["Whose album is Copper Moon?"]


def test_two_collections_of_one_name(music: BuildFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = {"voss": "Mirela Voss was taught by Anton Keller."}
    domains = []
    for name in ("music", "songs"):
        (tmp_path / name).mkdir()
        weather = _documents(tmp_path / name, "weather", {"fog": f"Fog is wet, says {name}."})
        domains.append(entry(music, name, documents=_documents(tmp_path, name, own), distractors=[weather], chains=0))
    plan = write_plan(tmp_path, *domains)
    assert "two different collections" in fails(["--plan", str(plan), "--out", str(tmp_path / "out")], capsys)
