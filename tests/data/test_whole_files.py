"""Files that are written whole: nothing of a part is ever read, and nothing of a killed process stays for ever."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from toolenv.errors import DataError
from toolenv.files import path_of, written_whole

WRITER = """
import sys
from pathlib import Path
from toolenv.files import written_whole
with written_whole(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(path: Path) -> subprocess.Popen[str]:
    """A process in the midst of writing a file; it ends well when its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    return process


def killed(path: Path) -> Path:
    """What a killed writer leaves, made to look an hour old."""
    before = set(path.parent.iterdir())
    process = writer(path)
    process.kill()
    process.communicate()
    (left,) = set(path.parent.iterdir()) - before
    os.utime(left, (left.stat().st_mtime - 3600,) * 2)
    return left


def write(path: Path, text: bytes = b"whole") -> None:
    with written_whole(path) as stream:
        stream.write(text)


def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "screen.json"
    write(path, b"old")
    left = killed(path)
    assert path.read_bytes() == b"old" and left.read_bytes() == b"half"
    write(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"screen.json": b"whole"}


def test_what_a_living_writer_writes_is_left_alone_however_long_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    process = writer(path)
    (part,) = tmp_path.iterdir()
    os.utime(part, (part.stat().st_mtime - 3600,) * 2)
    write(path)
    assert part.exists()
    process.communicate()
    assert process.returncode == 0
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"report.json": b"half"}


def test_files_of_others_are_never_swept(tmp_path: Path) -> None:
    path = tmp_path / "a[b].json"
    others = [
        ".a[b].json.mine",
        ".a[b].json.0123456789abcdef.vakra-tui-part.bak",
        ".ab.json.0123456789abcdef.vakra-tui-part",
    ]
    for name in others:
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 0))
    folder = tmp_path / ".a[b].json.0123456789abcdef.vakra-tui-part"
    folder.mkdir()
    os.utime(folder, (0, 0))
    write(path)
    assert {p.name for p in tmp_path.iterdir()} == {*others, folder.name, "a[b].json"}


@pytest.mark.parametrize("name", ["n" * 255, "\u6f22" * 85, ".hidden", "line\nbreak", "esc\x1b[31m", "[*?"])
def test_every_name_that_a_file_can_have_is_written(tmp_path: Path, name: str) -> None:
    left = killed(tmp_path / name)
    write(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert not left.exists()


def test_permissions_are_those_of_a_new_file_or_of_this_user_alone(tmp_path: Path) -> None:
    write(tmp_path / "open")
    with written_whole(tmp_path / "closed", private=True) as stream:
        stream.write(b"")
    (tmp_path / "new").touch()
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes["open"] == modes["new"] and modes["closed"] == 0o600


def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), written_whole(tmp_path / "file") as stream:
        stream.write(b"x")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", ["nul\0", "half \ud800", "~nobody-of-this-name/x"])
def test_a_text_that_names_no_file_is_told(written: str) -> None:
    with pytest.raises(DataError):
        path_of(written)


def test_a_written_path_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert path_of("~/x") == tmp_path / "x"
    assert path_of("esc\x1b[31m\n") == Path("esc\x1b[31m\n")
