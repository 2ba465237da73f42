"""A checkout's routers: listed as the release lists them, run elsewhere, named where they fail."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

import pytest

from toolenv.checksum import published_checksums, tool_checksum
from toolenv.dataset import Dataset
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import Instance
from toolenv.vakra_checkout import VakraEnvironment
from toolenv.vakra_checkout.layout import read_checkout


def _fixture() -> ModuleType:
    spec = importlib.util.spec_from_file_location("checkout_fixture", Path(__file__).with_name("checkout.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


made = _fixture()


def instance(domain: str, capability: int = 2) -> Instance:
    return Instance(uuid="f-1", capability=capability, domain=domain, turns=())


@pytest.fixture
async def environment(tmp_path: Path) -> AsyncIterator[VakraEnvironment]:
    root, data = made.write_checkout(tmp_path / "checkout"), made.write_data(tmp_path / "data")
    made_environment = VakraEnvironment(root, Dataset.open(data), logs=tmp_path / "logs")
    yield made_environment
    await made_environment.close()


def test_the_layout_is_read_without_running_anything(tmp_path: Path) -> None:
    checkout = read_checkout(made.write_checkout(tmp_path / "c"))
    assert [router.name for router in checkout.routers] == ["film", "broken", "film_2", "parks"]
    assert checkout.unmounted == ("spare",)
    assert [router.name for router in checkout.offering("film")] == ["film", "film_2"]
    assert "server.film" not in sys.modules


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: _app(p, "x ="), lambda p: _app(p, "")])
def test_what_is_no_checkout_is_refused_in_one_sentence(tmp_path: Path, make: object) -> None:
    root = tmp_path / "c"
    make(root)  # type: ignore[operator]
    with pytest.raises(DataError) as failure:
        read_checkout(root)
    assert "\n" not in str(failure.value)


def _app(root: Path, text: str) -> None:
    (root / made.REST).mkdir(parents=True)
    (root / made.REST / "app.py").write_text(text)


async def test_the_checksum_is_the_published_one_with_the_leak_of_other_domains(environment: VakraEnvironment) -> None:
    session = await environment.open(instance("film"))
    tools = await session.list_tools()
    assert [tool.name for tool in tools] == ["get_titles", "get_best", "add_note", "get_best", "get_worst"]
    assert tool_checksum(tools) == made.digest(made.OWN + made.LEAKED)
    assert tool_checksum(tools) == published_checksums(environment.checkout.root)[2]["film"]
    leaked = [tool for tool in tools if "(R1)" in tool.description]
    assert [tool.name for tool in leaked] == ["get_best", "get_worst"]
    assert all("film_2" in tool.description for tool in leaked)
    assert not [name for name in sys.modules if name == "server" or name.startswith("server.")]


async def test_calls_answer_as_the_release_does(environment: VakraEnvironment, tmp_path: Path) -> None:
    session = await environment.open(instance("film"))
    result = await session.call("get_titles", {"year": 1990, "unknown": 1})
    assert result.text == json.dumps({"titles": ["Berg", "Ånd"]}, indent=2)
    assert not result.failed
    assert (await session.call("get_best", {})).text == json.dumps({"title": "Ünter"}, indent=2)
    refused = await session.call("get_titles", {"year": "soon"})
    assert (refused.is_error, refused.error_kind) == (True, "refused_arguments")
    assert not (await session.call("get_best", {"minimum": 1, "label": "\ud800"})).is_error
    unknown = await session.call("get_nothing", {})
    assert (unknown.is_error, unknown.error_kind) == (True, "unknown_tool")
    for minimum, detail in ((9.5, "nothing is that good"), (-1.0, "below zero")):
        failed = await session.call("get_best", {"minimum": minimum})
        assert (failed.is_error, failed.failed, failed.error_kind) == (False, True, "tool_failed")
        assert detail in failed.text
    assert (await session.call("get_data", {})).text == '{"domain": "film", "tools": 5}'
    assert sorted(path.name for path in (tmp_path / "data" / "databases").rglob("*")) == ["film", "film.sqlite"]


async def test_a_router_that_cannot_be_imported_is_named(environment: VakraEnvironment) -> None:
    assert environment.serves(2, "broken")
    with pytest.raises(EnvironmentFailure, match=r"router broken cannot be imported.*a_module_that_is_not_there"):
        await environment.open(instance("broken"))
    assert any("the router broken" in problem for problem in environment.problems)


async def test_a_domain_without_a_database_says_so_through_its_router(environment: VakraEnvironment) -> None:
    session = await environment.open(instance("parks", 3))
    assert json.loads((await session.call("get_count", {"region": "N"})).text) == {"count": 3}


async def test_the_survey_names_what_differs_and_what_fails(environment: VakraEnvironment) -> None:
    differences, problems = await environment.survey()
    assert [(found.capability, found.domain) for found in differences] == [(2, "elsewhere"), (2, "parks")]
    assert differences[0].found is None
    assert differences[1].found == made.digest(made.COUNT)
    assert ["the router broken" in problem for problem in problems] == [True]


async def test_nothing_stays_behind(environment: VakraEnvironment) -> None:
    session = await environment.open(instance("film"))
    folder = environment._folder()
    assert (folder / "db" / "film" / "film.sqlite").is_symlink()
    await session.close()
    await environment.close()
    assert not folder.exists()
    assert not list(environment.checkout.root.rglob("__pycache__"))


async def test_capability_4_offers_the_documents_of_the_dataset(tmp_path: Path) -> None:
    root, data = made.write_checkout(tmp_path / "checkout"), made.write_data(tmp_path / "data")
    (data / "documents").mkdir()
    (data / "documents" / "film_docs.json").write_text(json.dumps([{"doc_id": "1", "text": "A film about a berg."}]))
    environment = VakraEnvironment(root, Dataset.open(data), logs=tmp_path / "logs")
    try:
        session = await environment.open(instance("film", 4))
        names = [tool.name for tool in await session.list_tools()]
        assert names[-1] == "query_film"
        result = await session.call("query_film", {"question": "berg"})
        assert json.loads(result.text)["results"][0]["id"] == "1"
    finally:
        await environment.close()


def test_the_doctor_checks_every_domain(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from vakra_tui.cli import main

    root, data = made.write_checkout(tmp_path / "checkout"), made.write_data(tmp_path / "data")
    code = main(["doctor", str(data), "--env", f"vakra:{root}", "--db", f"sqlite:///{tmp_path / 's.db'}"])
    printed = capfd.readouterr().out
    assert code == 4
    assert "capability 2, parks: the tool list's checksum is" in printed
    assert "capability 2, elsewhere: published, but not among" in printed
    assert "the router broken cannot be imported" in printed
    assert "capability 2, film:" not in printed
    assert "a line on stdout" not in printed
