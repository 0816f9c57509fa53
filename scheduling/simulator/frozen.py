"""Read-only NumPy columns: what enters the engine cannot be written to (STYLE rule 12)."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.generic)


def column(values: Iterable[Any], kind: type[Kind]) -> NDArray[Kind]:
    """A read-only column of `kind`."""
    array = np.array(list(values), dtype=kind)
    array.setflags(write=False)
    return array


def frozen(array: NDArray[Kind]) -> NDArray[Kind]:
    """The same array, from now on read-only."""
    array.setflags(write=False)
    return array
