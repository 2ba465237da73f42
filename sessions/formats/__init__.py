"""Trajectories in other programs' forms: reading them in, and writing them out."""

from __future__ import annotations

from sessions.formats.model import Imported
from sessions.formats.reading import FORMATS, read

__all__ = ["FORMATS", "Imported", "read"]
