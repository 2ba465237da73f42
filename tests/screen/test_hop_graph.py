"""The edges beside the reference path: lanes, crossings, junctions, wrapped rows, and where a hop begins."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vakra_tui.state.lines import line, plain
from vakra_tui.state.panes.hop_graph import GraphRow, HopGraph
from vakra_tui.wrap import width_of


def drawn(rows: list[GraphRow], width: int = 60, marked: int = 0) -> list[str]:
    graph = HopGraph([line("head")], rows)
    graph.marked = marked
    return [plain(graph.line(index)).rstrip() for index in range(graph.layout(width))]


def row(text: str, *, gives: int = 0, takes: tuple[int, ...] = (), node: int = 0) -> GraphRow:
    return GraphRow(line(text), gives=gives, takes=takes, node=node)


def test_a_chain_runs_in_one_lane() -> None:
    rows = [row("one", node=1), row("gives a", gives=1, node=1), row("a", takes=(1,), node=2), row("gives b", gives=2)]
    rows += [row("b", takes=(2,))]
    assert drawn(rows) == [
        "head",
        "    one",
        " ╭──gives a",
        " ╰─▸a",
        " ╭──gives b",
        " ╰─▸b",
    ]


def test_a_long_edge_keeps_outside_and_a_lane_that_is_crossed_is_drawn_through() -> None:
    rows = [
        row("gives a", gives=1),
        row("gives b", gives=2),
        row("a", takes=(1,)),
        row("b", takes=(2,)),
        row("a and c", takes=(1,)),
    ]
    assert drawn(rows) == [
        "head",
        " ╭────gives a",
        " │ ╭──gives b",
        " ├─│─▸a",
        " │ ╰─▸b",
        " ╰───▸a and c",
    ]


def test_two_values_that_arrive_in_one_argument_join() -> None:
    rows = [row("gives a", gives=1), row("gives b", gives=2), row("both", takes=(1, 2))]
    assert drawn(rows)[-1] == " ╰─┴─▸both"


def test_wrapped_rows_carry_the_lanes_that_go_on() -> None:
    rows = [row("gives " + "many words " * 8, gives=1), row("some more words " * 5), row("end", takes=(1,))]
    lines = drawn(rows, 30)
    assert all(text.startswith(" │") for text in lines[2:-1])
    assert lines[-1].startswith(" ╰─▸end")
    assert all(len(text) <= 30 for text in lines)


def test_edges_that_find_no_lane_are_left_to_the_words() -> None:
    rows = [row(f"gives {number}", gives=number) for number in range(1, 9)]
    rows += [row(f"takes {number}", takes=(number,)) for number in range(1, 9)]
    narrow, wide = drawn(rows, 30), drawn(rows, 60)
    assert sum("▸" in text for text in narrow) == 2
    assert sum("▸" in text for text in wide) == 5
    assert all(f"takes {number}" in "\n".join(narrow) for number in range(1, 9))


def test_the_node_that_is_pointed_at_has_a_bar_and_is_found() -> None:
    rows = [row("one", node=1), row("two", node=2), row("more of two " * 5, node=2), row("three", node=3)]
    graph = HopGraph([line("head " * 20)], rows)
    graph.marked = 2
    count = graph.layout(30)
    lines = [plain(graph.line(index)) for index in range(count)]
    begins = graph.row_of(2)
    assert begins is not None and "two" in lines[begins]
    assert [text.startswith("┃") for text in lines].index(True) == begins
    assert not any(text.startswith("┃") for text in lines[graph.row_of(3) or 0 :])
    assert graph.row_of(9) is None
    last = graph.end_of(2)
    assert last is not None and (graph.node_at(last), graph.node_at(last + 1)) == (2, 3)
    assert (graph.end_of(9), graph.node_at(0), graph.node_at(count)) == (None, 0, 0)


@given(
    st.lists(
        st.tuples(st.text(max_size=40), st.booleans(), st.lists(st.integers(0, 12), max_size=3)),
        max_size=12,
    ),
    st.integers(14, 70),
)
@settings(max_examples=150, deadline=None)
def test_no_graph_breaks_the_width_or_loses_a_row(parts: list[tuple[str, bool, list[int]]], width: int) -> None:
    rows = [
        GraphRow(line(text), gives=index + 1 if gives else 0, takes=tuple(takes), node=index + 1)
        for index, (text, gives, takes) in enumerate(parts)
    ]
    graph = HopGraph([], rows)
    lines = [graph.line(index) for index in range(graph.layout(width))]
    assert len(lines) >= len(rows)
    assert all(width_of(each) <= max(width, 22) for each in lines)
    assert [graph.row_of(index + 1) is not None for index in range(len(rows))] == [True] * len(rows)
