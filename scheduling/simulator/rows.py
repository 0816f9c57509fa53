"""CSV text -> rows that know their line; an empty cell is "not given"."""

import csv
import io
from collections.abc import Callable, Iterator
from typing import TypeVar

from scheduling.simulator.problems import Problems, WrongValueError

T = TypeVar("T")


class Row:
    """One row while it is read."""

    __slots__ = ("_cells", "_file", "_problems", "line")

    def __init__(self, cells: dict[str, str], line: int, file: str, problems: Problems) -> None:
        self._cells, self.line, self._file, self._problems = cells, line, file, problems

    def problem(self, column: str, text: str) -> None:
        """Note a problem with one cell (or with the row where `column` is empty)."""
        self._problems.add(self.line, column, text, file=self._file)

    def take(self, column: str, parse: Callable[[str], T], default: T) -> T:
        """The parsed cell; `default` where it is empty, absent or wrong (then a problem is noted)."""
        text = self._cells.get(column, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except WrongValueError as wrong:
            self.problem(column, str(wrong))
            return default

    def need(self, column: str, parse: Callable[[str], T], default: T) -> T:
        """Like `take`, but the cell is required."""
        if not self._cells.get(column, "").strip():
            self.problem(column, "is required")
            return default
        return self.take(column, parse, default)


def read_rows(
    text: str, file: str, problems: Problems, *, required: tuple[str, ...], known: tuple[str, ...]
) -> Iterator[Row]:
    """The rows below a header that has all `required` and only `known` columns, in any order; blank lines are passed over.

    With a wrong header nothing is yielded and the problems are noted; a row with too many or too few cells is one problem.
    """
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        if not _header_stands(header, file, problems, required, known):
            return
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(header):
                problems.add(lines.line_num, "", f"has {len(cells)} cells, the header has {len(header)}", file=file)
                continue
            yield Row(dict(zip(header, cells, strict=True)), lines.line_num, file, problems)
    except csv.Error as error:
        problems.add(lines.line_num, "", f"not valid CSV: {error}", file=file)


def _header_stands(
    header: list[str], file: str, problems: Problems, required: tuple[str, ...], known: tuple[str, ...]
) -> bool:
    before = len(problems.found)
    for name in header:
        if name not in known:
            problems.add(1, name, f"unknown column; known: {', '.join(known)}", file=file)
        elif header.count(name) > 1:
            problems.add(1, name, "column is there twice", file=file)
    for name in required:
        if name not in header:
            problems.add(1, name, "column is missing", file=file)
    return len(problems.found) == before
