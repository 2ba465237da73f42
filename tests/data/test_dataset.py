"""Datasets: the layout, pairing, which files are data, universes, fingerprints (EVL-07, EVL-16)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.data.conftest import BI, DASHBOARDS, TURNS, UNIVERSES, call, question, truth
from toolenv.dataset import Dataset, InstanceRef
from toolenv.dataset.universes import UniverseFile
from toolenv.errors import DataError

Write = Callable[[Mapping[str, Any]], Path]
INPUT = f"test/{DASHBOARDS}/input"
OUTPUT = f"test/{DASHBOARDS}/output"


def test_a_dataset_is_opened_by_its_layout(hockey: Path) -> None:
    dataset = Dataset.open(hockey)
    assert dataset.problems == []
    assert [ref.uuid for ref in dataset.refs()] == ["u-1", "u-2"]
    first = dataset.refs(1, "hockey")[0]
    instance = dataset.load(first)
    assert instance.query == "Who scored most?"
    assert instance.universe_id == "u-1"
    assert instance.ground_truth is not None
    assert [made.name for made in instance.ground_truth.evaluated.calls] == [
        "get_data",
        "filter_data",
        "aggregate_data",
    ]
    assert instance.ground_truth.evaluated.answer == [2]
    assert dataset.database("hockey") == hockey / "databases" / "hockey" / "hockey.sqlite"
    assert dataset.documents("hockey") is None
    assert dataset.endpoints("hockey") is None
    raw = dataset.raw(first)
    assert raw[0] is not None
    assert raw[0]["dialogue"]["turns"][0]["query"] == "Who scored most?"


def test_selecting(write: Write) -> None:
    folder = write(
        {
            f"{INPUT}/movie.json": [question("m1", domain="movie"), question("m2", domain="movie")],
            f"{INPUT}/hockey.json": [question("h1")],
            f"test/{TURNS}/input/hockey.json": [question("t1", "one", "two")],
        }
    )
    dataset = Dataset.open(folder)
    assert [ref.uuid for ref in dataset.refs()] == ["h1", "m1", "m2", "t1"]
    assert [ref.uuid for ref in dataset.refs(capability=2)] == ["h1", "m1", "m2"]
    assert [ref.uuid for ref in dataset.refs(domain="hockey")] == ["h1", "t1"]
    assert [ref.uuid for ref in dataset.refs(2, "movie")] == ["m1", "m2"]
    assert [ref.position for ref in dataset.refs(2, "movie")] == [0, 1]
    assert dataset.refs(3) == ()
    assert [ref.uuid for ref in dataset.find("m")] == ["m1", "m2"]
    assert [ref.uuid for ref in dataset.find("m1")] == ["m1"]
    assert dataset.find("") == []
    assert dataset.find("zz") == []


def test_input_and_output_are_paired_by_uuid_whatever_their_order(write: Write) -> None:
    dataset = Dataset.open(
        write(
            {
                f"{INPUT}/hockey.json": [question("a", "asked a"), question("only input"), question("b", "asked b")],
                f"{OUTPUT}/hockey.json": [truth("b", answer="of b"), truth("only output"), truth("a", answer="of a")],
            }
        )
    )
    loaded = {ref.uuid: dataset.load(ref) for ref in dataset.refs()}
    assert list(loaded) == ["b", "only output", "a", "only input"]
    for name in ("a", "b"):
        assert loaded[name].query == f"asked {name}"
        assert loaded[name].ground_truth.evaluated.answer == f"of {name}"  # type: ignore[union-attr]
    assert loaded["only input"].ground_truth is None
    assert loaded["only output"].query == "q"


def test_a_test_set_has_no_ground_truth(write: Write) -> None:
    dataset = Dataset.open(write({f"{INPUT}/hockey.json": [question("a")]}))
    assert dataset.load(dataset.refs()[0]).ground_truth is None
    assert dataset.problems == []


def test_of_duplicates_the_last_counts_and_the_counts_agree(write: Write) -> None:
    records = [truth("dup", answer=["1"]), truth("dup", answer=["2"]), truth("ok", answer=["3"]), truth("", answer=[])]
    dataset = Dataset.open(write({f"{OUTPUT}/hockey.json": records}))
    assert [ref.uuid for ref in dataset.refs()] == ["dup", "ok"]
    assert dataset.load(dataset.refs()[0]).ground_truth.evaluated.answer == ["2"]  # type: ignore[union-attr]
    assert dataset.duplicates == 1
    assert any("dup" in note and "records 1, 2" in note for note in dataset.notes)
    counts = dataset.counts(2, "hockey")
    assert (counts.records, counts.without_uuid, counts.duplicates) == (4, 1, 1)
    assert counts.records == len(dataset.refs()) + counts.without_uuid + counts.duplicates
    assert any("record 4" in problem for problem in dataset.problems)


def test_only_the_domains_own_file_is_data(write: Write) -> None:
    stray = [truth("stray")]
    folder = write(
        {
            f"{OUTPUT}/hockey.json": [truth("a")],
            f"{OUTPUT}/._hockey.json": b"\x00\x05\x16\x07",
            f"{OUTPUT}/.hockey.json.tmp": stray,
            f"{OUTPUT}/hockey (1).json": stray,
            f"{OUTPUT}/hockey.json.bak": stray,
            f"{OUTPUT}/hockey_tools.json": stray,
            f"{OUTPUT}/results.json": stray,
            f"{OUTPUT}/README.md": "text",
            f"{OUTPUT}/Hockey.JSON": stray,
            f"{OUTPUT}/movie.jsonl": json.dumps(truth("m", domain="movie")),
            f"{OUTPUT}/folder.json/x": "text",
        }
    )
    dataset = Dataset.open(folder)
    assert {(ref.domain, ref.uuid) for ref in dataset.refs()} == {("hockey", "a"), ("movie", "m")}
    assert len(dataset.problems) == 1
    assert "Hockey.JSON is a second file for the domain of hockey.json" in dataset.problems[0]
    for name in ("hockey (1).json", "hockey.json.bak", "README.md"):
        assert any(name in note for note in dataset.notes)
    assert not any("_tools" in note or "results" in note or "._" in note for note in dataset.notes)


def test_what_is_no_regular_file_is_never_opened(write: Write) -> None:
    folder = write({f"{OUTPUT}/hockey.json": [truth("a")]})
    os.mkfifo(folder / OUTPUT / "movie.json")
    (folder / OUTPUT / "sales.json").symlink_to(folder / "nowhere.json")
    dataset = Dataset.open(folder)
    assert [ref.domain for ref in dataset.refs()] == ["hockey"]
    assert ["movie.json" in dataset.problems[0], "sales.json" in dataset.problems[1]] == [True, True]


def test_two_files_for_one_domain_of_which_neither_is_plain(write: Write) -> None:
    folder = write({f"{OUTPUT}/Hockey.JSON": [truth("a")], f"{OUTPUT}/HOCKEY.Json": [truth("b")]})
    if len(list((folder / OUTPUT).iterdir())) == 1:
        pytest.skip("this file system does not tell letter case apart")
    dataset = Dataset.open(folder)
    assert dataset.refs() == ()
    assert "two files for one domain" in dataset.problems[0]


def test_an_ending_in_another_case_is_data_where_it_is_the_only_one(write: Write) -> None:
    dataset = Dataset.open(write({f"{OUTPUT}/hockey.JSON": [truth("a")]}))
    assert [(ref.domain, ref.uuid) for ref in dataset.refs()] == [("hockey", "a")]


def test_a_broken_file_costs_only_itself(write: Write) -> None:
    folder = write(
        {
            f"{OUTPUT}/hockey.json": json.dumps([truth("a"), truth("b")])[:-40],
            f"{OUTPUT}/movie.json": {"data": [truth("m")]},
            f"{OUTPUT}/music.json": "",
            f"{OUTPUT}/sales.json": [truth("s", domain="sales")],
        }
    )
    dataset = Dataset.open(folder)
    assert [(ref.domain, ref.uuid) for ref in dataset.refs()] == [("hockey", "a"), ("sales", "s")]
    assert [problem.split()[0].rsplit("/", 1)[1] for problem in dataset.problems] == [
        "hockey.json",
        "movie.json",
        "music.json",
    ]
    assert all(problem.endswith(".") and "\n" not in problem for problem in dataset.problems)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_saved_by_other_programs_load(write: Write, encoding: str) -> None:
    text = json.dumps([truth("a", answer="caf\u00e9")], ensure_ascii=False).replace("\n", "\r\n")
    dataset = Dataset.open(write({f"{OUTPUT}/hockey.json": text.encode(encoding)}))
    assert dataset.problems == []
    assert dataset.load(dataset.refs()[0]).ground_truth.evaluated.answer == "caf\u00e9"  # type: ignore[union-attr]


def test_what_is_no_dataset_is_refused_with_a_sentence(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not there"):
        Dataset.open(tmp_path / "nowhere")
    file = tmp_path / "file.json"
    file.write_text("[]")
    with pytest.raises(DataError, match="is a file"):
        Dataset.open(file)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match="not a dataset in VAKRA's layout"):
        Dataset.open(empty)
    folder = write({f"{INPUT}/hockey.json": [question("a")]})
    with pytest.raises(DataError, match=r"no split 'train'; it has test"):
        Dataset.open(folder, split="train")
    with pytest.raises(DataError, match="DATA is the folder above it"):
        Dataset.open(folder / "test")
    with pytest.raises(DataError, match="cannot be the name of a split"):
        Dataset.open(folder, split="../test")


def test_another_split(write: Write) -> None:
    folder = write({f"train/{DASHBOARDS}/input/hockey.json": [question("t")], f"{INPUT}/hockey.json": [question("a")]})
    assert [ref.uuid for ref in Dataset.open(folder, split="train").refs()] == ["t"]


@pytest.mark.parametrize("domain", ["../../etc", "..", "", "a/b", "a\\b", "x y", "."])
def test_a_domain_from_data_is_never_a_path(hockey: Path, domain: str) -> None:
    dataset = Dataset.open(hockey)
    for look in (dataset.database, dataset.documents, dataset.endpoints):
        with pytest.raises(DataError, match="cannot be the name of a domain"):
            look(domain)


def test_an_instance_that_is_not_there(hockey: Path) -> None:
    with pytest.raises(DataError, match="no such instance"):
        Dataset.open(hockey).load(InstanceRef(capability=1, domain="hockey", uuid="x", position=0))


# --- universes -------------------------------------------------------------------------------------------------------


def test_universes(hockey: Path) -> None:
    dataset = Dataset.open(hockey)
    first, second = dataset.universes("hockey").values()
    assert dataset.universe("u-1") is first
    assert (first.id, first.domain, first.style) == ("u-1", "hockey", "slot")
    assert [(table.alias, table.original_name, table.modified_name) for table in first.tables] == [
        ("T1", "team", "team"),
        ("T2", "player", "player"),
    ]
    assert first.conditions == (("T1.id", "T2.team_id", "INNER"),)
    assert (second.style, second.tables[0].alias, second.conditions) == ("sel", "", ())
    assert second.query == "Which: team?"
    assert dataset.universe("nobody") is None
    assert dataset.universes("movie") == {}


def test_the_mapping_of_a_checkout(hockey: Path) -> None:
    (hockey / "environment").mkdir()
    shutil.move(hockey / "configs", hockey / "environment" / "configs")
    assert set(Dataset.open(hockey).universes("hockey")) == {"u-1", "u-2"}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "---\n# a comment\n" + text,
        lambda text: text.replace("u-1:", "'u-1':").replace("u-2:", '"u-2":  # second'),
        lambda text: json.dumps(_as_json()),
        lambda text: json.dumps(_as_json(), indent=1),
        lambda text: text.replace("u-2:\n", "u-2: &second\n"),
        lambda text: text.replace("  domain: hockey", "  domain: 'hockey'"),
    ],
)
def test_every_form_of_the_mapping_gives_the_same(tmp_path: Path, change: Callable[[str], str]) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(UNIVERSES, encoding="utf-8")
    plain = UniverseFile(path, "mapping.yaml")
    other = tmp_path / "other.yaml"
    other.write_bytes(change(UNIVERSES).encode())
    file = UniverseFile(other, "other.yaml")
    assert file.problems == []
    assert file.ids("hockey") == plain.ids("hockey") == ("u-1", "u-2")
    assert [file.get(uuid) for uuid in file.ids()] == [plain.get(uuid) for uuid in plain.ids()]


def _as_json() -> Any:
    import yaml

    return yaml.safe_load(UNIVERSES)


def test_entries_that_share_anchors(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(
        "a:\n  domain: hockey\n  init_args: &shared\n    alias_to_table_dict: {T: {original_table_name: team}}\n"
        "    condition_sequence: []\n  server_type: selection\n"
        "b:\n  domain: hockey\n  init_args: *shared\n  server_type: slot_filling\n"
    )
    file = UniverseFile(path, "mapping.yaml")
    second = file.get("b")
    assert second is not None
    assert second.tables[0].modified_name == "team"
    assert file.ids("hockey") == ("a", "b")


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("  domain: hockey\n", "has no init_args"),
        ("  domain: hockey\n  init_args: {}\n", "names no tables"),
        ("  domain: hockey\n  init_args: {alias_to_table_dict: {T: 5}}\n", "names no table for the alias 'T'"),
        (
            "  domain: hockey\n"
            "  init_args: {alias_to_table_dict: {T: {original_table_name: t}}, condition_sequence: [x]}\n",
            "no pair of columns",
        ),
        (
            "  domain: hockey\n"
            "  init_args:\n"
            "    a: &a [x, x, x, x, x, x, x, x, x]\n"
            "    b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
            "    c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
            "    d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
            "    e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
            "    f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
            "    g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f]\n"
            "    h: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g]\n"
            "    alias_to_table_dict: {T: {original_table_name: t}}\n"
            "    condition_sequence: [[*h, *h]]\n",
            "a list in place of a column",
        ),
        (
            "  domain: hockey\n  init_args: {alias_to_table_dict: {T: {original_table_name: t}}}\n  server_type: odd\n",
            "unknown server_type 'odd'",
        ),
        ("  domain: hockey\n  init_args: [\n", "is not valid YAML"),
    ],
)
def test_an_odd_entry_costs_only_itself(hockey: Path, entry: str, sentence: str) -> None:
    path = hockey / "configs" / "mcp_tool_universe_id_mapping.yaml"
    path.write_text(f"odd:\n{entry}{UNIVERSES}")
    dataset = Dataset.open(hockey)
    assert set(dataset.universes("hockey")) == {"u-1", "u-2"}
    assert any(sentence in problem and "odd" in problem for problem in dataset.problems)
    with pytest.raises(DataError, match=sentence.replace("(", r"\(")):
        dataset.universe("odd")


def test_a_mapping_that_goes_away_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(UNIVERSES)
    file = UniverseFile(path, "mapping.yaml")
    path.unlink()
    with pytest.raises(DataError, match=r"mapping\.yaml cannot be read"):
        file.get("u-1")


@pytest.mark.parametrize("text", ["", "[1, 2]", "just text", "{", "\x00\x01"])
def test_a_mapping_that_is_none(hockey: Path, text: str) -> None:
    (hockey / "configs" / "mcp_tool_universe_id_mapping.yaml").write_text(text)
    dataset = Dataset.open(hockey)
    assert dataset.universe("u-1") is None
    assert dataset.universes("hockey") == {}
    assert bool(dataset.problems) is (text != "")


def test_a_ground_truth_may_open_its_universe_itself(write: Write) -> None:
    opening = {
        "name": "initialize_active_data",
        "arguments": {
            "alias_to_table_dict": {"T1": {"original_table_name": "team", "modified_table_name": "t"}},
            "condition_sequence": [],
            "database_path": "/etc/passwd",
        },
        "label": "starting_table_var",
    }
    select = {
        "name": "select_data_equal_to",
        "arguments": {"data_source": "$starting_table_var.data_path$"},
        "label": "F",
    }
    folder = write(
        {
            f"test/{BI}/output/hockey.json": [
                truth("a", opening, select),
                truth("b", opening, call("filter_data")),
                truth("c"),
            ]
        }
    )
    dataset = Dataset.open(folder)
    universe = dataset.universe("a")
    assert universe is not None
    assert (universe.style, universe.tables[0].modified_name, universe.domain) == ("sel", "t", "hockey")
    assert dataset.universe("b").style == "slot"  # type: ignore[union-attr]
    assert dataset.universe("c") is None
    assert set(dataset.universes("hockey")) == {"a", "b"}


# --- configuration and fingerprint -----------------------------------------------------------------------------------


def test_collections(write: Write) -> None:
    folder = write(
        {
            f"test/{TURNS}/input/student_loan.json": [question("a", domain="student_loan")],
            "configs/retriever_domains.json": {"hockey": ["hockey", "world", "world"], "odd": "text", "bad": ["../x"]},
            "configs/domain_topics.json": {"moons": "Space & Exploration", "odd": 5},
        }
    )
    dataset = Dataset.open(folder)
    assert dataset.collections("hockey") == ("hockey", "world")
    assert dataset.collections("student_loan")[0] == "student_loan"
    assert len(dataset.collections("student_loan")) == 5
    assert dataset.collections("nobody") == ("nobody",)
    assert dataset.topics() == {"moons": "Space & Exploration"}
    assert len(dataset.problems) == 3


def test_topics_travel_with_the_instances_that_have_a_policy(write: Write) -> None:
    folder = write(
        {
            f"test/{TURNS}/input/moons.json": [
                question("a", domain="moons", policy="Be brief."),
                question("b", domain="moons"),
            ],
            "configs/domain_topics.json": {"moons": "Space & Exploration"},
        }
    )
    dataset = Dataset.open(folder)
    assert [dict(dataset.load(ref).topics) for ref in dataset.refs()] == [{"moons": "Space & Exploration"}, {}]


def test_the_fingerprint_is_of_the_content(hockey: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = Dataset.open(hockey).fingerprint()
    assert before.startswith("sha256:")
    copy = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(hockey, copy)
    assert Dataset.open(copy).fingerprint() == before
    (copy / "unrelated.txt").write_text("x")
    (copy / "test" / BI / "output" / "hockey_tools.json").write_text("x")
    assert Dataset.open(copy).fingerprint() == before
    for path in (
        copy / "test" / BI / "output" / "hockey.json",
        copy / "configs" / "mcp_tool_universe_id_mapping.yaml",
        copy / "databases" / "hockey" / "hockey.sqlite",
    ):
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        assert Dataset.open(copy).fingerprint() != before, path
        path.write_bytes(content)
    assert Dataset.open(copy).fingerprint() == before
