"""Repair search: which step broke a failed trajectory, and what would have saved it."""

from __future__ import annotations

from eval.repair.model import Progress, Repair, RepairResult, Replacement, Spent
from eval.repair.search import search
from eval.repair.summaries import summary

__all__ = ["Progress", "Repair", "RepairResult", "Replacement", "Spent", "search", "summary"]
