"""Checks of a whole dataset: whether every ground truth holds, and what would make its questions unfair."""

from __future__ import annotations

from eval.checks.findings import ERROR_KINDS, CheckReport, Finding, Kind
from eval.checks.run import check_dataset

__all__ = ["ERROR_KINDS", "CheckReport", "Finding", "Kind", "check_dataset"]
