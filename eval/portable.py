"""Sentences that name files from their dataset's or run's folder, wherever these lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.model import Verdict

if TYPE_CHECKING:
    from eval.profile import ScoringContext


def named_from(text: str, *folders: Path) -> str:
    """The text with paths below one of the folders written from there on."""
    for folder in folders:
        for spelling in (str(folder), str(folder.resolve())):
            text = text.replace(spelling + os.sep, "")
    return text


def portable(verdict: Verdict, context: ScoringContext) -> Verdict:
    """The verdict without the dataset's and the run's folders; only what could not be scored may name them."""
    if verdict.status != "unscored":
        return verdict
    folders = context.dataset.path, context.run.path
    stages = tuple(
        msgspec.structs.replace(stage, reason=named_from(stage.reason, *folders)) for stage in verdict.stages
    )
    return msgspec.structs.replace(verdict, detail=named_from(verdict.detail, *folders), stages=stages)
