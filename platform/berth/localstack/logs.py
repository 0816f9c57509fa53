"""Log files of the launcher's children: bounded in size, and read along for lines a person should see at once."""

import shutil
from pathlib import Path

MOST_BYTES = 20 * 2**20
MOST_LINES_A_LOOK = 3
MOST_CHARACTERS = 240


class Tail:
    """Reads on where it stopped last time. Keeps the file below MOST_BYTES, with one older part beside it."""

    def __init__(self, log: Path, loud: tuple[str, ...]) -> None:
        self._log = log
        self._loud = loud
        self._offset = log.stat().st_size if log.exists() else 0

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
        return [line[:MOST_CHARACTERS] for line in lines[:MOST_LINES_A_LOOK]]

    def _rotate(self) -> None:
        # Copied and cut, not renamed: the child goes on writing to the file it has open (in append mode).
        shutil.copyfile(self._log, self._log.with_suffix(".log.1"))
        with self._log.open("rb+") as file:
            file.truncate(0)
        self._offset = 0
