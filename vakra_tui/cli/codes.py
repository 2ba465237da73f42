"""Which exit code a batch ends with."""

from __future__ import annotations

from collections.abc import Sequence

from eval.scores import Tally

DONE, BELOW, UNUSABLE, UNREACHABLE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 4, 130


def exit_code(tallies: Sequence[Tally], *, problems: bool, fail_under: float | None, interrupted: bool) -> int:
    """The exit code of a finished or interrupted batch; where several hold the order is 130, 3, 4, 1.

    ``problems`` says that a file or a record could not be read. ``no ground truth`` and undecided alone cause none.
    """
    if interrupted:
        return INTERRUPTED
    reasons = {reason for tally in tallies for reason in tally.unscored}
    scored = sum(tally.statuses["scored"] for tally in tallies)
    if not scored and reasons & {"environment", "judge"}:
        return UNREACHABLE
    if problems or reasons - {"no ground truth"}:
        return INCOMPLETE
    if fail_under is not None and any(_below(tally, fail_under) for tally in tallies):
        return BELOW
    return DONE


def _below(tally: Tally, fail_under: float) -> bool:
    score = tally.leaderboard()["score"]
    return score is None or score < fail_under
