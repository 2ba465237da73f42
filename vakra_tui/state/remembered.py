"""What the screen comes back to: layout, theme, and for each dataset the search and the instance that were left.

Kept as one small JSON file in the user's state folder, replaced as a whole. A file that is damaged, from another
version or not to be read is as good as none: nothing is asked of it but convenience.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from toolenv.files import written_whole

NAME = "screen.json"
MOST_PLACES = 100
LARGEST = 4_000_000
"""Bytes of the file that are read at most."""

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
    path = folder / NAME
    try:
        if path.stat().st_size > LARGEST:
            return Remembered()
        found = msgspec.json.decode(path.read_bytes(), type=Remembered)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Remembered()
    least, greatest = WIDTHS
    widths = {pane: width for pane, width in found.layout.widths.items() if least <= width <= greatest}
    return msgspec.structs.replace(found, layout=msgspec.structs.replace(found.layout, widths=widths))


def remember(folder: Path, remembered: Remembered) -> None:
    """Keep it; where the folder cannot be written, nothing is kept."""
    with contextlib.suppress(OSError), written_whole(folder / NAME, private=True) as stream:
        stream.write(msgspec.json.encode(remembered))
