"""The help: what the keys do where a person is, and what the signs on the screen mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vakra_tui.state.commands import CONTEXTS, Command, commands_of, key_words
from vakra_tui.state.lines import BLANK, HANG, Line, line

SIGNS: tuple[tuple[str, str], ...] = (
    ("R H G A \u00b7", "who decided a step: recording, human, ground truth, agent, opening"),
    ("> x ? =", "call ok, call failed, no answer came, final answer"),
    ("ok err", "at the right: what came of the call; refused: its arguments do not fit the schema"),
    ("\u2717 BROKEN", "the step that made the deciding gate fail; the line BROKEN below says why"),
    ("! POL", "the call breaks the policy"),
    ("\u2713 1", "this step recovered hop 1 of the reference path; never a step that breaks the policy"),
    ("\u0394", "not as the reference call that it stands for, or stands for none (it may still be right)"),
    ("\u25c6 \u270e", "you marked the step; you noted something at it"),
    ("src?", "an argument whose value was seen nowhere before, small numbers left aside"),
    ("~", "arguments were converted to the schema's types before the call"),
    ("\u2260", "the file holds another response than the executed one"),
    ("\u25a0", "a breakpoint stopped here; in the title: how many there are"),
    ("drift", "the step came out differently when it was run again"),
    ("\u2442 1", "one branch leaves here; choosing its row looks at it, the command \u201cbranches\u201d lists all"),
    (
        "\u256d\u2500 \u2570\u25b8",
        "in the ground truth: values leave a hop, and arrive in an argument or in the answer",
    ),
    ("\u2691", "the instance carries a policy"),
    ("! ? \u00b7", "before a policy in the list: it applies to the instance, that is unclear, it does not"),
    ("\u2713 \u2717 ?", "below a run: it passed, failed (gate and sieve class), is undecided or could not be scored"),
    ("\u00b7 none", "below a run: its prediction is not evaluated yet (evaluate does it); it has no prediction here"),
    ("*", "you marked the instance"),
    ("\u25b4 \u25be", "the list is sorted by this column, or the other way round"),
)

MAIN = ("debugger", "instances")
"""Contexts that every help shows, after those of the place where it was asked for."""

KEYS_WIDTH = 10
"""Cells for the keys of a command; longer ones push its sentence."""


def keys_of(command: Command, keymap: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The keys that a command has now; ``keymap``: id -> keys that a person chose instead of the default ones."""
    return tuple(keymap.get(command.id, command.key_list))


def sections(
    contexts: Sequence[str], pane: str, keymap: Mapping[str, Sequence[str]]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, rows of (keys, sentence)): the focused pane's first, then each context by its groups; no command twice.

    A command without a key is told as ``palette``.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    told: set[str] = set()

    def tell(heading: str, command: Command) -> None:
        if command.id not in told:
            told.add(command.id)
            keys = key_words(keys_of(command, keymap)) or "palette"
            found.setdefault(heading, []).append((keys, command.title))

    for context in contexts:
        for command in commands_of(context):
            if pane and pane in command.panes:
                tell(f"Here: {pane}", command)
    for context in (*contexts, *(main for main in MAIN if main not in contexts)):
        for command in commands_of(context):
            heading = CONTEXTS[context]
            tell(f"{heading}: {command.group}" if command.group else heading, command)
    return list(found.items())


def help_lines(
    contexts: Sequence[str], *, pane: str = "", keymap: Mapping[str, Sequence[str]] | None = None
) -> list[Line]:
    """The help screen for the place where a person is: ``contexts`` by nearness, ``pane`` the focused one."""
    lines: list[Line] = []
    for heading, rows in sections(contexts, pane, keymap or {}):
        lines.append(line((heading, "title")))
        lines += [line((f"  {keys:<{KEYS_WIDTH - 1}} ", "accent"), HANG, title) for keys, title in rows]
        lines.append(BLANK)
    lines.append(line(("Signs", "title")))
    lines += [line((f"  {sign:<{KEYS_WIDTH - 1}} ", "accent"), HANG, words) for sign, words in SIGNS]
    return lines
