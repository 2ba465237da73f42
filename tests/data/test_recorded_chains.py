"""Chains that a recording is kept by, and which answers are failures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenv.failures import failure_of, result_of
from toolenv.recorded.chains import Chain, call_key, inner_chains, read


def test_a_chain_is_written_and_read() -> None:
    root = Chain("get_data", {"tool_universe_id": "u"})
    left, right = Chain("filter", {"data_label": root, "value": 1}), Chain("filter", {"data_label": root, "value": 2})
    both = Chain("join", {"a": left, "b": [right, left, {"x": root}]})
    written = json.loads(json.dumps(both.written()))
    assert [made["name"] for made in written["made_by"]] == ["get_data", "filter", "filter", "join"]
    back = read(written)
    assert back.digest == both.digest
    assert call_key("f", {"x": back}) == call_key("f", {"x": both}) != call_key("f", {"x": left})
    assert len(inner_chains({"x": [both, {"y": left}]})) == 2


def test_long_chains() -> None:
    chain = Chain("get_data", {})
    for number in range(3000):
        chain = Chain("filter", {"data_label": chain, "value": number})
    assert read(json.loads(json.dumps(chain.written()))).digest == chain.digest


@pytest.mark.parametrize(
    "value",
    [
        {"made_by": []},
        {"made_by": 5},
        {"made_by": [{"x": 1}]},
        {"made_by": [{"name": "a", "arguments": {"l": {"call": 3}}}]},
    ],
)
def test_an_odd_chain_is_no_chain(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        read(value)


@given(
    st.dictionaries(
        st.text(max_size=3), st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.none(), max_size=4
    )
)
def test_the_key_of_a_call_does_not_depend_on_layout(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(arguments.items()))
    assert call_key("f", arguments) == call_key("f", turned)
    assert call_key("f", arguments) == call_key("f", json.loads(json.dumps(turned, indent=1)))
    assert call_key("f", arguments) != call_key("g", arguments)


@pytest.mark.parametrize(
    ("text", "flag", "kind"),
    [
        ("Input validation error: 'x' is a required property", True, "refused_arguments"),
        ("Input validation error: 'pattern'", False, "tool_failed"),
        ("Unknown tool: x", True, "unknown_tool"),
        ("Tool x not found", True, "unknown_tool"),
        ("Tool 'x' not found", False, "unknown_tool"),
        ("Error calling API: Client error '422 Unprocessable Entity' for url 'x'", False, "tool_failed"),
        ('{"error": "Invalid key_name"}', False, "tool_failed"),
        ('{\n  "error": "x"\n}', False, "tool_failed"),
        ("Object of type bytes is not JSON serializable", True, "tool_failed"),
        ('{"error": "x", "count": 1}', False, None),
        ('{"errors": []}', False, None),
        ('[{"error": "x"}]', False, None),
        ("506.0", False, None),
        ("", False, None),
        ("The Tool was not found in the shed", False, None),
    ],
)
def test_failures(text: str, flag: bool, kind: str | None) -> None:
    assert failure_of(text, flag) == kind
    assert result_of(text, flag).failed is (kind is not None)
