"""The errors that every floor shares.

Each message is one sentence for a person: it names the file, record, tool or step, and what to do.
A failure of the environment, a missing answer and a wrong answer are three different things, and
only the first two are errors.
"""

from __future__ import annotations


class VakraError(Exception):
    """Base of all errors that carry a sentence for the user."""


class DataError(VakraError):
    """A dataset, a run or an option cannot be used (exit code 2 when it concerns the whole command)."""


class EnvironmentFailure(VakraError):
    """An environment cannot be opened or stopped answering (exit code 3 when nothing could be scored)."""


class NoEnvironment(EnvironmentFailure):
    """No configured environment serves the (capability, domain) of an instance."""


class NotRecorded(EnvironmentFailure):
    """A recorded environment does not hold an answer to a valid call."""


class StoreError(VakraError):
    """The session store cannot be opened, read or written."""
