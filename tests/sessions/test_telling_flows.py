"""Which flows of values are drawn: none that a short or common value makes by chance."""

from __future__ import annotations

import pytest

from sessions.dataflow import ANSWER, Flow, ResponseFacts, is_telling
from toolenv.values import Atom, key

QUESTION = ["Which 7 noble gases were found by UK chemists after 1890?"]


def told(value: Atom, *, target: int = 2, kind: str = "value", beside: int = 3) -> bool:
    flow = Flow(source=1, target=target, kind=kind, value=value, argument="limit")  # type: ignore[arg-type]
    printed: dict[object, Atom] = {key(value): value, **{f"other {n}": f"other {n}" for n in range(beside)}}
    return is_telling(flow, ResponseFacts(printed=printed), QUESTION)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1, 1.0, 10, True, None, 7, 7.0, "UK", 100])
def test_what_is_common_or_short_and_asked_for_draws_no_edge(value: Atom) -> None:
    assert not told(value)


@pytest.mark.parametrize("value", [1890, "noble", 18, "Fr", 27.75, "Radon", 831])
def test_what_says_where_it_comes_from_draws_one(value: Atom) -> None:
    assert told(value)


def test_a_response_that_prints_one_value_alone_is_where_it_comes_from() -> None:
    assert told(1, beside=0) and told("UK", beside=0)


def test_handles_and_answers_are_drawn_always() -> None:
    assert told("UK", kind="handle") and told(1, target=ANSWER)
