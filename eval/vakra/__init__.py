"""The profile that says what VAKRA's released evaluator says."""

from __future__ import annotations

from eval.vakra.profile import VakraProfile

__all__ = ["VakraProfile"]
