"""Files that commands read: text with one clear line for what cannot be read, gzip by name, and exit 2 with every problem."""

import gzip
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from django.core.management.base import OutputWrapper

from scheduling.simulator.problems import InvalidFileError, Problem, WrongValueError

BAD_USAGE = 2


def read_text(file: str) -> str:
    """The UTF-8 text of `file` (of the archive where it ends in .gz). Raises `InvalidFileError` where it cannot be read."""
    try:
        data = Path(file).read_bytes()
        if file.endswith(".gz"):
            data = gzip.decompress(data)
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidFileError((Problem(file, line, "", "is not UTF-8"),)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidFileError((Problem(file, 1, "", "is not a whole gzip archive"),)) from None
    except OSError as error:
        raise InvalidFileError((Problem(file, 1, "", f"cannot be read: {error.strerror}"),)) from None


def beside(file: str) -> Callable[[str], str]:
    """A reader of files named relative to `file`."""

    def read(name: str) -> str:
        try:
            return read_text(str(Path(file).parent / name))
        except InvalidFileError as invalid:
            raise WrongValueError(f"{name} {invalid.problems[0].text}") from None

    return read


def refuse(invalid: InvalidFileError, stderr: OutputWrapper) -> NoReturn:
    """Print every problem, one a line, and leave with exit code 2."""
    for problem in invalid.problems:
        stderr.write(str(problem), lambda text: text)
    sys.exit(BAD_USAGE)
