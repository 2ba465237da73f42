"""A report's sentences lose the folders of this machine, and nothing else."""

from __future__ import annotations

import pytest

from vakra_tui.report_head import without_folder


@pytest.mark.parametrize(
    ("text", "folder", "short", "expected"),
    [
        ("d/test/x.json, record 4 has no uuid", "d", "", "test/x.json, record 4 has no uuid"),
        ("record 4 of /data/run/a.json is odd", "/data/run", "run", "record 4 of run/a.json is odd"),
        ("/data/run-2/a.json is odd", "/data/run", "run", "/data/run-2/a.json is odd"),
        ("/data/run holds nothing", "/data/run", "run", "run holds nothing"),
        ("d holds nothing; the record is odd", "d", "", ". holds nothing; the record is odd"),
        ("/else/d/x is odd", "d", "", "/else/d/x is odd"),
    ],
)
def test_a_folder_is_taken_out_of_paths_only(text: str, folder: str, short: str, expected: str) -> None:
    assert without_folder(text, folder, short) == expected
