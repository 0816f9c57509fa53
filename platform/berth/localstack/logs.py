"""Log files of the launcher's children: bounded in size, and read along for lines a person should see at once."""

import re
import shutil
import time
from pathlib import Path

MOST_BYTES = 20 * 2**20
MOST_LINES_A_LOOK = 3
MOST_CHARACTERS = 240
SAME_AGAIN_S = 60.0
"""A line that differs only in its numbers (times, ids) is shown once in this time; the log has them all."""

_NUMBERS = re.compile(r"[0-9a-f-]*[0-9][0-9a-f-]*")


class Tail:
    """Reads on where it stopped last time. Keeps the file below MOST_BYTES, with one older part beside it."""

    def __init__(self, log: Path, loud: tuple[str, ...]) -> None:
        self._log = log
        self._loud = loud
        self._offset = log.stat().st_size if log.exists() else 0
        self._shown: dict[str, float] = {}

    def loud_lines(self) -> list[str]:
        """New lines that contain a loud word, shortened, a few at a time."""
        try:
            size = self._log.stat().st_size
            if size == self._offset:
                return []
            with self._log.open("rb") as file:
                file.seek(min(self._offset, size))
                new = file.read(size - min(self._offset, size))
            self._offset = size
            if size > MOST_BYTES:
                self._rotate()
        except OSError:
            return []
        lines = [line for line in new.decode(errors="replace").splitlines() if any(word in line for word in self._loud)]
        return [line[:MOST_CHARACTERS] for line in lines if self._is_news(line)][:MOST_LINES_A_LOOK]

    def _is_news(self, line: str) -> bool:
        now = time.monotonic()
        kind = _NUMBERS.sub("", line)
        news = now - self._shown.get(kind, -SAME_AGAIN_S) >= SAME_AGAIN_S
        if news:
            self._shown = {each: at for each, at in self._shown.items() if now - at < SAME_AGAIN_S} | {kind: now}
        return news

    def _rotate(self) -> None:
        # Copied and cut, not renamed: the child goes on writing to the file it has open (in append mode).
        shutil.copyfile(self._log, self._log.with_suffix(".log.1"))
        with self._log.open("rb+") as file:
            file.truncate(0)
        self._offset = 0
