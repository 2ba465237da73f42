"""Filters of the list by name: some to begin with, and those that a person kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vakra_tui.state.marks import read_json, write_json

LONGEST_NAME = 60


class SavedFilter(NamedTuple):
    """A name and what is typed behind ``/`` for it; ``own`` ones were kept by a person and can be deleted."""

    name: str
    text: str
    own: bool = False


GIVEN: tuple[SavedFilter, ...] = (
    SavedFilter("policy broken", "~fail policy"),
    SavedFilter("tool sequence", "~fail tool_sequence"),
    SavedFilter("final response", "~fail final_response"),
    SavedFilter("policy applies", "~policy applies"),
    SavedFilter("runs differ", "~differs"),
    SavedFilter("undecided", "~undecided"),
    SavedFilter("not scored", "~unscored | ~err | ~missing"),
    SavedFilter("marked", "~marked"),
)
"""Those that are always there."""


class SavedFilters:
    """The filters of a person, in ``filters.json`` of a folder. A file that cannot be read counts as empty."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "filters.json"

    @classmethod
    def of_user(cls) -> SavedFilters:
        """Those in this user's configuration folder."""
        import platformdirs

        return cls(Path(platformdirs.user_config_dir("vakra-tui")))

    def own(self) -> list[SavedFilter]:
        """Those that were kept, by name."""
        kept = read_json(self.path)
        if not isinstance(kept, dict):
            return []
        found = [SavedFilter(name, text, own=True) for name, text in kept.items() if isinstance(text, str)]
        return sorted(found, key=lambda each: each.name.casefold())

    def all(self) -> list[SavedFilter]:
        """Those that were kept, then those that are always there unless one of that name was kept."""
        own = self.own()
        names = {each.name for each in own}
        return own + [each for each in GIVEN if each.name not in names]

    def keep(self, name: str, text: str) -> None:
        """Keep a filter; one of the same name is replaced. Raises ``DataError`` where that is not possible."""
        name = " ".join(name.split())[:LONGEST_NAME]
        self._write([*(each for each in self.own() if each.name != name), SavedFilter(name, text, own=True)])

    def delete(self, name: str) -> None:
        """Delete a kept filter. Raises ``DataError`` where that is not possible."""
        self._write([each for each in self.own() if each.name != name])

    def _write(self, filters: Sequence[SavedFilter]) -> None:
        write_json(self.path, {each.name: each.text for each in filters})
