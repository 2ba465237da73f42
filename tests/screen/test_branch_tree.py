"""The list of steps with other branches drawn where they leave, and its rows led back to steps."""

from __future__ import annotations

import screen_toy as toy

from vakra_tui.state.lines import plain
from vakra_tui.state.panes.branch_tree import branch_words, twig_line, twigs
from vakra_tui.state.panes.steps import StepsSource, step_line
from vakra_tui.state.scene import BranchRow, Gap, Scene, StepRow

MAIN = BranchRow(number=0, name="main", parent=None, fork_at=0, steps=4, actor="recording", passed=False, judged=True)
FORK = BranchRow(number=1, name="fork 2a", parent=0, fork_at=2, steps=5, actor="human", passed=True, judged=True)
TWIN = BranchRow(number=2, name="fork 2b", parent=0, fork_at=2, steps=2, actor="human")
INNER = BranchRow(number=3, name="fork 3c", parent=1, fork_at=3, steps=4, actor="agent", judged=True)
LATE = BranchRow(number=4, name="fork 4d", parent=0, fork_at=4, steps=5, actor="ground_truth")
TREE = (MAIN, FORK, TWIN, INNER, LATE)


def scene(shown: int, steps: int, **changes: object) -> Scene:
    rows = tuple(
        StepRow(number=number, actor="recording", tool=f"tool_{number}", outcome="ok", **changes)  # type: ignore[arg-type]
        for number in range(1, steps + 1)
    )
    return Scene(instance=toy.instance(), run="r", rows=rows, tree=TREE, on_branch=shown)


def listed(source: StepsSource, width: int = 40) -> list[str]:
    return [plain(source.line(index)).rstrip() for index in range(source.layout(width))]


def test_branches_are_drawn_after_the_step_where_they_leave() -> None:
    rows = listed(StepsSource(scene(0, 4)))
    assert [" ".join(row.split()) for row in rows] == [
        "1 R > tool_1 ok",
        "2 R > tool_2 ok",
        "├─ fork 2a H ✓ +3 steps",
        "│ └─ fork 3c A ? +2 steps",
        "└─ fork 2b H +0 steps",
        "3 R > tool_3 ok",
        "4 R > tool_4 ok",
        "└─ fork 4d G +1 step",
    ]


def test_seen_from_a_fork_the_branch_that_was_left_goes_on_where_it_was_left() -> None:
    drawn = twigs(TREE, 3)
    assert [(twig.branch.name, twig.after, twig.lead) for twig in drawn] == [
        ("main", 2, "├─ "),
        ("fork 4d", 2, "│  └─ "),
        ("fork 2b", 2, "└─ "),
        ("fork 2a", 3, "└─ "),
    ]
    assert {twig.branch.number for twig in drawn} == {0, 1, 2, 4}


def test_rows_of_the_list_lead_to_steps_and_branches() -> None:
    source = StepsSource(scene(0, 4))
    source.layout(40)
    assert [source.step_of(index) for index in range(8)] == [0, 1, 1, 1, 1, 2, 3, 3]
    assert [source.branch_of(index) for index in range(8)] == [None, None, 1, 3, 2, None, None, 4]
    assert [source.place_of(step) for step in range(4)] == [0, 1, 5, 6]
    alone = StepsSource(scene(0, 4).__class__(instance=toy.instance(), run="r", rows=scene(0, 4).rows))
    assert (alone.layout(40), alone.step_of(2), alone.branch_of(2), alone.place_of(3)) == (4, 2, None, 3)


def test_what_a_person_left_and_what_differs_is_flagged_and_the_name_gives_way_last() -> None:
    gaps = (Gap(argument="x", kind="missing"),)
    source = StepsSource(scene(0, 1, marked=True, remarks=("why?",), gaps=gaps, ungrounded=True))
    assert listed(source, 60)[0].endswith("◆ ✎ Δ src? ok")
    assert "tool_1" in listed(source, 28)[0]
    assert "◆ ✎" in listed(source, 28)[0]


def test_flags_go_before_the_end_of_a_long_name() -> None:
    row = StepRow(
        number=1,
        actor="recording",
        tool="get_reservoirs_of_a_country_by_height",
        outcome="refused",
        gaps=(Gap(argument="x", kind="missing"),),
    )
    shown = plain(step_line(row, 28)).rstrip()
    assert shown.endswith("\u0394 refused") and "get_r" in shown
    row = StepRow(number=1, actor="recording", tool="filter_data_by_country", outcome="failed", ungrounded=True)
    shown = plain(step_line(row, 28)).rstrip()
    assert shown.endswith("src? err") and "filter" in shown


def test_hops_that_one_step_recovered_are_told_as_ranges() -> None:
    source = StepsSource(scene(0, 1, recovers=(1, 2, 3, 5, 7, 8)))
    assert listed(source, 60)[0].endswith("✓1-3,5,7,8 ok")


def test_a_branch_that_shares_no_step_with_its_parent_hangs_where_it_leaves_the_others() -> None:
    tree = (
        BranchRow(number=0, name="main", parent=None, fork_at=0, steps=3),
        BranchRow(number=1, name="human from 1", parent=0, fork_at=1, steps=2),
        BranchRow(number=2, name="human from 0", parent=1, fork_at=0, steps=2),
    )
    rows = [(twig.branch.name, twig.after, plain(twig_line(twig)).split("+")[1]) for twig in twigs(tree, 0)]
    assert rows == [("human from 0", 0, "2 steps"), ("human from 1", 1, "1 step")]
    assert [twig.after for twig in twigs(tree, 2)] == [0, 0]


def test_branches_to_choose_from_have_their_verdict_and_the_present_one_is_marked() -> None:
    assert [branch_words(branch, 1) for branch in TREE[:4]] == [
        "main, 4 steps, \u2717 failed",
        "fork 2a, 5 steps, \u2713 passed (here)",
        "fork 2b, 2 steps, not evaluated",
        "fork 3c, 4 steps, ? undecided",
    ]
