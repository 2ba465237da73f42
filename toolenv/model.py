"""The nouns of the benchmark: immutable values, one definition each.

Field meanings follow VAKRA's public data layout. Keys that only a dataset's author knows (hops, patterns,
gold SQL ...) are kept apart in ``Instance.author_keys``: they are for slices and for people, and nothing that
decides a verdict may read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Json = Any
"""A decoded JSON value: dict, list, str, int, float, bool or None."""

Source = Literal["API", "RAG", "neutral"]
"""Where a tool's answer comes from; ``neutral`` are get_data and local bookkeeping tools."""

CAPABILITY_DIRS: Mapping[int, str] = {
    1: "capability_1_bi_apis",
    2: "capability_2_dashboard_apis",
    3: "capability_3_multihop_reasoning",
    4: "capability_4_multiturn",
}


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the immutable values."""


class ToolSpec(Value, frozen=True):
    """A tool as an agent sees it."""

    name: str
    input_schema: Mapping[str, Json]
    description: str = ""
    source: Source = "API"


class ToolCall(Value, frozen=True):
    """A call as it was written; ``arguments`` is an object unless ``raw_arguments`` holds text that is not one.

    ``label`` is the name under which the older label style lets later calls refer to this call's result.
    """

    name: str
    arguments: Mapping[str, Json]
    raw_arguments: str | None = None
    id: str | None = None
    label: str | None = None


ErrorKind = Literal[
    "refused_arguments", "unknown_tool", "tool_failed", "timed_out", "cancelled", "environment", "not_recorded"
]
"""The first three are a tool's own failures. The others say that no answer came: an environment raises instead, and a
stepper that a person watches records them as steps; they are never evidence for or against a trajectory."""


class ToolResult(Value, frozen=True):
    """What a call gave back.

    ``text`` is exactly what an agent sees. ``failed`` is true when the call did not succeed, whatever the flag
    says: the release reports some failures with ``is_error`` false (contract, sections 1.5 and 2).
    ``handle`` names the table that the call made, if any; ``notes`` explain known quirks in the result.
    """

    text: str
    is_error: bool = False
    failed: bool = False
    error_kind: ErrorKind | None = None
    duration_s: float = 0.0
    handle: str | None = None
    notes: tuple[str, ...] = ()


class Turn(Value, frozen=True):
    """One user turn of a dialogue; ``answer`` is given for context turns only."""

    turn_id: int
    query: str
    answer: Json = None


class GroundTruthTurn(Value, frozen=True):
    """The reference path of one turn. ``responses`` are the file's, shown but never trusted; None where absent."""

    turn_id: int
    query: str
    answer: Json
    calls: tuple[ToolCall, ...]
    responses: tuple[Json, ...] | None = None


class GroundTruth(Value, frozen=True):
    """One reference path: all turns; the last one is evaluated."""

    turns: tuple[GroundTruthTurn, ...]

    @property
    def evaluated(self) -> GroundTruthTurn:
        return self.turns[-1]


class Instance(Value, frozen=True):
    """One task of the benchmark.

    ``turns`` holds the whole dialogue; the last is the one to answer. ``universe_id`` is set for capability 1.
    ``ground_truth`` is None for test sets. ``topics`` is the dataset's own table of topic groups by domain, where it
    has one (policies name them). ``problems`` are sentences about what was odd in the records.
    """

    uuid: str
    capability: int
    domain: str
    turns: tuple[Turn, ...]
    policy: str = ""
    universe_id: str | None = None
    ground_truth: GroundTruth | None = None
    author_keys: Mapping[str, Json] = {}
    topics: Mapping[str, str] = {}
    problems: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        return self.turns[-1].query


class Prediction(Value, frozen=True):
    """One record of a run: the calls and the answer of the evaluated turn.

    ``responses`` are those found in the file, shown but never trusted. ``status`` and ``error`` are the runner's.
    ``turns`` is the number of output turns in the record, of which exactly one is due.
    """

    uuid: str
    domain: str
    query: str
    answer: str
    calls: tuple[ToolCall, ...]
    capability: int | None = None
    turn_id: int = 0
    turns: int = 1
    status: str = "success"
    error: str = ""
    duration_s: float = 0.0
    responses: tuple[Json, ...] | None = None
    problems: tuple[str, ...] = ()


ToolStyle = Literal["slot", "sel"]


class UniverseTable(Value, frozen=True):
    """One aliased table of a tool universe; its columns are named after ``modified_name``."""

    alias: str
    original_name: str
    modified_name: str


class Universe(Value, frozen=True):
    """A tool universe of capability 1: the tables that ``get_data`` joins, and the tool style that it exposes.

    ``conditions`` are (left column, right column, declared kind), columns written ``ALIAS.column``.
    """

    id: str
    domain: str
    style: ToolStyle
    tables: tuple[UniverseTable, ...]
    conditions: tuple[tuple[str, str, str], ...]
    query: str = ""
