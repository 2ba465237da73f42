"""The live session of the debugger, by concern; ``vakra_tui.state.session`` puts the parts together."""
