"""Recorded environments: answers written down once and given again, and the recorder that writes them down."""

from __future__ import annotations

from toolenv.recorded.environment import RecordedEnvironment
from toolenv.recorded.recorder import Recorder

__all__ = ["RecordedEnvironment", "Recorder"]
