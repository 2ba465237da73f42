"""Whoever rules where a program cannot: a model, recorded rulings, a person, or nobody."""

from __future__ import annotations

from eval.judges.human import HumanRuling, HumanRulings
from eval.judges.none import NoJudge
from eval.judges.recorded import RecordedJudge

__all__ = ["HumanRuling", "HumanRulings", "NoJudge", "RecordedJudge"]
