"""SQLite files as they are found: old, of the future, foreign, damaged, locked, read-only, on a full disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_files import STEP, begun, child, locked, unversioned

from sessions.store import Store, set_aside
from sessions.store.errors import StoreBusy, StoreFull, StoreReadOnly, StoreUnusable, StoreUnwritable
from sessions.store.schema import FORMAT
from sessions.store.spill import Spill
from sessions.trajectory import Message, Step
from toolenv.errors import StoreError

# Versions.


def test_an_old_store_is_backed_up_and_migrated_once(tmp_path: Path) -> None:
    path = unversioned(tmp_path / "old.sqlite")
    for _ in range(2):
        with contextlib.closing(Store.open(str(path))) as store:
            titles = {item.title: item.key for item in store.sessions().items}
            assert set(titles) == {"first run", ""}
            steps = store.load(titles["first run"]).tree.steps(0)
            assert [step.decision for step in steps] == [
                Message(role="user", text="hello"),
                Message(role="user", text="again"),
            ]
            assert store.check() == []
    backups = list(tmp_path.glob("*.bak"))
    assert [each.name for each in backups] == ["old.sqlite.format-0.bak"]
    with contextlib.closing(sqlite3.connect(backups[0])) as connection:
        assert connection.execute("SELECT body FROM messages").fetchall() == [("hello",), ("again",)]


def test_a_migration_that_fails_leaves_the_old_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = unversioned(tmp_path / "old.sqlite")
    from sessions.store import migrations

    def fails(connection: object) -> int:
        migrations.from_format_0(connection)  # type: ignore[arg-type]
        raise StoreError("The disk went away.")

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", {0: fails})
        with pytest.raises(StoreError, match="went away"):
            Store.open(str(path))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (2,)
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
    Store.open(str(path)).close()


@pytest.mark.parametrize("log", [False, True], ids=["plain", "with a log"])
@pytest.mark.parametrize("ours", [True, False], ids=["of ours", "without our mark"])
def test_a_store_of_a_later_format_is_refused_and_untouched(tmp_path: Path, ours: bool, log: bool) -> None:
    path = tmp_path / "future.sqlite"
    if ours:
        begun(path)[0].close()
    connection = sqlite3.connect(path)
    if log:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE IF NOT EXISTS sessions(id INTEGER PRIMARY KEY, title TEXT, brand_new TEXT)")
    connection.execute("PRAGMA user_version = 9999")
    connection.commit()
    if not log:
        connection.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreUnusable, match=rf"format 9999, and this vakra-tui reads formats up to {FORMAT}"
    ) as refused:
        Store.open(str(path))
    assert refused.value.path == path
    assert path.read_bytes() == before
    connection.close()


def test_down_and_up_again_works(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store, _, key = begun(path)
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(StoreUnusable):
        Store.open(str(path))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    with contextlib.closing(Store.open(str(path))) as store:
        assert store.load(key).summary.title == "mine"


# Files that are no store.


def test_a_database_of_another_program_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE step(id INTEGER, url TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreUnusable, match="of another program"):
        Store.open(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"hello", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 4096, b"\0" * 8192]
)
def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sessions.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreUnusable):
        Store.open(str(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_cut_store_is_refused_and_a_fresh_one_begins_with_consent(tmp_path: Path, share: float) -> None:
    path = tmp_path / "sessions.sqlite"
    begun(path, steps=50)[0].close()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StoreUnusable, match="damaged") as refused:
        Store.open(str(path))
    assert refused.value.path is not None
    moved = set_aside(refused.value.path)
    assert moved.read_bytes() == whole[: int(len(whole) * share)]
    with contextlib.closing(Store.open(str(path))) as store:
        assert store.sessions().items == ()


def test_a_page_that_is_garbage_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store, _, key = begun(path, steps=200)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xab" * (len(content) - 4096)
    path.write_bytes(bytes(content))
    with pytest.raises(StoreError, match=r"sessions\.sqlite"), contextlib.closing(Store.open(str(path))) as store:
        store.load(key)


def test_an_empty_file_and_a_missing_folder_begin_a_store(tmp_path: Path) -> None:
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    for path in (empty, tmp_path / "a" / "b" / "sessions.sqlite"):
        begun(path)[0].close()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://me:secret@host/db", "SQLite or PostgreSQL, not in 'mysql'"),
        ("://", "cannot be read"),
        ("postgresql://me:secret@127.0.0.1:1/db", "cannot|does not"),
    ],
)
def test_an_address_that_leads_nowhere_is_a_sentence_without_its_password(url: str, sentence: str) -> None:
    with pytest.raises(StoreError, match=sentence) as refused:
        Store.open(url, wait_s=1)
    assert "secret" not in str(refused.value)


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=tmp_path.name):
        Store.open(str(tmp_path))


# Disks that refuse.


def test_a_full_disk_is_a_sentence_and_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store, session, key = begun(path)
    engine = store._transactions.engine
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    big = Step(actor="human", decision=Message(role="user", text=os.urandom(100_000).hex()))
    with pytest.raises(StoreFull, match="disk is full"):
        store.append(session, 0, 1, [big])
    assert store.load(key).summary.steps == 1
    (file,) = store.unsaved()
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    store.take_in(file)
    assert store.load(key).tree.steps(0)[1] == big
    store.close()


LIMITED = """
import resource, signal, sys, os
from counting import make_instance
from sessions.store import NewSession, Store
from sessions.trajectory import Message, Step
from toolenv.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store.open(sys.argv[1])
session = store.create_session(NewSession(instance=make_instance()))
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
kept = 0
for n in range(100):
    try:
        words = Message(role="user", text=os.urandom(20_000).hex())
        store.append(session.id, 0, n, [Step(actor="human", decision=words)])
    except StoreError as error:
        print(error)
        break
    kept += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(kept, len(store.load(session.key).tree.steps(0)))
"""


def test_a_disk_that_takes_no_more_is_a_sentence_and_keeps_what_it_took(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    process = child(LIMITED, str(path))
    said = process.communicate()[0].splitlines()
    assert process.returncode == 0, said
    assert str(path) in said[0] and ("disk" in said[0])
    kept, stored = said[1].split()
    assert kept == stored != "0"
    with contextlib.closing(Store.open(str(path))) as store:
        assert store.check() == []


UNPRIVILEGED = """
import os, sys
from counting import make_instance
from sessions.store import NewSession, Store
from toolenv.errors import StoreError
warm = Store.open("sqlite://")
warm.create_session(NewSession(instance=make_instance()))
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    store = Store.open(sys.argv[1])
except StoreError as error:
    print("refused:", error)
    raise SystemExit
print("read only:", store.read_only, [item.title for item in store.sessions().items])
try:
    store.create_session(NewSession(instance=make_instance()))
except StoreError as error:
    print("refused:", error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="vakra-store-"))
    folder.chmod(0o755)
    yield folder
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o755)
    shutil.rmtree(folder)


def as_somebody_else(path: Path) -> list[str]:
    """What a process without rights over the folder says."""
    process = child(UNPRIVILEGED, str(path))
    said = process.communicate()[0]
    assert process.returncode == 0, said
    return said.splitlines()


def test_a_read_only_store_is_read_and_says_so(open_folder: Path) -> None:
    path = open_folder / "sessions.sqlite"
    begun(path)[0].close()
    path.chmod(0o444)
    open_folder.chmod(0o555)
    first, second = as_somebody_else(path)
    assert first == "read only: True ['mine']"
    assert second == f"refused: The session store {path} cannot be written: it is read-only."


def test_a_store_that_cannot_be_made_is_a_sentence(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    (said,) = as_somebody_else(open_folder / "sessions.sqlite")
    assert (
        said == f"refused: The session store {open_folder / 'sessions.sqlite'} cannot be made: its folder is read-only."
    )
    (said,) = as_somebody_else(open_folder / "deeper" / "sessions.sqlite")
    assert "none can be made" in said


def test_a_store_opened_for_reading_refuses_writes_and_spills_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store, session, key = begun(path)
    reader = Store.open(str(path), read_only=True)
    assert reader.read_only and reader.load(key).summary.steps == 1
    with pytest.raises(StoreReadOnly):
        reader.append(session, 0, 1, [STEP])
    assert reader.unsaved() == []
    reader.close()
    store.close()
    assert issubclass(StoreReadOnly, StoreUnwritable)
    with pytest.raises(StoreReadOnly):
        Store.open(str(tmp_path / "absent.sqlite"), read_only=True)


def test_a_working_folder_that_is_gone_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(StoreError, match="cannot be found"):
        Store.open("sessions.sqlite")
    Store.open(str(tmp_path / "sessions.sqlite")).close()
    monkeypatch.chdir(tmp_path)


def test_a_locked_store_can_be_opened_and_read(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    begun(path)[0].close()
    with locked(path), contextlib.closing(Store.open(str(path), wait_s=0)) as store:
        assert [item.title for item in store.sessions().items] == ["mine"]


def test_what_was_refused_is_taken_back_in_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store, session, key = begun(path)
    hasty = Store.open(str(path), wait_s=0)
    with locked(path), pytest.raises(StoreBusy):
        hasty.append(session, 0, 1, [STEP])
    assert len(hasty.unsaved()) == 1
    hasty.put_ruling("k", b"{}")
    assert hasty.unsaved() == []
    assert store.load(key).tree.steps(0)[1] == STEP
    hasty.close()
    store.close()


def test_where_the_stores_folder_has_no_room_the_users_own_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    one, two = (tmp_path / name / "sessions.sqlite" for name in ("one", "two"))
    spills = [Spill(str(path), path) for path in (one, two)]
    one.parent.mkdir()
    for spill in spills:
        # A folder in the place of the file that would stand beside the store.
        blocked = next(spill.folders()) / f"{spill._stem}-{os.getpid()}.jsonl"
        blocked.mkdir(parents=True)
        kept = spill.keep([{"write": "ruling", "key": spill._stem, "body": ""}])
        assert kept is not None and kept.parent == tmp_path / "state" / "vakra-tui" / "unsaved"
        blocked.rmdir()
    assert [len(spill.files()) for spill in spills] == [1, 1]
    assert spills[0].files() != spills[1].files()


def corrupted(path: Path) -> Path:
    """A store whose schema quotes bytes that are no UTF-8."""
    begun(path)[0].close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    raw = path.read_bytes()
    assert b"CREATE TABLE ruling" in raw
    path.write_bytes(raw.replace(b"CREATE TABLE ruling", b"CREATE TABLF \xff\x97ling"))
    return path


def test_a_schema_whose_damage_is_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="is damaged"):
        Store.open(str(corrupted(tmp_path / "store.db")))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_device_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(StoreError, match="no regular file"):
            Store.open(str(path))


def test_bodies_that_another_program_wrote(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = begun(path)[0]
    store.put_results("scope", [("a", b"1"), ("b", b"2")])
    store.put_ruling("key", b"3")
    store.put_human_ruling("data", "run", "u", "grounded", {"outcome": "pass"})
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE result SET body = 'text' WHERE item = 'a'")
        connection.execute("UPDATE ruling SET body = 'text'")
        connection.execute("UPDATE human_ruling SET body = '{'")
    with contextlib.closing(Store.open(str(path))) as store:
        assert dict(store.results("scope")) == {"a": b"text", "b": b"2"}
        assert store.ruling("key") == b"text"
        with pytest.raises(StoreError, match="ruling in the session store cannot be read"):
            store.human_rulings("data", "run")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE result SET body = CAST(x'ff' AS TEXT) WHERE item = 'a'")
    with contextlib.closing(Store.open(str(path))) as store, pytest.raises(StoreUnusable, match="is damaged"):
        list(store.results("scope"))
