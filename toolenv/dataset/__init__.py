"""Datasets in VAKRA's own layout: instances, ground truth, tool universes and where everything lies."""

from __future__ import annotations
