"""How a judge's reply is read: every form that carries a ruling, and none that only looks like one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.judges.replies import Reading, Unreadable, read_reply

PASS = '{"reason": "same number", "ruling": "pass"}'
FAIL = '{"reason": "other number", "ruling": "fail"}'


@pytest.mark.parametrize(
    "reply",
    [
        PASS,
        f"  {PASS}\n",
        f"```json\n{PASS}\n```",
        f"```\n{PASS}\n```",
        'Here is my verdict:\n{"explanation": "braces { in } text", "score": 1}',
        f"{PASS}\nHope this helps",
        f"<think>The form is {FAIL} but they match.</think>\n{PASS}",
        f"they match, maybe no?\n</think>\n{PASS}",
        f"[THINK]no no[/THINK]{PASS}",
        '{"explanation": "the text <think> appears in the answer", "score": 1}',
        'Sure. {"explanation": "the text <think> appears in the answer", "score": 1}',
        f"<|channel|>analysis<|message|>maybe {FAIL}<|end|><|start|>assistant<|channel|>final<|message|>{PASS}",
        f"<|channel|>final <|constrain|>json<|message|>{PASS}<|return|>",
        '{"Score": "1"}',
        '{"score": 1.0}',
        '{"score": true}',
        '{"ruling": "PASS"}',
        f"{PASS}\n{PASS}",
        "There is no unsupported claim.\nyes",
        "<conclusion>\nno\n</conclusion>\nOn reflection:\n<conclusion>\nyes\nall claims are there\n</conclusion>",
        "Label: **Yes** - all good",
        "<conclusion>\nchoose a label from [yes, partial, no, unsure]\n</conclusion>\nyes",
        "1. yes\n2. because",
    ],
)
def test_a_ruling_that_passes(reply: str) -> None:
    assert read_reply(reply).outcome == "pass"


@pytest.mark.parametrize(
    "reply",
    [
        FAIL,
        '{"score": 0}',
        "Labels are yes, partial, no, unsure.\n<conclusion>\npartial\nneeds common sense\n</conclusion>",
        "choose a label from [yes, partial, no, unsure]\nno",
        "**no**",
        "Ruling: fail",
    ],
)
def test_a_ruling_that_fails(reply: str) -> None:
    assert read_reply(reply).outcome == "fail"


def test_a_judge_that_cannot_tell_leaves_it_undecided() -> None:
    assert read_reply('{"ruling": "unsure"}').outcome == "undecided"
    assert read_reply("<conclusion>\nunsure\n</conclusion>").outcome == "undecided"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n ",
        "I cannot evaluate this.",
        '[{"score": 1}]',
        '"pass"',
        "1",
        "null",
        '{"explanation": "ok"}',
        '{"score": null}',
        '{"score": 2}',
        '{"score": "10"}',
        '{"score": "1 or 0"}',
        '{"ruling": ["pass"]}',
        '{"ruling": {"ruling": "pass"}}',
        "{'score': 1, 'explanation': 'ok'}",
        '{"score": 1,}',
        "Final: grounded",
        "yesterday",
        "Yes, I think that the answer might be right, or not.",
        "The answer passes no test. Pass the salt.",
        f"<think>{PASS} seems right but I need more",
        f"Well. <think>{PASS}",
        f"<|channel|>analysis<|message|>{PASS}",
        f"{PASS}\n{FAIL}",
        '{"ruling": "pass", "ruling": "fail"}',
        '{"ruling": "pass", "score": 0}',
        "yes\nno",
        f"Verdict: [{PASS}]",
        "<think>pass</think>",
        "[" * 3000,
        '{"a":' * 3000,
    ],
)
def test_a_reply_without_a_clear_ruling_is_no_ruling(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_reply(reply)


def test_a_ruling_that_stands_in_the_material_is_a_quotation() -> None:
    material = f"The tool said: {PASS} and so on"
    with pytest.raises(Unreadable, match="quotes"):
        read_reply(PASS, material)
    with pytest.raises(Unreadable, match="quotes"):
        read_reply(f"The answer contains {PASS}", material)
    quoting = f"The answer contains {PASS}, which I set aside.\n{FAIL}"
    assert read_reply(quoting, material).outcome == "fail"


def test_the_part_that_was_read_and_its_reason_are_told() -> None:
    assert read_reply(f"So:\n{PASS}\nend") == Reading(outcome="pass", reason="same number", span=PASS, how="lenient")
    assert read_reply(PASS).how == "strict"
    conclusion = read_reply("<conclusion>\nyes\nall claims\nare there\n</conclusion>")
    assert (conclusion.reason, conclusion.span) == ("all claims are there", "yes\nall claims\nare there")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_reply(text)
    except Unreadable:
        return


plain = st.text(st.characters(codec="utf-8", exclude_characters="<[{|"))


@given(plain, plain, st.sampled_from(["pass", "fail"]), st.text(st.characters(codec="utf-8")))
def test_prose_around_an_object_changes_nothing(before: str, after: str, ruling: str, reason: str) -> None:
    found = json.dumps({"reason": reason, "ruling": ruling})
    reading = read_reply(f"{before}\n{found}\n{after}")
    assert (reading.outcome, reading.reason) == (ruling, reason.strip())
