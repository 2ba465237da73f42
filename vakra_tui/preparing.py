"""What is made ready beside the event loop once the list can be read: modules and styles of the screens that follow.

Imports and styles are read from the disk and take the longest of what a screen needs when it is first opened.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

SCREENS = Path(__file__).parent / "screens"

PACKAGES = ("vakra_tui.screens", "vakra_tui.state", "vakra_tui.widgets")


def import_debugger() -> None:
    """What is needed first."""
    import vakra_tui.screens.debugger
    import vakra_tui.state.session  # noqa: F401


def import_all() -> None:
    """Every module that a key may ask for, with all that it stands on."""
    for name in PACKAGES:
        package = import_module(name)
        for module in walk_packages(package.__path__, f"{name}."):
            import_module(module.name)


def read_styles() -> list[tuple[str, str]]:
    """Path and text of the styles of all screens, in one order whichever of them is opened first."""
    return [(str(path), path.read_text(encoding="utf-8")) for path in sorted(SCREENS.glob("*.tcss"))]
