"""``vakra-tui --batch`` as a user runs it: reports, streams, exit codes, bad input."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_world import DOMAINS, FOLDER, World, prediction, uuid_of

Change = Callable[[World], object]


def report_of(world: World, name: str = "r.json") -> dict[str, Any]:
    report: dict[str, Any] = json.loads((world.root / name).read_bytes())
    return report


def counts(report: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in report["counts"].items() if count}


def rewrite(path: Path, change: Callable[[list[Any]], object]) -> None:
    records = json.loads(path.read_text())
    change(records)
    path.write_text(json.dumps(records))


def test_a_report_and_a_summary(world: World) -> None:
    result = world.batch("--out", "r.json")
    assert result.returncode == 0, result.stderr
    assert "leaderboard" in result.stdout
    assert result.stderr.strip() == "report: r.json"
    report = report_of(world)
    assert counts(report)["instances"] == counts(report)["scored"] == 20
    assert report["dataset"]["path"] == str(world.data.resolve())
    assert report["run"]["name"] == "run"
    assert [line["uuid"] for line in report["instances"]] == [uuid_of(d, n) for d in sorted(DOMAINS) for n in range(10)]
    text = (world.root / "r.json").read_text().replace(str(world.data.resolve()), "")
    assert str(world.root) not in text, "an absolute path outside dataset.path"


def test_concurrency_and_workers_change_no_byte(world: World) -> None:
    written = set()
    for arguments in (["--concurrency", "1"], ["--concurrency", "8"], ["--concurrency", "8", "--workers", "2"]):
        assert world.batch(*arguments, "--out", "r.json").returncode == 0
        written.add((world.root / "r.json").read_bytes())
    assert len(written) == 1


def test_folders_whose_names_are_no_text_are_scored_and_resumed(world: World) -> None:
    data, run = (os.fsdecode(os.fsencode(world.root) + name) for name in (b"/data\xff", b"/run\xfe"))
    shutil.copytree(world.data, data)
    shutil.copytree(world.run, run)
    written = set()
    for more in (["--workers", "1"], ["--workers", "2"], ["--resume"]):
        done = subprocess.run(
            world.command("--batch", data, "--run", run, "--out", "r.json", *more),
            cwd=world.root,
            env=world.environment,
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        written.add((world.root / "r.json").read_bytes())
    assert len(written) == 1
    assert report_of(world)["run"]["name"] == "run\ufffd"


def test_several_runs_have_a_report_each(world: World) -> None:
    other = world.root / "other"
    shutil.copytree(world.run, other)
    (other / FOLDER / "farm.json").unlink()
    assert world.batch("--run", world.run, "--run", other, "--out", "r.json", "--quiet").returncode == 0
    assert not (world.root / "r.json").exists()
    assert counts(report_of(world, "r-run.json"))["scored"] == 20
    assert counts(report_of(world, "r-other.json")) == {
        "instances": 20,
        "scored": 10,
        "missing": 10,
        "undecided": report_of(world, "r-other.json")["counts"]["undecided"],
    }
    compared = subprocess.run(
        world.command("compare", "r-run.json", "r-other.json"),
        cwd=world.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert compared.returncode == 0, compared.stderr
    assert "McNemar" in compared.stdout


def test_a_resume_says_what_it_takes_over(world: World) -> None:
    assert "taken over" not in world.batch("--out", "r.json").stderr
    first = (world.root / "r.json").read_bytes()
    assert "20 of 20 were stored already and are taken over" in world.batch("--out", "r.json", "--resume").stderr
    assert (world.root / "r.json").read_bytes() == first


def test_reports_without_a_common_instance_are_not_tested(world: World) -> None:
    for domain in ("farm", "shop"):
        world.batch("--domain", domain, "--out", f"{domain}.json", "--quiet")
    compared = world.done("compare", "farm.json", "shop.json")
    assert "no instance is counted in both reports" in compared.stdout and "McNemar" not in compared.stdout


def test_formats(world: World) -> None:
    whole = world.batch("--format", "json", "--quiet")
    lines = world.batch("--format", "jsonl", "--quiet")
    assert json.loads(whole.stdout)["instances"] == [json.loads(line) for line in lines.stdout.splitlines()]
    assert whole.stderr == lines.stderr == ""


def test_selectors(world: World) -> None:
    world.batch("--domain", "farm", "--limit", "3", "--out", "r.json")
    assert [line["uuid"] for line in report_of(world)["instances"]] == [uuid_of("farm", n) for n in range(3)]
    world.batch("--instance", uuid_of("shop", 4), "--out", "r.json")
    assert [line["uuid"] for line in report_of(world)["instances"]] == [uuid_of("shop", 4)]
    nothing = world.batch("--domain", "no-such", "--out", "r.json")
    assert nothing.returncode == 2 and "--domain no-such" in nothing.stderr


def test_below_a_score(world: World) -> None:
    assert world.batch("--fail-under", "0.1", "--quiet").returncode == 0
    assert world.batch("--fail-under", "0.95", "--quiet").returncode == 1


def test_a_dry_run_runs_nothing(world: World) -> None:
    result = world.batch("--dry-run", "--out", "r.json")
    assert result.returncode == 0
    assert "20 to score, 0 missing, 0 extra; 0 model calls, 0 tokens" in result.stdout
    assert not (world.root / "r.json").exists()


def half_a_file(world: World) -> None:
    path = world.predictions("farm")
    text = path.read_text()
    path.write_text(text[: len(text) // 2])


def no_uuid(world: World) -> None:
    rewrite(world.predictions("farm"), lambda records: records[2].pop("uuid"))


def duplicate(world: World) -> None:
    rewrite(world.predictions("farm"), lambda records: records.append(prediction("farm", 4, "wrong")))


def extra(world: World) -> None:
    rewrite(world.predictions("farm"), lambda records: records.append(prediction("farm", 99, "1")))


def no_database(world: World) -> None:
    (world.data / "databases" / "farm" / "farm.sqlite").unlink()


def corrupt_database(world: World) -> None:
    (world.data / "databases" / "farm" / "farm.sqlite").write_bytes(b"not a database" * 1000)


def half_a_truth(world: World) -> None:
    path = world.file("output", "farm")
    text = path.read_text()
    path.write_text(text[: len(text) // 2])


def test_set_without_truth(world: World) -> None:
    shutil.rmtree(world.data / "test" / FOLDER / "output")
    result = world.batch("--out", "r.json")
    assert result.returncode == 0, result.stderr
    report = report_of(world)
    assert {line["reason"] for line in report["instances"]} == {"no ground truth"}
    assert report["scores"]["leaderboard"]["score"] is None


@pytest.mark.parametrize(
    ("change", "code", "expected", "words"),
    [
        (half_a_file, 4, {"scored": 15, "missing": 5}, "farm.json"),
        (no_uuid, 4, {"scored": 19, "missing": 1}, "record 3"),
        (duplicate, 0, {"scored": 20, "duplicate": 1}, None),
        (extra, 0, {"scored": 20, "extra": 1}, None),
        (no_database, 4, {"scored": 10, "unscored": 10}, "farm"),
        (corrupt_database, 4, {"scored": 10, "unscored": 10}, "farm.sqlite"),
        (half_a_truth, 4, None, "farm.json"),
    ],
)
def test_bad_input_costs_no_other_line(
    change: Change, code: int, expected: dict[str, int] | None, words: str | None, world: World
) -> None:
    change(world)
    result = world.batch("--out", "r.json")
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    complaints = [line for line in result.stderr.splitlines() if line.startswith("vakra-tui:")]
    if words is None:
        assert not complaints
    else:
        assert len(complaints) == 1 and words in complaints[0]
    found = counts(report_of(world))
    found.pop("undecided", None)
    if expected is not None:
        assert found.pop("instances") == 20
        assert found == expected
    assert str(world.root) not in json.dumps(report_of(world)["instances"])
    for line in report_of(world)["instances"]:
        if line["status"] == "unscored":
            assert line["passed"] is None and line["sieve"] is None and line["reason"]


def test_nothing_could_be_scored(world: World) -> None:
    shutil.rmtree(world.data / "databases")
    result = world.batch("--out", "r.json")
    assert result.returncode == 3
    assert counts(report_of(world))["unscored"] == 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-folder"], "no-such-folder"),
        (["data/databases"], "data/databases"),
        (["--run", "no-such-run"], "no-such-run"),
        (["--env", "recorded:no-such-recording"], "no-such-recording"),
        (["--env", "magic"], "--env 'magic' is not known"),
        (["--judge", "magic"], "--judge 'magic' is not known"),
        (["--judge", "recorded:none.jsonl"], "none.jsonl"),
        (["--judge", "openai"], "--judge-model"),
        (["--out", "no/such/folder/r.json"], "--out"),
        (["--record", "x", "--workers", "2"], "--workers 1"),
        (["--db", "nonsense://x"], "nonsense"),
        (["--resume", "--db", "sqlite:////proc/no/such/file"], "/proc/no/such/file"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(arguments: list[str], words: str, world: World) -> None:
    result = world.batch(*arguments)
    assert result.returncode == 2, result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    assert words in result.stderr
    assert result.stdout == ""


def test_the_batch_never_imports_the_screen_library(world: World) -> None:
    code = (
        "import sys\nfrom vakra_tui.cli import main\n"
        f"code = main(['--batch', {str(world.data)!r}, '--run', {str(world.run)!r}, '--out', 'r.json'])\n"
        "assert code == 0, code\nassert 'textual' not in sys.modules\n"
    )
    result = subprocess.run(
        [world.command()[0], "-c", code],
        cwd=world.root,
        env=world.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_text_of_data_cannot_steer_the_terminal(world: World) -> None:
    hostile = "\x1b]0;title\x07\x1b[2J\u202e\u200d\ufe0f"

    def spoil(records: list[Any]) -> None:
        records[0]["output"][0]["answer"] = hostile
        records[0]["uuid"] = hostile

    rewrite(world.predictions("farm"), spoil)
    result = world.batch("--out", "r.json")
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    extras = [line for line in report_of(world)["instances"] if line["status"] == "extra"]
    assert [line["uuid"] for line in extras] == [hostile]


@pytest.mark.parametrize("environment", [{"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"TERM": ""}])
def test_the_locale_and_the_terminal_do_not_matter(environment: dict[str, str], world: World) -> None:
    expected = world.batch("--format", "json", "--quiet").stdout
    command = world.command("--batch", world.data, "--run", world.run, "--format", "json", "--quiet")
    result = subprocess.run(
        command, cwd=world.root, env={**world.environment, **environment}, capture_output=True, check=False
    )
    assert result.returncode == 0
    assert result.stdout.decode() == expected


def test_a_reader_that_leaves_early_costs_no_report(world: World) -> None:
    command = shlex.join(
        world.command("--batch", world.data, "--run", world.run, "--format", "jsonl", "--out", "r.json")
    )
    script = f"{{ {command}; echo $? > code; }} | true"
    subprocess.run(["bash", "-c", script], cwd=world.root, env=world.environment, capture_output=True, check=False)
    assert int((world.root / "code").read_text()) in (0, 2)
    assert counts(report_of(world))["scored"] == 20


def test_closed_streams(world: World) -> None:
    command = shlex.join(world.command("--batch", world.data, "--run", world.run, "--out", "r.json"))
    subprocess.run(["bash", "-c", f"{command} >&- 2>&-"], cwd=world.root, env=world.environment, check=False)
    assert counts(report_of(world))["scored"] == 20


def test_a_home_that_cannot_be_written_costs_the_store_and_nothing_else(world: World) -> None:
    (world.root / "data-home").write_text("a file where a folder is due")
    result = world.batch("--out", "r.json", "--quiet")
    assert result.returncode == 0, result.stderr
    assert "nothing is kept for --resume" in result.stderr
    assert counts(report_of(world))["scored"] == 20
    resumed = world.batch("--out", "r.json", "--resume")
    assert resumed.returncode == 2
    assert resumed.stderr.count("\n") == 1


def test_a_working_folder_that_is_gone(world: World) -> None:
    command = shlex.join(world.command("--batch", world.data, "--run", world.run, "--out", world.root / "r.json"))
    script = f"mkdir gone && cd gone && rmdir ../gone && {command}"
    result = subprocess.run(
        ["bash", "-c", script], cwd=world.root, env=world.environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert counts(report_of(world))["scored"] == 20
