"""Whoever rules where a program cannot: a model, recorded rulings, a person, or nobody."""

from __future__ import annotations

from eval.judges.cache import MemoryRulingCache, RulingCache
from eval.judges.human import HumanRuling, HumanRulings
from eval.judges.model_judge import OpenAIJudge
from eval.judges.none import NoJudge
from eval.judges.recorded import RecordedJudge
from eval.judges.settings import JudgeSettings, judge_settings

__all__ = [
    "HumanRuling",
    "HumanRulings",
    "JudgeSettings",
    "MemoryRulingCache",
    "NoJudge",
    "OpenAIJudge",
    "RecordedJudge",
    "RulingCache",
    "judge_settings",
]
