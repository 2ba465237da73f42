"""The colours of the screen: dark, light, and a high-contrast theme. Roles of text have theirs in ``render.py``."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="dark",
    primary="#5a9cf5",
    secondary="#6fd0d8",
    accent="#e8c26a",
    warning="#e8c26a",
    error="#ff7a85",
    success="#8ccf7e",
    foreground="#e3e6ec",
    background="#121419",
    surface="#1b1e25",
    panel="#252932",
    dark=True,
    variables={
        "footer-key-foreground": "#8fb8f0",
        "footer-description-foreground": "#d5dae3",
        "text-muted": "#a9b3c1",
        "pane-border": "#4b5363",
        "row-cursor": "#262b35",
        "row-cursor-focus": "#1d2f4a",
    },
)

LIGHT = Theme(
    name="light",
    primary="#1650b0",
    secondary="#0b6470",
    accent="#7d5500",
    warning="#7d5500",
    error="#b3152a",
    success="#1e6f2a",
    foreground="#1b1f27",
    background="#f6f7f9",
    surface="#eceef2",
    panel="#e0e4ea",
    dark=False,
    variables={
        "footer-key-foreground": "#1650b0",
        "footer-description-foreground": "#262c36",
        "text-muted": "#4d5562",
        "pane-border": "#9aa2ae",
        "row-cursor": "#e2e6ed",
        "row-cursor-focus": "#cfdffb",
    },
)

HIGH_CONTRAST = Theme(
    name="high-contrast",
    primary="#ffff00",
    secondary="#00ffff",
    accent="#ffff00",
    warning="#ffff00",
    error="#ff9090",
    success="#7dff7d",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#101010",
    dark=True,
    variables={
        "footer-key-foreground": "#ffff00",
        "footer-description-foreground": "#ffffff",
        "text-muted": "#ffffff",
        "border": "#ffffff",
        "border-blurred": "#c0c0c0",
        "pane-border": "#c0c0c0",
        "row-cursor": "#262626",
        "row-cursor-focus": "#002a66",
    },
)

GROUNDS = ("row-cursor", "row-cursor-focus")
"""The ground of a list's cursor without and with the keyboard."""

OWN_VARIABLES = ("pane-border", *GROUNDS)
"""Variables that the library's own themes lack."""

ALL = (DARK, LIGHT, HIGH_CONTRAST)
