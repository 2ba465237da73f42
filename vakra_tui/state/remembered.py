"""What the screen comes back to: layout, theme, and for each dataset the search and the instance that were left.

Kept as one small JSON file in the user's state folder, replaced as a whole. A file that is damaged, from another
version or not to be read is as good as none: nothing is asked of it but convenience.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from vakra_tui.state.small_files import read_small, write_small

NAME = "screen.json"
MOST_PLACES = 100
WIDTHS = (16, 120)
"""Least and greatest width, in cells, that a pane may be given."""


class Layout(msgspec.Struct, frozen=True):
    """The debugger's panes: ``widths`` in cells by pane, ``folded`` panes that are not shown."""

    widths: dict[str, int] = {}
    folded: tuple[str, ...] = ()


class Place(msgspec.Struct, frozen=True):
    """Where a dataset was left: search and order of the list, the row, whether it stood open in the debugger."""

    find: str = ""
    sort: str = ""
    reverse: bool = False
    uuid: str = ""
    capability: int = 0
    domain: str = ""
    run: str = ""
    debugging: bool = False


class Remembered(msgspec.Struct, frozen=True):
    """Everything that is remembered; ``places`` by the dataset's path, the newest last."""

    theme: str = ""
    layout: Layout = Layout()
    places: dict[str, Place] = {}

    def with_place(self, dataset: str, place: Place) -> Remembered:
        """The same with another place of a dataset; the oldest are forgotten."""
        places = {name: known for name, known in self.places.items() if name != dataset}
        places[dataset] = place
        for name in list(places)[: max(len(places) - MOST_PLACES, 0)]:
            del places[name]
        return msgspec.structs.replace(self, places=places)


def recall(folder: Path) -> Remembered:
    """What is remembered in a folder; nothing where that cannot be read."""
    kept = read_small(folder / NAME)
    try:
        found = Remembered() if kept is None else msgspec.json.decode(kept, type=Remembered)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Remembered()
    least, greatest = WIDTHS
    widths = {pane: width for pane, width in found.layout.widths.items() if least <= width <= greatest}
    return msgspec.structs.replace(found, layout=msgspec.structs.replace(found.layout, widths=widths))


def remember(folder: Path, remembered: Remembered) -> None:
    """Keep it. Raises ``DataError`` where the folder cannot be written."""
    write_small(folder / NAME, msgspec.json.encode(remembered), private=True)
