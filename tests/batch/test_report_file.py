"""The report: form, determinism, strict JSON, atomic replacement, reading back."""

from __future__ import annotations

import io
import json
import math
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from batch_lines import extra, line, missing, stages, unscored

from eval.model import StageResult
from eval.report import (
    EnvironmentInfo,
    JudgeInfo,
    ReportInfo,
    head,
    named_for_run,
    read,
    replacing,
    write,
    write_lines,
)
from eval.scored import Scored, decode, encode
from eval.scores import tally
from eval.spool import Spool
from toolenv.errors import DataError

INFO = ReportInfo(
    profile="paper",
    judge=JudgeInfo(kind="offline"),
    dataset_path="/somewhere/data",
    dataset_fingerprint="sha256:d",
    environments=(
        EnvironmentInfo(kind="recorded", name="recorded", fingerprint="sha256:e"),
        EnvironmentInfo(kind="native"),
    ),
    run_name="r",
    run_fingerprint="sha256:r",
    duplicates=1,
    notes=("1 duplicate",),
)

LINES = [line("a"), line("b", None), line("c", False, capability=4, weight=2), missing("d"), unscored("f"), extra("g")]


def strict(payload: bytes) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(payload, parse_constant=refuse)


def written(lines: list[Scored], order: list[int] | None = None) -> bytes:
    spool = Spool(len(lines))
    for position in order or range(len(lines)):
        spool.put(position, encode(lines[position]))
    stream = io.BytesIO()
    write(stream, head(INFO, tally(lines)), spool)
    spool.close()
    return stream.getvalue()


def test_form() -> None:
    report = strict(written(LINES))
    assert list(report) == [
        "format",
        "profile",
        "judge",
        "dataset",
        "environments",
        "run",
        "scores",
        "counts",
        "decided",
        "notes",
        "sieve",
        "sieve_cumulative",
        "slices",
        "agreement",
        "instances",
    ]
    assert report["format"] == "vakra-tui/report@1"
    assert report["judge"] == {"kind": "offline", "model": None, "prompt_version": None}
    assert report["environments"] == [
        {"kind": "recorded", "name": "recorded", "fingerprint": "sha256:e"},
        {"kind": "native"},
    ]
    entry = report["instances"][0]
    assert list(entry) == [
        "uuid",
        "capability",
        "domain",
        "status",
        "passed",
        "failed_stage",
        "sieve",
        "reason",
        "marks",
        "stages",
    ]
    final = entry["stages"][2]
    assert set(final["rulings"]) == {"consistent", "grounded"}
    assert set(final["rulings"]["grounded"]) == {"outcome", "decided_by", "reason"}
    assert "rulings" not in entry["stages"][0]
    assert [e["uuid"] for e in report["instances"]] == ["a", "b", "c", "d", "f", "g"]
    assert any("leaves out capability 2, 3" in note for note in report["notes"])
    assert any("1 unscored" in note for note in report["notes"])


def test_the_order_in_which_lines_finish_does_not_show() -> None:
    order = list(range(len(LINES)))
    expected = written(LINES)
    for seed in range(5):
        random.Random(seed).shuffle(order)
        assert written(LINES, order) == expected


def test_a_report_without_any_line_is_strict_json() -> None:
    report = strict(written([]))
    assert report["scores"]["leaderboard"] == {"score": None, "range": None, "ci95": None}
    assert report["instances"] == []
    assert any("no score" in note for note in report["notes"])


def test_numbers_that_json_does_not_have_and_broken_text() -> None:
    evidence = ({"value": math.nan, "values": [math.inf, 10**40], "half": "\ud83d", "ok": "\ud83d\ude00"},)
    stage = StageResult(stage="tool_sequence", outcome="fail", decided_by="offline", reason="\udc00", evidence=evidence)
    scored = line("a", False, stages=(stage,))
    report = strict(written([scored]))
    shown = report["instances"][0]["stages"][0]["evidence"][0]
    assert shown == {"value": None, "values": [None, 10**40], "half": "\ufffd", "ok": "\U0001f600"}
    assert decode(encode(scored)).verdict.uuid == "a"


def test_json_lines_are_the_instances() -> None:
    stream = io.BytesIO()
    write_lines(stream, LINES)
    lines = [strict(text) for text in stream.getvalue().splitlines()]
    assert lines == strict(written(LINES))["instances"]


def test_a_line_survives_storing() -> None:
    for scored in [*LINES, line("z", stages=stages(), slices={"hops": "2"}, weight=2)]:
        assert encode(decode(encode(scored))) == encode(scored)


def test_a_file_is_replaced_only_by_a_complete_one(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as stream:
        stream.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old"
    with replacing(path) as stream:
        stream.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write"), replacing(tmp_path / "no" / "r.json"):
        pass


def test_read_back(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(written(LINES))
    passed = read(path).passed()
    assert passed == {(1, "d", "a"): True, (1, "d", "b"): None, (4, "d", "c"): False, (1, "d", "d"): False}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"format": "other"}',
        b'{"summary": {"mean": NaN, "max": Infinity}, "dialogues": []}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_report_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"r\.json"):
        read(path)


def test_one_report_a_run() -> None:
    assert named_for_run(Path("out/r.json"), "x", ["x"]) == Path("out/r.json")
    assert named_for_run(Path("out/r.json"), "x", ["x", "y"]) == Path("out/r-x.json")
    assert named_for_run(Path("out/r"), "../x", ["../x", "y"]) == Path("out/r-.._x")


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    link = tmp_path / "report.json"
    link.symlink_to(Path("kept") / "there.json")
    with replacing(link) as stream:
        stream.write(b"1")
    with pytest.raises(KeyError), replacing(link) as stream:
        stream.write(b"2")
        raise KeyError
    assert link.is_symlink()
    assert (tmp_path / "kept" / "there.json").read_bytes() == b"1"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["there.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as stream:
        stream.write(b"report")
    reader.join(60)
    assert found == [b"report"] and pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_folder_or_a_name_too_long_is_said(tmp_path: Path) -> None:
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / ("x" * 300), "File name too long")):
        with pytest.raises(DataError, match=why), replacing(path) as stream:
            stream.write(b"1")
    assert list(tmp_path.iterdir()) == []
