"""What the screens show, as plain values: nothing below this package knows a screen library."""
