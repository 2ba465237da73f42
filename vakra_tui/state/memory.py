"""What the screen remembers between two starts, in small files of the user's state folder."""

from __future__ import annotations

import contextlib
import traceback
from pathlib import Path

from sessions.redaction import redact_text

LOG_AT_MOST = 1_000_000
"""Bytes of the log of errors above which it is begun anew."""


class Memory:
    """Remembers in ``folder``; where that cannot be written, nothing is remembered and nothing breaks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of_user(cls) -> Memory:
        """The folder of this user, made when something is first kept."""
        import platformdirs

        return cls(Path(platformdirs.user_state_dir("vakra-tui")))

    def hint_was_seen(self) -> bool:
        """Whether the hint of the first start was shown before, or could not be remembered in any case."""
        try:
            return (self.folder / "hint-seen").exists()
        except OSError:
            return True

    @property
    def crash_log(self) -> Path:
        """The file with the errors of this program."""
        return self.folder / "crash.log"

    def keep_crash(self, error: BaseException) -> Path | None:
        """Write an error of this program with its traceback to a file; None where that is not possible."""
        path = self.crash_log
        text = redact_text("".join(traceback.format_exception(error)))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                return None
            full = path.exists() and path.stat().st_size > LOG_AT_MOST
            with path.open("w" if full else "a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(text + "\n")
        except OSError:
            return None
        return path

    def keep_hint_seen(self) -> None:
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "hint-seen").touch()
