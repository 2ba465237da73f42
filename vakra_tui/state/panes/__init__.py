"""The lines of each pane, made from a scene: pure functions, one module a pane."""
