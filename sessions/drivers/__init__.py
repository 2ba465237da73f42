"""Who decides the next step: a recording, the ground truth, or a person."""

from __future__ import annotations

from sessions.drivers.ground_truth import GroundTruthDriver
from sessions.drivers.human import HumanDriver
from sessions.drivers.recording import RecordingDriver

__all__ = ["GroundTruthDriver", "HumanDriver", "RecordingDriver"]
