"""One small file per part of the screen."""
