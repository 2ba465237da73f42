"""Secrets stay outside the store, known by where they came from or by their form; ordinary text stays whole."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from store_steps import begun, made

from sessions.redaction import REDACTED, redact_text, register_secret
from sessions.store import (
    Flag,
    RequestRecord,
    RunRecord,
    Store,
    StoredVerdict,
)
from sessions.trajectory import Answer, Step

SECRET = "vk-test-0123456789-abcdef"
SECRETIVE = (
    f"Authorization: Bearer {SECRET}\n",
    f'{{"authorization": "Basic {SECRET}"}}',
    f"https://person:{SECRET}@example.org/v1",
    f"https://example.org/v1?api_key={SECRET}&x=1",
    f"the key is {SECRET}",
    f"api_key = '{SECRET}'",
)


def test_secrets_are_written_nowhere(
    store: Store, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAKRA_TUI_JUDGE_API_KEY", SECRET)
    text_ = "\n".join(SECRETIVE)
    session = begun(
        store,
        made("call", text_ + "x" * 5000, header=text_),
        Step(actor="human", decision=Answer(text=text_)),
        title=text_,
        dataset_path=text_,
        run=text_,
        environment=text_,
    )
    store.put_note(session.id, text_)
    store.put_request(session.id, RequestRecord(kind="judge", model=text_, request={"headers": text_}, error=text_))
    store.put_results("scope", [("u", text_.encode())])
    store.put_ruling("k", text_.encode())
    store.put_ruling("compressed", zlib.compress(text_.encode()))
    store.put_run(RunRecord(fingerprint="f", name=text_, path=text_, detail={"url": text_}))
    store.put_flag(Flag(dataset="d", uuid="u", kind="k", text=text_))
    store.put_human_ruling("d", "r", "u", "g", {"reason": text_})
    store.put_verdict(
        session.id, StoredVerdict(branch=0, steps=2, profile="p", judge=text_, passed=None, body={"t": text_})
    )
    loaded = store.load(session.key)
    for step in loaded.tree.steps(0):
        assert SECRET not in repr(step)
    assert (
        SECRET not in repr(loaded)
        and SECRET not in repr(store.requests(session.id))
        and SECRET not in repr(store.runs())
    )
    ruling = store.ruling("compressed")
    assert ruling is not None and SECRET.encode() not in zlib.decompress(ruling)
    assert SECRET not in repr(list(store.results("scope"))) and SECRET not in repr(store.human_rulings("d", "r"))
    assert store.search("0123456789") == ()
    if store_url.startswith("sqlite"):
        store.close()
        for file in tmp_path.iterdir():
            assert SECRET.encode() not in file.read_bytes()


def test_compressed_rulings_without_secrets_stay_as_they_are(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = zlib.compress(b"a ruling of no secret " + bytes(range(256)))
    monkeypatch.setenv("VAKRA_TUI_JUDGE_API_KEY", payload[-40:].decode("utf-8", "surrogateescape"))
    store.put_ruling("k", payload)
    assert store.ruling("k") == payload


@pytest.mark.parametrize("secretive", SECRETIVE)
def test_secrets_are_known_by_their_form_too(secretive: str) -> None:
    if secretive.startswith("the key"):
        register_secret(SECRET + "-registered")
        secretive = f"the key is {SECRET}-registered"
    assert SECRET not in redact_text(secretive)
    assert REDACTED in redact_text(secretive)
    assert redact_text(redact_text(secretive)) == redact_text(secretive)


@pytest.mark.parametrize(
    "harmless",
    [
        "Basic understanding of authorization: Parliament approved it.",
        "The bearer certificates of 1923 were sold.",
        "https://example.org/a@b?page=2&sort=key",
        '{"key_name": "id", "api": "v1", "token_count": 12}',
        "task-force skating, risk-averse, ask-me-anything-about-this",
        "mail me at a@b.org: ok",
    ],
)
def test_ordinary_text_stays(harmless: str) -> None:
    assert redact_text(harmless) == harmless
