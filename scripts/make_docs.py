"""The pages of ``docs`` that are made from the code: keys.md, and the tables of filters.md.

``python scripts/make_docs.py`` writes them anew; ``--check`` only says whether they are what the code says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from filter_tables import PAGE as FILTERS
from filter_tables import filled

from vakra_tui.state.commands import CONTEXTS, Command, commands_of, key_words
from vakra_tui.state.config import THEMES
from vakra_tui.state.keys import SIGNS

DOCS = Path(__file__).resolve().parent.parent / "docs"

INTRODUCTION = f"""\
# Keys

Made from the code by `scripts/make_docs.py`. On the screen `?` lists the keys of the pane that has the keyboard first,
and `:` (or `^p`) finds a command by its name. Every pane, tab, list and footer entry can be clicked; the wheel scrolls.

## Choosing other keys

The file `config.toml` in the user's config folder (`vakra-tui doctor` names its place, on Linux
`~/.config/vakra-tui/config.toml`) gives commands other keys, by the ids in the tables below:

```toml
theme = "high-contrast"              # {", ".join(THEMES)}; without this line the one chosen last

[keys]
"debugger.step" = "s,f6"             # several keys, separated by commas
"debugger.evaluate" = ["v", "f5"]    # or as a list
"debugger.export" = ""               # no key: the palette still has it
"debugger.hint" = "number_sign"      # a character, or its name: ctrl+x, f5, comma, full_stop
```

What cannot be used is told in a dialog when the debugger starts, and by `vakra-tui doctor`; everything else in the file
holds. Where two commands of one screen have the same key, the dialog names both; keys that move in a list or a text
(`Space`, the arrows) never reach a command of the screen around it. Where `NO_COLOR` is set and not empty, no
colour is written at all: bold, underlined and reversed text take its place.

Remembered between two starts, in `screen.json` of the user's state folder: the theme, the panes' widths and which are
folded, and for each dataset the search, the row and the instance that stood open. `--instance` and the other selections
of the command line go before it.
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _keys(command: Command) -> str:
    return " ".join(f"`{key_words((key,))}`" for key in command.key_list) or "palette"


def _table(commands: tuple[Command, ...]) -> Iterator[str]:
    yield "| key | what it does | id |"
    yield "|---|---|---|"
    for command in commands:
        yield f"| {_cell(_keys(command))} | {_cell(command.title)} | `{command.id}` |"


def keys_page() -> str:
    """The text of ``docs/keys.md``."""
    lines = [INTRODUCTION]
    for context, title in CONTEXTS.items():
        commands = commands_of(context)
        groups = dict.fromkeys(command.group for command in commands)
        lines.append(f"## {title}\n")
        for group in groups:
            if group:
                lines.append(f"### {group.capitalize()}\n")
            lines += _table(tuple(command for command in commands if command.group == group))
            lines.append("")
    lines.append("## Signs\n")
    lines += ["| sign | what it means |", "|---|---|"]
    lines += [f"| `{_cell(sign)}` | {_cell(words)} |" for sign, words in SIGNS]
    return "\n".join(lines) + "\n"


def pages() -> dict[Path, str]:
    """Every page that is made, and its text."""
    return {DOCS / "keys.md": keys_page(), FILTERS: filled(FILTERS.read_text(encoding="utf-8"))}


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = 0
    for path, text in pages().items():
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        stale += not same
        if not check and not same:
            path.write_text(text, encoding="utf-8")
        print(f"{path}: {'current' if same else 'not what the code says' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
