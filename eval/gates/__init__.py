"""The gates of the waterfall, each a pure function of a case; what they cannot decide is left to a judge."""
