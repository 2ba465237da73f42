"""Datasets in VAKRA's own layout: instances, ground truth, tool universes and where everything lies."""

from __future__ import annotations

from toolenv.dataset.dataset import Dataset, InstanceRef
from toolenv.dataset.indexing import RecordCounts

__all__ = ["Dataset", "InstanceRef", "RecordCounts"]
