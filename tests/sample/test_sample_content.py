"""What the sample holds: enough of everything for a stranger to meet each kind of task, and true to its sources."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from toolenv.build.builder import Built
from toolenv.build.source import SqlHop
from toolenv.build.truth import envelope_rows, gold_rows, same_rows
from toolenv.build.writer import instance_uuid, query_shape
from toolenv.dashboards.definition import load_endpoints
from toolenv.dataset import Dataset
from toolenv.model import Instance
from toolenv.policy import applicability_of, is_refusal, policy_of, source_of
from vakra_tui.sample.sources import domains

DOMAINS = ("elements", "missions", "waters")


@pytest.fixture(scope="module")
def dataset(sample: Path) -> Dataset:
    return Dataset.open(sample / "dataset")


@pytest.fixture(scope="module")
def instances(dataset: Dataset) -> list[Instance]:
    return [dataset.load(ref) for ref in dataset.refs()]


def connect(dataset: Dataset, domain: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{dataset.database(domain).resolve().as_uri()}?mode=ro", uri=True)


def test_the_dataset_loads_without_a_problem(dataset: Dataset, instances: list[Instance]) -> None:
    assert list(dataset.problems) == []
    assert [i.problems for i in instances if i.problems] == []
    assert domains() == DOMAINS


def test_instances_of_every_kind(instances: list[Instance]) -> None:
    assert len(instances) >= 60
    assert set(Counter((i.capability, i.domain) for i in instances)) == {(c, d) for c in (1, 2, 3, 4) for d in DOMAINS}
    assert {len(i.turns) for i in instances} == {1, 2, 3}
    assert sum(i.ground_truth is None for i in instances) == 2
    assert {i.author_keys["hop_pattern"] for i in instances if i.capability == 4 and i.ground_truth} == {
        "API", "RAG", "API-RAG", "RAG-API", "API-RAG-API", "NONE"
    }  # fmt: skip


@pytest.mark.parametrize("style", ["slot_filling", "selection"])
def test_chains_of_both_styles(instances: list[Instance], style: str) -> None:
    chains = [i for i in instances if i.author_keys.get("server_type") == style]
    lengths = {len(i.ground_truth.evaluated.calls) - 1 for i in chains if i.ground_truth}
    assert len(chains) >= 12
    assert all(1 <= length <= 12 for length in lengths)
    assert len(lengths) >= 4


def test_the_longest_and_the_shortest_chain(instances: list[Instance]) -> None:
    lengths = {len(i.ground_truth.evaluated.calls) - 1 for i in instances if i.capability == 1 and i.ground_truth}
    assert {1, 12} <= lengths


def test_one_to_five_hops(instances: list[Instance]) -> None:
    hops = {len(i.ground_truth.evaluated.calls) for i in instances if i.capability == 3 and i.ground_truth}
    assert hops == {1, 2, 3, 4, 5}


def test_every_policy_kind_applying_and_not(instances: list[Instance]) -> None:
    seen = Counter((policy_of(i).kind, policy_of(i).scoped, applicability_of(i)) for i in instances if i.policy)
    effects = Counter(i.author_keys["policy"]["effect"] for i in instances if i.author_keys.get("policy"))
    assert effects.keys() == {"none", "source_changed", "unanswerable"}
    kinds = {kind for kind, _, _ in seen}
    assert len(kinds) >= 4, seen
    for kind in kinds - {"none"}:
        if any(scoped for k, scoped, _ in seen if k == kind):
            assert {a for k, scoped, a in seen if k == kind and scoped} == {"applies", "does_not_apply"}, (kind, seen)
        assert any(k == kind and not scoped for k, scoped, _ in seen), (kind, seen)
    texts = [i.policy for i in instances if i.policy]
    assert any("retrivers" in text for text in texts)
    assert any(policy_of(i).refusal for i in instances if i.policy)


def test_the_author_s_note_on_a_policy_is_what_the_program_finds(instances: list[Instance]) -> None:
    for instance in instances:
        note = instance.author_keys.get("policy")
        if note and note["topic"]:
            assert (applicability_of(instance) == "applies") is note["applies"], instance.query


def test_unanswerable_instances_decline(instances: list[Instance]) -> None:
    declining = [i for i in instances if i.ground_truth and is_refusal(i.ground_truth.evaluated.answer)]
    assert len(declining) >= 3
    assert all(i.author_keys["policy"]["effect"] == "unanswerable" for i in declining)
    assert all(not i.ground_truth.evaluated.calls for i in declining if i.ground_truth)


def test_endpoints_and_documents(dataset: Dataset) -> None:
    counts = {}
    for domain in DOMAINS:
        path = dataset.endpoints(domain)
        assert path is not None
        content = load_endpoints(path)
        counts[domain] = len(content.endpoints)
        assert all(e.summary and e.path.startswith(f"/v1/{domain}/") for e in content.endpoints)
        documents = dataset.documents(domain)
        assert documents is not None
        passages = json.loads(documents.read_text(encoding="utf-8"))
        assert len(passages) >= 30
        assert len({p["doc_id"] for p in passages}) == len({p["text"] for p in passages}) == len(passages)
        assert set(dataset.collections(domain)) == set(DOMAINS)
    assert min(counts.values()) >= 20
    assert max(counts.values()) > 128


@pytest.mark.parametrize("domain", DOMAINS)
def test_databases_have_keys_nulls_dates_unicode_and_a_large_table(dataset: Dataset, domain: str) -> None:
    with connect(dataset, domain) as connection:
        tables = [r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        sizes = {t: connection.execute(f'SELECT count(*) FROM "{t}"').fetchone()[0] for t in tables}
        keys = sum(len(connection.execute(f'PRAGMA foreign_key_list("{t}")').fetchall()) for t in tables)
        cells = [c for t in tables for row in connection.execute(f'SELECT * FROM "{t}"') for c in row]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    connection.close()
    assert len(tables) >= 6
    assert keys >= 4
    assert broken == []
    assert max(sizes.values()) >= 1000
    assert max(sizes, key=lambda name: sizes[name]).startswith("modelled_")
    assert None in cells
    assert any(isinstance(c, str) and not c.isascii() for c in cells)


@pytest.mark.parametrize("domain", ["missions", "waters"])
def test_dates_are_iso(dataset: Dataset, domain: str) -> None:
    from datetime import date

    column = {"missions": ("mission", "launched"), "waters": ("dam", "dedicated_on")}[domain]
    with connect(dataset, domain) as connection:
        values = [
            r[0] for r in connection.execute(f"SELECT {column[1]} FROM {column[0]} WHERE {column[1]} IS NOT NULL")
        ]
    connection.close()
    assert len(values) >= 9
    assert all(date.fromisoformat(value) for value in values)


def test_no_two_queries_of_a_domain_are_the_same_without_their_values(built: tuple[Path, Built]) -> None:
    for domain in DOMAINS:
        source = built[1].generated[domain].source
        seen: Counter[str] = Counter()
        for task in source.tasks:
            shapes = set()
            for turn in task.turns:
                literals = [w for hop in turn.hops if isinstance(hop, SqlHop) for w in hop.sql.split("'")[1::2]]
                shapes.add(query_shape(turn.query, literals))
            seen.update(shapes)
        assert [shape for shape, count in seen.items() if count > 1] == []


def test_every_last_response_is_the_gold_sql_s_answer(dataset: Dataset, built: tuple[Path, Built]) -> None:
    """Read back what was written: the stored response of every API hop against its gold SQL."""
    checked = 0
    for domain in DOMAINS:
        source = built[1].generated[domain].source
        with connect(dataset, domain) as connection:
            for task in source.tasks:
                if not task.ground_truth or task.capability == 1:
                    continue
                (ref,) = dataset.find(instance_uuid(domain, task.key))
                truth = dataset.load(ref).ground_truth
                assert truth is not None
                for turn, given in zip(task.turns, truth.turns, strict=True):
                    for hop, response in zip(turn.hops, given.responses or (), strict=True):
                        if isinstance(hop, SqlHop):
                            rows = gold_rows(connection, hop.sql)
                            assert same_rows(envelope_rows(json.loads(response)), rows)
                            checked += 1
        connection.close()
    assert checked >= 60


def test_needed_passages_are_found_and_hold_their_answers(instances: list[Instance]) -> None:
    retrieved = 0
    for instance in instances:
        for turn in instance.ground_truth.turns if instance.ground_truth else ():
            for call, response in zip(turn.calls, turn.responses or (), strict=True):
                if source_of(call.name) == "RAG":
                    retrieved += 1
                    assert 1 <= len(response) <= 3
                    assert all({"doc_id", "text"} == set(passage) for passage in response)
    assert retrieved >= 20


def test_passages_do_not_answer_what_the_endpoints_are_asked(built: tuple[Path, Built]) -> None:
    assert built[1].report.removed == dict.fromkeys(DOMAINS, ())


def test_stated_facts_agree_with_each_other(dataset: Dataset) -> None:
    with connect(dataset, "elements") as connection:
        numbers = [r[0] for r in connection.execute("SELECT number FROM element ORDER BY number")]
        assert numbers == list(range(1, 119))
        late = connection.execute(
            "SELECT p.name, e.name FROM discovery d JOIN element e ON e.number = d.element_number "
            "JOIN person p ON p.id = d.person_id WHERE e.reported_year > p.died_year OR e.reported_year < p.born_year"
        ).fetchall()
        assert late == []
        light = connection.execute(
            "SELECT i.name FROM isotope i JOIN element e ON e.number = i.element_number WHERE i.mass_number < e.number"
        ).fetchall()
        assert light == []
        names = connection.execute(
            "SELECT i.name, lower(e.name) || '-' || i.mass_number FROM isotope i "
            "JOIN element e ON e.number = i.element_number"
        ).fetchall()
        assert [pair for pair in names if pair[0] != pair[1]] == []
    connection.close()
    with connect(dataset, "missions") as connection:
        assert connection.execute("SELECT name FROM mission WHERE ended < launched").fetchall() == []
        early = connection.execute(
            "SELECT m.name FROM mission m JOIN rocket r ON r.id = m.rocket_id WHERE m.launched < r.first_flight"
        ).fetchall()
        assert early == []
        dead = connection.execute(
            "SELECT a.name FROM crew c JOIN mission m ON m.id = c.mission_id JOIN astronaut a ON a.id = c.astronaut_id "
            "WHERE m.launched > a.died OR m.launched < a.born"
        ).fetchall()
        assert dead == []
    connection.close()
    with connect(dataset, "waters") as connection:
        shallow = connection.execute("SELECT name FROM lake WHERE max_depth_m < 1 OR area_km2 < 1").fetchall()
        assert shallow == []
        alone = connection.execute(
            "SELECT name FROM river WHERE id NOT IN (SELECT river_id FROM river_country) "
            "UNION SELECT name FROM lake WHERE id NOT IN (SELECT lake_id FROM lake_country)"
        ).fetchall()
        assert alone == []
        mean = connection.execute(
            "SELECT max(abs(m - d) / d) FROM (SELECT avg(f.flow_m3s) AS m, r.discharge_m3s AS d FROM modelled_flow f "
            "JOIN river r ON r.id = f.river_id GROUP BY r.id)"
        ).fetchone()[0]
        assert mean < 0.05
    connection.close()
