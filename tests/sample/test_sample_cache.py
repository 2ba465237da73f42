"""Where the sample is built, when it is not, and that it is always the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolenv.errors import DataError
from vakra_tui.sample import cache as sample_cache
from vakra_tui.sample import sample_dataset, sample_runs
from vakra_tui.sample.building import build_sample


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


async def test_two_builds_are_the_same_bytes(sample: Path, tmp_path: Path) -> None:
    await build_sample(tmp_path)
    first, second = files_of(sample), files_of(tmp_path)
    assert first.keys() == second.keys()
    assert [name for name, content in first.items() if second[name] != content] == []


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a temporary directory of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The places that were built in; the build itself writes one file only."""
    built: list[Path] = []

    def build(out: Path) -> None:
        (out / "dataset").mkdir()
        (out / "runs" / "oracle").mkdir(parents=True)
        built.append(out)

    monkeypatch.setattr(sample_cache, "_run_apart", build)
    return built


def test_it_is_built_once_and_left_alone(places: Path, quick: list[Path]) -> None:
    first = sample_dataset()
    assert first.is_relative_to(places / "cache" / "vakra-tui")
    assert sample_dataset() == first
    assert sample_runs() == {"oracle": first.parent / "runs" / "oracle"}
    assert len(quick) == 1
    assert [p.name for p in first.parent.parent.iterdir()] == [first.parent.name]


def test_half_a_build_is_never_used(places: Path, quick: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(out: Path) -> None:
        (out / "dataset").mkdir()
        raise DataError("broken off")

    with monkeypatch.context() as patch:
        patch.setattr(sample_cache, "_run_apart", break_off)
        with pytest.raises(DataError, match="broken off"):
            sample_dataset()
    assert list((places / "cache" / "vakra-tui").iterdir()) == []
    assert sample_dataset().is_dir()


def test_another_process_may_finish_first(places: Path, quick: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = sample_dataset()
    shutil.rmtree(first.parent)

    def overtaken(out: Path) -> None:
        (out / "dataset").mkdir()
        target = out.with_name(out.name.rpartition(".")[0])
        (target / "dataset").mkdir(parents=True)
        (target / "complete").touch()

    monkeypatch.setattr(sample_cache, "_run_apart", overtaken)
    assert sample_dataset() == first
    assert [p.name for p in first.parent.parent.iterdir()] == [first.parent.name]


def test_a_cache_that_cannot_be_written_falls_back(places: Path, quick: list[Path]) -> None:
    (places / "cache").write_text("a file where a folder should be")
    assert sample_dataset().is_relative_to(places / "tmp")


def test_a_folder_of_somebody_else_is_not_used(places: Path, quick: list[Path]) -> None:
    (places / "cache").write_text("a file where a folder should be")
    sample_dataset()
    (shared,) = (places / "tmp").iterdir()
    shared.chmod(0o777)
    with pytest.raises(DataError, match="XDG_CACHE_HOME"):
        sample_dataset()


def test_it_can_be_asked_for_inside_a_running_loop(places: Path) -> None:
    code = (
        "import asyncio\n"
        "from vakra_tui.sample import sample_dataset\n"
        "async def main():\n    print(sample_dataset())\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (Path(done.stdout.strip()) / "test").is_dir()


def test_asking_again_imports_nothing_of_the_builder(sample: Path) -> None:
    code = (
        "import sys\n"
        "from vakra_tui.sample import cache, sources\n"
        "sources.content_version()\n"
        "heavy = {'sqlglot', 'fastapi', 'yaml', 'toolenv.native'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_killed_builds_left_goes_with_the_next_build(places: Path, quick: list[Path]) -> None:
    cache = places / "cache" / "vakra-tui"
    left = [cache / "sample-0123.abcdefgh", cache / "removed.abcdefgh" / "sample-0123"]
    for folder in left:
        (folder / "dataset").mkdir(parents=True)
    young = cache / "sample-0123.younger_"
    young.mkdir()
    for folder in (left[0], left[1].parent):
        os.utime(folder, (folder.stat().st_mtime - 3600,) * 2)
    target = sample_dataset().parent
    assert {path.name for path in cache.iterdir()} == {target.name, young.name}
