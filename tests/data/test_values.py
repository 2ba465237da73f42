"""The one definition of value equality (waterfall contract, "Facts"; EVL-15)."""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenv.values import (
    ValueIndex,
    atoms,
    decode,
    equal,
    key,
    keys,
    keys_equal,
    multisets_equal,
    normal_text,
    number,
    numbers_in,
    occurs,
)

ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
JSON = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner), max_leaves=12
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (16, 16.0),
        (16, "16"),
        (16.0, "16.0"),
        ("1,234", 1234),
        ("1,234,567.50", 1234567.5),
        (0.1 + 0.2, 0.3),
        ("0.3", 0.1 + 0.2),
        (-0.0, 0),
        ("-3", -3),
        ("\u22123", -3),
        (1e22, 10**22),
        ("1e-05", 0.00001),
        ("Marvel  Comics", "marvel comics"),
        ("a\u00a0b", "A B"),
        ("Stra\u00dfe", "STRASSE"),
        (None, math.nan),
        (True, "True"),
        (10**30, float(10**30)),
        (10**300, "1" + "0" * 300),
    ],
)
def test_equal(left: Any, right: Any) -> None:
    assert equal(left, right)
    assert equal(right, left)
    assert ValueIndex([key(left)]).has(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1,23", 123),
        ("12,34", 1234),
        ("1,234 kg", 1234),
        ("50%", 0.5),
        ("50%", 50),
        ("007", 7),
        ("2E10", 2e10),
        (True, 1),
        (False, 0),
        (None, ""),
        (None, "None"),
        (None, 0),
        ("", 0),
        (1.0, 1.001),
        (5551234567.0, 5551234568.0),
        (2**60, 2**60 + 1),
        ("nan", None),
        ("O'Brien", "O\u2019Brien"),
        ("TR000_1", "TR000_10"),
    ],
)
def test_different(left: Any, right: Any) -> None:
    assert not equal(left, right)
    assert not equal(right, left)
    assert not ValueIndex([key(left)]).has(right)


def test_tolerance_is_relative_and_for_floats_alone() -> None:
    assert equal(1e10 + 0.5, 1e10 + 0.25)
    assert not equal(1e-10, 2e-10)
    assert not equal(10**12, 10**12 + 1)
    assert equal(1.2345678901234567e17, 1.2345678901234569e17)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (unicodedata.normalize("NFC", "Caf\u00e9 Z\u00fcrich"), unicodedata.normalize("NFD", "Caf\u00e9 Z\u00fcrich")),
        ("ph\u1edf b\u00f2", unicodedata.normalize("NFD", "ph\u1edf b\u00f2")),
        ("10\u00a0km", "10 km"),
        ("\uff21\uff11", "A1"),
        ("\u0130stanbul", "i\u0307stanbul"),
    ],
)
def test_forms_of_one_text_are_equal_and_neither_is_changed(left: str, right: str) -> None:
    before = (left, right)
    assert equal(left, right)
    assert (left, right) == before


@given(ATOMS)
def test_equality_is_reflexive_and_keys_are_stable(value: Any) -> None:
    assert equal(value, value)
    again = key(value)
    assert keys_equal(again, key(again))


@given(ATOMS, ATOMS)
def test_equality_is_symmetric_and_the_index_agrees(left: Any, right: Any) -> None:
    assert equal(left, right) == equal(right, left)
    assert ValueIndex([key(left)]).has(right) == equal(left, right)


@given(st.text(max_size=40))
def test_normal_text_is_idempotent(text: str) -> None:
    assert normal_text(normal_text(text)) == normal_text(text)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(), max_size=30), st.floats(allow_nan=False)
)
def test_the_index_finds_what_a_loop_finds(values: list[float], wanted: float) -> None:
    index = ValueIndex(keys(values))
    assert (key(wanted) in index) == any(equal(value, wanted) for value in values)


def test_an_index_grows() -> None:
    index = ValueIndex([0.3])
    assert 0.1 + 0.2 in index
    index.add(0.7)
    index.update([None])
    assert 0.1 + 0.6 in index
    assert None in index
    assert index.match(0.1 + 0.2) == 0.3
    assert len(index) == 3


@given(JSON)
def test_atoms_are_all_scalars_in_order_and_survive_the_round_trip(value: Any) -> None:
    found = list(atoms(value))
    assert all(not isinstance(atom, dict | list) for atom in found)
    assert list(keys(decode(json.dumps(value)) if not isinstance(value, str) else value)) == list(keys(value))


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=5))
def test_key_order_and_layout_do_not_matter(value: dict[str, int]) -> None:
    turned = dict(reversed(value.items()))
    assert multisets_equal(keys(decode(json.dumps(value))), keys(decode(json.dumps(turned, indent=2))))


@given(st.lists(ATOMS, max_size=8), st.randoms())
def test_multisets_ignore_order_but_not_number(values: list[Any], random: Any) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert multisets_equal(keys(values), keys(shuffled))
    assert not multisets_equal(keys(values), keys([*values, "one more"]))


def test_multisets_honour_the_tolerance() -> None:
    assert multisets_equal(keys([0.1 + 0.2, "A", 1]), keys(["a", "1", 0.3]))
    assert not multisets_equal(keys([0.3, 0.3]), keys([0.3, 0.4]))
    assert not multisets_equal(keys([0.3, "x"]), keys([0.3, 0.4]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("506.0", 506.0),
        ("nan", None),
        ("inf", math.inf),
        ('{"a": NaN}', {"a": None}),
        ("DC Comics", "DC Comics"),
        ('"text"', "text"),
        ("{broken", "{broken"),
        ("", ""),
        ("[" * 100000, "[" * 100000),
    ],
)
def test_decoding_responses(text: str, value: Any) -> None:
    assert list(keys(decode(text))) == list(keys(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        ("3", 3),
        ("1,000.5", 1000.5),
        (True, None),
        (math.nan, None),
        (math.inf, None),
        ("20%", None),
        ([], None),
    ],
)
def test_number(value: Any, expected: Any) -> None:
    assert number(value) == expected


def test_numbers_in_text() -> None:
    text = (
        "It is 5. And -3.5%, $1,234.50 or TR000_1, 2013-07-26, 10:30, 3-D, x-5, v1.2.3, 1,2,3 (7) **19**, a=4; \u22122"
    )
    assert [value for _, _, value in numbers_in(text)] == [5, -3.5, 1234.5, 1, 2, 3, 7, 19, 4, -2]
    assert all(number(text[start:end]) == value for start, end, value in numbers_in(text))


@pytest.mark.parametrize(
    ("value", "text", "there"),
    [
        ("DC Comics", "It is dc  comics.", True),
        ("DC", "DCX", False),
        ("TR000", "TR000_1", False),
        ("-", "non-carcinogenic", False),
        ("-", "the label is '-'", True),
        (19, "There are **19** heroes", True),
        (19, "There are 190", False),
        (1234, "1,234 of them", True),
        (0.3, "0.30000000001", True),
        ("007", "agent 007", True),
        ("", "anything", False),
        (None, "None", False),
        (True, "yes, true", True),
    ],
)
def test_occurs(value: Any, text: str, there: bool) -> None:
    assert occurs(value, text) is there


def test_hostile_texts_do_not_hang() -> None:
    assert not equal("9" * 100_000, 9)
    assert list(numbers_in("1," * 50_000 + "x")) != []
    assert not occurs("zz", "1.1.1." * 50_000)
    assert key("1e" + "9" * 300) == "1e" + "9" * 300
