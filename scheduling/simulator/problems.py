"""What is wrong with a file: every problem with its place, all of them at once (docs/simulator.md)."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `column` is a CSV column or the path of a key (`nodes[0].gpus`), empty for the whole line."""

    file: str
    line: int
    column: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: "
        return f"{place}{self.column}: {self.text}" if self.column else f"{place}{self.text}"


class WrongValueError(Exception):
    """One value cannot be read; whoever knows its place turns this into a `Problem`."""


class InvalidFileError(Exception):
    """A file cannot be used; carries every problem found, in file order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(slots=True)
class Problems:
    """Collects problems while a file is read, so that one run lists them all."""

    file: str
    found: list[Problem] = field(default_factory=list)

    def add(self, line: int, column: str, text: str, *, file: str | None = None) -> None:
        """Note a problem; `file` names another file than the one being read (an included CSV)."""
        self.found.append(Problem(file or self.file, line, column, text))

    def raise_if_any(self) -> None:
        """Raise `InvalidFileError` with what was found, ordered by place."""
        if self.found:
            raise InvalidFileError(tuple(sorted(set(self.found), key=lambda p: (p.file, p.line, p.column, p.text))))
