"""The filter language: one grammar for search, breakpoints and selection, over steps and over whatever else.

``~name`` tests one predicate, ``~name argument`` one with an argument; a bare word tests the text. ``!`` negates, ``&``
(or nothing) joins, ``|`` offers, parentheses group. Patterns are RE2, so no pattern can run away.
"""

from __future__ import annotations

from sessions.filters.grammar import Filter, Language
from sessions.filters.predicates import Completion, FilterError, Predicate
from sessions.filters.steps import STEP_FILTERS, StepView

__all__ = ["STEP_FILTERS", "Completion", "Filter", "FilterError", "Language", "Predicate", "StepView"]
