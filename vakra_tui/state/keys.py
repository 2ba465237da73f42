"""What each key does, in one table: the help screen and the documents are made from it."""

from __future__ import annotations

from vakra_tui.state.lines import BLANK, HANG, Line, line

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Debugger: time",
        (
            ("s", "one step forth: through the past first, then the next call is run"),
            ("b", "one step back: the cursor moves, history does not change"),
            ("c", "continue to the next breakpoint, else to the end"),
            ("p", "breakpoints: set, switch off and on, remove"),
            ("0", "again from before the first step, on a branch; s and c go on"),
            ("g", "go to a step by its number"),
            ("v", "evaluate this branch: policy, tool sequence, final response"),
            ("r", "repair search: the one replacement that would have saved this trajectory"),
            ("J", "rule a gate of the verdict yourself: pass or fail, and why; it overrides and is marked human"),
        ),
    ),
    (
        "Debugger: doing",
        (
            ("w", "hand the wheel to the recording, the ground truth or yourself"),
            ("n", "call a tool: search, form, raw line, or scratch without a trace"),
            ("e", "edit the call under the cursor and run it on a new branch"),
            ("a", "give the final answer"),
            ("x", "decline: answer that it cannot be answered"),
            ("o", "oracle hint: one more hop of the reference path"),
            ("O", "show or hide the whole reference path"),
            ("f", "flag the ground truth as suspect, with a note"),
            ("d", "browse the domain's tables"),
            ("R", "another run's prediction of this instance"),
            ("B", "look at another branch of this session"),
            ("E", "export this branch as a prediction or as a reference record"),
        ),
    ),
    (
        "Debugger: looking",
        (
            ("tab", "next pane (shift+tab: the one before)"),
            ("1 2 3", "steps, step, ground truth"),
            ("4", "all reasons of the waterfall, or a few"),
            ("t T", "next or previous tab of the step: call, response, table, raw, messages, provenance"),
            ("h", "earlier turns of the dialogue"),
            ("enter", "on a JSON node: fold or unfold"),
            ("esc", "back to the list of instances"),
        ),
    ),
    (
        "Instances",
        (
            ("enter", "open the debugger"),
            ("/", "find: every word must occur in query, domain, uuid or verdict"),
            ("/ ~", "or filter: ~cap 4 ~policy applies ~fail tool_sequence !~err (tab completes)"),
            ("D", "only those on which the runs differ, or all again"),
            ("v V", "evaluate this instance, or all that are shown"),
        ),
    ),
    ("Everywhere", (("? F1", "this help"), ("^p", "command palette"), ("q", "quit"))),
)

SIGNS: tuple[tuple[str, str], ...] = (
    ("R H G A \u00b7", "who decided a step: recording, human, ground truth, agent, opening"),
    ("> x ? =", "call ok, call failed, no answer came, final answer"),
    ("! POL", "the call breaks the policy"),
    ("\u2713 1", "this step recovered hop 1 of the reference path"),
    ("src?", "an argument whose value was seen nowhere before"),
    ("~", "arguments were converted to the schema's types before the call"),
    ("\u2260", "the file holds another response than the executed one"),
    ("\u25a0", "a breakpoint stopped here; in the title: how many there are"),
    ("drift", "the step came out differently when it was run again"),
    ("\u2442 1", "one branch leaves here (B looks at it)"),
    ("\u2691", "the instance carries a policy"),
)


def help_lines(first: str = "") -> list[Line]:
    """The help screen, the groups of keys whose titles begin with ``first`` on top."""
    lines: list[Line] = []
    for title, keys in sorted(KEYS, key=lambda group: not group[0].startswith(first)):
        lines.append(line((title, "title")))
        lines += [line((f"  {key:<8}", "accent"), HANG, words) for key, words in keys]
        lines.append(BLANK)
    lines.append(line(("Signs", "title")))
    lines += [line((f"  {sign:<10}", "accent"), HANG, words) for sign, words in SIGNS]
    return lines
