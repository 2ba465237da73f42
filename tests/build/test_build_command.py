"""``vakra-tui build`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.build.test_dataset_check import make_other_recording
from toolenv.build.build_plan import BuildFiles
from toolenv.build.builder import Built
from toolenv.build.reference_runs import NAMES
from vakra_tui.cli import main


def test_build_then_check_then_score(music: BuildFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data"
    words = ["build", "--db", str(music.database), "--questions", str(music.questions), "--domain", "music"]
    options = ["--out", str(out), "--chains", "10", "--seed", "7", "--hop-weights", "0,1", "--train-share", "0"]
    assert main([*words, *options]) == 0
    text = capsys.readouterr()
    assert "16 of 19 questions became endpoints" in text.out
    assert "GROUP BY is not among what the BI tools can do" in text.out
    assert "capability 3, test: 10 of 10" in text.err
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))["domains"]["music"]
    assert card["settings"]["seed"] == 7
    assert card["instances"]["test"]["capability_3_multihop_reasoning"]["hops"] == {"2": 10}
    assert main(["build", "--check", str(out), "--report", str(tmp_path / "r.json"), "--quiet"]) == 0
    text = capsys.readouterr()
    assert "pass the waterfall with the oracle: holds" in text.out
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["test"]["passed"] > 30
    assert main([*words, "--out", str(out)]) == 2
    assert "not an empty folder" in capsys.readouterr().err


def test_half_a_character_in_a_question_costs_itself_only(music: BuildFiles, tmp_path: Path) -> None:
    questions = json.loads(music.questions.read_text(encoding="utf-8"))
    questions[1]["question"] = "How many \ud800 customers are from Portugal?"
    (tmp_path / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    words = ["build", "--db", str(music.database), "--questions", str(tmp_path / "questions.json")]
    sizes = ["--chains", "2", "--train-share", "0", "--quiet"]
    assert main([*words, "--domain", "music", "--out", str(tmp_path / "data"), *sizes]) == 0
    written = [path.read_text(encoding="utf-8") for path in (tmp_path / "data").rglob("*.json")]
    assert any("How many \ufffd customers" in text or "How many \\ufffd customers" in text for text in written)


def test_a_check_that_finds_something(
    built: tuple[Path, Built], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_other_recording(tmp_path / "other")
    assert main(["build", "--check", str(built[0]), "--split", "test", "--env", f"recorded:{tmp_path / 'other'}"]) == 3
    told = capsys.readouterr().out
    assert "cannot be executed" in told
    assert " more: " in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "--db, --questions, --domain, --out must be given"),
        (["--check", "/nowhere"], "/nowhere"),
        (["--hop-weights", "a"], "not a list of numbers"),
        (["--hop-weights", "1,1,1,1,1,1"], "one to five"),
        (["--train-share", "1"], "share"),
        (["--chains", "-1"], "not a whole number"),
        (["--chains", "1.5"], "not a whole number"),
        (["--train-share", "a"], "not a share"),
    ],
)
def test_what_cannot_be_meant(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["build", *words])
    except SystemExit as stop:
        code = int(str(stop.code))
    assert code == 2
    assert sentence in capsys.readouterr().err


def test_reference_runs_score_one_and_near_zero(
    built: tuple[Path, Built], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, data = tmp_path / "runs", str(built[0])
    check = ["build", "--check", data, "--split", "test", "--quiet", "--runs-out", str(runs)]
    assert main(check) == 0
    scores = {}
    for name in NAMES:
        report = tmp_path / f"{name}.json"
        words = [data, "--run", str(runs / name), "--batch", "--quiet", "--no-sessions", "--out", str(report)]
        assert main(words) == 0
        scores[name] = json.loads(report.read_text(encoding="utf-8"))["scores"]["leaderboard"]["score"]
    assert scores["oracle"] == 1.0
    assert scores["shuffled"] < 0.1
    assert main(check) == 2
    assert "not an empty folder" in capsys.readouterr().err
