"""The app and the command line: screens, widgets, key map, commands."""

__version__ = "0.1.0"
